"""Legs of farooq2025's claims, which name them: here torch and solvers may be imported."""
