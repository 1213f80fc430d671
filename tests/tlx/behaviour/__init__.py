"""Small kernels whose answer depends on one rule of TLX: run by the simulator, compiled, and run on a Hopper GPU.

Each module holds kernels of one kind and their ``CASES``; ``tests/tlx/test_behaviour.py`` runs them, and
``tests/tlx/rules.toml`` says which rules they hold.
"""
