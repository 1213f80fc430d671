"""The simulator's own test: right TLX kernels are broken in every small way, and each break must be noticed."""
