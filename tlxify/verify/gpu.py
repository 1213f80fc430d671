"""Rung RAN: real launches on a Hopper GPU. Only called in a child process, under a timeout.

Needs torch and Triton beside tlx and tlxify. Source and conversion run on equal tensors in fresh memory; the launcher's
own record says which of the two kernels ran.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..contract import Contract
from ..conversion import Conversion
from ..verdict import Evidence, Rung
from .buffers import Arguments, Inapplicable, Memory, make_arguments
from .cases import Case
from .compare import compare
from .inputs import edge_cases, full_size_case
from .loading import Loaded, load
from .oracle import as_constexpr

#: Launches of each repeated case; races between warps show in one of thirty, or never.
REPEATS = 30
#: Tiles along each side of the result, and trips, of the large launches: several waves of CTAs.
TILES, TRIPS = 16, 16


@dataclass(slots=True)
class Record:
    """What ran."""

    launches: int = 0
    specialized: int = 0
    original: int = 0
    identical: int = 0
    compared: int = 0
    repeats: int = 0
    unstable_source: bool = False
    #: Cases that the source itself cannot be launched on, and why.
    source_failures: list[str] = field(default_factory=list)
    configs: set[int] = field(default_factory=set)
    #: The largest difference from the source, relative to size and scale of the output.
    worst: float = 0.0
    findings: list[Evidence] = field(default_factory=list)


def run_on_gpu(
    conversion: Conversion,
    progress: Callable[[str], None] = lambda text: None,
    repeats: int = REPEATS,
    cases: Sequence[Case] | None = None,
) -> tuple[dict[str, Any], list[Evidence]]:
    """Figures ("skipped" with a reason, or "facts" by code) and findings; `cases` instead of the contract's own."""
    reason = _unusable()
    if reason is not None:
        return {"skipped": f"TLX605 no launch on a GPU: {reason}"}, []
    session = _Session(load(conversion), repeats)
    cases = gpu_cases(conversion.contract) if cases is None else cases
    for number, case in enumerate(cases, 1):
        progress(f"ran: {number}/{len(cases)} {case.name}")
        session.run(case, thorough=case.name in ("own tiles", "full size", "captured"))
        if len(session.record.findings) >= 3 or not session.alive():
            break
    record = session.record
    if not record.findings and not record.specialized and any(case.path != "any" for case in cases):
        session.found("never-specialized", "no launch took the specialized kernel", cases[0])
    stability = "as unstable as the source" if record.unstable_source else "every repeat bit-identical"
    facts = {
        "launches": f"{record.launches} launches of {len(cases)} cases, {len(record.configs)} configs on a GPU",
        "numerics": f"{record.identical} of {record.compared} outputs bit-identical to the source; "
        f"the worst differs by {record.worst:.2g}",
        "stability": f"{record.repeats} repeats: {stability}",
        "dispatch": f"specialized in {record.specialized} launches, the original in {record.original}",
    }
    if record.source_failures:
        facts["source-fails"] = f"the source fails in {len(record.source_failures)} cases; {record.source_failures[0]}"
    return {"facts": facts}, record.findings


def _unusable() -> str | None:
    import torch

    if not torch.cuda.is_available():
        return "torch sees no GPU"
    major, minor = torch.cuda.get_device_capability()
    return None if major == 9 else f"compute capability {major}.{minor}, not 9.x"


