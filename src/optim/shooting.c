// shooting.c: direct multiple shooting [multishoot]. The horizon is cut into shots, each rolled out from a state of its own; the solver
// decides those states together with the controls and the initial values, and joins the shots by constraints.
//
// Variables z: the task's decision variables x, divided by `scale` so that they are of the order of the states, then
// for each shot but the first (w, v): its state q = ref (+) w with velocity v, activations behind it, ref being where
// the rollout of the start was. Constraints, in tangent coordinates:
//   c_i = (q_end of shot i (-) q of shot i+1, v_end - v),   dc = Jr(c)^-1 dq_end - Jr(-c)^-1 Jr(w) dw   for rotations, dq_end - dw else.
#include <math.h>
#include <string.h>

#include "kin/kinematics.h"
#include "math/quat.h"
#include "optim/controls.h"
#include "optim/sensitivity.h"
#include "optim/shooting.h"
#include "rollout/rollout.h"

struct tgShooting {
  tgOptRun *r;
  const tgTask *task;
  int nq, nv, nw, nu, nx, n;     // nw: velocities and activations; nx = nv + nw
  int length, shots;             // steps of a shot, of the last what is left; how many
  tgNlp nlp;
  tgTask part[2];                // a stretch as long as a shot, and as long as the last
  tgEvaluator *evaluator[2];
  double *low, *high, *z, *zero; // nlp
  double *ref;                   // shots x nq
  double *x, *scale;             // n: decision variables, in their own units; what 1 of z is
  double *seen, f, *c;           // the point whose value is known
  double *seen_d, *d;            // the point whose derivative is known: gradient, then Jacobian
  bool known, known_d;
  double *q0, *v0, *u, *q, *v;   // expanded variables; a shot's trajectory
  double *ends;                  // shots x (nq + nw): where they end
  tgExpansion e;
  tgSensitivity s;
  double *g, *work;              // local gradient; of tgi_sensitivity_initial
  tgStatus status;               // not TG_OK: what stops the run
  void *block;
};

static int steps_of(const tgShooting *s, int i) { return i == s->shots - 1 ? s->task->steps - i * s->length : s->length; }
static int state_columns(const tgShooting *s, int i) { return i == 0 ? s->task->ninitial : s->nx; }
static int last_part(const tgShooting *s, int i) { return steps_of(s, i) != s->length; }

// local columns of shot i: its state's, then those of the controls that act in it
static int columns(const tgShooting *s, int i, int *first, int *ncontrol) {
  *first = tgi_controls_range(s->task, i * s->length, i * s->length + steps_of(s, i), ncontrol);
  return state_columns(s, i) + *ncontrol;
}

// entries of the Jacobian of the constraint at the end of shot i: dense in its columns; one or three in each row of the next state
static int entries(const tgShooting *s, int i) {
  int first, nc, count = s->nx * columns(s, i, &first, &nc) + s->nw;
  for (int d = 0; d < s->nv; d++) count += s->task->model->dof_grpnum[d] == 3 ? 3 : 1;
  return count;
}

static void place(tgShooting *s, tgLayout *l) {
  size_t nq = (size_t)s->nq, nv = (size_t)s->nv, nw = (size_t)s->nw, nu = (size_t)s->nu, nx = (size_t)s->nx, nz = nx + nu,
         M = (size_t)s->shots, N = (size_t)s->length;
  size_t n = (size_t)s->nlp.n, m = (size_t)s->nlp.m, ni = (size_t)s->task->ninitial, cols = 0;
  for (int i = 0; i < s->shots; i++) {
    int first, nc;
    size_t k = (size_t)columns(s, i, &first, &nc);
    cols = k > cols ? k : cols;
  }
  double **arrays[] = {&s->low, &s->high, &s->z, &s->zero, &s->ref, &s->x, &s->scale, &s->seen, &s->c, &s->seen_d,
                       &s->d, &s->q0, &s->v0, &s->u, &s->q, &s->v, &s->ends, &s->e.D, &s->e.g, &s->g, &s->work};
  size_t nd = (size_t)s->n, sizes[] = {n, n, n, m + 1, M * nq, nd, nd, n, m + 1, n, n + (size_t)s->nlp.njacobian, nq,
                                       nw, tgi_size_mul((size_t)s->task->steps, nu), (N + 1) * nq, (N + 1) * nw,
                                       M * (nq + nw), tgi_size_mul(N, nx * nz), (N + 1) * nz, cols, nv + 2 * nv * ni};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) *arrays[i] = tgi_place(l, sizes[i], sizeof(double));
  tgi_sensitivity_place(&s->s, (int)cols, l);
}

