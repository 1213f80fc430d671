"""What ran on a GPU, as counts and words that a child can tell its parent: plain values, nothing heavy to import."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Record:
    """What ran, as far as counts and words tell it; the records of several children add up (`merge`)."""

    cases: int = 0
    launches: int = 0
    specialized: int = 0
    original: int = 0
    identical: int = 0
    compared: int = 0
    repeats: int = 0
    #: Some repeats of the source differ within the tolerance.
    unstable_source: bool = False
    #: Cases that the source itself cannot be launched on, and why.
    source_failures: list[str] = field(default_factory=list)
    #: Cases on which the source's own repeats differ by more than the tolerance.
    source_varies: list[str] = field(default_factory=list)
    configs: list[int] = field(default_factory=list)
    #: Configs of which no launch can be specialized, by number, and the reason that lies in them.
    left: dict[str, str] = field(default_factory=dict)
    #: Those of `configs` of which some launch wrote anything but zeros.
    telling: list[int] = field(default_factory=list)
    #: The largest difference from the source, relative to size and scale of the output.
    worst: float = 0.0
    #: Constants of the specialized launches, and whether all outputs so far have the source's bits.
    exact: bool = True
    constants: list[dict[str, object]] = field(default_factory=list)
    #: What the proof of bit-equality is about: fingerprints, device, Triton.
    about: dict[str, str] = field(default_factory=dict)
    #: The case after the one that made the GPU useless to this process.
    resume: int | None = None


def merge(records: Iterable[Record]) -> Record:
    """The records of several children as one."""
    total = Record()
    for record in records:
        for name in ("cases", "launches", "specialized", "original", "identical", "compared", "repeats"):
            setattr(total, name, getattr(total, name) + getattr(record, name))
        total.unstable_source |= record.unstable_source
        total.exact &= record.exact
        total.worst = max(total.worst, record.worst)
        total.source_failures += record.source_failures
        total.source_varies += record.source_varies
        total.left |= record.left
        total.telling += [config for config in record.telling if config not in total.telling]
        total.configs += [config for config in record.configs if config not in total.configs]
        total.constants += [entry for entry in record.constants if entry not in total.constants]
        total.about = record.about or total.about
        total.resume = record.resume
    return total
