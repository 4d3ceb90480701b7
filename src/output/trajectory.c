// trajectory.c: motions as arrays of an .npz file. See tangere/replay.h.
#include "tangere/replay.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/model.h"

_Static_assert(sizeof(int) == 4, "contact_offset is stored as int32");

static const char *const WORD[TG_TRAJECTORY_ARRAYS] = {"qpos", "qvel", "ctrl", "contact_offset", "contact_pos", "contact_force",
                                                      "grad_qpos", "grad_qvel", "grad_ctrl", "push", "push_at", "act", "grad_act",
                                                      "impact_offset", "impact_time", "impact_geom", "impact_pos", "impact_impulse",
                                                      "between_offset", "between_time", "between_qpos"};
enum { QPOS, QVEL, CTRL, OFFSET, POS, FORCE, GRAD_Q, GRAD_V, GRAD_U, PUSH, PUSH_AT, ACT, GRAD_ACT, IMPACT_OFFSET, IMPACT_TIME, IMPACT_GEOM,
       IMPACT_POS, IMPULSE, BETWEEN_OFFSET, BETWEEN_TIME, BETWEEN_Q };

static const char *full_name(char name[TG_TRAJECTORY_NAME], int word, const char *label) {
  bool plain = label == NULL || label[0] == '\0';
  snprintf(name, TG_TRAJECTORY_NAME, "%s%s%s", WORD[word], plain ? "" : "_", plain ? "" : label);
  return name;
}

// appends an array under its name
static void append(tgNpzArray *array, char name[][TG_TRAJECTORY_NAME], int *count, int word, const char *label, tgNpzArray what) {
  what.name = full_name(name[*count], word, label);
  array[(*count)++] = what;
}

// what happened between the states, where anything did
static void append_inside(const tgModel *m, const tgTrajectory *t, const char *label, tgNpzArray *array,
                          char name[][TG_TRAJECTORY_NAME], int *count) {
  size_t n = (size_t)t->steps + 1, nimpact = t->impact_offset == NULL ? 0 : (size_t)t->impact_offset[n],
         nbetween = t->between_offset == NULL ? 0 : (size_t)t->between_offset[n];
  const struct { int word; tgNpzArray array; } impact[] = {
      {IMPACT_OFFSET, {.type = TG_NPZ_I4, .ndim = 1, .shape = {n + 1}, .data = t->impact_offset}},
      {IMPACT_TIME, {.type = TG_NPZ_F8, .ndim = 1, .shape = {nimpact}, .data = t->impact_time}},
      {IMPACT_GEOM, {.type = TG_NPZ_I4, .ndim = 2, .shape = {nimpact, 2}, .data = t->impact_geom}},
      {IMPACT_POS, {.type = TG_NPZ_F8, .ndim = 2, .shape = {nimpact, 3}, .data = t->impact_pos}},
      {IMPULSE, {.type = TG_NPZ_F8, .ndim = 2, .shape = {nimpact, 3}, .data = t->impact_impulse}}};
  const struct { int word; tgNpzArray array; } between[] = {
      {BETWEEN_OFFSET, {.type = TG_NPZ_I4, .ndim = 1, .shape = {n + 1}, .data = t->between_offset}},
      {BETWEEN_TIME, {.type = TG_NPZ_F8, .ndim = 1, .shape = {nbetween}, .data = t->between_time}},
      {BETWEEN_Q, {.type = TG_NPZ_F8, .ndim = 2, .shape = {nbetween, (size_t)m->nq}, .data = t->between_q}}};
  for (size_t i = 0; i < sizeof impact / sizeof *impact && nimpact > 0; i++)
    append(array, name, count, impact[i].word, label, impact[i].array);
  for (size_t i = 0; i < sizeof between / sizeof *between && nbetween > 0; i++)
    append(array, name, count, between[i].word, label, between[i].array);
}

