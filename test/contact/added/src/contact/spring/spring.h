// spring.h: the contact model `spring`: geoms pushed apart by springs at their nearest points.
#ifndef TG_CONTACT_SPRING_SPRING_H
#define TG_CONTACT_SPRING_SPRING_H

#include "contact/contact.h"

extern const tgContactModel tgi_spring_model;

#endif
