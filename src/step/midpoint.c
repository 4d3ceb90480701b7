// midpoint.c: a step of a law over a whole step: Newton's method. See midpoint.h.
//
// Based on: [math/damped Solve]. First by the law's easier force (TG_LAW_SOLVE), whole steps, which then gives way to its own; where that
// comes to no end soon, by its own alone, along which the residual is made to fall; where that ends nowhere, along a path of gentler laws
// (tgLaw.soften). The end is told by displacement: a Newton step that moves no dof, weighed by what it carries, by more than round-off.
#include "step/midpoint.h"

#include <string.h>

#include "dyn/dynamics.h"
#include "step/step.h"

enum { MOST_FOLLOWING = 16, MOST_STEPS = 60, FEW_STEPS = 10, MOST_HALVINGS = 40, FEW_HALVINGS = 8 };
#define CONVERGED 1e-14  // displacement of a Newton step, of the scene's size
#define STALLED 1e-10    // the same where round-off stands in the way: steps that no longer halve
#define FOLLOWED 1e-6    // displacement below which the law's own force is taken
#define PACE 0.25        // from one law of a path of gentler ones to the next, which is at 0
#define LEAST_PACE 0.02  // the same where stages are as close as they get
#ifdef TG_COMPLEX
enum { POLISH = 3 };     // imaginary parts follow by one Newton step at converged real parts
#else
enum { POLISH = 0 };
#endif

// the frames at q, q_m and q', with the velocities that their forces go by
static void move(tgSim *s) {
  const tgModel *m = &s->m;
  const tgiMidpoint *own = tgi_midpoint_own(s);
  tgReal *w = own->residual, half = 0.5 * s->h, by = (1 + tgi_midpoint_reflection(s)) / s->h;
  for (int d = 0; d < m->nv; d++) {
    w[d] = half * own->mean_vel[d];
    own->mean_acc[d] = by * (own->mean_vel[d] - s->start.vel[d]);
  }
  tg_model_integrate(m, s->start.q, w, own->work_q);
  tgi_kinematics(m, own->work_q, &s->trial);
  for (int d = 0; d < m->nv; d++) w[d] *= 2;
  tg_model_integrate(m, s->start.q, w, own->work_q);
  tgi_kinematics(m, own->work_q, &s->end);
  tgi_velocities(s, &s->trial, own->mean_vel);
  if (tgi_midpoint_symmetric(s)) {
    tgi_inertias(s, &s->trial);
    tgi_mass_matrix(s, &s->trial);
    return;
  }
  for (int d = 0; d < m->nv; d++) w[d] = (s->start.vel[d] + own->mean_vel[d]) / 2;
  tgi_velocities(s, &s->before, w);
  tgi_velocities(s, &s->end, own->mean_vel);
}

// before the first of these
static void open_poses(tgSim *s) {
  s->ncon = s->nrow = s->nisland = 0;
  tgi_start_smooth(s);
  if (tgi_midpoint_symmetric(s)) return;
  tgi_kinematics(&s->m, s->start.q, &s->before);
  tgi_inertias(s, &s->before);
}

// the residual at V, whose poses are there; and, but for `value`, its derivative. following: by the law's easier force
static tgStatus evaluate(tgSim *s, bool following, bool value) {
  const tgLaw *law = s->contact_model->kind->law;
  unsigned want = value ? 0 : law->has & (TG_LAW_POSE | TG_LAW_VELOCITY | TG_LAW_STEP);
  TG_TRY(law->evaluate(s, &s->trial, want | (following ? TG_LAW_SOLVE : 0)));
  TG_TRY(tgi_midpoint_residual(s));
  return value ? TG_OK : tgi_midpoint_matrix(s);
}

