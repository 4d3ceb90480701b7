// properties.c: tangere compare --properties: what [barrier] asks of a contact potential, measured on every contact model.
//
// A box with a corner down over a larger, fixed one, weightless, without friction. A model is asked for the force
// alone: of a potential its gradient, of impulses what one step from rest gives. Second differentiability of the
// potential is differentiability of the force: where a second difference of it over the step d is of order d^2
// (smooth), d (a kink) or 1 (a jump), halving d divides difference/d by 2, 1 or 1/2.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { DISTANCES = 10000, CELLS = 300, LEVELS = 26, DECADES = 11 };
static const double table_half[3] = {0.5, 0.4, 0.1}, half[3] = {0.1, 0.07, 0.05}, step = 1e-3, overlap[3] = {1e-6, 1e-4, 1e-3};

typedef struct Probe {
  tgModel *model;
  tgContact *contact;
  tgSim *sim;
  tgError error;
  double corner[3];              // lowest corner of the turned box from its centre
  bool refuses;                  // overlaps: an error, or an infinite potential
} Probe;

typedef struct Force { double f[6]; bool known; } Force;   // on the box, at its centre; not known where the model refuses the pose

typedef struct Path {
  const char *name;
  double from, to;
  bool logarithmic;
} Path;
static const Path paths[] = {
    {"approach", 1e-4, 10, true},        // gap under the corner [m]
    {"tilt", -0.006, 0.006, false},      // angle of face on face [rad], 1 mm apart (where overlaps are allowed, in)
    {"edge", -0.03, 0.03, false},        // way of the corner over the table's edge [m], 2 mm apart (1 mm in)
    {"touch", -1e-3, 1e-3, false},       // gap [m], where overlaps are allowed
};
enum { NPATHS = sizeof paths / sizeof *paths };

typedef struct Measure {
  char name[64];
  bool refuses;
  double closer;                 // force at 1e-9 m over that at 1e-3 m; NaN: none there
  double ratio, place;           // least over all cells and where; infinite: no force to look at
  double share;                  // of the force there in the largest on its path
  const char *path;
  int push, pull, none;
  double strongest;              // of the pulls, over the largest force [-]
  double beyond;                 // least distance of those without force, NaN: there are none
  double force[DECADES], slope;  // at 1e-6 .. 1e4 m; of the last decade, in logarithms
} Measure;

// ---- the scene ----

// 0.9 rad about (1, 2, 3)
static const double turn[4] = {0.9004471023526769, 0.11624942883566838, 0.23249885767133677, 0.3487482865070052};

static tgModel *scene(tgError *error) {
  tgDesc *d = tg_desc_create(NULL);
  if (d == NULL) return NULL;
  int b = tg_desc_add_body(d, 0, "box"), table, box;
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  table = tg_desc_add_geom(d, 0, TG_GEOM_BOX, "table");
  box = tg_desc_add_geom(d, b, TG_GEOM_BOX, "box");
  memcpy(d->geom[table].size, table_half, sizeof table_half);
  memcpy(d->geom[box].size, half, sizeof half);
  d->geom[table].pos[2] = -table_half[2];
  d->geom[table].friction[0] = d->geom[box].friction[0] = 0;
  d->geom[table].condim = d->geom[box].condim = 1;
  d->body[b].has_inertial = true;
  d->body[b].mass = d->body[b].inertia[0] = d->body[b].inertia[1] = d->body[b].inertia[2] = 1;
  memset(d->option.gravity, 0, sizeof d->option.gravity);
  tgModel *m = tg_model_compile(d, NULL, error);
  tg_desc_free(d);
  return m;
}

static void rotate(const double q[4], const double x[3], double y[3]) {
  double t[3];
  for (int i = 0; i < 3; i++) t[i] = 2 * (q[1 + (i + 1) % 3] * x[(i + 2) % 3] - q[1 + (i + 2) % 3] * x[(i + 1) % 3]);
  for (int i = 0; i < 3; i++) y[i] = x[i] + q[0] * t[i] + q[1 + (i + 1) % 3] * t[(i + 2) % 3] - q[1 + (i + 2) % 3] * t[(i + 1) % 3];
}

