"""One seeded bug per file; each must be found, with its line, on every schedule."""
