// minimise.c: the minimisation of a step. See minimise.h, and objective.h for what is minimised.
//
// Based on: [math/barrier Step]. Newton's method with the exact second derivative; where that is not positive
// definite, a multiple of M/h^2 is
// added, M the mass matrix at q0. Far from the end a step is bettered by how the forces of touching bodies grow
// (foresee.c), and goes on in rounds under the terms that the law foresees, which cost little. It goes no farther
// than the contact model and the joints' limits allow, and is accepted where the
// energy falls or, within its round-off, the slope along the step does. The end is told by displacement: a
// Newton step that moves no point
// of a body by more than 1e-12 of the scene, and then one more.
#include "step/minimise.h"

#include <stdio.h>
#include <string.h>

#include "dyn/forces.h"
#include "sim/arrays.h"
#include "step/minimise_coupling.h"
#include "step/objective.h"
#include "step/step.h"

enum { MOST_STEPS = 200, MOST_SHARES = 60, MOST_ROUNDS = 12, MOST_FORESEEN = 16, FEW_HALVINGS = 8, FEW_SHARES = 2 };
_Static_assert(MOST_STEPS + 8 < TGI_PATH, "each iterate has its place");
#define CONVERGED 1e-12  // displacement of a Newton step, of the scene's size
#define STALLED 1e-9     // the same where round-off stands in the way: steps that no longer halve, or none that is accepted
#define ENDING 3e-9      // displacement after which the next one, which falls with its square, is expected to be round-off
#define ENDING_FORESEEN 1e-5   // the same of a step that goes on under foreseen terms
#define ENDED 3e-15      // nor is it where steps that fall with their squares leave more than that
#define SWIFT 0.03       // of the step before, below which they seem to fall so
// share of the contact model's bound where that is less than the step: at the bound itself forces that nothing foresaw
// are far too large; a way that was foreseen goes to the bound, as what stops it is nearer still at its end
#define CUT 0.7
#define CUT_FORESEEN 1
#define SLIGHT 1e-4      // displacement below which steps that get no shorter, though H is not definite, may lead from a saddle
#define LITTLE 0.5       // share of a foreseen step below which what stops it was not foreseen
#define LEAST_SHORTER 0.1  // of a share that is refused, what is tried next, at least and at most
#define MOST_SHORTER 0.5
#define ROUNDS_END 1e-3  // share of the whole way below which a round's step ends the rounds
#ifdef TG_COMPLEX
enum { POLISH = 4 };     // imaginary parts come after the real ones, the faster the nearer the matrix is to the Hessian
#define NOTHING -1
#else
enum { POLISH = 1 };
#define NOTHING 1e-15    // displacement that is round-off of the coordinates: not worth a last step
#endif

// The iterate is s->end, where the step ends; what is tried is s->trial.
typedef struct Newton {
  tgiObjective o;
  tgReal *q, *d;           // tried coordinates, step
  tgReal *plain;           // the step before it was
  bool foreseen;           // from the law
  bool uphill;             // the law foresees no fall of the energy along the step before it was
  tgReal *twist;           // nbody x 6
  double *reach;           // nbody: of a body's points from its centre of mass
  double size;             // of the scene
  double moved;            // displacement of the last Newton step
  double expected;         // of the one after it
  bool definite;           // it was of H itself
  bool leaves;             // it is beside a saddle, by the last steps
} Newton;

static tgStatus no_room(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
}

static bool take(tgSim *s, double h, Newton *n) {
  const tgModel *m = &s->m;
  n->q = tgi_stack_real(s, (size_t)m->nq);
  n->d = tgi_stack_real(s, (size_t)m->nv);
  n->plain = tgi_stack_real(s, (size_t)m->nv);
  n->twist = tgi_stack_real(s, 6 * (size_t)m->nbody);
  n->reach = tgi_stack_bytes(s, (size_t)m->nbody * sizeof(double));
  return tgi_objective_take(s, h, &n->o) && n->q != NULL && n->d != NULL && n->plain != NULL && n->twist != NULL && n->reach != NULL;
}