static void find_corner(double corner[3]) {
  corner[2] = INFINITY;
  for (int k = 0; k < 8; k++) {
    double x[3], y[3];
    for (int i = 0; i < 3; i++) x[i] = k >> i & 1 ? half[i] : -half[i];
    rotate(turn, x, y);
    if (y[2] < corner[2]) memcpy(corner, y, sizeof y);
  }
}

static bool open_probe(Probe *p, const char *word, const tgContactOptions *options) {
  memset(p, 0, sizeof *p);
  p->model = scene(&p->error);
  p->contact = p->model != NULL ? tg_contact_create(p->model, word, options, &p->error) : NULL;
  p->sim = p->contact != NULL ? tg_sim_create(p->model, p->contact, NULL, &p->error) : NULL;
  find_corner(p->corner);
  return p->sim != NULL;
}

static void close_probe(Probe *p) {
  tg_sim_free(p->sim);
  tg_contact_free(p->contact);
  tg_model_free(p->model);
}

// ---- the force ----

// minus the gradient of the contact potential; torque about the centre, turned from the box's axes into the world's
static tgStatus potential_force(tgSim *s, Force *out) {
  double energy, g[6];
  tgStatus st = tg_sim_contact_potential(s, &energy, g);
  if (st != TG_OK) return st;
  for (int i = 0; i < 3; i++) out->f[i] = -g[i];
  rotate(tg_sim_qpos(s) + 3, g + 3, out->f + 3);
  for (int i = 3; i < 6; i++) out->f[i] = -out->f[i];
  return st;
}

static tgStatus impulse_force(tgSim *s, Force *out) {
  double q[7];
  memcpy(q, tg_sim_qpos(s), sizeof q);
  memset(tg_sim_qvel(s), 0, 6 * sizeof *q);
  tgStatus st = tg_sim_step_growing(s, step, NULL);
  for (int i = 0; i < 6 && st == TG_OK; i++) out->f[i] = tg_sim_qvel(s)[i] / step;   // mass and moments of inertia are 1
  memcpy(tg_sim_qpos(s), q, sizeof q);
  return st == TG_NOT_CONVERGED ? TG_ERR_INVALID : st;
}

// the force at the pose; false: no fault of the pose, p->error says what
static bool force_at(Probe *p, const double x[3], const double q[4], Force *out) {
  tgSim *s = p->sim;
  tgStatus st;
  do {
    memset(out, 0, sizeof *out);
    memcpy(tg_sim_qpos(s), x, 3 * sizeof *x);
    memcpy(tg_sim_qpos(s) + 3, q, 4 * sizeof *q);
    st = potential_force(s, out);
    if (st == TG_ERR_UNSUPPORTED) st = impulse_force(s, out);   // no potential: what impulses give
  } while (st == TG_ERR_CAPACITY && tg_sim_grow(s) == TG_OK);
  out->known = st >= 0;
  if (st >= 0 || st == TG_ERR_INVALID) return true;
  p->error = *tg_sim_error(s);
  return false;
}

// with the corner at this height over (0.03, -0.02), moved by x
static bool corner_at(Probe *p, double height, double x, Force *out) {
  double at[3] = {0.03 + x - p->corner[0], -0.02 - p->corner[1], height - p->corner[2]};
  return force_at(p, at, turn, out);
}

static bool on_path(Probe *p, int path, double u, Force *out) {
  double flat[3] = {0.03, -0.02, half[2] + (p->refuses ? 1e-3 : -1e-3)}, tilt[4] = {cos(u / 2), 0, sin(u / 2), 0};
  switch (path) {
    case 1: return force_at(p, flat, tilt, out);
    case 2: return corner_at(p, p->refuses ? 2e-3 : -1e-3, table_half[0] - 0.03 + u, out);
    default: return corner_at(p, u, 0, out);
  }
}

