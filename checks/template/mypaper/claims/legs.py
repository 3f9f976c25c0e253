"""Legs: what checks a claim beside its proof. Row i of attention on tensors, against torch's own kernel."""

from attention_audit.checks.papers.nguyen2023.legs.rows import rows_against_engine

from mypaper.claims.formulas import ROW, d, i

rows = rows_against_engine(ROW, (i, d), None, {"Q": "q", "K": "k", "V": "v"})
