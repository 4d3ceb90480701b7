// impulse_closing.c: flows of the rule `closing`: rows ahead, what closes fast taken out of them, and errors of positions pushed out.
// See impulse.h.
#include "step/impulse.h"

#include <math.h>
#include <string.h>

#include "coll/moved.h"
#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "sim/row.h"
#include "step/impulse_crowd.h"
#include "step/impulse_part.h"
#include "step/step.h"

// a mark for each row; NULL: no room, which the error says
static int8_t *marks(tgSim *s) {
  int8_t *drop = tgi_stack_bytes(s, (size_t)s->nrow + 1);
  if (drop == NULL) tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  return drop;
}

// What touches at the start of a flow, and is no impact there, is held, however fast the free motion through it ends.
static bool held_from_start(tgSim *s, const tgPose *pose, int row) {
  double start = tgRe(s->rows->gap[row] - s->dt * s->rows->before[row]);
  if (start > TG_TOUCH + 1e-9) return false;
  if (start > TG_TOUCH - 1e-9) tgi_rows_edge(s, "about to touch", row);
  return start <= TG_TOUCH && !tgi_row_is_fast(s, pose, row, s->start.vel);
}

// Impacts that the flow in the sim may have. Each has the whole scene solved anew some ten times, so that their number falls as the rows
// grow, those of the flow or, where that is a share of the step and has fewer, of the step's first one.
static int most_impacts(tgSim *s) {
  if (s->first_rows < 0) s->first_rows = s->nrow;
  int rows = s->nrow > s->first_rows ? s->nrow : s->first_rows;
  return rows <= TGI_CROWD ? TGI_IMPACTS : TGI_IMPACTS * TGI_CROWD / rows;
}

