"""The kinds that nguyen2023 needs accept what is true and reject what is not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp

from checks.engine.judge import judge
from checks.kinds.averages import Averages, Column
from checks.kinds.counting import Counted, Grows
from checks.kinds.examples import Example, Point, Rule
from checks.kinds.feasible import ConvexProgram, Solvable
from checks.papers.nguyen2023 import residual_formulas as residual
from checks.papers.nguyen2023.table_data import TABLE_1, TABLE_2, TABLE_9
from checks.statement import Fact, Malformed
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import as_term, sum_over

i, j = Index("i", "n"), Index("j", "n")
a = Tensor("a", ("n",))
ENTRY = as_term(a)


def point(*values: int, at: tuple = ()) -> Point:
    return Point((("n", len(values)),), ((a, values),), at)


def test_a_rule_is_refuted_only_by_an_instance_that_breaks_it():
    positive = Fact("a_j", ENTRY[j], ">=")
    larger = Fact("a_i - 1", ENTRY[i] - 1, ">=")
    assert judge(Rule((positive,), larger, point(0, 2))).holds is False
    assert judge(Rule((positive,), larger, point(1, 2))).holds is None, "the conclusion holds there"
    assert judge(Rule((positive,), larger, point(-1, 0))).holds is None, "a hypothesis fails there"


def test_a_rule_quantifies_over_the_indices_that_the_point_leaves_open():
    first = Fact("a_i - 1", ENTRY[i] - 1, ">=")
    assert judge(Rule((), first, point(1, 0, at=((i, 1),)))).holds is None
    assert judge(Rule((), first, point(1, 0, at=((i, 2),)))).holds is False


def test_an_instance_that_fails_shows_nothing_and_refutes_nothing():
    right = Example((Fact("a_1 is 3", ENTRY[i] - 3, "="),), point(3, 5, at=((i, 1),)))
    wrong = replace(right, facts=(Fact("a_1 is -3", ENTRY[i] + 3, "="),))
    assert judge(right).holds is True
    assert judge(right).mutants.killed == judge(right).mutants.tried > 0
    zero = judge(Example((Fact("the sum", sum_over(j, ENTRY[j]), "="),), point(3, -3)))
    assert zero.holds and zero.mutants.equivalent and not zero.mutants.survivors, "twice 0 is 0"
    assert judge(wrong).holds is None, "at another instance it may hold"
    assert [step["passed"] for step in judge(wrong).steps] == [False]


def test_convexity_is_refuted_only_by_feasible_points_with_an_infeasible_midpoint():
    joint = residual.joint()
    assert judge(joint).holds is False
    near = tuple((name, Fraction(1) if name in "wu" else value) for name, value in joint.other)
    assert judge(replace(joint, other=near)).holds is None, "the midpoint of two equal points is feasible"
    outside = tuple((name, Fraction(5) if name == "w" else value) for name, value in joint.one)
    assert judge(replace(joint, one=outside)).holds is None, "an infeasible point is no counterexample"


def test_a_program_that_is_convex_is_found_so():
    assert judge(ConvexProgram(residual.FIT.program())).holds is True


def test_a_system_is_refuted_only_where_elimination_finds_no_solution():
    unknown = Tensor("p", ())
    system = Solvable(unknown, (Fact("p a_j = 6", as_term(unknown) * ENTRY[j] - 6, "="),), point(2, 3))
    assert judge(system).holds is False
    assert judge(replace(system, point=point(2, 2))).holds is None


def test_one_projection_serves_where_query_and_key_maps_agree():
    system = residual.one_projection()
    values = tuple((t, ((1,),)) for t, _ in system.point.values)
    assert judge(system).holds is False
    assert judge(replace(system, point=replace(system.point, values=values))).holds is None


@pytest.mark.parametrize(
    ("printed", "holds"), [("75.61", False), ("75.64", True), ("75.65", True), ("75.66", False)]
)
def test_an_average_is_refuted_only_beyond_the_rounding_of_the_rows(printed, holds):
    column = Column("Attention-SH", TABLE_9.means(2), Fraction(printed))
    assert judge(Averages((column,))).holds is holds


def test_averages_that_need_the_rounding_of_the_rows_are_named():
    columns = tuple(
        Column(n, TABLE_2.means(k), TABLE_2.average(k)) for k, n in enumerate(("one", "two", "three", "four"))
    )
    assert [c.strict for c in columns] == [True, False, True, False]
    assert "two, four" in judge(Averages(columns)).evidence[0].detail


def test_a_table_keeps_quoted_numbers_apart():
    assert TABLE_1.quoted["FaceDetection"] == Fraction("68.10")
    assert TABLE_1.rows["FaceDetection"][0] == Fraction("68.70")
    assert len(TABLE_1.tasks) == 10


N, D = sp.symbols("N D", positive=True)


def test_a_wrong_count_is_refuted_and_its_mutants_die():
    right = Counted(
        "products",
        2 * N**2 * D + N,
        (N, D),
        (2, 1),
        lambda n, d: ((n, d, n), (n // 2,)),
        lambda n, d: 2 * n * n * d + n,
    )
    assert judge(right).holds is True
    assert judge(right).mutants.killed == judge(right).mutants.tried > 0
    assert judge(replace(right, formula=2 * N**2 * D)).holds is False


def test_a_count_is_read_off_the_routine_and_not_typed():
    """N^2 d (1 + (N - 4)(N - 34)(N - 82)) agrees with N^2 d at every size that is looked at: it must
    not be proved.
    """
    count = Counted(
        "products", 2 * N**2 * D, (N, D), (2, 1), lambda n, d: ((n, d, n),), lambda n, d: 2 * n * n * d
    )
    assert judge(count).proved
    bent = N**2 * D * (2 + (N - 4) * (N - 34) * (N - 82))
    assert judge(replace(count, formula=bent)).holds is False
    assert judge(replace(count, products=lambda n, d: ((n, d + 1, n),))).holds is None
    assert judge(replace(count, products=lambda n, d: ())).holds is None
    assert judge(replace(count, count=lambda n, d: n)).holds is None
    same = (
        (N**2 - 1) / (N - 1) * 2 * N**2 * D / (N + 1)
    )  # no polynomial as it is written, and no other number
    assert judge(replace(count, formula=same)).holds is None
    assert judge(replace(count, formula=same + 1 / N)).holds is False


def test_growth_is_decided_by_the_sign_of_the_slope():
    share = (N + D) / (4 * (N + 4 * D))
    sizes = ((N, (1, 2)), (D, (1, 2)))
    growing = judge(Grows("share", share, N, sizes))
    assert growing.holds is True
    left, right = growing.steps[-1]["latex"].split(" = ")  # the step says of what it is the slope
    assert left == r"\frac{\partial}{\partial N}\left(" + sp.latex(sp.factor(share)) + r"\right)"
    assert right == sp.latex(sp.factor(sp.diff(share, N)))
    assert judge(Grows("share", share, D, sizes)).holds is False
    with_a_share = Grows("with a share", share.subs(N, N * sp.Symbol("rho", positive=True)), N, sizes)
    assert with_a_share.statement_latex().endswith(r"> 0\qquad (D, N, \rho > 0)")  # at rho = 0 it is constant
    assert judge(Grows("constant", share * 0 + 1, N, sizes)).holds is not True
    assert judge(Grows("constant in D", N / (N + 1), D, sizes)).holds is False
    with pytest.raises(Malformed):  # no sizes to look between, where none is given for the symbol itself
        judge(Grows("constant in D", N / (N + 1), D, sizes[:1]))


def test_what_grows_is_shown_as_all_that_is_differentiated() -> None:
    """Without parentheses it read as 1 - y > 0, which is false for y = 2."""
    x, y = sp.symbols("x y", positive=True)
    growing = Grows("g", x - y, x, ((x, (1, 2)), (y, (1, 2))))
    assert judge(growing).proved
    assert growing.statement_latex().startswith(r"\frac{\partial}{\partial x}\left(x - y\right) > 0")


def test_an_average_is_shown_as_what_it_is() -> None:
    """1/3 was shown as equal to 0.3333, a mean of five decimals as the printed one, and a distance of 0.01 as
    too far where 0.01 is allowed.
    """

    def shown(entries: str, printed: str, digits: int) -> tuple[str, str]:
        column = Column("a", tuple(map(Fraction, entries.split())), Fraction(printed), digits)
        finding = judge(Averages((column,)))
        return finding.steps[0]["latex"].partition(r"\sum ")[2], finding.counterexample or ""

    assert shown("0 0 1", "0.33", 2)[0] == r"\approx 0.3333"
    assert shown("1 2", "1.5", 1) == ("= 1.5000", "")
    assert shown("0.00001 0.00002", "0.00005", 5)[0] == "= 0.0000150"
    assert shown("1 1", "1.01", 2)[1].endswith("is 1, printed 1.01; rounding allows less than 0.01")
    assert shown("1 1", "1.04", 2)[1].endswith("is 1, printed 1.04; rounding allows 0.01")
