// agree.c: what equalities ask for and cannot be given together, as they contradict each other.
//
// Based on: [math/lcp Errors that cannot be removed].
// With E the rows of equalities, b_E splits into what forces on them can answer and its part r in the null space of A_EE. As A is positive
// semidefinite, A_iE r = 0 for every other row i too: nothing can change r, and without it the other rows have the answers that they have
// with it. So classes are searched for without r, whose size would else hide which of them hold.
#include "contact/lcp/work.h"

#include "contact/lcp/scratch.h"

// Pivots of A_EE below this share of the first are rounding, as they are to the class solve.
#define RANK_CUT 1e-10

bool tgi_lcp_agree(tgiLcpIsland *k) {
  const tgiLcpProblem *p = &k->problem;
  tgiLcpScratch *c = k->lcp.scratch;
  int m = 0, *e = c->order;
  if (p->A == NULL) return false;
  double largest = p->speed, off = 0;
  for (int a = 0; a < p->n; a++) {
    largest = fmax(largest, fabs(tgRe(p->b[a])));
    if (p->kind[a] == TGI_LCP_EQUALITY) e[m++] = a;
  }
  if (m < 2) return false;
  c->tried = NULL;   // its memory is that of the factorisation
  tgiCod cod = c->spare.cod;
  cod.n = m;
  cod.work = c->cod_work;
  for (int j = 0; j < m; j++) {
    c->x[j] = p->b[e[j]];
    for (int i = 0; i < m; i++) cod.qr[i + (size_t)m * (size_t)j] = p->A[(size_t)p->n * (size_t)e[i] + (size_t)e[j]];
  }
  tgi_cod_factor(&cod, RANK_CUT);
  tgi_cod_project(&cod, c->x);
  for (int j = 0; j < m; j++) off = fmax(off, fabs(tgRe(c->x[j])));
  if (!(off > TGI_LCP_ACCEPT * largest)) return false;
  for (int j = 0; j < m; j++) k->b[e[j]] -= c->x[j];
  return true;
}
