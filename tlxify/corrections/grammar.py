"""The words of contract texts, and how each is read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from ..contract import Drawn, LaunchConfig

#: Entries that are no parameter's.
LAUNCH = ("grid", "free", "trips", "tiles", "configs", "multiples")
#: What a config sets besides compile-time parameters.
OPTIONS = ("num_warps", "num_stages")
#: What is tried of a number of which nothing but its kind is known.
TRIED: Mapping[str, tuple[object, ...]] = {"float": (0.5, 1.0), "int": (1, 2), "flag": (False, True)}
FUNCTIONS = frozenset(("cdiv", "min", "max"))
#: Words that say what a number is.
NUMBERS = ("size", "stride", "int", "float")
CONSTEXPRS = ("size", "stride", "tile", "flag", "option", "int")
#: Other ways to draw elements than as one of some `values`.
DRAWN: tuple[Drawn, ...] = ("rising", "between", "distinct")
LAYOUTS = ("rows", "padded", "columns", "padded-columns", "odd", "overlap")

TENSOR = re.compile(
    r"(?:(?P<use>in and out|in|out)\s+)?(?P<dtypes>\w+(?:\|\w+)*)\s*\[(?P<shape>[^\]]*)\]\s*(?P<rest>.*)"
)
CLAUSE = re.compile(
    r"(?P<kind>size|stride|int|float|tile|flag|option)\b"
    r"|dtype_of\((?P<dtype_of>\w+)\)"
    r"|in \{(?P<choices>.*?)\}"
    r"|multiple_of\((?P<multiple>.+?)\)(?![^,\s])"
    r"|whole\((?P<whole>.+?)\)(?![^,\s])"
    r"|covered_by\((?P<cover>.+?)\)(?![^,\s])"
    r"|says\((?P<says>\w+)\)"
    r"|(?P<aligned>aligned)\b"
    r"|(?P<unread>unread)\b"
    r"|(?P<low>\d+)\.\.(?P<high>\d*)"
    r"|=\s*(?P<expression>.+)"
)


class ContractTextError(Exception):
    """An entry cannot be read. Carries its key, why, and what is allowed there."""

    def __init__(self, key: str, why: str, allowed: str) -> None:
        super().__init__(f"{key}: {why}; allowed: {allowed}")


def split(text: str) -> list[str]:
    """The parts of a text between the commas that no bracket holds."""
    parts, depth, begun = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            parts.append(text[begun:place])
            begun = place + 1
    return [part.strip() for part in (*parts, text[begun:]) if part.strip()]


def contiguous(shape: Sequence[str]) -> tuple[str, ...]:
    """Strides of rows that follow each other, as expressions."""
    strides = ["1"]
    for extent in reversed(shape[1:]):
        factor = extent if extent.isidentifier() or extent.isdigit() else f"({extent})"
        strides.append(factor if strides[-1] == "1" else f"{strides[-1]} * {factor}")
    return tuple(reversed(strides[: len(shape)]))


def closes_last(text: str) -> bool:
    """Whether the bracket that opens a text is closed by its last sign."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if not depth:
            return place == len(text) - 1
    return False


def clauses(key: str, text: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name and inner text of each `name(…)` in a text. Raises ContractTextError for other names."""
    rest = text.strip()
    while rest:
        match = re.match(r"(\w+)\s*\(", rest)
        end = next((n for n in range(len(rest)) if match and n >= match.end() - 1 and _balanced(rest[: n + 1])), None)
        if match is None or match[1] not in names or end is None:
            raise ContractTextError(key, f"cannot read {rest!r}", ", ".join(f"{name}(…)" for name in names))
        yield match[1], rest[match.end() : end]
        rest = rest[end + 1 :].lstrip(" ,")


def _balanced(text: str) -> bool:
    return text.count("(") == text.count(")") > 0


def bounds(key: str, low: str, high: str) -> tuple[int, int | None]:
    """The range from `low` to `high`, where an empty one means without end."""
    if high and int(high) < int(low):
        raise ContractTextError(key, f"{low}..{high} is empty", "least..largest")
    return int(low), int(high) if high else None


def choices(key: str, text: str) -> tuple[object, ...]:
    """The literals between braces."""
    allowed = "literals: in {64, 128}"
    try:
        found = tuple(ast.literal_eval(f"[{text}]"))
    except (ValueError, SyntaxError):
        raise ContractTextError(key, f"{{{text}}} is no set of values", allowed) from None
    if not found:
        raise ContractTextError(key, "no value is left", allowed)
    return found


def launch_config(text: str) -> LaunchConfig:
    """A config as keywords of a call: `BLOCK_M=128, num_warps=8`."""
    allowed = '"BLOCK_M=128, BLOCK_N=64, num_warps=8, num_stages=3"'
    try:
        call = ast.parse(f"config({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        values = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
        if call.args or len(values) != len(call.keywords):
            raise ValueError(text)
    except (SyntaxError, ValueError):
        raise ContractTextError("configs", f"cannot read {text!r}", allowed) from None
    warps, stages = values.pop("num_warps", 4), values.pop("num_stages", 3)
    if not isinstance(warps, int) or not isinstance(stages, int):
        raise ContractTextError("configs", f"cannot read {text!r}", allowed)
    return LaunchConfig(tuple(values.items()), warps, stages)


def text_of(key: str, entry: object) -> str:
    """The text of an entry; numbers and truth values may be written without quotes."""
    if isinstance(entry, bool | int | float):
        return repr(entry)
    if not isinstance(entry, str):
        raise ContractTextError(key, f"{entry!r} is no text", 'a text, as in "bf16[M, K]"')
    return entry.strip()


def texts_of(key: str, entry: object) -> list[str]:
    """The texts of an entry that is a list."""
    if not isinstance(entry, list) or not all(isinstance(item, str) for item in entry):
        raise ContractTextError(key, f"{entry!r} is no list of texts", 'a list, as in ["M by BLOCK_M"]')
    return entry


def allowed(kinds: Sequence[str]) -> str:
    """What may be said of a parameter that is one of `kinds`."""
    words = (
        *dict.fromkeys(kinds),
        "in {…}",
        "multiple_of(…)",
        "whole(…)",
        "aligned",
        "1..4096",
        "= expression",
        "a literal",
        "None",
    )
    return ", ".join(words) + ", or a tensor: bf16[M, K] strides(…)"
