#!/usr/bin/env bash
# Builds what runs on Windows so far, with mingw-w64, and runs its tests under Wine:
#   tools/windows_test.sh REPORT.xml
# Where one of the two is missing, the report has one skipped test that says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

report=$1
rm -f "$report"
skip() {
  cat >"$report" <<XML
<testsuites><testsuite name="windows" tests="1"><testcase classname="windows" name="all">
<skipped message="$1"/></testcase></testsuite></testsuites>
XML
  exit 0
}

command -v x86_64-w64-mingw32-g++-posix >/dev/null ||
  skip 'the build for Windows needs the Debian package g++-mingw-w64-x86-64-posix'
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)  # Debian 12 has it in no folder of PATH
[[ -x $wine ]] || skip 'tests for Windows run under Wine: the Debian package wine64'

tools/build.sh windows
# A Windows of its own, without a display; its first start takes seconds.
export WINEPREFIX=$PWD/build/windows/wine WINEDEBUG=-all
unset DISPLAY WAYLAND_DISPLAY
timeout 300 "$wine" build/windows/tests/regions_test.exe "--gtest_output=xml:$report" \
  </dev/null 2>&1 | tr -d '\r' | { grep -vE '^\[ +(RUN|OK|PASSED) |^\[[-=]+\]|^(wine: |Running main|$)' || true; }
