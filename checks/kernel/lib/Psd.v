(* Positive semidefinite kernels: what they are, and the closure properties that certificates
  (derivations/calculus/psd.py) use. *)
Require Import Reals List Lia Lra.
Require Import Attest.Sums Attest.Expr Attest.Norm Attest.Sound Attest.Claim.
Open Scope R_scope.

(* the quadratic form of a kernel on the points 0..n-1 *)
Definition form (n : nat) (k : nat -> nat -> R) (c : nat -> R) : R :=
  sum n (fun i => sum n (fun j => c i * c j * k i j)).
Record psd (n : nat) (k : nat -> nat -> R) : Prop := {
  p_sym : forall i j, (i < n)%nat -> (j < n)%nat -> k i j = k j i;
  p_form : forall c, 0 <= form n k c }.

Lemma form_ext n k l c d : (forall i, (i < n)%nat -> c i = d i) ->
  (forall i j, (i < n)%nat -> (j < n)%nat -> k i j = l i j) -> form n k c = form n l d.
Proof. intros C K. apply sum_ext; intros i Hi. apply sum_ext; intros j Hj. now rewrite C, C, K. Qed.
Lemma psd_ext n k l : (forall i j, (i < n)%nat -> (j < n)%nat -> l i j = k i j) -> psd n k -> psd n l.
Proof.
  intros E [S P]. split.
  - intros i j Hi Hj. rewrite !E; auto.
  - intros c. rewrite (form_ext n l k c c); auto.
Qed.

(* sums of kernels, products with u(i) u(j) *)
Lemma form_plus n k l c : form n (fun i j => k i j + l i j) c = form n k c + form n l c.
Proof.
  unfold form. rewrite <- sum_plus. apply sum_ext; intros. rewrite <- sum_plus. apply sum_ext; intros. ring.
Qed.
Lemma form_scal n a k c : form n (fun i j => a * k i j) c = a * form n k c.
Proof.
  unfold form. rewrite <- sum_scal. apply sum_ext; intros. rewrite <- sum_scal. apply sum_ext; intros. ring.
Qed.
Lemma form_scaled n u k c : form n (fun i j => u i * u j * k i j) c = form n k (fun i => c i * u i).
Proof. apply sum_ext; intros. apply sum_ext; intros. ring. Qed.
Lemma form_square n g c : form n (fun i j => g i * g j) c = sum n (fun i => c i * g i) ^ 2.
Proof.
  unfold form. replace (sum n (fun i => c i * g i) ^ 2) with
    (sum n (fun i => c i * g i) * sum n (fun i => c i * g i)) by ring.
  rewrite <- sum_scal. apply sum_ext; intros i _. rewrite Rmult_comm, <- sum_scal.
  apply sum_ext; intros. ring.
Qed.

(* the form with the last point taken out *)
Lemma form_last n k c : (forall i j, (i < S n)%nat -> (j < S n)%nat -> k i j = k j i) ->
  form (S n) k c = form n k c + 2 * c n * sum n (fun i => c i * k i n) + c n * c n * k n n.
Proof.
  intros S. unfold form; simpl. rewrite sum_plus.
  rewrite (sum_ext n (fun i => c i * c n * k i n) (fun i => c n * (c i * k i n))) by (intros; ring).
  rewrite (sum_ext n (fun j => c n * c j * k n j) (fun i => c n * (c i * k i n)))
    by (intros; rewrite (S n i) by lia; ring).
  rewrite !sum_scal. ring.
Qed.
Definition put_last (n : nat) (c : nat -> R) (v : R) (i : nat) : R := if Nat.eqb i n then v else c i.
Lemma put_last_here n c v : put_last n c v n = v.
Proof. unfold put_last. now rewrite Nat.eqb_refl. Qed.
Lemma put_last_before n c v i : (i < n)%nat -> put_last n c v i = c i.
Proof. intros H. unfold put_last. replace (Nat.eqb i n) with false; auto. symmetry; apply Nat.eqb_neq; lia. Qed.
Lemma form_put n k c v : (forall i j, (i < S n)%nat -> (j < S n)%nat -> k i j = k j i) ->
  form (S n) k (put_last n c v) = form n k c + 2 * v * sum n (fun i => c i * k i n) + v * v * k n n.
