// prepare.h: the `barrier` model's functions of creation (tgContactModel, tgLaw).
#ifndef TG_CONTACT_BARRIER_PREPARE_H
#define TG_CONTACT_BARRIER_PREPARE_H

#include "contact/contact.h"

tgStatus tgi_barrier_prepare(tgContact *c, tgError *error);
void tgi_barrier_release(tgContact *c);
int tgi_barrier_terms(const tgContact *c);
double tgi_barrier_resting_gap(const tgContact *c);
double tgi_barrier_thicker(const tgContact *c, const tgSim *s, int geom);
size_t tgi_barrier_bytes(const tgContact *c, const tgCapacity *z);

#endif
