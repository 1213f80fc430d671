"""Records the launches of a running program, so that verification and benchmarks can make exactly those again.

`inside` runs in the program; `run` starts it and joins what its processes wrote; `launches` is the record as data;
`replay` turns a recorded launch into one that verification makes.
"""
