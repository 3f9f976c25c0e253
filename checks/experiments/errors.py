"""The error of experiments, apart from what loads torch."""

from derivations.errors import Unusable


class ExperimentError(Unusable, RuntimeError):
    """An experiment that cannot be run or read; the message is one line."""
