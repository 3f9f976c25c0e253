(* Partial derivatives: the rules of index calculus give the derivative of Coq's real analysis. *)
Require Import Reals List Lia Lra Bool ZArith Ranalysis.
Require Import Attest.Sums Attest.Expr Attest.Norm Attest.Sound Attest.Claim.
Import ListNotations.
Open Scope R_scope.

(* the tensor [t] with [h] added to the entry at [vals] *)
Definition bump (M : model) (t : nat) (vals : list nat) (h : R) : model :=
  {| dims := dims M; fn := fn M;
     ten := fun u ix => if Nat.eqb u t && leqb ix vals then ten M u ix + h else ten M u ix |}.

(* the same in readable statements, for arrays with 0 to 3 indices *)
Definition moved0 (z h : R) : R := z + h.
Definition moved1 (Z : nat -> R) (i : nat) (h : R) : nat -> R :=
  fun a => if (Nat.eqb a i && true)%bool then Z a + h else Z a.
Definition moved2 (Z : nat -> nat -> R) (i j : nat) (h : R) : nat -> nat -> R :=
  fun a b => if (Nat.eqb a i && (Nat.eqb b j && true))%bool then Z a b + h else Z a b.
Definition moved3 (Z : nat -> nat -> nat -> R) (i j k : nat) (h : R) : nat -> nat -> nat -> R :=
  fun a b c => if (Nat.eqb a i && (Nat.eqb b j && (Nat.eqb c k && true)))%bool then Z a b c + h else Z a b c.

Fixpoint deltas (ix js : list nat) : expr :=
  match ix, js with [], [] => Num 1 | i :: ix', j :: js' => Mul (Delta i j) (deltas ix' js') | _,
    _ => Num 0 end.

Section Rules.
(* [df f] is the number of the derivative of function [f];
  [logs] are the functions that are the logarithm *)
Variables (df : nat -> nat) (logs : list nat) (t : nat).

Fixpoint has (e : expr) : bool :=
  match e with
  | At u _ => Nat.eqb u t
  | Add a b | Mul a b => has a ||| has b
  | Inv a | Sqrt a | Exp a | Call _ a | Sum _ a => has a
  | _ => false
  end.

Fixpoint deriv (js : list nat) (e : expr) : expr :=
  if has e then
  match e with
  | Num _ | Dim _ | Delta _ _ => Num 0
  | At u ix => deltas ix js
  | Add a b => Add (deriv js a) (deriv js b)
  | Mul a b => Add (Mul (deriv js a) b) (Mul a (deriv js b))
  | Inv a => Mul (Num (-1)) (Mul (deriv js a) (Mul (Inv a) (Inv a)))
  | Sqrt a => Mul (deriv js a) (Inv (Mul (Num 2) (Sqrt a)))
  | Exp a => Mul (Exp a) (deriv js a)
  | Call f a => Mul (if inb logs f then Inv a else Call (df f) a) (deriv js a)
  | Sum d a => Sum d (deriv (map S js) a)
  end else Num 0.

(* what does not contain the tensor may be anything *)
Fixpoint smooth (M : model) (s : nat -> nat) (e : expr) : Prop :=
  if has e then
  match e with
  | Add a b | Mul a b => smooth M s a /\ smooth M s b
  | Inv a => smooth M s a /\ eval M s a <> 0
  | Sqrt a => smooth M s a /\ 0 < eval M s a
  | Exp a => smooth M s a
  | Call f a => smooth M s a /\
      if inb logs f then 0 < eval M s a
      else derivable_pt_lim (fn M f) (eval M s a) (fn M (df f) (eval M s a))
  | Sum d a => forall v, (v < dims M d)%nat -> smooth M (scons v s) a
  | _ => True
  end else True.

Lemma has_not M vals h e : has e = false -> forall s, eval (bump M t vals h) s e = eval M s e.
Proof.
  induction e; intros H s; simpl in *; try reflexivity;
    try (destruct (has e1); [discriminate|]; now rewrite IHe1, IHe2); try (now rewrite IHe).
  - now rewrite H.
  - apply sum_ext; intros; now apply IHe.
Qed.

Lemma leqb_refl l : leqb l l = true.
Proof. induction l; simpl; auto. now rewrite Nat.eqb_refl. Qed.
Lemma deltas_spec M s ix : forall js, eval M s (deltas ix js) = if leqb (map s ix) (map s js) then 1 else 0.
Proof.
  induction ix as [|i ix IH]; intros [|j js]; simpl; auto. rewrite IH.
  destruct (Nat.eqb (s i) (s j)), (leqb (map s ix) (map s js)); simpl; ring.
Qed.
Lemma bump0 M vals e : forall s, eval (bump M t vals 0) s e = eval M s e.
Proof.
  induction e; intros s; simpl; try reflexivity; try (now rewrite IHe1, IHe2); try (now rewrite IHe).
  - destruct (_ && _); [apply Rplus_0_r|reflexivity].
  - apply sum_ext; intros; apply IHe.
Qed.
Lemma lim_sum n (f : nat -> R -> R) (l : nat -> R) x :
  (forall v, (v < n)%nat -> derivable_pt_lim (f v) x (l v)) ->
  derivable_pt_lim (fun h => sum n (fun v => f v h)) x (sum n l).
Proof.
  induction n; simpl; intros H; [apply derivable_pt_lim_const|].
  apply (derivable_pt_lim_plus (fun h => sum n (fun v => f v h)) (f n)); auto.
Qed.
Lemma lim_ext f g x l : (forall y, f y = g y) -> derivable_pt_lim f x l -> derivable_pt_lim g x l.
Proof. intros E H eps He. destruct (H eps He) as [d Hd]. exists d. intros h. rewrite <- !E. apply Hd. Qed.

Theorem deriv_spec M e (Lg : forall f x, inb logs f = true ->
  fn M f x = ln x) : forall s js, smooth M s e ->
  derivable_pt_lim (fun h => eval (bump M t (map s js) h) s e) 0 (eval M s (deriv js e)).
Proof.
  induction e; intros s js Hs; cbn [smooth] in Hs; cbn [deriv];
    match goal with |- context [if has ?x then _ else _] => destruct (has x) eqn:Hh end;
    try (match type of Hh with has ?x = false =>
           apply (lim_ext (fun _ => eval M s x)); [intros y; symmetry;
             now apply has_not|exact (derivable_pt_lim_const _ _)] end);
    try discriminate Hh.
  - cbn [has] in Hh. destruct (Nat.eqb t0 t) eqn:E; [|discriminate Hh]; cbn [eval bump ten].
    rewrite deltas_spec. apply (lim_ext (fun h => ten M t0 (map s ix) + (if leqb (map s ix) (map s js) then
      1 else 0) * h)).
      { intros y. rewrite E. simpl. destruct (leqb _ _); ring. }
      set (c := if leqb (map s ix) (map s js) then 1 else 0).
      assert (Q : derivable_pt_lim (fun h => ten M t0 (map s ix) + c * h) 0 (0 + c * 1)).
      { apply (derivable_pt_lim_plus (fun _ => ten M t0 (map s ix)) (mult_real_fct c id));
        [apply derivable_pt_lim_const|].
        apply derivable_pt_lim_scal, derivable_pt_lim_id. }
      replace (0 + c * 1) with c in Q by ring. exact Q.
  - destruct Hs as [H1 H2]. apply (derivable_pt_lim_plus (fun h => eval (bump M t (map s js) h) s e1));
    auto.
  - destruct Hs as [H1 H2].
    pose proof (derivable_pt_lim_mult _ _ _ _ _ (IHe1 s js H1) (IHe2 s js H2)) as D. cbv beta in D.
      rewrite !bump0 in D. exact D.
  - destruct Hs as [H1 H2].
    assert (N : eval (bump M t (map s js) 0) s e <> 0) by now rewrite bump0.
    pose proof (derivable_pt_lim_div _ _ _ _ _ (derivable_pt_lim_const 1 0) (IHe s js H1) N) as D.
      cbv beta in D.
    unfold fct_cte in D. rewrite bump0 in D.
    apply (lim_ext _ (fun h => eval (bump M t (map s js) h) s (Inv e))) in D; [|intros y; unfold div_fct;
      simpl; now rewrite Rdiv_1_l || (unfold Rdiv; ring)].
    replace (eval M s _) with ((0 * eval M s e - eval M s (deriv js e) * 1) / (eval M s e)²); auto.
    simpl. unfold Rsqr. field; auto.
  - destruct Hs as [H1 H2].
    assert (N : 0 < eval (bump M t (map s js) 0) s e) by now rewrite bump0.
    pose proof (derivable_pt_lim_comp _ sqrt _ _ _ (IHe s js H1) (derivable_pt_lim_sqrt _ N)) as D.
      cbv beta in D.
    rewrite bump0 in D. cbn [eval]. rewrite Rmult_comm. exact D.
  - pose proof (derivable_pt_lim_comp _ exp _ _ _ (IHe s js Hs) (derivable_pt_lim_exp _)) as D.
    cbv beta in D.
    rewrite bump0 in D. exact D.
  - destruct Hs as [H1 H2]. destruct (inb logs f) eqn:B.
    + assert (N : 0 < eval (bump M t (map s js) 0) s e) by now rewrite bump0.
      pose proof (derivable_pt_lim_comp _ ln _ _ _ (IHe s js H1) (derivable_pt_lim_ln _ N)) as D.
      cbv beta in D. rewrite bump0 in D. revert D. apply lim_ext. intros y. unfold comp. simpl.
        now rewrite Lg.
    + assert (N : derivable_pt_lim (fn M f) (eval (bump M t (map s js) 0) s e) (fn M (df f) (eval M s e)))
        by now rewrite bump0.
      exact (derivable_pt_lim_comp _ _ _ _ _ (IHe s js H1) N).
  - cbn [eval]. apply (lim_sum (dims M d) (fun v h => eval (bump M t (map s js) h) (scons v s) e)
      (fun v => eval M (scons v s) (deriv (map S js) e)) 0). intros v Hv.
    specialize (IHe (scons v s) (map S js) (Hs v Hv)). rewrite map_map in IHe. exact IHe.
Qed.

(* smoothness that is visible *)
Variable F : flags.
Variable Fd : list nat.  (* functions known to be differentiable everywhere *)
Fixpoint safe (G : list nat) (e : expr) : bool :=
  if has e then
  match e with
  | Add a b | Mul a b => safe G a &&& safe G b
  | Inv a => safe G a &&& nz F (flat F 4) G a
  | Sqrt a => safe G a &&& pos F a
  | Exp a => safe G a
  | Call f a => (if inb logs f then pos F a else inb Fd f) &&& safe G a
  | Sum d a => safe (d :: G) a
  | _ => true
  end else true.
Lemma safe_smooth M : keeps F M -> (forall f x, inb Fd f = true ->
  derivable_pt_lim (fn M f) x (fn M (df f) x)) ->
  forall e G s, safe G e = true -> valid M G s -> smooth M s e.
Proof.
  intros K D; induction e; intros G s H V; cbn [safe smooth] in *;
    match goal with |- context [if has ?x then _ else _] => destruct (has x) eqn:Hh end; auto;
    try (apply lazy_and in H as [H1 H2]; split; eauto; fail); eauto.
  - apply lazy_and in H as [H1 H2]; split; eauto. apply (nz_spec F M K (flat F 4)) with (G := G); auto.
    exact (flat_spec F M K 4).
  - apply lazy_and in H as [H1 H2]; split; eauto. now apply (pos_spec F M K).
  - apply lazy_and in H as [H1 H2]; split; eauto. destruct (inb logs f); [now apply (pos_spec F M K)|auto].
  - intros v Hv. apply (IHe (d :: G)); auto. now apply valid_scons.
Qed.
End Rules.

(* [js]: the free indices at which the entry of tensor [t] is moved;
  [Fd]: functions that are differentiable *)
Definition derivable_visibly (D : data) (df : nat -> nat) (Fd logs : list nat) (t : nat) (js G : list nat)
  (e : expr) : bool :=
  sane D &&& wt (shapeD D) G e &&& wt (shapeD D) G (deriv df logs t js e) &&& safe logs t (flags_of D) Fd G e.
Theorem own_gradient (D : data) (M : model) (df : nat -> nat) (Fd logs : list nat) (t : nat)
  (js G : list nat) (e : expr) :
  derivable_visibly D df Fd logs t js G e = true -> meets D M ->
  fold_right (fun f rest => (forall x, derivable_pt_lim (fn M f) x (fn M (df f) x)) /\ rest) True Fd ->
  (forall f, inb logs f = true -> forall x, fn M f x = ln x) ->
  all_in (dims M) G (fun ix =>
    derivable_pt_lim (fun h => eval (bump M t (map (cat ix origin) js) h) (cat ix origin) e) 0
      (eval M (cat ix origin) (deriv df logs t js e))).
Proof.
  unfold derivable_visibly. intros H P Dd Lg. apply lazy_and in H as [H Hs].
  apply lazy_and in H as [H Hd]. apply lazy_and in H as [H He].
  apply all_in_spec; intros ix Hi. pose proof (at_valid _ _ _ Hi) as V.
  pose proof (meets_keeps _ _ H P) as K.
  assert (Sm : smooth df logs t (extend (shapeD D) M) (cat ix origin) e).
  { apply (safe_smooth df logs t (flags_of D) Fd _ K) with (G := G); auto.
    intros f x B. apply inb_In in B. simpl. clear - Dd B. induction Fd as [|a r IH]; [destruct B|].
    simpl in Dd. destruct B as [->|B]; [apply Dd|apply IH; tauto]. }
  pose proof (deriv_spec df logs t (extend (shapeD D) M) e (fun f x B => Lg f B x) (cat ix origin) js Sm)
    as L.
  rewrite (wt_eval (shapeD D) M (extend (shapeD D) M) (extend_agree _ M) (deriv df logs t js e) G); auto.
  revert L. apply lim_ext. intros y. symmetry. apply (wt_eval (shapeD D)) with (G := G); auto.
  split; auto. intros u jx Hj. simpl. apply inside_spec in Hj. simpl in Hj. now rewrite Hj.
Qed.
Theorem gradient (D : data) (M : model) (df : nat -> nat) (Fd logs : list nat) (t : nat) (js G : list nat)
  (e g : expr) :
  (derivable_visibly D df Fd logs t js G e &&& wt (shapeD D) G g &&&
   check (flags_of D) 6 4 G (deriv df logs t js e) g) = true ->
  meets D M ->
  fold_right (fun f rest => (forall x, derivable_pt_lim (fn M f) x (fn M (df f) x)) /\ rest) True Fd ->
  (forall f, inb logs f = true -> forall x, fn M f x = ln x) ->
  all_in (dims M) G (fun ix =>
    derivable_pt_lim (fun h => eval (bump M t (map (cat ix origin) js) h) (cat ix origin) e) 0
      (eval M (cat ix origin) g)).
Proof.
  intros H P Dd Lg. apply lazy_and in H as [H Hc]. apply lazy_and in H as [H Hg].
  pose proof (own_gradient D M df Fd logs t js G e H P Dd Lg) as O.
  unfold derivable_visibly in H. apply lazy_and in H as [H _]. apply lazy_and in H as [H Hd].
  apply lazy_and in H as [H He].
  pose proof (identity D M G (deriv df logs t js e) g ltac:(now rewrite H, Hd, Hg, Hc) P) as E.
  apply all_in_spec; intros ix Hi.
  pose proof (proj1 (all_in_spec _ _ _) E ix Hi) as Ei. pose proof (proj1 (all_in_spec _ _ _) O ix Hi) as Oi.
  cbv beta in Ei, Oi. now rewrite <- Ei.
Qed.

(* What the generated proofs run: the only function in the list of logarithms is the logarithm. *)
Ltac logarithms := let f := fresh in let H := fresh in let x := fresh in
  intros f H x; apply inb_In in H; cbn in H; repeat (destruct H as [<-|H]; [reflexivity|]); contradiction.
