"""The error of what a user gave: here, below all rooms, so that the command line knows it without importing
what raises it.
"""


class Unusable(Exception):
    """Input that cannot be used; the message is one line that says what is wrong and what is allowed."""
