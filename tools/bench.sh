#!/usr/bin/env bash
# `make bench`: the standing targets, measured now, as one table.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec .venv/bin/python bench/targets.py "$@"
