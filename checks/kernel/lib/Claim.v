(* From the checker to readable theorems: hypotheses only have to hold inside the ranges of the indices. *)
Require Import Reals List Lia Lra Bool ZArith.
Require Import Attest.Sums Attest.Expr Attest.Norm Attest.Sound.
Import ListNotations.
Open Scope R_scope.

Section Ranges.
Variable shape : nat -> list nat.   (* dimensions of each tensor *)

Fixpoint fit (G ix l : list nat) : bool :=
  match ix, l with
  | [], [] => true
  | i :: ix', d :: l' => match nth_error G i with Some c => Nat.eqb c d | None => false end &&& fit G ix' l'
  | _, _ => false
  end.
(* every entry is taken inside its tensor *)
Fixpoint wt (G : list nat) (e : expr) : bool :=
  match e with
  | At t ix => fit G ix (shape t)
  | Add a b | Mul a b => wt G a &&& wt G b
  | Inv a | Sqrt a | Exp a | Call _ a => wt G a
  | Sum d a => wt (d :: G) a
  | _ => true
  end.

Record agree (M M' : model) : Prop := {
  a_dims : forall d, dims M d = dims M' d;
  a_fn : forall f x, fn M f x = fn M' f x;
  a_ten : forall t ix, inr (dims M) ix (shape t) -> ten M t ix = ten M' t ix }.

Lemma fit_inr M G s ix l : fit G ix l = true -> valid M G s -> inr (dims M) (map s ix) l.
Proof.
  revert l; induction ix as [|i ix IH]; intros [|d l] H V; simpl in *; try discriminate; [constructor|].
  apply lazy_and in H as [H1 H2]. destruct (nth_error G i) eqn:E; [|discriminate].
    apply Nat.eqb_eq in H1 as ->.
  constructor; [now apply V|now apply IH].
Qed.
Lemma wt_eval M M' : agree M M' -> forall e G s, wt G e = true -> valid M G s -> eval M s e = eval M' s e.
Proof.
  intros A; induction e; intros G s W V; simpl in *; try reflexivity;
    try (apply lazy_and in W as [W1 W2]; now rewrite (IHe1 G), (IHe2 G));
    try (now rewrite (IHe G)).
  - now rewrite (a_dims _ _ A).
  - apply (a_ten _ _ A). now apply (fit_inr M G).
  - rewrite (IHe G) by auto. apply A.
  - rewrite <- (a_dims _ _ A). apply sum_ext; intros v Hv. apply (IHe (d :: G)); auto.
    now apply valid_scons.
Qed.

Fixpoint inside (f : nat -> nat) (ix l : list nat) : bool :=
  match ix, l with [], [] => true | i :: ix', d :: l' => Nat.ltb i (f d) &&&
    inside f ix' l' | _, _ => false end.
Lemma inside_spec f ix l : inside f ix l = true <-> inr f ix l.
Proof.
  revert l; induction ix as [|i ix IH]; intros [|d l]; simpl; split; intros H; try discriminate;
    try constructor;
    try (now inversion H).
  - apply lazy_and in H as [H _]. now apply Nat.ltb_lt.
  - apply lazy_and in H as [_ H]. now apply IH.
  - inversion H; subst. apply Nat.ltb_lt in H3. rewrite H3. now apply IH.
Qed.
(* the same model with 1 outside the ranges *)
Definition extend (M : model) : model :=
  {| dims := dims M; fn := fn M; ten := fun t ix => if inside (dims M) ix (shape t) then ten M t ix else 1
    |}.
Lemma extend_agree M : agree M (extend M).
Proof. split; auto. intros t ix H. simpl. apply inside_spec in H. now rewrite H. Qed.
Lemma extend_valid M G s : valid (extend M) G s <-> valid M G s.
Proof. reflexivity. Qed.

Definition square (l : list nat) : bool := match l with [a; b] => Nat.eqb a b | _ => false end.
Definition typed (F : flags) (n : nat) : bool :=
  allb (fun f => wt (fst f) (snd f)) (facts F) &&&
    allb (fun t => if sym F t then square (shape t) else true) (seq 0 n).

(* [P] of every list of indices in the ranges [l]; unfolds to  forall i, (i < N)%nat -> ... *)
Fixpoint all_in (f : nat -> nat) (l : list nat) (P : list nat -> Prop) : Prop :=
  match l with [] => P [] | d :: l' => forall i, (i < f d)%nat -> all_in f l' (fun ix => P (i :: ix)) end.
Lemma all_in_spec f l : forall P, all_in f l P <-> (forall ix, inr f ix l -> P ix).
Proof.
  induction l as [|d l IH]; intros P; simpl; split; intros H.
  - intros ix Hi. inversion Hi; subst; auto.
  - apply H. constructor.
  - intros ix Hi. inversion Hi as [|v d' vs l' Hv Hvs]; subst.
    exact (proj1 (IH (fun ix => P (v :: ix))) (H v Hv) vs Hvs).
  - intros i Hi. apply IH. intros ix Hx. apply H. now constructor.
Qed.

Definition promised (f : nat -> nat) (n : nat) (b : nat -> bool) (P : nat -> list nat -> Prop) : Prop :=
  fold_right (fun t rest => if b t then all_in f (shape t) (P t) /\ rest else rest) True (seq 0 n).
Lemma promised_spec f n b P t : promised f n b P -> (t < n)%nat -> b t = true ->
  forall ix, inr f ix (shape t) -> P t ix.
Proof.
  unfold promised. intros H Ht. assert (I : In t (seq 0 n)) by (apply in_seq; lia). clear Ht.
  induction (seq 0 n) as [|x r IH]; [destruct I|]. intros B. simpl in H. destruct I as [->|I].
  - rewrite B in H. now apply all_in_spec.
  - destruct (b x); apply IH; tauto.
Qed.
End Ranges.

Definition inb (l : list nat) (n : nat) : bool := anyb (Nat.eqb n) l.
Definition origin (_ : nat) := O.

(* the static part of a claim, which the checker computes with *)
Record data := { d_shapes : list (list nat); d_pos : list nat; d_nz : list nat; d_posf : list nat;
  d_sym : list nat;
                 d_facts : list (list nat * expr) }.
Definition flags_of (D : data) : flags :=
  {| posT := inb (d_pos D); nzT := inb (d_nz D); posF := inb (d_posf D); sym := inb (d_sym D);
    facts := d_facts D |}.
Definition shapeD (D : data) (t : nat) := nth t (d_shapes D) [].

(* what a model has to satisfy *)
Record meets (D : data) (M : model) : Prop := {
  m_dims : forall d, (0 < dims M d)%nat;
  m_pos : promised (shapeD D) (dims M) (length (d_shapes D)) (inb (d_pos D)) (fun t ix => 0 < ten M t ix);
  m_nz : promised (shapeD D) (dims M) (length (d_shapes D)) (inb (d_nz D)) (fun t ix => ten M t ix <> 0);
  m_sym : promised (shapeD D) (dims M) (length (d_shapes D)) (inb (d_sym D))
            (fun t ix => match ix with [i; j] => ten M t [i; j] = ten M t [j; i] | _ => True end);
  m_posf : forall f x, inb (d_posf D) f = true -> 0 < fn M f x;
  m_facts : fold_right (fun f rest => (forall s, valid M (fst f) s ->
    eval M s (snd f) <> 0) /\ rest) True (d_facts D) }.

Lemma inb_In l n : inb l n = true -> In n l.
Proof. intros H. apply anyb_ex in H as (x & Hx & H). apply Nat.eqb_eq in H as ->. auto. Qed.

Definition sane (D : data) : bool :=
  allb (fun t => Nat.ltb t (length (d_shapes D))) (d_pos D ++ d_nz D ++ d_sym D) &&&
  typed (shapeD D) (flags_of D) (length (d_shapes D)).

Lemma meets_keeps D M : sane D = true -> meets D M -> keeps (flags_of D) (extend (shapeD D) M).
Proof.
  intros H P. apply lazy_and in H as [Hl Ht].
  assert (small : forall t, In t (d_pos D ++ d_nz D ++ d_sym D) -> (t < length (d_shapes D))%nat).
  { intros t I. apply Nat.ltb_lt. now apply (allb_all _ _ Hl). }
  unfold typed in Ht. apply lazy_and in Ht as [Hf Hs].
  set (S := shapeD D) in *. set (F := flags_of D) in *.
  destruct P as [P1 P2 P3 P4 P5 P6]. split.
  - exact P1.
  - intros t jx B. simpl. destruct (inside (dims M) jx (S t)) eqn:I; [|lra]. apply inside_spec in I.
    apply (promised_spec _ _ _ _ _ _ P2); auto. apply small. apply in_app_iff. left. now apply inb_In.
  - intros t jx B. simpl. destruct (inside (dims M) jx (S t)) eqn:I; [|lra]. apply inside_spec in I.
    apply (promised_spec _ _ _ _ _ _ P3); auto. apply small. apply in_app_iff. right. apply in_app_iff.
      left. now apply inb_In.
  - exact P5.
  - intros t i j B. simpl. assert (L : (t < length (d_shapes D))%nat).
    { apply small. apply in_app_iff. right. apply in_app_iff. right. now apply inb_In. }
    assert (Sq : square (S t) = true).
    { specialize (allb_all _ _ Hs t). intros A. cbv beta in A. rewrite B in A. apply A. apply in_seq; lia. }
    unfold square in Sq. destruct (S t) as [|d1 [|d2 [|]]] eqn:E; try discriminate.
      apply Nat.eqb_eq in Sq as ->.
    pose proof (promised_spec _ _ _ _ _ t P4 L B [i; j]) as A. cbv beta iota in A.
      change (shapeD D t) with (S t) in A. rewrite E in A. unfold inside.
    destruct (Nat.ltb_spec i (dims M d2)), (Nat.ltb_spec j (dims M d2)); auto.
    apply A. repeat constructor; auto.
  - intros Hx e s I V'. rewrite <- (wt_eval S M (extend S M) (extend_agree S M) e Hx s); auto.
    + clear - P6 I V'. change (d_facts D) with (facts F) in P6.
      induction (facts F) as [|f r IH]; [destruct I|].
      simpl in P6. destruct I as [->|I]; [now apply P6|]. apply IH; tauto.
    + apply (allb_all _ _ Hf _ I).
Qed.

Lemma at_valid M G ix : inr (dims M) ix G -> valid M G (cat ix origin).
Proof.
  intros Hi. pose proof (valid_cat M G [] ix origin Hi) as V. rewrite app_nil_r in V. apply V.
  intros [|k] d Hk; discriminate.
Qed.

Theorem identity (D : data) (M : model) (G : list nat) (a b : expr) :
  (sane D &&& wt (shapeD D) G a &&& wt (shapeD D) G b &&& check (flags_of D) 6 4 G a b) = true ->
    meets D M ->
  all_in (dims M) G (fun ix => eval M (cat ix origin) a = eval M (cat ix origin) b).
Proof.
  intros H P. apply lazy_and in H as [H Hc]. apply lazy_and in H as [H Hb]. apply lazy_and in H as [Hs Ha].
  apply all_in_spec; intros ix Hi. pose proof (at_valid _ _ _ Hi) as V.
  set (S := shapeD D) in *.
  rewrite (wt_eval S M (extend S M) (extend_agree S M) a G),
    (wt_eval S M (extend S M) (extend_agree S M) b G); auto.
  now apply (check_spec (flags_of D) (extend S M) (meets_keeps _ _ Hs P) 6 4 G).
Qed.

(* a tensor of the model for another one that has the same values in its ranges *)
Definition overlay (M : model) (k : nat) (f : list nat -> R) : model :=
  {| dims := dims M; fn := fn M; ten := fun t => if Nat.eqb t k then f else ten M t |}.
Theorem replaced (D : data) (M : model) (k : nat) (f : list nat -> R) (G : list nat) (a b : expr) :
  (wt (shapeD D) G a &&& wt (shapeD D) G b) = true ->
  all_in (dims M) (shapeD D k) (fun ix => f ix = ten M k ix) ->
  all_in (dims M) G (fun ix => eval M (cat ix origin) a = eval M (cat ix origin) b) ->
  all_in (dims M) G
    (fun ix => eval (overlay M k f) (cat ix origin) a = eval (overlay M k f) (cat ix origin) b).
Proof.
  intros H S E. apply lazy_and in H as [Ha Hb].
  assert (A : agree (shapeD D) (overlay M k f) M).
  { split; [reflexivity|reflexivity|]. intros t ix Hi. simpl. destruct (Nat.eqb_spec t k) as [->|]; auto.
    now apply (proj1 (all_in_spec (dims M) _ _) S). }
  apply all_in_spec; intros ix Hi. pose proof (at_valid M G ix Hi) as V.
  rewrite (wt_eval _ _ _ A a G), (wt_eval _ _ _ A b G) by auto.
  exact (proj1 (all_in_spec (dims M) G _) E ix Hi).
Qed.

(* signs that are visible *)
Lemma visible (D : data) (M : model) (G : list nat) (a : expr) (Q : R -> Prop) :
  (sane D &&& wt (shapeD D) G a) = true -> meets D M ->
  (keeps (flags_of D) (extend (shapeD D) M) -> forall s, valid M G s ->
    Q (eval (extend (shapeD D) M) s a)) ->
  all_in (dims M) G (fun ix => Q (eval M (cat ix origin) a)).
Proof.
  intros H P K. apply lazy_and in H as [Hs Ha]. apply all_in_spec; intros ix Hi.
    pose proof (at_valid _ _ _ Hi) as V.
  set (S := shapeD D) in *. rewrite (wt_eval S M (extend S M) (extend_agree S M) a G); auto.
  apply K; auto. now apply meets_keeps.
Qed.
Theorem positive D M G a : (sane D &&& wt (shapeD D) G a &&& pos (flags_of D) a) = true -> meets D M ->
  all_in (dims M) G (fun ix => 0 < eval M (cat ix origin) a).
Proof.
  intros H P. apply lazy_and in H as [H1 H2]. apply (visible D M G a (fun x => 0 < x)); auto.
  intros K s _. now apply (pos_spec (flags_of D) (extend (shapeD D) M) K).
Qed.
Theorem nonnegative D M G a : (sane D &&& wt (shapeD D) G a &&& nneg (flags_of D) a) = true -> meets D M ->
  all_in (dims M) G (fun ix => 0 <= eval M (cat ix origin) a).
Proof.
  intros H P. apply lazy_and in H as [H1 H2]. apply (visible D M G a (fun x => 0 <= x)); auto.
  intros K s _. now apply (nneg_spec (flags_of D) (extend (shapeD D) M) K).
Qed.
Theorem nonvanishing D M G a :
  (sane D &&& wt (shapeD D) G a &&& nz (flags_of D) (flat (flags_of D) 4) G a) = true -> meets D M ->
  all_in (dims M) G (fun ix => eval M (cat ix origin) a <> 0).
Proof.
  intros H P. apply lazy_and in H as [H1 H2]. apply (visible D M G a (fun x => x <> 0)); auto.
  intros K s V. eapply (nz_spec (flags_of D) (extend (shapeD D) M) K); eauto.
    now apply (flat_spec (flags_of D)).
Qed.

(* A certificate vanishes where the residuals (tensors [rs]) do. *)
Fixpoint subst0 (rs : list nat) (e : expr) : expr :=
  match e with
  | At t ix => if inb rs t then Num 0 else e
  | Add a b => Add (subst0 rs a) (subst0 rs b) | Mul a b => Mul (subst0 rs a) (subst0 rs b)
  | Inv a => Inv (subst0 rs a) | Sqrt a => Sqrt (subst0 rs a) | Exp a => Exp (subst0 rs a)
  | Call f a => Call f (subst0 rs a) | Sum d a => Sum d (subst0 rs a)
  | _ => e
  end.
Definition zeroed (rs : list nat) (M : model) : model :=
  {| dims := dims M; fn := fn M; ten := fun t ix => if inb rs t then 0 else ten M t ix |}.
Lemma subst0_spec rs M e : forall s, eval (zeroed rs M) s e = eval M s (subst0 rs e).
Proof.
  induction e; intros s; simpl; try reflexivity; try (now rewrite IHe1, IHe2); try (now rewrite IHe).
  - destruct (inb rs t); reflexivity.
  - apply sum_ext; intros; apply IHe.
Qed.
Theorem certificate (D : data) (M : model) (rs : list nat) (G : list nat) (C : expr) :
  (allb (fun t => Nat.ltb t (length (d_shapes D))) rs &&& sane D &&& wt (shapeD D) G C &&&
    wt (shapeD D) G (subst0 rs C)
   &&& check (flags_of D) 6 4 G (subst0 rs C) (Num 0)) = true ->
  meets D M ->
  promised (shapeD D) (dims M) (length (d_shapes D)) (inb rs) (fun t ix => ten M t ix = 0) ->
  all_in (dims M) G (fun ix => eval M (cat ix origin) C = 0).
Proof.
  intros H P Z. apply lazy_and in H as [H Hc]. apply lazy_and in H as [H Hw0].
    apply lazy_and in H as [H Hw].
  apply lazy_and in H as [Hr Hs]. apply all_in_spec; intros ix Hi.
  rewrite (wt_eval (shapeD D) M (zeroed rs M)) with (G := G); auto; [|split; auto|now apply at_valid].
  - rewrite subst0_spec. change 0 with (eval M (cat ix origin) (Num 0)).
    apply (proj1 (all_in_spec (dims M) G _) (identity D M G (subst0 rs C) (Num 0) ltac:(now rewrite Hs,
      Hw0, Hc) P)); auto.
  - intros t jx Hj. simpl. destruct (inb rs t) eqn:B; auto.
    apply (promised_spec _ _ _ _ _ _ Z); auto. apply Nat.ltb_lt. apply (allb_all _ _ Hr). now apply inb_In.
Qed.

(* vanishing sums of nonnegative terms *)
Lemma all_zero f l : forall (g : list nat -> R), (forall vs, inr f vs l -> 0 <= g vs) -> sumv f l g = 0 ->
  forall vs, inr f vs l -> g vs = 0.
Proof.
  assert (one : forall n h, (forall i, (i < n)%nat -> 0 <= h i) -> sum n h = 0 -> forall i, (i < n)%nat ->
    h i = 0).
  { induction n; simpl; intros h Hn H0 i Hi; [lia|].
    assert (0 <= sum n h) by (apply sum_nneg; intros; apply Hn; lia). assert (0 <= h n) by (apply Hn; lia).
    destruct (Nat.eq_dec i n) as [->|]; [lra|]. apply IHn; [intros; apply Hn; lia|lra|lia]. }
  induction l as [|d l IH]; intros g Hg H0 vs Hv; simpl in *.
  - inversion Hv; subst; auto.
  - inversion Hv as [|v d' ws l' Hv1 Hv2]; subst.
    apply (one (f d) (fun v => g (v :: ws))); auto; [intros; apply Hg; now constructor|].
    apply (IH (fun ws => sum (f d) (fun v => g (v :: ws)))); auto.
    intros us Hu. apply sum_nneg; intros. apply Hg. now constructor.
Qed.
Lemma sum_zero_each n h : (forall i, (i < n)%nat -> 0 <= h i) -> sum n h = 0 -> forall i, (i < n)%nat ->
  h i = 0.
Proof.
  induction n; simpl; intros P E i Hi; [lia|].
  assert (0 <= sum n h) by (apply sum_nneg; intros; apply P; lia). assert (0 <= h n) by (apply P; lia).
  destruct (Nat.eq_dec i n) as [->|]; [lra|]. apply IHn; [intros; apply P; lia|lra|lia].
Qed.
Lemma square_zero f x : 0 < f -> f * x ^ 2 = 0 -> x = 0.
Proof. intros F E. apply Rmult_integral in E as [|E]; [lra|]. apply Rsqr_0_uniq. unfold Rsqr. lra. Qed.
Lemma squares_nneg f x : 0 < f -> 0 <= f * x ^ 2.
Proof. intros F. apply Rmult_le_pos; [lra|apply pow2_ge_0]. Qed.
Lemma difference a b : a = b -> a + (-1) * b = 0.
Proof. intros ->. ring. Qed.
Lemma no_difference a b : a + (-1) * b = 0 -> a = b.
Proof. lra. Qed.
Lemma conclude f a b c : f * (a + (-1) * b) = c -> c = 0 -> f <> 0 -> a = b.
Proof. intros E -> N. apply Rmult_integral in E as [|]; [contradiction|lra]. Qed.
Lemma conclude_ge f a b c q : f * (a + (-1) * b) = c + q -> c = 0 -> 0 < f -> 0 <= q -> a >= b.
Proof. intros E -> N Q. destruct (Rle_or_lt b a); [lra|].
  assert (f * (b + (-1) * a) > 0) by (apply Rmult_lt_0_compat; lra). lra. Qed.
Lemma finish_eq f a : 0 < f -> f * a = 0 -> a = 0.
Proof. intros F E. apply Rmult_integral in E as [|]; [lra|auto]. Qed.
Lemma finish_ge f a : 0 < f -> 0 <= f * a -> a >= 0.
Proof. intros F E. destruct (Rle_or_lt 0 a); [lra|].
  assert (f * - a > 0) by (apply Rmult_lt_0_compat; lra). lra. Qed.
Lemma finish_gt f a : 0 < f -> 0 < f * a -> a > 0.
Proof. intros F E. destruct (Rlt_or_le 0 a); [lra|].
  assert (f * - a >= 0) by (apply Rle_ge, Rmult_le_pos; lra). lra. Qed.
(* mixes of two points: affine constraints, and an objective whose gap to the mix is a square *)
Lemma mix_eq t l r a b c d : 0 <= t <= 1 ->
  l + (-1) * r = t * (a + (-1) * b) + (1 + (-1) * t) * (c + (-1) * d) -> a = b -> c = d -> l = r.
Proof. intros T E -> ->. replace l with (l + (-1) * r + r) by ring. rewrite E. ring. Qed.
Lemma mix_le t l r a b c d : 0 <= t <= 1 ->
  l + (-1) * r = t * (a + (-1) * b) + (1 + (-1) * t) * (c + (-1) * d) -> a <= b -> c <= d -> l <= r.
Proof. intros T E A C. enough (l + (-1) * r <= 0) by lra. rewrite E. nra. Qed.
Lemma gap_nonneg t q : 0 <= t <= 1 -> 0 <= q -> 0 <= t * (1 + (-1) * t) * q.
Proof. intros T Q. apply Rmult_le_pos; [apply Rmult_le_pos; lra|exact Q]. Qed.
Lemma mix_below t f m q : 0 <= t <= 1 -> m = f + 1 * (t * (1 + (-1) * t) * q) -> 0 <= q -> f <= m.
Proof. intros T -> Q. pose proof (gap_nonneg t q T Q). lra. Qed.
Lemma mix_above t f m q : 0 <= t <= 1 -> m = f + (-1) * (t * (1 + (-1) * t) * q) -> 0 <= q -> f >= m.
Proof. intros T -> Q. pose proof (gap_nonneg t q T Q). lra. Qed.
(* duals: slack of constraints, sums of what vanishes, and what is bounded along a line *)
Lemma slack_nneg a b : a <= b -> 0 <= b + (-1) * a.
Proof. lra. Qed.
Lemma sum_all_zero n f : (forall i, (i < n)%nat -> f i = 0) -> sum n f = 0.
Proof. intros H. rewrite (sum_ext n f (fun _ => 0)); auto. apply sum_zero. Qed.
Lemma line_bounded a b m : (forall s, m <= a + s * b) -> b = 0.
Proof.
  intros H. destruct (Req_dec b 0) as [|N]; auto. specialize (H ((m - a - 1) / b)).
  replace ((m - a - 1) / b * b) with (m - a - 1) in H by (field; auto). lra.
Qed.
Ltac signs := repeat match goal with
  | |- _ <= _ / _ => unfold Rdiv | |- _ < _ / _ => unfold Rdiv
  | |- 0 <= _ * _ => apply Rmult_le_pos | |- 0 < _ * _ => apply Rmult_lt_0_compat
  | |- 0 <= / _ => apply Rlt_le, Rinv_0_lt_compat | |- 0 < / _ => apply Rinv_0_lt_compat
  | |- 0 <= exp _ => apply Rlt_le, exp_pos | |- 0 < exp _ => apply exp_pos
  | |- 0 <= sqrt _ => apply sqrt_pos | |- 0 < sqrt _ => apply sqrt_lt_R0
  | |- 0 <= _ ^ 2 => apply pow2_ge_0 | |- 0 <= INR _ => apply pos_INR | |- 0 < INR _ => apply lt_0_INR; assumption
  | |- 0 < sum _ _ => solve [auto] | |- 0 < sum _ _ => apply sum_pos; [assumption|intros] | |- 0 <= sum _ _ => apply sum_nneg; intros
  | |- 0 < _ ^ _ => apply pow_lt | |- 0 <= _ ^ _ => apply pow_le | |- 0 <= _ + _ => apply Rplus_le_le_0_compat
  | |- 0 < _ + _ => solve [lra] | |- 0 < _ + _ => solve [apply Rplus_lt_le_0_compat; signs]
  | |- 0 < _ + _ => apply Rplus_le_lt_0_compat
  | _ => solve [auto | apply Rlt_le; auto | lra] end.

Ltac nonzero_signs := match goal with
  | |- True => exact I
  | |- _ <> 0 => first [assumption | apply Rgt_not_eq; unfold Rgt; signs | apply Rlt_not_eq; signs]
  | _ => signs end.

(* What the generated proofs run: every size is positive; the functions listed as positive are so. *)
Ltac sizes := let d := fresh in
  intros d; cbn; repeat (destruct d as [|d]; [assumption|]); destruct d; exact Nat.lt_0_1.
Ltac functions := let f := fresh in let x := fresh in let H := fresh in
  intros f x H; apply inb_In in H; cbn in H; repeat (destruct H as [<-|H]; [cbn; auto|]); contradiction.
