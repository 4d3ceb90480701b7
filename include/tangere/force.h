// force.h: what pushed in the last step of a simulation: its contacts, its impacts, and what joints carried; and the way that it took.
#ifndef TANGERE_FORCE_H
#define TANGERE_FORCE_H

#include "tangere/step.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What friction does at a contact.
typedef enum tgContactState {
  TG_CONTACT_OPEN,         ///< no normal force
  TG_CONTACT_STICKING,     ///< friction holds it. Where friction is smooth: it slides no faster than the contact model's `slip_speed`
  TG_CONTACT_SLIDING       ///< friction is at its bound along one tangent at least, or there is none. Where friction is smooth: it
                           ///< slides faster than `slip_speed`
} tgContactState;
/// "open", "sticking", "sliding"; NULL for no such state.
TG_API const char *tg_contact_state_text(tgContactState state);

/// A contact of a step, as MuJoCo has it: between geom1 and geom2, geom1 < geom2. Forces are means over the step, world axes
/// unless said otherwise, on body2; on body1 acts the opposite, at the same point. Models of rows (`lcp`, `toi`) have one a contact
/// point, laws one a pair of geoms: the resultant of all of their surfaces' points.
typedef struct tgContactInfo {
  int geom1, geom2;        ///< between which it is
  int body1, body2;        ///< which they belong to
  tgContactState state;    ///< open, sticking or sliding
  double distance;         ///< between the surfaces, below 0 where they overlap [m]; of `barrier`, `sdrs` and `ipc` a lower bound. Where
                           ///< the contact model looks: at the start of the step (`softmin`; `lcp` with `contact_rule:
                           ///< touching`), where the velocity at the start leads (`lcp`), at an impact or the start of a flow
                           ///< (`toi`), at the end of the step (others)
  double point[3];         ///< where the force acts, world [m]
  double frame[9];         ///< row-major; rows are axes in the world: the normal, from geom1 to geom2, and two tangents,
                           ///< right-handed. Of laws the normal is the direction in which the pair would push without friction
  double force[3];         ///< along the axes of the frame: normal, and friction along two tangents [N]
  double world[3];         ///< the same force in world axes [N]
  double torque[3];        ///< about the point, world axes [N m]: of laws, which push at many points, and of torsional and rolling friction
} tgContactInfo;

/// The next contact of those that the last step was made with, right after it; *cursor is 0 before the first:
///     for (int at = 0; tg_sim_next_contact(sim, &at, &contact);) ..
/// false: there is no other, or the last call was not a successful step. A pair that does not push is not among them; a contact point
/// of rows that parts is, without a force. Under the explicit Runge-Kutta method they are those of the start of the step; of a step
/// in parts, each is summed over them. What a contact says is of the part in which it acted last.
TG_API bool tg_sim_next_contact(const tgSim *sim, int *cursor, tgContactInfo *contact);
/// An impact of a step: a contact at an instant at which positions stay and velocities jump.
typedef struct tgImpact {
  double time;             ///< after the start of the step [s]
  tgContactInfo contact;   ///< there; `force` and `world` are impulses [N s], `torque` is one [N m s]
} tgImpact;
/// The impacts of the last step, right after it, by their times: those of contacts that gave an impulse; of limits of joints there are
/// none. Returns how many there are, of which the first `room` go to impact (room entries; NULL with room 0), or a status below 0.
/// Of steps that are cut at their impacts: under `toi`, and under `lcp` with `contact_rule: closing`; others have none. The step's
/// pieces are put together again by what was solved for: that takes time, of the step's order, changes no result and no
/// derivative, and the step itself does not pay for it. TG_ERR_STATE: the last call was not a successful step.
TG_API int tg_sim_impacts(tgSim *sim, tgImpact *impact, int room);
/// The way that the last step took between its two states, right after it: poses after its start, in order, and when: time (room) [s],
/// rising between 0 and h, qpos (room x nq). Returns how many there are, of which the first `room` are told, or a status below 0.
/// The way from one to the next is straight in the joints (tg_model_integrate). Under `barrier` nothing intersects along all
/// of it, by the bound of its Newton steps; there are none where the straight way between the states is proven as good, and
/// the times say only how far along the way a pose is. Under `toi` they are the ends of the step's pieces,
/// where things meet, and poses on the parabolas of joints between them: where going straight would be off by more than half of a gap
/// near by, at most 23 a piece. Under `lcp` with `contact_rule: closing` likewise,
/// without a promise that nothing overlaps. Others have none. A `barrier` step put back from a tape is TG_ERR_STATE where the straight
/// way is not enough.
TG_API int tg_sim_poses_within(tgSim *sim, double *time, tgReal *qpos, int room);
/// wrench (6) += force [N], then torque about the point `at` [N m] (NULL: the world's origin), world axes, of the contact on a
/// body; nothing where it is of other bodies.
TG_API void tg_contact_add_wrench(const tgContactInfo *contact, int body, const double at[3], double wrench[6]);

