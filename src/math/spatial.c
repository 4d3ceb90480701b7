// spatial.c: see spatial.h.
#include "math/spatial.h"

// n = I w + h x v, f = m v - h x w  [RBDA (2.63)]
void tgi_sp_inertia_mul(tgReal *r, const tgReal *I10, const tgReal *m) {
  const tgReal *h = I10 + 1, *i = I10 + 4, *w = m, *v = m + 3;
  tgReal hv[3], hw[3];
  tgi_v3_cross(hv, h, v);
  tgi_v3_cross(hw, h, w);
  r[0] = i[0] * w[0] + i[3] * w[1] + i[4] * w[2] + hv[0];
  r[1] = i[3] * w[0] + i[1] * w[1] + i[5] * w[2] + hv[1];
  r[2] = i[4] * w[0] + i[5] * w[1] + i[2] * w[2] + hv[2];
  for (int k = 0; k < 3; k++) r[3 + k] = I10[0] * v[k] - hw[k];
}
