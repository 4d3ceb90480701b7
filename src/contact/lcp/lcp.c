// lcp.c: the rows of an impulse step handed to the complementarity solver, and its derivative handed back.
//
// Based on: [lcp]; [math/lcp The step], [math/lcp Derivative]. The solver (solve.h) is a function on arrays; here it is given the
// sim's rows and a workspace inside the sim.
#include "contact/lcp/lcp.h"

#include <stdio.h>

#include "coll/contacts.h"
#include "contact/lcp/solve.h"
#include "contact/rows.h"

// a tie in gap or speed, relative to 1 m, 1 rad or 1 m/s
static const double tie_gap = 1e-9, tie_speed = 1e-9;

typedef struct Work {
  tgiLcp lcp;
  tgiLcpProblem problem;
  tgiLcpInfo info;
  tgReal *K;         // three vectors of cap.nrow
  int *kind;         // cap.nrow
  int8_t *cls;       // cap.nrow
  void *memory;
  size_t bytes;
} Work;

static size_t round64(size_t n) { return (n + 63) / 64 * 64; }

// rows of each sort at most, for a capacity
static void most_rows(const tgModel *m, const tgCapacity *z, int n[3]) {
  n[0] = n[1] = n[2] = 0;
  for (int e = 0; e < m->neq; e++) n[0] += m->eq_type[e] == TG_EQ_WELD ? 6 : m->eq_type[e] == TG_EQ_CONNECT ? 3 : 1;
  for (int j = 0; j < m->njnt; j++)
    n[1] += !m->jnt_limited[j] ? 0 : tgRe(m->jnt_range[2 * j]) >= tgRe(m->jnt_range[2 * j + 1]) ? 2 : 1;
  for (int t = 0; t < m->ntendon; t++)
    n[1] += !m->ten_limited[t] ? 0 : tgRe(m->ten_range[2 * t]) >= tgRe(m->ten_range[2 * t + 1]) ? 2 : 1;
  for (int d = 0; d < m->nv; d++) n[2] += tgRe(m->dof_frictionloss[d]) > 0;
  for (int t = 0; t < m->ntendon; t++) n[2] += tgRe(m->ten_frictionloss[t]) > 0;
  n[1] += z->ncon;
  n[2] += 2 * z->ncon;
  for (int k = 0; k < 3; k++)
    if (n[k] > z->nrow) n[k] = z->nrow;
}

static size_t header_bytes(const tgCapacity *z) {
  size_t n = (size_t)z->nrow;
  return round64(sizeof(Work)) + round64(3 * n * sizeof(tgReal)) + round64(n * sizeof(int)) + round64(n);
}

static size_t solver_bytes(const tgModel *m, const tgCapacity *z) {
  int n[3];
  most_rows(m, z, n);
  size_t solver = tgi_lcp_bytes(n[0], n[1], n[2]), head = header_bytes(z);
  return solver > SIZE_MAX - head ? SIZE_MAX : head + solver;
}

// the workspace laid out in s->solver
static Work *place(tgSim *s) {
  char *p = (char *)s->solver;
  size_t n = (size_t)s->cap.nrow;
  Work *w = (Work *)(void *)p;
  p += round64(sizeof(Work));
  w->K = (tgReal *)(void *)p;
  p += round64(3 * n * sizeof(tgReal));
  w->kind = (int *)(void *)p;
  p += round64(n * sizeof(int));
  w->cls = (int8_t *)p;
  w->memory = p + round64(n);
  w->bytes = s->solver_bytes - header_bytes(&s->cap);
  return w;
}

static const Work *work_of(const tgSim *s) { return (const Work *)s->solver; }

static tgStatus prepare(const tgContact *c, tgError *error) {
  (void)c;
  (void)error;
  return TG_OK;   // every geom of a model is a plane, a sphere, a capsule or has a convex hull
}

static tgiLcpKind kind_of(int row_kind) {
  switch ((tgRowKind)row_kind) {
    case TG_ROW_EQUALITY: return TGI_LCP_EQUALITY;
    case TG_ROW_TANGENT: return TGI_LCP_FRICTION;
    case TG_ROW_FRICTION: return TGI_LCP_BOX;
    default: return TGI_LCP_NORMAL;
  }
}

