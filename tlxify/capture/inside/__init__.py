"""What runs inside the captured program: standard library alone, and under any name.

The program may live in an environment that has no tlxify. So these files are loaded from where they lie (see
`start/sitecustomize.py`), import only each other, and touch Triton and torch only once the program has imported them.
"""
