"""Rung RAN: real launches on a Hopper GPU. Only called in a child process, under a timeout.

Needs torch and Triton beside tlx and tlxify. Source and conversion run on equal tensors in fresh memory; the launcher's
own record says which of the two kernels ran.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

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
    configs: set[int] = field(default_factory=set)
    worst: tuple[float, float] = (0.0, 0.0)
    findings: list[Evidence] = field(default_factory=list)


def run_on_gpu(
    conversion: Conversion, progress: Callable[[str], None] = lambda text: None, repeats: int = REPEATS
) -> tuple[dict[str, Any], list[Evidence]]:
    """Figures ("skipped" with a reason, or "facts" by code) and findings."""
    reason = _unusable()
    if reason is not None:
        return {"skipped": f"TLX605 no launch on a GPU: {reason}"}, []
    session = _Session(load(conversion), repeats)
    cases = _cases(conversion)
    for number, case in enumerate(cases, 1):
        progress(f"ran: {number}/{len(cases)} {case.name}")
        session.run(case, thorough=case.name in ("own tiles", "full size"))
        if len(session.record.findings) >= 3:
            break
    record = session.record
    if not record.findings and not record.specialized:
        session.found("never-specialized", "no launch took the specialized kernel", cases[0])
    stability = "as unstable as the source" if record.unstable_source else "every repeat bit-identical"
    facts = {
        "launches": f"{record.launches} launches of {len(cases)} cases, {len(record.configs)} configs on a GPU",
        "numerics": f"{record.identical} of {record.compared} outputs bit-identical to the source; worst error "
        f"{record.worst[0]:.2g} (source {record.worst[1]:.2g})",
        "stability": f"{record.repeats} repeats: {stability}",
        "dispatch": f"specialized in {record.specialized} launches, the original in {record.original}",
    }
    return {"facts": facts}, record.findings


def _unusable() -> str | None:
    import torch

    if not torch.cuda.is_available():
        return "torch sees no GPU"
    major, minor = torch.cuda.get_device_capability()
    return None if major == 9 else f"compute capability {major}.{minor}, not 9.x"


def _cases(conversion: Conversion) -> list[Case]:
    """The edge cases with each config's own tiles, and a large launch of each config."""
    contract = conversion.contract
    cases = []
    for case in edge_cases(contract):
        if case.zeroed is not None:
            continue
        if not case.tiles:
            cases.append(case)
            continue
        # Sizes were counted in small tiles: count them in the config's own.
        small, own = dict(case.tiles), dict(contract.configs[case.config].values)
        scaled = dict(case.values)
        pairs = [*contract.tiled, *([contract.contracted] if contract.contracted else [])]
        for size, tile in pairs:
            value, step, full = scaled[size], small.get(tile), own.get(tile)
            if isinstance(value, int) and isinstance(step, int) and isinstance(full, int):
                tiles = (value + step // 2) // step
                scaled[size] = max(0, tiles * full + value - tiles * step)
        cases.append(replace(case, tiles=(), values=tuple(scaled.items())))
    return cases + [full_size_case(contract, index) for index in range(len(contract.configs))]


class _Session:
    def __init__(self, loaded: Loaded, repeats: int) -> None:
        self.loaded = loaded
        self.contract = loaded.conversion.contract
        self.repeats = repeats
        self.record = Record()

    def run(self, case: Case, *, thorough: bool) -> None:
        """Runs source and conversion once each, the conversion again and again if `thorough`."""
        try:
            arguments = make_arguments(self.contract, case, 0)
        except Inapplicable:
            return
        if 0 in arguments.grid:
            return
        source = self.launch(self.loaded.source, case, 0)
        again = self.launch(self.loaded.source, case, 1) if thorough else source
        stable = all((source[name].pattern == again[name].pattern).all() for name in source)
        self.record.unstable_source |= not stable
        before = self._fast_launches()
        first = self.launch(self.loaded.bound, case, 2)
        fast = self._fast_launches() > before
        self.record.specialized += fast
        self.record.original += not fast
        self.record.configs |= {case.config} if fast else set()
        if case.path == "specialized" and arguments.faithful and not fast:
            self.found("dispatch", "the original kernel ran where the specialized one must", case)
        if case.path == "original" and fast:
            self.found("dispatch", "the specialized kernel ran where the original must", case)
        if not any(layout == "overlap" for _, layout in case.layouts):  # the source races with itself there
            self._compare(case, first, source)
        for repeat in range(self.repeats - 1 if thorough and fast else 0):
            other = self.launch(self.loaded.bound, case, 3 + repeat)
            self.record.repeats += 1
            for name, memory in other.items():
                if stable and not (memory.pattern == first[name].pattern).all():
                    self.found("unstable", f"{name} differs from run to run (repeat {repeat + 1})", case)
                    return

    def launch(self, kernel: Any, case: Case, run: int) -> Mapping[str, Memory]:
        """One launch in fresh memory: its written tensors, back on the host."""
        import torch

        arguments = make_arguments(self.contract, case, run)
        owners: dict[int, Any] = {}
        tensors = {}
        for name, memory in arguments.tensors.items():
            owner = owners.get(id(memory.owner))
            if owner is None:
                owner = owners[id(memory.owner)] = _to_gpu(memory)
            start = memory.array.__array_interface__["data"][0] - memory.owner.__array_interface__["data"][0]
            steps = [step // memory.array.itemsize for step in memory.array.strides]
            tensors[name] = torch.as_strided(owner, memory.array.shape, steps, start // memory.array.itemsize)
        config = case.launch_config(self.contract)
        options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
        scalars = {name: as_constexpr(value) for name, value in arguments.scalars.items()}
        kernel[arguments.grid](**tensors, **scalars, **arguments.constants, **options)
        torch.cuda.synchronize()
        self.record.launches += 1
        for memory in arguments.tensors.values():
            _from_gpu(owners[id(memory.owner)], memory)
        self._undamaged(case, arguments)
        return {name: memory for name, memory in arguments.tensors.items() if memory.spec.writes}

    def _undamaged(self, case: Case, arguments: Arguments) -> None:
        if any(layout == "overlap" for _, layout in case.layouts):
            return
        for memory in arguments.tensors.values():
            if (damage := memory.damaged()) is not None:
                self.found("canary", damage, case)

    def _compare(self, case: Case, converted: Mapping[str, Memory], source: Mapping[str, Memory]) -> None:
        trips = "" if case.trips is None else f" at {case.trips} trips of the dot loop"
        for name, memory in converted.items():
            theirs = source[name]
            result = compare(
                name,
                memory.array,
                theirs.array,
                None,
                memory.dtype,
                memory.unwritten(),
                theirs.unwritten(),
            )
            self.record.compared += 1
            self.record.identical += result.identical
            self.record.worst = max(self.record.worst, (result.error, result.source_error))
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
