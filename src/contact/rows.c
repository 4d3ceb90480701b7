// rows.c: filling the constraint rows. See rows.h.
//
// Based on: [math/lcp The step]: what is active, the error terms.
#include "contact/rows.h"

#include <stdio.h>
#include <string.h>

#include "coll/contacts.h"
#include "contact/islands.h"
#include "kin/kinematics.h"
#include "math/quat.h"
#include "tangere/base.h"

// ---- where a fixed row is remembered: equalities, joint limits, tendon limits, dofs, tendons ----

int tgi_row_slot(const tgModel *m, const tgSim *s, int row) {
  int owner = s->rows->owner[row], part = s->rows->part[row], limits = 6 * m->neq, tendons = limits + 2 * m->njnt,
      dofs = tendons + 2 * m->ntendon;
  switch ((tgRowKind)s->rows->kind[row]) {
    case TG_ROW_EQUALITY: return 6 * owner + part;
    case TG_ROW_LIMIT: return part < 2 ? limits + 2 * owner + part : tendons + 2 * owner + part - 2;
    case TG_ROW_FRICTION: return part == 0 ? dofs + owner : dofs + m->nv + owner;
    default: return -1;
  }
}

static void remember_fixed(tgSim *s) {
  for (int i = 0; i < s->nrow; i++) {
    int slot = tgi_row_slot(&s->m, s, i);
    if (slot >= 0) s->rows->mem_row[slot] = tgi_row_to_remember(s, i);
  }
}

void tgi_rows_remember(tgSim *s) {
  for (int i = 0; i < tgi_fixed_rows(&s->m); i++) s->rows->mem_row[i] = 0;
  remember_fixed(s);
  tgi_contacts_remember(s);
}

void tgi_rows_warm(tgSim *s) {
  remember_fixed(s);
  for (int i = 0; i < s->ncon; i++)
    if (s->contact[i].row >= 0) tgi_contacts_warm(s, &s->contact[i]);
}

// ---- one row ----

// opens a row with J = 0 on the dofs that it acts on; -1 when the rows are full (counted all the same)
static int open_row(tgSim *s, tgRowKind kind, int owner, int part, tgReal limit, tgReal gap) {
  const tgModel *m = &s->m;
  int i = s->nrow++;
  if (i >= s->cap.nrow) return -1;
  s->rows->kind[i] = (int)kind;
  s->rows->owner[i] = owner;
  s->rows->part[i] = part;
  s->rows->parent[i] = -1;
  s->rows->limit[i] = limit;
  s->rows->gap[i] = gap;
  s->rows->bounce[i] = s->rows->rate[i] = s->rows->drift[i] = 0;
  s->rows->kept[i] = s->rows->kept2[i] = 0;
  int slot = tgi_row_slot(m, s, i);
  tgi_row_recall(s, i, slot >= 0 ? s->rows->mem_row[slot] : 0);
  tgi_row_find_span(s, i);
  memset(tgi_row(s, s->rows->J, i), 0, (size_t)tgi_row_length(s, i) * sizeof *s->rows->J);
  return i;
}

// the number of an open row for a dof that it acts on
static tgReal *entry(tgSim *s, int row, int dof) { return tgi_row(s, s->rows->J, row) + tgi_row_place(s, row, dof); }

// row += sign S_d . screw for the dofs that move the body
static void add_screw(tgSim *s, const tgPose *pose, int body, const tgReal screw[6], tgReal sign, int row) {
  const tgModel *m = &s->m;
  int last = m->body_lastdof[body];
  if (last < 0) return;
  tgReal *at = entry(s, row, last);
  for (int d = last; d >= 0; d = m->dof_parent[d]) at[d - last] += sign * tgi_sp_dot(pose->S + 6 * d, screw);
}

