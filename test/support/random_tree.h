// random_tree.h: MJCF of random trees of capsules, whose links begin in each other, above a plane.
#ifndef TG_TEST_SUPPORT_RANDOM_TREE_H
#define TG_TEST_SUPPORT_RANDOM_TREE_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"

enum { TGT_TREE_LINKS = 20, TGT_TREE_TEXT = 16384 };
typedef struct tgtTree { int n, parent[TGT_TREE_LINKS]; char link[TGT_TREE_LINKS][400]; } tgtTree;

static inline void tgt_direction(tgtRandom *r, double length, double out[3]) {
  double sum = 0;
  for (int i = 0; i < 3; i++) {
    out[i] = tgt_normal(r);
    sum += out[i] * out[i];
  }
  for (int i = 0; i < 3; i++) out[i] *= length / sqrt(sum);
}

static inline void tgt_draw_tree(int seed, bool fixed, double damping, tgtTree *t) {
  tgtRandom r = {.s = (uint64_t)seed + 1};
  double end[TGT_TREE_LINKS][3], axis[3], zero[3] = {0, 0, fixed ? 2 : 0.5};
  t->n = 5 + (int)tgt_uniform(&r, 0, 15.999);
  for (int i = 0; i < t->n; i++) {
    int least = i > 3 ? i - 3 : 0;
    t->parent[i] = i == 0 ? -1 : least + (int)tgt_uniform(&r, 0, i - least - 1e-9);
    tgt_direction(&r, 1, axis);
    tgt_direction(&r, tgt_uniform(&r, 0.1, 0.3), end[i]);
    const double *at = i == 0 ? zero : end[t->parent[i]];
    char joint[160] = "<freejoint/>";
    if (i > 0 || fixed)
      snprintf(joint, sizeof joint, "<joint axis=\"%.9g %.9g %.9g\" damping=\"%g\"/>", axis[0], axis[1], axis[2], damping);
    snprintf(t->link[i], sizeof t->link[i],
             "<body name=\"link%d\" pos=\"%.9g %.9g %.9g\">%s<geom type=\"capsule\" size=\"%.9g\" fromto=\"0 0 0 %.9g %.9g %.9g\"/>", i,
             at[0], at[1], at[2], joint, tgt_uniform(&r, 0.02, 0.05), end[i][0], end[i][1], end[i][2]);
  }
}

static inline void tgt_write_link(const tgtTree *t, int i, char *text) {
  strcat(text, t->link[i]);
  for (int k = i + 1; k < t->n; k++)
    if (t->parent[k] == i) tgt_write_link(t, k, text);
  strcat(text, "</body>");
}

// Links that begin at one place, the end of their parent, do not meet.
static inline void tgt_exclude_siblings(const tgtTree *t, char *text) {
  for (int i = 0; i < t->n; i++)
    for (int k = 0; k < i; k++)
      if (t->parent[i] == t->parent[k])
        sprintf(text + strlen(text), "<exclude body1=\"link%d\" body2=\"link%d\"/>", i, k);
}

enum { TGT_TREE_APART, TGT_TREE_MEETS, TGT_TREE_MEETS_BUT_SIBLINGS };

/// A tree of 5 to 20 capsules, 0.1 to 0.3 m long, 20 to 50 mm thick, of 1000 kg/m^3, on hinges about random axes with that damping;
/// the first on a free joint 0.5 m above the plane, or on a hinge at 2 m. contact: with
/// all but neighbours, or also but links that begin at one place, or with none.
static inline void tgt_random_tree(int seed, bool fixed, double damping, int contact, char text[TGT_TREE_TEXT]) {
  tgtTree t;
  tgt_draw_tree(seed, fixed, damping, &t);
  snprintf(text, TGT_TREE_TEXT, "<mujoco><default><geom density=\"1000\" friction=\".8\" contype=\"%d\" conaffinity=\"%d\"/></default>"
           "<worldbody><geom type=\"plane\" size=\"9 9 1\"/>", contact != TGT_TREE_APART, contact != TGT_TREE_APART);
  tgt_write_link(&t, 0, text);
  strcat(text, "</worldbody><contact>");
  if (contact == TGT_TREE_MEETS_BUT_SIBLINGS) tgt_exclude_siblings(&t, text);
  strcat(text, "</contact></mujoco>");
}

#endif
