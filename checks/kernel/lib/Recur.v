(* Closed forms of what a recurrence determines: the whole-number functions in them, and the derivative in one
  variable where that is what the recurrence is about. *)
Require Import Reals List Lia Lra Factorial.
Open Scope R_scope.

(* the gamma function at positive whole numbers *)
Definition Gamma (n : nat) : R := INR (fact (pred n)).

(* the value at 0 of a function that is given for positive numbers *)
Definition starts_at (f : R -> R) (v : R) : Prop := limit1_in f (fun x => 0 < x) v 0.

Lemma starts_at_value f v : continuity_pt f 0 -> f 0 = v -> starts_at f v.
Proof.
  intros C <- e He. destruct (C e He) as [d [D P]]. exists d. split; auto. intros x [X H].
  apply P. split; auto. split; [exact I|lra].
Qed.
(* functions with the same derivative and the same start are the same *)
Lemma same_slope (f g d : R -> R) v : starts_at f v -> starts_at g v ->
  (forall x, 0 < x -> derivable_pt_lim f x (d x)) -> (forall x, 0 < x -> derivable_pt_lim g x (d x)) ->
  forall x, 0 < x -> f x = g x.
Proof.
  intros F G DF DG x X. set (h := fun y => f y - g y).
  assert (DH : forall y, 0 < y -> derivable_pt_lim h y 0).
  { intros y Y. replace 0 with (d y - d y) by ring. apply (derivable_pt_lim_minus f g); auto. }
  assert (E : forall y, 0 < y < x -> h y = h x).
  { intros y [Y L]. destruct (MVT_cor2 h (fun _ => 0) y x L) as [c [M _]]; [|lra].
    intros c [A B]. apply DH. lra. }
  assert (H : starts_at h (v - v)) by (apply limit_minus; assumption).
  destruct (Req_dec (h x) 0) as [Z|N]; [unfold h in Z; lra|].
  destruct (H (Rabs (h x))) as [e [P Q]]; [now apply Rabs_pos_lt|].
  set (y := Rmin (x / 2) (e / 2)).
  assert (Y : 0 < y < x) by (unfold y, Rmin; destruct (Rle_dec (x / 2) (e / 2)); lra).
  assert (L : y < e) by (unfold y, Rmin; destruct (Rle_dec (x / 2) (e / 2)); lra).
  specialize (Q y). cbn in Q. unfold R_dist in Q. rewrite (E y Y) in Q.
  replace (h x - (v - v)) with (h x) in Q by ring. rewrite (Rabs_right (y - 0)) in Q by lra.
  exfalso. apply (Rlt_irrefl (Rabs (h x))). apply Q. split; lra.
Qed.
(* With the slope known on the whole line: the difference is constant, and 0 at 1. *)
Lemma same_slope_all (f g d : R -> R) v : starts_at f v -> starts_at g v ->
  (forall x, derivable_pt_lim f x (d x)) -> (forall x, derivable_pt_lim g x (d x)) ->
  forall x, f x = g x.
Proof.
  intros F G DF DG x. set (h := fun y => f y - g y).
  assert (DH : forall y, derivable_pt_lim h y 0).
  { intros y. replace 0 with (d y - d y) by ring. apply (derivable_pt_lim_minus f g); auto. }
  assert (pr : derivable h) by (intros y; exists 0; apply DH).
  assert (C : constant h).
  { apply (null_derivative_1 h pr). intros y. apply (derive_pt_eq_0 h y 0 (pr y)). apply DH. }
  assert (O : f 1 = g 1) by (apply (same_slope f g d v); auto; lra).
  specialize (C x 1). unfold h in C. lra.
Qed.
Lemma slope_power a n x :
  derivable_pt_lim (fun y => (a + y) ^ S n / INR (fact (S n))) x ((a + x) ^ n / INR (fact n)).
