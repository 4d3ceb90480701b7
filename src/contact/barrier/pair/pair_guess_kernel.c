// pair_guess_kernel.c: planes that the solves of a block start from, found in single precision, in which vectors hold twice as many pairs.
// Compiled for every width of lanes.h; of width 1, the plain twin and the complex build, there are none.
//
// The start and Newton's steps are those of pair_kernel.c, about the smaller triangle and in units of the larger. Where planes come out
// wrong, as at gaps that single precision does not see, the solve takes its own start: what it ends at depends on them by rounding alone.
#include "contact/barrier/pair/pair_kernel.h"

#if !defined(TGI_WIDTH) || TGI_WIDTH == 1
void tgi_pair_guess_kernel_1(tgiPairBlock *b) { (void)b; }
#else
#define TGI_LANES_SINGLE
#include "contact/barrier/pair/pair_newton_lanes.h"

// of as many doubles, of which no processor may have vectors to pass
#define WIDE(at) (*(const Anywhere *)(at))
#define NARROW(a) __builtin_convertvector(a, V)
#define WIDEN(a) __builtin_convertvector(a, Wide)

// as place() of pair_lanes.h, the first triangle being A whichever is smaller; *centre and *scale: of the coordinates
TGI_LANE void place_near(Plane *p, const tgiPairBlock *b, int lane, Wide centre[3], V *scale) {
  Wide x[6][3];
  V edge[2][2][3], reach[2];
  for (int k = 0; k < 6; k++)
    for (int i = 0; i < 3; i++) x[k][i] = WIDE(b->x[3 * k + i] + lane);
  for (int half = 0; half < 2; half++) {
    reach[half] = v_all(0);
    for (int e = 0; e < 2; e++)
      for (int i = 0; i < 3; i++) {
        edge[half][e][i] = NARROW(x[3 * half + 1 + e][i] - x[3 * half][i]);
        reach[half] = v_max(reach[half], v_abs(edge[half][e][i]));
      }
  }
  Wide second = WIDEN(v_pick(v_less(reach[1], reach[0]), v_all(1), v_all(0)));
  V round = 0.5 * (v_load(b->radius[0] + lane) + v_load(b->radius[1] + lane));
  p->size = round;
  for (int i = 0; i < 3; i++) {
    centre[i] = x[0][i] + second * (x[3][i] - x[0][i]);
    for (int k = 0; k < 6; k++) {
      p->p[k][i] = NARROW(k < 3 ? x[k][i] - centre[i] : centre[i] - x[k][i]);
      p->size = v_max(p->size, v_abs(p->p[k][i]));
    }
  }
  *scale = p->size;
  V per = 1.0 / v_max(p->size, v_all(TGI_PAIR_TINY));
  for (int k = 0; k < 6; k++)
    for (int i = 0; i < 3; i++) p->p[k][i] *= per;
  p->size = v_all(1);
  p->area = reach[0] * reach[1] * per * per;
  p->round = p->ball = p->less[0] = p->less[1] = round * per;
  p->oval = false;
  p->grown = v_all(1);
  p->swapped = m_from(0);
  for (int half = 0; half < 2; half++) {
    V is = v_load(b->segment[half] + lane);
    p->times[half] = 1.0 + 0.5 * is;
    p->third[half] = 1.0 - is;
  }
}

// the columns from lane on that are not warm, of which those become so that have a plane
static void guess(tgiPairBlock *b, int lane) {
  Plane p;
  V scale, steps;
  Wide centre[3];
  unsigned cold_ones = ~(b->warm >> lane) & ((1u << TGI_SINGLE) - 1);
  if (cold_ones == 0) return;
  place_near(&p, b, lane, centre, &scale);
  for (int i = 0; i < 3; i++) p.u[i] = v_all(0);
  p.delta = v_all(0);
  Mask good = cold(&p, m_from(cold_ones));
  if (!m_any(good)) return;
  look(&p);
  descend(&p, good, &steps);
  Wide delta = WIDEN(p.delta * scale), u[3];
  for (int i = 0; i < 3; i++) {
    u[i] = WIDEN(p.u[i]);
    delta -= u[i] * centre[i];
  }
  unsigned bits = m_bits(good);
  for (int l = 0; l < TGI_SINGLE; l++) {
    if ((bits >> l & 1) == 0) continue;
    for (int i = 0; i < 3; i++) b->u[i][lane + l] = u[i][l];
    b->delta[lane + l] = delta[l];
  }
  b->warm |= bits << lane;
}

void KERNEL(tgi_pair_guess_kernel)(tgiPairBlock *b) {
  for (int lane = 0; lane < TGI_PAIR_LANES && lane < b->count; lane += TGI_SINGLE) guess(b, lane);
}
#endif
