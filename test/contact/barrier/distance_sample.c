// distance_sample.c: the barrier of distances for another program to check (test/peer/test_ipctk.py): a line `edges reach everywhere` and
// twelve coordinates in, a line `D P`, 12 first and 144 second derivatives of D, and as many of P out.
#include <stdio.h>
#include <string.h>

#include "contact/barrier/pair/distance.h"

static void print(const tgReal *x, int n) {
  for (int i = 0; i < n; i++) printf(" %.17g", tgRe(x[i]));
}

int main(void) {
  int edges, everywhere;
  double reach;
  while (scanf("%d %lf %d", &edges, &reach, &everywhere) == 3) {
    tgReal x[12], g[12], H[144];
    const tgiDistanceLaw law = {.reach = reach, .everywhere = everywhere != 0};
    tgiStencil s;
    for (int i = 0; i < 12; i++) {
      double value;
      if (scanf("%lf", &value) != 1) return 1;
      x[i] = value;
    }
    memset(&s, 0, sizeof s);
    tgi_stencil(x, edges != 0, &law, true, &s);
    tgi_features_derivatives(&s.features, g, H);
    print(&s.features.D, 1);
    print(&s.P, 1);
    print(g, 12);
    print(H, 144);
    print(s.g, 12);
    print(s.H, 144);
    printf("\n");
  }
  return 0;
}
