"""Worked examples: audits of five papers, each a package as an author writes it."""
