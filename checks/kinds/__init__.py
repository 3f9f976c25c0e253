"""Statement kinds that need an engine of their own, one module each."""
