#!/usr/bin/env bash
# `make bench`: every benchmark program of build/bench/bench, one after another.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for program in build/bench/bench/*; do
  [[ -f $program && -x $program ]] || continue
  printf '\n%s\n' "$(basename "$program")"
  "$program" "$@"
done
