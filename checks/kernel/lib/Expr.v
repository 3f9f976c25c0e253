(* Index expressions (as in derivations/calculus/index.py), their value in a model, renaming, ranges. *)
Require Import Reals List Lia Lra Bool ZArith.
Require Import Attest.Sums.
Import ListNotations.
Open Scope R_scope.

(* Index variables are de Bruijn numbers: 0 is bound by the nearest Sum.
  Dimensions, tensors, functions are numbered. *)
Inductive expr :=
| Num (z : Z) | Dim (d : nat) | At (t : nat) (ix : list nat) | Delta (i j : nat)
| Add (a b : expr) | Mul (a b : expr) | Inv (a : expr) | Sqrt (a : expr) | Exp (a : expr)
| Call (f : nat) (a : expr) | Sum (d : nat) (a : expr).

Record model := { dims : nat -> nat; ten : nat -> list nat -> R; fn : nat -> R -> R }.

(* 1 where two indices agree, else 0, as the readable statements write it *)
Definition delta (i j : nat) : R := if Nat.eqb i j then 1 else 0.

Definition scons (v : nat) (s : nat -> nat) (n : nat) := match n with O => v | S m => s m end.
Fixpoint cat (vs : list nat) (s : nat -> nat) (n : nat) : nat :=
  match vs with [] => s n | v :: vs' => match n with O => v | S m => cat vs' s m end end.

Fixpoint eval (M : model) (s : nat -> nat) (e : expr) : R :=
  match e with
  | Num z => IZR z
  | Dim d => INR (dims M d)
  | At t ix => ten M t (map s ix)
  | Delta i j => if Nat.eqb (s i) (s j) then 1 else 0
  | Add a b => eval M s a + eval M s b
  | Mul a b => eval M s a * eval M s b
  | Inv a => / eval M s a
  | Sqrt a => sqrt (eval M s a)
  | Exp a => exp (eval M s a)
  | Call f a => fn M f (eval M s a)
  | Sum d a => sum (dims M d) (fun v => eval M (scons v s) a)
  end.

