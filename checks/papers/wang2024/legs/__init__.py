"""Legs of wang2024's claims, which name them: here torch and solvers may be imported."""
