// simulate.c: tangere simulate MODEL.
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "tangere/sensor.h"

// where steps were longer than is stable: how many, and what asks for shorter ones now
static void advise(tgSim *sim, double h, const tgCliTrajectory *t) {
  tgStepAdvice a;
  if (t->unstable == 0) return;
  tgi_cli_say("warning: %d of %d steps of %g s were longer than is stable, at the least %.3g s", t->unstable, t->steps, h, t->stable);
  if (tg_sim_step_advice(sim, &a) == TG_OK && isfinite(a.h))
    tgi_cli_say("warning: at the end the %s asks for steps of %.3g s (%.4g rad/s, damping %.4g 1/s)", a.reason, a.h,
                a.frequency, a.damping);
}

static void ambiguous_hint(const tgCliTrajectory *t) {
  if (t->ambiguous > 0)
    tgi_cli_say("the contacts of %d of %d steps have another answer than the one taken, by their friction: a small change may take it",
                t->ambiguous, t->steps);
}

// A free body that met nothing fell for ever: what a robot's file needs to stand on something.
static void falls_hint(const tgCli *cli, const tgModel *model, const tgCliTrajectory *t) {
  int nv = tg_model_nv(model);
  tgJointType type = TG_JOINT_HINGE;
  if (tg_model_count(model, TG_THING_JOINT) > 0) tg_model_joint(model, 0, &type, NULL, NULL, NULL);
  if (type != TG_JOINT_FREE || cli->ground || cli->ground_below || t->steps < 2 || isfinite(t->least)) return;
  double speed = t->v[(size_t)t->steps * (size_t)nv + 2];
  if (speed < -1)
    tgi_cli_say("'%s' touches nothing and falls at %.3g m/s: --ground=below adds a plane under it, --fixed-base holds "
                "the root link of a URDF", tg_model_name(model, TG_THING_BODY, 1), -speed);
}

// what forces of gaps go by, and the grids that stand for meshes: into the JSON, and the range of it said
static void contact_numbers(json_t *json, const tgModel *m, const tgContact *c, double h) {
  tgContactLaw x, low, high;
  tgContactGrid g;
  json_t *laws = json_array(), *grids = json_array();
  for (int i = 0; tg_contact_law(c, i, h, &x); i++) {
    if (i == 0) low = high = x;
    const double *at[] = {&x.resting_gap, &x.strength, &x.stiffness, &x.damping_time, &x.missed};
    double *from[] = {&low.resting_gap, &low.strength, &low.stiffness, &low.damping_time, &low.missed};
    double *to[] = {&high.resting_gap, &high.strength, &high.stiffness, &high.damping_time, &high.missed};
    for (int k = 0; k < 5; k++) {
      *from[k] = fmin(*from[k], *at[k]);
      *to[k] = fmax(*to[k], *at[k]);
    }
    json_array_append_new(laws, json_pack("{s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:f}", "geom1", tgi_cli_geom(m, x.geom1),
                                          "geom2", tgi_cli_geom(m, x.geom2), "weight", x.weight, "resting_gap", x.resting_gap,
                                          "strength", x.strength, "stiffness", x.stiffness, "damping_time", x.damping_time, "reach",
                                          isfinite(x.reach) ? json_real(x.reach) : json_null(), "left_out", x.left_out, "missed",
                                          x.missed));
  }
  for (int i = 0; tg_contact_grid(c, i, &g); i++) {
    tgi_cli_say("geom %d '%s': field of %d x %d x %d distances %.3g m apart, %.2g MB, off by up to %.2g m", g.geom,
                tg_model_name(m, TG_THING_GEOM, g.geom), g.nodes[0], g.nodes[1], g.nodes[2], g.spacing, 1e-6 * (double)g.bytes, g.error);
    json_array_append_new(grids, json_pack("{s:o, s:[i,i,i], s:f, s:f, s:f, s:I}", "geom", tgi_cli_geom(m, g.geom), "nodes", g.nodes[0],
                                           g.nodes[1], g.nodes[2], "spacing", g.spacing, "error", g.error, "depth", g.depth, "bytes",
                                           (json_int_t)g.bytes));
  }
  if (json_array_size(laws) > 0)
    tgi_cli_say("%zu pairs of geoms: resting gap %.3g to %.3g m, strength %.3g to %.3g, stiffness %.3g to %.3g N/m, damping time %.3g to "
                "%.3g s; overlaps of up to %.3g to %.3g m may pass between their proxies", json_array_size(laws), low.resting_gap,
                high.resting_gap, low.strength, high.strength, low.stiffness, high.stiffness, low.damping_time, high.damping_time,
                low.missed, high.missed);
  if (json_array_size(laws) > 0) json_object_set(json, "contact_laws", laws);
  if (json_array_size(grids) > 0) json_object_set(json, "contact_grids", grids);
  json_decref(laws);
  json_decref(grids);
}

