"""Instances are the same everywhere, a shorter one begins a longer one, and every row can be sampled."""

import numpy as np
import torch

from checks.tensors.core.inputs import make_instance, sampled_rows


def test_a_shorter_instance_begins_a_longer_one():
    short, long = make_instance(1500, 8, seed=3), make_instance(4000, 8, seed=3)
    assert all(torch.equal(a, b[:1500]) for a, b in zip(short, long, strict=True))


def test_any_range_of_tokens_is_made_alone():
    part, whole = make_instance(700, 8, 5, start=900), make_instance(1600, 8, 5)
    assert all(torch.equal(a, b[900:]) for a, b in zip(part, whole, strict=True))


def test_seeds_and_heads_differ():
    two = make_instance(16, 4, heads=(2,))
    assert torch.equal(two.k[0], make_instance(16, 4).k)
    assert not torch.equal(two.k[0], two.k[1])
    assert not torch.equal(two.k[0], make_instance(16, 4, seed=1).k)


def test_laws_are_those_documented():
    q, k, v = make_instance(8192, 64)
    assert abs(float(k.mean())) < 0.01 and abs(float(k.std()) - 1) < 0.01
    np.testing.assert_allclose(v.mean(0)[:4], [1, -1, 1, -1], atol=0.05)
    tau = (q * k).sum(-1) / k.square().sum(-1)
    assert tau[3::4].min() > 0.7 and tau[0::4].max() < 1.3
    weight = torch.softmax(q[3::256] @ k.T / 8, -1)[torch.arange(32), torch.arange(3, 8192, 256)]
    assert weight.max() > 0.5  # retrieval tokens attend to themselves


def test_sampled_rows_are_distinct_and_have_both_ends():
    for n, count in ((2, 2), (5, 9), (1000, 1), (1000, 2), (1000, 40)):
        rows = sampled_rows(n, count, seed=5)
        assert len(rows) == min(n, count) and rows.dtype == torch.long
        assert torch.equal(rows, rows.unique()) and int(rows[-1]) == n - 1
    assert not torch.equal(sampled_rows(1000, 40, 5), sampled_rows(1000, 40, 6))
