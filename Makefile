# make demo        install what is missing, build, optimise a contact-rich motion, leave a replay to look at
# make test        the same set-up, then every test (what .ci/run calls)
# make build       engine, command line and viewer, into build/bin and build/share
# make bench       programs of bench/, ratios in one run
# make reproduce   experiments of the papers, tables of docs/reproductions.md renewed
# make install     PREFIX=/usr/local: headers, libraries, programs; make uninstall PREFIX=... takes them away
# make wheel       what people install, into build/dist: a source archive, and a wheel for each Python at hand
# make test-long   what takes longer than make test may
# make docs        documentation site, into build/docs/html
# make coverage    lines of src/ that the tests reach, folder by folder
SHELL := /bin/bash
export CMAKE_C_COMPILER_LAUNCHER ?= $(shell command -v ccache)
# copies of the tree find the objects of this one (test/contact/added)
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
JOBS ?= 2
SEED ?= 0
# $(call PRESET,NAME): configures and builds that preset; $(2): options of the configuration; $(3): targets
PRESET = cmake --preset $(1) $(2) >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }; \
         cmake --build --preset $(1) $(if $(3),--target $(3)) -j$(JOBS) >>build/$(1).log 2>&1 || { grep -E 'error|warning|FAILED' build/$(1).log | head -50; exit 1; }
# a test that is skipped fails, unless test/conftest.py allows it; likewise in test/CMakeLists.txt and test/viewer/browser.mjs
PYTEST = TANGERE_SKIPS=refuse build/venv/bin/python -m pytest -q
# every part that may be left out of a build is there when it is tested
ALL_PARTS = $(foreach part,ASSIMP PNG NLOPT IPOPT MESHOPT,-DTG_WITH_$(part)=ON) -DTG_COACD=ON
PART = @printf '\n== %s\n' $(1)

.PHONY: install uninstall demo test build bench reproduce docs wheel test-wheel test-long coverage setup setup-test setup-docs python-package viewer notebooks clean checks test-release test-clang test-asan test-tsan test-fuzz test-peers test-python test-viewer

setup:
	@tools/setup.sh build
setup-test:
	@tools/setup.sh test
setup-docs:
	@tools/setup.sh docs

viewer: setup
	@echo "building the viewer"
	@cd viewer && npm run --silent build >../build/viewer.log 2>&1 || { cat ../build/viewer.log; exit 1; }
	@mkdir -p build/share/tangere && cp viewer/dist/index.html build/share/tangere/viewer.html

build: setup viewer
	@echo "building the engine (the first time half a minute or more)"
	@cmake --preset release -DTG_BUILD_TESTS=OFF -DTG_BUILD_BENCH=OFF >build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@cmake --build --preset release -j$(JOBS) >>build/release.log 2>&1 || { grep -E 'error|warning|FAILED' build/release.log | head -50; exit 1; }
	@echo "built build/bin/tangere"

PREFIX ?= /usr/local
install: build
	@cmake --install build/release --prefix "$(abspath $(PREFIX))"
uninstall:
	@cmake -DPREFIX="$(abspath $(PREFIX))" -P cmake/uninstall.cmake

demo: build
	@build/bin/tangere optimize models/push_demo.yaml --seed $(SEED) --out out/demo --overwrite --no-trust

test: setup-test viewer checks test-release test-clang test-asan test-tsan test-fuzz test-peers test-python
	@$(MAKE) --no-print-directory -j$(JOBS) --output-sync=target docs test-viewer   # of one processor each
	@printf '\nall parts of make test passed\n'

checks:
	$(call PART,'layers and derivatives and references')
	@python3 tools/check_layers.py
	@python3 tools/check_kinds.py
	@python3 tools/check_derivatives.py
	@python3 tools/check_refs.py
	@python3 tools/check_style.py

test-release: setup-test
	$(call PART,'release build gcc: all tests')
	@cmake --preset release $(ALL_PARTS) -DTG_BUILD_TESTS=ON -DTG_BUILD_BENCH=ON >build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@$(call PRESET,release)
	@TANGERE_FEWER=3 ctest --preset release -LE long -j$(JOBS)

test-clang: setup-test
	$(call PART,'clang without warnings')
	@cmake --preset clang >build/clang.log 2>&1 || { cat build/clang.log; exit 1; }
	@JOBS=$(JOBS) tools/check_clang.py build/clang

