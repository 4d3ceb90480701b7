// tendon.h: spatial tendons, which run from site to site: length, Jacobian, and the derivative of that.
//
// With a strand from p_a to p_b, u = (p_b - p_a)/|p_b - p_a| and its share w,
//   length = sum w |p_b - p_a|,    J = sum w ((p_b x u; u)' J_b - (p_a x u; u)' J_a),
// J_a, J_b the Jacobians of the bodies that carry the sites. A strand of no length has no direction: its J is 0.
#ifndef TG_KIN_TENDON_H
#define TG_KIN_TENDON_H

#include "kin/kinematics.h"

static inline bool tgi_is_spatial(const tgModel *m, int t) { return m->ten_strandnum[t] > 0; }
/// Dof d moves a site of the spatial tendon t.
bool tgi_strands_moved(const tgModel *m, int t, int d);
/// A dof that changes the length of tendon t, of either kind: all such dofs are of one set (dof_set).
int tgi_tendon_lead(const tgModel *m, int t);
/// Length of the spatial tendon t where the pose has its sites [m].
tgReal tgi_strands_length(const tgModel *m, const tgPose *pose, int t);
/// row (nv) += scale J.
void tgi_strands_row(const tgSim *s, const tgPose *pose, int t, tgReal scale, tgReal *row);
/// J v, v (nv).
tgReal tgi_strands_rate(const tgSim *s, const tgPose *pose, int t, const tgReal *v);
/// J_i, and dJ_i/dq_j.
tgReal tgi_strands_moment(const tgModel *m, const tgPose *pose, int t, int i);
tgReal tgi_strands_curve(const tgModel *m, const tgPose *pose, int t, int i, int j);
/// gq (nv, may be NULL) += scale d(J v)/dq with v held; p (may be NULL) += the gradient of scale J v + along length in the sites'
/// places and in what places bodies (tgi_place_vjp).
void tgi_strands_vjp(const tgSim *s, const tgPose *pose, int t, const tgReal *v, tgReal scale, tgReal along, tgReal *gq, tgParamGrad *p);
/// True where a strand has no length: J is that of neither side.
bool tgi_strands_degenerate(const tgModel *m, const tgPose *pose, int t);

#endif
