(* Minima by convexity: a convex function is above its tangents, and what is said near some numbers holds near a
   matrix from which they are computed by sums and products. *)
Require Import Reals Lra Lia.
Require Import Attest.Sums Attest.Paper.
Open Scope R_scope.

Lemma above_tangent f l c u e : convex_near f c e -> derivable_pt_lim f c l -> Rabs (u + (-1) * c) < e ->
  0 <= f u + (-1) * f c + (-1) * (l * (u + (-1) * c)).
Proof.
  intros C D N. apply Rnot_lt_le. intros B.
  set (g := f u + (-1) * f c + (-1) * (l * (u + (-1) * c))) in *.
  assert (W : u + (-1) * c <> 0).
  { intros E. assert (u = c) by lra. subst u. unfold g in B. lra. }
  set (w := u + (-1) * c) in *. pose proof (Rabs_pos_lt w W) as P.
  destruct (D (- g / (2 * Rabs w))) as [[d Hd] S]; [apply Rdiv_lt_0_compat; lra|]. cbn [RIneq.pos] in S.
  set (t := Rmin 1 (d / (2 * Rabs w))).
  assert (T0 : 0 < t) by (apply Rmin_glb_lt; [lra|apply Rdiv_lt_0_compat; lra]).
  assert (T1 : t <= 1) by apply Rmin_l.
  assert (H0 : t * w <> 0) by (apply Rmult_integral_contrapositive_currified; lra).
  assert (A : Rabs (t * w) = t * Rabs w) by (rewrite Rabs_mult, (Rabs_right t); lra).
  assert (H1 : Rabs (t * w) < d).
  { rewrite A. apply Rle_lt_trans with (d / (2 * Rabs w) * Rabs w);
      [apply Rmult_le_compat_r; [lra|apply Rmin_r]|]. replace (d / (2 * Rabs w) * Rabs w) with (d / 2) by (field; lra). lra. }
  specialize (S (t * w) H0 H1).
  assert (K : Rabs (f (c + t * w) - f c - l * (t * w)) < t * (- g / 2)).
  { replace (f (c + t * w) - f c - l * (t * w)) with (((f (c + t * w) - f c) / (t * w) - l) * (t * w))
      by (field; split; lra).
    rewrite Rabs_mult, A. apply Rlt_le_trans with (- g / (2 * Rabs w) * (t * Rabs w));
      [apply Rmult_lt_compat_r; [apply Rmult_lt_0_compat; lra|exact S]|]. right. field. lra. }
  apply Rabs_def2 in K as [_ K].
  assert (E0 : Rabs (c + (-1) * c) < e).
  { replace (c + (-1) * c) with 0 by ring. rewrite Rabs_R0. pose proof (Rabs_pos w). lra. }
  specialize (C u c t N E0 ltac:(lra)).
  replace (t * u + (1 + (-1) * t) * c) with (c + t * w) in C by (unfold w; ring).
  assert (G : f u = g + f c + l * w) by (unfold g, w; ring).
  rewrite G in C. nra.
Qed.
Lemma convex_is_near f c u : convex f -> convex_near f c (Rabs (u + (-1) * c) + 1).
Proof. intros C x y t _ _ T. now apply C. Qed.
Lemma above_tangents f l c u : convex f -> derivable_pt_lim f c l ->
  0 <= f u + (-1) * f c + (-1) * (l * (u + (-1) * c)).
Proof. intros C D. eapply above_tangent; [exact (convex_is_near f c u C)|exact D|lra]. Qed.

Lemma from_gap a b q : a + (-1) * b = q -> 0 <= q -> a >= b.
Proof. lra. Qed.

Section Near.
Variables (n k : nat) (Z0 : nat -> nat -> R).
Notation near := (near n k Z0).
Definition steady (f : (nat -> nat -> R) -> R) : Prop :=
  forall e, 0 < e -> exists d, 0 < d /\ forall Z, near d Z -> Rabs (f Z + (-1) * f Z0) < e.

