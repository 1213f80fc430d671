"""A source that passes by name, by position or not at all means here what it means to Meta's TLX.

``signatures.json`` has what fbtriton says of its own names; ``tests/tlx/signatures.py`` reads it again.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("triton")

import tlx
from tests.tlx import signatures
from tlx.modules import FORK_MODULES, FORK_PACKAGE
from tlx.sim import language
from tlx.surface import entries
from tlxify.verify.protocol.calls import _HANDLERS

pytestmark = pytest.mark.triton

KEPT = json.loads(signatures.KEPT.read_text())

#: names whose spelling is not the fork's, and why no source can tell
OTHERWISE = {
    "the compiler makes them; sources name them as types": (
        "async_token buffered_tensor buffered_tensor_type clc_response clc_response_type mbarrier mbarrier_type "
        "storage_alias_spec_type storage_alias_spec_type_class tensor_descriptor_ptr "
        "tensor_descriptor_ptr_type CLCPipelineContext"
    ),
    "the fork takes any word and looks at those that are named here": "async_task async_tasks",
    "it is an enumeration": "TMemCTAMode",
    "it is Gluon's own where it has it, and takes the same words": "warp_pipeline_stage",
}


def extends(ours: str, theirs: str) -> bool:
    """Whether whatever fits their parameters fits ours, to the same effect."""
    if ours == theirs:
        return True
    head, more = (ours[: len(theirs)], ours[len(theirs) :]) if theirs else ("", f", {ours}")
    # More may follow what they have, if it may be left out.
    return head == theirs and more.startswith(", ") and all("=" in word for word in more[2:].split(", "))


@pytest.mark.parametrize(
    ("ours", "theirs", "fits"),
    [
        ("a, b=1", "a, b=1", True),
        ("a, b=1, c=None", "a, b=1", True),
        ("a=1", "", True),
        ("a, c", "a", False),
        ("b", "a", False),
        ("a, b=2", "a, b=1", False),
        ("a, b=10", "a, b=1", False),
        ("a, *, b=1", "a, b=1", False),
        ("a", "a, b=1", False),
    ],
)
def test_what_extends_a_signature(ours, theirs, fits):
    assert extends(ours, theirs) is fits


def test_every_name_of_the_fork_is_there():
    listed = {entry.name for entry in entries()}
    # Its modules are looked at below.
    public = {*KEPT["names"], *KEPT["undefined"]}
    assert public <= listed
    for name in public:
        assert getattr(tlx, name) is not None


def test_exceptions_are_still_ones():
    for names in OTHERWISE.values():
        for name in names.split():
            assert signatures.spelled(getattr(tlx, name)) != KEPT["names"][name], name


@pytest.mark.parametrize("name", sorted(KEPT["names"].keys() - set(" ".join(OTHERWISE.values()).split())))
def test_parameters_are_those_of_the_fork(name):
    theirs = KEPT["names"][name]
    if theirs is not None:
        assert extends(signatures.spelled(getattr(tlx, name)), theirs)


@pytest.mark.parametrize("name", language.FUNCTIONS)
def test_the_simulator_takes_the_same(name):
    ours = signatures.spelled(getattr(tlx, name))
    # The simulator has no use for the enumeration.
    assert signatures.spelled(language.FUNCTIONS[name]).replace("storage=None", "storage=storage_kind.smem") == ours


@pytest.mark.parametrize("name", _HANDLERS)
def test_the_protocol_check_takes_the_same(name):
    words = [word.partition("=")[0] for word in signatures.spelled(getattr(tlx, name)).split(", ") if word != "*"]
    handled = list(_HANDLERS[name][0])
    assert handled == words[: len(handled)]


@pytest.fixture
def hold():
    tlx.install()
    yield
    tlx.uninstall()


@pytest.mark.parametrize("module", KEPT["modules"])
def test_modules_of_the_fork_have_their_public_names(hold, module):
    assert module in FORK_MODULES
    found = importlib.import_module(f"{FORK_PACKAGE}.{module}")
    attribute = getattr(tlx, module)
    for name in KEPT["modules"][module]:
        if not name.startswith("_"):
            assert getattr(found, name) is not None, name
            assert getattr(attribute, name) is getattr(found, name), name


def test_what_a_module_of_the_fork_keeps_to_itself_is_told(hold):
    import triton.language.extra.tlx.mem_ops as mem_ops
    from triton.language.extra.tlx.compiler import code_generator

    for module in (mem_ops, code_generator):
        with pytest.raises(AttributeError, match=r"tlx has no _no_such: .* is a module of Meta's TLX"):
            module._no_such  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name '_no_such'"):
        exec("from triton.language.extra.tlx.mem_ops import _no_such")
    assert not hasattr(mem_ops, "__path__")


def test_module_names_ask_for_install():
    with pytest.raises(AttributeError, match=r"tlx.mem_ops is a module of Meta's TLX: call tlx.install\(\) first"):
        tlx.mem_ops  # noqa: B018
    assert not hasattr(tlx.types, "no_such_name")
    assert tlx.types.local_alloc is tlx.local_alloc


SOURCE = """
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.language.extra.tlx import mma_ops
from triton.language.extra.tlx.mem_ops import local_store


@triton.jit
def by_name(out):
    tiles = tlx.local_alloc(shape=(64, 64), dtype=tl.float16, num=tl.constexpr(2))
    tile = tlx.mem_ops.local_view(local_allocated_buffers=tiles, buffer_idx=1)
    local_store(dst=tile, src=tl.full([64, 64], 1.0, tl.float16))
    half = tlx.local_slice(buffer=tlx.local_trans(input=tile, dims=(1, 0)), offset=[0, 0], shape=[64, 64])
    acc = mma_ops.async_dot(A=tile, B=half)
    acc = mma_ops.async_dot_wait(pendings=0, inp=acc)
    tlx.prefetch(pointer=out, level="L2")
    tl.store(out + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :], acc)
"""


def test_a_source_that_passes_by_name_compiles(hold, tmp_path, monkeypatch):
    (tmp_path / "third_party_by_name.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    kernel = importlib.import_module("third_party_by_name").by_name
    assert "wgmma.mma_async" in tlx.compile(kernel, {"out": "*fp32"}).asm["ptx"]


def test_what_is_kept_is_what_the_fork_says():
    python = os.environ.get("FORK_PYTHON")
    if not python:
        pytest.skip("FORK_PYTHON names no Python that has fbtriton")
    script = Path(signatures.__file__)
    done = subprocess.run([python, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
