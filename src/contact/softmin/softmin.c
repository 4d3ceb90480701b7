// softmin.c: the `softmin` model at a pose and its velocities.
//
// Based on: [softmin]; [math/softmin Numbers].
#include "contact/softmin/softmin.h"

#include <stdio.h>
#include <string.h>

#include "math/spatial.h"

#define SHARP 20.0                 // spacings to eps2 and eps3 by default

#define SOFTMIN(kind, ...) TGI_OPTION_##kind(tgSoftminOptions, __VA_ARGS__)
static const tgiOption option[] = {TG_EXPLICIT_OPTIONS(SOFTMIN) TG_SOFTMIN_OPTIONS(SOFTMIN)};

// ---- geoms ----

static bool same(const tgReal *a, const tgReal *b, int n) {
  for (int i = 0; i < n; i++)
    if (!tgZero(a[i] - b[i])) return false;
  return true;
}

static const tgReal *size_of(const tgModel *m, int g) { return (m->geom_type[g] == TG_GEOM_MESH ? m->geom_scale : m->geom_size) + 3 * g; }

static tgReal or_derived(tgReal given, tgReal derived) { return tgRe(given) > 0 ? given : derived; }

static tgReal width_of(tgSim *s, const tgCloud *c) { return or_derived(TG_NUMBER(s, eps1), c->spacing * c->spacing); }

static void set_grid(tgSim *s, const tgCloud *c, tgiSoftPoints *geom) {
  tgReal eps1 = width_of(s, c);
  if (c->grid[0] > 0 && !(geom->made && tgZero(eps1 - geom->grid.eps1))) tgi_soft_grid_set(&geom->grid, c, geom->size, eps1);
}

static tgStatus begin(tgSim *s, double h) {
  (void)h;
  const tgiSoftmin *k = tgi_softmin(s);
  tgiSoftminWork *w = tgi_softmin_work(s);
  for (int g = 0; g < s->m.ngeom; g++) {
    const tgReal *size = size_of(&s->m, g);
    tgiSoftPoints *geom = &w->geom[g];
    if (k->cloud[g].n == 0) continue;
    geom->made = geom->made && same(geom->size, size, 3);
    tgi_v3_copy(geom->size, size);
    set_grid(s, &k->cloud[g], geom);
    if (geom->made) continue;
    tgi_cloud_place(&k->cloud[g], size, geom->p, geom->normal, NULL);
    tgi_ssdf_tree_numbers(&k->tree[g], geom->p, geom->normal, &geom->numbers);
    geom->made = true;
    for (int i = 0; i < k->npair; i++)
      if (k->pair[i].geom[0] == g || k->pair[i].geom[1] == g) tgi_soft_plan_forget(&w->plan[i]);
  }
  return TG_OK;
}

// ---- pairs ----

tgiSoftPair tgi_softmin_pair(tgSim *s, const tgPose *pose, int i) {
  const tgiSoftmin *k = tgi_softmin(s);
  const tgiSoftGeoms *g = &k->pair[i];
  const tgiSoftminWork *w = tgi_softmin_work(s);
  tgiSoftPair p = {.eps2 = or_derived(TG_NUMBER(s, eps2), g->spacing / SHARP)};
  p.law = (tgiSoftLaw){.eps = or_derived(TG_NUMBER(s, eps3), g->spacing / SHARP),
                       .v_d = TG_NUMBER(s, dissipation_speed), .v_s = TG_NUMBER(s, slip_speed),
                       .paper = tgi_softmin_options(s->contact_model)->form == TG_FORCE_PAPER};
  p.law.k = or_derived(TG_NUMBER(s, stiffness), g->mass * TG_STANDARD_GRAVITY / p.law.eps);
  p.law.mu = s->m.pair_condim[g->pair] == 1 ? 0 : tgi_pair_friction(&s->m, g->pair, 0, NULL);
  for (int side = 0; side < 2; side++) {
    int geom = g->geom[side];
    const tgCloud *c = &k->cloud[geom];
    bool ball = s->m.geom_type[geom] == TG_GEOM_SPHERE && !p.law.paper;
    p.side[side] = (tgiSoftSide){.surface = {.n = c->n, .p = w->geom[geom].p, .normal = w->geom[geom].normal,
                                             .eps1 = width_of(s, c), .ball = ball ? s->m.geom_size[3 * geom] : 0},
                                             .x = pose->geom_xpos + 3 * geom, .R = pose->geom_xmat + 9 * geom,
                                             .V = pose->V + 6 * s->m.geom_body[geom], .flat = c->flat};
  }
  return p;
}

