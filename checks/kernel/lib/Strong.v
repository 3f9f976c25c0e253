(* Strong duality of convex quadratic programs with affine constraints: a least point has multipliers. The space of
  the variables is any type with a step along a direction; the lemma of Farkas is proved by induction on the
  constraints (Bartl, A short algebraic proof of the Farkas lemma, SIAM J. Optim. 19, 2008). *)
Require Import Reals List Lia Lra PeanoNat.
Require Import Attest.Sums Attest.Expr Attest.Norm Attest.Sound Attest.Claim.
Open Scope R_scope.

Section Space.
Variables (V : Type) (origin : V) (step : V -> R -> V -> V).  (* [step x t d] is x + t d *)
Definition linear (f : V -> R) : Prop := f origin = 0 /\ forall x t d, f (step x t d) = f x + t * f d.

Lemma linear_zero f : linear f -> (forall x, f x <= 0) -> forall x, f x = 0.
Proof.
  intros [O L] N x. specialize (N (step origin (-1) x)) as M. rewrite L, O in M. specialize (N x). lra.
Qed.
Lemma sum_but_last m a l (h : nat -> R) :
  sum m (fun k => (if Nat.eqb k m then a else l k) * h k) = sum m (fun k => l k * h k).
Proof. apply sum_ext. intros k Hk. destruct (Nat.eqb_spec k m); [lia|reflexivity]. Qed.
Theorem farkas m : forall (f : nat -> V -> R) g, (forall k, (k < m)%nat -> linear (f k)) -> linear g ->
  (forall x, (forall k, (k < m)%nat -> f k x <= 0) -> g x <= 0) ->
  exists l, (forall k, (k < m)%nat -> 0 <= l k) /\ forall x, g x = sum m (fun k => l k * f k x).
Proof.
  induction m as [|m IH]; intros f g F G H.
  { exists (fun _ => 0). split; [lia|]. intros x. simpl. apply (linear_zero g G). intros y. apply H. lia. }
  destruct (Classical_Prop.classic (forall x, (forall k, (k < m)%nat -> f k x <= 0) -> g x <= 0)) as [A|A].
  - destruct (IH f g ltac:(auto) G A) as [l [P E]].
    exists (fun k => if Nat.eqb k m then 0 else l k). split.
    + intros k Hk. destruct (Nat.eqb_spec k m); [lra|apply P; lia].
    + intros x. cbn [sum]. rewrite E, Nat.eqb_refl, (sum_but_last m 0 l (fun k => f k x)). ring.
  - apply Classical_Pred_Type.not_all_ex_not in A as [x0 A]. apply Classical_Prop.imply_to_and in A as [A0 A1].
    assert (Fm : 0 < f m x0).
    { destruct (Rlt_or_le 0 (f m x0)) as [|N]; auto. destruct A1. apply H. intros k Hk.
      destruct (Nat.eq_dec k m) as [->|]; [exact N|apply A0; lia]. }
    set (c := / f m x0). assert (Cp : 0 < c) by now apply Rinv_0_lt_compat.
    assert (C : c * f m x0 = 1) by (unfold c; field; lra).
    set (along := fun h x => h x + - (c * f m x) * h x0).
    assert (L : forall h, linear h -> linear (along h)).
    { destruct (F m ltac:(lia)) as [Om Lm]. intros h [O Q]. unfold along. split; [rewrite O, Om; ring|].
      intros x t d. rewrite Q, Lm. ring. }
    assert (D : forall x, along g x <= 0 \/ exists k, (k < m)%nat /\ 0 < along (f k) x).
    { intros x. destruct (Classical_Prop.classic (exists k, (k < m)%nat /\ 0 < along (f k) x)); auto. left.
      set (y := step x (- (c * f m x)) x0). unfold along. destruct G as [_ Gl]. rewrite <- Gl. apply H.
      intros k Hk. unfold y. destruct (F k Hk) as [_ Fl]. fold y. unfold y. rewrite Fl.
      destruct (Nat.eq_dec k m) as [->|N]; [replace (f m x + _) with (f m x * (1 - c * f m x0)) by ring; rewrite C; lra|].
      destruct (Rlt_or_le 0 (along (f k) x)) as [B|B]; [destruct H0; exists k; split; [lia|exact B]|exact B]. }
    destruct (IH (fun k => along (f k)) (along g)) as [l [P E]].
    + intros k Hk. apply L, F. lia.
    + now apply L.
    + intros x Hx. destruct (D x) as [B|[k [Hk B]]]; [exact B|]. specialize (Hx k Hk). simpl in Hx. lra.
    + exists (fun k => if Nat.eqb k m then c * (g x0 + - sum m (fun k => l k * f k x0)) else l k). split.
      * intros k Hk. destruct (Nat.eqb_spec k m); [|apply P; lia]. apply Rmult_le_pos; [lra|].
        assert (S : 0 <= sum m (fun k => l k * - f k x0)).
        { apply sum_nneg. intros i Hi. apply Rmult_le_pos; [now apply P|]. specialize (A0 i Hi). lra. }
        rewrite (sum_ext m _ (fun k => -1 * (l k * f k x0))), sum_scal in S by (intros; ring). lra.
      * intros x. cbn [sum]. rewrite Nat.eqb_refl, (sum_but_last m _ l (fun k => f k x)).
        specialize (E x). unfold along in E.
        rewrite (sum_ext m _ (fun k => l k * f k x + - (c * f m x) * (l k * f k x0))), sum_plus, sum_scal in E
          by (intros; ring). lra.
