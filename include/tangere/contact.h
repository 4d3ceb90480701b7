// contact.h: contact models, chosen by a word, made once for a model and shared by its simulations.
#ifndef TANGERE_CONTACT_H
#define TANGERE_CONTACT_H

#include <math.h>

#include "tangere/model.h"
#include "tangere/option.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A contact model bound to a model: const after creation, shared by threads.
typedef struct tgContact tgContact;

/// Head of the options of every contact model. Each model has a struct of its own that begins with it, `tgLcpOptions`
/// in tangere/lcp.h and so on: what all models of its kind of step take, then what is its own. tg_lcp_default() makes
/// one, tg_contact_create takes its address.
typedef struct tgContactOptions {
  size_t size;             ///< of the struct; set by tg_contact_default
  const char *word;        ///< of the contact model that they are of; set likewise
} tgContactOptions;

/// Which contacts and limits a step of impulses acts at, and where in the step.
typedef enum tgContactRule {
  TG_RULE_TOUCHING,        ///< those that touch at its start, there (default)
  TG_RULE_CLOSING          ///< those that its smooth forces would close: fast impacts at their own time and pose, what
                           ///< rests in velocities and, apart from them, in positions. `erp` has no part in it
} tgContactRule;

/// Where in a step of impulses actuators act by their length and velocity.
typedef enum tgServoRule {
  TG_SERVOS_IMPLICIT,      ///< at its end, linearised: no gain makes the step unstable (default)
  TG_SERVOS_EXPLICIT       ///< at its start
} tgServoRule;

/// How a step of impulses takes Coriolis and gyroscopic forces of trees that turn fast, 0.1 rad in a step and more.
typedef enum tgGyroscopicRule {
  TG_GYROSCOPIC_BOUNDED,   ///< by the momenta that bodies carry into the step, which no speed makes diverge (default)
  TG_GYROSCOPIC_EXPLICIT   ///< those of the step's start
} tgGyroscopicRule;

/// What restitution is a share of, in an impact.
typedef enum tgRestitutionLaw {
  TG_RESTITUTION_NEWTON,   ///< the speed at which a contact meets: its speed after the impact is e times that (default)
  TG_RESTITUTION_POISSON   ///< the impulse that stops it: it is given e times more
} tgRestitutionLaw;

/// How friction along a contact's two tangents is bounded.
typedef enum tgFrictionCone {
  TG_CONE_PYRAMID,         ///< along each of them by itself, |f_1| <= mu f_n and |f_2| <= mu f_n (default)
  TG_CONE_ELLIPTIC         ///< together, Coulomb's law: |f_t| <= mu f_n, against the sliding
} tgFrictionCone;

/// What a step of impulses does where its contact solve has no answer to its tolerance.
typedef enum tgUnsolved {
  TG_UNSOLVED_GO_ON,       ///< goes on with what comes next to one, an answer that misses by at most 1e-6 before one with less
                           ///< friction, and says so: tgStepInfo.fallback (default)
  TG_UNSOLVED_STOP         ///< changes nothing and returns TG_NOT_CONVERGED
} tgUnsolved;

