"""What the papers say, and how it follows: symbolic statements, derivatives and dual programs (SymPy
and python-flint only).
"""
