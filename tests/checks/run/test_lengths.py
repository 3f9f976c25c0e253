"""Long runs are cut into parts by leg and length: what is finished is kept, and what is left is forecast."""

from dataclasses import replace
from functools import wraps

import pytest

from checks.claim import Claim, Options
from checks.commands import cli
from checks.evidence import Evidence
from checks.leg import LADDER, LINEAR, Climbing, Legs, climbing, lengths, loaded
from checks.run import cache, verify
from checks.run import lengths as ladder
from checks.run.lengths import Climb, Forecast, Parts, ascend, one_by_one
from checks.statement import Identity
from checks.tensors.measure import memory as measure_memory
from derivations.calculus.index import Tensor
from derivations.calculus.term import as_term

WHOLE = Options(max_tokens=LADDER[-1])
CALLS: list[tuple[str, int]] = []


@pytest.fixture(autouse=True)
def fresh():
    CALLS.clear()
    BROKEN.clear()


BROKEN: dict[int, BaseException] = {}


def evidence(n, name):
    CALLS.append((name, n))
    if n in BROKEN:
        raise BROKEN[n]
    return Evidence("tensor", "certified-float", True, name, error=1.0, bound=2.0, tokens=n)


@climbing()
def quadratic(n, assumptions, options):
    return [evidence(n, "quadratic")]


@climbing(linear=True)
def linear(n, assumptions, options):
    return evidence(n, "linear")


def plain(assumptions, options):
    return [evidence(options.max_tokens, "plain")]


@climbing(longest=4096, why="too long")
def bounded(n, assumptions, options):
    return evidence(n, "bounded")


@climbing(refuses=lambda assumptions, options: "not so" if options.dtype == "bfloat16" else "")
def particular(n, assumptions, options):
    return evidence(n, "particular")


def climb(leg, parts=None, options=WHOLE, claim="p/eq1"):
    return Climb(claim, 0, leg, None, options, parts or Parts())


def tokens(leg, options=WHOLE):
    return [e.tokens for e in climb(leg, options=options).all()]


def test_lengths():
    assert lengths(Options(max_tokens=4096)) == [1024, 4096] and lengths(Options(max_tokens=512)) == [512]
    assert lengths(WHOLE, linear=True) == [*LADDER, LINEAR]
    assert LINEAR not in lengths(Options(max_tokens=32768), linear=True)


def test_a_leg_runs_once_at_each_length_and_gives_what_it_gives_alone():
    assert tokens(quadratic) == list(LADDER) and tokens(linear) == [*LADDER, LINEAR]
    both = climb(quadratic).all(), quadratic(None, WHOLE)
    one, other = ([replace(e, seconds=0.0) for e in found] for found in both)
    assert one == other
    assert tokens(bounded, replace(WHOLE, max_tokens=32768)) == [1024, 4096, 32768]
    assert [e.not_run for e in climb(bounded).all()] == [None, None, "too long", "too long"]


def test_a_leg_without_lengths_runs_once_for_all_claims_that_name_it(tmp_path):
    assert tokens(plain) == [LADDER[-1]]
    first, second = (climb(plain, Parts(tmp_path), claim=f"p/{name}").all() for name in "ab")
    assert first == second and CALLS == [("plain", LADDER[-1])] * 2
    climb(plain, Parts(tmp_path), Options(1024)).all()
    assert CALLS[-1] == ("plain", 1024)  # a leg may ask how long the run's sequences are


def test_a_leg_says_where_it_is_not_run():
    assert [e.not_run for e in particular(None, Options(1024))] == [None]
    assert [e.not_run for e in particular(None, Options(1024, "bfloat16"))] == ["not so"]


def test_a_leg_is_loaded_when_it_is_needed():
    named = Legs("checks.papers.bridge.legs").rows
    assert isinstance(loaded(named), Climbing) and loaded(quadratic) is quadratic
    with pytest.raises(ImportError):
        Legs("checks.papers.no_such").leg.load()
    with pytest.raises(AttributeError):
        Legs("checks.papers.bridge.legs").no_such.load()