Proof.
  intros S. rewrite form_last, put_last_here by auto.
  rewrite (form_ext n k k _ c), (sum_ext n _ (fun i => c i * k i n)); auto;
    intros; now rewrite put_last_before.
Qed.

Lemma psd_less n k : psd (S n) k -> psd n k.
Proof.
  intros [S P]. split; auto. intros c. specialize (P (put_last n c 0)). rewrite form_put in P by auto. lra.
Qed.
Lemma form_zero n k : form n k (fun _ => 0) = 0.
Proof.
  unfold form. rewrite (sum_ext n _ (fun _ => 0)), sum_zero; auto.
  intros. rewrite (sum_ext n _ (fun _ => 0)), sum_zero; auto. intros. ring.
Qed.
Lemma psd_diagonal n k : psd (S n) k -> 0 <= k n n.
Proof.
  intros [S P]. specialize (P (put_last n (fun _ => 0) 1)). rewrite form_put, form_zero in P by auto.
  rewrite (sum_ext n _ (fun _ => 0)), sum_zero in P by (intros; ring). lra.
Qed.
(* a point with 0 on the diagonal has a row of zeros *)
Lemma psd_degenerate n k c : psd (S n) k -> k n n = 0 -> sum n (fun i => c i * k i n) = 0.
Proof.
  intros [S P] Z. set (b := sum n (fun i => c i * k i n)).
  assert (H : forall v, 0 <= form n k c + 2 * v * b).
  { intros v. specialize (P (put_last n c v)). rewrite form_put, Z in P by auto. fold b in P. lra. }
  destruct (Req_dec b 0) as [|N]; auto. specialize (H (- (form n k c + 1) / (2 * b))).
  replace (2 * (- (form n k c + 1) / (2 * b)) * b) with (- (form n k c + 1)) in H by (field; auto). lra.
Qed.
(* the Schur complement *)
Lemma psd_complement n k : psd (S n) k -> 0 < k n n ->
  psd n (fun i j => k i j - k i n * k j n / k n n).
Proof.
  intros [S P] D. split; [intros i j Hi Hj; rewrite (S i j) by lia; field; lra|]. intros c.
  set (b := sum n (fun i => c i * k i n)). specialize (P (put_last n c (- b / k n n))).
  rewrite form_put in P by auto. fold b in P.
  rewrite (form_ext n _ (fun i j => k i j + (- / k n n) * (k i n * k j n)) c c) by (auto; intros; field; lra).
  rewrite form_plus, form_scal, (form_square n (fun i => k i n)). fold b.
  replace (form n k c + - / k n n * b ^ 2) with
    (form n k c + 2 * (- b / k n n) * b + - b / k n n * (- b / k n n) * k n n) by (field; lra). exact P.
Qed.

(* ---- closure properties *)
Theorem psd_feature n g : psd n (fun i j => g i * g j).
Proof. split; [intros; ring|]. intros c. rewrite form_square. apply pow2_ge_0. Qed.
Theorem psd_plus n k l : psd n k -> psd n l -> psd n (fun i j => k i j + l i j).
Proof.
  intros [S P] [T Q]. split; [intros; rewrite S, T; auto|].
  intros c. rewrite form_plus. specialize (P c). specialize (Q c). lra.
Qed.
Theorem psd_multiple n a k : 0 <= a -> psd n k -> psd n (fun i j => a * k i j).
Proof.
  intros A [S P]. split; [intros; rewrite S; auto|]. intros c. rewrite form_scal. now apply Rmult_le_pos.
Qed.
Theorem psd_scaled n u k : psd n k -> psd n (fun i j => u i * u j * k i j).
Proof.
  intros [S P]. split; [intros i j Hi Hj; rewrite (S i j) by auto; ring|]. intros c. now rewrite form_scaled.
