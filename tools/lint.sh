#!/usr/bin/env bash
# Format and static checks:
#   tools/lint.sh [--fix-format] [--quick] [--base COMMIT] [format|tidy|python ...]
#
# With --quick, clang-tidy leaves out the static analyzer, which takes most of the time.
# With --base, clang-tidy looks only at the files that changed since that commit. Without parts, all
# are checked.
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

status=0
for part in "${parts[@]}"; do
  case $part in
    format)
      clang-format-19 --dry-run -Werror "${sources[@]}" || status=1
      ;;
    tidy)
      [[ -f build/test/compile_commands.json ]] || tools/build.sh test
      mapfile -t files < <(python tools/tidy_files.py ${base:+"$base"})
      [[ ${#files[@]} -eq 0 ]] && continue
      printf 'clang-tidy: %s files\n' $((${#files[@]} / 2))
      log=$(mktemp)
      # The databases are g++'s; clang knows none of g++'s own warning flags. The analyzer takes most
      # of the time, and finds nothing in tests. A header of tests may be checked with the flags of a
      # file that is none: the tests' own macro is defined for all.
      tidy=0
      printf '%s\0' "${files[@]}" | QUICK=$quick xargs -0 -P "$(nproc)" -n 2 bash -c '
        checks=
        [[ $QUICK == true || $1 == *_test.cc ]] && checks=-clang-analyzer-*
        clang-tidy-19 -p "$0" --quiet --checks="$checks" \
          --extra-arg=-Wno-unknown-warning-option \
          --extra-arg-before="-DINFERPROBE_SOURCE_DIR=\"$PWD\"" "$1" 2>&1' >"$log" || tidy=1
      if [[ $tidy -ne 0 ]]; then
        status=1
        # Each finding once, though many files may include its header.
        findings=$(grep -E '(error|warning): ' "$log" | sed "s#^$PWD/##" | sort -u || true)
        printf '%s\n' "${findings:-$(tail -n 20 "$log")}" | head -n 100
        printf 'clang-tidy: %s findings\n' "$(grep -c . <<<"$findings" || true)"
      fi
      rm -f "$log"
      ;;
    python)
      ruff check -q "${PYTHON_SOURCES[@]}" || status=1
      ruff format -q --check "${PYTHON_SOURCES[@]}" || status=1
      mypy --no-error-summary || status=1
      ;;
  esac
done
exit $status
