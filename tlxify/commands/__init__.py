"""Commands that are too large for `tlxify.cli`, one per file."""
