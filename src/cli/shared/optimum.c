// optimum.c: an optimisation while it runs, as a line of progress, and what it leaves: first and best iterate, loss curve, targets.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shared/program.h"

void tgi_cli_progress(void *ctx, const tgProgress *p) {
  tgCliBar *bar = ctx;
  if (bar->show != NULL) bar->show(bar->show_ctx, p);
  double now = tgi_cli_now();
  bool end = p->iteration == p->iterations, due = now - bar->last > (bar->tty ? 0.05 : 1);
  bool decade = p->iteration == 1 || p->iteration % (p->iterations >= 50 ? p->iterations / 10 : 10) == 0;
  if (p->replayed || !(end || due || (decade && !bar->tty))) return;
  bar->last = now;
  char left[32], losses[64], what[200];
  int named = snprintf(what, 150, "%s", bar->what != NULL ? bar->what : "");
  if (named > 149) named = 149;
  if (p->starts > 0 && p->stage == 0)
    snprintf(what + named, sizeof what - (size_t)named, "%sstart %d of %d", named > 0 ? ", " : "", p->start + 1, p->starts);
  int done = p->iterations > 0 ? 24 * p->iteration / p->iterations : 0;
  // the loss of a window's plan is of the window alone, and compares with no other: it stands in loss.csv
  if (p->window) losses[0] = '\0';
  else snprintf(losses, sizeof losses, bar->tty ? "loss %-11.5g best %-11.5g" : "loss %.6g, best %.6g", p->loss, p->best);
  tgi_cli_duration(p->seconds_left, left, sizeof left);
  if (bar->tty)
    fprintf(stderr, "\r%s%s[%.*s%.*s] %d/%d  %s left %-12s", what, what[0] != '\0' ? " " : "",
            done, "########################", 24 - done, "........................", p->iteration, p->iterations, losses, left);
  else
    fprintf(stderr, "%s%s%s %d of %d%s%s%s%s%s\n", what, what[0] != '\0' ? ": " : "", p->window ? "window" : "iteration",
            p->iteration, p->iterations, losses[0] != '\0' ? ": " : "", losses, p->seconds_left < 0 ? "" : ", ",
            p->seconds_left < 0 ? "" : left, p->seconds_left < 0 ? "" : " left");
  if (bar->tty && end) fputc('\n', stderr);
}

bool tgi_cli_task_start(const tgTask *task, const double *x, tgSim *sim, double *u) {
  const tgModel *m = tg_task_model(task);
  size_t nq = (size_t)tg_model_nq(m), nw = (size_t)(tg_model_nv(m) + tg_model_na(m));
  double *q = malloc((nq + nw + 1) * sizeof *q);
  if (q == NULL) return false;
  tg_task_expand(task, x, q, q + nq, u);
  tg_sim_set_state(sim, q, q + nq);
  free(q);
  return true;
}

tgStatus tgi_cli_record_task(const tgTask *task, const double *x, const volatile int *cancel, tgCliTrajectory *t, tgError *error) {
  const tgModel *m = tg_task_model(task);
  int steps = tg_task_steps(task);
  tgSim *sim = tg_sim_create(m, tg_task_contact(task), NULL, error);
  double *u = malloc(((size_t)steps * (size_t)tg_model_nu(m) + 1) * sizeof *u);
  tgStatus st = sim != NULL && u != NULL ? TG_OK : TG_ERR_MEMORY;
  if (st == TG_OK && !tgi_cli_task_start(task, x, sim, u)) st = TG_ERR_MEMORY;
  error->status = st;
  if (st == TG_OK) {
    tg_task_set_parameters(task, x, sim);
    st = tgi_cli_record(sim, tg_model_nu(m) > 0 ? u : NULL, steps, tg_task_timestep(task), cancel, t, error);
  }
  free(u);
  tg_sim_free(sim);
  return st;
}

