"""Section 3: queries and keys are turned by angles that grow with their positions.

Of d = 2M coordinates the pair 2m-1, 2m is turned by the angle pθ_m, where p is the position. All is said for
every number M of pairs and all frequencies θ.
"""

from checks.api import (
    All,
    Definition,
    Identity,
    Index,
    Tensor,
    Term,
    apply,
    as_term,
    claim,
    softmax,
    sum_over,
)

Pair = tuple[Term, Term]

m, j = Index("m", "M"), Index("j", "N")
p, s, t = (as_term(Tensor(name)) for name in "pst")
places = as_term(Tensor("r", ("N",)))
theta = as_term(Tensor("theta", ("M",), r"\theta"))


def pairs(name: str, of: str = "") -> Pair:
    """The coordinates 2m-1 and 2m of a vector, or of row j of a matrix."""
    before, dims, place = ("%1,", (of, "M"), "%2") if of else ("", ("M",), "%1")
    at = (j, m) if of else (m,)
    odd = Tensor(f"{name}_odd", dims, rf"{name}^{{\mathrm{{odd}}}}", "", rf"{name}_{{{before}2{place}-1}}")
    even = Tensor(f"{name}_even", dims, rf"{name}^{{\mathrm{{even}}}}", "", rf"{name}_{{{before}2{place}}}")
    return as_term(odd)[at], as_term(even)[at]


def cos(angle: Term) -> Term:
    return apply("cos", angle, r"\cos")


def sin(angle: Term) -> Term:
    return apply("sin", angle, r"\sin")


def turned(pair: Pair, position: Term, sign: int = -1) -> Pair:
    """A 2x2 block of the rotation times a pair; ``sign`` is that of its upper sine."""
    (x, y), angle = pair, position * theta[m]
    upper = y * sin(angle)
    return x * cos(angle) + (upper if sign > 0 else -upper), x * sin(angle) + y * cos(angle)


def dot(one: Pair, two: Pair) -> Term:
    """The inner product of two vectors, pair by pair."""
    return sum_over(m, one[0] * two[0] + one[1] * two[1])


q, k, x, y = map(pairs, "qkxy")
keys = pairs("k", "N")
SCORE = dot(turned(q, p), turned(k, s))
PLAIN, CROSSED = q[0] * k[0] + q[1] * k[1], q[0] * k[1] - q[1] * k[0]


def by_angle(angle: Term) -> Term:
    """The score as a function of one angle a pair."""
    return sum_over(m, PLAIN * cos(angle * theta[m]) + CROSSED * sin(angle * theta[m]))


def weight(query: Term, key: Term) -> Term:
    """The attention weight of key j for a query, at the given positions."""
    return softmax(j, dot(turned(q, query), turned(keys, key)))


claim(
    "rope/eq15",
    "Eq. (15)",
    "The rotation, pair by pair",
    words="The vector at position p is multiplied by 2x2 blocks of cosines and sines of its angles.",
    literal=All(*map(Definition, y, turned(x, p))),
    role="definition",
)

claim(
    "rope/norm",
    "Section 3.2.2",
    "Rotations keep norms",
    words="The rotation is orthogonal: it keeps the length of every vector.",
    literal=Identity(dot(turned(x, p), turned(x, p)), dot(x, x)),
    rests_on=("rope/eq15",),
)

claim(
    "rope/eq16",
    "Eq. (16)",
    "The score has one rotation, by the difference of the positions",
    words="The score of a query at p and a key at s contains the rotation by p - s alone.",
    literal=Identity(SCORE, by_angle(p - s)),
    rests_on=("rope/eq15",),
)

claim(
    "rope/relative",
    "Section 3.1, Eq. (11)",
    "Only relative positions matter",
    words="The score does not change when both positions are moved by the same distance t.",
    literal=Identity(dot(turned(q, p + t), turned(k, s + t)), SCORE),
    rests_on=("rope/eq16",),
)

claim(
    "rope/attention",
    "Section 3.3",
    "The weights of attention depend on relative positions only",
    words="Softmax attention gives every key the same weight when all positions are moved by t.",
    literal=Identity(weight(p + t, places[j] + t), weight(p, places[j])),
    rests_on=("rope/relative",),
)

claim(
    "rope/composition",
    "Section 3.4.3",
    "Rotations compose",
    words="Turning by p and then by s is turning by p + s, in both coordinates of a pair.",
    literal=All(*map(Identity, turned(turned(x, p), s), turned(x, p + s))),
    rests_on=("rope/eq15",),
)

claim(
    "rope/wrong-sum",
    "misread",
    "A score of the sum of the positions",
    words="The score of a query at p and a key at s contains the rotation by p + s.",
    literal=Identity(SCORE, by_angle(p + s)),
    corrected=Identity(SCORE, by_angle(p - s)),
    correction_words="The inner product transposes one of the two rotations: the angles are subtracted.",
    rests_on=("rope/eq15",),
)

claim(
    "rope/wrong-block",
    "misread",
    "A block with both signs alike",
    words="Blocks whose two sines have the same sign give a score of relative positions too.",
    literal=Identity(dot(turned(q, p + t, 1), turned(k, s + t, 1)), dot(turned(q, p, 1), turned(k, s, 1))),
    corrected=Identity(dot(turned(q, p + t), turned(k, s + t)), SCORE),
    correction_words="The upper sine has a minus sign; without it the block is no rotation.",
    rests_on=("rope/eq15",),
)
