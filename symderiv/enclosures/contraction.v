(* A map that contracts a box into itself leaves exactly one point of it where it is. *)
From Coq Require Import Reals Lra Lia Arith.
From Interval Require Import Tactic.
Open Scope R_scope.

Lemma within : forall x a, Rabs x <= a <-> - a <= x <= a.
Proof. intros x a. unfold Rabs. destruct (Rcase_abs x); split; intros; lra. Qed.

Lemma strictly_within : forall x a, Rabs x < a <-> - a < x < a.
Proof. intros x a. unfold Rabs. destruct (Rcase_abs x); split; intros; lra. Qed.

Section Contraction.
Variables (n : nat) (m r : nat -> R) (g : (nat -> R) -> nat -> R) (q : R).
Definition inside (y : nat -> R) := forall i, (i < n)%nat -> Rabs (y i - m i) <= r i.
Definition still (y : nat -> R) := forall i, (i < n)%nat -> g y i = y i.
Hypothesis q_low : 0 <= q.
Hypothesis q_high : q < 1.
Hypothesis radii : forall i, (i < n)%nat -> 0 <= r i.
Hypothesis into : forall y, inside y -> inside (g y).
Hypothesis closer : forall y z D, inside y -> inside z ->
  (forall i, (i < n)%nat -> Rabs (y i - z i) <= D * r i) ->
  forall i, (i < n)%nat -> Rabs (g y i - g z i) <= q * D * r i.

Fixpoint iterate (k : nat) : nat -> R := match k with O => m | S l => g (iterate l) end.

Lemma iterate_inside : forall k, inside (iterate k).
Proof.
  induction k; simpl.
  - intros i h. replace (m i - m i) with 0 by ring. rewrite Rabs_R0. auto.
  - auto.
Qed.

Lemma power_low : forall k, 0 <= q ^ k.
Proof. intros k. apply pow_le. exact q_low. Qed.

Lemma iterates_apart : forall k l i, (i < n)%nat ->
  Rabs (iterate k i - iterate (k + l) i) <= q ^ k * r i.
Proof.
  induction k; intros l i h; simpl.
  - rewrite Rabs_minus_sym, Rmult_1_l. exact (iterate_inside l i h).
  - apply closer; auto using iterate_inside.
Qed.

Lemma small : forall c e, 0 <= c -> 0 < e -> exists k, q ^ k * c < e.
Proof.
  intros c e hc he.
  assert (h : Rabs q < 1) by (rewrite Rabs_pos_eq; assumption).
  assert (hp : 0 < e / (c + 1)) by (apply Rdiv_lt_0_compat; lra).
  destruct (pow_lt_1_zero q h _ hp) as [k hk].
  exists k. specialize (hk k (le_n k)). rewrite Rabs_pos_eq in hk by apply power_low.
  apply Rle_lt_trans with (q ^ k * (c + 1)).
  - apply Rmult_le_compat_l; [apply power_low | lra].
  - apply Rmult_lt_compat_r with (r := c + 1) in hk; [| lra].
    replace (e / (c + 1) * (c + 1)) with e in hk by (field; lra). exact hk.
Qed.

Lemma cauchy : forall i, (i < n)%nat -> Cauchy_crit (fun k => iterate k i).
Proof.
  intros i h e he.
  destruct (small (2 * r i) e) as [k hk]; [pose proof (radii i h); lra | lra |].
  exists k. intros a b ha hb. unfold R_dist.
  pose proof (iterates_apart k (a - k) i h) as ka. pose proof (iterates_apart k (b - k) i h) as kb.
  replace (k + (a - k))%nat with a in ka by lia. replace (k + (b - k))%nat with b in kb by lia.
  apply within in ka. apply within in kb.
  apply strictly_within. lra.
Qed.

Definition limit (i : nat) : R :=
  match lt_dec i n with
  | left h => proj1_sig (R_complete _ (cauchy i h))
  | right _ => m i
  end.

