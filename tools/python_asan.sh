#!/usr/bin/env bash
# The Python package's own module under AddressSanitizer and UBSan: tools/python_asan.sh REPORT.xml
#
# The interpreter and torch are as they are; what we compiled is checked, in whatever they do with
# it. Leaks are not looked for: the interpreter keeps what it has until the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
report=$1

# What profiles models. The others run the command, which has tests of its own under sanitizers.
readonly TESTS=(python/tests/test_{profile_*,module_*,compat_torchprof,torch_profiler,result,run_torch}.py)
# The sanitizer's own memory is in its figures.
readonly LEFT_OUT=(python/tests/test_profile_results.py::test_a_million_calls_take_the_memory_of_the_capacity)

tools/build.sh asan _core
printf 'left out, as it measures memory: %s\n' "${LEFT_OUT[@]}"
runtime=$(clang++-19 -print-file-name="libclang_rt.asan-$(uname -m).so")
[[ -f $runtime ]] || {
  printf 'python_asan: %s is missing: apt-get install libclang-rt-19-dev\n' "$runtime" >&2
  exit 1
}
# pytest keeps what a test prints, and takes it along when the process is ended: into files.
logs=build/reports/asan-python.log
rm -f "$logs".*
status=0
LD_PRELOAD=$runtime PYTHONPATH=$PWD/build/asan/python \
  ASAN_OPTIONS=detect_leaks=0:log_path=$PWD/$logs${ASAN_OPTIONS:+:$ASAN_OPTIONS} \
  UBSAN_OPTIONS=log_path=$PWD/$logs \
  .venv/bin/python -m pytest -q -p no:cacheprovider --junitxml "$report" "${TESTS[@]}" \
  "${LEFT_OUT[@]/#/--deselect=}" || status=$?
for log in "$logs".*; do
  [[ -f $log ]] || continue
  head -n 25 "$log"
  status=1
done
exit $status