static void measure(const tgSim *s, Newton *n) {
  const tgModel *m = &s->m;
  n->size = 0;
  for (int b = 0; b < m->nbody; b++) {
    const tgReal *I = m->body_inertia + 6 * b;
    double mass = tgRe(m->body_mass[b]), trace = tgRe(I[0] + I[1] + I[2]);
    n->reach[b] = mass > 0 && trace > 0 ? sqrt(trace / mass) : 0;
  }
  for (int g = 0; g < m->ngeom; g++) {
    tgReal r[3];
    int b = m->geom_body[g];
    tgi_v3_sub(r, s->start.geom_xpos + 3 * g, s->start.xcom + 3 * b);
    n->reach[b] = fmax(n->reach[b], sqrt(fmax(0, tgRe(tgi_v3_dot(r, r)))) + tgRe(m->geom_rbound[g]));
  }
  for (int b = 1; b < m->nbody; b++) {
    const tgReal *c = s->start.xcom + 3 * b;
    if (m->body_lastdof[b] >= 0) n->size = fmax(n->size, n->reach[b] + sqrt(fmax(0, tgRe(tgi_v3_dot(c, c)))));
  }
  if (n->size == 0) n->size = 1;
}

// the farthest that the tangent step d moves a point of a body, about; *body: whose
static double displacement(const tgSim *s, Newton *n, const tgReal *d, int *body) {
  const tgModel *m = &s->m;
  double most = 0;
  tgi_body_velocities(m, &s->end, d, n->twist);
  for (int b = 1; b < m->nbody; b++) {
    tgReal *V = n->twist + 6 * b, u[3];
    tgi_sp_point_velocity(u, V, s->end.xcom + 3 * b);
    double move = 0, turn = 0;
    for (int i = 0; i < 3; i++) {
      move += tgRe(u[i]) * tgRe(u[i]);
      turn += tgRe(V[i]) * tgRe(V[i]);
    }
    double r = sqrt(move) + n->reach[b] * sqrt(turn);
    if (r <= most) continue;
    most = r;
    *body = b;
  }
  return most;
}

static tgStatus hessian(tgSim *s, tgiObjective *o, bool whole) {
  tgiMinimise *own = tgi_minimise_own(s);
  TG_TRY(tgi_coupling_find(s, o->h, whole));
  o->pattern = &own->pattern;
  tgi_objective_hessian(s, &s->end, o, own->step_H);
  return TG_OK;
}

// A += f M
static void add_mass(const tgSim *s, tgReal f, tgReal *A) {
  const tgModel *m = &s->m;
  const tgiPattern *p = &tgi_minimise_own(s)->pattern;
  for (int i = 0; i < m->nv; i++)
    for (int j = m->dof_tree[2 * i]; j < m->dof_tree[2 * i + 1]; j++)
      if (m->dof_set[3 * i] == m->dof_set[3 * j]) *tgi_pattern_entry(p, A, i, j) += f * tgi_block_row(m, s->M, i)[j];
}

// step_L of step_H + shift M/h^2 with the least shift tried for which this is positive definite
static tgStatus factor(tgSim *s, double h) {
  tgiMinimise *own = tgi_minimise_own(s);
  own->shift = 0;
  while (!tgi_pattern_factor(&own->pattern, own->shift == 0 ? own->step_H : own->step_L, own->step_L)) {
    own->shift = own->shift == 0 ? 1e-3 : 10 * own->shift;
    if (!(own->shift < 1e25))
      return tgi_no_factor(s, &s->start, ", or the contact potential has no finite second derivative");
    memcpy(own->step_L, own->step_H, own->pattern.size * sizeof *own->step_L);
    add_mass(s, own->shift / (h * h), own->step_L);
  }
  return TG_OK;
}

tgStatus tgi_minimise_mixed(tgSim *s) {
  const tgLaw *k = s->contact_model->kind->law;
  if (k->start_d == NULL || tgi_minimise_own(s)->mixed) return TG_OK;
  TG_TRY(k->start_d(s, &s->end));
  tgi_minimise_own(s)->mixed = true;
  return TG_OK;
}

