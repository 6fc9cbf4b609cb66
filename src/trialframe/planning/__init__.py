"""How many cases and trials a statement needs, and statements while they come in."""
