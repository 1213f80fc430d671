"""Rung COMPILED: each config as a cubin for the target, and what its machine code must be like.

Only called in a child process. No GPU is needed: types and specialization are those that Triton's launcher would derive
from the arguments of an ordinary launch.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..contract import Contract, evaluate
from ..conversion import Conversion
from ..verdict import Evidence, Rung
from .cases import Case, Layout
from .described import describable, passed
from .dispatch import STRUCTURAL, viewed
from .dtypes import storage
from .grids import settle_grid
from .layouts import extents_of, settle_unused, settled_strides, usual_layouts, wanted_strides
from .loading import Loaded, load
from .oracle import as_constexpr
from .sizing import full_size_case, layings, lying_deep

if TYPE_CHECKING:
    from tlx.lowering.inspect import CompiledFacts

TARGET = "sm_90"
#: Shared memory that a CTA may take on Hopper, in bytes.
SHARED_BYTES = 232_448
#: ptxas remarks that undo a plan: products that do not overlap, tasks that do not get their registers.
FATAL_NOTES = {
    7507: "setmaxnreg is ignored",
    7510: "wgmma is serialized",
    7514: "wgmma is serialized",
    7602: "too few registers",
}
#: Instructions that multiply on the tensor cores, per warp group.
PRODUCTS = ("HGMMA", "QGMMA", "IGMMA")
#: Instructions that bring tiles to shared memory: of the TMA, and of threads that copy rows.
LOADS = ("UTMALDG", "LDGSTS")


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to compile a kernel."""

    case: Case
    #: Odd sizes: nothing but strides of descriptors is known to be a multiple of 16.
    odd: bool = False
    #: Laid out so that no launch has a reason to leave it to the original.
    usual: bool = False

    @property
    def label(self) -> str:
        """For people."""
        layouts = ", ".join(f"{name} {layout}" for name, layout in self.case.layouts if layout != "rows")
        sizes = "odd sizes" if self.odd else ""
        parts = [f"config {self.case.config}", f"dtype {self.case.dtype}", layouts, sizes]
        return ", ".join(part for part in parts if part)


@dataclass(slots=True)
class Built:
    """What was compiled, and what is wrong with it."""

    compiled: int = 0
    #: Registers per thread and bytes of shared memory, at most.
    registers: int = 0
    shared: int = 0
    configs: set[int] = field(default_factory=set)
    #: Configs that no launch could specialize, and why.
    left: dict[int, str] = field(default_factory=dict)
    findings: list[Evidence] = field(default_factory=list)


def judge(facts: CompiledFacts) -> Iterator[tuple[str, str]]:
    """Codes and sentences for everything that a specialized kernel must not be."""
    yield from judge_version(facts)
    if not any(loop.get(op, 0) for loop in facts.dot_loops for op in PRODUCTS):
        yield "no-hgmma", "no loop multiplies on the tensor cores (HGMMA)"
    if not any(loop.get(op, 0) for loop in facts.load_loops for op in LOADS):
        yield "no-utmaldg", "no loop loads through the TMA (UTMALDG) or copies to shared memory (LDGSTS)"
    if not facts.counts.get("USETMAXREG", 0):
        yield "no-setmaxreg", "the tasks do not move registers (no USETMAXREG): the kernel is not warp-specialized"
    if facts.dot_loop_conversions:
        yield "convert-layout", f"the dot loop converts layouts: {facts.dot_loop_conversions[0]}"


def judge_descriptors(facts: CompiledFacts) -> Iterator[tuple[str, str]]:
    """Codes and sentences for everything that plain Triton with descriptors must not be."""
    yield from judge_version(facts)
    if not facts.counts.get("UTMALDG", 0):
        yield "no-utmaldg", "nothing is loaded through the TMA (UTMALDG)"


def _judged(conversion: Conversion, facts: CompiledFacts) -> Iterator[tuple[str, str]]:
    if conversion.plain:
        return judge_descriptors(facts)
    return judge(facts) if conversion.version is None else judge_version(facts)


