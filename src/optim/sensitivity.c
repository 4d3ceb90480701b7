// sensitivity.c: see sensitivity.h.  Z_t = (S_t; dU_t),  S_{t+1} = D_t Z_t,  g += Z' l_t,  H += Z' L_t Z.
#include "optim/sensitivity.h"

#include <string.h>

#include "kin/kinematics.h"
#include "optim/controls.h"
#include "optim/product.h"

void tgi_sensitivity_place(tgSensitivity *w, int columns, tgLayout *l) {
  size_t nx = (size_t)w->nx, nz = nx + (size_t)w->nu, n = (size_t)columns;
  double **arrays[] = {&w->S, &w->next, &w->Z, &w->W, &w->U};
  size_t sizes[] = {tgi_size_mul(nx, n), tgi_size_mul(nx, n), tgi_size_mul(nz, n), tgi_size_mul(nz, n), tgi_size_mul((size_t)w->nu, n)};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) *arrays[i] = tgi_place(l, sizes[i], sizeof(double));
}

// Z of step s
static void columns_at(tgSensitivity *w, const tgTask *task, const double *x, int s) {
  size_t n = (size_t)(w->nstate + w->ncontrol), nc = (size_t)w->ncontrol;
  memcpy(w->Z, w->S, (size_t)w->nx * n * sizeof *w->Z);
  double *u = w->Z + (size_t)w->nx * n;
  memset(u, 0, (size_t)w->nu * n * sizeof *u);
  if (nc == 0) return;
  tgi_controls_jacobian(task, x, s, w->first, w->ncontrol, w->U);
  for (int k = 0; k < w->nu; k++) memcpy(u + (size_t)k * n + (size_t)w->nstate, w->U + (size_t)k * nc, nc * sizeof *u);
}

// adds the loss of one state with its control
static void add_loss(tgSensitivity *w, int rows, const double *l, const double *L, double *g, double *H) {
  int n = w->nstate + w->ncontrol, nz = w->nx + w->nu;
  for (int r = 0; r < rows; r++)
    for (int i = 0; i < n && l[r] != 0; i++) g[i] += l[r] * w->Z[(size_t)r * (size_t)n + (size_t)i];
  if (H == NULL) return;
  for (int r = 0; r < rows; r++) {
    bool any = false;
    for (int c = 0; c < rows && !any; c++) any = L[r * nz + c] != 0;
    if (!any) continue;
    memset(w->W, 0, (size_t)n * sizeof *w->W);
    tgi_add_ab(1, rows, n, L + (size_t)r * (size_t)nz, nz, w->Z, n, w->W, n);
    tgi_add_atb(1, n, n, w->Z + (size_t)r * (size_t)n, n, w->W, n, H, n);
  }
}

void tgi_sensitivity_run(tgSensitivity *w, const tgTask *task, const double *x, int from, int steps,
                         const tgExpansion *e, double *g, double *H) {
  int n = w->nstate + w->ncontrol, nx = w->nx, nz = nx + w->nu;
  size_t z = (size_t)nz;
  for (int t = 0; t <= steps; t++) {
    if (t < steps) columns_at(w, task, x, from + t);
    else memcpy(w->Z, w->S, (size_t)nx * (size_t)n * sizeof *w->Z);
    add_loss(w, t < steps ? nz : nx, e->g + (size_t)t * z, H != NULL ? e->H + (size_t)t * z * z : NULL, g, H);
    if (t == steps) return;
    memset(w->next, 0, (size_t)nx * (size_t)n * sizeof *w->next);
    tgi_add_ab(nx, nz, n, e->D + (size_t)t * (size_t)nx * z, nz, w->Z, n, w->next, n);
    double *S = w->S;
    w->S = w->next;
    w->next = S;
  }
}

void tgi_sensitivity_initial(const tgTask *t, const double *x, double *S, int columns, double *work) {
  int ni = t->ninitial, nv = t->model->nv;
  if (ni == 0) return;
  double *step = work, *pick = work + nv, *moved = pick + (size_t)nv * (size_t)ni;
  tgi_task_position_step(t, x, step);
  memset(pick, 0, (size_t)nv * (size_t)ni * sizeof *pick);
  for (int i = 0; i < ni; i++)
    if (!t->initial[i].velocity) pick[t->initial[i].dof * ni + i] = 1;
  tgi_integrate_jacobian(t->model, step, ni, NULL, pick, moved);
  for (int i = 0; i < ni; i++) {
    for (int d = 0; d < nv; d++) S[(size_t)d * (size_t)columns + (size_t)i] = moved[d * ni + i];
    for (int d = 0; d < tgi_nw(t->model); d++)
      S[(size_t)(nv + d) * (size_t)columns + (size_t)i] = t->initial[i].velocity && t->initial[i].dof == d ? 1 : 0;
  }
}
