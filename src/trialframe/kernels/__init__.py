"""Arrays in, arrays out: the arithmetic behind every estimate."""
