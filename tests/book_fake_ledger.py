"""A ledger as the book may meet it, invented for the tests: every verdict, severity, grade and hard text."""

from __future__ import annotations

from typing import Any

WORDS = "The two sides agree for every number of tokens $N$ and every width $D$."

LONG = (
    r"\mathcal{L} = \frac{1}{2} \sum_{d=1}^{D_v} \lVert w_d \rVert^2 + C \sum_{j=1}^{N} \sum_{d=1}^{D_v}"
    r" \left(\xi_j(d) + \tilde\xi_j(d)\right) - \sum_{j=1}^{N} \sum_{d=1}^{D_v} \left(\eta_j(d) \xi_j(d) +"
    r" \tilde\eta_j(d) \tilde\xi_j(d)\right) - \sum_{j=1}^{N} \sum_{d=1}^{D_v} \alpha_j(d) \left(\epsilon +"
    r" \xi_j(d) - y_j(d) + w_d^\top \frac{\Phi(k_j)}{h(k_j)} + b(d)\right) - \sum_{j=1}^{N} \sum_{d=1}^{D_v}"
    r" \tilde\alpha_j(d) \left(\epsilon + \tilde\xi_j(d) + y_j(d) - w_d^\top \frac{\Phi(k_j)}{h(k_j)}"
    r" - b(d)\right)"
)
SOFTMAX = r"f(x) = \sum_{j=1}^{N} \operatorname{softmax}\left(\frac{x^\top k_j}{\sqrt{D}}\right) v_j"
PROGRAM = r"""\begin{aligned}
\underset{W, \xi, \tilde\xi}{\text{minimise}}\quad & \tfrac12 \lVert W \rVert_F^2
  + C \sum_{j=1}^{N} \sum_{d=1}^{D_v} \left(\xi_j(d) + \tilde\xi_j(d)\right) \\
\text{subject to}\quad & y_j(d) - w_d^\top \Phi(k_j)/h(k_j) - b(d) \le \epsilon + \xi_j(d), \\
& w_d^\top \Phi(k_j)/h(k_j) + b(d) - y_j(d) \le \epsilon + \tilde\xi_j(d), \\
& \xi_j(d),\ \tilde\xi_j(d) \ge 0
\end{aligned}"""


def _piece(leg: str, grade: str, **fields: Any) -> dict[str, Any]:
    blank = dict.fromkeys(
        ("error", "bound", "tokens", "dtype", "device", "backend", "seconds", "peak_bytes", "not_run")
    )
    return {**blank, "leg": leg, "grade": grade, "passed": True, **fields}


def _tensor_pieces() -> list[dict[str, Any]]:
    """Errors over four lengths and three number types, and a leg that could not run."""
    pieces = []
    for power, tokens in enumerate((1024, 4096, 32768, 131072)):
        for dtype, unit in (("float64", 1.1e-16), ("float32", 6e-8), ("bfloat16", 3.9e-3)):
            error = unit * (1.3 + 0.4 * power)
            pieces.append(
                _piece(
                    "tensor",
                    "certified-float",
                    error=error,
                    bound=unit * 14 * (power + 1),
                    tokens=tokens,
                    dtype=dtype,
                    device="cpu",
                    backend="streamed",
                    seconds=0.02 * 4.0**power,
                    peak_bytes=40_000_000 * (power + 1),
                )
            )
    return [
        *pieces,
        _piece(
            "tensor",
            "certified-float",
            passed=None,
            tokens=131072,
            dtype="float32",
            device="cuda",
            not_run="no CUDA device on this machine",
        ),
    ]


def _evidence(verdict: str) -> list[dict[str, Any]]:
    if verdict == "empirical":
        return [
            _piece("tensor", "measured", passed=None, not_run="needs the ImageNet data and 600 GPU hours")
        ]
    return [
        _piece("derivation", "exact-symbolic", seconds=0.41, backend="sympy"),
        _piece("exact", "exact-rational", error=0, seconds=0.0123, backend="flint"),
        _piece(
            "solver",
            "interval",
            error=3.1e-13,
            bound=1e-11,
            seconds=1.2,
            backend="clarabel | active-set polish",
        ),
        _piece(
            "tensor",
            "sampled",
            error=2.0e-3,
            tokens=4096,
            dtype="float32",
            device="cpu",
            seconds=2.0,
            detail="mean of 200 draws",
        ),
        _piece("tensor", "measured", passed=None, seconds=1.5, detail="settles nothing here"),
    ]


