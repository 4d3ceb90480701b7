// rows.h: constraint rows of an impulse step and their derivatives: w = J v' + bias.
//
// Rows come in this order: equalities, limits of joints and tendons, dry friction of dofs and tendons, contacts (normal, two
// tangents each). Signs: J v > 0 opens a gap; n of a contact points from geom2 to geom1.
#ifndef TG_CONTACT_ROWS_H
#define TG_CONTACT_ROWS_H

#include "coll/features/narrow.h"
#include "contact/contact.h"
#include "joint/joint.h"
#include "sim/row.h"

/// Which limits and contacts get rows.
typedef enum tgRowRule {
  TGI_ROWS_TOUCHING,   // gap at the pose within touch
  TGI_ROWS_CLOSING,    // the free motion ends within touch: gap + h J (vhat - v0), the pose being q0 (+) h v0
  TGI_ROWS_RESTING,    // of an impact at the pose: within touch, or what forces would close in the rest of the step
  TGI_ROWS_NEAR,       // all that the search for contacts lists
  TGI_ROWS_CLOSED,     // gap at the pose, less the clearance, within TGI_CLOSED of that, and what s->held names
  TGI_ROWS_RECALLED,   // the same, and what the memory has as held by a force, and weight would close in half a step
  TGI_ROWS_HELD        // what s->held names
} tgRowRule;

/// Under the event stepper: share of the clearance within which a gap counts as closed; speed up to which a closed one is held.
#define TGI_CLOSED 1e-3
#define TGI_HOLDS 1e-4

