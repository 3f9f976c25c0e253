(* How fast a function of a small number vanishes. *)
Require Import Reals QArith Qreals List Lra Lia Bool.
Require Import Attest.Sums Attest.Expr Attest.Norm Attest.Sound Attest.Claim Attest.Deriv Attest.Point.
Import ListNotations.
Open Scope R_scope.

Definition big_o (n : nat) (f : R -> R) : Prop :=
  exists c d, 0 < d /\ forall t, Rabs t < d -> Rabs (f t) <= c * Rabs t ^ n.

Lemma big_o_first f l : f 0 = 0 -> derivable_pt_lim f 0 l -> big_o 1 f.
Proof.
  intros Z D. destruct (D 1) as [[d Hd] P]; [lra|]. exists (Rabs l + 1), d. split; auto. intros t T.
  rewrite pow_1. destruct (Req_dec t 0) as [->|N]; [rewrite Z, Rabs_R0; lra|].
  specialize (P t N T). rewrite Rplus_0_l, Z, Rminus_0_r in P.
  replace (f t) with (f t / t * t) by (field; auto). rewrite Rabs_mult.
  apply Rmult_le_compat_r; [apply Rabs_pos|].
  pose proof (Rabs_triang_inv (f t / t) l). lra.
Qed.
Lemma big_o_next n f g : f 0 = 0 -> (forall t, derivable_pt_lim f t (g t)) -> big_o n g -> big_o (S n) f.
Proof.
  intros Z D [c [d [Hd P]]]. exists (Rabs c), d. split; auto. intros t T.
  assert (M : exists u, Rabs u <= Rabs t /\ Rabs (f t) = Rabs (g u) * Rabs t).
  { destruct (Rtotal_order 0 t) as [L|[<-|L]].
    - destruct (MVT_cor2 f g 0 t L) as [u [E [A B]]]; [auto|]. exists u. rewrite !Rabs_right by lra.
      split; [lra|]. rewrite Z, !Rminus_0_r in E. rewrite E, Rabs_mult, (Rabs_right t) by lra. reflexivity.
    - exists 0. rewrite Z, Rabs_R0. split; [lra|ring].
    - destruct (MVT_cor2 f g t 0 L) as [u [E [A B]]]; [auto|]. exists u. rewrite !Rabs_left by lra.
      split; [lra|]. rewrite Z in E. replace (f t) with (g u * t) by lra.
      rewrite <- (Rabs_Ropp (g u * t)). replace (- (g u * t)) with (g u * - t) by ring.
      rewrite Rabs_mult, (Rabs_right (- t)) by lra. reflexivity. }
  destruct M as [u [U ->]]. replace (Rabs c * Rabs t ^ S n) with (Rabs c * Rabs t ^ n * Rabs t) by (simpl; ring).
  apply Rmult_le_compat_r; [apply Rabs_pos|]. apply Rle_trans with (c * Rabs u ^ n); [apply P; lra|].
  apply Rle_trans with (Rabs c * Rabs u ^ n).
  - apply Rmult_le_compat_r; [apply pow_le, Rabs_pos|apply RRle_abs].
  - apply Rmult_le_compat_l; [apply Rabs_pos|]. apply pow_incr. split; [apply Rabs_pos|exact U].
Qed.

(* a tensor without indices as a variable number *)
Definition with_number (M : model) (t : nat) (h : R) : model :=
  {| dims := dims M; fn := fn M; ten := fun u ix => if Nat.eqb u t && leqb ix [] then h else ten M u ix |}.
Lemma number_moved M t x h e : forall s,
  eval (bump (with_number M t x) t [] h) s e = eval (with_number M t (x + h)) s e.
Proof.
  induction e; intros s; simpl; try reflexivity; try (now rewrite IHe1, IHe2); try (now rewrite IHe).
  - destruct (Nat.eqb t0 t && leqb (map s ix) []); reflexivity.
  - apply sum_ext; intros; apply IHe.
Qed.
Lemma number_zero M t e : forall G s S, wt S G e = true -> S t = [] ->
  eval (with_number M t 0) s (subst0 [t] e) = eval (with_number M t 0) s e.
Proof.
  intros G s S W E. symmetry. rewrite <- (subst0_spec [t] (with_number M t 0) e s). revert G s W.
  induction e; intros G s W; cbn [wt] in W; cbn [eval]; try reflexivity;
    try (apply lazy_and in W as [W1 W2]); try (now rewrite (IHe1 G), (IHe2 G)); try (now rewrite (IHe G)).
  - unfold zeroed, inb, anyb. cbn [ten with_number]. destruct (Nat.eqb_spec t0 t) as [->|]; [|now rewrite Bool.andb_false_l].
    rewrite E in W. destruct ix; [reflexivity|discriminate].
  - apply sum_ext; intros. apply (IHe (d :: G)). exact W.
