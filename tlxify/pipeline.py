"""The whole flow on one screen: text → kernels → facts → plan → text; a refusal is the outcome of its kernel."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from .analyses import analyze as analyze_kernel
from .analyses.assuming import readings, relaxed
from .analyses.tiling import tiling
from .config import Contracts, contracts_of, tiles_of
from .contract import BYTE_DTYPES, Contract
from .contracting import contract_of
from .conversion import Conversion
from .demands import Demand, Once, demands, in_place, met
from .diagnostics import Decline, Diagnostic
from .facts import Facts
from .files import sidecar_of
from .fingerprint import fingerprint
from .inline import written_out
from .layout import line_length
from .model import Constant, Helper, Kernel, Module, Unresolved, walk
from .outcome import FileConversion, KernelOutcome, VerdictWord
from .parse.decorators import bypassed
from .parse.forms import other_forms
from .parse.found import kernels_of
from .parse.kernels import build_kernel
from .parse.module import NESTED, nested, parse_module
from .parse.multiplying import may_multiply
from .plan import AUTO, Form, Plan
from .reach import reach
from .rewrites import blocks
from .rolemap import role_lines
from .schedules import cooperative, described
from .schedules.tiles import with_own_tiles
from .slice import cut
from .source import SourceFile, Span
from .targets import HOPPER, Target

#: What kernels are converted to: warp-specialized TLX, or plain Triton with descriptors.
TIERS = ("tlx", "descriptors")
#: Schedules by the name a user may ask for.
SCHEDULES = {
    "auto": AUTO,
    "persistent": Form(),
    "cooperative": Form(persistent=False),
    "pingpong": Form(balanced=True, turns=True),
    "ordered": Form(overlapped=False),
    "lean": Form(balanced=True, lean=True),
}


@dataclass(frozen=True, slots=True)
class Analysis:
    """A kernel with what is known of it."""

    kernel: Kernel
    facts: Facts
    contract: Contract | None


def analyze(source: SourceFile, kernel: str | None = None) -> tuple[Analysis, ...]:
    """Facts about the kernels of a file, or about the one of that name. Raises Decline."""
    found = kernels_of(parse_module(_written_by_user(source)))
    chosen = found.chosen((kernel,) if kernel else None)
    if not chosen:
        raise Decline.of(found.beside[0][1])
    said = contracts_of(Path(source.path))
    return tuple(_analyzed(found, said) for found in chosen)


def _analyzed(kernel: Kernel, said: Contracts) -> Analysis:
    refusal: Decline | None = None
    for form in itertools.chain([kernel], other_forms(kernel)):
        written = written_out(form)
        try:
            facts = analyze_kernel(written)
        except Decline as decline:
            decline.diagnostic = decline.diagnostic.located(written.module.source)
            refusal = refusal or decline
        else:
            return Analysis(written, facts, _contract(written, facts, said))
    assert refusal is not None
    raise refusal


def _contract(kernel: Kernel, facts: Facts, said: Contracts) -> Contract | None:
    try:
        return contract_of(kernel, facts, said)
    except Decline:
        return None


def convert(
    source: SourceFile,
    kernels: tuple[str, ...] | None = None,
    schedule: str = "auto",
    target: Target = HOPPER,
    *,
    profitable: bool = True,
    tiles: str | None = None,
    tier: str = TIERS[0],
    elsewhere: frozenset[str] = frozenset(),
) -> FileConversion:
    """Converts the kernels of a file. Raises Decline only for the file as a whole (TLX101, TLX102, TLX103, TLX108).

    With `profitable`, kernels that could be converted but are not expected to gain by it are declined. `tiles` says
    whether tiles that the source does not list are tried beside its own ("own") or not ("user"); None: as the project
    says, else "own". `tier` is what to convert to: "tlx", warp-specialized kernels, or "descriptors", plain Triton that
    loads through descriptors, with or without a dot. `elsewhere` are jit functions that other files launch, which makes
    kernels of them.
    """
    source = _written_by_user(source)
    module = parse_module(source)
    try:
        found = kernels_of(module, elsewhere)
        chosen = found.chosen(kernels)
        beside = [item for item in found.beside if kernels is None or item[0].name in kernels]
    except RecursionError:
        if not nested(module.tree):
            raise
        raise Decline("TLX104", None, what=NESTED) from None
    width = line_length(Path(source.path))
    told = tuple(why for _, why in beside if why.code == "TLX113")
    results: list[tuple[KernelOutcome, blocks.Piece | None]] = [
        (_refused_at(module, node, why, tier), None) for node, why in beside if why.code != "TLX113"
    ]
    pieces: list[blocks.Piece] = []
    path = Path(source.path)
    own_tiles = (tiles or tiles_of(path)) == "own"
    ways = Ways(target, SCHEDULES[schedule], profitable, own_tiles, tier, contracts_of(path))
    for kernel in chosen:
        outcome, piece = _convert_one(kernel, pieces, width, ways)
        results.append((outcome, piece))
        pieces += [piece] if piece is not None else []
    if not pieces:
        return FileConversion(source, tuple(outcome for outcome, _ in results), told)
    side = sidecar_of(path)
    sidecar = blocks.sidecar(path.name, pieces, blocks.licence_of(source.text))
    conversion = FileConversion(
        source,
        tuple(_checkable(outcome, piece, sidecar, str(side)) for outcome, piece in results),
        told,
        whole=cache(lambda: _parsed(blocks.self_contained(module, pieces, width))),
        sidecar_text=sidecar,
        patched_source_text=blocks.patched(module, pieces, side.stem, package=path.with_name("__init__.py").exists()),
    )
    for text in (conversion.sidecar_text, conversion.patched_source_text):
        _parsed(text)
    return conversion


def _parsed(text: str) -> str:
    """The text, which parses: what does not is a fault of ours, and nothing of it may be written."""
    ast.parse(text)
    return text


@dataclass(frozen=True, slots=True)
class Ways:
    """How kernels are to be converted."""

    target: Target
    form: Form
    profitable: bool
    #: Tiles that the source does not list are tried beside its own.
    own_tiles: bool
    tier: str
    said: Contracts


def _convert_one(
    kernel: Kernel, beside: list[blocks.Piece], width: int, ways: Ways
) -> tuple[KernelOutcome, blocks.Piece | None]:
    """The kernel as the first demand has it that one of its forms meets, the nearest such form; else why it cannot be.

    The reason is what the last demand finds in the way of the first form. Where the profit gate alone is against a
    kernel, that is said.
    """
    try:
        return _converted(kernel, beside, width, ways)
    except RecursionError:
        if not nested(kernel.module.tree):
            raise
        return _refused(kernel, Diagnostic.of("TLX104", kernel.span, what=NESTED)), None


def _converted(
    kernel: Kernel, beside: list[blocks.Piece], width: int, ways: Ways
) -> tuple[KernelOutcome, blocks.Piece | None]:
    first, others = _Form(kernel, beside, width, ways), Once(_Form(k, beside, width, ways) for k in other_forms(kernel))
    for demand in demands(profitable=ways.profitable):
        outcome, piece = first.converted(demand)
        if piece is not None:
            return outcome, piece
        for form in others if outcome.verdict_word == "declined" else ():
            other, found = form.converted(demand)
            if found is not None:
                return other, found
    if ways.profitable and outcome.verdict_word != "no-dot" and any(form.makeable() for form in (first, *others)):
        (reason,) = outcome.diagnostics
        return replace(outcome, verdict_word="unprofitable", diagnostics=(replace(reason, gated=True),)), None
    return outcome, None


class _Form:
    """A kernel with one form of what it reads, and what is worked out about it whatever is asked of its plan."""

    def __init__(self, kernel: Kernel, beside: list[blocks.Piece], width: int, ways: Ways) -> None:
        self.kernel = kernel
        self.width = width
        self.ways = ways
        self.refusal: Decline | None = None
        #: The decorator that stands in the way, whatever is asked of a plan.
        self.decorator = bypassed(kernel)
        try:
            _closed(kernel)
            self.kernel = written_out(kernel)
            self.sliced = cut(self.kernel, [piece.slice for piece in beside])
            written = self.kernel.written
            self.source = self.sliced if written is None else cut(written, [self.sliced])
            self.readings = Once(readings(self.kernel))
        except Decline as refusal:
            self.refusal = refusal

    def converted(self, demand: Demand) -> tuple[KernelOutcome, blocks.Piece | None]:
        """The kernel in the first reading whose plan meets the demand, or why there is none."""
        refusal = self.refusal
        try:
            for facts in self.readings if refusal is None else ():
                try:
                    return self.written(facts, demand)
                except Decline as decline:
                    refusal = refusal or decline  # without any assumption, what is in the way is easiest to follow
        except Decline as decline:
            refusal = refusal or decline
        assert refusal is not None
        return _refused(self.kernel.original, refusal.diagnostic.located(self.kernel.module.source)), None

    def makeable(self) -> bool:
        """Whether there is a plan for the kernel where none has to pay."""
        try:
            return (
                self.refusal is None
                and self.decorator is None
                and any(_holds(partial(self.planned, facts, Demand.ANY)) for facts in self.readings)
            )
        except Decline:
            return False

    def written(self, facts: Facts, demand: Demand) -> tuple[KernelOutcome, blocks.Piece]:
        """The kernel in one reading, with as few of its assumptions as will do. Raises Decline."""
        kernel, ways = self.kernel, self.ways
        plan, contract = self.planned(facts, demand)
        if (found := self.decorator) is not None:
            raise Decline("TLX111", found.span, name=kernel.name, decorator=found.name)
        # No assumption may go that lets a dot read its slot in place; where the gate asks, it has its own say.
        kept = frozenset() if demand is Demand.PAYS else in_place(plan)
        fewer = relaxed(kernel, facts, lambda fewer: _holds(lambda: self.planned(fewer, demand, kept)))
        if fewer is not facts:
            facts = fewer
            plan, contract = self.planned(facts, demand)
        plan = _tiled(kernel, facts, contract, plan, ways)
        piece = blocks.piece(kernel, plan, self.sliced, self.source, fingerprint(kernel), self.width)
        roles = role_lines(kernel, facts, plan)
        return KernelOutcome(kernel.name, kernel.original.span, "converted", (), plan, roles, contract), piece

    def planned(self, facts: Facts, demand: Demand, kept: frozenset[Span] = frozenset()) -> tuple[Plan, Contract]:
        """A plan that meets the demand, with the dots `kept` in place, and the contract. Raises Decline."""
        ways = self.ways
        profitable = demand is Demand.PAYS
        plan = make_plan(self.kernel, facts, ways.target, form=ways.form, profitable=profitable, tier=ways.tier)
        if not met(plan, demand) or not kept <= in_place(plan):
            raise Decline("TLX305", facts.dots[0].b.span, name=facts.dots[0].b.text)
        return plan, contract_of(self.kernel, facts, ways.said)


def _tiled(kernel: Kernel, facts: Facts, contract: Contract, plan: Plan, ways: Ways) -> Plan:
    """The plan with tiles of our own, where they are wanted and nothing depends on the source's."""
    if not ways.own_tiles or plan.plain or plan.guard.blocks:
        return plan
    found = tiling(kernel, facts, contract)
    return plan if isinstance(found, str) else with_own_tiles(plan, found, contract.configs, ways.target)


