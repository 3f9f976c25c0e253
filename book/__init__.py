"""The Jupyter Book: pages generated from the exported ledger, and the written chapters around them."""
