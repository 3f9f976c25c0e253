"""What the paper claims, and what checks it."""
