#!/usr/bin/env bash
# Installs the Python package of this tree into .venv, when its sources have changed since.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PATH="$PWD/.venv/bin:$PATH"
# scikit-build would take g++ where CMake alone takes c++: two names, and ccache knows one.
export CC=${CC:-cc} CXX=${CXX:-c++}
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$PWD  # paths are relative then, and one build folder's hits are another's
fi
sources=$(find CMakeLists.txt pyproject.toml cmake include python src -type f \
  -not -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum | sha256sum)
stamp=.venv/stamp-inferprobe
[[ -f $stamp && $(<"$stamp") == "$sources" ]] && exit 0

printf 'build: the Python package into .venv\n' >&2
log=$(mktemp)
if ! python -m pip install -q --disable-pip-version-check --no-input --no-build-isolation \
  --no-deps --force-reinstall -C build-dir=build/python . >"$log" 2>&1 </dev/null; then
  cat "$log" >&2
  rm -f "$log"
  exit 1
fi
rm -f "$log"
printf '%s' "$sources" >"$stamp"
