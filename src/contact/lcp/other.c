// other.c: is the answer of a frictional LCP the only one?
//
// Based on: parametric pivoting [CottlePangStone 4.5]; [math/lcp Several answers]. Friction whose bound follows its normal may press a
// contact the harder the harder it presses; then one right-hand side may have several answers (a rod that is pushed along slips, parts, or
// sticks and is thrown up), and which of them a step has is decided by where its search starts.
//
// For A that is definite the signs of det Q over the answers to one b, none of them at a border, sum to 1: without friction there is one
// answer with det Q > 0, and the conditions with b = 0 have no answer but 0 whatever mu is [AnitescuPotra], so that none comes from
// infinity as mu grows. Where det Q < 0 there are two others at least. (Of random problems whose A is only semidefinite it was so each
// time as well.) Where it is positive, as at the end of most searches, one has to look: answers to b + s d over all s make curves that do
// not fork. With d on the normals, for large s all contacts part, by one answer. From the answer at s = 0 its curve is followed both ways,
// to infinity: where it comes through s = 0 on the way, there is another answer. Where contacts squeeze a body, forces that balance may
// grow at s = 0 without end: the path's shifted system has such an answer next to s = 0 in place of there, and its classes are asked.
// Answers on closed curves of their own are not found so.
#include <string.h>

#include "contact/lcp/scratch.h"

// Answers are apart where velocities differ by more than this of the largest b.
#define APART 1e-6
// The direction: on normals 1 and up to half more or less by chance, so that no two rows switch together; on others so much of that.
#define ELSEWHERE 0.05

// Some row could switch without a change of f or w: Q is then that of one side, and its sign not that of the answer.
static bool is_tied(const tgiLcp *s, const tgReal *f, const tgReal *w) {
  bool tied = false;
  tgi_lcp_open(s->scratch, s->problem);
  tgi_lcp_scales(s->scratch, s->problem, f);
  for (int i = 0; i < s->n && !tied; i++) tied = tgi_lcp_row_margin(s, s->problem, f, w, i) <= TGI_LCP_TIE;
  return tied;
}

int tgi_lcp_proves_others(const tgiLcp *s, const tgReal *f, const tgReal *w) {
  if (!s->hanging || s->deficient || s->problem->sparse != NULL) return -1;
  bool negative = false;
  for (int i = 0; i < s->nk; i++) negative ^= (tgRe(s->lu[(size_t)(s->nk + 1) * (size_t)i]) < 0) != (s->lu_piv[i] != i);
  if (!negative || is_tied(s, f, w)) return -1;
  for (int i = 0; i < s->n; i++)
    if (tgRe(tgi_lcp_slope(s, i)) != 0) return i;
  return -1;
}

// one that a normal which can press bounds
static bool has_friction(const tgiLcpReduced *r) {
  for (int i = 0; i < r->n; i++)
    if (r->parent[i] >= 0 && r->bound[i] > 0) return true;
  return false;
}

static void choose_direction(tgiLcpScratch *c) {
  const tgiLcpReduced *r = &c->red;
  double most = 0;
  for (int i = 0; i < r->n; i++) most = tgi_lcp_larger(most, fabs(r->b[i]));
  for (int i = 0; i < r->n; i++) {
    double chance = tgi_lcp_chance(0, i);
    c->delta[i] = most * (r->kind[i] == TGI_LCP_NORMAL ? chance : ELSEWHERE * (chance - 1));
  }
}

// Whose other answer is looked for: of s to p, with w; at: a row at which the one that was found differs most, -1: none was.
typedef struct Search {
  tgiLcp *s;
  const tgiLcpProblem *p;
  const tgReal *w;
  double fastest;   // of b
  int at;
} Search;

// Do velocities along the path differ from the answer's where t is 1?
static bool moves_otherwise(const Search *a, double rest) {
  const tgiLcpScratch *c = a->s->scratch;
  double most = 0;
  for (int k = 0; k < c->red.n; k++)
    most = tgi_lcp_larger(most, fabs((c->w[k] + rest * c->Dw[k]) / c->scale[k] - tgRe(a->w[c->red.row[k]])));
  return most > 0.5 * APART * a->fastest;
}

// Do the classes of c->red_cls give another answer?
static bool is_another(void *ctx, double rest) {
  Search *a = ctx;
  const tgiLcpProblem *p = a->p;
  tgiLcpScratch *c = a->s->scratch;
  if (!moves_otherwise(a, rest)) return false;
  for (int i = 0; i < p->n; i++) {
    c->trial[i] = a->s->cls[i];
    if (p->kind[i] == TGI_LCP_NORMAL) c->trial[i] = TGI_LCP_N;
    else if (c->dead[i]) c->trial[i] = TGI_LCP_D;
    else if (p->kind[i] == TGI_LCP_FRICTION) c->trial[i] = TGI_LCP_H;
  }
  for (int k = 0; k < c->red.n; k++) c->trial[c->red.row[k]] = c->red_cls[k];
  if (!(tgi_lcp_class_solve(&c->spare, p, c->trial, c->ftry, c->wtry) <= TGI_LCP_ACCEPT)) return false;
  double most = APART * c->sw;
  for (int i = 0; i < p->n; i++) {
    double apart = fabs(tgRe(c->wtry[i]) - tgRe(a->w[i]));
    if (apart <= most) continue;
    most = apart;
    a->at = i;
  }
  return a->at >= 0;
}

int tgi_lcp_find_other(tgiLcp *s, const tgiLcpProblem *p, const tgReal *w, int *pivots) {
  tgiLcpScratch *c = s->scratch;
  Search a = {s, p, w, p->speed, -1};
  if (p->sparse != NULL) return -1;
  for (int i = 0; i < p->n; i++) a.fastest = tgi_lcp_larger(a.fastest, fabs(tgRe(p->b[i])));
  tgi_lcp_open(c, p);
  tgi_lcp_reduce(s, p);
  c->lu = c->spare.lu;   // that of s stays as it is
  c->lu_piv = c->spare.lu_piv;
  c->tried = NULL;
  bool found = !has_friction(&c->red);
  for (int way = 1; !found && way >= -1; way -= 2) {
    choose_direction(c);
    for (int k = 0; k < c->red.n; k++) {
      int8_t own = s->cls[c->red.row[k]];
      c->red_cls[k] = own == TGI_LCP_D ? TGI_LCP_F : own;
    }
    found = tgi_lcp_path_on(c, way, c->red_cls, is_another, &a, pivots);
  }
  c->reduced = false;
  return a.at;
}
