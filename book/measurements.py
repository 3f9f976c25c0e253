"""Pages from the data files in checks/records: error and bound by family, devices, benchmarks, a measured
model.

The files are written by `python -m checks.scale`, `python -m tests.benchmarks` and `attest measure --json`; a
page says what it was written by and on what, and "not run" where there is no such file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from book.chart import COLOURS, Line, chart
from book.claim_page import number
from book.ledger import Ledger, LedgerError
from book.markup import code, folded, scroll, table, text
from checks.audit import current
from checks.evidence import MEASURED, problem, unsealed

FAMILIES = {
    "Softmax attention": ("nguyen2023.legs.rows.", "bridge."),
    "Optimality certificate of attention as a regression": ("nguyen2023.legs.rows.attention_is_the_fit",),
    "Normalised, scaled, convolved, residual, sparse and linear heads": tuple(
        f"nguyen2023.legs.{m}." for m in ("attentions", "heads", "inputs", "versions")
    ),
    "Singular triplets and explicit features": ("chen2023.",),
    "Layers as gradient descent": ("wang2024.",),
    "Energies": ("farooq2025.",),
}
"""Tensor checks that have the same kind of bound, by the modules of their legs."""
LOOSE = 1e-3
TYPES = ("float64", "float32", "bfloat16")


def folder() -> Path:
    """Where measurements are recorded."""
    return current().records_folder


def _read(name: str) -> dict[str, Any] | None:
    """A data file, if there is one. Raises LedgerError where it is not as it was written."""
    path = folder() / f"{name}.json"
    return _unchanged(path, json.loads(path.read_text("utf8"))) if path.is_file() else None


def _unchanged(path: Path, content: Any) -> dict[str, Any]:
    try:
        return unsealed(MEASURED, content)
    except ValueError as error:
        raise LedgerError(f"{path.name} is not used: {error}") from None


def _runs() -> dict[str, dict[str, Any]]:
    """The data files of `python -m checks.scale`, by name: those that have rows, or say why they have
    none.
    """
    every = ((path, json.loads(path.read_text("utf8"))) for path in sorted(folder().glob("*.json")))
    return {path.stem: _unchanged(path, data) for path, data in every if "rows" in data or "reason" in data}


def _rows() -> list[dict[str, Any]]:
    """The rows of all runs, on whatever device; where two runs have the same part, the later one's."""
    found = {}
    for data in sorted(_runs().values(), key=lambda run: run.get("date", "")):
        for row in data.get("rows", []):
            found[row["leg"], row["dtype"], row["tokens"], row["device"]] = row
    return list(found.values())


def _worst(row: dict[str, Any], proved: bool = False) -> dict[str, Any] | None:
    """The piece of a row's evidence whose error is largest relative to its bound; None where nothing ran.

    proved: only pieces whose bound is proved for rounding errors; others compare energies or bytes.
    """
    ran = [
        e
        for e in row["evidence"]
        if e["bound"] and e["error"] is not None and (not proved or e["grade"] == "certified-float")
    ]
    return max(ran, key=lambda e: e["error"] / e["bound"], default=None)


# ---------------------------------------------------------------- what ran where


def devices(ledger: Ledger) -> str:
    """One row for each run of all tensor checks; a device that was not available is said to be not run."""
    rows = []
    for name, data in _runs().items():
        if data["status"] == "not run":
            rows.append(
                [name.upper(), f"**not run**: {text(data['reason'])}", "", "", "", code(data["command"])]
            )
            continue
        found = data["rows"]
        at = {
            n: [r["seconds"] for r in found if r["tokens"] == n] for n in sorted({r["tokens"] for r in found})
        }
        versions = (
            f"Python {data['python']}, torch {data['torch']}, {data['threads']} threads, load {data['load']}"
        )
        stopped = "" if data["status"] == "done" else ", stopped before its end"
        commits = {str(r.get("commit") or data["commit"] or "") for r in found}  # a run that was gone on with
        rows.append(
            [
                text(f"{data['device']}: {data['name']}"),
                text(versions),
                f"{len({r['leg'] for r in found})} checks, {len(found)} parts{stopped}",
                "; ".join(f"{n:,}: {len(taken)} in {sum(taken):,.0f} s" for n, taken in at.items()),
                f"{max(r['peak_bytes'] for r in found) / 2**30:.2f} GiB",
                ", ".join(map(code, sorted(filter(None, commits)))),
            ]
        )
    if not rows:
        return "There is no data file of the tensor checks: **not run**."
    header = ["Device", "Software", "Ran", "Parts by tokens", "Peak memory", "Commit or command"]
    return scroll(table(header, rows))


