// create.c: a contact model's physics and the stepper that it asks for, bound to a model; simulations of them.
#include <string.h>

#include "contact/contact.h"
#include "sim/sim.h"
#include "step/table.h"

tgContact *tg_contact_create(const tgModel *model, const char *word, const tgContactOptions *options, tgError *error) {
  if (model == NULL || word == NULL) {
    tgi_error(error, TG_ERR_ARG, "A contact model needs a model and a word.");
    return NULL;
  }
  const tgContactModel *kind = tgi_contact_named(word, error);
  return kind != NULL ? tgi_contact_create(model, kind, tgi_stepper_named(kind->stepper), options, error) : NULL;
}

tgSim *tg_sim_create(const tgModel *model, const tgContact *contact, const tgAllocator *allocator, tgError *error) {
  return tgi_sim_create(model, contact, contact != NULL ? contact->stepper : tgi_stepper_without_contact(), allocator, error);
}
