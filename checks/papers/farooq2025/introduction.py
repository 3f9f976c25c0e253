"""Section 1: the Hopfield energies that are quoted, equations (1) to (5), and what is said about them."""

from __future__ import annotations

from checks.claim import claim
from checks.kinds.examples import Point, Rule
from checks.kinds.extremum import Extremum
from checks.kinds.implication import Implication
from checks.kinds.limit import Limit
from checks.kinds.scope import Scoped
from checks.kinds.stationary import Stationary
from checks.leg import Legs
from checks.papers.farooq2025.notation import ENERGY, HERE, SCORES, K, Q
from checks.statement import All, Definition, Fact, Given, Identity
from derivations.calculus.gradients import at_point, grad, kronecker
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import (
    Apply,
    Term,
    apply,
    as_term,
    exp,
    row_softmax,
    size,
    softmax,
    sqrt,
    stack,
    sum_over,
    trace,
)
from derivations.theories.energy import forms as en
from derivations.theories.energy.forms import DK, HALF, V, Z

solver_legs = Legs("checks.papers.farooq2025.legs.solvers")
legs = Legs("checks.papers.farooq2025.legs.tensors")

NEURONS, PATTERNS = "N", "K"
i, j, m = (Index(x, NEURONS) for x in "ijm")
pattern = Index(r"\mu", PATTERNS)
w_ = Tensor("w", (NEURONS, NEURONS), "w", "", "w_{%1%2}")
s_ = Tensor("s", (NEURONS,), "s", "", "s_{%1}")
xi_ = Tensor("xi", (PATTERNS, NEURONS), r"\xi", r"\xi^{%1}", r"\xi_{%2}^{%1}")
w, s, xi = (as_term(t) for t in (w_, s_, xi_))
CLASSIC = -HALF * sum_over(i, j, w[i, j] * s[i] * s[j])
HOPFIELD = r"$N$ neurons with states $s_i$; $K$ stored patterns $\xi^\mu$; weights $w_{ij}$."

claim(
    HERE + "eq1",
    "Eq. (1)",
    "The classic Hopfield energy",
    role="definition",
    words="Minus half the quadratic form of the weights in the states.",
    literal=Definition(ENERGY, CLASSIC),
    where=HOPFIELD,
)

claim(
    HERE + "eq2",
    "Eq. (2)",
    "The energy of dense associative memories",
    role="definition",
    words="A function F of the overlap with each stored pattern, summed over the patterns.",
    literal=Definition(ENERGY, sum_over(pattern, en.F(sum_over(i, xi[pattern, i] * s[i])))),
    where=HOPFIELD,
    notes="The sign is left to F: with F(u) = u² and one pattern with entries ±1, it has the highest "
    "energy of all such states, see prose-mhn-sign.",
)

claim(
    HERE + "prose-demircigil",
    "Section 1, after (2)",
    "The exponential F",
    words="F(s_i) is the exponential of ξ_i^μ s_i.",
    literal=Scoped(en.F(s[i]), exp(xi[pattern, i] * s[i])),
    corrected=Scoped(
        stack(pattern, en.F(sum_over(i, xi[pattern, i] * s[i]))),
        stack(pattern, exp(sum_over(i, xi[pattern, i] * s[i]))),
    ),
    correction_words="F(u) = exp(u) at u = Σ_i ξ_i^μ s_i, one value for each pattern.",
    rests_on=(HERE + "eq2",),
    where=HOPFIELD,
    notes="μ is free on the right, and the sum over i is missing.",
)

x_ = Tensor("x", (NEURONS,), r"\mathbf{x}", "", "x_{%1}")
beta_ = Tensor("beta", (), r"\beta", positive=True)
x, beta = as_term(x_), as_term(beta_)
LSE = Apply((sum_over(m, exp(beta * x[m])),), ("log", r"\log", 0))
PRINTED_3 = HALF * (x.T @ x) + LSE
FIXED_3 = HALF * (x.T @ x) - LSE
RETRIEVED = stack(i, beta * softmax(i, beta * x[i]))
STATE = r"$\mathbf{x}\in\mathbb{R}^N$ the state, $\beta>0$; the stored patterns are the standard basis."
FIXED_WORDS = (
    "The log-sum-exp is subtracted; then the gradient is x - β softmax(βx), and its zeros are "
    "the solutions of (4)."
)


def _residual(energy: Term) -> Identity:
    return Identity(grad(energy, x_), x - RETRIEVED)


