#!/usr/bin/env bash
# Makes the files in fuzz/seeds/ anew, from what our tests write: fuzz/make_seeds.sh [BUILD FOLDER]
# Files called crash-* are inputs that once broke a reader; they stay.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${1:-build/asan}
seeds=fuzz/seeds
export ASAN_OPTIONS=detect_leaks=0
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

mkdir -p "$made"/{etdump,traces,result,rings} "$seeds"/{etdump,npy,perfetto,result,rings,trex}
find "$seeds" -type f -not -name 'crash-*' -delete
"$build/tests/etdump_shapes" "$made/etdump"
"$build/tests/trace_samples" "$made/traces"
"$build/tests/result_samples" "$made/result"
"$build/fuzz/ring_seeds" "$made/rings"
cp "$made"/etdump/*.etdp "$made"/traces/hostile_names.etdp "$seeds/etdump"
for shape in shared-name shared-identifier shared-metadata shared-block-name names-in-names; do
  "$build/tests/hostile_etdump" "$seeds/etdump/$shape.etdp" "$shape" 20
done
cp tests/fixtures/perfetto/*.pftrace "$seeds/perfetto"
for name in hostile_names huge_times late_parents overlaps trees1 twins modules module_tree; do
  cp "$made/traces/$name.pftrace" "$seeds/perfetto"
done
"$build/inferprobe" convert "$made/etdump/two_delegates.etdp" "$seeds/perfetto/two_delegates.pftrace"
rm "$made"/result/many_{rows,modules}.json  # large, and nothing in it that the others have not
cp "$made"/result/*.json "$seeds/result"
cp "$made"/rings/*.ring "$seeds/rings"
cp tests/fixtures/trex/*.json fuzz/trex_metadata.json "$seeds/trex"
.venv/bin/python - "$seeds/npy" <<'PYTHON'
import sys, numpy as np

for kind in ("?", "b1", "i1", "u1", "<i2", ">i2", "<u4", ">i8", "<f2", ">f4", "<f8", "<c8", ">c16", "V2"):
    name = kind.replace("<", "le_").replace(">", "be_").replace("?", "bool")
    np.save(f"{sys.argv[1]}/{name}.npy", np.zeros((2, 3), kind))
np.save(f"{sys.argv[1]}/fortran.npy", np.asfortranarray(np.arange(24, dtype="f4").reshape(2, 3, 4)))
np.save(f"{sys.argv[1]}/scalar.npy", np.float32(1))
np.save(f"{sys.argv[1]}/empty.npy", np.zeros((0, 5)))
for version in ((2, 0), (3, 0)):
    with open(f"{sys.argv[1]}/version{version[0]}.npy", "wb") as file:
        np.lib.format.write_array(file, np.zeros(3, "f4"), version)
PYTHON
du -sh --apparent-size "$seeds"
