// interior.h: private to contact/lcp: an interior point method for the classes of an island whose matrix is not formed.
#ifndef TG_CONTACT_LCP_INTERIOR_H
#define TG_CONTACT_LCP_INTERIOR_H

#include "contact/lcp/solve.h"

/// Attempts: they differ in the forces from which they start.
enum { TGI_INTERIOR_STARTS = 3 };
/// From forces and velocities well inside their bounds, whatever was known before, until forces times velocities are `gap` of what they
/// were: classes, and forces within their bounds in line[0] of the scratch. False: cancelled, a matrix is singular, or they do not fall.
/// Uses the memory of the factorisation of s.
bool tgi_lcp_interior(tgiLcp *s, const tgiLcpProblem *p, int attempt, double gap, int8_t *cls, int *factorisations);

#endif
