"""The text that other compilers are shown, and what counts as their refusal."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys

import pytest

pytest.importorskip("triton")

import triton.language as tl

import tlx
from tests.golden import ROOT

sys.path.insert(0, str(ROOT / "corpus"))

import witness
import witness_known
import witness_launches
import witness_text

pytestmark = pytest.mark.triton


def texts():
    return [*(ROOT / "tests/tlx/kernels").glob("[!_]*.py"), *(ROOT / "corpus").glob("*/golden/*_tlx.py")]


@pytest.mark.parametrize("path", texts(), ids=lambda path: path.stem)
def test_only_imports_and_decorators_are_exchanged(path):
    text = path.read_text()
    shown = witness_text.swapped(text)
    names = {node.name for node in ast.walk(ast.parse(shown)) if isinstance(node, ast.FunctionDef)}
    assert names == {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    assert "import tlx\n" not in shown
    assert "@tlx.jit" not in shown
    assert "import triton.language.extra.tlx as tlx\n" in shown
    kept = set(text.splitlines())
    changed = [line for line in shown.splitlines() if line not in kept and "get_bufidx_phase" not in line]
    assert all(line.startswith(("import ", "from ", "@triton.jit")) for line in changed), changed


def test_every_launch_gets_a_name_once():
    launch = {"file": "a_tlx.py", "kernel": "k", "constexprs": {"N": 1}}
    other = {**launch, "constexprs": {"N": 2}}
    assert [one["case"] for one in witness_launches.numbered([launch, other, dict(launch)])] == [
        "a_tlx.k-1",
        "a_tlx.k-2",
    ]


def test_what_is_asked_to_be_compiled_is_kept():
    import tlx
    from tests.tlx.kernels.gemm_ws import gemm_ws

    recorder = witness_launches.Recorder(witness_launches.give_up)
    with recorder.listening(), pytest.raises(witness_launches.Recorded):
        tlx.compile(gemm_ws, {"c_ptr": "*fp16", "M": "i32"}, {"STAGES": 3}, num_warps=8)
    (launch,) = recorder.launches
    assert (launch["file"], launch["kernel"], launch["options"]) == ("gemm_ws.py", "gemm_ws", {"num_warps": 8})
    assert (launch["signature"]["M"], launch["signature"]["STAGES"]) == ("i32", "constexpr")
    assert (launch["constexprs"], launch["divisible"]) == ({"STAGES": 3}, ["c_ptr"])
    assert recorder.texts == {"gemm_ws.py": witness_text.swapped((ROOT / "tests/tlx/kernels/gemm_ws.py").read_text())}


SCALE = tl.constexpr(3)
KIND = tl.constexpr(tl.float16)
OUT_OF_REACH = object()


@tlx.jit
def scaled(x, n):
    return x * SCALE + n


@tlx.jit
def shown(out, n, WIDTH: tl.constexpr):
    """Names a helper, constants, modules, and a function of TLX."""
    tile = tlx.local_alloc((WIDTH,), KIND, 1)
    slot, phase = tlx.get_bufidx_phase(n, 2)
    tlx.local_store(tile[0], tl.full((WIDTH,), 1.0, KIND))
    first = min(slot, phase)
    tl.store(out + tl.arange(0, WIDTH), scaled(tlx.local_load(tile[0]).to(tl.float32), first))


@tlx.jit
def unshown(out):
    tl.static_assert(OUT_OF_REACH is not None)
    tl.store(out, 1)


SHOWN = (shown, {"out": "*fp32", "n": "i32"}, {"WIDTH": 32})


def test_a_kernel_of_a_test_is_shown_with_all_that_it_names(tmp_path):
    text = witness_text.extracted(shown)
    bound = [name for node in ast.parse(text).body for name in bound_by(node)]
    assert sorted(bound) == ["KIND", "SCALE", "scaled", "shown", "tl", "tlx", "triton"]
    path = tmp_path / "shown_alone.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("shown_alone", path)
    alone = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(alone)
    # The same machine code; lines are told apart.
    ours, theirs = (tlx.compile(kernel, *SHOWN[1:]).asm["ttgir"] for kernel in (shown, alone.shown))
    assert without_places(ours) == without_places(theirs)
    given = witness_text.swapped(text)
    assert "import triton.language.extra.tlx as tlx" in given
    assert "@tlx.jit" not in given


def bound_by(node):
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    return [node.name] if isinstance(node, ast.FunctionDef) else [target.id for target in node.targets]


def without_places(text):
    return re.sub(r"loc\(.*?\)|#loc.*|\S*shown\S*", "", text)


def test_a_kernel_that_cannot_be_shown_is_told():
    recorder = witness_launches.Recorder(lambda *asked, **options: None)
    recorder(unshown, {"out": "*i32"})
    assert recorder.launches == []
    assert list(recorder.left_out) == ["test_witness.py unshown"]
    assert recorder.left_out["test_witness.py unshown"].startswith("OUT_OF_REACH is <object")


def test_a_launch_that_ours_refuses_is_not_asked_of_others():
    def refuses(*asked, **options):
        raise tlx.TLXError("no")

    recorder = witness_launches.Recorder(refuses)
    with pytest.raises(tlx.TLXError):
        recorder(*SHOWN)
    assert recorder.launches == []


def test_clusters_and_targets_are_told_in_words_of_the_fork():
    recorder = witness_launches.Recorder(lambda *asked, **options: None)
    recorder(*SHOWN, options={"num_ctas": 2}, target="sm_100")
    recorder(*SHOWN, target="gfx950")
    recorder(shown, SHOWN[1], {"WIDTH": tl.constexpr(32)})
    one, two, three = recorder.launches
    assert (one["options"], one["target"]) == ({"num_warps": 4, "ctas_per_cga": [2, 1, 1]}, 100)
    assert two["target"] == "gfx950"
    assert (three["constexprs"], "target" in three) == ({"WIDTH": 32}, False)
    assert [launch["file"] for launch in recorder.launches] == ["test_witness__shown.py"] * 3


def test_types_are_named_as_triton_exports_them():
    assert witness_launches.plain("x", tl.float8e4nv) == {"dtype": "float8e4nv"}
    with pytest.raises(witness_text.Unportable, match=r"x is \(1, 2\)"):
        witness_launches.plain("x", (1, 2))


@pytest.mark.parametrize(
    ("who", "warps", "complaint", "wrong"),
    [
        ("utlx", 8, "Operand 0 (of type 'tensor<1xf32, {warpsPerCTA = [1, 4]}", False),
        ("utlx", 8, "something else", True),
        ("utlx", 8, None, True),
        ("utlx", 4, "Operand 0 (of type 'tensor<1xf32, {warpsPerCTA = [1, 4]}", True),
        ("utlx", 4, None, False),
        ("fork", 8, "Operand 0 (of type 'tensor<1xf32, {warpsPerCTA = [1, 4]}", True),
    ],
)
def test_a_known_refusal_must_stay_one_and_keep_its_words(who, warps, complaint, wrong):
    launch = {"case": "x", "file": "gemm_persistent.py", "constexprs": {"CONSUMER_WARPS": warps}}
    assert witness_known.unexpected(who, launch, {} if complaint is None else {"x": complaint}) is wrong


def test_what_is_known_of_no_launch_is_told():
    launch = {"case": "x", "file": "test_surface__mentions.py", "constexprs": {}}
    idle = witness_known.unused("fork", [launch])
    assert len(idle) == sum("fork" in known.who for known in witness_known.KNOWN) - 1
    assert all((known.texts or known.constexprs) and known.says and known.why for known in witness_known.KNOWN)


def test_the_telling_line_of_a_complaint():
    text = "Traceback\nkernel.py:3: error: 'tt.load' op is wrong\nfollowed by noise\n"
    assert witness.gist(text) == "kernel.py:3: error: 'tt.load' op is wrong"
    text = "Traceback\nCompilationError: at 51:24:\n    the user's line\nmust be narrow\n"
    assert witness.gist(text) == "must be narrow"
    assert witness.gist("  \n") == "no message"
    text = "Traceback\nAssertionError: no such view\nthe cause of\nCompilationError: at 2:4\n    call()\n    ^\n"
    assert witness.gist(text) == "CompilationError: at 2:4"
    assert witness.gist("Traceback\nAssertionError: none\n\nx.CompilationError: at 2:4\n    call()\n    ^") == (
        "AssertionError: none"
    )


def test_launches_of_tests_are_recorded_from_outside_of_pytest():
    """By a process that has tlx already: pytest warns of that where tlx is installed together with its plugins."""
    code = "import witness_launches as w; assert not w.launches_of_tests('no_test_is_called_so').launches"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "corpus", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
