// step.c: the gradient check of one step.
//
// The contact memory is brought up to date by one nominal step and then frozen, so that the step is a map of
// x = (q, v, act, u) alone; y = (q', v', act') in tangent coordinates about the nominal step. Each column of dy/dx is
// extrapolated from central differences. Where a point of the stencil has another mode (mode.h) the stencil is shrunk;
// where that does not help the column is spoiled: the differences of its two sides are taken apart, each with a stencil
// whose points beside the nominal one have one mode, and the Jacobian has to agree with one of them. At a state with
// several ties (a robot at rest on its feet and its limits) it may agree with neither, as each side switches another
// tie. The Jacobian then has to be the derivative of the active set that the nominal step chose: the differences are
// taken of steps whose rows and classes are pinned to the nominal ones. Where the label says exact, that set has to
// hold within 1e-9 to either side.
#include "check/check.h"

#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "base/random.h"
#include "contact/contact.h"

// first steps of the stencils: the wide one where nothing switches, narrower ones before a column is called spoiled,
// the narrowest for contact potentials and where bodies end at gaps
enum { STENCILS = 3, NARROW_STENCILS = 7 };
static const double STENCIL[NARROW_STENCILS] = {1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10};
// what an exact label says no switch is nearer than, in m, rad, m/s, rad/s
static const double NEAR = 1e-9;
enum { PROBES = 8 };

// Rows or columns that are compared as one.
typedef struct Span { int from, n; } Span;

// One check: the sim, the nominal step and work arrays, all in one block of memory.
typedef struct Check {
  tgSim *sim;
  tgGradCheckOptions o;
  int nq, nv, nw, nu, nx, nt, ny;    // nw: velocities and activations
  Span row[3], col_of[4];            // of q', v', act' and of q, v, act, u
  tgReal *q1, *x, *t, *J, *work;     // q' nominal, nominal point, direction, Jacobian, of tgi_numdiff
  double *R, *E;                     // ny x nt references and their error estimates
  double *col, *err;                 // ny: a column and its errors
  double *side;                      // 4 ny: two columns and their errors
  double *step;                      // nt: of the stencils that were taken, of one side as short as a central one of its round-off
  double *noise;                     // ny: round-off of the step's outputs, measured where that can be
  double rough;                      // the largest of them, with what a switch that is near adds
  tgiMode nominal, other, beside;
  bool sided, known;                 // modes are compared with that of the first point off the nominal one; it is in beside
  int nrow;                          // of the nominal step
  bool switched;                     // a point of the present stencil had another mode
  int *spoiled;                      // nt: compared one-sided
  char (*reason)[192];               // nt
  tgGradInfo info;                   // of the Jacobian
  tgGradBlock *dot;                  // of the adjoint, NULL when there is no room for it
  double largest;                    // entry of the nominal (q', v', act'), at least 1
} Check;

tgGradCheckOptions tg_grad_check_default(void) {
  return (tgGradCheckOptions){.size = sizeof(tgGradCheckOptions), .tolerance = 1e-6, .dot_tolerance = 1e-11,
                              .slope_tolerance = 0.1, .seed = 1};
}

tgGradBlock *tgi_check_block(tgGradCheck *check, const char *name, double tolerance) {
  if (check->nblock >= TG_GRAD_BLOCKS) return NULL;
  tgGradBlock *b = &check->block[check->nblock++];
  *b = (tgGradBlock){.tolerance = tolerance, .row = -1, .col = -1};
  snprintf(b->name, sizeof b->name, "%s", name);
  return b;
}

void tgi_check_verdict(tgGradCheck *check, tgGradBlock *b) {
  b->pass = b->error <= b->tolerance;
  check->pass = (check->nblock == 1 || check->pass) && b->pass;
}

