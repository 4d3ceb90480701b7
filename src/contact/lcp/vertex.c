// vertex.c: from a solution to one whose held rows act independently, where rows are redundant.
//
// Based on: crossover of linear programs [CottlePangStone 1.2]; [math/lcp Solver]. All f with the same w, A P z = 0, inside the bounds
// are solutions too. From one of them a direction z is followed until a row meets its bound; the row leaves the held ones there, z the
// directions that are left; so on until none is. A P z = 0 is z' (P' A P) z = 0: the null space of a symmetric matrix.
#include "contact/lcp/scratch.h"

#include <string.h>

// Directions z in the forces of the held rows (s->k): columns of N
typedef struct Directions {
  tgiLcp *s;
  const tgiLcpProblem *p;
  double *N;
  int left;
} Directions;

static double *direction(const Directions *d, int j) { return d->N + (size_t)d->s->nk * (size_t)j; }

// P' A P into s->cod, its null space into N
static void find_directions(Directions *d) {
  tgiLcp *s = d->s;
  const tgiLcpProblem *p = d->p;
  tgiLcpScratch *c = s->scratch;
  int n = p->n, nk = s->nk;
  for (int k = 0; k < nk; k++) {
    for (int a = 0; a < nk; a++) c->x[a] = a == k;
    tgi_lcp_expand(s, c->x, c->y);
    for (int i = 0; i < n; i++) c->wtmp[i] = 0;
    for (int j = 0; j < n; j++)
      for (int i = 0; c->y[j] != 0 && i < n; i++) c->wtmp[i] += p->A[(size_t)n * j + i] * c->y[j];
    tgi_lcp_gather(s, c->wtmp, s->cod.qr + (size_t)nk * k);
  }
  s->cod.n = nk;
  s->cod.work = c->cod_work;
  tgi_cod_factor(&s->cod, 1e-10);
  d->left = nk - s->cod.rank;
  for (int j = 0; j < d->left; j++) {
    for (int a = 0; a < nk; a++) c->x[a] = tgi_lcp_chance(j, a) - 1;
    tgi_cod_project(&s->cod, c->x);
    for (int a = 0; a < nk; a++) direction(d, j)[a] = tgRe(c->x[a]);
  }
}

// The friction bound of held row i, or of its direction z
static double bound_of(const Directions *d, int i, const tgReal *f, const double *z) {
  double mu = tgRe(d->p->bound[i]);
  if (d->p->kind[i] == TGI_LCP_BOX) return f != NULL ? mu : 0;
  int up = d->p->parent[i];
  return mu * (f != NULL ? tgRe(f[up]) : z[d->s->kpos[up]]);
}

// The first bound met along way z; rows that have left already (s->cls) do not count
static tgiLcpBorder first_bound(const Directions *d, const double *z, double way) {
  const tgiLcp *s = d->s;
  const tgReal *f = s->scratch->ftry;
  tgiLcpBorder first = {INFINITY, -1, TGI_LCP_NONE};
  for (int a = 0; a < s->nk; a++) {
    int i = s->k[a];
    double fi = tgRe(f[i]), zi = way * z[a];
    if (s->cls[i] == TGI_LCP_C && d->p->kind[i] == TGI_LCP_NORMAL) tgi_lcp_meet(&first, fi, zi, i, TGI_LCP_N);
    if (s->cls[i] != TGI_LCP_F) continue;
    double B = bound_of(d, i, f, NULL), DB = way * bound_of(d, i, NULL, z);
    tgi_lcp_meet(&first, B - fi, DB - zi, i, TGI_LCP_H);
    tgi_lcp_meet(&first, B + fi, DB + zi, i, TGI_LCP_L);
  }
  return first;
}

// Is row i's force off its class along z? 0 where z keeps it.
static double off_class(const Directions *d, int i, const double *z) {
  int8_t cls = d->s->cls[i];
  double zi = z[d->s->kpos[i]];
  if (cls == TGI_LCP_N) return zi;
  bool idle = d->p->kind[i] == TGI_LCP_FRICTION && d->s->cls[d->p->parent[i]] == TGI_LCP_N;
  return idle ? zi : cls == TGI_LCP_H ? zi - bound_of(d, i, NULL, z) : zi + bound_of(d, i, NULL, z);
}

// Only directions that keep row i, which has left the held ones, in its class stay.
static void keep(Directions *d, int i) {
  int nk = d->s->nk, best = -1;
  double most = 0;
  for (int j = 0; j < d->left; j++) {
    double off = fabs(off_class(d, i, direction(d, j)));
    if (off > most) {
      most = off;
      best = j;
    }
  }
  if (!(most > 1e-12)) return;
  double *out = direction(d, best), *last = direction(d, --d->left), off = off_class(d, i, out);
  for (int a = 0; a < nk && best != d->left; a++) {
    double x = out[a];
    out[a] = last[a];
    last[a] = x;
  }
  for (int j = 0; j < d->left; j++) {
    double *z = direction(d, j), e = off_class(d, i, z) / off;
    for (int a = 0; a < nk; a++) z[a] -= e * last[a];
  }
}

static void move(const Directions *d, const double *z, double step) {
  tgiLcpScratch *c = d->s->scratch;
  for (int a = 0; a < d->s->nk; a++) c->x[a] = step * z[a];
  memcpy(c->trial, d->s->cls, (size_t)d->p->n);
  memcpy(d->s->cls, c->before, (size_t)d->p->n);   // what hangs hangs as it did
  tgi_lcp_expand(d->s, c->x, c->y);
  memcpy(d->s->cls, c->trial, (size_t)d->p->n);
  for (int i = 0; i < d->p->n; i++) c->ftry[i] += c->y[i];
}

static void leave(Directions *d, int i, int8_t to) {
  d->s->cls[i] = to;
  keep(d, i);
  for (int a = 0; d->p->kind[i] == TGI_LCP_NORMAL && a < d->s->nk; a++) {   // friction on it goes with it
    int j = d->s->k[a];
    if (d->p->kind[j] != TGI_LCP_FRICTION || d->p->parent[j] != i) continue;
    d->s->cls[j] = TGI_LCP_H;
    keep(d, j);
  }
}

bool tgi_lcp_vertex(tgiLcp *s, const tgiLcpProblem *p) {
  Directions d = {s, p, s->scratch->T, 0};
  find_directions(&d);
  if (d.left == 0) return false;
  memcpy(s->scratch->before, s->cls, (size_t)p->n);
  while (d.left > 0) {
    const double *z = direction(&d, d.left - 1);
    tgiLcpBorder there = first_bound(&d, z, 1), back = first_bound(&d, z, -1);
    bool turn = back.step < there.step;
    tgiLcpBorder b = turn ? back : there;
    if (b.row < 0) {   // nothing bounds it: equalities that follow from each other
      d.left--;
      continue;
    }
    move(&d, z, turn ? -b.step : b.step);
    leave(&d, b.row, b.to);
  }
  return true;
}
