// flight_strands.c: see flight_strands.h.
#include "coll/flight_strands.h"

#include "math/d3.h"

typedef struct Strand { double length, speed, acceleration, jerk; } Strand;

static Strand strand(const tgiStretch *k, int i) {
  const tgModel *m = k->m;
  Strand x = {0, 0, 0, 0};
  double at[2][3];
  int body[2];
  for (int side = 0; side < 2; side++) {
    int site = m->strand_site[2 * i + side];
    body[side] = m->site_body[site];
    for (int c = 0; c < 3; c++) at[side][c] = tgRe(k->pose->site_xpos[3 * site + c]);
  }
  int stop = tgi_common_dof(m, body[0], body[1]);
  for (int side = 0; side < 2; side++) {
    tgiSpeeds R = tgi_stretch_speeds(k, body[side], stop, at[side], 0);
    x.speed += R.speed;
    x.acceleration += R.acceleration;
    x.jerk += R.jerk;
  }
  x.length = tgi_d3_distance(at[0], at[1]);
  return x;
}

tgiStrandsBound tgi_strands_bound(const tgiStretch *k, int tendon) {
  const tgModel *m = k->m;
  tgiStrandsBound b = {.span = k->span};
  for (int i = m->ten_strandadr[tendon]; i < m->ten_strandadr[tendon] + m->ten_strandnum[tendon]; i++) {
    Strand x = strand(k, i);
    double share = tgRe(m->strand_share[i]), v = x.speed, a = x.acceleration;
    if (v == 0) continue;
    b.span = fmin(b.span, 0.25 * x.length / v);   // in which no strand comes to less than 3/4 of its length
    b.rate += share * v;
    b.shorter += share * a;
    if (x.length == 0) continue;
    double turn = v / (0.75 * x.length);
    b.longer += share * (a + v * turn);
    b.jerk += share * (x.jerk + 3 * turn * a + 3 * v * turn * turn);
  }
  return b;
}
