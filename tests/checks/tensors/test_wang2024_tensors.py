"""The transformers of wang2024 as torch modules: shapes, gradients, readings, and layers against descent."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from checks.claim import ROOT, Options
from checks.papers.wang2024.legs import tensors as legs
from checks.papers.wang2024.legs import tensors as tensor_legs
from checks.tensors.core.arrays import TensorError
from checks.tensors.functional_descent import layers as descent_layers
from checks.tensors.functional_descent import steps as descent_steps
from checks.tensors.functional_descent.features import Features, features
from checks.tensors.functional_descent.kernels import PARAMETERS, Kernel
from checks.tensors.functional_descent.layers import DescentTransformer, Reading, TrainedTransformer, codes
from checks.tensors.functional_descent.steps import Descent, Task, check_steps, descend, make_task, trial
from checks.tensors.systems.row import Case

KERNELS = tuple(PARAMETERS)
CONSTANT = tuple(k for k in KERNELS if k not in ("linear", "cosine"))
MERCER = ("linear", "cosine", "polynomial", "rbf", "laplacian", "chi_squared", "exponential", "softmax")


def data(n: int = 7, k: int = 3, d: int = 2, classes: int = 3, seed: int = 0) -> tuple[torch.Tensor, ...]:
    """Positive covariates, so that every kernel is defined; normal outcomes; queries."""
    g = torch.Generator().manual_seed(seed)
    x, q = (torch.rand(m, d, generator=g, dtype=torch.float64) + 0.1 for m in (n, k))
    return x, torch.randn(n, classes - 1, generator=g, dtype=torch.float64), q


def functional_update(
    kernel: Kernel, x: torch.Tensor, y: torch.Tensor, q: torch.Tensor, rate: float, steps: int, bias: bool
) -> torch.Tensor:
    """Equation (5) from its own words, on dense Gram matrices of the covariates: f at the queries."""
    n = len(x)
    gram, cross = kernel(x, x).detach() + bias, kernel(x, q).detach() + bias
    f, g = torch.zeros_like(y), torch.zeros(len(q), y.shape[1]).double()
    scale = rate if kernel.name == "softmax" else rate / n
    if kernel.name == "softmax" and bias:
        gram, cross = gram - 1 + 1 / n, cross - 1 + 1 / n
    for _ in range(steps):
        g = g + scale * cross @ (y - f)
        f = f + scale * gram @ (y - f)
    return g


# ---------------------------------------------------------------- the designed transformer


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("d", "classes", "layers"), [(2, 3, 1), (3, 2, 3), (1, 5, 2)])
def test_its_layers_are_the_functional_updates(
    name: str, bias: bool, d: int, classes: int, layers: int
) -> None:
    if bias and name not in CONSTANT:
        pytest.skip("no constant head")
    x, y, q = data(d=d, classes=classes)
    kernel = Kernel(name)
    model = DescentTransformer(classes, d, kernel, layers, rates=0.3, bias=bias)
    found = model(x, y, q)
    assert found.shape == (3, classes - 1)
    expected = functional_update(kernel, x, y, q, 0.3, layers, bias)
    assert torch.allclose(found, expected, rtol=0, atol=1e-13)
    assert not torch.allclose(expected, functional_update(kernel, x, y, q, 0.31, layers, bias), atol=1e-4)


def test_its_matrices_are_the_printed_ones() -> None:
    model = DescentTransformer(3, 2, Kernel("rbf"), rates=torch.tensor([[0.5, 0.25]]), bias=True)
    (one, divided), (two, _) = model.heads(0, 10)
    assert torch.equal(one.query, torch.diag(torch.tensor([1.0, 1, 0, 0]).double())) and divided
    assert torch.equal(one.key, one.query)
    assert torch.equal(one.value, torch.diag(torch.tensor([0, 0, -0.5, -0.25]).double()))
    assert torch.equal(two.value, one.value) and not two.query.any() and not two.key.any()
    full = DescentTransformer(3, 2, Kernel("rbf"), rates=0.9, jacobian="full").heads(0, 10)[0][0]
    assert torch.allclose(full.value[2:, 2:], -0.1 * torch.tensor([[2.0, -1], [-1, 2]]).double())


def test_each_layer_and_each_class_may_have_its_own_rate() -> None:
    x, y, q = data()
    kernel, rates = Kernel("rbf"), torch.tensor([[0.2, 0.5], [0.7, 0.1]]).double()
    found = DescentTransformer(3, 2, kernel, 2, rates=rates)(x, y, q)
    for c in range(2):  # the components do not mix, so each is a problem of two categories
        f, g = torch.zeros(7, 1).double(), torch.zeros(3, 1).double()
        for rate in rates[:, c]:
            left = y[:, c : c + 1] - f
            f, g = f + rate / 7 * kernel(x, x).detach() @ left, g + rate / 7 * kernel(x, q).detach() @ left
        assert torch.allclose(found[:, c : c + 1], g, atol=1e-14)
    shared = DescentTransformer(3, 2, kernel, 2, rates=torch.tensor([0.2, 0.7]))(x, y, q)
    assert torch.allclose(
        shared[:, 0], DescentTransformer(3, 2, kernel, 2, rates=rates[:, :1])(x, y, q)[:, 0]
    )


@pytest.mark.parametrize(
    ("jacobian", "classes", "order"), [("diagonal", 3, 1), ("full", 3, 2), ("full", 2, 3)]
)
def test_categorical_layers_approximate_the_cross_entropy_to_their_order(
    jacobian: str, classes: int, order: int
) -> None:
    x, _, q = data(12)
    y = codes(torch.arange(12) % classes, classes)
    errors = []
    for rate in (1e-2, 1e-3):
        # the printed rates are α times the derivative of the softmax at 0
        own = rate * (classes - 1) / classes**2 if jacobian == "diagonal" else rate
        model = DescentTransformer(classes, 2, Kernel("rbf"), 3, rates=own, bias=True, jacobian=jacobian)
        plain = DescentTransformer(classes, 2, Kernel("rbf"), rates=rate, bias=True)
        f = descent_steps.latent_steps(Task(x, y, q), plain, 3)[-1][12:].detach()
        h = torch.softmax(torch.nn.functional.pad(f, (1, 0)), 1)[:, 1:]
        errors.append(float((model(x, y, q, 1 / classes).detach() - h).abs().max()))
    assert abs(np.log10(errors[0] / errors[1]) - order) < 0.1


@pytest.mark.parametrize("name", CONSTANT)
def test_the_second_head_gives_the_mean_for_every_kernel_that_is_constant_at_zero(name: str) -> None:
    x, y, q = data()
    with_bias, without = (DescentTransformer(3, 2, Kernel(name), bias=b)(x, y, q) for b in (True, False))
    assert torch.allclose(with_bias - without, y.mean(0).expand(3, 2))


def test_batches_and_many_queries_at_once_change_nothing() -> None:
    model = DescentTransformer(3, 2, Kernel("softmax"), 2, rates=0.5)
    parts = [data(seed=s) for s in range(4)]
    x, y, q = (torch.stack(p) for p in zip(*parts, strict=True))
    batched = model(x, y, q)
    assert batched.shape == (4, 3, 2)
    for k, (a, b, c) in enumerate(parts):
        one_by_one = torch.cat([model(a, b, c[m : m + 1]) for m in range(3)])
        assert torch.allclose(batched[k], one_by_one, atol=1e-14)


def test_the_start_of_categories_is_the_prediction_without_steps() -> None:
    x, _, q = data()
    y = codes(torch.arange(7) % 3, 3)
    none = DescentTransformer(3, 2, Kernel("rbf"), rates=0.0)(x, y, q, 1 / 3)
    assert torch.allclose(none, torch.full_like(none, 1 / 3))
    assert torch.equal(codes(torch.tensor([0, 1, 2]), 3), torch.tensor([[0.0, 0], [1, 0], [0, 1]]).double())


def test_a_query_may_enter_with_an_empty_slot() -> None:
    x, _, q = data()
    y = codes(torch.arange(7) % 3, 3)
    for slot in (False, True):
        model = DescentTransformer(3, 2, Kernel("rbf"), 2, rates=0.6, reading=Reading(empty_slot=slot))
        assert torch.allclose(
            model(x, y, q, 1 / 3), DescentTransformer(3, 2, Kernel("rbf"), 2, rates=0.6)(x, y, q, 1 / 3)
        )
        assert torch.equal(
            model.states(x, y, q, 1 / 3)[0][-1, 2:],
            torch.full((2,), 0.0 if slot else -1 / 3, dtype=torch.float64),
        )


# ---------------------------------------------------------------- the trained transformer


def test_the_trained_one_can_be_the_designed_one() -> None:
    x, y, q = data()
    designed = DescentTransformer(3, 2, Kernel("rbf"), 2, rates=0.7, bias=True)
    trained = TrainedTransformer(3, 2, Kernel("rbf"), 2, 2)
    with torch.no_grad():
        for layer in range(2):
            for h, (w, _) in enumerate(designed.heads(layer, 7)):
                trained.matrices[layer, h] = torch.stack([w.query, w.key, w.value, w.project])
    assert torch.allclose(trained(x, y, q), designed(x, y, q), atol=1e-14)
    assert trained.matrices.shape == (2, 2, 4, 4, 4)


@pytest.mark.parametrize("name", KERNELS)
def test_gradients(name: str) -> None:
    x, y, q = data(4, 2)
    designed = DescentTransformer(3, 2, Kernel(name), 2, rates=0.4, bias=name in CONSTANT)
    trained = TrainedTransformer(3, 2, Kernel(name), 2, 2, generator=torch.Generator().manual_seed(1), deviation=0.5)  # fmt: skip
    if name == "chi_squared":  # projections of either sign meet its poles
        trained.matrices.data.abs_()
    for model in (designed, trained):
        names = [n for n, p in model.named_parameters() if p.requires_grad]

        def value(
            *parts: torch.Tensor, model: torch.nn.Module = model, names: list[str] = names
        ) -> torch.Tensor:
            given = dict(zip(names, parts, strict=True))
            return torch.func.functional_call(model, given, (x, y.abs() + 1, q, -0.5))

        start = tuple(p.detach().clone().requires_grad_() for p in model.parameters() if p.requires_grad)
        assert start and torch.autograd.gradcheck(value, start)


def test_a_frozen_kernel_is_not_trained_and_the_one_given_still_is() -> None:
    model = TrainedTransformer(3, 2, kernel := Kernel("rbf"))
    assert [n for n, p in model.named_parameters() if p.requires_grad] == ["matrices"]
    assert kernel.sigma.requires_grad


def test_the_second_head_over_the_queries_gives_less_than_the_mean() -> None:
    x, y, q = data()
    kernel = Kernel("softmax", axis="queries")
    with_bias, without = (DescentTransformer(3, 2, kernel, bias=b)(x, y, q) for b in (True, False))
    assert torch.allclose(with_bias - without, (y.mean(0) * 7 / 10).expand(3, 2))


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "make",
    [
        lambda: Kernel("gauss"),
        lambda: Kernel("softmax", axis="rows"),
        lambda: Kernel("rbf", gamma=1.0),
        lambda: DescentTransformer(1, 2, Kernel("rbf")),
        lambda: DescentTransformer(3, 2, Kernel("linear"), bias=True),
        lambda: DescentTransformer(3, 2, Kernel("sigmoid", c=0.0), bias=True),
        lambda: DescentTransformer(3, 2, Kernel("rbf"), 2, rates=torch.ones(3)),
        lambda: DescentTransformer(3, 2, Kernel("rbf"), rates=torch.ones(1, 3)),
        lambda: DescentTransformer(3, 2, Kernel("rbf"), jacobian="half"),
        lambda: TrainedTransformer(3, 2, Kernel("rbf"), heads=0),
        lambda: DescentTransformer(3, 4, Kernel("rbf"))(*data()),
        lambda: DescentTransformer(3, 2, Kernel("rbf"))(data(7)[0], data(6)[1], data()[2]),
        lambda: DescentTransformer(3, 2, Kernel("rbf"))(data()[0][None], *data()[1:]),
        lambda: DescentTransformer(3, 2, Kernel("rbf"))(*data()[:2], data()[2][None]),
        lambda: DescentTransformer(3, 2, Kernel("rbf"))(*data()[:2], data()[2][0]),
        lambda: DescentTransformer(3, 2, Kernel("rbf"))(*(part.float() for part in data())),
        lambda: features(Kernel("sigmoid"), 2),
        lambda: features(Kernel("exponential", rate=-1.0), 2),
        lambda: features(Kernel("polynomial", c=-1.0), 2),
        lambda: features(Kernel("rbf", sigma=0.05), 2),
        lambda: features(Kernel("rbf", sigma=0.0), 2),
        lambda: features(Kernel("exponential", rate=60.0), 2),
        lambda: features(Kernel("laplacian", sigma=0.0), 2),
        lambda: features(Kernel("chi_squared", gamma=1e-8), 2),
        lambda: features(Kernel("laplacian"), 2).phi(torch.tensor([[0.123, 0.0]]).double()),
    ],
)
def test_unusable_input_is_refused(make: Any) -> None:
    with pytest.raises(TensorError):
        make()


# ---------------------------------------------------------------- features


@pytest.mark.parametrize("name", MERCER)
def test_features_give_the_kernel_to_rounding(name: str) -> None:
    kernel = Kernel("exponential" if name == "softmax" else name)
    phi = features(kernel, 2)
    x = phi.covariates(40, 2, torch.Generator().manual_seed(0))
    rows = phi.phi(x)
    assert rows.shape == (40, phi.width)
    difference = (rows @ rows.T - kernel(x, x).detach()).abs().max()
    assert difference <= phi.slack + 1e-14 * phi.size
    assert (rows.abs() @ rows.abs().T).max() <= phi.size * (1 + 1e-12)
    assert not phi.lowest or kernel(x, x).min() >= phi.lowest > 0


# ---------------------------------------------------------------- layers against descent


@pytest.mark.parametrize("name", MERCER)
@pytest.mark.parametrize("n", [5, 300])
def test_layers_are_steps_in_the_parameters(name: str, n: int) -> None:
    values = {"rate": 0.5} if "rate" in PARAMETERS[name] else {"sigma": 2.0} if name == "rbf" else {}
    bias = name in CONSTANT and name != "softmax"
    record = check_steps(trial(Kernel(name, **values), n, bias=bias, queries=8))
    assert record.passed and len(record.mutants) >= 9
    assert 0 < record.worst.bound < 1e-7


@pytest.mark.parametrize("settings", [{"categorical": True, "classes": 4}, {"entropy": True, "classes": 2}])
def test_categories(settings: dict[str, Any]) -> None:
    record = check_steps(trial(Kernel("polynomial"), 200, bias=True, steps=5, **settings))
    assert record.passed and len(record.comparisons) == 5


def test_a_kernel_that_is_not_that_of_the_features_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    other = features(Kernel("rbf", sigma=1.0 + 1e-9), 2)
    monkeypatch.setattr(descent_steps, "features", lambda kernel, d: other)
    assert not check_steps(trial(Kernel("rbf"), 100, bias=True)).passed


@pytest.mark.parametrize("change", ["rate", "value", "query"])
def test_layers_with_a_wrong_matrix_are_found(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    right = DescentTransformer.heads

    def wrong(self: DescentTransformer, layer: int, count: int) -> list:
        (w, divide), *rest = right(self, layer, count)
        if change == "rate":
            w = replace(w, value=w.value * (1 + 1e-8))
        if change == "value":  # the outcomes of two classes are exchanged
            w = replace(w, value=w.value.roll(1, 1) if self.classes > 2 else -w.value)
        if change == "query":  # the outcomes enter the kernel
            w = replace(w, query=torch.eye(self.size).double(), key=torch.eye(self.size).double())
        return [(w, divide), *rest]

    monkeypatch.setattr(DescentTransformer, "heads", wrong)
    assert not check_steps(trial(Kernel("polynomial"), 100, bias=True)).passed


ROWS = (legs.SQUARED_LOSS, *legs.ONE_HEAD, *legs.TWO_HEADS, legs.CATEGORICAL, legs.LATENT, legs.SOFTMAX)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.backend)
def test_every_row_notices_a_wrong_rate(row, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(100, None, Options())
    assert all(e.passed for e in row.evidence("descent", case))
    right = DescentTransformer.heads

    def wrong(self: DescentTransformer, layer: int, count: int) -> list:
        (w, divide), *rest = right(self, layer, count)
        return [(replace(w, value=w.value * (1 + 1e-6)), divide), *rest]

    monkeypatch.setattr(DescentTransformer, "heads", wrong)
    assert not any(e.passed for e in row.evidence("descent", case))


def test_no_block_of_weights_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    forward = Kernel.forward

    def spy(self: Kernel, keys: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        sizes.append(keys.shape[-2] * queries.shape[-2])
        return forward(self, keys, queries)

    monkeypatch.setattr(Kernel, "forward", spy)
    check_steps(trial(Kernel("linear"), 3000, steps=1, queries=4))
    assert len(sizes) > 1 and max(sizes) * 8 <= descent_layers.BLOCK_BYTES


def test_a_layer_keeps_to_memory_that_grows_with_the_length() -> None:
    """The peak of a process of its own: 8,000 x 8,000 weights would be 0.5 GiB."""
    program = (
        "import torch\n"
        "from checks.tensors.core.arrays import peak_bytes\n"
        "from checks.tensors.functional_descent.kernels import Kernel\n"
        "from checks.tensors.functional_descent.layers import DescentTransformer\n"
        "cpu = torch.device('cpu')\n"
        "x = torch.rand(8000, 2, dtype=torch.float64)\n"
        "model, before = DescentTransformer(3, 2, Kernel('linear')), peak_bytes(cpu)\n"
        "with torch.no_grad():\n"
        "    model(x, x, x[:4]), model.states(x, x, x[:4])\n"
        "print((peak_bytes(cpu) - before) // 2**20)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert int(run.stdout) < 200


def test_the_softmax_over_the_queries_refuses_what_does_not_fit() -> None:
    model = DescentTransformer(2, 1, Kernel("softmax", axis="queries"))
    x = torch.zeros(8193, 1).double()
    with pytest.raises(TensorError, match="at most 8192"):
        model(x, x, x[:1])


@pytest.mark.parametrize(
    "leg",
    [
        tensor_legs.squared_loss_steps,
        tensor_legs.one_head,
        tensor_legs.two_heads,
        tensor_legs.categorical_steps,
        tensor_legs.latent_steps,
        tensor_legs.softmax_steps,
    ],
)
def test_legs_pass_and_say_what_they_ran(leg: Any) -> None:
    found = leg(None, Options(max_tokens=256))
    assert found and all(e.passed and e.tokens == 256 and e.error <= e.bound for e in found)


# ---------------------------------------------------------------- readings: which of them is gradient descent


def small(kernel: Kernel) -> tuple[Features, Task]:
    phi = features(kernel, 2)
    return phi, make_task(phi, 12, 2, 3, queries=1)


def after(model: DescentTransformer, task: Task) -> torch.Tensor:
    return model(task.x, task.y, task.queries, task.start).detach()


def test_a_query_that_is_a_key_is_fitted_to_its_placeholder() -> None:
    kernel = Kernel("rbf", sigma=2.0)
    phi, task = small(kernel)
    how = Descent(3, 0.25, True)
    masked, unmasked = (
        after(
            DescentTransformer(3, 2, kernel, 3, rates=0.5, bias=True, reading=Reading(query_is_key=q)), task
        )
        for q in (False, True)
    )
    on_examples = descend(task, phi, how)[-1][-1:]
    on_both = descend(descent_steps._extra_query(task), phi, how)[-1][-1:]
    assert torch.allclose(masked, on_examples, atol=1e-13)
    assert torch.allclose(unmasked, on_both, atol=1e-13)
    assert (unmasked - on_examples).abs().max() > 1e-3


def test_softmax_over_the_keys_descends_on_the_weighted_loss_and_divided_again_at_another_rate() -> None:
    kernel = Kernel("softmax", rate=0.5)
    phi, task = small(kernel)
    steps = {rate: descend(task, phi, Descent(2, rate, loss="weighted"))[-1][-1:] for rate in (0.5, 0.5 / 12)}
    plain, divided = (
        after(DescentTransformer(3, 2, kernel, 2, rates=0.5, reading=Reading(divide=again)), task)
        for again in (False, True)
    )
    assert torch.allclose(plain, steps[0.5], atol=1e-13)
    assert torch.allclose(divided, steps[0.5 / 12], atol=1e-13)
    assert (divided - plain).abs().max() > 1e-2


def test_softmax_over_the_queries_descends_on_a_loss_that_depends_on_the_queries() -> None:
    kernel = Kernel("softmax", axis="queries", rate=0.5)
    phi, task = small(Kernel("softmax", rate=0.5))
    model = DescentTransformer(3, 2, kernel, 2, rates=0.5)
    found = after(model, task)
    rows, here = phi.phi(task.x), phi.phi(task.queries)
    total = (rows @ torch.cat([rows, here]).T).sum(1)  # the kernel sum of each example over all positions
    w = torch.zeros(2, phi.width).double().requires_grad_()
    for _ in range(2):
        loss = (((task.y - rows @ w.T) ** 2).sum(1) / total).sum() / 2
        (slope,) = torch.autograd.grad(loss, w)
        w = (w - 0.5 * slope).detach().requires_grad_()
    assert torch.allclose(found, here @ w.detach().T, atol=1e-13)
    more = model(task.x, task.y, torch.cat([task.queries, task.x[:3]]), 0.0)[:1]
    assert (more - found).abs().max() > 1e-3, "another set of queries gives another prediction"
    over_keys = descend(task, phi, Descent(2, 0.5, loss="weighted"))[-1][-1:]
    assert (found - over_keys).abs().max() > 1e-3


def test_both_width_conventions_descend_each_in_its_own_space() -> None:
    doubled, plain = Kernel("rbf", sigma=2.0, two_sigma=True), Kernel("rbf", sigma=2.0)
    phi, task = small(doubled)
    found = after(DescentTransformer(3, 2, doubled, 3, rates=0.5), task)
    assert torch.allclose(found, descend(task, phi, Descent(3, 0.25))[-1][-1:], atol=1e-13)
    other = features(plain, 2)
    assert (found - descend(task, other, Descent(3, 0.25))[-1][-1:]).abs().max() > 1e-4
    wider = Kernel("rbf", sigma=2.0 * 2**0.5)
    assert torch.allclose(doubled(task.x, task.x), wider(task.x, task.x))


def test_the_example_in_the_book_runs() -> None:
    page = (ROOT / "book" / "python.md").read_text()
    (example,) = [block for block in page.split("```") if "DescentTransformer(" in block]
    names: dict[str, Any] = {}
    exec(example.removeprefix("python\n"), names)
    assert names["h"].shape == (5, 2)
    same = names["trained"](names["x"], codes(names["labels"], 3), names["queries"], start=1 / 3)
    assert same.shape == (5, 2) and same.requires_grad
