-- No rows: every (config, case) is there once, with one cluster, and c_secure <= c <= n.
SELECT config, "case"
FROM {{ ref('eval_counts') }}
GROUP BY config, "case"
HAVING COUNT(*) > 1 OR MIN(n - c) < 0 OR MIN(c - c_secure) < 0 OR MIN(c_secure) < 0
UNION ALL
SELECT NULL, "case"
FROM {{ ref('eval_counts') }}
GROUP BY "case"
HAVING COUNT(DISTINCT cluster) <> 1
