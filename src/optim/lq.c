// lq.c: see lq.h.
//
// Based on: [ilqg] for the recursion and the penalty on states, [boxddp] for the limits. Value V(dx) = Vx . dx + dx' Vxx dx / 2. With the
// control held over a block, the quadratic Q(dx_t, du) of the cost from t on is carried through the block's steps,
//   Q_t = l_t + Q_{t+1} o [D_t; 0 1],
// and minimised over du at its first:  k = argmin du' Quu du / 2 + Qu . du in the box,  K = -Quu^-1 Qux over the free controls,
// Where the steps are curved, Q_t has sum_k (Q_{t+1})_xk F_k besides [ddp].
//   Vx = Qx + K' Quu k + K' Qu + Qux' k,  Vxx = Qxx + K' Quu K + K' Qux + Qux' K.
// The penalty mu |dx_end|^2 / 2 of a block enters k and K but not V: with P = d(x_end)/d(x_t, u), Quu + mu Pu'Pu and Qux + mu Pu'Px.
#include "optim/lq.h"

#include <math.h>
#include <string.h>

#include "optim/product.h"

// places in the work array
typedef struct Work { double *g, *H, *W, *N, *P, *P2, *Quu, *Qux, *low, *high; } Work;

static Work work_of(const tgLq *q) {
  size_t nx = (size_t)q->nx, nu = (size_t)q->nu, nz = nx + nu,
         sizes[] = {nz, nz * nz, nx * nz, nz * nz, nx * nz, nx * nz, nu * nu, nu * nx, nu, nu};
  Work w;
  double **arrays[] = {&w.g, &w.H, &w.W, &w.N, &w.P, &w.P2, &w.Quu, &w.Qux, &w.low, &w.high}, *at = q->work;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    *arrays[i] = at;
    at += sizes[i];
  }
  return w;
}

void tgi_lq_place(tgLq *q, tgLayout *l) {
  size_t nx = (size_t)q->nx, nu = (size_t)q->nu, nz = nx + nu, T = (size_t)q->steps;
  q->nblock = (q->steps + q->every - 1) / q->every;
  size_t nb = (size_t)q->nblock, block = tgi_size_mul(nz, nz);
  double **arrays[] = {&q->F, &q->e.D, &q->e.g, &q->e.H, &q->k, &q->K, &q->Vx, &q->Vxx, &q->qp.x, &q->qp.work, &q->qp.L, &q->work};
  size_t sizes[] = {q->curved ? tgi_size_mul(T, tgi_size_mul(nx, block)) : 0, tgi_size_mul(T, nx * nz),
                    tgi_size_mul(T + 1, nz), tgi_size_mul(T + 1, block), nb * nu, tgi_size_mul(nb, nu * nx), nx,
                    nx * nx, nu, 4 * nu, nu * nu, nz + 2 * block + 3 * nx * nz + nu * nu + nu * nx + 2 * nu};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) *arrays[i] = tgi_place(l, sizes[i], sizeof(double));
  q->qp.free = tgi_place(l, nu, sizeof(int));
}

// the value at the end of a block: Q(dx, du) = V(dx), P = [1 0]
static void open_block(const tgLq *q, const Work *w) {
  int nx = q->nx, nz = nx + q->nu;
  memset(w->g, 0, (size_t)nz * sizeof *w->g);
  memset(w->H, 0, (size_t)nz * (size_t)nz * sizeof *w->H);
  memset(w->P, 0, (size_t)nx * (size_t)nz * sizeof *w->P);
  memcpy(w->g, q->Vx, (size_t)nx * sizeof *w->g);
  for (int i = 0; i < nx; i++) {
    memcpy(w->H + i * nz, q->Vxx + i * nx, (size_t)nx * sizeof *w->H);
    w->P[i * nz + i] = 1;
  }
}

// what the step's second derivative adds
static void add_curvature(const tgLq *q, const Work *w, int t) {
  size_t block = (size_t)(q->nx + q->nu) * (size_t)(q->nx + q->nu);
  const double *F = q->F + (size_t)t * (size_t)q->nx * block;
  for (int k = 0; k < q->nx; k++, F += block) {
    if (w->g[k] == 0) continue;
    for (size_t i = 0; i < block; i++) w->N[i] += w->g[k] * F[i];
  }
}

