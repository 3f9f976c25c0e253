"""Each worker of pytest-xdist has one thread: libraries that each took all cores would wait for each other."""

from __future__ import annotations

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported
