"""What every check on tensors uses: streamed attention, torch's own, inputs, bounds (BOUNDS.md), wrong
versions, ranks.

May import nothing of ``checks`` but what a claim is and the wrong versions of ``checks.engine.mutants``.
"""
