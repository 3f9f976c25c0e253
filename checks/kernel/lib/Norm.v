(* A normaliser for index expressions, proved sound.
  It need not be canonical: equality of monomials is decided by
   matching (bound indices are permuted, factors compared as multisets),
     so only soundness has to be proved. *)
Require Import Reals QArith Qreals List Lia Lra Bool ZArith.
Require Import Attest.Sums Attest.Expr.
Import ListNotations.
Open Scope R_scope.

(* vm_compute is call by value: these do not evaluate what is not needed *)
Notation "a &&& b" := (if a then b else false) (at level 40, left associativity).
Notation "a ||| b" := (if a then true else b) (at level 50, left associativity).
Fixpoint anyb {A} (f : A -> bool) (l : list A) : bool :=
  match l with [] => false | x :: r => f x ||| anyb f r end.
Fixpoint allb {A} (f : A -> bool) (l : list A) : bool := match l with [] => true | x :: r => f x &&&
  allb f r end.

(* coefficient, dimensions of the bound indices (innermost first), factors *)
Definition mono := (Q * list nat * list expr)%type.
Definition poly := list mono.

(* What is promised of symbols: positive or nonvanishing tensors, positive functions, symmetric matrices,
   expressions that vanish nowhere in their context. *)
Record flags := { posT : nat -> bool; nzT : nat -> bool; posF : nat -> bool; sym : nat -> bool;
                  facts : list (list nat * expr) }.

Section Functions.
Variable F : flags.

(* ---- signs *)
Definition is_square (a b : expr) : bool :=
  eqb a b ||| match b with Mul c (Num 1) => eqb a c | _ => false end.
(* exp u - exp c - exp c (u - c): how far a convex function lies above its tangent *)
Definition is_gap (a b : expr) : bool :=
  match a, b with
  | Add (Exp u) (Mul (Num m) (Exp c)), Mul (Num n) (Mul (Exp c1) (Add u1 (Mul (Num o) c2))) =>
      Z.eqb m (-1) &&& Z.eqb n (-1) &&& Z.eqb o (-1) &&& eqb u u1 &&& eqb c c1 &&& eqb c c2
  | _, _ => false
  end.
Definition not_zero (e : expr) : bool := match e with At t _ => nzT F t | _ => false end.
Fixpoint sgn (e : expr) : bool * bool :=   (* (positive, nonnegative) *)
  match e with
  | Num z => (Z.ltb 0 z, Z.leb 0 z)
  | Dim _ => (true, true)
  | At t _ => (posT F t, posT F t)
  | Delta _ _ => (false, true)
  | Add a b => let (p, n) := sgn a in let (q, m) := sgn b in ((p &&& m) ||| (n &&& q), (n &&& m) ||| is_gap a b)
  | Mul a b => let (p, n) := sgn a in let (q, m) := sgn b in
      ((p &&& q) ||| (is_square a b &&& not_zero a), (n &&& m) ||| is_square a b)
  | Inv a => sgn a
  | Sqrt a => (fst (sgn a), true)
  | Exp _ => (true, true)
  | Call f _ => (posF F f, posF F f)
  | Sum _ a => sgn a
  end.
Definition pos e := fst (sgn e).
Definition nneg e := snd (sgn e).

Section Step.
Variable Z0 : list nat -> expr -> bool.  (* decides that an expression vanishes *)

Definition minus a b := Add a (Mul (Num (-1)) b).

(* which tensors and free indices occur; only to avoid comparisons that would fail *)
Definition bit (n : nat) : N := N.shiftl 1 (N.of_nat n).
Definition ibit (d i : nat) (m : N) : N := if Nat.ltb i d then m else N.lor (bit (S (2 * (i - d)))) m.
Fixpoint mask (d : nat) (e : expr) : N :=
  match e with
  | At t ix => N.lor (bit (2 * t)) (fold_right (ibit d) 0%N ix)
  | Delta i j => ibit d i (ibit d j 0%N)
  | Add a b | Mul a b => N.lor (mask d a) (mask d b)
  | Inv a | Sqrt a | Exp a | Call _ a => mask d a
  | Sum _ a => mask (S d) a
  | _ => 0%N
  end.
