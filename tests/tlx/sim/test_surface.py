"""Every name of TLX is simulated, or is known not to be."""

import ast
import inspect
from pathlib import Path

import pytest

import tlx
from tlx.sim import language
from tlx.sim.semantic import SimSemantic
from tlx.unsupported import PLACEHOLDERS

PACKAGE = Path(tlx.__file__).parent

#: why names are not simulated → the names
NOT_SIMULATED = {
    "they belong to AMD targets": (
        "amd_descriptor_prefetch_tensor amd_mfma_commit amd_mfma_layout amd_register_handoff amd_register_resident "
        "amd_sched_barrier amd_scheduled_mfma assume_uniform async_amd_descriptor_load async_amd_descriptor_load_fused "
        "async_amd_descriptor_store async_amd_descriptor_wait buffer_atomic_add buffer_load buffer_load_to_local "
        "buffer_store dot_operand_layout dot_scaled extract_slice rematerialized_range "
        "require_amd_wmma_layout update_tensor_descriptor warp_pipeline_stage zeros"
    ),
    "they are types and layouts that only a compiler needs": (
        "CLCPipeliner DummyRegisterLayoutEncoding TMemCTAMode clc_response clc_response_type reuse_group_ir_type "
        "storage_alias_spec_type tensor_descriptor_ptr tensor_descriptor_ptr_type"
    ),
}


def builtins():
    """(name, primitives that it calls on ``_semantic``) for every builtin of tlx."""
    for path in PACKAGE.glob("*.py"):
        if path.name == "amd.py":
            continue  # not simulated
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                called = {
                    part.attr
                    for part in ast.walk(node)
                    if isinstance(part, ast.Attribute) and getattr(part.value, "id", None) == "_semantic"
                }
                if called:
                    yield node.name, called


#: of the builtins that run as they are
PRIMITIVES = sorted({p for name, called in builtins() if name not in language.FUNCTIONS for p in called})


def test_the_list_is_not_empty():
    assert {"mbarrier_wait", "named_barrier", "wgmma_wait", "copy_commit"} <= {
        p for _, called in builtins() for p in called
    }
    assert "to_tensor" in PRIMITIVES


@pytest.mark.parametrize("name", PRIMITIVES)
def test_primitive(name):
    assert callable(getattr(SimSemantic, name))


@pytest.mark.parametrize("name", sorted(PLACEHOLDERS))
def test_what_the_compiler_lacks_is_simulated_or_listed(name):
    listed = {word for names in NOT_SIMULATED.values() for word in names.split()}
    simulated = {*language.FUNCTIONS, *language.CLASSES}
    assert (name in simulated) != (name in listed)


@pytest.mark.parametrize("name", sorted(language.FUNCTIONS))
def test_signature(name):
    """The parameters of tlx's own function, in order; ours may know more of them."""
    ours = [p for p in inspect.signature(language.FUNCTIONS[name]).parameters if p != "_semantic"]
    assert language.FUNCTIONS[name].__doc__
    if name not in PLACEHOLDERS:
        theirs = [p for p in inspect.signature(getattr(tlx, name)).parameters if not p.startswith("_")]
        positions = [ours.index(p) for p in theirs if p in ours]
        assert positions == sorted(positions)
        assert len(ours) >= len(theirs)