Qed.
Theorem psd_sum d n (k : nat -> nat -> nat -> R) : (forall a, (a < d)%nat -> psd n (k a)) ->
  psd n (fun i j => sum d (fun a => k a i j)).
Proof.
  induction d; intros H; simpl.
  - apply (psd_ext n (fun i j => 0 * 0)); [intros; ring|]. apply (psd_feature n (fun _ => 0)).
  - apply psd_plus; auto.
Qed.
(* Schur: the entrywise product of positive semidefinite matrices is one *)
Theorem psd_product n k l : psd n k -> psd n l -> psd n (fun i j => k i j * l i j).
Proof.
  intros K L. split; [intros; rewrite (p_sym n k K), (p_sym n l L); auto|]. revert k l K L.
  induction n as [|n IH]; intros k l K L c; [unfold form; simpl; lra|].
  pose proof (psd_diagonal n l L) as [D|D].
  - set (v := fun i => l i n).
    assert (E : form (S n) (fun i j => k i j * l i j) c =
      / l n n * form (S n) k (fun i => c i * v i) +
      form n (fun i j => k i j * (l i j - l i n * l j n / l n n)) c).
    { rewrite <- (form_scaled (S n) v k c), <- form_scal.
      rewrite (form_last n _ c), (form_last n (fun i j => / l n n * _) c).
      - rewrite (sum_ext n (fun i => c i * (k i n * l i n))
          (fun i => c i * (/ l n n * (v i * v n * k i n)))) by (intros; unfold v; field; lra).
        assert (F : form n (fun i j => k i j * l i j) c = form n (fun i j => / l n n * (v i * v j * k i j)) c +
          form n (fun i j => k i j * (l i j - l i n * l j n / l n n)) c).
        { rewrite <- form_plus. apply form_ext; auto. intros. unfold v. field. lra. }
        rewrite F. replace (v n) with (l n n) by reflexivity. field. lra.
      - intros. rewrite (p_sym _ k K i j) by auto. ring.
      - intros. rewrite (p_sym _ k K i j), (p_sym _ l L i j); auto. }
    rewrite E. apply Rplus_le_le_0_compat.
    + apply Rmult_le_pos; [left; now apply Rinv_0_lt_compat|apply K].
    + apply (IH k _ (psd_less n k K)). now apply psd_complement.
  - symmetry in D. rewrite form_last; [|intros; rewrite (p_sym _ k K i j), (p_sym _ l L i j); auto].
    rewrite (sum_ext n _ (fun i => c i * k i n * l i n)) by (intros; ring).
    rewrite (psd_degenerate n l (fun i => c i * k i n) L D), D.
    pose proof (IH k l (psd_less n k K) (psd_less n l L) c). lra.
Qed.
Theorem psd_power n k m : psd n k -> psd n (fun i j => k i j ^ m).
Proof.
  intros K. induction m; simpl.
  - apply (psd_ext n (fun i j => 1 * 1)); [intros; ring|]. apply (psd_feature n (fun _ => 1)).
  - now apply psd_product.
Qed.
(* limits, and with them the exponential *)
Lemma sum_limit n (f : nat -> nat -> R) l : (forall i, (i < n)%nat -> Un_cv (f i) (l i)) ->
  Un_cv (fun m => sum n (fun i => f i m)) (sum n l).
Proof.
  induction n; intros H; simpl.
  - intros e He. exists O. intros. unfold R_dist. rewrite Rminus_0_r, Rabs_R0. lra.
  - apply CV_plus; auto.
Qed.
Lemma limit_nonnegative u l : (forall m, 0 <= u m) -> Un_cv u l -> 0 <= l.
Proof.
  intros H C. destruct (Rle_or_lt 0 l) as [|N]; auto. destruct (C (- l)) as [m P]; [lra|].
  specialize (P m (le_n m)). unfold R_dist in P. specialize (H m). rewrite Rabs_right in P; lra.