// May there be a row, before its numbers are known: in a pinned step, where the memory has it, at any gap.
static bool may_act(const tgSim *s, tgRowRule rule, tgReal gap, int remembered) {
  return s->pinned ? remembered != 0 : rule != TGI_ROWS_TOUCHING || tgRe(gap) <= TG_TOUCH;
}

// of gaps, relative to 1 m, and of speeds, relative to 1 m/s, as those of the label
static const double tie = 1e-9;

static void name_edge(tgSim *s, const char *what, int row) {
  char label[150] = "";
  if (row >= 0) tgi_row_label(s, row, label, sizeof label);
  snprintf(s->edge, sizeof s->edge, "%.40s%s%s", what, row >= 0 ? ": " : "", label);
}

void tgi_rows_edge(tgSim *s, const char *what, int row) {
  if (s->nedge++ == 0) name_edge(s, what, row);
}

void tgi_rows_between(tgSim *s, const char *what, int row) {
  s->nedge++;
  if (!s->surrogate_part) name_edge(s, what, row);
  s->surrogate_part = true;
}

double tgi_gravity(const tgSim *s) {
  double g2 = 0;
  for (int i = 0; i < 3; i++) g2 += tgRe(s->m.opt_gravity[i]) * tgRe(s->m.opt_gravity[i]);
  return sqrt(g2);
}

// Between bodies that fall together smooth forces change no gap, contacts with others do: as fast as weight would.
static double speed_of_forces(const tgSim *s, int row, tgReal surge) {
  double smooth = fabs(tgRe(surge));
  return s->rows->kind[row] == TG_ROW_NORMAL ? fmax(smooth, tgi_gravity(s) * s->rest) : smooth;
}

// m/s or rad/s below which nothing is an impact
static const double slowest = 1e-6;

static bool closed(const tgSim *s, tgRowRule rule, int row) {
  double clearance = tgRe(tgi_row_clearance(s, row)), gap = tgRe(s->rows->gap[row]);
  if (rule == TGI_ROWS_HELD) return tgi_row_is_held(s, row);
  if (gap <= TGI_CLOSED * clearance) return true;
  if (rule == TGI_ROWS_CLOSED) return tgi_row_is_held(s, row);
  return tgi_row_pressed(s, row) && gap <= clearance + tgi_gravity(s) * s->h * s->h / 8;
}

// vhat is v0 and the surge
static bool is_whole(const tgSim *s, tgReal h) { return tgRe(h) == s->rest; }

// of a gap that changes at `before` up to the pose ahead, and at `after` in the free motion
static double end_of(double gap, tgReal h, double before, double after) { return gap + tgRe(h) * (after - before); }

static bool closes(double gap, tgReal h, double before, double after, double forces) {
  if (end_of(gap, h, before, after) <= TG_TOUCH) return true;
  // It opens in the free motion, which goes through what stops it: a box that rocks from edge to edge rests on both, and what parts may be
  // thrown back by others.
  return gap - tgRe(h) * before <= TG_TOUCH + tgRe(h) * forces;
}

// Is it, by its numbers.
static bool acts(tgSim *s, tgRowRule rule, tgReal h, int row) {
  tgReal speed = rule == TGI_ROWS_CLOSING ? tgi_row_dot(s, s->rows->J, row, s->start.vel) : 0;
  s->rows->before[row] = speed;
  s->rows->quick[row] = 0;
  if (s->pinned || rule == TGI_ROWS_TOUCHING || rule == TGI_ROWS_NEAR) return true;
  if (rule == TGI_ROWS_CLOSED || rule == TGI_ROWS_RECALLED || rule == TGI_ROWS_HELD) return closed(s, rule, row);
  tgReal surge = tgi_row_dot(s, s->rows->J, row, s->rows->surge);
  double gap = tgRe(s->rows->gap[row]), forces = speed_of_forces(s, row, surge);
  if (rule == TGI_ROWS_RESTING) return gap <= TG_TOUCH + s->rest * forces;
  double before = tgRe(speed), after = tgRe(is_whole(s, h) ? speed + surge : tgi_row_dot(s, s->rows->J, row, s->vhat));
  s->rows->quick[row] = -after > 2 * forces + slowest;
  if (fabs(end_of(gap, h, before, after) - TG_TOUCH) <= tie) tgi_rows_edge(s, "about to close or to stay open", row);
  return closes(gap, h, before, after, forces);
}