void tgi_check_dof_name(const tgModel *m, int dof, char *text, size_t size) {
  int joint = m->dof_jnt[dof], place = dof - m->jnt_vadr[joint];
  char label[80];
  tgi_model_label(m, TG_THING_JOINT, joint, label, sizeof label);
  bool several = m->jnt_type[joint] == TG_JOINT_FREE || m->jnt_type[joint] == TG_JOINT_BALL;
  if (several) snprintf(text, size, "%.48s[%d]", label, place);
  else snprintf(text, size, "%.60s", label);
}

void tgi_check_rate_name(const tgModel *m, int i, char *text, size_t size) {
  int actuator = 0;
  if (i < m->nv) {
    tgi_check_dof_name(m, i, text, size);
    return;
  }
  while (m->act_adr[actuator] != i - m->nv) actuator++;
  tgi_check_actuator_name(m, actuator, text, size);
}

void tgi_check_actuator_name(const tgModel *m, int actuator, char *text, size_t size) {
  char label[80];
  snprintf(text, size, "%.60s", tgi_model_label(m, TG_THING_ACTUATOR, actuator, label, sizeof label));
}

// x -> sim, step; capacity grows when a point of the stencil has more contacts than there is room for
static bool cancelled(const Check *c) { return c->o.cancel != NULL && *c->o.cancel != 0; }

static tgStatus step_from(Check *c, const tgReal *x) {
  tgSim *s = c->sim;
  for (;;) {
    if (cancelled(c)) return TG_CANCELLED;
    memcpy(s->qpos, x, (size_t)c->nq * sizeof(tgReal));
    tgi_sim_put_w(s, x + c->nq);
    if (c->nu > 0) memcpy(s->ctrl, x + c->nq + c->nw, (size_t)c->nu * sizeof(tgReal));
    tgStatus status = tg_sim_step(s, c->o.h, NULL);
    if (status != TG_ERR_CAPACITY) return status;
    status = tgi_sim_grow(s);
    if (status != TG_OK) return status;
  }
}

// a pinned step that lost a row, as a contact point went, or met another clamp than `from`
static bool left_pins(const Check *c, const tgiMode *from) {
  return c->sim->nrow != c->nrow || memcmp(from->clamp, c->other.clamp, (size_t)tgi_mode_clamps(&c->sim->m)) != 0;
}

// notes whether the point x, of which the step has been made, is of another mode than those it has to agree with
static void compare_modes(Check *c, const tgReal *x) {
  char text[192] = "";
  if (c->sided && memcmp(x, c->x, (size_t)c->nx * sizeof *x) == 0) return;
  tgi_mode_capture(c->sim, &c->other);
  if (c->sided && !c->known) {
    tgiMode first = c->other;
    c->other = c->beside;
    c->beside = first;
    c->known = true;
    return;
  }
  const tgiMode *from = c->sided ? &c->beside : &c->nominal;
  if (!(c->sim->pinned ? left_pins(c, from) : tgi_mode_difference(&c->sim->m, from, &c->other, text, sizeof text))) return;
  int j = 0;
  while (j < c->nt - 1 && tgRe(c->t[j]) == 0) j++;
  if (!c->switched && !c->sided) memcpy(c->reason[j], text, sizeof text);
  c->switched = true;
}

static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  Check *c = ctx;
  tgStatus status = step_from(c, x);
  if (status != TG_OK) return status;
  compare_modes(c, x);
  tg_model_difference(c->sim->model, c->q1, c->sim->qpos, y);
  tgi_sim_take_w(c->sim, y + c->nv);
  return TG_OK;
}

// A move of 0 leaves the point as it is, to the bit: the length of a quaternion that is made 1 again rounds.
static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const Check *c = ctx;
  bool moves = false;
  for (int j = 0; j < c->nt; j++) moves = moves || d[j] != 0;
  memcpy(out, x, (size_t)c->nx * sizeof *out);
  if (!moves) return;
  tg_model_integrate(c->sim->model, x, d, out);
  for (int i = 0; i < c->nw + c->nu; i++) out[c->nq + i] = x[c->nq + i] + d[c->nv + i];
}