def test_a_killed_run_goes_on_behind_the_last_finished_length(tmp_path):
    BROKEN[32768] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        climb(quadratic, Parts(tmp_path)).all()
    BROKEN.clear()
    CALLS.clear()
    assert [e.tokens for e in climb(quadratic, Parts(tmp_path)).all()] == list(LADDER)
    assert [n for _, n in CALLS] == [32768, 131072]


def test_a_longer_run_takes_the_lengths_of_a_shorter_one(tmp_path):
    climb(quadratic, Parts(tmp_path), Options()).all()
    CALLS.clear()
    climb(quadratic, Parts(tmp_path), Options(max_tokens=32768), claim="p/other").all()
    assert [n for _, n in CALLS] == [32768]


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"dtype": "float32"}, {"device": "cuda"}], ids=lambda c: next(iter(c))
)
def test_other_options_are_other_parts(tmp_path, change):
    climb(quadratic, Parts(tmp_path), Options()).all()
    CALLS.clear()
    climb(quadratic, Parts(tmp_path), replace(Options(), **change)).all()
    assert [n for _, n in CALLS] == [1024, 4096]


def test_what_other_modules_do_to_those_that_a_leg_reaches_makes_other_parts(monkeypatch):
    """An implementation that another module registers is not mentioned by the leg: only its effect counts."""
    before = climb(quadratic).content()
    monkeypatch.setattr(ladder, "elsewhere", lambda: "@kind.register")
    assert climb(quadratic).content() != before


def test_legs_made_in_a_function_are_kept_for_their_claim_alone(tmp_path):
    def made(name):
        return Climbing(lambda n, assumptions, options: evidence(n, name))

    first = climb(made("a"), Parts(tmp_path), claim="p/a").all()
    second = climb(made("b"), Parts(tmp_path), claim="p/b").all()
    assert {e.detail for e in first} == {"a"} and {e.detail for e in second} == {"b"}


def factory(answer):
    @wraps(once)
    def leg(assumptions, options):
        return [Evidence("solver", "certified-float", answer, str(answer), wrong=1)]

    return leg


def once(assumptions, options):
    return [Evidence("solver", "certified-float", True, "once", wrong=1)]


class Holder:
    __slots__ = ("answer",)

    def __init__(self, answer):
        self.answer = answer

    def leg(self, assumptions, options):
        return factory(self.answer)(assumptions, options)


LEGS = {
    "wrapped": (factory(True), factory(False), once),
    "lambdas": (lambda a, o: factory(True)(a, o), lambda a, o: factory(False)(a, o)),
    "methods": (Holder(True).leg, Holder(False).leg),
}


@pytest.mark.parametrize("legs", LEGS.values(), ids=LEGS.keys())
def test_no_leg_is_given_what_another_found(tmp_path, legs):
    parts = Parts(tmp_path)
    for _ in range(2):
        for claim in ("p/eq1", "p/eq2"):
            climbs = [Climb(claim, n, leg, None, Options(), parts) for n, leg in enumerate(legs)]
            found = [climb.all()[0].passed for climb in climbs]
            assert found == [True, False, True][: len(legs)]


def test_a_damaged_part_is_run_again(tmp_path):
    parts = Parts(tmp_path)
    found = climb(quadratic, parts, Options()).all()
    for file in tmp_path.iterdir():
        file.write_text(file.read_text()[:40])
    again = climb(quadratic, parts, Options()).all()
    assert [replace(e, seconds=0) for e in again] == [replace(e, seconds=0) for e in found]
    assert len(CALLS) == 4


def test_a_cache_that_cannot_be_written_is_one_complaint_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(verify, "load", lambda: {CLAIM.id: CLAIM})
    (tmp_path / "file").write_text("")
    with pytest.raises(cache.UnwritableCache, match="cannot write to the cache"):
        list(verify.verify([CLAIM], Options(max_tokens=32768), cache=cache.Cache(tmp_path / "file")))
    assert CALLS == []


def test_a_part_that_cannot_be_stored_is_still_found(tmp_path):
    (tmp_path / "file").write_text("")
    assert len(climb(quadratic, Parts(tmp_path / "file")).all()) == len(LADDER)


