def _stub(a,o): return []
attention_engines=formula_rows=primal_and_dual=exact_certificate=truncation=primal_and_dual_without_bias=centering_is_not_needed=_stub
