// trajectory.c: see trajectory.h.
#include "output/trajectory.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { STATE_ARRAYS = 4, ALL_ARRAYS = 9 };

tgStatus tgi_trajectory_write(const char *path, const tgModel *m, const tgTrajectory *t, tgError *error) {
  if (t->steps < 0 || t->q == NULL || t->v == NULL || (t->frames.nframe != 0 && t->frames.nframe != t->steps + 1))
    return tgi_error(error, TG_ERR_ARG, "%s: a trajectory of %d steps has %d states, and as many frames or none", path,
                     t->steps, t->steps + 1);
  const tgReplayTrajectory *f = &t->frames;
  size_t n = (size_t)t->steps + 1, nbody = (size_t)m->nbody;
  size_t ncontact = f->nframe > 0 ? (size_t)f->contact_offset[f->nframe] : 0;
  const tgNpzArray array[ALL_ARRAYS] = {
      {"timestep", TG_NPZ_F8, 0, {0}, &t->h},
      {"qpos", TG_NPZ_F8, 2, {n, (size_t)m->nq}, t->q},
      {"qvel", TG_NPZ_F8, 2, {n, (size_t)m->nv}, t->v},
      {"ctrl", TG_NPZ_F8, 2, {n - 1, (size_t)m->nu}, t->u},
      {"body_pos", TG_NPZ_F8, 3, {n, nbody, 3}, f->body_pos},
      {"body_quat", TG_NPZ_F8, 3, {n, nbody, 4}, f->body_quat},
      {"contact_offset", TG_NPZ_I4, 1, {n + 1}, f->contact_offset},
      {"contact_pos", TG_NPZ_F8, 2, {ncontact, 3}, f->contact_pos},
      {"contact_force", TG_NPZ_F8, 2, {ncontact, 3}, f->contact_force},
  };
  _Static_assert(sizeof(int) == 4, "contact_offset is stored as int32");
  return tgi_npz_write(path, array, f->nframe > 0 ? ALL_ARRAYS : STATE_ARRAYS, error);
}

// data of a required array of doubles with up to three dimensions; false with the error filled
static bool get(const tgNpz *npz, const char *path, const char *name, int ndim, size_t a, size_t b, size_t c,
                const double **data, tgError *error) {
  const size_t shape[3] = {a, b, c};
  const tgNpzArray *array = tgi_npz_get(npz, path, name, TG_NPZ_F8, ndim, shape, error);
  *data = array == NULL ? NULL : array->data;
  return array != NULL;
}

// offsets rise from 0 to the number of contacts
static bool offsets_rise(const int *offset, size_t n, size_t ncontact) {
  if (offset[0] != 0 || (size_t)offset[n - 1] != ncontact) return false;
  for (size_t i = 1; i < n; i++)
    if (offset[i] < offset[i - 1]) return false;
  return true;
}

static tgStatus read_frames(const char *path, const tgModel *m, tgTrajectory *t, tgError *error) {
  const tgNpz *npz = &t->npz;
  tgReplayTrajectory *f = &t->frames;
  size_t n = (size_t)t->steps + 1, nbody = (size_t)m->nbody;
  const size_t offset_shape[1] = {n + 1};
  if (!get(npz, path, "body_pos", 3, n, nbody, 3, &f->body_pos, error) ||
      !get(npz, path, "body_quat", 3, n, nbody, 4, &f->body_quat, error))
    return TG_ERR_PARSE;
  const tgNpzArray *offset = tgi_npz_get(npz, path, "contact_offset", TG_NPZ_I4, 1, offset_shape, error);
  if (offset == NULL || !get(npz, path, "contact_pos", 2, SIZE_MAX, 3, 0, &f->contact_pos, error)) return TG_ERR_PARSE;
  size_t ncontact = tgi_npz_find(npz, "contact_pos")->shape[0];
  if (!get(npz, path, "contact_force", 2, ncontact, 3, 0, &f->contact_force, error)) return TG_ERR_PARSE;
  f->contact_offset = offset->data;
  if (!offsets_rise(f->contact_offset, n + 1, ncontact))
    return tgi_error(error, TG_ERR_PARSE, "%s: contact_offset does not rise from 0 to the %zu contacts", path, ncontact);
  f->nframe = t->steps + 1;
  f->dt = t->h;
  f->iteration = NAN;
  return TG_OK;
}

static tgStatus read_states(const char *path, const tgModel *m, tgTrajectory *t, tgError *error) {
  const double *h;
  const size_t any[2] = {SIZE_MAX, (size_t)m->nq};
  const tgNpzArray *q = tgi_npz_get(&t->npz, path, "qpos", TG_NPZ_F8, 2, any, error);
  if (q == NULL || !get(&t->npz, path, "timestep", 0, 0, 0, 0, &h, error)) return TG_ERR_PARSE;
  size_t n = q->shape[0];
  if (n < 1 || n > INT_MAX - 2) return tgi_error(error, TG_ERR_PARSE, "%s: qpos has %zu states", path, n);
  if (!(*h > 0) || !isfinite(*h)) return tgi_error(error, TG_ERR_PARSE, "%s: timestep is %g, not a positive time", path, *h);
  t->steps = (int)n - 1;
  t->h = *h;
  t->q = q->data;
  if (!get(&t->npz, path, "qvel", 2, n, (size_t)m->nv, 0, &t->v, error) ||
      !get(&t->npz, path, "ctrl", 2, n - 1, (size_t)m->nu, 0, &t->u, error))
    return TG_ERR_PARSE;
  return TG_OK;
}

tgStatus tgi_trajectory_read(const char *path, const tgModel *m, size_t max_bytes, const tgAllocator *allocator,
                             tgTrajectory *t, tgError *error) {
  memset(t, 0, sizeof *t);
  TG_TRY(tgi_npz_read(path, max_bytes, allocator, &t->npz, error));
  tgStatus status = read_states(path, m, t, error);
  if (status == TG_OK && tgi_npz_find(&t->npz, "body_pos") != NULL) status = read_frames(path, m, t, error);
  if (status != TG_OK) tgi_trajectory_free(t);
  return status;
}

void tgi_trajectory_free(tgTrajectory *t) {
  if (t->npz.array != NULL) tgi_npz_free(&t->npz);
  memset(t, 0, sizeof *t);
}
