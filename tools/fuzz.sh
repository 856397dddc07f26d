#!/usr/bin/env bash
# Feeds damaged files to the readers: tools/fuzz.sh [--seconds N] [TARGET ...]
#
# Each target starts from fuzz/seeds/TARGET and what earlier runs found (build/fuzz/corpus/TARGET).
# With --seconds every target runs once for that long. Otherwise in rounds of a minute, until one
# brings no new coverage, or for FUZZ_MINUTES (30) each. An input that breaks a reader is kept in
# out/fuzz/, and makes this fail. FUZZ_BUILD: the folder of a build that is there already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly ROUND_S=60
# A round of less says nothing: the machine was busy with other work.
readonly LEAST_RUNS=5000
# libFuzzer's clock is the wall's: seconds that a busy machine may take are no hang.
readonly LIMITS=(-timeout=60 -rss_limit_mb=512 -malloc_limit_mb=256 -max_len=65536)
seconds=
[[ ${1:-} == --seconds ]] && { seconds=$2; shift 2; }
targets=("$@")
[[ $# -gt 0 ]] || targets=(etdump npy perfetto result rings trex)
build=${FUZZ_BUILD:-build/asan}
# The quarantine would count against the limit of memory.
export ASAN_OPTIONS=quarantine_size_mb=16${ASAN_OPTIONS:+:$ASAN_OPTIONS}
# Of binutils, which is there; llvm-symbolizer may be missing, or of another version.
export ASAN_SYMBOLIZER_PATH=${ASAN_SYMBOLIZER_PATH:-$(command -v addr2line)}

# The last "cov: N ft: N" of a log, as "N N".
coverage_of() { sed -nE 's/.*cov: ([0-9]+) ft: ([0-9]+).*/\1 \2/p' "$1" | tail -n 1; }
runs_of() { sed -nE 's/^stat::number_of_executed_units: *//p' "$1" | tail -n 1; }

# round TARGET SECONDS: one run of libFuzzer.
round() {
  local target=$1 corpus=build/fuzz/corpus/$1
  "$build/fuzz/fuzz_$target" -max_total_time="$2" "${LIMITS[@]}" -print_final_stats=1 \
    -artifact_prefix="out/fuzz/$target-" \
    "$corpus" "fuzz/seeds/$target" >"build/fuzz/$target.log" 2>&1
}

# Keeps of what was found only what is needed for the coverage.
minimise() {
  local target=$1 corpus=build/fuzz/corpus/$1 least
  least=$(mktemp -d build/fuzz/corpus/.XXXXXX)
  "$build/fuzz/fuzz_$target" -merge=1 "${LIMITS[@]}" "$least" "fuzz/seeds/$target" "$corpus" \
    >"build/fuzz/$target-merge.log" 2>&1
  rm -rf "$corpus"
  mv "$least" "$corpus"
}

# Fuzzes one target, and prints a line about it. 1: an input broke it.
fuzz() {
  local target=$1 log=build/fuzz/$1.log before='' now='' runs=0 executed start=$SECONDS status=0
  mkdir -p "build/fuzz/corpus/$target"
  if [[ -n $seconds ]]; then
    round "$target" "$seconds" || status=1
    runs=$(runs_of "$log")
  else
    while [[ $((SECONDS - start)) -lt $((${FUZZ_MINUTES:-30} * 60)) ]]; do
      round "$target" "$ROUND_S" || status=1
      now=$(coverage_of "$log")
      executed=$(runs_of "$log")
      runs=$((runs + ${executed:-0}))
      [[ $status -eq 0 ]] || break
      [[ ${now% *} == "${before% *}" && ${executed:-0} -ge $LEAST_RUNS ]] && break
      before=$now
    done
    [[ $status -ne 0 ]] || minimise "$target"
  fi
  now=$(coverage_of "$log")
  printf '%-9s %6s edges %7s features %9s runs %5d s\n' "$target" "${now% *}" "${now#* }" \
    "${runs:-0}" $((SECONDS - start))
  if [[ $status -ne 0 ]]; then
    local input
    input=$(sed -nE 's/.*Test unit written to (.*)/\1/p' "$log" | tail -n 1)
    { grep -vE '^#[0-9]+\b.*(NEW|REDUCE|pulse|RELOAD|INITED)|^INFO' "$log" || true; } | tail -n 60
    printf 'fuzz: %s broke (all it said: %s). Repeat with:\n  %s %s\n' "$target" "$log" \
      "$build/fuzz/fuzz_$target" "${input:-fuzz/seeds/$target/*}"
  fi
  return $status
}

mkdir -p build/fuzz out/fuzz
[[ -n ${FUZZ_BUILD:-} ]] || tools/build.sh asan "${targets[@]/#/fuzz_}"
failed=0
running=0
for target in "${targets[@]}"; do
  if [[ $running -eq $(nproc) ]]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
  fuzz "$target" &
  running=$((running + 1))
done
for ((; running > 0; --running)); do wait -n || failed=1; done
exit $failed
