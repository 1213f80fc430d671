# Every target sets up what it needs. Only Python >= 3.10 and make are required: `make demo`, `make test`.
#   make PYTHON=python3.12 test      another Python
#   make PYTEST="-k ring -x" test    arguments for pytest
#   make MUTATE="--jobs 8" mutate    arguments for the mutation run

PYTHON ?= python3
PYTEST ?=
MUTATE ?=
TRITON := 3.6.0
TORCH := 2.13.0
TRITONS := 3.6.0 3.7.0 3.8.0 3.9.0
# Meta's own compilers of TLX: the fork, and the plugin with the one Triton that it fits.
FBTRITON_VERSION := 3.7.4
UTLX := 3.8.0.post16
UTLX_TRITON := 3.8.0
# An unrelated library that is called as our package is.
OTHER_TLX := 0.1.125

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1

VENV := .venv
BIN := $(VENV)/bin
TORCH_BIN := .venv-torch/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test test-torch check format lint types golden corpus corpus-simulated coverage mutate compat witnesses neighbours tutorials figures bench docs dist clean

help:
	@echo "demo        convert corpus/gemm/matmul.py and verify it on the CPU"
	@echo "test        all tests that need no torch and no GPU"
	@echo "test-torch  the tests that need torch (a second environment)"
	@echo "check       format, lint, strict types, tests"
	@echo "format      rewrite the code in the house format"
	@echo "golden      accept the current conversions of the cases and the corpus"
	@echo "corpus      fetch the public kernels by version and check their expected verdicts"
	@echo "coverage    what becomes of every public dot kernel: docs/coverage.md (an hour on two cores)"
	@echo "corpus-simulated  our own kernels on every schedule, also those that are not expected to pay (an hour)"
	@echo "mutate      break every TLX kernel in every small way; each break must be found (FBTRITON=DIR: the tutorials too)"
	@echo "compat      the tests, and all conversions of the corpus compiled, under each supported Triton: $(TRITONS); witnesses, neighbours"
	@echo "witnesses   compile our TLX with Meta's compilers, fbtriton $(FBTRITON_VERSION) and triton-utlx $(UTLX), and their tutorials with ours"
	@echo "neighbours  install beside the real triton-utlx $(UTLX) and tlx $(OTHER_TLX), in either order"
	@echo "tutorials   Meta's tutorials by each compiler: machine code, spills, compile times, and the bundle to time"
	@echo "figures     regenerate docs/tlx-support.md and the figures about tlx in benchmarks/results/"
	@echo "bench       time conversions against their sources (needs a Hopper GPU and torch)"
	@echo "docs        regenerate the pages under docs/"
	@echo "dist        build the sdist and the wheel"
	@echo "clean       remove the environments and what was built"

# ---- environments -----------------------------------------------------------------------------------------------------

# A stamp is written last: an environment that was left half made is made again.
$(READY): pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install -e ".[cpu,dev]" "triton==$(TRITON)"
	@touch $@

# torch brings a Triton of its own, or none where it was built for the CPU.
.venv-torch/.ready: pyproject.toml
	$(PYTHON) -m venv --clear .venv-torch
	$(TORCH_BIN)/python -m pip install "torch==$(TORCH)"
	$(TORCH_BIN)/python -c "import triton" 2>/dev/null || $(TORCH_BIN)/python -m pip install "triton==$(TRITON)"
	$(TORCH_BIN)/python -m pip install -e ".[cpu,dev]"
	@touch $@

.venv-triton-%/.ready: pyproject.toml
	$(PYTHON) -m venv --clear .venv-triton-$*
	.venv-triton-$*/bin/python -m pip install -e ".[cpu,dev]" "triton==$*"
	@touch $@

# fbtriton owns the folder triton/, so it gets an environment without Triton.
.venv-fork/.ready: Makefile
	$(PYTHON) -m venv --clear .venv-fork
	.venv-fork/bin/python -m pip install "fbtriton==$(FBTRITON_VERSION)" numpy
	@touch $@

.neighbours/.ready: Makefile
	rm -rf .neighbours
	$(PYTHON) -m pip download --no-deps --dest .neighbours "tlx==$(OTHER_TLX)" "triton-utlx==$(UTLX)"
	@touch $@

.venv-utlx/.ready: Makefile
	$(PYTHON) -m venv --clear .venv-utlx
	.venv-utlx/bin/python -m pip install "triton==$(UTLX_TRITON)" "triton-utlx==$(UTLX)" numpy
	@touch $@

# ---- what people do ---------------------------------------------------------------------------------------------------

demo: $(READY)
	$(BIN)/tlxify convert corpus/gemm/matmul.py --verify compiled

# Two processes; names of parametrized tests must come out in the same order in both.
test: $(READY)
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -n 2 --dist worksteal $(PYTEST)

test-torch: .venv-torch/.ready
	$(TORCH_BIN)/python -m pytest -m torch $(PYTEST)

check: lint types test

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

golden: $(READY)
	$(BIN)/python -m pytest tests/test_cases.py tests/test_corpus.py --update-golden $(PYTEST)

corpus: $(READY)
	$(BIN)/python corpus/fetch.py
	$(BIN)/python corpus/check.py

coverage: $(READY)
	$(BIN)/python corpus/fetch.py
	$(BIN)/python corpus/denominator.py
	$(BIN)/python corpus/coverage.py

corpus-simulated: $(READY)
	$(BIN)/python -m pytest -m thorough tests/test_corpus.py $(PYTEST)