# ---------------------------------------------------------------- error and bound, family by family


def _family(leg: str) -> str:
    """The family whose prefix fits best."""
    fits = [(len(p), name) for name, prefixes in FAMILIES.items() for p in prefixes if leg.startswith(p)]
    return max(fits)[1] if fits else "Others"


def families(ledger: Ledger) -> str:
    """Error and bound against the length for each family, with the ratio of every check at every length."""
    rows, parts = _rows(), []
    for family in [*FAMILIES, "Others"]:
        mine = [r for r in rows if _family(r["leg"]) == family]
        if mine:
            parts += [f"### {family}", _family_chart(mine), _family_table(mine)]
    return "\n\n".join(parts) or "There is no data file of the tensor checks: **not run**."


def _nearest(rows: list[dict[str, Any]], dtype: str) -> list[tuple[int, dict[str, Any]]]:
    """At each length the piece of evidence that comes nearest to its proved bound."""
    worst: dict[int, dict[str, Any]] = {}
    for row in rows:
        piece = _worst(row, proved=True) if row["dtype"] == dtype else None
        if piece and (n := row["tokens"]):
            worst[n] = max(worst.get(n, piece), piece, key=lambda e: e["error"] / e["bound"])
    return sorted(worst.items())


def bounds(ledger: Ledger) -> str:
    """The largest error of all checks in units of its bound, over the length."""
    rows = _rows()
    found = {dtype: [(n, e["error"] / e["bound"]) for n, e in _nearest(rows, dtype)] for dtype in TYPES}
    lengths = sorted({n for at in found.values() for n, _ in at})
    if len(lengths) < 2:
        return ""
    lines = [Line(dtype, at, colour) for colour, (dtype, at) in enumerate(found.items())]
    lines.append(Line("the bound", [(n, 1.0) for n in lengths], COLOURS - 1, dashed=True))
    largest = max(ratio for at in found.values() for _, ratio in at)
    count = len({r["leg"] for r in rows if _worst(r, proved=True)})
    said = (
        f"{count} checks on attention tensors of up to {lengths[-1]:,} tokens: at each length the error that "
        f"comes nearest to its proved bound. It is at most {largest:.2g} times the bound."
    )
    return chart(lines, "tokens N", "error over bound", said, said)


def _family_chart(rows: list[dict[str, Any]]) -> str:
    lines, words = [], []
    for colour, dtype in enumerate(TYPES):
        at = _nearest(rows, dtype)
        lines.append(Line(dtype, [(n, e["error"]) for n, e in at], colour))
        lines.append(Line("", [(n, e["bound"]) for n, e in at], colour, dashed=True))
        words += [f"{dtype} at {n:,}: {e['error'] / e['bound']:.2g}" for n, e in at[-1:]]
    caption = "Error (dots) and bound (dashes) of the check that comes nearest to its bound, at each length."
    return chart(lines, "tokens N", "error, bound", f"Error over bound: {'; '.join(words)}", caption)


def _family_table(rows: list[dict[str, Any]]) -> str:
    """Error over bound: a row for each check, number type and device, a column for each length."""
    lengths = sorted({r["tokens"] for r in rows})
    cells: dict[tuple[str, int, str], dict[int, str]] = {}
    reasons: dict[tuple[str, str], None] = {}  # in the order of the rows
    claims = {row["leg"]: row["claims"] for row in rows}
    for row in rows:
        piece = _worst(row)
        shown = number(piece["error"] / piece["bound"]) if piece else "not run"
        if piece and piece["error"] / piece["bound"] < LOOSE:
            shown = f"*{shown}*"
        word, reason = problem(row)
        if word:
            shown = f"**{word}**"
            where = f"{_name(row['leg'])}, {row['dtype']}, {row['device']}, {row['tokens']:,} tokens"
            reasons[word, f"{where}: {reason}"] = None
        reasons |= dict.fromkeys(("not run", e["not_run"]) for e in row["evidence"] if e["not_run"])
        place = row["leg"], TYPES.index(row["dtype"]), row["device"]
        cells.setdefault(place, {})[row["tokens"]] = shown
    body = [
        [_checked(leg, claims[leg]), TYPES[dtype], device, *(at.get(n, "") for n in lengths)]
        for (leg, dtype, device), at in sorted(cells.items())
    ]
    shown = scroll(table(["Check", "Type", "Device", *(f"N = {n:,}" for n in lengths)], body), "numbers")
    notes = "\n".join(f"- {word}: {text(reason)}" for word, reason in reasons)
    return folded(f"Error over bound of {len(claims)} checks", f"{shown}\n\n{notes}" if notes else shown)


