// fuzz_step.h: a small model out of bytes, and what must hold of what is made with it.
#ifndef TG_FUZZ_STEP_H
#define TG_FUZZ_STEP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_bytes.h"
#include "tangere/desc.h"
#include "tangere/rollout.h"

enum { TGT_BODIES = 4 };

static inline void tgt_made_geom(Bytes *b, tgDesc *d, int body) {
  static const tgGeomType type[] = {TG_GEOM_SPHERE, TG_GEOM_BOX, TG_GEOM_CAPSULE, TG_GEOM_CYLINDER, TG_GEOM_ELLIPSOID, TG_GEOM_MESH};
  static const double corner[] = {0, 0, 0, .1, 0, 0, 0, .1, 0, 0, 0, .1};
  static const int face[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  int kind = tgt_pick(b, 6), at = tg_desc_add_geom(d, body, type[kind], NULL);
  if (at < 0) return;
  if (type[kind] == TG_GEOM_MESH) {
    double vert[12];
    for (int i = 0; i < 12; i++) vert[i] = corner[i] + (tgt_pick(b, 8) == 7 ? tgt_number(b) : 0);
    d->geom[at].mesh = tg_desc_add_mesh(d, NULL, vert, 4, face, 4);
  }
  for (int i = 0; i < 3; i++) d->geom[at].size[i] = tgt_size(b, .1);
  d->geom[at].friction[0] = fabs(tgt_number(b));
}

/// NULL: it does not compile, and something was said.
static inline tgModel *tgt_made_model(Bytes *b) {
  static const tgJointType joint[] = {TG_JOINT_FREE, TG_JOINT_HINGE, TG_JOINT_SLIDE, TG_JOINT_BALL};
  tgDesc *d = tg_desc_create(NULL);
  if (d == NULL) abort();
  d->option.timestep = tgt_size(b, .005);
  if (tgt_pick(b, 4) > 0) {
    int floor = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, "floor");
    for (int i = 0; i < 3; i++) d->geom[floor].size[i] = 1;
  }
  int n = 1 + tgt_pick(b, TGT_BODIES);
  for (int k = 0; k < n; k++) {
    int above = tgt_pick(b, k + 1), body = tg_desc_add_body(d, above, NULL);
    if (body < 0) abort();
    d->body[body].pos[2] = above == 0 ? .15 + .3 * k : .2;
    for (int i = 0; i < 3; i++) d->body[body].pos[i] += .01 * tgt_number(b);
    int type = above == 0 ? tgt_pick(b, 4) : 1 + tgt_pick(b, 3), j = tg_desc_add_joint(d, body, joint[type], NULL);
    d->joint[j].damping = fabs(tgt_number(b));
    if (tgt_pick(b, 3) == 0) {
      d->joint[j].limited = true;
      d->joint[j].range[0] = type == 3 ? 0 : -tgt_size(b, .5);
      d->joint[j].range[1] = tgt_size(b, .5);
    }
    tgt_made_geom(b, d, body);
    if (type == 1 || type == 2) tg_desc_add_actuator(d, TG_TRN_JOINT, j, NULL);
  }
  if (d->njoint > 1 && tgt_pick(b, 4) == 3) tg_desc_add_equality(d, TG_EQ_CONNECT, 1, n > 1 ? 2 : 0, NULL);
  tgError error = {0};
  tgModel *m = tg_model_compile(d, NULL, &error);
  tg_desc_free(d);
  if (m == NULL && (error.status >= 0 || strlen(error.text) == 0)) abort();
  return m;
}

/// A contact model with some of its options off their defaults; NULL: refused, and something was said.
static inline tgContact *tgt_made_contact(Bytes *b, const tgModel *m) {
  int words = 0;
  while (tg_contact_words(words) != NULL) words++;
  const char *word = tg_contact_words(tgt_pick(b, words));
  tgAnyContactOptions o;
  tgError error = {0};
  if (tg_contact_default(word, &o.of, sizeof o) != TG_OK) abort();
  int options = 0, n = tgt_pick(b, 4);
  while (tg_contact_option(word, options).name != NULL) options++;
  for (int k = 0; k < n; k++) {
    tgOption is = tg_contact_option(word, tgt_pick(b, options));
    char value[40];
    if (is.type == TG_OPTION_NUMBER) {
      double x = tgt_pick(b, 4) > 0 ? is.value * exp2(4 * tgt_number(b)) : tgt_number(b);
      snprintf(value, sizeof value, "%.17g", x);
    } else if (is.type == TG_OPTION_WORD) {
      snprintf(value, sizeof value, "%s", strrchr(is.words, ' ') != NULL ? strrchr(is.words, ' ') + 1 : is.words);
      if (tgt_pick(b, 2) == 0) snprintf(value, sizeof value, "%.*s", (int)strcspn(is.words, " "), is.words);
    } else continue;   // numbers of steps, cells and the like cost time and memory as they are meant to
    if (tg_contact_set(&o.of, is.name, value, &error) != TG_OK && strlen(error.text) == 0) abort();
  }
  tgContact *c = tg_contact_create(m, word, &o.of, &error);
  if (c == NULL && (error.status >= 0 || strlen(error.text) == 0)) abort();
  return c;
}

static inline bool tgt_all_finite(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/// A step's or a rollout's status that a caller may have to deal with; a failure says something.
static inline void tgt_check_status(tgStatus st, const char *text) {
  bool known = st == TG_OK || st == TG_NOT_CONVERGED || st == TG_ERR_ARG || st == TG_ERR_INVALID || st == TG_ERR_NOT_FINITE ||
               st == TG_ERR_UNSUPPORTED || st == TG_ERR_CAPACITY || st == TG_ERR_LIMIT || st == TG_ERR_STATE || st == TG_ERR_MEMORY;
  if (!known || (st != TG_OK && strlen(text) == 0)) {
    fprintf(stderr, "status %d: %s\n", st, text);
    abort();
  }
}

#endif
