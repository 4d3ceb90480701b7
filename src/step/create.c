// create.c: a contact model's physics and the stepper that it asks for, bound to a model; simulations of them.
#include <stdio.h>
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

double tg_contact_resting_gap(const tgContact *contact) {
  return contact != NULL && contact->kind->resting_gap != NULL ? contact->kind->resting_gap(contact) : 0;
}

double tgi_contact_thicker(const tgContact *c, const tgSim *s, int pair) {
  const tgModel *m = c->model;
  if (c->kind->thicker == NULL) return 0;
  return c->kind->thicker(c, s, m->pair_geom1[pair]) + c->kind->thicker(c, s, m->pair_geom2[pair]);
}

double tgi_contact_thickest(const tgContact *c, const tgSim *s) {
  double most = 0;
  for (int p = 0; p < c->model->npair && c->kind->thicker != NULL; p++) most = fmax(most, tgi_contact_thicker(c, s, p));
  return most;
}

tgContact *tg_contact_create_gradient(const tgModel *model, const tgContact *forward, const char *word,
                                      const tgContactOptions *options, tgError *error) {
  if (forward != NULL && forward->model != model) {
    tgi_error(error, TG_ERR_ARG,
              "The contact model '%s', whose states the gradient is to be taken at, is of another model.",
              tg_contact_word(forward));
    return NULL;
  }
  tgContact *c = tg_contact_create(model, word, options, error);
  double gap = tg_contact_intersection_free(tg_contact_word(forward)) ? 0 : tg_contact_resting_gap(c);
  if (gap > 0) gap += tgi_contact_thickest(c, NULL);
  if (!(gap > 0) || tg_contact_get(c->options, "widen") > 0) return c;
  tgAnyContactOptions wider;
  char text[32];
  memcpy(&wider, c->options, c->options->size);
  snprintf(text, sizeof text, "%.17g", gap);
  tg_contact_free(c);
  return tg_contact_set(&wider.of, "widen", text, error) == TG_OK ? tg_contact_create(model, word, &wider.of, error) : NULL;
}

tgSim *tg_sim_create(const tgModel *model, const tgContact *contact, const tgAllocator *allocator, tgError *error) {
  return tgi_sim_create(model, contact, contact != NULL ? contact->stepper : tgi_stepper_without_contact(), allocator, error);
}
