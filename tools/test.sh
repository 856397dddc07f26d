#!/usr/bin/env bash
# `make test`: C++ tests, then the end-to-end and Python tests. Everything runs even when something
# fails; the last line counts both.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PATH="$PWD/.venv/bin:$PATH"
reports=build/reports
mkdir -p "$reports"
rm -f "$reports"/test-*.xml

tools/build.sh test
# As a production build has it: only what differs from the others is compiled.
tools/build.sh no-tracer inferprobe inferprobe_engine_executorch executorch_no_tracer_test
tools/install_python.sh
status=0
tools/ctest.sh test "$reports/test-cpp.xml" || status=1
tools/ctest.sh no-tracer "$reports/test-no-tracer.xml" '^executorch_no_tracer_test\.' || status=1
tools/windows_test.sh "$reports/test-windows.xml" || status=1
python -m pytest -q -p no:cacheprovider --junitxml "$reports/test-python.xml" tests/e2e python/tests ||
  status=1
python tools/test_summary.py "$reports"/test-*.xml || status=1
exit $status