// the deepest overlap, which is the usual reason for conditions that contradict each other
static const char *deepest(const tgSim *s, char *text, size_t size) {
  const tgContactRow *worst = NULL;
  for (int i = 0; i < s->ncon; i++)
    if (worst == NULL || tgRe(s->contact[i].gap) < tgRe(worst->gap)) worst = &s->contact[i];
  if (worst == NULL || tgRe(worst->gap) >= -1e-6) {
    snprintf(text, size, " Look for constraints that contradict each other.");
    return text;
  }
  char a[128], b[128];
  snprintf(text, size, " The deepest overlap is %.2g m, of %s and %s: move them apart, or exclude contact between their bodies.", -tgRe(worst->gap),
           tgi_model_label(&s->m, TG_THING_GEOM, worst->geom1, a, sizeof a), tgi_model_label(&s->m, TG_THING_GEOM, worst->geom2, b, sizeof b));
  return text;
}

// names the first rows that do not fit
static tgStatus report_failure(tgSim *s, const tgiLcpInfo *info) {
  char label[200] = "no row", overlap[400];
  if (info->nfailed > 0) {
    int body[2];
    tgi_row_label(s, info->failed[0], label, sizeof label);
    tgi_row_bodies(s, info->failed[0], body);
    s->info.body1 = body[0];
    s->info.body2 = body[1];
  }
  return tgi_error(&s->error, TG_NOT_CONVERGED,
                   "The contact solve left %d of %d rows with a residual above 1e-8 (worst %.2g), first the %s; the state is unchanged.%s",
                   info->nfailed, s->nrow, info->residual, label, deepest(s, overlap, sizeof overlap));
}

static tgStatus impulses(tgSim *s) {
  Work *w = place(s);
  int count[3] = {0, 0, 0}, n = s->nrow;
  for (int i = 0; i < n; i++) {
    w->kind[i] = (int)kind_of(s->row_kind[i]);
    w->cls[i] = (int8_t)s->row_class[i];
    count[w->kind[i] == TGI_LCP_EQUALITY ? 0 : w->kind[i] == TGI_LCP_NORMAL ? 1 : 2]++;
  }
  if (tgi_lcp_init(&w->lcp, w->memory, w->bytes, count[0], count[1], count[2]) < 0) {
    if (s->wanted.nrow < s->cap.nrow + n) s->wanted.nrow = s->cap.nrow + n;
    return tgi_error(&s->error, TG_ERR_CAPACITY, "%d constraint rows do not fit the solver; reserve more and repeat.", n);
  }
  w->problem = (tgiLcpProblem){.n = n, .A = s->row_A, .b = s->row_b, .kind = w->kind, .parent = s->row_parent,
                               .bound = s->row_limit};
  if (s->pinned) {
    tgi_lcp_solve_classes(&w->lcp, &w->problem, w->cls, s->row_f, s->row_w);
    return TG_OK;
  }
  tgStatus status = tgi_lcp_solve(&w->lcp, &w->problem, w->cls, s->row_f, s->row_w, w->cls, &w->info);
  if (status < 0) {
    char label[200];
    return tgi_error(&s->error, status, "The contact solve refused its input at the %s (%s).",
                     w->info.nfailed > 0 ? tgi_row_label(s, w->info.failed[0], label, sizeof label) : "rows",
                     tg_status_text(status));
  }
  for (int i = 0; i < n; i++) s->row_class[i] = w->cls[i];
  s->info.iterations = w->info.pivots + w->info.sweeps;
  s->info.stage = w->info.stage;
  s->info.residual = w->info.residual;
  s->info.rank_deficient = w->info.rank < w->info.nk;
  return status == TG_OK ? TG_OK : report_failure(s, &w->info);
}

// ---- derivative of the solve; vectors over rows are gathered to K and scattered back ----

static void gather(const tgiLcp *l, const tgReal *x, tgReal *k) {
  for (int i = 0; i < l->nk; i++) k[i] = x[l->k[i]];
}
static void scatter(const tgiLcp *l, const tgReal *k, tgReal *x) {
  for (int i = 0; i < l->n; i++) x[i] = 0;
  for (int i = 0; i < l->nk; i++) x[l->k[i]] = k[i];
}

static void solve_jvp(const tgSim *s, const tgReal *r, tgReal *df) {
  const Work *w = work_of(s);
  gather(&w->lcp, r, w->K);
  tgi_lcp_derivative(&w->lcp, w->K, NULL, w->K);
  tgi_lcp_expand(&w->lcp, w->K, df);
}