void tgi_softmin_index(tgSim *s, int i, tgiSoftIndex index[2]) {
  const tgiSoftmin *k = tgi_softmin(s);
  const tgiSoftminWork *w = tgi_softmin_work(s);
  for (int side = 0; side < 2; side++) {
    int geom = k->pair[i].geom[side];
    index[side] = (tgiSoftIndex){&k->tree[geom], w->geom[geom].numbers, k->cloud[geom].grid[0] > 0 ? &w->geom[geom].grid : NULL};
  }
}

// over the points that count, or over all
static double sum(tgSim *s, int i, const tgiSoftPair *p, bool d, tgPairTerm *f) {
  const tgiSoftminWork *w = tgi_softmin_work(s);
  double tau = tgi_softmin_options(s->contact_model)->prune;
  tgiSoftIndex index[2];
  if (!(tau > 0)) return tgi_soft_pair_plain(p, d, w->work, f);
  tgi_softmin_index(s, i, index);
  return tgi_soft_pair_fast(p, index, tau, d, &w->plan[i], f);
}

static tgStatus evaluate(tgSim *s, const tgPose *pose, unsigned want) {
  const tgiSoftmin *k = tgi_softmin(s);
  tgiSoftminWork *w = tgi_softmin_work(s);
  s->nterm = k->npair;
  s->info.least_distance = INFINITY;
  for (int i = 0; i < k->npair; i++) {
    tgiSoftPair p = tgi_softmin_pair(s, pose, i);
    tgPairTerm *f = &s->term[i];
    f->body1 = s->m.geom_body[k->pair[i].geom[0]];
    f->body2 = s->m.geom_body[k->pair[i].geom[1]];
    w->height[i] = sum(s, i, &p, (want & (TG_LAW_POSE | TG_LAW_VELOCITY)) != 0, f);
    s->info.least_distance = fmin(s->info.least_distance, w->height[i]);
  }
  return TG_OK;
}

static bool stiffness(tgSim *s, const tgPose *pose, int i, tgContactStiffness *out) {
  tgiSoftPair p = tgi_softmin_pair(s, pose, i);
  const tgPairTerm *f = &s->term[i];
  double load = fmax(tgi_softmin(s)->pair[i].mass * TG_STANDARD_GRAVITY, sqrt(fmax(0, tgRe(tgi_v3_dot(f->w + 3, f->w + 3)))));
  tgi_soft_pair_closest(&p, out->p, out->n);
  out->stiffness = tgRe(p.law.k);
  out->damping = load / tgRe(p.law.v_d);
  out->friction = tgRe(p.law.mu) * load / tgRe(p.law.v_s);
  return true;
}

static int terms(const tgContact *c) { return ((const tgiSoftmin *)c->data)->npair; }

static int points(tgSim *s, int geom, const tgReal **position, const tgReal **normal) {
  const tgiSoftPoints *g = &tgi_softmin_work(s)->geom[geom];
  *position = g->p;
  *normal = g->normal;
  return g->made ? tgi_softmin(s)->cloud[geom].n : 0;
}

// ---- forces to look at ----

// of the points farthest against the force f on the geom, one
static void surface_of(const tgSim *s, int g, const double f[3], double at[3]) {
  const tgiSoftPoints *geom = &((const tgiSoftminWork *)s->solver)->geom[g];
  const tgReal *R = s->start.geom_xmat + 9 * g, *x = s->start.geom_xpos + 3 * g;
  tgReal z[3];
  double least = INFINITY;
  int best = 0;
  for (int i = 0; i < tgi_softmin(s)->cloud[g].n; i++) {
    tgi_m3_mulv(z, R, geom->p + 3 * i);
    double height = f[0] * tgRe(z[0]) + f[1] * tgRe(z[1]) + f[2] * tgRe(z[2]);
    if (height >= least) continue;
    least = height;
    best = i;
  }
  tgi_m3_mulv(z, R, geom->p + 3 * best);
  for (int k = 0; k < 3; k++) at[k] = tgRe(x[k] + z[k]);
}

