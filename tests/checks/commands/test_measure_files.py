"""Files of tensors: every documented layout is read as meant, nothing in them is executed, and `attest
measure`.
"""

import argparse
import json
import math
import os
import pickle
import struct
import sys
import types
import zipfile

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from checks.commands import measure as command
from checks.tensors.core.errors import TensorError
from checks.tensors.core.inputs import make_instance
from checks.tensors.measure.load import read_layers
from checks.tensors.measure.model import capture, run_model
from checks.tensors.measure.picture import draw, grid
from checks.tensors.measure.quantities import QUANTITIES, outstanding


def arrays(*lead, tokens=12, d=4, d_v=3, seed=0):
    return {
        name: x.numpy()
        for name, x in zip("qkv", make_instance(tokens, d, d_v, heads=lead, seed=seed), strict=True)
    }


def heads(path):
    return {head.name: head for layer in read_layers(path) for head in layer.heads()}


def attest(*arguments):
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    return command.run(parser.parse_args([*map(str, arguments)]))


def refused(message, *arguments):
    with pytest.raises(TensorError, match=message) as problem:
        attest(*arguments)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    "lead, names",
    [
        ((), ["0.0"]),
        ((2,), ["0.0", "0.1"]),
        ((2, 2), ["0.0", "0.1", "1.0", "1.1"]),
    ],
)
def test_shapes_of_one_two_and_three_levels(tmp_path, lead, names):
    given = arrays(*lead)
    np.savez(tmp_path / "a.npz", **given)
    found = heads(tmp_path / "a.npz")
    assert list(found) == names
    last = (-1,) * len(lead)
    for name in "qkv":
        assert np.array_equal(getattr(found[names[-1]], name).numpy(), given[name][last])


@pytest.mark.parametrize(
    "prefix, lead, names",
    [
        ("3.", (2,), ["3.0", "3.1"]),
        ("layers.3.", (2,), ["layers.3.0", "layers.3.1"]),
        ("1.7.", (), ["1.7"]),
        ("layer3_head5_", (), ["layer3.5"]),
        ("encoder/", (), ["encoder.0"]),
        ("7.", (), ["0.7"]),
        ("x.", (1, 2), ["x.0.0", "x.0.1"]),
    ],
)
def test_prefixes_name_layer_and_head(tmp_path, prefix, lead, names):
    np.savez(tmp_path / "a.npz", **{prefix + name: x for name, x in arrays(*lead).items()}, other=np.zeros(3))
    assert list(heads(tmp_path / "a.npz")) == names


def test_layers_come_in_the_order_of_their_numbers_under_any_of_the_names(tmp_path):
    given = arrays()
    np.savez(
        tmp_path / "a.npz",
        **{
            f"{n}.0.{long}": given[short]
            for n in (10, 9)
            for short, long in zip("qkv", ("Queries", "key", "VALUE"), strict=True)
        },
    )
    assert list(heads(tmp_path / "a.npz")) == ["9.0", "10.0"]


def test_grouped_queries_share_keys(tmp_path):
    q, kv = arrays(4)["q"], arrays(2)
    np.savez(tmp_path / "a.npz", q=q, k=kv["k"], v=kv["v"], scale=np.float64(0.25))
    found = heads(tmp_path / "a.npz")
    assert np.array_equal(found["0.3"].k.numpy(), kv["k"][1]) and np.array_equal(
        found["0.1"].k.numpy(), kv["k"][0]
    )
    assert found["0.2"].scale == 0.25