Lemma limit_near : forall k i, (i < n)%nat -> Rabs (limit i - iterate k i) <= q ^ k * r i.
Proof.
  intros k i h. apply le_epsilon. intros e he. unfold limit.
  destruct (lt_dec i n) as [h'|]; [| contradiction].
  destruct (R_complete _ (cauchy i h')) as [l hl]. simpl.
  destruct (hl e he) as [a ha]. specialize (ha (k + a)%nat ltac:(lia)). unfold R_dist in ha.
  pose proof (iterates_apart k a i h) as ka.
  apply strictly_within in ha. apply within in ka. apply within. lra.
Qed.

Lemma limit_inside : inside limit.
Proof. intros i h. pose proof (limit_near 0 i h) as a. simpl in a. lra. Qed.

Lemma limit_still : still limit.
Proof.
  intros i h. apply cond_eq. intros e he.
  destruct (small (2 * r i) e) as [k hk]; [pose proof (radii i h); lra | lra |].
  assert (a : Rabs (g limit i - g (iterate k) i) <= q * q ^ k * r i).
  { apply closer; auto using limit_inside, iterate_inside. intros j hj. apply limit_near; auto. }
  pose proof (limit_near (S k) i h) as b. simpl in b.
  assert (c : q * q ^ k * r i <= q ^ k * r i).
  { apply Rmult_le_compat_r; [auto |]. pose proof (power_low k). nra. }
  apply within in a. apply within in b. apply strictly_within. lra.
Qed.

Lemma limit_only : forall z, inside z -> still z -> forall i, (i < n)%nat -> z i = limit i.
Proof.
  intros z hz sz.
  assert (near : forall k i, (i < n)%nat -> Rabs (z i - limit i) <= q ^ k * 2 * r i).
  { induction k; intros i h.
    - pose proof (hz i h) as a. pose proof (limit_inside i h) as b.
      apply within in a. apply within in b. apply within. simpl. lra.
    - rewrite <- (sz i h), <- (limit_still i h). simpl. rewrite (Rmult_assoc q (q ^ k) 2).
      apply closer; auto using limit_inside. }
  intros i h. apply cond_eq. intros e he.
  destruct (small (2 * r i) e) as [k hk]; [pose proof (radii i h); lra | lra |].
  specialize (near k i h). lra.
Qed.

Theorem contraction : exists y, inside y /\ still y /\
  forall z, inside z -> still z -> forall i, (i < n)%nat -> z i = y i.
Proof. exists limit. auto using limit_inside, limit_still, limit_only. Qed.
End Contraction.

(* Bounds of sums of products, and slopes of functions between two points. *)
Lemma sum_within : forall a b x y, Rabs a <= x -> Rabs b <= y -> Rabs (a + b) <= x + y.
Proof. intros a b x y ha hb. apply within in ha. apply within in hb. apply within. lra. Qed.

Lemma product_within : forall a b x y, Rabs a <= x -> Rabs b <= y -> Rabs (a * b) <= x * y.
Proof. intros. rewrite Rabs_mult. apply Rmult_le_compat; auto using Rabs_pos. Qed.

Lemma root_slope : forall a b, 0 < a -> 0 < b ->
  sqrt a - sqrt b = / (sqrt a + sqrt b) * (a - b).
Proof.
  intros a b ha hb. pose proof (sqrt_lt_R0 a ha). pose proof (sqrt_lt_R0 b hb).
  replace (a - b) with (sqrt a * sqrt a - sqrt b * sqrt b)
    by (rewrite !sqrt_sqrt by lra; reflexivity).
  field. lra.
Qed.

Lemma mean_slope : forall (f s : R -> R) low high,
  (forall c, low <= c <= high -> derivable_pt_lim f c (s c)) ->
  forall a b, low <= a <= high -> low <= b <= high ->
  exists c, low <= c <= high /\ f a - f b = s c * (a - b).
Proof.
  intros f s low high h.
  assert (ordered : forall a b, low <= a <= high -> low <= b <= high -> b < a ->
    exists c, low <= c <= high /\ f a - f b = s c * (a - b)).
  { intros a b ha hb o. destruct (MVT_cor2 f s b a o) as [c [e hc]].
    - intros c hc. apply h. lra.
    - exists c. split; [lra | exact e]. }
  intros a b ha hb. destruct (Rtotal_order a b) as [o | [o | o]].
  - destruct (ordered b a hb ha o) as [c [hc e]]. exists c. split; [exact hc |].
    replace (f a - f b) with (- (f b - f a)) by ring. rewrite e. ring.
  - subst b. exists a. split; [exact ha | ring].
  - apply ordered; assumption.
Qed.

Lemma angle_slope : forall low high a b, low <= a <= high -> low <= b <= high ->
  exists c, low <= c <= high /\ atan a - atan b = / (1 + c * c) * (a - b).
Proof.
  intros low high. apply (mean_slope atan (fun c => / (1 + c * c))). intros c _.
  (* versions of the library write the square in two ways *)
  first [ apply derivable_pt_lim_atan
        | replace (1 + c * c) with (1 + c ^ 2) by ring; apply derivable_pt_lim_atan ].
Qed.

Lemma power_slope : forall low high a b, low <= a <= high -> low <= b <= high ->
  exists c, low <= c <= high /\ exp a - exp b = exp c * (a - b).
Proof.
  intros low high. apply (mean_slope exp exp). intros c _. apply derivable_pt_lim_exp.
Qed.

Lemma logarithm_slope : forall low high, 0 < low -> forall a b,
  low <= a <= high -> low <= b <= high ->
  exists c, low <= c <= high /\ ln a - ln b = / c * (a - b).
Proof.
  intros low high positive. apply (mean_slope ln (fun c => / c)). intros c hc.
  apply derivable_pt_lim_ln. lra.
Qed.
