"""Claims about how the four views relate: where they are the same function of queries, keys and values."""
