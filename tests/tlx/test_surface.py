"""Every public TLX name exists, has a signature and a docstring, and a missing one says why."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

pytest.importorskip("triton")

import triton.language as tl
from triton.compiler.errors import CompilationError

import tlx
from tlx.surface import entries
from tlx.unsupported import PLACEHOLDERS, REASONS

pytestmark = pytest.mark.triton

#: parameters in order of names that the fork's wheel does not have; ``test_signatures.py`` has those that it has
SIGNATURES = {
    "buffer_atomic_add": "ptr offsets value mask sem scope contiguity",
    "zeros": "shape dtype layout",
    "assume_uniform": "value",
    "amd_sched_barrier": "mask",
    "extract_slice": "source shape offsets",
    "amd_mfma_commit": "value preserve",
    "release_layout": "x",
}
BUILTINS = sorted({entry.name for entry in entries() if getattr(entry.value, "__triton_builtin__", False)})


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    own = [parameter for parameter in inspect.signature(getattr(tlx, name)).parameters if not parameter.startswith("_")]
    assert own == SIGNATURES[name].split()


@pytest.mark.parametrize("name", BUILTINS)
def test_triton_knows_a_builtin(name):
    function = getattr(tlx, name)
    assert function.__doc__
    # Triton hands builtins their context by this name, and recognises them by their mark.
    assert "_semantic" in inspect.signature(function).parameters


def test_every_public_name_is_there_and_says_what_it_is():
    listed = list(entries())
    assert len({entry.name for entry in listed}) == len(listed)
    for entry in listed:
        assert getattr(tlx, entry.name).__doc__, entry.name
        assert entry.meaning, entry.name
        # A name is either missing for a reason, or compiles for some GPU from some Triton on.
        assert entry.reason or (entry.targets and entry.triton), entry.name
    assert {entry.name for entry in listed if entry.reason} == set(PLACEHOLDERS)


def test_nothing_public_is_left_out_of_the_table():
    ours = set(
        "Box Dispatch Fallback InstallError KernelStats Memory Schedule Specialized StaleKernelError TLXError TmaView "
        "async_token_type compile fingerprint_of install jit memory policy require require_along_depth "
        "CopiedRows copied_rows require_block require_starts TO_END require_disjoint require_dtypes "
        "specialized stats tma_view uninstall".split()
    )
    assert set(tlx.__all__) - ours <= {entry.name for entry in entries()}


def test_the_page_is_up_to_date():
    spec = importlib.util.spec_from_file_location("tlx_support", Path(__file__).parents[2] / "docs" / "tlx_support.py")
    support = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(support)
    assert support.PAGE.read_text(encoding="utf-8") == support.page(), "run: make docs"


def test_placeholders_do_not_hide_what_exists():
    assert not set(PLACEHOLDERS) & set(tlx.__all__)
    assert set(PLACEHOLDERS) <= set(dir(tlx))
    assert all(callable(getattr(tlx, name)) for name in PLACEHOLDERS)
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        tlx.no_such_name  # noqa: B018


#: names that Meta's tutorials for NVIDIA GPUs mention and that cannot be had
MISSED = "DummyRegisterLayoutEncoding"


def test_few_names_that_tutorials_for_nvidia_mention_cannot_be_had():
    assert {entry.name for entry in entries() if entry.reason and entry.tier <= 2} == set(MISSED.split())


@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_what_cannot_be_had_says_why(name, tmp_path):
    parameters = inspect.signature(PLACEHOLDERS[name]).parameters.values()
    words = ["out" for parameter in parameters if parameter.default is inspect.Parameter.empty]
    path = tmp_path / "reaches.py"
    path.write_text(f"import tlx\n\n\n@tlx.jit\ndef kernel(out):\n    tlx.{name}({', '.join(words)})\n")
    spec = importlib.util.spec_from_file_location("reaches", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(CompilationError) as caught:
        tlx.compile(module.kernel, {"out": "*i32"})
    assert f"tlx.{name} is not available: {REASONS[name]}" in str(caught.value)
    assert "reaches.py:6" in str(caught.value).split("\n")[0]


@tlx.jit
def mentions(out, FLAG: tl.constexpr):
    if FLAG:
        tlx.amd_mfma_commit(out)
        tlx.amd_register_handoff(out)
    tl.store(out, 1)


def test_a_placeholder_matters_only_when_reached():
    assert "st.global" in tlx.compile(mentions, {"out": "*i32"}, {"FLAG": False}).asm["ptx"]
    with pytest.raises(CompilationError, match=re.escape("tlx.amd_mfma_commit is not available: ")):
        tlx.compile(mentions, {"out": "*i32"}, {"FLAG": True})
