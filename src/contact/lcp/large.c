// large.c: stage 2 of a problem whose matrix is not formed: classes by interior points, made right by an active set.
//
// Based on: proximal points [Rockafellar], active sets as a semi-smooth Newton method [HintermuellerItoKunisch]; [math/lcp (21), (22)].
// Near forces a from which friction has its bounds, the problem with w + s (f - a) for w is that of a strictly convex function: few changes
// of classes solve it. Forces move little on the way where rows are redundant, so that those that were within their bounds remain so.
// The classes it ends in are solved with friction that follows its normal; where those forces are not within the bounds, they are put
// there and are a. Where that does not end, the proximal problem is solved with friction that follows by pivoting along a path (path.c),
// which from forces so near has few switches; its end is the next a.
#include <string.h>

#include "contact/lcp/interior.h"
#include "contact/lcp/scratch.h"
#include "contact/lcp/sparse.h"

// Products of forces and velocities, as a share of the start's, at which interior points stop: where those of friction's slack and the
// velocity against it are still more than the rounding of the bound.
#define GAP 1e-13
// No other start after so many factorisations; those that settling may take, and before a path, where it ends within three or hardly ever;
// paths.
enum { MOST = 200, SETTLE = 12, BEFORE_PATH = 3, PATHS = 4, WALK = 6 };

typedef struct Large {
  tgiLcp *s;
  const tgiLcpProblem *p;
  tgReal *f, *w;
  double least;        // residual of the forces `kept`, classes `best`
  double *kept;
  int8_t *best;
} Large;

// Forces and classes of the least residual so far are kept.
static bool holds(Large *l, double residual) {
  if (residual < l->least) {
    l->least = residual;
    for (int i = 0; i < l->p->n; i++) l->kept[i] = tgRe(l->f[i]);
    memcpy(l->best, l->s->cls, (size_t)l->p->n);
  }
  return residual <= TGI_LCP_ACCEPT;
}

// the anchor: f put into its bounds
static void anchor_inside(Large *l) {
  const tgiLcpProblem *p = l->p;
  tgReal *a = l->s->anchor;
  for (int i = 0; i < p->n; i++) a[i] = p->kind[i] == TGI_LCP_NORMAL ? fmax(0, tgRe(l->f[i])) : tgRe(l->f[i]);
  for (int i = 0; i < p->n; i++) {
    if (p->kind[i] != TGI_LCP_FRICTION && p->kind[i] != TGI_LCP_BOX) continue;
    double B = tgRe(p->bound[i]) * (p->kind[i] == TGI_LCP_FRICTION ? tgRe(a[p->parent[i]]) : 1);
    a[i] = fmax(-B, fmin(B, tgRe(a[i])));
  }
}

// the solution of the classes nearest to the anchor
static bool try_classes(Large *l, tgiLcpInfo *info) {
  info->factored++;
  l->s->anchored = TGI_NEAR_ANCHOR;
  return holds(l, tgi_lcp_class_solve(l->s, l->p, l->s->cls, l->f, l->w));
}

// From forces in the anchor and classes. True: an answer. False: the best is kept.
static bool settle(Large *l, tgiLcpInfo *info) {
  int most = l->s->scratch->equalities ? SETTLE : BEFORE_PATH;
  for (int count = 0; count < most && !tgi_lcp_stops(l->s->scratch); count++) {
    double residual = tgi_lcp_class_near(l->s, l->p, l->f, l->w, l->s->scratch->wtry);
    info->pivots++;
    if (!isfinite(residual)) return false;
    if (tgi_lcp_correct(l->s, l->p, l->f, l->s->scratch->wtry, l->s->anchor)) continue;
    holds(l, residual);
    for (int i = 0; i < l->p->n; i++) l->s->anchor[i] = tgRe(l->f[i]);
    if (try_classes(l, info)) return true;
    anchor_inside(l);
  }
  return false;
}

