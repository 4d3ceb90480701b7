// scenes.h: the conformance scenes: small worlds that together meet every kind of contact, rebuilt from their published numbers.
//
// Based on: [lcp], the tests and examples published with it. Lengths in m, y is up as published; boxes are given
// by their full edges, bodies have mass 1 kg and inertia 1 kg m^2 unless said. tgt_conform_build tilts the whole
// world and gives the variants.
#ifndef TG_TEST_CONFORMANCE_SCENES_H
#define TG_TEST_CONFORMANCE_SCENES_H

#include "sim/sim.h"
#include "support/check.h"

enum { TGT_CONFORM_JOINTS = 48, TGT_CONFORM_DOFS = 6 };

/// A scene in the making: a description and the state to check, by joint in the order of the description.
typedef struct tgtConform {
  tgDesc *d;
  double h;
  double q[TGT_CONFORM_JOINTS];                   ///< of hinges and slides, from the pose drawn
  double v[TGT_CONFORM_JOINTS][TGT_CONFORM_DOFS];
  double f[TGT_CONFORM_JOINTS][TGT_CONFORM_DOFS]; ///< applied forces
  double erp;                                     ///< share of an overlap that a step removes
  bool reversed, self, slip;                      ///< pairs: the second body listed first; or the child of the first;
                                                  ///< little friction and slip
} tgtConform;

/// One line of the table.
typedef struct tgtConformScene {
  const char *name;
  void (*build)(tgtConform *c, int a, int b);
  int a, b;            ///< given to build
  /// APART: no force acts. PAIR: two bodies that touch, which may be listed the other way round and be in one tree.
  /// SMOOTH: tied, with one derivative all the same. LARGE: touches, but is checked in few variants.
  enum { TGT_CONFORM_TOUCHES, TGT_CONFORM_APART, TGT_CONFORM_PAIR, TGT_CONFORM_SMOOTH, TGT_CONFORM_LARGE } kind;
} tgtConformScene;

/// How the world lies.
typedef enum tgtTilt { TGT_TILT_Y_UP, TGT_TILT_Z_UP, TGT_TILT_OBLIQUE, TGT_TILTS } tgtTilt;
/// Variants of a scene.
typedef struct tgtConformVariant {
  tgtTilt tilt;
  bool reversed, self, slip;   ///< of pairs
  bool passive;                ///< springs, dampers and rotor inertia on all joints, a motor on each
} tgtConformVariant;

/// The scenes, by part; the last line of each has name NULL.
extern const tgtConformScene tgt_conform_blocks[], tgt_conform_robots[], tgt_conform_pairs[], tgt_conform_files[];
/// States of such scenes that sit on a switch.
extern const tgtConformScene tgt_conform_ties[];

/// Builds and compiles. *state gets what tgt_conform_state needs; fails the test when the model does not compile.
tgModel *tgt_conform_build(const tgtConformScene *scene, const tgtConformVariant *variant, tgtConform *state);
/// Puts the sim of that model into the state of the scene.
void tgt_conform_state(const tgtConform *state, tgSim *sim);

// ---- pieces ----

/// Body with the default mass and inertia. quat NULL: none.
int tgt_conform_body(tgtConform *c, int parent, const double pos[3], const double quat[4], double mass);
/// Joint along or about an axis (of TG_JOINT_SLIDE and TG_JOINT_HINGE). Index of the joint.
int tgt_conform_joint(tgtConform *c, int body, tgJointType type, double x, double y, double z);
/// Two slides, x and y. Index of the first.
int tgt_conform_slides(tgtConform *c, int body);
/// Geom of that type at the body's origin; sizes as in tgGeomDesc. Boxes by full edges: tgt_conform_box.
int tgt_conform_geom(tgtConform *c, int body, tgGeomType type, double x, double y, double z, double friction);
int tgt_conform_box(tgtConform *c, int body, double x, double y, double z, double friction);
/// The box as a mesh of eight vertices.
int tgt_conform_mesh_box(tgtConform *c, int body, double x, double y, double z, double friction);
/// Box fixed in the world.
int tgt_conform_wall(tgtConform *c, const double pos[3], double x, double y, double z, double friction);
/// out = a b; out may be neither. Quaternion of a rotation by angle about an axis of the frame (0, 1, 2).
void tgt_conform_quat_mul(const double a[4], const double b[4], double out[4]);
void tgt_conform_turn(int axis, double angle, double out[4]);
void tgt_conform_rotate(const double q[4], const double x[3], double out[3]);

#endif
