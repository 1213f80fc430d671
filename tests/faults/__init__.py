"""Faults that others have met in this field, as kernels of our own; rows.toml says which, and what is done."""
