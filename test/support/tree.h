// tree.h: random kinematic trees that mix every kind of joint, built through the description structs, and states of them.
#ifndef TG_TEST_TREE_H
#define TG_TEST_TREE_H

#include "sim/sim.h"
#include "support/check.h"

enum {
  TGT_TREE_FREE = 1,      // the first body has a free joint (else what comes)
  TGT_TREE_PASSIVE = 2,   // damping, stiffness, armature, springref, gravity compensation, tendons
  TGT_TREE_ACTUATED = 4,  // actuators of every kind, with limits
  TGT_TREE_FLUID = 8,     // density, viscosity and wind
  TGT_TREE_ENERGY = 16,   // only what an energy supports; and limits, dry friction, joints with two motors whose sum is limited
  TGT_TREE_TIED = 32,     // a connect, a weld, and equalities of joints and of tendons with and without a second one
  TGT_TREE_ACTIVATED = 64 // two in three of the actuators have an activation, of every kind, some with a range
};

/// A compiled random tree of nbody bodies (world not counted). Joints go round: hinge, ball, slide, two slides and a hinge, three hinges,
/// slide and ball, none. Fails the test when it does not compile.
tgModel *tgt_random_tree(uint64_t seed, int nbody, int flags);

/// Random state, controls and applied forces. flat: zero joint angles and identity quaternions.
void tgt_random_state(tgSim *s, tgtRandom *r, bool flat);
/// n standard normals.
void tgt_random_vector(tgtRandom *r, int n, tgReal *x);

/// A sim with no contact model. Fails the test when there is none.
tgSim *tgt_sim(const tgModel *m);
/// frames, inertias and velocities at (q, v), without tg_sim_forward's rest.
void tgt_prepare(tgSim *s, const tgReal *q, const tgReal *v);

/// max|a - b| <= tol max(1, |b|) over n numbers, or the test fails with the worst.
void tgt_check_near_at(const tgReal *a, const tgReal *b, int n, double tol, const char *what, const char *file, int line);
#define tgt_check_near(a, b, n, tol) tgt_check_near_at(a, b, n, tol, #a " and " #b, __FILE__, __LINE__)

#endif
