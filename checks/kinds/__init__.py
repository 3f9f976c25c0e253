"""Statement kinds that need an engine of their own, one module each: data, LaTeX, engine, wrong versions.

May import ``checks.engine``, where each registers its engine, and ``derivations``.

A kind serves several claims. Those with one have something that no other kind decides: `ConvexProgram`
(convexity in all variables at once, refuted by two feasible points, where the program is no quadratic one),
`GaussianMean` (a mean over a normal law) and `SigmoidNegative` (a negative form of tanh for all values of its
parameters).
"""