static tgiNumDiff differences(Check *c) {
  return (tgiNumDiff){.nx = c->nx, .nt = c->nt, .ny = c->ny, .map = map, .retract = retract, .ctx = c};
}

static void put_column(Check *c, int j, const double *col, const double *err) {
  for (int i = 0; i < c->ny; i++) {
    c->R[i * c->nt + j] = col[i];
    c->E[i * c->nt + j] = err[i];
  }
}

static double column_error(const Check *c, int j, const double *col) {
  double worst = 0;
  for (int i = 0; i < c->ny; i++) worst = fmax(worst, fabs(tgRe(c->J[i * c->nt + j]) - col[i]));
  return worst;
}

// which of the rows' spans row i is in
static int row_group(const Check *c, int i) { return i < c->nv ? 0 : i < 2 * c->nv ? 1 : 2; }

// largest entry of the Jacobian in the block of a group of rows and of column j
static double block_scale(const Check *c, int group, int j) {
  Span rows = c->row[group], cols = c->col_of[0];
  double scale = 0;
  for (int k = 1; k < 4; k++)
    if (j >= c->col_of[k].from && c->col_of[k].n > 0) cols = c->col_of[k];
  for (int a = rows.from; a < rows.from + rows.n; a++)
    for (int b = cols.from; b < cols.from + cols.n; b++) scale = fmax(scale, fabs(tgRe(c->J[a * c->nt + b])));
  return scale;
}

// Central differences of column j that leave more than a tenth of the tolerance open, without a switch: the step may be
// smooth on either side and have a derivative here, but no second one (drag, which goes with |v| v, at rest).
// Differences of each side, whose errors have every power of the step, are then taken where they tell more and agree;
// col[0], err[0] are replaced by their mean.
static void smooth_sides(Check *c, tgiNumDiff *d, int j, double *col, double *err) {
  double open[3] = {0}, *side = c->side, *serr = c->side + 2 * c->ny;
  bool closed = true;
  for (int i = 0; i < c->ny; i++) open[row_group(c, i)] = fmax(open[row_group(c, i)], err[i]);
  for (int r = 0; r < 3; r++) closed = closed && open[r] <= 0.1 * c->o.tolerance * block_scale(c, r, j);
  if (closed) return;
  for (int k = 0; k < 2; k++)
    if (tgi_numdiff(d, c->x, c->t, k == 0 ? TGI_SIDE_ABOVE : TGI_SIDE_BELOW, side + k * c->ny, serr + k * c->ny, c->work) != TG_OK) return;
  for (int i = 0; i < c->ny && !c->switched; i++) {
    double apart = fabs(side[i] - side[c->ny + i]), error = fmax(fmax(serr[i], serr[c->ny + i]), apart);
    if (!(error < err[i])) continue;
    col[i] = (side[i] + side[c->ny + i]) / 2;
    err[i] = error;
  }
}

// What a central difference of column j leaves open, in tenths of the tolerance; 0 where it is round-off, which a
// narrower one only has more of.
static double left_open(const Check *c, int j, const double *err, double step) {
  double most = 0;
  for (int r = 0; r < 3; r++) {
    double error = 0, noise = 2.2e-16 * c->largest;
    for (int i = c->row[r].from; i < c->row[r].from + c->row[r].n; i++) {
      error = fmax(error, err[i]);
      noise = fmax(noise, c->noise[i]);
    }
    if (error > tgi_numdiff_round_off(noise, step)) most = fmax(most, error / (0.1 * c->o.tolerance * block_scale(c, r, j)));
  }
  return most;
}

static bool intersection_free(const Check *c) { return tg_contact_intersection_free(tg_contact_word(c->sim->contact_model)); }