Qed.

(* the objective and its second order expansion, the constraints [excess k <= 0] and their linear parts *)
Variables (objective : V -> R) (slope : V -> R) (bend : V -> R) (least : V).
Variables (m : nat) (excess part : nat -> V -> R).
Hypothesis is_linear : linear slope.
Hypothesis are_linear : forall k, (k < m)%nat -> linear (part k).
Hypothesis is_quadratic : forall t d, objective (step least t d) = objective least + t * slope d + t ^ 2 * bend d.
Hypothesis bends_up : forall d, 0 <= bend d.
Hypothesis are_affine : forall k t d, (k < m)%nat -> excess k (step least t d) = excess k least + t * part k d.
Hypothesis feasible : forall k, (k < m)%nat -> excess k least <= 0.
Hypothesis is_least : forall x, (forall k, (k < m)%nat -> excess k x <= 0) -> objective least <= objective x.

(* no direction that stays feasible for a while goes down *)
Lemma goes_up d s : 0 <= s -> (forall k, (k < m)%nat -> part k d <= s * - excess k least) -> 0 <= slope d.
Proof.
  intros S H. destruct (Rle_or_lt 0 (slope d)) as [|N]; auto.
  set (b := bend d). assert (B : 0 <= b) by apply bends_up.
  set (t := Rmin (/ (s + 1)) (- slope d / (2 * (b + 1)))).
  assert (I : 0 < / (s + 1)) by (apply Rinv_0_lt_compat; lra).
  assert (J : 0 < - slope d / (2 * (b + 1))) by (apply Rdiv_lt_0_compat; lra).
  assert (T : 0 < t) by (unfold t; now apply Rmin_glb_lt).
  assert (T1 : t * (s + 1) <= 1).
  { apply Rle_trans with (/ (s + 1) * (s + 1)); [apply Rmult_le_compat_r; [lra|apply Rmin_l]|].
    right. field. lra. }
  assert (T2 : t * (2 * (b + 1)) <= - slope d).
  { apply Rle_trans with (- slope d / (2 * (b + 1)) * (2 * (b + 1)));
      [apply Rmult_le_compat_r; [lra|apply Rmin_r]|]. right. field. lra. }
  assert (U : objective least <= objective (step least t d)).
  { apply is_least. intros k Hk. rewrite are_affine by exact Hk. specialize (H k Hk). specialize (feasible k Hk).
    set (e := excess k least) in *. set (p := part k d) in *.
    assert (t * p <= t * (s * - e)) by (apply Rmult_le_compat_l; lra).
    assert (0 <= (1 - t * s) * - e) by (apply Rmult_le_pos; nra). lra. }
  rewrite is_quadratic in U. fold b in U.
  assert (0 <= t * (slope d + t * b)) by lra.
  assert (0 < t * (- slope d - t * b)) by (apply Rmult_lt_0_compat; [exact T|nra]). lra.
Qed.
End Space.

(* directions with a number that says how much of the slack they may use *)
Definition extended {V} (step : V -> R -> V -> V) (x : V * R) (t : R) (d : V * R) : V * R :=
  (step (fst x) t (fst d), snd x + t * snd d).

Theorem multipliers (V : Type) (origin : V) (step : V -> R -> V -> V) objective slope bend least m excess part :
  linear V origin step slope -> (forall k, (k < m)%nat -> linear V origin step (part k)) ->
  (forall t d, objective (step least t d) = objective least + t * slope d + t ^ 2 * bend d) ->
  (forall d, 0 <= bend d) ->
  (forall k t d, (k < m)%nat -> excess k (step least t d) = excess k least + t * part k d) ->
  (forall k, (k < m)%nat -> excess k least <= 0) ->
  (forall x, (forall k, (k < m)%nat -> excess k x <= 0) -> objective least <= objective x) ->
  exists l, (forall k, (k < m)%nat -> 0 <= l k) /\
    forall d, objective least <= objective (step least 1 d) + sum m (fun k => l k * excess k (step least 1 d)).
