"""Is the output of the conversion as good as the source's?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .buffers import POISON_BITS, Memory
from .dtypes import FORMATS, bits, decode

#: Errors up to so many units in the last place pass even where the source is exact: sums may be rounded once more.
FLOOR_ULPS = {"fp16": 1, "bf16": 1, "fp8e4nv": 1, "fp8e5": 1, "fp32": 32, "fp64": 32}
#: By what the largest of so many errors of the source may be exceeded: twice, but few errors say little of what is
#: usual. The ratio of the largest of n normal errors to the largest of n others stays below in 999 of 1000 cases, and
#: of products of rounded operands, whose errors go together by rows and columns, in 99 of 100.
SLACK = ((512, 2.0), (128, 2.4), (32, 2.8), (16, 3.4), (8, 5.0), (4, 9.0), (2, 32.0), (1, 640.0))
#: Times that where rows and columns say how large elements are: they say it less surely than a whole output.
LOCAL_SLACK = 2.5
#: So may each of these shares of its errors, in ascending order, by this one: a source whose worst element is far off
#: must not excuse that all of the conversion's are somewhat off.
SHARES, SHARE_SLACK = (0.5, 0.9, 0.99), 1.5
#: A share is looked at where so many errors at least are larger: fewer would tell of single elements.
TELLING = 100
#: Elements that a row or a column must have, or that stand together, to say how large they are.
MEASURED = 16


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two outputs side by side. Errors are relative to the oracle: |x - o| / (|o| + rms(o)), the worst element's."""

    output: str
    identical: bool
    error: float
    source_error: float
    #: What is wrong, in words with index and values; None if nothing is.
    mismatch: str | None

    @property
    def passed(self) -> bool:
        """Whether the conversion may stand."""
        return self.mismatch is None


def compare(
    output: str,
    converted: Any,
    source: Any,
    oracle: Any,
    dtype: str,
    unwritten: Any,
    source_unwritten: Any,
    *,
    added: bool = False,
) -> Comparison:
    """The conversion's output against the source's, both against the lifted oracle.

    Args:
        output: name of the tensor.
        converted, source: arrays of its dtype.
        oracle: float64, or None where the source has no lifted oracle; then the source itself is the measure.
        dtype: short name.
        unwritten, source_unwritten: boolean arrays: elements that still hold what they held before.
        added: the tensor held something before, which results were added to: each addition may round once more.
    """
    differs = bits(converted.copy()) != bits(source.copy())
    apart = unwritten != source_unwritten
    if dtype not in POISON_BITS:
        # These have no pattern to spare: a value may look like poison, and equal bits are then equal results.
        apart = apart & differs
    if apart.any():
        index = _first(apart)
        did, did_not = ("source", "conversion") if unwritten[index] else ("conversion", "source")
        return Comparison(
            output, False, np.inf, 0.0, f"{output}{_at(index)}: written by the {did}, not by the {did_not}"
        )
    # What neither wrote holds the poison of its own launch: it says nothing, and must not widen the tolerance.
    written = ~(unwritten & source_unwritten)
    wrong = differs & written
    identical = not wrong.any()
    got, had = decode(converted, dtype), decode(source, dtype)
    if dtype not in FORMATS:
        mismatch = None if identical else _tell(output, _first(wrong), got, had, had, wrong)
        return Comparison(output, identical, 0.0 if identical else np.inf, 0.0, mismatch)
    # Every addition rounds once more, in an order of its own. Without an oracle the source's roundings count as well,
    # and launches on a GPU have millions of elements: of some the sum is many times as large on its way.
    rounded = (2 if oracle is not None else 16) if added else 1
    with np.errstate(all="ignore"):
        # Without an oracle nobody knows whether an infinity of the source is one, or what no longer fits the type.
        edge = _at_the_edge(got, had, oracle, dtype) & written if oracle is not None else np.zeros(written.shape, bool)
        exact = had if oracle is None else oracle
        return _compare_floats(output, got, had, exact, dtype, identical, written, rounded, edge)


def compare_memory(mine: Memory, theirs: Memory, oracle: Any) -> Comparison:
    """One output of a launch against the source's, as `compare` does."""
    return compare(
        *(mine.spec.name, mine.array, theirs.array, oracle, mine.dtype, mine.unwritten(), theirs.unwritten()),
        added=mine.spec.reads,
    )


def _compare_floats(
    output: str, got: Any, had: Any, exact: Any, dtype: str, identical: bool, written: Any, rounded: int, edge: Any
) -> Comparison:
    odd = ~((got == had) | (np.isfinite(got) & np.isfinite(had)) | (np.isnan(got) & np.isnan(had))) & written & ~edge
    if odd.any():
        return Comparison(output, False, np.inf, 0.0, _tell(output, _first(odd), got, had, exact, odd))
    # Where the oracle has no number and the source has, the source is the measure.
    exact = np.where(np.isfinite(exact), exact, had)
    usable = np.isfinite(had) & np.isfinite(got) & written
    floor = FLOOR_ULPS[dtype] * FORMATS[dtype].eps * rounded
    if not usable.any():
        return Comparison(output, identical, 0.0, 0.0, _far_from_the_edge(output, got, had, exact, dtype, edge, floor))
    whole, *local = _sizes(exact, usable)
    slack = _slack(int(usable.sum()))
    off, source_off = (np.where(usable, np.abs(values - exact), 0.0) for values in (got, had))
    # Where all of a row cancels, what is left is of the size of the roundings of what cancelled.
    noise = FORMATS["fp32"].eps * whole
    beyond, source_beyond = (np.where(each > noise, each, 0.0) for each in (off, source_off))
    judged = [(whole, off, source_off, slack)]
    judged += [(size, beyond, source_beyond, LOCAL_SLACK * slack) for size in local]
    worst: list[tuple[float, float]] = []
    mismatch = None
    for size, mine, theirs, allowed in judged:
        scale = np.abs(exact) + size + FORMATS[dtype].tiny
        errors, source_errors = mine / scale, theirs / scale
        worst.append((float(errors.max()), float(source_errors.max())))
        wrong = errors > max(allowed * worst[-1][1], floor)
        mismatch = mismatch or (_tell(output, _first(wrong), got, had, exact, wrong) if wrong.any() else None)
        mismatch = mismatch or _less_exact(output, errors[usable], source_errors[usable], floor)
    allowed = max(slack * worst[0][1], floor)
    mismatch = mismatch or _far_from_the_edge(output, got, had, exact, dtype, edge, allowed)
    return Comparison(output, identical, *worst[0], mismatch)