def judge_version(facts: CompiledFacts) -> Iterator[tuple[str, str]]:
    """Codes and sentences for what no kernel should be, however it is written."""
    if facts.stack or facts.counts.get("LDL", 0) or facts.counts.get("STL", 0):
        yield "stack", f"{facts.stack} bytes of stack per thread: values are spilled to memory"
    elif facts.spill_stores or facts.spill_loads:
        yield "stack", f"{facts.spill_stores} bytes of spill stores and {facts.spill_loads} of loads"
    for note in sorted(set(facts.notes) & set(FATAL_NOTES)):
        yield f"c{note}", f"ptxas remark C{note}: {FATAL_NOTES[note]}"
    if facts.shared > SHARED_BYTES:
        yield "shared-memory", f"{facts.shared} bytes of shared memory; a CTA has {SHARED_BYTES}"


def variants(contract: Contract, views: frozenset[str], first: int = 0) -> tuple[Variant, ...]:
    """Every config in its first two dtypes with its usual layout; the `first` in all dtypes, layouts and odd sizes."""
    found = []
    dtypes = range(max((len(tensor.dtypes) for tensor in contract.tensors), default=1))
    for index in range(len(contract.configs)):
        for dtype in dtypes if index == first else dtypes[:2]:
            usual = usual_layouts(contract, dtype, padded=False)
            case = replace(_full_size(contract, index), dtype=dtype, layouts=usual)
            found.append(Variant(lying_deep(contract, case), usual=True))
    base = _full_size(contract, first)
    found += [Variant(case, usual=True) for case in _laid(contract, base)]
    orders: tuple[Layout, ...] = ("rows", "columns")
    for layouts in itertools.product(orders, repeat=len(views)):
        if any(layout != "rows" for layout in layouts):
            found.append(Variant(replace(base, layouts=tuple(zip(sorted(views), layouts, strict=True)))))
    found.append(Variant(_full_size(contract, first, odd=True), odd=True))
    return tuple(found)


def _laid(contract: Contract, base: Case) -> Iterator[Case]:
    """The case with every other choice of the flags that decide how tensors lie."""
    for case in layings(contract, replace(base, layouts=usual_layouts(contract, 0, padded=False))):
        if dict(case.values) != dict(base.values) and case == lying_deep(contract, case):
            yield case


def compile_variants(
    conversion: Conversion, share: tuple[int, int] = (0, 1), progress: Callable[[str], None] = lambda text: None
) -> Built:
    """Compiles a share of the variants (2-6 seconds each) and judges them."""
    loaded, built = load(conversion), Built()
    which, of = share
    chosen = variants(conversion.contract, *_first(loaded))
    todo = [item for number, item in enumerate(chosen) if number % of == which]
    for number, variant in enumerate(todo, 1):
        progress(f"compiled: {number}/{len(todo)} {variant.label}")
        _build(loaded, variant, built)
    return built


#: Tiles along each axis and trips of full-size launches: as many as leave each tensor within `MOST_ELEMENTS`.
SIZES = ((32, 64), (8, 16), (2, 4))
MOST_ELEMENTS = 2**31


def _full_size(contract: Contract, index: int, *, odd: bool = False) -> Case:
    """A launch as large as real ones, with tensors that a machine can pretend to have."""
    for tiles, trips in SIZES:
        case = full_size_case(contract, index, odd=odd, tiles=tiles, trips=trips)
        known: dict[str, object] = {**dict(case.values), **case.constants(contract)}
        settle_grid(contract, known)
        if all(math.prod(evaluate(e, known) for e in spec.shape) <= MOST_ELEMENTS for spec in contract.tensors):
            break
    return case


def launch_constants(conversion: Conversion) -> tuple[list[dict[str, Any]], str]:
    """The constexprs of each specialized launch (every config, the first in all layouts); why another is not."""
    loaded, refusal = load(conversion), ""
    found: list[dict[str, Any]] = []
    for variant in variants(conversion.contract, *_first(loaded)):
        answer = None if variant.odd or variant.case.dtype else dispatched(loaded, variant.case)
        if answer is None:
            continue
        dispatch, _ = answer
        if dispatch.path != "specialized":
            refusal = f"{dispatch.code}: {dispatch.text}"
            continue
        names = {parameter.name for parameter in dispatch.kernel.params if parameter.is_constexpr}
        plain = (bool, int, float, str, type(None))
        found.append({name: v for name, v in dispatch.kwargs.items() if name in names and isinstance(v, plain)})
    return found, refusal