// of the scene, about
static double size_of(const tgSim *s) {
  const tgModel *m = &s->m;
  double size = 0;
  for (int g = 0; g < m->ngeom; g++) {
    const tgReal *x = s->start.geom_xpos + 3 * g;
    if (m->body_lastdof[m->geom_body[g]] < 0) continue;
    size = fmax(size, sqrt(fmax(0, tgRe(tgi_v3_dot(x, x)))) + tgRe(m->geom_rbound[g]));
  }
  return size > 0 ? size : 1;
}

// How far the change dv of V moves what each dof carries, as a root of mean squares; the farthest, and its dof.
static double displacement(tgSim *s, const tgReal *dv, int *dof) {
  const tgModel *m = &s->m;
  double most = 0;
  for (int d = 0; d < m->nv; d++) {
    double inertia = tgRe(*tgi_block_diagonal(m, s->M, d)), mass = tgRe(tgi_midpoint_inertia(s)->crb[TG_INERTIA_SIZE * m->dof_body[d]]);
    double moved = s->h * fabs(tgRe(dv[d])) * (mass > 0 ? sqrt(inertia / mass) : 1);
    if (!(moved > most) && !isnan(moved)) continue;
    most = moved;
    *dof = d;
  }
  return most;
}

// how it goes; the Newton step stands in own->residual, and in step while shares of it are tried. rough: an end within FOLLOWED will do
typedef struct Newton { double size, merit, moved, last; int dof, polish; bool ended, rough; tgReal *step, *from, *rest, *base; } Newton;

static tgStatus not_converged(tgSim *s, const Newton *n) {
  char label[160];
  s->info.body1 = s->m.dof_body[n->dof];
  return tgi_error(&s->error, TG_NOT_CONVERGED,
                   "The step's equation is not solved after %d Newton steps, the last with one of %.3g of the scene's size, for %s; the "
                   "state is unchanged. Try a smaller step, or a larger resting gap.", s->info.iterations, n->moved,
                   tgi_model_label(&s->m, TG_THING_BODY, s->info.body1, label, sizeof label));
}

// square of the residual, over the inertias
static double merit(const tgSim *s) {
  double sum = 0;
  for (int d = 0; d < s->m.nv; d++) {
    double r = tgRe(tgi_midpoint_own(s)->residual[d]);
    sum += r * r / tgRe(tgi_block_row(&s->m, s->M, d)[d]);
  }
  return sum;
}

// one evaluation and the Newton step from there, which is not taken; *lost: there is none
static tgStatus look(tgSim *s, bool following, Newton *n, bool *lost) {
  tgiMidpoint *own = tgi_midpoint_own(s);
  TG_TRY_OUTCOME(tgi_sim_iterates(s, "step's equation"));
  s->info.iterations++;
  TG_TRY(evaluate(s, following, false));
  n->merit = merit(s);
  memcpy(n->rest, own->residual, (size_t)s->m.nv * sizeof(tgReal));
  n->last = n->moved;
  *lost = !tgi_midpoint_factor(s, 0);
  if (*lost) return TG_OK;
  tgi_midpoint_solve_once(s, false, own->residual);
  n->moved = displacement(s, own->residual, &n->dof) / n->size;
  s->info.residual = n->moved;
  *lost = !(n->moved < INFINITY);
  // what the easier force leaves at the first look by the law's own is no error of second order yet: derivatives see a stiff law there
  double enough = n->rough ? FOLLOWED : n->last < INFINITY ? CONVERGED : CONVERGED / 10;
  bool floor = n->moved < enough || (n->moved < STALLED && n->moved > n->last / 4);
  n->ended = !following && floor && n->polish-- == 0;
  return TG_OK;
}

// V = from - share step, the share halved until the law can be trusted there, with the poses there
static double take_step(tgSim *s, const tgReal *from, const tgReal *step, double share) {
  const tgLaw *law = s->contact_model->kind->law;
  for (int k = 0;; k++, share /= 2) {
    for (int d = 0; d < s->m.nv; d++) tgi_midpoint_own(s)->mean_vel[d] = from[d] - share * step[d];
    move(s);
    if (k == MOST_HALVINGS || law->trusted == NULL || law->trusted(s)) return share;
  }
}

