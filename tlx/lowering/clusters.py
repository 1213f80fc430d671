"""Lowering of what happens between the CTAs of a cluster.

To Triton's compiler each CTA is a program of its own (``ttg.num-ctas`` is 1); the launcher forms the clusters. All that
crosses CTAs is inline assembly on addresses of shared memory, which Triton 3.9 can take.
"""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import _core as ttgl

from ..builtin import TLXError, unwrap
from ..types import buffered_tensor, mbarrier, mbarrier_type
from . import versions
from .state import current
from .tcgen05 import Tcgen05Semantic

_MEET = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"


class ClusterSemantic(Tcgen05Semantic):
    """Shared memory and barriers of other CTAs."""

    @property
    def cluster_size(self) -> int:
        """CTAs of a cluster."""
        return int(self.builder.options.num_ctas)

    def _clustered(self, what: str) -> None:
        if not versions.CLUSTERS:
            raise TLXError(versions.too_old(what))
        if self.cluster_size == 1:
            raise TLXError(
                f"{what} reaches into another CTA, but the kernel is launched without clusters: give "
                "ctas_per_cga=(2, 1, 1) in the triton.Config or at the launch"
            )

    # ---- assembly ---------------------------------------------------------------------------------------------------

    def threadwise(self, asm: str, constraints: str, operands: list[Any]) -> None:
        """Assembly for its effect, executed by every thread; shared memory is passed as its address."""
        constraints = f"{constraints},~{{memory}}" if constraints else "~{memory}"
        self.builder.create_threadwise_inline_asm(asm, constraints, operands, [], False)

    def meet(self) -> None:
        """All warps of the task."""
        self.builder.create_barrier()

    def by_one_thread(
        self, asm: str, constraints: str, operands: list[Any], only_if: Any = None, setup: str = ""
    ) -> None:
        """Assembly executed by the task's first thread, where the scalar ``only_if`` is true.

        Every thread executes ``setup`` before; registers ``%tlx_a`` and ``%tlx_b`` (32 bits) and ``%tlx_d`` (64) are at
        its disposal.
        """
        threads = 32 * self.warps
        ty = ttgl.distributed_type(tl.int32, [threads], ttgl.BlockedLayout([1], [32], [self.warps], [0]))
        own = self.builder.create_make_range(ty.to_ir(self.builder), 0, threads)
        gate = self.to_tensor(True) if unwrap(only_if) is None else only_if
        gate = self.cast(self.cast(self.to_tensor(gate), tl.int1), tl.int32)
        last = len(operands)
        body = (
            f"{{ .reg .pred %tlx_p, %tlx_q; .reg .b32 %tlx_a, %tlx_b; .reg .b64 %tlx_d; {setup} "
            f"setp.eq.s32 %tlx_p, ${last}, 0; setp.ne.and.s32 %tlx_q, ${last + 1}, 0, %tlx_p; @%tlx_q {asm} }}"
        )
        self.threadwise(body, ",".join([*filter(None, [constraints]), "r", "r"]), [*operands, own, gate.handle])

    # ---- the cluster ------------------------------------------------------------------------------------------------

    def is_first_cta(self) -> Any:
        """Whether this is the first CTA of its cluster."""
        return self.cluster_rank().__eq__(0, _semantic=self)

    def cluster_barrier(self) -> None:
        """All threads of all CTAs meet."""
        if self.cluster_size == 1:
            self.meet()
            return
        self._clustered("cluster_barrier")
        if current().has_region:
            raise TLXError(
                "cluster_barrier takes all threads of all CTAs, and in a kernel with async_tasks no code runs on all "
                "of them. The CTAs of a cluster meet by themselves when a region starts and when it ends; in tasks use "
                "barrier_arrive(remote_cta_rank=...)"
            )
        self.threadwise(_MEET, "", [])

    def meet_in_region(self) -> None:
        """What every task of a region does when it starts or ends in a clustered kernel."""
        self.threadwise(_MEET, "", [])

    def publish_barriers(self) -> None:
        """Initialised barriers become visible to the other CTAs."""
        if self.cluster_size == 1 or not versions.CLUSTERS:
            return
        self.threadwise("fence.mbarrier_init.release.cluster;", "", [])
        if not current().has_region:
            self.threadwise(_MEET, "", [])

    def mbarrier_alloc(self, num: int, arrivals: int, per_thread: bool) -> mbarrier:
        """Allocates, initialises, and lets the other CTAs of a cluster see it."""
        array = super().mbarrier_alloc(num, arrivals, per_thread)
        if self.task.replica is None:
            self.publish_barriers()
        return array

    # ---- remote accesses --------------------------------------------------------------------------------------------

    def _rank(self, rank: Any) -> Any:
        plain = unwrap(rank)
        if isinstance(plain, int) and not 0 <= plain < self.cluster_size:
            raise TLXError(f"there is no CTA {plain} in a cluster of {self.cluster_size}")
        return self.cast(self.to_tensor(plain if isinstance(plain, int) else rank), tl.int32)

    def remote_arrive(self, bar: Any, count: int, rank: Any, pred: Any) -> None:
        """One thread of the task arrives at the barrier of another CTA."""
        self._clustered("remote_cta_rank")
        target = self._single(bar, "barrier_arrive", remote=True)
        times = count * (32 * self.warps if target.is_warp_barrier else 1)
        self.meet()
        self.by_one_thread(
            f"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%tlx_a], {times};",
            "r,r",
            [target.handle, self._rank(rank).handle],
            pred,
            "mapa.shared::cluster.u32 %tlx_a, $0, $1;",
        )

    def remote_copy(self, dst: Any, src: Any, rank: Any, bar: Any) -> None:
        """cp.async.bulk from shared memory to that of another CTA, completing bytes on the barrier there."""
        self._clustered("async_remote_shmem_copy")
        target, source = self._tile(dst, "async_remote_shmem_copy"), self._tile(src, "async_remote_shmem_copy")
        size = self._bytes(source)
        if self._bytes(target) != size or target.layout != source.layout:
            raise TLXError(f"async_remote_shmem_copy: {source.type} and {target.type} are not alike")
        signal = self._single(bar, "async_remote_shmem_copy")
        self.memory_fence("async_shared")
        self.meet()
        self.by_one_thread(
            f"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%tlx_a], [$1], {size}, [%tlx_b];",
            "r,r,r,r",
            [target.handle, source.handle, self._rank(rank).handle, signal.handle],
            setup="mapa.shared::cluster.u32 %tlx_a, $0, $2; mapa.shared::cluster.u32 %tlx_b, $3, $2;",
        )

    def remote_store(self, dst: Any, src: Any, rank: Any) -> None:
        """A block into shared memory of another CTA: through a tile of this CTA's, 16 bytes a thread at a time."""
        self._clustered("remote_shmem_store")
        tile = self._tile(dst, "remote_shmem_store")
        stage: buffered_tensor = self.shared_view(self.shared_alloc(tile.shape, tile.dtype, 1, None), 0)
        self.registers_to_shared(stage, src)
        self.meet()
        size, threads = self._bytes(stage), 32 * self.warps
        if size % 16:
            raise TLXError(f"remote_shmem_store moves multiples of 16 bytes, not {size}")
        ty = ttgl.distributed_type(tl.int32, [threads], ttgl.BlockedLayout([1], [32], [self.warps], [0]))
        own = self.builder.create_make_range(ty.to_ir(self.builder), 0, threads)
        self.threadwise(
            "{ .reg .pred %tlx_p; .reg .b32 %tlx_a, %tlx_b, %tlx_o, %tlx_v<4>; mapa.shared::cluster.u32 %tlx_a, $0, "
            "$2; shl.b32 %tlx_o, $3, 4; tlx_more${:uid}: "
            f"setp.lt.u32 %tlx_p, %tlx_o, {size}; @!%tlx_p bra tlx_done${{:uid}}; "
            "add.u32 %tlx_b, $1, %tlx_o; ld.shared.v4.b32 {%tlx_v0, %tlx_v1, %tlx_v2, %tlx_v3}, [%tlx_b]; "
            "add.u32 %tlx_b, %tlx_a, %tlx_o; "
            "st.shared::cluster.v4.b32 [%tlx_b], {%tlx_v0, %tlx_v1, %tlx_v2, %tlx_v3}; "
            f"add.u32 %tlx_o, %tlx_o, {16 * threads}; bra tlx_more${{:uid}}; tlx_done${{:uid}}: }}",
            "r,r,r,r",
            [tile.handle, stage.handle, self._rank(rank).handle, own],
        )
        self.meet()

    def async_remote_store(self, dst: Any, src: Any, rank: Any, bar: Any) -> None:
        """A block into shared memory of another CTA: through a tile of this CTA's, then as one copy."""
        self._clustered("async_remote_shmem_store")
        tile = self._tile(dst, "async_remote_shmem_store")
        stage: buffered_tensor = self.shared_view(self.shared_alloc(tile.shape, tile.dtype, 1, None), 0)
        self.registers_to_shared(stage, src)
        self.remote_copy(tile, stage, rank, bar)

    def remote_barrier(self, bar: Any, rank: Any) -> mbarrier:
        """A barrier of another CTA, to arrive at."""
        self._clustered("remote_view")
        own = self._single(bar, "remote_view")
        ty = own.type
        other = mbarrier(
            own.handle,
            mbarrier_type(ty.element_ty, ty.num, ty.layout, ty.alloc_shape, ty.is_warp_barrier, is_remote=True),
        )
        other.remote_rank = self._rank(rank)
        return other

    # ---- multicast --------------------------------------------------------------------------------------------------

    def multicast_load(self, desc: Any, result: Any, offsets: Any, bar: Any, pred: Any, ranks: list[Any]) -> None:
        """A TMA load into the same place of several CTAs, completing bytes on the same barrier of each.

        Triton's own operation multicasts only tiles that its compiler spread over the CTAs. So the instruction is
        written out, one for each swizzle atom along the contiguous dimension.
        """
        what = "multicast_targets"
        self._clustered(what)
        tile = self._tile(result, "async_descriptor_load")
        raw = self._matched(desc, tile, "async_descriptor_load")
        signal = self._single(bar, "async_descriptor_load")
        if desc.type.parameter is None:
            raise TLXError(f"{what} needs a descriptor that the host made and the kernel got as an argument")
        mask = self._target_mask(ranks)
        coordinates = [value.handle for value in self._coordinates(desc, offsets).values]
        block = [unwrap(extent) for extent in desc.block_shape]
        width = block[-1] * tile.dtype.primitive_bitwidth // 8
        atom = min(width, desc.layout.swizzle_byte_width or width)
        step = atom * 8 // tile.dtype.primitive_bitwidth
        rank = len(block)
        parameter = f"{current().kernel}_param_{desc.type.parameter}"
        self.meet()
        for part in range(width // atom):
            skipped = part * self._bytes(tile) * atom // width
            inner = f"add.s32 %tlx_b, ${rank}, {part * step}; add.u32 %tlx_a, $0, {skipped};"
            places = ", ".join(["%tlx_b", *(f"${1 + axis}" for axis in reversed(range(rank - 1)))])
            self.by_one_thread(
                f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                f"[%tlx_a], [%tlx_d, {{{places}}}], [${rank + 1}], ${rank + 2};",
                ",".join(["r"] * (rank + 2) + ["h"]),
                [raw.handle, *coordinates, signal.handle, mask.handle],
                pred,
                f"mov.b64 %tlx_d, {parameter}; cvta.param.u64 %tlx_d, %tlx_d; {inner}",
            )

    def _target_mask(self, ranks: list[Any]) -> Any:
        """16 bits, one for each CTA that receives the tile."""
        constant, mask = 0, None
        for rank in ranks:
            plain = unwrap(rank)
            if isinstance(plain, int):
                self._rank(plain)
                constant |= 1 << plain
            else:
                bit = self.to_tensor(1).__lshift__(self._rank(rank), _semantic=self)
                mask = bit if mask is None else mask.__or__(bit, _semantic=self)
        known = self.to_tensor(constant)
        whole = known if mask is None else mask.__or__(known, _semantic=self)
        return self.cast(whole, tl.int16)
