(* How fast a function of a small number vanishes. *)
Require Import Reals Lra Lia.
Require Import Attest.Sums Attest.Expr Attest.Norm Attest.Sound Attest.Claim Attest.Deriv.
Open Scope R_scope.

Definition big_o (n : nat) (f : R -> R) : Prop :=
  exists c d, 0 < d /\ forall t, Rabs t < d -> Rabs (f t) <= c * Rabs t ^ n.

(* the derivative at a point is that of the function moved there *)
Lemma derivable_moved f t l : derivable_pt_lim (fun h => f (moved0 t h)) 0 l -> derivable_pt_lim f t l.
Proof.
  unfold moved0. intros D e He. destruct (D e He) as [d P]. exists d. intros h H0 H1.
  specialize (P h H0 H1). now rewrite Rplus_0_l, Rplus_0_r in P.
Qed.
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
