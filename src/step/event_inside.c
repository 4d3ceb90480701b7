// event_inside.c: the impacts of a step in pieces, and the way along it: where pieces end, and between where the path bends beside
// something near. See event.h.
#include <math.h>

#include "coll/contacts.h"
#include "kin/kinematics.h"
#include "math/d3.h"
#include "step/event.h"
#include "step/impulse_parts.h"
#include "step/inside.h"
#include "step/step.h"

// ---- the way ----

enum { AT = 3, LEGS = 24 };   // poses of a flow that are looked at: its start, middle and end; legs of a flow at most

// Bodies at those poses of the flow in the sim, and how far its middle is from that of the straight way: a vector, and an angle.
typedef struct Way {
  tgiInside *out;
  tgiFlight path;
  double time, last, length;
  tgReal *w, *u, *q;
  double *at, *turn, *bend, *angle;   // AT x nbody x 3, AT x nbody x 4, nbody x 3, nbody
} Way;

static bool take(tgSim *s, Way *k) {
  size_t nv = (size_t)s->m.nv, nbody = (size_t)s->m.nbody;
  k->w = tgi_stack_real(s, nv + 1);
  k->u = tgi_stack_real(s, nv + 1);
  k->q = tgi_stack_real(s, (size_t)s->m.nq + 1);
  k->at = tgi_stack_bytes(s, (7 * AT + 4) * nbody * sizeof *k->at);
  if (k->w == NULL || k->u == NULL || k->q == NULL || k->at == NULL) return false;
  k->turn = k->at + 3 * AT * nbody;
  k->bend = k->turn + 4 * AT * nbody;
  k->angle = k->bend + 3 * nbody;
  return true;
}

// q at a share of the flow
static void place(tgSim *s, Way *k, double share) {
  tgi_flight_at(&s->m, &k->path, share * k->length, k->w, k->u);
  tg_model_integrate(&s->m, s->start.q, k->w, k->q);
}

static void see(tgSim *s, Way *k, int i) {
  size_t nbody = (size_t)s->m.nbody;
  place(s, k, 0.5 * i);
  tgi_kinematics(&s->m, k->q, &s->trial);
  for (size_t x = 0; x < 3 * nbody; x++) k->at[3 * nbody * (size_t)i + x] = tgRe(s->trial.xpos[x]);
  for (size_t x = 0; x < 4 * nbody; x++) k->turn[4 * nbody * (size_t)i + x] = tgRe(s->trial.xquat[x]);
}

// between the middle of the turn from a to b about one axis, and c
static double angle_between(const double a[4], const double b[4], const double c[4]) {
  double m[4], dot = 0, norm = 0, cosine = 0, sine = 0;
  for (int i = 0; i < 4; i++) dot += a[i] * b[i];
  for (int i = 0; i < 4; i++) {
    m[i] = a[i] + (dot < 0 ? -b[i] : b[i]);
    norm += m[i] * m[i];
  }
  for (int i = 0; i < 4; i++) cosine += m[i] * c[i] / sqrt(norm);
  for (int i = 0; i < 4; i++) {
    double off = (cosine < 0 ? -1 : 1) * c[i] - m[i] / sqrt(norm);
    sine += off * off;
  }
  return 4 * asin(fmin(1, 0.5 * sqrt(sine)));
}

static void measure(const tgSim *s, Way *k) {
  size_t nbody = (size_t)s->m.nbody;
  for (size_t b = 0; b < nbody; b++) {
    const double *x = k->at + 3 * b, *p = k->turn + 4 * b;
    for (size_t i = 0; i < 3; i++) k->bend[3 * b + i] = x[3 * nbody + i] - 0.5 * (x[i] + x[6 * nbody + i]);
    k->angle[b] = angle_between(p, p + 8 * nbody, p + 4 * nbody);
  }
}

// how far turning its body takes a point of the geom, per radian; a ball's surface it leaves where it is
static double lever(const tgSim *s, int g) {
  double x[3];
  for (int i = 0; i < 3; i++) x[i] = tgRe(s->m.geom_pos[3 * g + i]);
  return tgi_d3_norm(x) + (s->m.geom_type[g] == TG_GEOM_SPHERE ? 0 : tgRe(s->geom_bound[g]));
}

// by how much the straight way is off across n, at most
static double off_across(const tgSim *s, const Way *k, const int g[2], const double n[3]) {
  double sum = 0, turned = 0;
  for (int i = 0; i < 2; i++) {
    int b = s->m.geom_body[g[i]];
    sum += (i == 0 ? 1 : -1) * tgi_d3_dot(n, k->bend + 3 * b);
    if (k->angle[b] > 0) turned += k->angle[b] * lever(s, g[i]);
  }
  return fabs(sum) + turned;
}