/// Contacts of tgi_contacts at the pose, and the rows of a part of a step, h long, by that rule. h = 0: no dry friction.
tgStatus tgi_rows(tgSim *s, const tgPose *pose, tgReal h, tgRowRule rule);
/// The same where the contacts in the sim are those at the pose.
tgStatus tgi_rows_anew(tgSim *s, const tgPose *pose, tgReal h, tgRowRule rule);
/// Pairs of the contacts into which the last flow in the sim turns bodies, which under TGI_ROWS_CLOSING are listed from wherever they are.
struct tgiFar tgi_late_pairs(const tgSim *s);
/// |g| [m/s^2].
double tgi_gravity(const tgSim *s);
/// The row closes at velocity u faster than forces and the turning of the bodies explain over the rest of the step: an impact.
bool tgi_row_is_fast(tgSim *s, const tgPose *pose, int row, const tgReal *u);
/// Counts a choice that a move of 1e-9 may change, as "what: the row"; row -1: the words alone.
void tgi_rows_edge(tgSim *s, const char *what, int row);
/// Likewise one at which the derivative is of neither side: the label is surrogate, and the first of these its reason.
void tgi_rows_between(tgSim *s, const char *what, int row);
/// Takes out the normals (with their tangents) and limits that drop[row] names.
void tgi_rows_drop(tgSim *s, const int8_t *drop);
/// Slot of a row in mem_row (fixed rows only, not contacts).
int tgi_row_slot(const tgModel *m, const tgSim *s, int row);
/// mem_row and the contacts' memory from row_class.
void tgi_rows_remember(tgSim *s);
/// The memory keeps its contacts and features, and takes the classes of the rows: a warm start for the next solve of the same step.
void tgi_rows_warm(tgSim *s);
/// "contact of geom 'a' and geom 'b'", "limit of joint 'j'" ... written into text. Returns text.
const char *tgi_row_label(const tgSim *s, int row, char *text, size_t size);
/// The contacts: see tgContactModel.touches.
int tgi_rows_touches(const tgSim *s);
bool tgi_rows_touch(const tgSim *s, int i, tgContactInfo *out);
/// The impulse that contact i has in the impact in the sim, in place of the force; false: none.
bool tgi_rows_impulse(const tgSim *s, int i, tgContactInfo *out);
/// Which contact or limit it is, in whatever rows: a number.
uint64_t tgi_row_name(const tgSim *s, int row);
/// A contact or a limit, in whatever rows: of a contact its pair and feature, of a limit its owner and part.
typedef struct tgiWho { int kind, owner, part; } tgiWho;
/// Whose the row is, a normal or a limit; and the row of who, -1: there is none.
tgiWho tgi_row_who(const tgSim *s, int row);
int tgi_who_row(const tgSim *s, const tgiWho *who);
/// The row of who where it meets. The pose is made again there, and by a rounding of that a contact's point may be another feature's:
/// then it is that of these geoms that is nearest to touch, which touches too; -1: none does.
int tgi_row_that_meets(const tgSim *s, const tgiWho *who);
/// The name of a contact by its pair and feature, of a limit by its owner and part: not 0, and no two are the same (of 2^28
/// owners of a kind).
static inline uint64_t tgi_constraint_name(int kind, int owner, int part) {
  return (uint64_t)(kind + 1) << 60 | (uint64_t)(uint32_t)owner << 32 | (uint32_t)part;
}
/// A normal or limit that presses, or did by what the row remembers, in both problems.
bool tgi_row_pressed(const tgSim *s, int row);
/// One of those that s->held names.
bool tgi_is_held(const tgSim *s, uint64_t name);
static inline bool tgi_row_is_held(const tgSim *s, int row) { return s->nheld > 0 && tgi_is_held(s, tgi_row_name(s, row)); }
/// The same of a step in pieces: impulses of contacts are summed over them. Begins; adds `share` of those of the part in the sim.
void tgi_touches_begin(tgSim *s);
void tgi_touches_add(tgSim *s, double share);
/// And a further impulse and couple (world) of that contact.
void tgi_touches_push(tgSim *s, const tgContactRow *c, double share, const tgReal impulse[3], const tgReal couple[3]);
int tgi_touches_summed(const tgSim *s);
/// The entry that there is of a contact; where there is no room for another, that of one of its pair; -1: none.
int tgi_touch_entry(const tgSim *s, const tgContactRow *c);
bool tgi_touch_summed(const tgSim *s, int i, tgContactInfo *out);
/// Adjoint of these, of the part in the sim. grad: one a contact, or, with shown (2 cap.ncon), one an entry of the sums, whose point and
/// axes are those of the part that is passed first, the last of the step; shown is marked, of all false at first. share: of its impulses.
typedef struct tgiTouchSeeds {
  const tgiTouchGrad *grad;
  bool *shown;
  tgReal share, by_share;   ///< by_share: the gradient in share, written
} tgiTouchSeeds;
/// force (nrow): the gradient in the impulses; shape (ncon x 12): that in the points and axes (tgi_rows_sum_vjp). False: nothing is
/// weighed.
bool tgi_touches_weigh(const tgSim *s, tgiTouchSeeds *k, tgReal *force, tgReal *shape);
/// What forces that are impulses over h have of h itself.
tgReal tgi_touches_by_length(const tgSim *s, const tgiTouchGrad *g);
/// Bytes of a record of those sums, and to and from it.
size_t tgi_touches_record_bytes(int count);
void tgi_touches_record(const tgSim *s, char *to);
void tgi_touches_recall(tgSim *s, int count, const char *from);
/// The one or two bodies of a row; -1 when there is none.
void tgi_row_bodies(const tgSim *s, int row, int body[2]);

/// gq (nv) and p += the gradient of y' J(q) u, and of y' gap, at the pose; p may be NULL.
void tgi_rows_vjp(tgSim *s, const tgPose *pose, const tgReal *y, const tgReal *u, tgReal *gq, tgParamGrad *p);
void tgi_rows_gap_vjp(tgSim *s, const tgPose *pose, const tgReal *y, tgReal *gq, tgParamGrad *p);
/// u' times the gradient of row `row`, a normal or a limit, times u: d(J u)/dt along u. False: the scratch is short.
bool tgi_row_bend(tgSim *s, const tgPose *pose, int row, const tgReal *u, tgReal *rate);
/// The gradient of a sum of n such products, TGI_ROW_PRODUCTS at most, of gaps (NULL: none), and of what weighs the point and the axes of
/// contacts with rows, shape (ncon x 12: p, n, t1, t2; NULL: nothing does): contacts are passed once.
typedef struct tgiRowProduct { const tgReal *y, *u; } tgiRowProduct;
enum { TGI_ROW_PRODUCTS = 12 };   // of two problems over the rows, six each
void tgi_rows_sum_vjp(tgSim *s, const tgPose *pose, int n, const tgiRowProduct *term, const tgReal *gaps, const tgReal *shape,
                      tgReal *gq, tgParamGrad *p);

