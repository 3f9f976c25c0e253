"""Tensor checks of theory energy: gradients, steps and states at any length. May import ``core``."""
