"""One report on an evaluation: verdicts, tables, charts and methods as a web page or Markdown."""
