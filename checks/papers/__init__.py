"""The papers, a package each: formulas, claims by section, legs, data of tables.

May import kinds, engine, tensors, solvers and derivations; of the papers only
`bridge` imports another. Nothing but ``checks.run.registry`` imports them, by name."""
