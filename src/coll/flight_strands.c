// flight_strands.c: see flight_strands.h.
#include "coll/flight_strands.h"

#include "math/d3.h"

typedef struct Strand { double length, speed, acceleration; } Strand;

static Strand strand(const tgiStretch *k, int i) {
  const tgModel *m = k->m;
  Strand x = {0, 0, 0};
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
  }
  x.length = tgi_d3_distance(at[0], at[1]);
  return x;
}

tgiStrandsBound tgi_strands_bound(const tgiStretch *k, int tendon) {
  const tgModel *m = k->m;
  tgiStrandsBound b = {.span = k->span};
  for (int i = m->ten_strandadr[tendon]; i < m->ten_strandadr[tendon] + m->ten_strandnum[tendon]; i++) {
    Strand x = strand(k, i);
    double share = tgRe(m->strand_share[i]);
    if (x.speed == 0) continue;
    b.span = fmin(b.span, 0.5 * x.length / x.speed);   // in which no strand comes to less than half of its length
    b.rate += share * x.speed;
    b.shorter += share * x.acceleration;
    b.longer += share * (x.acceleration + (x.length > 0 ? 2 * x.speed * x.speed / x.length : 0));
  }
  return b;
}
