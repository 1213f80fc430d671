"""Loss of a language model's head without its logits: for a block of tokens, a loop over the vocabulary around a loop over K."""

import torch
import triton
import triton.language as tl


@triton.jit
def linear_lse_kernel(
    x_ptr, w_ptr, lse_ptr, tokens, vocab, hidden, stride_x, stride_w,
    BLOCK_M: tl.constexpr, BLOCK_V: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    top = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    for first in range(0, vocab, BLOCK_V):
        v = first + tl.arange(0, BLOCK_V)
        logits = tl.zeros((BLOCK_M, BLOCK_V), dtype=tl.float32)
        for start in range(0, hidden, BLOCK_K):
            k = start + tl.arange(0, BLOCK_K)
            x = tl.load(x_ptr + m[:, None] * stride_x + k[None, :], mask=(m[:, None] < tokens) & (k[None, :] < hidden), other=0.0)
            w = tl.load(w_ptr + v[None, :] * stride_w + k[:, None], mask=(v[None, :] < vocab) & (k[:, None] < hidden), other=0.0)
            logits = tl.dot(x, w, logits)
        logits = tl.where(v[None, :] < vocab, logits, float("-inf"))
        best = tl.maximum(top, tl.max(logits, 1))
        total = total * tl.exp(top - best) + tl.sum(tl.exp(logits - best[:, None]), 1)
        top = best
    tl.store(lse_ptr + m, top + tl.log(total), mask=m < tokens)


def linear_lse(x, w):
    """x: (tokens, hidden), w: (vocab, hidden); returns the log-sum-exp of x @ wᵀ, (tokens,) fp32."""
    lse = torch.empty(x.shape[0], device=x.device, dtype=torch.float32)
    linear_lse_kernel[(triton.cdiv(x.shape[0], 128),)](
        x, w, lse, x.shape[0], w.shape[0], x.shape[1], x.stride(0), w.stride(0),
        BLOCK_M=128, BLOCK_V=128, BLOCK_K=64, num_warps=8, num_stages=3,
    )  # fmt: skip
    return lse
