"""Independent ways to find the same answers, each with a certificate that a small checker verifies."""
