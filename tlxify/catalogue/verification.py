"""TLX6xx: what verification found, or why it could not look."""

from __future__ import annotations

from .rule import Rule

RULES = (
    Rule(
        code="TLX601",
        outcome="error",
        title="verification failed",
        fact="The conversion of `{name}` failed at the rung `{rung}`[: {why}].",
        remedy="Keep the original and report the finding; its replay seed makes it reproducible.",
        why="A failed verdict is a fault of the converter, never something to wave through.",
        example="""
            tlxify convert matmul.py --verify simulated
        """,
    ),
    Rule(
        code="TLX602",
        outcome="warning",
        title="verification needs Triton on Linux",
        fact="The rung `{rung}` cannot be tried here: {why}.",
        remedy="On Linux, `pip install tlxify[cpu]` brings what simulating and compiling need.",
        why=(
            "Converting needs neither Triton nor a GPU; simulating and compiling need a Triton wheel, which "
            "exists for Linux."
        ),
        example="""
            tlxify convert matmul.py --verify compiled
        """,
    ),
    Rule(
        code="TLX603",
        outcome="warning",
        title="the source kernel itself fails",
        fact="The source kernel `{name}` fails on launches that its contract allows[: {why}].",
        remedy="Fix the source, or complete the contract in `[tool.tlxify]`.",
        why=(
            "Where the source gives no right answer there is nothing to compare with. It is no fault of the conversion."
        ),
        example="""
            offs = tl.arange(0, BLOCK)
            tl.store(y_ptr + offs, tl.load(x_ptr + offs))  # no mask at the edge
        """,
    ),
    Rule(
        code="TLX604",
        outcome="error",
        title="verification ran out of time",
        fact="Verifying `{name}` did not finish within {seconds} seconds.",
        remedy="Verify to a lower rung, or give the kernel fewer configs.",
        why=("Verification runs the kernel in a child process under a limit, since a faulty kernel may wait for ever."),
        example="""
            tlxify convert matmul.py --verify compiled
        """,
    ),
    Rule(
        code="TLX605",
        outcome="warning",
        title="no GPU: rung skipped",
        fact="The rung `ran` needs a Hopper GPU and torch; {why}.",
        remedy="Run the same command on a machine with the GPU.",
        why="The verdict names the highest rung that was reached, so nothing is claimed that was not tried.",
        example="""
            tlxify convert matmul.py --verify ran
        """,
    ),
    Rule(
        code="TLX606",
        outcome="declined",
        title="a valid launch cannot be inferred",
        fact="What a valid launch of `{name}` looks like cannot be told from its code[: {why}].",
        remedy=(
            "Write the contract into `[tool.tlxify.contracts]` (`tlxify verify --show-contract` shows the form), or "
            "mask every access by the extent of its axis."
        ),
        why=(
            "A conversion is proved by running it beside its source. Without knowing shapes, strides and grid there is "
            "nothing to run, and what is not proved is not converted."
        ),
        example="""
            # nothing says how long the tensor behind bias_ptr is
            bias = tl.load(bias_ptr + tl.load(row_ptr) * stride + tl.arange(0, BLOCK_N))
        """,
    ),
    Rule(
        code="TLX607",
        outcome="error",
        title="a parameter of the second version is not known",
        fact="`{name}` takes `{parameter}`, and neither the first version nor a call or a config says what it is.",
        remedy=(
            'Say it in pyproject.toml, in the table `tool.tlxify.contracts."{section}"`, as in '
            '`{parameter} = "{entry}"`.'
        ),
        why=(
            "Two versions of a kernel are launched with the same arguments by name. What only one of them takes has to "
            "come from somewhere, and a guess would compare two different things."
        ),
        example="""
            tlxify verify matmul.py matmul_by_hand.py --kernel matmul_kernel --as matmul_ws
        """,
    ),
    Rule(
        code="TLX608",
        outcome="error",
        title="a converted file has lost its source",
        fact="What `{name}` was converted from is not there: {why}.",
        remedy="Convert the source again, or put the file back beside it.",
        why=(
            "A converted kernel is right if it does what its source does. The file names that source and its "
            "fingerprint; against any other kernel it proves nothing."
        ),
        example="""
            tlxify verify matmul_tlx.py
        """,
    ),
    Rule(
        code="TLX609",
        outcome="warning",
        title="no launch can be made of a contract",
        fact="The contract of `{name}` allows launches that cannot be made[: {why}].",
        remedy=(
            "Put it right in `[tool.tlxify.contracts]`: bound the sizes that divide, or say what they are, as in "
            '`HV = "size = G * H"`.'
        ),
        why=(
            "Launches are drawn from the contract. An expression that divides by zero, or strides that put two "
            "elements into one place, say of a launch that there is none: nothing can be compared, nor proved."
        ),
        example="""
            # in pyproject.toml: k = "in bf16[T, HV // (HV // H), K]", which divides by zero where HV is less than H
            heads = tl.program_id(1) // (HV // H)
        """,
    ),
)