claim(
    HERE + "eq3",
    "Eq. (3)",
    "The simplified Hopfield energy",
    words="The energy whose equilibria are (4): half the squared norm plus a log-sum-exp.",
    literal=_residual(PRINTED_3),
    corrected=_residual(FIXED_3),
    correction_words=FIXED_WORDS,
    legs=(legs.simplified,),
    where=STATE,
    notes="As printed the gradient is x + β softmax(βx), whose only zero has all entries equal to -β/N. With "
    "1/β before the logarithm as well, the equilibria are x = softmax(βx), as in the work that is quoted.",
)

UNIFORM = stack(i, beta / size(NEURONS))
EQUILIBRIUM = Rule(  # the whole gradient vanishes, not only its entry i
    (Fact("the gradient", grad(PRINTED_3, x_)[j], "="),),
    Fact("x - β softmax(βx)", (x - RETRIEVED)[i], "="),
    Point(((NEURONS, 1),), ((x_, (-1,)), (beta_, 1))),
)
claim(
    HERE + "eq4",
    "Eq. (4)",
    "The equilibrium of the simplified energy",
    words="Where the gradient of (3) vanishes, x = β softmax(βx).",
    literal=EQUILIBRIUM,
    corrected=All(
        _residual(FIXED_3),
        Stationary(FIXED_3, x_, UNIFORM, label="the uniform state is one solution"),
    ),
    correction_words=FIXED_WORDS + " The state with all entries β/N is always one of them.",
    rests_on=(HERE + "eq3",),
    legs=(legs.simplified, solver_legs.second_equilibrium),
    where=STATE,
    notes="The argument is printed as the entry x_i; it is read as the vector x, since the softmax of one "
    "number is 1. For β² < 2 the corrected energy is strictly convex, since diag(p) - ppᵀ, the derivative of "
    "a softmax p, has no eigenvalue above 1/2, and the uniform state is the only equilibrium.",
)


row, key, entry = Index("i", en.N), Index("m", en.N), Index("c", DK)
q_ = Tensor("q", (DK,), "q", "", "q_{%1}")
q = as_term(q_)
PATTERN_LSE = Apply((sum_over(key, exp(beta * (K[key].T @ q))),), ("log", r"\log", 0))
RETRIEVAL = HALF * (q.T @ q) - PATTERN_LSE / beta
ATTENDED = stack(entry, sum_over(key, softmax(key, beta * (K[key].T @ q)) * K[key, entry]))
claim(
    HERE + "prose-fixed-points-mhn",
    "Section 1, (3)-(4)",
    "Fixed points and self-attention",
    words="At the equilibrium of (3) a Hopfield network computes a form of self-attention, x = β "
    "softmax(βx).",
    literal=EQUILIBRIUM,
    corrected=All(
        _residual(FIXED_3),
        Identity(q - grad(RETRIEVAL, q_), ATTENDED, label="with stored patterns, one step is attention"),
    ),
    correction_words=(
        FIXED_WORDS
        + " What equals attention is one gradient step of size 1 on the energy with stored patterns k_m, "
        "taken from a query q; at a fixed point of that step the query is its own output."
    ),
    rests_on=(HERE + "eq3", HERE + "eq4"),
    legs=(legs.simplified, legs.retrieval),
    where=STATE
    + r" $q$ a query, $k_m$ the keys, the rows of $K\in\mathbb{R}^{n\times d_k}$, which are values as well.",
)

SOFTMAX_ENERGY = -trace(Z.T @ row_softmax(SCORES) @ V) + trace(HALF * (Z.T @ Z))
claim(
    HERE + "prose-attention-as-gradient",
    "Section 1, end",
    "An energy whose gradient step is attention",
    words="The question that ends Section 1, whether some energy makes the attention (6) a process of "
    "gradient descent, has the answer yes: one step of size 1 on the energy (10) leads from any state to "
    "(6).",
    literal=Identity(Z - grad(SOFTMAX_ENERGY, en.Z_), row_softmax(SCORES) @ V),
    rests_on=(HERE + "eq6", HERE + "eq10"),
    legs=(legs.update_rule, solver_legs.attention_minimises),
    where=r"$Z\in\mathbb{R}^{n\times d_v}$ the state, $Q,K\in\mathbb{R}^{n\times d_k}$ queries and keys, "
    r"$V\in\mathbb{R}^{n\times d_v}$ the values; $E$ the energy (10).",
    notes="The energy ½‖q‖² - β⁻¹ log Σ_m exp(β k_mᵀq) does it for one query q, with β = 1/√d_k, where the "
    "keys k_m are the values: see prose-fixed-points-mhn.",
)

