// damped.c: the contact model `damped`.
//
// Based on: [math/damped].
#include "contact/damped/damped.h"

#include <stdio.h>
#include <string.h>

#include "math/spatial.h"

#define DAMPED(kind, ...) TGI_OPTION_##kind(tgDampedOptions, __VA_ARGS__)
static const tgiOption option[] = {TG_MIDPOINT_OPTIONS(DAMPED) TG_DAMPED_OPTIONS(DAMPED)};

static int terms(const tgContact *c) { return ((const tgiDamped *)c->data)->npair; }

static double resting_gap(const tgContact *c) {
  const tgiDamped *k = c->data;
  return k->npair > 0 ? k->least_gap : 0;
}

static const tgiDampedPair *pair_of(const tgSim *s, int term) {
  return &tgi_damped(s)->pair[((const tgiDampedWork *)s->solver)->pair[term]];
}

const char *tgi_damped_label(const tgSim *s, int term, char *text, size_t size) {
  char a[128], b[128];
  const tgiDampedPair *p = pair_of(s, term);
  snprintf(text, size, "%s and %s", tgi_model_label(&s->m, TG_THING_GEOM, p->geom[0], a, sizeof a),
           tgi_model_label(&s->m, TG_THING_GEOM, p->geom[1], b, sizeof b));
  return text;
}

// ---- forces to look at ----

static int touches(const tgSim *s) { return s->nterm; }

// the resultant of a pair, where its line crosses the plane through the middle of its proxies' forces
static bool touch(const tgSim *s, int i, tgContactInfo *out) {
  const tgPairTerm *t = &s->term[i];
  const tgiDampedPair *p = pair_of(s, i);
  const tgiDampedWork *work = s->solver;
  const double *centre = work->centre + TGI_DAMPED_CENTRE * work->pair[i];
  double w[6], ff = 0;
  for (int k = 0; k < 6; k++) w[k] = tgRe(t->w[k]);
  for (int k = 0; k < 3; k++) ff += w[3 + k] * w[3 + k];
  if (!(ff > 0)) return false;
  tgi_touch_resultant(s, p->geom[0], p->geom[1], w, centre, centre + 3, out);
  out->distance = centre[6];
  tgi_touch_slip(s, tgi_damped_options(s->contact_model)->rule == TG_RULE_MIDPOINT ? 0.5 : 1, tgRe(TG_NUMBER(s, slip_speed)), out);
  return true;
}

static void param_nonsmooth(const tgSim *s, const tgParamGrad *p, tgGradInfo *info) {
  const tgModel *m = &s->m;
  const tgiDamped *k = tgi_damped(s);
  if (p->geom_friction == NULL) return;
  for (int i = 0; i < k->npair; i++) {
    const tgiDampedPair *pair = &k->pair[i];
    int geom;
    tgi_pair_friction(m, pair->pair, 0, &geom);
    if (m->pair_condim[pair->pair] != 1 && geom >= 0 && m->geom_priority[pair->geom[0]] == m->geom_priority[pair->geom[1]])
      tgi_equal_numbers(m, pair->geom[0], pair->geom[1], m->geom_friction[pair->geom[0]], m->geom_friction[pair->geom[1]], "friction",
                        info);
  }
}

// Under `held_normals` it is of another step. Under `signorini`, the one law that counts these, what holds and what has let go has the
// derivative of that; what does neither is at the kink that the law rounds.
static tgStatus nonsmooth(tgSim *s, double h, tgGradInfo *info) {
  const tgiDampedWork *w = s->solver;
  char text[200];
  (void)h;
  if (tgi_damped_options(s->contact_model)->held_normals && s->nterm > 0) {
    snprintf(info->reason, sizeof info->reason, "normals are held (option held_normals)");
    info->label = TG_GRAD_SURROGATE;
    return TG_OK;
  }
  for (int i = 0; i < s->nterm; i++) {
    int n = (int)w->centre[TGI_DAMPED_CENTRE * w->pair[i] + 7];
    if (n == 0) continue;
    if (info->ties == 0) snprintf(info->reason, sizeof info->reason, "a contact of %.130s that neither holds nor has let go",
                                  tgi_damped_label(s, i, text, sizeof text));
    info->ties += n;
    info->label = TG_GRAD_ONE_SIDED;
  }
  return TG_OK;
}

// ---- what it has made ----

static const char *const derived[] = {"resting_gap", "stiffness", "onset", NULL};

