"""Tensor checks of theory svr: is attention an optimal fit on given keys and values? May import ``core``."""
