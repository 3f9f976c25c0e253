"""Shared out over ranks, the checks give the values of one rank to the last bit; a lost rank is reported."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from checks.tensors.core import fused, stream
from checks.tensors.core.distributed import LostRank, Ranks, losses_noticed, sharded, strip_height
from checks.tensors.core.inputs import make_instance


@pytest.fixture(autouse=True)
def one_thread():
    """As torchrun sets it: with several, a product's bits depend on how its rows fall to the threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Alone(Ranks):
    """One rank of several whose collectives only note what it would send."""

    def __init__(self, rank, size):
        super().__init__(rank, size)
        object.__setattr__(self, "sent", [])

    def gather(self, mine, rows, strip):
        self.sent.append(mine)
        return torch.nn.functional.pad(mine, (0, 0, 0, rows - mine.shape[-2]), value=1.0)

    def add(self, words):
        self.sent.append(words.clone())
        return words


def sent(size, call):
    """What each of `size` ranks would contribute to the first collective of a call."""
    found = []
    for rank in range(size):
        alone = Alone(rank, size)
        with sharded(alone):
            call()
        found.append(alone.sent[0])
    return found


@pytest.mark.parametrize("rows", [1, 64, 1024, 4097, 100_000])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_shares_cover_every_row_once_in_whole_strips(rows, size):
    strip = strip_height(rows)
    shares = [Ranks(rank, size).share(rows, strip) for rank in range(size)]
    assert [r for share in shares for r in range(rows)[share]] == list(range(rows))
    assert all(share.start % strip == 0 or share.start == rows for share in shares)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_rows_have_the_bits_of_the_plain_engine(dtype, size):
    q, k, v = make_instance(1500, 32, dtype=dtype)
    plain = stream.attend(q, k, v, magnitude=True)
    parts = sent(size, lambda: stream.attend(q, k, v, magnitude=True))
    sums = torch.cat(parts, -2)
    assert torch.equal(sums[..., :-1] / sums[..., -1:], torch.cat([plain.out, plain.magnitude], -1))


def test_all_ranks_shift_if_one_query_needs_it():
    q, k, v = make_instance(1500, 32)
    q[3] *= 400  # only the first rank has a query that needs row maxima subtracted
    plain = stream.attend(q, k, v)
    assert plain.shifted and not stream.attend(q[700:], k, v).shifted
    sums = torch.cat(sent(2, lambda: stream.attend(q, k, v)), -2)
    assert torch.equal(sums[..., :-1] / sums[..., -1:], plain.out)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_transpose_sums_do_not_depend_on_the_number_of_ranks(dtype):
    q, k, u = make_instance(1100, 16, dtype=dtype)
    log_sum = stream.logsumexp_rows(q, k)

    def call():
        return stream.transpose_product(q, k, u, log_sum=log_sum)[0]

    words = [sum(sent(size, call)) for size in (1, 2, 3, 16)]
    assert all(torch.equal(words[0], each) for each in words)
    with sharded(Ranks()):
        once = call()
    exact = torch.softmax(q.double() @ k.double().T * 16**-0.5, 1).T @ u.double()
    unit = torch.finfo(u.dtype).eps
    assert float((once - exact).abs().max()) < 100 * unit * float(exact.abs().max())
    assert float((once - call()).abs().max()) < 100 * unit * float(exact.abs().max())


@pytest.mark.parametrize("factor", [1e-200, 1e150, 0.0])
def test_transpose_sums_of_any_size_keep_their_digits(factor):
    q, k, u = make_instance(1100, 8)
    plain = stream.transpose_product(q, k, u * factor)[0]
    with sharded(Ranks()):
        assert torch.allclose(stream.transpose_product(q, k, u * factor)[0], plain, rtol=1e-12, atol=0)


def test_small_entries_keep_their_digits_beside_large_ones():
    q, k, u = make_instance(1100, 8)
    u[:, 0] *= 1e-12
    with sharded(Ranks()):
        found = stream.transpose_product(q, k, u)[0]
    assert torch.allclose(found, stream.transpose_product(q, k, u)[0], rtol=1e-12, atol=0)


def test_the_kernel_has_the_bits_of_one_process():
    q, k, v = make_instance(2000, 32, dtype="float32")
    parts = sent(2, lambda: fused.attention(q, k, v))
    assert torch.equal(torch.cat([p.reshape(-1, 32) for p in parts]), fused.attention(q, k, v).out)


def test_sharing_ends_with_its_block_even_after_an_error():
    with pytest.raises(ZeroDivisionError), sharded(Ranks(0, 2)):
        assert stream.sharing_now() is not None
        raise ZeroDivisionError
    assert stream.sharing_now() is None


def test_sharing_reaches_no_other_thread():
    """A check that runs beside a shared one, in the same process, is not shared out."""
    q, k, v = make_instance(1500, 16)
    with sharded(Alone(0, 2)), ThreadPoolExecutor(1) as beside:
        alone = beside.submit(lambda: (stream.sharing_now(), stream.attention(q, k, v))).result()
    assert alone[0] is None and torch.equal(alone[1], stream.attention(q, k, v))


def test_the_engines_are_the_same_functions_inside():
    """Nothing is replaced at run time: what another module imported before is shared out as well."""
    before = stream.attend, stream.weighted_sums, stream.needs_shift, fused.attention
    with sharded(Ranks()):
        assert (stream.attend, stream.weighted_sums, stream.needs_shift, fused.attention) == before


def test_a_signal_to_end_is_a_loss_and_the_handler_of_the_caller_comes_back():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(LostRank, match="told to end"), losses_noticed():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)
    assert signal.getsignal(signal.SIGTERM) is before


WORKER = """
import sys, torch
from checks.tensors.core import fused, stream
from checks.tensors.core.distributed import connected, sharded
from checks.tensors.core.inputs import make_instance
with connected() as ranks:
    q, k, v = make_instance(2048, 32)
    with sharded(ranks):
        found = stream.attend(q, k, v, magnitude=True)
        product = stream.transpose_product(q, k, v)[0]
        kernel = fused.attention(q, k, v, log_sum=True)
    results = [found.out, found.magnitude, found.log_sum, product, kernel.out, kernel.log_sum]
    torch.save(results, f"{sys.argv[1]}/rank{ranks.rank}.pt")
"""


def test_two_processes_give_the_values_of_one(tmp_path):
    (tmp_path / "worker.py").write_text(WORKER)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*command, str(tmp_path / "worker.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    ranks = [torch.load(tmp_path / f"rank{r}.pt", weights_only=True) for r in range(2)]
    q, k, v = make_instance(2048, 32)
    plain, kernel = stream.attend(q, k, v, magnitude=True), fused.attention(q, k, v, log_sum=True)
    with sharded(Ranks()):
        product = stream.transpose_product(q, k, v)[0]
    one = [plain.out, plain.magnitude, plain.log_sum, product, kernel.out, kernel.log_sum]
    for here, there, alone in zip(*ranks, one, strict=True):
        assert torch.equal(here, there) and torch.equal(here, alone)


def test_a_lost_connection_is_named():
    def gone():
        raise RuntimeError("Connection closed by peer [127.0.0.1]:1234\nmore")

    with pytest.raises(LostRank, match="rank 1 of 2 lost the others while adding sums: Connection closed"):
        Ranks(1, 2)._together("adding sums", gone)