// The limit of a hinge or slide, whose speed is sign v_dof, is none that acts: without a row it is told as acts tells it with one.
static bool keeps_clear(const tgSim *s, tgRowRule rule, tgReal h, double gap, double sign, int dof) {
  if (rule != TGI_ROWS_CLOSING || s->pinned) return false;
  double before = sign * tgRe(s->start.vel[dof]), surge = sign * tgRe(s->rows->surge[dof]);
  double after = is_whole(s, h) ? before + surge : sign * tgRe(s->vhat[dof]);
  return !closes(gap, h, before, after, fabs(surge)) && end_of(gap, h, before, after) - TG_TOUCH > tie;
}

// Keeps the limit's row that was opened last, or takes it back.
static void settle(tgSim *s, tgRowRule rule, tgReal h, int row) {
  if (row >= 0 && !acts(s, rule, h, row)) s->nrow--;
}

// ---- equalities ----

// Both velocities are those at one point, so that forces are equal and opposite there: a turn of both bodies together, which turns the
// error, is no rate of it, and impulses have no torque.
static void bond_rows(tgSim *s, const tgPose *pose, int eq) {
  tgiBond k;
  tgi_bond(s, pose, eq, &k);
  tgReal turn[3];
  tgi_m3_mulv(turn, k.Rb, k.theta);
  for (int part = 0; part < (k.weld ? 6 : 3); part++) {
    int i = part % 3;
    // error: anchors a - b; rotation -R_b theta, which grows as omega_a - omega_b
    int row = open_row(s, TG_ROW_EQUALITY, eq, part, 0, part < 3 ? k.pa[i] - k.pb[i] : -turn[i]);
    if (row < 0) continue;
    tgReal d[3] = {0, 0, 0}, screw[6];
    d[i] = 1;
    if (part < 3) tgi_sp_screw(screw, k.p, d); else { tgi_v3_copy(screw, d); tgi_v3_zero(screw + 3); }
    add_screw(s, pose, k.a, screw, 1, row);
    add_screw(s, pose, k.b, screw, -1, row);
  }
}

static void tie_row(tgSim *s, const tgPose *pose, int eq) {
  tgiTie t;
  tgReal coef;
  tgi_tie(&s->m, eq, pose->q, &t);
  int row = open_row(s, TG_ROW_EQUALITY, eq, 0, 0, t.error);
  for (int k = 0; k < tgi_tie_entries(&t) && row >= 0; k++) {
    int dof = tgi_tie_entry(&s->m, &t, k, &coef);
    *entry(s, row, dof) += coef;
  }
}

static void equality_rows(tgSim *s, const tgPose *pose) {
  const tgModel *m = &s->m;
  for (int e = 0; e < m->neq; e++) {
    if (!m->eq_active[e]) continue;
    if (tgi_is_tie(m, e)) tie_row(s, pose, e); else bond_rows(s, pose, e);
  }
}

// ---- limits ----

tgReal tgi_ball_axis(const tgSim *s, const tgPose *pose, int jnt, tgReal axis[3], tgReal w[3]) {
  tgReal q[4];
  for (int i = 0; i < 4; i++) q[i] = pose->q[s->m.jnt_qadr[jnt] + i];
  tgi_quat_normalize(q);
  tgi_quat_log(w, q);
  return tgi_v3_unit(axis, w);
}