double tgi_cli_distance(const tgTask *task, const double *x, const volatile int *cancel) {
  tgEvaluator *e = tg_evaluator_create(task, 0, NULL);
  double loss, worst = NAN, d;
  if (e != NULL && tg_evaluate(e, x, &loss, NULL, NULL, NULL, cancel, NULL) == TG_OK)
    for (int i = 0; tg_evaluator_term(e, i, NULL, &d) != NULL; i++)
      if (isfinite(d) && !(d <= worst)) worst = d;
  tg_evaluator_free(e);
  return worst;
}

json_t *tgi_cli_verification_json(const tgVerification *v) {
  json_t *rows = json_array();
  for (int i = 0; i < v->n; i++) {
    const tgVerifyRow *r = &v->row[i];
    json_t *row = json_pack("{s:s, s:s, s:s, s:b, s:f}", "name", r->name, "what", r->text, "verdict", tg_verdict_text(r->verdict),
                            "required", r->required, "timestep", r->h);
    json_object_set_new(row, "loss", isfinite(r->loss) ? json_real(r->loss) : json_null());
    if (isfinite(r->distance)) json_object_set_new(row, "distance_m", json_real(r->distance));
    if (r->reason[0] != '\0') json_object_set_new(row, "reason", json_string(r->reason));
    json_array_append_new(rows, row);
  }
  return rows;
}

void tgi_cli_say_trust(FILE *to, const char *what, const tgTrust *t) {
  fprintf(to, "%s: ", what);
  if (t->range > 0) fprintf(to, "within a factor of 2 up to a change of %.2g%s", t->range, t->beyond ? " and beyond" : "");
  else if (t->runs > 0 || !isfinite(t->slope) || !isfinite(t->loss)) fputs("it foretells no change that was tried", to);
  else fprintf(to, "the gradient is 0%s", t->slope == 0 ? "" : " but for round-off");   // no change of the loss is clear of its digits
  fprintf(to, " (%d rollouts); the adjoint grows by %.3g a step", t->runs, t->growth);
  if (t->step >= 0) fprintf(to, ", most by %.3g in step %d%s%s", t->multiplied, t->step, t->by[0] != '\0' ? ", " : "", t->by);
  if (t->unstable > 0) fprintf(to, "; steps longer than they are stable: %d, which may grow without bound", t->unstable);
  if (t->ambiguous > 0)
    fprintf(to, "; steps whose contacts have another answer than the one taken: %d, where a small change may take the other", t->ambiguous);
  if (t->untimed > 0)
    fprintf(to, "; steps that do not know when in them bodies meet (contact_rule: touching): %d, whose gradient need not be the motion's",
            t->untimed);
  fputc('\n', to);
}

// JSON has no number that is not finite
static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

json_t *tgi_cli_trust_json(const tgTrust *t) {
  return json_pack("{s:f, s:b, s:i, s:o, s:o, s:o, s:i, s:o, s:s, s:i, s:i, s:i, s:s}", "range", t->range, "beyond", (int)t->beyond, "runs",
                   t->runs, "loss", number(t->loss), "slope", number(t->slope), "growth", number(t->growth), "step", t->step, "multiplied",
                   number(t->multiplied), "by", t->by, "unstable", t->unstable, "ambiguous", t->ambiguous, "untimed",
                   t->untimed, "label", tg_grad_label_text(t->grad.label));
}

void tgi_cli_say_verification(const tgVerification *v) {
  if (v->n > 0) tgi_cli_say("replayed, controls held in time as they were found:");
  for (int i = 0; i < v->n; i++) {
    const tgVerifyRow *r = &v->row[i];
    char left[48] = "";
    if (isfinite(r->distance)) snprintf(left, sizeof left, "%.3g m left", r->distance);
    else if (isfinite(r->loss)) snprintf(left, sizeof left, "loss %.4g", r->loss);
    tgi_cli_say("  %-9s %-38s %-14s %s%s%s%s", r->name, r->text, left, tg_verdict_text(r->verdict), r->required ? "" : " (not asked for)",
                r->reason[0] != '\0' ? ": " : "", r->reason);
  }
}

