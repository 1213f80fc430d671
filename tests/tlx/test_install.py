"""``tlx.install()``: sources written for Meta's TLX run here unchanged, and everything can be taken back."""

from __future__ import annotations

import base64
import hashlib
import importlib
import os
import subprocess
import sys
import textwrap
import types
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("triton")

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction, MockTensor

import tlx
from tests.tlx.fork import NoGpu
from tlx import configs, neighbours
from tlx.install import FORK_PACKAGE, installed
from tlx.lowering import versions
from tlx.lowering.counting import _CountingCTAs

pytestmark = pytest.mark.triton

SOURCE = '''
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.language.extra.tlx.warp_spec import get_bufidx_phase


@triton.jit
def plain(out):
    tl.store(out + tl.arange(0, 32), tl.program_id(0))


@triton.jit
def helper(out, bars):
    tlx.barrier_wait(bars[0], 1)
    tl.store(out, 1)


@triton.jit
def direct(out):
    bars = tlx.alloc_barriers(1)
    helper(out, bars)


@triton.jit
def inner(out):
    direct(out)


@triton.jit
def outer(out):
    """Uses TLX two calls away only."""
    inner(out)


@triton.jit
def ring(out, n):
    slot, phase = get_bufidx_phase(n, 3)
    tl.store(out + slot, phase)
'''


@pytest.fixture
def hold():
    """``tlx.install()`` for one test."""
    tlx.install()
    yield
    tlx.uninstall()


@pytest.fixture
def source(hold, tmp_path, monkeypatch):
    """A module as a third party would write it."""
    (tmp_path / "third_party_kernels.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "third_party_kernels", raising=False)
    yield importlib.import_module("third_party_kernels")
    sys.modules.pop("third_party_kernels", None)


def test_sources_of_the_fork_compile(source):
    for kernel in (source.direct, source.outer):
        assert "mbarrier.init" in tlx.compile(kernel, {"out": "*i32"}).asm["ptx"]
    assert "st.global" in tlx.compile(source.ring, {"out": "*i32", "n": "i32"}).asm["ptx"]


def test_only_kernels_that_use_tlx_become_tlx_kernels(source):
    kernels = (source.plain, source.helper, source.direct, source.inner, source.outer, source.ring)
    assert [kernel.is_gluon() for kernel in kernels] == [False, True, True, True, True, True]
    assert "ttir" in tlx.compile(source.plain, {"out": "*i32"}).asm
    assert isinstance(source.plain, JITFunction)


def test_everything_is_taken_back():
    before = (triton.jit, triton.Config, triton.autotune, triton.runtime.jit.jit, triton.runtime.autotuner.Config)
    for _ in range(2):
        tlx.install()
        tlx.install()
        assert installed()
        assert triton.jit is not before[0]
        tlx.uninstall()
        tlx.uninstall()
    assert not installed()
    after = (triton.jit, triton.Config, triton.autotune, triton.runtime.jit.jit, triton.runtime.autotuner.Config)
    assert after == before
    assert not [name for name in sys.modules if name.startswith(FORK_PACKAGE)]
    assert not hasattr(triton.language.extra, "tlx")
    assert not hasattr(GPUTarget, "is_cuda_backend")


@pytest.mark.parametrize(
    "order",
    [
        "import triton, tlx; tlx.install()",
        "import tlx; tlx.install(); import triton",
        "import tlx, triton.language.extra; tlx.install()",
    ],
)
def test_either_import_order(order):
    program = f"{order}\nimport triton.language.extra.tlx as theirs, tlx\nassert theirs is tlx and triton.jit"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2], timeout=120)


# ---- python -m tlx run ---------------------------------------------------------------------------------------------


