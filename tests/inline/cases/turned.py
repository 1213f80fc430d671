# A tile that is loaded and turned in one statement is loaded first; what reads its own old name, or more, stays.
# launch: {"grid": [2], "args": {"a_ptr": 2048, "b_ptr": 1024, "c_ptr": 1024, "K": 64}, "constexprs": {"BLOCK": 16}}

import triton
import triton.language as tl


@triton.jit
def tile(p, offsets):
    return tl.load(p + offsets)


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    start = tl.program_id(0) * BLOCK * BLOCK
    # above the first
    x = tl.load(a_ptr + offsets).T  # behind the first
    y = tl.trans(
        # inside of the second
        tl.load(b_ptr + offsets, mask=offsets < K * 16, other=0.0),
        1, 0,
    )
    z = tl.load(a_ptr + start + offsets).trans(); w = 1.0  # behind two
    v = tl.permute(tl.load(b_ptr + offsets).trans(), (1, 0)).T
    if w > 0.5: z = tl.load(a_ptr + offsets).T + z
    u = tile(a_ptr, offsets).T
    at = tl.load(b_ptr + at[:, None] * BLOCK + at[None, :]).T
    acc = tl.dot(x, y) + tl.dot(z, v) * w
    acc += tl.dot(u, at)
    tl.store(c_ptr + start + offsets, acc)
# output
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    start = tl.program_id(0) * BLOCK * BLOCK
    # above the first
    x = tl.load(a_ptr + offsets)  # behind the first
    x = x.T
    y = tl.load(b_ptr + offsets, mask=offsets < K * 16, other=0.0)
    y = tl.trans(
        # inside of the second
        y,
        1, 0,
    )
    z = tl.load(a_ptr + start + offsets)
    z = z.trans()
    w = 1.0  # behind two
    v = tl.load(b_ptr + offsets)
    v = tl.permute(v.trans(), (1, 0)).T
    if w > 0.5: z = tl.load(a_ptr + offsets).T + z
    u = tl.load(a_ptr + offsets)
    u = u.T
    at = tl.load(b_ptr + at[:, None] * BLOCK + at[None, :])
    at = at.T
    acc = tl.dot(x, y) + tl.dot(z, v) * w
    acc += tl.dot(u, at)
    tl.store(c_ptr + start + offsets, acc)
