(* Values at a point: rational bounds of an expression where all symbols have rational values,
  and proofs that a
   statement fails there. Where the bounds exist, the expression is defined. *)
Require Import Reals QArith Qreals List Lia Lra Bool ZArith Ranalysis.
Require Import Attest.Sums Attest.Expr Attest.Paper Attest.Norm Attest.Sound Attest.Claim.
Import ListNotations.
Open Scope R_scope.

(* arrays of rationals, as readable statements apply them *)
Definition array0 (q : Q) : R := Q2R q.
Definition array1 (l : list Q) (i : nat) : R := Q2R (nth i l 0%Q).
Definition array2 (l : list (list Q)) (i j : nat) : R := Q2R (nth j (nth i l []) 0%Q).
Definition array3 (l : list (list (list Q))) (i j k : nat) : R := Q2R (nth k (nth j (nth i l []) []) 0%Q).

(* polynomials by their coefficients, that of 1 first, and their derivatives *)
Fixpoint poly (c : list Q) (x : R) : R := match c with [] => 0 | a :: r => Q2R a + x * poly r x end.
Fixpoint padd (a b : list Q) : list Q :=
  match a, b with [], _ => b | _, [] => a | x :: a', y :: b' => (x + y)%Q :: padd a' b' end.
Fixpoint dpoly (c : list Q) : list Q := match c with [] => [] | _ :: r => padd r (0%Q :: dpoly r) end.

Lemma padd_spec a : forall b x, poly (padd a b) x = poly a x + poly b x.
Proof.
  induction a as [|p a IH]; intros b x; simpl; [lra|]. destruct b; simpl; [lra|].
  rewrite IH, Q2R_plus. lra.
Qed.
Lemma poly_derivable c x : derivable_pt_lim (poly c) x (poly (dpoly c) x).
Proof.
  induction c as [|a r IH].
  - exact (derivable_pt_lim_const 0 x).
  - cbn [dpoly]. rewrite padd_spec. cbn [poly]. rewrite Q2R_0.
    replace (poly r x + (0 + x * poly (dpoly r) x)) with (0 + (1 * poly r x + x * poly (dpoly r) x)) by
      ring.
    apply (derivable_pt_lim_plus (fct_cte (Q2R a)) (fun y => y * poly r y));
      [apply derivable_pt_lim_const|].
    apply (derivable_pt_lim_mult id (poly r)); [apply derivable_pt_lim_id|exact IH].
Qed.

(* functions: polynomials, formulas in one number, and such on both sides of a number and at it *)
Inductive known := Poly (c : list Q) | Plain (e : expr) | Cases (b : Z) (low mid high : known).
Definition cases (x b low mid high : R) : R :=
  match total_order_T x b with inleft (left _) => low | inleft (right _) => mid | inright _ => high end.
Definition only (x : R) : model := {| dims := fun _ => 1%nat; ten := fun _ _ => x; fn := fun _ y => y |}.
Fixpoint value (k : known) (x : R) : R :=
  match k with
  | Poly c => poly c x
  | Plain e => eval (only x) origin e
  | Cases b low mid high => cases x (IZR b) (value low x) (value mid x) (value high x)
  end.

Record point := { p_dims : list nat; p_ten : list (list nat -> Q); p_fn : list known }.
Definition at_point (P : point) : model :=
  {| dims := fun d => nth d (p_dims P) 1%nat; ten := fun t ix => Q2R (nth t (p_ten P) (fun _ => 1%Q) ix);
     fn := fun f => value (nth f (p_fn P) (Poly [])) |}.

(* ---- intervals *)
Definition interval := (Q * Q)%type.
Definition contains (i : interval) (x : R) : Prop := Q2R (fst i) <= x <= Q2R (snd i).
Definition qmin (a b : Q) : Q := if Qle_bool a b then a else b.
Definition lt (a b : Q) : bool := negb (Qle_bool b a).

Lemma lt_spec a b : lt a b = true -> Q2R a < Q2R b.
Proof.
  intros H. apply Qlt_Rlt, Qnot_le_lt. intros N. apply Qle_bool_iff in N. unfold lt in H.
    now rewrite N in H.
Qed.
Lemma le_spec a b : Qle_bool a b = true -> Q2R a <= Q2R b.
Proof. intros H. now apply Qle_Rle, Qle_bool_iff. Qed.
Lemma le_not a b : Qle_bool a b = false -> Q2R b <= Q2R a.
Proof. intros H. apply Rlt_le, lt_spec. unfold lt. now rewrite H. Qed.
Lemma qmin_spec a b : Q2R (qmin a b) <= Q2R a /\ Q2R (qmin a b) <= Q2R b.
Proof. unfold qmin. destruct (Qle_bool a b) eqn:E; [apply le_spec in E|apply le_not in E]; lra. Qed.
Lemma qmax_spec a b : Q2R a <= Q2R (qmax a b) /\ Q2R b <= Q2R (qmax a b).
Proof. unfold qmax. destruct (Qle_bool a b) eqn:E; [apply le_spec in E|apply le_not in E]; lra. Qed.

