"""Experiments of the papers that run from this repository: resumable, seeded, with results kept as data
files.
"""
