"""Many claims at once: which there are, lengths of their legs, cache, severity, ledger, ablation, the run on
a GPU.

May import every room of ``checks`` but the commands; papers are imported by name when claims are asked for.
"""