Lemma nearer d d' Z : d <= d' -> near d Z -> near d' Z.
Proof. intros L N i I j J. specialize (N i I j J). lra. Qed.
Lemma steady_still c : steady (fun _ => c).
Proof. intros e E. exists 1. split; [lra|]. intros Z _. replace (c + (-1) * c) with 0 by ring. now rewrite Rabs_R0. Qed.
Lemma steady_entry i j : (i < n)%nat -> (j < k)%nat -> steady (fun Z => Z i j).
Proof. intros I J e E. exists e. split; [exact E|]. intros Z N. now apply N. Qed.
Lemma steady_plus f g : steady f -> steady g -> steady (fun Z => f Z + g Z).
Proof.
  intros F G e E. destruct (F (e / 2)) as [a [A P]]; [lra|]. destruct (G (e / 2)) as [b [B Q]]; [lra|].
  exists (Rmin a b). split; [now apply Rmin_glb_lt|]. intros Z N.
  specialize (P Z (nearer _ _ _ (Rmin_l a b) N)). specialize (Q Z (nearer _ _ _ (Rmin_r a b) N)).
  apply Rabs_def2 in P. apply Rabs_def2 in Q. apply Rabs_def1; lra.
Qed.
Lemma steady_times f g : steady f -> steady g -> steady (fun Z => f Z * g Z).
Proof.
  intros F G e E. set (x := f Z0) in *. set (y := g Z0) in *.
  pose proof (Rabs_pos x) as X. pose proof (Rabs_pos y) as Y.
  set (h := Rmin 1 (e / (2 + Rabs x + Rabs y))).
  assert (H : 0 < h) by (apply Rmin_glb_lt; [lra|apply Rdiv_lt_0_compat; lra]).
  assert (H1 : h <= 1) by apply Rmin_l.
  assert (H2 : h * (2 + Rabs x + Rabs y) <= e).
  { apply Rle_trans with (e / (2 + Rabs x + Rabs y) * (2 + Rabs x + Rabs y));
      [apply Rmult_le_compat_r; [lra|apply Rmin_r]|]. right. field. lra. }
  destruct (F h H) as [a [A P]]. destruct (G h H) as [b [B Q]].
  exists (Rmin a b). split; [now apply Rmin_glb_lt|]. intros Z N.
  specialize (P Z (nearer _ _ _ (Rmin_l a b) N)). specialize (Q Z (nearer _ _ _ (Rmin_r a b) N)).
  fold x in P. fold y in Q. set (p := f Z + (-1) * x) in *. set (q := g Z + (-1) * y) in *.
  replace (f Z * g Z + (-1) * (x * y)) with (p * q + x * q + y * p) by (unfold p, q; ring).
  pose proof (Rabs_pos p). pose proof (Rabs_pos q).
  eapply Rle_lt_trans; [eapply Rle_trans; [apply Rabs_triang|apply Rplus_le_compat_r, Rabs_triang]|].
  rewrite !Rabs_mult. assert (Rabs p * Rabs q <= 1 * h) by (apply Rmult_le_compat; lra).
  assert (Rabs x * Rabs q <= Rabs x * h) by (apply Rmult_le_compat_l; lra).
  assert (Rabs y * Rabs p <= Rabs y * h) by (apply Rmult_le_compat_l; lra). nra.
Qed.
Lemma steady_sum m f : (forall i, (i < m)%nat -> steady (fun Z => f Z i)) -> steady (fun Z => sum m (f Z)).
Proof.
  induction m as [|m IH]; intros H; [exact (steady_still 0)|].
  exact (steady_plus _ _ (IH (fun i I => H i ltac:(lia))) (H m ltac:(lia))).
Qed.

(* for each of finitely many numbers near the matrix: near it for all of them *)
Lemma near_for_all m (P : nat -> (nat -> nat -> R) -> Prop) :
  (forall i, (i < m)%nat -> exists d, 0 < d /\ forall Z, near d Z -> P i Z) ->
  exists d, 0 < d /\ forall Z, near d Z -> forall i, (i < m)%nat -> P i Z.
Proof.
  induction m as [|m IH]; intros H.
  - exists 1. split; [lra|]. intros Z _ i I. lia.
  - destruct (IH (fun i I => H i ltac:(lia))) as [a [A Q]]. destruct (H m ltac:(lia)) as [b [B R]].
    exists (Rmin a b). split; [now apply Rmin_glb_lt|]. intros Z N i I.
    destruct (Nat.eq_dec i m) as [->|]; [apply R|apply Q; [|lia]]; (eapply nearer; [|exact N]); [apply Rmin_r|apply Rmin_l].
Qed.
End Near.

(* sums and products of entries in their ranges *)
Ltac keep_steady := repeat first
  [ assumption | apply steady_still | apply steady_entry; assumption
  | apply steady_sum; intros | apply steady_plus | apply steady_times ].