tgReal tgi_limit_inside(const tgSim *s, const tgPose *pose, int owner, int part, tgReal axis[3]) {
  const tgModel *m = &s->m;
  bool tendon = part >= 2;
  const tgReal *range = (tendon ? m->ten_range : m->jnt_range) + 2 * owner;
  tgReal x, w[3];
  if (tendon) x = pose->ten_length[owner];
  else if (m->jnt_type[owner] == TG_JOINT_BALL) x = tgi_ball_axis(s, pose, owner, axis, w);
  else x = pose->q[m->jnt_qadr[owner]];
  return part % 2 == 1 ? range[1] - x : x - range[0];
}

double tgi_row_past_limit(const tgSim *s, int row) {
  int owner = s->rows->owner[row], part = s->rows->part[row];
  tgReal axis[3];
  if (s->rows->kind[row] != TG_ROW_LIMIT || (part >= 2 && tgi_is_spatial(&s->m, owner))) return 0;
  return -tgRe(tgi_limit_inside(s, &s->start, owner, part, axis));
}

static void joint_limit_rows(tgSim *s, const tgPose *pose, int j, tgRowRule rule, tgReal h) {
  const tgModel *m = &s->m;
  int d = m->jnt_vadr[j];
  const int *known = s->rows->mem_row + 6 * m->neq + 2 * j;
  const tgReal *range = m->jnt_range + 2 * j;
  if (m->jnt_type[j] == TG_JOINT_BALL) {
    // gap = largest - |w|, d|w|/dq = w/|w| because Jr(w) w = w
    tgReal axis[3], w[3], gap = range[1] - tgi_ball_axis(s, pose, j, axis, w) - tgi_clearance_of(s, TG_ROW_LIMIT, j, 1);
    if (!may_act(s, rule, gap, known[1])) return;
    int row = open_row(s, TG_ROW_LIMIT, j, 1, 0, gap);
    if (row >= 0) tgi_v3_scale(entry(s, row, d), axis, -1);
    settle(s, rule, h, row);
    return;
  }
  if (m->jnt_type[j] != TG_JOINT_HINGE && m->jnt_type[j] != TG_JOINT_SLIDE) return;
  tgReal q = pose->q[m->jnt_qadr[j]];
  for (int side = 0; side < 2; side++) {
    tgReal gap = (side == 0 ? q - range[0] : range[1] - q) - s->limit_clearance;
    if (!may_act(s, rule, gap, known[side]) || keeps_clear(s, rule, h, tgRe(gap), side == 0 ? 1 : -1, d)) continue;
    int row = open_row(s, TG_ROW_LIMIT, j, side, 0, gap);
    if (row >= 0) *entry(s, row, d) = side == 0 ? 1 : -1;
    settle(s, rule, h, row);
  }
}

static void add_tendon(tgSim *s, const tgPose *pose, int t, tgReal sign, int row) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv && tgi_is_spatial(m, t); d++)
    if (tgi_strands_moved(m, t, d)) *entry(s, row, d) += sign * tgi_strands_moment(m, pose, t, d);
  for (int k = m->ten_adr[t]; k < m->ten_adr[t] + m->ten_num[t]; k++) *entry(s, row, m->jnt_vadr[m->wrap_jnt[k]]) += sign * m->wrap_coef[k];
}

static void limit_rows(tgSim *s, const tgPose *pose, tgRowRule rule, tgReal h) {
  const tgModel *m = &s->m;
  for (int j = 0; j < m->njnt; j++)
    if (m->jnt_limited[j]) joint_limit_rows(s, pose, j, rule, h);
  for (int t = 0; t < m->ntendon; t++) {
    if (!m->ten_limited[t]) continue;
    for (int side = 0; side < 2; side++) {
      tgReal gap = (side == 0 ? pose->ten_length[t] - m->ten_range[2 * t] : m->ten_range[2 * t + 1] - pose->ten_length[t]) -
                   tgi_clearance_of(s, TG_ROW_LIMIT, t, 2 + side);
      if (!may_act(s, rule, gap, s->rows->mem_row[6 * m->neq + 2 * m->njnt + 2 * t + side])) continue;
      int row = open_row(s, TG_ROW_LIMIT, t, 2 + side, 0, gap);
      if (row >= 0) add_tendon(s, pose, t, side == 0 ? 1 : -1, row);
      settle(s, rule, h, row);
    }
  }
}