// a length in the unit that suits what is wanted
static const char *length(double x, double wanted, char out[32]) {
  if (wanted >= 1) snprintf(out, 32, "%.2g m", x);
  else if (wanted >= 0.01) snprintf(out, 32, "%.*f cm", x < 0.0995 ? 1 : 0, 100 * x);
  else if (x < 0.0995) snprintf(out, 32, "%.2g mm", 1e3 * x);
  else snprintf(out, 32, "%.0f mm", 1e3 * x);
  return out;
}

// "; replayed: finer 1.1 cm, toi 1.1 cm" of those that must hold, as far as there is room
static void say_replays(const tgVerification *v, double wanted, char *out, size_t room) {
  size_t n = 0;
  out[0] = '\0';
  for (int i = 0; i < v->n && n < room; i++) {
    const tgVerifyRow *r = &v->row[i];
    char left[32];
    if (!r->required) continue;
    n += (size_t)snprintf(out + n, room - n, "%s%s %s", n == 0 ? "; replayed: " : ", ", r->name,
                          isfinite(r->distance) && isfinite(wanted) ? length(r->distance, wanted, left) : tg_verdict_text(r->verdict));
  }
}

bool tgi_cli_say_outcome(const tgTask *task, const tgOptimum *o) {
  const tgVerification *v = &o->verification;
  double wanted = tg_task_success_distance(task), left = NAN, start = NAN;
  const volatile int *cancel = &tgi_cli_interrupted;
  if (isfinite(wanted)) left = tgi_cli_distance(task, o->best, cancel), start = tgi_cli_distance(task, o->first, cancel);
  char replays[600], far[160] = "", a[32], b[32], c[32];
  say_replays(v, wanted, replays, sizeof replays);
  if (isfinite(wanted) && isfinite(left) && isfinite(start))
    snprintf(far, sizeof far, "%s left of %s (wanted <= %s)", length(left, wanted, a), length(start, wanted, b), length(wanted, wanted, c));
  if (o->reached) {
    if (far[0] != '\0') tgi_cli_say("reached: %s%s", far, replays);
    else if (replays[0] != '\0') tgi_cli_say("reached: the task's criterion is met%s", replays);
  } else if (!o->met || v->broken < 0) {
    if (!o->met) tgi_cli_say("what may help: docs/tasks.md, \"Where nothing is found\"");
    tgi_cli_say("not reached: %s", far[0] != '\0' ? far : "the task's success criterion is not met");
  } else {
    tgi_cli_say("not reached: %s%sthe motion does not hold: %s (%s)%s", far, far[0] != '\0' ? ", but " : "", v->row[v->broken].name,
                v->row[v->broken].text, replays);
  }
  return o->reached;
}

// x as replay `name` moves it, with the task's controls
static bool record_replay(const tgTask *task, const double *x, const char *name, tgCliTrajectory *t) {
  const tgModel *m = tg_task_model(task);
  int steps = tg_task_steps(task);
  size_t nv = (size_t)tg_model_nv(m), na = (size_t)tg_model_na(m), states = (size_t)steps + 1;
  double *w = calloc(states * (nv + na) + 1, sizeof *w);
  *t = (tgCliTrajectory){.label = name, .iteration = NAN, .steps = steps, .q = calloc(states * (size_t)tg_model_nq(m) + 1, sizeof(double)),
                         .v = calloc(states * nv + 1, sizeof(double)), .act = calloc(states * na + 1, sizeof(double)),
                         .u = calloc(states * (size_t)tg_model_nu(m) + 1, sizeof(double))};
  bool ok = w != NULL && t->q != NULL && t->v != NULL && t->act != NULL && t->u != NULL;
  ok = ok && tg_verify_motion(task, x, name, t->q, w, &tgi_cli_stop, NULL) == TG_OK;
  for (size_t i = 0; ok && i < states; i++) {
    memcpy(t->v + i * nv, w + i * (nv + na), nv * sizeof *w);
    memcpy(t->act + i * na, w + i * (nv + na) + nv, na * sizeof *w);
  }
  if (ok) tg_task_expand(task, x, NULL, NULL, t->u);
  else tgi_cli_trajectory_free(t);
  free(w);
  return ok;
}