// Takes the normals and limits out of a flow's rows that are impacts at its free velocity, but for crowds; how many they are.
static tgStatus take_out_fast(tgSim *s, const tgPose *pose, int *count) {
  s->most_impacts = most_impacts(s);
  size_t mark = tgi_stack_mark(s);
  int8_t *drop = marks(s);
  bool crowd;
  if (drop == NULL) return TG_ERR_CAPACITY;
  *count = 0;
  TG_TRY(tgi_crowd_islands(s, drop, &crowd));
  for (int i = 0; i < s->nrow; i++)
    drop[i] = !drop[i] && tgi_row_pushes(s, i) && s->rows->quick[i] && tgi_row_is_fast(s, pose, i, s->vhat) && !held_from_start(s, pose, i);
  tgi_crowd_times(s, crowd ? 0 : s->most_impacts, drop);
  for (int i = 0; i < s->nrow; i++) *count += drop[i];
  if (*count > 0) tgi_rows_drop(s, drop);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_impulse_keep_fast(tgSim *s, const tgPose *pose, const tgReal *u) {
  size_t mark = tgi_stack_mark(s);
  int8_t *drop = marks(s);
  if (drop == NULL) return TG_ERR_CAPACITY;
  for (int i = 0; i < s->nrow; i++) drop[i] = tgi_row_pushes(s, i) && !tgi_row_is_fast(s, pose, i, u);
  tgi_rows_drop(s, drop);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_impulse_near(tgSim *s, const tgPose *pose, const tgReal *u) {
  TG_TRY(tgi_rows(s, pose, 0, TGI_ROWS_NEAR));
  return tgi_impulse_keep_fast(s, pose, u);
}

// gap(q0) per second, from the row at q0 (+) dt v0 to first order; 0 of rows of friction
static tgReal start_error(const tgSim *s, int i) {
  const tgRows *r = s->rows;
  if (tgi_row_pushes(s, i)) return r->gap[i] / s->dt - r->before[i];
  return r->kind[i] == TG_ROW_EQUALITY ? r->gap[i] / s->dt - tgi_row_dot(s, r->J, i, s->start.vel) : 0;
}

// What a row's error is over what the push speed closes [m/s].
static double over_push(const tgSim *s, int i) {
  double bias = tgRe(start_error(s, i)), most = tgi_impulse_options(s)->push_speed;
  return (tgi_row_pushes(s, i) ? -bias : fabs(bias)) - most;
}

// The points of a pair at the start of a flow, which all rows of the pair ask for one after the other; pair -1: none yet. And what the gap
// of a pair, `bounded`, was there at most, which its rows ask for first.
typedef struct AtStart {
  int pair, count, bounded;
  double distance, most;
  tgContactPoint point[TG_PAIR_POINTS];
} AtStart;

static const tgContactRow *contact_of(const tgSim *s, int i) { return &s->contact[s->rows->owner[i]]; }

// Looks at the pair of row i, the first of its pair that asks, as far as the deepest of its rows that follow may have been open there.
static void look_at_start(tgSim *s, int i, AtStart *a) {
  double over = 0;
  a->pair = contact_of(s, i)->pair;
  for (int k = i; k < s->nrow; k++) {
    if (s->rows->kind[k] != TG_ROW_NORMAL) continue;
    if (contact_of(s, k)->pair != a->pair) break;
    over = fmax(over, over_push(s, k));
  }
  double wide = tgi_contact_margin(s) + tgRe(s->dt) * (over + tgi_impulse_options(s)->push_speed);
  a->count = tgi_contacts_of_pair(s, &s->start, a->pair, wide, a->point, &a->distance);
}

// The gap at the flow's start of the contact that row i is of; where other features touch there, that of its pair, the least of all.
// -infinity of what is no contact.
static double gap_at_start(tgSim *s, int i, AtStart *a) {
  if (s->rows->kind[i] != TG_ROW_NORMAL) return -INFINITY;
  const tgContactRow *c = contact_of(s, i);
  if (a->pair != c->pair) look_at_start(s, i, a);
  if (a->count < 0) return -INFINITY;
  for (int k = 0; k < a->count; k++)
    if (a->point[k].feature == c->feature) return tgRe(a->point[k].gap - s->clearance);
  return a->distance - tgRe(s->clearance);
}

// What the gap of the pair of a contact was at the flow's start at most: the least at the pose ahead, and how far its points have moved.
static double most_at_start(const tgSim *s, const tgContactRow *c) {
  double least = INFINITY;
  const tgContactRow *first = c, *end = s->contact + s->ncon;
  while (first > s->contact && first[-1].pair == c->pair) first--;
  for (; first < end && first->pair == c->pair; first++) least = fmin(least, tgRe(first->gap));
  return least + tgi_pair_moved(s, &s->trial, &s->start, c->pair) + tgi_pair_preference(s, c->pair);
}

// Whether the contact of row i has overlapped at the start by more than the push speed closes can be told without a look at its pair:
// the pair has, as it can have moved only so far, and so have the contact's own features. One of these two is what a look tells of.
static bool surely_overlapped(tgSim *s, int i, AtStart *a) {
  static const double off = 2e-9;   // [m/s] beyond which no edge is near
  double gap, deep = tgRe(s->clearance) - tgRe(s->dt) * (tgi_impulse_options(s)->push_speed + off);
  if (s->rows->kind[i] != TG_ROW_NORMAL || a->pair == contact_of(s, i)->pair) return false;
  const tgContactRow *c = contact_of(s, i);
  if (a->bounded != c->pair) {
    a->bounded = c->pair;
    a->most = most_at_start(s, c);
  }
  return a->most < deep && tgi_contact_then(s, &s->start, c, &gap) && gap < deep;
}

// Row i, whose gap at the start was wider than the push speed closes as the rows tell of it, has overlapped by so much there: the gap of
// what turns fast is bent, which is no overlap.
static bool overlapped(tgSim *s, int i, AtStart *a) {
  if (surely_overlapped(s, i, a)) return true;
  double deeper = -gap_at_start(s, i, a) / tgRe(s->dt) - tgi_impulse_options(s)->push_speed;
  if (fabs(deeper) <= 1e-9) tgi_rows_edge(s, "at the speed that bounds a push", i);
  return deeper > 0;
}

// The positions' problem, which is selected: with V = vhat + Mh^-1 J' f the mean velocity of the step, gaps and errors end at 0,
// gap(q0 (+) dt v0) + dt J (V - v0), or, where those at the start are wider than the push speed closes, that much nearer: J V = push.
static void position_bias(tgSim *s) {
  tgRows *r = s->rows;
  AtStart start;
  double most = tgi_impulse_options(s)->push_speed;
  start.pair = start.bounded = -1;   // its points are many bytes, which a step mostly has no use for
  for (int i = 0; i < s->nrow; i++) {
    bool pushes = tgi_row_pushes(s, i), moves = pushes || r->kind[i] == TG_ROW_EQUALITY;
    tgReal free_speed = r->b2[i];   // that of velocities, which have no bias
    tgReal error = start_error(s, i);
    r->bounce[i] = 0;
    r->rate[i] = moves ? 1 / s->dt : 0;
    r->drift[i] = moves ? 1 : 0;
    r->b[i] = free_speed + error;
    double bias = tgRe(error), over = over_push(s, i);
    if (!s->pinned) r->cut[i] = moves && over > 0 && (!pushes || overlapped(s, i, &start));
    if (moves && fabs(over) <= 1e-9) tgi_rows_edge(s, "at the speed that bounds a push", i);
    if (!r->cut[i]) continue;
    r->rate[i] = r->drift[i] = 0;
    r->b[i] = free_speed + (bias < 0 ? -most : most);
    s->info.ncut++;
  }
}

// push = Mh^-1 J' df, but for islands that it does not move by the errors b of what presses, or throws about: classes whose matrix is
// next to singular have no such derivative.
static void push_by(tgSim *s, const tgReal *b, tgReal *df, tgReal *push) {
  static const double lever = 100, share = 1e-6;   // of the push speed, as where the solve leaves overlaps; of the largest error
  const tgRows *r = s->rows;
  double most = 0;
  bool bad = false;
  for (int d = 0; d < s->m.nv; d++) push[d] = 0;
  tgi_rows_respond(s, df, push);
  for (int i = 0; i < s->nrow; i++) most = fmax(most, fabs(tgRe(b[i])));
  double off = share * most + TG_TOUCH / tgRe(s->dt);   // errors within touch are not among b
  for (int k = 0; k < s->nisland; k++) {
    bool follows = true;
    for (int d = r->island_dofadr[k]; d < r->island_dofadr[k + 1]; d++)
      follows = follows && fabs(tgRe(push[r->island_dof[d]])) <= lever * tgi_impulse_options(s)->push_speed;
    for (int a = r->island_adr[k]; a < r->island_adr[k + 1]; a++) {
      int i = r->island_row[a];
      if (!s->contact_model->kind->rows->presses(r->class[i])) continue;
      follows = follows && fabs(tgRe(tgi_row_dot(s, r->J, i, push) + b[i])) <= off;
    }
    for (int a = r->island_adr[k]; a < r->island_adr[k + 1] && !follows; a++) df[r->island_row[a]] = 0;
    bad = bad || !follows;
  }
  for (int d = 0; d < s->m.nv && bad; d++) push[d] = 0;
  if (bad) tgi_rows_respond(s, df, push);
}

tgStatus tgi_impulse_push(tgSim *s, tgReal *push, bool *any) {
  const tgRows *r = s->rows;
  size_t mark = tgi_stack_mark(s), n = (size_t)s->nrow;
  tgReal *b = tgi_stack_real(s, 2 * n + 1), *df = b + n;
  if (b == NULL) return tgi_no_room(s, "push");
  *any = false;
  tgi_rows_select(s, 1);
  for (int i = 0; i < s->nrow; i++) {
    tgReal error = start_error(s, i);
    double wide = tgRe(s->dt) * (r->kind[i] == TG_ROW_EQUALITY ? fabs(tgRe(error)) : -tgRe(error));
    bool pushed = wide > TG_TOUCH && (tgRe(r->rate[i]) != 0 || r->cut[i]);
    b[i] = !pushed ? 0 : r->cut[i] ? r->b[i] - r->b2[i] : error;
    *any = *any || pushed;
  }
  if (*any) s->contact_model->kind->rows->solve_jvp(s, b, df);
  if (*any) push_by(s, b, df, push);
  tgi_rows_select(s, 0);
  tgi_stack_free(s, mark);
  return TG_OK;
}
// n . (velocity of the first body - of the second one) at a contact's point
double tgi_impulse_gap_speed(const tgSim *s, const tgPose *pose, const tgContactRow *c, const tgReal *v) {
  tgReal V[2][6], u[6], at[3];
  tgi_body_velocity(s, pose, s->m.geom_body[c->geom1], v, V[0]);
  tgi_body_velocity(s, pose, s->m.geom_body[c->geom2], v, V[1]);
  tgi_sp_sub(u, V[0], V[1]);
  tgi_sp_point_velocity(at, u, c->p);
  return tgRe(tgi_v3_dot(c->n, at));
}

// Ends a gap in overlap that moves by `shift` from where it is at the rows' pose, to first order? One that ends a little in it, and closes
// no faster than rest does, is found by the next step, but for one that is not listed at that pose: it has nobody else to tell of it.
static bool meets_late(const tgSim *s, double gap, double shift, double speed) {
  static const double curved = 0.1;   // of a shift, what its second order may be
  double end = gap + shift;
  if (end >= curved * fabs(shift)) return false;
  return -speed > 2 * s->rest * tgi_gravity(s) || end < -TG_CONTACT_MARGIN || gap > tgi_contact_margin(s);
}

// One that is noted and listed already has no row as a pinned step has its own; once more would not give it one.
static void note_late(tgSim *s, const tgContactRow *c) {
  static const double loose = 1.01;   // differences about a state list what is listed at it
  double gap = 1e-3 * ceil(1e3 * loose * tgRe(c->gap));   // whole millimetres: a number that a part can keep
  if (s->nlate == tgi_most_late(&s->m)) return;
  for (int k = 0; k < s->nlate && gap <= s->late_gap; k++)
    if (s->rows->late[2 * k] == c->pair && s->rows->late[2 * k + 1] == c->feature) return;
  s->rows->late[2 * s->nlate] = c->pair;
  s->rows->late[2 * s->nlate++ + 1] = c->feature;
  s->late_gap = fmax(s->late_gap, gap);
}

typedef struct Turned {
  const tgPose *pose;
  const tgReal *turn;   // of the mean velocity, from that at the start
  bool last, crowd;
  int count;
} Turned;

static void see_turned(tgSim *s, const tgContactRow *c, void *with) {
  Turned *t = with;
  double shift = tgRe(s->dt) * tgi_impulse_gap_speed(s, t->pose, c, t->turn);
  if (!meets_late(s, tgRe(c->gap), shift, tgi_impulse_gap_speed(s, t->pose, c, s->end.vel))) return;
  *(t->crowd && !(tgRe(c->restitution) > 0) ? &s->nturned : &t->count) += 1;
  if (t->last) note_late(s, c);
}

// Contacts from which the free motion keeps clear, and into which the flow goes all the same, turned by its impulses, be they listed or
// farther away: how many, or some more; those of crowds are counted apart, in nturned. last: they are noted, so that the flow has rows of
// them.
static tgStatus turned_into(tgSim *s, const tgPose *pose, bool last, int *count) {
  size_t mark = tgi_stack_mark(s);
  tgReal *turn = tgi_stack_real(s, (size_t)s->m.nv);
  if (turn == NULL) return tgi_no_room(s, "flow");
  tgiFar late = tgi_late_pairs(s);
  Turned t = {pose, turn, last, s->most_impacts == 0 || tgi_crowd_any(s), 0};
  s->nturned = 0;
  for (int d = 0; d < s->m.nv; d++) turn[d] = s->rows->mean[d] - s->start.vel[d];
  for (int i = 0; i < s->ncon; i++)
    if (s->contact[i].row < 0) see_turned(s, &s->contact[i], &t);
  TG_TRY(tgi_contacts_beyond(s, pose, tgRe(s->dt), turn, &late, (tgiSees){see_turned, &t}));
  tgi_stack_free(s, mark);
  *count = t.count;
  return TG_OK;
}

// The least distance is that at the flow's end, to first order: at the pose ahead, where contacts are looked for, no body ever is.
static void note_least(tgSim *s, const tgPose *pose) {
  size_t mark = tgi_stack_mark(s);
  tgReal *turn = tgi_stack_real(s, (size_t)s->m.nv);
  double least = INFINITY;
  if (turn == NULL) return;   // the next use of the scratch says so
  for (int d = 0; d < s->m.nv; d++) turn[d] = s->rows->mean[d] - s->start.vel[d];
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    double speed = c->row >= 0 ? tgRe(tgi_row_dot(s, s->rows->J, c->row, turn)) : tgi_impulse_gap_speed(s, pose, c, turn);
    least = fmin(least, tgRe(c->gap) + tgRe(s->dt) * speed);
  }
  if (s->ncon > 0) s->info.least_distance = least;
  tgi_stack_free(s, mark);
}

tgStatus tgi_impulse_note_turned(tgSim *s) { return turned_into(s, &s->trial, true, &(int){0}); }

// a flow begins: its free motion, and the pose ahead
static tgStatus begin_flow(tgSim *s, tgReal dt, bool held) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)m->nv), *q = tgi_stack_real(s, (size_t)m->nq);
  if (w == NULL || q == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  TG_TRY(tgi_impulse_part(s, dt, held));
  for (int d = 0; d < m->nv; d++) {
    s->rows->mean[d] = s->vhat[d];
    w[d] = dt * s->start.vel[d];
  }
  tg_model_integrate(m, s->start.q, w, q);
  tgi_kinematics(m, q, &s->trial);
  tgi_stack_free(s, mark);
  s->ahead = true;
  s->info.ncut = 0;   // that of the last flow is the step's
  return TG_OK;
}

