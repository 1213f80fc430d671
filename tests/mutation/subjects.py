"""What is broken: our hand-written kernels, every conversion of the corpus and of the cases, Meta's tutorials.

A subject is a file with the launches that its tests make of it. Only functions that one of these launches runs are
broken; the rest of a tutorial (its backward pass, say) is counted as not launched.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from triton.runtime.jit import JITFunction

import tlx
from tests.golden import CASES, ROOT
from tests.test_cases import CONVERTED, outcome
from tests.test_cases_simulated import launches as launches_of
from tests.test_corpus import CONVERTED as KERNELS
from tests.test_corpus import SCHEDULED, converted
from tests.tlx.sim import test_clusters_kernels, test_kernels
from tests.tlx.sim.tutorials import (
    test_blackwell_attention,
    test_blackwell_gemm,
    test_hopper_attention,
    test_hopper_gemm,
    test_layernorm,
    wheel,
)
from tlxify.contract import Contract
from tlxify.verify.cases import Case
from tlxify.verify.sizing import tile_extent, with_sizes

from .launches import Launch, recorded, source_of
from .mutator import Mutant, mutants

Recipe = Callable[[], object]
#: Names of further launches: operands the other way around, rings used again, more tiles than programs, every option.
FURTHER = re.compile(r"transposed|^many tiles|^twice|^sizes|^\w+ = (?!0$)")


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """One file and how its kernels are launched."""

    #: "corpus", "cases", "kernels" or "tutorials"
    group: str
    #: as the reviewed list names it
    file: str
    recipes: tuple[Recipe, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Break:
    """A mutant of one function of a subject."""

    function: JITFunction
    mutant: Mutant

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self.function.fn.__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A subject whose launches have been made once, with the right results."""

    launches: tuple[Launch, ...]
    breaks: tuple[Break, ...]
    #: scheduling points of all launches: what running it costs
    steps: int


def prepare(subject: Subject) -> Prepared:
    """Makes the launches of a subject and finds the breaks of what they run."""
    found: list[Launch] = []
    for recipe in subject.recipes:
        found += recorded(recipe)
    functions = {fn: jit for launch in found for fn, jit in launch.functions.items()}
    breaks = [Break(jit, mutant) for jit in functions.values() for mutant in mutants_of(jit)]
    broken = {item.function.fn for item in breaks}
    launches = [launch for launch in found if broken & launch.functions.keys()]
    return Prepared(tuple(launches), tuple(breaks), sum(launch.steps for launch in launches))


def mutants_of(function: JITFunction) -> list[Mutant]:
    """The breaks of a jit function, none for those of TLX itself."""
    if (function.fn.__module__ or "").partition(".")[0] in ("tlx", "triton"):
        return []
    modules = {name for name, value in function.fn.__globals__.items() if value is tlx}
    return list(mutants(source_of(function), modules))


def _deep(contract: Contract, cases: Iterable[Case]) -> list[Case]:
    """The case of the most trips, with several tiles for each program.

    Where the first slots are freed in front of a loop and the last one behind it, fewer would not need the others.
    """
    trips = {int(found[1]): case for case in cases if (found := re.fullmatch(r"(\d+) trips", case.name))}
    if not trips:
        return []
    case = trips[max(trips)]
    tiles = {size: 5 * tile_extent(case.constants(contract), tile) for size, tile in contract.tiled}
    return [with_sizes(case, contract, **tiles)]


def _least(cases: Iterable[Case]) -> list[Case]:
    """Of launches that are made for several configs the smallest one: the text that is broken is the same."""
    found: dict[str, Case] = {}
    for case in sorted(cases, key=lambda case: math.prod(v for _, v in case.values if isinstance(v, int) and v > 0)):
        found.setdefault(case.name, case)
    return list(found.values())


# ours ----------------------------------------------------------------------------------------------------------------


def _simulated(convert: Callable[[], object]) -> Recipe:
    """Simulates a conversion against its source, late only: other schedules are made from what that records.

    What the cases' own test leaves out is run as well where some code is only reached, or some ring only used again, by
    such a launch.
    """

    def recipe() -> None:
        from dataclasses import replace

        from tlxify.verify.inputs import edge_cases
        from tlxify.verify.simulate import simulate

        for kernel in convert():
            if kernel.conversion is not None:
                every = edge_cases(kernel.contract)
                more = _least(case for case in every if FURTHER.search(case.name) and case.path != "original")
                if kernel.plan.delayed:
                    more += _deep(kernel.contract, every)
                tried = dict.fromkeys(
                    replace(case, schedules=("late",)) for case in [*launches_of(kernel.contract), *more]
                )
                tally = simulate(kernel.conversion, cases=tried)
                assert tally.compared
                assert not tally.findings, [evidence.text for evidence in tally.findings.values()]

    return recipe


def corpus() -> list[Subject]:
    """Every converted corpus kernel, some under further schedules."""
    found = [(path, "auto", path.parent / "golden") for path in KERNELS]
    for name, schedule in SCHEDULED:
        path = ROOT / "corpus" / f"{name}.py"
        found.append((path, schedule, path.parent / "golden" / schedule))
    return [
        Subject(
            "corpus",
            str((folder / f"{path.stem}_tlx.py").relative_to(ROOT)),
            (_simulated(lambda path=path, schedule=schedule: converted(path, schedule=schedule).kernels),),
        )
        for path, schedule, folder in found
    ]


