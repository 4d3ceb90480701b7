// force_profile.c: SM-R2, the force on a small sphere that is moved past a large one: how smooth it is, here and in
// MuJoCo (tools/force_profile.py), and what is felt before contact. [softmin] section IV-B, figures 1 and 5.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "repro/experiments.h"
#include "tangere/data.h"
#include "tangere/softmin.h"

// as in tools/force_profile.py: the line x = beside, |y| <= far [m], points of the profile, cells that are looked into
// and how often each is halved
enum { POINTS = 401, CELLS = 100, HALVINGS = 6 };
static const double beside = 0.11, far = 0.2;
// a tenth of the small sphere's radius, in which the force sets in and points share it, and a third of it, which its points are apart [m]
static const double radius = 0.03, large = 0.1, width = 0.003, spacing = 0.01;

typedef struct Probe { tgScene scene; tgStatus status; } Probe;

// (fx, fy) on the small sphere of 1 kg at rest [N]: what one step gives it
static void force(Probe *p, double x, double y, double f[2]) {
  tgSim *s = p->scene.sim;
  tg_sim_reset(s);
  tg_sim_qpos(s)[0] = x;
  tg_sim_qpos(s)[1] = y;
  tgStatus st = tg_sim_step_growing(s, p->scene.h, NULL);
  if (st != TG_OK) p->status = st;
  for (int i = 0; i < 2; i++) f[i] = tg_sim_qvel(s)[i] / p->scene.h;
}

// dF/d(x, y), row-major [N/m]
static void gradient(Probe *p, double x, double y, double G[4]) {
  double f[2], D[4 * 4];
  force(p, x, y, f);
  tgStatus st = tg_sim_step_jacobian(p->scene.sim, D, NULL);
  if (st != TG_OK) p->status = st;
  for (int i = 0; i < 4; i++) G[i] = D[4 * (2 + i / 2) + i % 2] / p->scene.h;
}

