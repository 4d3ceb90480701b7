// interior.h: private to contact/lcp: an interior point method for the classes of an island whose matrix is not formed.
#ifndef TG_CONTACT_LCP_INTERIOR_H
#define TG_CONTACT_LCP_INTERIOR_H

#include "contact/lcp/solve.h"

/// Attempts: they differ in what is added to the matrix of a step, which makes it regular where friction couples rows strongly.
enum { TGI_INTERIOR_STARTS = 4 };
/// The start: forces and velocities well inside their bounds, whatever was known before.
void tgi_lcp_interior_open(tgiLcp *s, const tgiLcpProblem *p, int attempt);
/// Goes on until forces times velocities are `gap` of what they were at the start: classes, and forces within their bounds in line[0] of
/// the scratch. False: cancelled, a matrix is singular, or they do not fall. Uses the memory of the factorisation of s.
bool tgi_lcp_interior(tgiLcp *s, const tgiLcpProblem *p, int attempt, double gap, int8_t *cls, int *factorisations);

#endif
