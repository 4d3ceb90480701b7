// bench_labels.c: how many states of the files in models/ have a derivative of a step of `lcp` that is labelled one-sided, and why.
// usage: bench_labels [--states N] [--all] [FILE...]   (12 states of each file of models/*.xml)
//
// A state: the file's pose moved by chance, thrown, then 5 to 300 steps of its own length with controls by chance: things have fallen,
// lie or walk. Each is labelled, and v' and (q' - q)/h are differenced at it from both sides along every coordinate (of at most 200) and 8
// directions by chance: a kink is a difference of more than 3e-3 of the largest derivative in steps of 2e-10, 2e-9 and 2e-8, or one of 1e-4
// that is the same in all of them. A control moves by 500 of a size, so that this sees switches 1e-7 of a control away. A table by reason:
// states, and how many show a kink. Of states that are called exact and show one each is named, with what it is: a switch *beside* the
// state, where the two sides agree in a step of 2e-12; one of *several answers* that the contacts have, which of them being rounding; else
// a kink at the state, which is *missed*. --all: every state that is not exact is named.
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/kink.h"
#include "tangere/base.h"
#include "tangere/lcp.h"

enum { REASONS = 64, WORDS = 80 };

typedef struct Reason { char text[WORDS]; int states, kinks; } Reason;
typedef struct Count {
  Reason reason[REASONS];
  int reasons, states, exact, beside, answers, missed, failed;
} Count;

// the reason without the names behind its colon
static Reason *reason_of(Count *c, const tgGradInfo *info) {
  char text[WORDS];
  snprintf(text, sizeof text, "%.*s", (int)strcspn(info->reason, ":"), info->reason);
  for (int i = 0; i < c->reasons; i++)
    if (strcmp(c->reason[i].text, text) == 0) return &c->reason[i];
  if (c->reasons == REASONS) return &c->reason[REASONS - 1];
  memcpy(c->reason[c->reasons].text, text, sizeof text);
  return &c->reason[c->reasons++];
}

static tgStatus throw_about(tgSim *s, tgtRandom *r, double h) {
  const tgModel *m = s->model;
  int nv = m->nv, steps = 5 + (int)(tgt_uniform(r, 0, 1) < 0.5 ? tgt_uniform(r, 0, 60) : tgt_uniform(r, 60, 295));
  double wide = tgt_uniform(r, 0, 1) < 0.5 ? 0.01 : 0.2, fast = tgt_uniform(r, 0, 1) < 0.5 ? 0.05 : 1, pull = tgt_uniform(r, 0, 0.5);
  tgReal *w = calloc((size_t)nv + 1, sizeof *w);
  tgStatus status = TG_OK;
  tg_sim_reset(s);
  for (int d = 0; d < nv; d++) w[d] = wide * tgt_normal(r);
  tg_model_integrate(m, s->qpos, w, s->qpos);
  for (int d = 0; d < nv; d++) s->qvel[d] += fast * tgt_normal(r);
  for (int i = 0; i < m->nu; i++) s->ctrl[i] = pull * tgt_normal(r);
  for (int k = 0; k < steps && status == TG_OK; k++) status = tg_sim_step_growing(s, h, NULL);
  free(w);
  return status;
}

// A kink at the state itself is one at every size: less would be rounding, or a switch near by. Rounding is not the same at every size.
static tgStatus least_jump(tgSim *s, double h, tgtRandom *r, double *jump, bool *kinked) {
  static const double steady = 1e-4;
  static const double sizes[] = {2e-9, 2e-8, 2e-10};
  tgStatus status = tgt_jump(s, h, sizes[0], 8, r, jump);
  double most = *jump;
  for (int k = 1; k < 3 && status == TG_OK && *jump > steady; k++) {
    double other;
    status = tgt_jump(s, h, sizes[k], 8, r, &other);
    *jump = fmin(*jump, other);
    most = fmax(most, other);
  }
  *kinked = *jump > TGT_KINK || (*jump > steady && most < 2 * *jump);
  return status;
}