def _build(loaded: Loaded, variant: Variant, built: Built) -> None:
    found = dispatched(loaded, variant.case)
    if found is None:
        return  # the contract cannot express this layout
    dispatch, _ = found
    if dispatch.path != "specialized":
        if dispatch.code in STRUCTURAL:
            built.left.setdefault(variant.case.config, f"{dispatch.code}: {dispatch.text}")
        elif variant.usual:
            text = f"config {variant.case.config} is left to the original ({dispatch.code}: {dispatch.text})"
            built.findings.append(_finding(loaded, "dispatch", text, variant))
        return
    if (assertion := asserted_away(loaded, variant.case.config)) is not None:
        built.left.setdefault(variant.case.config, f"static-assert: {assertion}")
        return
    try:
        facts = compile_dispatch(dispatch).facts
    except Exception as error:
        detail = f"{type(error).__name__}: {loaded.shown(str(error))}"
        telling = [line for line in detail.splitlines() if "fatal" in line or "error:" in line]
        text = (telling or detail.splitlines())[0].strip()
        built.findings.append(_finding(loaded, "compiler", text, variant, detail))
        return
    if loaded.conversion.plain and facts.shared > SHARED_BYTES:
        # Only the compiler knows what its pipelining takes; the launcher goes on with fewer stages.
        text = f"shared-memory: {facts.shared} bytes with {dispatch.options['num_stages']} stages"
        built.left.setdefault(variant.case.config, text)
        return
    built.compiled += 1
    built.configs.add(variant.case.config)
    built.registers, built.shared = max(built.registers, facts.registers), max(built.shared, facts.shared)
    built.findings += [_finding(loaded, code, text, variant) for code, text in _judged(loaded.conversion, facts)]


def asserted_away(loaded: Loaded, index: int) -> str | None:
    """The assertion of the source's (`tl.static_assert`) that a config of ours contradicts: it is never launched so."""
    contract = loaded.conversion.contract
    case = _full_size(contract, index)
    known: dict[str, Any] = {**dict(case.values), **case.constants(contract)}
    functions = [n for n in ast.walk(ast.parse(loaded.conversion.module_text)) if isinstance(n, ast.FunctionDef)]
    source = (node for f in functions if f.name == loaded.conversion.kernel for node in ast.walk(f))
    for node in source:
        match node:
            case ast.Call(func=ast.Attribute(attr="static_assert"), args=[condition, *_]):
                names = {n.id for n in ast.walk(condition) if isinstance(n, ast.Name)}
                if any(isinstance(n, ast.Call | ast.Attribute) for n in ast.walk(condition)) or not names <= set(known):
                    continue
                code = compile(ast.fix_missing_locations(ast.Expression(condition)), "static_assert", "eval")
                if not eval(code, {}, known):
                    return ast.unparse(condition)
    return None


def compile_dispatch(dispatch: Any) -> Any:
    """Compiles the kernel of a dispatch as Triton's launcher would.

    Integers equal to 1 become constants, multiples of 16 are known as such, descriptors are typed by their box.
    """
    import tlx

    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    divisible: list[str] = []
    parameters = {parameter.name: parameter for parameter in dispatch.kernel.params}
    for name, value in dispatch.kwargs.items():
        special = not parameters[name].do_not_specialize
        if parameters[name].is_constexpr or value is None or (special and type(value) is int and value == 1):
            constants[name] = value
        elif hasattr(value, "block_shape"):
            signature[name] = f"tensordesc<{value.base.dtype}{list(value.block_shape)}>".replace(" ", "")
        elif hasattr(value, "data_ptr"):
            signature[name] = f"*{value.dtype}"
            if special and value.data_ptr() % 16 == 0:
                divisible.append(name)
        elif isinstance(value, bool):
            signature[name] = "i1"
        elif isinstance(value, int):
            signature[name] = "i32" if -(2**31) <= value < 2**31 else "i64"
            if special and value % 16 == 0:
                divisible.append(name)
        else:
            signature[name] = "fp32"
    options = {name: value for name, value in dispatch.options.items() if name == "maxnreg"}
    warps = dispatch.options.get("num_warps", 4)
    return tlx.compile(
        dispatch.kernel,
        signature,
        constants,
        num_warps=warps,
        num_stages=dispatch.options.get("num_stages", 3),
        target=TARGET,
        divisible_by_16=divisible,
        options=options,
    )


