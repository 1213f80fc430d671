"""Tests of the language: lowering, launching, simulation."""
