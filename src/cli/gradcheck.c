// gradcheck.c: tangere gradcheck MODEL|TASK.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

// trust NULL: of a model, which has no loss
static int report(const tgCli *cli, const tgGradCheck *c, const tgTrust *trust) {
  json_t *blocks = json_array();
  for (int i = 0; i < c->nblock; i++) {
    const tgGradBlock *b = &c->block[i];
    json_array_append_new(blocks, json_pack("{s:s, s:f, s:f, s:f, s:s, s:b, s:s, s:s, s:i, s:s}", "name", b->name,
                                            "error", isfinite(b->error) ? b->error : 1e300, "tolerance", b->tolerance,
                                            "estimate", isfinite(b->estimate) ? b->estimate : 1e300, "label",
                                            tg_grad_label_text(b->label), "pass", (int)b->pass, "row", b->row_name, "column",
                                            b->col_name, "spoiled", b->spoiled, "reason", b->reason));
    FILE *to = cli->json ? stderr : stdout;
    fprintf(to, "%-4s %-16s error %-10.3g tolerance %-8.1g %-10s", b->pass ? "ok" : "FAIL", b->name, b->error,
            b->tolerance, tg_grad_label_text(b->label));
    bool second = strncmp(b->name, "second d", 8) == 0;   // also told where it passes: the worst entry
    if (second && b->row >= 0)
      fprintf(to, " worst: d2 / d %s d %s: %.9g, reference %.9g, which may be off by %.1g", b->row_name, b->col_name,
              b->ours, b->reference, b->estimate);
    else if (!b->pass && b->row >= 0)
      fprintf(to, " worst: d %s / d %s: %.9g, reference %.9g", b->row_name, b->col_name, b->ours, b->reference);
    else if (!b->pass && b->col_name[0] != '\0') fprintf(to, " worst: d %s: %.9g, reference %.9g;", b->col_name, b->ours, b->reference);
    if (b->spoiled > 0) fprintf(to, " %d columns one-sided: %s", b->spoiled, b->reason);
    else if (b->reason[0] != '\0') fprintf(to, " %s", b->reason);
    fputc('\n', to);
  }
  int code = c->pass ? TG_EXIT_OK : TG_EXIT_MISSED;
  if (trust != NULL) tgi_cli_say_trust(cli->json ? stderr : stdout, "trust", trust);
  if (!cli->json) {
    json_decref(blocks);
    return code;
  }
  json_t *json = json_pack("{s:b, s:o}", "pass", (int)c->pass, "blocks", blocks);
  if (trust != NULL) json_object_set_new(json, "trust", tgi_cli_trust_json(trust));
  return tgi_cli_print_json(json, code);
}

// the start: a keyframe, or that of the task at this seed
static bool start(const tgCli *cli, const tgTask *task, tgSim *sim, double *u) {
  if (!tgi_cli_start(cli, sim)) return false;
  double *x = task != NULL ? calloc((size_t)tg_task_size(task) + 1, sizeof *x) : NULL;
  if (x != NULL) {
    tg_task_start(task, cli->seed, x);
    bool key = cli->key != NULL;
    if (!tgi_cli_task_start(task, x, key ? NULL : sim, u)) {
      free(x);
      tgi_cli_say("tangere gradcheck: out of memory for a start");
      return false;
    }
  }
  free(x);
  return tgi_cli_separate(cli, sim, NULL);
}

// --over-h, --widths: the motion from the start
static int check_motion(const tgCli *cli, const tgModel *model, const tgContact *contact, const tgTask *task) {
  tgError error = {0};
  tgMotionCheckOptions o = tg_motion_check_default();
  tgMotionCheck check;
  o.h = cli->dt > 0 ? cli->dt : task != NULL ? tg_task_timestep(task) : tg_model_timestep(model);
  if (task != NULL) o.steps = tg_task_steps(task);
  else if (cli->steps > 0) o.steps = cli->steps;
  o.seed = cli->seed;
  o.cancel = &tgi_cli_interrupted;
  if (!cli->over_h) o.halvings = 0;
  tgSim *sim = tg_sim_create(model, contact, NULL, &error);
  double *u = task != NULL ? calloc((size_t)o.steps * (size_t)tg_model_nu(model) + 1, sizeof *u) : NULL;
  if (sim == NULL || (task != NULL && u == NULL)) {
    tg_sim_free(sim);
    free(u);
    if (error.status == TG_OK) error = (tgError){.status = TG_ERR_MEMORY, .text = "out of memory for the controls of a motion"};
    return tgi_cli_error("gradcheck", &error);
  }
  int code = TG_EXIT_INPUT;
  o.u = u;
  if (start(cli, task, sim, u)) {
    tgStatus status = tg_grad_check_motion(sim, &o, &check);
    error = status == TG_CANCELLED ? (tgError){.status = status} : *tg_sim_error(sim);
    code = status == TG_OK ? tgi_cli_report_motion(cli, &o, &check) : tgi_cli_error("gradcheck", &error);
  }
  tg_sim_free(sim);
  free(u);
  return code;
}