// d = -H^-1 g, or with H made positive definite where it is not: pair by pair, but beside a saddle by a shift alone. Without the negative
// curvature of its pair, a direction that leads from the saddle has that of the masses, which may be many times as large, so that steps
// along it would be far too short. *slow: not with what is left out of H.
static tgStatus direction(tgSim *s, Newton *n, bool whole, bool *slow) {
  tgiMinimise *own = tgi_minimise_own(s);
  TG_TRY(hessian(s, &n->o, whole));
  n->definite = tgi_pattern_factor(&own->pattern, own->step_H, own->step_L);
  own->shift = 0;
  *slow = own->left_out && !n->definite;
  if (*slow) return TG_OK;
  if (!n->definite) {
    if (!n->leaves) tgi_objective_definite(s, &s->end, n->o.h, n->reach, &(tgiPatterned){&own->pattern, own->step_H});
    TG_TRY(factor(s, n->o.h));
  }
  for (int i = 0; i < s->m.nv; i++) n->d[i] = -n->o.g[i];
  return tgi_coupling_solve_step(s, n->d, slow);
}

static tgStatus newton_step(tgSim *s, Newton *n) {
  tgiMinimise *own = tgi_minimise_own(s);
  int body = -1;
  bool slow;
  TG_TRY(direction(s, n, false, &slow));
  if (slow) TG_TRY(direction(s, n, true, &slow));
  n->moved = displacement(s, n, n->d, &body) * (1 + own->shift) / n->size;
  if (body >= 0) s->info.body1 = body;
  s->info.residual = n->moved;
  return TG_OK;
}

// share of the step d from the present iterate that nothing forbids; cut: of the contact model's bound
static tgStatus allowed(tgSim *s, tgReal *d, double cut, double *share) {
  *share = tgi_joint_share(s, s->end.q, d);
  for (int i = 0; i < s->m.nv && *share < 1; i++) d[i] *= *share;
  double fraction = 1;
  if (s->contact_model->kind->law->step_bound != NULL) TG_TRY(s->contact_model->kind->law->step_bound(s, &s->end, d, &fraction));
  for (int i = 0; i < s->m.nv && *share < 1; i++) d[i] /= *share;
  *share *= fraction < 1 ? cut * fraction : 1;
  return TG_OK;
}

// the tried pose: the iterate's (+) share d
static void move(tgSim *s, const Newton *n, double share) {
  for (int i = 0; i < s->m.nv; i++) n->d[i] *= share;
  tg_model_integrate(&s->m, s->end.q, n->d, n->q);
  for (int i = 0; i < s->m.nv; i++) n->d[i] /= share;
  tgi_kinematics(&s->m, n->q, &s->trial);
}

static void swap_poses(tgSim *s) {
  tgPose pose = s->end;
  s->end = s->trial;
  s->trial = pose;
}

// the tried pose becomes the iterate
static void keep(tgSim *s) {
  tgiMinimise *own = tgi_minimise_own(s);
  swap_poses(s);
  memcpy(own->path + (size_t)own->npath++ * (size_t)s->m.nq, s->end.q, (size_t)s->m.nq * sizeof *s->end.q);
}

static double slope(const tgSim *s, const Newton *n) {
  tgReal sum = 0;
  for (int i = 0; i < s->m.nv; i++) sum += n->o.g[i] * n->d[i];
  return tgRe(sum);
}

// what a step is judged by: energy, round-off of it and slope along it where it begins
typedef struct Before { double energy, rounding, fall; } Before;

// within which energies are the same
static double rounding(const Newton *n, const Before *b) { return 16 * fmax(b->rounding, n->o.rounding); }

// the step of that share of d, at whose end the objective is, is accepted
static bool accepted(const tgSim *s, const Newton *n, const Before *b, double share) {
  double energy = tgRe(n->o.energy);
  if (energy <= b->energy + 1e-4 * share * b->fall) return true;
  if (!(energy < INFINITY && energy <= b->energy + rounding(n, b))) return false;
  double there = slope(s, n);
  return fabs(there) <= 0.9 * fabs(b->fall) || (n->leaves && there < 0 && b->fall < 0);   // from a saddle energy falls ever steeper
}

// The part of a refused share that is tried next: where the parabola is least that has both energies and the slope where the step begins, a
// tenth to a half of it. Energies that are the same but for their rounding say nothing: half. An infinite one: a tenth.
static double shorter(const Newton *n, const Before *b, double share) {
  double rise = tgRe(n->o.energy) - b->energy, foretold = share * b->fall;
  if (!(rise > rounding(n, b) && foretold < 0)) return MOST_SHORTER;
  return fmax(LEAST_SHORTER, fmin(MOST_SHORTER, foretold / (2 * (foretold - rise))));
}