static void solve_vjp(const tgSim *s, const tgReal *g, tgReal *rbar) {
  const Work *w = work_of(s);
  tgi_lcp_gather(&w->lcp, g, w->K);
  tgi_lcp_derivative_t(&w->lcp, w->K, w->K, NULL);
  scatter(&w->lcp, w->K, rbar);
}

static bool null_part(const tgSim *s, tgReal *beta) {
  const Work *w = work_of(s);
  if (w->lcp.rank == w->lcp.nk || tgi_lcp_null_action(&w->lcp) < 1e-10) return false;
  scatter(&w->lcp, w->lcp.z, beta);
  return true;
}

static void null_jvp(const tgSim *s, const tgReal *x, tgReal *df) {
  const Work *w = work_of(s);
  tgReal *other = w->K + s->cap.nrow, *rows = w->K + 2 * s->cap.nrow;
  tgi_lcp_gather(&w->lcp, x, w->K);
  tgi_lcp_project(&w->lcp, w->K, other);
  tgi_lcp_expand(&w->lcp, other, rows);
  for (int i = 0; i < w->lcp.n; i++) df[i] += rows[i];
}

static void null_vjp(const tgSim *s, const tgReal *g, tgReal *alpha) {
  const Work *w = work_of(s);
  tgReal *other = w->K + s->cap.nrow;
  tgi_lcp_gather(&w->lcp, g, w->K);
  tgi_lcp_project(&w->lcp, w->K, other);
  tgi_lcp_expand(&w->lcp, other, alpha);
}

// ---- ties ----

static void add_tie(const tgSim *s, tgGradInfo *info, const char *what, const char *label) {
  (void)s;
  if (info->ties++ > 0) return;
  info->label = TG_GRAD_ONE_SIDED;
  snprintf(info->reason, sizeof info->reason, "%s: %.150s", what, label);
}

static void contact_ties(const tgSim *s, tgGradInfo *info) {
  const tgModel *m = &s->m;
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    char a[80], b[80], label[190];
    bool at_gap = fabs(tgRe(c->gap) - TG_TOUCH) <= tie_gap;
    // a switch of features matters where there is a force
    bool pressed = c->row >= 0 && tgRe(s->row_f[c->row]) != 0;
    if (!at_gap && !(c->tie && pressed)) continue;
    snprintf(label, sizeof label, "%s and %s", tgi_model_label(m, TG_THING_GEOM, c->geom1, a, sizeof a),
             tgi_model_label(m, TG_THING_GEOM, c->geom2, b, sizeof b));
    add_tie(s, info, at_gap ? "about to touch or part" : "switch of contact features", label);
  }
}

static void limit_ties(const tgSim *s, tgGradInfo *info) {
  const tgModel *m = &s->m;
  char label[96];
  for (int j = 0; j < m->njnt; j++) {
    if (!m->jnt_limited[j]) continue;
    tgReal q = s->q0[m->jnt_qadr[j]], axis[3], w[3];
    bool ball = m->jnt_type[j] == TG_JOINT_BALL;
    if (m->jnt_type[j] == TG_JOINT_FREE) continue;
    if (ball) q = tgi_ball_axis(s, j, axis, w);
    for (int side = ball ? 1 : 0; side < 2; side++)
      if (fabs(tgRe(side == 0 ? q - m->jnt_range[2 * j] : m->jnt_range[2 * j + 1] - q) - TG_TOUCH) <= tie_gap)
        add_tie(s, info, "at the limit", tgi_model_label(m, TG_THING_JOINT, j, label, sizeof label));
  }
  for (int t = 0; t < m->ntendon; t++)
    for (int side = 0; side < 2 && m->ten_limited[t]; side++)
      if (fabs(tgRe(side == 0 ? s->ten_length[t] - m->ten_range[2 * t] : m->ten_range[2 * t + 1] - s->ten_length[t]) - TG_TOUCH) <= tie_gap)
        add_tie(s, info, "at the limit", tgi_model_label(m, TG_THING_TENDON, t, label, sizeof label));
}