static double off_at_most(const tgSim *s, const Way *k, const int g[2]) {
  double sum = 0;
  for (int i = 0; i < 2; i++) {
    int b = s->m.geom_body[g[i]];
    sum += tgi_d3_norm(k->bend + 3 * b);
    if (k->angle[b] > 0) sum += k->angle[b] * lever(s, g[i]);
  }
  return sum;
}

// spheres about the two are nearer than that at the pose, or one is a plane
static bool are_near(const tgSim *s, const tgPose *pose, const int g[2], double off) {
  double c[2][3], reach = off;
  for (int i = 0; i < 2; i++) {
    if (s->m.geom_type[g[i]] == TG_GEOM_PLANE) return true;
    for (int j = 0; j < 3; j++) c[i][j] = tgRe(pose->geom_xpos[3 * g[i] + j]);
    reach += tgRe(s->geom_bound[g[i]]);
  }
  return tgi_d3_distance(c[0], c[1]) <= reach;
}

// Legs of the flow by what is near at the pose: of n legs each is off by an n^2-th, which is to be half of the gap at most.
static tgStatus legs_at(tgSim *s, const Way *k, const tgPose *pose, double *legs) {
  const tgModel *m = &s->m;
  double least = 0.25 * tgRe(s->clearance);
  for (int p = 0; p < m->npair; p++) {
    int g[2] = {m->pair_geom1[p], m->pair_geom2[p]};
    double off = off_at_most(s, k, g), distance;
    if (off <= 0.5 * least || !are_near(s, pose, g, off)) continue;
    tgContactPoint point[TG_PAIR_POINTS];
    int count = tgi_contacts_of_pair(s, pose, p, tgi_contact_margin(s), point, &distance);
    if (count < 0) return (tgStatus)count;
    for (int i = 0; i < count; i++) {
      double n[3] = {tgRe(point[i].n[0]), tgRe(point[i].n[1]), tgRe(point[i].n[2])}, gap = tgRe(point[i].gap);
      double across = off_across(s, k, g, n);
      if (gap < across) *legs = fmax(*legs, sqrt(across / (0.5 * fmax(gap, least))));
    }
  }
  return TG_OK;
}

static tgStatus add_legs(tgSim *s, Way *k) {
  double legs = 1;
  for (int i = 0; i < AT; i++) see(s, k, i);
  measure(s, k);
  for (int i = 0; i < AT; i++) {
    place(s, k, 0.5 * i);
    tgi_kinematics(&s->m, k->q, &s->trial);
    TG_TRY(legs_at(s, k, &s->trial, &legs));
  }
  int n = (int)fmin(LEGS, ceil(legs));
  for (int i = 1; i < n; i++) {
    double time = k->time + k->length * i / n;
    if (!tgi_inside_apart(s, time, k->last)) continue;
    place(s, k, (double)i / n);
    tgi_inside_add_pose(s, time, k->q, k->out);
    k->last = time;
  }
  return TG_OK;
}

static tgStatus add_poses(tgSim *s, void *ctx) {
  tgiEvents *e = tgi_events(s);
  Way k = {.out = ctx};
  if (!take(s, &k)) return tgi_no_room(s, "poses within a step");
  for (int i = 0; i < e->n; i++) {
    if (i > 0 && tgi_inside_apart(s, k.time, k.last)) {
      tgi_inside_add_pose(s, k.time, tgi_piece_q(s, i), k.out);
      k.last = k.time;
    }
    k.length = tgRe(e->t[i]);
    if (e->piece[i].kind != TGI_PIECE_IMPACT && k.length > 1e-6 * s->h) {
      size_t mark = tgi_stack_mark(s);
      TG_TRY(tgi_piece_load(s, i));
      k.path = tgi_piece_path(s, i, e->s[i]);
      TG_TRY(add_legs(s, &k));
      tgi_stack_free(s, mark);
    }
    k.time += k.length;
  }
  e->loaded = e->made = false;   // contacts in the sim are of other poses
  return TG_OK;
}

// ---- impacts ----

static tgStatus add_impacts(tgSim *s, void *ctx) {
  const tgiEvents *e = tgi_events(s);
  double time = 0;
  for (int k = 0; k < e->n; k++) {
    time += tgRe(e->t[k]);
    if (e->piece[k].kind != TGI_PIECE_IMPACT) continue;
    size_t mark = tgi_stack_mark(s);
    TG_TRY(tgi_piece_load(s, k));
    tgi_inside_add_impact(s, time, ctx);
    tgi_stack_free(s, mark);
  }
  return TG_OK;
}

tgStatus tgi_event_inside(tgSim *s, tgiInside *out) {
  if (out->impacts && tgi_events(s)->n < 2) return TG_OK;
  TG_TRY(tgi_event_revisit(s, out->impacts ? add_impacts : add_poses, out));
  tgi_parts_start_at(s, tgi_piece_q(s, 0), tgi_piece_v(s, 0));
  return TG_OK;
}
