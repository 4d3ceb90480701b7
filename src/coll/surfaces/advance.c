// advance.c: step bound by distances, speeds and swept surfaces. See advance.h.
//
// Based on: [math/collision Step]. In the frame of the last body that two geoms are both carried by, a point of either moves, along the
// path and per unit of alpha, at most at the speed V, and its velocity changes at most at the rate A (chain below). So over a stretch of
// length t:
//   bounds:  the distance falls by at most (V_1 + V_2) t;
//   motion:  every vertex keeps within A t^2/8 of the straight line between its places at the ends, uniformly run through: nothing
//            touches before straight motions come as near as that (sweep.h), in whatever direction the bodies slide.
#include "coll/surfaces/advance.h"

#include <math.h>
#include <string.h>

#include "kin/kinematics.h"

enum { POSE = 12 };
static const double keep = 0.1;    // part of its distance that a pair keeps
static const double nearly = 0.02; // a pair that has no more than this part left to give stops the step

// Bounds on the points of a sphere that a body carries: speed V, rate of velocity A, turning speed.
typedef struct Rates { double V, A, turn; } Rates;

typedef struct Work {
  tgSim *s;
  tgiAdvance *a;
  const tgPose *pose;              // that is looked at: at q, then at the end of the stretch
  const tgReal *d;
  double span;                     // length of the stretch that is looked at
  Rates *geom;                     // ngeom: in the world
  double *lower, *first, *V, *A;   // npair: distance at least, at first listing (-1: not yet), rates of the pair
  int *near, nnear;                // pairs that bounds do not clear
  tgiRigid *geom0, *body0;          // frames at the start of the stretch
  tgReal *q1, *step;
} Work;

// ---- rates