Proof.
  intros SL PL Q B A F M.
  set (f := fun k (x : V * R) => if Nat.eqb k m then - snd x else part k (fst x) + snd x * excess k least).
  destruct (farkas (V * R) (origin, 0) (extended step) (S m) f (fun x => - slope (fst x))) as [l [P E]].
  - intros k Hk. unfold f. destruct (Nat.eqb_spec k m) as [->|N].
    + split; simpl; [lra|]. intros. ring.
    + destruct (PL k ltac:(lia)) as [O L]. split; simpl; [rewrite O; ring|]. intros. rewrite L. ring.
  - destruct SL as [O L]. split; simpl; [rewrite O; ring|]. intros. rewrite L. ring.
  - intros [d s] H. simpl. apply Ropp_le_cancel. rewrite Ropp_0, Ropp_involutive.
    apply (goes_up V step objective slope bend least m excess part Q B A F M d s).
    + specialize (H m ltac:(lia)). unfold f in H. rewrite Nat.eqb_refl in H. simpl in H. lra.
    + intros k Hk. specialize (H k ltac:(lia)). unfold f in H.
      destruct (Nat.eqb_spec k m); [lia|]. simpl in H. lra.
  - exists l. assert (E1 : forall d, - slope d = sum m (fun k => l k * part k d)).
    { intros d. specialize (E (d, 0)). cbn [sum fst snd] in E. unfold f in E at 2.
      rewrite Nat.eqb_refl in E. cbn [snd] in E. rewrite E.
      rewrite (sum_ext m _ (fun k => l k * part k d)); [ring|].
      intros k Hk. unfold f. destruct (Nat.eqb_spec k m); [lia|]. simpl. ring. }
    assert (E2 : sum m (fun k => l k * excess k least) = l m).
    { specialize (E (origin, 1)). cbn [sum fst snd] in E. unfold f in E at 2.
      rewrite Nat.eqb_refl in E. cbn [snd] in E. rewrite (proj1 SL) in E.
      rewrite (sum_ext m _ (fun k => l k * excess k least)) in E; [lra|].
      intros k Hk. unfold f. destruct (Nat.eqb_spec k m); [lia|]. simpl. rewrite (proj1 (PL k Hk)). ring. }
    split; [intros; apply P; lia|]. intros d. rewrite Q.
    rewrite (sum_ext m _ (fun k => l k * excess k least + l k * part k d)), sum_plus, <- E1, E2.
    + specialize (B d). specialize (P m ltac:(lia)). lra.
    + intros k Hk. rewrite A by exact Hk. ring.
Qed.

(* families of constraints with one, two or no indices, one after the other *)
Lemma sum_append a b f : sum (a + b) f = sum a f + sum b (fun k => f (a + k)%nat).
Proof.
  induction b; simpl; [rewrite Nat.add_0_r; lra|]. rewrite Nat.add_succ_r. simpl. rewrite IHb. lra.
Qed.
Lemma sum_grid n c f : sum (n * c) f = sum n (fun i => sum c (fun j => f (i * c + j)%nat)).
Proof.
  induction n; simpl; [reflexivity|]. rewrite Nat.add_comm, sum_append, IHn. reflexivity.
Qed.

(* constraints in families with two indices *)
Section Families.
Variables (V : Type) (origin : V) (step : V -> R -> V -> V).
(* how many of each index, and of each constraint what exceeds 0 and its linear part *)
Record family := { rows : nat; cols : nat; both : nat -> nat -> (V -> R) * (V -> R) }.

Fixpoint count (l : list family) : nat :=
  match l with nil => 0 | F :: r => rows F * cols F + count r end.
Fixpoint flat_at (l : list family) (k : nat) : (V -> R) * (V -> R) :=
  match l with
  | nil => (fun _ => 0, fun _ => 0)
  | F :: r => if Nat.ltb k (rows F * cols F) then both F (k / cols F) (k mod cols F)
              else flat_at r (k - rows F * cols F)
  end.
Fixpoint every (P : (V -> R) * (V -> R) -> Prop) (l : list family) : Prop :=
  match l with
  | nil => True
  | F :: r => (forall i, (i < rows F)%nat -> forall j, (j < cols F)%nat -> P (both F i j)) /\ every P r
  end.
(* nonnegative multipliers for every constraint, such that what they add to a function has a property *)
Fixpoint weighted (l : list family) (P : (V -> R) -> Prop) : Prop :=
  match l with
  | nil => P (fun _ => 0)
  | F :: r => exists a : nat -> nat -> R,
      (forall i, (i < rows F)%nat -> forall j, (j < cols F)%nat -> 0 <= a i j) /\
      weighted r (fun h => P (fun x => sum (rows F) (fun i => sum (cols F) (fun j => a i j * fst (both F i j) x)) + h x))
  end.