Qed.
Lemma limit_constant (a : R) : Un_cv (fun _ => a) a.
Proof. intros e He. exists O. intros. unfold R_dist. now rewrite Rminus_diag_eq, Rabs_R0. Qed.
Theorem psd_limit n (k : nat -> nat -> nat -> R) l : (forall m, psd n (k m)) ->
  (forall i j, (i < n)%nat -> (j < n)%nat -> Un_cv (fun m => k m i j) (l i j)) -> psd n l.
Proof.
  intros K C. split.
  - intros i j Hi Hj. apply (UL_sequence (fun m => k m i j)); auto.
    intros e He. destruct (C j i Hj Hi e He) as [m P]. exists m. intros p Hp.
    rewrite (p_sym n (k p) (K p)); auto.
  - intros c. apply (limit_nonnegative (fun m => form n (k m) c)); [intros; apply K|].
    apply sum_limit; intros i Hi. apply sum_limit; intros j Hj.
    apply CV_mult; [apply limit_constant|auto].
Qed.
Theorem psd_exp n k : psd n k -> psd n (fun i j => exp (k i j)).
Proof.
  intros K. apply (psd_limit n (fun m i j => sum_f_R0 (fun p => / INR (fact p) * k i j ^ p) m)).
  - intros m. assert (P : forall p, psd n (fun i j => / INR (fact p) * k i j ^ p)).
    { intros p. apply psd_multiple; [|now apply psd_power].
      left. apply Rinv_0_lt_compat, lt_0_INR, lt_O_fact. }
    induction m; cbn [sum_f_R0]; [apply P|]. now apply psd_plus.
  - intros i j _ _. unfold exp. destruct (exist_exp (k i j)) as [x H]. exact H.
Qed.

(* ---- two kernels of one coordinate *)
(* ab / (a + b) for positive a and b *)
Theorem psd_harmonic n (a : nat -> R) : (forall i, (i < n)%nat -> 0 < a i) ->
  psd n (fun i j => a i * a j / (a i + a j)).
Proof.
  intros A. apply (psd_ext n (fun i j => a i * a j * / (a i + a j))); [reflexivity|].
  apply (psd_scaled n a (fun i j => / (a i + a j))).
  split; [intros; now rewrite Rplus_comm|].
  induction n as [|n IH]; intros c; [unfold form; simpl; lra|].
  set (u := fun i => (a i - a n) / (a i + a n)).
  assert (P : forall i, (i < S n)%nat -> 0 < a i) by auto. assert (Pn : 0 < a n) by auto.
  rewrite (form_ext (S n) _ (fun i j => 2 * a n * (/ (a i + a n) * / (a j + a n)) + u i * u j * / (a i + a j))
    c c); auto.
  - rewrite form_plus, form_scal, (form_square (S n) (fun i => / (a i + a n))), form_scaled.
    apply Rplus_le_le_0_compat; [apply Rmult_le_pos; [lra|apply pow2_ge_0]|].
    rewrite form_last by (intros; now rewrite Rplus_comm).
    replace (u n) with 0 by (unfold u; field; lra).
    specialize (IH ltac:(auto) (fun i => c i * u i)). lra.
  - intros i j Hi Hj. specialize (P i Hi) as Pi. specialize (P j Hj) as Pj. unfold u. field. lra.
Qed.

(* twice the length that the intervals from 0 to a and from 0 to b share: |a| + |b| - |a - b| *)
Lemma minimum_below t x y : 0 < t -> 0 <= x <= y -> y < t ->
  / t * (x * y) + / t * ((t - x) * (t - y) * Rmin (x / (t - x)) (y / (t - y))) = x.
Proof.
  intros T X Y. rewrite Rmin_left; [field; lra|].
  apply (Rmult_le_reg_r (t - x)); [lra|]. apply (Rmult_le_reg_r (t - y)); [lra|].
  replace (x / (t - x) * (t - x) * (t - y)) with (x * (t - y)) by (field; lra).
  replace (y / (t - y) * (t - x) * (t - y)) with (y * (t - x)) by (field; lra). nra.
