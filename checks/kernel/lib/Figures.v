(* Printed numbers: what rounding allows. *)
Require Import Reals List Lia Lra.
Import ListNotations.
Open Scope R_scope.

(* [x] is nearer to the printed number than half a unit of its last digit: however one rounds, it is printed so *)
Definition rounds_to (unit x printed : R) : Prop := Rabs (x - printed) < unit / 2.
Definition mean (l : list R) : R := fold_right Rplus 0 l / INR (length l).
(* some numbers that are printed as [rows] have a mean that is printed as [printed] *)
Definition average_of (unit : R) (rows : list R) (printed : R) : Prop :=
  exists l : list R, Forall2 (rounds_to unit) l rows /\ rounds_to unit (mean l) printed.

(* rows and mean are each within half a unit of what is printed, so these differ by less than one *)
Lemma rounded_sum unit l rows : Forall2 (rounds_to unit) l rows ->
  length l = length rows /\
  Rabs (fold_right Rplus 0 l - fold_right Rplus 0 rows) <= INR (length rows) * (unit / 2).
Proof.
  induction 1 as [|x y l rows H F [IL IH]]; cbn [fold_right length].
  - split; [reflexivity|]. rewrite Rminus_0_r, Rabs_R0. simpl. lra.
  - split; [now rewrite IL|]. rewrite S_INR. unfold rounds_to in H.
    replace (x + fold_right Rplus 0 l - (y + fold_right Rplus 0 rows)) with
      ((x - y) + (fold_right Rplus 0 l - fold_right Rplus 0 rows)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.
Theorem no_average unit rows printed : rows <> [] -> unit <= Rabs (mean rows - printed) ->
  ~ average_of unit rows printed.
Proof.
  intros N G [l [F P]]. apply rounded_sum in F as [L S]. unfold rounds_to, mean in *. rewrite L in P.
  assert (n : 0 < INR (length rows)) by (apply lt_0_INR; destruct rows; [congruence|simpl; lia]).
  set (k := INR (length rows)) in *. set (a := fold_right Rplus 0 l) in *.
  set (b := fold_right Rplus 0 rows) in *.
  assert (D : Rabs (a / k - b / k) <= unit / 2).
  { replace (a / k - b / k) with ((a - b) * / k) by (field; lra).
    rewrite Rabs_mult, (Rabs_right (/ k)) by (apply Rle_ge, Rlt_le, Rinv_0_lt_compat, n).
    apply (Rmult_le_reg_r k); [exact n|]. replace (Rabs (a - b) * / k * k) with (Rabs (a - b)) by (field; lra).
    replace (unit / 2 * k) with (k * (unit / 2)) by ring. exact S. }
  pose proof (Rabs_triang (b / k - a / k) (a / k - printed)) as T.
  replace (b / k - a / k + (a / k - printed)) with (b / k - printed) in T by ring.
  rewrite (Rabs_minus_sym (b / k) (a / k)) in T. lra.
Qed.

Ltac off := unfold rounds_to; let H := fresh in intros H; try apply Rabs_def2 in H; lra.
Ltac far := apply no_average; [discriminate|]; unfold mean; cbn [length fold_right]; rewrite ?S_INR;
  change (INR 0) with 0; first [rewrite Rabs_right by lra; lra | rewrite Rabs_left by lra; lra].
Ltac rounding := unfold rounds_to; apply Rabs_def1; lra.
Ltac average l := exists l; split; [repeat constructor; rounding|];
  unfold mean; cbn [length fold_right]; rewrite ?S_INR; change (INR 0) with 0; rounding.