// Q and P of the step before
static void through_step(const tgLq *q, Work *w, int t, bool penalised) {
  int nx = q->nx, nu = q->nu, nz = nx + nu;
  size_t z = (size_t)nz;
  const double *D = q->e.D + (size_t)t * (size_t)nx * z, *g = q->e.g + (size_t)t * z, *H = q->e.H + (size_t)t * z * z;
  memset(w->W, 0, (size_t)nx * z * sizeof *w->W);
  tgi_add_ab(nx, nx, nz, w->H, nz, D, nz, w->W, nz);
  memcpy(w->N, H, z * z * sizeof *H);
  tgi_add_atb(nx, nz, nz, D, nz, w->W, nz, w->N, nz);
  if (q->curved) add_curvature(q, w, t);
  // the parts in u of the steps after, which hold the same u
  for (int i = 0; i < nz; i++)
    for (int r = 0; r < nx; r++) {
      double a = D[(size_t)r * z + (size_t)i];
      if (a == 0) continue;
      for (int j = 0; j < nu; j++) {
        double c = a * w->H[r * nz + nx + j];
        w->N[i * nz + nx + j] += c;
        w->N[(nx + j) * nz + i] += c;
      }
    }
  for (int i = 0; i < nu; i++)
    for (int j = 0; j < nu; j++) w->N[(nx + i) * nz + nx + j] += w->H[(nx + i) * nz + nx + j];
  double *N = w->H;
  w->H = w->N;
  w->N = N;
  for (int i = 0; i < nu; i++) w->g[nx + i] += g[nx + i];
  double *gx = w->W;   // free again
  memcpy(gx, g, (size_t)nx * sizeof *gx);
  for (int r = 0; r < nx; r++)
    for (int i = 0; i < nz; i++) *(i < nx ? gx + i : w->g + i) += w->g[r] * D[(size_t)r * z + (size_t)i];
  memcpy(w->g, gx, (size_t)nx * sizeof *gx);
  if (!penalised) return;
  memset(w->P2, 0, (size_t)nx * z * sizeof *w->P2);
  tgi_add_ab(nx, nx, nz, w->P, nz, D, nz, w->P2, nz);
  for (int i = 0; i < nx; i++)
    for (int j = 0; j < nu; j++) w->P2[i * nz + nx + j] += w->P[i * nz + nx + j];
  double *P = w->P;
  w->P = w->P2;
  w->P2 = P;
}

// Quu and Qux with the penalty. Controls that move nothing and cost nothing stay where they are: a small share of the mean of Pu'Pu
// on the diagonal, or 1 where a control has neither cost nor effect at all, decides them.
static void penalise(const tgLq *q, const Work *w, double mu) {
  int nx = q->nx, nu = q->nu, nz = nx + nu;
  double mean = 0;
  for (int i = 0; i < nu; i++) {
    memcpy(w->Quu + i * nu, w->H + (nx + i) * nz + nx, (size_t)nu * sizeof *w->Quu);
    memcpy(w->Qux + i * nx, w->H + (nx + i) * nz, (size_t)nx * sizeof *w->Qux);
  }
  for (int i = 0; i < nu; i++)
    for (int j = 0; j < i; j++) w->Quu[i * nu + j] = w->Quu[j * nu + i] = 0.5 * (w->Quu[i * nu + j] + w->Quu[j * nu + i]);
  for (int r = 0; r < nx && mu > 0; r++)
    for (int i = 0; i < nu; i++) {
      double p = w->P[r * nz + nx + i];
      mean += p * p / nu;
      if (p == 0) continue;
      for (int j = 0; j < nu; j++) w->Quu[i * nu + j] += mu * p * w->P[r * nz + nx + j];
      for (int j = 0; j < nx; j++) w->Qux[i * nx + j] += mu * p * w->P[r * nz + j];
    }
  for (int i = 0; i < nu; i++) {
    w->Quu[i * nu + i] += 1e-4 * mu * mean;
    double most = 0;
    for (int j = 0; j < nu; j++) most = fmax(most, fabs(w->Quu[i * nu + j]));
    if (most == 0 && w->g[nx + i] == 0) w->Quu[i * nu + i] = 1;
  }
}

