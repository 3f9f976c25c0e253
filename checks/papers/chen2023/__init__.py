"""Claims of chen2023: attention as asymmetric kernel SVD."""
