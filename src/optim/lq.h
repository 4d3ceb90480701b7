// lq.h: the backward pass of iterative LQR: the linear-quadratic problem along a trajectory, with limits on the controls.
#ifndef TG_OPTIM_LQ_H
#define TG_OPTIM_LQ_H

#include "base/layout.h"
#include "optim/boxqp.h"
#include "optim/task.h"

/// Deviations (dx_t, du_b) from a trajectory of T steps, nx = 2 nv + na tangent coordinates, controls held over blocks of `every` steps:
///   dx_{t+1} = D_t (dx_t, du_b),  cost sum_t g_t . z + z' H_t z / 2.  Policy of block b: du_b = k_b + K_b dx at its first step.
typedef struct tgLq {
  int nx, nu, steps, every, nblock;
  tgExpansion e;            // D, g, H as tgi_evaluator_roll leaves them
  bool curved;              // second derivatives of the steps count
  double *F;                // T x nx x nz x nz, nz = nx + nu: d2 x_{t+1}/dz2 at each step; room where curved
  double *k, *K;            // nblock x nu; nblock x nu x nx
  double *Vx, *Vxx;         // nx; nx x nx: the value at state 0 under the policy
  double expected[2];       // a expected[0] + a^2 expected[1]: change of the cost for k scaled by a (negative)
  double *work;
  tgBoxQp qp;
} tgLq;

/// Places all arrays of a problem whose sizes (nx, nu, steps, every) are set.
void tgi_lq_place(tgLq *lq, tgLayout *l);

/// Goes backwards. u, low, high (nblock x nu): the controls deviated from and their limits. mu >= 0 penalises deviations of the state at
/// each block's end. False: a control Hessian is not positive definite; raise mu.
bool tgi_lq_backward(tgLq *lq, const double *u, const double *low, const double *high, double mu);

#endif