def dispatched(loaded: Loaded, case: Case) -> tuple[Any, Mapping[str, Any]] | None:
    """The launcher's answer for tensors that exist in name only, and these tensors.

    None where the contract cannot lay them out so.
    """
    contract = loaded.conversion.contract
    pretended = _pretend(contract, case)
    if pretended is None:
        return None
    tensors, given, grid = pretended
    config = case.launch_config(contract)
    chosen = {**dict(config.values), "num_warps": config.num_warps, "num_stages": config.num_stages}
    # What no tuner sets, the call does: the guard may ask for it.
    left = set(dict(config.values)) & set(contract.tuned)
    held = passed(contract.tensors, tensors, case.constants(contract))
    arguments = {name: value for name, value in {**given, **held}.items() if name not in left}
    return loaded.bound.resolve(grid=grid, config=chosen, **arguments), tensors


def _first(loaded: Loaded) -> tuple[frozenset[str], int]:
    """The tensors read through descriptors under the first config that a launch can specialize, and that config."""
    contract = loaded.conversion.contract
    for index in range(len(contract.configs)):
        found = dispatched(loaded, _full_size(contract, index))
        if found is not None and found[0].path == "specialized" and asserted_away(loaded, index) is None:
            return viewed(found[1], found[0]), index
    return frozenset(), 0


def _pretend(contract: Contract, case: Case) -> tuple[dict[str, Any], dict[str, Any], tuple[int, ...]] | None:
    """Tensors whose memory is never touched, the other arguments, and the grid."""
    from .pretended import Pretended

    known: dict[str, object] = {**dict.fromkeys(contract.absent), **dict(case.values), **case.constants(contract)}
    grid = settle_grid(contract, known)
    strides_by_name = {scalar.name for scalar in contract.scalars if scalar.kind == "stride"}
    tensors: dict[str, Any] = {}
    for spec in contract.tensors:
        kind = storage(contract.dtype_of(spec, case.dtype))
        shape = extents_of(spec, known)
        wanted = wanted_strides(spec, case.layout(spec.name), shape, kind.itemsize, known)
        held = settled_strides(spec, wanted, known, strides_by_name)
        if spec.block and not describable(shape, held, 0, kind.itemsize):
            return None
        if held != wanted and case.layout(spec.name) != "rows":
            return None  # where no layout is asked for, it lies as the contract says
        tensors[spec.name] = Pretended(shape, kind, held)
        for constexpr in contract.constexprs:
            if constexpr.kind == "dtype" and constexpr.dtype_of == spec.name:
                known[constexpr.name] = str(tensors[spec.name].dtype)
            if constexpr.says is not None and constexpr.dtype_of == spec.name:
                known[constexpr.name] = str(tensors[spec.name].dtype) == constexpr.says
    settle_unused(known, strides_by_name)
    given = {name: as_constexpr(known[name]) for name in contract.parameters if name in known}
    return tensors, given, grid


def _finding(loaded: Loaded, code: str, text: str, variant: Variant, detail: str = "") -> Evidence:
    fn = getattr(loaded.bound.converted, "fn", None)
    line = fn.__code__.co_firstlineno if fn is not None else 0
    config = variant.case.launch_config(loaded.conversion.contract)
    constants = ", ".join(f"{name} = {value!r}" for name, value in config.values)
    where = f"{variant.label}: {constants}, num_warps = {config.num_warps}, num_stages = {config.num_stages}"
    told = "\n".join(filter(None, (where, detail)))
    return Evidence(Rung.COMPILED, False, code, f"{variant.label}: {text}", told, loaded.conversion.file, line)
