// grid_lanes.h: points over the grids of a box (grid.h), one a lane: weights of its six sides. Included by kernels only.
#ifndef TG_CONTACT_SOFTMIN_GRID_LANES_H
#define TG_CONTACT_SOFTMIN_GRID_LANES_H

#include "contact/softmin/field_lanes.h"

// An exponential of less than this beside one of 0 is left out: it is below rounding even times the most points that a cloud may have.
#define UNSEEN -60.0

// along an axis: the nearest place's distance squared, the sum of exponentials less its, and the weighted mean of x - y
typedef struct Axis { V squared, sum, mean; } Axis;

TGI_LANE Axis along_axis(const tgiSoftGrid *g, int j, V y) {
  tgReal s = g->step[j], two = 1 / g->eps1;
  double last = g->count[j] - 1;
  V at = y - g->first[j], k = v_round(v_min(v_max(at * (last > 0 ? 1 / s : 0), v_all(0)), v_all(last)));
  V r = at - k * s, left = v_all(last) - k;
  Axis a = {.squared = r * r, .sum = v_all(1), .mean = v_all(0)};
  if (g->most[j] > 0) {
    // At most 0, but for rounding, where there is a place on that side; beyond the last one what is left out anyway
    // must be finite. A bound of 0 would cut off the derivative midway between two places.
    V up = v_exp(v_min((2 * r - s) * (s * two), v_all(1))), down = v_exp(v_min((-2 * r - s) * (s * two), v_all(1))), u = up, d = down;
    for (int m = 1; m <= g->most[j]; m++) {
      V over = v_pick(v_less(v_all(m - 0.5), left), u * g->decay[j][m], v_all(0)),
        under = v_pick(v_less(v_all(m - 0.5), k), d * g->decay[j][m], v_all(0));
      a.sum += over + under;
      a.mean += m * (over - under);
      u *= up;
      d *= down;
    }
  }
  a.mean = s * a.mean / a.sum - r;
  return a;
}

// A box about points at y: weights of its sides, 2 j low and 2 j + 1 high, that sum to 1, and the heights over them;
// seen: which weigh in some lane.
typedef struct Sides { Axis axis[3]; V weight[6], s[6], phi; bool seen[6]; } Sides;

TGI_LANE void sides_at(const tgiSoftGrid *g, const V y[3], Sides *b) {
  V exponent[6], most = v_all(-INFINITY), total = v_all(0), mean = v_all(0);
  tgReal over = -1 / g->eps1;
  for (int j = 0; j < 3; j++) b->axis[j] = along_axis(g, j, y[j]);
  for (int f = 0; f < 6; f++) {
    int j = f / 2;
    b->s[f] = (f % 2 ? y[j] : -y[j]) - g->half[j];
    exponent[f] = (b->s[f] * b->s[f] + b->axis[(j + 1) % 3].squared + b->axis[(j + 2) % 3].squared) * over;
    most = v_max(most, exponent[f]);
  }
  for (int f = 0; f < 6; f++) {
    V x = exponent[f] - most;
    b->weight[f] = v_all(0);
    // what is no number is seen
    b->seen[f] = m_bits(v_less(x, v_all(UNSEEN))) != (1u << TGI_WIDTH) - 1;
    if (!b->seen[f]) continue;
    b->weight[f] = v_exp(x) * b->axis[(f / 2 + 1) % 3].sum * b->axis[(f / 2 + 2) % 3].sum;
    total += b->weight[f];
    mean += b->weight[f] * b->s[f];
  }
  for (int f = 0; f < 6; f++) b->weight[f] /= total;
  b->phi = mean / total;
}

// outward normal of a side
TGI_LANE void side_normal(int f, V n[3]) {
  for (int k = 0; k < 3; k++) n[k] = v_all(k != f / 2 ? 0 : f % 2 ? 1 : -1);
}

#endif
