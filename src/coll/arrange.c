// arrange.c: what a scene made of someone's robot needs before its first step: a ground under it, no contact between
// links that overlap by design.
//
// Both work on the description in the pose of the file, by a simulation of their own that is thrown away.
#include <math.h>

#include "coll/contacts.h"

typedef struct Pose {
  tgModel *model;
  tgSim *sim;
} Pose;

static void close_pose(Pose *p) {
  tg_sim_free(p->sim);
  tg_model_free(p->model);
}

// the description's model in the pose of the file
static tgStatus open_pose(tgDesc *desc, Pose *p, tgError *error) {
  tgError own = {0};
  *p = (Pose){.model = tg_model_compile(desc, NULL, &own)};
  if (p->model != NULL) p->sim = tgi_sim_create(p->model, NULL, NULL, NULL, &own);
  tgStatus st = p->sim == NULL ? own.status : tg_sim_forward(p->sim);
  if (st == TG_OK) return st;
  if (error != NULL) *error = p->sim == NULL ? own : *tg_sim_error(p->sim);
  close_pose(p);
  return st;
}

// lowest z of a geom in the world; infinite for one that has no lowest point or never touches
static double lowest(const tgSim *s, int g) {
  const tgModel *m = &s->m;
  tgHull scaled;
  if (m->geom_contype[g] == 0 && m->geom_conaffinity[g] == 0) return INFINITY;
  tgShape S = tgi_geom_shape(s, &s->start, g, 0, &scaled);
  double a = tgRe(S.size[0]), b = tgRe(S.size[1]), c = tgRe(S.size[2]), z = tgRe(S.pos[2]);
  double n[3] = {tgRe(S.mat[6]), tgRe(S.mat[7]), tgRe(S.mat[8])}, low = INFINITY;   // z of the geom's axes
  switch (S.type) {
    case TG_GEOM_PLANE: return INFINITY;
    case TG_GEOM_SPHERE: return z - a;
    case TG_GEOM_CAPSULE: return z - a - b * fabs(n[2]);
    case TG_GEOM_CYLINDER: return z - a * sqrt(n[0] * n[0] + n[1] * n[1]) - b * fabs(n[2]);
    case TG_GEOM_ELLIPSOID: return z - sqrt(a * a * n[0] * n[0] + b * b * n[1] * n[1] + c * c * n[2] * n[2]);
    case TG_GEOM_BOX: return z - a * fabs(n[0]) - b * fabs(n[1]) - c * fabs(n[2]);
    case TG_GEOM_MESH: break;
  }
  for (int k = 0; S.hull != NULL && k < S.hull->nvert; k++) {
    const tgReal *x = S.hull->vert + 3 * k;
    low = fmin(low, z + n[0] * tgRe(x[0]) + n[1] * tgRe(x[1]) + n[2] * tgRe(x[2]));
  }
  return low;
}

// the world has a plane of its own called ground
static bool has_ground(const tgDesc *desc) {
  int g = tg_desc_find_geom(desc, "ground");
  return g >= 0 && desc->geom[g].type == TG_GEOM_PLANE && desc->geom[g].body == 0;
}

static tgStatus no_ground(tgDesc *desc, const char *why, tgError *error) {
  if (tg_desc_add_note(desc, TG_NOTE_WARNING, (tgSource){.file = -1}, "no ground is put below the model: %s", why) >= 0) return TG_OK;
  return tgi_error(error, TG_ERR_MEMORY, "out of memory for a note");
}

tgStatus tg_desc_ground_below(tgDesc *desc, double gap, tgError *error) {
  Pose p;
  double low = INFINITY;
  if (error != NULL) *error = (tgError){0};
  if (desc == NULL || !isfinite(gap)) return tgi_error(error, TG_ERR_ARG, "tg_desc_ground_below takes a description and a finite gap");
  if (has_ground(desc)) return no_ground(desc, "it has a plane called ground", error);
  if (tg_desc_find_geom(desc, "ground") >= 0)
    return tgi_error(error, TG_ERR_INVALID, "a plane called ground is asked for, and the model has a geom of that name already");
  TG_TRY(open_pose(desc, &p, error));
  for (int g = 0; g < p.model->ngeom; g++) low = fmin(low, lowest(p.sim, g));
  close_pose(&p);
  if (!isfinite(low)) return no_ground(desc, "it has no geom that may touch one; a plane at a height can be asked for", error);
  int g = tg_desc_add_geom(desc, 0, TG_GEOM_PLANE, "ground");
  if (g < 0) return tgi_error(error, TG_ERR_MEMORY, "out of memory for the plane called ground");
  desc->geom[g].pos[2] = low - gap;
  return TG_OK;
}

// contact points of the pose, with room for as many as there are
static tgStatus contacts(tgSim *s) {
  tgStatus st = tgi_contacts(s, &s->start, NULL);
  while (st == TG_ERR_CAPACITY && tgi_sim_grow(s) == TG_OK)
    if ((st = tg_sim_forward(s)) == TG_OK) st = tgi_contacts(s, &s->start, NULL);
  return st;
}

int tg_desc_exclude_overlapping(tgDesc *desc, double gap, tgError *error) {
  Pose p;
  int count = 0;
  if (error != NULL) *error = (tgError){0};
  if (desc == NULL || !(gap <= TG_CONTACT_MARGIN))
    return tgi_error(error, TG_ERR_ARG, "tg_desc_exclude_overlapping takes a description and a gap of at most %g m", TG_CONTACT_MARGIN);
  TG_TRY(open_pose(desc, &p, error));
  const tgModel *m = p.model;
  tgStatus st = contacts(p.sim);
  if (st != TG_OK && error != NULL) *error = *tg_sim_error(p.sim);
  for (int i = 0; st == TG_OK && i < p.sim->ncon; i++) {
    const tgContactRow *c = &p.sim->contact[i];
    int a = m->geom_body[c->geom1], b = m->geom_body[c->geom2], n = desc->nexclude;
    double depth = -tgRe(c->gap);
    if (-depth > gap || m->body_root[a] == 0 || m->body_root[a] != m->body_root[b]) continue;
    if (n > 0 && desc->exclude[n - 1].body1 == a && desc->exclude[n - 1].body2 == b) continue;
    bool good = tg_desc_add_exclude(desc, a, b) >= 0 &&
                tg_desc_add_note(desc, TG_NOTE_WARNING, (tgSource){.file = -1},
                                 "bodies '%s' and '%s' overlap by %.2g m in the pose of the file: no contact between "
                                 "them", tg_model_name(m, TG_THING_BODY, a), tg_model_name(m, TG_THING_BODY, b),
                                 fmax(0, depth)) >= 0;
    if (!good) st = tgi_error(error, TG_ERR_MEMORY, "out of memory for the bodies that overlap");
    count++;
  }
  close_pose(&p);
  return st == TG_OK ? count : (int)st;
}
