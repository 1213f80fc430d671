"""Timing a conversion against its source: cases, work and floor of each, interleaved rounds, verdict on ratios.

`run` is the parent's side; `session` runs in a child process, the only one that loads the kernel; `report` is what
passes between them, and what is written to disk.
"""
