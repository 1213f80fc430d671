"""Counts the public kernels that coverage is measured against, and writes them to `denominator.json`.

    python corpus/fetch.py && python corpus/denominator.py

A *dot kernel* is a jit function that is tuned or launched (not only called from jit code) and reaches `tl.dot` or
`tl.dot_scaled`, also through helpers. Kernels with the same normalised syntax tree (parameters and body, without the
docstring, decorators and name) count once, within and across packages. Back ends for chips of other vendors are left
out.

Nothing here is shared with the converter, which must not choose what it is measured by: names are resolved anew, with
the standard library's `ast` alone, and nothing is imported or run.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
STORE = HERE.parent / ".corpus"

#: The wheels that coverage is measured on: distribution → version.
WHEELS = {
    "flag-gems": "5.0.2",
    "liger-kernel": "0.8.5",
    "fla-core": "0.6.0",
    "flash-attn-triton": "0.1.1",
    "torchao": "0.18.0",
    "sageattention": "1.0.6",
    "moe-ops": "0.1.0",
    "grouped-mm-bf16": "0.1.7",
    "flashnn": "0.1.1",
    "tokenspeed-tritonblas": "0.1.0.post20260510",
}
#: Folders of back ends for chips that are not NVIDIA's, and of tests.
ELSEWHERE = {
    "_ascend",
    "_cambricon",
    "_metax",
    "_mthreads",
    "_kunlunxin",
    "_hygon",
    "_iluvatar",
    "_amd",
    "_arm",
    "_aipu",
}
ELSEWHERE |= {
    "_enflame",
    "_sunrise",
    "_tsingmicro",
    "_spacemit",
    "_thead",
    "_zhenwu",
    "amd",
    "rocm",
    "npu",
    "xpu",
    "hip",
    "triton_ascend",
}
DOTS = ("dot", "dot_scaled")
TUNERS = ("autotune", "heuristics", "libtuner", "libentry")


@dataclass(frozen=True)
class Entry:
    """One row of `denominator.json`. `loop`: a dot stands in a loop that runs (anything but `static_range`)."""

    package: str
    version: str
    path: str
    name: str
    line: int
    hash: str
    loop: bool
    family: str


@dataclass
class Source:
    """One file: its jit functions by name, and what its imports may mean."""

    path: str
    tree: ast.Module
    #: Local name → (dotted module, name in it or None for the module itself).
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    functions: dict[str, list[ast.FunctionDef]] = field(default_factory=dict)
    #: Names that a plain call made a kernel: `f = triton.jit(g)`.
    jitted: set[str] = field(default_factory=set)


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a name or attribute chain, called or not; empty for anything else."""
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (head := dotted(node.value)):
        return f"{head}.{node.attr}"
    return ""


def read(path: Path, root: Path) -> Source | None:
    """A file with its imports; None if it is no Python that this interpreter reads."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return None
    source = Source(path.relative_to(root).as_posix(), tree)
    package = source.path.removesuffix(".py").split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                local = name.asname or name.name.partition(".")[0]
                source.imports[local] = (name.name if name.asname else local, None)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for name in node.names:
                source.imports[name.asname or name.name] = (module, name.name)
        elif isinstance(node, ast.Call) and is_triton(source, node, "jit") and len(node.args) == 1:
            source.jitted.add(dotted(node.args[0]))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            if node.name in source.jitted or any(is_triton(source, item, "jit") for item in node.decorator_list):
                source.functions.setdefault(node.name, []).append(node)
    return source


def is_triton(source: Source, node: ast.AST, name: str) -> bool:
    """Whether an expression is Triton's `name`, under whatever local name, or a call of it."""
    head, _, rest = dotted(node).partition(".")
    if not head:
        return False
    module, inner = source.imports.get(head, ("", None))
    # Packages hand Triton on under its own name: `from .utils import triton, tl`.
    whole = ".".join(part for part in (module, inner, rest) if part) if head in source.imports else f"{head}.{rest}"
    parts = whole.split(".")
    return parts[-1] == name and any(part in ("triton", "tl") for part in parts[:-1])