// ---- dry friction: |impulse| <= h frictionloss ----

static void friction_rows(tgSim *s, const tgPose *pose, tgReal h) {
  const tgModel *m = &s->m;
  if (tgRe(h) == 0) return;
  for (int d = 0; d < m->nv; d++) {
    if (!(tgRe(m->dof_frictionloss[d]) > 0)) continue;
    int row = open_row(s, TG_ROW_FRICTION, d, 0, h * m->dof_frictionloss[d], 0);
    if (row >= 0) *entry(s, row, d) = 1;
  }
  for (int t = 0; t < m->ntendon; t++) {
    if (!(tgRe(m->ten_frictionloss[t]) > 0)) continue;
    int row = open_row(s, TG_ROW_FRICTION, t, 1, h * m->ten_frictionloss[t], 0);
    if (row >= 0) add_tendon(s, pose, t, 1, row);
  }
}

// ---- contacts ----

void tgi_contact_screw(const tgContactRow *c, int part, tgReal screw[6]) {
  const tgReal *dir[3] = {c->n, c->t1, c->t2};
  if (part < 3) {
    tgi_sp_screw(screw, c->p, dir[part]);
    return;
  }
  tgi_v3_copy(screw, dir[part - 3]);   // a couple
  tgi_v3_zero(screw + 3);
}

// restitution acts above max(|g| h, restitution_speed) of approach
static double bounce_speed(const tgSim *s, double h) { return fmax(tgi_gravity(s) * h, tgi_impulse_options(s)->restitution_speed); }

bool tgi_row_closes_faster(const tgSim *s, int row, double speed) {
  return tgRe(tgi_row_dot(s, s->rows->J, row, s->vhat)) < -speed;
}

static int contact_row(tgSim *s, const tgPose *pose, int i, int part, int remembered) {
  const tgModel *m = &s->m;
  tgContactRow *c = &s->contact[i];
  tgReal limit = part == 0 ? 0 : c->friction[tgi_friction_number(s, part - 1)], gap = part == 0 ? c->gap - s->clearance : 0;
  int row = open_row(s, part == 0 ? TG_ROW_NORMAL : TG_ROW_TANGENT, i, part, limit, gap);
  if (row < 0) return row;
  tgReal screw[6];
  tgi_contact_screw(c, part, screw);
  add_screw(s, pose, m->geom_body[c->geom1], screw, 1, row);
  add_screw(s, pose, m->geom_body[c->geom2], screw, -1, row);
  tgi_row_recall(s, row, remembered);
  s->rows->parent[row] = part > 0 ? c->row : -1;
  return row;
}

// the last flow goes into it, turned by the impulses of others
static bool late(const tgSim *s, const tgContactRow *c) {
  for (int k = 0; s->last_flow && k < s->nlate; k++)
    if (s->rows->late[2 * k] == c->pair && s->rows->late[2 * k + 1] == c->feature) return true;
  return false;
}

// rows of a contact, which condim counts, up to the last that has friction
static int rows_of(const tgSim *s, const tgContactRow *c) {
  for (int t = s->m.pair_condim[c->pair] - 2; t >= 0; t--)
    if (tgRe(c->friction[t]) > 0) return t < 2 ? 3 : t == 2 ? 4 : 6;
  return 1;
}