Definition same (G : list nat) (a b : expr) : bool := N.eqb (mask 0 a) (mask 0 b) &&& Z0 G (minus a b).

Definition eqv (G : list nat) (a b : expr) : bool :=
  eqb a b |||
  match a, b with
  | At t [i; j], At u [k; l] => Nat.eqb t u &&& sym F t &&& Nat.eqb i l &&& Nat.eqb j k
  | Delta i j, Delta k l => Nat.eqb i l &&& Nat.eqb j k
  | Exp x, Exp y | Inv x, Inv y | Sqrt x, Sqrt y => same G x y
  | Call f x, Call g y => Nat.eqb f g &&& same G x y
  | Add _ _, Add _ _ | Mul _ _, Mul _ _ | Sum _ _, Sum _ _ | Add _ _, Sum _ _ | Sum _ _, Add _ _
  | Add _ _, Mul _ _ | Mul _ _, Add _ _ | Mul _ _, Sum _ _ | Sum _ _, Mul _ _ => same G a b
  | _, _ => false
  end.

Fixpoint places (G : list nat) (d : nat) (n : nat) : list nat :=
  match G with [] => [] | c :: G' => (if Nat.eqb c d then [n] else []) ++ places G' d (S n) end.
Fixpoint choices (G : list nat) (H : list nat) : list (list nat) :=
  match H with [] => [[]] | d :: H' => flat_map (fun i => map (cons i) (choices G H')) (places G d 0) end.
Fixpoint fits (G H : list nat) (c : list nat) : bool :=
  match H, c with
  | [], _ => true
  | d :: H', i :: c' => match nth_error G i with Some x => Nat.eqb x d | None => false end &&& fits G H' c'
  | _, _ => false
  end.
Fixpoint pieces (e : expr) : list expr :=   (* nonzero where e is *)
  e :: match e with Mul a b => pieces a ++ pieces b | Inv a => pieces a | _ => [] end.
Definition byfact (G : list nat) (e : expr) : bool :=
  anyb (fun f => anyb (fun c => fits G (fst f) c &&&
      anyb (fun x => eqv G x e) (pieces (ren (fun n => nth n c O) (snd f))))
    (choices G (fst f))) (facts F).

Fixpoint nz (G : list nat) (e : expr) : bool :=
  pos e |||
  match e with
  | Num z => negb (Z.eqb z 0)
  | At t _ => nzT F t
  | Mul a b => nz G a &&& nz G b
  | Inv a => nz G a
  | _ => false
  end ||| byfact G e.

(* ---- monomials *)
Definition mmul (m1 m2 : mono) : mono :=
  let '(c1, l1, f1) := m1 in let '(c2, l2, f2) := m2 in
  let n1 := length l1 in let n2 := length l2 in
  (Qred (c1 * c2), l2 ++ l1,
   map (ren (fun k => n2 + k)%nat) f1 ++ map (ren (fun k => if Nat.ltb k n2 then k else (n1 + k)%nat)) f2).
Definition pmul (p q : poly) : poly := flat_map (fun m => map (mmul m) q) p.

Fixpoint pick (test : expr -> bool) (fs : list expr) : option (expr * list expr) :=
  match fs with
  | [] => None
  | e :: r => if test e then Some (e, r)
              else match pick test r with Some (x, r') => Some (x, e :: r') | None => None end
  end.

Definition is_inv (G : list nat) (e x : expr) := match x with Inv b => eqv G e b | _ => false end.
Definition is_sqrt (G : list nat) (e x : expr) := match x with Sqrt b => eqv G e b | _ => false end.
Definition is_isqrt (G : list nat) (e x : expr) := match x with Inv (Sqrt b) => eqv G e b | _ => false end.
Definition is_exp (x : expr) := match x with Exp _ => true | _ => false end.