// ---- second differentiability ----

static double norm(const double f[6]) {
  double n = 0;
  for (int i = 0; i < 6; i++) n += f[i] * f[i];
  return sqrt(n);
}

static double second_difference(const Force f[3]) {
  double d[6];
  for (int i = 0; i < 6; i++) d[i] = f[0].f[i] - 2 * f[1].f[i] + f[2].f[i];
  return norm(d);
}

// Halves the cell from a to b about its largest second difference until that is rounding. *ratio: mean of the last
// three halvings, infinite where there are fewer or the force is zero. *place: where it ended.
static bool look_into(Probe *p, int path, double a, double b, double *ratio, double *place) {
  Force f[5];
  double d[LEVELS], x = 0.5 * (a + b), h = (b - a) / 4;
  int n = 0;
  *ratio = INFINITY;
  for (int i = 0; i < 5; i++)
    if (!on_path(p, path, a + i * h, &f[i])) return false;
  for (;; n++) {
    double scale = 0, most = -1;
    int best = 1;
    for (int i = 0; i < 5; i++) {
      if (!f[i].known) return true;
      scale = fmax(scale, norm(f[i].f));
    }
    for (int i = 1; i < 4; i++) {
      double now = second_difference(f + i - 1);
      if (now > most) {
        most = now;
        best = i;
      }
    }
    if (n == LEVELS || most <= 1e-9 * scale) break;
    d[n] = most;
    x += (best - 2) * h;
    f[0] = f[best - 1], f[4] = f[best + 1], f[2] = f[best];
    h /= 2;
    if (!on_path(p, path, x - h, &f[1]) || !on_path(p, path, x + h, &f[3])) return false;
  }
  *place = x;
  if (n >= 4) *ratio = cbrt(d[n - 4] / d[n - 1]) / 2;
  return true;
}

static double along(const Path *path, double t) {
  return path->logarithmic ? path->from * pow(path->to / path->from, t) : path->from + (path->to - path->from) * t;
}

// the force at a place of a path over the largest at 30 places of it
static bool share_of_force(Probe *p, int path, double place, double *share) {
  double most = 0;
  Force f;
  for (int i = 0; i <= 30; i++) {
    if (!on_path(p, path, along(&paths[path], i / 30.0), &f)) return false;
    if (f.known) most = fmax(most, norm(f.f));
  }
  if (!on_path(p, path, place, &f)) return false;
  *share = most > 0 ? norm(f.f) / most : 0;
  return true;
}

static bool measure_switches(Probe *p, Measure *m) {
  m->ratio = INFINITY;
  for (int k = 0; k < NPATHS; k++)
    for (int i = 0; i < CELLS && !(p->refuses && k == 3); i++) {
      double ratio, place = 0;
      if (!look_into(p, k, along(&paths[k], i / (double)CELLS), along(&paths[k], (i + 1) / (double)CELLS), &ratio, &place)) return false;
      if (!(ratio < m->ratio)) continue;
      m->ratio = ratio;
      m->place = place;
      m->path = paths[k].name;
      m->share = k;
    }
  return m->path == NULL || share_of_force(p, (int)m->share, m->place, &m->share);
}

// ---- the other three ----

static bool measure_overlaps(Probe *p, Measure *m) {
  Force f, near;
  p->refuses = true;
  for (int i = 0; i < 3; i++) {
    if (!corner_at(p, -overlap[i], 0, &f)) return false;
    p->refuses = p->refuses && !f.known;
    m->pull += f.known && f.f[2] < 0;
  }
  m->refuses = p->refuses;
  if (!corner_at(p, 1e-9, 0, &near) || !corner_at(p, 1e-3, 0, &f)) return false;
  m->closer = norm(f.f) > 0 ? norm(near.f) / norm(f.f) : NAN;
  return true;
}