static void contact_rows(tgSim *s, const tgPose *pose, tgReal h, tgRowRule rule) {
  for (int i = 0; i < s->ncon; i++) {
    tgContactRow *c = &s->contact[i];
    int cls[6], first = s->nrow;
    tgi_contacts_recall(s, c, cls);
    if (!may_act(s, rule, c->gap - s->clearance, cls[0])) continue;
    int row = contact_row(s, pose, i, 0, cls[0]);
    if (row >= 0 && !acts(s, rule, h, row) && !(rule == TGI_ROWS_CLOSING && late(s, c))) {
      s->nrow--;
      continue;
    }
    c->row = first;
    c->nrow = rows_of(s, c);
    for (int part = 1; part < c->nrow; part++) contact_row(s, pose, i, part, cls[part]);
    tgi_contacts_recall_forces(s, c);
    if (rule == TGI_ROWS_TOUCHING && row >= 0 && tgRe(c->restitution) > 0 && tgi_row_closes_faster(s, row, bounce_speed(s, tgRe(h))))
      s->rows->bounce[row] = c->restitution;
  }
}

// h d(J u)/dt along u: what turning bodies add to the row's speed over the rest of the step
static double bend(tgSim *s, const tgPose *pose, int row, const tgReal *u) {
  tgReal rate;
  return tgi_row_bend(s, pose, row, u, &rate) ? s->rest * tgRe(rate) : INFINITY;   // no room: the next use of the scratch says so
}

bool tgi_row_is_fast(tgSim *s, const tgPose *pose, int row, const tgReal *u) {
  double approach = -tgRe(tgi_row_dot(s, s->rows->J, row, u));
  double forces = speed_of_forces(s, row, tgi_row_dot(s, s->rows->J, row, s->rows->surge));
  if (approach <= 2 * forces + slowest) return false;
  double least = 2 * (forces + fabs(bend(s, pose, row, u))) + slowest;
  if (fabs(approach - least) <= tie) tgi_rows_edge(s, "at the speed where an impact begins", row);
  return approach > least;
}

double tgi_rows_rest_speed(const tgSim *s) { return fmax(tgi_gravity(s) * s->h / 16, tgi_impulse_options(s)->restitution_speed); }

bool tgi_row_may_bounce(tgSim *s, const tgPose *pose, int row) {
  if (tgRe(s->clearance) > 0 && tgRe(s->dt) == 0) return tgi_row_closes_faster(s, row, tgi_rows_rest_speed(s));
  if (s->ahead || (tgRe(s->clearance) > 0 && tgRe(s->dt) != 0)) return false;   // a flow
  if (tgRe(s->dt) != 0) return tgi_row_closes_faster(s, row, bounce_speed(s, tgRe(s->dt)));
  return tgi_row_closes_faster(s, row, tgi_impulse_options(s)->restitution_speed) && tgi_row_is_fast(s, pose, row, s->vhat);
}

// row `to` becomes row `from`
static void move_row(tgSim *s, int to, int from) {
  tgRows *r = s->rows;
  size_t width = (size_t)s->m.row_width;
  r->kind[to] = r->kind[from];
  r->owner[to] = r->owner[from];
  r->part[to] = r->part[from];
  r->class[to] = r->class[from];
  r->class2[to] = r->class2[from];
  r->cut[to] = r->cut[from];
  r->kept[to] = r->kept[from];
  r->kept2[to] = r->kept2[from];
  r->limit[to] = r->limit[from];
  r->gap[to] = r->gap[from];
  r->bounce[to] = r->bounce[from];
  r->rate[to] = r->rate[from];
  r->drift[to] = r->drift[from];
  r->before[to] = r->before[from];
  r->quick[to] = r->quick[from];
  memmove(r->span + 4 * to, r->span + 4 * from, 4 * sizeof *r->span);
  memmove(r->J + (size_t)to * width, r->J + (size_t)from * width, width * sizeof *r->J);
}

void tgi_rows_drop(tgSim *s, const int8_t *drop) {
  int n = 0;
  for (int i = 0; i < s->nrow; i++) {
    bool normal = s->rows->kind[i] == TG_ROW_NORMAL, tangent = s->rows->kind[i] == TG_ROW_TANGENT;
    tgContactRow *c = normal || tangent ? &s->contact[s->rows->owner[i]] : NULL;
    if (normal) c->row = drop[i] ? -1 : n;
    if (tangent ? c->row < 0 : drop[i] != 0) continue;
    if (n != i) move_row(s, n, i);
    s->rows->parent[n] = tangent ? c->row : -1;
    n++;
  }
  s->nrow = n;
}