def test_pt_files_nest_and_keep_their_dtype(tmp_path):
    layers = [
        {name: torch.from_numpy(x).bfloat16() for name, x in arrays(2, seed=s).items()} for s in range(2)
    ]
    torch.save({"layers": layers, "note": "text", "steps": 7}, tmp_path / "a.pt")
    found = heads(tmp_path / "a.pt")
    assert list(found) == ["layers.0.0", "layers.0.1", "layers.1.0", "layers.1.1"]
    assert (
        torch.equal(found["layers.1.1"].v, layers[1]["v"][1])
        and found["layers.0.0"].q.dtype == torch.bfloat16
    )
    torch.save(layers[0], tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    assert list(heads(tmp_path / "old.pt")) == ["0.0", "0.1"]


def test_safetensors_are_read(tmp_path):
    numpy = pytest.importorskip("safetensors.torch")
    given = {name: torch.from_numpy(x).bfloat16() for name, x in arrays(2).items()}
    numpy.save_file({f"layer.{n}": x for n, x in given.items()}, tmp_path / "a.safetensors")
    found = heads(tmp_path / "a.safetensors")
    assert torch.equal(found["layer.1"].k, given["k"][1])
    (tmp_path / "b.safetensors").write_bytes(struct.pack("<Q", 1 << 60) + b"{}")
    refused("b.safetensors is not a readable .safetensors", tmp_path / "b.safetensors")


def test_without_safetensors_one_line_says_so(tmp_path, monkeypatch):
    (tmp_path / "a.safetensors").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "safetensors", None)
    refused("needs the package safetensors", tmp_path / "a.safetensors")


class Bomb:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def test_a_pickle_that_would_run_code_is_refused_and_does_not_run(tmp_path):
    marker = tmp_path / "ran"
    torch.save(
        {**{n: torch.from_numpy(x) for n, x in arrays().items()}, "x": Bomb(marker)}, tmp_path / "a.pt"
    )
    (tmp_path / "raw.pt").write_bytes(pickle.dumps(Bomb(marker)))
    np.savez(tmp_path / "a.npz", q=np.array([Bomb(marker)], dtype=object))
    for name in ("a.pt", "raw.pt"):
        refused("could run code", tmp_path / name)
    refused("pickled Python objects", tmp_path / "a.npz")
    assert not marker.exists()
    torch.load(tmp_path / "a.pt", weights_only=False)  # the control: it is a bomb
    assert marker.exists()


@pytest.mark.parametrize(
    ("one", "two"),
    [(("", 3), ("0.", 3)), (("3.", 2), ("0.", 3)), (("09.", 2), ("9.", 2)), (("a.1.", 2), ("a_1.", 2))],
)
def test_two_heads_of_one_name_are_refused(tmp_path, one, two):
    x, arrays = np.random.default_rng(0).normal(size=(4, 5, 3)), {}
    for prefix, dimensions in (one, two):
        arrays |= {f"{prefix}{role}": x if dimensions == 3 else x[0] for role in "qkv"}
    np.savez(tmp_path / "heads.npz", **arrays)
    with pytest.raises(TensorError, match="both have a head"):
        read_layers(tmp_path / "heads.npz")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"q": None, "k": None, "v": None}, r"no q, k, v \(names in it: x\)"),
        ({"v": None}, "has q, k but no v"),
        ({"k": np.zeros((11, 4))}, "same layers, heads and tokens"),
        ({"k": np.zeros((12, 5))}, "same width"),
        ({"q": np.zeros((1, 12, 4))}, "needed: q, k and v"),
        ({"q": np.zeros((0, 4))}, "needed: q, k and v"),
        ({"q": np.zeros((12, 4), dtype=int)}, "q is int64; floating-point"),
        ({"q": np.full((12, 4), np.nan)}, "head 0.0: q contains NaN"),
        ({"v": np.full((12, 3), np.inf)}, "head 0.0: v contains NaN or infinity"),
        ({"scale": np.zeros(2)}, "one number is needed"),
        ({"Q": np.zeros((12, 4))}, "two names for q"),
    ],
)
def test_a_file_that_cannot_be_measured_is_one_clear_line(tmp_path, change, message):
    given = {name: x for name, x in {**arrays(), "x": np.zeros(2), **change}.items() if x is not None}
    np.savez(tmp_path / "a.npz", **given)
    refused(message, tmp_path / "a.npz")


def test_heads_of_keys_that_do_not_divide_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", q=arrays(3)["q"], k=arrays(2)["k"], v=arrays(2)["v"])
    refused("must divide", tmp_path / "a.npz")


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.npz", b"not a zip"),
        ("a.pt", b"\x80\x02nonsense"),
        ("a.pt", b""),
        ("a.npz", b""),
    ],
)
def test_damaged_files_are_one_clear_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    refused("not a readable|could run code", tmp_path / name)