// V of the step that is tried, and the step
static void keep(tgSim *s, Newton *n) {
  size_t bytes = (size_t)s->m.nv * sizeof(tgReal);
  memcpy(n->from, tgi_midpoint_own(s)->mean_vel, bytes);
  memcpy(n->step, tgi_midpoint_own(s)->residual, bytes);
}

// whole steps from where V is, the first of them by the law's easier force; not ended where these lead nowhere
static tgStatus follow(tgSim *s, Newton *n) {
  bool following = (s->contact_model->kind->law->has & TG_LAW_SOLVE) != 0, lost;
  n->moved = INFINITY;
  n->polish = POLISH;
  for (int k = 0, most = tgi_watch_cap(&s->watch, MOST_FOLLOWING); k < most; k++) {
    TG_TRY_OUTCOME(look(s, following, n, &lost));
    if (n->ended || lost) return TG_OK;
    if (following && n->moved < FOLLOWED) {
      n->ended = n->rough;
      if (n->ended) return TG_OK;
      following = false;
      n->moved = INFINITY;
      most = k + tgi_watch_cap(&s->watch, MOST_FOLLOWING);
    }
    keep(s, n);
    take_step(s, n->from, n->step, 1);
  }
  return TG_OK;
}

// own->residual = (F_V + ease M/h)^-1 of the residual that is kept in n->rest; false: no factors
static bool eased(tgSim *s, const Newton *n, double ease) {
  tgiMidpoint *own = tgi_midpoint_own(s);
  memcpy(own->residual, n->rest, (size_t)s->m.nv * sizeof(tgReal));
  if (!tgi_midpoint_factor(s, ease / s->h)) return false;
  tgi_midpoint_solve_once(s, false, own->residual);
  return true;
}

// V by a share of the step, halved a few times until the residual falls; any: whether or not
static tgStatus line_search(tgSim *s, const Newton *n, bool any, bool *better) {
  double share = 1;
  *better = any;
  for (int k = 0; k < FEW_HALVINGS; k++, share /= 2) {
    TG_TRY_OUTCOME(tgi_sim_iterates(s, "step's equation"));
    share = take_step(s, n->from, n->step, share);
    TG_TRY(evaluate(s, false, true));
    *better = any || merit(s) <= (1 - 1e-2 * share) * n->merit;
    if (*better) return TG_OK;
  }
  return TG_OK;
}

// By the law's own force alone, with as much inertia more as it takes for the residual to fall: along pseudo-time, where forces are
// stiff and turn with the bodies.
static tgStatus descend(tgSim *s, int most, Newton *n) {
  bool lost;
  double ease = 0;
  n->moved = INFINITY;
  n->polish = POLISH;
  for (int k = 0; k < tgi_watch_cap(&s->watch, most); k++) {
    TG_TRY_OUTCOME(look(s, false, n, &lost));
    if (n->ended) return TG_OK;
    bool better = false;
    memcpy(n->from, tgi_midpoint_own(s)->mean_vel, (size_t)s->m.nv * sizeof(tgReal));
    for (int i = 0; i < MOST_HALVINGS && !better; i++) {
      if (i > 0 || ease > 0 || lost) lost = !eased(s, n, ease);
      if (!lost) {
        memcpy(n->step, tgi_midpoint_own(s)->residual, (size_t)s->m.nv * sizeof(tgReal));
        TG_TRY_OUTCOME(line_search(s, n, ease == 0 && n->moved < STALLED, &better));
      }
      if (!better) ease = fmax(4 * ease, 0.01);
    }
    if (!better) break;
    ease = ease > 0.02 ? ease / 8 : 0;
  }
  return not_converged(s, n);
}

// V = base, no farther from V = 0 than can be trusted
static void start_from(tgSim *s, const tgReal *base, Newton *n) {
  for (int d = 0; d < s->m.nv; d++) {
    n->from[d] = 0;
    n->step[d] = -base[d];
  }
  take_step(s, n->from, n->step, 1);
}