// Central differences of column j: of the widest stencil in which the step is allowed, has one mode and is smooth
// enough for the extrapolation to tell, else of the one that tells most. Contact potentials change over their gaps and
// slip speeds, which may be far below the widest. False: there is none; *status is that of the last.
static bool central_reference(Check *c, tgiNumDiff *d, int j, tgStatus *status) {
  double least = INFINITY;
  int stencils = intersection_free(c) ? NARROW_STENCILS : STENCILS;
  for (int k = 0; k < stencils && !(least <= 1); k++) {
    c->switched = false;
    d->step = STENCIL[k];
    *status = tgi_numdiff(d, c->x, c->t, TGI_SIDE_BOTH, c->col, c->err, c->work);
    if (*status != TG_OK || c->switched) continue;
    smooth_sides(c, d, j, c->col, c->err);
    double open = left_open(c, j, c->err, d->step);
    if (!(open < least)) continue;
    least = open;
    c->step[j] = d->step;
    put_column(c, j, c->col, c->err);
  }
  return least < INFINITY;
}

// Differences of column j to one side, col and err: of the widest stencil whose points beside the nominal one have one mode and that tells
// enough, else of the one of those that tells most, else of the narrowest. *step: its. False: there is none; *status is that of the last.
static bool side_reference(Check *c, tgiNumDiff *d, int j, tgiSide side, double *col, double *err, double *step, tgStatus *status) {
  double least = INFINITY, *D = c->side + 2 * c->ny, *E = D + c->ny;
  int stencils = intersection_free(c) ? NARROW_STENCILS : STENCILS;
  bool any = false;
  c->sided = true;
  for (int k = 0; k < stencils && !(least <= 1); k++) {
    c->switched = c->known = false;
    d->step = STENCIL[k];
    *status = tgi_numdiff(d, c->x, c->t, side, D, E, c->work);
    if (*status != TG_OK || (c->switched && (k < stencils - 1 || least < INFINITY))) continue;
    double alike = tgi_numdiff_side_step(d->step), open = c->switched ? INFINITY : left_open(c, j, E, alike);
    if (any && !(open < least)) continue;
    any = true;
    least = open;
    *step = alike;
    memcpy(col, D, (size_t)c->ny * sizeof *col);
    memcpy(err, E, (size_t)c->ny * sizeof *err);
  }
  c->sided = false;
  return any;
}

// Reference for column j: central where no point switches the mode, else the side that the Jacobian is nearer to.
static void reference(Check *c, int j) {
  tgiNumDiff d = differences(c);
  double step, best = HUGE_VAL;
  tgStatus status = TG_OK;
  for (int k = 0; k < c->nt; k++) c->t[k] = k == j;
  c->reason[j][0] = 0;
  if (central_reference(c, &d, j, &status)) {
    c->reason[j][0] = 0;
    return;
  }
  c->spoiled[j] = 1;
  c->step[j] = d.step;
  if (status != TG_OK)
    snprintf(c->reason[j], sizeof c->reason[j], "no step of %.0e about this state: %.150s", d.step, tg_sim_error(c->sim)->text);
  for (int i = 0; i < c->ny; i++) c->R[i * c->nt + j] = NAN;
  for (int k = 0; k < 2; k++) {
    if (!side_reference(c, &d, j, k == 0 ? TGI_SIDE_ABOVE : TGI_SIDE_BELOW, c->col, c->err, &step, &status)) continue;
    if (!(column_error(c, j, c->col) < best)) continue;
    best = column_error(c, j, c->col);
    c->step[j] = step;
    put_column(c, j, c->col, c->err);
  }
}

static bool column_agrees(const Check *c, int j) {
  double bound[3];
  for (int r = 0; r < 3; r++) bound[r] = c->o.tolerance * block_scale(c, r, j);
  for (int i = 0; i < c->ny; i++)
    if (!(fabs(tgRe(c->J[i * c->nt + j]) - c->R[i * c->nt + j]) <= bound[row_group(c, i)])) return false;
  return true;
}