def gpu_cases(contract: Contract) -> list[Case]:
    """The edge cases with each config's own tiles, and a large launch of each config."""
    cases = []
    for case in edge_cases(contract):
        if case.zeroed is not None:
            continue
        if not case.tiles:
            cases.append(case)
            continue
        # Sizes were counted in small tiles: count them in the config's own.
        small, own = dict(case.tiles), dict(contract.configs[case.config].values)
        # Tiles that the call sets and no config has are as long as a real call's.
        called = {
            c.name: c.choices[0] for c in contract.constexprs if c.name in small.keys() - own.keys() and c.choices
        }
        scaled = {**dict(case.values), **called}
        pairs = [*contract.tiled, *([contract.contracted] if contract.contracted else [])]
        for size, tile in pairs:
            value, step, full = scaled[size], small.get(tile), {**own, **called}.get(tile)
            if isinstance(value, int) and isinstance(step, int) and isinstance(full, int):
                tiles = (value + step // 2) // step
                scaled[size] = max(0, tiles * full + value - tiles * step)
        cases.append(replace(case, tiles=(), values=tuple(scaled.items())))
    return cases + [full_size_case(contract, index, tiles=TILES, trips=TRIPS) for index in range(len(contract.configs))]


@dataclass(frozen=True, slots=True, eq=False)
class _Launch:
    """One set of arguments, on the host and on the device. `owners` maps the arrays that own memory to their copies."""

    case: Case
    arguments: Arguments
    owners: Mapping[int, Any]

    def again(self) -> _Launch:
        """The same arguments in fresh memory on the device."""
        return _Launch(self.case, self.arguments, {key: owner.clone() for key, owner in self.owners.items()})

    def equals(self, other: _Launch) -> bool:
        """Whether all memory, canaries included, has the same bits as another launch of these arguments."""
        import torch

        pairs = ((owner, other.owners[key]) for key, owner in self.owners.items())
        return all(torch.equal(mine.view(torch.uint8), theirs.view(torch.uint8)) for mine, theirs in pairs)

    def fetch(self) -> Mapping[str, Memory]:
        """The written tensors, after copying all memory back into the arguments."""
        for memory in self.arguments.tensors.values():
            _from_gpu(self.owners[id(memory.owner)], memory)
        return {name: memory for name, memory in self.arguments.tensors.items() if memory.spec.writes}


class _Session:
    def __init__(self, loaded: Loaded, repeats: int) -> None:
        self.loaded = loaded
        self.contract = loaded.conversion.contract
        self.repeats = repeats
        self.record = Record()

    def alive(self) -> bool:
        """Whether this process can still use the GPU: after an illegal access by any kernel it cannot."""
        import torch

        try:
            torch.cuda.synchronize()
        except RuntimeError:
            return False
        return True

    def run(self, case: Case, *, thorough: bool) -> None:
        """Runs source and conversion once each, the conversion again and again if `thorough`."""
        try:
            source, converted = self._prepare(case, 0), self._prepare(case, 1)
        except Inapplicable:
            return
        if 0 in source.arguments.grid:
            return
        pristine, source_pristine = converted.again(), source.again()
        try:
            self._launch(self.loaded.source, source)
        except Exception as error:  # whatever it is, it is not the conversion's fault
            self.record.source_failures.append(f"{case.name}: {type(error).__name__}: {str(error).splitlines()[0]}")
            return
        stable = True
        if thorough:
            self._launch(self.loaded.source, source_pristine)
            stable = source.equals(source_pristine)
            self.record.unstable_source |= not stable
        fast = self._launch_converted(converted)
        if case.path == "specialized" and converted.arguments.faithful and not fast:
            self.found("dispatch", "the original kernel ran where the specialized one must", case)
        if case.path == "original" and fast:
            self.found("dispatch", "the specialized kernel ran where the original must", case)
        if any(layout == "overlap" for _, layout in case.layouts):
            if fast:
                self.found("dispatch", "the specialized kernel ran although its output overlaps an input", case)
            return  # the source races with itself there: nothing to compare
        self._compare(case, converted, source)
        for repeat in range(self.repeats - 1 if thorough and fast and stable else 0):
            other = pristine.again()
            self._launch(self.loaded.bound, other)
            self.record.repeats += 1
            if not other.equals(converted):
                self.found("unstable", f"the result differs from run to run (repeat {repeat + 1})", case)
                return

    def _prepare(self, case: Case, run: int) -> _Launch:
        arguments = make_arguments(self.contract, case, run)
        owners: dict[int, Any] = {}
        for memory in arguments.tensors.values():
            if id(memory.owner) not in owners:
                owners[id(memory.owner)] = _to_gpu(memory)
        return _Launch(case, arguments, owners)

    def _launch(self, kernel: Any, launch: _Launch) -> None:
        """Runs a kernel and waits for it: what fails, fails here."""
        import torch

        tensors = {}
        for name, memory in launch.arguments.tensors.items():
            array, owner = memory.array, memory.owner
            start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
            steps = [step // array.itemsize for step in array.strides]
            device = launch.owners[id(owner)]
            tensors[name] = torch.as_strided(device, array.shape, steps, start // array.itemsize)
        config = launch.case.launch_config(self.contract)
        options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
        scalars = {name: as_constexpr(value) for name, value in launch.arguments.scalars.items()}
        kernel[launch.arguments.grid](**tensors, **scalars, **launch.arguments.constants, **options)
        torch.cuda.synchronize()
        self.record.launches += 1

    def _launch_converted(self, launch: _Launch) -> bool:
        """Whether the specialized kernel ran, by the launcher's own count."""
        before = self._fast_launches()
        self._launch(self.loaded.bound, launch)
        fast = self._fast_launches() > before
        self.record.specialized += fast
        self.record.original += not fast
        if fast:
            self.record.configs.add(launch.case.config)
        return fast

    def _compare(self, case: Case, converted: _Launch, source: _Launch) -> None:
        mine, theirs = converted.fetch(), source.fetch()
        for memory in converted.arguments.tensors.values():
            if (damage := memory.damaged()) is not None:
                self.found("canary", damage, case)
                return
        trips = "" if case.trips is None else f" at {case.trips} trips of the dot loop"
        for name, memory in mine.items():
            other = theirs[name]
            result = compare(name, memory.array, other.array, None, memory.dtype, memory.unwritten(), other.unwritten())
            self.record.compared += 1
            self.record.identical += result.identical
            self.record.worst = max(self.record.worst, result.error)
            if result.mismatch is not None:
                self.found("mismatch", f"{result.mismatch}{trips}", case)

    def _fast_launches(self) -> int:
        """Specialized launches so far, as the launcher counts them."""
        import tlx

        return sum(stats.fast for stats in tlx.stats().values())

    def found(self, code: str, text: str, case: Case) -> None:
        """Keeps a finding."""
        file = self.loaded.conversion.file
        self.record.findings.append(Evidence(Rung.RAN, False, code, text, f"with {case}", file, 1))


def _to_gpu(memory: Memory) -> Any:
    import torch

    bits = torch.from_numpy(memory.owner.view("u1").copy()).cuda()
    return bits.view(_TORCH[memory.dtype](torch))


def _from_gpu(owner: Any, memory: Memory) -> None:
    import torch

    memory.owner.view("u1")[...] = owner.view(torch.uint8).cpu().numpy()


_TORCH: Mapping[str, Callable[[Any], Any]] = {
    "fp16": lambda torch: torch.float16,
    "bf16": lambda torch: torch.bfloat16,
    "fp32": lambda torch: torch.float32,
    "fp64": lambda torch: torch.float64,
    "fp8e4nv": lambda torch: torch.float8_e4m3fn,
    "fp8e5": lambda torch: torch.float8_e5m2,
    "i8": lambda torch: torch.int8,
    "i16": lambda torch: torch.int16,
    "i32": lambda torch: torch.int32,
    "i64": lambda torch: torch.int64,
}
