// trajectory.c: see trajectory.h.
#include "output/trajectory.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

_Static_assert(sizeof(int) == 4, "contact_offset is stored as int32");

static const char *const WORD[TG_TRAJECTORY_ARRAYS] = {"qpos", "qvel", "ctrl", "contact_offset", "contact_pos", "contact_force"};
enum { QPOS, QVEL, CTRL, OFFSET, POS, FORCE };

static const char *full_name(char name[TG_TRAJECTORY_NAME], int word, const char *label) {
  bool plain = label == NULL || label[0] == '\0';
  snprintf(name, TG_TRAJECTORY_NAME, "%s%s%s", WORD[word], plain ? "" : "_", plain ? "" : label);
  return name;
}

int tgi_trajectory_arrays(const tgModel *m, const tgTrajectory *t, const char *label, tgNpzArray array[TG_TRAJECTORY_ARRAYS],
                          char name[TG_TRAJECTORY_ARRAYS][TG_TRAJECTORY_NAME]) {
  size_t n = (size_t)t->steps + 1, nq = (size_t)m->nq, nv = (size_t)m->nv, nu = (size_t)m->nu;
  size_t ncontact = t->contact_offset == NULL ? 0 : (size_t)t->contact_offset[n];
  int count = t->contact_offset == NULL ? OFFSET : TG_TRAJECTORY_ARRAYS;
  for (int k = 0; k < count; k++) full_name(name[k], k, label);
  array[QPOS] = (tgNpzArray){name[QPOS], TG_NPZ_F8, 2, {n, nq}, t->q};
  array[QVEL] = (tgNpzArray){name[QVEL], TG_NPZ_F8, 2, {n, nv}, t->v};
  array[CTRL] = (tgNpzArray){name[CTRL], TG_NPZ_F8, 2, {n - 1, nu}, t->u};
  if (count == OFFSET) return count;
  array[OFFSET] = (tgNpzArray){name[OFFSET], TG_NPZ_I4, 1, {n + 1}, t->contact_offset};
  array[POS] = (tgNpzArray){name[POS], TG_NPZ_F8, 2, {ncontact, 3}, t->contact_pos};
  array[FORCE] = (tgNpzArray){name[FORCE], TG_NPZ_F8, 2, {ncontact, 3}, t->contact_force};
  return count;
}

bool tgi_trajectory_has(const tgNpz *npz, const char *label) {
  char name[TG_TRAJECTORY_NAME];
  return tgi_npz_find(npz, full_name(name, QPOS, label)) != NULL;
}

// offsets rise from 0 to the number of contacts
static bool offsets_rise(const int *offset, size_t n, size_t ncontact) {
  if (offset[0] != 0 || (size_t)offset[n - 1] != ncontact) return false;
  for (size_t i = 1; i < n; i++)
    if (offset[i] < offset[i - 1]) return false;
  return true;
}

tgStatus tgi_trajectory_find(const tgNpz *npz, const char *path, const tgModel *m, const char *label, tgTrajectory *t,
                             tgError *error) {
  char name[TG_TRAJECTORY_NAME];
  memset(t, 0, sizeof *t);
  const size_t any_q[] = {SIZE_MAX, (size_t)m->nq};
  const tgNpzArray *q = tgi_npz_get(npz, path, full_name(name, QPOS, label), TG_NPZ_F8, 2, any_q, error);
  if (q == NULL) return TG_ERR_PARSE;
  size_t n = q->shape[0];
  if (n < 1 || n > INT_MAX - 2) return tgi_error(error, TG_ERR_PARSE, "%s: '%s' has %zu states", path, name, n);
  const size_t v_shape[] = {n, (size_t)m->nv}, u_shape[] = {n - 1, (size_t)m->nu}, o_shape[] = {n + 1}, any_c[] = {SIZE_MAX, 3};
  const tgNpzArray *v = tgi_npz_get(npz, path, full_name(name, QVEL, label), TG_NPZ_F8, 2, v_shape, error);
  const tgNpzArray *u = v == NULL ? NULL : tgi_npz_get(npz, path, full_name(name, CTRL, label), TG_NPZ_F8, 2, u_shape, error);
  if (u == NULL) return TG_ERR_PARSE;
  *t = (tgTrajectory){.steps = (int)n - 1, .q = q->data, .v = v->data, .u = u->data};
  if (tgi_npz_find(npz, full_name(name, OFFSET, label)) == NULL) return TG_OK;

  const tgNpzArray *offset = tgi_npz_get(npz, path, name, TG_NPZ_I4, 1, o_shape, error);
  const tgNpzArray *pos = offset == NULL ? NULL : tgi_npz_get(npz, path, full_name(name, POS, label), TG_NPZ_F8, 2, any_c, error);
  if (pos == NULL) return TG_ERR_PARSE;
  const size_t f_shape[] = {pos->shape[0], 3};
  const tgNpzArray *force = tgi_npz_get(npz, path, full_name(name, FORCE, label), TG_NPZ_F8, 2, f_shape, error);
  if (force == NULL) return TG_ERR_PARSE;
  if (!offsets_rise(offset->data, n + 1, pos->shape[0]))
    return tgi_error(error, TG_ERR_PARSE, "%s: '%s' does not rise from 0 to the %zu contacts", path,
                     full_name(name, OFFSET, label), pos->shape[0]);
  t->contact_offset = offset->data;
  t->contact_pos = pos->data;
  t->contact_force = force->data;
  return TG_OK;
}
