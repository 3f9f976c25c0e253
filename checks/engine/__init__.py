"""Deciding a statement: instances, definedness, hypotheses, wrong versions, what is refused, and the verdict.

May import ``derivations`` and what a claim is (``checks.statement``, ``checks.evidence``); it knows no kind
and no paper.
"""
