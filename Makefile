# `make run` and `make test` set everything up by themselves; they need Python >= 3.11 and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

DIST ?= dist

.PHONY: run test test-all docs docs-results manual-examples lint kernels stepper-code packages benchmarks house ensembles enclosures certificates exports rules biases losses finite-size hostile faults sweep-kills pairs rule-pairs rule-pairs-sgd quadrature-errors rounding stated-errors mutants claim-foundations wrong-models random-sides random-systems \
	recomputed-points silent-errors ledger ledger-check clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e ".[test,lint]"
	$(COMPILE)
	touch $@ $(VENV)/.runnable

# Byte code of all packages, on all cores; pip would take one.
COMPILE = $(BIN)/python -m compileall -q -j 0 -x '[\\/](tests?|pip)[\\/]' $(VENV)/lib >/dev/null 2>&1 || true

# What symderiv itself needs, without what tests need; its modules are compiled on all cores.
$(VENV)/.runnable: pyproject.toml
	@echo "Installing symderiv in $(VENV) with the packages it needs; half a minute if they are downloaded already."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e .
	$(COMPILE)
	touch $@

run: $(VENV)/.runnable
	@echo "Deriving, solving, simulating and comparing figure 1 of arXiv:2410.09005, about a minute."
	$(BIN)/symderiv study examples/power-law-plateau.toml

# A file of tests stays with one worker: what one of its tests derives or compiles is there for the next.
test: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Also what is dealt to other days, 45 minutes; goes on where it was stopped, and ends with what
# has not passed. ONLY="unit/system values" some; ANEW=--anew forgets what has passed.
ANEW ?=
test-all: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m whole_suite $(ANEW) $(if $(ONLY),--only $(ONLY))

# The manual, build/manual/index.html: notebooks are executed, warnings are errors, no dead link.
$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	touch $@

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/manual-doctrees docs/manual build/manual
	$(BIN)/python docs/manual/_ext/check_links.py build/manual
	$(BIN)/python docs/manual/_ext/check_search.py build/manual

# Runs that tutorials open, and figures of systems, instead of making them at every build (minutes).
docs-results: $(VENV)/.installed
	$(BIN)/python docs/manual/store_results.py
	$(BIN)/python docs/manual/store_systems.py

# Every example of the README and of the manual, run; PAGES="how-to/plateau README" some.
PAGES ?=
manual-examples: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[export]"
	cd tests && ../$(BIN)/python -m manual_pages $(PAGES)

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests/support/user_script.py
	$(BIN)/python -m benchmarks.plain_english

# Rewrite what is derived of named rules and activations, the fits of tanh and the checked-in solver modules.
kernels: $(VENV)/.installed
	$(BIN)/python -m symderiv.gaussian.erf_fits
	$(BIN)/python -m symderiv.learning.derivation.ship_equations
	$(BIN)/python -m symderiv.lowering.programs.ship_closed_means
	$(BIN)/python -m symderiv.analysis.ship_derivations
	$(BIN)/python -m symderiv.lowering.programs.ship_rules
	$(BIN)/symderiv generate --checked-in

# Loops whose code comes with the package, for processors with vectors of four doubles.
SHIP = NUMBA_CACHE_DIR=build/stepper-cache NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES= $(BIN)/python
stepper-code: $(VENV)/.installed
	rm -rf build/stepper-cache  # of code that numba takes from a cache nothing can be read
	$(SHIP) -m symderiv.compiled_code.ship_linked symderiv.integrate.steppers.run_code:explicit \
		symderiv.integrate.steppers.run_code:implicit symderiv.integrate.steppers.run_code:explicit_8 \
		symderiv.analysis.low_rank:all_roots symderiv.precision.balls.forms:narrow \
		symderiv.experiment.steps.step_loop:learn symderiv.experiment.steps.step_normals:fill_normals \
		symderiv.integrate.control.controlled_flow:forward symderiv.integrate.control.controlled_flow:backward
	$(SHIP) -m symderiv.experiment.steps.step_normals
	$(SHIP) -m symderiv.lowering.means.ship_means

# The wheel is built from the sdist, so both are known to be whole.
packages: $(VENV)/.installed
	$(BIN)/python -m build --outdir $(DIST) .

benchmarks: $(VENV)/.installed
	$(BIN)/python -m benchmarks

# How the engine is built: lines, functions, imports, and the files that additions touch, tried in a
# copy of the tree; ASKED=--list names what is behind the numbers (two minutes).
ASKED ?=
house: $(VENV)/.installed
	$(BIN)/python -m benchmarks.house $(ASKED)