// the step at a state reached by --steps steps from the start
static int check_step(const tgCli *cli, const tgModel *model, const tgContact *contact, const tgTask *task, tgGradCheck *c) {
  tgError error = {0};
  tgSim *sim = tg_sim_create(model, contact, NULL, &error);
  if (sim == NULL) return tgi_cli_error("gradcheck", &error);
  double h = cli->dt > 0 ? cli->dt : task != NULL ? tg_task_timestep(task) : tg_model_timestep(model);
  tgStatus st = TG_OK;
  if (!start(cli, task, sim, NULL)) {
    tg_sim_free(sim);
    return TG_EXIT_INPUT;
  }
  tgCliTrajectory t = {.label = ""};
  if (cli->steps > 0) st = tgi_cli_record(sim, NULL, cli->steps, h, &tgi_cli_interrupted, &t, &error);
  tgGradCheckOptions o = tg_grad_check_default();
  o.h = h;
  o.seed = cli->seed;
  o.cancel = &tgi_cli_interrupted;
  if (st == TG_OK) {
    st = tg_grad_check_step(sim, &o, c);
    if (st == TG_OK) st = tg_grad_check_parameters(sim, &o, c);
    if (st == TG_OK && cli->second) st = tg_grad_check_second(sim, &o, c);
    if (st != TG_OK) error = *tg_sim_error(sim);
  }
  if (st == TG_CANCELLED) error = (tgError){0};
  error.status = st;
  int code = st == TG_OK ? TG_EXIT_OK : tgi_cli_error("gradcheck", &error);
  if (tg_model_nv(model) == 0) tgi_cli_say("tangere gradcheck: nothing moves in this model, so all its derivatives are empty");
  if (task == NULL) tgi_cli_overlap_hint(cli, st, t.held);
  if (task == NULL) tgi_cli_start_hint(cli, sim, h, st, t.steps);
  tgi_cli_trajectory_free(&t);
  tg_sim_free(sim);
  return code;
}

static int check_task(const tgCli *cli, const tgTask *task, tgGradCheck *c, tgTrust *trust) {
  tgError error = {0};
  tgEvaluator *e = tg_evaluator_create(task, 0, &error);
  double *x = calloc((size_t)tg_task_size(task) + 1, sizeof *x);
  if (e == NULL || x == NULL) {
    if (e != NULL) error = (tgError){.status = TG_ERR_MEMORY, .text = "out of memory for the decision variables"};
    tg_evaluator_free(e);
    free(x);
    return tgi_cli_error("gradcheck", &error);
  }
  tg_task_start(task, cli->seed, x);
  tgRolloutRun run;
  tg_evaluator_run(e, x, &run);
  run.cancel = &tgi_cli_interrupted;
  tgGradCheckOptions o = tg_grad_check_default();
  o.seed = cli->seed;
  tgStatus st = tg_grad_check_rollout(tg_evaluator_rollout(e), &run, &o, c);
  error = *tg_sim_error(tg_rollout_sim(tg_evaluator_rollout(e)));
  tgTrustOptions how = tg_trust_default();
  how.seed = cli->seed;
  if (st == TG_OK) st = tg_evaluator_trust(e, x, &how, &tgi_cli_interrupted, trust, &error);
  tg_evaluator_free(e);
  free(x);
  if (st == TG_OK) return TG_EXIT_OK;
  if (st == TG_CANCELLED) error = (tgError){0};
  error.status = st;
  return tgi_cli_error("gradcheck", &error);
}

int tgi_cli_gradcheck(const tgCli *cli) {
  bool motion = cli->over_h || cli->widths;
  tgError error = {0};
  tgGradCheck check = {.pass = true};
  tgTrust trust;
  tgTask *task = NULL;
  tgModel *model = NULL;
  tgContact *contact = NULL;
  int code = TG_EXIT_INPUT;
  if (tgi_cli_is_task(cli->file)) {
    task = tgi_cli_load_task(cli, cli->file, &code);
    tgi_cli_catch_signals();   // loading is not interrupted but ended
    if (task != NULL && motion) code = check_motion(cli, tg_task_model(task), tg_task_contact(task), task);
    else if (task != NULL) code = check_step(cli, tg_task_model(task), tg_task_contact(task), task, &check);
    if (code == TG_EXIT_OK && !motion) code = check_task(cli, task, &check, &trust);
  } else {
    model = tgi_cli_load_model(cli, cli->file, &code);
    tgi_cli_catch_signals();
    const char *word = cli->contact != NULL ? cli->contact : tg_contact_words(0);
    tgAnyContactOptions o;
    if (model != NULL && !tgi_cli_contact_options(cli, word, &o)) {
      tg_model_free(model);
      return TG_EXIT_USAGE;
    }
    if (model != NULL) {
      contact = tg_contact_create(model, word, &o.of, &error);
      tgi_cli_contact_warnings(cli, contact);
      if (contact == NULL) code = tgi_cli_error("gradcheck", &error);
      else code = motion ? check_motion(cli, model, contact, NULL) : check_step(cli, model, contact, NULL, &check);
    }
  }
  if (code == TG_EXIT_OK && !motion) code = report(cli, &check, task != NULL ? &trust : NULL);
  tg_contact_free(contact);
  tg_model_free(model);
  tg_task_free(task);
  return code;
}