def record(number: str, reference: str, title: str, verdict: str = "proved", **fields: Any) -> dict[str, Any]:
    """One record with every field of the ledger; `fields` replace defaults."""
    paper = number.split("/")[0]
    holds = {"proved": True, "confirmed": True, "corrected": False, "refuted": False}.get(verdict)
    step = {
        "title": "Expand",
        "latex": r"\partial_{w_d} \mathcal{L} = w_d - \sum_{j=1}^{N} \beta_j(d)\, \Phi(k_j)/h(k_j)",
        "reason": "linear in $w_d$ but for the first term",
        "grade": "exact-symbolic",
        "passed": True,
    }
    blank: dict[str, Any] = {
        "id": number,
        "paper": paper,
        "reference": reference,
        "title": title,
        "kind": "Identity",
        "verdict": verdict,
        "literal_holds": holds,
        "assumptions": ["rows of A sum to one"],
        "rests_on": [],
        "severity": None,
        "correction": None,
        "counterexample": None,
        "evidence": _evidence(verdict),
        "mutants": {"tried": 14, "killed": 12, "equivalent": 2},
        "statement": {
            "latex": r"a_{ij} = \frac{\exp(q_i^\top k_j)}{\sum_l \exp(q_i^\top k_l)}",
            "words": WORDS,
        },
        "corrected": None,
        "where": "Here $K \\in \\mathbb{R}^{N \\times D}$ holds the keys as **rows**.",
        "steps": [
            step,
            {**step, "title": "Set to zero", "latex": r"w_d = \sum_j \beta_j(d)\, \Phi(k_j)/h(k_j)"},
        ],
        "knobs": ["svr.loss"],
        "engines": ["checks/engine/judge.py"],
        "declaration": 'claim("`id`")',
        "source": f"checks/{paper}/theorem1.py:42",
        "command": f"attest verify {number}",
        "notes": "",
        "picture": None,
    }
    return {**blank, **fields}


def _chain() -> list[dict[str, Any]]:
    """The claims up to Theorem 1, which the written chapter names."""
    base, eq = "nguyen2023/", "Eq. ({})"
    return [
        record(base + "eq1", "Eq. (1)", "softmax attention, matrix form", "definition", steps=[], knobs=[]),
        record(base + "eq2", "Eq. (2)", "softmax attention, one query", rests_on=[base + "eq1"]),
        record(
            base + "eq4",
            "Eq. (4)",
            "regression function with scaled features",
            "definition",
            statement={
                "latex": r"f(x) = W \frac{\Phi(x)}{h(x)} + b",
                "words": "A linear model of scaled features.",
            },
        ),
        record(
            base + "eq5",
            "Eq. (5)",
            "SVR primal program",
            kind="Dual",
            rests_on=[base + "eq4"],
            statement={"latex": PROGRAM, "words": "The program is convex and its minimiser in $W$ unique."},
        ),
        record(
            base + "eq6",
            "Eq. (6)",
            "Lagrangian of (5)",
            rests_on=[base + "eq5"],
            statement={"latex": LONG, "words": "The Lagrangian has one multiplier a constraint."},
        ),
        *[
            record(f"{base}eq{n}", eq.format(n), about, kind="Stationary", rests_on=[base + "eq6"])
            for n, about in (
                (7, "stationarity in the bias"),
                (8, "stationarity in $w_d$"),
                (9, "stationarity in the slacks"),
            )
        ],
        record(base + "eq10", "Eq. (10)", "support vector expansion", rests_on=[base + "eq8", base + "eq4"]),
        record(
            base + "eq11",
            "Eq. (11)",
            "expansion with $h$ the kernel sum",
            "confirmed",
            rests_on=[base + "eq10"],
        ),
        record(
            base + "eq12",
            "Eq. (12)",
            "feature map of the exponential kernel",
            "corrected",
            severity="misprint",
            corrected={
                "latex": "l_t = \\binom{D+t-1}{t} \\\\\n\n"
                "a_l^{(t)} = \\prod_{i=1}^{D} \\frac{x_i^{n_i}}{\\sqrt{n_i!}}",
                "words": "The block of degree $t$ has $\\binom{D+t-1}{t}$ entries.",
            },
            counterexample="D = 2, t = 1\nprinted block: 3 entries\nmonomials:     2 entries",
        ),
        record(base + "eq13", "Eq. (13)", "the exponential of an inner product as a sum over monomials"),
        record(
            base + "eq14",
            "Eq. (14)",
            "the expansion becomes softmax attention",
            rests_on=[base + "eq11", base + "eq12", base + "eq13"],
            statement={"latex": SOFTMAX, "words": WORDS},
        ),
        record(base + "eq15", "Eq. (15)", "statement of Theorem 1", "definition", rests_on=[base + "thm1"]),
        record(
            base + "thm1",
            "Theorem 1",
            "softmax attention is a support vector expansion",
            kind="Dual",
            rests_on=[base + "eq14", base + "rem2", base + "eq10"],
            evidence=_evidence("proved") + _tensor_pieces(),
            statement={"latex": SOFTMAX, "words": WORDS},
            knobs=["svr.loss", "svr.bias", "svr.feature_map"],
        ),
    ]


