"""Measures a conversion on a GPU. Only called in a child process, under a timeout: it loads and runs foreign code.

Source and conversion get the same arguments, each the config that is fastest for it: the source one of its own, the
conversion also one of ours, as its tuner would. Where the source is faster under one of ours too, it is timed so
besides ("retiled"): what the conversion gains over that is not a matter of tiles. Results are compared before anything
is timed. Rows are written one by one, so that a launch which ends the process costs no other row.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..contract import Contract, LaunchConfig
from ..verdict import Evidence
from ..verify.cases import Case
from ..verify.child import Job
from ..verify.compiled import dispatched
from ..verify.device import Hung, scratch_memory, settle
from ..verify.loading import Loaded, load
from .clock import MARGIN, Contender, Untimed, interleave, launches_for
from .contenders import by_name, counted, launched, named_callable, path_taken
from .cuda import LONGEST_HOLD, CudaClock, ceilings
from .doubts import judged
from .figures import quartiles, ratios
from .report import Row
from .roofline import H200, Ceilings
from .shapes import config_text
from .sizes import Sizes, sizes_of
from .tensors import Arguments, arguments_of, cached, difference, sets_for
from .work import Work

#: The shallowest rings that there are.
MIN_STAGES = 2
#: Milliseconds that a contender runs in one round, and the launches that its queue holds.
TURN, QUEUE = 10.0, 200
#: Milliseconds for which the device is held back where a config is chosen: three launches take the host less.
CHOOSING = 0.3
#: The largest norm of a difference over the norm of the source's result, by element type of the result.
LIMITS = {"fp16": 5e-3, "bf16": 2e-2, "fp32": 5e-3, "fp64": 1e-6, "fp8e4nv": 0.1, "fp8e5": 0.2}


class NotMeasured(Exception):
    """A launch gives no figures; the text says why."""


class Lost(Exception):
    """This process can use the GPU no more; the text says what the launch did to it."""


def measure(job: Job, progress: Callable[[str], None]) -> tuple[dict[str, Any], list[Evidence]]:
    """Rows for the launches in `job.options`, as JSON lines in the file that they name, after facts about the machine.

    Options: `rows`, a file; `rounds`; `reference`, "module:callable" or None; `kernels`, each with its `conversion`,
    `cases`, pairs of a title and a case, `works`, one per case, `pinned`, whether a case's config is the only one to
    try, and `contents`, files of what some tensors hold.

    Raises:
        Lost: a launch hung or broke the device; the rows of those before it are written.
    """
    import torch
    import triton

    if not torch.cuda.is_available():
        return {"skipped": "torch sees no GPU"}, []
    clock = CudaClock(torch)
    scratch_memory()
    progress("ceilings")
    limits = ceilings(torch, clock)
    machine = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "triton": triton.__version__}
    about = {**machine, "ceilings": dataclasses.asdict(limits)}
    total = sum(len(kernel["cases"]) for kernel in job.options["kernels"])
    number = 0
    with Path(job.options["rows"]).open("a", encoding="utf-8") as rows:
        # At once: a run that is cut short has measured on this machine all the same.
        rows.write(json.dumps({"about": about}) + "\n")
        for kernel in job.options["kernels"]:
            session: _Session | None = None
            for (title, case), work in zip(kernel["cases"], kernel["works"], strict=True):
                number += 1
                progress(f"{number}/{total} {title}")
                rows.write(json.dumps({"began": title}) + "\n")
                rows.flush()
                if session is None:
                    session = _Session(load(kernel["conversion"]), clock, limits, {**job.options, **kernel})
                row = session.row(title, case, work)
                rows.write(json.dumps(dataclasses.asdict(row)) + "\n")
                rows.flush()
    return about, []


def warm(job: Job, progress: Callable[[str], None]) -> tuple[dict[str, Any], list[Evidence]]:
    """Launches all that `measure` will try once, untimed: then it is compiled. Options as there, without `rows`."""
    import torch

    if not torch.cuda.is_available():
        return {"skipped": "torch sees no GPU"}, []
    scratch_memory()
    clock = CudaClock(torch)
    for kernel in job.options["kernels"]:
        session = _Session(load(kernel["conversion"]), clock, H200, {**job.options, **kernel})
        for title, case in kernel["cases"]:
            progress(f"compiling for {title}")
            session.compile(case)
    return {}, []


@dataclasses.dataclass(frozen=True, slots=True)
class Tried:
    """A kernel under one config."""

    launch: Contender
    config: LaunchConfig
    #: Its tiles are none of the source's.
    added: bool
    #: Of a launch, in milliseconds; None before it is timed.
    ms: float | None = None


def _fastest(tried: Sequence[Tried]) -> Tried:
    """The one that takes least."""
    return min(tried, key=lambda each: float("inf") if each.ms is None else each.ms)


def _alike(tried: Sequence[Tried], config: LaunchConfig) -> Tried:
    """The one with the tiles of a config, else the fastest: what is written past the end may depend on the tiles."""
    return _fastest([each for each in tried if each.config.values == config.values] or tried)


def _memory(sizes: Sizes) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Shape and strides of every tensor."""
    return [(each.shape, each.strides) for each in sizes.tensors]