FIVE_J = Index("j", "J")
copies, heads, key_, width = Index("C", "N_C"), Index("h", "H"), Index("B", "N_B"), Index(r"\alpha", "Y")
stray = Index("a", "Y")
memory = Index(r"\mu", "M")
K5, Q5 = (
    as_term(Tensor(x, ("Y", "H", d), x, "", f"{x}_{{%1%2%3}}")) for x, d in (("K", "N_B"), ("Q", "N_C"))
)
XI5, G5 = (
    as_term(Tensor("xi", ("M", "J"), r"\xi", "", r"\xi_{%1%2}")),
    as_term(Tensor("g", ("J", "N_C"), "g", "", "g_{%1%2}")),
)


def _energy_transformer(letter: Index) -> Term:
    inner = sum_over(width, K5[letter, heads, key_] * Q5[letter, heads, copies])
    free_energy = Apply((sum_over(key_, exp(beta * inner)),), ("log", r"\log", 0))
    memories = apply("G", sum_over(FIVE_J, XI5[memory, FIVE_J] * G5[FIVE_J, copies]))
    return -1 / beta * sum_over(copies, heads, free_energy) - HALF * sum_over(copies, memory, memories)


claim(
    HERE + "eq5",
    "Eq. (5)",
    "The energy of the Energy Transformer",
    words="Minus a log-sum-exp over keys, divided by β, for each query and head, minus G/2 for each token "
    "and pattern.",
    literal=Scoped(ENERGY, _energy_transformer(stray)),
    corrected=Scoped(ENERGY, _energy_transformer(width)),
    correction_words="The summed index α stands at the keys and the queries.",
    where=r"Keys $K_{\alpha hB}$, queries $Q_{\alpha hC}$, stored patterns $\xi_{\mu j}$, tokens $g_{jC}$; "
    r"$\beta>0$, $G$ any function. $N_C$ tokens of $J$ entries, $H$ heads with $N_B$ keys of $Y$ entries, "
    "$M$ patterns.",
    notes="The sum runs over α and the summand has a: as printed it is Y times one product, of an a that "
    "nothing fixes. Quoted from another paper and not used later.",
)


def _scaled(factor: Term) -> Identity:
    rule = Given(beta_, (), factor, "the inverse temperature that the text names")
    return Identity(row_softmax(Q @ K.T / sqrt(size(DK))), row_softmax(beta * (Q @ K.T)), given=(rule,))


claim(
    HERE + "prose-scaling-beta",
    "Section 1, after (6)",
    "The scale of the scores as inverse temperature",
    words="1/d_k scales the softmax of (6) like the inverse temperature β.",
    literal=_scaled(1 / size(DK)),
    corrected=_scaled(1 / sqrt(size(DK))),
    correction_words="The factor in (6) is 1/√d_k.",
    rests_on=(HERE + "eq6",),
    legs=(legs.attention,),
    where=r"$Q,K\in\mathbb{R}^{n\times d_k}$.",
    notes="In (4) β multiplies the softmax as well, which attention does not do.",
)

ws_ = Tensor("omega", (NEURONS, NEURONS), r"\omega", "", r"\omega_{%1%2}", symmetric=True)
W_RULE = Given(
    w_, (i, j), as_term(ws_)[i, j] * (1 - kronecker(i, j)), "symmetric weights without self-coupling"
)
change = as_term(Tensor("t", (), "t"))
flipped = stack(j, s[j] + change * kronecker(j, m))
PAIR = Point(((NEURONS, 2),), ((w_, ((0, 1), (1, 0))), (s_, (1, -1))))
new, old, field = (as_term(Tensor(x, (), x)) for x in ("s'", "s", "h"))
STRENGTH = apply("abs", field, r"\operatorname{abs}")
xi1_ = Tensor("xi", (NEURONS,), r"\xi", "", r"\xi_{%1}")
xi1 = as_term(xi1_)
STORED = Given(
    w_, (i, j), xi1[i] * xi1[j] * (1 - kronecker(i, j)), "one pattern is stored, without self-coupling"
)
OPPOSITE = Point(((NEURONS, 2),), ((xi1_, (1, 1)), (s_, (-1, -1))))


def _fires(at: Index) -> Term:
    return apply("sign", sum_over(j, w[at, j] * s[j]), r"\operatorname{sign}")