Proof.
  replace ((a + x) ^ n / INR (fact n)) with ((INR (S n) * (a + x) ^ n * (0 + 1)) * / INR (fact (S n))).
  - apply (derivable_pt_lim_ext (fun y => ((fun z => z ^ S n) (a + y)) * / INR (fact (S n)))); [reflexivity|].
    apply (derivable_pt_lim_ext (mult_real_fct (/ INR (fact (S n))) (comp (fun z => z ^ S n) (fct_cte a + id)))).
    + intros y. unfold mult_real_fct, comp, fct_cte, plus_fct, id. ring.
    + rewrite Rmult_comm. apply derivable_pt_lim_scal. apply derivable_pt_lim_comp.
      * apply derivable_pt_lim_plus; [apply derivable_pt_lim_const|apply derivable_pt_lim_id].
      * apply derivable_pt_lim_pow.
  - rewrite fact_simpl, mult_INR. field. split; [apply INR_fact_neq_0|apply not_0_INR; lia].
Qed.

(* an error that shrinks by a rate vanishes *)
Theorem geometric (r : R) (a : nat -> R) (l : R) : Rabs r < 1 ->
  (forall k, a (S k) + (-1) * l = r * (a k + (-1) * l)) -> Un_cv a l.
Proof.
  intros L E. assert (P : forall k, a k - l = r ^ k * (a 0%nat - l)).
  { induction k as [|k IH]; cbn [pow]; [ring|]. specialize (E k).
    replace (a (S k) - l) with (r * (a k - l)) by lra. rewrite IH. ring. }
  intros e He. set (b := Rabs (a 0%nat - l) + 1).
  assert (B : 0 < b) by (unfold b; pose proof (Rabs_pos (a 0%nat - l)); lra).
  destruct (pow_lt_1_zero r L (e / b)) as [N H]; [now apply Rdiv_lt_0_compat|].
  exists N. intros k K. unfold R_dist. rewrite P, Rabs_mult.
  apply Rle_lt_trans with (Rabs (r ^ k) * b).
  - apply Rmult_le_compat_l; [apply Rabs_pos|unfold b; lra].
  - specialize (H k K). apply (Rmult_lt_compat_r b) in H; auto.
    replace (e / b * b) with e in H by (field; lra). exact H.
Qed.

(* both sides of a step of an induction are the same rational function of whole numbers and factorials *)
Ltac no_zero := match goal with
  | |- True => exact I
  | |- ?a * ?b <> 0 => apply Rmult_integral_contrapositive_currified; no_zero
  | |- _ ^ _ <> 0 => apply pow_nonzero; no_zero
  | |- INR (fact _) <> 0 => apply INR_fact_neq_0
  | |- INR _ <> 0 => apply not_0_INR; lia
  | |- ?e <> 0 => repeat match e with context [INR ?n] =>
      lazymatch goal with H : 0 <= INR n |- _ => fail | _ => pose proof (pos_INR n) end end; lra end.
Ltac closed_form := unfold Gamma; do 2 (rewrite <- ?plus_n_Sm, ?Nat.add_0_r; cbn [Nat.add pred]);
  rewrite ?fact_simpl, ?mult_INR, ?S_INR, ?plus_INR; change (INR 0) with 0; change (fact 0) with 1%nat;
  change (INR 1) with 1; cbn [pow]; field; repeat split; no_zero.

(* what stays has its own value as limit, and what moves by the same amount for ever has none *)
Lemma still (c : R) (a : nat -> R) (l : R) : (forall k, a k = c) -> Un_cv a l -> l = c.
Proof.
  intros E L. apply (UL_sequence a); [exact L|]. intros e He. exists 0%nat. intros n _. rewrite E.
  unfold R_dist. rewrite Rminus_diag_eq by reflexivity. now rewrite Rabs_R0.
Qed.
Lemma drifting (b : R) (a : nat -> R) (l : R) : b <> 0 -> (forall k, a (S k) = a k + b) -> Un_cv a l -> False.
Proof.
  intros N E L. destruct (L (Rabs b / 2)) as [n H]; [pose proof (Rabs_pos_lt b N); lra|].
  pose proof (H n ltac:(lia)) as H1. pose proof (H (S n) ltac:(lia)) as H2. unfold R_dist in *. rewrite E in H2.
  pose proof (Rabs_triang (a n + b - l) (- (a n - l))) as T. rewrite Rabs_Ropp in T.
  replace (a n + b - l + - (a n - l)) with b in T by ring. lra.
Qed.