static tgStatus make_evaluators(tgShooting *s) {
  for (int k = 0; k < 2; k++) {
    int i = k == 0 ? 0 : s->shots - 1;
    if (k == 1 && !last_part(s, i)) break;
    s->part[k] = *s->task;
    s->part[k].steps = steps_of(s, i);
    s->evaluator[k] = tgi_evaluator_create(&s->part[k], true, s->r->o->tape_bytes, &s->r->out->error);
    if (s->evaluator[k] == NULL) return s->r->out->error.status;
  }
  return TG_OK;
}

static tgStatus make(tgShooting *s, tgOptRun *r) {
  const tgTask *t = r->task;
  const tgModel *m = t->model;
  int every = tgi_controls_every(t), wanted = t->optimizer.shot;
  *s = (tgShooting){.r = r, .task = t, .nq = m->nq, .nv = m->nv, .nw = tgi_nw(m), .nu = m->nu, .nx = m->nv + tgi_nw(m), .n = t->n,
                    .known = false};
  // as the file says; else some twenty shots of whole blocks
  s->length = wanted > 0 ? wanted : every * ((t->steps + 20 * every - 1) / (20 * every));
  if (s->length > t->steps) s->length = t->steps;
  s->shots = (t->steps + s->length - 1) / s->length;
  double size = (double)s->n + (double)(s->shots - 1) * s->nx, njacobian = 0;
  for (int i = 0; i + 1 < s->shots; i++) njacobian += entries(s, i);
  if (size > 1e8 || njacobian > 1e9)
    return tgi_error(&r->out->error, TG_ERR_LIMIT, "%d shots with %g derivatives are too many; make shot longer", s->shots, njacobian);
  s->nlp = (tgNlp){.n = (int)size, .m = (s->shots - 1) * s->nx, .njacobian = (int)njacobian};
  s->s = (tgSensitivity){.nx = s->nx, .nu = s->nu};
  tgLayout l = {.base = NULL};
  place(s, &l);
  s->block = r->alloc.alloc(r->alloc.ctx, l.used);
  if (s->block == NULL) return tgi_error(&r->out->error, TG_ERR_MEMORY, "out of memory for %d shots of %d steps", s->shots, s->length);
  memset(s->block, 0, l.used);
  l = (tgLayout){.base = s->block};
  place(s, &l);
  return make_evaluators(s);
}

// ---- shots ----

// s->x, and from it the start and all controls
static void expand(tgShooting *s, const double *z) {
  for (int i = 0; i < s->n; i++) s->x[i] = fmin(fmax(s->scale[i] * z[i], s->r->low[i]), s->r->high[i]);
  tg_task_expand(s->task, s->x, s->q0, s->v0, s->u);
}

static double *state_of(tgShooting *s, double *z, int i) { return z + s->n + (size_t)(i - 1) * (size_t)s->nx; }

// the state that shot i starts from
static void shot_start(tgShooting *s, const double *z, int i, double *q, double *v) {
  if (i == 0) {
    memcpy(q, s->q0, (size_t)s->nq * sizeof *q);
    memcpy(v, s->v0, (size_t)s->nw * sizeof *v);
    return;
  }
  const double *w = z + s->n + (size_t)(i - 1) * (size_t)s->nx;
  tg_model_integrate(s->task->model, s->ref + (size_t)i * (size_t)s->nq, w, q);
  memcpy(v, w + s->nv, (size_t)s->nw * sizeof *v);
}

