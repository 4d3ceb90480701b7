// shapes.h: the bodies that sums over trees are tested on, at random poses.
#ifndef TG_TEST_CONTACT_BARRIER_SHAPES_H
#define TG_TEST_CONTACT_BARRIER_SHAPES_H

#include "test/contact/barrier/bodies.h"

enum { TGT_BALL, TGT_BOX, TGT_TORUS, TGT_ROD, TGT_PLATE, TGT_SHAPES };
static const char *const tgt_shape_name[TGT_SHAPES] = {"ball", "box", "torus", "rod", "plate"};

static inline void tgt_shape(tgtBody *b, int shape, tgiTreeForm form) {
  switch (shape) {
    case TGT_BALL: tgt_body_primitive(b, TG_GEOM_SPHERE, 0.1, 0, 0, 0.1, form); break;
    case TGT_BOX: tgt_body_primitive(b, TG_GEOM_BOX, 0.1, 0.15, 0.07, 0.1, form); break;
    case TGT_TORUS: tgt_body_torus(b, 0.2, 0.06, 10, 6, form); break;
    case TGT_ROD: tgt_body_grid(b, 0.02, 0.03, 0.4, 3, form); break;
    default: tgt_body_primitive(b, TG_GEOM_BOX, 2, 2, 0.1, 0.1, form); break;
  }
}

static inline double tgt_size(const tgtBody *b) { return b->nominal[0]; }

// random poses about the origin, `gap` (of the sum of the bounding radii) apart at least
static inline void tgt_scatter(tgtRandom *r, tgtBody *a, tgtBody *b, double gap) {
  tgReal x[3], R[9];
  double w[3], u[3], n = 0, d = tgt_size(a) + tgt_size(b);
  for (int i = 0; i < 3; i++) {
    w[i] = tgt_normal(r);
    u[i] = tgt_normal(r);
    n += u[i] * u[i];
  }
  tgt_rotation(w, R);
  for (int i = 0; i < 3; i++) x[i] = u[i] / sqrt(n) * d * gap;
  tgt_body_move(a, x, R);
  for (int i = 0; i < 3; i++) w[i] = tgt_normal(r), x[i] = 0.3 * tgt_normal(r) * 0.1;
  tgt_rotation(w, R);
  tgt_body_move(b, x, R);
}

static inline void tgt_near_sum(const tgiPairSum *a, const tgiPairSum *b, double tol, const char *what) {
  const tgReal *x = (const tgReal *)a, *y = (const tgReal *)b;
  double scale[3] = {fabs(tgRe(b->P)), 0, 0};
  for (int k = 1; k < 28; k++) scale[k < 7 ? 1 : 2] = fmax(scale[k < 7 ? 1 : 2], fabs(tgRe(y[k])));
  for (int k = 0; k < 28; k++)
    check_true(fabs(tgRe(x[k] - y[k])) <= tol * scale[k < 1 ? 0 : k < 7 ? 1 : 2], "%s: entry %d is %.17g, twin %.17g",
               what, k, tgRe(x[k]), tgRe(y[k]));
}

#endif
