"""What the theorems say of a user's own heads: loading, measuring, memory. May import ``core`` and
``svr``.
"""