void tgi_lcp_large_image(tgiLcpScratch *c, const double *f, double *w) {
  const tgiLcpReduced *r = &c->red;
  const tgiLcpProblem *p = r->large->problem;
  for (int i = 0; i < p->n; i++) c->ftry[i] = c->wtry[i] = 0;
  for (int a = 0; a < r->n; a++) c->ftry[r->row[a]] = f[a];
  tgi_sparse_respond(p->sparse, p->n, c->ftry, c->wtry);
  for (int a = 0; a < r->n; a++) w[a] += tgRe(c->wtry[r->row[a]]);
}

bool tgi_lcp_large_solve(tgiLcpScratch *c, const int8_t *cls, double *f, double *rate) {
  const tgiLcpReduced *r = &c->red;
  tgiLcp *s = r->large;
  for (int a = 0; a < r->n; a++) s->cls[r->row[a]] = cls[a];
  if (!tgi_lcp_class_open(s, s->problem)) return false;
  for (int side = 0; side < 2; side++) {
    for (int k = 0; k < s->nk; k++) {
      int i = s->k[k];
      tgReal delta = c->delta[c->K_pos[i]];
      s->fk[k] = side > 0 ? delta : s->fk[k] + s->shift * s->anchor[i] - delta;
    }
    tgi_sparse_solve_shifted(s, s->fk);
    tgi_lcp_expand(s, s->fk, c->ftry);
    for (int a = 0; a < r->n; a++) {
      int i = r->row[a];
      (side > 0 ? rate : f)[a] = tgRe(c->ftry[i]) + (side > 0 || s->kpos[i] >= 0 ? 0 : tgRe(c->ftmp[i]));
    }
  }
  return true;
}

// the rows that act, without equalities, for a path from the forces that are kept, which are the anchor. False: there are equalities.
static void open_path(Large *l) {
  const tgiLcpProblem *p = l->p;
  tgiLcpScratch *c = l->s->scratch;
  tgiLcpReduced *r = &c->red;
  r->large = l->s;
  r->n = 0;
  for (int i = 0; i < p->n; i++) {
    bool friction = p->kind[i] == TGI_LCP_FRICTION, idle = friction && tgi_lcp_acts_on_nothing(c, p, p->parent[i]);
    c->K_pos[i] = -1;
    l->s->anchor[i] = l->kept[i];
    if (idle || tgi_lcp_acts_on_nothing(c, p, i)) continue;
    c->K_pos[i] = r->n;
    r->row[r->n++] = i;
  }
  for (int a = 0; a < r->n; a++) {
    int i = r->row[a];
    r->kind[a] = p->kind[i];
    r->parent[a] = p->kind[i] == TGI_LCP_FRICTION ? c->K_pos[p->parent[i]] : -1;
    r->bound[a] = p->kind[i] == TGI_LCP_NORMAL ? 0 : tgRe(p->bound[i]);
    r->b[a] = tgRe(p->b[i]) - l->s->shift * l->kept[i];
    c->f[a] = l->kept[i];
  }
}

// From forces that solve the proximal problem, in the anchor, and their classes: steps towards the classes' own solution, which is outside
// its bounds where their matrix is next to singular, each to the first border on the way (walk.c).
static bool walk(Large *l, tgiLcpInfo *info) {
  const tgiLcpProblem *p = l->p;
  tgiLcpScratch *c = l->s->scratch;
  int row = -1;
  for (int i = 0; i < p->n; i++) {
    c->ftry[i] = l->f[i];
    c->wtry[i] = l->w[i];
  }
  for (int step = 0; step < WALK; step++) {
    if (try_classes(l, info)) return true;
    if (!tgi_lcp_walk(l->s, p, l->f, l->w, &row)) return false;
    for (int i = 0; i < p->n; i++) l->s->anchor[i] = tgRe(c->ftry[i]);
  }
  return try_classes(l, info);
}

