"""The error of unusable tensors, apart so that the command line can name it without loading torch."""


class TensorError(ValueError):
    """Unusable tensor input; the message is one line that says what is wrong and what is allowed."""
