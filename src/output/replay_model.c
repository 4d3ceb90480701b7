// replay_model.c: see replay_model.h.
#include "output/replay_model.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "contact/contact.h"

// MuJoCo draws geom groups 0 to 2 unless told otherwise
enum { FIRST_HIDDEN_GROUP = 3 };

// something of it can be seen: a mesh that could not be read has no faces
static bool drawable(const tgModel *m, int geom) {
  if (m->geom_type[geom] == TG_GEOM_PLANE) return false;
  if (m->geom_type[geom] != TG_GEOM_MESH) return true;
  return m->geom_mesh[geom] >= 0 && m->mesh_facenum[m->geom_mesh[geom]] > 0;
}

static tgReplayRole geom_role(const tgModel *m, int geom) {
  if (m->geom_type[geom] == TG_GEOM_PLANE) return TG_REPLAY_BOTH;
  if (m->geom_visual[geom]) return TG_REPLAY_VISUAL;
  // the balls of a sheet's vertices: the sheet is drawn
  if (m->geom_flex[geom] >= 0 || m->geom_group[geom] >= FIRST_HIDDEN_GROUP) return TG_REPLAY_COLLISION;
  for (int k = 0; k < m->ngeom; k++)
    if (m->geom_body[k] == m->geom_body[geom] && m->geom_visual[k] && drawable(m, k)) return TG_REPLAY_COLLISION;
  return TG_REPLAY_BOTH;
}

static void fill_geoms(const tgModel *m, tgReplayGeom *geom) {
  bool shown = m->nflex > 0;
  for (int i = 0; i < m->ngeom; i++) {
    tgReplayGeom *g = &geom[i];
    *g = (tgReplayGeom){.name = m->thing_name[TG_THING_GEOM][i], .body = m->geom_body[i], .type = (tgGeomType)m->geom_type[i],
                        .mesh = m->geom_mesh[i], .role = geom_role(m, i)};
    for (int k = 0; k < 3; k++) {
      g->size[k] = m->geom_size[3 * i + k];
      g->scale[k] = m->geom_scale[3 * i + k];
      g->pos[k] = m->geom_pos[3 * i + k];
    }
    for (int k = 0; k < 4; k++) {
      g->quat[k] = m->geom_quat[4 * i + k];
      g->rgba[k] = (float)m->geom_rgba[4 * i + k];
    }
    shown = shown || (g->role != TG_REPLAY_COLLISION && drawable(m, i));
  }
  for (int i = 0; i < m->ngeom && !shown; i++) geom[i].role = TG_REPLAY_BOTH;
}

// the meshes' vertices, with those of hulls where the model has them now
static void fill_meshes(const tgModel *m, double *vert, tgReplayMesh *mesh) {
  for (int k = 0; k < 3 * m->nmeshvert; k++) vert[k] = m->mesh_vert[k];
  for (int h = 0; h < m->nhull; h++) {
    double *of_mesh = vert + 3 * m->mesh_vertadr[m->hull_mesh[h]];
    for (int v = m->hull_vertadr[h]; v < m->hull_vertadr[h] + m->hull_vertnum[h]; v++)
      for (int k = 0; k < 3; k++) of_mesh[3 * m->hull_vertid[v] + k] = m->hull_vert[3 * v + k];
  }
  for (int i = 0; i < m->nmesh; i++)
    mesh[i] = (tgReplayMesh){vert + 3 * m->mesh_vertadr[i], m->mesh_vertnum[i], m->mesh_face + 3 * m->mesh_faceadr[i], m->mesh_facenum[i]};
}

static void fill_sheets(const tgModel *m, tgReplayModel *store) {
  for (int k = 0; k < 3 * m->nflexvert; k++) store->sheet_pos[k] = m->flex_vertpos[k];
  for (int i = 0; i < m->nflex; i++) {
    int v = m->flex_vertadr[i], e = m->flex_elemadr[i];
    tgReplaySheet *s = &store->sheet[i];
    *s = (tgReplaySheet){.nvert = m->flex_vertnum[i], .body = m->flex_vertbody + v, .pos = store->sheet_pos + 3 * v,
                         .nface = m->flex_elemnum[i], .face = store->sheet_face + 3 * e};
    for (int k = 0; k < 3 * s->nface; k++) store->sheet_face[3 * e + k] = m->flex_elem[3 * e + k] - v;
    for (int k = 0; k < 4; k++) s->rgba[k] = (float)m->flex_rgba[4 * i + k];
  }
}

