// nonsmooth.c: where the derivative of a step is one-sided: contacts, limits, bounces and forces at a switch.
#include <stdio.h>

#include "coll/contacts.h"
#include "contact/lcp/scratch.h"
#include "contact/lcp/work.h"

// a tie in gap or speed, relative to 1 m, 1 rad or 1 m/s
static const double tie_gap = 1e-9, tie_speed = 1e-9;

// counts one more; the first is named, and no label need be made for another
static bool unnamed(const tgGradInfo *info) { return info->ties == 0; }
static void add_tie(tgGradInfo *info, const char *what, const char *label) {
  if (info->ties++ > 0) return;
  info->label = TG_GRAD_ONE_SIDED;
  snprintf(info->reason, sizeof info->reason, "%s: %.150s", what, label);
}

// rows are those of what touches at the start of the step
static bool touching(const tgSim *s) { return !s->ahead && tgRe(s->dt) != 0 && tgRe(s->clearance) == 0; }
// a flow with a problem of positions
static bool two_problems(const tgSim *s) { return s->ahead || (tgRe(s->clearance) > 0 && tgRe(s->dt) != 0); }

static void nonsmooth_contacts(const tgSim *s, tgGradInfo *info) {
  const tgModel *m = &s->m;
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    char a[80], b[80], label[190];
    bool at_gap = touching(s) && fabs(tgRe(c->gap) - TG_TOUCH) <= tie_gap;
    // a switch of features matters where there is a force
    bool pressed = c->row >= 0 && tgRe(s->rows->f[c->row]) != 0;
    if (!at_gap && !(c->tie && pressed)) continue;
    if (unnamed(info))
      snprintf(label, sizeof label, "%s and %s", tgi_model_label(m, TG_THING_GEOM, c->geom1, a, sizeof a),
               tgi_model_label(m, TG_THING_GEOM, c->geom2, b, sizeof b));
    add_tie(info, at_gap ? "about to touch or part" : "switch of contact features", label);
  }
}

static void nonsmooth_limits(const tgSim *s, const tgPose *pose, tgGradInfo *info) {
  const tgModel *m = &s->m;
  char label[96];
  for (int j = 0; j < m->njnt; j++) {
    if (!m->jnt_limited[j]) continue;
    tgReal q = pose->q[m->jnt_qadr[j]], axis[3], w[3];
    bool ball = m->jnt_type[j] == TG_JOINT_BALL;
    if (m->jnt_type[j] == TG_JOINT_FREE) continue;
    if (ball) q = tgi_ball_axis(s, pose, j, axis, w);
    for (int side = ball ? 1 : 0; side < 2; side++)
      if (fabs(tgRe(side == 0 ? q - m->jnt_range[2 * j] : m->jnt_range[2 * j + 1] - q) - TG_TOUCH) <= tie_gap)
        add_tie(info, "at the limit", unnamed(info) ? tgi_model_label(m, TG_THING_JOINT, j, label, sizeof label) : NULL);
  }
  for (int t = 0; t < m->ntendon; t++)
    for (int side = 0; side < 2 && m->ten_limited[t]; side++)
      if (fabs(tgRe(side == 0 ? pose->ten_length[t] - m->ten_range[2 * t]
                    : m->ten_range[2 * t + 1] - pose->ten_length[t]) - TG_TOUCH) <= tie_gap)
        add_tie(info, "at the limit", unnamed(info) ? tgi_model_label(m, TG_THING_TENDON, t, label, sizeof label) : NULL);
}

// a restitution that is about to switch on or off
static void nonsmooth_bounces(const tgSim *s, double h, tgGradInfo *info) {
  double g2 = 0;
  for (int i = 0; i < 3; i++) g2 += tgRe(s->m.opt_gravity[i]) * tgRe(s->m.opt_gravity[i]);
  double threshold = fmax(sqrt(g2) * h, tgi_impulse_options(s)->restitution_speed);
  for (int i = 0; i < s->nrow; i++) {
    if (s->rows->kind[i] != TG_ROW_NORMAL || !(tgRe(s->contact[s->rows->owner[i]].restitution) > 0)) continue;
    double speed = tgRe(tgi_row_dot(s, s->rows->J, i, s->vhat));
    char label[200];
    if (fabs(speed + threshold) <= tie_speed)
      add_tie(info, "at the speed where restitution begins", unnamed(info) ? tgi_row_label(s, i, label, sizeof label) : NULL);
  }
}