# Ten thousand runs in lanes, one by one and by heyoka (if it is installed), about three CPU minutes.
ensembles: $(VENV)/.installed
	$(BIN)/python -m benchmarks.ensemble
	$(BIN)/python -m benchmarks.lane_rows

# Proved runs: times, radii, random problems, planted errors; about ten CPU minutes.
enclosures: $(VENV)/.installed
	$(BIN)/python -m benchmarks.enclosures

# Exported bounds of rates and means, proved by Coq where coqc and coq-interval are installed.
certificates: $(VENV)/.installed
	$(BIN)/python -m benchmarks.certificates

# Learning rules: equations against SGD at N = 1000 and 2000; goes on where it was stopped.
rules: $(VENV)/.installed
	$(BIN)/python -m benchmarks.rules

# Fluctuations at finite N against simulated SGD: variances, the law in N, escape times; 6 CPU minutes.
finite-size: $(VENV)/.installed
	$(BIN)/python -m benchmarks.finite_size

# What biases of error functions cost, beside plain descent.
biases: $(VENV)/.installed
	$(BIN)/python -m benchmarks.biases

# Twelve learning problems in ten lines each: right-hand sides, SGD, times, lines; about five CPU minutes.
systems: $(VENV)/.installed
	$(BIN)/python -m benchmarks.systems

# Times and errors of right-hand sides whose means are integrals over the fields.
losses: $(VENV)/.installed
	$(BIN)/python -m benchmarks.losses

# Exports in C, NumPy, JAX and CasADi against the solver modules, many cases.
exports: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[export]"
	cd tests && ../$(BIN)/python -m support.exported

# Every pair of activations against the definition of the update; goes on where it was stopped.
pairs: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m pairs --results ../pairs-results/results.jsonl

# Every pair of keys of learning rules: solved, or refused when the problem is stated (about an hour).
rule-pairs: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m rule_pairs --results ../rule-pairs-results.jsonl

# Random pairs and triples of these keys: runs of SGD beside the equations. SEEDS="--seed 5 --pairs 40 --triples 40"
rule-pairs-sgd: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m rule_pairs --sgd $(or $(SEEDS),--pairs 20 --triples 20)

# True errors of means by quadrature beside the stated ones, over random and hard covariances.
quadrature-errors: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m quadrature_errors

# Every way of showing a certified number, at 10^5 random balls and digits.
rounding: $(VENV)/.installed
	$(BIN)/python tests/property/test_outward_rounding.py 100000

# What runs of every method state of their errors beside the true ones, in long doubles; goes on where
# it was stopped.
stated-errors: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m stated_errors

# What every claim of the papers rests on: the engine slightly wrong, in six places in turn.
# Rewrites docs/claim-foundations.json; FOUNDATIONS=--all tries everything on every claim.
FOUNDATIONS ?= --anew
claim-foundations: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m foundations $(FOUNDATIONS)

# Claims that hold for a random function in place of a side: definitions, which do not count.
random-sides: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m random_sides

# Random statements: rates, or a refusal, beside means over drawn examples. SEEDS="--first 500 --number 100"
SEEDS ?=
random-systems: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m random_systems $(SEEDS)

# Models that are wrong on purpose in the central claim of every paper: all must be rejected.
wrong-models: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m wrong_models

# The ledger: what has changed is tried again, or all of it, and compared.
ledger: $(VENV)/.installed
	$(BIN)/symderiv verify --ledger docs --thorough --changed

ledger-check: $(VENV)/.installed
	$(BIN)/symderiv verify --ledger docs --check

# Points of the ledger in a second arithmetic, with 30 more digits.
recomputed-points: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m recomputation --points 510 --each 6 --seconds 10

# Small changes of the engine that the tests should notice; goes on where it was stopped.
# make mutants ROOM=data SAMPLE=200 SEED=2; `$(BIN)/python -m mutation -h` says more.
ROOM ?=
SAMPLE ?= 120
SEED ?= 1
mutants: $(VENV)/.installed
	$(BIN)/python -m mutation run --room "$(ROOM)" --sample $(SAMPLE) --seed $(SEED)

# Generated calls of all commands, each of which must end in time and in one line.
hostile: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m hostile
	cd tests && ../$(BIN)/python -m hostile.refusals

# Changed bytes, kills, full disks, read-only folders and rivals.
faults: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m faults

# kill -9 of the workers, the scheduler and the writer of a sweep at random moments: the same dataset.
sweep-kills: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m faults.sweep_kills

# Inputs at the edges: the number of wrong answers without an error.
silent-errors: $(VENV)/.installed
	cd tests && ../$(BIN)/python -m silent_errors

clean:
	rm -rf $(VENV) dist build
