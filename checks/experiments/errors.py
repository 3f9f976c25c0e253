"""The error of experiments, apart so that the command line can name it without importing torch."""


class ExperimentError(RuntimeError):
    """An experiment that cannot be run or read; the message is one line."""