// rows at most that are not of contacts, by the present parameters
static int possible_rows(const tgModel *m) {
  int n = 6 * m->neq;
  for (int j = 0; j < m->njnt; j++) n += 2 * m->jnt_limited[j];
  for (int t = 0; t < m->ntendon; t++) n += 2 * m->ten_limited[t];
  return n + tgi_dry_rows(m);
}

static tgStatus no_room(tgSim *s, int need, int room, const char *what) {
  s->nrow = 0;
  return tgi_error(&s->error, TG_ERR_CAPACITY, "%d %s needed, room for %d; reserve more and repeat the step.", need, what, room);
}

// the rows, of the contacts in the sim
static tgStatus rows_over(tgSim *s, const tgPose *pose, tgReal h, tgRowRule rule) {
  s->nrow = 0;
  equality_rows(s, pose);
  limit_rows(s, pose, rule, h);
  int before = s->nrow;
  friction_rows(s, pose, h);
  int dry = s->nrow - before;
  contact_rows(s, pose, h, rule);
  if (s->nrow > s->cap.nrow) {
    if (s->nrow > s->wanted.nrow) s->wanted.nrow = s->nrow;
    return no_room(s, s->nrow, s->cap.nrow, "constraint rows");
  }
  // a simulation may have been given dry friction that its model has not
  if (dry > s->cap.ndry) {
    if (dry > s->wanted.ndry) s->wanted.ndry = dry;
    return no_room(s, dry, s->cap.ndry, "rows of dry friction");
  }
  s->info.nrow = s->nrow;
  s->info.ncontact = 0;
  for (int i = 0; i < s->ncon; i++) s->info.ncontact += s->contact[i].row >= 0;
  return TG_OK;
}

tgiFar tgi_late_pairs(const tgSim *s) { return (tgiFar){s->rows->late, s->last_flow ? s->nlate : 0, s->late_gap}; }

tgStatus tgi_rows(tgSim *s, const tgPose *pose, tgReal h, tgRowRule rule) {
  double least;
  s->nrow = 0;
  s->ncon = 0;
  tgiFar far = tgi_late_pairs(s);
  tgStatus status = tgi_contacts_and_far(s, pose, rule == TGI_ROWS_CLOSING ? &far : NULL, &least);
  if (status < 0) {
    // ask for the rows of those contacts in one go
    int rows = possible_rows(&s->m) + 3 * s->wanted.ncon;
    if (rows > s->wanted.nrow) s->wanted.nrow = rows;
    return status;
  }
  s->info.least_distance = least;
  return rows_over(s, pose, h, rule);
}

tgStatus tgi_rows_anew(tgSim *s, const tgPose *pose, tgReal h, tgRowRule rule) {
  s->contact_d = false;   // that is of those that have rows
  for (int i = 0; i < s->ncon; i++) {
    tgContactRow *c = &s->contact[i];
    c->row = -1;
    c->nrow = 0;
    for (int k = 0; k < 7; k++) c->bar[k] = 0;
  }
  return rows_over(s, pose, h, rule);
}

// ---- names ----

tgiWho tgi_row_who(const tgSim *s, int row) {
  const tgRows *r = s->rows;
  if (r->kind[row] != TG_ROW_NORMAL) return (tgiWho){r->kind[row], r->owner[row], r->part[row]};
  const tgContactRow *c = &s->contact[r->owner[row]];
  return (tgiWho){TG_ROW_NORMAL, c->pair, c->feature};
}

int tgi_who_row(const tgSim *s, const tgiWho *who) {
  for (int i = 0; i < s->nrow; i++) {
    if (s->rows->kind[i] != who->kind) continue;
    tgiWho row = tgi_row_who(s, i);
    if (row.owner == who->owner && row.part == who->part) return i;
  }
  return -1;
}