class _Session:
    def __init__(self, loaded: Loaded, clock: CudaClock, limits: Ceilings, options: Mapping[str, Any]) -> None:
        self.loaded, self.clock, self.limits = loaded, clock, limits
        self.contract: Contract = loaded.conversion.contract
        self.rounds: int = options["rounds"]
        self.pinned: bool = options["pinned"]
        self.contents: Mapping[str, str] = options.get("contents") or {}
        self.reference = named_callable(options["reference"]) if options.get("reference") else None

    def row(self, title: str, case: Case, work: Work) -> Row:
        """One launch, measured; what stands in the way is in the row."""
        base = Row(self.contract.kernel, title, flops=work.flops, bytes=work.bytes)
        base = dataclasses.replace(base, floor=self.limits.floor(work) / 1000.0)
        try:
            return judged(self._measured(base, case), work, self.limits)
        except Lost:
            raise
        except (NotMeasured, Untimed) as refusal:
            return dataclasses.replace(base, failure=str(refusal))
        except Exception as error:
            if not _alive():
                raise Lost(f"a launch broke the device: {error}") from error
            text = str(error).splitlines()
            return dataclasses.replace(base, failure=f"{type(error).__name__}: {text[0] if text else 'no message'}")

    def _measured(self, row: Row, case: Case) -> Row:
        sizes = sizes_of(self.contract, case)
        if 0 in sizes.grid:
            raise NotMeasured("the grid is empty")
        arguments = [arguments_of(sizes, seed, contents=self.contents) for seed in range(sets_for(sizes))]
        initial = arguments[0].save()
        tried = self._timed("source", self._launches("source", self.loaded.source, case, arguments), len(arguments))
        source = _fastest([each for each in tried if not each.added])
        retiled = _fastest(tried)
        bound = self._launches("conversion", self.loaded.bound, case, arguments)
        found = self._timed("converted", bound, len(arguments))
        converted = _fastest(found)
        before = counted()
        error = self._agreement(_alike(tried, converted.config).launch, converted.launch, arguments[0], initial)
        path, reason = path_taken(before, counted())
        best = {"source": source, "converted": converted, **({"retiled": retiled} if retiled is not source else {})}
        contenders: dict[str, Contender] = {name: each.launch for name, each in best.items()}
        configs = {name: config_text(each.config) for name, each in best.items()}
        if self.reference is not None:
            contenders["reference"] = by_name(self.reference, sizes, arguments)
        times, doubts = self._interleaved(contenders, len(arguments))
        if cached(sizes, len(arguments)):
            doubts += (f"{len(arguments)} sets of inputs fit the L2 together: launches may have found theirs in it",)
        return dataclasses.replace(
            row,
            ms={name: quartiles(values) for name, values in times.items()},
            speedup={name: ratios(values, times["converted"]) for name, values in times.items() if name != "converted"},
            configs=configs,
            path=path,
            reason=reason,
            error=error,
            doubts=doubts,
        )

    def _interleaved(
        self, contenders: dict[str, Contender], inputs: int
    ) -> tuple[dict[str, list[float]], tuple[str, ...]]:
        """Times of each, and why a reference is left out. Raises Untimed."""
        sized = {
            name: launches_for(each, self.clock, target=TURN, most=QUEUE, inputs=inputs)
            for name, each in contenders.items()
        }
        host = max(spent for _, spent in sized.values())
        # As many as the longest hold leaves the host time for, were it slower than just now.
        launches = max(3, min(sized["source"][0], int(LONGEST_HOLD / MARGIN**2 / max(host, 1e-6))))
        measure = functools.partial(
            interleave, clock=self.clock, rounds=self.rounds, launches=launches, inputs=inputs, hold=launches * host
        )
        try:
            return measure(contenders), ()
        except Untimed as refusal:
            if refusal.contender != "reference":
                raise
            others = {name: each for name, each in contenders.items() if name != "reference"}
            return measure(others), (f"not timed: {refusal}",)

    def compile(self, case: Case) -> None:
        """Launches source and conversion once with each config; what fails is passed over. Raises Lost."""
        arguments = [arguments_of(sizes_of(self.contract, case), 0, contents=self.contents)]
        for who, kernel in (("source", self.loaded.source), ("conversion", self.loaded.bound)):
            with contextlib.suppress(NotMeasured):
                self._launches(who, kernel, case, arguments)

    def _timed(self, who: str, launches: list[Tried], inputs: int) -> list[Tried]:
        """The launches, each with its time in milliseconds. Raises Untimed."""

        def time(launch: Contender) -> float:
            times = interleave({who: launch}, self.clock, rounds=3, launches=3, inputs=inputs, hold=CHOOSING)
            return min(times[who])

        return [dataclasses.replace(each, ms=time(each.launch)) for each in launches]

    def _launches(self, who: str, kernel: Any, case: Case, arguments: list[Arguments]) -> list[Tried]:
        """The kernel with every config that it runs with, launched twice. Raises NotMeasured if there is none.

        The conversion is launched with other depths of its rings as well, as the tuner would be given them.
        """
        found: list[Tried] = []
        failures = []
        for index, config in self._configs(case, deeper=who == "conversion"):
            chosen = dataclasses.replace(case, config=index)
            launch = launched(kernel, sizes_of(self.contract, chosen), config, self.contract, arguments)
            try:
                launch(0)
                launch(0)
                settle()
                added = index >= len(self.contract.listed.configs)
                found.append(Tried(launch, config, added))
            except Exception as error:
                if isinstance(error, Hung) or not _alive():
                    raise Lost(f"the {who} broke the device: {error}") from error
                failures.append(f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        if all(each.added for each in found):
            raise NotMeasured(f"the {who} runs with no config: {failures[0] if failures else 'there is none'}")
        return found

    def _configs(self, case: Case, *, deeper: bool) -> Iterator[tuple[int, LaunchConfig]]:
        """What to launch with: each of the contract's configs unless one is pinned, with its number.

        Left out are those whose tiles say how large a tensor is or what lies where in it, as one scale for each tile
        does: the memory was laid out for the tiles of the case.
        """
        indices = [case.config] if self.pinned else range(len(self.contract.configs))
        seen, laid_out = set(), _memory(sizes_of(self.contract, case))
        for index in indices:
            chosen = dataclasses.replace(case, config=index)
            if _memory(sizes_of(self.contract, chosen)) != laid_out:
                continue
            config = chosen.launch_config(self.contract)
            wanted = [config]
            if deeper and not self.pinned and (plan := self._plan(chosen)) is not None:
                depths = [depth for depth in (plan.deepest, plan.deepest_paired) if depth >= MIN_STAGES]
                wanted = [dataclasses.replace(config, num_stages=depth) for depth in (plan.stages, *depths)]
            for each in wanted:
                if (text := config_text(each)) not in seen:
                    seen.add(text)
                    yield index, each

    def _plan(self, case: Case) -> Any:
        """The rings under the config of a case; None where the original would run."""
        answer = dispatched(self.loaded, case)
        return None if answer is None else answer[0].plan

    def _agreement(
        self, source: Contender, converted: Contender, arguments: Arguments, initial: dict[str, Any]
    ) -> float:
        """The largest relative difference of an output. Raises NotMeasured if it is no rounding any more."""
        arguments.restore(initial)
        source(0)
        expected = arguments.outputs()
        arguments.restore(initial)
        converted(0)
        worst = 0.0
        for name, (tensor, dtype) in arguments.outputs().items():
            error = difference(tensor, expected[name][0])
            worst = max(worst, error)
            if not error <= LIMITS.get(dtype, 0.0):
                raise NotMeasured(f"{name} differs from the source by {error:.2g} of its norm")
        arguments.restore(initial)
        return worst


def _alive() -> bool:
    import torch

    try:
        torch.cuda.synchronize()
    except Exception:
        return False
    return True