// What the label `exact` promises of column j: a move of NEAR to either side changes no mode.
static bool same_mode_near(Check *c, int j) {
  tgReal *y = c->work, *x = c->work + c->ny, *t = x + c->nx;
  c->switched = false;
  for (int side = -1; side <= 1 && !c->switched; side += 2) {
    for (int k = 0; k < c->nt; k++) t[k] = k == j ? side * NEAR : 0;
    retract(c, c->x, t, x);
    if (map(c, x, y) != TG_OK) return false;
  }
  return !c->switched;
}

// Column j by differences of the pinned step: central, or the nearer side where a clamp switches.
static void pinned_reference(Check *c, int j) {
  static const tgiSide sides[3] = {TGI_SIDE_BOTH, TGI_SIDE_ABOVE, TGI_SIDE_BELOW};
  tgiNumDiff d = differences(c);
  double best = HUGE_VAL;
  d.step = STENCIL[STENCILS - 1];
  for (int k = 0; k < 3; k++) {
    c->sided = sides[k] != TGI_SIDE_BOTH;
    c->switched = c->known = false;
    tgStatus status = tgi_numdiff(&d, c->x, c->t, sides[k], c->col, c->err, c->work);
    if (status != TG_OK || c->switched || !(column_error(c, j, c->col) < best)) continue;
    best = column_error(c, j, c->col);
    c->step[j] = c->sided ? tgi_numdiff_side_step(d.step) : d.step;
    put_column(c, j, c->col, c->err);
    if (!c->sided) break;
  }
  c->sided = false;
}

// Spoiled columns that agree with neither side: the reference becomes the difference of the step that has the nominal rows in the
// nominal classes at every point. That step is the true one near an exact state, and one of several at a tie; where the label says
// exact and a switch is near all the same, the sides stay the reference. A step that is cut has no such: its parts have rows of their own.
static void pinned(Check *c) {
  tgSim *s = c->sim;
  if (s->stepper->pins == NULL || c->info.label == TG_GRAD_SURROGATE || step_from(c, c->x) != TG_OK || !s->stepper->pins(s)) return;
  for (int j = 0; j < c->nt; j++) {
    if (!c->spoiled[j] || column_agrees(c, j)) continue;
    char reason[sizeof c->reason[j]];
    memcpy(reason, c->reason[j], sizeof reason);
    for (int k = 0; k < c->nt; k++) c->t[k] = k == j;
    if ((c->info.label == TG_GRAD_ONE_SIDED || same_mode_near(c, j)) && step_from(c, c->x) == TG_OK) {
      s->stepper->remember(s);   // the classes to pin
      s->pinned = true;
      pinned_reference(c, j);
      s->pinned = false;
    }
    memcpy(c->reason[j], reason, sizeof reason);
  }
}

// of numbers of the size of the largest, of which one is never sure to be free
static double least_noise(const Check *c) { return 16 * 2.2e-16 * c->largest / 90; }

// A wheel of 1e-7 kg m^2 turns the round-off of the forces on it into far more than that of its speed, so it is measured, on one side of
// the state in one direction by chance: another one where that has a switch. Where all have, it is the least, but for c->rough.
static void measure_noise(Check *c) {
  enum { DIRECTIONS = 6 };
  tgiNumDiff d = differences(c);
  tgStatus status = TG_OK;
  c->sided = c->switched = true;
  for (int k = 0; k < DIRECTIONS && c->switched && status != TG_CANCELLED; k++) {
    for (int j = 0; j < c->nt; j++) c->t[j] = tg_random_normal(c->o.seed, PROBES + (uint64_t)k, (uint64_t)j);
    c->switched = c->known = false;
    status = tgi_numdiff_noise(&d, c->x, c->t, c->noise, c->side, c->work);
    c->switched = c->switched || status != TG_OK;
  }
  c->sided = false;
  c->rough = 0;
  for (int i = 0; i < c->ny && status == TG_OK; i++) c->rough = fmax(c->rough, c->noise[i]);
  for (int i = 0; i < c->ny && c->switched; i++) c->noise[i] = least_noise(c);
}