def cases() -> list[Subject]:
    """Every conversion under ``tests/cases``."""
    return [
        Subject(
            "cases",
            str(Path("tests/cases") / case.path.relative_to(CASES)),
            (_simulated(lambda case=case: [outcome(case)[1]]),),
        )
        for case in CONVERTED
    ]


def kernels() -> list[Subject]:
    """The kernels written by hand under ``tests/tlx``."""
    gemm = test_kernels.run_gemm_ws
    trips = [functools.partial(gemm, 32, 16, 16 * k, 3, "late") for k in (7, 3, 1, 0)]
    ragged = functools.partial(gemm, 40, 40, 57, 2, "late")
    persistent = [
        _late(test_kernels.test_persistent, a_is_km=a, b_is_nk=b, consumers=consumers, tma_store=tma_store)
        for a, b, consumers, tma_store in product((False, True), (False, True), (2, 1), (False, True))
    ]
    folder = "tests/tlx/kernels"
    default = _late(test_kernels.test_consumers_on_the_default_warps)
    return [
        Subject("kernels", f"{folder}/gemm_ws.py", (*trips, ragged)),
        Subject("kernels", f"{folder}/gemm_persistent.py", tuple(persistent)),
        Subject("kernels", f"{folder}/gemm_default_consumers.py", (default,)),
        Subject("kernels", f"{folder}/attention_ws.py", (_late(test_kernels.test_attention),)),
        Subject("kernels", "tests/tlx/sim/kernels/multicast_gemm.py", (_late(test_clusters_kernels.test_multicast),)),
        Subject(
            "kernels", "tests/tlx/sim/kernels/tensor_gemm.py",
            tuple(_late(test_clusters_kernels.test_tensor_memory, ctas=ctas) for ctas in (1, 2)),
        ),
    ]  # fmt: skip


def _late(test: Callable[..., object], **given: object) -> Recipe:
    return functools.partial(test, schedule="late", **given)


# Meta's --------------------------------------------------------------------------------------------------------------


def tutorials() -> list[Subject]:
    """The tutorials of the fbtriton wheel that the simulator's tests run; none without the wheel."""
    if wheel.folder() is None:
        return []
    found: dict[str, list[Recipe]] = {}

    def add(into: str, test: Callable[..., object], /, **choices: tuple[object, ...]) -> None:
        names = [name for name in choices if name in inspect.signature(test).parameters]
        for values in product(*(choices[name] for name in names)):
            found.setdefault(into, []).append(_late(test, **dict(zip(names, values, strict=True))))

    both = (False, True)
    hopper, blackwell = test_hopper_gemm, test_blackwell_gemm
    file = "hopper_gemm_ws.py"
    add(file, hopper.test_gemm_ws, subtile=both, warp=both)
    for a_rows, b_rows in ((False, True), (True, False), (False, False)):
        add(file, hopper.test_gemm_ws_column_major, a_rows=(a_rows,), b_rows=(b_rows,))
    add(file, hopper.test_gemm_ws_on_two_ctas, b_rows=both, warp=both)
    add(file, hopper.test_skinny, split=(1, 2))
    add(file, hopper.test_skinny_tma, split=(1, 2))
    add("hopper_gemm_pipelined.py", hopper.test_pipelined)
    add("hopper-persistent-gemm-ws-cooperative.py", hopper.test_persistent_cooperative)
    add("hopper-persistent-gemm-ws-pingpong.py", hopper.test_persistent_pingpong, named=both)
    for file in test_hopper_attention.KERNELS:
        add(file, test_hopper_attention.test_attention, file=(file,))
    add("blackwell_gemm_ws.py", blackwell.test_gemm_ws, variant=tuple(blackwell.VARIANTS))
    add("blackwell_gemm_clc.py", blackwell.test_gemm_clc, subtile=both, warp=both)
    add("blackwell_gemm_pipelined.py", blackwell.test_gemm_pipelined)
    add("blackwell_gemm_2cta.py", blackwell.test_gemm_2cta)
    add("blackwell-grouped-gemm_test.py", blackwell.test_grouped_gemm, ctas=(1, 2))
    for file in test_blackwell_attention.KERNELS:
        add(file, test_blackwell_attention.test_attention, file=(file,))
        add(file, test_blackwell_attention.test_everything_is_used_again, file=(file,))
        if file != "blackwell_fa_ws.py":
            add(file, test_blackwell_attention.test_causal, file=(file,))
        if file in ("blackwell_fa_ws_pipelined_persistent.py", "blackwell_fa_clc.py"):
            add(file, test_blackwell_attention.test_rescaled_only_where_needed, file=(file,))
    for file in test_layernorm.KERNELS:
        for ctas, rows in ((2, 7), (4, 7), (2, 19)):
            add(file, test_layernorm.test_layernorm, file=(file,), ctas=(ctas,), rows=(rows,))
    return [Subject("tutorials", file, tuple(recipes)) for file, recipes in found.items()]


def subjects() -> list[Subject]:
    """All of them, those that take longest first."""
    return [*tutorials(), *kernels(), *corpus(), *cases()]
