// no_factor.c: why a mass matrix has no factor: a state that ran away, or bodies without mass.
#include "dyn/dynamics.h"

#include "base/status.h"
#include "sim/sim.h"

// What no scene has: a rate beyond FAST [m/s, rad/s], a body farther than FAR [m]. There 2e-16 of a mass times the
// distance's square, what an inertia about the origin is rounded by, is (1.5 mm)^2 of it.
static const double FAST = 1e6, FAR = 1e5;

// the row (of `width` numbers) with the largest number beyond `most`, or with the first that is none; -1: there is no such row
static int largest(const tgReal *x, int n, int width, double most) {
  int at = -1;
  for (int i = 0; i < n * width; i++) {
    double size = fabs(tgRe(x[i]));
    if (size <= most) continue;
    at = i / width;
    if (isnan(size)) return at;
    most = size;
  }
  return at;
}

tgStatus tgi_no_factor(tgSim *s, const tgPose *pose, const char *otherwise) {
  const tgModel *m = &s->m;
  char label[160];
  static const char advice[] =
      "Take shorter steps, smaller forces, or a start in which joints are inside their limits and bodies do not overlap.";
  int dof = largest(pose->vel, m->nv, 1, FAST), body = largest(pose->xpos, m->nbody, 3, FAR);
  if (dof >= 0)
    return tgi_error(&s->error, TG_ERR_INVALID, "The state ran away: %s comes to a rate of %.3g. %s",
                     tgi_model_label(m, TG_THING_JOINT, m->dof_jnt[dof], label, sizeof label), tgRe(pose->vel[dof]), advice);
  if (body >= 0)
    return tgi_error(&s->error, TG_ERR_INVALID, "The state ran away: %s is %.3g m from the origin. %s",
                     tgi_model_label(m, TG_THING_BODY, body, label, sizeof label),
                     tgRe(tgi_v3_norm(pose->xpos + 3 * body)), advice);
  return tgi_error(&s->error, TG_ERR_INVALID,
                   "The mass matrix is not positive definite at this pose%s; look for bodies without mass or inertia "
                   "that a joint moves.", otherwise);
}
