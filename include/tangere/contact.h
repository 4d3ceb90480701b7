// contact.h: contact models, chosen by a word, made once for a model and shared by its simulations.
#ifndef TANGERE_CONTACT_H
#define TANGERE_CONTACT_H

#include "tangere/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A contact model bound to a model: const after creation, shared by threads.
typedef struct tgContact tgContact;

/// How the `barrier` model's potential sums over triangles.
typedef enum tgHierarchy {
  TG_HIERARCHY_MOMENT,     ///< product weights, second moments, tight spheres: independent of the mesh's refinement (default)
  TG_HIERARCHY_PAPER,      ///< the publication's: unit weights, layered spheres
  TG_HIERARCHY_BRUTE       ///< every pair of triangles, with the weights of `moment`
} tgHierarchy;
typedef enum tgFrictionForm {  ///< Friction of the `barrier` model.
  TG_FRICTION_SLIP,        ///< one sliding velocity a patch (default)
  TG_FRICTION_PLANE        ///< the publication's: a massless plane between the triangles of each pair
} tgFrictionForm;
/// Where the part of the potential beyond touching range acts.
typedef enum tgLongRange {
  TG_LONG_RANGE_BOTH,      ///< in the step and in its gradient (default)
  TG_LONG_RANGE_BACKWARD,  ///< in the gradient only: the step has the local barrier, the label is surrogate
  TG_LONG_RANGE_OFF        ///< nowhere
} tgLongRange;

/// Contact points of the `lcp` model.
typedef enum tgDetection {
  TG_DETECTION_FEATURES,   ///< of the nearest features of two shapes: exact, with switches between features (default)
  TG_DETECTION_SOFT        ///< four on either surface, chosen softly among the vertices of its cloud: smooth in the pose, within about a spacing of the
                           ///< exact ones; of meshes their own closed surface, concave too; no derivative in sizes and scales. Takes spacing, eps1 and eps2
} tgDetection;
/// Lever and dissipation of the `softmin` model.
typedef enum tgForceForm {
  TG_FORCE_CONSISTENT,     ///< action and reaction at one point, dissipation with two continuous derivatives (default)
  TG_FORCE_PAPER           ///< the publication's: reaction at the surface's points, dissipation with one; the sign is that of a repulsion
} tgForceForm;
/// How a step of a force model is made. None iterates.
typedef enum tgIntegrator {
  TG_INTEGRATOR_EULER,     ///< v' = v + h a(q, v), q' = q (+) h v', joint damping and stiffness implicit (default; see symplectic, explicit_damping)
  TG_INTEGRATOR_EXPLICIT,  ///< v' = v + h a(q, v), q' = q (+) h v
  TG_INTEGRATOR_RK4        ///< Runge-Kutta of order 4, of rotations too
} tgIntegrator;

/// Options; size is set by tg_contact_default. Each model takes those that concern it.
typedef struct tgContactOptions {
  size_t size;                     ///< set by tg_contact_default
  double erp;              ///< share of a penetration (or joint or equality error) removed per step, 0..1
  bool symplectic;         ///< q' = q (+) h v' (default); false: q' = q (+) h v
  bool explicit_damping;   ///< joint damping and stiffness at the start of the step instead of implicit
  double restitution_speed;///< approach speed below which nothing bounces [m/s]; max(|g| h, this)
  bool aware_gradient;     ///< adjoints only, complementarity-aware: an island whose contacts let nothing of the loss through is differentiated as if
                           ///< contacts that the loss wants open were open and the others pressed without friction (docs/gradients.md)
  bool zero_contact_gradient;  ///< ablation: gradients as if no contact force depended on anything
  bool bounce_gradient;        ///< steps that bounce are differentiated as impacts in continuous time, which move when the bodies start closer;
                               ///< the label is surrogate, as the step itself is another function
  double mu;               ///< weight of the contact potential [J m^(1/2), with lengths in m]: the smaller, the closer bodies come
  double eps;              ///< width of the blend between exact and clustered terms, relative; below 0.4 the force has minima in distance
  double slip_speed;       ///< sliding speed about which friction takes hold [m/s]
  double friction_range;   ///< distance from which on surfaces do not rub [m]; they rub fully where half of their force is from within half of it
  double local_range;      ///< distance at which the local barrier ends [m]
  double limit_range;      ///< share of a joint's or tendon's range in which its limit pushes
  double equality_opening; ///< of an equality under a potential: its spring gives way by that much under the weight of the lighter of its trees [m]
  tgHierarchy hierarchy;           ///< how the potential is summed
  tgFrictionForm friction_form;    ///< form of its friction
  tgLongRange long_range;          ///< where its far part acts
  int threads;             ///< that evaluate the potential; the result does not depend on it
  double stiffness;        ///< of a pair of geoms [N/m]; 0: 9.80665 m/s^2 times the mass of the lighter of the two trees, over eps3
  double eps1;             ///< width of a surface's soft distance [m^2]; 0: its spacing, squared
  double eps2;             ///< width over which points share the force [m]; 0: a twentieth of the pair's smaller spacing
  double eps3;             ///< depth over which the force sets in [m]; 0: the same
  double dissipation_speed;///< closing speed that doubles the force [m/s]
  double stiction_speed;   ///< sliding speed about which friction takes hold [m/s], of contacts and of joints' dry friction (there also rad/s)
  double spacing;          ///< of a surface's points [m]; 0: a quarter of the geom's least half length, and at most about 1000 points
  double points;           ///< of each geom, about, where they are not to be a spacing apart (whole grids and bands decide how many there are); 0: by `spacing`
  double prune;            ///< share of the force that points left out may have in all; 0: none is left out
  double limit_frequency;  ///< of a joint's or tendon's inertia at qpos0 on the spring of its limit [rad/s]
  double equality_frequency;///< of the inertia that an equality meets at qpos0 on its spring, damped critically [rad/s]
  tgForceForm force_form;          ///< of the `softmin` model
  tgDetection detection;           ///< of the `lcp` model
  tgIntegrator integrator;         ///< of force models
} tgContactOptions;
TG_API tgContactOptions tg_contact_default(void);  ///< The defaults of all contact models.
/// Sets an option by its name in task files ("mu", "form", ..) from text ("1e-7", "paper"). TG_ERR_ARG: error (may be NULL) names what is wrong.
TG_API tgStatus tg_contact_set(tgContactOptions *options, const char *name, const char *value, tgError *error);
/// Names that it knows; NULL past the end.
TG_API const char *tg_contact_option_name(int i);

/// Binds the contact model `word` ("lcp") to a model, which must outlive it. NULL: error names the word and lists those known, or the geom
/// that the contact model cannot express. options and error may be NULL.
TG_API tgContact *tg_contact_create(const tgModel *model, const char *word, const tgContactOptions *options, tgError *error);
TG_API void tg_contact_free(tgContact *contact);
TG_API const char *tg_contact_word(const tgContact *contact);
/// What the contact model has to say against options that it takes all the same, a sentence each; NULL past the last.
TG_API const char *tg_contact_warning(const tgContact *contact, int i);
/// Words known, in the order of the table; NULL past the end.
TG_API const char *tg_contact_words(int i);

#ifdef __cplusplus
}
#endif
#endif
