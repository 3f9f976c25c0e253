(* The operations of the papers, as the printed theorems use them: matrices and vectors are functions of their
  indices, which count from 0. *)
Require Import Reals.
Require Import Attest.Sums Attest.Expr.
Open Scope R_scope.

Definition transpose (A : nat -> nat -> R) : nat -> nat -> R := fun i j => A j i.
(* products over an index with [n] values: of matrices, with a vector on the right or on the left, of vectors *)
Definition product (n : nat) (A B : nat -> nat -> R) : nat -> nat -> R :=
  fun i j => sum n (fun m => A i m * B m j).
Definition times_vector (n : nat) (A : nat -> nat -> R) (x : nat -> R) : nat -> R :=
  fun i => sum n (fun m => A i m * x m).
Definition vector_times (n : nat) (x : nat -> R) (B : nat -> nat -> R) : nat -> R :=
  fun j => sum n (fun m => x m * B m j).
Definition inner (n : nat) (x y : nat -> R) : R := sum n (fun m => x m * y m).
Definition outer (x y : nat -> R) : nat -> nat -> R := fun i j => x i * y j.

Definition trace (n : nat) (A : nat -> nat -> R) : R := sum n (fun m => A m m).
Definition diag (v : nat -> R) : nat -> nat -> R := fun i j => delta i j * v i.
(* the squares of the Euclidean norm of a vector and of the Frobenius norm of a matrix *)
Definition norm_squared (n : nat) (x : nat -> R) : R := sum n (fun i => x i ^ 2).
Definition frobenius_squared (n k : nat) (A : nat -> nat -> R) : R :=
  sum n (fun i => sum k (fun j => A i j ^ 2)).

(* of [n] scores, and of each row of a matrix with [n] columns *)
Definition softmax (n : nat) (score : nat -> R) : nat -> R :=
  fun j => exp (score j) / sum n (fun m => exp (score m)).
Definition row_softmax (n : nat) (A : nat -> nat -> R) : nat -> nat -> R :=
  fun i j => exp (A i j) / sum n (fun m => exp (A i m)).

(* of a function everywhere, and between numbers nearer to [c] than [e] *)
Definition convex (f : R -> R) : Prop :=
  forall x y t, 0 <= t <= 1 -> f (t * x + (1 + (-1) * t) * y) <= t * f x + (1 + (-1) * t) * f y.
Definition convex_near (f : R -> R) (c e : R) : Prop :=
  forall x y t, Rabs (x + (-1) * c) < e -> Rabs (y + (-1) * c) < e -> 0 <= t <= 1 ->
    f (t * x + (1 + (-1) * t) * y) <= t * f x + (1 + (-1) * t) * f y.
(* that an [n] by [k] matrix is by less than [d] beside another one, entry by entry *)
Definition near (n k : nat) (Z0 : nat -> nat -> R) (d : R) (Z : nat -> nat -> R) : Prop :=
  forall i, (i < n)%nat -> forall j, (j < k)%nat -> Rabs (Z i j + (-1) * Z0 i j) < d.
