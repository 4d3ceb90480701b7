// pairs.c: see pairs.h.
#include "contact/barrier/pairs.h"

const char *const pair_kind[PAIR_KINDS] = {"face-face", "edge-edge", "vertex-face", "vertex-vertex", "vertex-edge", "flat vertex-edge",
                                           "flat vertex-vertex", "flat edge-edge", "faces of boxes", "sides of boxes", "apart"};

enum { VERTEX = 1, EDGE = 2, FACE = 3 };

// a triangle of unit size above z = 0 whose part nearest to it holds the origin; flat: in the plane of x and z
static void half(tgtRandom *r, int part, double turn, double sliver, bool flat, double t[9]) {
  double p[3][2];
  for (int k = 0; k < 3; k++) {  // around the origin, wider than 2/3
    double angle = 2 * TG_PI * k / 3 + tgt_uniform(r, -0.5, 0.5), radius = tgt_uniform(r, 0.4, 1);
    p[k][0] = radius * cos(angle);
    p[k][1] = radius * sin(angle) * sliver;
  }
  if (part == EDGE) {
    double w = tgt_uniform(r, 0.2, 0.8);
    for (int i = 0; i < 2; i++) {
      double d = p[1][i] - p[0][i];
      p[0][i] = -w * d;
      p[1][i] = (1 - w) * d;
    }
  }
  if (part == VERTEX) p[0][0] = p[0][1] = 0;
  for (int k = 0; k < 3; k++) {
    double rise = k < part ? 0 : tgt_uniform(r, 0.2, 1);
    t[3 * k] = cos(turn) * p[k][0] - sin(turn) * p[k][1];
    t[3 * k + 1] = flat ? 0 : sin(turn) * p[k][0] + cos(turn) * p[k][1];
    t[3 * k + 2] = rise;
  }
}

// half of a rectangle with the origin inside, or, side by side, with one side on the y axis, A to the right of it
static void box_half(tgtRandom *r, bool upper, bool side, double sliver, double t[9]) {
  static const double corner[3][2] = {{0, 0}, {1, 0}, {0, 1}};
  double flip[2] = {tgt_next(r) % 2 == 0 ? 1 : -1, tgt_next(r) % 2 == 0 ? 1 : -1};
  double shift[2] = {side ? 0 : tgt_uniform(r, 0.2, 0.33), tgt_uniform(r, 0.2, 0.33)};
  if (side) flip[0] = upper ? 1 : -1;
  for (int k = 0; k < 3; k++) {
    t[3 * k] = flip[0] * (corner[k][0] - shift[0]);
    t[3 * k + 1] = flip[1] * sliver * (corner[k][1] - shift[1]);
    t[3 * k + 2] = 0;
  }
}

static void rotation(tgtRandom *r, double R[9]) {
  double q[4], n = 0;
  for (int i = 0; i < 4; i++) {
    q[i] = tgt_normal(r);
    n += q[i] * q[i];
  }
  n = sqrt(n);
  for (int i = 0; i < 4; i++) q[i] /= n;
  double w = q[0], a = q[1], b = q[2], c = q[3];
  double M[9] = {1 - 2 * (b * b + c * c), 2 * (a * b - c * w), 2 * (a * c + b * w), 2 * (a * b + c * w), 1 - 2 * (a * a + c * c),
                 2 * (b * c - a * w),     2 * (a * c - b * w), 2 * (b * c + a * w), 1 - 2 * (a * a + b * b)};
  for (int i = 0; i < 9; i++) R[i] = M[i];
}

void pair_make(tgtRandom *r, int kind, double gap, const double size[2], double sliver, double offset, double x[18]) {
  static const int part[PAIR_KINDS][2] = {{FACE, FACE}, {EDGE, EDGE}, {VERTEX, FACE}, {VERTEX, VERTEX}, {VERTEX, EDGE},
                                          {VERTEX, EDGE}, {VERTEX, VERTEX}, {EDGE, EDGE}, {FACE, FACE}, {FACE, FACE}, {VERTEX, VERTEX}};
  bool flat = kind == FLAT_VERTEX_EDGE || kind == FLAT_VERTEX_VERTEX || kind == FLAT_EDGE_EDGE;
  double t[18], R[9], turn = tgt_uniform(r, 0, 2 * TG_PI), shift[3];
  half(r, part[kind][0], flat ? 0 : turn, sliver, flat, t);
  half(r, part[kind][1], flat ? 0 : kind == EDGE_EDGE ? turn + tgt_uniform(r, 0.5, 2.5) : tgt_uniform(r, 0, 2 * TG_PI),
       sliver, flat, t + 9);
  bool box = kind == BOX_FACES || kind == BOX_SIDES;
  if (box) {
    box_half(r, true, kind == BOX_SIDES, sliver, t);
    box_half(r, false, kind == BOX_SIDES, sliver, t + 9);
  }
  if (kind == APART)
    for (int k = 0; k < 18; k++) t[k] = tgt_uniform(r, -0.5, 0.5);
  for (int k = 0; k < 18; k++) t[k] *= k < 9 ? size[0] : k % 3 == 2 && kind != APART ? -size[1] : size[1];
  for (int k = kind == BOX_SIDES ? 0 : 2; k < 9; k += 3) t[k] += gap + (kind == APART ? size[0] + size[1] : 0);
  rotation(r, R);
  for (int i = 0; i < 3; i++) shift[i] = offset * tgt_uniform(r, -1, 1);
  for (int k = 0; k < 6; k++)
    for (int i = 0; i < 3; i++) x[3 * k + i] = R[3 * i] * t[3 * k] + R[3 * i + 1] * t[3 * k + 1] + R[3 * i + 2] * t[3 * k + 2] + shift[i];
}

double pair_any(tgtRandom *r, double x[18]) {
  double scale = pow(10, tgt_uniform(r, -3, 3)), size[2], sliver = pow(10, tgt_uniform(r, -6, 3));
  for (int i = 0; i < 2; i++) size[i] = scale * pow(10, tgt_uniform(r, -1.5, 1.5));
  double least = fmin(size[0], size[1]), gap = least * pow(10, tgt_uniform(r, -9, 1));
  pair_make(r, (int)(tgt_next(r) % PAIR_KINDS), gap, size, fmin(1, sliver), 0.1 * least, x);
  return gap;
}