Definition exactly (q : Q) : interval := (q, q).
Definition iadd (i j : interval) : interval := (Qred (fst i + fst j), Qred (snd i + snd j)).
Definition imul (i j : interval) : interval :=
  let p := Qred (fst i * fst j) in let q := Qred (fst i * snd j) in
  let r := Qred (snd i * fst j) in let s := Qred (snd i * snd j) in
  (qmin (qmin p q) (qmin r s), qmax (qmax p q) (qmax r s)).
Definition iinv (i : interval) : option interval :=
  if lt 0 (fst i) ||| lt (snd i) 0 then Some (Qred (/ snd i), Qred (/ fst i)) else None.

Lemma exactly_spec q : contains (exactly q) (Q2R q).
Proof. split; apply Rle_refl. Qed.
Lemma iadd_spec i j x y : contains i x -> contains j y -> contains (iadd i j) (x + y).
Proof. intros [? ?] [? ?]. split; unfold iadd; cbn [fst snd]; rewrite Q2R_red, Q2R_plus; lra. Qed.
Lemma between a b x y : a <= x <= b -> (a * y <= x * y <= b * y) \/ (b * y <= x * y <= a * y).
Proof. intros H. destruct (Rle_or_lt 0 y); [left|right]; split; nra. Qed.
Lemma imul_spec i j x y : contains i x -> contains j y -> contains (imul i j) (x * y).
Proof.
  destruct i as [a b], j as [c d]. unfold contains, imul; cbn [fst snd]. intros Hx Hy.
  pose proof (qmin_spec (Qred (a * c)) (Qred (a * d))).
    pose proof (qmin_spec (Qred (b * c)) (Qred (b * d))).
  pose proof (qmin_spec (qmin (Qred (a * c)) (Qred (a * d))) (qmin (Qred (b * c)) (Qred (b * d)))).
  pose proof (qmax_spec (Qred (a * c)) (Qred (a * d))).
    pose proof (qmax_spec (Qred (b * c)) (Qred (b * d))).
  pose proof (qmax_spec (qmax (Qred (a * c)) (Qred (a * d))) (qmax (Qred (b * c)) (Qred (b * d)))).
  rewrite ?Q2R_red, ?Q2R_mult in *.
  pose proof (between _ _ x y Hx) as B.
  pose proof (between _ _ y (Q2R a) Hy) as A1. pose proof (between _ _ y (Q2R b) Hy) as A2.
  rewrite (Rmult_comm (Q2R c)), (Rmult_comm (Q2R d)), (Rmult_comm y) in A1, A2.
  lra.
Qed.
Lemma inv_negative x y : x <= y -> y < 0 -> / y <= / x.
Proof.
  intros H N. assert (E : / - x <= / - y) by (apply Rinv_le_contravar; lra).
  replace (/ - x) with (- / x) in E by (field; lra). replace (/ - y) with (- / y) in E by (field; lra). lra.
Qed.
Lemma iinv_spec i j x : iinv i = Some j -> contains i x -> contains j (/ x).
Proof.
  destruct i as [a b]. unfold iinv; cbn [fst snd]. intros H [Ha Hb]; cbn [fst snd] in *.
  destruct (lt 0 a) eqn:E; [|destruct (lt b 0) eqn:E2; [|discriminate]]; injection H as <-;
    [apply lt_spec in E|apply lt_spec in E2]; rewrite Q2R_0 in *; split; cbn [fst snd];
    rewrite Q2R_red, Q2R_qinv; try (apply Rinv_le_contravar; lra); apply inv_negative; lra.
Qed.

(* ---- roots: of n / d = (n d s^2) / (d s)^2 *)
Definition fine : BinNums.positive := 1073741824.
Definition under (q : Q) : Z := Qnum q * Zpos (Qden q * fine * fine).
Definition sqrt_low (q : Q) : Q := Z.sqrt (under q) # (Qden q * fine).
Definition sqrt_high (q : Q) : Q :=
  (let r := Z.sqrt (under q) in if Z.eqb (r * r) (under q) then r else r + 1)%Z # (Qden q * fine).
Definition isqrt (i : interval) : option interval :=
  if Qle_bool 0 (fst i) then Some (sqrt_low (fst i), sqrt_high (snd i)) else None.