// K = -Quu^-1 Qux over the free controls, 0 for those at a limit
static void gains(const tgLq *q, const Work *w, double *K) {
  const tgBoxQp *p = &q->qp;
  double *column = p->work;
  memset(K, 0, (size_t)q->nu * (size_t)q->nx * sizeof *K);
  for (int c = 0; c < q->nx; c++) {
    for (int i = 0; i < p->nfree; i++) column[i] = -w->Qux[p->free[i] * q->nx + c];
    tgi_chol_solve(p->nfree, p->L, column);
    for (int i = 0; i < p->nfree; i++) K[p->free[i] * q->nx + c] = column[i];
  }
}

// V of the block's first state under its policy
static void value(tgLq *q, const Work *w, const double *k, const double *K) {
  int nx = q->nx, nu = q->nu, nz = nx + nu;
  double *QK = w->W, *Qk = w->low;   // Quu K + Qux (nu x nx); Quu k + Qu: free again
  for (int i = 0; i < nu; i++) {
    const double *row = w->H + (nx + i) * nz;
    Qk[i] = w->g[nx + i];
    memcpy(QK + i * nx, row, (size_t)nx * sizeof *QK);
    for (int j = 0; j < nu; j++) {
      Qk[i] += row[nx + j] * k[j];
      for (int c = 0; c < nx; c++) QK[i * nx + c] += row[nx + j] * K[j * nx + c];
    }
    q->expected[0] += k[i] * w->g[nx + i];
    q->expected[1] += 0.5 * k[i] * (Qk[i] - w->g[nx + i]);
  }
  // Vx = Qx + K'(Quu k + Qu) + Qux' k;  Vxx = Qxx + K'(Quu K + Qux) + Qux' K
  for (int c = 0; c < nx; c++) {
    q->Vx[c] = w->g[c];
    for (int i = 0; i < nu; i++) q->Vx[c] += K[i * nx + c] * Qk[i] + w->H[(nx + i) * nz + c] * k[i];
  }
  for (int r = 0; r < nx; r++) memcpy(q->Vxx + r * nx, w->H + r * nz, (size_t)nx * sizeof *q->Vxx);
  tgi_add_atb(nu, nx, nx, K, nx, QK, nx, q->Vxx, nx);
  tgi_add_atb(nu, nx, nx, w->H + nx * nz, nz, K, nx, q->Vxx, nx);
  for (int r = 0; r < nx; r++)
    for (int c = 0; c < r; c++) q->Vxx[r * nx + c] = q->Vxx[c * nx + r] = 0.5 * (q->Vxx[r * nx + c] + q->Vxx[c * nx + r]);
}

static bool close_block(tgLq *q, const Work *w, int b, const double *u, const double *low, const double *high, double mu) {
  int nu = q->nu;
  double *k = q->k + b * nu, *K = q->K + (size_t)b * (size_t)nu * (size_t)q->nx;
  penalise(q, w, mu);
  for (int i = 0; i < nu; i++) {
    w->low[i] = low[b * nu + i] - u[b * nu + i];
    w->high[i] = high[b * nu + i] - u[b * nu + i];
    q->qp.x[i] = 0;
  }
  q->qp.n = nu;
  q->qp.H = w->Quu;
  q->qp.g = w->g + q->nx;
  q->qp.low = w->low;
  q->qp.high = w->high;
  if (!tgi_box_qp(&q->qp)) return false;
  memcpy(k, q->qp.x, (size_t)nu * sizeof *k);
  gains(q, w, K);
  value(q, w, k, K);
  return true;
}

bool tgi_lq_backward(tgLq *q, const double *u, const double *low, const double *high, double mu) {
  int nx = q->nx, nz = nx + q->nu;
  size_t z = (size_t)nz, T = (size_t)q->steps;
  Work w = work_of(q);
  q->expected[0] = q->expected[1] = 0;
  memcpy(q->Vx, q->e.g + T * z, (size_t)nx * sizeof *q->Vx);
  for (int i = 0; i < nx; i++) memcpy(q->Vxx + i * nx, q->e.H + T * z * z + (size_t)i * z, (size_t)nx * sizeof *q->Vxx);
  for (int t = q->steps - 1; t >= 0; t--) {
    if (t == q->steps - 1 || (t + 1) % q->every == 0) open_block(q, &w);
    through_step(q, &w, t, mu > 0);
    if (t % q->every == 0 && !close_block(q, &w, t / q->every, u, low, high, mu)) return false;
  }
  return true;
}
