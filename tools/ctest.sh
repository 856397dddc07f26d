#!/usr/bin/env bash
# Runs the C++ tests of a build, and prints what failed: tools/ctest.sh PRESET REPORT.xml [REGEX]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ctest=.venv/bin/ctest
"$ctest" --test-dir "build/$1" ${3:+-R "$3"} --output-on-failure -j "$(nproc)" --timeout 300 \
  --output-junit "$PWD/$2" |
  { grep -vE '^ +Start +[0-9]+:|(Passed|Skipped) +[0-9.]+ sec$|^(Internal ctest|Test project|$)' || true; }
