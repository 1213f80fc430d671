"""Kernels that the simulator's tests run as they are and broken."""
