"""Index expressions, printed terms and programs: normal forms, derivatives, signs, exact numbers, reading and
printing.

May import nothing of the project but itself.
"""
