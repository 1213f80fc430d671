"""TLX3xx: a statement of the kernel has no role, or its role cannot be separated from the others."""

from __future__ import annotations

from .rule import Rule

RULES = (
    Rule(
        code="TLX301",
        outcome="no-dot",
        title="no dot",
        fact="`{name}` contains no `tl.dot`, also not through its helpers.",
        remedy="Nothing to do, or `--tier descriptors` for plain Triton that loads through descriptors.",
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
        remedy="Nothing to do, or `--no-profit-gate` to convert it all the same.",
        why="Loads overlap with products where one follows the other many times. One load and one product do not.",
        example="""
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
            tl.store(c_ptrs, tl.dot(a, b))
        """,
    ),
    Rule(
        code="TLX304",
        outcome="declined",
        title="dot under a condition",
        fact="This dot runs only if `{condition}` holds[: {why}].",
        remedy="Ask one value for the whole program, or take constexpr conditions out of the dot's loop.",
        why=(
            "Each role asks the condition for itself and all must get the same answer, so it must be one value that "
            "all of them see. A ring that some variants of a kernel never use still takes shared memory in all of them."
        ),
        example="""
            for k in range(0, K, BK):
                if GATED:
                    acc = tl.dot(a, b, acc)
        """,
    ),
    Rule(
        code="TLX305",
        outcome="declined",
        title="second operand that no slot holds",
        fact="The dot cannot read its operand `{name}` out of a slot[: {why}].",
        remedy=(
            "Compute it from tiles that are loaded beside the dot and used for nothing else, or apply the computation "
            "to the accumulator after the loop where that is the same."
        ),
        why=(
            "The tensor cores read their second operand from shared memory: as the TMA wrote it, or as a role of its "
            "own has computed it from such tiles. That role runs ahead of the dots, so it can know nothing of their "
            "results, and it takes tiles that nobody else needs. The first operand may come from registers, but then "
            "the second must be as the TMA wrote it."
        ),
        example="""
            state = state * decay + tl.dot(tl.trans(k), v)
            out = tl.dot(q, state.to(q.dtype))
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
        title="accumulator that the tensor cores do not keep",
        fact="`{name}` is not accumulated in fp32[: {why}].",
        remedy="Leave `out_dtype` away and convert the result behind the loop.",
        why="The wgmma that a converted kernel issues for 16-bit operands adds up in fp32; any other sum differs.",
        example="""
            acc = tl.dot(a, b, acc, out_dtype=tl.float16)
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
        fact="The loaded operand `{name}` is used for something besides the dot, and is not bound by itself[: {why}].",
        remedy="Bind what is loaded to a name, in a statement that does nothing else.",
        why=(
            "The dot reads the slot that the tile arrived in, and the other use gets its values in registers: two "
            "names for one load. A statement that binds more than the tile cannot be replaced by them."
        ),
        example="""
            a, b = tl.load(a_ptrs), tl.load(b_ptrs)
            acc = tl.dot(a, b, acc)
            norm += tl.sum(b * b, axis=0)
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
    Rule(
        code="TLX318",
        outcome="declined",
        title="nothing to take turns for",
        fact="Consumer groups cannot take turns on the tensor cores here[: {why}].",
        remedy="Convert it with `--schedule auto`.",
        why=(
            "Turns pay where one group computes while the other multiplies: between two dots of a trip, as the softmax "
            "of attention."
        ),
        example="""
            for k in range(0, tl.cdiv(K, BLOCK_K)):
                acc = tl.dot(a, b, acc)  # converted with --schedule pingpong
        """,
    ),
    Rule(
        code="TLX319",
        outcome="unprofitable",
        title="no tile for a descriptor",
        fact="`{name}` loads no tile of two axes through pointers.",
        remedy="Nothing to do: what it loads is too small for the TMA, or goes through descriptors already.",
        why=(
            "`--tier descriptors` has the TMA load what the source loads through pointers or block pointers. Single "
            "rows are as fast through pointers, and a tile that the source loads through a descriptor stays as it is."
        ),
        example="""
            @triton.jit
            def add(x_ptr, y_ptr, n):
                i = tl.arange(0, 128)
                tl.store(x_ptr + i, tl.load(y_ptr + i, mask=i < n), mask=i < n)
        """,
    ),
    Rule(
        code="TLX320",
        outcome="declined",
        title="producer of one warp",
        fact="The producer cannot be one warp[: {why}].",
        remedy="Convert it with `--schedule auto`.",
        why=(
            "With `--schedule lean` one warp has the TMA fill the slots. Where threads copy rows instead, 32 of them "
            "would copy at a quarter of the rate; and a role that computes operands runs beside a producer of four "
            "warps only."
        ),
        example="""
            rows = tl.load(index_ptr + offs_m)
            for k in range(0, tl.cdiv(K, BLOCK_K)):
                a = tl.load(a_ptr + rows[:, None] * stride_am + k * BLOCK_K + offs_k[None, :])
        """,
    ),
    Rule(
        code="TLX321",
        outcome="declined",
        title="loads where it stores",
        fact="The kernel {what}: nothing would order that with its stores.",
        remedy="Store to memory of its own, or read what was stored in a launch of its own.",
        why=(
            "The TMA loads tiles ahead of the warps that compute, and past the caches by which one thread sees what "
            "another stored. Memory that the same launch stores to must not be loaded that way, and neither may a "
            "bound or condition be read there: each role asks for it at a time of its own."
        ),
        example="""
            @triton.jit
            def kernel(x_ptr, n, BLOCK: tl.constexpr):
                i = tl.arange(0, BLOCK)
                for k in range(0, n, BLOCK):
                    x = tl.load(x_ptr + i[:, None] * n + (k + i)[None, :])
                    w = tl.load(x_ptr + (k + i)[:, None] * n + i[None, :])
                    tl.store(x_ptr + i[:, None] * n + i[None, :], tl.dot(x, w).to(tl.float16))
        """,
    ),
    Rule(
        code="TLX322",
        outcome="declined",
        title="what is loaded waits for a result",
        fact="{what} decides what is loaded, so that cannot be loaded ahead.",
        remedy="Decide it before the loop, or by something that is no tile: a scalar that is loaded, a parameter.",
        why=(
            "The producer only loads. What it loads next it must know without what the consumers compute, or it would "
            "wait for them in every trip, and nothing would be won."
        ),
        example="""
            @triton.jit
            def kernel(x_ptr, w_ptr, n, BLOCK: tl.constexpr):
                i = tl.arange(0, BLOCK)
                acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
                k = 0
                while k < n:
                    x = tl.load(x_ptr + i[:, None] * n + (k + i)[None, :])
                    w = tl.load(w_ptr + (k + i)[:, None] * n + i[None, :])
                    acc = tl.dot(x, w, acc)
                    k += BLOCK + tl.max(acc).to(tl.int32)
        """,
    ),
)
