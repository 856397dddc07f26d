#!/usr/bin/env bash
# Installs what a part of the work needs: Debian packages, and Python packages into .venv.
#
#   tools/setup.sh run|python|lint|test|bench|sanitize ...
#
# As root it installs Debian packages; otherwise it says which command to run. Repeated, it takes
# a fraction of a second: .venv/stamp-* say what is there already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly VENV=.venv
readonly RUN_PACKAGES=(
  ccache flatbuffers-compiler g++ git libboost-dev libcli11-dev libexpected-dev libflatbuffers-dev
  libfmt-dev libmd-dev libprotozero-dev make nlohmann-json3-dev python3-dev python3-venv zlib1g-dev)
readonly LINT_PACKAGES=(clang-format-19 clang-tidy-19 libbenchmark-dev libgtest-dev)
readonly TEST_PACKAGES=(
  g++-mingw-w64-x86-64-posix googletest libgtest-dev strace valgrind wine64)
readonly BENCH_PACKAGES=(libbenchmark-dev valgrind)
readonly SANITIZE_PACKAGES=(clang-19 libclang-rt-19-dev)

say() { printf 'setup: %s\n' "$*" >&2; }
fail() {
  printf 'setup: %s\n' "$@" >&2
  exit 1
}

# Installs the Debian packages that are missing.
debian_packages() {
  local missing=() name
  if ! command -v dpkg-query >/dev/null; then
    say "this is no Debian: make sure that the equivalents of these are installed: $*"
    return
  fi
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
  for name in "$@"; do
    grep -qx "installed $name" <<<"$installed" || missing+=("$name")
  done
  [[ ${#missing[@]} -eq 0 ]] && return
  if [[ $(id -u) -ne 0 ]]; then
    fail "Debian packages are missing. Install them, then repeat:" \
      "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log
  log=$(mktemp)
  export DEBIAN_FRONTEND=noninteractive
  if ! { apt-get -q update && apt-get -q install -y --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    fail "apt-get failed (all it said: $log)." \
      "It was: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  fi
  rm -f "$log"
}

python_environment() {
  if [[ -x $VENV/bin/python ]] && "$VENV/bin/python" -c 'import pip' 2>/dev/null; then return; fi
  command -v python3 >/dev/null || fail "there is no python3: install Python 3.11 or later"
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "python3 is $(python3 -V 2>&1): 3.11 or later is needed"
  if [[ -e $VENV ]]; then
    say "$VENV does not work any more (was Python upgraded?): making it anew"
    rm -rf "$VENV"
  fi
  say "making $VENV"
  python3 -m venv "$VENV" ||
    fail "python3 -m venv failed; on Debian it needs the package python3-venv"
}

# stamped NAME FILES...: whether .venv has been through this step, with these files.
stamp_of() { { "$VENV/bin/python" -V; cat "$@"; } | sha256sum | cut -d' ' -f1; }
stamped() { [[ -f $VENV/stamp-$1 && $(<"$VENV/stamp-$1") == "$(stamp_of "${@:2}")" ]]; }

# python_packages NAME [--no-deps]: installs tools/requirements-NAME.txt.
python_packages() {
  local file=tools/requirements-$1.txt
  local inputs=("$file" tools/constraints.txt tools/requirements-{python,test}.txt)
  stamped "$1" "${inputs[@]}" && return
  say "installing Python packages into $VENV: $file"
  local quiet=(-q --disable-pip-version-check --no-input)
  if ! "$VENV/bin/python" -m pip install "${quiet[@]}" "${@:2}" -r "$file" \
    -c tools/constraints.txt </dev/null; then
    fail "pip failed (above). Without a network, set PIP_FIND_LINKS to a folder with the wheels."
  fi
  stamp_of "${inputs[@]}" >"$VENV/stamp-$1"
}

[[ $# -gt 0 ]] || fail "usage: tools/setup.sh run|python|lint|test|bench|sanitize ..."
packages=("${RUN_PACKAGES[@]}")
for part in "$@"; do
  case $part in
    run | python) ;;
    lint) packages+=("${LINT_PACKAGES[@]}") ;;
    test) packages+=("${TEST_PACKAGES[@]}") ;;
    bench) packages+=("${BENCH_PACKAGES[@]}") ;;
    sanitize) packages+=("${TEST_PACKAGES[@]}" "${SANITIZE_PACKAGES[@]}") ;;
    *) fail "unknown part \"$part\": run, python, lint, test, bench or sanitize" ;;
  esac
done
debian_packages "${packages[@]}"
python_environment
python_packages run --no-deps
for part in "$@"; do
  case $part in
    python | lint | test) python_packages "$part" ;;
    bench)
      python_packages bench
      python_packages peers --no-deps
      ;;
  esac
done
