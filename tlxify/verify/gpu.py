"""Launches on a Hopper GPU for the rung RAN. Only called in a child process, under a timeout; see `ran`.

Needs torch and Triton beside tlx and tlxify. Source and conversion run on equal tensors in fresh memory, one launch at
a time, so that a hang or an illegal access is known to be the one's or the other's; the launcher's own record says
which of the two kernels ran.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..contract import Contract, evaluate
from ..conversion import Conversion
from ..verdict import Evidence, Rung
from .buffers import Inapplicable, make_arguments
from .cases import Case
from .compare import compare_memory
from .described import passed
from .device import Hung, Launch, call_of, scratch_memory, settle
from .dispatch import STRUCTURAL
from .grids import settle_grid
from .inputs import edge_cases
from .loading import Loaded, load
from .oracle import as_constexpr
from .record import Record
from .sizing import full_size_case, in_tiles_of

#: Launches of each repeated case; races between warps show in one of thirty, or never.
REPEATS = 30
#: Cases that are launched so often, by name.
REPEATED = ("own tiles", "full size", "captured")
#: Tiles along each side of the result, and trips, of the large launches: several waves of CTAs, each of which goes from
#: tile to tile many times, for there one tile's end meets the next one's loads. The first that leaves each tensor
#: within `MOST_ELEMENTS`: the host makes and compares them.
LARGE = ((32, 16), (16, 16), (4, 16))
MOST_ELEMENTS = 1 << 25
#: Repeats of the source that differ and are measured: each is fetched from the device.
MEASURED = 4
#: Findings after which more of the same help nobody.
ENOUGH = 3


def run_on_gpu(
    conversion: Conversion,
    progress: Callable[[str], None] = lambda text: None,
    repeats: int = REPEATS,
    config: int | None = None,
    start: int = 0,
    cases: Sequence[Case] | None = None,
    partial: Callable[[Record, list[Evidence]], None] = lambda record, findings: None,
) -> tuple[Record | str, list[Evidence]]:
    """What ran, or why nothing could, and findings; `detail` of a finding begins with the number of its case.

    Args:
        conversion: its module is imported and run here.
        progress: called with a line per case.
        repeats: launches of each repeated case.
        config: only the cases of this config.
        start: cases before this one are left out.
        cases: instead of the contract's own.
        partial: called after each case with the record and the findings so far.
    """
    reason = unusable()
    if reason is not None:
        return f"TLX605 no launch on a GPU: {reason}", []
    session = Session(load(conversion), repeats)
    cases = cases_of(conversion) if cases is None else cases
    for number, case in enumerate(cases):
        if number < start or (config is not None and case.config != config):
            continue
        progress(f"ran: {number + 1}/{len(cases)} {case.name}")
        session.number = number
        session.run(case, thorough=case.name in REPEATED)
        partial(session.record, session.findings)
        if session.dead:
            session.record.resume = number + 1
        if session.dead or len(session.findings) >= ENOUGH:
            break
    return session.record, session.findings


def unusable() -> str | None:
    """Why nothing can be launched here."""
    import torch

    if not torch.cuda.is_available():
        return "torch sees no GPU"
    major, minor = torch.cuda.get_device_capability()
    return None if major == 9 else f"compute capability {major}.{minor}, not 9.x"


def cases_of(conversion: Conversion) -> list[Case]:
    """The launches of a conversion, or of two versions of a kernel, which have no guard between them."""
    return gpu_cases(conversion.contract, guarded=conversion.version is None)


def gpu_cases(contract: Contract, *, guarded: bool = True) -> list[Case]:
    """The edge cases with each config's own tiles, and a large launch of each config."""
    cases = []
    for case in edge_cases(contract, guarded=guarded):
        if case.zeroed is not None:
            continue
        if not case.tiles:
            cases.append(case)
            continue
        small, own = dict(case.tiles), dict(contract.configs[case.config].values)
        # Tiles that the call sets and no config has are as long as a real call's.
        called = {
            c.name: c.choices[0] for c in contract.constexprs if c.name in small.keys() - own.keys() and c.choices
        }
        real = replace(case, values=tuple({**dict(case.values), **called}.items()))
        cases.append(in_tiles_of(contract, real, {**own, **called}))
    return cases + [_large(contract, index) for index in range(len(contract.configs))]


def _large(contract: Contract, index: int) -> Case:
    for tiles, trips in LARGE:
        case = full_size_case(contract, index, tiles=tiles, trips=trips)
        known: dict[str, object] = {**dict(case.values), **case.constants(contract)}
        settle_grid(contract, known)
        if all(math.prod(evaluate(e, known) for e in spec.shape) <= MOST_ELEMENTS for spec in contract.tensors):
            break
    return case


