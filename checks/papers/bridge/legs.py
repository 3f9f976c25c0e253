"""Legs of the claims that connect the papers."""

from __future__ import annotations

from checks.papers.bridge.views_formulas import ATTENTION_ROW
from checks.papers.nguyen2023.legs.rows import rows_against_engine
from derivations.theories.svr import regression as svr

rows = rows_against_engine(ATTENTION_ROW, (svr.i, svr.d), None, {"Q": "q", "k": "k", "v": "v"})