tgStatus tgi_replay_model(const tgModel *m, const tgAllocator *allocator, tgReplayModel *store, tgReplayShapes *def) {
  tgAllocator alloc = tgi_allocator(allocator);
  *store = (tgReplayModel){.alloc = alloc};
  store->geom = alloc.alloc(alloc.ctx, ((size_t)m->ngeom + 1) * sizeof *store->geom);
  store->mesh = alloc.alloc(alloc.ctx, ((size_t)m->nmesh + 1) * sizeof *store->mesh);
  store->vert = alloc.alloc(alloc.ctx, (3 * (size_t)m->nmeshvert + 1) * sizeof *store->vert);
  store->sheet = alloc.alloc(alloc.ctx, ((size_t)m->nflex + 1) * sizeof *store->sheet);
  store->sheet_pos = alloc.alloc(alloc.ctx, (3 * (size_t)m->nflexvert + 1) * sizeof *store->sheet_pos);
  store->sheet_face = alloc.alloc(alloc.ctx, (3 * (size_t)m->nflexelem + 1) * sizeof *store->sheet_face);
  if (store->geom == NULL || store->mesh == NULL || store->vert == NULL || store->sheet == NULL || store->sheet_pos == NULL ||
      store->sheet_face == NULL) {
    tgi_replay_model_free(store);
    return TG_ERR_MEMORY;
  }
  fill_geoms(m, store->geom);
  fill_meshes(m, store->vert, store->mesh);
  fill_sheets(m, store);
  def->name = m->name;
  for (int k = 0; k < 3; k++) def->gravity[k] = m->opt_gravity[k];
  def->nbody = m->nbody;
  def->body_name = m->thing_name[TG_THING_BODY];
  def->ngeom = m->ngeom;
  def->geom = store->geom;
  def->nmesh = m->nmesh;
  def->mesh = store->mesh;
  def->nsheet = m->nflex;
  def->sheet = store->sheet;
  return TG_OK;
}

void tgi_replay_model_free(tgReplayModel *store) {
  if (store->alloc.free == NULL) return;
  store->alloc.free(store->alloc.ctx, store->geom);
  store->alloc.free(store->alloc.ctx, store->mesh);
  store->alloc.free(store->alloc.ctx, store->vert);
  store->alloc.free(store->alloc.ctx, store->sheet);
  store->alloc.free(store->alloc.ctx, store->sheet_pos);
  store->alloc.free(store->alloc.ctx, store->sheet_face);
  *store = (tgReplayModel){.alloc = store->alloc};
}

void tgi_recorder_init(tgRecorder *recorder, const tgModel *model, const tgAllocator *allocator) {
  *recorder = (tgRecorder){.nbody = model->nbody, .nq = model->nq, .alloc = tgi_allocator(allocator)};
}

void tgi_recorder_free(tgRecorder *recorder) {
  tgAllocator a = recorder->alloc;
  if (a.free == NULL) return;
  a.free(a.ctx, recorder->body_pos);
  a.free(a.ctx, recorder->body_quat);
  a.free(a.ctx, recorder->contact_offset);
  a.free(a.ctx, recorder->contact_pos);
  a.free(a.ctx, recorder->contact_force);
  a.free(a.ctx, recorder->impact_offset);
  a.free(a.ctx, recorder->impact_geom);
  a.free(a.ctx, recorder->impact_time);
  a.free(a.ctx, recorder->impact_pos);
  a.free(a.ctx, recorder->impact_impulse);
  a.free(a.ctx, recorder->between_offset);
  a.free(a.ctx, recorder->between_time);
  a.free(a.ctx, recorder->between_q);
  a.free(a.ctx, recorder->told);
  *recorder = (tgRecorder){.nbody = recorder->nbody, .nq = recorder->nq, .alloc = a};
}

void tg_recorder_clear(tgRecorder *recorder) {
  if (recorder != NULL) recorder->nframe = recorder->ncontact = recorder->nimpact = recorder->nbetween = 0;
}

tgRecorder *tg_recorder_create(const tgModel *model, const tgAllocator *allocator, tgError *error) {
  if (model == NULL) return tgi_error(error, TG_ERR_ARG, "no model given"), NULL;
  tgAllocator a = tgi_allocator(allocator);
  tgRecorder *recorder = a.alloc(a.ctx, sizeof *recorder);
  if (recorder == NULL) tgi_error(error, TG_ERR_MEMORY, "out of memory for a recorder");
  else tgi_recorder_init(recorder, model, &a);
  return recorder;
}