class Session:
    """Launches of one conversion in this process, and what came of them."""

    def __init__(self, loaded: Loaded, repeats: int) -> None:
        import tlx

        self.loaded = loaded
        self.contract = loaded.conversion.contract
        self.atomics = "atomic_" in loaded.conversion.module_text
        self.repeats = repeats
        self.record = Record(about=_about(loaded))
        self.findings: list[Evidence] = []
        #: Which case is being run, for messages; whether a kernel has made the GPU useless to this process.
        self.number = 0
        self.dead = False
        #: Why the launcher took the original in the last launch of the conversion; empty if it did not.
        self.reasons: set[str] = set()
        # What is verified is the conversion, whatever a user would rather run.
        tlx.policy("always")
        scratch_memory()

    def run(self, case: Case, *, thorough: bool) -> None:
        """Runs source and conversion once each, and both again and again if `thorough`."""
        try:
            source, converted = self._prepare(case, 0), self._prepare(case, 1)
        except Inapplicable:
            return
        if 0 in source.arguments.grid:
            return
        self.record.cases += 1
        pristine, source_pristine = converted.again(), source.again()
        try:
            self._launch(self.loaded.source, source)
            stable = not thorough or self._source_repeats(case, source, source_pristine)
        except Exception as error:  # whatever it is, it is not the conversion's fault
            self.dead = _deadly(error)
            self.record.source_failures.append(f"{case.name}: {_told(error)}")
            return
        fast = self._launch_converted(case, converted)
        if fast is None:
            return
        if case.path == "specialized" and converted.arguments.faithful and not fast:
            reason = ", ".join(sorted(self.reasons)) or "no reason given"
            if self.reasons and self.reasons <= set(STRUCTURAL):
                self.record.left[str(case.config)] = reason
            else:
                self.found("dispatch", f"the original kernel ran ({reason}) where the specialized one must", case)
        if case.path == "original" and fast:
            self.found("dispatch", "the specialized kernel ran where the original must", case)
        if case.overlaps:
            if fast:
                self.found("dispatch", "the specialized kernel ran although its output overlaps an input", case)
            return  # the source races with itself there: nothing to compare
        if stable is not None:
            self._compare(case, converted, source, source_pristine, fast=fast)
        if self.dead or not (thorough and fast and stable is not False):
            return
        for repeat in range(self.repeats - 1):
            other = pristine.again()
            if self._launch_converted(case, other, counted=False) is None:
                return
            self.record.repeats += 1
            # Atomics add up in an order that is nobody's choice: their sums need not have the same bits.
            if other.equals(converted):
                continue
            self.record.unstable_source |= self.atomics
            if not self.atomics or self._differs(case, other, converted) is not None:
                self.found("unstable", f"the result differs from run to run (repeat {repeat + 1})", case)
                return

    def _source_repeats(self, case: Case, first: Launch, pristine: Launch) -> bool | None:
        """Whether repeats of the source have the same bits; None if they differ by more than the tolerance."""
        others = 0
        for _ in range(self.repeats - 1):
            other = pristine.again()
            self._launch(self.loaded.source, other)
            if other.equals(first):
                continue
            others += 1
            if others > MEASURED:
                break
            if (text := self._differs(case, other, first)) is not None:
                if case.data == "large" and any(spec.reads and spec.writes for spec in self.contract.tensors):
                    return None  # which of the sums that are added up is out of range depends on their order
                self.record.source_varies.append(f"{case.name}: its own repeats differ: {text}")
                return None
        self.record.unstable_source |= others > 0
        return not others

    def _differs(self, case: Case, one: Launch, other: Launch) -> str | None:
        """How two runs of the source differ by more than the tolerance, in words."""
        # Launches made `again` share their arguments: what is fetched needs arguments of its own.
        theirs = other.fetch()
        mine = self._prepare(case, 0).holding(one).fetch()
        for name, memory in mine.items():
            result = compare_memory(memory, theirs[name], None)
            if result.mismatch is not None:
                return str(result.mismatch)
        return None

    def _prepare(self, case: Case, run: int) -> Launch:
        return Launch.of(case, make_arguments(self.contract, case, run))

    def _launch(self, kernel: Any, launch: Launch) -> None:
        """Runs a kernel and waits for it."""
        config = launch.case.launch_config(self.contract)
        options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
        scalars = {name: as_constexpr(value) for name, value in launch.arguments.scalars.items()}
        known = {**launch.arguments.scalars, **launch.arguments.constants}
        tensors = passed(self.contract.tensors, launch.tensors(), known)
        named = {**tensors, **scalars, **launch.arguments.constants}
        if options.keys() & named.keys():
            args, kwargs = call_of(self.contract.parameters, named, options)
            kernel[launch.arguments.grid](*args, **kwargs)
        else:
            kernel[launch.arguments.grid](**named, **options)
        settle()
        self.record.launches += 1

    def launch_converted(self, case: Case) -> bool | None:
        """Launches the conversion alone: whether the specialized kernel ran, None if the launch failed.

        Raises:
            Inapplicable: the contract does not allow the case's layouts.
        """
        return self._launch_converted(case, self._prepare(case, 1))

    def _launch_converted(self, case: Case, launch: Launch, *, counted: bool = True) -> bool | None:
        """Whether the specialized kernel ran, by the launcher's own count; None if the launch failed."""
        before, refused = self._fast_launches(), self._fallbacks()
        try:
            self._launch(self.loaded.bound, launch)
        except Exception as error:
            self.dead = _deadly(error)
            text = f"in the conversion, after the source ran on equal arguments: {_told(error)}"
            self.found(_code(error), text, case)
            return None
        fast = self._fast_launches() > before
        self.reasons = {code for code, count in self._fallbacks().items() if count > refused.get(code, 0)}
        if counted:
            self.record.specialized += fast
            self.record.original += not fast
        if fast:
            self._ran_with(case)
        return fast

    def _ran_with(self, case: Case) -> None:
        """Remembers what the specialized kernel ran with."""
        record = self.record
        config = case.launch_config(self.contract)
        constants = {name: _plain(as_constexpr(value)) for name, value in config.values}
        constants["num_warps"] = config.num_warps
        if constants not in record.constants:
            record.constants.append(constants)
        if case.config not in record.configs:
            record.configs.append(case.config)

    def _compare(self, case: Case, converted: Launch, source: Launch, pristine: Launch, *, fast: bool) -> None:
        mine, theirs = converted.fetch(), source.fetch()
        harmed = [text for memory in source.arguments.tensors.values() if (text := memory.damaged()) is not None]
        if harmed and not fast:
            return  # both were the source, on a launch that it cannot take: what it did to which memory is chance
        self.record.source_failures += [f"{case.name}: {text}" for text in harmed]
        for name, memory in converted.arguments.tensors.items():
            # A TMA store of rows that end between two multiples of 16 bytes goes on to the second: the source's, too.
            allowed = source.arguments.tensors[name].trespassed()
            if (damage := memory.damaged(allowed=allowed)) is not None:
                self.found("canary", damage, case)
                return
        trips = "" if case.trips is None else f" at {case.trips} trips of the dot loop"
        for name, memory in mine.items():
            result = compare_memory(memory, theirs[name], None)
            self.record.compared += 1
            if fast and case.config not in self.record.telling and theirs[name].tells:
                self.record.telling.append(case.config)
            self.record.identical += result.identical
            self.record.exact &= result.identical
            if result.mismatch is None:
                self.record.worst = max(self.record.worst, result.error)
                continue
            # Before the conversion is blamed: would the source give this answer twice?
            try:
                if self._source_repeats(case, source, pristine) is None:
                    return
            except Exception as error:
                self.dead = _deadly(error)
                self.record.source_failures.append(f"{case.name}: {_told(error)}")
                return
            self.found("mismatch", f"{result.mismatch}{trips}", case)

    def _fast_launches(self) -> int:
        """Specialized launches so far, as the launcher counts them."""
        import tlx

        return sum(stats.fast for stats in tlx.stats().values())

    def _fallbacks(self) -> dict[str, int]:
        """Launches of the original so far, by the launcher's reason."""
        import tlx

        total: dict[str, int] = {}
        for stats in tlx.stats().values():
            for code, count in stats.fallbacks.items():
                total[code] = total.get(code, 0) + count
        return total

    def found(self, code: str, text: str, case: Case) -> None:
        """Keeps a finding."""
        file = self.loaded.conversion.file
        self.findings.append(Evidence(Rung.RAN, False, code, text, f"{self.number}: with {case}", file, 1))


def _deadly(error: Exception) -> bool:
    """Whether this process can no longer use the GPU: after an illegal access or a hang, by whichever kernel."""
    if isinstance(error, Hung):
        return True
    try:
        settle()
    except (Hung, RuntimeError):
        return True
    return False


def _code(error: Exception) -> str:
    """What kind of finding a failed launch is."""
    if isinstance(error, Hung):
        return "hang"
    text = str(error).lower()
    if "illegal memory access" in text or "misaligned address" in text or "out-of-range" in text:
        return "illegal-access"
    return "gpu-error" if "cuda error" in text or "device-side assert" in text else "crash"


def _told(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | str | bool | type(None)) else str(value)


def _about(loaded: Loaded) -> dict[str, str]:
    """What a proof of bit-equality is about; empty where the kernels have no text to name."""
    import torch
    import triton

    import tlx

    try:
        source, converted = tlx.fingerprint_of(loaded.source), tlx.fingerprint_of(loaded.bound.converted)
    except (AttributeError, OSError):
        return {}
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    return {"source": source, "converted": converted, "device": device, "triton": triton.__version__}