/// Options of models whose step is an impulse (tangere/option.h says what the lines are).
#define TG_IMPULSE_OPTIONS(X) \
  X(NUMBER, erp, 0.2, 0, 1, "", "of `touching`: share of a penetration, limit or equality error removed per step") \
  X(NUMBER, restitution_speed, 1e-3, 0, HUGE_VAL, "m/s", "approach speed below which nothing bounces: max(|g| h, this)") \
  X(WORD, contact_rule, tgContactRule, TG_RULE_CLOSING, "touching closing", \
    "contacts and limits act where they touch at a step's start, or when they close in it: impacts at their own time") \
  X(WORD, restitution_law, tgRestitutionLaw, TG_RESTITUTION_NEWTON, "newton poisson", \
    "of `closing`: a contact that bounces parts at e times its speed of approach, or gives e times the impulse that stopped it once more") \
  X(WORD, friction_cone, tgFrictionCone, TG_CONE_PYRAMID, "pyramid elliptic", \
    "friction along each of a contact's two tangents by itself, up to 1.4 times as strong between them, or in Coulomb's cone") \
  X(NUMBER, push_speed, 1, 0, HUGE_VAL, "m/s", \
    "of `closing`: what overlaps is moved apart at this speed at most, without becoming velocity") \
  X(BOOLEAN, symplectic, true, "positions follow the velocity after the step, else the one before it") \
  X(BOOLEAN, explicit_damping, false, "joint damping and stiffness at the start of the step, else at its end") \
  X(WORD, servos, tgServoRule, TG_SERVOS_IMPLICIT, "implicit explicit", \
    "actuators by length and velocity at the end of the step, or at its start") \
  X(WORD, gyroscopic, tgGyroscopicRule, TG_GYROSCOPIC_BOUNDED, "bounded explicit", \
    "Coriolis forces of trees that turn 0.1 rad and more in a step: by the momenta of their bodies, or as those of slow ones") \
  X(WORD, unsolved, tgUnsolved, TG_UNSOLVED_GO_ON, "go_on stop", \
    "a contact solve without an answer: the step goes on with one that misses by at most 1e-6, else with less friction, at last with the " \
    "least residual, or ends the simulation") \
  X(BOOLEAN, bounce_gradient, false, \
    "steps that bounce are differentiated as impacts in continuous time, which move when bodies start closer; surrogate") \
  X(BOOLEAN, aware_gradient, false, \
    "complementarity-aware adjoints: contacts that let nothing of the loss through are taken as the loss wants them") \
  X(BOOLEAN, zero_contact_gradient, false, "ablation: gradients as if no contact force depended on anything; surrogate")

/// Options of models whose step is the minimum of an energy.
#define TG_MINIMISE_OPTIONS(X) \
  X(PARAMETER, weight, 1e-6, 1e-30, 1e6, "J m^(1/2)", \
    "of the contact potential and of joints' limits, lengths in m: the smaller, the closer bodies come") \
  X(ALIAS, mu, weight) \
  X(PARAMETER, slip_speed, 1e-3, 1e-12, 1e3, "m/s", "sliding speed about which friction takes hold") \
  X(PARAMETER, limit_range, 0.1, 1e-6, 0.5, "", "share of a joint's or tendon's range in which its limit pushes") \
  X(PARAMETER, equality_opening, 1e-5, 1e-12, 1e3, "m", "by which the weight of the lighter of its trees opens an equality, a spring")

/// How a step of a model of forces in closed form is made. None iterates.
typedef enum tgIntegrator {
  TG_INTEGRATOR_EULER,     ///< v' = v + h a(q, v), q' = q (+) h v', joint damping and stiffness implicit (default; see
                           ///< symplectic, explicit_damping)
  TG_INTEGRATOR_EXPLICIT,  ///< v' = v + h a(q, v), q' = q (+) h v
  TG_INTEGRATOR_RK4        ///< Runge-Kutta of order 4, of rotations too
} tgIntegrator;

/// Options of models whose step is explicit.
#define TG_EXPLICIT_OPTIONS(X) \
  X(WORD, integrator, tgIntegrator, TG_INTEGRATOR_EULER, "euler explicit rk4", "how a step is made") \
  X(BOOLEAN, symplectic, true, "of `euler`: positions follow the velocity after the step, else the one before it") \
  X(BOOLEAN, explicit_damping, false, "of `euler`: joint damping and stiffness at the start of the step, else at its end") \
  X(PARAMETER, slip_speed, 0.05, 1e-9, 1e3, "m/s", \
    "sliding speed about which friction takes hold, of contacts and of joints' dry friction (there also rad/s)") \
  X(FORMER, stiction_speed, slip_speed) \
  X(PARAMETER, limit_frequency, 200, 1e-3, 1e9, "rad/s", "of a joint's or tendon's inertia at qpos0 on the spring of its limit") \
  X(PARAMETER, limit_range, 0.1, 1e-6, 0.5, "", "share of a joint's or tendon's range over which the push of its limit sets in") \
  X(PARAMETER, equality_frequency, 200, 1e-3, 1e9, "rad/s", \
    "of the inertia that an equality meets at qpos0 on its spring, damped critically")

