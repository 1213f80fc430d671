"""Which kernel runs for which launch of the converted corpus GEMM, and that every answer is right."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "corpus" / "gemm" / "matmul.py"


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """The converted module, written as `-o` writes it."""
    from tlxify import convert
    from tlxify.source import SourceFile

    path = tmp_path_factory.mktemp("converted") / "matmul_converted.py"
    path.write_text(convert(SourceFile.read(SOURCE)).module_text)
    spec = importlib.util.spec_from_file_location("matmul_converted", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["matmul_converted"] = module
    spec.loader.exec_module(module)
    return module


def ran(module, call):
    """(result, "specialized" or the code of the reason why the original ran)."""
    import tlx

    before = snapshot(tlx, module)
    result = call()
    after = snapshot(tlx, module)
    if after["fast"] > before["fast"]:
        return result, "specialized"
    codes = [code for code, count in after["fallbacks"].items() if count > before["fallbacks"].get(code, 0)]
    return result, codes[0] if codes else "nothing"


def snapshot(tlx, module):
    found = [stats for name, stats in tlx.stats().items() if name.endswith("matmul_kernel")]
    if not found:
        return {"fast": 0, "fallbacks": {}}
    return {"fast": sum(s.fast for s in found), "fallbacks": {k: v for s in found for k, v in s.fallbacks.items()}}


def check(out, a, b, activation=""):
    import torch

    want = a.double() @ b.double()
    if activation:
        want = torch.where(want >= 0, want, 0.01 * want)
    scale = want.abs().max().clamp(min=1.0)
    assert ((out.double() - want).abs().max() / scale).item() < 1e-2


def operands(m, n, k, dtype="float16"):
    import torch

    kind = getattr(torch, dtype)
    return torch.randn((m, k), device="cuda", dtype=kind), torch.randn((k, n), device="cuda", dtype=kind)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("m", "n", "k"), [(256, 256, 128), (1000, 520, 200), (17, 24, 72), (4096, 512, 1032)])
def test_row_major(converted, m, n, k, dtype):
    a, b = operands(m, n, k, dtype)
    out, path = ran(converted, lambda: converted.matmul(a, b, "leaky_relu"))
    assert path == "specialized"
    check(out, a, b, "leaky_relu")


def test_column_major_b(converted):
    import torch

    x = torch.randn((512, 264), device="cuda", dtype=torch.float16)
    w = torch.randn((384, 264), device="cuda", dtype=torch.float16)
    out, path = ran(converted, lambda: converted.matmul(x, w.T))
    assert path == "specialized"
    check(out, x, w.T)


def test_column_major_a(converted):
    import torch

    a = torch.randn((264, 512), device="cuda", dtype=torch.float16).T
    b = torch.randn((264, 384), device="cuda", dtype=torch.float16)
    out, path = ran(converted, lambda: converted.matmul(a, b))
    assert path == "specialized"
    check(out, a, b)


def test_no_unit_stride(converted):
    import torch

    a = torch.randn((256, 512), device="cuda", dtype=torch.float16)[:, ::2]
    b = torch.randn((256, 384), device="cuda", dtype=torch.float16)
    out, path = ran(converted, lambda: converted.matmul(a, b))
    assert path == "no-unit-stride"
    check(out, a, b)


def test_odd_depth(converted):
    a, b = operands(256, 256, 131)
    out, path = ran(converted, lambda: converted.matmul(a, b))
    assert path == "unaligned-stride"
    check(out, a, b)


def test_unaligned_view(converted):
    import torch

    a = torch.randn((256, 264), device="cuda", dtype=torch.float16)[:, 1:257]
    b = torch.randn((256, 384), device="cuda", dtype=torch.float16)
    out, path = ran(converted, lambda: converted.matmul(a, b))
    assert path == "unaligned-base"
    check(out, a, b)


def launch(module, a, b, c):
    import triton

    (m, k), n = a.shape, b.shape[1]
    module.matmul_kernel[lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)](
        a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), ACTIVATION=""
    )


def test_overlapping_output(converted):
    import torch

    memory = torch.randn((384, 256), device="cuda", dtype=torch.float16)
    a, c = memory[:256], memory[128:384]
    b = torch.randn((256, 256), device="cuda", dtype=torch.float16)
    _, path = ran(converted, lambda: launch(converted, a, b, c))
    assert path == "overlap"


def test_empty_depth(converted):
    import torch

    a = torch.empty((128, 0), device="cuda", dtype=torch.float16)
    b = torch.empty((0, 128), device="cuda", dtype=torch.float16)
    c = torch.full((128, 128), float("nan"), device="cuda", dtype=torch.float16)
    _, path = ran(converted, lambda: launch(converted, a, b, c))
    assert path == "empty"
    assert (c == 0).all()


def test_results_are_stable(converted):
    a, b = operands(1000, 520, 456)
    first = converted.matmul(a, b)
    assert all((converted.matmul(a, b) == first).all() for _ in range(30))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_function_does_not_fail(converted):
    import torch

    a, b = operands(256, 256, 128)
    out = torch.compile(lambda x, y: converted.matmul(x, y) + 1)(a, b)
    check(out - 1, a, b)


CHILD = """
import importlib.util, sys, torch
{before}
spec = importlib.util.spec_from_file_location("matmul_child", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["matmul_child"] = module
spec.loader.exec_module(module)
{patch}
a = torch.randn((256, 128), device="cuda", dtype=torch.float16)
b = torch.randn((128, 256), device="cuda", dtype=torch.float16)
out = module.matmul(a, b, "leaky_relu").double()
want = a.double() @ b.double()
want = torch.where(want >= 0, want, {slope} * want)
assert ((out - want).abs().max() / want.abs().max()).item() < 1e-2
try:
    import tlx
    print({{k: (v.fast, dict(v.fallbacks)) for k, v in tlx.stats().items()}})
except ImportError:
    print("no tlx")
"""


def child(path, *, before="", patch="", slope=0.01, **environment):
    text = textwrap.dedent(CHILD).format(before=before, patch=patch, slope=slope)
    done = subprocess.run(
        [sys.executable, "-c", text, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}", **environment},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def converted_path(converted):
    return Path(converted.__file__)


def test_switched_off(converted_path):
    assert "'disabled'" in child(converted_path, TLXIFY="0") or "(0," in child(converted_path, TLXIFY="0")


def test_without_tlx(converted_path):
    assert "no tlx" in child(converted_path, before="sys.modules['tlx'] = None")


def test_edited_helper_is_stale(converted_path, tmp_path):
    edited = tmp_path / "edited.py"
    text = converted_path.read_text()
    edited.write_text(text.replace("return tl.where(x >= 0, x, 0.01 * x)", "return tl.where(x >= 0, x, 0.02 * x)", 1))
    said = child(edited, slope=0.02)
    assert "stale" in said
    assert "(0," in said


def test_sidecar(tmp_path):
    from tlxify import convert
    from tlxify.source import SourceFile

    conversion = convert(SourceFile.read(SOURCE))
    (tmp_path / "matmul.py").write_text(conversion.patched_source_text)
    (tmp_path / "matmul_tlx.py").write_text(conversion.sidecar_text)
    said = child(tmp_path / "matmul.py", before=f"sys.path.insert(0, {str(tmp_path)!r})")
    assert "(1, {})" in said
