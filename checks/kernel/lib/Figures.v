(* Printed numbers: what rounding allows. *)
Require Import Reals List Lra.
Import ListNotations.
Open Scope R_scope.

(* [x] is nearer to the printed number than half a unit of its last digit: however one rounds, it is printed so *)
Definition rounds_to (unit x printed : R) : Prop := Rabs (x - printed) < unit / 2.
Definition mean (l : list R) : R := fold_right Rplus 0 l / INR (length l).
(* some numbers that are printed as [rows] have a mean that is printed as [printed] *)
Definition average_of (unit : R) (rows : list R) (printed : R) : Prop :=
  exists l : list R, Forall2 (rounds_to unit) l rows /\ rounds_to unit (mean l) printed.

Ltac rounding := unfold rounds_to; apply Rabs_def1; lra.
Ltac average l := exists l; split; [repeat constructor; rounding|];
  unfold mean; cbn [length fold_right]; rewrite ?S_INR; change (INR 0) with 0; rounding.
