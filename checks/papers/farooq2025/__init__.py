"""Claims of farooq2025: energies whose stationary point is attention."""
