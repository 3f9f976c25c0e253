"""The model of a theorem's symbols in which the checker computes, and that it keeps what is promised."""

from __future__ import annotations

from checks.kernel.context import Context
from checks.kernel.theorem import conjunction, filled, listed
from checks.kernel.trees import deep, plain, plain_dims
from checks.statement import Given


def setup(context: Context, says: str = "meets the_data the_model") -> list[str]:
    """Lines of a proof: what the checker is told, the model, and that it keeps the promises (``says``)."""
    s = context.symbols
    facts = [g for g in context.given if g.tensor in context.nonzero]
    sizes = listed(listed(s.dims.index(d) for d in plain_dims(t)) for t in s.tensors)
    stated = [
        f"({listed(s.dims.index(i.dim) for i in plain(g.at))}, "
        f"{deep(context.put(g.value.entry()), tuple(plain(g.at)), s)})"
        for g in facts
    ] + [f"([], {deep(context.put(e), (), s)})" for e, _ in context.vanishing]
    positive = listed(s.functions.index(f) for f in context.positive_functions())
    ranges = listed(s.dims.index(i.dim) for i in context.free)
    return [
        f"  set (the_data := ({{| d_shapes := {sizes};",
        f"    d_pos := {_numbers(context, 'positive')}; d_nz := {_numbers(context, 'nonzero')};"
        f" d_posf := {positive}; d_sym := {_numbers(context, 'symmetric')};",
        filled(f"d_facts := {listed(stated)} |}})%nat).", "    "),
        "  set (the_model := {|",
        filled(f"dims := fun the_dim => nth the_dim {listed(map(s.dim, s.dims))} 1%nat;", "    "),
        *[filled(line, "    ") for line in _values(context)],
        f"  set (the_ranges := ({ranges} : list nat)%nat).",
        f"  assert (promises : {says}).",
        *[filled(line) for line in _kept(context, facts)],
    ]


def _numbers(context: Context, what: str) -> str:
    return listed(n for n, t in enumerate(context.symbols.tensors) if (what, t) in context.promises)


def _values(context: Context) -> list[str]:
    tensors = []
    for t in context.symbols.tensors:
        names = [f"at{n}" for n, _ in enumerate(plain_dims(t))]
        value = context.aliases[t](names) if t in context.aliases else context.entry(t, names)
        tensors.append(f"fun the_entry => match the_entry with {listed(names)} => {value} | _ => 1 end")
    functions = listed(context.symbols.function(f) for f in context.symbols.functions)
    return [
        f"ten := fun the_tensor => nth the_tensor {listed(tensors)} (fun _ => 1);",
        f"fn := fun the_function => nth the_function {functions} (fun x => x) |}}).",
    ]


def _kept(context: Context, facts: list[Given]) -> list[str]:
    proofs = {
        what: conjunction(
            context.promises[what, t] for t in context.symbols.tensors if (what, t) in context.promises
        )
        for what in ("positive", "nonzero", "symmetric")
    }
    stated = []
    for g in facts:
        entries = "".join(f" (s {n}%nat) (v {n}%nat _ eq_refl)" for n, _ in enumerate(plain(g.at)))
        stated.append(f"(fun s v => {context.promises['nonzero', g.tensor]}{entries})")
    stated += [f"(fun _ _ => {proof})" for _, proof in context.vanishing]
    return [
        f"{{ intros; split; [sizes | exact {proofs['positive']} | exact {proofs['nonzero']} |",
        f"exact {proofs['symmetric']} | functions | exact {conjunction(stated)}]. }}",
    ]