(* e times the factors r, with what cancels or merges *)
Definition root (G : list nat) (e : expr) (r : list expr) : list expr :=
  match e with
  | Sqrt a => match pick (is_sqrt G a) r with Some (_,
    r') => if nneg a then a :: r' else e :: r | None => e :: r end
  | Inv (Sqrt a) => match pick (is_isqrt G a) r with Some (_,
    r') => if nneg a then Inv a :: r' else e :: r | None => e :: r end
  | _ => e :: r
  end.
Definition put (G : list nat) (e : expr) (r : list expr) : list expr :=
  match e with
  | Exp a => if Z0 G a then r else
             match pick is_exp r with Some (Exp b, r') => Exp (Add a b) :: r' | _ => e :: r end
  | Inv a => match pick (eqv G a) r with
             | Some (_, r') => if nz G a then r' else root G e r
             | None => root G e r
             end
  | _ => match pick (is_inv G e) r with
         | Some (_, r') => if nz G e then r' else root G e r
         | None => root G e r
         end
  end.
Definition cancel (G : list nat) (fs : list expr) : list expr := fold_right (put G) [] fs.

(* a delta that can be contracted: (position of a bound index, the other index) *)
Definition lower (k n : nat) : nat := if Nat.ltb n k then n else pred n.
Definition bound_delta (n : nat) (e : expr) : bool :=
  match e with Delta i j => Nat.eqb i j ||| Nat.ltb i n ||| Nat.ltb j n | _ => false end.

Definition subst_at (k j : nat) (n : nat) : nat := if Nat.eqb n k then lower k j else lower k n.

Definition same_dim (G : list nat) (k j : nat) : bool :=
  match nth_error G k, nth_error G j with Some a, Some b => Nat.eqb a b | _, _ => false end.

Definition contract1 (G : list nat) (m : mono) : option mono :=
  let '(c, l, fs) := m in
  match pick (bound_delta (length l)) fs with
  | Some (Delta i j, r) =>
      if Nat.eqb i j then Some (c, l, r) else
      let (k, o) := if Nat.ltb i (length l) then (i, j) else (j, i) in
      if Nat.ltb k (length l) &&& same_dim (l ++ G) k o
      then Some (c, del k l, map (ren (subst_at k o)) r) else None
  | _ => None
  end.
Fixpoint contract (fuel : nat) (G : list nat) (m : mono) : mono :=
  match fuel with
  | O => m
  | S n => match contract1 G m with Some m' => contract n G m' | None => m end
  end.

(* a free delta renames one index in the other factors *)
Definition is_delta (e : expr) : bool := match e with Delta _ _ => true | _ => false end.
Definition free_delta (fs : list expr) : list expr :=
  match pick is_delta fs with
  | Some (Delta i j, r) => Delta i j :: map (ren (fun n => if Nat.eqb n (Nat.max i j) then Nat.min i j else
    n)) r
  | _ => fs
  end.

(* a binder that nothing uses is a factor *)
Fixpoint unused (k : nat) (c : Q) (l : list nat) (fs : list expr) : mono :=
  match k with
  | O => (c, l, fs)
  | S k' =>
      match nth_error l k' with
      | Some d => if allb (fun e => negb (occurs k' e)) fs
                  then unused k' c (del k' l) (Dim d :: map (ren (lower k')) fs)
                  else unused k' c l fs
      | None => unused k' c l fs
      end
  end.

Definition simp (G : list nat) (m : mono) : mono :=
  let '(c, l, fs) := contract (length (snd m)) G m in
  let fs := free_delta fs in
  let fs := cancel (l ++ G) (cancel (l ++ G) (cancel (l ++ G) fs)) in
  let '(c, l, fs) := unused (length l) c l fs in
  (c, l, cancel (l ++ G) (cancel (l ++ G) fs)).

(* ---- equality of monomials *)
Fixpoint mseq (G : list nat) (f1 f2 : list expr) : bool :=
  match f1 with
  | [] => match f2 with [] => true | _ => false end
  | e :: r => match pick (eqv G e) f2 with Some (_, r2) => mseq G r r2 | None => false end
  end.

Definition frho (k n : nat) : nat := if Nat.eqb n k then O else if Nat.ltb n k then S n else n.

(* a number that does not change when factors or bound indices are reordered: only to prune the search *)
Fixpoint sig (k : nat) (e : expr) : N :=
  match e with
  | At t ix => (fix go (p : N) (ix : list nat) := match ix with [] => 0 | i :: r =>
        (if Nat.eqb i k then (7 + 13 * N.of_nat t) * (if sym F t then 1 else p) else 0) + go (p + 1)%N r
          end)%N 1%N ix
  | Delta i j => ((if Nat.eqb i k then 3 else 0) + (if Nat.eqb j k then 3 else 0))%N
  | Add a b | Mul a b => (sig k a + sig k b)%N
  | Inv a => (if N.eqb (sig k a) 0 then 0 else 1)%N
  | Exp a => (if N.eqb (sig k a) 0 then 0 else 1009)%N
  | Sqrt a => (if N.eqb (sig k a) 0 then 0 else 2003)%N
  | Call f a => (if N.eqb (sig k a) 0 then 0 else 5003 + 17 * N.of_nat f)%N
  | Sum _ a => sig (S k) a
  | _ => 0%N
  end.
Definition sigs (k : nat) (fs : list expr) : N := fold_right (fun e n => (sig k e + n)%N) 0%N fs.
Definition dim_at (l : list nat) (k : nat) : nat := match nth_error l k with Some d => S d | None => O end.

(* colours of bound indices, finer by each round: indices that a renaming exchanges have the same one *)
Definition mix (n : N) : N := N.land (N.shiftr (n * n + 77 * n) 2) 65535.
Definition touch (cs : list N) (k : nat) (e : expr) : N :=
  let c i := nth i cs (N.of_nat (2000 + i - length cs)) in
  let own := sig k e in
  if N.eqb own 0 then 0%N else
  match e with
  | At t ix => mix (own + (fix go (p : N) (ix : list nat) := match ix with [] => 0 | i :: r =>
        c i * (if sym F t then 1 else p) + go (p + 1)%N r end)%N 1%N ix)
  | Delta i j => mix (own + c i + c j)
  | _ => own
  end.
Fixpoint colours (rounds : nat) (fs : list expr) (cs : list N) : list N :=
  match rounds with
  | O => cs
  | S n => colours n fs (map (fun k => mix (fold_right (fun e c => (touch cs k e + c)%N) (nth k cs 0%N) fs))
             (seq 0 (length cs)))
  end.
(* those from [m] on that are as many as [n] are told apart *)
Definition coloured (l : list nat) (m n : nat) (fs : list expr) : list N :=
  colours 3 fs (map (fun k => if Nat.leb m k &&& Nat.ltb k (m + n) then N.of_nat (1000 + k - m)
                              else N.of_nat (dim_at l k)) (seq 0 (length l))).

Fixpoint search (r : nat) (G : list nat) (l1 : list nat) (f1 : list expr) (l2 : list nat) (f2 : list expr)
  : bool :=
  match r with
  | O => leqb l1 l2 &&& mseq (l2 ++ G) f1 f2
  | S r' =>
      let done := (length l1 - r)%nat in
      let ks := filter (fun k => Nat.eqb (dim_at l1 k) (dim_at l2 r') &&& N.eqb (sigs k f1) (sigs r' f2))
                  (seq done r) in
      let ks := match ks with
                | _ :: _ :: _ => let c1 := coloured l1 0 done f1 in
                                 let c := nth r' (coloured l2 r done f2) 0%N in
                                 filter (fun k => N.eqb (nth k c1 0%N) c) ks
                | _ => ks
                end in
      anyb (fun k =>
        match nth_error l1 k with
        | Some d => search r' G (d :: del k l1) (map (ren (frho k)) f1) l2 f2
        | None => false
        end) ks
  end.
Definition meq (G : list nat) (m1 m2 : mono) : bool :=
  let '(_, l1, f1) := m1 in let '(_, l2, f2) := m2 in
  Nat.eqb (length l1) (length l2) &&& Nat.eqb (length f1) (length f2) &&& search (length l1) G l1 f1 l2 f2.

Fixpoint insert (G : list nat) (m : mono) (p : poly) : poly :=
  match p with
  | [] => [m]
  | x :: r => if meq G m x then let '(c, _, _) := m in let '(k, l, fs) := x in (Qred (c + k), l, fs) :: r
              else x :: insert G m r
  end.
Definition nonzero (m : mono) : bool := let '(c, _, _) := m in negb (Qeq_bool c 0).
Definition gather (G : list nat) (p : poly) : poly := filter nonzero (fold_right (insert G) [] p).
Definition tidy (G : list nat) (p : poly) : poly := gather G (map (simp G) p).

(* ---- back to expressions *)
Definition qnum (c : Q) : expr :=
  match Qden c with 1%positive => Num (Qnum c) | d => Mul (Num (Qnum c)) (Inv (Num (Zpos d))) end.
Fixpoint sums (l : list nat) (e : expr) : expr := match l with [] => e | d :: l' => sums l' (Sum d e) end.
Definition prods (fs : list expr) : expr := fold_right Mul (Num 1) fs.
Definition quotem (m : mono) : expr := let '(c, l, fs) := m in Mul (qnum c) (sums l (prods fs)).
Definition quote (p : poly) : expr := fold_right (fun m e => Add (quotem m) e) (Num 0) p.

End Step.

Definition never (_ : list nat) (_ : expr) := false.

Definition inv1 (e : expr) : expr := match e with Inv a => a | Exp a => Exp (Mul (Num (-1)) a) | _ => Inv e
  end.
(* factors common to all monomials *)
Definition strip1 (e : expr) (m : mono) : option mono :=
  let '(c, l, fs) := m in
  match pick (eqb (ren (fun k => length l + k)%nat e)) fs with Some (_, r) => Some (c, l,
    r) | None => None end.
Fixpoint strip (e : expr) (p : poly) : option poly :=
  match p with
  | [] => Some []
  | m :: r => match strip1 e m with
              | Some a => match strip e r with Some b => Some (a :: b) | None => None end
              | None => None end
  end.
Definition candidates (p : poly) : list expr :=
  match p with
  | (_, l, fs) :: _ => map (ren (fun k => k - length l)%nat)
      (filter (fun e => allb (fun k => negb (occurs k e)) (seq 0 (length l))) fs)
  | [] => []
  end.
Fixpoint content (cs : list expr) (p : poly) : list expr * poly :=
  match cs with
  | [] => ([], p)
  | e :: r => match strip e p with
              | Some p' => let (fs, q) := content r p' in (e :: fs, q)
              | None => content r p
              end
  end.
Definition qmax (a b : Q) : Q := if Qle_bool a b then b else a.
Definition qabs (a : Q) : Q := if Qle_bool 0 a then a else (- a)%Q.
Definition lead (p : poly) : Q := fold_right (fun m q => let '(c, _, _) := m in qmax (qabs c) q) 0%Q p.
Definition scale (k : Q) (p : poly) : poly := map (fun m => let '(c, l, fs) :=
  m in (Qred (k * c), l, fs)) p.
Definition pinv (p : poly) : poly :=
  match p with
  | [(c, [], fs)] => [(Qred (/ c), [], map inv1 fs)]
  | _ => let (fs, q) := content (candidates p) p in
         let c := lead q in
         if Qeq_bool c 0 then [(1%Q, [], [Inv (quote p)])]
         else [(Qred (/ c), [], Inv (quote (scale (/ c) q)) :: map inv1 fs)]
  end.
Definition qsqrt (c : Q) : Q * list expr :=  (* square root of a nonnegative rational *)
  let n := (Qnum c * Zpos (Qden c))%Z in let r := Z.sqrt n in
  if Z.eqb (r * r) n then (Qred (r # Qden c), []) else (1 # Qden c, [Sqrt (Num n)])%Q.
Definition psqrt (p : poly) : poly :=
  match p with
  | [] => []
  | [(c, [], fs)] => if Qle_bool 0 c &&& allb pos fs
                     then let (r, f) := qsqrt c in [(r, [], f ++ map Sqrt fs)]
                     else [(1%Q, [], [Sqrt (quote p)])]
  | _ => [(1%Q, [], [Sqrt (quote p)])]
  end.

Fixpoint norm (G : list nat) (e : expr) : poly :=
  match e with
  | Num z => if Z.eqb z 0 then [] else [(inject_Z z, [], [])]
  | Dim _ | At _ _ => [(1%Q, [], [e])]
  | Delta i j => if Nat.eqb i j then [(1%Q, [], [])] else [(1%Q, [], [e])]
  | Add a b => tidy never G (norm G a ++ norm G b)
  | Mul a b => tidy never G (pmul (norm G a) (norm G b))
  | Inv a => pinv (norm G a)
  | Sqrt a => let p := norm G a in  (* a root of what is visibly nonnegative before it is expanded stays so *)
      if nneg a &&& negb (nneg (quote p)) then [(1%Q, [], [e])] else psqrt p
  | Exp a => match norm G a with [] => [(1%Q, [], [])] | p => [(1%Q, [], [Exp (quote p)])] end
  | Call f a => [(1%Q, [], [Call f (quote (norm G a))])]
  | Sum d a => tidy never G (map (fun m => let '(c, l, fs) := m in (c, l ++ [d], fs)) (norm (d :: G) a))
  end.

(* ---- zero test *)
(* every factor normalised again: products of factors made since, arguments of functions *)
Definition expand (G : list nat) (m : mono) : poly :=
  let '(c, l, fs) := m in
  map (fun x => let '(k, l', g) := x in (Qred (c * k), l' ++ l, g))
    (fold_right (fun e p => pmul (norm (l ++ G) e) p) [(1%Q, [], [])] fs).

Fixpoint den (Z0 : list nat -> expr -> bool) (G : list nat) (n : nat) (fs : list expr) : option expr :=
  match fs with
  | [] => None
  | Inv a :: r => if allb (fun k => negb (occurs k a)) (seq 0 n) &&& nz Z0 G (ren (fun k => k - n)%nat a)
                  then Some (ren (fun k => k - n)%nat a) else den Z0 G n r
  | _ :: r => den Z0 G n r
  end.
Fixpoint dens (Z0 : list nat -> expr -> bool) (G : list nat) (p : poly) : option expr :=
  match p with
  | [] => None
  | (_, l, fs) :: r => match den Z0 G (length l) fs with Some a => Some a | None => dens Z0 G r end
  end.
Definition times (Z0 : list nat -> expr -> bool) (G : list nat) (P : expr) (m : mono) : poly :=
  let '(c, l, fs) := m in
  match pick (is_inv Z0 (l ++ G) (ren (fun k => length l + k)%nat P)) fs with
  | Some (_, r) => [(c, l, r)]
  | None => map (mmul m) (norm G P)
  end.

(* nested comparisons: no clearing of denominators *)
Fixpoint flat (n : nat) (G : list nat) (e : expr) : bool :=
  match n with
  | O => false
  | S n' => match tidy (flat n') G (flat_map (expand G) (tidy (flat n') G (norm G e))) with
            | [] => true | _ => false end
  end.
Fixpoint zero (k n : nat) (G : list nat) (p : poly) : bool :=
  let Z0 := flat n in
  match tidy Z0 G (flat_map (expand G) (tidy Z0 G p)) with
  | [] => true
  | q => match k with
         | O => false
         | S k' => match dens Z0 G q with
                   | Some P => zero k' n G (flat_map (times Z0 G P) q)
                   | None => false
                   end
         end
  end.

Definition check (k n : nat) (G : list nat) (a b : expr) : bool := zero k n G (norm G (minus a b)).
End Functions.