// the best under the conditions that it was held to, for the eye: those that came to their end. Returns how many.
static int record_replays(const tgTask *task, const tgOptimum *o, tgCliTrajectory *t) {
  const tgVerification *v = &o->verification;
  int n = 0;
  for (int i = 0; i < v->n; i++)
    if (v->row[i].verdict == TG_VERDICT_HOLDS || v->row[i].verdict == TG_VERDICT_MISSES)
      n += record_replay(task, o->best, v->row[i].name, &t[n]);
  return n;
}

// First, replays and best of an optimum into t, n of them; none where one of the two is not had. gradients: of these, too.
static tgStatus record_motions(const tgTask *task, const tgOptimum *o, bool gradients, bool replays, tgCliTrajectory *t, int *n,
                               tgError *error) {
  int least = tgi_cli_least(o->curve_loss, o->curve_stage, o->stage, o->ncurve);
  tgCliTrajectory first = {.label = "first", .iteration = 0};
  tgCliTrajectory best = {.label = "best", .iteration = o->ncurve > 0 ? o->curve_iteration[least] : 0};
  tgStatus st = tgi_cli_record_task(task, o->first, &tgi_cli_stop, &first, error);
  if (st == TG_OK) st = tgi_cli_record_task(task, o->best, &tgi_cli_stop, &best, error);
  for (int i = 0; i < 2 && st == TG_OK && gradients; i++) {
    tgStatus had = tgi_cli_record_gradient(task, i == 0 ? o->first : o->best, &tgi_cli_stop, i == 0 ? &first : &best, error);
    if (had == TG_ERR_MEMORY) error->status = st = had;
    else if (had != TG_OK)
      tgi_cli_say("no gradient in the replay of the %s iterate: %s", i == 0 ? "first" : "best",
                  error->text[0] != '\0' ? error->text : tg_status_text(had));
  }
  *n = 0;
  if (st == TG_OK) {
    t[(*n)++] = first;
    *n += replays ? record_replays(task, o, t + 1) : 0;
    t[(*n)++] = best;   // last: what the page shows
  } else {
    tgi_cli_trajectory_free(&first);
    tgi_cli_trajectory_free(&best);
  }
  return st;
}

int tgi_cli_write_optimum(const tgTask *task, const tgOptimum *o, const char *folder, const char *title, json_t *json, bool replay,
                          double grace) {
  tgError error = {0};
  tgCliTrajectory t[2 + TG_VERIFY_ROWS];
  int n;
  tgi_cli_start_clock(INFINITY, grace);
  double distance = tgi_cli_distance(task, o->best, &tgi_cli_stop);
  if (isfinite(distance)) json_object_set_new(json, "distance_m", json_real(distance));
  tgStatus st = record_motions(task, o, folder != NULL, folder != NULL && replay, t, &n, &error);
  tgi_cli_stop_clock();
  bool cut = st == TG_CANCELLED;
  int code = cut ? TG_EXIT_INTERRUPTED : st != TG_OK ? tgi_cli_error("optimize", &error) : TG_EXIT_OK;
  if ((st == TG_OK || cut) && folder != NULL) {
    tgReplayFigure fig[] = {{.name = "loss, first", .value = o->first_loss}, {.name = "loss, best", .value = o->best_loss},
                            {.name = "simulations", .value = (double)o->simulations}, {.name = "distance [m]", .value = distance}};
    tgReplayMarker marker[8];
    int track, nmarker = tgi_cli_task_markers(task, marker, 8, &track);
    json_object_set_new(json, "track_body", json_string(tg_model_name(tg_task_model(task), TG_THING_BODY, track)));
    tgCliRun run = {.folder = folder, .title = title, .model = tg_task_model(task), .h = tg_task_timestep(task), .ntrajectory = n,
                    .trajectory = t, .optimum = o, .nfigure = isfinite(distance) ? 4 : 3, .figure = fig, .nmarker = nmarker,
                    .marker = marker, .track = track, .json = json, .replay = replay && !cut};
    int wrote = tgi_cli_write_run(&run);
    if (wrote != TG_EXIT_OK) code = wrote;
  }
  for (int i = 0; i < n; i++) tgi_cli_trajectory_free(&t[i]);
  return code;
}