def _checked(leg: str, claims: list[str]) -> str:
    """A check's name and the claims that it serves."""
    return f"{text(_name(leg))} ({', '.join(map(code, claims))})"


def _name(leg: str) -> str:
    return leg.rpartition(".")[2].replace("_", " ")


# ---------------------------------------------------------------- cost


def benchmarks(ledger: Ledger) -> str:
    """Ratios to torch's attention with fitted exponents, and the two comparisons of solvers; then the ratios
    on a GPU, where they were measured.
    """
    data, gpu = _read("benchmarks"), _read("benchmarks-gpu")
    if data is None:
        return "The benchmarks were **not run**."
    solvers = [
        "### Singular triplets: block Krylov and svds",
        _routes(data["krylov"], "residual", "Residual"),
        "### Regression: libsvm with the polish and cvxpy",
        _routes(data["regression"], "gap", "Relative gap"),
    ]
    there = ["### On a GPU", *_streams(gpu)] if gpu else []
    return "\n\n".join([*_streams(data), *solvers, *there])


def _streams(data: dict[str, Any]) -> list[str]:
    """What a run was, pictures of its ratios and peaks, and the table of its longest lengths."""
    streams, jobs = data["streams"], data["streams"]["jobs"]
    load = "" if data["load"] is None else f"; the machine's load was {data['load']:.1f} when it began"
    about = (
        f"One run of {code(data['command'])} at commit {code(data['commit'] or 'unknown')} on "
        f"{text(data['name'])}, {data['threads']} threads, torch {text(data['torch'])}; medians of "
        f"{data['repeats']} runs, fewer where they take long, contestants in turns{load}. Width "
        f"{streams['width']}, {streams['dtype']} unless the name says float64."
        + ("" if data["status"] == "done" else " **It was stopped before its end.**")
    )
    slowest = sorted(jobs, key=lambda j: -j["ratio"][-1])
    chosen = [j for j in slowest if j["job"] != jobs[0]["job"]][:: max(1, -(-len(jobs) // COLOURS))]
    times = [
        Line(j["job"], list(zip(j["tokens"], j["ratio"], strict=False)), i) for i, j in enumerate(chosen)
    ]
    peaks = [
        Line(j["job"], [(n, x / 2**20) for n, x in zip(j["memory_tokens"], j["peak_bytes"], strict=True)], i)
        for i, j in enumerate(chosen)
    ]
    rows = [
        [
            text(j["job"]),
            f"{j['tokens'][-1]:,}",
            str(j["runs"][-1]),
            number(j["seconds"][-1]),
            number(j["ratio"][-1]),
            _exponent(j["time_exponent"]),
            f"{j['peak_bytes'][-1] / 2**20:.0f}" if j["peak_bytes"] else "",
            _exponent(j["memory_exponent"]),
        ]
        for j in jobs
    ]
    header = ["Check", "Tokens", "Runs", "Seconds", "Forwards", "Time grows", "Peak MiB", "Memory grows"]
    pictures = [
        chart(
            times,
            "tokens N",
            "forwards",
            "Cost of the checks in forwards",
            "Time in forwards of scaled_dot_product_attention at the same length.",
        ),
        chart(
            peaks,
            "tokens N",
            "MiB",
            "Memory of the checks",
            "Growth of the peak resident size, above torch and the inputs.",
        ),
    ]
    return [about, *pictures, scroll(table(header, rows), "numbers")]


def commands(ledger: Ledger) -> str:
    """What the commands take, first and again, beside the run before."""
    data = _read("commands")
    if data is None:
        return "What the commands take was **not run** here."
    *earlier, last = data["runs"]
    before = {(r["command"], r["turn"]): r["starts"] for run in earlier for r in run["rows"]}
    about = (
        f"Run at commit {code(last['commit'] or 'unknown')} with {last['cores']} cores; the machine's load "
        f"was {last['load']:.1f} "
        "when it began. Starts are starts of Python with SymPy, timed in the same run: only these compare "
        "with earlier runs. "
        "*First* is on an empty cache."
    )
    rows = [
        [
            code(r["command"]),
            r["turn"],
            number(r["wall"]),
            number(r["cpu"]),
            number(r["starts"]),
            number(before[r["command"], r["turn"]]) if (r["command"], r["turn"]) in before else "",
        ]
        for r in last["rows"]
    ]
    header = ["Command", "Run", "Seconds", "Processor seconds", "Starts", "Starts before"]
    return f"{about}\n\n" + scroll(table(header, rows), "numbers")


def _exponent(value: float | None) -> str:
    return "" if value is None else f"$N^{{{value:.2f}}}$"


def _routes(found: list[dict[str, Any]], field: str, heading: str) -> str:
    if not found:
        return "**Not run.**"
    names = list(dict.fromkeys(r["route"] for r in found))
    lines = [
        Line(name, [(r["tokens"], r["seconds"]) for r in found if r["route"] == name], i)
        for i, name in enumerate(names)
    ]
    picture = chart(lines, "tokens N", "seconds", "Seconds of each route", "Seconds of each route, medians.")
    rows = [
        [f"{r['tokens']:,}", text(r["route"]), number(r["seconds"]), number(r["ratio"]), number(r[field])]
        for r in found
    ]
    return f"{picture}\n\n" + scroll(table(["N", "Route", "Seconds", "Ratio", heading], rows), "numbers")


# ---------------------------------------------------------------- a measured model


def measured(ledger: Ledger) -> str:
    """The heads of the small model of `checks.tensors.measure.tiny_model`: a table and three charts."""
    data = _read("measured")
    if data is None:
        return "No model was measured: **not run**."
    heads = data["heads"]
    decay = [
        Line(f"head {h['head']}", list(enumerate(h["spectrum"]["values"], 1)), int(h["layer"])) for h in heads
    ]
    sines = [
        Line(f"head {h['head']}", list(enumerate(sorted(h["singular"]["sines"]), 1)), int(h["layer"]))
        for h in heads
    ]
    rows = [
        [
            h["head"],
            number(h["svr"]["log_c_star"]),
            number(max(h["singular"]["sines"])),
            number(h["singular"]["objective"]),
            number(h["spectrum"]["values"][0]),
            number(h["spectrum"]["stable_rank"]),
            number(h["spectrum"]["entropy_rank"]),
            f"{h['energy']['positive']} / {h['energy']['negative']}",
            "yes" if h["energy"]["unique"] else "no",
            number(h["centering"]["keys"]),
            number(h["centering"]["queries"]),
        ]
        for h in heads
    ]
    header = ["Head", "log C*", "Largest sine", "J", "σ₁", "Stable rank", "Entropy rank"]
    header += ["c_j > 0 / < 0", "One minimiser", "Keys centred", "Queries centred"]
    about = data["about"]
    made = (
        f"Measured in {heads[0]['dtype']} on {text(about['name'])} with torch {text(about['torch'])}, "
        f"{heads[0]['tokens']} tokens."
    )
    shades = "Blue: the first layer; orange: the second."
    return "\n\n".join(
        [
            made,
            scroll(table(header, rows), "numbers"),
            chart(
                decay,
                "rank",
                "singular value",
                "Decay of the singular values of A",
                f"Singular values of A. {shades}",
            ),
            chart(
                sines,
                "column of V, sorted",
                "sine",
                "Angles of V to singular vectors",
                f"Sine of the angle between a column of V and its image under AᵀA. {shades}",
            ),
            _hypotheses(heads),
        ]
    )


def _hypotheses(heads: list[dict[str, Any]]) -> str:
    """Which hypotheses hold for how many heads."""
    claims: dict[tuple[str, str], list[bool | None]] = {}
    for h in heads:
        for found in h["hypotheses"]:
            claims.setdefault((found["claim"], found["words"]), []).append(found["holds"])
    rows = [
        [code(claim), text(words), f"{sum(x is True for x in holds)} of {len(holds)}"]
        for (claim, words), holds in claims.items()
    ]
    return scroll(table(["Claim", "Hypothesis", "Holds for"], rows))