Lemma inside_grid n c i j : (i < n)%nat -> (j < c)%nat -> (i * c + j < n * c)%nat.
Proof. nia. Qed.
Lemma flat_here F r i j : (i < rows F)%nat -> (j < cols F)%nat -> flat_at (F :: r) (i * cols F + j) = both F i j.
Proof.
  intros Hi Hj. cbn [flat_at]. pose proof (inside_grid _ _ _ _ Hi Hj) as L. apply Nat.ltb_lt in L. rewrite L.
  rewrite Nat.div_add_l, Nat.div_small, Nat.add_0_r by lia.
  rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small by lia. reflexivity.
Qed.
Lemma flat_later F r k : flat_at (F :: r) (rows F * cols F + k) = flat_at r k.
Proof.
  cbn [flat_at]. replace (Nat.ltb _ _) with false by (symmetry; apply Nat.ltb_ge; lia). f_equal. lia.
Qed.
Lemma every_flat (P : (V -> R) * (V -> R) -> Prop) l : every P l -> forall k, (k < count l)%nat -> P (flat_at l k).
Proof.
  induction l as [|F r IH]; intros H k Hk; [simpl in Hk; lia|]. destruct H as [H1 H2]. cbn [flat_at count] in *.
  destruct (Nat.ltb_spec k (rows F * cols F)) as [L|L]; [|apply IH; [exact H2|lia]].
  assert (cols F <> 0)%nat by nia.
  apply H1; [apply Nat.div_lt_upper_bound; lia|now apply Nat.mod_upper_bound].
Qed.
Lemma flat_every (P : (V -> R) * (V -> R) -> Prop) l : (forall k, (k < count l)%nat -> P (flat_at l k)) -> every P l.
Proof.
  induction l as [|F r IH]; intros H; [exact I|]. split.
  - intros i Hi j Hj. rewrite <- (flat_here F r i j) by assumption. apply H. cbn [count].
    pose proof (inside_grid _ _ _ _ Hi Hj). lia.
  - apply IH. intros k Hk. rewrite <- (flat_later F r k). apply H. cbn [count]. lia.
Qed.
Lemma flat_weighted l : forall (P : (V -> R) -> Prop) a, (forall k, (k < count l)%nat -> 0 <= a k) ->
  (forall h, (forall x, h x = sum (count l) (fun k => a k * fst (flat_at l k) x)) -> P h) -> weighted l P.
Proof.
  induction l as [|F r IH]; intros P a A H.
  - apply H. reflexivity.
  - exists (fun i j => a (i * cols F + j)%nat). split.
    + intros i Hi j Hj. apply A. cbn [count]. pose proof (inside_grid _ _ _ _ Hi Hj). lia.
    + apply (IH _ (fun k => a (rows F * cols F + k)%nat)); [intros; apply A; cbn [count]; lia|].
      intros h E. apply H. intros x. cbn [count]. rewrite sum_append, sum_grid, E. f_equal.
      * apply sum_ext; intros i Hi. apply sum_ext; intros j Hj. now rewrite flat_here.
      * apply sum_ext; intros k Hk. now rewrite flat_later.
Qed.

Theorem strong_duality (l : list family) objective slope bend least :
  linear V origin step slope -> every (fun c => linear V origin step (snd c)) l ->
  (forall t d, objective (step least t d) = objective least + t * slope d + t ^ 2 * bend d) ->
  (forall d, 0 <= bend d) ->
  every (fun c => forall t d, fst c (step least t d) = fst c least + t * snd c d) l ->
  every (fun c => fst c least <= 0) l ->
  (forall x, every (fun c => fst c x <= 0) l -> objective least <= objective x) ->
  weighted l (fun h => forall d, objective least <= objective (step least 1 d) + h (step least 1 d)).
Proof.
  intros S L Q B A F M.
  destruct (multipliers V origin step objective slope bend least (count l) (fun k => fst (flat_at l k))
    (fun k => snd (flat_at l k))) as [a [P E]]; auto.
  - intros k Hk. exact (every_flat _ _ L k Hk).
  - intros k t d Hk. exact (every_flat _ _ A k Hk t d).
  - intros k Hk. exact (every_flat _ _ F k Hk).
  - intros x H. apply M. apply flat_every. exact H.
  - apply (flat_weighted l _ a P). intros h Eh d. rewrite Eh. apply E.
Qed.
End Families.
(* the next premise of a theorem is proved first *)
Ltac premise H := match type of H with ?A -> _ => let p := fresh in assert (p : A); [|specialize (H p); clear p] end.
Lemma excess_le a b : a <= b -> a + (-1) * b <= 0.
Proof. lra. Qed.
Lemma excess_ge a b : a + (-1) * b <= 0 -> a <= b.
Proof. lra. Qed.