def test_a_truncated_array_is_one_clear_line(tmp_path):
    np.savez(tmp_path / "a.npz", **arrays())
    with zipfile.ZipFile(tmp_path / "a.npz") as whole, zipfile.ZipFile(tmp_path / "b.npz", "w") as cut:
        for name in whole.namelist():
            cut.writestr(name, whole.read(name)[:200])
    refused("q cannot be read", tmp_path / "b.npz")


@pytest.mark.parametrize("header", ["{" * 300, "-" * 9000, "[" * 250 + "]" * 250])
def test_a_header_that_nests_without_end_is_one_clear_line(tmp_path, header):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("q.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    refused("is not a readable .npz", tmp_path / "a.npz")


@pytest.mark.parametrize("shape", [(10**400, 4), (-12, -4), (2**62, 4), (11, 4), (12, 5)])
def test_a_shape_that_its_bytes_do_not_have_is_one_clear_line(tmp_path, shape):
    header = str({"descr": "<f8", "fortran_order": False, "shape": shape}).encode() + b"\n"
    stated = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(12 * 4 * 8)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for name in "qkv":
            archive.writestr(f"{name}.npy", stated)
    refused("q cannot be read: its shape", tmp_path / "a.npz")


def test_two_arrays_of_one_name_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", **arrays())
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("q", archive.read("k.npy"))
    refused("has two arrays named q", tmp_path / "a.npz")


def test_other_files_are_one_clear_line(tmp_path):
    refused("is not one of .npz", tmp_path / "a.csv")
    refused("no file", tmp_path / "a.npz")
    (tmp_path / "d.npz").mkdir()
    refused("no file", tmp_path / "d.npz")


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
@pytest.mark.parametrize("at", [45, 120, 200, 300])
def test_archives_with_damaged_bytes_are_one_clear_line(tmp_path, compression, at):
    rng = np.random.default_rng(at)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", compression) as archive:
        for name in "qkv":
            with archive.open(f"{name}.npy", "w") as file:
                np.save(file, rng.normal(size=(40, 4)))
    assert attest(tmp_path / "a.npz") == 0
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[at : at + 8] = bytes(x ^ 0xFF for x in content[at : at + 8])
    (tmp_path / "a.npz").write_bytes(content)
    refused("cannot be read|not a readable|pickled", tmp_path / "a.npz")


@pytest.mark.parametrize("place, change", [(6, 1), (8, 99)], ids=["encrypted", "unknown method"])
def test_archives_that_cannot_be_unpacked_are_one_clear_line(tmp_path, place, change):
    np.savez(tmp_path / "a.npz", **arrays())
    content = bytearray((tmp_path / "a.npz").read_bytes())
    for start, shift in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        at = content.find(start)
        while at >= 0:
            content[at + place + shift] = change
            at = content.find(start, at + 1)
    (tmp_path / "a.npz").write_bytes(content)
    refused("not a readable", tmp_path / "a.npz")


def tensors():
    return {name: torch.from_numpy(x) for name, x in arrays().items()}


def test_a_pt_file_with_other_bytes_than_were_written_is_not_measured(tmp_path):
    torch.save(tensors(), tmp_path / "a.pt")
    content = bytearray((tmp_path / "a.pt").read_bytes())
    content[content.find(arrays()["q"].tobytes()) + 7] ^= 0x40
    (tmp_path / "a.pt").write_bytes(content)
    refused("is damaged", tmp_path / "a.pt")


def test_a_pt_file_that_is_packed_is_refused(tmp_path):
    torch.save(tensors(), tmp_path / "a.pt")
    with (
        zipfile.ZipFile(tmp_path / "a.pt") as old,
        zipfile.ZipFile(tmp_path / "b.pt", "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    refused("is compressed", tmp_path / "b.pt")


def test_a_pt_file_that_contains_itself_is_one_clear_line(tmp_path):
    for name, outer, put in (("list", [], list.append), ("dict", {}, lambda d, x: d.update(x=x))):
        put(outer, outer)
        torch.save({**tensors(), "x": outer}, tmp_path / f"{name}.pt")
        refused("contains itself", tmp_path / f"{name}.pt")


@pytest.mark.filterwarnings("ignore")
def test_tensors_without_plain_entries_are_not_measured(tmp_path):
    nested = torch.nested.nested_tensor([torch.randn(3, 4), torch.randn(5, 4)])
    for x in (
        nested,
        torch.empty(12, 4, device="meta"),
        torch.zeros(12, 4).to_sparse(),
        torch.zeros(12, 4).to_sparse_csr(),
    ):
        torch.save({**tensors(), "q": x}, tmp_path / "a.pt")
        refused("but no q", tmp_path / "a.pt")


@pytest.mark.parametrize("scale", [1 + 2j, "one", True])
def test_a_scale_that_is_no_number_is_one_clear_line(tmp_path, scale):
    np.savez(tmp_path / "a.npz", **arrays(), scale=np.array(scale))
    refused("one number is needed", tmp_path / "a.npz")


@pytest.mark.parametrize("factor", [1e154, 1e308, 1e-310, 1e-200])
@pytest.mark.parametrize("role", ["q", "k", "v"])
def test_numbers_whose_squares_are_none_are_one_clear_line(tmp_path, role, factor):
    given = arrays()
    np.savez(tmp_path / "a.npz", **{**given, role: np.clip(given[role], -1, 1) * factor})
    refused(f"the largest entry of {role}", tmp_path / "a.npz")


def test_the_largest_float32_is_measured(tmp_path):
    given = {name: x.astype("f4") for name, x in arrays().items()}
    np.savez(tmp_path / "a.npz", **{**given, "q": np.full_like(given["q"], np.finfo("f4").max)})
    assert attest(tmp_path / "a.npz") == 0


def test_a_name_is_shown_as_it_stands(tmp_path, capsys):
    np.savez(tmp_path / "a.npz", **{f"a\x1b[2J[/red]<b>.{name}": x for name, x in arrays().items()})
    assert attest(tmp_path / "a.npz") == 0
    out = capsys.readouterr().out
    assert "a?[2J[/red]<b>.0" in out and "\x1b" not in out


def test_names_that_are_too_long_are_one_clear_line(tmp_path):
    refused("the name is too long", tmp_path / ("x" * 5000 + ".npz"))
    refused("the name is too long", tmp_path / ("ä" * 130 + ".npz"))


def test_a_plot_that_fails_leaves_no_file(tmp_path, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")
    np.savez(tmp_path / "a.npz", **arrays())

    def fails(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(command, "write_bytes", fails)
    refused("No space left", tmp_path / "a.npz", "--plot", tmp_path / "a.png")
    assert figure and not (tmp_path / "a.png").exists()


def test_what_does_not_fit_memory_is_refused_by_its_header_alone(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for name in "qkv":
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array_header_1_0(
                    file, {"descr": "<f4", "fortran_order": False, "shape": (32, 32, 1 << 24, 128)}
                )
            archive.getinfo(f"{name}.npy").file_size += 4 * 32 * 32 * 128 << 24  # told, and not there
    refused(
        "a head of 16777216 tokens, width 128, in a layer of 2.5e\\+04 GiB, needs about", tmp_path / "a.npz"
    )
    np.savez(tmp_path / "b.npz", **arrays())
    refused("needs about 0.16 GiB and 0.1 GiB are available", tmp_path / "b.npz", "--max-memory", "0.1")


def test_table_json_and_plot(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    np.savez(tmp_path / "a.npz", **{n: x.astype("float32") for n, x in arrays(2, tokens=40).items()})
    options = (tmp_path / "a.npz", "--log-C", "3", "--tokens", "30")
    assert attest(*options, "--json", "--plot", tmp_path / "p.png") == 0
    found = json.loads(capsys.readouterr().out)
    assert [h["head"] for h in found["heads"]] == ["0.0", "0.1"]
    assert all(h["tokens"] == 30 and h["svr"]["accepted"] and h["dtype"] == "float32" for h in found["heads"])
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    assert attest(*options, "--head", "0.1") == 0
    out = capsys.readouterr().out
    assert (
        "0.1" in out
        and "chen2023/rem3.4" in out
        and "log C*/C" in out
        and "0.0 " not in out.split("log C*:")[0]
    )
    assert f"{found['heads'][1]['svr']['log_c_star']:.3f}" in out


def stored(tmp_path, name, scale=1.0, lead=(2, 3), tokens=12):
    given = arrays(*lead, tokens=tokens)
    given["q"][1, 2] *= 30 * scale
    np.savez(tmp_path / name, **given)
    return tmp_path / name


def test_what_is_the_same_for_all_heads_is_one_line_and_each_number_has_its_meaning(tmp_path, capsys):
    assert attest(stored(tmp_path, "a.npz"), "--top", "3") == 0
    out = " ".join(capsys.readouterr().out.split())
    table = out.split("The same for all 6 heads: ")
    assert "tokens" not in table[0] and "minimisers" not in table[0] and "tokens 12," in table[1]
    for quantity in QUANTITIES:
        assert f"{quantity.name}: {quantity.meaning}" in out
    assert "off queries: change" in out and "1.2 stands apart" in out.split("off queries: change")[1]
    values = out.split("singular values of A, the largest first: ")[1].split()
    assert [values[i] for i in (0, 4, 8)] == ["0.0:", "0.1:", "0.2:"] and float(values[1]) >= float(values[2])


def test_two_runs_are_compared_head_by_head(tmp_path, capsys):
    attest(stored(tmp_path, "a.npz"), "--json")
    (tmp_path / "a.json").write_text(capsys.readouterr().out)
    before = json.loads((tmp_path / "a.json").read_text())["heads"]
    assert attest(stored(tmp_path, "b.npz", 2.0), "--against", tmp_path / "a.json", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    for name, number in (("0.0", 0), ("1.2", 5)):
        old, new = (run[number]["centering"]["queries"] for run in (before, found["heads"]))
        assert found["changes"]["off queries"][name] == [old, new] and (old == new) == (name == "0.0")
    assert attest(tmp_path / "b.npz", "--against", tmp_path / "a.json") == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("off queries  "))
    assert "1.2" in line


@pytest.mark.parametrize(
    "text, message",
    [
        ("[]", "no output of"), ("{", "no output of"), ('{"heads": []}', "has no heads"), ('{"heads": [{"head": "0.0"}]}', "has no log C"),
        ('{"heads": [{"head": "9.9"}]}', "no head in common"), ("[" * 99_999, "no output of"), ('{"heads": [3]}', "no output of"),
    ],
)  # fmt: skip
def test_an_earlier_run_that_is_none_is_one_clear_line(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    refused(message, stored(tmp_path, "a.npz"), "--against", tmp_path / "a.json")
    refused("no file", tmp_path / "a.npz", "--against", "/dev/zero")


def test_a_window_is_its_tokens_alone(tmp_path, capsys):
    given = arrays(tokens=30)
    np.savez(tmp_path / "a.npz", **given)
    np.savez(tmp_path / "b.npz", **{name: x[10:20] for name, x in given.items()})
    both = []
    for options in (("a.npz", "--tokens", "10", "--window", "2"), ("b.npz",)):
        assert attest(tmp_path / options[0], *options[1:], "--json") == 0
        both.append(json.loads(capsys.readouterr().out)["heads"][0]["spectrum"])
    assert both[0] == both[1]
    refused("no window 4 of 10", tmp_path / "a.npz", "--tokens", "10", "--window", "4")
    refused("needs --tokens", tmp_path / "a.npz", "--window", "2")


def test_many_heads_are_a_map_a_quantity(tmp_path):
    heads = {f"{layer}.{n}": {"layer": str(layer), "number": n, "svr": {"log_c_star": 10.0 * layer + n}}
             for layer in range(12) for n in range(6) if (layer, n) != (3, 2)}  # fmt: skip
    layers, numbers, cells = grid(QUANTITIES[0], heads)
    assert (layers[:2], numbers) == (["0", "1"], [0, 1, 2, 3, 4, 5])
    assert cells[11][5] == 115.0 and math.isnan(cells[3][2]) and len(cells) == 12
    pyplot = pytest.importorskip("matplotlib.pyplot")
    full = {name: {**head, "singular": None, "spectrum": {"values": [2.0, 1.0], "stable_rank": 1.5, "participation": 1.2},
                   "centering": {"queries": 0.5}} for name, head in heads.items()}  # fmt: skip
    assert b"<svg" in draw(pyplot, full, "svg") and not pyplot.get_fignums()


def test_a_head_stands_apart_only_where_it_is_far_from_many():
    even = {str(n): float(n) for n in range(9)}
    assert outstanding(even) == [] and outstanding({**even, "x": 40.0}) == ["x"]
    assert outstanding({"a": 0.0, "b": 0.0, "c": 9.0}) == []
    assert outstanding({name: 1e-17 * value for name, value in {**even, "x": 40.0}.items()}) == []  # rounding


def test_json_has_no_infinity(tmp_path, capsys):
    given = arrays()
    given["v"][:] = 0
    np.savez(tmp_path / "a.npz", **given)
    assert attest(tmp_path / "a.npz", "--json") == 0
    assert json.loads(capsys.readouterr().out)["heads"][0]["svr"] is None
    assert command._finite({"a": [math.inf, 1.0, math.nan]}) == {"a": [None, 1.0, None]}


@pytest.mark.parametrize(
    "options, message",
    [
        ((), "give either FILE or --model"),
        (("a.npz", "--model", "x"), "give either"),
        (("--model", "x"), "belong together"),
        (("a.npz", "--C", "-1"), "--C -1.0 is out of range"),
        (("a.npz", "--log-C", "nan"), "finite number"),
        (("a.npz", "--tokens", "1"), "--tokens 1 is out of range"),
        (("a.npz", "--device", "tpu"), "unknown device tpu"),
        (("a.npz", "--plot", "x.txt"), "allowed endings"),
        (("a.npz", "--plot", "nowhere/x.png"), "no directory nowhere"),
        (("a.npz", "--max-memory", "0"), "--max-memory"),
        (("a.npz", "--epsilon", "nan"), "--epsilon nan is out of range"),
        (("--model", "x", "--text", "t", "--mask", "none"), "a model has masks of its own"),
    ],
)
def test_unusable_options_are_one_clear_line(options, message):
    refused(message, *options)


def test_an_unknown_head_is_one_clear_line(tmp_path):
    np.savez(tmp_path / "a.npz", **arrays(2))
    refused("no head 0.2; there are 0.0, 0.1", tmp_path / "a.npz", "--head", "0.2")


def test_without_matplotlib_one_line_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused("needs the package matplotlib", "a.npz", "--plot", tmp_path / "x.png")


class Tiny(torch.nn.Module):
    """Two attention layers with the arguments that Hugging Face models use."""

    config = types.SimpleNamespace(num_hidden_layers=2, hidden_size=8, num_attention_heads=2)

    def __init__(self, **options):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.inner = (
            torch.nn.Embedding(50, 8),
            torch.nn.ModuleList(torch.nn.Linear(8, 24) for _ in "ab"),
        )
        self.options = options
        self.seen = []

    def forward(self, input_ids):
        x = self.embed(input_ids)
        for layer in self.inner:
            q, k, v = (t.unflatten(-1, (2, 4)).transpose(1, 2) for t in layer(x).chunk(3, -1))
            self.seen.append((q, k, v))
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, **self.options)
            x = x + out.transpose(1, 2).flatten(-2)
        return x


TOKENS = torch.arange(20)[None] % 7


def test_the_tensors_of_every_attention_call_are_caught():
    model = Tiny(is_causal=True, scale=0.3)
    found = run_model(model, TOKENS)
    assert [h.name for h in found.heads] == ["0.0", "0.1", "1.0", "1.1"]
    for head in found.heads:
        assert (head.mask, head.scale, head.q.requires_grad) == ("causal", 0.3, False)
        for name, seen in zip("qkv", model.seen[int(head.layer)], strict=True):
            assert torch.equal(getattr(head, name), seen[0, head.number])
    torch.nn.functional.scaled_dot_product_attention(*model.seen[0])
    assert found.layers == 2, "a call outside the context was recorded"


@pytest.mark.parametrize(
    "mask, expected",
    [
        (None, None),
        (torch.ones(20, 20).bool(), None),
        (torch.ones(1, 1, 20, 20).tril().bool(), "causal"),
        (
            torch.zeros(20, 20).masked_fill(
                torch.ones(20, 20).triu(1).bool(), torch.finfo(torch.float32).min
            ),
            "causal",
        ),
    ],
)
def test_masks_are_recognised(mask, expected):
    assert {h.mask for h in run_model(Tiny(attn_mask=mask), TOKENS).heads} == {expected}


@pytest.mark.parametrize(
    "mask, message",
    [
        (torch.ones(20, 20).tril().triu(-3).bool(), "neither full nor causal"),
        (torch.arange(20.0).expand(20, 20), "adds a bias"),
    ],
)
def test_other_masks_are_refused(mask, message):
    with pytest.raises(TensorError, match=message):
        run_model(Tiny(attn_mask=mask), TOKENS)


def test_models_that_cannot_be_measured_are_one_clear_line():
    with pytest.raises(TensorError, match="no call of scaled_dot_product_attention"):
        run_model(torch.nn.Identity(), TOKENS)
    with pytest.raises(TensorError, match="a batch of 2"), capture():
        Tiny()(TOKENS.expand(2, -1))


@pytest.fixture
def stub(monkeypatch):
    """A stand-in for transformers: the same entry points, a tokenizer of bytes and the tiny model."""

    def load(name, **options):
        if name == "typed":
            raise ValueError("Validation error for field 'x':\n    TypeError: int expected\nand more advice")
        if name == "pickle":
            raise pickle.UnpicklingError("Weights only load failed\nand more advice")
        if name == "bent":
            return Tiny(), {"missing_keys": set(), "mismatched_keys": {("layers.0.q", (2, 2), (4, 4))}}
        if name == "narrow":
            model = Tiny()
            model.forward = lambda *_, **__: torch.zeros(1)[5]
            return model, {"missing_keys": set()}
        if name == "spare":
            spare = {"missing_keys": set(), "unexpected_keys": {"layers.8.\x1b[31m", "layers.9"}}
            return Tiny(is_causal=True), spare
        if name not in ("tiny", "hollow"):
            raise OSError(f"{name} is not a local folder\nand more advice")
        if name == "hollow":
            return Tiny(is_causal=True), {"missing_keys": {"layers.7.q.weight", "pooler.dense.bias"}}
        return Tiny(is_causal=True), {"missing_keys": {"pooler.dense.bias"}}

    def tokenizer(text, truncation=False, max_length=None, return_overflowing_tokens=False):
        if "unreadable" in text:
            raise OverflowError("can't convert negative int to unsigned\nand more advice")
        found = [b % 50 for b in text.encode()]
        cut = [found[i : i + max_length] for i in range(0, len(found), max_length)] if truncation else found
        return {"input_ids": cut}

    module = types.ModuleType("transformers")
    module.AutoModel = types.SimpleNamespace(from_pretrained=load)
    module.AutoConfig = types.SimpleNamespace(
        from_pretrained=lambda name: types.SimpleNamespace(num_hidden_layers=10**9 if name == "tower" else 2)
    )
    module.logging = types.SimpleNamespace(set_verbosity_error=int, disable_progress_bar=int)
    module.AutoTokenizer = types.SimpleNamespace(from_pretrained=lambda name: tokenizer)
    monkeypatch.setitem(sys.modules, "transformers", module)


def test_a_model_on_a_text(stub, tmp_path, capsys):
    (tmp_path / "t.txt").write_text("the quick brown fox jumps over the lazy dog")
    options = ("--model", "tiny", "--text", tmp_path / "t.txt", "--tokens", "25")
    assert attest(*options, "--json") == 0
    captured = capsys.readouterr()
    said = " ".join(captured.err.split())
    assert "the text has 43 tokens; the first 25 are measured" in said and "--window 2 to 2" in said
    assert "taken from the model: layers 2, query heads 2, key heads 2, mask causal" in said
    assert json.loads(captured.out)["model"]["layers"] == 2
    found = json.loads(captured.out)["heads"]
    assert [(h["head"], h["tokens"], h["mask"]) for h in found] == [
        (name, 25, "causal") for name in ("0.0", "0.1", "1.0", "1.1")
    ]
    assert attest(*options, "--window", "2", "--json") == 0
    assert {h["tokens"] for h in json.loads(capsys.readouterr().out)["heads"]} == {18}
    refused("no window 3, but 2", *options, "--window", "3")
    refused(
        "cannot be loaded: other is not a local folder$", "--model", "other", "--text", tmp_path / "t.txt"
    )
    refused("pickle cannot be loaded: Weights only load failed$", "--model", "pickle", *options[2:])
    refused("no weights for layers.7.q.weight", "--model", "hollow", *options[2:])
    refused("narrow cannot be run on .*: index 5 is out of bounds", "--model", "narrow", *options[2:])
    refused("has layers.0.q and 0 more in other shapes", "--model", "bent", *options[2:])
    refused("1000000000 layers in its configuration; allowed: 1 to", "--model", "tower", *options[2:])
    refused("for field 'x': TypeError: int expected$", "--model", "typed", *options[2:])
    capsys.readouterr()
    assert attest("--model", "spare", *options[2:]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "not used by this model, as its configuration has it: layers.8.?[31m and 1 more" in said
    refused("cannot be read as UTF-8", "--model", "tiny", "--text", tmp_path / "none.txt")
    (tmp_path / "one.txt").write_text("x")
    refused("the text has 1 tokens; at least 2", *options[:3], tmp_path / "one.txt")
    (tmp_path / "two.txt").write_text("unreadable")
    refused("tokenizer of tiny cannot read the text: can't convert", *options[:3], tmp_path / "two.txt")
    refused("window 8 of the text has 1 tokens", *options[:4], "--tokens", "6", "--window", "8")
    with (tmp_path / "one.txt").open("wb") as file:
        file.truncate(command.LONGEST_TEXT + 1)
    refused(f"more than {command.LONGEST_TEXT} bytes", *options[:3], tmp_path / "one.txt")
    refused("tiny with 2 layers on 25 tokens needs about", *options, "--max-memory", "0.1")


def test_without_transformers_one_line_says_so(monkeypatch, tmp_path):
    (tmp_path / "t.txt").write_text("text")
    monkeypatch.setitem(sys.modules, "transformers", None)
    refused("needs the package transformers", "--model", "x", "--text", tmp_path / "t.txt")


def test_a_real_transformer(tmp_path, capsys):
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {w: n for n, w in enumerate(["[UNK]", "a", "b", "c", "d", "e"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(tmp_path / "m")
    config = transformers.LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        vocab_size=6,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    transformers.LlamaModel(config).save_pretrained(tmp_path / "m")
    (tmp_path / "t.txt").write_text("a b c d e " * 20)
    assert attest("--model", tmp_path / "m", "--text", tmp_path / "t.txt", "--json") == 0
    found = json.loads(capsys.readouterr().out)["heads"]
    assert len(found) == 8 and {(h["tokens"], h["mask"]) for h in found} == {(64, "causal")}


def test_a_file_of_many_arrays_is_opened_once_and_again_when_it_changes(tmp_path, monkeypatch):
    opened, real = [], np.load
    monkeypatch.setattr(np, "load", lambda *given, **more: opened.append(given) or real(*given, **more))
    path = tmp_path / "many.npz"
    for count in (20, 30):
        np.savez(
            path, **{f"l{k}.{role}": np.full((4, 2), float(count)) for k in range(count) for role in "qkv"}
        )
        found = heads(path)
        assert len(found) == count and all((head.q == count).all() for head in found.values())
    assert len(opened) == 2


@pytest.mark.parametrize("found", [10**400, math.nan, math.inf, "3", True, None])
def test_what_is_no_number_in_an_earlier_run_is_none(found):
    assert QUANTITIES[0].value({"svr": {"log_c_star": found}}) is None


@pytest.mark.parametrize("name", ["²_", "٣.", "9" * 5000 + ".", "0009."])
def test_names_with_strange_numbers_have_an_order(tmp_path, name):
    several = (name, "10.", "9.")
    np.savez(tmp_path / "x.npz", **{prefix + k: v for prefix in several for k, v in arrays(1).items()})
    try:
        found = [layer.prefix for layer in read_layers(tmp_path / "x.npz")]
    except TensorError as error:
        assert "long" in str(error) and len(name) > 1000
    else:
        assert len(found) == 3 and found.index("9") < found.index("10")


def test_a_causal_mask_over_one_query_and_many_keys_is_refused():
    q, k = torch.randn(1, 1, 1, 4), torch.randn(1, 1, 5, 4)
    with pytest.raises(TensorError, match="over 1 queries and 5 keys"), capture():
        scaled_dot_product_attention(q, k, k, is_causal=True)  # sees the first key only
    with capture() as found:
        scaled_dot_product_attention(q, q, q, is_causal=True)
        scaled_dot_product_attention(q, k, k)
    assert [head.mask for head in found.heads] == [None, None]