static tgStatus flow(tgSim *s, tgReal dt, bool last, bool held, const void *record, int *fast) {
  TG_TRY(begin_flow(s, dt, held));
  *fast = s->ncrowd = s->nturned = 0;
  s->last_flow = last;
  TG_TRY(tgi_rows(s, &s->trial, dt, TGI_ROWS_CLOSING));
  if (last) tgi_crowd_all(s);
  else TG_TRY(take_out_fast(s, &s->trial, fast));
  tgStatus status = s->nrow > 0 ? tgi_flow_solve(s, position_bias, true, record) : TG_OK;
  note_least(s, &s->trial);
  if (status != TG_OK) return status;
  return !last && *fast == 0 ? turned_into(s, &s->trial, false, fast) : TG_OK;
}

// the flow whose impulses and actuators agree
static tgStatus agreed_flow(tgSim *s, tgReal dt, bool last, int *fast) {
  bool again = true;
  for (tgiAgreement a = tgi_agreement_begin(s); again;) {
    tgStatus status = flow(s, dt, last, a.search > 0, NULL, fast);
    if (status != TG_OK) return status;
    TG_TRY(tgi_agree(s, &a, &again));
  }
  return TG_OK;
}

tgStatus tgi_impulse_flow(tgSim *s, tgReal dt, bool last, const void *record, int *fast) {
  int late;
  if (record != NULL) {
    bool held = tgi_servo_recall(s, record) || !s->opened;   // or the free motion that is known holds the same
    return flow(s, dt, last, held, (const char *)record + tgi_servo_record_bytes(s), fast);
  }
  do {   // a last flow has rows of what it turns bodies into; with other actuators held than it ends with that may be others
    late = s->nlate;
    tgStatus status = agreed_flow(s, dt, last, fast);
    if (status != TG_OK) return status;
    if (last) TG_TRY(tgi_impulse_note_turned(s));
  } while (s->nlate > late);
  return TG_OK;
}
