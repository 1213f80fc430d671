# One descriptor brings an operand and what is added at the end: it keeps its own blocks beside those of the ring.

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def hostile_kernel(x_desc, w_desc, y_desc, K, BLOCK: tl.constexpr):
    row, col = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        x = x_desc.load([row, k])
        w = w_desc.load([k, col])
        acc = tl.dot(x, w, acc)
    acc += x_desc.load([row, col]).to(tl.float32)
    y_desc.store([row, col], acc.to(y_desc.dtype))


def launch(x, w, y, B=64):
    hostile_kernel[(x.shape[0] // B, w.shape[1] // B)](
        TensorDescriptor.from_tensor(x, [B, B]), TensorDescriptor.from_tensor(w, [B, B]),
        TensorDescriptor.from_tensor(y, [B, B]), x.shape[1], BLOCK=B,
    )
# output
@tlx.jit
def _hostile_kernel_ws(
    x_desc_2,
    x_desc,
    w_desc,
    y_desc,
    K,
    BLOCK: tl.constexpr,
    STAGES: tl.constexpr,
    CONSUMER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
):
    # Rings of STAGES slots, filled by the producer and freed by the consumers.
    x_ring = tlx.local_alloc((BLOCK, BLOCK), tlx.dtype_of(x_desc_2), STAGES)
    w_ring = tlx.local_alloc((BLOCK, BLOCK), tlx.dtype_of(w_desc), STAGES)
    # producer → consumers: the slot holds its tiles.
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    SLOT_BYTES: tl.constexpr = (BLOCK + BLOCK) * BLOCK * tlx.size_of(tlx.dtype_of(x_desc_2))

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then has the TMA fill it with tiles of x and w.
        with tlx.async_task("default"):
            filled = 0
            row, col = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
            for k in range(0, K, BLOCK):
                slot = filled % STAGES
                tlx.barrier_wait(empty[slot], ((filled // STAGES) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], SLOT_BYTES)
                tlx.async_descriptor_load(x_desc_2, x_ring[slot], [row, k], full[slot])
                tlx.async_descriptor_load(w_desc, w_ring[slot], [k, col], full[slot])
                filled += 1

        # Consumer: multiplies from each slot, hands it back and finishes the tile.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS):
            used = 0
            row, col = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
            acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
            for k in range(0, K, BLOCK):
                slot = used % STAGES
                tlx.barrier_wait(full[slot], (used // STAGES) & 1)
                x = x_ring[slot]
                w = w_ring[slot]
                acc = tlx.async_dot(x, w, acc)
                # The dot just issued stays in flight; the one before it has retired, so its slot is free.
                acc = tlx.async_dot_wait(1, acc)
                if k > 0:
                    tlx.barrier_arrive(empty[(used - 1) % STAGES])
                used += 1
            acc = tlx.async_dot_wait(0, acc)
            acc += x_desc.load([row, col]).to(tl.float32)
            y_desc.store([row, col], acc.to(y_desc.dtype))


def _hostile_kernel_guard(x_desc, w_desc, y_desc, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    x_2 = tlx.tma_view("x_desc", x_desc, shape=(x_desc.shape[0], x_desc.shape[1]), strides=(x_desc.strides[0], 1))
    tlx.require(not x_2.transposed, "stride", "x_desc is stored column by column")
    w = tlx.tma_view("w_desc", w_desc, shape=(w_desc.shape[0], w_desc.shape[1]), strides=(w_desc.strides[0], 1))
    tlx.require(not w.transposed, "stride", "w_desc is stored column by column")
    tlx.require_dtypes({"x_desc": x_desc, "w_desc": w_desc}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("y_desc", y_desc, (y_desc.shape[0], y_desc.shape[1]), (y_desc.strides[0], 1), reads=(x_2, w))
    return {"x_desc_2": x_2, "w_desc": w}


def _hostile_kernel_boxes(x_desc, BLOCK, w_desc, y_desc, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    # What one load or store of a descriptor of the caller's is taken to move.
    tlx.require_block("x_desc", x_desc, (BLOCK, BLOCK))
    tlx.require_block("w_desc", w_desc, (BLOCK, BLOCK))
    tlx.require_block("y_desc", y_desc, (BLOCK, BLOCK))
    return {"x_desc_2": tlx.Box((BLOCK, BLOCK)), "w_desc": tlx.Box((BLOCK, BLOCK))}


def specialize_hostile_kernel(original):
    """`original`, running _hostile_kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _hostile_kernel_ws,
        guard=_hostile_kernel_guard,
        boxes=_hostile_kernel_boxes,
        schedule=tlx.Schedule(output=("BLOCK", "BLOCK"), crowded=True),
        fingerprint="d7c334fdac1df57c",
    )