// rolls shot i out, with an expansion where it is wanted; loss added to *f. False: failed, s->status says whether that ends the run.
static bool shoot(tgShooting *s, const double *z, int i, bool expansion, double *f) {
  int k = last_part(s, i), N = steps_of(s, i);
  tgRolloutResult result;
  double loss, *end = s->ends + (size_t)i * (size_t)(s->nq + s->nw);
  double *q = s->q, *v = s->v;
  s->part[k].offset = s->task->offset + i * s->length;
  shot_start(s, z, i, q, v);
  tgRollAsk ask = {.q0 = q, .v0 = v, .u = s->u + (size_t)i * (size_t)s->length * (size_t)s->nu, .q = q, .v = v,
                   .expansion = expansion ? &s->e : NULL, .cancel = s->r->o->cancel};
  tgStatus st = tgi_evaluator_roll(s->evaluator[k], &ask, &loss, &result);
  if (st != TG_OK) {
    if (!tgi_opt_numerical(st)) s->status = st;
    if (st != TG_CANCELLED) s->r->out->error = result.error;
    return false;
  }
  if (expansion) {
    if (result.grad.first_step >= 0) result.grad.first_step += i * s->length;   // a shot counts its steps from its own start
    tgi_grad_worst(&s->r->out->grad, &result.grad);
  }
  *f += loss;
  memcpy(end, q + (size_t)N * (size_t)s->nq, (size_t)s->nq * sizeof *end);
  memcpy(end + s->nq, v + (size_t)N * (size_t)s->nw, (size_t)s->nw * sizeof *end);
  return true;
}

// c (nx) at the end of shot i
static void defect(tgShooting *s, const double *z, int i, double *c) {
  const double *end = s->ends + (size_t)i * (size_t)(s->nq + s->nw);
  double *q = s->q, *v = s->v;
  shot_start(s, z, i + 1, q, v);
  tg_model_difference(s->task->model, q, end, c);
  for (int d = 0; d < s->nw; d++) c[s->nv + d] = end[s->nq + d] - v[d];
}

static bool compute_value(tgShooting *s, const double *z) {
  s->f = 0;
  expand(s, z);
  for (int i = 0; i < s->shots; i++)
    if (!shoot(s, z, i, false, &s->f)) return false;
  for (int i = 0; i + 1 < s->shots; i++) defect(s, z, i, s->c + (size_t)i * (size_t)s->nx);
  return true;
}

// T (3 x 3) times three rows of S (n columns each), in place
static void turn_rows(const double *T, double *S, int n) {
  for (int j = 0; j < n; j++) {
    double x[3] = {S[j], S[n + j], S[2 * n + j]}, y[3];
    tgi_m3_mulv(y, T, x);
    for (int k = 0; k < 3; k++) S[k * n + j] = y[k];
  }
}

// d(first state of shot i)/d(its columns): decided initial values, or 1 with Jr(w) for rotations
static void first_state(tgShooting *s, const double *z, int i, int n) {
  const tgModel *m = s->task->model;
  memset(s->s.S, 0, (size_t)s->nx * (size_t)n * sizeof *s->s.S);
  if (i == 0) {
    tgi_sensitivity_initial(s->task, s->x, s->s.S, n, s->work);
    return;
  }
  const double *w = z + s->n + (size_t)(i - 1) * (size_t)s->nx;
  for (int r = 0; r < s->nx; r++) s->s.S[(size_t)r * (size_t)n + (size_t)r] = 1;
  for (int d = 0; d < s->nv; d += m->dof_grpnum[d] == 3 ? 3 : 1) {
    double J[9];
    if (m->dof_grpnum[d] != 3) continue;
    tgi_so3_jr(J, w + d);
    turn_rows(J, s->s.S + (size_t)d * (size_t)n, n);
  }
}

// Jr(c)^-1 on the rotation rows of S: how the defect turns with the shot's end
static void end_to_defect(const tgShooting *s, const double *c, double *S, int n) {
  const tgModel *m = s->task->model;
  for (int d = 0; d < s->nv; d += m->dof_grpnum[d] == 3 ? 3 : 1) {
    double J[9];
    if (m->dof_grpnum[d] != 3) continue;
    tgi_so3_jr_inv(J, c + d);
    turn_rows(J, S + (size_t)d * (size_t)n, n);
  }
}

