"""S[b, h] = scale · Q[b, h] @ K[b, h]ᵀ: one grid axis counts batches and heads together, as attention code has it."""

import triton
import triton.language as tl


@triton.jit
def scores_kernel(
    q_ptr, k_ptr, s_ptr,
    stride_qb, stride_qh, stride_qm, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_sb, stride_sh, stride_sm, stride_sn,
    heads, length, depth, scale: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    batch = tl.program_id(0) // heads
    head = tl.program_id(0) % heads
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(2) * BLOCK_N + tl.arange(0, BLOCK_N)

    q_base = q_ptr + batch * stride_qb + head * stride_qh
    k_base = k_ptr + batch * stride_kb + head * stride_kh
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, depth, BLOCK_D):
        inner = start + tl.arange(0, BLOCK_D)
        q = tl.load(
            q_base + rows[:, None] * stride_qm + inner[None, :] * stride_qd,
            mask=(rows[:, None] < length) & (inner[None, :] < depth),
            other=0.0,
        )
        # K is read column by column: the dot wants it as (depth, length).
        k = tl.load(
            k_base + cols[None, :] * stride_kn + inner[:, None] * stride_kd,
            mask=(cols[None, :] < length) & (inner[:, None] < depth),
            other=0.0,
        )
        acc += tl.dot(q, k)

    s_base = s_ptr + batch * stride_sb + head * stride_sh
    tl.store(
        s_base + rows[:, None] * stride_sm + cols[None, :] * stride_sn,
        (acc * scale).to(s_ptr.dtype.element_ty),
        mask=(rows[:, None] < length) & (cols[None, :] < length),
    )