// from *share of d, made shorter at most so often, to one that is accepted and kept; 0 where none is
static tgStatus shorten(tgSim *s, Newton *n, const Before *b, int most, double *share) {
  for (int k = 0; k < most; k++, *share *= shorter(n, b, *share)) {
    TG_TRY_OUTCOME(tgi_sim_iterates(s, "step's minimisation"));
    move(s, n, *share);
    bool last = *share == 1 && n->moved < (n->foreseen ? ENDING_FORESEEN : ENDING) && n->expected < ENDED;
    TG_TRY(tgi_objective_evaluate(s, &s->trial, last ? TG_LAW_LAST : 0, &n->o));
    if (!accepted(s, n, b, *share)) continue;
    keep(s);
    return TG_OK;
  }
  *share = 0;
  return TG_OK;
}

// What was foreseen, whole or one shorter part of what is allowed of it, where that is accepted; *share 0: it is not, and d is the step
// before it was.
static tgStatus go_foreseen(tgSim *s, Newton *n, double *share) {
  const Before b = {.energy = tgRe(n->o.energy), .rounding = n->o.rounding, .fall = slope(s, n)};
  *share = 0;
  if (!n->foreseen) return TG_OK;
  TG_TRY(allowed(s, n->d, CUT_FORESEEN, share));
  if (*share < LITTLE) *share = 0;
  else TG_TRY_OUTCOME(shorten(s, n, &b, FEW_SHARES, share));
  if (*share == 0) memcpy(n->d, n->plain, (size_t)s->m.nv * sizeof *n->d);
  return TG_OK;
}

// A step of some share of d, or of the step before it was foreseen, where d is cut on its way or does not fall at once; *stalled: no share
// is accepted, and the iterate stays.
static tgStatus line_search(tgSim *s, Newton *n, bool *stalled) {
  Before b = {.energy = tgRe(n->o.energy), .rounding = n->o.rounding, .fall = 0};
  const tgReal *plain = n->foreseen ? n->plain : n->d;
  double share;
  for (int i = 0; i < s->m.nv; i++) b.fall += tgRe(n->o.g[i] * plain[i]);
  TG_TRY_OUTCOME(go_foreseen(s, n, &share));
  if (share > 0) return TG_OK;
  TG_TRY(allowed(s, n->d, CUT, &share));
  TG_TRY_OUTCOME(shorten(s, n, &b, MOST_SHARES, &share));
  *stalled = share == 0;
  return *stalled ? tgi_objective_evaluate(s, &s->end, 0, &n->o) : TG_OK;
}

// the iterate's next Newton step, bettered by how the forces of its terms grow
static tgStatus next_step(tgSim *s, Newton *n) {
  const tgiMinimise *own = tgi_minimise_own(s);
  TG_TRY(newton_step(s, n));
  return tgi_objective_foresee(s, &s->end, &own->pattern, own->step_H, n->o.g, own->step_L, n->d);
}

// The iterate goes as far along d as the energy that the law foresees falls, and d is the next step there. *ends: it does not fall, or
// there is no next step. *left: evaluations before the last round.
static tgStatus go_round(tgSim *s, Newton *n, int *left, bool *moved, bool *ends) {
  const Before b = {.energy = tgRe(n->o.energy), .rounding = n->o.rounding, .fall = slope(s, n)};
  double share = fmin(1, tgi_joint_share(s, s->end.q, n->d));
  *ends = true;
  if (!(b.fall < 0)) return TG_OK;
  for (int k = 0; k < FEW_HALVINGS; k++, share /= 2) {
    TG_TRY_OUTCOME(tgi_sim_iterates(s, "step's minimisation"));
    move(s, n, share);
    (*left)--;
    TG_TRY(tgi_objective_evaluate(s, &s->trial, TG_LAW_FORESEEN, &n->o));
    if (!accepted(s, n, &b, share)) continue;
    swap_poses(s);
    *moved = true;
    tgError before_it = s->error;
    tgStatus status = next_step(s, n);
    *ends = status != TG_OK;
    if (!*ends || status == TG_ERR_CAPACITY) return status;
    s->error = before_it;   // the step does not fail by a guess
    return TG_OK;
  }
  return TG_OK;
}

