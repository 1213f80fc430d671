"""TLX4xx: the plan does not fit the chip."""

from __future__ import annotations

from .rule import Rule

RULES = (
    Rule(
        code="TLX401",
        outcome="declined",
        title="tile is too small for the tensor cores",
        fact=(
            "The tile {tile} is too small: a warp group multiplies 64 rows at a time, and at least 32 bytes along K."
        ),
        remedy="Add a config with BLOCK_M a multiple of 64 and BLOCK_K at least 16 for 16-bit operands.",
        why=(
            "Hopper's wgmma works on 64 rows per warp group. Smaller tiles use the older instructions, which "
            "need no producer."
        ),
        example="""
            triton.Config({"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 64})
        """,
    ),
    Rule(
        code="TLX402",
        outcome="declined",
        title="ring does not fit shared memory",
        fact="{stages} stages need {needed} bytes of shared memory; {available} are there.",
        remedy="Add a config with smaller tiles or fewer stages.",
        why="A ring of one slot cannot load and multiply at the same time.",
        example="""
            triton.Config({"BLOCK_M": 256, "BLOCK_N": 256, "BLOCK_K": 256}, num_stages=2)
        """,
    ),
    Rule(
        code="TLX403",
        outcome="declined",
        title="tile sizes are not constexpr",
        fact="The tile size `{name}` is not a `tl.constexpr` parameter or a literal.",
        remedy="Annotate it with `tl.constexpr`.",
        why="Rings are allocated when the kernel is compiled.",
        example="""
            @triton.jit
            def kernel(a_ptr, BLOCK_K):
                offs_k = tl.arange(0, BLOCK_K)
        """,
    ),
    Rule(
        code="TLX404",
        outcome="warning",
        title="config left out",
        fact="The config {config} is not specialized: {why}.",
        remedy="Nothing to do: the other configs are; with this one the original runs.",
        why=(
            "Each config of the source is judged by itself, so that one that does not fit does not decline the kernel."
        ),
        example="""
            triton.Config({"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 64})
        """,
    ),
    Rule(
        code="TLX405",
        outcome="warning",
        title="fewer stages than asked for",
        fact="{asked} stages do not fit shared memory with the config {config}; {stages} do.",
        remedy="Nothing to do, or choose smaller tiles.",
        why="The number of stages of the source becomes the depth of the ring, as far as shared memory goes.",
        example="""
            triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_stages=8)
        """,
    ),
)
