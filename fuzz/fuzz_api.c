// fuzz_api.c: calls of a simulation in any order, with arguments out of bytes, NULL among them: each returns, with a status that is known,
// and what failed has changed no state. At the end a reset simulation steps as a new one does.
#include "fuzz_step.h"
#include "tangere/force.h"
#include "tangere/geometry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CALLS = 24, ROOM = 4096 };

typedef struct Api {
  const tgModel *m;
  tgSim *s;
  tgParamGrad *p;
  char *snapshot;
  size_t bytes;
  int nq, nv, nw, nu;
  double *x;   // ROOM
} Api;

static double *some(Bytes *b, Api *a, size_t n) {
  if (tgt_pick(b, 8) == 7 || n > ROOM) return NULL;
  for (size_t i = 0; i < n; i++) a->x[i] = tgt_number(b);
  return a->x;
}

static void check(Api *a, tgStatus st) { tgt_check_status(st, st != TG_OK && st != TG_ERR_ARG ? tg_sim_error(a->s)->text : "argument"); }

static void change_parameter(Bytes *b, Api *a) {
  int n = tg_model_field_count(a->m), rows, cols;
  double *p = tg_sim_param(a->s, tg_model_field(a->m, tgt_pick(b, n)).name, &rows, &cols);
  if (p == NULL || rows * cols == 0) return;
  int at = tgt_byte(b) % (rows * cols);
  p[at] = tgt_pick(b, 2) ? p[at] * (1 + .5 * tgt_number(b)) : tgt_number(b);
}

static void derivatives(Bytes *b, Api *a) {
  size_t rows = (size_t)(a->nv + a->nw), cols = rows + (size_t)a->nu;
  double *D = calloc(rows * cols + 1, sizeof *D), *g = some(b, a, rows);
  tgGradInfo info;
  if (D == NULL) abort();
  if (tgt_pick(b, 2)) check(a, tg_sim_step_jacobian(a->s, tgt_pick(b, 8) == 7 ? NULL : D, &info));
  else check(a, tg_sim_step_vjp(a->s, g, g != NULL ? g + a->nv : NULL, D, D + a->nv, D + rows, tgt_pick(b, 3) ? NULL : a->p, &info));
  free(D);
}

static void step(Bytes *b, Api *a) {
  double before[64], after[64], h = tgt_pick(b, 4) ? tg_model_timestep(a->m) : tgt_number(b);
  tgStepInfo info;
  bool small = a->nq + a->nw <= 64;
  if (h > 1) h = 1;   // explicit laws take as many parts as asked for; time is another test's
  if (small) tg_sim_state(a->s, before, before + a->nq);
  tgStatus st = tgt_pick(b, 2) ? tg_sim_step(a->s, h, &info) : tg_sim_step_growing(a->s, h, NULL);
  check(a, st);
  if (small) tg_sim_state(a->s, after, after + a->nq);
  size_t bytes = (size_t)(a->nq + a->nw) * sizeof *after;
  if (small && st != TG_OK && memcmp(before, after, bytes) != 0) abort();
  if (small && st == TG_OK && !tgt_all_finite(after, bytes / sizeof *after)) abort();
}

static void call(Bytes *b, Api *a) {
  switch (tgt_pick(b, 16)) {
    case 0: case 1: case 2: step(b, a); break;
    case 3: derivatives(b, a); break;
    case 4: change_parameter(b, a); break;
    case 5: if (a->nv > 0) tg_sim_qvel(a->s)[tgt_byte(b) % a->nv] = tgt_number(b); break;
    case 6: if (a->nq > 0) tg_sim_qpos(a->s)[tgt_byte(b) % a->nq] += .1 * tgt_number(b); break;
    case 7: if (a->nu > 0) tg_sim_ctrl(a->s)[tgt_byte(b) % a->nu] = tgt_number(b); break;
    case 8: tg_sim_reset(a->s); break;
    case 9: check(a, tg_sim_forward(a->s)); break;
    case 10: check(a, tg_sim_reserve(a->s, tgt_byte(b) - 2, tgt_byte(b) - 2)); break;
    case 11:
      free(a->snapshot);
      a->bytes = tg_sim_snapshot_size(a->s);
      a->snapshot = malloc(a->bytes + 1);
      if (a->snapshot == NULL) abort();
      tg_sim_save(a->s, a->snapshot);
      break;
    case 12: if (a->snapshot != NULL) check(a, tg_sim_restore(a->s, a->snapshot)); break;
    case 13: tg_sim_freeze_memory(a->s, tgt_pick(b, 2)); break;
    case 14: {
      double *qacc = some(b, a, (size_t)a->nv), tau[256];
      if (a->nv <= 256) check(a, tg_sim_inverse(a->s, qacc, tau));
      break;
    }
    default: {
      double energy, *x = some(b, a, 1);
      check(a, tg_sim_contact_potential(a->s, x != NULL ? &energy : NULL, NULL));
    }
  }
}

// after whatever: reset, parameters too, it is a new one
static void is_as_new(Api *a, const tgContact *c) {
  tgSim *fresh = tg_sim_create(a->m, c, NULL, NULL);
  if (fresh == NULL) return;
  tg_sim_freeze_memory(a->s, false);
  tg_sim_reset(a->s);
  for (int t = 0; t < 2; t++) {
    double h = tg_model_timestep(a->m);
    if (tg_sim_step_growing(a->s, h, NULL) != tg_sim_step_growing(fresh, h, NULL)) abort();
    if (memcmp(tg_sim_qpos(a->s), tg_sim_qpos(fresh), (size_t)a->nq * sizeof(double)) != 0 ||
        memcmp(tg_sim_qvel(a->s), tg_sim_qvel(fresh), (size_t)a->nv * sizeof(double)) != 0) abort();
  }
  tg_sim_free(fresh);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Bytes b = {data, data + size};
  tgModel *m = tgt_made_model(&b);
  if (m == NULL) return 0;
  tgContact *c = tgt_pick(&b, 8) == 7 ? NULL : tgt_made_contact(&b, m);
  Api a = {.m = m, .s = tg_sim_create(m, c, NULL, NULL), .nq = tg_model_nq(m), .nv = tg_model_nv(m), .nu = tg_model_nu(m)};
  a.nw = a.nv + tg_model_na(m);
  a.x = calloc(ROOM, sizeof *a.x);
  static const char *const parameter[] = {"body_mass", "geom_size", "jnt_range"};
  if (a.s != NULL) a.p = tg_param_grad_create(m, parameter, 1 + tgt_pick(&b, 3), NULL, NULL);
  for (int k = 0; k < CALLS && a.s != NULL && b.at < b.end; k++) call(&b, &a);
  if (a.s != NULL) is_as_new(&a, c);
  free(a.x);
  free(a.snapshot);
  tg_param_grad_free(a.p);
  tg_sim_free(a.s);
  tg_contact_free(c);
  tg_model_free(m);
  return 0;
}
