"""Tensor checks of theory functional_descent: layers of attention against descent. May import ``core``."""
