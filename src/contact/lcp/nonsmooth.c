// nonsmooth.c: where the derivative of a step is one-sided: contacts, limits, bounces and forces at a switch.
#include <stdio.h>
#include <string.h>

#include "coll/contacts.h"
#include "contact/lcp/held.h"
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

static tgStatus no_room(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the label of the step's derivative; reserve more and repeat.");
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

// The same of friction that is bounded along both tangents together, along the first of which i is: what slides sticks where it slows down.
static double cone_to_switch(const tgSim *s, int i) {
  const tgReal *f = s->rows->f + i, *w = s->rows->w + i;
  int cls = s->rows->class[i];
  if (cls == TGI_LCP_H || cls == TGI_LCP_L) return hypot(tgRe(w[0]), tgRe(w[1]));
  double A = 0.5 * (tgRe(tgi_row_diagonal(s, i)) + tgRe(tgi_row_diagonal(s, i + 1)));
  return A * fabs(tgRe(s->rows->limit[i] * s->rows->f[s->rows->parent[i]]) - hypot(tgRe(f[0]), tgRe(f[1])));
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
  if (tangent && tgi_has_cones(s) && s->rows->part[i] <= 2) return s->rows->part[i] == 1 ? cone_to_switch(s, i) : INFINITY;
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
  for (int a = 0; a < n; a++) f[a] = -tgi_row_dot(s, s->rows->J, row[a], u);
  tgi_lcp_turn(s, island, f);
  for (int a = 0; a < nk; a++) fk[a] = f[k->lcp.k[a]];
  tgi_lcp_apply(&k->lcp, fk, fk);
  tgi_lcp_expand(&k->lcp, fk, f);
  tgi_lcp_turn_back(s, island, f);
  for (int a = 0; a < n; a++) tgi_row_add(s, s->rows->MiJ, row[a], f[a], u);
}

// ---- rows that follow those that hold ----
//
// A tied row i of a class that gives its force, 0 or its bound, stands still. Where J_i = c' J_K of rows K that hold, and that stays so
// about this state, it stands still there too: the classes as they are solve the problem on every side, and v' has its derivative
// whatever is said of the row. It stays so where (dJ_i - c' dJ_K) u = 0 for the velocities u that the held rows let through, else the row
// would bar one of them with next to no lever; and where its velocity, (J_i - c' J_K) v' and biases, has no derivative [math/lcp Labels].
// Chance stands for all velocities u, and for all rows at once.
//
// A normal or limit that is held and has no force may as well be let go, with what sticks on it: where they follow so from the other rows
// that hold, those alone have the same derivative, and solve the problem on every side.

// the second phase of an impact has forces beside those of the classes
static bool has_given(const tgSim *s) { return s->rebounds && s->problem == 0; }

// a tied row of a class that gives its force
static bool may_follow(const tgSim *s, int i) {
  int cls = s->rows->class[i];
  return !has_given(s) && (cls == TGI_LCP_N || cls == TGI_LCP_H || cls == TGI_LCP_L);
}

// With cones a row that turns follows others only as long as it turns with them, and friction has room in a disc: neither is looked at.
static bool is_coned(const tgSim *s, const int8_t *tied, int i) {
  bool friction = s->rows->kind[i] == TG_ROW_TANGENT || s->rows->kind[i] == TG_ROW_FRICTION;
  return tgi_has_cones(s) && tied[i] && (friction || tgi_lcp_turns(s, s->rows->island[i]));
}

// a tied row that is held without a force, or friction that sticks on such
static bool is_idle(const tgSim *s, const int8_t *tied, int i) {
  int kind = s->rows->kind[i], cls = s->rows->class[i];
  if (has_given(s)) return false;
  if (kind == TG_ROW_NORMAL || kind == TG_ROW_LIMIT) return tied[i] && cls == TGI_LCP_C;
  return kind == TG_ROW_TANGENT && cls == TGI_LCP_F && is_idle(s, tied, s->rows->parent[i]);
}

// Friction that slides on a normal without a force would have one with it, however small.
static bool slides_on_idle(const tgSim *s, const int8_t *tied, int i) {
  int cls = s->rows->class[i];
  bool slides = s->rows->kind[i] == TG_ROW_TANGENT && (cls == TGI_LCP_H || cls == TGI_LCP_L) && tgRe(s->rows->limit[i]) > 0;
  return slides && is_idle(s, tied, s->rows->parent[i]);
}

// with the same share of gaps and velocities in their biases: where rows follow among such, gaps do too
static bool alike(const tgRows *r, int i, int j) {
  return tgRe(r->rate[i]) == tgRe(r->rate[j]) && tgRe(r->drift[i]) == tgRe(r->drift[j]) && tgRe(r->bounce[i]) == tgRe(r->bounce[j]);
}

// y (rows of the island) += sum of chance (e_i - c), c' J_K = J_i as well as can be, over the marked rows that are like row `first`, K the
// held ones that are, but for idle ones; they are not marked any more. x: nv and f: n numbers, chosen: n. False: there is no
// factorisation of K.
static bool weigh_group(tgSim *s, int island, int first, const int8_t *tied, int8_t *marked, tgReal *y, tgReal *x, tgReal *f,
                        int8_t *chosen, tgiHeld *k) {
  tgiLcp *l = &tgi_lcp_work(s)->island[island].lcp;
  const int *row = s->rows->island_row + s->rows->island_adr[island];
  for (int d = 0; d < s->m.nv; d++) x[d] = 0;
  for (int a = 0; a < l->n; a++) {
    bool same = alike(s->rows, row[a], first);
    chosen[a] = same && l->kpos[a] >= 0 && !is_idle(s, tied, row[a]);
    if (!same || !marked[row[a]]) continue;
    double chance = tgi_lcp_chance(0, row[a]);
    y[row[a]] += chance;
    tgi_row_add(s, s->rows->MiJ, row[a], chance, x);
    marked[row[a]] = 0;
  }
  if (!tgi_held_choose(k, island, chosen)) return false;
  for (int a = 0; a < k->nk; a++) f[a] = tgi_row_dot(s, s->rows->J, row[k->k[a]], x);
  if (!tgi_held_solve(k, f)) return false;
  for (int a = 0; a < k->nk; a++) y[row[k->k[a]]] -= f[a];
  return true;
}

// x (nv) = sum of y_i share_i J_i, share NULL: of 1; is that nothing but rounding, `least` of the size of y_i J_i and of the shares?
static bool cancels(const tgSim *s, const tgReal *y, const tgReal *share, double least, tgReal *x) {
  double size = 0, most = share != NULL ? 0 : 1;
  for (int d = 0; d < s->m.nv; d++) x[d] = 0;
  for (int i = 0; i < s->nrow; i++) {
    const tgReal *J = tgi_row(s, s->rows->J, i);
    if (y[i] == 0) continue;
    if (share != NULL) most = fmax(most, fabs(tgRe(share[i])));
    tgi_row_add(s, s->rows->J, i, share != NULL ? y[i] * share[i] : y[i], x);
    for (int k = 0, n = tgi_row_length(s, i); k < n; k++) size = fmax(size, fabs(tgRe(y[i] * J[k])));
  }
  return largest(x, s->m.nv) <= least * size * most;
}

// the largest velocity in an island: of x (nv), or before the step's forces
static double island_speed(const tgSim *s, int island, const tgReal *x) {
  double speed = 0;
  for (int a = s->rows->island_dofadr[island]; a < s->rows->island_dofadr[island + 1]; a++) {
    int d = s->rows->island_dof[a];
    speed = fmax(speed, fmax(fabs(tgRe(x[d])), fmax(fabs(tgRe(s->start.vel[d])), fabs(tgRe(s->vhat[d])))));
  }
  return speed;
}

// Velocities of which rounding is all that is left, by the largest of what each is solved for with, are none: between what is close a way
// turns as fast as it is short.
static void without_rounding(const tgSim *s, tgReal *x) {
  for (int island = 0; island < s->nisland; island++) {
    double rounding = 1e-13 * island_speed(s, island, x);
    for (int a = s->rows->island_dofadr[island]; a < s->rows->island_dofadr[island + 1]; a++)
      if (fabs(tgRe(x[s->rows->island_dof[a]])) <= rounding) x[s->rows->island_dof[a]] = 0;
  }
}

// Has y' w, w = J v' + biases, no derivative, and neither y' J u? room: nv for x and g, nrow for the three others
static bool stays(tgSim *s, const tgReal *y, const tgReal *u, tgReal *x, tgReal *g, tgReal *gaps, tgReal *drift, tgReal *bounce) {
  const tgRows *r = s->rows;
  const tgReal *v = s->problem == 0 ? s->end.vel : r->mean;
  double rate = 0;
  if (!cancels(s, y, NULL, 1e-9, x) || !cancels(s, y, r->drift, 1e-9, x) || !cancels(s, y, r->bounce, 1e-9, x)) return false;
  for (int i = 0; i < s->nrow; i++) {
    gaps[i] = y[i] * r->rate[i];
    drift[i] = -y[i] * r->drift[i];
    bounce[i] = y[i] * r->bounce[i];
    if (y[i] != 0) rate = fmax(rate, fabs(tgRe(r->rate[i])));
  }
  for (int d = 0; d < s->m.nv; d++) g[d] = 0;
  for (int d = 0; d < s->m.nv; d++) x[d] = u[d] + v[d];
  double speed = fmax(largest(x, s->m.nv), fmax(largest(s->start.vel, s->m.nv), largest(s->vhat, s->m.nv)));
  without_rounding(s, x);
  const tgiRowProduct term[] = {{y, x}, {drift, s->start.vel}, {bounce, s->vhat}};
  tgi_rows_sum_vjp(s, tgi_rows_pose(s), 3, term, gaps, NULL, g, NULL);
  return largest(g, s->m.nv) <= 1e-9 * largest(y, s->nrow) * (1 + speed + rate);
}

// Tied friction at its bound need not stand still where J_i = c' J_K, of whatever rows K: its velocity is theirs, and whatever force it has
// they take over, -c times its change. v' does not know of it, as long as they have room with each of these rows at either of its bounds:
// forces in between lie in between.

// so many tied rows of an island at most; changes of their forces, with bounds that follow, are found in so many rounds
enum { TIED = 6, ROUNDS = 400 };

typedef struct Tied { int n, nk, at[TIED]; tgiHeld *k; tgReal *c; double *change; } Tied;   // rows in the island; c: n x nk; of f_K

static bool slides_tied(const tgSim *s, int i) {
  bool friction = s->rows->kind[i] == TG_ROW_TANGENT || s->rows->kind[i] == TG_ROW_FRICTION;
  return friction && may_follow(s, i);
}

// where row i of friction has its bound: the place in K of its normal, -1: none there
static int place_above(const tgSim *s, const Tied *t, int i) {
  return s->rows->kind[i] == TG_ROW_TANGENT ? t->k->kpos[s->rows->place[s->rows->parent[i]]] : -1;
}

// the bound of friction row i with those changes
static double bound_of(const tgSim *s, const Tied *t, int i) {
  double B = tgRe(s->rows->limit[i]);
  if (s->rows->kind[i] != TG_ROW_TANGENT) return B;
  int above = place_above(s, t, i);
  return B * (tgRe(s->rows->f[s->rows->parent[i]]) + (above >= 0 ? t->change[above] : 0));
}

// change: of f_K with the tied rows at these bounds. False: none was found.
static bool find_change(const tgSim *s, const Tied *t, const int *row, int sides) {
  double off = 1, size = 0;
  for (int k = 0; k < t->nk; k++) t->change[k] = 0;
  for (int round = 0; round < ROUNDS && off > 1e-9 * size; round++) {
    double go[TIED];
    off = size = 0;
    for (int a = 0; a < t->n; a++) {
      double B = bound_of(s, t, row[t->at[a]]);
      go[a] = (sides >> a & 1 ? B : -B) - tgRe(s->rows->f[row[t->at[a]]]);
      size = fmax(size, fabs(B));
    }
    for (int k = 0; k < t->nk; k++) {
      double change = 0;
      for (int a = 0; a < t->n; a++) change -= tgRe(t->c[a * t->nk + k]) * go[a];
      off = fmax(off, fabs(change - t->change[k]));
      t->change[k] = change;
    }
  }
  return off <= 1e-9 * size;
}

// Are all rows but the tied ones clear of a switch with those changes, and bounds of what slides as they were?
static bool has_room(const tgSim *s, const Tied *t, const int *row, const int8_t *tied) {
  double clear = 0;
  for (int a = 0; a < t->k->n; a++) clear = fmax(clear, 1e-6 * fabs(tgRe(s->rows->f[row[a]])));
  for (int a = 0; a < t->k->n; a++) {
    int i = row[a], kind = s->rows->kind[i], at = t->k->kpos[a];
    bool friction = kind == TG_ROW_TANGENT || kind == TG_ROW_FRICTION;
    double f = tgRe(s->rows->f[i]) + (at >= 0 ? t->change[at] : 0);
    if (at >= 0 && (kind == TG_ROW_NORMAL || kind == TG_ROW_LIMIT) && !(f > clear)) return false;
    if (at >= 0 && friction && !(fabs(f) < bound_of(s, t, i) - clear)) return false;
    int above = at < 0 && friction && !tied[i] ? place_above(s, t, i) : -1;
    if (above >= 0 && fabs(t->change[above]) > 1e-3 * clear) return false;
  }
  return true;
}

// y (rows) += sum of chance (e_i - c) over tied friction of the island. Is there room? t: c and change have room; x: nv.
static bool weigh_friction(tgSim *s, int island, const int8_t *tied, tgReal *y, Tied *t, tgReal *x, int8_t *chosen) {
  tgiLcp *l = &tgi_lcp_work(s)->island[island].lcp;
  const int *row = s->rows->island_row + s->rows->island_adr[island];
  t->n = 0;
  t->nk = l->nk;
  for (int a = 0; a < l->n; a++) {
    chosen[a] = l->kpos[a] >= 0;
    if (!tied[row[a]] || !slides_tied(s, row[a])) continue;
    if (t->n == TIED) return false;
    t->at[t->n++] = a;
  }
  if (!tgi_held_choose(t->k, island, chosen)) return false;
  for (int a = 0; a < t->n; a++) {
    int i = row[t->at[a]];
    double chance = tgi_lcp_chance(0, i);
    tgReal *c = t->c + (size_t)a * (size_t)t->nk;
    for (int d = 0; d < s->m.nv; d++) x[d] = 0;
    tgi_row_add(s, s->rows->MiJ, i, 1, x);
    for (int k = 0; k < t->nk; k++) c[k] = tgi_row_dot(s, s->rows->J, row[t->k->k[k]], x);
    if (!tgi_held_solve(t->k, c)) return false;
    y[i] += chance;
    for (int k = 0; k < t->nk; k++) y[row[t->k->k[k]]] -= chance * c[k];
  }
  bool room = true;
  for (int sides = 0; sides < 1 << t->n && room; sides++) room = find_change(s, t, row, sides) && has_room(s, t, row, tied);
  return room;
}

// Is y' J nothing, and y' (dJ) u? x, g: nv
static bool lets_through(tgSim *s, const tgReal *y, const tgReal *u, tgReal *x, tgReal *g) {
  if (!cancels(s, y, NULL, 1e-9, x)) return false;
  for (int d = 0; d < s->m.nv; d++) g[d] = 0;
  tgi_rows_vjp(s, tgi_rows_pose(s), y, u, g, NULL);
  return largest(g, s->m.nv) <= 1e-9 * largest(y, s->nrow) * (1 + largest(u, s->m.nv));
}

// The tied rows of class N stand still as those that hold do, and the held rows fix the velocities of tied friction?
static tgStatus all_fixed(tgSim *s, const int8_t *tied, bool *fixed) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv, n = (size_t)s->nrow;
  tgReal *u = tgi_stack_real(s, 3 * nv), *y = tgi_stack_real(s, 6 * n), *z = tgi_stack_real(s, n);
  tgiHeld held;
  Tied t = {.k = &held, .c = tgi_stack_real(s, TIED * n), .change = tgi_stack_bytes(s, n * sizeof(double))};
  int8_t *chosen = tgi_stack_bytes(s, 2 * n), *normal = chosen + n;
  bool all = true;
  if (u == NULL || y == NULL || z == NULL || t.c == NULL || t.change == NULL || chosen == NULL || tgi_held_room(s, &held) != TG_OK)
    return no_room(s);
  uneven(u, s->m.nv);
  for (size_t i = 0; i < n && all; i++) {
    y[i] = z[i] = 0;
    all = !tied[i] || (may_follow(s, (int)i) && !is_coned(s, tied, (int)i));
    normal[i] = tied[i] && !slides_tied(s, (int)i);
  }
  for (int island = 0; island < s->nisland && all; island++) {
    const int *row = s->rows->island_row + s->rows->island_adr[island];
    bool any = false, friction = false;
    for (int a = 0; a < tgi_island_rows(s, island); a++) {
      any = any || tied[row[a]];
      friction = friction || (tied[row[a]] && !normal[row[a]]);
    }
    if (any) hold(s, island, u, y + n);
    for (int a = 0; a < tgi_island_rows(s, island) && all; a++)
      if (normal[row[a]]) all = weigh_group(s, island, row[a], tied, normal, y, u + nv, y + n, chosen, &held);
    if (friction && all) all = weigh_friction(s, island, tied, z, &t, u + nv, chosen);
  }
  *fixed = all && stays(s, y, u, u + nv, u + 2 * nv, y + n, y + 2 * n, y + 3 * n) && lets_through(s, z, u, u + nv, u + 2 * nv);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// Do all tied rows stand still as those that hold do, about this state too? marked: bytes for them.
static tgStatus all_follow(tgSim *s, const int8_t *tied, int8_t *marked, bool *follow) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv, n = (size_t)s->nrow;
  tgReal *u = tgi_stack_real(s, 3 * nv), *y = tgi_stack_real(s, 6 * n);
  int8_t *chosen = tgi_stack_bytes(s, n);
  tgiHeld held;
  bool all = true;
  if (u == NULL || y == NULL || chosen == NULL || tgi_held_room(s, &held) != TG_OK) return no_room(s);
  uneven(u, s->m.nv);
  for (size_t i = 0; i < n && all; i++) {
    bool idle = is_idle(s, tied, (int)i);
    y[i] = 0;
    marked[i] = tied[i] || idle;
    all = (!marked[i] || idle || may_follow(s, (int)i)) && !slides_on_idle(s, tied, (int)i) && !is_coned(s, tied, (int)i);
  }
  for (int island = 0; island < s->nisland && all; island++) {
    const int *row = s->rows->island_row + s->rows->island_adr[island];
    bool any = false;
    for (int a = 0; a < tgi_island_rows(s, island) && all; a++) {
      if (!marked[row[a]]) continue;
      if (!any) hold(s, island, u, y + n);
      any = true;
      all = weigh_group(s, island, row[a], tied, marked, y, u + nv, y + n, chosen, &held);
    }
  }
  *follow = all && stays(s, y, u, u + nv, u + 2 * nv, y + n, y + 2 * n, y + 3 * n);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// islands without a block of A: how redundant rows share their forces is held; or they are not those of any classes
static void nonsmooth_splits(const tgSim *s, tgGradInfo *info) {
  char label[200];
  for (int island = 0; island < s->nisland; island++) {
    const tgiLcp *l = &tgi_lcp_work(s)->island[island].lcp;
    int first = s->rows->island_row[s->rows->island_adr[island]];
    if (tgi_lcp_holds_split(s, island))
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
static tgStatus nonsmooth_rows(tgSim *s, double rate, tgGradInfo *info) {
  const tgiLcpWork *w = tgi_lcp_work(s);
  double least = tie_speed + tie_gap * rate;
  char label[200];
  size_t mark = tgi_stack_mark(s), n = (size_t)s->nrow;
  int8_t *tied = tgi_stack_bytes(s, 2 * n), *marked = tied + n;
  int ties = 0;
  if (tied == NULL) return no_room(s);
  for (int i = 0; i < s->nrow; i++) {
    tied[i] = w->tie[i] || speed_to_switch(s, i) <= least;
    ties += tied[i];
  }
  bool follow = ties == 0;
  if (ties > 0 && unnamed(info)) TG_TRY(all_follow(s, tied, marked, &follow));
  if (!follow && unnamed(info)) TG_TRY(all_fixed(s, tied, &follow));
  for (int i = 0; i < s->nrow && !follow; i++)
    if (tied[i])
      add_tie(info, "contact force at a switch", unnamed(info) ? tgi_row_label(s, i, label, sizeof label) : NULL);
  tgi_stack_free(s, mark);
  nonsmooth_splits(s, info);
  return TG_OK;
}

// Do rows that balance, y, go on to agree in what they ask for: does y' of their biases not move with bodies? share: nrow numbers, g: nv.
// Less, by contacts that are not quite in one plane, is within what the solver leaves.
static bool agree(const tgSim *s, const tgReal *y, tgReal *share, tgReal *g) {
  static const double mixed = 1e-4;
  const tgRows *r = s->rows;
  for (int i = 0; i < s->nrow; i++)
    share[i] = r->kind[i] == TG_ROW_TANGENT || r->kind[i] == TG_ROW_FRICTION ? 0 : r->rate[i];   // they have no gap
  return cancels(s, y, share, mixed, g) && cancels(s, y, r->drift, mixed, g) && cancels(s, y, r->bounce, mixed, g);
}

// Redundant rows act on each other without an effect by forces f0, J_K' f0 = 0. Where that ends as bodies move, so does the redundancy,
// and the split of forces with it: f0' (dJ) u is not 0 for the velocities u that all rows allow. And what the rows ask for must go on to
// agree: where f0 joins normals, which close gaps, with friction, which does not, it ceases to. f0 and u by chance stand for all.
static tgStatus rank_moves(tgSim *s, int island, bool *moves) {
  const tgiLcpIsland *k = &tgi_lcp_work(s)->island[island];
  const int *row = s->rows->island_row + s->rows->island_adr[island];
  int n = k->problem.n, nv = s->m.nv;
  *moves = false;
  if (!k->lcp.deficient) return TG_OK;
  size_t mark = tgi_stack_mark(s);
  tgReal *y = tgi_stack_real(s, 2 * (size_t)s->nrow), *f = tgi_stack_real(s, 2 * (size_t)n), *fk = f + n,
         *u = tgi_stack_real(s, 2 * (size_t)nv), *g = u + nv;
  if (y == NULL || f == NULL || u == NULL) return no_room(s);
  uneven(u, nv);
  double size = largest(u, nv);   // what is left of u may be nothing but rounding
  hold(s, island, u, f);
  uneven(fk, k->lcp.nk);
  bool lost = !tgi_lcp_project_held(&k->lcp, fk, fk);
  for (int i = 0; i < s->nrow; i++) y[i] = 0;
  if (k->problem.sparse != NULL) tgi_lcp_expand(&k->lcp, fk, f);
  for (int a = 0; a < n && k->problem.sparse == NULL; a++) f[a] = k->lcp.kpos[a] >= 0 ? fk[k->lcp.kpos[a]] : 0;
  tgi_lcp_turn_back(s, island, f);
  for (int a = 0; a < n; a++) y[row[a]] = f[a];
  bool apart = !agree(s, y, y + s->nrow, g);
  for (int d = 0; d < nv; d++) g[d] = 0;
  tgi_rows_vjp(s, tgi_rows_pose(s), y, u, g, NULL);
  *moves = lost || apart || largest(g, nv) > 1e-6 * largest(f, n) * size;
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus nonsmooth_redundant(tgSim *s, tgGradInfo *info) {
  char label[200];
  for (int island = 0; island < s->nisland; island++) {
    bool moves;
    TG_TRY(rank_moves(s, island, &moves));
    if (moves)
      add_tie(info, "redundant only here", unnamed(info) ? tgi_row_label(s, s->rows->island_row[s->rows->island_adr[island]], label,
                                                                         sizeof label) : NULL);
  }
  return TG_OK;
}

// the second problem: of positions, or of an impact
static tgStatus nonsmooth_second(tgSim *s, tgGradInfo *info) {
  tgi_rows_select(s, 1);
  tgStatus status = nonsmooth_rows(s, two_problems(s) ? 1 / tgRe(s->dt) : 0, info);
  if (status == TG_OK && unnamed(info) && s->info.rank_deficient) status = nonsmooth_redundant(s, info);
  tgi_rows_select(s, 0);
  return status;
}

// What earlier parts of the step have told comes first: nothing of this one makes that exact again, and its own ties are only counted.
static void begin_with_parts(const tgSim *s, tgGradInfo *info) {
  if (s->nedge == 0) return;
  info->label = TG_GRAD_ONE_SIDED;
  info->ties = s->nedge;
  snprintf(info->reason, sizeof info->reason, "%.190s", s->edge);
}

tgStatus tgi_lcp_nonsmooth(tgSim *s, double h, tgGradInfo *info) {
  begin_with_parts(s, info);
  if (s->nrow > 0) TG_TRY(nonsmooth_rows(s, touching(s) ? tgi_impulse_options(s)->erp / h : 0, info));
  bool second = s->nrow > 0 && (two_problems(s) || (tgRe(s->dt) == 0 && s->guarded));
  bool alike = second && memcmp(s->rows->class, s->rows->class2, (size_t)s->nrow * sizeof *s->rows->class) == 0;   // positions tell then
  if (s->nrow > 0 && !(alike && two_problems(s)) && unnamed(info) && s->info.rank_deficient) TG_TRY(nonsmooth_redundant(s, info));
  if (second) TG_TRY(nonsmooth_second(s, info));
  nonsmooth_contacts(s, info);
  if (s->surrogate_part) {
    info->label = TG_GRAD_SURROGATE;
    snprintf(info->reason, sizeof info->reason, "%.190s", s->edge);
  }
  if (!touching(s)) return TG_OK;
  nonsmooth_limits(s, &s->start, info);
  nonsmooth_bounces(s, h, info);
  return TG_OK;
}
