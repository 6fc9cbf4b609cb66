-- The trials, one row each, as the jobs that ran them left them.
SELECT * FROM read_parquet('{{ env_var("EVALS_TRIALS", "../../data/leaderboard.parquet") }}')