static bool measure_distances(Probe *p, Measure *m) {
  double most = 0, pull = 0;
  m->beyond = NAN;
  for (int i = 0; i < DISTANCES; i++) {
    double x = pow(10, -6 + 10.0 * i / (DISTANCES - 1));
    Force f;
    if (!corner_at(p, x, 0, &f)) return false;
    m->push += f.known && f.f[2] > 0;
    m->pull += f.known && f.f[2] < 0;
    m->none += f.known && f.f[2] == 0;
    if (f.known) most = fmax(most, fabs(f.f[2]));
    if (f.known) pull = fmax(pull, -f.f[2]);
    if (f.known && f.f[2] == 0) m->beyond = fmin(m->beyond, x);
  }
  m->strongest = most > 0 ? pull / most : 0;
  for (int i = 0; i < DECADES; i++) {
    Force f;
    if (!corner_at(p, pow(10, i - 6), 0, &f)) return false;
    m->force[i] = f.known ? f.f[2] : NAN;
  }
  double last = m->force[DECADES - 1], before = m->force[DECADES - 2];
  m->slope = last > 0 && before > 0 ? log10(last / before) : NAN;
  return true;
}

static bool is_barrier(const Measure *m) { return m->refuses && m->closer > 1e4; }
// an impact in time has no force at rest, of which nothing can be said
static bool has_force(const Measure *m) { return isfinite(m->ratio); }
static bool is_smooth(const Measure *m) { return has_force(m) && m->ratio > 1.7; }
static bool never_vanishes(const Measure *m) { return m->push == DISTANCES; }

// ---- the table ----

static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *measure_json(const Measure *m) {
  json_t *force = json_object();
  for (int i = 0; i < DECADES; i++) {
    char key[16];
    snprintf(key, sizeof key, "1e%d", i - 6);
    json_object_set_new(force, key, number(m->force[i]));
  }
  return json_pack("{s:s, s:{s:b, s:b, s:o}, s:{s:o, s:o, s:s, s:o, s:f}, s:{s:b, s:i, s:i, s:i, s:f}, s:{s:b, s:o, "
                   "s:o, s:o}}", "contact", m->name, "barrier_form", "holds", (int)is_barrier(m), "refuses_overlap",
                   (int)m->refuses, "force_1e-9_over_1e-3", number(m->closer), "twice_differentiable", "holds",
                   has_force(m) ? json_boolean(is_smooth(m)) : json_null(), "halving_ratio", number(m->ratio), "path",
                   m->path != NULL ? m->path : "",
                   "place", number(m->place), "share_of_force", m->share, "never_pulls", "holds", (int)(m->pull == 0),
                   "pushes", m->push, "pulls", m->pull, "no_force", m->none, "strongest_pull", m->strongest,
                   "never_vanishes", "holds", (int)never_vanishes(m), "force_N", force, "slope", number(m->slope),
                   "no_force_from_m", number(m->beyond));
}

static void print_measure(FILE *to, const Measure *m) {
  char barrier[40], smooth[40] = "no force", sign[40], decay[40];
  if (!m->refuses) snprintf(barrier, sizeof barrier, "no, overlaps");
  else if (isnan(m->closer)) snprintf(barrier, sizeof barrier, "no, no force apart");
  else snprintf(barrier, sizeof barrier, "%s, force x %.2g", is_barrier(m) ? "yes" : "no", m->closer);
  if (has_force(m))
    snprintf(smooth, sizeof smooth, "%s, %.2f%s%s", is_smooth(m) ? "yes" : "no", m->ratio, m->path != NULL ? " " : "",
             m->path != NULL && !is_smooth(m) ? m->path : "");
  size_t used = strlen(smooth);
  if (m->path != NULL && !is_smooth(m) && m->share < 1e-3) snprintf(smooth + used, sizeof smooth - used, " at %.0e", m->share);
  if (m->pull == 0) snprintf(sign, sizeof sign, "yes, %d push, 0 pull", m->push);
  else snprintf(sign, sizeof sign, "no, %d push, %d pull, by %.0e", m->push, m->pull, m->strongest);
  if (never_vanishes(m)) snprintf(decay, sizeof decay, "yes, %.2g N at 1e4 m, slope %.2f", m->force[DECADES - 1], m->slope);
  else snprintf(decay, sizeof decay, "no, none from %.2g m", m->beyond);
  fprintf(to, "%-20s %-22s %-26s %-34s %s\n", m->name, barrier, smooth, sign, decay);
  fflush(to);
}