// see tgContactModel for these
void tgi_rows_limit_parameters(tgSim *s, const tgReal *y, tgParamGrad *p);
void tgi_rows_bounce_parameters(tgSim *s, const tgReal *y, tgParamGrad *p);
tgStatus tgi_rows_size_parameters(tgSim *s, const tgPose *pose, tgParamGrad *p);
/// Where the problem that is selected has two sides in the chosen parameters, counted in p->sided: the larger of two equal numbers.
void tgi_rows_param_nonsmooth(const tgSim *s, tgParamGrad *p);
/// What friction, dry friction and restitution that are 0 would do if they were more, which have no row or bounce to say it: the
/// derivative on the allowed side, counted in p->sided. pose: of the rows; u: velocity of the problem that is selected; lambda: Mh^-1 of
/// its gradient.
void tgi_joints_zero_parameters(const tgSim *s, const tgPose *pose, const tgReal *u, const tgReal *lambda, tgParamGrad *p);
/// The same of contacts. alpha, X: of redundant rows, as in impulse_vjp.c, or NULL; y: adjoint of the rows' free velocities.
void tgi_contacts_zero_parameters(tgSim *s, const tgPose *pose, const tgReal *u, const tgReal *lambda, const tgReal *alpha,
                                  const tgReal *X, const tgReal *y, tgParamGrad *p);
/// Energy that the impulse f of a row adds, f (J vhat + J v')/2, from its b and w; *before is J vhat.
static inline double tgi_row_gain(const tgSim *s, int row, double f, double b, double w, double *before) {
  *before = (b - tgRe(s->rows->rate[row]) * tgRe(s->rows->gap[row])) / (1 + tgRe(s->rows->bounce[row]));
  return f * (*before + 0.5 * (w - b));
}
/// True of limits of spatial tendons and of ball joints, whose gap is as curved a function of the joints as that of a contact, and of
/// contacts: they meet at the gap that the contact model has.
static inline bool tgi_meets_at_gap(const tgSim *s, int kind, int owner, int part) {
  if (kind != TG_ROW_LIMIT) return kind == TG_ROW_NORMAL;
  return part >= 2 ? tgi_is_spatial(&s->m, owner) : s->m.jnt_type[owner] == TG_JOINT_BALL;
}
/// The gap at which a contact or limit meets.
static inline tgReal tgi_clearance_of(const tgSim *s, int kind, int owner, int part) {
  if (kind == TG_ROW_NORMAL) return s->clearance;
  return tgi_meets_at_gap(s, kind, owner, part) ? s->strand_clearance : s->limit_clearance;
}
static inline tgReal tgi_who_clearance(const tgSim *s, const tgiWho *who) { return tgi_clearance_of(s, who->kind, who->owner, who->part); }
static inline tgReal tgi_row_clearance(const tgSim *s, int row) {
  return tgi_clearance_of(s, s->rows->kind[row], s->rows->owner[row], s->rows->part[row]);
}
/// The row closes in the free motion at more than that speed.
bool tgi_row_closes_faster(const tgSim *s, int row, double speed);
/// Under the event stepper: approach speed below which an impact has no restitution, max(|g| h/16, restitution_speed).
double tgi_rows_rest_speed(const tgSim *s);
/// A normal closes fast enough in the free motion to bounce, if it had restitution.
bool tgi_row_may_bounce(tgSim *s, const tgPose *pose, int row);
tgStatus tgi_rows_jacobian(tgSim *s, const tgPose *pose, const tgReal *u, const tgReal *y, const tgiPlaces *to, const int *at, tgReal *R);
tgStatus tgi_rows_gap_jacobian(tgSim *s, const tgPose *pose, const tgReal *y, const tgiPlaces *to, const int *at, tgReal *R);
void tgi_rows_wrench(const tgSim *s, const tgPose *pose, const tgReal *f, tgReal *wrench);
void tgi_rows_force_jacobian(tgSim *s, const tgPose *pose, const tgReal *f, const tgiPlaces *to, tgReal *D);