// a restitution that is about to switch on or off
static void bounce_ties(const tgSim *s, double h, tgGradInfo *info) {
  double g2 = 0;
  for (int i = 0; i < 3; i++) g2 += tgRe(s->m.opt_gravity[i]) * tgRe(s->m.opt_gravity[i]);
  double threshold = fmax(sqrt(g2) * h, s->contact_model->options.restitution_speed);
  for (int i = 0; i < s->nrow; i++) {
    if (s->row_kind[i] != TG_ROW_NORMAL || !(tgRe(s->contact[s->row_owner[i]].restitution) > 0)) continue;
    double speed = 0;
    for (int d = 0; d < s->m.nv; d++) speed += tgRe(s->row_J[(size_t)i * (size_t)s->m.nv + (size_t)d]) * tgRe(s->vhat[d]);
    char label[200];
    if (fabs(speed + threshold) <= tie_speed)
      add_tie(s, info, "at the speed where restitution begins", tgi_row_label(s, i, label, sizeof label));
  }
}

// How fast row i has to be pushed, at most, for its class to change [m/s or rad/s]; INFINITY where nothing can change it. A force f of the
// row gives its point the speed A_ii f, so forces are judged by A_ii^-1 times the speed.
static double speed_to_switch(const tgSim *s, int i) {
  double Aii = tgRe(s->row_A[(size_t)i * (size_t)s->nrow + (size_t)i]), f = tgRe(s->row_f[i]), w = fabs(tgRe(s->row_w[i]));
  int cls = s->row_class[i], kind = s->row_kind[i];
  if (Aii == 0 || kind == TG_ROW_EQUALITY || cls == TGI_LCP_D) return INFINITY;
  if (kind == TG_ROW_NORMAL || kind == TG_ROW_LIMIT) return cls == TGI_LCP_C ? Aii * fabs(f) : w;
  bool tangent = kind == TG_ROW_TANGENT;
  if (tangent && s->row_class[s->row_parent[i]] != TGI_LCP_C) return INFINITY;
  double bound = tgRe(s->row_limit[i]) * (tangent ? tgRe(s->row_f[s->row_parent[i]]) : 1);
  if (tgRe(s->row_limit[i]) == 0) return INFINITY;   // without friction there is nothing to switch
  return cls == TGI_LCP_F ? Aii * fabs(bound - fabs(f)) : w;
}

// Ties that the solver finds are relative to the forces and speeds of the problem. Where those are all next to nothing (free fall with joints
// that rest on their limits) a move of 1e-9 m or a push of 1e-9 m/s switches a row all the same: the least speed is absolute. A move
// acts by the share of the gap that a step removes, on the row itself and through it on the others.
static void row_ties(const tgSim *s, tgGradInfo *info) {
  const Work *w = work_of(s);
  double least = tie_speed + tie_gap * s->contact_model->options.erp / s->h;
  char label[200];
  for (int i = 0, k = 0; i < s->nrow; i++) {
    bool found = k < w->info.nties && w->info.ties[k] == i;
    k += found;
    if (found || speed_to_switch(s, i) <= least)
      add_tie(s, info, "contact force at a switch", tgi_row_label(s, i, label, sizeof label));
  }
}

static void ties(const tgSim *s, double h, tgGradInfo *info) {
  if (s->nrow > 0) row_ties(s, info);
  contact_ties(s, info);
  limit_ties(s, info);
  bounce_ties(s, h, info);
}

static const tgContactParam params[] = {
    {"erp", offsetof(tgContactOptions, erp), 0.2, 0, 1, "", "share of a penetration, limit or equality error removed per step: b += erp gap/h"},
    {"restitution_speed", offsetof(tgContactOptions, restitution_speed), 1e-3, 0, INFINITY, "m/s", "approach speed below which nothing bounces: max(|g| h, this)"},
};

const tgContactModel tgi_lcp_model = {
    .word = "lcp",
    .param = params,
    .nparam = (int)(sizeof params / sizeof *params),
    .solver_bytes = solver_bytes,
    .prepare = prepare,
    .rows = tgi_rows,
    .impulses = impulses,
    .remember = tgi_rows_remember,
    .rows_vjp = tgi_rows_vjp,
    .gap_vjp = tgi_rows_gap_vjp,
    .rows_jacobian = tgi_rows_jacobian,
    .gap_jacobian = tgi_rows_gap_jacobian,
    .wrench = tgi_rows_wrench,
    .force_jacobian = tgi_rows_force_jacobian,
    .solve_jvp = solve_jvp,
    .solve_vjp = solve_vjp,
    .null_part = null_part,
    .null_jvp = null_jvp,
    .null_vjp = null_vjp,
    .ties = ties,
};
