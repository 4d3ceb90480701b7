// impulse_impact.c: see impulse_impact.h.
#include "step/impulse_impact.h"

#include <math.h>
#include <string.h>

#include "coll/contacts.h"
#include "contact/islands.h"
#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "sim/row.h"
#include "step/step.h"

// ---- the rows ----

// at rest in the rest of the step, or meeting within touch: not those that have yet to meet
static tgStatus resting_rows(tgSim *s) {
  int8_t *drop = tgi_stack_bytes(s, (size_t)s->cap.nrow + 1);
  if (drop == NULL) return tgi_no_room(s, "impact");
  TG_TRY(tgi_rows(s, &s->start, 0, TGI_ROWS_RESTING));
  for (int i = 0; i < s->nrow; i++)
    drop[i] = tgi_row_pushes(s, i) && tgRe(s->rows->gap[i]) > TG_TOUCH && tgi_row_is_fast(s, &s->start, i, s->start.vel);
  tgi_rows_drop(s, drop);
  return TG_OK;
}

// Restitution of contacts that meet fast enough. What meets at the same time as another would have its impact at a time of its own from
// either side: the derivative, of one time for all, is of neither.
static void bounces(tgSim *s) {
  double least = tgi_impulse_options(s)->restitution_speed;
  int met = 0;
  for (int i = 0; i < s->nrow; i++) {
    if (!tgi_row_pushes(s, i) || !tgi_row_is_fast(s, &s->start, i, s->vhat)) continue;
    if (++met == 2) tgi_rows_between(s, "meets at the same time as another", i);
    if (s->rows->kind[i] != TG_ROW_NORMAL || !tgi_row_closes_faster(s, i, least)) continue;
    s->rows->bounce[i] = s->contact[s->rows->owner[i]].restitution;
  }
}

// ---- energy, by island: of impulses f that take v0 to v, f' J (v0 + v)/2 ----

typedef struct Energies {
  tgReal a, b, c;   // gained by v_c + x (v_e - v_c): a x^2 + b x + c
} Energies;

// impulses and velocities of both problems: f, u = J v_e; f2, u2 = J v_c. By Poisson's law f is of the second phase, after f2.
static Energies energies(const tgSim *s, int island) {
  const tgRows *r = s->rows;
  Energies e = {0};
  for (int k = r->island_adr[island]; k < r->island_adr[island + 1]; k++) {
    int i = r->island_row[k];
    tgReal before = tgi_row_dot(s, r->J, i, s->start.vel), elastic = tgi_row_dot(s, r->J, i, s->end.vel),
           plastic = tgi_row_dot(s, r->J, i, r->mean), df = s->rebounds ? r->f[i] : r->f[i] - r->f2[i];
    e.a += 0.5 * df * (elastic - plastic);
    e.b += 0.5 * (df * (before + plastic) + r->f2[i] * (elastic - plastic));
    e.c += 0.5 * r->f2[i] * (before + plastic);
  }
  return e;
}

// energy that v_e has gained, where that is above rounding; else 0
static double gained(tgSim *s, int island) {
  const tgRows *r = s->rows;
  double gain = 0, scale = 0;
  bool bounces = false;
  for (int k = r->island_adr[island]; k < r->island_adr[island + 1]; k++) {
    int i = r->island_row[k];
    double f = tgRe(r->f[i]), before, more = tgi_row_gain(s, i, f, tgRe(r->b[i]), tgRe(r->w[i]), &before);
    bounces = bounces || tgRe(r->bounce[i]) != 0;
    gain += more;
    scale += fabs(f * before) + fabs(2 * more - f * before);   // of f J v and f J v_e
  }
  if (!bounces) return 0;
  // a bounce of e = 1 keeps the energy for every state near: no edge
  if (fabs(gain) <= 1e-9 * scale && fabs(gain) > 1e-12 * scale)
    tgi_rows_edge(s, "about to gain energy by its bounce", r->island_row[r->island_adr[island]]);
  return gain > 1e-12 * scale ? gain : 0;
}

// The same by Poisson's law.
static double gained_in_phases(tgSim *s, int island) {
  const tgRows *r = s->rows;
  double gain = 0, scale = 0;
  for (int k = r->island_adr[island]; k < r->island_adr[island + 1]; k++) {
    int i = r->island_row[k];
    double f = tgRe(r->f[i] + r->f2[i]), before = tgRe(tgi_row_dot(s, r->J, i, s->start.vel)),
           after = tgRe(tgi_row_dot(s, r->J, i, s->end.vel));
    gain += 0.5 * f * (before + after);
    scale += fabs(f * before) + fabs(f * after);
  }
  if (fabs(gain) <= 1e-9 * scale && fabs(gain) > 1e-12 * scale)
    tgi_rows_edge(s, "about to gain energy by its bounce", r->island_row[r->island_adr[island]]);
  return gain > 1e-12 * scale ? gain : 0;
}