typedef struct Table { const tgCli *cli; FILE *to; json_t *rows; } Table;

// first: of its model, which then says what it warns of
static int measure(const Table *t, const char *word, const char *variant, const tgContactOptions *options, bool first) {
  Probe p;
  Measure m = {0};
  snprintf(m.name, sizeof m.name, "%s%s", word, variant);
  bool open = open_probe(&p, word, options);
  if (open && first) tgi_cli_contact_warnings(t->cli, p.contact);
  bool done = open && measure_overlaps(&p, &m) && measure_distances(&p, &m) && measure_switches(&p, &m);
  int code = done ? TG_EXIT_OK : tgi_cli_error("compare --properties", &p.error);
  close_probe(&p);
  if (!done) return code;
  print_measure(t->to, &m);
  json_array_append_new(t->rows, measure_json(&m));
  return code;
}

// a potential that blends is also measured in the publication's form and without clusters, unless a form is asked for
static const struct Form { const char *name, *hierarchy; } form[] = {{"", NULL}, {", publication", "paper"}, {", every pair", "brute"}};

static bool form_given(const tgCli *cli) {
  char name[TG_CLI_OPTION_NAME];
  for (int i = 0; i < cli->ncontact_option; i++) {
    tgi_cli_split_option(cli, i, name);
    if (strcmp(name, "hierarchy") == 0) return true;
  }
  return false;
}

static int measure_word(const Table *t, const char *word) {
  bool hierarchies = tg_contact_option_named(word, "hierarchy").name != NULL && !form_given(t->cli);
  size_t n = hierarchies ? sizeof form / sizeof *form : 1;
  int code = TG_EXIT_OK;
  for (size_t k = 0; k < n && code == TG_EXIT_OK; k++) {
    tgAnyContactOptions o;
    if (!tgi_cli_contact_options(t->cli, word, &o)) return TG_EXIT_USAGE;
    if (k > 0) tg_contact_set(&o.of, "hierarchy", form[k].hierarchy, NULL);
    code = measure(t, word, form[k].name, &o.of, k == 0);
  }
  return code;
}

// the models between the commas of --contact, all without it
static int measure_words(const Table *t) {
  char list[256], *save = NULL;
  int code = TG_EXIT_OK;
  if (t->cli->contact == NULL) {
    for (int i = 0; tg_contact_words(i) != NULL && code == TG_EXIT_OK; i++) code = measure_word(t, tg_contact_words(i));
    return code;
  }
  snprintf(list, sizeof list, "%s", t->cli->contact);
  for (char *word = strtok_r(list, ",", &save); word != NULL && code == TG_EXIT_OK; word = strtok_r(NULL, ",", &save))
    code = measure_word(t, word);
  return code;
}

static json_t *options_json(const tgCli *cli) {
  json_t *json = json_object();
  for (int i = 0; i < cli->ncontact_option; i++) {
    char name[TG_CLI_OPTION_NAME];
    const char *value = tgi_cli_split_option(cli, i, name);
    json_object_set_new(json, name, json_string(value));
  }
  return json;
}

int tgi_cli_properties(const tgCli *cli) {
  Table t = {cli, cli->json ? stderr : stdout, json_array()};
  fprintf(t.to, "%-20s %-22s %-26s %-34s %s\n", "contact", "barrier form", "twice differentiable", "never pulls", "never vanishes");
  int code = measure_words(&t);
  return tgi_cli_compared(cli, json_pack("{s:s, s:s, s:i, s:o, s:o}", "version", tg_version(), "command",
                                         "compare --properties", "distances", DISTANCES, "options", options_json(cli),
                                         "rows", t.rows), code);
}