Lemma square_le q r d : (0 <= r)%Z -> (r * r <= Qnum q * Zpos (Qden q * d * d))%Z ->
  Q2R (r # (Qden q * d)) <= sqrt (Q2R q).
Proof.
  intros Hr H. rewrite <- (sqrt_Rsqr (Q2R (r # (Qden q * d)))).
  - apply sqrt_le_1_alt. unfold Rsqr. rewrite <- Q2R_mult. apply Qle_Rle. unfold Qle; simpl.
    rewrite !Pos2Z.inj_mul in *. nia.
  - rewrite <- Q2R_0. apply Qle_Rle. unfold Qle; simpl. lia.
Qed.
Lemma square_ge q r d : (0 <= r)%Z -> (Qnum q * Zpos (Qden q * d * d) <= r * r)%Z ->
  sqrt (Q2R q) <= Q2R (r # (Qden q * d)).
Proof.
  intros Hr H. rewrite <- (sqrt_Rsqr (Q2R (r # (Qden q * d)))).
  - apply sqrt_le_1_alt. unfold Rsqr. rewrite <- Q2R_mult. apply Qle_Rle. unfold Qle; simpl.
    rewrite !Pos2Z.inj_mul in *. nia.
  - rewrite <- Q2R_0. apply Qle_Rle. unfold Qle; simpl. lia.
Qed.
Lemma isqrt_spec i j x : isqrt i = Some j -> contains i x -> contains j (sqrt x).
Proof.
  destruct i as [a b]. unfold isqrt. cbn [fst snd]. intros H [Ha Hb]; cbn [fst snd] in *.
  destruct (Qle_bool 0 a) eqn:E; [|discriminate]. injection H as <-. pose proof (le_spec _ _ E) as Pa.
  rewrite Q2R_0 in Pa. apply Qle_bool_iff in E. unfold Qle in E; simpl in E. rewrite Z.mul_1_r in E.
  assert (Pb : (0 <= Qnum b)%Z).
  { assert (Q : (0 <= b)%Q) by (apply Rle_Qle; rewrite Q2R_0; lra). unfold Qle in Q; simpl in Q. lia. }
  split; cbn [fst snd].
  - apply Rle_trans with (sqrt (Q2R a)); [|apply sqrt_le_1_alt; lra].
    apply square_le; [apply Z.sqrt_nonneg|apply Z.sqrt_spec; unfold under; nia].
  - apply Rle_trans with (sqrt (Q2R b)); [apply sqrt_le_1_alt; lra|].
    assert (N : (0 <= under b)%Z) by (unfold under; nia).
    pose proof (Z.sqrt_spec _ N) as [_ L]. pose proof (Z.sqrt_nonneg (under b)) as S0. unfold Z.succ in L.
    unfold sqrt_high. destruct (Z.eqb_spec (Z.sqrt (under b) * Z.sqrt (under b)) (under b)) as [e|e];
      apply square_ge; try lia; change (under b <= Z.sqrt (under b) * Z.sqrt (under b))%Z || idtac;
      change (Qnum b * Z.pos (Qden b * fine * fine))%Z with (under b); lia.
Qed.

(* ---- exponentials: exp x >= (1 + x / n)^n and exp x = 1 / exp (-x),
  rounded outwards to multiples of 1 / grain *)
Definition halvings : nat := 72.
Definition grain : BinNums.positive := 1427247692705959881058285969449495136382746624.
Fixpoint squares (k : nat) (z : Z) : Z := match k with O => z | S n => squares n (Z.shiftr (z * z) 150) end.
Definition exp_low (x : Q) : option Q :=
  let q := (1 + x * (1 # 4722366482869645213696))%Q in let z := (Qnum q * Zpos grain / Zpos (Qden q))%Z in
  if Z.ltb 0 z then Some (squares halvings z # grain) else None.
Definition iexp (i : interval) : option interval :=
  if Qeq_bool (fst i) 0 &&& Qeq_bool (snd i) 0 then Some (exactly 1) else
  match exp_low (fst i), exp_low (- snd i) with
  | Some l, Some u => if lt 0 u then Some (l, Qred (/ u)) else None
  | _, _ => None
  end.
Lemma down_spec q : Q2R ((Qnum q * Zpos grain / Zpos (Qden q))%Z # grain) <= Q2R q.
Proof. apply Qle_Rle. unfold Qle. cbn [Qnum Qden]. rewrite Z.mul_comm. now apply Z.mul_div_le. Qed.
Lemma shift_spec z : (Z.shiftr (z * z) 150 * Zpos grain <= z * z)%Z.
Proof.
  rewrite Z.shiftr_div_pow2 by lia. change (2 ^ 150)%Z with (Zpos grain). rewrite Z.mul_comm.
  now apply Z.mul_div_le.
Qed.
Lemma over_grain z : Q2R (z # grain) = IZR z * / IZR (Zpos grain).
Proof. reflexivity. Qed.
Lemma squares_spec k : forall z y, (0 <= z)%Z -> Q2R (z # grain) <= exp y ->
  Q2R (squares k z # grain) <= exp (2 ^ k * y).
Proof.
  induction k; intros z y H0 H1; cbn [squares pow]; [now rewrite Rmult_1_l|].
  replace (2 * 2 ^ k * y) with (2 ^ k * (y + y)) by ring. apply IHk.
  - apply Z.shiftr_nonneg. nia.
  - assert (G : 0 < IZR (Zpos grain)) by (now apply IZR_lt).
    pose proof (IZR_le _ _ (shift_spec z)) as L. rewrite !mult_IZR in L. rewrite exp_plus, over_grain in *.
    apply IZR_le in H0. set (g := IZR (Zpos grain)) in *. set (w := IZR (Z.shiftr (z * z) 150)) in *.
    set (v := IZR z) in *. assert (I : 0 < / g) by now apply Rinv_0_lt_compat.
    assert (P : 0 <= v * / g) by (apply Rmult_le_pos; lra).
    apply Rle_trans with (v * / g * (v * / g)); [|apply Rmult_le_compat; lra].
    replace (w * / g) with (w * g * (/ g * / g)) by (field; lra).
    replace (v * / g * (v * / g)) with (v * v * (/ g * / g)) by ring.
    apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|exact L].
Qed.
Local Opaque squares.
Lemma exp_low_spec x l : exp_low x = Some l -> Q2R l <= exp (Q2R x).
Proof.
  unfold exp_low. set (q := (1 + x * _)%Q). set (z := (Qnum q * _ / _)%Z).
  destruct (Z.ltb 0 z) eqn:E; [|discriminate]. intros H.
    assert (squares halvings z # grain = l) as <- by congruence.
  apply Z.ltb_lt in E.
  replace (Q2R x) with (2 ^ halvings * (Q2R x * / 4722366482869645213696)) by (unfold halvings; simpl;
    field).
  apply squares_spec; [lia|]. apply Rle_trans with (1 + Q2R x * / 4722366482869645213696);
    [|apply exp_ineq1_le].
  apply Rle_trans with (Q2R q); [apply down_spec|]. unfold q.
  rewrite Q2R_plus, Q2R_mult, Q2R_1. replace (Q2R (1 # 4722366482869645213696)) with (/
    4722366482869645213696); [lra|].
  unfold Q2R; simpl. lra.
Qed.
Lemma exp_mono a b : a <= b -> exp a <= exp b.
Proof. intros [H|H]; [left; now apply exp_increasing|right; now rewrite H]. Qed.
Lemma iexp_spec i j x : iexp i = Some j -> contains i x -> contains j (exp x).
Proof.
  destruct i as [a b]. unfold iexp. cbn [fst snd]. intros H [Ha Hb]; cbn [fst snd] in *.
  destruct (Qeq_bool a 0 &&& Qeq_bool b 0) eqn:Z.
  { apply lazy_and in Z as [Z1 Z2]. apply Qeq_bool_eq, Qeq_eqR in Z1, Z2. rewrite Q2R_0 in *.
    injection H as <-. replace x with 0 by lra. rewrite exp_0, <- Q2R_1. apply exactly_spec. }
  destruct (exp_low a) as [l|] eqn:E1; [|discriminate].
    destruct (exp_low (- b)) as [u|] eqn:E2; [|discriminate].
  destruct (lt 0 u) eqn:E3; [|discriminate]. injection H as <-. apply lt_spec in E3. rewrite Q2R_0 in E3.
  apply exp_low_spec in E1, E2. rewrite Q2R_opp, exp_Ropp in E2. split; cbn [fst snd].
  - apply Rle_trans with (exp (Q2R a)); auto. now apply exp_mono.
  - rewrite Q2R_red, Q2R_qinv. apply Rle_trans with (exp (Q2R b)); [now apply exp_mono|].
    rewrite <- (Rinv_inv (exp (Q2R b))). apply Rinv_le_contravar; lra.
Qed.

Fixpoint ipoly (c : list Q) (i : interval) : interval :=
  match c with [] => exactly 0 | a :: r => iadd (exactly a) (imul i (ipoly r i)) end.
Lemma ipoly_spec c i x : contains i x -> contains (ipoly c i) (poly c x).
Proof.
  intros H. induction c; cbn [ipoly poly]; [rewrite <- Q2R_0; apply exactly_spec|].
  apply iadd_spec; [apply exactly_spec|]. now apply imul_spec.
Qed.

(* ---- expressions *)
Definition lift2 (f : interval -> interval -> interval) (a b : option interval) : option interval :=
  match a, b with Some i, Some j => Some (f i j) | _, _ => None end.
Definition bind (a : option interval) (f : interval -> option interval) : option interval :=
  match a with Some i => f i | None => None end.
Fixpoint isum (n : nat) (f : nat -> option interval) : option interval :=
  match n with O => Some (exactly 0) | S m => lift2 iadd (isum m f) (f m) end.

Fixpoint iformula (i : interval) (e : expr) : option interval :=
  match e with
  | Num z => Some (exactly (inject_Z z))
  | At _ _ => Some i
  | Add a b => lift2 iadd (iformula i a) (iformula i b)
  | Mul a b => lift2 imul (iformula i a) (iformula i b)
  | Exp a => bind (iformula i a) iexp
  | _ => None
  end.
Definition side {A} (i : interval) (b : Q) (low mid high : option A) : option A :=
  if lt (snd i) b then low else if lt b (fst i) then high
  else if Qeq_bool (fst i) b &&& Qeq_bool (snd i) b then mid else None.
Fixpoint iknown (k : known) (i : interval) : option interval :=
  match k with
  | Poly c => Some (ipoly c i)
  | Plain e => iformula i e
  | Cases b low mid high => side i (inject_Z b) (iknown low i) (iknown mid i) (iknown high i)
  end.
Lemma iformula_spec i e x : contains i x -> forall j, iformula i e = Some j -> contains j (eval (only x) origin e).
Proof.
  intros C. induction e; intros r H; cbn [iformula eval] in *; try discriminate;
    try (destruct (iformula i e1) eqn:E1; [|discriminate]; destruct (iformula i e2) eqn:E2; [|discriminate];
         injection H as <-; first [apply iadd_spec|apply imul_spec]; auto; fail).
  - injection H as <-. rewrite <- Q2R_Z. apply exactly_spec.
  - injection H as <-. exact C.
  - destruct (iformula i e) eqn:E; [|discriminate]. eapply iexp_spec; eauto.
Qed.
Lemma side_spec {A} i b (low mid high : option A) r x : contains i x -> side i (inject_Z b) low mid high = Some r ->
  (x < IZR b /\ low = Some r) \/ (x = IZR b /\ mid = Some r) \/ (IZR b < x /\ high = Some r).
Proof.
  intros [C1 C2] H. unfold side in H. rewrite <- Q2R_Z.
  destruct (lt (snd i) (inject_Z b)) eqn:E1; [apply lt_spec in E1; left; split; [lra|exact H]|].
  destruct (lt (inject_Z b) (fst i)) eqn:E2; [apply lt_spec in E2; right; right; split; [lra|exact H]|].
  destruct (Qeq_bool (fst i) (inject_Z b) &&& Qeq_bool (snd i) (inject_Z b)) eqn:E3; [|discriminate].
  apply lazy_and in E3 as [E3 E4]. apply Qeq_bool_eq, Qeq_eqR in E3, E4. right; left. split; [lra|exact H].
Qed.
Lemma cases_spec x b low mid high :
  (x < b -> cases x b low mid high = low) /\ (x = b -> cases x b low mid high = mid) /\
  (b < x -> cases x b low mid high = high).
Proof. unfold cases. destruct (total_order_T x b) as [[|]|]; repeat split; intros; auto; lra. Qed.
Lemma iknown_spec k i x : contains i x -> forall j, iknown k i = Some j -> contains j (value k x).
Proof.
  intros C. induction k; intros r H; cbn [iknown value] in *.
  - injection H as <-. now apply ipoly_spec.
  - now apply (iformula_spec i).
  - destruct (cases_spec x (IZR b) (value k1 x) (value k2 x) (value k3 x)) as [L [M U]].
    destruct (side_spec i b _ _ _ r x C H) as [[W E]|[[W E]|[W E]]];
      [rewrite (L W)|rewrite (M W)|rewrite (U W)]; auto.
Qed.

Section Point.
Variable P : point.
Fixpoint bounds (s : nat -> nat) (e : expr) : option interval :=
  match e with
  | Num z => Some (exactly (inject_Z z))
  | Dim d => Some (exactly (inject_Z (Z.of_nat (nth d (p_dims P) 1%nat))))
  | At t ix => Some (exactly (nth t (p_ten P) (fun _ => 1%Q) (map s ix)))
  | Delta i j => Some (exactly (if Nat.eqb (s i) (s j) then 1 else 0))
  | Add a b => lift2 iadd (bounds s a) (bounds s b)
  | Mul a b => lift2 imul (bounds s a) (bounds s b)
  | Inv a => bind (bounds s a) iinv
  | Sqrt a => bind (bounds s a) isqrt
  | Exp a => bind (bounds s a) iexp
  | Call f a => bind (bounds s a) (iknown (nth f (p_fn P) (Poly [])))
  | Sum d a => isum (nth d (p_dims P) 1%nat) (fun v => bounds (scons v s) a)
  end.

Lemma isum_spec n : forall f g i, (forall v j, f v = Some j -> contains j (g v)) -> isum n f = Some i ->
  contains i (sum n g).
Proof.
  induction n; cbn [isum sum]; intros f g i H E.
  - injection E as <-. rewrite <- Q2R_0. apply exactly_spec.
  - destruct (isum n f) eqn:E1; [|discriminate]. destruct (f n) eqn:E2; [|discriminate]. injection E as <-.
    apply iadd_spec; [now apply (IHn f)|now apply H].
Qed.
Theorem bounds_spec e : forall s i, bounds s e = Some i -> contains i (eval (at_point P) s e).
Proof.
  induction e; intros s iv H; cbn [bounds eval] in *;
    try (destruct (bounds s e1) eqn:E1; [|discriminate]; destruct (bounds s e2) eqn:E2; [|discriminate];
         injection H as <-; first [apply iadd_spec|apply imul_spec]; auto; fail);
    try (destruct (bounds s e) eqn:E; [|discriminate]; cbn [bind] in H).
  - injection H as <-. rewrite <- Q2R_Z. apply exactly_spec.
  - injection H as <-. rewrite INR_IZR_INZ, <- Q2R_Z. apply exactly_spec.
  - injection H as <-. apply exactly_spec.
  - injection H as <-. destruct (Nat.eqb _ _); [rewrite <- Q2R_1|rewrite <- Q2R_0]; apply exactly_spec.
  - eapply iinv_spec; eauto.
  - eapply isqrt_spec; eauto.
  - eapply iexp_spec; eauto.
  - eapply iknown_spec; eauto.
  - revert H. apply isum_spec. auto.
Qed.

(* the expression with the values of the point put in and its sums written out: nothing is left to be known *)
Fixpoint horner (c : list Q) (x : expr) : expr :=
  match c with [] => Num 0 | a :: r => Add (qnum a) (Mul x (horner r x)) end.
Fixpoint at_number (x e : expr) : expr :=
  match e with
  | At _ _ => x
  | Add a b => Add (at_number x a) (at_number x b) | Mul a b => Mul (at_number x a) (at_number x b)
  | Exp a => Exp (at_number x a) | _ => e
  end.
Fixpoint formula (e : expr) : bool :=
  match e with Num _ | At _ _ => true | Add a b | Mul a b => formula a &&& formula b | Exp a => formula a | _ => false end.
Fixpoint written (k : known) (i : interval) (x : expr) : option expr :=
  match k with
  | Poly c => Some (horner c x)
  | Plain e => if formula e then Some (at_number x e) else None
  | Cases b low mid high => side i (inject_Z b) (written low i x) (written mid i x) (written high i x)
  end.
Definition with_both (f : expr -> expr -> expr) (a b : option expr) : option expr :=
  match a, b with Some x, Some y => Some (f x y) | _, _ => None end.
Definition with_one (f : expr -> expr) (a : option expr) : option expr :=
  match a with Some x => Some (f x) | None => None end.
Fixpoint adds (n : nat) (f : nat -> option expr) : option expr :=
  match n with O => Some (Num 0) | S m => with_both Add (adds m f) (f m) end.
Fixpoint closed (s : nat -> nat) (e : expr) : option expr :=
  match e with
  | Num z => Some (Num z)
  | Dim d => Some (Num (Z.of_nat (nth d (p_dims P) 1%nat)))
  | At t ix => Some (qnum (nth t (p_ten P) (fun _ => 1%Q) (map s ix)))
  | Delta i j => Some (Num (if Nat.eqb (s i) (s j) then 1 else 0))
  | Add a b => with_both Add (closed s a) (closed s b)
  | Mul a b => with_both Mul (closed s a) (closed s b)
  | Inv a => with_one Inv (closed s a) | Sqrt a => with_one Sqrt (closed s a) | Exp a => with_one Exp (closed s a)
  | Call f a =>
      match bounds s a, closed s a with
      | Some i, Some x => written (nth f (p_fn P) (Poly [])) i x
      | _, _ => None
      end
  | Sum d a => adds (nth d (p_dims P) 1%nat) (fun v => closed (scons v s) a)
  end.
Lemma horner_spec M s c x : eval M s (horner c x) = poly c (eval M s x).
Proof. induction c as [|a r IH]; cbn [horner eval poly]; [reflexivity|]. now rewrite qnum_spec, IH. Qed.
Lemma at_number_spec M s x e : formula e = true -> eval M s (at_number x e) = eval (only (eval M s x)) origin e.
Proof.
  induction e; cbn [formula at_number eval]; intros H; try discriminate; auto;
    try (apply lazy_and in H as [H1 H2]); try (now rewrite IHe1, IHe2); now rewrite IHe.
Qed.
Lemma written_spec M s x k i : contains i (eval M s x) -> forall r, written k i x = Some r ->
  eval M s r = value k (eval M s x).
Proof.
  intros C. induction k; intros r H; cbn [written value] in *.
  - injection H as <-. apply horner_spec.
  - destruct (formula e) eqn:F; [|discriminate]. injection H as <-. now apply at_number_spec.
  - destruct (cases_spec (eval M s x) (IZR b) (value k1 (eval M s x)) (value k2 (eval M s x))
      (value k3 (eval M s x))) as [L [N U]].
    destruct (side_spec i b _ _ _ r _ C H) as [[W E]|[[W E]|[W E]]];
      [rewrite (L W)|rewrite (N W)|rewrite (U W)]; auto.
Qed.
Lemma adds_spec M s n : forall f g r, (forall v x, f v = Some x -> eval M s x = g v) -> adds n f = Some r ->
  eval M s r = sum n g.
Proof.
  induction n; cbn [adds sum]; intros f g r H E; [injection E as <-; reflexivity|].
  destruct (adds n f) eqn:A; [|discriminate]. destruct (f n) eqn:B; [|discriminate]. injection E as <-.
  cbn [eval]. now rewrite (IHn f g _ H A), (H _ _ B).
Qed.
Lemma closed_spec M s0 e : forall s r, closed s e = Some r -> eval M s0 r = eval (at_point P) s e.
Proof.
  induction e; intros s r H; cbn [closed eval] in *;
    try (destruct (closed s e1) eqn:E1; [|discriminate]; destruct (closed s e2) eqn:E2; [|discriminate];
         injection H as <-; cbn [eval]; now rewrite (IHe1 _ _ E1), (IHe2 _ _ E2));
    try (destruct (closed s e) eqn:E; [|discriminate]; injection H as <-; cbn [eval]; now rewrite (IHe _ _ E)).
  - now injection H as <-.
  - injection H as <-. cbn [eval]. now rewrite INR_IZR_INZ.
  - injection H as <-. apply qnum_spec.
  - injection H as <-. cbn [eval]. destruct (Nat.eqb _ _); reflexivity.
  - destruct (bounds s e) as [i|] eqn:B; [|discriminate]. destruct (closed s e) as [x|] eqn:E; [|discriminate].
    cbn [fn at_point]. rewrite <- (IHe _ _ E). apply (written_spec M s0 x _ i); [|exact H].
    rewrite (IHe _ _ E). now apply bounds_spec.
  - revert H. apply adds_spec. intros v x. apply IHe.
Qed.
Definition nothing : flags := {| posT := fun _ => false; nzT := fun _ => false; posF := fun _ => false;
  sym := fun _ => false; facts := [] |}.
Definition nowhere : model := {| dims := fun _ => 1%nat; ten := fun _ _ => 0; fn := fun _ x => x |}.
Definition exactly_equal (s : nat -> nat) (a b : expr) : bool :=
  match closed s a, closed s b with Some x, Some y => check nothing 6 4 [] x y | _, _ => false end.
Lemma exactly_equal_spec s a b : exactly_equal s a b = true -> eval (at_point P) s a = eval (at_point P) s b.
Proof.
  unfold exactly_equal. destruct (closed s a) as [x|] eqn:A; [|discriminate].
  destruct (closed s b) as [y|] eqn:B; [|discriminate]. intros H.
  rewrite <- (closed_spec nowhere origin a s x A), <- (closed_spec nowhere origin b s y B).
  apply (check_spec nothing nowhere) with (k := 6%nat) (n := 4%nat) (G := []); auto.
  - split; simpl; intros; try discriminate; try contradiction; auto.
  - intros [|k] d E; discriminate.
Qed.

(* ---- what is decided at the point *)
Definition differ (s : nat -> nat) (a b : expr) : bool :=
  match bounds s a, bounds s b with Some i, Some j => lt (snd i) (fst j) ||| lt (snd j) (fst i) | _,
    _ => false end.
Definition above (s : nat -> nat) (a b : expr) : bool :=
  match bounds s a, bounds s b with Some i, Some j => lt (snd j) (fst i) | _, _ => false end.
(* both have a value, which is one number by their bounds or by their form *)
Definition agree_at (s : nat -> nat) (a b : expr) : bool :=
  match bounds s a, bounds s b with
  | Some i, Some j => (Qle_bool (snd i) (fst j) &&& Qle_bool (snd j) (fst i)) ||| exactly_equal s a b
  | _, _ => false end.
Ltac both a b A B := destruct (bounds _ a) as [[]|] eqn:A; [|discriminate];
  destruct (bounds _ b) as [[]|] eqn:B; [|discriminate]; apply bounds_spec in A, B; unfold contains in *;
  cbn [fst snd] in *.
Lemma differ_spec s a b : differ s a b = true -> eval (at_point P) s a <> eval (at_point P) s b.
Proof. unfold differ. both a b A B. intros H. apply lazy_or in H as [H|H]; apply lt_spec in H; lra. Qed.
Lemma above_spec s a b : above s a b = true -> eval (at_point P) s b < eval (at_point P) s a.
Proof. unfold above. both a b A B. intros H. apply lt_spec in H; lra. Qed.
Lemma agree_spec s a b : agree_at s a b = true -> eval (at_point P) s a = eval (at_point P) s b.
Proof.
  unfold agree_at. both a b A B. intros H. apply lazy_or in H as [H|H]; [|now apply exactly_equal_spec].
  apply lazy_and in H as [H1 H2]. apply le_spec in H1, H2. lra.
Qed.

Fixpoint upto (n : nat) (f : nat -> bool) : bool := match n with O => true | S m => upto m f &&& f m end.
Fixpoint everywhere (G : list nat) (f : list nat -> bool) : bool :=
  match G with
  | [] => f []
  | d :: G' => upto (nth d (p_dims P) 1%nat) (fun i => everywhere G' (fun ix => f (i :: ix))) end.
Lemma upto_spec n f : upto n f = true -> forall i, (i < n)%nat -> f i = true.
Proof.
  induction n; simpl; intros H i Hi; [lia|]. apply lazy_and in H as [H1 H2].
  destruct (Nat.eq_dec i n) as [->|]; auto. apply IHn; auto. lia.
Qed.
Lemma everywhere_spec G : forall f (Q : list nat -> Prop), (forall ix, f ix = true -> Q ix) ->
  everywhere G f = true -> all_in (dims (at_point P)) G Q.
Proof.
  induction G as [|d G IH]; intros f Q HQ H; simpl in *; [auto|]. intros i Hi.
  apply (IH (fun ix => f (i :: ix))); [auto|]. now apply (upto_spec _ _ H).
Qed.
End Point.

Theorem point_positive P G a : everywhere P G (fun ix => above P (cat ix origin) a (Num 0)) = true ->
  all_in (dims (at_point P)) G (fun ix => 0 < eval (at_point P) (cat ix origin) a).
Proof. apply everywhere_spec. intros ix H. now apply (above_spec P _ a (Num 0)). Qed.
Theorem point_nonzero P G a : everywhere P G (fun ix => differ P (cat ix origin) a (Num 0)) = true ->
  all_in (dims (at_point P)) G (fun ix => eval (at_point P) (cat ix origin) a <> 0).
Proof. apply everywhere_spec. intros ix H. now apply (differ_spec P _ a (Num 0)). Qed.
Theorem point_equal P G a b : everywhere P G (fun ix => agree_at P (cat ix origin) a b) = true ->
  all_in (dims (at_point P)) G (fun ix => eval (at_point P) (cat ix origin) a = eval (at_point P) (cat ix
    origin) b).
Proof. apply everywhere_spec. intros ix H. now apply agree_spec. Qed.
Theorem refuted P ix a b : differ P (cat ix origin) a b = true ->
  eval (at_point P) (cat ix origin) a = eval (at_point P) (cat ix origin) b -> False.
Proof. intros H E. now apply (differ_spec P (cat ix origin) a b H). Qed.

(* ---- rules with hypotheses: [tail] are the values of the indices that hypotheses and conclusion share *)
Definition at_most (P : point) (s : nat -> nat) (a b : expr) : bool :=
  match bounds P s a, bounds P s b with Some i, Some j => Qle_bool (snd i) (fst j) | _, _ => false end.
Lemma at_most_spec P s a b : at_most P s a b = true -> eval (at_point P) s a <= eval (at_point P) s b.
Proof.
  unfold at_most. destruct (bounds P s a) as [[]|] eqn:A; [|discriminate].
  destruct (bounds P s b) as [[]|] eqn:B; [|discriminate]. apply bounds_spec in A, B. unfold contains in *.
  cbn [fst snd] in *. intros H. apply le_spec in H; lra.
Qed.

Definition test (P : point) (s : nat -> nat) (rel : nat) (a : expr) : bool :=
  match rel with
  | O => agree_at P s a (Num 0) | S O => differ P s a (Num 0)
  | S (S O) => at_most P s (Num 0) a | _ => above P s a (Num 0) end.
Definition says (rel : nat) (x : R) : Prop :=
  match rel with O => x = 0 | S O => x <> 0 | S (S O) => x >= 0 | _ => x > 0 end.
Definition fails (P : point) (s : nat -> nat) (rel : nat) (a : expr) : bool :=
  match rel with
  | O => differ P s a (Num 0) | S O => agree_at P s a (Num 0)
  | S (S O) => above P s (Num 0) a | _ => at_most P s a (Num 0) end.
Theorem holding P G tail rel a : everywhere P G (fun ix => test P (cat (ix ++ tail) origin) rel a) = true ->
  all_in (dims (at_point P)) G (fun ix => says rel (eval (at_point P) (cat (ix ++ tail) origin) a)).
Proof.
  apply everywhere_spec. intros ix. destruct rel as [|[|[|]]]; simpl; intros H.
  - now apply agree_spec in H.
  - now apply differ_spec in H.
  - apply at_most_spec in H. now apply Rle_ge.
  - now apply above_spec in H.
Qed.
Theorem broken P tail rel a : fails P (cat tail origin) rel a = true ->
  says rel (eval (at_point P) (cat tail origin) a) -> False.
Proof.
  destruct rel as [|[|[|]]]; simpl; intros H S.
  - now apply differ_spec in H.
  - now apply agree_spec in H.
  - apply above_spec in H. simpl in H. lra.
  - apply at_most_spec in H. simpl in H. lra.
Qed.

(* a quadratic function that bends upwards has no upper bound *)
Lemma no_bound g s b : 0 < g -> (forall t, t ^ 2 * g + t * s <= b) -> False.
Proof.
  intros G H. set (t := (Rabs s + Rabs b + 1 + g) / g).
  assert (P : 0 <= Rabs s /\ 0 <= Rabs b) by (split; apply Rabs_pos). destruct P as [P1 P2].
  assert (T : t * g = Rabs s + Rabs b + 1 + g) by (unfold t; field; lra).
  assert (L : 1 <= t).
  { apply (Rmult_le_reg_r g); [exact G|]. rewrite T. lra. }
  specialize (H t). assert (S : - Rabs s <= s) by (destruct (Rle_or_lt 0 s);
    [rewrite Rabs_right; lra|rewrite Rabs_left; lra]).
  pose proof (RRle_abs b). replace (t ^ 2 * g + t * s) with (t * (t * g + s)) in H by ring.
  rewrite T in H. assert (W : Rabs b + 1 + g <= Rabs s + Rabs b + 1 + g + s) by lra.
  pose proof (Rmult_le_compat 1 t (Rabs b + 1 + g) _ ltac:(lra) ltac:(lra) L W). lra.
Qed.

(* What the generated proofs run: arrays at a point become their numbers; an index below 1 is 0. *)
Ltac numbers :=
  unfold transpose, product, times_vector, vector_times, inner, outer, trace, diag, norm_squared,
    frobenius_squared, softmax, row_softmax, delta, array0, array1, array2, array3 in *;
  cbn [sum nth Nat.eqb INR] in *; unfold Q2R in *; cbn [Qnum Qden] in *.
Ltac polynomials := repeat match goal with
  | H : context [dpoly ?c] |- _ => let l := eval vm_compute in (dpoly c) in change (dpoly c) with l in H end;
  cbn [poly] in *.
Ltac by_cases := unfold cases; repeat destruct (total_order_T _ _) as [[?|?]|?]; lra.
Ltac each_entry := intros; repeat match goal with
  | H : (_ < 0)%nat |- _ => exfalso; exact (Nat.nlt_0_r _ H)
  | H : (?i < S _)%nat |- _ => is_var i; destruct i as [|i]; [clear H | apply Nat.succ_lt_mono in H] end.

(* a number that is small in two ways, and its powers *)
Lemma short d r k : 0 < d -> 0 < r -> 0 < k -> exists t, 0 < t /\ t * k <= d /\ t <= r.
Proof.
  intros D R K. exists (Rmin r (d / k)). assert (0 < d / k) by now apply Rdiv_lt_0_compat.
  split; [now apply Rmin_glb_lt|]. split; [|apply Rmin_l].
  apply Rle_trans with (d / k * k); [apply Rmult_le_compat_r; [lra|apply Rmin_r]|]. right. field. lra.
Qed.
Lemma smaller t r n m : 0 < t -> t <= r -> 0 <= t ^ (n + m) <= r ^ m * t ^ n.
Proof.
  intros T L. split; [apply pow_le; lra|]. rewrite pow_add, Rmult_comm.
  apply Rmult_le_compat_r; [apply pow_le; lra|]. apply pow_incr. lra.
Qed.
