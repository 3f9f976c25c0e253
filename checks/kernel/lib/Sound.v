(* Soundness of the normaliser: what it calls equal has equal values in every model that keeps the
  promises. *)
Require Import Reals QArith Qreals List Lia Lra Bool ZArith.
Require Import Attest.Sums Attest.Expr Attest.Norm.
Import ListNotations.
Open Scope R_scope.

Record keeps (F : flags) (M : model) : Prop := {
  k_dims : forall d, (0 < dims M d)%nat;
  k_posT : forall t ix, posT F t = true -> 0 < ten M t ix;
  k_nzT : forall t ix, nzT F t = true -> ten M t ix <> 0;
  k_posF : forall f x, posF F f = true -> 0 < fn M f x;
  k_sym : forall t i j, sym F t = true -> ten M t [i; j] = ten M t [j; i];
  k_facts : forall H e s, In (H, e) (facts F) -> valid M H s -> eval M s e <> 0 }.

Lemma lazy_and (a b : bool) : (if a then b else false) = true -> a = true /\ b = true.
Proof. destruct a; auto; discriminate. Qed.
Lemma lazy_or (a b : bool) : (if a then true else b) = true -> a = true \/ b = true.
Proof. destruct a; auto. Qed.
Lemma anyb_ex {A} f (l : list A) : anyb f l = true -> exists x, In x l /\ f x = true.
Proof. induction l; simpl; [discriminate|]. intros H. apply lazy_or in H as [H|H]; [eauto|].
  destruct (IHl H) as (x & ? & ?); eauto. Qed.
Lemma allb_all {A} f (l : list A) : allb f l = true -> forall x, In x l -> f x = true.
Proof. induction l; simpl; [tauto|]. intros H x [<-|Hx]; apply lazy_and in H as [H1 H2]; auto. Qed.
Ltac lazy_split := repeat match goal with H : (if _ then _ else false) = true |- _ => apply lazy_and in H
  as [? H] end.

Local Opaque Qred Qmult Qplus Qinv.
Section Sound.
Variables (F : flags) (M : model).
Hypothesis K : keeps F M.

Definition fprod (s : nat -> nat) (fs : list expr) : R := fold_right (fun e r => eval M s e * r) 1 fs.
Definition evalm (s : nat -> nat) (m : mono) : R :=
  let '(c, l, fs) := m in Q2R c * sumv (dims M) l (fun vs => fprod (cat vs s) fs).
Definition evalp (s : nat -> nat) (p : poly) : R := fold_right (fun m r => evalm s m + r) 0 p.