void tg_recorder_free(tgRecorder *recorder) {
  if (recorder == NULL) return;
  tgAllocator a = recorder->alloc;
  tgi_recorder_free(recorder);
  a.free(a.ctx, recorder);
}

// makes *block hold n numbers; false leaves it as it was
static bool grow_real(const tgAllocator *a, double **block, size_t n) {
  double *grown = a->realloc(a->ctx, *block, tgi_size_mul(n, sizeof **block));
  if (grown != NULL) *block = grown;
  return grown != NULL;
}

static bool grow_int(const tgAllocator *a, int **block, size_t n) {
  int *grown = a->realloc(a->ctx, *block, tgi_size_mul(n, sizeof **block));
  if (grown != NULL) *block = grown;
  return grown != NULL;
}

// room for one more frame and `more` contacts, doubled when short
static bool make_room(tgRecorder *r, int more) {
  const tgAllocator *a = &r->alloc;
  if (r->nframe + 1 > r->frame_room) {
    int room = r->frame_room > 0 ? 2 * r->frame_room : 256;
    size_t n = (size_t)room * (size_t)r->nbody;
    if (!grow_real(a, &r->body_pos, 3 * n) || !grow_real(a, &r->body_quat, 4 * n) ||
        !grow_int(a, &r->contact_offset, (size_t)room + 1) || !grow_int(a, &r->impact_offset, (size_t)room + 1) ||
        !grow_int(a, &r->between_offset, (size_t)room + 1))
      return false;
    r->frame_room = room;
  }
  if (r->ncontact + more > r->contact_room) {
    int room = 2 * r->contact_room > r->ncontact + more ? 2 * r->contact_room : r->ncontact + more + 64;
    if (!grow_real(a, &r->contact_pos, 3 * (size_t)room) || !grow_real(a, &r->contact_force, 3 * (size_t)room)) return false;
    r->contact_room = room;
  }
  return true;
}

// a room that holds n, doubled when short
static int grown(int room, int n) { return 2 * room > n ? 2 * room : n + 64; }

static bool make_impact_room(tgRecorder *r, int more) {
  const tgAllocator *a = &r->alloc;
  if (r->nimpact + more <= r->impact_room) return true;
  int room = grown(r->impact_room, r->nimpact + more);
  size_t n = (size_t)room;
  if (!grow_int(a, &r->impact_geom, 2 * n) || !grow_real(a, &r->impact_time, n) || !grow_real(a, &r->impact_pos, 3 * n) ||
      !grow_real(a, &r->impact_impulse, 3 * n))
    return false;
  r->impact_room = room;
  return true;
}

static bool make_between_room(tgRecorder *r, int more) {
  const tgAllocator *a = &r->alloc;
  if (r->nbetween + more <= r->between_room) return true;
  int room = grown(r->between_room, r->nbetween + more);
  size_t n = (size_t)room;
  if (!grow_real(a, &r->between_time, n) || !grow_real(a, &r->between_q, tgi_size_mul(n, (size_t)r->nq))) return false;
  r->between_room = room;
  return true;
}

// not so small that nobody sees it: more than would give the lighter tree an acceleration or, an impulse, a speed
static bool seen(const tgSim *s, const tgContactInfo *t, double change) {
  double least = change * fmin(tgi_tree_mass(&s->m, t->body1), tgi_tree_mass(&s->m, t->body2));
  return t->world[0] * t->world[0] + t->world[1] * t->world[1] + t->world[2] * t->world[2] >= least * least;
}

static void add_touch(tgRecorder *r, const tgSim *s, const tgContactInfo *t) {
  double weight = 0;
  for (int k = 0; k < 3; k++) weight += t->world[k] * s->m.opt_gravity[k];
  // shown on the body that can move; where both can, on the one that is held up
  bool fixed1 = s->m.body_weld[t->body1] == 0, fixed2 = s->m.body_weld[t->body2] == 0;
  bool reaction = fixed2 || (!fixed1 && weight > 0);
  size_t at = 3 * (size_t)r->ncontact++;
  for (int k = 0; k < 3; k++) {
    r->contact_pos[at + (size_t)k] = t->point[k];
    r->contact_force[at + (size_t)k] = reaction ? -t->world[k] : t->world[k];
  }
}

