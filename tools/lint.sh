#!/usr/bin/env bash
# Format and static checks:
#   tools/lint.sh [--fix-format] [--quick] [--base COMMIT] [format|tidy|python ...]
#
# With --quick, clang-tidy leaves out the static analyzer, which takes most of the time.
# With --base, clang-tidy looks only at what changed since that commit; a changed header means all
# files. Without parts, all are checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.venv/bin:$PATH"

fix=false
quick=false
base=
parts=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --fix-format) fix=true ;;
    --quick) quick=true ;;
    --base)
      base=$2
      shift
      ;;
    format | tidy | python) parts+=("$1") ;;
    *)
      printf 'usage: tools/lint.sh [--fix-format] [--quick] [--base COMMIT] [format|tidy|python ...]\n' >&2
      exit 2
      ;;
  esac
  shift
done
[[ ${#parts[@]} -eq 0 ]] && parts=(format tidy python)
readonly PYTHON_SOURCES=(bench python samples tests tools)
mapfile -t sources < <(git ls-files -co --exclude-standard '*.cc' '*.h')

if $fix; then
  clang-format-19 -i "${sources[@]}"
  ruff format -q "${PYTHON_SOURCES[@]}"
  exit
fi

# The files for clang-tidy: those that are compiled, and changed since $base.
tidy_files() {
  local compiled changed
  compiled=$(python -c '
import json, os
here = os.getcwd() + "/"
files = {e["file"] for e in json.load(open("build/test/compile_commands.json"))}
print(*sorted(f.removeprefix(here) for f in files if f.startswith(here + "src/")), sep="\n")')
  if [[ -z $base ]]; then
    printf '%s\n' "$compiled"
    return
  fi
  changed=$(git diff --name-only --diff-filter=d "$base" -- '*.cc' '*.h' .clang-tidy)
  if grep -qE '\.h$|\.clang-tidy$' <<<"$changed"; then
    printf '%s\n' "$compiled"
  else
    grep -Fxf <(printf '%s\n' "$changed") <<<"$compiled" || true
  fi
}

status=0
for part in "${parts[@]}"; do
  case $part in
    format)
      clang-format-19 --dry-run -Werror "${sources[@]}" || status=1
      ;;
    tidy)
      [[ -f build/test/compile_commands.json ]] || tools/build.sh test
      mapfile -t files < <(tidy_files)
      [[ ${#files[@]} -eq 0 || -z ${files[0]} ]] && continue
      printf 'clang-tidy: %s files\n' "${#files[@]}"
      # The database is g++'s; clang knows none of g++'s own warning flags. The analyzer takes most
      # of the time, and finds nothing in tests.
      printf '%s\0' "${files[@]}" | QUICK=$quick xargs -0 -P "$(nproc)" -n 1 bash -c '
        checks=
        [[ $QUICK == true || $0 == *_test.cc ]] && checks=-clang-analyzer-*
        clang-tidy-19 -p build/test --quiet --checks="$checks" \
          --extra-arg=-Wno-unknown-warning-option "$0" 2>/dev/null' || status=1
      ;;
    python)
      ruff check -q "${PYTHON_SOURCES[@]}" || status=1
      ruff format -q --check "${PYTHON_SOURCES[@]}" || status=1
      mypy --no-error-summary || status=1
      ;;
  esac
done
exit $status