int tg_trajectory_arrays(const tgModel *m, const tgTrajectory *t, const char *label, tgNpzArray array[TG_TRAJECTORY_ARRAYS],
                          char name[TG_TRAJECTORY_ARRAYS][TG_TRAJECTORY_NAME]) {
  if (m == NULL || t == NULL || array == NULL || name == NULL) return 0;
  size_t n = (size_t)t->steps + 1, nq = (size_t)m->nq, nv = (size_t)m->nv, nu = (size_t)m->nu, na = (size_t)m->na, nbody = (size_t)m->nbody;
  size_t ncontact = t->contact_offset == NULL ? 0 : (size_t)t->contact_offset[n];
  int count = 0;
  append(array, name, &count, QPOS, label, (tgNpzArray){.type = TG_NPZ_F8, .ndim = 2, .shape = {n, nq}, .data = t->q});
  append(array, name, &count, QVEL, label, (tgNpzArray){.type = TG_NPZ_F8, .ndim = 2, .shape = {n, nv}, .data = t->v});
  append(array, name, &count, CTRL, label, (tgNpzArray){.type = TG_NPZ_F8, .ndim = 2, .shape = {n - 1, nu}, .data = t->u});
  if (na > 0) append(array, name, &count, ACT, label, (tgNpzArray){.type = TG_NPZ_F8, .ndim = 2, .shape = {n, na}, .data = t->act});
  if (t->contact_offset != NULL) {
    append(array, name, &count, OFFSET, label, (tgNpzArray){.type = TG_NPZ_I4, .ndim = 1, .shape = {n + 1}, .data = t->contact_offset});
    append(array, name, &count, POS, label, (tgNpzArray){.type = TG_NPZ_F8, .ndim = 2, .shape = {ncontact, 3}, .data = t->contact_pos});
    append(array, name, &count, FORCE, label, (tgNpzArray){.type = TG_NPZ_F8, .ndim = 2, .shape = {ncontact, 3}, .data = t->contact_force});
  }
  append_inside(m, t, label, array, name, &count);
  if (t->grad_q != NULL) {
    append(array, name, &count, GRAD_Q, label, (tgNpzArray){.type = TG_NPZ_F8, .ndim = 2, .shape = {n, nv}, .data = t->grad_q});
    append(array, name, &count, GRAD_V, label, (tgNpzArray){.type = TG_NPZ_F8, .ndim = 2, .shape = {n, nv}, .data = t->grad_v});
    append(array, name, &count, GRAD_U, label, (tgNpzArray){.type = TG_NPZ_F8, .ndim = 2, .shape = {n - 1, nu}, .data = t->grad_u});
    append(array, name, &count, PUSH, label, (tgNpzArray){.type = TG_NPZ_F8, .ndim = 3, .shape = {n, nbody, 3}, .data = t->push});
    append(array, name, &count, PUSH_AT, label, (tgNpzArray){.type = TG_NPZ_F8, .ndim = 3, .shape = {n, nbody, 3}, .data = t->push_at});
    if (na > 0)
      append(array, name, &count, GRAD_ACT, label, (tgNpzArray){.type = TG_NPZ_F8, .ndim = 2, .shape = {n, na}, .data = t->grad_act});
  }
  return count;
}

bool tg_trajectory_has(const tgNpz *npz, const char *label) {
  char name[TG_TRAJECTORY_NAME];
  return tg_npz_find(npz, full_name(name, QPOS, label)) != NULL;
}

// offsets rise from 0 to the number of contacts
static bool offsets_rise(const int *offset, size_t n, size_t ncontact) {
  if (offset[0] != 0 || (size_t)offset[n - 1] != ncontact) return false;
  for (size_t i = 1; i < n; i++)
    if (offset[i] < offset[i - 1]) return false;
  return true;
}

// the offsets of that name, NULL: the file has none, or *status says why they are none
static const int *find_offsets(const tgNpz *npz, const char *path, const char *label, int word, size_t n, size_t *count, tgStatus *status,
                               tgError *error) {
  char name[TG_TRAJECTORY_NAME];
  const size_t shape[] = {n + 1};
  if (tg_npz_find(npz, full_name(name, word, label)) == NULL) return NULL;
  const tgNpzArray *offset = tg_npz_get(npz, path, name, TG_NPZ_I4, 1, shape, error);
  const int *x = offset != NULL ? offset->data : NULL;
  *status = x != NULL ? TG_OK : TG_ERR_PARSE;
  if (x != NULL && (x[n] < 0 || !offsets_rise(x, n + 1, (size_t)x[n])))
    *status = tgi_error(error, TG_ERR_PARSE, "%s: '%s' does not rise from 0", path, name);
  *count = *status == TG_OK ? (size_t)x[n] : 0;
  return *status == TG_OK ? x : NULL;
}