static void column_name(const Check *c, int j, char *text, size_t size) {
  if (j < c->ny) tgi_check_rate_name(&c->sim->m, j < c->nv ? j : j - c->nv, text, size);
  else tgi_check_actuator_name(&c->sim->m, j - c->ny, text, size);
}

// What the references of column j in some rows may be off by, of which they say `open` themselves: by the round-off that was measured, of
// their stencil; and, as that may be too little of a block of zeros, by the round-off of the largest number with the widest stencil, or
// what they say up to the round-off of theirs, beyond which it would hide a step that is not smooth.
static double leeway(const Check *c, int j, double measured, double open) {
  double noise = fmax(least_noise(c), measured), most = tgi_numdiff_round_off(noise, c->step[j]);
  double widest = c->spoiled[j] ? tgi_numdiff_side_step(STENCIL[0]) : STENCIL[0];
  double told = fmin(fmax(4 * open, tgi_numdiff_round_off(noise, widest)), most);
  return fmax(told, tgi_numdiff_round_off(measured, c->step[j]));
}

// the largest error estimate of a column in these rows
static double said_open(const Check *c, Span rows, int j) {
  double open = 0;
  for (int i = rows.from; i < rows.from + rows.n; i++) open = fmax(open, c->E[i * c->nt + j]);
  return open;
}

// error, scaled by the largest reference or, where that tells no more, by what the reference may be off by; and the worst entry
static void judge_block(const Check *c, tgGradBlock *b, Span rows, Span cols) {
  double scale = 0, floor = 0, worst = -1, noise = 0;
  for (int i = rows.from; i < rows.from + rows.n; i++) noise = fmax(noise, c->noise[i]);
  for (int i = rows.from; i < rows.from + rows.n; i++)
    for (int j = cols.from; j < cols.from + cols.n; j++) scale = fmax(scale, fabs(c->R[i * c->nt + j]));
  for (int j = cols.from; j < cols.from + cols.n; j++) {
    double open = said_open(c, rows, j), may = leeway(c, j, noise, open), size = fmax(scale, may / c->o.tolerance);
    b->estimate = fmax(b->estimate, open);
    floor = fmax(floor, may);
    for (int i = rows.from; i < rows.from + rows.n; i++) {
      double ours = tgRe(c->J[i * c->nt + j]), ref = c->R[i * c->nt + j], off = fabs(ours - ref);
      double error = isfinite(off) ? (size > 0 ? off / size : off) : HUGE_VAL;
      if (!(error > worst)) continue;
      worst = error;
      b->error = error;
      b->row = i - rows.from;
      b->col = j - cols.from;
      b->ours = ours;
      b->reference = ref;
    }
  }
  double size = fmax(scale, floor / c->o.tolerance);
  if (size > 0) b->estimate /= size;
}

static void compare(Check *c, tgGradCheck *check, const char *name, Span rows, Span cols) {
  if (rows.n == 0 || cols.n == 0) return;
  tgGradBlock *b = tgi_check_block(check, name, c->o.tolerance);
  if (b == NULL) return;
  judge_block(c, b, rows, cols);
  b->label = c->info.label;
  column_name(c, rows.from + b->row, b->row_name, sizeof b->row_name);
  column_name(c, cols.from + b->col, b->col_name, sizeof b->col_name);
  memcpy(b->reason, c->info.reason, sizeof b->reason);
  for (int j = cols.from + cols.n - 1; j >= cols.from; j--) {
    if (!c->spoiled[j]) continue;
    b->spoiled++;
    if (b->label < TG_GRAD_ONE_SIDED) b->label = TG_GRAD_ONE_SIDED;
    memcpy(b->reason, c->reason[j], sizeof b->reason);
  }
  tgi_check_verdict(check, b);
}

static void compare_all(Check *c, tgGradCheck *check) {
  static const char *const row[3] = {"q'", "v'", "act'"}, *const col[4] = {"q", "v", "act", "u"};
  for (int r = 0; r < 3; r++)
    for (int k = 0; k < 4; k++) {
      char name[32];
      snprintf(name, sizeof name, "d%s/d%s", row[r], col[k]);
      compare(c, check, name, c->row[r], c->col_of[k]);
    }
}