# vector widths between the plain and the widest one, which run under the sanitizers; make test-long has all, with the complex twins and every random case
WIDTHS = (_sse|_avx2)$$
# what repeats by random cases, differences or long motions the accesses of other programs; these too run under the sanitizers in make test-long
REPEATS = ^test_(motion|soft_detection|tree_properties|tree_properties_plain|barrier_tasks|inside|params|conform_scenes|conform_explicit|conform_labels|convex|second_parameters|check_second|midpoint)$$
THREADED = threads batch batch_variants revisit starts

test-asan: setup-test
	$(call PART,'address and undefined-behaviour sanitizers')
	@$(call PRESET,asan)
	@TANGERE_FEWER=8 TANGERE_DIFFERENCES=4 ctest --preset asan -LE long -E '$(WIDTHS)|$(REPEATS)' -j$(JOBS)

test-tsan: setup-test
	$(call PART,'thread sanitizer')
	@$(call PRESET,tsan,,$(addprefix test_,$(THREADED)))
	@TANGERE_FEWER=8 ctest --preset tsan -R '^test_($(subst $() ,|,$(THREADED)))$$' -j$(JOBS)

test-fuzz: setup-test
	$(call PART,'fuzz targets: kept corpus and a short run')
	@$(call PRESET,fuzz)
	@JOBS=$(JOBS) tools/fuzz.sh 8

test-peers: setup-test
	$(call PART,'other engines as oracles; command line')
	@$(PYTEST) -n $(JOBS) --dist worksteal test/peer test/cli test/output

test-python: setup-test
	$(call PART,'Python package as a user installs it; PyTorch and JAX')
	@$(MAKE) --no-print-directory python-package
	@$(PYTEST) -n $(JOBS) --dist worksteal test/python

# the flags of the release preset, so that a compiler cache gives the objects of that build
WHEEL_FLAGS = -C cmake.define.CMAKE_C_COMPILER=cc -C cmake.define.TG_WERROR=ON -C 'cmake.define.CMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG'
python-package:
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) build/venv/bin/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall $(WHEEL_FLAGS) .

# the tutorial as a notebook, build/notebooks/tutorial.ipynb
notebooks:
	@python3 tools/notebooks.py

wheel: setup-docs viewer
	@JOBS=$(JOBS) python3 tools/make_wheels.py

# each wheel, on every CPython at hand, in a root that has nothing but that Python and NumPy
test-wheel: setup-test wheel
	$(call PART,'wheels in a bare root')
	@$(PYTEST) test/wheel

# the package is made only where it is missing or older than its sources: make test has just installed it
docs: setup-docs
	$(call PART,'documentation: no warning')
	@build/venv/bin/python docs/_ext/stubs.py --fresh || $(MAKE) --no-print-directory python-package
	@build/venv/bin/python docs/_ext/stubs.py
	@build/venv/bin/python docs/_ext/headers.py
	@build/venv/bin/python -m sphinx -q -W --keep-going -b html -d build/docs/trees docs build/docs/html
	@echo "open $(CURDIR)/build/docs/html/index.html"

test-viewer: setup-test viewer
	$(call PART,'replay in headless Chromium')
	@cd viewer && TANGERE_SKIPS=refuse npm test --silent

bench: setup-test
	@cmake --preset release -DTG_BUILD_BENCH=ON >build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@$(call PRESET,release)
	@tools/bench.sh

reproduce: build
	@$(if $(wildcard build/venv/bin/python),build/venv/bin/python,python3) tools/reproductions.py

test-long: test
	@ctest --preset release -j$(JOBS)
	@$(call PRESET,asan,-DTG_BUILD_TWINS=ON -DTG_SANITIZE_ALL=ON)
	@ctest --preset asan -LE long -j$(JOBS)
	@TANGERE_LONG=1 $(PYTEST) test/cli/test_reproduce.py test/cli/test_faults.py test/cli/test_memory_faults.py test/cli/test_kills.py
	@build/venv/bin/python -m pip install -q --disable-pip-version-check --no-deps -r tools/packages-learning.txt
	@TANGERE_LONG=1 $(PYTEST) test/python/test_shac.py test/python/test_messages.py test/python/test_cluster.py
	@$(MAKE) --no-print-directory test-wheel
	@$(call PRESET,fuzz,-DTG_SANITIZE_ALL=ON)
	@JOBS=$(JOBS) tools/fuzz.sh 600

coverage: setup-test viewer
	@cmake --preset coverage -DTG_BUILD_BENCH=OFF >build/coverage.log 2>&1 || { cat build/coverage.log; exit 1; }
	@cmake --build --preset coverage -j$(JOBS) >>build/coverage.log 2>&1 || { grep -E 'error|warning|FAILED' build/coverage.log | head -50; exit 1; }
	@tools/coverage.sh

clean:
	rm -rf build out viewer/node_modules viewer/dist