Lemma eval_ext M e : forall s s', (forall n, s n = s' n) -> eval M s e = eval M s' e.
Proof.
  induction e; intros s s' H; simpl; try reflexivity;
    try (now rewrite (IHe1 s s'), (IHe2 s s')); try (now rewrite (IHe s s')).
  - f_equal. apply map_ext; auto.
  - now rewrite (H i), (H j).
  - apply sum_ext; intros v _. apply IHe. intros [|n]; simpl; auto.
Qed.

Definition up (r : nat -> nat) (n : nat) := match n with O => O | S m => S (r m) end.

Fixpoint ren (r : nat -> nat) (e : expr) : expr :=
  match e with
  | At t ix => At t (map r ix)
  | Delta i j => Delta (r i) (r j)
  | Add a b => Add (ren r a) (ren r b)
  | Mul a b => Mul (ren r a) (ren r b)
  | Inv a => Inv (ren r a) | Sqrt a => Sqrt (ren r a) | Exp a => Exp (ren r a)
  | Call f a => Call f (ren r a)
  | Sum d a => Sum d (ren (up r) a)
  | _ => e
  end.

Lemma eval_ren M e : forall r s, eval M s (ren r e) = eval M (fun n => s (r n)) e.
Proof.
  induction e; intros r s; simpl; try reflexivity; try (now rewrite IHe1, IHe2); try (now rewrite IHe).
  - now rewrite map_map.
  - apply sum_ext; intros v _. rewrite IHe. apply eval_ext. intros [|n]; reflexivity.
Qed.

(* Does the index [k] occur? *)
Fixpoint occurs (k : nat) (e : expr) : bool :=
  match e with
  | At _ ix => existsb (Nat.eqb k) ix
  | Delta i j => Nat.eqb k i || Nat.eqb k j
  | Add a b | Mul a b => occurs k a || occurs k b
  | Inv a | Sqrt a | Exp a | Call _ a => occurs k a
  | Sum _ a => occurs (S k) a
  | _ => false
  end.

Lemma eval_occurs M e : forall k s s', occurs k e = false -> (forall n, n <> k -> s n = s' n) ->
  eval M s e = eval M s' e.
Proof.
  induction e; intros k s s' Ho H; simpl in *; try reflexivity;
    try (apply orb_false_iff in Ho as [Ho1 Ho2]);
    try (now rewrite (IHe1 k s s'), (IHe2 k s s')); try (now rewrite (IHe k s s')).
  - f_equal. apply map_ext_in. intros a Ha. apply H. intros ->.
    assert (existsb (Nat.eqb k) ix = true) by (apply existsb_exists; exists k; split;
      [auto|apply Nat.eqb_refl]).
    congruence.
  - apply Nat.eqb_neq in Ho1, Ho2. rewrite (H i), (H j); auto.
  - apply sum_ext; intros v _. apply (IHe (S k)); auto. intros [|n] Hn; simpl; auto.
Qed.

(* Syntactic equality. *)
Fixpoint leqb (a b : list nat) : bool :=
  match a, b with [], [] => true | x :: a', y :: b' => Nat.eqb x y && leqb a' b' | _, _ => false end.
Lemma leqb_eq a : forall b, leqb a b = true -> a = b.
Proof.
  induction a; intros [|y b]; simpl; try discriminate; auto. intros H.
  apply andb_true_iff in H as [H1 H2]. apply Nat.eqb_eq in H1. f_equal; auto.
Qed.

Fixpoint eqb (a b : expr) : bool :=
  match a, b with
  | Num x, Num y => Z.eqb x y
  | Dim x, Dim y => Nat.eqb x y
  | At t ix, At u jx => Nat.eqb t u && leqb ix jx
  | Delta i j, Delta k l => Nat.eqb i k && Nat.eqb j l
  | Add x y, Add z w | Mul x y, Mul z w => eqb x z && eqb y w
  | Inv x, Inv y | Sqrt x, Sqrt y | Exp x, Exp y => eqb x y
  | Call f x, Call g y => Nat.eqb f g && eqb x y
  | Sum d x, Sum c y => Nat.eqb d c && eqb x y
  | _, _ => false
  end.
Lemma eqb_eq a : forall b, eqb a b = true -> a = b.
Proof.
  induction a; intros b H; destruct b; simpl in H; try discriminate;
    try (apply andb_true_iff in H as [H1 H2]);
    repeat match goal with
      | H : Nat.eqb _ _ = true |- _ => apply Nat.eqb_eq in H
      | H : Z.eqb _ _ = true |- _ => apply Z.eqb_eq in H
      | H : leqb _ _ = true |- _ => apply leqb_eq in H end; subst; f_equal; auto.
Qed.

(* Contexts give the dimension of every free index; an assignment is valid if it stays in the ranges. *)
Definition valid (M : model) (G : list nat) (s : nat -> nat) :=
  forall k d, nth_error G k = Some d -> (s k < dims M d)%nat.

Lemma valid_cat M l G vs s : inr (dims M) vs l -> valid M G s -> valid M (l ++ G) (cat vs s).
Proof.
  intros H; induction H; simpl; intros HG; auto. intros [|k] d Hk; simpl in *.
  - injection Hk as <-; auto.
  - apply IHForall2; auto.
Qed.
Lemma valid_scons M d G v s : (v < dims M d)%nat -> valid M G s -> valid M (d :: G) (scons v s).
Proof. intros Hv HG [|k] c Hk; simpl in *; [injection Hk as <-; auto|auto]. Qed.

Lemma cat_app v2 v1 s n : cat (v2 ++ v1) s n = cat v2 (cat v1 s) n.
Proof. revert n; induction v2; intros [|n]; simpl; auto. Qed.
Lemma cat_shift vs s n : cat vs s (length vs + n) = s n.
Proof. induction vs; simpl; auto. Qed.
Lemma cat_one v s n : cat [v] s n = scons v s n.
Proof. destruct n; reflexivity. Qed.