Qed.

Section Order.
Variables (D : data) (M : model) (df : nat -> nat) (logs : list nat) (t : nat) (G : list nat).
Hypothesis promises : forall h, meets D (with_number M t h).
Hypothesis logarithm : forall f, inb logs f = true -> forall x, fn M f x = ln x.

Definition vanishes (e : expr) : bool :=
  wt (shapeD D) G e &&& wt (shapeD D) G (subst0 [t] e) &&& check (flags_of D) 6 4 G (subst0 [t] e) (Num 0).
(* n times in turn: what vanishes at 0, and its derivative *)
Fixpoint small (n : nat) (e : expr) : bool :=
  vanishes e &&& derivable_visibly D df [] logs t [] G e &&&
  match n with O => true | S m => small m (deriv df logs t [] e) end.
Definition scalar : bool := sane D &&& leqb (shapeD D t) [].

Lemma vanishes_spec e : scalar = true -> vanishes e = true -> forall ix, inr (dims M) ix G ->
  eval (with_number M t 0) (cat ix origin) e = 0.
Proof.
  unfold scalar, vanishes. intros T H ix I. apply lazy_and in T as [T1 T2]. apply leqb_eq in T2.
  apply lazy_and in H as [H H3]. apply lazy_and in H as [H1 H2].
  rewrite <- (number_zero M t e G (cat ix origin) (shapeD D)) by assumption.
  apply (proj1 (all_in_spec (dims M) G _)
    (identity D (with_number M t 0) G (subst0 [t] e) (Num 0) ltac:(now rewrite T1, H2, H3) (promises 0)) ix I).
Qed.
Lemma derivable_spec e : derivable_visibly D df [] logs t [] G e = true -> forall ix x, inr (dims M) ix G ->
  derivable_pt_lim (fun h => eval (with_number M t h) (cat ix origin) e) x
    (eval (with_number M t x) (cat ix origin) (deriv df logs t [] e)).
Proof.
  intros H ix x I. pose proof (proj1 (all_in_spec (dims M) G _)
    (own_gradient D (with_number M t x) df [] logs t [] G e H (promises x) Logic.I logarithm) ix I) as L.
  cbv beta in L. intros eps He. destruct (L eps He) as [d P]. exists d. intros h H0 H1.
  specialize (P h H0 H1). cbn [map] in P. now rewrite !number_moved, Rplus_0_l, Rplus_0_r in P.
Qed.
Theorem approximates n e : (scalar &&& small n e) = true ->
  all_in (dims M) G (fun ix => big_o (S n) (fun h => eval (with_number M t h) (cat ix origin) e)).
Proof.
  intros H. apply lazy_and in H as [T H]. apply all_in_spec; intros ix I. revert e H.
  induction n as [|n IH]; intros e H; cbn [small] in H; apply lazy_and in H as [H H3];
    apply lazy_and in H as [H1 H2].
  - eapply big_o_first; [now apply vanishes_spec|now apply derivable_spec].
  - eapply big_o_next; [now apply vanishes_spec|intros x; now apply derivable_spec|now apply IH].
Qed.
End Order.