// ---- shared with rows_d.c and rows_jacobian.c ----

static inline bool tgi_is_ball_limit(const tgSim *s, int row) {
  return s->rows->kind[row] == TG_ROW_LIMIT && s->rows->part[row] < 2 && s->m.jnt_type[s->rows->owner[row]] == TG_JOINT_BALL;
}
static inline bool tgi_is_bond(const tgSim *s, int row) {
  return s->rows->kind[row] == TG_ROW_EQUALITY && !tgi_is_tie(&s->m, s->rows->owner[row]) && s->rows->part[row] == 0;
}
/// Limit or dry friction of a spatial tendon, whose row changes with the pose; +1 or -1: which of both signs its J has, 0: another row.
static inline int tgi_strands_sign(const tgSim *s, int row) {
  int kind = s->rows->kind[row], part = s->rows->part[row];
  bool tendon = (kind == TG_ROW_LIMIT && part >= 2) || (kind == TG_ROW_FRICTION && part == 1);
  return !tendon || !tgi_is_spatial(&s->m, s->rows->owner[row]) ? 0 : kind == TG_ROW_LIMIT && part == 3 ? -1 : 1;
}
/// A tie whose row changes with its second side.
static inline bool tgi_is_curved_tie(const tgSim *s, int row) {
  return s->rows->kind[row] == TG_ROW_EQUALITY && tgi_is_tie(&s->m, s->rows->owner[row]) && s->m.eq_b[s->rows->owner[row]] >= 0;
}


/// From a force that pairs with the twist of geom g to geom_pos and geom_quat.
void tgi_geom_parameters(const tgSim *s, const tgPose *pose, int g, const tgReal twist[6], tgParamGrad *p);
/// From a gradient in (p, n, gap) of a point of two geoms to geom_size, geom_scale and hull_vert; the point has Ds, and Dp where
/// hull_vert is wanted.
void tgi_point_size_parameters(const tgSim *s, const tgPose *pose, const int geom[2], const tgContactPoint *point, const tgReal bar[7],
                               tgParamGrad *p);
/// What a point has to have for it.
tgCollide tgi_size_parameters_want(const tgParamGrad *p);
/// From a gradient in the gap of a limit or tie to its range or coefficients.
void tgi_row_gap_parameters(const tgSim *s, const tgPose *pose, int row, tgReal g, tgParamGrad *p);

/// Rotation vector of a ball joint, its length and unit axis.
tgReal tgi_ball_axis(const tgSim *s, const tgPose *pose, int jnt, tgReal axis[3], tgReal w[3]);
/// How far the joint or tendon of a limit row (its owner and part) is inside that end of its range at the pose; below 0: past it. axis: a
/// ball joint's, else as it was.
tgReal tgi_limit_inside(const tgSim *s, const tgPose *pose, int owner, int part, tgReal axis[3]);
/// By how much the joint or fixed tendon of a limit row is past the end of its range at the start of the step's part; below 0: inside. Of a
/// spatial tendon, whose length bends along the way, it is not told: 0, as of other rows.
double tgi_row_past_limit(const tgSim *s, int row);
/// Past by more than motions of joints leave [rad or m]: as a caller's state has it.
#define TGI_PAST_LIMIT 1e-6
/// Screw of row `part` of a contact at its point.
void tgi_contact_screw(const tgContactRow *c, int part, tgReal screw[6]);

#endif
