"""Long runs are cut into parts by leg and length: what is finished is kept, and what is left is forecast."""

from dataclasses import replace

import pytest

from checks import leg as legs
from checks.claim import Claim, Options
from checks.commands import cli
from checks.evidence import Evidence
from checks.leg import LADDER, LINEAR, rungs, up_the_ladder
from checks.run import cache, verify
from checks.run import lengths as ladder
from checks.run.lengths import Climb, Forecast, Parts, ascend, names_ladder, one_by_one
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
    return Evidence("tensor", "certified-float", True, name, 1.0, 2.0, n)


def quadratic(assumptions, options):
    return [evidence(n, "quadratic") for n in legs.ladder(options)]


def linear(assumptions, options):
    return [evidence(n, "linear") for n in legs.ladder(options, linear=True)]


def plain(assumptions, options):
    return [evidence(options.max_tokens, "plain")]


def by_helper(assumptions, options):
    return quadratic(assumptions, options)


@up_the_ladder(4096, "too long")
def decorated(n, options):
    return [evidence(n, "decorated")]


def climb(leg, parts=None, options=WHOLE, claim="p/eq1"):
    return Climb(claim, 0, leg, None, options, parts or Parts())


def lengths(leg, options=WHOLE):
    return [e.tokens for e in climb(leg, options=options).all()]


def test_lengths():
    assert rungs(Options(max_tokens=4096)) == [1024, 4096] and rungs(Options(max_tokens=512)) == [512]
    assert rungs(WHOLE, linear=True) == [*LADDER, LINEAR]
    assert LINEAR not in rungs(Options(max_tokens=32768), linear=True)


def test_a_leg_runs_once_at_each_length_and_gives_what_it_gives_alone():
    assert lengths(quadratic) == list(LADDER) and lengths(linear) == [*LADDER, LINEAR]
    assert climb(quadratic).all() == quadratic(None, WHOLE)
    assert lengths(decorated, replace(WHOLE, max_tokens=32768)) == [1024, 4096, 32768]
    assert [e.not_run for e in climb(decorated).all()] == [None, None, "too long", "too long"]


def test_a_leg_without_lengths_runs_once_as_it_is(tmp_path):
    assert lengths(plain) == [LADDER[-1]] and CALLS == [("plain", LADDER[-1])]
    climb(plain, Parts(tmp_path)).all()
    assert not list(tmp_path.iterdir())


def test_which_legs_may_climb_is_seen_without_running_them():
    assert [names_ladder(leg) for leg in (quadratic, linear, decorated)] == [True] * 3
    assert not names_ladder(plain) and not names_ladder(print) and CALLS == []


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


def test_legs_made_in_a_function_are_kept_for_their_claim_alone(tmp_path):
    def made(name):
        def leg(assumptions, options):
            return [evidence(n, name) for n in legs.ladder(options)]

        return leg

    first = climb(made("a"), Parts(tmp_path), claim="p/a").all()
    second = climb(made("b"), Parts(tmp_path), claim="p/b").all()
    assert {e.detail for e in first} == {"a"} and {e.detail for e in second} == {"b"}


def test_a_damaged_part_is_run_again(tmp_path):
    parts = Parts(tmp_path)
    found = climb(quadratic, parts, Options()).all()
    for file in tmp_path.iterdir():
        file.write_text(file.read_text()[:40])
    assert climb(quadratic, parts, Options()).all() == found and len(CALLS) == 4


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
    legs = [climb(quadratic), climb(linear, claim="p/eq2"), climb(quadratic, claim="p/eq3"), climb(plain)]
    seen = list(ascend(legs, one_by_one))
    assert [n for _, n in CALLS] == sorted(n for _, n in CALLS) or CALLS[2][0] == "plain"
    assert CALLS.count(("quadratic", 1024)) == 1 and ("linear", LINEAR) in CALLS
    assert seen[-1].seconds_left == 0 and seen[-1].done == seen[-1].parts
    assert all(0 <= p.done <= p.parts for p in seen)


def test_a_leg_that_raises_stops_alone(tmp_path):
    BROKEN[4096] = ValueError("no")
    assert [p.tokens for p in ascend([climb(quadratic, Parts(tmp_path))], one_by_one)] == [1024, 4096]


def part(seconds, linear):
    return ladder.Part([], True, linear, seconds)


def test_a_forecast_grows_as_the_leg_does():
    forecast = Forecast()
    assert forecast.seconds("new", 2048) == pytest.approx(2**forecast.usual)
    for n in (1024, 4096):
        forecast.learn("quadratic", n, part(n**2 / 2**20, False))
        forecast.learn("linear", n, part(n / 2**10, True))
    assert forecast.seconds("quadratic", 32768) == pytest.approx(1024) and not forecast.linear("quadratic")
    assert forecast.seconds("linear", 32768) == pytest.approx(32) and forecast.linear("linear")
    forecast.learn("other", 1024, part(4.0, False))  # grows as the others do in the mean
    assert forecast.seconds("other", 4096) == pytest.approx(4 * 4**1.5)
    assert forecast.seconds("new", 1024) == pytest.approx(2)


def test_fixed_costs_do_not_make_a_forecast_absurd():
    forecast = Forecast()
    for n in (1024, 4096, 32768):
        forecast.learn("leg", n, part(1 + 3 * (n / 32768) ** 2, False))
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


def test_no_paper_has_lengths_of_its_own():
    """A `ladder` beside this one would not be noticed, and its leg not be run length by length."""
    from checks.run.registry import load

    named = {
        leg.__globals__.get("ladder", legs.ladder)
        for c in load().values()
        for leg in c.legs
        if names_ladder(leg)
    }
    assert named == {legs.ladder}
