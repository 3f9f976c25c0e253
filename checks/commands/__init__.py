"""The command line ``attest``. May import everything, the book included; nothing imports it."""
