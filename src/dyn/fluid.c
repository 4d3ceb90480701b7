// fluid.c: forces of a medium on the box that has a body's mass and principal inertias. See forces.h.
//
// Based on: MuJoCo's documentation, "Computation: passive forces, inertia model" (the model, not its code) [mujoco fluid].
// Sides b_k = sqrt(6 (I_i + I_j - I_k)/m). In the box's axes, at the centre of mass, y = velocity relative to the medium:
//   viscosity:  force -3 pi d eta y,   torque -pi d^3 eta w,   d = mean of the sides;
//   density:    force_k = -rho/2 b_i b_j |y_k| y_k,   torque_k = -rho/64 b_k (b_i^4 + b_j^4) |w_k| w_k.
// Every component acts along its own axis, so with x_k the six unit screws of the box, f = sum_k phi_k(x_k . U) x_k and
// Phi = sum_k phi_k' x_k x_k', U the velocity relative to the medium.
// When two principal inertias agree the axes are those of the body frame as far as Jacobi's rotations leave them.
#include "dyn/forces.h"

bool tgi_has_fluid(const tgModel *m) { return tgRe(m->opt_density[0]) > 0 || tgRe(m->opt_viscosity[0]) > 0; }

// one Jacobi rotation in the plane (p, q): A <- G' A G, V <- V G
static void rotate_plane(double A[9], double V[9], int p, int q) {
  double apq = A[3 * p + q];
  double theta = (A[4 * q] - A[4 * p]) / (2 * apq);
  double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
  double c = 1 / sqrt(t * t + 1), s = t * c;
  for (int k = 0; k < 3; k++) {
    double x = A[3 * k + p], y = A[3 * k + q];
    A[3 * k + p] = c * x - s * y;
    A[3 * k + q] = s * x + c * y;
  }
  for (int k = 0; k < 3; k++) {
    double x = A[3 * p + k], y = A[3 * q + k];
    A[3 * p + k] = c * x - s * y;
    A[3 * q + k] = s * x + c * y;
    x = V[3 * k + p];
    y = V[3 * k + q];
    V[3 * k + p] = c * x - s * y;
    V[3 * k + q] = s * x + c * y;
  }
}

// cyclic Jacobi: A becomes diagonal, the columns of V its axes
static void principal_axes(double A[9], double V[9]) {
  for (int i = 0; i < 9; i++) V[i] = i % 4 == 0;
  double scale = fabs(A[0]) + fabs(A[4]) + fabs(A[8]);
  for (int sweep = 0; sweep < 30; sweep++) {
    int turned = 0;
    for (int p = 0; p < 2; p++)
      for (int q = p + 1; q < 3; q++)
        if (fabs(A[3 * p + q]) > 1e-17 * scale) {
          rotate_plane(A, V, p, q);
          turned = 1;
        }
    if (!turned) return;
  }
}

void tgi_fluid_boxes(tgSim *s) {
  const tgModel *m = &s->m;
  for (int b = 0; b < m->nbody; b++) {
    tgReal *box = s->fluid_box + 12 * b;
    const tgReal *J = m->body_inertia + 6 * b;
    double A[9] = {tgRe(J[0]), tgRe(J[3]), tgRe(J[4]), tgRe(J[3]), tgRe(J[1]), tgRe(J[5]), tgRe(J[4]), tgRe(J[5]), tgRe(J[2])};
    double V[9], mass = tgRe(m->body_mass[b]);
    for (int i = 0; i < 12; i++) box[i] = 0;
    if (b == 0 || !(mass > 0)) continue;  // a body without mass has no box
    principal_axes(A, V);
    for (int k = 0; k < 3; k++) box[k] = sqrt(fmax(1e-15, A[4 * ((k + 1) % 3)] + A[4 * ((k + 2) % 3)] - A[4 * k]) / mass * 6);
    for (int i = 0; i < 9; i++) box[3 + i] = V[i];
  }
}

// drag along one axis: phi(y) = -lin y - quad |y| y, slope phi'
static tgReal drag(tgReal y, tgReal lin, tgReal quad, tgReal *slope) {
  *slope = -lin - 2 * quad * tgAbs(y);
  return -(lin + quad * tgAbs(y)) * y;
}

static void add_axis(tgReal *f, tgReal *Phi, const tgReal *x, tgReal phi, tgReal slope) {
  tgi_sp_axpy(f, phi, x);
  if (Phi == NULL) return;
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) Phi[6 * i + j] += slope * x[i] * x[j];
}

void tgi_fluid_force(const tgSim *s, const tgPose *pose, int b, tgReal *f, tgReal *Phi) {
  const tgModel *m = &s->m;
  const tgReal *box = s->fluid_box + 12 * b;
  tgReal rho = m->opt_density[0], eta = m->opt_viscosity[0], R[9], U[6], d = (box[0] + box[1] + box[2]) / 3;
  tgi_sp_zero(f);
  for (int i = 0; Phi != NULL && i < 36; i++) Phi[i] = 0;
  if (!(tgRe(box[0]) > 0)) return;
  tgi_m3_mul(R, pose->xmat + 9 * b, box + 3);
  tgi_sp_copy(U, pose->V + 6 * b);
  tgi_v3_sub(U + 3, U + 3, m->opt_wind);
  for (int k = 0; k < 3; k++) {
    tgReal x[6] = {0, 0, 0, 0, 0, 0}, axis[3], slope, phi;
    tgReal p = box[(k + 1) % 3], q = box[(k + 2) % 3];
    tgi_m3_col(axis, R, k);
    tgi_v3_copy(x, axis);
    phi = drag(tgi_sp_dot(x, U), TG_PI * d * d * d * eta, rho * box[k] * (p * p * p * p + q * q * q * q) / 64, &slope);
    add_axis(f, Phi, x, phi, slope);
    tgi_sp_screw(x, pose->xcom + 3 * b, axis);
    phi = drag(tgi_sp_dot(x, U), 3 * TG_PI * d * eta, rho * p * q / 2, &slope);
    add_axis(f, Phi, x, phi, slope);
  }
}