int tgi_row_that_meets(const tgSim *s, const tgiWho *who) {
  int row = tgi_who_row(s, who);
  double least = TG_TOUCH;
  if (row >= 0 || who->kind != TG_ROW_NORMAL) return row;
  for (int i = 0; i < s->nrow; i++) {
    double gap = fabs(tgRe(s->rows->gap[i]));
    if (s->rows->kind[i] != TG_ROW_NORMAL || tgi_row_who(s, i).owner != who->owner || gap > least) continue;
    least = gap;
    row = i;
  }
  return row;
}

uint64_t tgi_row_name(const tgSim *s, int row) {
  tgiWho who = tgi_row_who(s, row);
  return tgi_constraint_name(who.kind, who.owner, who.part);
}

bool tgi_row_pressed(const tgSim *s, int row) {
  const tgRowSolver *k = s->contact_model->kind->rows;
  return k->presses(s->rows->class[row]) && k->presses(s->rows->class2[row]);
}

bool tgi_is_held(const tgSim *s, uint64_t name) {
  for (int i = 0; i < s->nheld; i++)
    if (s->held[i] == name) return true;
  return false;
}

void tgi_row_bodies(const tgSim *s, int row, int body[2]) {
  const tgModel *m = &s->m;
  int owner = s->rows->owner[row];
  body[0] = body[1] = -1;
  switch ((tgRowKind)s->rows->kind[row]) {
    case TG_ROW_NORMAL: case TG_ROW_TANGENT:
      body[0] = m->geom_body[s->contact[owner].geom1];
      body[1] = m->geom_body[s->contact[owner].geom2];
      break;
    case TG_ROW_LIMIT: if (s->rows->part[row] < 2) body[0] = m->jnt_body[owner]; break;
    case TG_ROW_FRICTION: if (s->rows->part[row] == 0) body[0] = m->dof_body[owner]; break;
    case TG_ROW_EQUALITY:
      if (m->eq_type[owner] == TG_EQ_JOINT) {
        body[0] = m->jnt_body[m->eq_a[owner]];
        if (m->eq_b[owner] >= 0) body[1] = m->jnt_body[m->eq_b[owner]];
      } else if (!tgi_is_tie(m, owner)) {
        body[0] = m->eq_a[owner];
        body[1] = m->eq_b[owner];
      }
      break;
  }
}

const char *tgi_row_label(const tgSim *s, int row, char *text, size_t size) {
  const tgModel *m = &s->m;
  int owner = s->rows->owner[row], part = s->rows->part[row];
  char a[80], b[80];
  switch ((tgRowKind)s->rows->kind[row]) {
    case TG_ROW_NORMAL: case TG_ROW_TANGENT:
      snprintf(text, size, "contact of %s and %s", tgi_model_label(m, TG_THING_GEOM, s->contact[owner].geom1, a, sizeof a),
               tgi_model_label(m, TG_THING_GEOM, s->contact[owner].geom2, b, sizeof b));
      break;
    case TG_ROW_LIMIT:
      snprintf(text, size, "%s limit of %s", part % 2 == 0 ? "lower" : "upper",
               tgi_model_label(m, part < 2 ? TG_THING_JOINT : TG_THING_TENDON, owner, a, sizeof a));
      break;
    case TG_ROW_FRICTION:
      snprintf(text, size, "dry friction of %s",
               part == 0 ? tgi_model_label(m, TG_THING_JOINT, m->dof_jnt[owner], a, sizeof a)
                         : tgi_model_label(m, TG_THING_TENDON, owner, a, sizeof a));
      break;
    case TG_ROW_EQUALITY:
      snprintf(text, size, "%s", tgi_model_label(m, TG_THING_EQUALITY, owner, a, sizeof a));
      break;
  }
  return text;
}