Qed.
Lemma minimum_split t x y : 0 < t -> 0 <= x -> 0 <= y ->
  Rmin x y = / t * (Rmin x t * Rmin y t) +
    (/ t * ((if Rlt_dec x t then t - x else 0) * (if Rlt_dec y t then t - y else 0) *
       Rmin (if Rlt_dec x t then x / (t - x) else 0) (if Rlt_dec y t then y / (t - y) else 0)) +
     Rmin (Rmax (x - t) 0) (Rmax (y - t) 0)).
Proof.
  intros T X Y. assert (E : / t * (t * t) = t) by (field; lra).
  assert (F : / t * t = 1) by (field; lra).
  destruct (Rlt_dec x t), (Rlt_dec y t).
  - rewrite (Rmin_left x t), (Rmin_left y t), (Rmax_right (x - t)), (Rmax_right (y - t)), (Rmin_left 0 0) by lra.
    destruct (Rle_or_lt x y).
    + pose proof (minimum_below t x y). rewrite (Rmin_left x y) by lra. lra.
    + pose proof (minimum_below t y x). rewrite (Rmin_right x y), Rmin_comm, (Rmult_comm (t - x)) by lra. lra.
  - rewrite (Rmin_left x t), (Rmin_right y t), (Rmin_left x y), (Rmax_right (x - t)) by lra.
    rewrite (Rmin_left 0) by apply Rmax_r. rewrite (Rmult_comm x t), <- Rmult_assoc, F. lra.
  - rewrite (Rmin_right x t), (Rmin_left y t), (Rmin_right x y), (Rmax_right (y - t)) by lra.
    rewrite (Rmin_right (Rmax (x - t) 0)) by apply Rmax_r. rewrite <- Rmult_assoc, F. lra.
  - rewrite (Rmin_right x t), (Rmin_right y t), (Rmax_left (x - t)), (Rmax_left (y - t)), E by lra.
    unfold Rmin. repeat destruct Rle_dec; lra.
Qed.
Lemma psd_minimum n : forall a : nat -> R, (forall i, (i < n)%nat -> 0 <= a i) ->
  psd n (fun i j => Rmin (a i) (a j)).
Proof.
  induction n as [|n IH]; intros a A; [split; [intros; lia|intros; unfold form; simpl; lra]|].
  split; [intros; apply Rmin_comm|]. intros c. set (t := a n).
  assert (T : 0 <= t) by (apply A; lia). destruct T as [T|T].
  - set (u := fun i => if Rlt_dec (a i) t then t - a i else 0).
    set (b := fun i => if Rlt_dec (a i) t then a i / (t - a i) else 0).
    set (d := fun i => Rmax (a i - t) 0).
    assert (B : forall i, (i < S n)%nat -> 0 <= b i).
    { intros i Hi. unfold b. destruct (Rlt_dec (a i) t); [|lra].
      apply Rmult_le_pos; [now apply A|]. left. apply Rinv_0_lt_compat. lra. }
    assert (N : u n = 0 /\ d n = 0).
    { unfold u, d, Rmax. fold t. destruct (Rlt_dec t t), (Rle_dec (t - t) 0); lra. }
    rewrite (form_ext (S n) _ (fun i j => / t * (Rmin (a i) t * Rmin (a j) t) +
      (/ t * (u i * u j * Rmin (b i) (b j)) + Rmin (d i) (d j))) c c); auto.
    + rewrite form_plus, form_plus, !form_scal, (form_square (S n) (fun i => Rmin (a i) t)), form_scaled.
      assert (I : 0 < / t) by now apply Rinv_0_lt_compat.
      apply Rplus_le_le_0_compat; [apply Rmult_le_pos; [lra|apply pow2_ge_0]|].
      apply Rplus_le_le_0_compat; [apply Rmult_le_pos; [lra|]|].
      * rewrite form_last by (intros; apply Rmin_comm). destruct N as [-> _].
        pose proof (p_form _ _ (IH b ltac:(auto)) (fun i => c i * u i)). lra.
      * rewrite form_last by (intros; apply Rmin_comm). destruct N as [_ ->].
        rewrite (sum_ext n _ (fun _ => 0)), sum_zero.
        -- assert (P : 0 <= form n (fun i j => Rmin (d i) (d j)) c)
             by (apply IH; intros; apply Rmax_r). rewrite (Rmin_left 0 0) by lra; lra.
        -- intros i Hi. unfold d, Rmin, Rmax. destruct (Rle_dec (a i - t) 0), (Rle_dec _ 0); lra.
    + intros i j Hi Hj. unfold u, b, d. apply minimum_split; auto.
  - rewrite form_last by (intros; apply Rmin_comm). fold t. rewrite <- T.
    rewrite (sum_ext n _ (fun _ => 0)), sum_zero.
    + pose proof (p_form _ _ (IH a ltac:(auto)) c). rewrite (Rmin_left 0 0) by lra; lra.
    + intros i Hi. rewrite Rmin_right by (apply A; lia). lra.