def test_all_legs_climb_together_and_shared_ones_once():
    legs = [climb(quadratic), climb(linear, claim="p/eq2"), climb(quadratic, claim="p/eq3")]
    seen = list(ascend(legs, one_by_one))
    assert [n for _, n in CALLS] == sorted(n for _, n in CALLS)
    assert CALLS.count(("quadratic", 1024)) == 1 and ("linear", LINEAR) in CALLS
    assert seen[-1].seconds_left == 0 and seen[-1].done == seen[-1].parts
    assert all(0 <= p.done <= p.parts for p in seen)


def test_a_leg_that_raises_stops_alone(tmp_path):
    BROKEN[4096] = ValueError("no")
    assert [p.tokens for p in ascend([climb(quadratic, Parts(tmp_path))], one_by_one)] == [1024, 4096]


def part(seconds):
    return ladder.Part([], seconds)


def test_a_forecast_grows_as_the_leg_does():
    forecast = Forecast(linear=frozenset({"linear"}))
    assert forecast.seconds("new", 2048) == pytest.approx(2**forecast.usual)
    for n in (1024, 4096):
        forecast.learn("quadratic", n, part(n**2 / 2**20))
        forecast.learn("linear", n, part(n / 2**10))
    assert forecast.seconds("quadratic", 32768) == pytest.approx(1024)
    assert forecast.seconds("linear", 32768) == pytest.approx(32)
    forecast.learn("other", 1024, part(4.0))  # grows as the others do in the mean
    assert forecast.seconds("other", 4096) == pytest.approx(4 * 4**1.5)
    assert forecast.seconds("new", 1024) == pytest.approx(2)


def test_fixed_costs_do_not_make_a_forecast_absurd():
    forecast = Forecast()
    for n in (1024, 4096, 32768):
        forecast.learn("leg", n, part(1 + 3 * (n / 32768) ** 2))
    assert 48 / 4 < forecast.seconds("leg", 131072) < 2 * 49


s, t = as_term(Tensor("s")), as_term(Tensor("t"))
CLAIM = Claim("p/eq1", "Eq. (1)", "One", lambda a: Identity(s + t, t + s), "", legs=(quadratic, plain))


def test_verify_climbs_first_and_then_judges(tmp_path, monkeypatch):
    monkeypatch.setattr(verify, "load", lambda: {CLAIM.id: CLAIM})
    told = []
    cache = verify.Cache(tmp_path)
    ((record, stored),) = verify.verify([CLAIM], Options(max_tokens=32768), cache=cache, climbing=told.append)
    assert [e.tokens for e in record.evidence if e.leg == "tensor"] == [1024, 4096, 32768, 32768]
    assert [p and p.tokens for p in told] == [1024, 4096, 32768, None] and not stored
    assert sorted(CALLS) == sorted([("quadratic", n) for n in LADDER[:3]] + [("plain", 32768)])


def test_what_a_leg_raises_is_in_the_record(tmp_path, monkeypatch):
    monkeypatch.setattr(verify, "load", lambda: {CLAIM.id: CLAIM})
    BROKEN[32768] = ValueError("not enough memory")
    ((record, _),) = verify.verify([CLAIM], Options(max_tokens=32768), cache=cache.Cache(tmp_path))
    assert record.verdict == "proved"
    assert ["not enough memory" in (e.not_run or "") for e in record.evidence].count(True) == 2


def test_without_a_cache_nothing_is_left_and_nothing_runs_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(verify, "load", lambda: {CLAIM.id: CLAIM})
    list(verify.verify([CLAIM], Options(max_tokens=32768)))
    assert CALLS.count(("quadratic", 32768)) == 1


def test_lengths_that_do_not_fit_are_one_line_and_exit_2(monkeypatch, capsys):
    monkeypatch.setattr(measure_memory, "available_bytes", lambda device: 1 << 30)
    assert cli.main(["verify", "nguyen2023/eq1", "--max-tokens", "131072"]) == 2
    assert "tensor checks up to 131072 tokens need about" in capsys.readouterr().err
