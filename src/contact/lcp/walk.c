// walk.c: from a solution to classes whose own solution it is, where rows are redundant.
//
// Based on: [math/lcp Solver]. The classes of a solution f stand for all solutions in them; the class solve takes the one of
// least norm, which may lie outside the bounds. On the straight way to it from f the first row that reaches its border
// switches class, with the point reached a solution of the new classes too. Where the way is barred at once by the row that
// has just switched, the point is an end of that set of solutions, and the way leads to the other end.
#include "contact/lcp/scratch.h"

// A step of this share of the way is none.
#define BARRED 1e-12

// From c->ftry, wtry to f, w, where it ends (sign 1), or the other way without an end (sign -1)
typedef struct Way {
  const tgiLcp *s;
  const tgiLcpProblem *p;
  const tgReal *f, *w;
  double sign;
} Way;

// What is `room` at the start and `last` at f: a border where it falls to 0, on the way to f only where it is clearly passed.
static void consider(const Way *way, double room, double last, double tie, tgiLcpBorder *first, int row, int8_t to) {
  if (way->sign > 0 && last >= -tie) return;
  tgi_lcp_meet(first, room, way->sign * (last - room), row, to);
}

static void consider_normal(const Way *way, int i, tgiLcpBorder *first) {
  const tgiLcpScratch *c = way->s->scratch;
  bool presses = way->s->cls[i] == TGI_LCP_C;
  if (presses) consider(way, tgRe(c->ftry[i]), tgRe(way->f[i]), TGI_LCP_TIE * c->sf, first, i, TGI_LCP_N);
  else consider(way, tgRe(c->wtry[i]), tgRe(way->w[i]), TGI_LCP_TIE * c->sw, first, i, TGI_LCP_C);
}

static void consider_bounded(const Way *way, int i, tgiLcpBorder *first) {
  const tgiLcpScratch *c = way->s->scratch;
  int8_t cls = way->s->cls[i];
  int up = way->p->kind[i] == TGI_LCP_FRICTION ? way->p->parent[i] : -1;
  double mu = tgRe(way->p->bound[i]), B0 = up < 0 ? mu : mu * tgRe(c->ftry[up]), B1 = up < 0 ? mu : mu * tgRe(way->f[up]);
  double f0 = tgRe(c->ftry[i]), f1 = tgRe(way->f[i]), w0 = tgRe(c->wtry[i]), w1 = tgRe(way->w[i]);
  double ef = TGI_LCP_TIE * c->sf, ew = TGI_LCP_TIE * c->sw;
  if (cls == TGI_LCP_F) consider(way, B0 - f0, B1 - f1, ef, first, i, TGI_LCP_H);
  if (cls == TGI_LCP_F) consider(way, B0 + f0, B1 + f1, ef, first, i, TGI_LCP_L);
  if (cls == TGI_LCP_H) consider(way, -w0, -w1, ew, first, i, TGI_LCP_F);
  if (cls == TGI_LCP_L) consider(way, w0, w1, ew, first, i, TGI_LCP_F);
}

static tgiLcpBorder first_border(const Way *way) {
  const tgiLcpProblem *p = way->p;
  tgiLcpBorder first = {way->sign > 0 ? 1 : INFINITY, -1, TGI_LCP_NONE};
  for (int i = 0; i < p->n; i++) {
    if (p->kind[i] == TGI_LCP_EQUALITY || tgi_lcp_is_inert(way->s->scratch, p, i)) continue;
    if (p->kind[i] == TGI_LCP_NORMAL) consider_normal(way, i, &first);
    else if (p->kind[i] == TGI_LCP_BOX || way->s->cls[p->parent[i]] == TGI_LCP_C) consider_bounded(way, i, &first);
  }
  return first;
}

bool tgi_lcp_walk(tgiLcp *s, const tgiLcpProblem *p, const tgReal *f, const tgReal *w, int *last) {
  tgiLcpScratch *c = s->scratch;
  Way way = {s, p, f, w, 1};
  tgi_lcp_scales(c, p, f);
  tgiLcpBorder b = first_border(&way);
  if (b.row >= 0 && b.row == *last && b.step <= BARRED) {
    way.sign = -1;
    b = first_border(&way);
  }
  if (b.row < 0) return false;
  for (int i = 0; i < p->n; i++) {
    c->ftry[i] += way.sign * b.step * (f[i] - c->ftry[i]);
    c->wtry[i] += way.sign * b.step * (w[i] - c->wtry[i]);
  }
  s->cls[b.row] = b.to;
  for (int i = 0; p->kind[b.row] == TGI_LCP_NORMAL && i < p->n; i++)
    if (p->kind[i] == TGI_LCP_FRICTION && p->parent[i] == b.row) s->cls[i] = tgRe(c->wtry[i]) > 0 ? TGI_LCP_L : TGI_LCP_H;
  *last = b.row;
  return true;
}