class Package:
    """The files of one wheel, and what their functions reach."""

    def __init__(self, root: Path) -> None:
        files = (read(path, root) for path in sorted(root.rglob("*.py")))
        self.sources = {source.path: source for source in files if source is not None}
        self.modules = {
            path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): source
            for path, source in self.sources.items()
        }
        self.homes = {id(f): s for s in self.sources.values() for found in s.functions.values() for f in found}
        self.known: dict[int, tuple[bool, bool]] = {}
        self.called: set[int] = set()
        self.launched: set[int] = set()
        for source in self.sources.values():
            self._note_uses(source)

    def resolve(self, source: Source, name: str, depth: int = 0) -> list[ast.FunctionDef]:
        """The jit functions that a dotted name may mean in a file; following re-exports a few steps."""
        head, _, rest = name.partition(".")
        if not rest and head in source.functions:
            return source.functions[head]
        if head not in source.imports or depth > 4:
            return []
        module, inner = source.imports[head]
        whole = ".".join(part for part in (module, inner, rest) if part)
        prefix, _, last = whole.rpartition(".")
        if (target := self.modules.get(prefix)) is not None and last:
            return self.resolve(target, last, depth + 1)
        return []

    def _note_uses(self, source: Source) -> None:
        for functions in source.functions.values():
            for function in functions:
                for call in calls(function):
                    self.called.update(map(id, self.resolve(source, dotted(call.func))))
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.Call):
                continue
            if isinstance(node.func, ast.Subscript):
                self.launched.update(map(id, self.resolve(source, dotted(node.func.value))))
            elif isinstance(node.func, ast.Attribute) and node.func.attr in ("run", "warmup"):
                self.launched.update(map(id, self.resolve(source, dotted(node.func.value))))

    def dots(self, source: Source, function: ast.FunctionDef) -> tuple[bool, bool]:
        """Whether a function reaches a dot, and whether one in a loop that runs."""
        if id(function) in self.known:
            return self.known[id(function)]
        self.known[id(function)] = (False, False)  # of functions that call each other, the first asks
        reaches = loops = False
        pending: list[tuple[ast.AST, bool]] = [(statement, False) for statement in function.body]
        while pending:
            node, inside = pending.pop()
            if isinstance(node, ast.Call):
                if any(is_triton(source, node, name) for name in DOTS):
                    reaches, loops = True, loops or inside
                for helper in self.resolve(source, dotted(node.func)):
                    deep, looped = self.dots(self.homes[id(helper)], helper)
                    reaches, loops = reaches or deep, loops or looped or (deep and inside)
            running = isinstance(node, ast.While) or (
                isinstance(node, ast.For) and not dotted(node.iter).endswith("static_range")
            )
            pending += [(child, inside or running) for child in ast.iter_child_nodes(node)]
        self.known[id(function)] = (reaches, loops)
        return reaches, loops

    def kernels(self) -> Iterator[tuple[Source, ast.FunctionDef, bool]]:
        """Every dot kernel with its file, and whether a dot stands in a loop that runs."""
        for source in self.sources.values():
            if set(source.path.split("/")[:-1]) & ELSEWHERE:
                continue
            for functions in source.functions.values():
                for function in functions:
                    tuned = any(dotted(item).rpartition(".")[2] in TUNERS for item in function.decorator_list)
                    returns = any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function))
                    alone = id(function) not in self.called and not returns
                    if tuned or id(function) in self.launched or alone:
                        reaches, loops = self.dots(source, function)
                        if reaches:
                            yield source, function, loops


def calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """Every call in a function's body."""
    for statement in function.body:
        yield from (node for node in ast.walk(statement) if isinstance(node, ast.Call))


def normalised(function: ast.FunctionDef) -> str:
    """A hash of parameters and body; layout, comments, docstring, decorators and the name do not count."""
    body = list(function.body)
    if (
        isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    ):
        body = body[1:]
    text = ast.dump(function.args) + "".join(map(ast.dump, body))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


#: Family → words that tell it, in file path, kernel name and parameters; the first match wins.
FAMILIES = (
    (
        "linear attention / chunked",
        "fla chunk delta gla retention linear_attn rwkv ssd ssm mamba kda gdn wy hgrn lightning".split(),
    ),
    ("sparse / scored attention", "nsa topk_attn mla sparse indexer compress selected".split()),
    (
        "attention backward",
        "attn_bwd bwd_kernel bwd_preprocess _bwd_ dkdv bwd_dq bwd_dkv attention_bwd attn_backward".split(),
    ),
    ("attention forward", "attn attention flash sdpa mha softmax".split()),
    ("MoE / grouped GEMM", "moe grouped group_gemm gmm expert".split()),
    ("convolution", ["conv"]),
    ("dequantising GEMM", "int4 awq gptq w4 w8 a8w8 weight_int8pack dequant fpa_int dequantize quant".split()),
    ("batched GEMM", "bmm batch baddbmm".split()),
    ("GEMM", "mm gemm matmul linear dot addmv mv outer jsd swiglu geglu mlp lora".split()),
)


def family(package: str, path: str, function: ast.FunctionDef) -> str:
    """What kind of kernel it is, by its words alone: good enough to group a table."""
    text = f"{path} {function.name}".lower()
    if package == "fla-core" and not any(word in text for word in ("attn/", "nsa/", "moe", "modules/", "utils/")):
        return FAMILIES[0][0]
    for name, words in FAMILIES:
        if any(word in text for word in words if word != "fla"):
            return name
    return "other"


def entries(store: Path) -> list[Entry]:
    """Every dot kernel of the wheels, duplicates once: the first in the order of `WHEELS` and of paths."""
    rows: dict[str, Entry] = {}
    for package, version in WHEELS.items():
        root = store / f"{package}-{version}"
        if not root.is_dir():
            raise SystemExit(f"{root.name} is not there; run corpus/fetch.py first")
        for source, function, loops in Package(root).kernels():
            digest = normalised(function)
            kind = family(package, source.path, function)
            row = Entry(package, version, source.path, function.name, function.lineno, digest, loops, kind)
            rows.setdefault(digest, row)
    return list(rows.values())


def main() -> None:
    """Writes the list and prints its totals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, default=STORE, help="where the unpacked wheels lie")
    parser.add_argument("--out", type=Path, default=HERE / "denominator.json")
    options = parser.parse_args()
    rows = entries(options.store)
    options.out.write_text(json.dumps({"schema": 1, "kernels": [asdict(row) for row in rows]}, indent=1) + "\n")
    print(f"{len(rows)} dot kernels, {sum(row.loop for row in rows)} with a dot in a loop that runs")
    for title, counts in (("package", Counter(r.package for r in rows)), ("family", Counter(r.family for r in rows))):
        print(f"by {title}: " + ", ".join(f"{name} {count}" for name, count in counts.most_common()))


if __name__ == "__main__":
    main()