// d becomes the way from the iterate to the minimum of what the law foresees there, where that is downhill
static tgStatus foresee(tgSim *s, Newton *n) {
  const tgModel *m = &s->m;
  const tgLaw *law = s->contact_model->kind->law;
  size_t mark = tgi_stack_mark(s), bytes = (size_t)m->nv * sizeof(tgReal);
  n->foreseen = n->uphill = false;
  if (law->foresees == NULL || !law->foresees(s, n->moved * n->size)) return TG_OK;
  tgReal *q = tgi_stack_real(s, (size_t)m->nq), *g = tgi_stack_real(s, (size_t)m->nv), *way = tgi_stack_real(s, (size_t)m->nv);
  if (q == NULL || g == NULL || way == NULL) return no_room(s);
  memcpy(q, s->end.q, (size_t)m->nq * sizeof *q);
  memcpy(g, n->o.g, bytes);
  memcpy(n->plain, n->d, bytes);
  Newton there = *n;
  int left = MOST_FORESEEN;
  bool moved = false, ends = false;
  for (int k = 0; k < MOST_ROUNDS && left > 0 && !ends && there.moved > ROUNDS_END * n->moved; k++)
    TG_TRY_OUTCOME(go_round(s, &there, &left, &moved, &ends));
  tg_model_difference(m, q, s->end.q, way);
  for (int i = 0; i < m->nv; i++) n->d[i] = way[i] + (ends ? 0 : n->d[i]);
  memcpy(n->o.g, g, bytes);
  tgi_kinematics(m, q, &s->end);
  n->foreseen = moved && slope(s, n) < 0;
  n->uphill = !moved;
  if (!n->foreseen) memcpy(n->d, n->plain, bytes);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// From where the way that begins with h v0 ends under the terms that the law foresees at q0, or from q0 where these see the energy rise
// on it; else from q0 or, where the energy is lower, from as far along h v0 as is allowed.
static tgStatus start(tgSim *s, Newton *n) {
  int body = -1;
  double share, before;
  tgi_kinematics(&s->m, s->start.q, &s->end);
  tgi_minimise_own(s)->npath = 0;
  TG_TRY(tgi_objective_evaluate(s, &s->end, 0, &n->o));
  if (!(tgRe(n->o.energy) < INFINITY))
    return tgi_error(&s->error, TG_ERR_INVALID, "The step starts where the contact potential is infinite; start with the bodies apart.");
  before = tgRe(n->o.energy);
  for (int d = 0; d < s->m.nv; d++) n->d[d] = n->o.h * s->start.vel[d];
  n->moved = displacement(s, n, n->d, &body) / n->size;
  if (n->moved < CONVERGED) return TG_OK;
  TG_TRY_OUTCOME(foresee(s, n));
  if (n->uphill) return tgi_objective_evaluate(s, &s->end, 0, &n->o);   // the sums at q0 are still there
  TG_TRY_OUTCOME(go_foreseen(s, n, &share));
  if (share > 0) return TG_OK;
  TG_TRY(allowed(s, n->d, CUT, &share));
  move(s, n, share);
  TG_TRY(tgi_objective_evaluate(s, &s->trial, 0, &n->o));
  if (tgRe(n->o.energy) < before) {
    keep(s);
    return TG_OK;
  }
  return tgi_objective_evaluate(s, &s->end, 0, &n->o);
}

// the last steps, whole; stays where one of them is not allowed
static tgStatus polish(tgSim *s, Newton *n) {
  for (int k = 0; k < POLISH && n->definite && n->moved > NOTHING; k++) {
    move(s, n, 1);
    TG_TRY(tgi_objective_evaluate(s, &s->trial, TG_LAW_LAST, &n->o));
    if (tgRe(n->o.energy) < INFINITY) keep(s);
    else TG_TRY(tgi_objective_evaluate(s, &s->end, 0, &n->o));
    TG_TRY(newton_step(s, n));
  }
  return TG_OK;
}

// Steps fall with their squares, by the same factor: after `before` and then n->moved comes the cube of this over the square of that.
// 0: not known.
static void expect(Newton *n, double before) {
  double share = n->moved / before;
  n->expected = share < SWIFT ? n->moved * share * share : 0;
}

static tgStatus minimise(tgSim *s, Newton *n) {
  bool stalled = false;
  double last = INFINITY;
  n->leaves = n->foreseen = false;
  n->expected = 0;
  int most = tgi_watch_cap(&s->watch, MOST_STEPS);
  const tgiMinimise *own = tgi_minimise_own(s);
  TG_TRY(start(s, n));
  for (s->info.iterations = 0;; s->info.iterations++) {
    TG_TRY_OUTCOME(tgi_sim_iterates(s, "step's minimisation"));
    double before = n->moved;
    TG_TRY(newton_step(s, n));
    expect(n, before);
    bool floor = stalled || (last < STALLED && n->moved > last / 2 && n->definite);
    n->leaves = !n->definite && n->moved < SLIGHT && n->moved > last / 2;
    last = n->moved;
    if (n->moved < CONVERGED || (floor && n->moved < STALLED)) {
      TG_TRY(polish(s, n));
      TG_TRY(factor(s, n->o.h));
      s->info.body1 = -1;
      return TG_OK;
    }
    if (stalled || s->info.iterations >= most) break;
    TG_TRY(tgi_objective_foresee(s, &s->end, &own->pattern, own->step_H, n->o.g, own->step_L, n->d));
    TG_TRY_OUTCOME(foresee(s, n));
    TG_TRY_OUTCOME(line_search(s, n, &stalled));
  }
  char label[160];
  return tgi_error(&s->error, TG_NOT_CONVERGED,
                   "The step's minimisation ends after %d Newton steps, the next would be of %.3g of the scene's size, for %s; "
                   "the state is unchanged. Try a smaller step, or a larger weight of the contact potential.",
                   s->info.iterations, n->moved, tgi_model_label(&s->m, TG_THING_BODY, s->info.body1, label,
                                                                 sizeof label));
}

// a joint or tendon at or beyond its limit at q0, by name
static tgStatus within_limits(tgSim *s) {
  const tgModel *m = &s->m;
  for (int i = 0; i < tgi_limit_count(m); i++)
    for (int side = 0; side < 2; side++) {
      tgReal gap, width;
      char label[160];
      if (!tgi_limit(s, i, side, s->start.q, &gap, &width)) continue;
      if (tgRe(gap) > 0 && tgRe(width) > 0) continue;
      tgi_limit_label(m, i, label, sizeof label);
      if (!(tgRe(width) > 0))
        return tgi_error(&s->error, TG_ERR_INVALID,
                         "%s has no room between its limits, inside of which a step under a contact potential must start; fix it, or "
                         "(URDF, where nobody set them) load with --repair.", label);
      return tgi_error(&s->error, TG_ERR_INVALID,
                       "%s is not inside its %s limit (%.6g from it), where a step under a contact potential must "
                       "start; move it inside%s.", label, side == 0 ? "lower" : "upper", tgRe(gap),
                       i < m->njnt ? ": --inside-limits does, and `start: {inside: 0.05}` of a task, and tg_model_inside" : "");
    }
  return TG_OK;
}

tgStatus tgi_minimise_step(tgSim *s, double h) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  Newton n;
  tgi_start_smooth(s);
  s->ncon = s->nrow = s->nisland = 0;
  tgi_minimise_own(s)->mixed = false;
  if (tgi_has_fluid(m))
    return tgi_error(&s->error, TG_ERR_UNSUPPORTED,
                     "A medium (opt_density, opt_viscosity) acts, which a contact model with a potential does not support.");
  if (!take(s, h, &n)) return no_room(s);
  TG_TRY(within_limits(s));
  tgStatus status = s->contact_model->kind->law->begin(s, h);
  if (status != TG_OK) return status;
  TG_TRY(tgi_objective_begin(s, h));
  measure(s, &n);
  status = minimise(s, &n);
  if (status != TG_OK) return status;
  for (int d = 0; d < m->nv; d++) s->end.vel[d] = n.o.joints.delta[d] / h;
  tgi_stack_free(s, mark);
  return TG_OK;
}