// an array of `count` rows, of `columns` each or, 0, of one number
static const void *find_rows(const tgNpz *npz, const char *path, const char *label, int word, tgNpzType type, size_t count, size_t columns,
                             tgStatus *status, tgError *error) {
  char name[TG_TRAJECTORY_NAME];
  const size_t shape[] = {count, columns};
  const tgNpzArray *a = tg_npz_get(npz, path, full_name(name, word, label), type, columns > 0 ? 2 : 1, shape, error);
  if (a == NULL) *status = TG_ERR_PARSE;
  return a != NULL ? a->data : NULL;
}

// times of each state rise from 0, and geoms are the model's
static tgStatus check_times(const char *path, const char *what, const int *offset, const double *time, const int *geom, int ngeom, size_t n,
                            tgError *error) {
  for (size_t i = 0; i < n; i++)
    for (int k = offset[i]; k < offset[i + 1]; k++) {
      if (!(time[k] >= (k > offset[i] ? time[k - 1] : 0) && isfinite(time[k])))
        return tgi_error(error, TG_ERR_PARSE, "%s: times of %s %d of state %zu do not rise from 0", path, what, k, i);
      for (int side = 0; geom != NULL && side < 2; side++)
        if (geom[2 * k + side] < 0 || geom[2 * k + side] >= ngeom)
          return tgi_error(error, TG_ERR_PARSE, "%s: %s %d is of geom %d of %d", path, what, k, geom[2 * k + side], ngeom);
    }
  return TG_OK;
}

// impacts and poses between states, where the file has them
static tgStatus find_inside(const tgNpz *npz, const char *path, const tgModel *m, const char *label, size_t n, tgTrajectory *t,
                            tgError *error) {
  tgStatus st = TG_OK;
  size_t count = 0;
  t->impact_offset = find_offsets(npz, path, label, IMPACT_OFFSET, n, &count, &st, error);
  if (t->impact_offset != NULL) {
    t->impact_time = find_rows(npz, path, label, IMPACT_TIME, TG_NPZ_F8, count, 0, &st, error);
    if (st == TG_OK) t->impact_geom = find_rows(npz, path, label, IMPACT_GEOM, TG_NPZ_I4, count, 2, &st, error);
    if (st == TG_OK) t->impact_pos = find_rows(npz, path, label, IMPACT_POS, TG_NPZ_F8, count, 3, &st, error);
    if (st == TG_OK) t->impact_impulse = find_rows(npz, path, label, IMPULSE, TG_NPZ_F8, count, 3, &st, error);
    TG_TRY(st);
    TG_TRY(check_times(path, "impact", t->impact_offset, t->impact_time, t->impact_geom, m->ngeom, n, error));
  }
  TG_TRY(st);
  t->between_offset = find_offsets(npz, path, label, BETWEEN_OFFSET, n, &count, &st, error);
  if (t->between_offset == NULL) return st;
  t->between_time = find_rows(npz, path, label, BETWEEN_TIME, TG_NPZ_F8, count, 0, &st, error);
  if (st == TG_OK) t->between_q = find_rows(npz, path, label, BETWEEN_Q, TG_NPZ_F8, count, (size_t)m->nq, &st, error);
  TG_TRY(st);
  return check_times(path, "pose", t->between_offset, t->between_time, NULL, 0, n, error);
}