// what sensors read after the last step, a line each
static void say_sensors(const tgModel *model, const tgCliTrajectory *t) {
  for (int i = 0; i < tg_model_count(model, TG_THING_SENSOR); i++) {
    const char *name = tg_model_name(model, TG_THING_SENSOR, i);
    char text[200] = "";
    int adr, width;
    tg_model_sensor(model, i, NULL, &adr, &width);
    const double *x = t->sensor + (size_t)(t->steps - 1) * (size_t)tg_model_nsensordata(model) + (size_t)adr;
    for (int k = 0; k < width; k++) snprintf(text + strlen(text), sizeof text - strlen(text), " %.6g", x[k]);
    if (name[0] != '\0') tgi_cli_say("%s:%s", name, text);
    else tgi_cli_say("sensor%d:%s", i, text);
  }
}

// ---- the run ----

typedef struct Run {
  const tgCli *cli;
  const tgModel *model;
  const tgContact *contact;
  tgCliTrajectory t;
  tgStatus status;      // of the last step
  tgError error;
  double h, seconds;
  int steps;            // asked for
} Run;

// makes the steps from the sim's state and says what of the motion calls for a hint; the program's exit status
static int make_steps(Run *r, tgSim *sim, double began) {
  tg_sim_watch_stability(sim, true);
  r->steps = r->cli->steps > 0 ? r->cli->steps : 500;
  r->t.pushed = r->contact != NULL ? r->h * tg_contact_get(tg_contact_options(r->contact), "push_speed") : 0;   // NaN: has no push
  r->status = tgi_cli_record(sim, NULL, r->steps, r->h, &tgi_cli_interrupted, &r->t, &r->error);
  r->seconds = tgi_cli_now() - began;
  advise(sim, r->h, &r->t);
  ambiguous_hint(&r->t);
  int code = TG_EXIT_OK;
  if (r->status != TG_OK && r->status != TG_CANCELLED) code = tgi_cli_error("simulate", &r->error);
  if (code == TG_EXIT_INPUT && r->t.steps > 0) code = TG_EXIT_MISSED;   // a state that the motion came to, not one that was given
  tgi_cli_deep_hint(r->cli, r->model, &r->t);
  tgi_cli_overlap_hint(r->cli, r->status, r->t.held);
  tgi_cli_burst_hint(r->cli, r->model, &r->t);
  tgi_cli_start_hint(r->cli, sim, r->h, r->status, r->t.steps);
  if (r->status == TG_OK) falls_hint(r->cli, r->model, &r->t);
  return r->status == TG_CANCELLED ? TG_EXIT_INTERRUPTED : code;
}

// row `step` of a table with n columns
static json_t *table_row(const double *table, int step, int n) {
  json_t *row = json_array();
  for (int i = 0; i < n; i++) {
    double x = table[(size_t)step * (size_t)n + (size_t)i];
    json_array_append_new(row, isfinite(x) ? json_real(x) : json_null());
  }
  return row;
}

// the run in numbers: what was asked for, what the motion met and where it ends. separated, which may be NULL, is taken over
static json_t *figures(const Run *r, json_t *separated) {
  const tgModel *m = r->model;
  const tgCliTrajectory *t = &r->t;
  json_t *json = json_pack("{s:s, s:s, s:o, s:s, s:s, s:i, s:f, s:f, s:s}", "version", tg_version(), "command", "simulate", "model",
                           tgi_cli_input(r->cli->file), "contact", tg_contact_word(r->contact), "status", tg_status_text(r->status),
                           "steps", t->steps, "timestep", r->h, "seconds", r->seconds, "error",
                           r->status != TG_OK ? r->error.text : "");
  tgi_cli_keep_loading(r->cli, json);
  contact_numbers(json, m, r->contact, r->h);
  if (separated != NULL) json_object_set_new(json, "separated", separated);
  json_object_set_new(json, "impacts", json_integer(t->impacts));
  json_object_set_new(json, "least_distance", isfinite(t->least) ? json_real(t->least) : json_null());
  if (isfinite(t->stable)) json_object_set_new(json, "stable_step", json_real(t->stable));
  if (isfinite(t->stable)) json_object_set_new(json, "unstable_steps", json_integer(t->unstable));
  if (t->ambiguous > 0) json_object_set_new(json, "ambiguous_steps", json_integer(t->ambiguous));
  json_object_set_new(json, "qpos", table_row(t->q, t->steps, tg_model_nq(m)));
  json_object_set_new(json, "qvel", table_row(t->v, t->steps, tg_model_nv(m)));
  if (t->sensor != NULL && t->steps > 0)
    json_object_set_new(json, "sensor", table_row(t->sensor, t->steps - 1, tg_model_nsensordata(m)));
  if (tg_model_na(m) > 0) json_object_set_new(json, "act", table_row(t->act, t->steps, tg_model_na(m)));
  return json;
}