// entries of the next state in the rows of a defect: -1, for rotations -Jr(-c)^-1 Jr(w)
static double *next_state(const tgShooting *s, const double *c, const double *w, double *at) {
  const tgModel *m = s->task->model;
  double A[9], B[9], minus[3];
  for (int d = 0; d < s->nv; d++) {
    if (m->dof_grpnum[d] != 3) {
      *at++ = -1;
      continue;
    }
    int g = m->dof_grpadr[d];
    if (d == g) {
      tgi_v3_scale(minus, c + g, -1);
      tgi_so3_jr_inv(A, minus);
      tgi_so3_jr(B, w + g);
    }
    for (int k = 0; k < 3; k++) {
      double sum = 0;
      for (int j = 0; j < 3; j++) sum += A[3 * (d - g) + j] * B[3 * j + k];
      *at++ = -sum;
    }
  }
  for (int d = 0; d < s->nw; d++) *at++ = -1;
  return at;
}

// columns from .. from + count - 1 of S and of the local gradient in units of z
static void scale_columns(tgShooting *s, int from, int count, const double *scale, int n) {
  for (int j = 0; j < count; j++) {
    s->g[from + j] *= scale[j];
    for (int r = 0; r < s->nx; r++) s->s.S[(size_t)r * (size_t)n + (size_t)(from + j)] *= scale[j];
  }
}

static bool compute_derivative(tgShooting *s, const double *z) {
  double f = 0, *at = s->d + s->nlp.n, *c = s->c;
  memset(s->d, 0, (size_t)s->nlp.n * sizeof *s->d);
  expand(s, z);
  for (int i = 0; i < s->shots; i++, c += s->nx) {
    int first, nc, n = columns(s, i, &first, &nc), ns = state_columns(s, i);
    if (!shoot(s, z, i, true, &f)) return false;
    s->s.nstate = ns;
    s->s.first = first;
    s->s.ncontrol = nc;
    first_state(s, z, i, n);
    memset(s->g, 0, (size_t)n * sizeof *s->g);
    tgi_sensitivity_run(&s->s, s->task, s->x, i * s->length, steps_of(s, i), &s->e, s->g, NULL);
    if (i == 0) scale_columns(s, 0, ns, s->scale + s->task->ncontrol, n);
    scale_columns(s, ns, nc, s->scale + first, n);
    double *state = i == 0 ? s->d + s->task->ncontrol : state_of(s, s->d, i);
    for (int j = 0; j < ns; j++) state[j] += s->g[j];
    for (int j = 0; j < nc; j++) s->d[first + j] += s->g[ns + j];
    if (i == s->shots - 1) break;
    defect(s, z, i, c);
    end_to_defect(s, c, s->s.S, n);
    memcpy(at, s->s.S, (size_t)s->nx * (size_t)n * sizeof *at);
    at = next_state(s, c, z + s->n + (size_t)i * (size_t)s->nx, at + (size_t)s->nx * (size_t)n);
  }
  return true;
}

// ---- what the solver asks ----

// the journal's answer, or the computed one, which is recorded. False: not to be had.
static bool answer(tgShooting *s, const double *z, bool (*compute)(tgShooting *, const double *), double *data, int count) {
  tgOptRun *r = s->r;
  tgEvaluation e = {0};
  if (s->status != TG_OK) return false;
  r->from_journal = tgi_journal_next(r->journal, z, s->nlp.n, &e, data, count, r->out);
  if (!r->from_journal) {
    bool had = compute(s, z);
    if (s->status != TG_OK) return false;
    e = (tgEvaluation){.status = had ? TG_OK : TG_NOT_CONVERGED, .label = (int32_t)r->out->grad.label,
                       .loss = had ? s->f : INFINITY, .distance = INFINITY};
    tgStatus st = tgi_journal_add(r->journal, z, s->nlp.n, &e, data, had ? count : 0, r->out);
    if (st != TG_OK) s->status = st;
  }
  s->f = e.loss;
  r->out->evaluations++;
  r->out->simulations++;
  return s->status == TG_OK && e.status == TG_OK;
}

