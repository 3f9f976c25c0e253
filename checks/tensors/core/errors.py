"""The error of unusable tensors, apart from what loads torch."""

from derivations.errors import Unusable


class TensorError(Unusable, ValueError):
    """Unusable tensor input; the message is one line that says what is wrong and what is allowed."""