static double length3(const double *x) { return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

// first dof of the group that ends with dof j and moves at once: a rotation, a free joint's translation, else j
static int group_of(const tgModel *m, int j) {
  int joint = m->dof_jnt[j], adr = m->jnt_vadr[joint];
  if (m->jnt_type[joint] == TG_JOINT_FREE && j < adr + 3) return adr;
  return m->dof_grpadr[j];
}

// From the body towards the root, for a group that turns at the rate w about an axis and moves the sphere's centre c at the speed u: a
// point that the dofs below have moved by up to D = V span is no farther from the axis than u/w + r + D, so
//   A += 2 w V + w (u + w (r + D)),  V += u + w (r + D).
// Dofs up to `stop` are left out; d are rates per unit of alpha, at the pose.
static Rates chain(const tgModel *m, const tgPose *pose, const tgReal *d, int body, int stop, const double *c, double r, double span) {
  Rates R = {0, 0, 0};
  for (int j = m->body_lastdof[body]; j > stop;) {
    int from = group_of(m, j);
    double w[3] = {0, 0, 0}, v[3] = {0, 0, 0};
    for (int k = from; k <= j; k++)
      for (int i = 0; i < 3; i++) {
        w[i] += tgRe(d[k]) * tgRe(pose->S[6 * k + i]);
        v[i] += tgRe(d[k]) * tgRe(pose->S[6 * k + 3 + i]);
      }
    double u[3] = {v[0] + w[1] * c[2] - w[2] * c[1], v[1] + w[2] * c[0] - w[0] * c[2], v[2] + w[0] * c[1] - w[1] * c[0]};
    double turn = length3(w), reach = length3(u) + turn * (r + R.V * span);
    R.A += turn * (2 * R.V + reach);
    R.V += reach;
    R.turn += turn;
    j = m->dof_parent[from];
  }
  return R;
}

static const tgiSolid *solid(const Work *w, int g) { return w->a->solid[g].surface != NULL ? w->a->solid + g : NULL; }

// sphere around a geom, world
static double ball(const Work *w, int g, double c[3]) {
  const tgiTreeNumbers *n = w->a->solid[g].number;
  for (int i = 0; i < 3; i++) {
    const tgReal *R = w->pose->geom_xmat + 9 * g + 3 * i;
    c[i] = tgRe(w->pose->geom_xpos[3 * g + i] + R[0] * n->centre[0] + R[1] * n->centre[1] + R[2] * n->centre[2]);
  }
  return tgRe(n->radius[0]);
}

// the last dof that carries both bodies, -1: none
static int common_dof(const tgModel *m, int a, int b) {
  int i = m->body_lastdof[a], j = m->body_lastdof[b];
  while (i != j)
    if (i > j) i = m->dof_parent[i];
    else j = m->dof_parent[j];
  return i;
}

// rates of a geom relative to what carries both; of a plane: of its body's points where the other geom is
static Rates geom_rates(const Work *w, const tgReal *d, int g, int other, int common, double span) {
  double c[3];
  if (common < 0 && solid(w, g) != NULL) return w->geom[g];
  double r = ball(w, solid(w, g) != NULL ? g : other, c);
  return chain(&w->s->m, w->pose, d, w->s->m.geom_body[g], common, c, r, span);
}

// V and A of all pairs for rates d over a stretch of `span`, at the pose. Returns the largest turning speed.
static double pair_rates(Work *w, const tgReal *d, double span) {
  const tgModel *m = &w->s->m;
  double turn = 0, c[3];
  for (int g = 0; g < m->ngeom; g++) {
    if (solid(w, g) == NULL) continue;
    double r = ball(w, g, c);
    w->geom[g] = chain(&w->s->m, w->pose, d, m->geom_body[g], -1, c, r, span);
    turn = fmax(turn, w->geom[g].turn);
  }
  for (int p = 0; p < w->a->npair; p++) {
    int g = w->a->geom1[p], h = w->a->geom2[p], common = common_dof(m, m->geom_body[g], m->geom_body[h]);
    Rates R = geom_rates(w, d, g, h, common, span), Q = geom_rates(w, d, h, g, common, span);
    w->V[p] = R.V + Q.V;
    w->A[p] = R.A + Q.A;
  }
  return turn;
}

// A pair is cleared by bounds (find_near) at first where keep of its distance and V over the step leave some of it. It
// stays so: having moved by V t the bounds of the rest are V (1 - t) at most, for what a group moves at the speed u it
// moves, lower groups having moved the point by D, at u + w D at most, and that is in V. The bounds below are a
// little wider than V, for rounding.
void tgi_advance_reach(tgSim *s, const tgiAdvance *a, const tgPose *from, const tgReal *d, double *reach) {
  const tgModel *m = &s->m;
  const Work w = {.a = (tgiAdvance *)(uintptr_t)a, .s = s, .pose = from};
  double c[3];
  for (int g = 0; g < m->ngeom; g++) {
    if (solid(&w, g) == NULL) {
      reach[g] = m->body_lastdof[m->geom_body[g]] < 0 ? 0 : INFINITY;
      continue;
    }
    double r = ball(&w, g, c), size = fabs(c[0]) + fabs(c[1]) + fabs(c[2]) + r;
    reach[g] = (1 + 1e-6) * chain(m, from, d, m->geom_body[g], -1, c, r, 1).V / (1 - keep) + 1e-9 * size;
  }
}

// ---- distances of one pair

static tgiRigid pose_of(const tgReal *R, const tgReal *p) {
  tgiRigid P;
  for (int i = 0; i < 9; i++) P.R[i] = tgRe(R[i]);
  for (int i = 0; i < 3; i++) P.p[i] = tgRe(p[i]);
  return P;
}
static tgiRigid geom_pose(const tgPose *pose, int g) { return pose_of(pose->geom_xmat + 9 * g, pose->geom_xpos + 3 * g); }
static tgiRigid body_pose(const tgPose *pose, int b) { return pose_of(pose->xmat + 9 * b, pose->xpos + 3 * b); }

// B as seen from A
static tgiRigid seen_from(const tgiRigid *A, const tgiRigid *B) {
  tgiRigid P;
  for (int i = 0; i < 3; i++) {
    P.p[i] = 0;
    for (int k = 0; k < 3; k++) P.p[i] += A->R[3 * k + i] * (B->p[k] - A->p[k]);
    for (int j = 0; j < 3; j++) P.R[3 * i + j] = A->R[i] * B->R[j] + A->R[3 + i] * B->R[3 + j] + A->R[6 + i] * B->R[6 + j];
  }
  return P;
}

static tgiPlane plane_at(const Work *w, const tgiRigid *P) {
  double n[3] = {P->R[2], P->R[5], P->R[8]}, sunk = w->a->sunk;
  tgiPlane plane = {.p = {P->p[0] - sunk * n[0], P->p[1] - sunk * n[1], P->p[2] - sunk * n[2]}, .n = {n[0], n[1], n[2]}};
  return plane;
}

// least of cap and the distance of pair p at the pose
static double distance(const Work *w, int p, double cap) {
  int g = w->a->geom1[p], h = w->a->geom2[p];
  if (solid(w, g) == NULL) {
    int t = g;
    g = h;
    h = t;
  }
  tgiRigid G = geom_pose(w->pose, g), H = geom_pose(w->pose, h);
  if (solid(w, h) == NULL) {
    tgiPlane plane = plane_at(w, &H);
    return fmax(0, tgi_solid_height(solid(w, g), &G, &plane, cap));
  }
  tgiRigid R = seen_from(&G, &H);
  return tgi_solid_distance(solid(w, g), NULL, solid(w, h), &R, cap);
}

// what the spheres around the geoms of pair p leave between them; of a plane, what it leaves to the sphere
static double sphere_gap(const Work *w, int p) {
  int g = w->a->geom1[p], h = w->a->geom2[p];
  double c[3], e[3];
  if (solid(w, g) == NULL || solid(w, h) == NULL) {
    int plane = solid(w, g) == NULL ? g : h;
    tgiRigid P = geom_pose(w->pose, plane);
    double r = ball(w, plane == g ? h : g, c), height = 0;
    for (int i = 0; i < 3; i++) height += P.R[3 * i + 2] * (c[i] - P.p[i]);
    return height + w->a->sunk - r;
  }
  double r = ball(w, g, c) + ball(w, h, e);
  for (int i = 0; i < 3; i++) c[i] -= e[i];
  return length3(c) - r;
}

// ---- one stretch

// what pair p may still give away
static double slack(const Work *w, int p) { return w->lower[p] - keep * (w->first[p] >= 0 ? w->first[p] : w->lower[p]); }

// lists the pairs that might come too near within the stretch, by bounds first, then spheres, then surfaces
static void find_near(Work *w, bool start) {
  w->nnear = 0;
  for (int p = 0; p < w->a->npair; p++) {
    double need = w->V[p] * w->span, *lower = w->lower + p;
    if (need <= 0 || (slack(w, p) >= need && !w->a->plain)) continue;
    *lower = fmax(*lower, (1 - 1e-12) * sphere_gap(w, p));
    if (slack(w, p) < need || w->a->plain) {
      // twice what is needed, so that later calls, which move less, find enough
      double cap = 2 * (need / (1 - keep) + (w->first[p] > 0 ? keep * w->first[p] : 0));
      *lower = distance(w, p, w->a->plain ? INFINITY : cap);
      w->a->queries++;
      if (slack(w, p) < need) {
        if (w->first[p] < 0) w->first[p] = *lower;
        w->near[w->nnear++] = p;
      }
    }
    if (start) w->a->bound[p] = *lower;
  }
}

// the pose looked at becomes that at q1
static void place(Work *w) {
  tgi_kinematics(&w->s->m, w->q1, &w->s->trial);
  w->pose = &w->s->trial;
}

static void keep_frames(Work *w) {
  for (int g = 0; g < w->s->m.ngeom; g++) w->geom0[g] = geom_pose(w->pose, g);
  for (int b = 0; b < w->s->m.nbody; b++) w->body0[b] = body_pose(w->pose, b);
}

// Part of the stretch, in [0, until], that pair p may run, by its straightened motion from the kept frames to the present ones; *enough:
// what bounds allow already.
static double run(const Work *w, int p, double enough, double until) {
  const tgModel *m = &w->s->m;
  int g = w->a->geom1[p], h = w->a->geom2[p], common = common_dof(m, m->geom_body[g], m->geom_body[h]);
  int carrier = common >= 0 ? m->dof_body[common] : 0;
  double bend = 0.125 * w->A[p] * w->span * w->span, gap = keep * w->first[p] + bend;
  if (solid(w, g) == NULL) {
    int t = g;
    g = h;
    h = t;
  }
  tgiRigid C = body_pose(w->pose, carrier), G1 = geom_pose(w->pose, g), H1 = geom_pose(w->pose, h);
  tgiRigid G[2] = {seen_from(w->body0 + carrier, w->geom0 + g), seen_from(&C, &G1)};
  tgiRigid H[2] = {seen_from(w->body0 + carrier, w->geom0 + h), seen_from(&C, &H1)};
  if (solid(w, h) != NULL) return tgi_solid_sweep(solid(w, g), G, solid(w, h), H, gap, 0.05 * slack(w, p), enough, until);
  if (m->body_lastdof[m->geom_body[h]] != common) return enough;   // a plane that moves
  tgiPlane plane = plane_at(w, H);
  return tgi_solid_fall(solid(w, g), G, &plane, gap, until);
}

// The length that all near pairs allow of the stretch; *stopped: one of them has come down to what it keeps, nearly.
static double allowed(Work *w, const tgReal *q, double alpha, bool *stopped) {
  double most = w->span;
  for (int i = 0; i < w->nnear; i++) {
    int p = w->near[i];
    if (slack(w, p) <= nearly * w->first[p]) {
      *stopped = true;
      return 0;
    }
    // the bend takes a quarter of the slack at most
    double limit = slack(w, p) / w->V[p];
    if (!w->a->plain && w->A[p] > 0) limit = fmax(limit, sqrt(2 * slack(w, p) / w->A[p]));
    if (w->a->plain || w->A[p] > 0) most = fmin(most, limit);
  }
  if (w->a->plain) return most;
  w->span = most;
  keep_frames(w);
  for (int i = 0; i < w->s->m.nv; i++) w->step[i] = (alpha + w->span) * w->d[i];
  tg_model_integrate(&w->s->m, q, w->step, w->q1);
  place(w);
  double part = 1;
  for (int i = 0; i < w->nnear; i++) {
    int p = w->near[i];
    double by_bounds = slack(w, p) / (w->V[p] * w->span);
    if (by_bounds >= part) continue;
    double by_motion = run(w, p, by_bounds, part);
    w->a->sweeps++;
    // at by_motion the pair has come down to what it keeps and the bend: near enough when the bend is small
    if (by_motion < part) *stopped = by_motion > by_bounds && 0.125 * w->A[p] * w->span * w->span <= keep * w->first[p];
    part = fmin(part, fmax(by_motion, by_bounds));
  }
  return part * w->span;
}

// ---- the step

// bounds at q from those at a->q
static void carry_bounds(Work *w, const tgReal *q) {
  const tgModel *m = &w->s->m;
  tgiAdvance *a = w->a;
  if (a->known && !a->plain) {
    tg_model_difference(m, a->q, q, w->step);
    pair_rates(w, w->step, 1);
    for (int p = 0; p < a->npair; p++) a->bound[p] = fmax(0, (1 - 1e-12) * (a->bound[p] - w->V[p]));
  } else {
    memset(a->bound, 0, (size_t)a->npair * sizeof *a->bound);
  }
  for (int p = 0; p < a->npair && a->apart != NULL && !a->plain; p++) a->bound[p] = fmax(a->bound[p], a->apart[p]);
  memcpy(a->q, q, (size_t)m->nq * sizeof *q);
  a->known = true;
}

static bool take(Work *w) {
  const tgModel *m = &w->s->m;
  size_t n = (size_t)w->a->npair, g = (size_t)m->ngeom, b = (size_t)m->nbody;
  w->geom = tgi_stack_bytes(w->s, g * sizeof *w->geom);
  w->lower = tgi_stack_bytes(w->s, 4 * n * sizeof *w->lower);
  w->near = tgi_stack_bytes(w->s, n * sizeof *w->near);
  w->geom0 = tgi_stack_bytes(w->s, g * sizeof *w->geom0);
  w->body0 = tgi_stack_bytes(w->s, b * sizeof *w->body0);
  w->q1 = tgi_stack_real(w->s, (size_t)m->nq);
  w->step = tgi_stack_real(w->s, (size_t)m->nv);
  if (w->geom == NULL || w->lower == NULL || w->near == NULL || w->geom0 == NULL || w->body0 == NULL || w->q1 == NULL || w->step == NULL)
    return false;
  w->first = w->lower + n;
  w->V = w->first + n;
  w->A = w->V + n;
  return true;
}

tgStatus tgi_advance(tgSim *s, tgiAdvance *a, const tgPose *from, const tgReal *d, double *fraction) {
  size_t mark = tgi_stack_mark(s);
  const tgReal *q = from->q;
  Work w = {.s = s, .a = a, .pose = from, .d = d};
  if (!take(&w)) {
    tgi_stack_free(s, mark);
    return TG_ERR_CAPACITY;
  }
  a->queries = a->sweeps = 0;
  carry_bounds(&w, q);
  memcpy(w.lower, a->bound, (size_t)a->npair * sizeof *w.lower);
  for (int p = 0; p < a->npair; p++) w.first[p] = -1;
  double alpha = 0;
  bool stopped = false;
  for (a->rounds = 0; a->rounds < TGI_ADVANCE_ROUNDS && !stopped;) {
    w.span = 1 - alpha;
    double turn = pair_rates(&w, d, w.span);
    if (turn * w.span > 1) {   // bounds on far turns are loose: a radian at a time
      w.span = 1 / turn;
      pair_rates(&w, d, w.span);
    }
    find_near(&w, a->rounds++ == 0);
    double asked = w.span, moved = w.nnear > 0 ? allowed(&w, q, alpha, &stopped) : w.span;
    if (moved >= 1 - alpha || (moved == asked && alpha + asked >= 1)) {
      alpha = 1;
      break;
    }
    alpha += moved;
    for (int p = 0; p < a->npair; p++) w.lower[p] = fmax(w.lower[p] - moved * w.V[p], w.first[p] > 0 ? keep * w.first[p] : 0);
    for (int i = 0; i < s->m.nv; i++) w.step[i] = alpha * d[i];
    tg_model_integrate(&s->m, q, w.step, w.q1);
    place(&w);
  }
  tgi_stack_free(s, mark);
  *fraction = alpha;
  return TG_OK;
}
