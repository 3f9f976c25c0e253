"""Theory svr: attention as a support vector expansion (nguyen2023)."""