static int touches(const tgSim *s) { return s->nterm; }

// The resultant of a pair at the start, where its line crosses the plane, or the face of the smaller of two surfaces, across the direction
// that it would have without friction.
static bool touch(const tgSim *s, int i, tgContactInfo *out) {
  tgSim *sim = (tgSim *)(uintptr_t)s;   // lists of points are made anew where they do not hold
  const int *geom = tgi_softmin(s)->pair[i].geom;
  tgPairTerm smooth;
  double w[6], at[3], n[3], against[3], ff = 0;
  for (int k = 0; k < 6; k++) w[k] = tgRe(s->term[i].w[k]);
  for (int k = 0; k < 3; k++) ff += w[3 + k] * w[3 + k];
  if (!(ff > 0)) return false;
  tgiSoftPair p = tgi_softmin_pair(sim, &s->start, i);
  p.law.mu = 0;
  double distance = sum(sim, i, &p, false, &smooth);
  bool second = s->m.geom_type[geom[0]] != TG_GEOM_PLANE &&
                (s->m.geom_type[geom[1]] == TG_GEOM_PLANE || tgRe(s->m.geom_rbound[geom[1]]) < tgRe(s->m.geom_rbound[geom[0]]));
  for (int k = 0; k < 3; k++) {
    n[k] = tgRe(smooth.w[3 + k]);
    against[k] = second ? -n[k] : n[k];
  }
  surface_of(s, geom[second], against, at);
  tgi_touch_resultant(s, geom[0], geom[1], w, at, n, out);
  out->distance = distance;
  tgi_touch_slip(s, 0, tgRe(p.law.v_s), out);
  return true;
}

static const char *term_label(const tgSim *s, int i, char *text, size_t size) {
  char a[128], b[128];
  const tgiSoftGeoms *g = &tgi_softmin(s)->pair[i];
  snprintf(text, size, "%s and %s", tgi_model_label(&s->m, TG_THING_GEOM, g->geom[0], a, sizeof a),
           tgi_model_label(&s->m, TG_THING_GEOM, g->geom[1], b, sizeof b));
  return text;
}

static void param_nonsmooth(const tgSim *s, const tgParamGrad *p, tgGradInfo *info) {
  const tgModel *m = &s->m;
  const tgiSoftmin *k = tgi_softmin(s);
  if (p->geom_friction == NULL) return;
  for (int i = 0; i < k->npair; i++) {
    const tgiSoftGeoms *g = &k->pair[i];
    int geom;
    tgi_pair_friction(m, g->pair, 0, &geom);
    if (m->pair_condim[g->pair] != 1 && geom >= 0 && m->geom_priority[g->geom[0]] == m->geom_priority[g->geom[1]])
      tgi_equal_numbers(m, g->geom[0], g->geom[1], m->geom_friction[g->geom[0]], m->geom_friction[g->geom[1]], "friction", info);
  }
}

static const tgLaw law = {
    .has = TG_LAW_POSE | TG_LAW_VELOCITY,
    .terms = terms,
    .begin = begin,
    .evaluate = evaluate,
    .parameters = tgi_softmin_parameters,
    .points = points,
    .stiffness = stiffness,
    .term_label = term_label,
};

static const tgContactDoubt doubts[] = {
    {.name = "stiffer", .option = "eps3", .factor = 0.5, .finer = true, .required = true},
    {.name = NULL}};

static const char *const derived[] = {"stiffness", "eps1", "eps2", "eps3", NULL};

static tgStatus differentiable(const tgContact *c, const char *name, tgError *error) {
  if (strcmp(name, "hull_vert") != 0 || c->model->nhullvert == 0) return TG_OK;
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "hull_vert has no derivative under this contact model, whose geoms are the meshes' own surfaces; geom_scale has.");
}

const tgContactModel tgi_softmin_model = {
    .word = "softmin",
    .stepper = "explicit",
    .options = TGI_OPTION_LIST(option, tgSoftminOptions),
    .solver_bytes = tgi_softmin_bytes,
    .prepare = tgi_softmin_prepare,
    .release = tgi_softmin_release,
    .derived = derived,
    .differentiable = differentiable,
    .param_nonsmooth = param_nonsmooth,
    .touches = touches,
    .touch = touch,
    .doubts = doubts,
    .law = &law,
};
