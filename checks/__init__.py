"""Claims, the engines that judge them, the ledger of verdicts and the command line.

What a claim is stands here (`claim`, `statement`, `evidence`, `leg`) and needs neither torch nor cvxpy. The
rooms import one way, each those after it: commands, experiments, run, papers, kinds and tensors, engine.
"""