(* ---- products of factors *)
Lemma fprod_ext fs s s' : (forall n, s n = s' n) -> fprod s fs = fprod s' fs.
Proof. induction fs; simpl; intros H; auto. now rewrite (eval_ext M a s s'), IHfs. Qed.
Lemma fprod_app fs gs s : fprod s (fs ++ gs) = fprod s fs * fprod s gs.
Proof. induction fs; simpl; [lra|]. rewrite IHfs; ring. Qed.
Lemma fprod_ren fs r s : fprod s (map (ren r) fs) = fprod (fun n => s (r n)) fs.
Proof. induction fs; simpl; auto. now rewrite eval_ren, IHfs. Qed.

Lemma pick_spec test fs e r : pick test fs = Some (e, r) ->
  test e = true /\ forall s, fprod s fs = eval M s e * fprod s r.
Proof.
  revert e r; induction fs as [|x fs IH]; simpl; intros e r H; [discriminate|].
  destruct (test x) eqn:T.
  - injection H as <- <-; auto.
  - destruct (pick test fs) as [[y r']|]; [|discriminate]. injection H as <- <-.
    destruct (IH _ _ eq_refl) as [H1 H2]. split; auto. intros s; simpl. rewrite H2; ring.
Qed.

(* ---- signs *)
Lemma is_square_spec a b s : is_square a b = true -> eval M s a * eval M s b = (eval M s a)².
Proof.
  unfold is_square. intros H. apply lazy_or in H as [H|H]; [now apply eqb_eq in H as ->|].
  destruct b; try discriminate. destruct b2; try discriminate.
  destruct z as [|[| |]|]; try discriminate.
  apply eqb_eq in H as ->. simpl. now rewrite Rmult_1_r.
Qed.
Lemma is_gap_spec a b s : is_gap a b = true -> 0 <= eval M s a + eval M s b.
Proof.
  destruct a as [| | | |a1 a2| | | | | |]; try discriminate. destruct a1 as [| | | | | | | |u| |]; try discriminate.
  destruct a2 as [| | | | |x1 x2| | | | |]; try discriminate. destruct x1 as [m| | | | | | | | | |]; try discriminate.
  destruct x2 as [| | | | | | | |c| |]; try discriminate.
  destruct b as [| | | | |y1 y2| | | | |]; try discriminate. destruct y1 as [n| | | | | | | | | |]; try discriminate.
  destruct y2 as [| | | | |z1 z2| | | | |]; try discriminate. destruct z1 as [| | | | | | | |c1| |]; try discriminate.
  destruct z2 as [| | | |u1 w| | | | | |]; try discriminate.
  destruct w as [| | | | |w1 c2| | | | |]; try discriminate. destruct w1 as [o| | | | | | | | | |]; try discriminate.
  unfold is_gap. intros H. do 5 (apply lazy_and in H as [H ?]).
  repeat match goal with
    | E : Z.eqb _ _ = true |- _ => apply Z.eqb_eq in E | E : eqb _ _ = true |- _ => apply eqb_eq in E end.
  subst. simpl. set (u := eval M s u1). set (c := eval M s c2).
  replace (exp u) with (exp c * exp (u + -1 * c)) by (rewrite <- exp_plus; f_equal; ring).
  pose proof (exp_ineq1_le (u + -1 * c)) as I. pose proof (exp_pos c) as P.
  replace (_ + _ + _) with (exp c * (exp (u + -1 * c) - (1 + (u + -1 * c)))) by ring.
  apply Rmult_le_pos; lra.
Qed.
Lemma sgn_spec e : forall s, (fst (sgn F e) = true -> 0 < eval M s e) /\ (snd (sgn F e) = true ->
  0 <= eval M s e).
Proof.
  induction e; intros s; simpl;
    try (destruct (sgn F e1) as [p1 n1], (sgn F e2) as [p2 n2];
      destruct (IHe1 s) as [P1 N1], (IHe2 s) as [P2 N2]; simpl in *).
  - split; intros H; [apply Z.ltb_lt in H; now apply IZR_lt in H|apply Z.leb_le in H;
    now apply IZR_le in H].
  - assert (0 < INR (dims M d)) by (apply lt_0_INR, K). split; lra.
  - split; intros H; [|apply Rlt_le]; now apply (k_posT _ _ K).
  - destruct (Nat.eqb _ _); split; intros; try discriminate; lra.
  - split; intros H.
    + apply lazy_or in H as [H|H]; apply lazy_and in H as [H1 H2].
      * specialize (P1 H1). specialize (N2 H2). lra.
      * specialize (N1 H1). specialize (P2 H2). lra.
    + apply lazy_or in H as [H|H]; [|now apply is_gap_spec].
      apply lazy_and in H as [H1 H2]. specialize (N1 H1). specialize (N2 H2). lra.
  - split; intros H.
    + apply lazy_or in H as [H|H]; apply lazy_and in H as [H1 H2]; [apply Rmult_lt_0_compat; auto|].
      rewrite (is_square_spec _ _ s H1). apply Rlt_0_sqr.
      destruct e1; try discriminate. now apply (k_nzT _ _ K).
    + apply lazy_or in H as [H|H].
      * apply lazy_and in H as [H1 H2]. apply Rmult_le_pos; auto.
      * rewrite (is_square_spec _ _ s H). apply Rle_0_sqr.
  - destruct (IHe s) as [P N]. split; intros H; [now apply Rinv_0_lt_compat, P|].
    apply N in H. destruct H as [H|H]; [apply Rlt_le, Rinv_0_lt_compat; auto|]. rewrite <- H, Rinv_0; lra.
  - destruct (IHe s) as [P N]. split; intros H; [apply sqrt_lt_R0; auto|apply sqrt_pos].
  - split; intros _; [|apply Rlt_le]; apply exp_pos.
  - split; intros H; [|apply Rlt_le]; now apply (k_posF _ _ K).
  - split; intros H; [apply sum_pos; [apply K|]|apply sum_nneg]; intros; now apply IHe.
Qed.
Lemma pos_spec e s : pos F e = true -> 0 < eval M s e.
Proof. apply sgn_spec. Qed.
Lemma nneg_spec e s : nneg F e = true -> 0 <= eval M s e.
Proof. apply sgn_spec. Qed.

(* ---- sums of monomials *)
Lemma evalp_app p q s : evalp s (p ++ q) = evalp s p + evalp s q.
Proof. induction p; simpl; [lra|]. rewrite IHp; lra. Qed.

Lemma Q2R_red q : Q2R (Qred q) = Q2R q.
Proof. apply Qeq_eqR, Qred_correct. Qed.
Lemma Q2R_0 : Q2R 0 = 0. Proof. unfold Q2R; simpl; lra. Qed.
Lemma Q2R_1 : Q2R 1 = 1. Proof. unfold Q2R; simpl; lra. Qed.
Lemma Q2R_Z z : Q2R (inject_Z z) = IZR z. Proof. unfold Q2R, inject_Z; simpl; lra. Qed.
Lemma Q2R_qinv q : Q2R (/ q) = / Q2R q.
Proof.
  destruct (Qeq_dec q 0) as [H|H].
  - rewrite (Qeq_eqR _ _ H), Q2R_0, Rinv_0.
    assert (/ q == 0)%Q as -> % Qeq_eqR by (rewrite H; reflexivity). apply Q2R_0.
  - now apply Q2R_inv.
Qed.

Lemma mmul_spec m1 m2 s : evalm s (mmul m1 m2) = evalm s m1 * evalm s m2.
Proof.
  destruct m1 as [[c1 l1] f1], m2 as [[c2 l2] f2]; simpl.
  rewrite Q2R_red, Q2R_mult.
  transitivity (Q2R c1 * Q2R c2 * (sumv (dims M) l1 (fun vs => fprod (cat vs s) f1) * sumv (dims M) l2 (fun
    vs => fprod (cat vs s) f2))); [|ring].
  f_equal. rewrite sumv_mul, sumv_app. apply sumv_ext; intros v1 H1. apply sumv_ext; intros v2 H2.
  apply inr_length in H1, H2. rewrite fprod_app, !fprod_ren. f_equal; apply fprod_ext; intros n.
  - rewrite cat_app, <- H2. apply cat_shift.
  - rewrite cat_app. destruct (Nat.ltb_spec n (length l2)).
    + rewrite <- H2 in H. revert n H. clear. induction v2; simpl; intros n H; [lia|]. destruct n; auto.
      apply IHv2; lia.
    + replace (length l1 + n)%nat with (length v2 + (length v1 + (n - length v2)))%nat by lia.
      rewrite !cat_shift. replace n with (length v2 + (n - length v2))%nat at 2 by lia.
        now rewrite cat_shift.
Qed.
Lemma map_mmul_spec m q s : evalp s (map (mmul m) q) = evalm s m * evalp s q.
Proof. induction q; simpl; [lra|]. rewrite IHq, mmul_spec; ring. Qed.
Lemma pmul_spec p q s : evalp s (pmul p q) = evalp s p * evalp s q.
Proof. induction p; simpl; [lra|]. rewrite evalp_app, IHp, map_mmul_spec; ring. Qed.

Lemma psum_spec d p s :
  evalp s (map (fun m => let '(c, l, fs) := m in (c, l ++ [d],
    fs)) p) = sum (dims M d) (fun v => evalp (scons v s) p).
Proof.
  induction p as [|[[c l] fs] p IH]; simpl.
  - now rewrite sum_zero.
  - rewrite IH, sum_plus, sum_scal. f_equal. f_equal.
    rewrite sumv_app; simpl. apply sum_ext; intros v _. apply sumv_ext; intros vs _. apply fprod_ext.
    intros n. rewrite cat_app. revert n. clear. induction vs; intros n; simpl; [apply cat_one|].
      destruct n; auto.
Qed.

(* ---- back to expressions *)
Lemma qnum_spec c s : eval M s (qnum c) = Q2R c.
Proof. unfold qnum, Q2R. destruct c as [n [d|d|]]; simpl; try reflexivity. rewrite Rinv_1; ring. Qed.
Lemma prods_spec fs s : eval M s (prods fs) = fprod s fs.
Proof. induction fs; simpl; auto. now rewrite IHfs. Qed.
Lemma sums_spec l : forall e s, eval M s (sums l e) = sumv (dims M) l (fun vs => eval M (cat vs s) e).
Proof.
  induction l as [|d l IH]; intros e s; simpl; [reflexivity|].
  rewrite IH. apply sumv_ext; intros vs _. simpl. apply sum_ext; intros v _.
  apply eval_ext. intros [|n]; reflexivity.
Qed.
Lemma quotem_spec m s : eval M s (quotem m) = evalm s m.
Proof.
  destruct m as [[c l] fs]; simpl. rewrite qnum_spec, sums_spec. f_equal.
    apply sumv_ext; intros; apply prods_spec.
Qed.
Lemma quote_spec p s : eval M s (quote p) = evalp s p.
Proof. induction p; simpl; auto. now rewrite quotem_spec, IHp. Qed.

Section Step.
Variable Z0 : list nat -> expr -> bool.
Hypothesis Z0_spec : forall G e, Z0 G e = true -> forall s, valid M G s -> eval M s e = 0.

Lemma same_spec G a b s : same Z0 G a b = true -> valid M G s -> eval M s a = eval M s b.
Proof.
  unfold same; intros H V. apply lazy_and in H as [_ H]. apply Z0_spec with (s := s) in H; auto.
  simpl in H. lra.
Qed.

Lemma eqv_spec G a b s : eqv F Z0 G a b = true -> valid M G s -> eval M s a = eval M s b.
Proof.
  intros H V. unfold eqv in H. apply lazy_or in H as [H|H].
  { now apply eqb_eq in H as ->. }
  destruct a, b; try discriminate; try (now apply (same_spec G)); simpl;
    repeat match type of H with (match ?l with [] => _ | _ => _ end) = true => destruct l;
      try discriminate end.
  - lazy_split. repeat match goal with H : Nat.eqb _ _ = true |- _ => apply Nat.eqb_eq in H; subst end.
    simpl. now apply (k_sym _ _ K).
  - lazy_split. repeat match goal with H : Nat.eqb _ _ = true |- _ => apply Nat.eqb_eq in H; subst end.
    now rewrite Nat.eqb_sym.
  - f_equal. now apply (same_spec G).
  - f_equal. now apply (same_spec G).
  - f_equal. now apply (same_spec G).
  - apply lazy_and in H as [H1 H2]. apply Nat.eqb_eq in H1 as ->. f_equal. now apply (same_spec G).
Qed.

(* ---- nonzero *)
Lemma fits_spec G H c s : fits G H c = true -> valid M G s -> valid M H (fun n => s (nth n c O)).
Proof.
  revert c; induction H as [|d H IH]; intros c Hf V k x Hk; destruct k; simpl in *; try discriminate;
    (destruct c as [|i c]; [discriminate|]); apply lazy_and in Hf as [H1 H2];
    destruct (nth_error G i) eqn:E; try discriminate; apply Nat.eqb_eq in H1; subst.
  - injection Hk as <-. simpl. now apply V.
  - simpl. apply (IH c); auto.
Qed.
Lemma pieces_spec e s x : In x (pieces e) -> eval M s e <> 0 -> eval M s x <> 0.
Proof.
  induction e; simpl; intros [<-|H] N; auto; try tauto.
  - apply in_app_or in H as [H|H]; [apply IHe1|apply IHe2]; auto; intros E; rewrite E in N; apply N; ring.
  - apply IHe; auto. intros E. rewrite E, Rinv_0 in N. auto.
Qed.
Lemma byfact_spec G e s : byfact F Z0 G e = true -> valid M G s -> eval M s e <> 0.
Proof.
  intros H V. apply anyb_ex in H as ([Hs f] & Hin & H). apply anyb_ex in H as (c & _ & H).
  apply lazy_and in H as [H1 H]. apply anyb_ex in H as (x & Hx & H). simpl in *.
  rewrite <- (eqv_spec _ _ _ _ H V). apply (pieces_spec _ _ _ Hx). rewrite eval_ren.
  apply (k_facts _ _ K _ _ _ Hin). now apply (fits_spec G).
Qed.
Lemma nz_spec G e s : nz F Z0 G e = true -> valid M G s -> eval M s e <> 0.
Proof.
  intros H V. induction e; cbn [nz] in H; apply lazy_or in H as [H|H]; try (now apply (byfact_spec G));
    apply lazy_or in H as [H|H]; try discriminate; try (apply (pos_spec _ s) in H; lra); simpl.
  - apply negb_true_iff, Z.eqb_neq in H. now apply not_0_IZR.
  - now apply (k_nzT _ _ K).
  - apply lazy_and in H as [H1 H2]. apply Rmult_integral_contrapositive; auto.
  - apply Rinv_neq_0_compat; auto.
Qed.

(* ---- cancelling *)
Lemma root_spec G e r s : valid M G s -> fprod s (root F Z0 G e r) = eval M s e * fprod s r.
Proof.
  intros V. unfold root. destruct e; try reflexivity.
  - destruct e; try reflexivity. destruct (pick _ r) as [[x r']|] eqn:E; [|reflexivity].
    apply pick_spec in E as [T P]. destruct (nneg F e) eqn:N; [|reflexivity].
    simpl. rewrite P. destruct x; try discriminate. destruct x; try discriminate. simpl in *.
    rewrite <- (eqv_spec _ _ _ _ T V). rewrite <- Rmult_assoc, <- Rinv_mult, sqrt_sqrt; auto.
      now apply nneg_spec.
  - destruct (pick _ r) as [[x r']|] eqn:E; [|reflexivity].
    apply pick_spec in E as [T P]. destruct (nneg F e) eqn:N; [|reflexivity].
    simpl. rewrite P. destruct x; try discriminate. simpl in *.
    rewrite <- (eqv_spec _ _ _ _ T V). rewrite <- Rmult_assoc, sqrt_sqrt; auto. now apply nneg_spec.
Qed.
Lemma put_inv_spec G e r s : valid M G s ->
  fprod s (match pick (is_inv F Z0 G e) r with
         | Some (_, r') => if nz F Z0 G e then r' else root F Z0 G e r
         | None => root F Z0 G e r end) = eval M s e * fprod s r.
Proof.
  intros V. destruct (pick _ r) as [[x r']|] eqn:E; [|now apply root_spec].
  apply pick_spec in E as [T P]. destruct (nz F Z0 G e) eqn:N; [|now apply root_spec].
  apply nz_spec with (s := s) in N; auto. rewrite P. destruct x; try discriminate. simpl in *.
  rewrite <- (eqv_spec _ _ _ _ T V). field; auto.
Qed.
Lemma put_spec G e r s : valid M G s -> fprod s (put F Z0 G e r) = eval M s e * fprod s r.
Proof.
  intros V. unfold put. destruct e; try (now apply put_inv_spec).
  - destruct (pick _ r) as [[x r']|] eqn:E; [|now apply root_spec].
    apply pick_spec in E as [T P]. destruct (nz F Z0 G e) eqn:N; [|now apply root_spec].
    apply nz_spec with (s := s) in N; auto. rewrite P, <- (eqv_spec _ _ _ _ T V). simpl. field; auto.
  - destruct (Z0 G e) eqn:E0.
    { simpl. rewrite (Z0_spec _ _ E0 _ V), exp_0. ring. }
    destruct (pick _ r) as [[x r']|] eqn:E; [|reflexivity].
    apply pick_spec in E as [T P]. destruct x; try discriminate. simpl. rewrite P, exp_plus. simpl. ring.
Qed.
Lemma cancel_spec G fs s : valid M G s -> fprod s (cancel F Z0 G fs) = fprod s fs.
Proof. intros V. induction fs; simpl; auto. rewrite put_spec by auto. now rewrite IHfs. Qed.

(* ---- bound indices *)
Lemma cat_ins k v ws s n : (k <= length ws)%nat ->
  cat (ins k v ws) s n = if Nat.eqb n k then v else cat ws s (lower k n).
Proof.
  revert ws n; induction k; intros ws n Hk.
  - simpl. destruct ws, n; reflexivity.
  - destruct ws as [|w ws]; simpl in Hk; [lia|]. destruct n; simpl; [reflexivity|].
    rewrite IHk by lia. unfold lower. destruct (Nat.eqb_spec n k); auto.
    change (Nat.ltb (S n) (S k)) with (Nat.ltb n k). destruct (Nat.ltb_spec n k); auto.
    destruct n; [lia|]. reflexivity.
Qed.
Lemma del_length {A} k (l : list A) d : nth_error l k = Some d -> length l = S (length (del k l)).
Proof. revert l; induction k; intros [|x l] H; simpl in *; try discriminate; auto. Qed.
Lemma nth_error_Some_lt {A} (l : list A) k d : nth_error l k = Some d -> (k < length l)%nat.
Proof. intros H. apply nth_error_Some. congruence. Qed.

(* replacing binder k by another index of its dimension *)
Lemma nth_del (G l : list nat) k d n : nth_error l k = Some d -> n <> k ->
  nth_error (del k l ++ G) (lower k n) = nth_error (l ++ G) n.
Proof.
  revert l n; induction k; intros [|x l] n H Hn; simpl in *; try discriminate.
  - destruct n; [lia|]. reflexivity.
  - destruct n; simpl; [reflexivity|]. unfold lower. change (Nat.ltb (S n) (S k)) with (Nat.ltb n k).
    rewrite <- (IHk l n H) by lia. unfold lower. destruct (Nat.ltb_spec n k); simpl; auto.
    destruct n; [lia|]. reflexivity.
Qed.
Lemma delta_sum G l fs k o d s :
  nth_error l k = Some d -> nth_error (l ++ G) o = Some d -> k <> o -> valid M G s ->
  sumv (dims M) l (fun vs => (if Nat.eqb (cat vs s k) (cat vs s o) then 1 else 0) * fprod (cat vs s) fs) =
  sumv (dims M) (del k l) (fun vs => fprod (cat vs s) (map (ren (subst_at k o)) fs)).
Proof.
  intros Hk Ho Hne V. rewrite (sumv_pull _ k l d) by auto. apply sumv_ext; intros ws Hw.
  pose proof (inr_length _ _ _ Hw) as L. pose proof (del_length _ _ _ Hk) as L2.
    pose proof (nth_error_Some_lt _ _ _ Hk).
  rewrite (sum_ext _ _ (fun v => (if Nat.eqb v (cat ws s (lower k o)) then 1 else 0) * fprod (cat (ins k v
    ws) s) fs)).
  - rewrite (sum_delta _ (cat ws s (lower k o)) (fun v => fprod (cat (ins k v ws) s) fs)).
    + rewrite fprod_ren. apply fprod_ext; intros n. rewrite cat_ins by lia. unfold subst_at.
      destruct (Nat.eqb n k); auto.
    + apply (valid_cat _ _ _ _ _ Hw V). rewrite (nth_del G l k d); auto.
  - intros v _. rewrite !cat_ins by lia. rewrite Nat.eqb_refl.
    replace (Nat.eqb o k) with false; auto. symmetry; apply Nat.eqb_neq; auto.
Qed.

Lemma same_dim_spec G k o : same_dim G k o = true ->
  exists d, nth_error G k = Some d /\ nth_error G o = Some d.
Proof.
  unfold same_dim. destruct (nth_error G k), (nth_error G o); try discriminate.
    intros H; apply Nat.eqb_eq in H as ->; eauto.
Qed.

Lemma contract1_spec G m m' s : contract1 G m = Some m' -> valid M G s -> evalm s m' = evalm s m.
Proof.
  destruct m as [[c l] fs]. unfold contract1. intros H V.
  destruct (pick _ fs) as [[e r]|] eqn:E; [|discriminate]. apply pick_spec in E as [T P].
  destruct e; try discriminate. destruct (Nat.eqb_spec i j) as [->|Hij].
  - injection H as <-. simpl. f_equal. apply sumv_ext; intros. rewrite P. simpl. rewrite Nat.eqb_refl. ring.
  - assert (A : forall k o, k <> o ->
      (forall t, eval M t (Delta i j) = if Nat.eqb (t k) (t o) then 1 else 0) ->
      (if (if Nat.ltb k (length l) then same_dim (l ++ G) k o else false)
       then Some (c, del k l, map (ren (subst_at k o)) r) else None) = Some m' ->
         evalm s m' = evalm s (c, l, fs)).
    { intros k o Hko Hd H'. destruct (Nat.ltb_spec k (length l)) as [Hk|]; [|discriminate].
      destruct (same_dim (l ++ G) k o) eqn:S; [|discriminate]. injection H' as <-.
      apply same_dim_spec in S as (d & S1 & S2). rewrite nth_error_app1 in S1 by auto.
      simpl. f_equal. rewrite <- (delta_sum G l r k o d s); auto.
      apply sumv_ext; intros. rewrite P, Hd. reflexivity. }
    destruct (Nat.ltb i (length l)).
    + apply (A i j); auto.
    + apply (A j i); auto. intros t. simpl. now rewrite Nat.eqb_sym.
Qed.
Lemma contract_spec n G m s : valid M G s -> evalm s (contract n G m) = evalm s m.
Proof.
  intros V. revert m; induction n; intros m; simpl; auto. destruct (contract1 G m) eqn:E; auto.
  rewrite IHn. now apply (contract1_spec G).
Qed.

Lemma free_delta_spec fs s : fprod s (free_delta fs) = fprod s fs.
Proof.
  unfold free_delta. destruct (pick is_delta fs) as [[e r]|] eqn:E; auto. apply pick_spec in E as [T P].
  destruct e; try discriminate. rewrite P. simpl. destruct (Nat.eqb_spec (s i) (s j)) as [H|H]; [|ring].
  rewrite !Rmult_1_l, fprod_ren. apply fprod_ext. intros n. destruct (Nat.eqb_spec n (Nat.max i j)); auto.
    subst n.
  destruct (Nat.max_spec i j) as [[A ->]|[A ->]], (Nat.min_spec i j) as [[B ->]|[B ->]]; auto; lia.
Qed.

Lemma fprod_occurs k fs s s' : allb (fun e => negb (occurs k e)) fs = true -> (forall n, n <> k ->
  s n = s' n) ->
  fprod s fs = fprod s' fs.
Proof.
  induction fs; simpl; intros H E; auto. apply lazy_and in H as [H1 H2]. apply negb_true_iff in H1.
  rewrite (eval_occurs M a k s s'); auto. rewrite IHfs; auto.
Qed.
Lemma unused_spec k c l fs s : evalm s (unused k c l fs) = evalm s (c, l, fs).
Proof.
  revert l fs; induction k; intros l fs; simpl; auto. destruct (nth_error l k) eqn:E; [|apply IHk].
  destruct (allb _ fs) eqn:A; [|apply IHk]. rewrite IHk. simpl. f_equal.
  rewrite (sumv_pull _ k l n) by auto. apply sumv_ext; intros ws Hw.
  pose proof (inr_length _ _ _ Hw) as L. pose proof (del_length _ _ _ E) as L2.
    pose proof (nth_error_Some_lt _ _ _ E).
  rewrite <- sum_const. apply sum_ext; intros v _. rewrite fprod_ren.
  apply (fprod_occurs k); auto. intros m Hm. rewrite cat_ins by lia.
  replace (Nat.eqb m k) with false; auto. symmetry; now apply Nat.eqb_neq.
Qed.

Lemma simp_spec G m s : valid M G s -> evalm s (simp F Z0 G m) = evalm s m.
Proof.
  intros V. unfold simp. rewrite <- (contract_spec (length (snd m)) G m s V).
  destruct (contract (length (snd m)) G m) as [[c l] fs].
  set (gs := cancel _ _ _ (cancel _ _ _ (cancel _ _ _ (free_delta fs)))).
  transitivity (evalm s (c, l, gs)).
  - rewrite <- (unused_spec (length l) c l gs s). destruct (unused (length l) c l gs) as [[c' l'] fs'].
    simpl. f_equal. apply sumv_ext; intros vs Hv. now rewrite !cancel_spec by (apply valid_cat; auto).
  - simpl. f_equal. apply sumv_ext; intros vs Hv. unfold gs.
    rewrite !cancel_spec by (apply valid_cat; auto). apply free_delta_spec.
Qed.

(* ---- equality of monomials *)
Lemma mseq_spec G f1 f2 s : mseq F Z0 G f1 f2 = true -> valid M G s -> fprod s f1 = fprod s f2.
Proof.
  revert f2; induction f1; intros f2 H V; simpl in H.
  - destruct f2; [reflexivity|discriminate].
  - destruct (pick _ f2) as [[x r]|] eqn:E; [|discriminate]. apply pick_spec in E as [T P].
    rewrite P. simpl. rewrite (eqv_spec _ _ _ _ T V). f_equal. auto.
Qed.
Lemma front_spec k l d fs s : nth_error l k = Some d ->
  sumv (dims M) (d :: del k l) (fun vs => fprod (cat vs s) (map (ren (frho k)) fs)) = sumv (dims M) l (fun
    vs => fprod (cat vs s) fs).
Proof.
  intros H. rewrite (sumv_pull _ k l d) by auto. simpl. apply sumv_ext; intros ws Hw.
    apply sum_ext; intros v _.
  pose proof (inr_length _ _ _ Hw) as L. pose proof (del_length _ _ _ H) as L2.
    pose proof (nth_error_Some_lt _ _ _ H).
  rewrite fprod_ren. apply fprod_ext; intros n. rewrite cat_ins by lia. unfold frho, lower.
  destruct (Nat.eqb_spec n k); [reflexivity|]. destruct (Nat.ltb_spec n k); [reflexivity|].
    destruct n; [lia|reflexivity].
Qed.
Lemma search_spec r G l1 f1 l2 f2 s : search F Z0 r G l1 f1 l2 f2 = true -> valid M G s ->
  sumv (dims M) l1 (fun vs => fprod (cat vs s) f1) = sumv (dims M) l2 (fun vs => fprod (cat vs s) f2).
Proof.
  revert l1 f1; induction r; intros l1 f1 H V; cbn [search] in H.
  - apply lazy_and in H as [H1 H2]. apply leqb_eq in H1 as ->. apply sumv_ext; intros vs Hv.
    apply (mseq_spec (l2 ++ G)); auto. now apply valid_cat.
  - apply anyb_ex in H as (k & _ & H).
    destruct (nth_error l1 k) eqn:E; [|discriminate]. rewrite <- (IHr _ _ H V). symmetry.
      now apply front_spec.
Qed.
Lemma insert_spec G m p s : valid M G s -> evalp s (insert F Z0 G m p) = evalm s m + evalp s p.
Proof.
  intros V. induction p as [|x p IH]; [reflexivity|]. cbn [insert]. destruct (meq F Z0 G m x) eqn:E.
  - destruct m as [[c l1] f1], x as [[k l2] f2]. unfold meq in E. apply lazy_and in E as [_ E].
    simpl. rewrite (search_spec _ _ _ _ _ _ _ E V), Q2R_red, Q2R_plus. ring.
  - simpl. rewrite IH. lra.
Qed.
Lemma gather_spec G p s : valid M G s -> evalp s (gather F Z0 G p) = evalp s p.
Proof.
  intros V. unfold gather. transitivity (evalp s (fold_right (insert F Z0 G) [] p)).
  - induction (fold_right (insert F Z0 G) [] p) as [|[[c l] fs] q IH]; simpl; auto.
    destruct (Qeq_bool c 0) eqn:E; simpl; rewrite IH; auto.
    apply Qeq_bool_iff, Qeq_eqR in E. rewrite E, Q2R_0. ring.
  - induction p; simpl; auto. now rewrite insert_spec, IHp by auto.
Qed.
Lemma tidy_spec G p s : valid M G s -> evalp s (tidy F Z0 G p) = evalp s p.
Proof.
  intros V. unfold tidy. rewrite gather_spec by auto. induction p; simpl; auto.
    now rewrite simp_spec, IHp by auto.
Qed.
End Step.

Lemma never_spec G e : never G e = true -> forall s, valid M G s -> eval M s e = 0.
Proof. discriminate. Qed.

Lemma atom_spec e s : evalp s [(1%Q, [], [e])] = eval M s e.
Proof. simpl. rewrite Q2R_1. change (fun n : nat => s n) with s. ring. Qed.
Lemma one_spec s : evalp s [(1%Q, [], [])] = 1.
Proof. simpl. rewrite Q2R_1. ring. Qed.

(* ---- inverses *)
Lemma inv1_spec e s : eval M s (inv1 e) = / eval M s e.
Proof.
  destruct e; try reflexivity; simpl.
  - now rewrite Rinv_inv.
  - rewrite <- exp_Ropp. f_equal. ring.
Qed.
Lemma fprod_inv1 fs s : fprod s (map inv1 fs) = / fprod s fs.
Proof. induction fs; simpl; [now rewrite Rinv_1|]. now rewrite IHfs, inv1_spec, Rinv_mult. Qed.

Lemma strip1_spec e m m' s : strip1 e m = Some m' -> evalm s m = eval M s e * evalm s m'.
Proof.
  destruct m as [[c l] fs]; unfold strip1. destruct (pick _ fs) as [[x r]|] eqn:E; [|discriminate].
  apply pick_spec in E as [T P]. apply eqb_eq in T. subst x. intros H; injection H as <-. simpl.
  transitivity (Q2R c * (eval M s e * sumv (dims M) l (fun vs => fprod (cat vs s) r))); [|ring]. f_equal.
  rewrite <- sumv_scal.
  apply sumv_ext; intros vs Hv. rewrite P, eval_ren. f_equal. apply eval_ext. intros n.
  rewrite <- (inr_length _ _ _ Hv). apply cat_shift.
Qed.
Lemma strip_spec e p p' s : strip e p = Some p' -> evalp s p = eval M s e * evalp s p'.
Proof.
  revert p'; induction p; simpl; intros p' H.
  - injection H as <-. simpl. ring.
  - destruct (strip1 e a) eqn:E; [|discriminate]. destruct (strip e p) eqn:E2; [|discriminate].
    injection H as <-. simpl. rewrite (strip1_spec _ _ _ s E), (IHp _ eq_refl). ring.
Qed.
Lemma content_spec cs : forall p fs q s, content cs p = (fs, q) -> evalp s p = fprod s fs * evalp s q.
Proof.
  induction cs; simpl; intros p fs q s H.
  - injection H as <- <-. simpl. ring.
  - destruct (strip a p) eqn:E; [|now apply IHcs].
    destruct (content cs p0) as [gs q'] eqn:E2. injection H as <- <-.
    rewrite (strip_spec _ _ _ s E), (IHcs _ _ _ s E2). simpl. ring.
Qed.
Lemma scale_spec k p s : evalp s (scale k p) = Q2R k * evalp s p.
Proof. induction p as [|[[c l] fs] p IH]; simpl; [ring|]. rewrite IH, Q2R_red, Q2R_mult. ring. Qed.

Lemma pinv_spec p s : evalp s (pinv p) = / evalp s p.
Proof.
  assert (D : evalp s (let (fs, q) := content (candidates p) p in
         let c := lead q in
         if Qeq_bool c 0 then [(1%Q, [], [Inv (quote p)])]
         else [(Qred (/ c), [], Inv (quote (scale (/ c) q)) :: map inv1 fs)]) = / evalp s p).
  { destruct (content (candidates p) p) as [fs q] eqn:E. cbv zeta. destruct (Qeq_bool (lead q) 0) eqn:Q0.
    - rewrite atom_spec. cbn [eval]. now rewrite quote_spec.
    - assert (N : Q2R (lead q) <> 0).
      { intros H. rewrite <- Q2R_0 in H. apply eqR_Qeq in H. apply Qeq_bool_iff in H. congruence. }
      simpl. change (fun n => s n) with s. rewrite quote_spec, scale_spec, fprod_inv1, Q2R_red, Q2R_qinv,
        (content_spec _ _ _ _ s E).
      rewrite !Rinv_mult, Rinv_inv.
      transitivity ((/ Q2R (lead q) * Q2R (lead q)) * (/ fprod s fs * / evalp s q)); [ring|].
      rewrite Rinv_l by auto. ring. }
  destruct p as [|[[c [|d l]] fs] [|m p]]; try exact D.
  simpl. rewrite Q2R_red, Q2R_qinv, fprod_inv1, Rplus_0_r, Rplus_0_r, Rinv_mult. reflexivity.
Qed.

(* ---- square roots *)
Lemma fprod_sqrt fs s : allb (pos F) fs = true ->
  fprod s (map Sqrt fs) = sqrt (fprod s fs) /\ 0 <= fprod s fs.
Proof.
  induction fs as [|e fs IH]; simpl; intros H; [rewrite sqrt_1; lra|].
  apply lazy_and in H as [H1 H2]. apply (pos_spec _ s) in H1. destruct (IH H2) as [E P]. split.
  - rewrite E, sqrt_mult_alt by lra. reflexivity.
  - apply Rmult_le_pos; lra.
Qed.
Lemma qsqrt_spec c r f s : (0 <= c)%Q -> qsqrt c = (r, f) -> Q2R r * fprod s f = sqrt (Q2R c).
Proof.
  unfold qsqrt. intros Hc H. destruct c as [n d]; simpl in *.
  assert (Hn : (0 <= n)%Z) by (unfold Qle in Hc; simpl in Hc; lia).
  assert (Dp : 0 < IZR (Zpos d)) by (apply IZR_lt; lia).
  assert (E : Q2R (n # d) = IZR (n * Zpos d) * Rsqr (/ IZR (Zpos d))).
  { unfold Q2R, Rsqr; simpl. rewrite mult_IZR. field. lra. }
  assert (S : sqrt (Q2R (n # d)) = sqrt (IZR (n * Zpos d)) * / IZR (Zpos d)).
  { rewrite E, sqrt_mult_alt by (apply IZR_le; lia). rewrite sqrt_Rsqr; auto.
    apply Rlt_le, Rinv_0_lt_compat; auto. }
  rewrite S. set (r0 := Z.sqrt (n * Zpos d)) in *. destruct (Z.eqb_spec (r0 * r0) (n * Zpos d)) as [Q|_];
    injection H as <- <-; simpl.
  - rewrite Q2R_red. replace (sqrt (IZR (n * Zpos d))) with (IZR r0).
    + unfold Q2R; simpl. ring.
    + rewrite <- Q, mult_IZR, sqrt_square; auto. apply IZR_le, Z.sqrt_nonneg.
  - unfold Q2R; simpl. ring.
Qed.
Lemma psqrt_spec p s : evalp s (psqrt F p) = sqrt (evalp s p).
Proof.
  assert (D : evalp s [(1%Q, [], [Sqrt (quote p)])] = sqrt (evalp s p)).
  { rewrite atom_spec. cbn [eval]. now rewrite quote_spec. }
  destruct p as [|[[c [|d l]] fs] [|m p]]; try exact D.
  - simpl. now rewrite sqrt_0.
  - unfold psqrt. destruct (if Qle_bool 0 c then allb (pos F) fs else false) eqn:E; [|exact D].
    apply lazy_and in E as [E1 E2]. apply Qle_bool_imp_le in E1. destruct (qsqrt c) as [r f] eqn:Q.
    simpl. change (fun n : nat => s n) with s. rewrite !Rplus_0_r. rewrite fprod_app.
      destruct (fprod_sqrt _ s E2) as [-> P].
    rewrite <- Rmult_assoc, (qsqrt_spec _ _ _ s E1 Q), sqrt_mult_alt; auto.
    rewrite <- Q2R_0. now apply Qle_Rle.
Qed.

(* ---- the normal form *)

Lemma norm_spec e : forall G s, valid M G s -> evalp s (norm F G e) = eval M s e.
Proof.
  induction e; intros G s V; cbn [norm eval]; try (now rewrite atom_spec).
  - destruct (Z.eqb_spec z 0) as [->|]; [reflexivity|]. cbn. rewrite Q2R_Z. ring.
  - destruct (Nat.eqb_spec i j) as [->|]; [|now rewrite atom_spec]. rewrite one_spec, Nat.eqb_refl.
    reflexivity.
  - rewrite (tidy_spec never never_spec), evalp_app, IHe1, IHe2; auto.
  - rewrite (tidy_spec never never_spec), pmul_spec, IHe1, IHe2; auto.
  - rewrite pinv_spec, IHe; auto.
  - destruct (if nneg F e then negb (nneg F (quote (norm F G e))) else false);
      [now rewrite atom_spec|rewrite psqrt_spec, IHe; auto].
  - rewrite <- (IHe G s V). destruct (norm F G e) as [|m p] eqn:E; [rewrite one_spec; simpl;
    now rewrite exp_0|].
    rewrite atom_spec. cbn [eval]. now rewrite quote_spec.
  - rewrite atom_spec. cbn [eval]. now rewrite quote_spec, IHe.
  - rewrite (tidy_spec never never_spec), psum_spec by auto. apply sum_ext; intros v Hv. apply IHe.
    now apply valid_scons.
Qed.

(* ---- the zero test *)
Lemma expand_spec G m s : valid M G s -> evalp s (expand F G m) = evalm s m.
Proof.
  intros V. destruct m as [[c l] fs]. unfold expand.
  transitivity (Q2R c * sumv (dims M) l (fun vs => evalp (cat vs s)
    (fold_right (fun e p => pmul (norm F (l ++ G) e) p) [(1%Q, [], [])] fs))).
  - generalize (fold_right (fun e p => pmul (norm F (l ++ G) e) p) [(1%Q, [], [])] fs) as q. intros q.
    induction q as [|[[k l'] g] q IH]; simpl.
    + rewrite sumv_zero. ring.
    + rewrite IH, sumv_plus, Q2R_red, Q2R_mult, sumv_app, sumv_scal, Rmult_plus_distr_l, <- Rmult_assoc.
      f_equal. f_equal.
      apply sumv_ext; intros v1 _. apply sumv_ext; intros v2 _. apply fprod_ext; intros n. apply cat_app.
  - simpl. f_equal. apply sumv_ext; intros vs Hv.
    assert (V' : valid M (l ++ G) (cat vs s)) by now apply valid_cat.
    clear Hv. induction fs; [apply one_spec|]. cbn [fold_right fprod].
      rewrite pmul_spec, norm_spec by auto. f_equal. apply IHfs.
Qed.
Lemma flat_map_spec f p G s : (forall m, valid M G s -> evalp s (f m) = evalm s m) -> valid M G s ->
  evalp s (flat_map f p) = evalp s p.
Proof. intros H V. induction p; simpl; auto. now rewrite evalp_app, H, IHp. Qed.

Lemma flat_spec n : forall G e, flat F n G e = true -> forall s, valid M G s -> eval M s e = 0.
Proof.
  induction n; intros G e H s V; [discriminate|]. cbn [flat] in H.
  rewrite <- (norm_spec e G s V), <- (tidy_spec (flat F n) IHn G _ s V).
  rewrite <- (flat_map_spec (expand F G) _ G s) by (auto; intros; now apply expand_spec).
  rewrite <- (tidy_spec (flat F n) IHn G _ s V).
  destruct (tidy F (flat F n) G _); [reflexivity|discriminate].
Qed.

Lemma den_spec n G k fs P s : den F (flat F n) G k fs = Some P -> valid M G s -> eval M s P <> 0.
Proof.
  intros H V. induction fs as [|e fs IH]; [discriminate|]. cbn [den] in H. destruct e; auto.
  destruct (if allb _ _ then _ else _) eqn:E; auto. injection H as <-. apply lazy_and in E as [_ E].
  apply (nz_spec (flat F n) (flat_spec n) G); auto.
Qed.
Lemma dens_spec n G p P s : dens F (flat F n) G p = Some P -> valid M G s -> eval M s P <> 0.
Proof.
  intros H V. induction p as [|[[c l] fs] p IH]; [discriminate|]. cbn [dens] in H.
  destruct (den _ _ _ _ _) eqn:E; auto. injection H as <-. now apply (den_spec _ _ _ _ _ _ E).
Qed.
Lemma times_spec n G P m s : valid M G s -> eval M s P <> 0 ->
  evalp s (times F (flat F n) G P m) = evalm s m * eval M s P.
Proof.
  intros V N. destruct m as [[c l] fs]. unfold times. destruct (pick _ fs) as [[x r]|] eqn:E.
  - apply pick_spec in E as [T Q]. destruct x; try discriminate. simpl.
    rewrite Rplus_0_r, Rmult_assoc, <- sumv_scal_r. f_equal. apply sumv_ext; intros vs Hv. rewrite Q.
      simpl in *.
    apply (eqv_spec _ (flat_spec n) _ _ _ (cat vs s)) in T; [|now apply valid_cat]. rewrite <- T, eval_ren.
    rewrite (eval_ext M P (fun k => cat vs s (length l + k)) s).
    + field; auto.
    + intros k. rewrite <- (inr_length _ _ _ Hv). apply cat_shift.
  - rewrite map_mmul_spec, norm_spec; auto.
Qed.
Lemma zero_spec k n : forall G p, zero F k n G p = true -> forall s, valid M G s -> evalp s p = 0.
Proof.
  induction k; intros G p H s V; cbn [zero] in H;
    rewrite <- (tidy_spec (flat F n) (flat_spec n) G _ s V);
    rewrite <- (flat_map_spec (expand F G) _ G s) by (auto; intros; now apply expand_spec);
    rewrite <- (tidy_spec (flat F n) (flat_spec n) G _ s V);
    destruct (tidy F (flat F n) G (flat_map _ _)) as [|m q]; try reflexivity; try discriminate.
  destruct (dens F (flat F n) G (m :: q)) as [P|] eqn:E; [|discriminate].
  pose proof (dens_spec _ _ _ _ s E V) as N. specialize (IHk _ _ H s V).
  assert (T : forall r, evalp s (flat_map (times F (flat F n) G P) r) = evalp s r * eval M s P).
  { induction r; simpl; [ring|]. rewrite evalp_app, times_spec, IHr by auto. ring. }
  rewrite T in IHk. apply Rmult_integral in IHk as [|]; auto; contradiction.
Qed.

Theorem check_spec k n G a b s : check F k n G a b = true -> valid M G s -> eval M s a = eval M s b.
Proof.
  intros H V. apply zero_spec with (s := s) in H; auto. rewrite norm_spec in H by auto. simpl in H. lra.
Qed.
End Sound.