// How fast row i has to be pushed, at most, for its class to change [m/s or rad/s]; INFINITY where nothing can change it. A force f of the
// row gives its point the speed A_ii f, so forces are judged by A_ii^-1 times the speed.
static double speed_to_switch(const tgSim *s, int i) {
  double Aii = tgRe(tgi_row_diagonal(s, i)), f = tgRe(s->rows->f[i]), w = fabs(tgRe(s->rows->w[i]));
  int cls = s->rows->class[i], kind = s->rows->kind[i];
  if (Aii == 0 || kind == TG_ROW_EQUALITY || cls == TGI_LCP_D) return INFINITY;
  bool again = s->rebounds && s->problem == 0;   // the second phase, whose normals push by their rebound at least
  if (again && kind == TG_ROW_NORMAL) f -= tgRe(s->rows->rebound[i] * s->rows->f2[i]);
  if (kind == TG_ROW_NORMAL || kind == TG_ROW_LIMIT) return cls == TGI_LCP_C ? Aii * fabs(f) : w;
  bool tangent = kind == TG_ROW_TANGENT;
  bool pushed = tangent && again && tgRe(s->rows->f[s->rows->parent[i]]) > 0;
  if (tangent && !pushed && s->rows->class[s->rows->parent[i]] != TGI_LCP_C) return INFINITY;
  double bound = tgRe(s->rows->limit[i]) * (tangent ? tgRe(s->rows->f[s->rows->parent[i]]) : 1);
  if (tgRe(s->rows->limit[i]) == 0) return INFINITY;   // without friction there is nothing to switch
  return cls == TGI_LCP_F ? Aii * fabs(bound - fabs(f)) : w;
}

// Numbers in -0.5 .. 0.5 by chance, of which one vector stands for all. A regular sequence would not do: an arithmetic
// progression is orthogonal to (1, -1, -1, 1), which the four feet of a symmetrical robot have.
static void uneven(tgReal *x, int n) {
  for (int i = 0; i < n; i++) x[i] = tgi_lcp_chance(0, i) - 1;
}

static double largest(const tgReal *x, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(tgRe(x[i])));
  return most;
}

// u (nv) without what the rows that hold in the island let through: J u = 0 of them
static void hold(const tgSim *s, int island, tgReal *u, tgReal *f) {
  const tgiLcpIsland *k = &tgi_lcp_work(s)->island[island];
  const int *row = s->rows->island_row + s->rows->island_adr[island];
  int n = k->problem.n, nk = k->lcp.nk;
  tgReal *fk = f + n;
  for (int a = 0; a < nk; a++) fk[a] = -tgi_row_dot(s, s->rows->J, row[k->lcp.k[a]], u);
  tgi_lcp_apply(&k->lcp, fk, fk);
  tgi_lcp_expand(&k->lcp, fk, f);
  for (int a = 0; a < n; a++) tgi_row_add(s, s->rows->MiJ, row[a], f[a], u);
}

static bool has_bias(const tgSim *s, int i) {
  return tgRe(s->rows->rate[i]) != 0 || tgRe(s->rows->bounce[i]) != 0 || tgRe(s->rows->drift[i]) != 0;
}

// Row i could part or slide and stands still because the others that hold let its bodies no way to move, about this state too: whatever
// is said of it, they stand still. A chance velocity stands for all.
static bool held_by_others(tgSim *s, int i) {
  int island = s->rows->island[i], cls = s->rows->class[i], left = 0;
  const int *span = s->rows->span + 4 * (size_t)i, *row = s->rows->island_row + s->rows->island_adr[island];
  int n = tgi_lcp_work(s)->island[island].problem.n;
  if (cls != TGI_LCP_N && cls != TGI_LCP_H && cls != TGI_LCP_L) return false;
  for (int a = 0; a < n; a++)
    if (has_bias(s, row[a])) return false;
  size_t mark = tgi_stack_mark(s);
  tgReal *u = tgi_stack_real(s, (size_t)s->m.nv), *f = tgi_stack_real(s, 2 * (size_t)n);
  if (u == NULL || f == NULL) return false;
  uneven(u, s->m.nv);
  hold(s, island, u, f);
  for (int side = 0; side < 2; side++)
    for (int d = span[2 * side]; d < span[2 * side + 1]; d++) left += fabs(tgRe(u[d])) > 1e-9;
  tgi_stack_free(s, mark);
  return left == 0;
}

// islands without a block of A: how redundant rows share their forces is held; or they are not those of any classes
static void nonsmooth_splits(const tgSim *s, tgGradInfo *info) {
  char label[200];
  for (int island = 0; island < s->nisland; island++) {
    const tgiLcp *l = &tgi_lcp_work(s)->island[island].lcp;
    int first = s->rows->island_row[s->rows->island_adr[island]];
    if (tgi_lcp_holds_split(l))
      add_tie(info, "held split of redundant forces", unnamed(info) ? tgi_row_label(s, first, label, sizeof label) : NULL);
    if (l->anchored != TGI_AS_ANCHOR) continue;
    info->ties++;
    info->label = TG_GRAD_SURROGATE;
    snprintf(info->reason, sizeof info->reason, "forces that fit, while those of their classes do not, in the island of the %.100s",
             tgi_row_label(s, first, label, sizeof label));
  }
  if (s->nisland == 0 || !tgi_lcp_work(s)->island[0].lcp.scratch->unsolved) return;
  info->ties++;
  info->label = TG_GRAD_SURROGATE;
  snprintf(info->reason, sizeof info->reason, "the derivative of a large island's impulses was solved for to no better than 1e-9");
}

