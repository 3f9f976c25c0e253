"""Claims of wang2024: attention layers as functional gradient descent."""