def _at_the_edge(got: Any, had: Any, oracle: Any, dtype: str) -> Any:
    """Where one of the two rounded to infinity and the other to the largest number, and the oracle has a number."""
    ends = [(np.isinf(one), np.abs(other) == FORMATS[dtype].largest) for one, other in ((got, had), (had, got))]
    either = (ends[0][0] & ends[0][1]) | (ends[1][0] & ends[1][1])
    return either & (np.sign(got) == np.sign(had)) & (np.sign(got) == np.sign(oracle)) & np.isfinite(oracle)


def _far_from_the_edge(
    output: str, got: Any, had: Any, exact: Any, dtype: str, edge: Any, allowed: float
) -> str | None:
    """What is wrong with elements `_at_the_edge`: the exact value is not where rounding to infinity begins."""
    if not edge.any():
        return None
    largest, eps = FORMATS[dtype].largest, FORMATS[dtype].eps
    # Halfway from the largest number to what would be the next one.
    begins = largest * (1 + eps / 2 / (2 - eps))
    size = np.abs(exact)
    far = edge & (np.abs(size - begins) > allowed * size)
    return _tell(output, _first(far), got, had, exact, far) if far.any() else None


def _sizes(exact: Any, usable: Any) -> list[Any]:
    """How large elements are: over the whole output, and by where they stand in it.

    A kernel that scales its rows has some whose elements are all small: beside the others, errors of them are nothing.
    Sizes by all axes at once, by rows and by columns of each matrix, and by neighbours where nothing else can tell.
    """
    squares = np.where(usable, np.square(exact), 0.0)
    whole = float(np.sqrt(squares.sum() / usable.sum()))
    if not whole:
        return [whole]

    def along(*axes: int) -> Any:
        """Root mean squares over some axes; of the whole output where too few elements are there."""
        count = usable.sum(axis=axes, keepdims=True)
        means = np.sqrt(squares.sum(axis=axes, keepdims=True) / np.maximum(count, 1))
        return np.where(count >= MEASURED, means, whole)

    axes = [axis for axis in range(exact.ndim) if exact.shape[axis] > 1]
    wide = [axis for axis in axes if exact.size >= MEASURED * exact.shape[axis]]
    local = whole
    for axis in wide:
        local = local * (along(*(other for other in range(exact.ndim) if other != axis)) / whole)
    found = [whole, *([local] if wide else [])]
    if len(axes) > 2:
        found += [along(axis) for axis in axes[-2:] if exact.shape[axis] >= MEASURED]
    if len(wide) < len(axes) and exact.size >= 2 * MEASURED:
        found.append(_by_neighbours(squares, usable, whole))
    return found


def _by_neighbours(squares: Any, usable: Any, whole: float) -> Any:
    """Root mean squares of as many elements one behind the other as can tell."""
    missing = -squares.size % MEASURED
    sums, counts = (
        np.pad(values.reshape(-1).astype(np.float64), (0, missing)).reshape(-1, MEASURED).sum(axis=1)
        for values in (squares, usable)
    )
    means = np.where(counts >= MEASURED / 2, np.sqrt(sums / np.maximum(counts, 1)), whole)
    return np.repeat(means, MEASURED)[: squares.size].reshape(squares.shape)


def _slack(count: int) -> float:
    """By how much the largest of so many errors may exceed that of the source."""
    return next(slack for least, slack in SLACK if count >= least)


def _less_exact(output: str, errors: Any, source_errors: Any, floor: float) -> str | None:
    """What is wrong with the errors as a whole, though each of them alone may stand."""
    for share in SHARES:
        if errors.size * (1 - share) < TELLING:
            break
        mine, theirs = (float(np.quantile(each, share)) for each in (errors, source_errors))
        if mine > max(SHARE_SLACK * theirs, floor):
            return (
                f"{output} is less exact as a whole: {1 - share:.0%} of its {errors.size} elements are off by more "
                f"than {mine:.2g}, of the source's by {theirs:.2g}"
            )
    return None


def _first(wrong: Any) -> tuple[int, ...]:
    return tuple(int(axis) for axis in np.argwhere(wrong)[0])


def _at(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]"


def _tell(output: str, index: tuple[int, ...], converted: Any, source: Any, exact: Any, wrong: Any) -> str:
    values = f"{float(converted[index]):.6g} instead of {float(source[index]):.6g} (exactly {float(exact[index]):.6g})"
    return f"{output}{_at(index)} is {values}; {int(wrong.sum())} of {wrong.size} elements differ too much"
