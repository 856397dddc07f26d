# What people type. Each target sets up what it needs (tools/setup.sh), says so, and is quiet
# otherwise. HACKING.md tells what each costs.
.PHONY: build run test bench fuzz lint format clean

# The command in build/release/inferprobe, and the Python package in .venv.
build:
	@tools/setup.sh run python
	@tools/build.sh release
	@tools/install_python.sh

# Profiles sample programs and prints where the time went.
run:
	@tools/setup.sh run
	@tools/build.sh release
	@tools/run_samples.sh

# Every test; ends with "N passed, N failed, N skipped".
test:
	@tools/setup.sh test
	@tools/test.sh

# The standing targets, against each other in one run.
bench:
	@tools/setup.sh bench
	@tools/build.sh bench
	@tools/install_python.sh
	@tools/bench.sh

# Damaged files for every reader, until no more code is reached, at most FUZZ_MINUTES (30) each.
# What breaks one is kept in out/fuzz/.
fuzz:
	@tools/setup.sh run sanitize
	@tools/fuzz.sh

# clang-format, clang-tidy, ruff, mypy.
lint:
	@tools/setup.sh lint
	@tools/lint.sh

format:
	@tools/setup.sh lint
	@tools/lint.sh --fix-format

clean:
	rm -rf build dist out python/*.egg-info
