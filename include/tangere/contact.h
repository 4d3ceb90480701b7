// contact.h: contact models, chosen by a word, made once for a model and shared by its simulations.
#ifndef TANGERE_CONTACT_H
#define TANGERE_CONTACT_H

#include "tangere/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A contact model bound to a model: const after creation, shared by threads.
typedef struct tgContact tgContact;

/// Options; size is set by tg_contact_default.
typedef struct tgContactOptions {
  size_t size;
  double erp;              ///< share of a penetration (or joint or equality error) removed per step, 0..1
  bool symplectic;         ///< q' = q (+) h v' (default); false: q' = q (+) h v
  bool explicit_damping;   ///< joint damping and stiffness at the start of the step instead of implicit
  double restitution_speed;///< approach speed below which nothing bounces [m/s]; max(|g| h, this)
  bool aware_gradient;     ///< adjoints only, complementarity-aware: an island whose contacts let nothing of the loss through is differentiated as if
                           ///< contacts that the loss wants open were open and the others pressed without friction (docs/gradients.md)
  bool zero_contact_gradient;  ///< ablation: gradients as if no contact force depended on anything
  bool bounce_gradient;        ///< steps that bounce are differentiated as impacts in continuous time, which move when the bodies start closer;
                               ///< the label is surrogate, as the step itself is another function
} tgContactOptions;
TG_API tgContactOptions tg_contact_default(void);

/// Binds the contact model `word` ("lcp") to a model, which must outlive it. NULL: error names the word and lists those known, or the geom
/// that the contact model cannot express. options and error may be NULL.
TG_API tgContact *tg_contact_create(const tgModel *model, const char *word, const tgContactOptions *options, tgError *error);
TG_API void tg_contact_free(tgContact *contact);
TG_API const char *tg_contact_word(const tgContact *contact);
/// Words known, in the order of the table; NULL past the end.
TG_API const char *tg_contact_words(int i);

#ifdef __cplusplus
}
#endif
#endif
