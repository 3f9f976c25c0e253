"""Theory energy: attention as the stationary point of an energy (farooq2025)."""