def run(*args, cwd):
    return subprocess.run(
        [sys.executable, "-m", "tlx", "run", *map(str, args)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def test_run_is_python_after_install(tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 7")
    script = tmp_path / "program.py"
    script.write_text(
        "import sys, beside\nimport triton.language.extra.tlx as tlx\n"
        "print(__name__, sys.argv[1:], beside.VALUE, tlx.__name__)\nsys.exit(3)"
    )
    done = run(script, "--flag", "x", cwd=tmp_path)
    assert done.stdout.strip() == "__main__ ['--flag', 'x'] 7 tlx"
    assert done.returncode == 3


def test_run_of_a_missing_file(tmp_path):
    done = run("nowhere.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "'nowhere.py' does not exist" in done.stderr


# ---- clusters in configurations ------------------------------------------------------------------------------------


def test_a_cluster_of_one_is_no_cluster(hold):
    one = triton.Config({"BLOCK": 64}, num_warps=8, ctas_per_cga=(1, 1, 1))
    assert one.all_kwargs() == triton.Config({"BLOCK": 64}, num_warps=8).all_kwargs()
    assert one == triton.Config({"BLOCK": 64}, num_warps=8)
    two = triton.Config({"BLOCK": 64}, num_warps=8, ctas_per_cga=(2, 1, 1))
    assert two.all_kwargs()["ctas_per_cga"] == (2, 1, 1)
    assert "ctas_per_cga: (2, 1, 1)" in str(two)
    assert two != one


@pytest.mark.parametrize("shape", [(1, 2, 1), (3, 1, 1), (32, 1, 1), (0, 1, 1)])
def test_clusters_that_no_launcher_can_make(shape):
    with pytest.raises(tlx.TLXError, match=r"ctas_per_cga must be \(c, 1, 1\)"):
        configs.cluster_size(shape)


def test_an_old_triton_drops_clusters_once(hold, monkeypatch):
    monkeypatch.setattr(versions, "CLUSTERS", False)
    choices = [triton.Config({}, ctas_per_cga=(c, 1, 1)) for c in (1, 2, 4)]

    def kernel(x):
        pass

    with pytest.warns(UserWarning, match="2 of 3 configurations are left out: ctas_per_cga.* needs Triton 3.9"):
        tuned = triton.autotune(choices, key=[])(triton.jit(kernel))
    assert tuned.configs == choices[:1]
    with pytest.raises(tlx.TLXError, match=r"none of the 2 configurations can be used: ctas_per_cga"):
        triton.autotune(choices[1:], key=[])(triton.jit(kernel))


@tlx.jit
def rank(out):
    tl.store(out + tl.program_id(0), tlx.cluster_cta_rank())


def test_a_launch_with_clusters_on_an_old_triton(monkeypatch):
    monkeypatch.setattr(versions, "CLUSTERS", False)
    monkeypatch.setattr(driver, "_active", NoGpu(90))
    with pytest.raises(tlx.TLXError, match=r"rank: ctas_per_cga .* needs Triton 3.9 or newer; this is"):
        rank[(8,)](MockTensor(tl.int32), ctas_per_cga=(2, 1, 1))


@pytest.mark.skipif(not versions.CLUSTERS, reason=versions.too_old("a cluster"))
def test_a_launch_with_clusters_counts_ctas(monkeypatch):
    monkeypatch.setattr(driver, "_active", NoGpu(90))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    kernel = rank.run(MockTensor(tl.int32), grid=(8,), warmup=True, ctas_per_cga=(2, 1, 1))
    assert kernel.metadata.num_ctas == 2
    assert "%cluster_ctarank" in kernel.asm["ptx"]
    assert "%ctaid.x" in kernel.asm["ptx"]


@pytest.mark.skipif(not versions.CLUSTERS, reason=versions.too_old("a cluster"))
def test_only_launches_that_name_ctas_are_counted_in_ctas(monkeypatch):
    monkeypatch.setattr(driver, "_active", NoGpu(90))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    kernel, grids = tlx.jit(rank.fn), []
    for options in ({"ctas_per_cga": (2, 1, 1)}, {"ctas_per_cga": (1, 1, 1)}, {"num_ctas": 2}, {}):
        compiled = kernel.warmup(MockTensor(tl.int32), grid=(1,), **options)
        compiled._run, compiled.module = lambda *args: grids.append(args[:3]), "loaded"
        assert kernel[(8, 3)](MockTensor(tl.int32), **options) is compiled
        compiled.module = None
    assert grids == [(4, 3, 1), (8, 3, 1), (8, 3, 1), (8, 3, 1)]


def test_the_grid_is_cut_into_clusters():
    kernel, grids = object.__new__(_CountingCTAs), []
    kernel.metadata, kernel._run = SimpleNamespace(num_ctas=2), lambda *args: grids.append(args)
    kernel.module = None
    kernel.run(8, 3, 1, "stream")
    assert grids == [(4, 3, 1, "stream")]
    with pytest.raises(tlx.TLXError, match="a grid of 9 CTAs along its first axis cannot be cut into clusters of 2"):
        kernel.run(9, 1, 1)


# ---- neighbours ----------------------------------------------------------------------------------------------------


class FakeFile(str):
    """A file of a distribution."""

    hash = None
    place = None

    def locate(self):
        return self.place


class FakeDistribution:
    """What importlib.metadata tells of a distribution."""

    def __init__(self, name, version, files=()):
        self.metadata = {"Name": name}
        self.version = version
        self.files = list(files)


def recorded(path, place, text):
    """A file that its distribution recorded with ``text`` in it."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    file = FakeFile(path)
    file.hash = types.SimpleNamespace(mode="sha256", value=digest)
    file.place = place
    return file


@pytest.mark.parametrize("last", ["ours", "theirs"])
def test_beside_the_unrelated_tlx(last, tmp_path, monkeypatch):
    """pip writes both packages into one folder: whichever came last owns the file."""
    place = tmp_path / "utility.py"
    place.write_text(last)
    present = [
        FakeDistribution("tlxify", "0.1.0", [recorded("tlx/utility.py", place, "ours"), FakeFile("tlxify/cli.py")]),
        FakeDistribution("tlx", "0.5.8", [recorded("tlx/utility.py", place, "theirs"), FakeFile("tlx/nn.py")]),
    ]
    monkeypatch.setattr(neighbours.metadata, "distributions", lambda: iter(present))
    if last == "ours":
        tlx.install()
        tlx.uninstall()
        return
    with pytest.raises(tlx.InstallError) as caught:
        tlx.install()
    assert str(caught.value) == (
        "tlx 0.5.8 has overwritten 1 file(s) of tlxify (tlx/utility.py): both install a package called tlx and cannot "
        "share an environment. Remove it and put ours back: pip uninstall tlx, then pip install --force-reinstall "
        "--no-deps tlxify"
    )
    assert not installed()


def test_on_the_forks_own_triton(monkeypatch):
    monkeypatch.setattr(neighbours.metadata, "distributions", lambda: iter([FakeDistribution("fbtriton", "3.7.4")]))
    with pytest.raises(tlx.InstallError, match=r"this Triton is fbtriton 3\.7\.4, which has TLX built in"):
        tlx.install()


def test_the_plugin_first_then_ours(monkeypatch):
    plugin = types.ModuleType(FORK_PACKAGE)
    monkeypatch.setitem(sys.modules, FORK_PACKAGE, plugin)
    present = [FakeDistribution("triton_utlx", "3.8.0.post16")]
    monkeypatch.setattr(neighbours.metadata, "distributions", lambda: iter(present))
    with pytest.warns(UserWarning, match=r"belongs to triton-utlx 3\.8\.0\.post16: kernels imported from now on use"):
        tlx.install()
    assert sys.modules[FORK_PACKAGE] is tlx
    tlx.uninstall()
    assert sys.modules[FORK_PACKAGE] is plugin


@pytest.mark.parametrize(("plugin", "warned"), [("3.8.0.post16", False), ("3.5.0", True)])
def test_a_plugin_for_another_triton(plugin, warned, monkeypatch):
    monkeypatch.setitem(sys.modules, neighbours.PLUGIN_HOOK, types.ModuleType(neighbours.PLUGIN_HOOK))
    present = {"triton-utlx": plugin, "triton": "3.8.0"}
    monkeypatch.setattr(neighbours.metadata, "version", present.__getitem__)
    if warned:
        with pytest.warns(UserWarning, match=r"triton-utlx 3\.5\.0 is built for Triton 3\.5 .* this is 3\.8\.0"):
            neighbours.warn_of_a_plugin_for_another_triton()
    else:
        neighbours.warn_of_a_plugin_for_another_triton()


def test_ours_first_then_the_plugin():
    plugin = types.ModuleType(FORK_PACKAGE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tlx.install()
    sys.modules[FORK_PACKAGE] = plugin
    tlx.uninstall()
    # What somebody else put there since is theirs.
    assert sys.modules.pop(FORK_PACKAGE) is plugin


def test_a_module_called_tlx_is_not_ours(hold, tmp_path, monkeypatch):
    (tmp_path / "other_kernels.py").write_text(
        textwrap.dedent(
            """
            import types
            import triton
            import triton.language as tl
            tlx = types.SimpleNamespace(SIZE=tl.constexpr(32))
            SIZE = tlx.SIZE

            @triton.jit
            def kernel(out):
                tl.store(out + tl.arange(0, SIZE), 1)
            """
        )
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    kernel = importlib.import_module("other_kernels").kernel
    sys.modules.pop("other_kernels")
    assert not kernel.is_gluon()
