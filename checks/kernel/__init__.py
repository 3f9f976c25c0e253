"""Proofs that Rocq's kernel checks, so that neither our normal form nor our engines need be trusted.

Statements become theorems about tensors over the real numbers (``obligations``), whose proofs compute with a
normaliser that ``lib/`` proves sound; ``rocq`` has them checked. Nothing here decides a verdict, and making
theorems does not need Rocq. It imports the kinds of statements and what is below them; which claims have
theorems, and what came of these, is the business of ``checks.run.prove`` and ``checks.run.proofs``.
"""