// contacts, where the file has them
static tgStatus find_contacts(const tgNpz *npz, const char *path, const char *label, size_t n, tgTrajectory *t, tgError *error) {
  char name[TG_TRAJECTORY_NAME];
  if (tg_npz_find(npz, full_name(name, OFFSET, label)) == NULL) return TG_OK;
  const size_t o_shape[] = {n + 1}, any_c[] = {SIZE_MAX, 3};
  const tgNpzArray *offset = tg_npz_get(npz, path, name, TG_NPZ_I4, 1, o_shape, error);
  const tgNpzArray *pos = offset == NULL ? NULL : tg_npz_get(npz, path, full_name(name, POS, label), TG_NPZ_F8, 2, any_c, error);
  if (pos == NULL) return TG_ERR_PARSE;
  const size_t f_shape[] = {pos->shape[0], 3};
  const tgNpzArray *force = tg_npz_get(npz, path, full_name(name, FORCE, label), TG_NPZ_F8, 2, f_shape, error);
  if (force == NULL) return TG_ERR_PARSE;
  if (!offsets_rise(offset->data, n + 1, pos->shape[0]))
    return tgi_error(error, TG_ERR_PARSE, "%s: '%s' does not rise from 0 to the %zu contacts", path,
                     full_name(name, OFFSET, label), pos->shape[0]);
  t->contact_offset = offset->data;
  t->contact_pos = pos->data;
  t->contact_force = force->data;
  return TG_OK;
}

// gradients, where the file has them
static tgStatus find_gradients(const tgNpz *npz, const char *path, const tgModel *m, const char *label, size_t n,
                               tgTrajectory *t, tgError *error) {
  char name[TG_TRAJECTORY_NAME];
  if (tg_npz_find(npz, full_name(name, GRAD_Q, label)) == NULL) return TG_OK;
  const struct { int word, ndim; size_t shape[3]; const double **to; } want[] = {
      {GRAD_Q, 2, {n, (size_t)m->nv}, &t->grad_q}, {GRAD_V, 2, {n, (size_t)m->nv}, &t->grad_v},
      {GRAD_U, 2, {n - 1, (size_t)m->nu}, &t->grad_u},
      {GRAD_ACT, 2, {n, (size_t)m->na}, &t->grad_act},
      {PUSH, 3, {n, (size_t)m->nbody, 3}, &t->push}, {PUSH_AT, 3, {n, (size_t)m->nbody, 3}, &t->push_at}};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    if (want[i].word == GRAD_ACT && m->na == 0) continue;
    const tgNpzArray *a = tg_npz_get(npz, path, full_name(name, want[i].word, label), TG_NPZ_F8, want[i].ndim, want[i].shape, error);
    if (a == NULL) return TG_ERR_PARSE;
    *want[i].to = a->data;
  }
  return TG_OK;
}

tgStatus tg_trajectory_find(const tgNpz *npz, const char *path, const tgModel *m, const char *label, tgTrajectory *t,
                             tgError *error) {
  if (npz == NULL || m == NULL || t == NULL) return tgi_error(error, TG_ERR_ARG, "no file, model or trajectory given");
  char name[TG_TRAJECTORY_NAME];
  memset(t, 0, sizeof *t);
  const size_t any_q[] = {SIZE_MAX, (size_t)m->nq};
  const tgNpzArray *q = tg_npz_get(npz, path, full_name(name, QPOS, label), TG_NPZ_F8, 2, any_q, error);
  if (q == NULL) return TG_ERR_PARSE;
  size_t n = q->shape[0];
  if (n < 1 || n > INT_MAX - 2) return tgi_error(error, TG_ERR_PARSE, "%s: '%s' has %zu states", path, name, n);
  const size_t v_shape[] = {n, (size_t)m->nv}, u_shape[] = {n - 1, (size_t)m->nu};
  const tgNpzArray *v = tg_npz_get(npz, path, full_name(name, QVEL, label), TG_NPZ_F8, 2, v_shape, error);
  const tgNpzArray *u = v == NULL ? NULL : tg_npz_get(npz, path, full_name(name, CTRL, label), TG_NPZ_F8, 2, u_shape, error);
  const size_t a_shape[] = {n, (size_t)m->na};
  const tgNpzArray *a = u == NULL || m->na == 0 ? NULL : tg_npz_get(npz, path, full_name(name, ACT, label), TG_NPZ_F8, 2, a_shape, error);
  if (u == NULL || (m->na > 0 && a == NULL)) return TG_ERR_PARSE;
  *t = (tgTrajectory){.steps = (int)n - 1, .q = q->data, .v = v->data, .u = u->data, .act = a != NULL ? a->data : NULL};
  TG_TRY(find_contacts(npz, path, label, n, t, error));
  TG_TRY(find_inside(npz, path, m, label, n, t, error));
  return find_gradients(npz, path, m, label, n, t, error);
}