// Where there are no equalities: along a path from the forces of least residual, whose end is the anchor of the next one; the solution of
// the classes at its end.
static bool follow_path(Large *l, tgiLcpInfo *info) {
  const tgiLcpProblem *p = l->p;
  tgiLcpScratch *c = l->s->scratch;
  if (c->equalities) return false;
  for (int round = 0; round < PATHS; round++) {
    double before = l->least;
    memcpy(l->s->cls, l->best, (size_t)p->n);
    if (!tgi_lcp_class_open(l->s, p)) return false;
    open_path(l);
    if (!tgi_lcp_path(c, 0, 0, 0, c->red_cls, &info->pivots)) return false;
    for (int i = 0; i < p->n; i++) l->f[i] = c->K_pos[i] >= 0 ? c->f[c->K_pos[i]] : 0;
    for (int a = 0; a < c->red.n; a++) l->s->cls[c->red.row[a]] = c->red_cls[a];
    holds(l, tgi_lcp_judge(l->s, p, l->f, l->w));
    for (int i = 0; i < p->n; i++) l->s->anchor[i] = tgRe(l->f[i]);
    if (walk(l, info)) return true;
    // forces that fit are an answer, with or without classes whose own solution fits too: these are looked for once
    if (l->least <= TGI_LCP_ACCEPT || !(l->least < 0.5 * before)) return false;
  }
  return false;
}

// the forces of least residual, as they are
static void take_kept(Large *l, tgiLcpInfo *info) {
  for (int i = 0; i < l->p->n; i++) l->s->anchor[i] = l->kept[i];
  l->s->anchored = TGI_AS_ANCHOR;
  info->factored++;
  tgi_lcp_class_solve(l->s, l->p, l->best, l->f, l->w);
}

// *ended: the search has not been stuck
static bool try_interior(Large *l, int attempt, bool *ended, tgiLcpInfo *info) {
  const double *found = l->s->scratch->line[0];
  *ended = tgi_lcp_interior(l->s, l->p, attempt, GAP, l->s->cls, &info->pivots);
  if (tgi_lcp_cancelled(l->s->scratch)) return false;
  for (int i = 0; i < l->p->n; i++) l->s->anchor[i] = l->f[i] = found[i];
  holds(l, tgi_lcp_judge(l->s, l->p, l->f, l->w));   // where it is stuck too: these forces are within their bounds
  return *ended && settle(l, info);
}

static void open_at_rest(Large *l) {
  for (int i = 0; i < l->p->n; i++) {
    int kind = l->p->kind[i];
    bool dead = tgi_lcp_acts_on_nothing(l->s->scratch, l->p, i);
    l->f[i] = 0;
    l->s->cls[i] = kind == TGI_LCP_EQUALITY ? TGI_LCP_C : kind == TGI_LCP_NORMAL ? TGI_LCP_N : dead ? TGI_LCP_D :
                   tgRe(l->p->b[i]) > 0 ? TGI_LCP_L : TGI_LCP_H;
  }
  holds(l, tgi_lcp_judge(l->s, l->p, l->f, l->w));
}

bool tgi_lcp_large(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w, tgiLcpInfo *info) {
  Large l = {s, p, f, w, INFINITY, s->scratch->line[TGI_LCP_LINES - 1], s->scratch->best};
  bool stuck = false;
  tgi_lcp_own(s);
  open_at_rest(&l);
  for (int attempt = 0; attempt < TGI_INTERIOR_STARTS && info->pivots < MOST && !tgi_lcp_cancelled(s->scratch); attempt++) {
    bool ended;
    if (try_interior(&l, attempt, &ended, info)) return true;
    // where the search was stuck a path is long: another start costs less, and mostly ends
    if (ended && l.least <= TGI_LCP_NEARLY && follow_path(&l, info)) return true;
    if (l.least <= TGI_LCP_ACCEPT) break;
    stuck = stuck || !ended;
  }
  if (stuck && l.least > TGI_LCP_ACCEPT && l.least <= TGI_LCP_NEARLY && follow_path(&l, info)) return true;
  take_kept(&l, info);
  return l.least <= TGI_LCP_ACCEPT;
}