/// Where in a step of the mean velocity forces act.
typedef enum tgMidpointRule {
  TG_RULE_END,             ///< joints, actuators and gaps at its end; the velocity after it is the mean velocity (default)
  TG_RULE_MIDPOINT         ///< all but gaps at its middle; without forces that dissipate, energy neither grows nor falls with time
} tgMidpointRule;

/// Options of models whose step is a residual in its mean velocity.
#define TG_MIDPOINT_OPTIONS(X) \
  X(WORD, rule, tgMidpointRule, TG_RULE_END, "end midpoint", \
    "`end`: forces at the end of the step, no contact rings; `midpoint`: at its middle, and v' = 2 V - v of the mean velocity V") \
  X(PARAMETER, slip_speed, 0.01, 1e-9, 1e3, "m/s", \
    "sliding speed about which friction takes hold, of contacts and of joints' dry friction (there also rad/s)") \
  X(PARAMETER, limit_frequency, 200, 1e-3, 1e9, "rad/s", "of a joint's or tendon's inertia at qpos0 on the spring of its limit") \
  X(PARAMETER, limit_range, 0.1, 1e-6, 0.5, "", "share of a joint's or tendon's range over which the push of its limit sets in") \
  X(PARAMETER, equality_frequency, 200, 1e-3, 1e9, "rad/s", \
    "of the inertia that an equality meets at qpos0 on its spring, damped critically")

typedef struct tgImpulseOptions {  ///< How the options of every model of impulses begin.
  tgContactOptions of;     ///< head
  TG_IMPULSE_OPTIONS(TG_OPTION_FIELD)
} tgImpulseOptions;
typedef struct tgMinimiseOptions {  ///< How the options of every model with an energy begin.
  tgContactOptions of;     ///< head
  TG_MINIMISE_OPTIONS(TG_OPTION_FIELD)
} tgMinimiseOptions;
typedef struct tgMidpointOptions {  ///< How the options of every model of residual steps begin.
  tgContactOptions of;     ///< head
  TG_MIDPOINT_OPTIONS(TG_OPTION_FIELD)
} tgMidpointOptions;
typedef struct tgExplicitOptions {  ///< How the options of every model of explicit steps begin.
  tgContactOptions of;     ///< head
  TG_EXPLICIT_OPTIONS(TG_OPTION_FIELD)
} tgExplicitOptions;

/// Room for the options of any contact model, for who learns its word at run time: tg_contact_default(word, &any.of, sizeof any).
typedef union tgAnyContactOptions {
  tgContactOptions of;     ///< head
  double room[64];         ///< for the largest
} tgAnyContactOptions;

/// The defaults of the contact model `word` into a struct of `size` bytes, its own or tgAnyContactOptions. TG_ERR_ARG:
/// there is no such model, or its struct has another size in this library; tg_contact_create then refuses the options.
TG_API tgStatus tg_contact_default(const char *word, tgContactOptions *options, size_t size);
/// Sets an option by its name from text ("weight", "1e-7"; "friction", "plane"). TG_ERR_ARG: error (may be NULL) names
/// what is wrong. Ranges are checked by tg_contact_create.
TG_API tgStatus tg_contact_set(tgContactOptions *options, const char *name, const char *value, tgError *error);
/// The same of a setting that may be meant for other contact models too, as those of a task and of --option are: *taken
/// (may be NULL) tells whether this one has the option; what only others have is checked and left. "softmin.eps2" is
/// for that model alone. TG_ERR_ARG: no contact model takes it.
TG_API tgStatus tg_contact_offer(tgContactOptions *options, const char *name, const char *value, bool *taken, tgError *error);
/// Value of an option; of a boolean 0 or 1, of a word its place among the words. NaN: the contact model has none of that name.
TG_API double tg_contact_get(const tgContactOptions *options, const char *name);