def _remarks() -> list[dict[str, Any]]:
    base = "nguyen2023/"
    return [
        record(
            base + "rem1",
            "Remark 1",
            "bounds and product of the dual variables",
            "corrected",
            severity="condition",
            rests_on=[base + "eq9"],
            corrected={
                "latex": r"\epsilon > 0 \;\Rightarrow\; \alpha_j(d)\,\tilde\alpha_j(d) = 0",
                "words": "The product vanishes if $\\epsilon > 0$.",
            },
            counterexample="$N = D = D_v = 1$, $\\epsilon = 0$, $C = 2$: "
            "$\\alpha = \\tilde\\alpha = 1$ is optimal.",
        ),
        record(
            base + "rem2",
            "Remark 2",
            "with $b = 0$ the centering constraint can be ignored",
            rests_on=[base + "eq7"],
        ),
        record(
            base + "rem4",
            "Remark 4",
            "attention and a layer are primal and dual of each other",
            "confirmed",
            rests_on=[base + "thm1", base + "rem1"],
        ),
        record(
            base + "prose-converse",
            "Section 6",
            "when attention is exactly the SVR solution",
            kind="Extremum",
            rests_on=[base + "thm1"],
        ),
        record(
            base + "eq94",
            "Eq. (94)",
            "Attention-BN rewritten with key-key similarity",
            "refuted",
            severity="substance",
            rests_on=[base + "eq14"],
            mutants={"tried": 9, "killed": 8, "equivalent": 0, "survivors": ["swap i | j in *K*"]},
            counterexample="$N = 2$, $D = 1$: left $\\tfrac{1}{3}$, right $\\tfrac{2}{5}$.",
        ),
        record(
            base + "prose-table1",
            "Table 1",
            "Attention-BN beats the baseline",
            "empirical",
            kind="Arithmetic",
            steps=[],
        ),
    ]


def _others() -> list[dict[str, Any]]:
    """Other papers, and texts that are not to be taken for markup."""
    nasty = r"a_b*c* <b>bold</b> [link](x) `code` #tag | bar {role}`x` $x_1$ & 50 % \alpha"
    return [
        record("chen2023/eq2", "Eq. (2)", "asymmetric kernel", "definition"),
        record(
            "chen2023/lem9.2",
            "Lemma 9.2",
            nasty,
            "corrected",
            severity="substance",
            rests_on=["chen2023/eq2"],
            statement={"latex": r":= \lVert K \rVert \\ & \text{on two lines}", "words": nasty},
            counterexample=nasty,
            corrected={"latex": r"\max_{W} \; J(W) = \infty", "words": "The problem is unbounded above."},
            assumptions=[nasty],
            knobs=["ksvd.feature_map"],
            notes="A *note* in Markdown with $x^2$.",
        ),
        record(
            "chen2023/thm3.1",
            "Theorem 3.1",
            "stationary solutions are singular triplets",
            "confirmed",
            rests_on=["chen2023/lem9.2", "chen2023/eq99"],
            kind="Spectral",
        ),
        record(
            "chen2023/eq94",
            "Eq. (94)",
            "KKT conditions",
            "corrected",
            severity="misprint",
            rests_on=["chen2023/thm3.1"],
        ),
        record("wang2024/eq5", "Eq. (5)", "one step of functional descent", rests_on=[]),
        record(
            "wang2024/eq9",
            "Eq. (9)",
            "softmax head as a descent step",
            "refuted",
            severity="condition",
            rests_on=["wang2024/eq5"],
            counterexample="1. At N = 3 the two differ by 1/7.",
        ),
        record(
            "wang2024/prose-layers",
            "Section 3",
            "more layers, more steps",
            "unsettled",
            kind="",
            statement={},
            words="Each layer is one step.",
            evidence=[],
            mutants={"tried": 0},
        ),
        record(
            "farooq2025/eq98", "Eq. (98)", "energy descends along the update rule", "confirmed", kind="Limit"
        ),
        record(
            "bridge/svr-ksvd",
            "Bridge 1",
            "expansion and KSVD score agree",
            rests_on=["nguyen2023/thm1", "chen2023/thm3.1"],
        ),
    ]


def records() -> list[dict[str, Any]]:
    """The whole ledger, in the order of the papers."""
    return _chain() + _remarks() + _others()
