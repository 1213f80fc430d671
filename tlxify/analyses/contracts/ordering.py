"""The axes of tensors in the order that launches say: the one that `q.stride(0)` is passed for is the outermost.

A kernel that only multiplies program ids with strides says nothing of how they nest, and a version that computes
`(t * H + h) * D` relies on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...contract import TensorSpec
from ...parse.launches import CallSite


def as_launched(specs: Iterable[TensorSpec], sites: Sequence[CallSite]) -> list[TensorSpec]:
    """The tensors, with those axes sorted whose place a launch tells; the others stay where they are."""
    return [_ordered(spec, sites) for spec in specs]


def _ordered(spec: TensorSpec, sites: Sequence[CallSite]) -> TensorSpec:
    passed = [pitch for site in sites for pitch in site.pitches]
    # A stride of one tensor serves another one of the same shape: its own tells more.
    passed.sort(key=lambda pitch: pitch.pointer == spec.name)
    told = {pitch.parameter: pitch.axis for pitch in passed}
    places = [place for place, stride in enumerate(spec.strides) if stride in told]
    axes = [told[spec.strides[place]] for place in places]
    mixed = min(axes, default=0) < 0 <= max(axes, default=0)
    if spec.block or mixed or len({*axes}) < len(axes) or axes == sorted(axes):
        return spec
    order = list(range(len(spec.shape)))
    for place, origin in zip(places, sorted(places, key=lambda one: told[spec.strides[one]]), strict=True):
        order[place] = origin
    return replace(
        spec,
        shape=tuple(spec.shape[origin] for origin in order),
        strides=tuple(spec.strides[origin] for origin in order),
        deep=order.index(spec.deep) if spec.deep is not None else None,
    )