static double norm(const double *x, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

// ---- jump of the second derivative along the line ----

// second difference right of f[at] less that left of it; h is s places of f
static double across(const double (*f)[2], int at, int s, double h, double out[2]) {
  for (int i = 0; i < 2; i++)
    out[i] = ((f[at + 2 * s][i] - 2 * f[at + s][i] + f[at][i]) - (f[at][i] - 2 * f[at - s][i] + f[at - 2 * s][i])) / (h * h);
  return norm(out, 2);
}

// The cell about y is narrowed to where second differences right and left of a place differ most. Their difference is
// odd in the step: what is left of it at three steps, extrapolated to none, is a jump; of a smooth function the fifth
// power of the step and rounding remain.
static double look_into(Probe *p, double *y, double h) {
  double f[25][2], a[2], b[2], c[2];
  for (int k = 0; k < HALVINGS; k++) {
    for (int i = 0; i < 9; i++) force(p, beside, *y + (i - 4) * h / 2, f[i]);
    int best = 2;
    double most = -1;
    h /= 2;
    for (int i = 2; i <= 6; i++) {
      double now = across(f, i, 1, h, a);
      if (now <= most) continue;
      most = now;
      best = i;
    }
    *y += (best - 4) * h;
  }
  double worst = 0;
  for (int i = 0; i < 25; i++) force(p, beside, *y + (i - 12) * h / 4, f[i]);
  for (int at = 8; at <= 16; at += 2) {
    double wide = across(f, at, 4, h, a), narrow = across(f, at, 1, h / 4, c);
    across(f, at, 2, h / 2, b);
    for (int i = 0; i < 2; i++) a[i] = (8 * (2 * c[i] - b[i]) - (2 * b[i] - a[i])) / 7;
    worst = fmax(worst, narrow > wide ? narrow : norm(a, 2));   // a kink's differences grow as the step shrinks
  }
  return worst;
}

// relative to the largest second difference at the cells' width
static double jump(Probe *p, double *where) {
  double cell = 2 * far / CELLS, scale = 0, worst = 0, f[3][2];
  for (int i = 0; i <= CELLS; i++) {
    double d[2], y = -far + i * cell;
    for (int k = 0; k < 3; k++) force(p, beside, y + (k - 1) * cell, f[k]);
    for (int k = 0; k < 2; k++) d[k] = (f[0][k] - 2 * f[1][k] + f[2][k]) / (cell * cell);
    scale = fmax(scale, norm(d, 2));
  }
  for (int i = 0; i < CELLS && !tgi_cli_interrupted; i++) {
    double y = -far + (i + 0.5) * cell, found = look_into(p, &y, cell / 2);
    if (found <= worst) continue;
    worst = found;
    *where = y;
  }
  return worst / scale;
}

// ---- rows and pictures ----

static void before_contact(tgRun *run, Probe *p) {
  double x = large + 2 * radius, G[4], H[8], up[4], down[4], step = width / 100;   // the gap is a radius
  gradient(p, x, 0, G);
  for (int k = 0; k < 2; k++) {
    gradient(p, x + (k == 0) * step, (k == 1) * step, up);
    gradient(p, x - (k == 0) * step, -(k == 1) * step, down);
    for (int i = 0; i < 4; i++) H[4 * k + i] = (up[i] - down[i]) / (2 * step);
  }
  tgi_run_row(run, "gradient_before_contact", norm(G, 4),
              "N/m, norm; a radius of the small sphere from touching the large one; MuJoCo's is 0 there");
  tgi_run_report(run, "hessian_before_contact", norm(H, 8), "N/m^2", NAN, "norm, by central differences of the step's exact Jacobian");
}

static void polyline(FILE *f, const char *color, const double *y, int n, double least, double most) {
  fprintf(f, "<polyline fill='none' stroke='%s' stroke-width='1.5' points='", color);
  for (int i = 0; i < n; i++) fprintf(f, "%.2f,%.2f ", 60 + 620.0 * i / (n - 1), 20 + 200 * (most - y[i]) / (most - least));
  fprintf(f, "'/>\n");
}

// two panels, one above the other: the force, and its second difference, each over its largest value
static bool draw(tgRun *run, const double *table) {
  static const char *const title[2] = {"|F| over its largest value", "second difference of |F| in y over its largest value"};
  char path[1200];
  if (run->folder == NULL) return true;
  snprintf(path, sizeof path, "%s/profile.svg", run->folder);
  FILE *f = fopen(path, "w");
  if (f == NULL) return tgi_cli_say("tangere reproduce: %s cannot be written", path), false;
  fprintf(f, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 700 540' font-family='sans-serif' font-size='13'>\n"
             "<rect width='700' height='540' fill='white'/>\n");
  for (int panel = 0; panel < 2; panel++) {
    fprintf(f, "<g transform='translate(0 %d)'>\n"
               "<text x='60' y='14'>%s: softmin <tspan fill='#1f6fb2'>blue</tspan>, MuJoCo <tspan fill='#c0392b'>red</tspan></text>\n"
               "<rect x='60' y='20' width='620' height='200' fill='none' stroke='#999'/>\n", 260 * panel, title[panel]);
    for (int who = 0; who < 2; who++) {
      double y[POINTS], most = 0, least = 0;
      for (int i = 0; i < POINTS; i++) {
        const double *at = table + 5 * i + 1 + 2 * who;
        y[i] = panel == 0 ? norm(at, 2) : i == 0 || i == POINTS - 1 ? 0 : norm(at - 5, 2) - 2 * norm(at, 2) + norm(at + 5, 2);
        most = fmax(most, fabs(y[i]));
      }
      for (int i = 0; i < POINTS && most > 0; i++) least = fmin(least, y[i] /= most);
      polyline(f, who == 0 ? "#1f6fb2" : "#c0392b", y, POINTS, panel == 0 ? 0 : -1, 1);
    }
    fprintf(f, "<text x='60' y='236'>y = %g m</text><text x='680' y='236' text-anchor='end'>%g m</text>\n</g>\n", -far, far);
  }
  return tgi_run_picture(run, f, path);
}

static bool leave(tgRun *run, const double *table) {
  static const char *const name[5] = {"y", "fx", "fy", "mujoco_fx", "mujoco_fy"};
  char path[1200];
  tgError error = {0};
  if (run->folder == NULL) return true;
  snprintf(path, sizeof path, "%s/profile.csv", run->folder);
  if (tg_csv_write(path, 5, name, POINTS, table, &error) != TG_OK) return tgi_cli_error("reproduce", &error), false;
  json_array_append_new(run->left, json_string(path));
  return draw(run, table);
}

static bool profile(tgRun *run, Probe *p, const tgNpz *npz, const char *path) {
  tgError error = {0};
  const size_t n[2] = {POINTS, 2};
  const tgNpzArray *f = tg_npz_get(npz, path, "force", TG_NPZ_F8, 2, n, &error),
                   *y = f != NULL ? tg_npz_get(npz, path, "y", TG_NPZ_F8, 1, n, &error) : NULL;
  const tgNpzArray *j = y != NULL ? tg_npz_get(npz, path, "jump", TG_NPZ_F8, 0, NULL, &error) : NULL,
                   *w = j != NULL ? tg_npz_get(npz, path, "where", TG_NPZ_F8, 0, NULL, &error) : NULL;
  if (w == NULL) return tgi_cli_error("reproduce", &error), false;
  static double table[5 * POINTS];
  double where = 0, most[2] = {0, 0}, ours = jump(p, &where);
  for (int i = 0; i < POINTS; i++) {
    double *row = table + 5 * i;
    row[0] = ((const double *)y->data)[i];
    force(p, beside, row[0], row + 1);
    memcpy(row + 3, (const double *)f->data + 2 * i, 2 * sizeof *row);
    for (int k = 0; k < 2; k++) most[k] = fmax(most[k], norm(row + 1 + 2 * k, 2));
  }
  double touch = sqrt((large + radius) * (large + radius) - beside * beside);
  tgi_run_row(run, "second_derivative_jump", ours, "largest at y = %.4f m; contact begins at %.4f m", where, touch);
  tgi_run_row(run, "mujoco.second_derivative_jump", *(const double *)j->data,
              "at y = %.5f m; a kink, whose second difference grows as the step shrinks", *(const double *)w->data);
  tgi_run_report(run, "largest_force", most[0], "N", NAN, "stiffness m g/eps3");
  tgi_run_report(run, "mujoco.largest_force", most[1], "N", NAN, "");
  before_contact(run, p);
  return leave(run, table);
}

bool tgi_reproduce_force_profile(tgRun *run) {
  Probe p = {.status = TG_OK};
  tgNpz npz;
  char path[1024];
  tgError error = {0};
  tgSoftminOptions o = tg_softmin_default();
  o.eps2 = o.eps3 = width;
  o.spacing = spacing;
  o.prune = 0;                   // smoothness is judged to rounding
  if (!tgi_scene_open_under(&p.scene, "two_spheres.xml", "softmin", &o.of)) return false;
  bool good = tgi_models_file("two_spheres.npz", path, sizeof path) && tg_npz_read(path, 1 << 20, NULL, &npz, &error) == TG_OK;
  if (good) {
    good = profile(run, &p, &npz, path) && p.status == TG_OK;
    if (p.status != TG_OK) tgi_cli_error("reproduce", tg_sim_error(p.scene.sim));
    tg_npz_free(&npz);
  } else if (error.text[0] != '\0') tgi_cli_error("reproduce", &error);
  tgi_scene_close(&p.scene);
  return good;
}