Qed.
Theorem psd_overlap n (a : nat -> R) :
  psd n (fun i j => sqrt (a i ^ 2) + sqrt (a j ^ 2) + (-1) * sqrt ((a i + (-1) * a j) ^ 2)).
Proof.
  apply (psd_ext n (fun i j => 2 * Rmin (Rmax (a i) 0) (Rmax (a j) 0) +
    2 * Rmin (Rmax (- a i) 0) (Rmax (- a j) 0))).
  - intros i j _ _. rewrite <- !Rsqr_pow2, !sqrt_Rsqr_abs. unfold Rabs, Rmin, Rmax.
    repeat destruct Rle_dec; repeat destruct Rcase_abs; lra.
  - apply psd_plus; (apply psd_multiple; [lra|apply psd_minimum; intros; apply Rmax_r]).
Qed.

(* a point that is not 0 has a norm *)
Lemma norm_positive d (v : nat -> R) : (exists a, (a < d)%nat /\ v a <> 0) -> 0 < sum d (fun a => v a ^ 2).
Proof.
  intros [a [H N]]. destruct (sum_nneg d (fun a => v a ^ 2)) as [|E]; [intros; apply pow2_ge_0|assumption|].
  destruct N. apply (square_zero 1); [lra|].
  rewrite (sum_zero_each d (fun a => v a ^ 2)); [ring|intros; apply pow2_ge_0|auto|auto].
Qed.

(* sums are equal in every term *)
Ltac termwise :=
  rewrite <- ?sum_scal, <- ?sum_plus; apply sum_ext; intros; field; nonzero_signs.

(* the hyperbolic tangent by an exponential, and numbers on either side of 1 *)
Lemma tanh_quotient (u v : R) : v = exp (2 * u) ->
  (exp u + (-1) * exp ((-1) * u)) / (exp u + exp ((-1) * u)) = (v - 1) / (v + 1).
Proof.
  intros ->. replace ((-1) * u) with (- u) by ring. replace (2 * u) with (u + u) by ring.
  rewrite exp_Ropp, exp_plus. pose proof (exp_pos u). field. split; nra.
Qed.
Lemma power_of_exp (n : nat) (y : R) : exp (INR n * y) = exp y ^ n.
Proof.
  induction n; [simpl; rewrite Rmult_0_l; apply exp_0|].
  rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus, IHn. simpl. ring.
Qed.
Lemma above_one (y : R) : 0 < y -> exists a, 0 < a /\ exp y = 1 + a.
Proof. intros Y. exists (exp y - 1). pose proof (exp_increasing 0 y Y). rewrite exp_0 in *. split; lra. Qed.
Lemma below_one (y : R) : y < 0 -> exists a, 0 < a /\ exp y = / (1 + a).
Proof.
  intros Y. exists (exp (- y) - 1). pose proof (exp_increasing 0 (- y) ltac:(lra)). rewrite exp_0 in *.
  split; [lra|]. replace (1 + (exp (- y) - 1)) with (exp (- y)) by ring. rewrite exp_Ropp.
  symmetry. apply Rinv_inv.
Qed.
Lemma negative_quotient (f t b : R) : f * b = - t -> 0 < t -> 0 < b -> f < 0.
Proof. intros E T B. nra. Qed.
