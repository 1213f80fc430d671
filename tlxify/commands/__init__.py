"""Commands that are groups of their own, beside those of `tlxify.cli`."""
