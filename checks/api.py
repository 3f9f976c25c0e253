"""What authors need to declare and judge claims; installed, it is the package ``attention_audit`` itself."""

from __future__ import annotations

from checks.audit import Audit, Paper, use
from checks.claim import Assumption, Claim, Options, claim
from checks.engine.judge import judge
from checks.evidence import Evidence, Record
from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.averages import Averages, Column
from checks.kinds.cost import Assign, Cost
from checks.kinds.counting import Counted, Grows
from checks.kinds.differs import Differs
from checks.kinds.examples import Example, Point, Rule
from checks.kinds.extremum import Extremum
from checks.kinds.family import Family
from checks.kinds.feasible import ConvexProgram, Solvable
from checks.kinds.follows import Equation, Follows
from checks.kinds.gaussian import GaussianMean
from checks.kinds.implication import Implication, Use
from checks.kinds.inequality import AtLeast
from checks.kinds.limit import Limit
from checks.kinds.normal_mean import NormalMean
from checks.kinds.optimal import Optimal
from checks.kinds.order import Order
from checks.kinds.positive import Positive
from checks.kinds.programs import Convex, Dual, WellPosed
from checks.kinds.recurrence import QUANTITY, Base, Recurrence
from checks.kinds.scope import Scoped
from checks.kinds.stacked import Stacked
from checks.kinds.stationary import Stationary
from checks.kinds.unbounded import Bounded, Ray
from checks.leg import Legs, Named, climbing
from checks.run.interactive import (
    Changes,
    Derivation,
    derive,
    judged_records,
    recorded_result,
    show,
    what_changes,
)
from checks.statement import All, Definition, Fact, Given, Identity, Link, Malformed
from derivations.calculus import psd
from derivations.calculus.gradients import at_point, bregman, formula, grad, kronecker, unit
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import loss
from derivations.calculus.masks import earlier, not_later, previous
from derivations.calculus.maxima import maximum
from derivations.calculus.program import Constraint, Program, Raw, Step, convexity, dualise, lagrangian
from derivations.calculus.term import (
    Term,
    apply,
    as_term,
    blocks,
    diag,
    exp,
    eye,
    hadamard,
    log,
    named,
    part,
    row_softmax,
    size,
    softmax,
    sqrt,
    squared_norm,
    stack,
    sum_over,
    trace,
    zeros,
)
from derivations.theories.theory import BadAssumption, Knob, NoForm, Theory

__all__ = [
    "QUANTITY",
    "All",
    "Arithmetic",
    "Assign",
    "Assumption",
    "AtLeast",
    "Audit",
    "Averages",
    "BadAssumption",
    "Base",
    "Bounded",
    "Changes",
    "Claim",
    "Column",
    "Constraint",
    "Convex",
    "ConvexProgram",
    "Cost",
    "Counted",
    "Definition",
    "Derivation",
    "Differs",
    "Dual",
    "Equation",
    "Evidence",
    "Example",
    "Extremum",
    "Fact",
    "Family",
    "Figure",
    "Follows",
    "GaussianMean",
    "Given",
    "Grows",
    "Identity",
    "Implication",
    "Index",
    "Knob",
    "Legs",
    "Limit",
    "Link",
    "Malformed",
    "Named",
    "NoForm",
    "NormalMean",
    "Optimal",
    "Options",
    "Order",
    "Paper",
    "Point",
    "Positive",
    "Program",
    "Raw",
    "Ray",
    "Record",
    "Recurrence",
    "Rule",
    "Scoped",
    "Solvable",
    "Stacked",
    "Stationary",
    "Step",
    "Tensor",
    "Term",
    "Theory",
    "Use",
    "WellPosed",
    "apply",
    "as_term",
    "at_point",
    "blocks",
    "bregman",
    "claim",
    "climbing",
    "convexity",
    "derive",
    "diag",
    "dualise",
    "earlier",
    "exp",
    "eye",
    "formula",
    "grad",
    "hadamard",
    "judge",
    "judged_records",
    "kronecker",
    "lagrangian",
    "log",
    "loss",
    "maximum",
    "named",
    "not_later",
    "part",
    "previous",
    "psd",
    "recorded_result",
    "row_softmax",
    "show",
    "size",
    "softmax",
    "sqrt",
    "squared_norm",
    "stack",
    "sum_over",
    "trace",
    "unit",
    "use",
    "what_changes",
    "zeros",
]