def _holds(proof: Callable[[], object]) -> bool:
    try:
        proof()
    except Decline:
        return False
    return True


def _closed(kernel: Kernel) -> None:
    """A kernel that a function makes reads nothing that may differ from one run of it to the next.

    Raises Decline TLX109.
    """
    if kernel.module.inside is None:
        return
    for use in reach(kernel):
        if isinstance(use.meaning, Unresolved):
            why = f"it reads `{use.name}`, and {use.meaning.why}"
            raise Decline("TLX109", use.span, name=kernel.name, where="function", why=why)


def _checkable(outcome: KernelOutcome, piece: blocks.Piece | None, sidecar: str, file: str) -> KernelOutcome:
    """The outcome with what verification needs. Its text begins with the sidecar: findings name those lines."""
    if piece is None or outcome.contract is None:
        return outcome
    text = blocks.standalone(piece, sidecar)
    contract = let_through(outcome.contract, piece.plan)
    if piece.plan.own is not None:
        contract = contract.with_added(piece.plan.own.configs)
    conversion = Conversion(outcome.name, contract, text, file, piece.plan.converted, plain=piece.plan.plain)
    return replace(outcome, conversion=conversion)


def let_through(contract: Contract, plan: Plan) -> Contract:
    """The contract without element types that the guard leaves to the original: 8 bits, where one operand of a dot
    passes through registers. What a user says stays, for a launch that is not specialized is news then.
    """
    allowed: dict[str, set[str]] = {}
    groups = {spec.name: spec.dtype_group for spec in contract.tensors}
    for operands in plan.guard.operands:
        for name in operands.parameters:
            if name in groups:
                allowed.setdefault(groups[name], set(operands.dtypes)).intersection_update(operands.dtypes)
    tensors = []
    for spec in contract.tensors:
        dtypes = tuple(d for d in spec.dtypes if d in allowed.get(spec.dtype_group, spec.dtypes)) or spec.dtypes
        deep = spec.deep if any(dtype in BYTE_DTYPES for dtype in dtypes) else None
        tensors.append(spec if dtypes == spec.dtypes else replace(spec, dtypes=dtypes, deep=deep))
    return contract if contract.origin != "inferred" else replace(contract, tensors=tuple(tensors))


