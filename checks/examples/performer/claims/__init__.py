"""What the paper claims."""