mutate: $(READY)
	$(BIN)/python -m benchmarks.mutate --output benchmarks/results/mutate.json $(MUTATE)

compat: $(TRITONS:%=compat-%) witnesses neighbours

compat-%: .venv-triton-%/.ready
	.venv-triton-$*/bin/python -m pytest -o cache_dir=.venv-triton-$*/pytest_cache $(PYTEST)
	.venv-triton-$*/bin/python corpus/compile.py

# The other way: what the fork says of its names, and its tutorials, which are read from where it is installed.
FORK_TESTS := tests/tlx/test_signatures.py tests/tlx/test_tutorials.py tests/tlx/sim/tutorials

# Launches are those of the tests under the newest Triton, which compile most.
witnesses: $(READY) .venv-triton-3.9.0/.ready .venv-fork/.ready .venv-utlx/.ready
	.venv-triton-3.9.0/bin/python corpus/witness.py --against fork=.venv-fork/bin/python utlx=.venv-utlx/bin/python
	FBTRITON=.venv-fork FORK_PYTHON=.venv-fork/bin/python PYTHONHASHSEED=0 $(BIN)/python -m pytest -n 2 $(FORK_TESTS)

# The plugin fits one Triton and not the other; the tool must work with it, or say why it cannot.
neighbours: $(READY) .venv-triton-$(UTLX_TRITON)/.ready .neighbours/.ready
	TLX_NEIGHBOURS=.neighbours $(BIN)/python -m pytest tests/packaging/test_neighbours.py
	TLX_NEIGHBOURS=.neighbours .venv-triton-$(UTLX_TRITON)/bin/python -m pytest tests/packaging/test_neighbours.py

# What is made here is all that a machine with a GPU needs: python -m benchmarks.tutorials.run --bundle .tutorials
BUNDLE := .tutorials
# The newest Triton has what clusters and launch control need; those launches are compiled only.
NEWEST := .venv-triton-3.9.0/bin/python
LAUNCHES := --tutorials $(BUNDLE)/sources --launches $(BUNDLE)/launches.json
BLACKWELL := --tutorials $(BUNDLE)/sources --launches $(BUNDLE)/blackwell.json

tutorials: .venv-torch/.ready .venv-fork/.ready .venv-utlx/.ready .venv-triton-3.9.0/.ready
	mkdir -p $(BUNDLE)/sources
	cp .venv-fork/lib/python3*/site-packages/triton/language/extra/tlx/tutorials/hopper*.py $(BUNDLE)/sources
	cp .venv-fork/lib/python3*/site-packages/triton/language/extra/tlx/tutorials/blackwell*.py $(BUNDLE)/sources
	$(TORCH_BIN)/python -m benchmarks.tutorials.record --tutorials $(BUNDLE)/sources --out $(BUNDLE)/launches.json
	$(TORCH_BIN)/python -m benchmarks.tutorials.build --ours $(LAUNCHES) --out $(BUNDLE)/ours
	.venv-fork/bin/python benchmarks/tutorials/build.py $(LAUNCHES) --out $(BUNDLE)/fork
	.venv-utlx/bin/python benchmarks/tutorials/build.py $(LAUNCHES) --out $(BUNDLE)/utlx
	$(TORCH_BIN)/python -m benchmarks.tutorials.compare --out benchmarks/results/tutorials-code.json \
		ours=$(BUNDLE)/ours fork=$(BUNDLE)/fork utlx=$(BUNDLE)/utlx
	$(TORCH_BIN)/python -m benchmarks.tutorials.compile_time --bundle $(BUNDLE) \
		--out benchmarks/results/tutorials-compile.json ours=$(TORCH_BIN)/python fork=.venv-fork/bin/python
	$(NEWEST) -m benchmarks.tutorials.blackwell --out $(BUNDLE)/blackwell.json
	$(NEWEST) -m benchmarks.tutorials.build --ours $(LAUNCHES) --out $(BUNDLE)/newest
	$(NEWEST) -m benchmarks.tutorials.build --ours $(BLACKWELL) --out $(BUNDLE)/newest
	.venv-fork/bin/python benchmarks/tutorials/build.py $(BLACKWELL) --out $(BUNDLE)/fork-newest
	cp $(BUNDLE)/fork/*.cubin $(BUNDLE)/fork/*.ptx $(BUNDLE)/fork-newest
	$(NEWEST) -m benchmarks.tutorials.spills --launches $(BUNDLE)/launches.json --launches $(BUNDLE)/blackwell.json \
		--out benchmarks/results/tutorials-39.json ours=$(BUNDLE)/newest fork=$(BUNDLE)/fork-newest

# What the pages and benchmarks/results/ say about tlx. Speed needs a Hopper GPU; without one those files stay as they are.
figures: docs tutorials
	@if $(TORCH_BIN)/python -c "import sys, torch; sys.exit(not torch.cuda.is_available())"; then \
		$(TORCH_BIN)/python -m benchmarks.tutorials.run --bundle $(BUNDLE) --out benchmarks/results/tutorials-h200.json && \
		$(TORCH_BIN)/python -m benchmarks.launch --json benchmarks/results/launch-h200.json; \
	else echo "no GPU: tutorials-h200.json and launch-h200.json in benchmarks/results/ are not measured again"; fi

bench: .venv-torch/.ready
	$(TORCH_BIN)/python benchmarks/gemm.py

docs: $(READY)
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/tlx_support.py

dist: $(READY)
	$(BIN)/python -m build

clean:
	rm -rf .venv .venv-torch .venv-fork .venv-utlx .venv-triton-* .tutorials .neighbours build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