// ---- on a tape ----

static size_t record_bytes(const tgSim *s) { return (size_t)s->m.nq * sizeof(tgReal); }
static void record(const tgSim *s, void *to) { memcpy(to, s->end.q, record_bytes(s)); }

// and what is held over the step
static tgStatus terms_at_end(tgSim *s, double h) {
  const tgLaw *law = s->contact_model->kind->law;
  if (law->revisit != NULL) return law->revisit(s, h);
  TG_TRY(law->begin(s, h));
  return law->evaluate(s, &s->end, TG_LAW_ENERGY | TG_LAW_POSE);
}

// one evaluation at the end that is known: the second derivative there, and its factor as the last Newton step made it
static tgStatus revisit(tgSim *s, double h, const void *from) {
  size_t mark = tgi_stack_mark(s);
  Newton n;
  tgi_start_smooth(s);
  s->ncon = s->nrow = s->nisland = 0;
  tgi_minimise_own(s)->mixed = false;
  tgi_minimise_own(s)->npath = -1;
  if (!take(s, h, &n)) return no_room(s);
  memcpy(s->end.q, from, record_bytes(s));
  tgi_kinematics(&s->m, s->end.q, &s->end);
  TG_TRY(terms_at_end(s, h));
  TG_TRY(tgi_objective_begin(s, h));
  measure(s, &n);
  tgi_objective_at_terms(s, &s->end, &n.o);
  TG_TRY(newton_step(s, &n));
  TG_TRY(factor(s, h));
  for (int d = 0; d < s->m.nv; d++) s->end.vel[d] = n.o.joints.delta[d] / h;
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus supports(tgContact *c, tgError *error) {
  if (c->kind->law == NULL || !(c->kind->law->has & TG_LAW_ENERGY))
    return tgi_error(error, TG_ERR_UNSUPPORTED,
                     "The contact model '%s' has no energy, which a step that minimises one needs.", c->kind->word);
  TG_TRY(tgi_minimise_supports(c->model, error));
  return tgi_joint_inertias(c, true, error);
}

// how many arrays there are
#define TG_OWN_REAL(name, rows, cols, unit, producer, text) +1
enum { ARRAYS = 0
#include "step/minimise_fields.def"
};
#undef TG_OWN_REAL

static int arrays(const tgSim *s, tgiArray *list) {
  int n = 0;
#define TG_OWN_REAL(name_, rows_, cols_, unit_, producer_, text_) \
  list[n++] = (tgiArray){offsetof(tgiMinimise, name_), TG_SCALAR_REAL, rows_, cols_, #name_, unit_, producer_, text_};
#include "step/minimise_fields.def"
#undef TG_OWN_REAL
  return n;
}

static void place(tgSim *s, tgLayout *l) {
  const tgModel *m = s->model;
  tgiArray list[ARRAYS];
  tgiPattern counted;
  tgiMinimise *own = s->own = tgi_place(l, 1, sizeof *own);
  tgi_arrays_place(l, s->own, list, arrays(s, list));
  tgReal *path = tgi_place(l, TGI_PATH * (size_t)m->nq, sizeof *path);
  if (own != NULL) own->path = path;
  tgi_pattern_place(own != NULL ? &own->pattern : &counted, m->nv, m->nset, m->set_least, s->cap.nH, l);
  if (own != NULL) tgi_pattern_blocks(&own->pattern, m->dof_setindex);
}

static tgField field(const tgSim *s, int i) {
  tgiArray list[ARRAYS];
  return tgi_arrays_field(s->own, list, arrays(s, list), i);
}

static void label(const tgSim *s, tgGradInfo *info) {
  const tgiMinimise *own = tgi_minimise_own(s);
  if (own->shift > 0) {
    info->label = TG_GRAD_SURROGATE;
    snprintf(info->reason, sizeof info->reason,
             "the step's energy has no strict minimum: its second derivative is taken with %.3g M/h^2 added",
             own->shift);
  }
}

const tgStepper tgi_minimise = {.name = "minimise", .velocity_by_difference = true, .supports = supports,
                                .place = place, .field = field, .step = tgi_minimise_step, .record_bytes = record_bytes,
                                .record = record, .revisit = revisit, .vjp = tgi_minimise_vjp, .touches_vjp = tgi_minimise_touches_vjp,
                                .jacobian = tgi_minimise_jacobian, .label = label, .inside = tgi_minimise_inside,
                                .potential = tgi_minimise_potential};
