// held.c: see held.h.
#include "contact/lcp/held.h"

#include <string.h>

// what is to be left of the right side, and what may be; iterations for each direction in which rows can differ, of which rounding makes
// some be taken again
#define HELD_REST 1e-14
#define HELD_FOUND 1e-9
enum { HELD_ROUNDS = 6, HELD_LEAST = 50 };

tgStatus tgi_held_room(tgSim *s, tgiHeld *h) {
  size_t n = (size_t)s->nrow;
  tgReal *c = tgi_stack_real(s, 4 * n);
  h->s = s;
  h->own = tgi_stack_bytes(s, (2 * n + 1) * sizeof *h->own);
  h->x = tgi_stack_real(s, (size_t)s->m.nv);
  for (size_t i = 0; i < 4; i++) h->c[i] = c != NULL ? c + i * n : NULL;
  return c == NULL || h->own == NULL || h->x == NULL ? TG_ERR_CAPACITY : TG_OK;
}

bool tgi_held_choose(tgiHeld *h, int island, const int8_t *chosen) {
  tgiLcp *l = &tgi_lcp_work(h->s)->island[island].lcp;
  h->row = h->s->rows->island_row + h->s->rows->island_adr[island];
  h->factors = NULL;
  h->n = l->n;
  if (l->problem->sparse == NULL) {
    h->factors = tgi_lcp_factor_rows(l, chosen);
    if (h->factors == NULL) return false;
    h->nk = h->factors->nk;
    h->k = h->factors->k;
    h->kpos = h->factors->kpos;
    return true;
  }
  int *k = h->own, *kpos = h->own + h->s->nrow;
  h->nk = 0;
  h->k = k;
  h->kpos = kpos;
  for (int a = 0; a < h->n; a++) {
    kpos[a] = chosen[a] ? h->nk : -1;
    if (chosen[a]) k[h->nk++] = a;
  }
  return true;
}

// out = A_KK p
static void multiply(const tgiHeld *h, const tgReal *p, tgReal *out) {
  const tgSim *s = h->s;
  for (int d = 0; d < s->m.nv; d++) h->x[d] = 0;
  for (int a = 0; a < h->nk; a++) tgi_row_add(s, s->rows->MiJ, h->row[h->k[a]], p[a], h->x);
  for (int a = 0; a < h->nk; a++) out[a] = tgi_row_dot(s, s->rows->J, h->row[h->k[a]], h->x);
}

// z = r scaled; r' z
static tgReal scale(const tgiHeld *h, const tgReal *r, tgReal *z) {
  tgReal sum = 0;
  for (int a = 0; a < h->nk; a++) {
    tgReal d = tgi_row_diagonal(h->s, h->row[h->k[a]]);
    z[a] = tgRe(d) > 0 ? r[a] / d : 0;
    sum += r[a] * z[a];
  }
  return sum;
}

bool tgi_held_solve(const tgiHeld *h, tgReal *f) {
  if (h->factors != NULL) {
    tgi_lcp_apply(h->factors, f, f);
    return true;
  }
  tgReal *r = h->c[0], *p = h->c[1], *z = h->c[2], *q = h->c[3];
  int most = HELD_ROUNDS * (h->nk < h->s->m.nv ? h->nk : h->s->m.nv) + HELD_LEAST;
  for (int a = 0; a < h->nk; a++) {
    r[a] = f[a];
    f[a] = 0;
  }
  tgReal rz = scale(h, r, z);
  double first = tgRe(rz), enough = HELD_REST * HELD_REST * first;
  memcpy(p, z, (size_t)h->nk * sizeof *p);
  for (int round = 0; round < most && tgRe(rz) > enough; round++) {
    multiply(h, p, q);
    tgReal pq = 0;
    for (int a = 0; a < h->nk; a++) pq += p[a] * q[a];
    if (!(tgRe(pq) > 0)) break;
    tgReal step = rz / pq, last = rz;
    for (int a = 0; a < h->nk; a++) {
      f[a] += step * p[a];
      r[a] -= step * q[a];
    }
    rz = scale(h, r, z);
    for (int a = 0; a < h->nk; a++) p[a] = z[a] + rz / last * p[a];
  }
  return tgRe(rz) <= HELD_FOUND * HELD_FOUND * first;
}
