"""Statement kinds that need an engine of their own, one module each: data, LaTeX, engine, wrong versions.

May import ``checks.engine``, where each registers its engine, and ``derivations``.
"""
