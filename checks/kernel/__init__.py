"""Proofs that Rocq's kernel checks, so that neither our normal form nor our engines need be trusted.

Statements become theorems (``obligations``, ``derivatives``, ``falsity``) about tensors over the real numbers,
whose proofs compute with a normaliser that ``lib/`` proves sound; ``rocq`` has them checked, ``record`` keeps
what came of it. Nothing here decides a verdict, and generating theorems does not need Rocq. It imports the
kinds of statements and what is below them; claims come from ``checks.run.proofs``.
"""