// the folder that --out asks for
static int write_folder(Run *r, json_t *json) {
  const tgCli *cli = r->cli;
  if (cli->out == NULL) return TG_EXIT_OK;
  if (r->t.steps == 0) {
    tgi_cli_say("no step was made: nothing is written to %s", cli->out);
    return TG_EXIT_OK;
  }
  tgCliRun out = {.folder = cli->out, .title = tgi_cli_base_name(cli->file), .model = r->model, .h = r->h, .ntrajectory = 1,
                  .trajectory = &r->t, .json = json, .replay = !cli->no_replay};
  int wrote = tgi_cli_write_run(&out);
  if (wrote == TG_EXIT_OK)
    tgi_cli_say("wrote %s/%s", cli->out, cli->no_replay ? "trajectory.npz" : "replay.html (open it in a browser)");
  return wrote;
}

static void say_motion(const Run *r) {
  const tgCliTrajectory *t = &r->t;
  tgi_cli_say("%d steps of %g s in %.3g s", t->steps, r->h, r->seconds);
  if (t->impacts > 0) tgi_cli_say("%d impact%s, each at its own time", t->impacts, t->impacts > 1 ? "s" : "");
  if (isfinite(t->least)) tgi_cli_say("least distance between geoms: %.3g m", t->least);
}

// all that the run shows, once its steps are made
static int show(Run *r, json_t *separated, int code) {
  const tgCli *cli = r->cli;
  json_t *json = figures(r, separated);
  int wrote = write_folder(r, json);
  if (wrote != TG_EXIT_OK) code = wrote;
  if (r->status == TG_CANCELLED) tgi_cli_say("interrupted: %d of %d steps were made", r->t.steps, r->steps);
  if (code != TG_EXIT_INPUT) say_motion(r);
  if (r->t.sensor != NULL && r->t.steps > 0 && cli->out == NULL && !cli->json) say_sensors(r->model, &r->t);
  if (cli->json) return tgi_cli_print_json(json, code);
  json_decref(json);
  return code;
}

static int run(const tgCli *cli, const tgModel *model, const tgContact *contact) {
  Run r = {.cli = cli, .model = model, .contact = contact, .h = cli->dt > 0 ? cli->dt : tg_model_timestep(model),
           .t = {.label = "simulation", .iteration = NAN, .reads = cli->sensors}};
  tgSim *sim = tg_sim_create(model, contact, NULL, &r.error);
  if (sim == NULL) return tgi_cli_error("simulate", &r.error);
  double began = tgi_cli_now();
  int code = TG_EXIT_INPUT;
  json_t *separated;
  if (cli->sensors && tg_model_nsensordata(model) == 0) {
    tgi_cli_say("--sensors: the model has no sensor that is read (--notes lists those that are not)");
  } else if (tgi_cli_start(cli, sim) && tgi_cli_separate(cli, sim, &separated)) {
    code = tgi_cli_out_ready(cli);   // not after steps that may have taken hours
    if (code == TG_EXIT_OK) code = make_steps(&r, sim, began);
    if (r.t.q == NULL) {   // no folder, or no memory for so many steps: nothing to show, nothing to free
      json_decref(separated);
    } else {
      code = show(&r, separated, code);
      tgi_cli_trajectory_free(&r.t);
    }
  }
  tg_sim_free(sim);
  return code;
}

int tgi_cli_simulate(const tgCli *cli) {
  tgError error = {0};
  if (!tgi_cli_out_free(cli, "simulate")) return TG_EXIT_INPUT;
  int code = TG_EXIT_OK;
  tgModel *model = tgi_cli_load_model(cli, cli->file, &code);
  if (model == NULL) return code;
  tgi_cli_catch_signals();
  const char *word = cli->contact != NULL ? cli->contact : tg_contact_words(0);
  tgAnyContactOptions o;
  if (!tgi_cli_contact_options(cli, word, &o)) {
    tg_model_free(model);
    return TG_EXIT_USAGE;
  }
  tgContact *contact = tg_contact_create(model, word, &o.of, &error);
  tgi_cli_contact_warnings(cli, contact);
  code = contact == NULL ? tgi_cli_error("simulate", &error) : run(cli, model, contact);
  tg_contact_free(contact);
  tg_model_free(model);
  return code;
}