// v+ = v_c + x (v_e - v_c) on the dofs of an island
static void blend(tgSim *s, int island) {
  tgRows *r = s->rows;
  Energies e = energies(s, island);
  tgReal x = 0;
  // x > 0 and not the other root: c <= 0 <= a and a + b + c > 0
  if (tgRe(e.a) > 0) x = (tgSqrt(e.b * e.b - 4 * e.a * e.c) - e.b) / (2 * e.a);
  r->share[island] = x;
  for (int k = r->island_dofadr[island]; k < r->island_dofadr[island + 1]; k++) {
    int d = r->island_dof[k];
    r->after[d] = r->mean[d] + x * (s->end.vel[d] - r->mean[d]);
  }
}

// the second problem: nothing bounces
static tgStatus without_bounces(tgSim *s, const void *record) {
  tgi_rows_select(s, 1);
  memset(s->rows->bounce, 0, (size_t)s->nrow * sizeof *s->rows->bounce);
  memset(s->rows->rate, 0, (size_t)s->nrow * sizeof *s->rows->rate);
  memset(s->rows->drift, 0, (size_t)s->nrow * sizeof *s->rows->drift);
  tgStatus status = tgi_impulse_again(s, record);
  tgi_rows_select(s, 0);
  return status;
}

static tgStatus guard(tgSim *s, const void *record) {
  tgRows *r = s->rows;
  for (int i = 0; i < s->nisland; i++) {
    r->share[i] = gained(s, i) > 0 ? 0 : 1;
    s->guarded = s->guarded || tgRe(r->share[i]) == 0;
  }
  if (!s->guarded) return TG_OK;
  memcpy(r->class2, r->class, (size_t)s->nrow * sizeof *r->class);
  TG_TRY(without_bounces(s, record));
  for (int i = 0; i < s->nisland; i++) {
    if (tgRe(r->share[i]) == 1) continue;
    s->info.ndamped++;
    blend(s, i);
  }
  return TG_OK;
}

// ---- Poisson's law ----

// which rows rebound, in place of a bounce; false: none
static bool take_rebounds(tgSim *s) {
  tgRows *r = s->rows;
  bool any = false;
  for (int i = 0; i < s->nrow; i++) {
    r->rebound[i] = r->bounce[i];
    r->bounce[i] = 0;
    any = any || tgRe(r->rebound[i]) > 0;
  }
  return any;
}

// Both problems are that of the first phase, the second one for good; then that of the second takes the place of the first.
static tgStatus solve_phases(tgSim *s, const void *record) {
  tgRows *r = s->rows;
  const tgRowSolver *k = s->contact_model->kind->rows;
  size_t n = (size_t)s->nrow;
  const void *second = record != NULL ? (const char *)record + k->record_bytes(s) : NULL;
  tgStatus status = tgi_impulse_velocities(s, second);
  if (status != TG_OK) return status;
  memcpy(r->class2, r->class, n * sizeof *r->class);
  status = without_bounces(s, second);
  if (status != TG_OK) return status;
  tgi_rows_mul(s, r->mean, r->b);
  s->rebounds = s->guarded = true;
  status = k->rebound(s, record);
  if (status != TG_OK) return status;
  memcpy(s->end.vel, r->mean, (size_t)s->m.nv * sizeof *s->end.vel);
  tgi_rows_respond(s, r->f, s->end.vel);
  memcpy(r->after, s->end.vel, (size_t)s->m.nv * sizeof *s->end.vel);
  for (int i = 0; i < s->nisland; i++) {
    r->share[i] = 1;
    if (!(gained_in_phases(s, i) > 0)) continue;
    s->info.ndamped++;
    blend(s, i);
  }
  return TG_OK;
}

static tgStatus phases(tgSim *s, const void *record) {
  bool shared = s->nothing_shared;
  int dense = s->dense_rows;
  s->nothing_shared = true;   // the second phase takes the place of what the second problem would share
  s->dense_rows = 1 << 24;    // its rows are made of those of the matrix
  tgStatus status = solve_phases(s, record);
  s->nothing_shared = shared;
  s->dense_rows = dense;
  return status;
}