(* what has a slope at 0 vanishes there no faster than that *)
Lemma no_big_o n f l : derivable_pt_lim f 0 l -> l <> 0 -> ~ big_o (S (S n)) f.
Proof.
  intros L N [c [d [Hd P]]].
  assert (Z : f 0 = 0).
  { specialize (P 0). rewrite Rabs_R0 in P. specialize (P Hd). simpl in P. rewrite Rmult_0_l, Rmult_0_r in P.
    pose proof (Rabs_pos (f 0)). destruct (Req_dec (f 0) 0); auto. apply Rabs_pos_lt in H0. lra. }
  pose proof (Rabs_pos_lt l N) as A.
  destruct (L (Rabs l / 2)) as [[b Hb] Q]; [lra|].
  set (t := Rmin (Rmin (b / 2) (d / 2)) (Rmin (1 / 2) (Rabs l / (4 * (Rabs c + 1))))).
  pose proof (Rabs_pos c) as C.
  assert (E : 0 < Rabs l / (4 * (Rabs c + 1))) by (apply Rdiv_lt_0_compat; lra).
  assert (t0 : 0 < t) by (unfold t; repeat apply Rmin_glb_lt; lra).
  assert (t1 : t <= b / 2 /\ t <= d / 2 /\ t <= 1 / 2 /\ t <= Rabs l / (4 * (Rabs c + 1))).
  { unfold t. repeat split.
    - eapply Rle_trans; [apply Rmin_l|apply Rmin_l].
    - eapply Rle_trans; [apply Rmin_l|apply Rmin_r].
    - eapply Rle_trans; [apply Rmin_r|apply Rmin_l].
    - eapply Rle_trans; [apply Rmin_r|apply Rmin_r]. }
  destruct t1 as [tb [td [th tl]]].
  assert (Rt : Rabs t = t) by (apply Rabs_right; lra).
  specialize (P t). rewrite Rt in P. specialize (P ltac:(lra)).
  specialize (Q t ltac:(apply Rgt_not_eq; lra)). cbn [RIneq.pos] in Q. rewrite Rt in Q. specialize (Q ltac:(lra)).
  rewrite Rplus_0_l, Z, Rminus_0_r in Q.
  assert (B : Rabs (f t) <= (Rabs c + 1) * t * t).
  { eapply Rle_trans; [exact P|].
    assert (Pn : t ^ S (S n) <= t * t).
    { simpl. rewrite <- Rmult_assoc. rewrite <- (Rmult_1_r (t * t)) at 2. apply Rmult_le_compat_l; [nra|].
      rewrite <- (pow1 n). apply pow_incr. lra. }
    assert (Pp : 0 <= t ^ S (S n)) by (apply pow_le; lra).
    pose proof (RRle_abs c).
    apply Rle_trans with ((Rabs c + 1) * t ^ S (S n)); [apply Rmult_le_compat_r; lra|].
    rewrite Rmult_assoc. apply Rmult_le_compat_l; lra. }
  assert (F : Rabs (f t / t) <= (Rabs c + 1) * t).
  { unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ t)) by (apply Rle_ge, Rlt_le, Rinv_0_lt_compat; lra).
    apply (Rmult_le_reg_r t); [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact B. }
  assert (S : (Rabs c + 1) * t <= Rabs l / 4).
  { apply Rle_trans with ((Rabs c + 1) * (Rabs l / (4 * (Rabs c + 1)))); [apply Rmult_le_compat_l; lra|].
    right. field. lra. }
  pose proof (Rabs_triang_inv l (f t / t)) as T. rewrite (Rabs_minus_sym l) in T. lra.
Qed.

(* the same at a point where all other numbers are rational *)
Section Slope.
Variables (P : point) (t : nat).
Fixpoint smooth_at (s : nat -> nat) (e : expr) : bool :=
  if has t e then
  match e with
  | Add a b | Mul a b => smooth_at s a &&& smooth_at s b
  | Inv a => smooth_at s a &&& differ P s a (Num 0)
  | Sqrt a => smooth_at s a &&& above P s a (Num 0)
  | Exp a => smooth_at s a
  | Call _ _ => false
  | Sum d a => upto (nth d (p_dims P) 1%nat) (fun v => smooth_at (scons v s) a)
  | _ => true
  end else true.
Lemma smooth_at_spec e : forall s, smooth_at s e = true -> smooth (fun f => f) [] t (at_point P) s e.
Proof.
  induction e; intros s H; cbn [smooth_at smooth] in *;
    match goal with |- context [if has t ?x then _ else _] => destruct (has t x) end; auto;
    try discriminate; try (apply lazy_and in H as [H1 H2]); auto.
  - split; auto. now apply (differ_spec P s e (Num 0)).
  - split; auto. now apply (above_spec P s e (Num 0)).
  - intros v V. apply IHe. now apply (upto_spec _ _ H).
Qed.
(* [zero]: the number has the value 0 at the point *)
Theorem not_approximate n tail e :
  (Qeq_bool (nth t (p_ten P) (fun _ => 1%Q) []) 0 &&& smooth_at (cat tail origin) e &&&
   differ P (cat tail origin) (deriv (fun f => f) [] t [] e) (Num 0)) = true ->
  ~ big_o (S (S n)) (fun h => eval (with_number (at_point P) t h) (cat tail origin) e).
Proof.
  intros H. apply lazy_and in H as [H H3]. apply lazy_and in H as [H1 H2].
  apply (differ_spec P _ _ (Num 0)) in H3. apply smooth_at_spec in H2.
  pose proof (deriv_spec (fun f => f) [] t (at_point P) e ltac:(discriminate) _ [] H2) as L.
  eapply no_big_o; [|exact H3]. revert L. apply lim_ext. intros h. cbn [map].
  assert (Z : ten (at_point P) t [] = 0).
  { apply Qeq_bool_eq, Qeq_eqR in H1. rewrite Q2R_0 in H1. exact H1. }
  generalize (cat tail origin). clear - Z.
  induction e; intros s; simpl; try reflexivity; try (now rewrite IHe1, IHe2); try (now rewrite IHe).
  - destruct (Nat.eqb_spec t0 t) as [->|]; simpl; [|reflexivity].
    destruct (leqb (map s ix) []) eqn:B; [|reflexivity]. apply leqb_eq in B. rewrite B.
    simpl in Z. rewrite Z. ring.
  - apply sum_ext; intros; apply IHe.
Qed.
End Slope.
