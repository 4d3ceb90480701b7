// rig.h: a model under a contact model with a simulation of it, for tests that need no more than that.
#ifndef TG_TEST_SUPPORT_RIG_H
#define TG_TEST_SUPPORT_RIG_H

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "tangere/contact.h"
#include "tangere/desc.h"
#include "tangere/lcp.h"
#include "tangere/sim.h"

typedef struct Rig { tgModel *m; tgContact *c; tgSim *s; } Rig;

/// Options of the contact model `word` by name, "weight=1e-4 slip_speed=0.01": those that it has, the others being other models'.
static inline tgAnyContactOptions options_of(const char *word, const char *settings) {
  tgAnyContactOptions any;
  char name[64], value[64];
  int used;
  assert_int_equal(tg_contact_default(word, &any.of, sizeof any), TG_OK);
  for (const char *at = settings; sscanf(at, " %63[^=]=%63s%n", name, value, &used) == 2; at += used) {
    tgError e = {0};
    check_true(tg_contact_offer(&any.of, name, value, NULL, &e) == TG_OK, "%s", e.text);
  }
  return any;
}

/// The model becomes the rig's. word: NULL for no contact model. why: the model is NULL.
static inline Rig rig_of_model(tgModel *m, const char *word, const tgContactOptions *o, const tgError *why) {
  tgError e = {0};
  Rig r = {.m = m};
  check_true(r.m != NULL, "%s", why->text);
  if (word != NULL) {
    r.c = tg_contact_create(r.m, word, o, &e);
    check_true(r.c != NULL, "%s", e.text);
  }
  r.s = tg_sim_create(r.m, r.c, NULL, &e);
  check_true(r.s != NULL, "%s", e.text);
  return r;
}

/// Frees the description.
static inline Rig rig_of_desc(tgDesc *d, const char *word, const tgContactOptions *o) {
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  tg_desc_free(d);
  return rig_of_model(m, word, o, &e);
}

/// The same under `lcp` with that contact rule.
static inline Rig rig_ruled(tgDesc *d, tgContactRule rule) {
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = rule;
  return rig_of_desc(d, "lcp", &o.of);
}

/// Of an MJCF file's text.
static inline Rig rig_of_text(const char *xml, const char *word, const tgContactOptions *o) {
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("scene.xml", xml, strlen(xml), NULL, &e);
  check_true(d != NULL, "%s", e.text);
  return rig_of_desc(d, word, o);
}

static inline void drop(Rig *r) {
  tg_sim_free(r->s);
  tg_contact_free(r->c);
  tg_model_free(r->m);
}

#endif
