#!/usr/bin/env bash
# `make run`: profiles sample programs, and leaves traces and results in out/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p out
for name in vision_xnnpack text_portable; do
  # A fixed length, so that this takes seconds; --force, as out/ is this script's own.
  flags=(--duration 1 --force --output "out/$name.json" --trace "out/$name.pftrace")
  printf '\n$ build/release/inferprobe perf samples/%s.pte %s\n' "$name" "${flags[*]}"
  build/release/inferprobe perf "samples/$name.pte" "${flags[@]}"
done
printf '\nIn out/: a result (NAME.json) and a trace (NAME.pftrace: open it in ui.perfetto.dev) of each.\n'
