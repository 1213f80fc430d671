"""TLX2xx: the address or the mask of a load or store is not understood well enough."""

from __future__ import annotations

from .rule import Rule

RULES = (
    Rule(
        code="TLX201",
        outcome="declined",
        title="operand address is not affine",
        fact="The address of `{name}` is not a base plus strides times tile offsets[: {why}].",
        remedy=(
            "Compute it as `ptr + rows[:, None] * stride_row + cols[None, :] * stride_col` with `tl.arange` offsets."
        ),
        why=(
            "The TMA unit copies boxes of a strided tensor. Only an address that is affine in the tile's "
            "coordinates is such a box."
        ),
        example="""
            offs = tl.arange(0, BLOCK) ^ swizzle
            a = tl.load(a_ptr + offs[:, None] * stride_am + offs_k[None, :])
        """,
    ),
    Rule(
        code="TLX202",
        outcome="declined",
        title="gathered elements do not lie in rows",
        fact="Where `{name}` lies follows from indices that are loaded or computed[: {why}].",
        remedy=(
            "Gather whole rows: `ptr + rows[:, None] * stride_row + cols[None, :]`, where `cols` are plain offsets, "
            "masked by a bound alone, and rows begin and end at multiples of 16 elements."
        ),
        why=(
            "A TMA box has consecutive rows. Rows that indices name are copied by threads of the producer, 4 to 16 "
            "bytes at a time: the compiler must be able to prove that so many lie together and are masked alike."
        ),
        example="""
            rows = tl.load(sorted_ids_ptr + tl.arange(0, BLOCK_M))
            cols = tl.load(kept_ptr + offs_k)
            a = tl.load(a_ptr + rows[:, None] * stride_am + cols[None, :])
        """,
    ),
    Rule(
        code="TLX203",
        outcome="declined",
        title="pointer does not advance by a fixed step",
        fact="`{name}` is carried around the loop without a step that stays the same in every trip[: {why}].",
        remedy="Advance the pointer by a loop-invariant amount, or compute it from the loop index.",
        why=(
            "The coordinate of the next tile must follow from the trip number, since another warp asks for "
            "it ahead of time."
        ),
        example="""
            for k in range(0, K, BLOCK_K):
                a = tl.load(a_ptrs)
                a_ptrs += tl.load(step_ptr + k)
        """,
    ),
    Rule(
        code="TLX204",
        outcome="declined",
        title="mask is not a bound on a tile axis",
        fact=("The mask of `{name}` is not a conjunction of `offset < extent` over the axes of its tile[: {why}]."),
        remedy="Mask each axis by its own bound, such as `(offs_m[:, None] < M) & (offs_k[None, :] < K)`.",
        why=(
            "The TMA fills what lies outside the tensor with zeros. It can express a bound per axis and nothing else."
        ),
        example="""
            a = tl.load(a_ptrs, mask=(offs_m[:, None] + offs_k[None, :]) < limit, other=0.0)
        """,
    ),
    Rule(
        code="TLX205",
        outcome="declined",
        title="masked elements are not zero",
        fact="Elements of `{name}` outside the mask read as {value} instead of 0[: {why}].",
        remedy="Load with `other=0.0`, and put the other value in where it is used: `tl.where(mask, x, value)`.",
        why="What the TMA reads outside the tensor is zero, so another fill value would change the result.",
        example="""
            a = tl.load(a_ptrs, mask=offs_k[None, :] < K, other=float("-inf"))
        """,
    ),
    Rule(
        code="TLX206",
        outcome="declined",
        title="wrap-around is not proved harmless",
        fact=("Rows of `{name}` wrap around, and what they compute is not proved to stay out of the result[: {why}]."),
        remedy=(
            "Mask every store by the same offset and extent as the wrapped rows, or bound the rows by a mask instead."
        ),
        why=(
            "`% M` reads valid memory where the TMA reads zeros. That is the same only if no stored value "
            "depends on those rows."
        ),
        example="""
            offs_m = (pid * BLOCK_M + tl.arange(0, BLOCK_M)) % M
            ...
            tl.store(c_ptrs, acc)  # no mask
        """,
    ),
    Rule(
        code="TLX207",
        outcome="declined",
        title="extent or stride is not known at launch",
        fact="The {what} of `{name}` is not computable from the launch arguments[: {why}].",
        remedy="Pass it as a kernel argument, or as a `tl.constexpr`.",
        why="Descriptors are built on the host when the kernel is launched.",
        example="""
            K = tl.load(sizes_ptr + group)
            a = tl.load(a_ptrs, mask=offs_k[None, :] < K, other=0.0)
        """,
    ),
    Rule(
        code="TLX208",
        outcome="declined",
        title="index is divided or packed",
        fact="The address of `{name}` divides a tile offset[: {why}].",
        remedy=("Unpack after the load: load the packed tile as it lies in memory and index it with plain offsets."),
        why="Two neighbouring elements of the tile share one element of memory, which is no box.",
        example="""
            packed = tl.load(b_ptr + (offs_k[:, None] // 8) * stride_bk + offs_n[None, :] * stride_bn)
        """,
    ),
    Rule(
        code="TLX209",
        outcome="declined",
        title="block pointer would stay in the kernel",
        fact="`{name}` is accessed through a block pointer[: {why}].",
        remedy="Write this access with pointer arithmetic and a mask: `c_ptr + rows[:, None] * stride_cm + cols`.",
        why=(
            "Operands of a dot that are loaded through block pointers get descriptors instead. What is not moved to a "
            "producer stays as it is written, and block pointers do not exist in tlx kernels or in newer Tritons."
        ),
        example="""
            c_block = tl.make_block_ptr(c_ptr, (M, N), (stride_cm, 1), (row, col), (BM, BN), (1, 0))
            tl.store(c_block, acc, boundary_check=(0, 1))
        """,
    ),
    Rule(
        code="TLX210",
        outcome="declined",
        title="descriptor comes from outside of the kernel",
        fact="`{name}` is a tensor descriptor that the kernel does not make[: {why}].",
        remedy=(
            "Say how long its blocks are in the kernel's own file: where it is made, "
            "`TensorDescriptor.from_tensor(a, [BLOCK_M, BLOCK_K])`, or in a hook of the configs."
        ),
        why=(
            "Extents and strides of a descriptor that is a parameter are read at launch. How long its blocks are "
            "decides what the kernel computes: it must be known here, and is compared with the live descriptor."
        ),
        example="""
            a = a_desc.load([0, k])  # `a_desc` is a parameter, and nothing in this file says what its blocks are
        """,
    ),
    Rule(
        code="TLX211",
        outcome="declined",
        title="operand is masked by a value that changes during the launch",
        fact="The bound in the mask of `{name}` is not constant over the launch[: {why}].",
        remedy="Bound the operand by an extent passed at launch and apply the other condition to the store.",
        why="A descriptor has one extent per axis for the whole launch.",
        example="""
            end = tl.load(ends_ptr + group)
            a = tl.load(a_ptrs, mask=offs_k[None, :] < end, other=0.0)
        """,
    ),
    Rule(
        code="TLX212",
        outcome="declined",
        title="tile starts where the TMA cannot",
        fact="Tiles of `{name}` start at `{what}` along the contiguous axis, which may be no multiple of 16 bytes.",
        remedy="Start tiles at multiples of a tile's length, or add what is loaded to a coordinate of another axis.",
        why=(
            "Along the contiguous axis the TMA starts a box at whole 16 bytes; a box that starts elsewhere ends in an "
            "illegal instruction. Where the offset is a parameter, the launch is asked; a loaded one cannot be asked "
            "before the kernel runs."
        ),
        example="""
            first = tl.load(starts_ptr + tl.program_id(0))
            b = tl.load(b_ptr + offs_k[:, None] * stride_bk + first + offs_n[None, :])
        """,
    ),
    Rule(
        code="TLX213",
        outcome="declined",
        title="volatile load",
        fact="`{name}` is loaded as `volatile`.",
        remedy="Leave `volatile` out if nothing else writes there while the kernel runs.",
        why=(
            "A volatile load wants memory as it is when the program gets there. The TMA is asked ahead of time, by "
            "other warps or through another path, so what it brings may be older."
        ),
        example="""
            for k in range(0, K, BLOCK_K):
                a = tl.load(a_ptrs, mask=a_mask, other=0.0, volatile=True)
                b = tl.load(b_ptrs, mask=b_mask, other=0.0)
                acc = tl.dot(a, b, acc)
        """,
    ),
)
