"""Hand-written TLX kernels that several test folders use."""