tgStatus tgi_impact(tgSim *s, const void *record) {
  size_t mark = tgi_stack_mark(s);
  TG_TRY(tgi_impulse_part(s, 0, false));
  TG_TRY(resting_rows(s));
  tgi_stack_free(s, mark);
  bounces(s);
  return tgi_impact_rows(s, record);
}

tgStatus tgi_impact_rows(tgSim *s, const void *record) {
  size_t nv = (size_t)s->m.nv;
  s->guarded = s->rebounds = false;
  if (s->nrow > 0 && tgi_impulse_options(s)->restitution_law == TG_RESTITUTION_POISSON && take_rebounds(s)) return phases(s, record);
  if (s->nrow > 0) {
    tgStatus status = tgi_impulse_velocities(s, record);
    if (status != TG_OK) return status;
  }
  memcpy(s->rows->after, s->end.vel, nv * sizeof *s->end.vel);
  if (s->nrow == 0) return TG_OK;
  size_t bytes = s->contact_model->kind->rows->record_bytes(s);
  return guard(s, record != NULL ? (const char *)record + bytes : NULL);
}

// ---- the adjoint ----
//
// dx keeps the energy:  with d = v_e - v_c and G = v+' M v+/2 - v' M v/2 = 0,
//   (d' M v+) dx = -[(M v+)' ((1 - x) dv_c + x dv_e) - (M v)' dv + (v+ - v)' dM (v+ + v)/2].

typedef struct Split {
  tgReal *elastic, *plastic;   // of v_e and v_c
  tgReal *w, *change;          // of w' dM (v+ - v)
  const tgReal *told;          // nrow: a gradient in the impulses f2 + x (f - f2), of phases f2 + x f; NULL: none
  tgReal *force[2];            // what that is in f and f2; NULL with told
} Split;

// what gv is in v_e, v_c, v and M, on the dofs of an island that the guard has changed
static void split_island(const tgSim *s, int island, const tgReal *Mafter, const tgReal *Mbefore, Split *p, tgReal *gv) {
  const tgRows *r = s->rows;
  const int *dof = r->island_dof + r->island_dofadr[island];
  int n = r->island_dofadr[island + 1] - r->island_dofadr[island];
  tgReal x = r->share[island], slope = 0, late = 0;
  for (int k = 0; k < n; k++) {
    tgReal d = s->end.vel[dof[k]] - r->mean[dof[k]];
    slope += d * Mafter[dof[k]];
    late += d * p->elastic[dof[k]];
  }
  for (int k = r->island_adr[island]; k < r->island_adr[island + 1] && p->told != NULL; k++) {
    int i = r->island_row[k];
    late += p->told[i] * (s->rebounds ? r->f[i] : r->f[i] - r->f2[i]);
  }
  tgReal weight = -late / slope;
  for (int k = 0; k < n; k++) {
    int d = dof[k];
    tgReal g = p->elastic[d] + weight * Mafter[d];
    p->elastic[d] = x * g;
    p->plastic[d] = (1 - x) * g;
    gv[d] -= weight * Mbefore[d];
    p->w[d] = 0.5 * weight * (r->after[d] + s->start.vel[d]);
  }
}

static void exchange(tgReal *a, tgReal *b, int n) {
  for (int i = 0; i < n; i++) {
    tgReal kept = a[i];
    a[i] = b[i];
    b[i] = kept;
  }
}

// What the second phase, whose gradient in impulses that are given is `forced`, has of p = e f: in f, and in e.
static void rebound_vjp(const tgSim *s, const tgReal *forced, tgReal *force, tgReal *share) {
  const tgRows *r = s->rows;
  const tgRowSolver *k = s->contact_model->kind->rows;
  for (int i = 0; i < s->nrow; i++) share[i] = tgRe(r->rebound[i]) > 0 && !k->presses(r->class[i]) ? forced[i] : 0;
  for (int i = 0; i < s->nrow; i++) {
    int up = r->kind[i] == TG_ROW_TANGENT ? r->parent[i] : -1;
    if (up >= 0 && tgRe(r->rebound[up]) > 0 && !k->presses(r->class[up]) && tgRe(r->limit[i]) > 0)
      share[up] += k->side(s, i) * r->limit[i] * forced[i];
  }
  for (int i = 0; i < s->nrow; i++) {
    force[i] = r->rebound[i] * share[i];
    share[i] *= r->f2[i];
  }
}