// <w, J v> = <J'w, v> for random w, v; the adjoint is of the step that the sim has just done
static tgStatus adjoint(Check *c, tgGradCheck *check) {
  tgReal *w = c->work, *v = w + c->ny, *g = v + c->nt;
  double worst = 0;
  tgGradInfo info = {0};
  for (int p = 0; p < PROBES; p++) {
    for (int i = 0; i < c->ny; i++) w[i] = tg_random_normal(c->o.seed, (uint64_t)p, (uint64_t)i);
    for (int j = 0; j < c->nt; j++) v[j] = tg_random_normal(c->o.seed, (uint64_t)p, (uint64_t)(c->ny + j));
    tgStatus status = tg_sim_step_vjp(c->sim, w, w + c->nv, g, g + c->nv, g + c->ny, NULL, &info);
    if (status != TG_OK) return status;
    worst = fmax(worst, tgi_dot_error(c->J, c->ny, c->nt, w, v, g));
  }
  // adjoint and Jacobian sum the terms of a potential in ways of their own, and what rounds a coordinate is that share of a gap
  double rounding = intersection_free(c) ? 2.2e-16 * c->largest / c->sim->info.least_distance : 0;
  tgGradBlock *b = c->dot = tgi_check_block(check, "adjoint", fmax(c->o.dot_tolerance, rounding));
  if (b == NULL) return TG_OK;
  b->error = worst;
  b->label = info.label;
  memcpy(b->reason, info.reason, sizeof b->reason);
  return TG_OK;
}

// The products differ by rounding, which grows as that of the step itself: redundant contacts make systems that are nearly singular.
static void judge_adjoint(const Check *c, tgGradCheck *check) {
  if (c->dot == NULL) return;
  c->dot->tolerance = fmax(c->dot->tolerance, 100 * c->rough / c->largest);
  tgi_check_verdict(check, c->dot);
}

// nominal step, its Jacobian and its adjoint, then the references of all columns
static tgStatus run(Check *c, tgGradCheck *check) {
  tgSim *s = c->sim;
  memcpy(c->x, s->qpos, (size_t)c->nq * sizeof(tgReal));
  tgi_sim_take_w(s, c->x + c->nq);
  if (c->nu > 0) memcpy(c->x + c->nq + c->nw, s->ctrl, (size_t)c->nu * sizeof(tgReal));
  tgStatus status = step_from(c, c->x);
  if (status != TG_OK) return status;
  tg_sim_freeze_memory(s, true);
  while ((status = step_from(c, c->x)) == TG_OK && (status = tg_sim_step_jacobian(s, c->J, &c->info)) == TG_ERR_CAPACITY)
    if ((status = tgi_sim_grow(s)) != TG_OK) return status;
  if (status != TG_OK) return status;
  memcpy(c->q1, s->qpos, (size_t)c->nq * sizeof(tgReal));
  c->largest = 1;
  for (int i = 0; i < c->nq; i++) c->largest = fmax(c->largest, fabs(tgRe(s->qpos[i])));
  for (int i = 0; i < c->nv; i++) c->largest = fmax(c->largest, fabs(tgRe(s->qvel[i])));
  for (int i = 0; i < s->m.na; i++) c->largest = fmax(c->largest, fabs(tgRe(s->act[i])));
  tgi_mode_capture(s, &c->nominal);
  c->nrow = s->nrow;
  status = adjoint(c, check);
  if (status != TG_OK) return status;
  measure_noise(c);
  judge_adjoint(c, check);
  for (int j = 0; j < c->nt; j++) reference(c, j);
  pinned(c);
  if (cancelled(c)) return TG_CANCELLED;   // references are not complete
  compare_all(c, check);
  return TG_OK;
}

