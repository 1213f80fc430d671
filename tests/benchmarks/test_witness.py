"""The text that other compilers are shown, and what counts as their refusal."""

from __future__ import annotations

import ast
import importlib.util
import sys

import pytest

pytest.importorskip("triton")

from tests.golden import ROOT

pytestmark = pytest.mark.triton


@pytest.fixture(scope="module")
def witness():
    spec = importlib.util.spec_from_file_location("witness", ROOT / "corpus" / "witness.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["witness"] = module
    spec.loader.exec_module(module)
    return module


def texts():
    return [*(ROOT / "tests/tlx/kernels").glob("[!_]*.py"), *(ROOT / "corpus").glob("*/golden/*_tlx.py")]


@pytest.mark.parametrize("path", texts(), ids=lambda path: path.stem)
def test_only_imports_and_decorators_are_exchanged(witness, path):
    text = path.read_text()
    shown = witness.swapped(text)
    names = {node.name for node in ast.walk(ast.parse(shown)) if isinstance(node, ast.FunctionDef)}
    assert names == {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    assert "import tlx\n" not in shown
    assert "@tlx.jit" not in shown
    assert "import triton.language.extra.tlx as tlx\n" in shown
    kept = set(text.splitlines())
    changed = [line for line in shown.splitlines() if line not in kept and "get_bufidx_phase" not in line]
    assert all(line.startswith(("import ", "from ", "@triton.jit")) for line in changed), changed


def test_every_launch_gets_a_name_once(witness):
    launch = {"file": "a_tlx.py", "kernel": "k", "constexprs": {"N": 1}}
    other = {**launch, "constexprs": {"N": 2}}
    assert [one["case"] for one in witness.numbered([launch, other, dict(launch)])] == ["a_tlx.k-1", "a_tlx.k-2"]


def test_what_is_asked_to_be_compiled_is_kept(witness):
    import tlx
    from tests.tlx.kernels.gemm_ws import gemm_ws

    recorder = witness.Recorder(None, witness.give_up)
    with recorder.listening(), pytest.raises(witness.Recorded):
        tlx.compile(gemm_ws, {"c_ptr": "*fp16", "M": "i32"}, {"STAGES": 3}, num_warps=8)
    (launch,) = recorder.launches
    assert (launch["file"], launch["kernel"], launch["options"]) == ("gemm_ws.py", "gemm_ws", {"num_warps": 8})
    assert (launch["signature"]["M"], launch["signature"]["STAGES"]) == ("i32", "constexpr")
    assert (launch["constexprs"], launch["divisible"]) == ({"STAGES": 3}, ["c_ptr"])


@pytest.mark.parametrize(
    ("who", "warps", "fails", "wrong"),
    [
        ("utlx", 8, True, False),
        ("utlx", 8, False, True),
        ("utlx", 4, True, True),
        ("utlx", 4, False, False),
        ("fork", 8, True, True),
    ],
)
def test_a_known_refusal_must_stay_one(witness, who, warps, fails, wrong):
    launch = {"case": "x", "kernel": "gemm_persistent", "constexprs": {"CONSUMER_WARPS": warps}}
    assert witness.unexpected(who, launch, {"x"} if fails else set()) is wrong


def test_the_telling_line_of_a_complaint(witness):
    text = "Traceback\nkernel.py:3: error: 'tt.load' op is wrong\nfollowed by noise\n"
    assert witness.gist(text) == "kernel.py:3: error: 'tt.load' op is wrong"
    text = "Traceback\nCompilationError: at 51:24:\n    the user's line\nmust be narrow\n"
    assert witness.gist(text) == "must be narrow"
    assert witness.gist("  \n") == "no message"