/// A gradient in what a contact tells: dL/d of its fields of the same names. Zero-initialise.
typedef struct tgContactGrad { double force[3], world[3], torque[3], point[3]; } tgContactGrad;
/// Adjoint of tg_contact_add_wrench with `at` held: adds to grad what gwrench (6) = dL/dwrench is in the contact's fields.
TG_API void tg_contact_add_wrench_vjp(const tgContactInfo *contact, int body, const double at[3], const double gwrench[6],
                                      tgContactGrad *grad);
/// How many contacts tg_sim_next_contact tells of the last step.
TG_API int tg_sim_count_contacts(const tgSim *sim);
/// Adjoint of the contacts of the last step, right after it: from grad (n, in the order of tg_sim_next_contact; n is
/// tg_sim_count_contacts) to dL/dq (nv), dL/dv (nv + na), dL/du (nu), written, not added, and dL/dp, added to it, as tg_sim_step_vjp has
/// them for the state after the step; the label is that of the step's derivative. Any output may be NULL.
/// TG_ERR_UNSUPPORTED names a contact whose field has no derivative under its contact model, and options that hold forces constant.
/// Other errors as tg_sim_step_vjp; TG_ERR_ARG: another n.
TG_API tgStatus tg_sim_contacts_vjp(tgSim *sim, const tgContactGrad *grad, int n, tgReal *dq, tgReal *dv, tgReal *du, tgParamGrad *dp,
                                    tgGradInfo *info);
/// Dense Jacobian of the same, made of one adjoint a row: of each contact 12 rows, force, world, torque and point, columns (q, v, act, u):
/// 12 tg_sim_count_contacts x (2 nv + na + nu), row-major. P (as many rows x the size of dp, columns as in tg_param_grad_values; with
/// dp NULL: not wanted), of which dp is overwritten. Rows of fields that have no derivative are NaN. TG_ERR_UNSUPPORTED: none has.
TG_API tgStatus tg_sim_contacts_jacobian(tgSim *sim, tgReal *D, tgParamGrad *dp, tgReal *P, tgGradInfo *info);
/// What each body's parent put on it through the joints between them in the last step, right after it: wrench (nbody x 6) force [N],
/// then torque about the body's origin (xpos) [N m], world axes; also what a weld to the parent carries, and for trees that are free
/// what floats them: 0 but for their joints' own forces. By Newton and Euler at the pose and velocity of its start and its mean
/// acceleration, with the contacts of tg_sim_next_contact: exact for steps of `lcp` by `contact_rule: touching`, and under
/// `lcp` or no contact model where nothing touches; else to the first order in the step.
/// Torques of motors, springs, limits and friction of the joints themselves are in it. Armatures are not. Accelerations among the
/// fields are lost. TG_ERR_STATE: the last call was not a successful step; TG_ERR_UNSUPPORTED names an equality that
/// holds bodies together, which closes a loop beside the joints.
TG_API tgStatus tg_sim_joint_wrenches(tgSim *sim, tgReal *wrench);

#ifdef __cplusplus
}
#endif
#endif