claim(
    HERE + "prose-classic-minimises",
    "Section 1, after (1)",
    "The network minimises its energy",
    words="The iterative updates of the network converge, and the configurations that they lead to are "
    "stored patterns.",
    literal=All(
        Limit(s_, stack(i, _fires(i)), None, orbit=PAIR, label="the updates converge"),
        Rule(
            (Fact("at rest", s[i] - _fires(i), "="), Fact("entries ±1", s[i] ** 2 - 1, "=")),
            Fact("s - ξ", s[m] - xi1[m], "="),
            OPPOSITE,
            given=(STORED,),
            label="a state at rest is the stored pattern",
        ),
    ),
    corrected=All(
        Identity(
            at_point(CLASSIC, s_, flipped) - CLASSIC,
            -change * sum_over(j, w[m, j] * s[j]),
            given=(W_RULE,),
            label="changing one neuron by t",
        ),
        Implication(
            (
                Fact("s' has the sign of h", new * field - STRENGTH, ">="),
                Fact("s h ≤ |h|", STRENGTH - old * field, ">="),
            ),
            Fact("(s' - s) h", (new - old) * field, ">="),
            label="the energy does not rise",
        ),
        Identity(at_point(CLASSIC, s_, -s), CLASSIC, label="a pattern and its negative have one energy"),
    ),
    correction_words="For states ±1 and symmetric weights without self-coupling, changing one neuron at a "
    "time to the sign of its field h never raises the energy: the change is -(s' - s)h. A pattern and its "
    "negative have one energy.",
    rests_on=(HERE + "eq1",),
    where=r"$N$ neurons with states $s_i$; $\xi$ the one stored pattern; weights $w_{ij}$; $\omega$ any "
    r"symmetric matrix. $\operatorname{sign}$ is $1$ at positive and $-1$ at negative numbers; "
    r"$h=\sum_j w_{mj}s_j$ the field of neuron $m$; $t$ the change of its state, which is $s$ before and "
    r"$s'$ after it.",
    notes="The cycle of two coupled neurons is one of updates of all neurons at once. That updates of one "
    "neuron at a time come to rest is not decided here. "
    "With antisymmetric weights the energy is zero in every state, so there is nothing to minimise.",
)

only = Index("i", NEURONS)
OVERLAP = sum_over(i, xi1[i] * s[i])
STATES = sum_over(i, xi1[i] ** 2) * sum_over(j, s[j] ** 2)
LAGRANGE = HALF * sum_over(i, j, (xi1[i] * s[j] - xi1[j] * s[i]) ** 2)
TWO_NEURONS = Point(((NEURONS, 2),), ((xi1_, (1, 1)), (s_, (1, 1))))

claim(
    HERE + "prose-mhn-sign",
    "Section 1, around (2)",
    "The sign of the memory energy",
    words="With E = Σ F and F(u) = u² stored patterns have the lowest energy among states with entries ±1.",
    literal=Extremum(OVERLAP**2, s_, xi1, "a global minimum", witness=TWO_NEURONS, direction=(0, -2)),
    corrected=Extremum(STATES - OVERLAP**2, s_, xi1, "a global minimum", above=LAGRANGE),
    correction_words="The energy is -Σ F. For states and patterns with entries ±1 the first term is the "
    "constant N², so a stored pattern minimises minus the squared overlap.",
    rests_on=(HERE + "eq2",),
    where=HOPFIELD + r" One pattern, $K=1$.",
    notes="The formula, and Rocq's theorem that it fails, speak of all real patterns and states. "
    "In the witness t = 1 leads from the pattern (1, 1) to the state (1, -1), both with entries ±1, so that "
    "it fails among those too. The classic energy (1) with Hebbian weights is F(u) = -u²/2, see "
    "prose-classic-quadratic. Section 4 inherits the plus sign.",
)

HEBB = Given(w_, (i, j), sum_over(pattern, xi[pattern, i] * xi[pattern, j]), "Hebbian weights")


SQUARES = sum_over(pattern, sum_over(i, xi[pattern, i] * s[i]) ** 2)


claim(
    HERE + "prose-classic-quadratic",
    "Section 3.1, end",
    "The quadratic F and the classic network",
    words="The energy (2) with F(u) = u² has the form of the classic energy (1), with Hebbian weights.",
    literal=Identity(CLASSIC, SQUARES, given=(HEBB,)),
    corrected=Identity(CLASSIC, -HALF * SQUARES, given=(HEBB,)),
    correction_words="The quadratic function that gives (1) is F(u) = -u²/2.",
    rests_on=(HERE + "eq1", HERE + "eq2"),
    where=HOPFIELD,
    notes="Not the factor but the sign matters: if one pattern with entries ±1 is stored, it has the lowest "
    "energy in (1), and the highest in (2) with F(u) = u², of all such states, see prose-mhn-sign. With "
    "weights "
    "of the other sign in (1) both agree up to the factor, and it has the highest energy in both.",
)
