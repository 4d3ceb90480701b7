// lcp.h: the `lcp` contact model: hard contact and friction as a linear complementarity problem at velocity level.
#ifndef TG_CONTACT_LCP_LCP_H
#define TG_CONTACT_LCP_LCP_H

#include "contact/contact.h"

extern const tgContactModel tgi_lcp_model;

#endif