static bool value(void *ctx, const double *z, double *f, double *c) {
  tgShooting *s = ctx;
  size_t bytes = (size_t)s->nlp.n * sizeof *z;
  if (!s->known || memcmp(s->seen, z, bytes) != 0) {
    memcpy(s->seen, z, bytes);
    s->known = answer(s, z, compute_value, s->c, s->nlp.m);
    s->known_d = s->known_d && s->known;   // c is shared
    if (!s->known) return false;
  }
  if (f != NULL) *f = s->f;
  if (c != NULL) memcpy(c, s->c, (size_t)s->nlp.m * sizeof *c);
  return true;
}

static bool derivative(void *ctx, const double *z, double *g, double *jacobian) {
  tgShooting *s = ctx;
  size_t bytes = (size_t)s->nlp.n * sizeof *z;
  if (!value(s, z, NULL, NULL)) return false;
  if (!s->known_d || memcmp(s->seen_d, z, bytes) != 0) {
    memcpy(s->seen_d, z, bytes);
    s->known_d = answer(s, z, compute_derivative, s->d, s->nlp.n + s->nlp.njacobian);
    if (!s->known_d) return false;
  }
  if (g != NULL) memcpy(g, s->d, bytes);
  if (jacobian != NULL) memcpy(jacobian, s->d + s->nlp.n, (size_t)s->nlp.njacobian * sizeof *jacobian);
  return true;
}

static void structure(void *ctx, int *row, int *column) {
  tgShooting *s = ctx;
  const tgModel *m = s->task->model;
  for (int i = 0; i + 1 < s->shots; i++) {
    int first, nc, n = columns(s, i, &first, &nc), ns = state_columns(s, i), next = s->n + i * s->nx, top = i * s->nx;
    for (int r = 0; r < s->nx; r++)
      for (int j = 0; j < n; j++) {
        *row++ = top + r;
        *column++ = j >= ns ? first + j - ns : i == 0 ? s->task->ncontrol + j : next - s->nx + j;
      }
    for (int d = 0; d < s->nx; d++) {
      bool turns = d < s->nv && m->dof_grpnum[d] == 3;
      for (int k = 0; k < (turns ? 3 : 1); k++) {
        *row++ = top + d;
        *column++ = next + (turns ? m->dof_grpadr[d] + k : d);
      }
    }
  }
}

// the loss of an iterate is that of its controls rolled out in one go, which is what the user gets
static bool iteration(void *ctx, int k, double infeasibility) {
  tgShooting *s = ctx;
  tgOptRun *r = s->r;
  double f;
  (void)infeasibility;
  if (s->status != TG_OK) return false;
  if (!s->known_d) return true;
  expand(s, s->seen_d);
  tgStatus st = tgi_opt_eval(r, s->x, &f, NULL);
  if (st != TG_OK && !tgi_opt_numerical(st)) {
    s->status = st;
    return false;
  }
  if (k == 0 || r->out->iterations >= s->task->optimizer.iterations) return true;
  return !tgi_opt_iteration(r, f);
}

// ---- start and bounds ----

// the start: the rollout of the first guess, so that the shots are joined
static bool start_at(tgShooting *s, const double *x) {
  double f = 0;
  for (int i = 0; i < s->n; i++) s->z[i] = x[i] / s->scale[i];
  expand(s, s->z);
  for (int i = 0; i < s->shots; i++) {
    double *end = s->ends + (size_t)i * (size_t)(s->nq + s->nw);
    if (!shoot(s, s->z, i, false, &f)) return false;
    if (i + 1 == s->shots) break;
    double *w = state_of(s, s->z, i + 1);
    memcpy(s->ref + (size_t)(i + 1) * (size_t)s->nq, end, (size_t)s->nq * sizeof *end);
    memset(w, 0, (size_t)s->nv * sizeof *w);
    memcpy(w + s->nv, end + s->nq, (size_t)s->nw * sizeof *w);
  }
  return true;
}