static tgStatus add_contacts(tgRecorder *r, const tgSim *s) {
  tgContactInfo touch;
  for (int i = 0; tg_sim_next_contact(s, &i, &touch);) {
    if (!seen(s, &touch, TG_REPLAY_LEAST * TG_STANDARD_GRAVITY)) continue;
    if (!make_room(r, 1)) return TG_ERR_MEMORY;
    add_touch(r, s, &touch);
  }
  return TG_OK;
}

static tgStatus add_impacts(tgRecorder *r, tgSim *s) {
  int n = tg_sim_impacts(s, r->told, r->told_room);
  if (n > r->told_room) {
    tgImpact *told = r->alloc.realloc(r->alloc.ctx, r->told, tgi_size_mul((size_t)n + 16, sizeof *told));
    if (told == NULL) return TG_ERR_MEMORY;
    r->told = told;
    r->told_room = n + 16;
    n = tg_sim_impacts(s, r->told, r->told_room);
  }
  if (n < 0) return (tgStatus)n;
  if (!make_impact_room(r, n)) return TG_ERR_MEMORY;
  for (int i = 0; i < n; i++) {
    const tgContactInfo *c = &r->told[i].contact;
    if (!seen(s, c, TG_REPLAY_LEAST_SPEED)) continue;
    size_t at = (size_t)r->nimpact++;
    r->impact_time[at] = r->told[i].time;
    r->impact_geom[2 * at] = c->geom1;
    r->impact_geom[2 * at + 1] = c->geom2;
    memcpy(r->impact_pos + 3 * at, c->point, sizeof c->point);
    memcpy(r->impact_impulse + 3 * at, c->world, sizeof c->world);
  }
  return TG_OK;
}

static tgStatus add_between(tgRecorder *r, tgSim *s) {
  for (int pass = 0;; pass++) {
    int room = r->between_room - r->nbetween;
    size_t at = (size_t)r->nbetween;
    int n = tg_sim_poses_within(s, room > 0 ? r->between_time + at : NULL, room > 0 ? r->between_q + at * (size_t)r->nq : NULL, room);
    if (n < 0) return (tgStatus)n;
    if (n <= room) {
      r->nbetween += n;
      return TG_OK;
    }
    if (pass > 0 || !make_between_room(r, n)) return TG_ERR_MEMORY;
  }
}

// the contacts of the last step, and what happened inside of it
static tgStatus add_step(tgRecorder *r, tgSim *s) {
  TG_TRY(add_contacts(r, s));
  if (s->stage != TG_STAGE_STEPPED) return TG_OK;
  TG_TRY(add_impacts(r, s));
  return add_between(r, s);
}

tgStatus tg_recorder_add(tgRecorder *r, tgSim *sim, bool contacts) {
  if (r == NULL || sim == NULL) return TG_ERR_ARG;
  if (!make_room(r, 0)) return TG_ERR_MEMORY;
  size_t n = (size_t)r->nbody, at = (size_t)r->nframe * n;
  memcpy(r->body_pos + 3 * at, sim->start.xpos, 3 * n * sizeof(double));
  memcpy(r->body_quat + 4 * at, sim->start.xquat, 4 * n * sizeof(double));
  const int before[3] = {r->ncontact, r->nimpact, r->nbetween};
  r->contact_offset[r->nframe] = before[0];
  r->impact_offset[r->nframe] = before[1];
  r->between_offset[r->nframe] = before[2];
  tgStatus status = contacts ? add_step(r, sim) : TG_OK;
  if (status != TG_OK) {
    r->ncontact = before[0];
    r->nimpact = before[1];
    r->nbetween = before[2];
    return status;
  }
  r->nframe++;
  r->contact_offset[r->nframe] = r->ncontact;
  r->impact_offset[r->nframe] = r->nimpact;
  r->between_offset[r->nframe] = r->nbetween;
  return TG_OK;
}

tgReplayTrajectory tgi_recorder_trajectory(const tgRecorder *r, const char *label, double iteration, double dt, int max_frames) {
  int stride = max_frames > 0 && r->nframe > max_frames ? (r->nframe + max_frames - 1) / max_frames : 1;
  return (tgReplayTrajectory){.label = label, .iteration = iteration, .dt = dt, .nframe = r->nframe, .stride = stride,
                              .body_pos = r->body_pos, .body_quat = r->body_quat, .contact_offset = r->contact_offset,
                              .contact_pos = r->contact_pos, .contact_force = r->contact_force,
                              .impact_offset = r->nimpact > 0 ? r->impact_offset : NULL, .impact_time = r->impact_time,
                              .impact_geom = r->impact_geom, .impact_pos = r->impact_pos, .impact_impulse = r->impact_impulse};
}
