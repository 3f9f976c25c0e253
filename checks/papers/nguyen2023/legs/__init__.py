"""Legs of nguyen2023's claims, which name them: here torch and solvers may be imported."""