/// Option i of the contact model `word`; its name is NULL past the last.
TG_API tgOption tg_contact_option(const char *word, int i);
/// The one of that name or alias; its name is NULL where there is none.
TG_API tgOption tg_contact_option_named(const char *word, const char *name);

/// Binds the contact model `word` ("lcp") to a model, which must outlive it. NULL: error names the word and lists those known, or the geom
/// that the contact model does not support. options: of that model, NULL: its defaults; error may be NULL.
TG_API tgContact *tg_contact_create(const tgModel *model, const char *word, const tgContactOptions *options, tgError *error);
/// A contact model to take gradients from at the states of `forward` (tgRolloutOptions.gradient_contact): as
/// tg_contact_create, but where resting bodies touch under `forward` (NULL: no contact) and are kept apart under this
/// one, all gaps are seen wider, by its option `widen` or, where that is 0, by its resting gap.
TG_API tgContact *tg_contact_create_gradient(const tgModel *model, const tgContact *forward, const char *word,
                                             const tgContactOptions *options, tgError *error);
/// The gap at which it carries the model's lightest moving tree of bodies that may touch anything [m]: that of a flat
/// face of weight 1 before a plane under standard gravity, and at most half of the least half width of a geom. 0:
/// bodies at rest touch under this contact model, or nothing that may touch moves.
TG_API double tg_contact_resting_gap(const tgContact *contact);
TG_API void tg_contact_free(tgContact *contact);
TG_API const char *tg_contact_word(const tgContact *contact);
/// The options that it was made with, of the struct of its model.
TG_API const tgContactOptions *tg_contact_options(const tgContact *contact);
/// What the contact model has to say against options that it takes all the same, a sentence each; NULL past the last.
TG_API const char *tg_contact_warning(const tgContact *contact, int i);
/// Between two geoms, what contact goes by where it is a force of their gap (`damped`), as made of the options and the model.
typedef struct tgContactLaw {
  int geom1, geom2;        ///< whose
  double weight;           ///< of the lighter of their two trees, carried at the resting gap [N]
  double resting_gap;      ///< [m]
  double strength;         ///< of the law: of `perturbed` sigma [J], of `penalty` its stiffness [N/m], of `barrier` its factor [N/m]
  double stiffness;        ///< at the resting gap [N/m]
  double damping_time;     ///< tau, of steps of size h [s]
  double reach, left_out;  ///< gap from which on there is no force, infinite where it reaches any [m], and the most that is lost by it [N]
  double missed;           ///< overlap of the two that may pass between their proxies: depth to which one's surface, or the edges of both,
                           ///< may be in the other's field while no proxy is [m]
} tgContactLaw;
/// Number i of them; false past the last, or where the contact model has no such numbers.
TG_API bool tg_contact_law(const tgContact *contact, int i, double h, tgContactLaw *law);
/// The distances on a grid that stand for a mesh, one for all geoms with that mesh and scale. They are kept with the model: other contact
/// models made for it with the same `mesh` and `mesh_cells` share them, until it is freed.
typedef struct tgContactGrid {
  int geom;                ///< the first of them
  int nodes[3];            ///< along its axes
  double spacing;          ///< [m]
  double error;            ///< largest found near the surface [m]
  double depth;            ///< of the deepest node [m]
  size_t bytes;            ///< memory
} tgContactGrid;
/// Number i of them; false past the last.
TG_API bool tg_contact_grid(const tgContact *contact, int i, tgContactGrid *grid);
/// Is a motion under the contact model of that word free of intersections? Bodies then never touch, and a start where
/// they do is TG_ERR_INVALID. false: they may touch and overlap, or there is no such word.
TG_API bool tg_contact_intersection_free(const char *word);
/// Words known, in the order of the table; NULL past the end.
TG_API const char *tg_contact_words(int i);

#ifdef __cplusplus
}
#endif
#endif