// the box of the variables, and of the states where the file bounds them. Rotation vectors stay within pi of where they start.
static void bounds(tgShooting *s) {
  const tgTask *t = s->task;
  const tgModel *m = t->model;
  for (int i = 0; i < s->n; i++) {
    s->low[i] = s->r->low[i] / s->scale[i];
    s->high[i] = s->r->high[i] / s->scale[i];
  }
  for (int i = 1; i < s->shots; i++) {
    double *low = state_of(s, s->low, i), *high = state_of(s, s->high, i), *ref = s->ref + (size_t)i * (size_t)s->nq;
    for (int d = 0; d < s->nx; d++) {
      bool turns = d < s->nv && m->dof_grpnum[d] == 3;
      low[d] = turns ? -TG_PI : -INFINITY;
      high[d] = turns ? TG_PI : INFINITY;
    }
    for (int k = 0; k < t->nstate; k++) {
      const tgInitialVar *b = &t->state[k];
      double from = b->velocity ? 0 : ref[m->jnt_qadr[b->joint]];
      int d = b->velocity ? s->nv + b->dof : b->dof;
      low[d] = b->low - from;
      high[d] = b->high - from;
    }
  }
}

// half the box, where there is one
static void set_scale(tgShooting *s) {
  for (int i = 0; i < s->n; i++) {
    double half = 0.5 * (s->r->high[i] - s->r->low[i]);
    s->scale[i] = isfinite(half) && half > 0 ? half : 1;
  }
}

static void set_program(tgShooting *s) {
  const YamlOptimizer *o = &s->task->optimizer;
  bounds(s);
  s->nlp.low = s->low;
  s->nlp.high = s->high;
  s->nlp.zero = s->zero;
  s->nlp.x = s->z;
  s->nlp.iterations = o->iterations;
  s->nlp.memory = o->memory > 0 ? o->memory : 20;
  s->nlp.tolerance = o->tolerance > 0 ? o->tolerance : 1e-8;
  s->nlp.ctx = s;
  s->nlp.value = value;
  s->nlp.derivative = derivative;
  s->nlp.structure = structure;
  s->nlp.iteration = iteration;
}

void tgi_shooting_free(tgShooting *s) {
  if (s == NULL) return;
  tgAllocator a = s->r->alloc;
  tg_evaluator_free(s->evaluator[0]);
  tg_evaluator_free(s->evaluator[1]);
  a.free(a.ctx, s->block);
  a.free(a.ctx, s);
}

tgShooting *tgi_shooting_create(tgOptRun *r, const double *x, tgStatus *status) {
  tgShooting *s = r->alloc.alloc(r->alloc.ctx, sizeof *s);
  if (s == NULL) {
    *status = tgi_error(&r->out->error, TG_ERR_MEMORY, "out of memory for multiple shooting");
    return NULL;
  }
  *status = make(s, r);
  if (*status == TG_OK) {
    set_scale(s);
    if (!start_at(s, x)) *status = s->status != TG_OK ? s->status : r->out->error.status;
  }
  if (*status == TG_OK) {
    set_program(s);
    return s;
  }
  tgi_shooting_free(s);
  return NULL;
}

tgNlp *tgi_shooting_nlp(tgShooting *s) { return &s->nlp; }

static tgStatus run(tgShooting *s, double f) {
  tgOptRun *r = s->r;
  tgError ended = {0};
  r->out->error = ended;
  tgStatus st = tgi_nlp_solve(&s->nlp, &ended);
  if (s->status != TG_OK) return s->status;
  // how the solver ended is for the reader; the best iterate stands
  r->out->error = ended;
  if (st != TG_OK && st != TG_NOT_CONVERGED) return st;
  if (r->out->iterations == 0) tgi_opt_iteration(r, f);
  return TG_OK;
}

tgStatus tgi_opt_shooting(tgOptRun *r, double *x) {
  double f;
  tgStatus st;
  TG_TRY_OUTCOME(tgi_opt_eval(r, x, &f, NULL));
  tgShooting *s = tgi_shooting_create(r, x, &st);
  if (s != NULL) st = run(s, f);
  tgi_shooting_free(s);
  return st;
}
