"""The states of chunked linear attention: S += Kᵀ V chunk by chunk, and the state before each chunk is written out."""

import torch
import triton
import triton.language as tl


@triton.jit
def states_kernel(
    k_ptr, v_ptr, s_ptr, T, KD, VD, stride_h, stride_t, stride_vh, stride_vt, stride_sh, stride_sc, stride_sk,
    BLOCK_K: tl.constexpr, BLOCK_V: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    j = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    h = tl.program_id(2)
    state = tl.zeros((BLOCK_K, BLOCK_V), dtype=tl.float32)
    for c in range(0, tl.cdiv(T, CHUNK)):
        at = s_ptr + h * stride_sh + c * stride_sc + i[:, None] * stride_sk + j[None, :]
        tl.store(at, state.to(s_ptr.dtype.element_ty), mask=(i[:, None] < KD) & (j[None, :] < VD))
        t = c * CHUNK + tl.arange(0, CHUNK)
        # K is read the other way round: a chunk's keys are the columns.
        k = tl.load(k_ptr + h * stride_h + t[None, :] * stride_t + i[:, None], mask=(t[None, :] < T) & (i[:, None] < KD), other=0.0)
        v = tl.load(v_ptr + h * stride_vh + t[:, None] * stride_vt + j[None, :], mask=(t[:, None] < T) & (j[None, :] < VD), other=0.0)
        state += tl.dot(k, v)


def chunk_states(k, v, chunk=64):
    """k: (H, T, KD), v: (H, T, VD); returns (H, T / chunk, KD, VD) in fp32."""
    (H, T, KD), VD = k.shape, v.shape[2]
    s = torch.empty((H, triton.cdiv(T, chunk), KD, VD), device=k.device, dtype=torch.float32)
    states_kernel[(triton.cdiv(KD, 64), triton.cdiv(VD, 64), H)](
        k, v, s, T, KD, VD, *k.stride()[:2], *v.stride()[:2], *s.stride()[:3],
        BLOCK_K=64, BLOCK_V=64, CHUNK=chunk, num_warps=4, num_stages=3,
    )  # fmt: skip
    return s
