"""Theory functional_descent: attention layers as gradient descent on functions (wang2024)."""
