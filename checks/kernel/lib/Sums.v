(* Finite sums over 0..n-1 of reals, nested sums, and the few laws that the normaliser needs. *)
Require Import Reals List Lia Lra.
Import ListNotations.
Open Scope R_scope.

Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with O => 0 | S m => sum m f + f m end.

Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof. induction n; simpl; intros H; [reflexivity|]. rewrite IHn, H; auto. Qed.

Lemma sum_plus n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.

Lemma sum_scal n c f : sum n (fun i => c * f i) = c * sum n f.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.

Lemma sum_zero n : sum n (fun _ => 0) = 0.
Proof. induction n; simpl; lra. Qed.

Lemma sum_const n c : sum n (fun _ => c) = INR n * c.
Proof. induction n; [simpl; lra|]. rewrite S_INR; simpl; rewrite IHn; lra. Qed.

Lemma sum_swap n m (f : nat -> nat -> R) :
  sum n (fun i => sum m (fun j => f i j)) = sum m (fun j => sum n (fun i => f i j)).
Proof.
  induction n; simpl. { now rewrite sum_zero. }
  rewrite IHn, <- sum_plus. reflexivity.
Qed.

Lemma sum_delta n k f : (k < n)%nat -> sum n (fun i => (if Nat.eqb i k then 1 else 0) * f i) = f k.
Proof.
  induction n; intros H; [lia|]; simpl.
  destruct (Nat.eq_dec k n) as [->|ne].
  - rewrite Nat.eqb_refl. rewrite (sum_ext n _ (fun _ => 0)).
    + rewrite sum_zero; lra.
    + intros i Hi. replace (Nat.eqb i n) with false; [lra|]. symmetry; apply Nat.eqb_neq; lia.
  - rewrite IHn by lia. replace (Nat.eqb n k) with false; [lra|]. symmetry; apply Nat.eqb_neq; lia.
Qed.

Lemma sum_pos n f : (0 < n)%nat -> (forall i, (i < n)%nat -> 0 < f i) -> 0 < sum n f.
Proof.
  induction n; intros Hn H; [lia|]; simpl. destruct n.
  - simpl. specialize (H 0%nat). lra || (assert (0 < f 0%nat) by (apply H; lia); lra).
  - assert (0 < sum (S n) f) by (apply IHn; [lia|intros; apply H; lia]).
    assert (0 < f (S n)) by (apply H; lia). lra.
Qed.

Lemma sum_nneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof.
  induction n; intros H; simpl; [lra|].
  assert (0 <= sum n f) by (apply IHn; intros; apply H; lia).
  assert (0 <= f n) by (apply H; lia). lra.
Qed.

Section Nested.
Variable dims : nat -> nat.

(* Values of the bound indices, innermost first; the head of [l] is the innermost sum. *)
Fixpoint sumv (l : list nat) (f : list nat -> R) : R :=
  match l with [] => f [] | d :: l' => sumv l' (fun vs => sum (dims d) (fun v => f (v :: vs))) end.

Definition inr (vs l : list nat) := Forall2 (fun v d => (v < dims d)%nat) vs l.

Lemma sumv_ext l f g : (forall vs, inr vs l -> f vs = g vs) -> sumv l f = sumv l g.
Proof.
  revert f g; induction l as [|d l IH]; intros f g H; simpl.
  - apply H; constructor.
  - apply IH; intros vs Hv. apply sum_ext; intros v Hlt. apply H. constructor; auto.
Qed.

Lemma sumv_plus l f g : sumv l (fun vs => f vs + g vs) = sumv l f + sumv l g.
Proof.
  revert f g; induction l as [|d l IH]; intros f g; simpl; [reflexivity|].
  rewrite <- IH. apply sumv_ext; intros; apply sum_plus.
Qed.

Lemma sumv_scal l c f : sumv l (fun vs => c * f vs) = c * sumv l f.
Proof.
  revert f; induction l as [|d l IH]; intros f; simpl; [reflexivity|].
  rewrite <- IH. apply sumv_ext; intros; apply sum_scal.
Qed.

Lemma sumv_scal_r l c f : sumv l (fun vs => f vs * c) = sumv l f * c.
Proof. rewrite Rmult_comm, <- sumv_scal. apply sumv_ext; intros; ring. Qed.

Lemma sumv_zero l : sumv l (fun _ => 0) = 0.
Proof.
  induction l as [|d l IH]; simpl; [reflexivity|].
  transitivity (sumv l (fun _ => 0)); [|exact IH]. apply sumv_ext; intros; apply sum_zero.
Qed.

Lemma sumv_app l2 l1 f : sumv (l2 ++ l1) f = sumv l1 (fun v1 => sumv l2 (fun v2 => f (v2 ++ v1))).
Proof.
  revert f; induction l2 as [|d l2 IH]; intros f; simpl.
  - apply sumv_ext; reflexivity.
  - rewrite IH. apply sumv_ext; intros. reflexivity.
Qed.

Lemma sumv_mul l2 l1 F1 F2 :
  sumv l1 F1 * sumv l2 F2 = sumv l1 (fun v1 => sumv l2 (fun v2 => F1 v1 * F2 v2)).
Proof. rewrite <- sumv_scal_r. apply sumv_ext; intros. now rewrite sumv_scal. Qed.

Fixpoint del {A} (k : nat) (l : list A) : list A :=
  match l, k with [] , _ => [] | _ :: l', O => l' | x :: l', S k' => x :: del k' l' end.
Fixpoint ins (k : nat) (v : nat) (l : list nat) : list nat :=
  match k with O => v :: l | S k' => match l with [] => [v] | x :: l' => x :: ins k' v l' end end.

(* The k-th binder can be made the innermost one. *)
Lemma sumv_pull k : forall l d f, nth_error l k = Some d ->
  sumv l f = sumv (del k l) (fun ws => sum (dims d) (fun v => f (ins k v ws))).
Proof.
  induction k; intros l d f H; destruct l as [|d0 l]; simpl in *; try discriminate.
  - injection H as ->. apply sumv_ext; reflexivity.
  - rewrite (IHk _ _ _ H). apply sumv_ext; intros ws _. apply sum_swap.
Qed.

Lemma inr_length vs l : inr vs l -> length vs = length l.
Proof. induction 1; simpl; auto. Qed.

Lemma inr_app v2 v1 l2 l1 : inr v2 l2 -> inr v1 l1 -> inr (v2 ++ v1) (l2 ++ l1).
Proof. apply Forall2_app. Qed.

Lemma inr_nth vs l k d : inr vs l -> nth_error l k = Some d ->
  exists v, nth_error vs k = Some v /\ (v < dims d)%nat.
Proof.
  intros H; revert k; induction H; intros k Hk; destruct k; simpl in *; try discriminate.
  - injection Hk as <-. eauto.
  - auto.
Qed.
End Nested.
