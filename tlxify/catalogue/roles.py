"""TLX3xx: a statement of the kernel has no role, or its role cannot be separated from the others."""

from __future__ import annotations

from .rule import Rule

RULES = (
    Rule(
        code="TLX301",
        outcome="no-dot",
        title="no dot",
        fact="`{name}` contains no `tl.dot`, also not through its helpers.",
        remedy="Nothing to do: warp specialization pays by keeping the tensor cores fed.",
        why=("Without a matrix product there is no consumer of tiles, and the compiler's own pipelining is as good."),
        example="""
            @triton.jit
            def add(x_ptr, y_ptr, n):
                tl.store(x_ptr, tl.load(x_ptr) + tl.load(y_ptr))
        """,
    ),
    Rule(
        code="TLX302",
        outcome="declined",
        title="dot outside a loop",
        fact="This dot is not inside a loop of the kernel.",
        remedy="Convert kernels that accumulate over a loop; a single product has nothing to overlap with.",
        why="A ring of slots is filled trip by trip. One trip is one load and one product, in this order.",
        example="""
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
            tl.store(c_ptrs, tl.dot(a, b))
        """,
    ),
    Rule(
        code="TLX303",
        outcome="declined",
        title="more than one dot loop",
        fact="The kernel has another loop with a dot[ in line {line}].",
        remedy="Split the kernel in two, or wait for sibling loops to be supported.",
        why="Loops that share operands share rings, whose counters must run on from one to the next.",
        example="""
            for k in range(0, K, BK):
                acc = tl.dot(a, b, acc)
            for n in range(0, N, BN):
                out = tl.dot(acc, c, out)
        """,
    ),
    Rule(
        code="TLX304",
        outcome="declined",
        title="dot under a condition",
        fact="This dot runs only if `{condition}` holds[: {why}].",
        remedy="Move the condition out of the loop: around the whole loop, each role can ask it for itself.",
        why=(
            "A slot is filled and freed once in every trip of the loop. Producer and consumers must take the same "
            "number of trips, so a condition around the loop must be one value that all of them see."
        ),
        example="""
            for k in range(0, K, BK):
                if tl.load(flags_ptr + k) != 0:
                    acc = tl.dot(a, b, acc)
        """,
    ),
    Rule(
        code="TLX305",
        outcome="declined",
        title="operand is computed before the dot",
        fact="The operand `{name}` is computed in the loop from what was loaded[: {why}].",
        remedy=(
            "Apply the computation to the accumulator after the loop where that is the same, or store the "
            "operand ready-made."
        ),
        why=(
            "The tensor cores read operands from shared memory as the TMA wrote them. A computed operand "
            "needs a role of its own that writes it back."
        ),
        example="""
            b = tl.load(b_ptrs).to(tl.float16) * scale
            acc = tl.dot(a, b, acc)
        """,
    ),
    Rule(
        code="TLX306",
        outcome="declined",
        title="early return that not all roles can take",
        fact="The kernel returns before its end[ if `{condition}`][: {why}].",
        remedy="Return outside of loops, under a scalar condition: a program id, a parameter, a loaded scalar.",
        why=("All warps of a program must leave together; a warp that waits for a departed one waits for ever."),
        example="""
            for k in range(0, K, BK):
                if k >= tl.load(length_ptr):
                    return
        """,
    ),
    Rule(
        code="TLX307",
        outcome="declined",
        title="inline assembly",
        fact="The kernel contains inline assembly.",
        remedy="Express it in Triton, or leave this kernel as it is.",
        why="What the assembly does to registers, memory and barriers is invisible here.",
        example="""
            x = tl.inline_asm_elementwise("cvt.rna.tf32.f32 $0, $1;", "=r,r", [x], tl.float32, True, 1)
        """,
    ),
    Rule(
        code="TLX308",
        outcome="declined",
        title="programs talk to each other",
        fact="Programs communicate through `{name}`.",
        remedy="Combine partial results in a second kernel.",
        why=("Locks and atomics order programs in time. Moving loads ahead of them may read what is not yet written."),
        example="""
            while tl.atomic_cas(lock_ptr, 0, 1) == 1:
                pass
        """,
    ),
    Rule(
        code="TLX309",
        outcome="declined",
        title="fp32 dot in IEEE precision",
        fact="This dot asks for IEEE precision of fp32 operands.",
        remedy='Allow `input_precision="tf32"` if its 10-bit mantissa is enough, or keep this kernel.',
        why=(
            "The tensor cores have no IEEE fp32 product; it runs on the ordinary units, which need no "
            "specialized warps."
        ),
        example="""
            acc = tl.dot(a, b, acc, input_precision="ieee")
        """,
    ),
    Rule(
        code="TLX310",
        outcome="declined",
        title="accumulator is used inside the loop",
        fact="The accumulator `{name}` is also read or changed by another statement of the loop[: {why}].",
        remedy="Do it after the loop, or keep a second accumulator.",
        why=(
            "A product is still running when the next trip begins; nothing may touch its registers until it "
            "is waited for."
        ),
        example="""
            for k in range(0, K, BK):
                acc = tl.dot(a, b, acc)
                acc = acc * tl.load(scale_ptr + k)
        """,
    ),
    Rule(
        code="TLX311",
        outcome="declined",
        title="store inside the dot loop",
        fact="This store runs in every trip of the dot loop.",
        remedy="Move it behind the loop, or into a kernel of its own.",
        why="The producer runs ahead and may load memory that this store is about to write.",
        example="""
            for k in range(0, K, BK):
                acc = tl.dot(a, b, acc)
                tl.store(partial_ptrs + k, acc)
        """,
    ),
    Rule(
        code="TLX312",
        outcome="declined",
        title="side effect without a role",
        fact="`{name}` has an effect that belongs to no role.",
        remedy="Remove it for the conversion; debugging output and assertions belong to the source kernel.",
        why="It would run once per role instead of once per program.",
        example="""
            tl.device_print("k", k)
        """,
    ),
    Rule(
        code="TLX313",
        outcome="declined",
        title="operand has a second use",
        fact="The loaded operand `{name}` is used for something besides the dot[: {why}].",
        remedy="Load what the other use needs separately.",
        why=(
            "The operand never reaches registers: it goes from memory to shared memory and from there to the "
            "tensor cores."
        ),
        example="""
            a = tl.load(a_ptrs)
            acc = tl.dot(a, b, acc)
            norm += tl.sum(a * a, axis=1)
        """,
    ),
    Rule(
        code="TLX314",
        outcome="declined",
        title="while loop",
        fact="The kernel contains a `while` loop.",
        remedy="Write it as a `for` loop over `range` if the number of trips is known when it starts.",
        why=("Roles must agree on the trips of a loop whose condition changes inside it; that is not proved yet."),
        example="""
            while tile < num_tiles:
                tile += tl.num_programs(0)
        """,
    ),
    Rule(
        code="TLX315",
        outcome="declined",
        title="scaled dot",
        fact="`tl.dot_scaled` is not supported.",
        remedy="Keep this kernel; on Hopper it is emulated with ordinary instructions.",
        why="Block scales have a layout of their own, which only Blackwell's tensor cores read.",
        example="""
            acc = tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e4m3", acc)
        """,
    ),
    Rule(
        code="TLX316",
        outcome="warning",
        title="rows cannot be split",
        fact="The rows of the tile cannot be divided between consumer groups[: {why}].",
        remedy="Nothing to do: one consumer group takes all rows.",
        why="Two consumer groups each need half of the rows in every statement of the loop and the epilogue.",
        example="""
            order = tl.sort(tl.sum(acc, axis=1))  # needs every row
        """,
    ),
    Rule(
        code="TLX317",
        outcome="declined",
        title="call of unknown effect",
        fact="What `{name}` does is not known.",
        remedy="Use a function of `triton.language` or a `triton.jit` helper whose source is at hand.",
        why="A call that may touch memory or barriers cannot be repeated, moved or dropped.",
        example="""
            x = vendor.intrinsics.fast_exp(x)
        """,
    ),
)
