"""Summaries for people and for files: text, Markdown, JSON, CSV and Parquet."""