// what a kink of this size is that a state called exact shows; one that is still there closer to the state is at it, however small
static tgStatus explain(tgSim *s, double h, tgtRandom *r, const tgtState *at, double jump, Count *c, const char **what) {
  double close;
  tgStatus status = tgt_jump(s, h, 2e-12, 8, r, &close);
  if (status != TG_OK) return status;
  tg_sim_watch_answers(s, true);
  status = tg_sim_step(s, h, NULL);
  tg_sim_watch_answers(s, false);
  tgt_state_restore(s, at);
  bool beside = close <= fmin(TGT_KINK, 0.3 * jump), several = !beside && s->info.nambiguous > 0;
  c->beside += beside;
  c->answers += several;
  c->missed += !beside && !several;
  *what = beside ? "a switch beside the state" : several ? "one of several answers" : "MISSED";
  return status;
}

static void judge(tgSim *s, double h, tgtRandom *r, const char *file, int k, bool all, Count *c) {
  tgtState at;
  tgGradInfo info;
  double jump = 0;
  bool kinked = false;
  const char *what = "";
  tgReal *D = malloc(sizeof *D * (size_t)(2 * s->m.nv * (2 * s->m.nv + s->m.nu + s->m.na) + 1));
  tgt_state_save(s, &at);
  tgStatus status = tg_sim_step_growing(s, h, NULL);
  tg_sim_freeze_memory(s, true);
  tgt_state_restore(s, &at);
  if (status == TG_OK) status = tg_sim_step(s, h, NULL);
  if (status == TG_OK) status = tg_sim_step_jacobian(s, D, &info);
  tgt_state_restore(s, &at);
  if (status == TG_OK) status = least_jump(s, h, r, &jump, &kinked);
  bool exact = status == TG_OK && info.label == TG_GRAD_EXACT;
  if (exact && kinked) status = explain(s, h, r, &at, jump, c, &what);
  if (status != TG_OK) {
    printf("%s %d: %s\n", file, k, tg_sim_error(s)->text);
    c->failed++;
  } else {
    c->states++;
    c->exact += exact;
    if (!exact) {
      Reason *x = reason_of(c, &info);
      x->states++;
      x->kinks += kinked;
    }
    if ((exact && kinked) || (!exact && all))
      printf("%-28s %2d %s jump %.2g: %s\n", file, k, tg_grad_label_text(info.label), jump, exact ? what : info.reason);
  }
  tg_sim_freeze_memory(s, false);
  tgt_state_free(&at);
  free(D);
}

static void measure(const char *file, int states, bool all, Count *c) {
  tgError e = {0};
  const char *name = strrchr(file, '/') != NULL ? strrchr(file, '/') + 1 : file;
  tgModel *m = tg_model_load(file, NULL, &e);
  tgContact *contact = m != NULL ? tg_contact_create(m, "lcp", NULL, &e) : NULL;
  tgSim *s = contact != NULL ? tg_sim_create(m, contact, NULL, &e) : NULL;
  if (s == NULL) printf("%s: %s\n", name, e.text);
  for (int k = 0; k < states && s != NULL; k++) {
    tgtRandom r = {.s = 7919u * (unsigned)(k + 1)};
    double h = tg_model_timestep(m);
    for (const char *x = name; *x != '\0'; x++) r.s = r.s * 31 + (unsigned char)*x;
    if (throw_about(s, &r, h) == TG_OK) judge(s, h, &r, name, k, all, c);
    else c->failed++;
  }
  tg_sim_free(s);
  tg_contact_free(contact);
  tg_model_free(m);
}

int main(int argc, char **argv) {
  Count c = {0};
  glob_t found = {0};
  int states = 12, at = 1;
  bool all = false;
  for (; at < argc && argv[at][0] == '-'; at++) {
    if (strcmp(argv[at], "--states") == 0 && at + 1 < argc) states = atoi(argv[++at]);
    else if (strcmp(argv[at], "--all") == 0) all = true;
    else return 2;
  }
  if (at == argc && glob(TG_SOURCE_DIR "/models/*.xml", 0, NULL, &found) != 0) return 1;
  for (; at < argc; at++) measure(argv[at], states, all, &c);
  for (size_t i = 0; i < found.gl_pathc; i++) measure(found.gl_pathv[i], states, all, &c);
  globfree(&found);
  printf("%d states (%d more failed), %d exact, %d of them with a kink, %d beside a switch, %d with several answers; not exact %.1f %%\n",
         c.states, c.failed, c.exact, c.missed, c.beside, c.answers, c.states > 0 ? 100.0 * (c.states - c.exact) / c.states : 0);
  for (int i = 0; i < c.reasons; i++) printf("  %4d, %3d with a kink: %s\n", c.reason[i].states, c.reason[i].kinks, c.reason[i].text);
  return 0;
}
