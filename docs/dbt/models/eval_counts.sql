SELECT
  CAST("config" AS VARCHAR) AS "config",
  CAST("case" AS VARCHAR) AS "case",
  "cluster" AS "cluster",
  "difficulty" AS "difficulty",
  COUNT(CASE WHEN "passed" THEN 1 WHEN NOT "passed" THEN 0 END) AS "n",
  COUNT(CASE WHEN "passed" THEN 1 END) AS "c",
  COUNT(*) - COUNT(CASE WHEN "passed" THEN 1 WHEN NOT "passed" THEN 0 END) AS "unscored",
  COUNT(CASE WHEN "passed" AND "secure" THEN 1 END) AS "c_secure",
  COUNT("cost_uusd") AS "cost_uusd_n",
  CAST(COALESCE(SUM("cost_uusd"), 0) AS BIGINT) AS "cost_uusd_sum",
  COALESCE(SUM(CAST("cost_uusd" AS DOUBLE PRECISION) * CAST("cost_uusd" AS DOUBLE PRECISION)), 0) AS "cost_uusd_sumsq",
  COUNT("duration_ms") AS "duration_ms_n",
  CAST(COALESCE(SUM("duration_ms"), 0) AS BIGINT) AS "duration_ms_sum",
  COALESCE(SUM(CAST("duration_ms" AS DOUBLE PRECISION) * CAST("duration_ms" AS DOUBLE PRECISION)), 0) AS "duration_ms_sumsq"
FROM {{ ref('trials') }}
GROUP BY "config", "case", "cluster", "difficulty"
ORDER BY "config", "case"
