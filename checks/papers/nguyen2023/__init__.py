"""Claims of nguyen2023: attention as a support vector expansion."""