// Ties that the solver finds are relative to the forces and speeds of the problem. Where those are all next to nothing
// (free fall with joints that rest on their limits) a move of 1e-9 m or a push of 1e-9 m/s switches a row all the
// same: the least speed is absolute. A move acts by the share of the gap that a step removes, on the row itself and
// through it on the others.
static void nonsmooth_rows(const tgSim *s, double rate, tgGradInfo *info) {
  const tgiLcpWork *w = tgi_lcp_work(s);
  double least = tie_speed + tie_gap * rate;
  char label[200];
  for (int i = 0; i < s->nrow; i++) {
    if ((w->tie[i] || speed_to_switch(s, i) <= least) && !held_by_others((tgSim *)(uintptr_t)s, i))
      add_tie(info, "contact force at a switch", unnamed(info) ? tgi_row_label(s, i, label, sizeof label) : NULL);
  }
  nonsmooth_splits(s, info);
}

// Redundant rows act on each other without an effect by forces f0, J' f0 = 0. Where that ends as bodies move, so does the redundancy,
// and the split of forces with it: f0' (dJ) u is not 0 for the velocities u that all rows allow. f0 and u by chance stand for all.
static bool rank_moves(tgSim *s, int island) {
  const tgiLcpIsland *k = &tgi_lcp_work(s)->island[island];
  const int *row = s->rows->island_row + s->rows->island_adr[island];
  int n = k->problem.n, nk = k->lcp.nk, nv = s->m.nv;
  if (!k->lcp.deficient) return false;
  size_t mark = tgi_stack_mark(s);
  tgReal *y = tgi_stack_real(s, (size_t)s->nrow), *f = tgi_stack_real(s, 2 * (size_t)n), *fk = f + n,
         *u = tgi_stack_real(s, 2 * (size_t)nv), *g = u + nv;
  if (y == NULL || f == NULL || u == NULL) {
    tgi_stack_free(s, mark);
    return false;
  }
  uneven(u, nv);
  double size = largest(u, nv);   // what is left of u may be nothing but rounding
  hold(s, island, u, f);
  uneven(fk, nk);
  tgi_lcp_project(&k->lcp, fk, fk);
  tgi_lcp_expand(&k->lcp, fk, f);
  for (int i = 0; i < s->nrow; i++) y[i] = 0;
  for (int a = 0; a < n; a++) y[row[a]] = f[a];
  for (int d = 0; d < nv; d++) g[d] = 0;
  tgi_rows_vjp(s, tgi_rows_pose(s), y, u, g, NULL);
  bool moves = largest(g, nv) > 1e-6 * largest(f, n) * size;
  tgi_stack_free(s, mark);
  return moves;
}

static void nonsmooth_redundant(const tgSim *s, tgGradInfo *info) {
  tgSim *sim = (tgSim *)(uintptr_t)s;   // scratch is taken and given back
  char label[200];
  for (int island = 0; island < s->nisland; island++)
    if (rank_moves(sim, island))
      add_tie(info, "redundant only here", unnamed(info) ? tgi_row_label(s, s->rows->island_row[s->rows->island_adr[island]], label,
                                                                         sizeof label) : NULL);
}

// the second problem: of positions, or of an impact
static void nonsmooth_second(const tgSim *s, tgGradInfo *info) {
  tgSim *sim = (tgSim *)(uintptr_t)s;   // the problem is selected and put back
  tgi_rows_select(sim, 1);
  nonsmooth_rows(s, two_problems(s) ? 1 / tgRe(s->dt) : 0, info);
  if (unnamed(info) && s->info.rank_deficient) nonsmooth_redundant(s, info);
  tgi_rows_select(sim, 0);
}

void tgi_lcp_nonsmooth(const tgSim *s, double h, tgGradInfo *info) {
  if (s->nrow > 0) nonsmooth_rows(s, touching(s) ? tgi_impulse_options(s)->erp / h : 0, info);
  if (s->nrow > 0 && touching(s) && unnamed(info) && s->info.rank_deficient) nonsmooth_redundant(s, info);
  if (s->nrow > 0 && (two_problems(s) || (tgRe(s->dt) == 0 && s->guarded))) nonsmooth_second(s, info);
  nonsmooth_contacts(s, info);
  if (s->nedge > 0) {
    if (unnamed(info)) {
      info->label = TG_GRAD_ONE_SIDED;
      snprintf(info->reason, sizeof info->reason, "%.190s", s->edge);
    }
    info->ties += s->nedge;
  }
  if (s->surrogate_part) info->label = TG_GRAD_SURROGATE;
  if (!touching(s)) return;
  nonsmooth_limits(s, &s->start, info);
  nonsmooth_bounces(s, h, info);
}