// of v_e by the second phase, which starts at v_c, and of v_c and the impulses of the first
static tgStatus phases_vjp(tgSim *s, const Split *p, const tgiAdjoint *o) {
  const tgReal *elastic = p->elastic, *plastic = p->plastic;
  int nv = s->m.nv;
  size_t n = (size_t)s->nrow;
  tgReal *gv = tgi_stack_real(s, (size_t)nv + 1), *forced = tgi_stack_real(s, 3 * n + 1), *force = forced + n, *share = force + n;
  if (gv == NULL || forced == NULL) return tgi_no_room(s, "adjoint");
  memcpy(gv, plastic, (size_t)nv * sizeof *gv);
  tgiAdjoint late = *o, early = *o;
  late.gv = gv;
  late.forced = forced;
  late.force = p->force[0];
  late.shape = NULL;
  exchange(s->start.vel, s->rows->mean, nv);
  tgStatus status = tgi_impulse_vjp(s, elastic, &late);
  exchange(s->start.vel, s->rows->mean, nv);
  if (status < 0) return status;
  for (size_t i = 0; i < n && p->force[0] != NULL; i++) forced[i] += p->force[0][i];
  rebound_vjp(s, forced, force, share);
  for (size_t i = 0; i < n && p->force[1] != NULL; i++) force[i] += p->force[1][i];
  if (o->p != NULL) tgi_rows_bounce_parameters(s, share, o->p);
  early.force = force;
  tgi_rows_select(s, 1);
  status = tgi_impulse_vjp(s, gv, &early);
  tgi_rows_select(s, 0);
  return status;
}

// what is told of impulses in those of both problems
static tgStatus split_told(tgSim *s, Split *p) {
  size_t n = (size_t)s->nrow;
  if (p->told == NULL) return TG_OK;
  tgReal *force = tgi_stack_real(s, 2 * n + 1);
  if (force == NULL) return tgi_no_room(s, "adjoint");
  p->force[0] = force;
  p->force[1] = force + n;
  for (size_t i = 0; i < n; i++) {
    tgReal x = s->rows->share[s->rows->island[i]];
    force[i] = x * p->told[i];
    force[n + i] = s->rebounds ? p->told[i] : (1 - x) * p->told[i];
  }
  return TG_OK;
}

// of v_e and v_c, with what is told of their impulses
static tgStatus problems_vjp(tgSim *s, const Split *p, const tgiAdjoint *o) {
  if (p->told == NULL) return tgi_impulse_both_vjp(s, p->elastic, p->plastic, o);
  tgiAdjoint one = *o;
  one.force = p->force[0];
  TG_TRY(tgi_impulse_vjp(s, p->elastic, &one));
  one.force = p->force[1];
  one.shape = NULL;
  tgi_rows_select(s, 1);
  tgStatus status = tgi_impulse_vjp(s, p->plastic, &one);
  tgi_rows_select(s, 0);
  return status;
}

static tgStatus guarded_vjp(tgSim *s, const tgReal *gv, const tgiAdjoint *o) {
  size_t nv = (size_t)s->m.nv;
  tgReal *a = tgi_stack_real(s, 6 * nv);
  if (a == NULL) return tgi_no_room(s, "adjoint");
  memset(a, 0, 6 * nv * sizeof *a);
  Split p = {.elastic = a, .plastic = a + nv, .w = a + 2 * nv, .change = a + 3 * nv, .told = o->force};
  memcpy(p.elastic, gv, nv * sizeof *gv);
  tgi_mass_mul(s, s->rows->after, a + 4 * nv);
  tgi_mass_mul(s, s->start.vel, a + 5 * nv);
  for (int i = 0; i < s->nisland; i++)
    if (tgRe(s->rows->share[i]) != 1) split_island(s, i, a + 4 * nv, a + 5 * nv, &p, o->gv);
  for (size_t d = 0; d < nv; d++) p.change[d] = s->rows->after[d] - s->start.vel[d];
  TG_TRY(tgi_impulse_mass_vjp(s, p.w, p.change, o));
  TG_TRY(split_told(s, &p));
  return s->rebounds ? phases_vjp(s, &p, o) : problems_vjp(s, &p, o);
}

tgStatus tgi_impact_vjp(tgSim *s, const tgReal *gv, const tgiAdjoint *o) {
  size_t mark = tgi_stack_mark(s);
  tgStatus status = s->guarded ? guarded_vjp(s, gv, o) : tgi_impulse_vjp(s, gv, o);
  tgi_stack_free(s, mark);
  return status;
}