def make_plan(
    kernel: Kernel,
    facts: Facts,
    target: Target = HOPPER,
    *,
    form: Form = AUTO,
    profitable: bool = True,
    tier: str = TIERS[0],
) -> Plan:
    """The plan for a kernel. Raises Decline."""
    taken = {n.id for n in ast.walk(kernel.module.tree) if isinstance(n, ast.Name)} | {p.name for p in kernel.params}
    taken |= {n.id for node in walk(kernel.body) for n in ast.walk(node.node) if isinstance(n, ast.Name)}
    taken |= set(kernel.module.helpers) | set(kernel.module.names.aliases)
    uses = tuple(reach(kernel))
    taken |= {use.name.partition(".")[0] for use in uses}
    taken |= {use.meaning.name for use in uses if isinstance(use.meaning, Helper | Constant)}
    # `matmul` and `_matmul` of one module go by different names.
    stem = kernel.name.strip("_")
    if any(name.strip("_") == stem and name < kernel.name for name in kernel.module.helpers):
        taken |= {f"_{stem}_ws", f"_{stem}_desc"}
    parameters = tuple(param.name for param in kernel.params)
    if tier == "descriptors":
        return described.plan(facts, parameters, frozenset(taken), target)
    found = partial(cooperative.plan, facts, parameters, frozenset(taken), target, form=form, profitable=profitable)
    try:
        return found()
    except Decline as decline:
        if profitable or decline.diagnostic.code != "TLX305":
            raise
        return found(transformed=False)  # what no role can compute passes through the consumers' registers


def _refused(kernel: Kernel, diagnostic: Diagnostic) -> KernelOutcome:
    words: dict[str, VerdictWord] = {"no-dot": "no-dot", "unprofitable": "unprofitable"}
    return KernelOutcome(kernel.name, kernel.span, words.get(diagnostic.outcome, "declined"), (diagnostic,))


def _refused_at(module: Module, node: ast.FunctionDef, why: Diagnostic, tier: str) -> KernelOutcome:
    kernel = build_kernel(module, node)
    if tier == "tlx" and why.code != "TLX112" and not may_multiply(kernel):
        return _refused(kernel, Diagnostic.of("TLX301", None, name=kernel.name))
    return _refused(kernel, why)


def _written_by_user(source: SourceFile) -> SourceFile:
    text = blocks.without_generated(source.text)
    if blocks.is_generated(text):
        raise Decline("TLX108", None, name=source.path)
    return SourceFile(source.path, text)