// A grid is of the mesh as the model has it; it follows its scale, not its vertices.
static tgStatus differentiable(const tgContact *c, const char *name, tgError *error) {
  char label[128];
  int g = ((const tgiDamped *)c->data)->gridded;
  if (g < 0 || strcmp(name, "hull_vert") != 0) return TG_OK;
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "hull_vert has no derivative: the field of %s is a grid that does not follow the vertices of its mesh; take the option "
                   "`mesh: points`, or geom_scale.", tgi_model_label(c->model, TG_THING_GEOM, g, label, sizeof label));
}

// Depth to which two geoms, neither inside the other, may overlap while no proxy is in the other's field: where one side of the pair sees
// all of its geom's surface that is how much it misses. Of two that both have proxies and no curved surface an overlap has a point of an
// edge of either. Fields are what is overlapped: as they round edges, and no steeper than they are.
static double missed(const tgContact *c, const tgiDampedPair *pair) {
  const tgiDamped *k = c->data;
  double least = INFINITY, edges = 0;
  for (int j = pair->side; j < pair->side + pair->nside; j++) {
    tgiField f = k->side[j].field;
    f.size = (c->model->geom_type[k->side[j].in] == TG_GEOM_MESH ? c->model->geom_scale : c->model->geom_size) + 3 * k->side[j].in;
    double steep = tgi_field_steepness(&f);
    least = fmin(least, steep * k->side[j].proxies->missed);
    edges = fmax(edges, steep * k->side[j].proxies->missed_edge);
  }
  return pair->nside == 2 ? fmin(least, edges) : least;
}

static bool pair_law(const tgContact *c, int i, double h, tgContactLaw *out) {
  const tgiDamped *k = c->data;
  const tgDampedOptions *o = tgi_damped_options(c);
  if (i >= k->npair) return false;
  const tgiDampedPair *pair = &k->pair[i];
  tgReal from[6] = {o->resting_gap > 0 ? o->resting_gap : pair->gap, o->damping_ratio, o->damping_time, o->stiffness, o->onset, h};
  tgiDampedNumbers n;
  tgiDampedForce at, lost = {.f = 0};
  tgi_damped_numbers_of(c, pair, from, (tgiJets){0, 1}, &n);
  double resting = tgRe(from[TGI_FROM_GAP]) * tgi_damped_rests(o->law);
  tgi_damped_force(&n, resting, &at);
  if (o->reach > 0) tgi_damped_force(&n, o->reach / 2, &lost);
  *out = (tgContactLaw){.geom1 = pair->geom[0], .geom2 = pair->geom[1], .weight = pair->mass * TG_STANDARD_GRAVITY,
                        .resting_gap = resting, .strength = tgRe(n.amplitude.f), .stiffness = -tgRe(at.slope),
                        .damping_time = tgRe(n.alpha.f) * h,
                        .reach = tgi_damped_end(&n), .left_out = tgRe(lost.f), .missed = missed(c, pair)};
  return true;
}

static bool grid(const tgContact *c, int i, tgContactGrid *out) {
  const tgiDamped *k = c->data;
  for (int g = 0; g < c->model->ngeom; g++) {
    if (!tgi_damped_first_of_grid(c, g) || i-- > 0) continue;
    const tgiDistanceGrid *at = &k->mesh[g]->grid;
    *out = (tgContactGrid){.geom = g, .nodes = {at->n[0], at->n[1], at->n[2]}, .spacing = at->spacing, .error = at->error,
                           .depth = at->depth, .bytes = tgi_distance_grid_bytes(at)};
    return true;
  }
  return false;
}

static const tgLaw law = {
    .has = TG_LAW_POSE | TG_LAW_VELOCITY | TG_LAW_STEP | TG_LAW_SOLVE,
    .terms = terms,
    .begin = tgi_damped_begin,
    .evaluate = tgi_damped_evaluate,
    .soften = tgi_damped_soften,
    .trusted = tgi_damped_trusted,
    .parameters = tgi_damped_parameters,
    .plane_normal = true,
    .term_label = tgi_damped_label,
};

const tgContactModel tgi_damped_model = {
    .word = "damped",
    .stepper = "midpoint",
    .intersection_free = true,   // but for the law `penalty`
    .moving_planes = true,
    .options = TGI_OPTION_LIST(option, tgDampedOptions),
    .solver_bytes = tgi_damped_bytes,
    .prepare = tgi_damped_prepare,
    .release = tgi_damped_release,
    .resting_gap = resting_gap,
    .derived = derived,
    .differentiable = differentiable,
    .pair_law = pair_law,
    .grid = grid,
    .nonsmooth = nonsmooth,
    .param_nonsmooth = param_nonsmooth,
    .touches = touches,
    .touch = touch,
    .law = &law,
};
