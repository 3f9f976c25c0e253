"""Claims, the engines that judge them, the ledger of verdicts and the command line."""