// lays the work arrays out; called twice: to count and to place
static void place(Check *c, tgLayout *l) {
  size_t nt = (size_t)c->nt, ny = (size_t)c->ny, rows = (size_t)c->nominal.caprow, clamps = (size_t)tgi_mode_clamps(c->sim->model);
  tgiNumDiff d = {.nx = c->nx, .nt = c->nt, .ny = c->ny};
  c->q1 = tgi_place(l, (size_t)c->nq, sizeof(tgReal));
  c->x = tgi_place(l, (size_t)c->nx, sizeof(tgReal));
  c->t = tgi_place(l, nt, sizeof(tgReal));
  c->J = tgi_place(l, ny * nt, sizeof(tgReal));
  c->work = tgi_place(l, tgi_numdiff_work(&d) + ny + 2 * nt, sizeof(tgReal));
  c->R = tgi_place(l, ny * nt, sizeof(double));
  c->E = tgi_place(l, ny * nt, sizeof(double));
  c->col = tgi_place(l, ny, sizeof(double));
  c->err = tgi_place(l, ny, sizeof(double));
  c->side = tgi_place(l, 4 * ny, sizeof(double));
  c->noise = tgi_place(l, ny, sizeof(double));
  c->step = tgi_place(l, nt, sizeof(double));
  c->spoiled = tgi_place(l, nt, sizeof(int));
  c->reason = tgi_place(l, nt, sizeof *c->reason);
  tgiMode *mode[] = {&c->nominal, &c->other, &c->beside};
  for (int k = 0; k < 3; k++) {
    mode[k]->row = tgi_place(l, rows, sizeof(tgiModeRow));
    mode[k]->clamp = tgi_place(l, clamps, 1);
  }
}

tgStatus tg_grad_check_step(tgSim *sim, const tgGradCheckOptions *options, tgGradCheck *check) {
  if (sim == NULL || check == NULL) return TG_ERR_ARG;
  const tgModel *m = sim->model;
  Check c = {.sim = sim, .o = options != NULL ? *options : tg_grad_check_default(), .nq = m->nq, .nv = m->nv, .nw = tgi_nw(m), .nu = m->nu};
  if (c.o.size != sizeof c.o)
    return tgi_error(&sim->error, TG_ERR_ARG, "options of the gradient check must come from tg_grad_check_default");
  if (c.o.h <= 0) c.o.h = tg_model_timestep(m);
  c.nx = c.nq + c.nw + c.nu;
  c.ny = c.nv + c.nw;
  c.nt = c.ny + c.nu;
  const int width[4] = {c.nv, c.nv, m->na, c.nu};
  for (int k = 0, at = 0; k < 4; at += width[k++]) {
    c.col_of[k] = (Span){at, width[k]};
    if (k < 3) c.row[k] = c.col_of[k];
  }
  // points of the stencil may have more rows than the capacity of now; a difference shows long before this many
  c.nominal.caprow = c.other.caprow = c.beside.caprow = 2 * sim->cap.nrow + 64;
  *check = (tgGradCheck){.pass = false};
  tgLayout count = {.base = NULL};
  size_t snapshot = tg_sim_snapshot_size(sim);
  place(&c, &count);
  char *memory = sim->alloc.alloc(sim->alloc.ctx, count.used + 64 + snapshot);
  if (memory == NULL) return tgi_error(&sim->error, TG_ERR_MEMORY, "out of memory for a gradient check of %d dofs", c.nv);
  memset(memory, 0, count.used);
  tgLayout placed = {.base = memory};
  place(&c, &placed);
  char *saved = memory + count.used;
  bool frozen = sim->frozen;
  tg_sim_save(sim, saved);
  tgStatus status = run(&c, check);
  tg_sim_freeze_memory(sim, frozen);
  tgStatus back = tg_sim_restore(sim, saved);
  sim->alloc.free(sim->alloc.ctx, memory);
  if (status != TG_OK) check->pass = false;
  return status != TG_OK ? status : back;
}
