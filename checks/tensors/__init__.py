"""Streamed tensor checks (torch, numpy and scipy only, so that they run unchanged on a GPU machine)."""
