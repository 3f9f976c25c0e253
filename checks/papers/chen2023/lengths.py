"""What the text says of sequence lengths and of efficiency, against Tables 2, 4, 6 and 7."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, floor

from checks.claim import claim
from checks.kinds.arithmetic import Arithmetic, Figure
from checks.papers.chen2023 import table_data as data
from checks.papers.chen2023.table_data import LRA_LENGTHS, UEA, UEA_HALVED, UEA_LENGTHS, Row
from checks.papers.chen2023.tables import (
    BASE,
    OWN,
    OWN_5,
    PLUS,
    TENTH,
    compare,
    less_time_in_total,
    mean,
    ratio_bounds,
    saving,
    text,
)
from checks.statement import All

LENGTH = dict(zip(UEA, UEA_LENGTHS, strict=True))
RANK_MULTI = {name: 5 if name in UEA_HALVED else 10 for name in UEA}
FEWEST = 20  # the smallest s of the search
HALF = Fraction(1, 2)
BY_LENGTH = sorted(UEA, key=LENGTH.__getitem__)
SHORTEST, LONGEST = BY_LENGTH[:3], BY_LENGTH[-4:]
RANKS = (
    r"rank_multi, the factor of $s$ in $n=\min\{s\cdot\text{rank\_multi},N\}$, is 5 on FaceDetection, "
    "HandWriting, JapaneseVowels, PEMS-SF and SpokenArabicDigits, 10 on the others."
)
LONG = {"WikiText-103": 512, "ImageNet": 197}  # lengths in Section 5 and Appendix B.3


def rows_of_f(name: str, directions: int) -> int:
    """n = min{s rank_multi, N}."""
    return min(directions * RANK_MULTI[name], LENGTH[name])


def _at_most_half(names: Sequence[str]) -> Iterator[Figure]:
    for n in names:
        rows = Fraction(rows_of_f(n, FEWEST))
        yield compare(f"{n}: rows against half of N", rows, "<=", HALF * LENGTH[n])


def _all_tokens() -> Iterator[Figure]:
    for n in SHORTEST:
        yield compare(f"{n}: rows against N", Fraction(rows_of_f(n, FEWEST)), "=", LENGTH[n])


claim(
    "chen2023/prose-n-much-less-than-N",
    "Appendix B.1, UEA",
    "Fewer rows of f(X) than tokens",
    words="f(X) has n = min{s · rank_multi, N} rows, said to be far fewer than N.",
    literal=text(*_at_most_half(UEA), label="n against N"),
    corrected=text(*_at_most_half(LONGEST), *_all_tokens(), label="n against N"),
    correction_words=f"With s = {FEWEST}, on the four data sets with the longest sequences; on the three "
    "with the shortest all tokens are taken.",
    where=r"$n\ll N$ is read as $n\le N/2$, at the smallest $s=20$ of the search, where $n$ is least. "
    + RANKS,
    notes="The paper says it of f(X) on UEA without restriction, for the sake of long sequences.",
)

claim(
    "chen2023/prose-uea-lengths",
    "Appendix B.1, UEA",
    "Lengths of the UEA data sets in the text",
    words="Three lengths are given, and the data sets with rank_multi = 5 are said to be shorter.",
    literal=text(
        *(
            Figure(f"{n}: length in the text and in Table 2", Fraction(said), "=", Fraction(LENGTH[n]), 0)
            for n, said in (("Ethanol", 1751), ("SCP1", 896), ("SCP2", 1152))
        ),
        compare(
            "longest with rank_multi = 5 against the shortest with 10",
            Fraction(max(LENGTH[n] for n in UEA_HALVED)),
            "<",
            min(LENGTH[n] for n in UEA if n not in UEA_HALVED),
        ),
    ),
    where=RANKS,
)


def _longer(lengths: Sequence[int], of: str) -> All:
    """More than half of the data sets of a benchmark, or of both, are longer; and all of LRA."""
    figures = [
        compare(
            f"of {len(lengths)} lengths of {of}, longer than {name}: more than half",
            Fraction(sum(x > n for x in lengths)),
            ">",
            HALF * len(lengths),
        )
        for name, n in LONG.items()
    ]
    return All(text(*figures, label=of), _lra())


def _lra() -> Arithmetic:
    shortest = Fraction(min(LRA_LENGTHS))
    return text(
        *(compare(f"shortest of LRA against {name}", shortest, ">", n) for name, n in LONG.items()),
        label="LRA",
    )


claim(
    "chen2023/prose-uea-lra-longer",
    "Appendix B.3",
    "UEA and LRA have longer sequences than the other tasks",
    words="In general UEA and LRA are said to have longer sequences than WikiText-103 and ImageNet.",
    literal=_longer(UEA_LENGTHS, "UEA"),
    corrected=_longer(UEA_LENGTHS + LRA_LENGTHS, "UEA and LRA"),
    correction_words="Those of LRA are, and more than half of both benchmarks together, but not of UEA by "
    "itself.",
    where="'In general' is read as more than half of the data sets, the shortest length of LRA, '1K', as "
    f"{min(LRA_LENGTHS):,}; the length of D4RL is not given.",
)


LONGER = [name for name in UEA if LENGTH[name] > min(LRA_LENGTHS)]


def _shorter_than_lra(name: str) -> Figure:
    return compare(f"shortest length of LRA against {name}", Fraction(min(LRA_LENGTHS)), ">", LENGTH[name])


claim(
    "chen2023/prose-lra-longer-than-uea",
    "Section 5, LRA",
    "LRA's sequences are longer than those of UEA",
    words="The sequences of LRA are said to be longer than those of the UEA benchmark in Table 2.",
    literal=text(*map(_shorter_than_lra, UEA)),
    corrected=text(*(_shorter_than_lra(name) for name in UEA if name not in LONGER)),
    correction_words=f"But for {' and '.join(LONGER)}, which are longer than Image and Pathfinder.",
    where="'2K', '4K' and '1K' are read as {:,}, {:,} and {:,}.".format(*dict.fromkeys(LRA_LENGTHS)),
)


def _more(model: str, what: str) -> Figure:
    """The mean of the ratios to Trans. on LRA against the ratio on UEA."""
    columns, at = (slice(0, 5), 10) if what == "time" else (slice(5, 10), 11)
    lra = mean(data.TABLE_4_RATIOS[model][columns])
    return compare(
        f"{what}: mean ratio of {model} on LRA against UEA", lra, ">", data.TABLE_2_RATIOS[model][at]
    )


PAIRS = tuple((model, what) for what in ("time", "memory") for model in (OWN, PLUS))

claim(
    "chen2023/prose-longer-more-efficient",
    "Section 5, LRA; Appendix B.3",
    "More gain on the longer sequences of LRA",
    words="The gain of both models over the Transformer is said to be more pronounced on LRA than on UEA.",
    literal=text(*(_more(*pair) for pair in PAIRS)),
    corrected=text(*(_more(*pair) for pair in PAIRS if pair != (PLUS, "memory"))),
    correction_words="For the times of both models and the memory of Primal.; the memory of Primal.+Trans. "
    "gains less on LRA.",
    rests_on=("chen2023/tab2", "chen2023/tab4"),
    notes="Whether the gain grows with the length inside a table: chen2023/prose-gain-with-length.",
    where="Ratios to the Transformer as printed: on UEA those of the average time and of the memory, on LRA "
    "the mean over the five tasks.",
)


LENGTHS_IN_TABLE = {2: UEA_LENGTHS, 4: LRA_LENGTHS}
GAINS = {
    "Table 2, time": (2, data.TABLE_2_RATIOS, slice(0, 10)),
    "Table 4, time": (4, data.TABLE_4_RATIOS, slice(0, 5)),
    "Table 4, memory": (4, data.TABLE_4_RATIOS, slice(5, 10)),
}


def _longer_gains_less(what: str) -> Arithmetic:
    """Pairs of data sets of one table of which the longer has the smaller printed ratio to Trans."""
    number, table, columns = GAINS[what]
    figures = []
    for model in (OWN, PLUS):
        sets = list(zip(LENGTHS_IN_TABLE[number], table[model][columns], strict=True))
        less = sum(n > m and more < fewer for n, more in sets for m, fewer in sets)
        words = f"{what}: pairs of data sets of which the longer has the smaller ratio of {model}"
        figures.append(compare(words, Fraction(less), "=", 0))
    return text(*figures, label="")


claim(
    "chen2023/prose-gain-with-length",
    "Appendix B.3",
    "The longer the sequences, the larger the gain",
    words="Tables 2 and 4 are said to show that the gain in efficiency is the more significant the longer "
    "the sequences are.",
    literal=All(*map(_longer_gains_less, GAINS)),
    corrected=_longer_gains_less("Table 4, time"),
    correction_words="In the times of Table 4 no longer data set gains less; in the times of Table 2 and in "
    "the memory of Table 4 some do.",
    rests_on=("chen2023/tab2", "chen2023/tab4"),
    where="The gain is the ratio to the Transformer as printed, of each data set for each of the two models; "
    "a printed ratio that is smaller was smaller before rounding. Table 2 has no memory of single data sets.",
)

claim(
    "chen2023/prose-imagenet-not-long",
    "Appendix B.3",
    "Some UEA data sets are longer than ImageNet's sequences",
    words="The 197 tokens of an image are said to be fewer than some UEA data sets have.",
    literal=text(
        compare(
            "data sets of Table 2 that are longer than 197",
            Fraction(sum(n > LONG["ImageNet"] for n in UEA_LENGTHS)),
            ">",
            0,
        )
    ),
)


def _layers() -> Arithmetic:
    """Two layers of Primal-Attention against one: the printed memory, or the mean over the data sets."""
    settings = (
        ("Table 2, printed memory", data.TABLE_2, slice(11, 12)),
        ("Table 4, mean time", data.TABLE_4, slice(0, 5)),
        ("Table 4, mean memory", data.TABLE_4, slice(5, 10)),
    )
    figures = []
    for what, table, columns in settings:
        two, one = (mean(table[model][columns]) for model in (OWN, PLUS))
        figures.append(compare(f"{what}: Primal. against Primal.+Trans.", two, "<", one))
    return text(*figures, label="more layers")


POLICIES = ("Medium-Expert", "Medium", "Medium-Replay")
ON_D4RL = {
    policy: [(data.TABLE_6[OWN_5][at], data.TABLE_6["DT"][at]) for at in (2 * k, 2 * k + 1)]
    for k, policy in enumerate(POLICIES)
}


def _table_7() -> Arithmetic:
    deit, own = data.TABLE_7A.values()
    words = data.TABLE_7B
    settings = (
        ("ImageNet time", own[2], deit[2]),
        ("ImageNet memory", own[3], deit[3]),
        ("WikiText-103 time", words[PLUS][1], words[BASE][1]),
        ("WikiText-103 memory", words[PLUS][2], words[BASE][2]),
    )
    figures = (
        compare(f"Table 7, {what}: Primal.+ against its baseline", new, "<", old)
        for what, new, old in settings
    )
    return text(*figures, label="over the baselines of Table 7")


def _table_6() -> Arithmetic:
    figures = (
        compare(f"Table 6, {policy} time: Primal.+DT against DT", own, "<", other)
        for policy, ((own, other), _) in ON_D4RL.items()
    )
    return text(*figures, label="over the baseline of Table 6")


def _left_open() -> Arithmetic:
    """Where the printed numbers are equal, whether unrounded ones can be less."""
    memory = (
        compare(
            f"Table 6, {policy}: least memory that rounds to that of Primal.+DT against the greatest for DT",
            own - TENTH / 2,
            "<",
            other + TENTH / 2,
        )
        for policy, (_, (own, other)) in ON_D4RL.items()
    )
    return text(less_time_in_total("Table 2, "), *memory, label="what unrounded numbers may give")


claim(
    "chen2023/prose-efficiency-gain-tables",
    "Appendix B.3",
    "Efficiency gains in Tables 2, 4, 6 and 7",
    words="Tables 2, 4, 6 and 7 are said to show gains over canonical baselines, larger with more layers of "
    "Primal-Attention.",
    literal=All(_layers(), _table_7(), _table_6(), _left_open()),
    corrected=All(_layers(), _table_7()),
    correction_words="Table 6 shows a loss of time. Its memory and the average time of Table 2 are printed "
    "as equal, which leaves a gain open. The rest holds.",
    rests_on=("chen2023/tab2", "chen2023/tab4", "chen2023/tab6", "chen2023/tab7"),
    where="Primal. has two layers of Primal-Attention in Tables 2 and 4, Primal.+Trans. one. The gains over "
    "the Transformer in Tables 2 and 4 are judged with these tables.",
)


def _gain(table: dict[str, Row], at: int, digits: int = 1) -> tuple[Fraction, Fraction]:
    """The least and the greatest ratio of Trans. to Primal.+Trans. in one column."""
    return ratio_bounds(table[BASE][at], table[PLUS][at], digits)


def _on_lra(columns: range, digits: int) -> Fraction:
    """The least mean over LRA of the ratios of Trans. to Primal.+Trans. that rounding allows."""
    return mean([_gain(data.TABLE_4, at, digits)[0] for at in columns])


_DEIT, _OWN_DEIT = data.TABLE_7A.values()
GAIN = {
    "time": (
        {"UEA": _gain(data.TABLE_2, 10)[0], "LRA": _on_lra(range(5), 1)},
        {
            **{f"D4RL {policy}": ratio_bounds(dt, own)[1] for policy, ((own, dt), _) in ON_D4RL.items()},
            "WikiText-103": _gain(data.TABLE_7B, 1)[1],
            "ImageNet": ratio_bounds(_DEIT[2], _OWN_DEIT[2])[1],
        },
    ),
    "memory": (
        {"UEA": _gain(data.TABLE_2, 11)[0], "LRA": _on_lra(range(5, 10), 2)},
        {
            "WikiText-103": _gain(data.TABLE_7B, 2)[1],
            "ImageNet": ratio_bounds(_DEIT[3], _OWN_DEIT[3])[1],
        },
    ),
}
"""Of each quantity the least ratios on UEA and LRA and the greatest on the others, as rounding allows."""


def _gains_more(what: str) -> Arithmetic:
    """Three decimals of each ratio, rounded against what is compared."""
    long, short = GAIN[what]
    figures = (
        compare(
            f"{what}: least ratio of Primal.+ on {one} against the greatest on {other}",
            Fraction(floor(low * 1000), 1000),
            ">",
            Fraction(ceil(high * 1000), 1000),
        )
        for one, low in long.items()
        for other, high in short.items()
    )
    return text(*figures, label="")


claim(
    "chen2023/prose-gain-uea-lra",
    "Appendix B.3",
    "More gain on UEA and LRA than on the other tasks",
    words="The gain of Primal.+ over its baseline is said to be more significant on UEA and LRA than on "
    "D4RL, WikiText-103 and ImageNet.",
    literal=All(*map(_gains_more, GAIN)),
    rests_on=("chen2023/tab2", "chen2023/tab4", "chen2023/tab6", "chen2023/tab7"),
    where="The gain is the ratio of the baseline to Primal.+, of the average time and of the memory on UEA, "
    "of the mean of the five ratios on LRA; least and greatest as the rounding of printed numbers allows.",
    notes="The memory on D4RL is printed as 0.3 for both, which leaves every ratio from "
    f"{' to '.join(map(str, ratio_bounds(*ON_D4RL[POLICIES[0]][1])))} open; it is not compared.",
)


claim(
    "chen2023/prose-imagenet-efficiency",
    "Appendix B.3",
    "On ImageNet the efficiency is not improved significantly",
    role="empirical",
    words="In Table 7(a) Primal.+DeiT is said not to improve the efficiency of DeiT significantly.",
    reason="Table 7(a) prints {} per cent less time and {} per cent less memory, and no spread by which that "
    "would be significant or not.".format(*map(saving, _DEIT[2:], _OWN_DEIT[2:])),
    rests_on=("chen2023/tab7",),
)


def _not_superior_on_wikitext() -> Arithmetic:
    """How many times and memories of other models in Table 7(b) Primal.+Trans. does not stay below."""
    own = data.TABLE_7B[PLUS]
    others = [row for model, row in data.TABLE_7B.items() if model != PLUS]
    count = Fraction(sum(own[at] >= row[at] for row in others for at in (1, 2)))
    total = 2 * len(others)
    return text(
        compare(f"of {total} times and memories those that Primal.+Trans. is not below", count, ">", 0)
    )


claim(
    "chen2023/prose-wikitext-not-superior",
    "Appendix B.3",
    "On WikiText-103 the efficiency is not always superior",
    words="As 512 tokens are not long, the efficiency of Primal.+Trans. on WikiText-103 is said not to be "
    "superior always.",
    literal=_not_superior_on_wikitext(),
    rests_on=("chen2023/tab7",),
    where="The times and memories are those of the other models in Table 7(b).",
)
