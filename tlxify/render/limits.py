"""What limits a kernel, as lines that can be checked by hand: each number with its unit and what it is made of."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..limit import Effort, Elsewhere, Limit, Product, Spread, Trip, Untold


def limit_block(limit: Limit | Untold) -> Iterator[RenderableType]:
    """A heading with the word, and the arithmetic below it."""
    if isinstance(limit, Untold):
        yield Text(f"\nlimit: not known: {limit.why}", "bold")
        return
    yield Text(f"\nlimit: {limit.word}", "bold")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in _rows(limit):
        table.add_row(Text(label, "green" if label == limit.word else "dim"), Text(text))
    yield table


def _rows(limit: Limit) -> Iterator[tuple[str, str]]:
    rates, shares = limit.rates, limit.shares
    ours = "" if limit.listed else " (ours: the source lists none)"
    yield "launch", f"{limit.launch}; {limit.config}{ours}"
    moved = f"{_scaled(limit.bytes, 'B')} / {rates.gbps:g} GB/s = {_us(shares.device)}"
    if limit.trip is None or limit.spread is None:
        yield "roofline", f"{moved}, every tensor once; without a dot nothing else is counted"
        return
    made = f"{_scaled(limit.flops, 'FLOP')} / {rates.tflops:g} TFLOP/s = {_us(limit.flops / rates.tflops / 1e6)}"
    ratio = f"{limit.intensity:.0f} FLOP a byte, the ridge of the {rates.chip} is {rates.ridge:.0f}"
    yield "roofline", f"{made}; {moved}; {ratio}"
    trip, effort = limit.trip, limit.trip.effort
    stretch = "a program" if trip.where is None else "a trip"
    rest = _besides(trip, trip.whole.tensor, effort.tensor)
    multiplied = f"{_products(effort)} = {effort.tensor:.0f} cycles{rest}"
    yield "tensor cores", f"{_us(shares.tensor)}; {stretch}: {multiplied}"
    rest = _besides(trip, trip.whole.memory(rates), effort.memory(rates))
    brought = f"{effort.bytes:.0f} B / {rates.l2:.1f} B a cycle from L2 = {effort.memory(rates):.0f} cycles{rest}"
    device = f"device memory; from L2 {_us(shares.l2)}; " if shares.device > shares.l2 else ""
    yield "memory", f"{_us(shares.memory)}; {device}{stretch}: {brought}"
    rest = _besides(trip, trip.whole.vector(rates), effort.vector(rates))
    counts = (
        f"{effort.ordinary:.0f} results / {rates.ordinary:g} + {effort.special:.0f} special ones / {rates.special:g}"
    )
    computed = f"{counts} = {effort.vector(rates):.0f} cycles{rest}"
    yield "orchestration", f"{_us(shares.orchestration)}; {stretch}: {computed}; SMs without work {_us(shares.idle)}"
    yield "grid", f"{_grid(trip, limit.spread, rates.ghz)}: {_us(shares.least)} at least"
    if trip.branches:
        branches = f"branch{'es' if len(trip.branches) > 1 else ''} in {' and '.join(trip.branches)}"
        yield "at most", f"counted even where the {branches} would skip it"
    yield from (("also", text) for text in _also(limit))


def _besides(trip: Trip, whole: float, each: float) -> str:
    """What a program takes outside of those trips, in cycles."""
    rest = whole - trip.count * each
    return f" and besides {rest:.0f} in a program" if rest >= 1.0 else ""


def _grid(trip: Trip, spread: Spread, ghz: float) -> str:
    what = "tiles that programs deal out" if spread.dealt else "programs"
    trips = "one trip" if trip.count == 1 else f"{trip.count:.4g} trips"
    each = "" if trip.where is None else f", each with {trips} of the loop in {trip.where}"
    most = f"at most {spread.waves} on one, {100 * spread.idle:.0f} % of their time idle"
    return f"{spread.units:.6g} {what}{each}; {spread.sms} SMs at {ghz:g} GHz: {most}"


def _products(effort: Effort) -> str:
    """`2 × 128 × 256 × 64 FLOP / 3410 a cycle`: rows, columns and depth of each dot, over FLOP a cycle."""
    rates = dict.fromkeys(product.rate for product in effort.products)
    parts = []
    for rate in rates:
        texts = [_product(product) for product in effort.products if product.rate == rate]
        inner = texts[0] if len(texts) == 1 else f"({' + '.join(texts)})"
        parts.append(f"2 × {inner} FLOP / {rate:.0f} a cycle")
    return " + ".join(parts)


def _product(product: Product) -> str:
    tile = f"{product.rows:.0f} × {product.columns:.0f} × {product.depth:.0f}"
    return tile if product.times == 1 else f"{product.times:.4g} × {tile}"


def _also(limit: Limit) -> Iterator[str]:
    """Other launches one by one; other configs of this one by what limits them."""
    configs: dict[str, list[Elsewhere]] = {}
    for other in limit.elsewhere:
        if other.launch == limit.launch:
            configs.setdefault(other.word, []).append(other)
        else:
            config = "" if other.config == limit.config else f"; {other.config}"
            yield f"{other.word}, {_us(other.microseconds)}: {other.launch}{config}"
    for word, others in configs.items():
        count = "another config" if len(others) == 1 else f"{len(others)} other configs"
        yield f"{word} under {count}, from {_us(min(other.microseconds for other in others))} on"


def _us(microseconds: float) -> str:
    return f"{microseconds:.0f} µs" if microseconds >= 10 else f"{microseconds:.1f} µs"


def _scaled(value: float, unit: str) -> str:
    """`274.9 GFLOP`."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"
