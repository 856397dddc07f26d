"""What the tests of the Python package share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def samples() -> Path:
    return Path(__file__).resolve().parents[2] / "samples"
