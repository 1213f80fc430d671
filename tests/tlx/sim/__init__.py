"""Tests of the CPU simulator; they need a Triton wheel and no GPU."""
