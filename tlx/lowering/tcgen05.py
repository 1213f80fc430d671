"""Lowering of products to tcgen05: Blackwell's tensor cores, which accumulate in tensor memory."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.experimental.gluon.language._layouts import NVMMASharedLayout
from triton.experimental.gluon.language.nvidia import blackwell, hopper

from ..builtin import TLXError, unwrap
from ..types import buffered_tensor, storage_kind
from . import versions
from .dots import DotSemantic

#: operand types → accumulator types
_ACCUMULATORS: dict[str, tuple[Any, ...]] = {
    "fp16": (tl.float32, tl.float16),
    "bf16": (tl.float32,),
    "fp32": (tl.float32,),
    "fp8e4nv": (tl.float32, tl.float16),
    "fp8e5": (tl.float32, tl.float16),
}
#: formats of scaled operands → element type of their buffers
_FORMATS: dict[str, Any] = {"e4m3": tl.float8e4nv, "e5m2": tl.float8e5, "e2m1": tl.uint8}


class Tcgen05Semantic(DotSemantic):
    """Products in tensor memory."""

    def tcgen05(
        self, a: Any, b: Any, acc: Any, use_acc: Any, pred: Any, barriers: list[Any], two_ctas: bool, force_async: bool
    ) -> None:
        """One product. Without barriers, and unless ``force_async``, it is waited for on the spot."""
        left, right, target = self._operands(a, b, acc, "async_dot", two_ctas)
        if left.dtype != right.dtype:
            raise TLXError(f"async_dot: operands are {left.dtype} and {right.dtype}; they must have one type")
        allowed = _ACCUMULATORS.get(str(left.dtype))
        if allowed is None:
            raise TLXError(f"async_dot: tcgen05 has no {left.dtype} operands")
        if target.dtype not in allowed:
            wanted = " or ".join(map(str, allowed))
            raise TLXError(f"async_dot: {left.dtype} operands accumulate in {wanted}, not {target.dtype}")
        self._multiplying(left.shape, right.shape, target.shape, 256 // left.dtype.primitive_bitwidth, "async_dot")

        def issue(signals: list[Any], preds: list[bool] | None) -> None:
            blackwell.tcgen05_mma(
                left.gluon(),
                right.gluon(),
                target.gluon(),
                use_acc=self._flag(use_acc),
                pred=self._flag(pred),
                mbarriers=signals,
                mbarrier_preds=preds,
                _semantic=self,
            )

        self._issue(issue, barriers, force_async, pred)

    def tcgen05_scaled(
        self,
        a: Any,
        b: Any,
        acc: Any,
        a_scale: Any,
        a_format: str,
        b_scale: Any,
        b_format: str,
        use_acc: Any,
        pred: Any,
        barriers: list[Any],
        two_ctas: bool,
        force_async: bool,
    ) -> None:
        """One block-scaled product."""
        what = "async_dot_scaled"
        left, right, target = self._operands(a, b, acc, what, two_ctas)
        for name, tile, form in (("A", left, a_format), ("B", right, b_format)):
            if form not in _FORMATS:
                raise TLXError(f"{what}: format {form!r} of {name} is none of {', '.join(_FORMATS)}")
            if tile.dtype not in (_FORMATS[form], tl.int8 if form == "e2m1" else _FORMATS[form]):
                raise TLXError(
                    f"{what}: {name} is said to be {form}, so its buffer holds {_FORMATS[form]}, not {tile.dtype}"
                )
        if target.shape[0] != 128:
            raise TLXError(f"{what} needs M = 128, not {target.shape[0]}")
        scales = [self._scale(scale, name) for scale, name in ((a_scale, "A_scale"), (b_scale, "B_scale"))]

        def issue(signals: list[Any], preds: list[bool] | None) -> None:
            blackwell.tcgen05_mma_scaled(
                left.gluon(),
                right.gluon(),
                target.gluon(),
                *scales,
                tl.constexpr(a_format),
                tl.constexpr(b_format),
                use_acc=self._flag(use_acc),
                pred=self._flag(pred),
                mbarriers=signals,
                mbarrier_preds=preds,
                _semantic=self,
            )

        self._issue(issue, barriers, force_async, pred)

    def commit(self, bar: Any, two_ctas: bool) -> None:
        """tcgen05.commit."""
        self._needs_blackwell("tcgen05_commit")
        self._one_cta(two_ctas, "tcgen05_commit")
        blackwell.tcgen05_commit(self._single(bar, "tcgen05_commit").gluon(), _semantic=self)

    # ---- parts ------------------------------------------------------------------------------------------------------

    def _issue(self, issue: Any, barriers: list[Any], force_async: bool, pred: Any) -> None:
        signals = [self._single(bar, "mBarriers of async_dot").gluon() for bar in barriers]
        if signals:
            issue(signals, None)
            return
        # The compiler waits for products without a barrier, so one that never hears of it makes this one asynchronous.
        done = self.shared_view(self.mbarrier_alloc(1, 1, False), 0)
        issue([done.gluon()], [not force_async])
        if force_async:
            return
        self.mbarrier_wait(done, 0, pred)
        hopper.mbarrier.invalidate(done.gluon(), _semantic=self)

    def _flag(self, value: Any) -> Any:
        plain = unwrap(value)
        return self.to_tensor(True) if plain is None else self.cast(self.to_tensor(value), tl.int1)

    def _one_cta(self, two_ctas: bool, what: str) -> None:
        if two_ctas:
            raise TLXError(
                f"two_ctas of {what} is not available: stock Triton forms two-CTA products only from tiles that its "
                "own compiler spread over both CTAs, and in TLX each CTA has tiles of its own"
            )

    def _operands(
        self, a: Any, b: Any, acc: Any, what: str, two_ctas: bool
    ) -> tuple[buffered_tensor, buffered_tensor, buffered_tensor]:
        self._needs_blackwell(what)
        self._one_cta(two_ctas, what)
        if not isinstance(a, buffered_tensor):
            raise TLXError(f"{what}: on Blackwell operand A is in shared or tensor memory; local_store the block first")
        if not isinstance(b, buffered_tensor) or b.storage is not storage_kind.smem:
            raise TLXError(f"{what}: operand B must be in shared memory")
        if not isinstance(acc, buffered_tensor) or acc.storage is not storage_kind.tmem:
            raise TLXError(
                f"{what}: on Blackwell the accumulator is a view in tensor memory, "
                "tlx.local_alloc((M, N), tl.float32, 1, tlx.storage_kind.tmem)[0]"
            )
        for name, tile in (("A", a), ("B", b)):
            if tile.storage is storage_kind.smem and not isinstance(tile.layout, NVMMASharedLayout):
                raise TLXError(f"{what}: operand {name} has a layout that tcgen05 cannot read")
        return self._tile(a, what), self._tile(b, what), self._tile(acc, what)

    def _multiplying(self, left: list[int], right: list[int], out: list[int], depth: int, what: str) -> None:
        if len(left) != 2 or len(right) != 2 or left[1] != right[0]:
            raise TLXError(f"{what}: shapes {left} and {right} do not multiply")
        if out != [left[0], right[1]]:
            raise TLXError(f"{what}: the accumulator has shape {out}, the product {[left[0], right[1]]}")
        if left[1] % depth:
            raise TLXError(f"{what}: K must be a multiple of {depth}, not {left[1]}")
        if right[1] % 8 or not 8 <= right[1] <= 256:
            raise TLXError(f"{what}: N must be a multiple of 8 from 8 to 256, not {right[1]}")

    def _scale(self, scale: Any, name: str) -> Any:
        """Scale factors in tensor memory, in the layout that the instruction reads."""
        tile = self._tile(scale, name)
        if tile.storage is storage_kind.tmem:
            if tile.layout != versions.scales_layout():
                raise TLXError(f"async_dot_scaled: {name} holds one byte for each 32 values, uint8, not {tile.dtype}")
            return tile.gluon()
        raise TLXError(
            f"async_dot_scaled: {name} must be in tensor memory; copy it there with tmem_copy or local_store first"
        )