// from V = base: followed, or, where that leads nowhere, as a descent of so many steps
static tgStatus solve(tgSim *s, const tgReal *base, int most, Newton *n) {
  n->ended = false;
  start_from(s, base, n);
  TG_TRY_OUTCOME(follow(s, n));
  if (n->ended) return TG_OK;
  start_from(s, base, n);
  return descend(s, most, n);
}

// By gentler forces first, whose solutions stand off what they keep apart, and from these to the law's own: the way of interior points.
static tgStatus path(tgSim *s, Newton *n) {
  const tgLaw *law = s->contact_model->kind->law;
  size_t bytes = (size_t)s->m.nv * sizeof(tgReal);
  double pace = PACE, reached = 1 + PACE;
  memcpy(n->base, s->start.vel, bytes);
  while (reached > 0) {
    double now = fmax(0, reached - pace);
    law->soften(s, now, reached > 1);
    n->rough = now > 0;
    tgStatus status = solve(s, n->base, MOST_STEPS, n);
    if (status == TG_OK) {
      memcpy(n->base, tgi_midpoint_own(s)->mean_vel, bytes);
      reached = now;
      pace = fmin(PACE, 2 * pace);
    } else {
      if (status != TG_NOT_CONVERGED || reached > 1 || pace <= LEAST_PACE) return status;
      pace /= 2;
    }
  }
  return TG_OK;
}

// The law's own solution from the velocity before the step, else along the path.
static tgStatus newton(tgSim *s) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  Newton n = {.size = size_of(s), .step = tgi_stack_real(s, nv), .from = tgi_stack_real(s, nv),
              .rest = tgi_stack_real(s, nv), .base = tgi_stack_real(s, nv)};
  if (n.step == NULL || n.from == NULL || n.rest == NULL || n.base == NULL) return tgi_no_room(s, "equation");
  if (s->m.nv == 0) {
    move(s);
    return evaluate(s, false, false);
  }
  tgStatus status = solve(s, s->start.vel, FEW_STEPS, &n);
  if (status == TG_NOT_CONVERGED && s->contact_model->kind->law->soften != NULL) {
    status = path(s, &n);
    s->contact_model->kind->law->soften(s, 0, false);
  }
  if (status == TG_OK) s->error = (tgError){.status = TG_OK};
  tgi_stack_free(s, mark);
  return status;
}

// v'
static void finish(tgSim *s) {
  const tgiMidpoint *own = tgi_midpoint_own(s);
  double r = tgi_midpoint_reflection(s);
  for (int d = 0; d < s->m.nv; d++) s->end.vel[d] = own->mean_vel[d] + r * (own->mean_vel[d] - s->start.vel[d]);
}

tgStatus tgi_midpoint_step(tgSim *s, double h) {
  open_poses(s);
  TG_TRY(s->contact_model->kind->law->begin(s, h));
  tgStatus status = newton(s);
  if (status != TG_OK) return status;
  finish(s);
  return TG_OK;
}

// ---- on a tape ----

size_t tgi_midpoint_record_bytes(const tgSim *s) { return (size_t)s->m.nv * sizeof(tgReal); }

void tgi_midpoint_record(const tgSim *s, void *to) { memcpy(to, tgi_midpoint_own(s)->mean_vel, tgi_midpoint_record_bytes(s)); }

tgStatus tgi_midpoint_revisit(tgSim *s, double h, const void *from) {
  memcpy(tgi_midpoint_own(s)->mean_vel, from, tgi_midpoint_record_bytes(s));
  open_poses(s);
  TG_TRY(s->contact_model->kind->law->begin(s, h));
  move(s);
  TG_TRY(evaluate(s, false, false));
  tgi_midpoint_factor(s, 0);   // which it had
  finish(s);
  return TG_OK;
}
