// damped.h: what the experiments of the damped paper share: cuts through an outcome with its slopes, and scenes under `damped`.
#ifndef TG_REPRO_DAMPED_H
#define TG_REPRO_DAMPED_H

#include "repro/experiments.h"
#include "repro/landscape.h"
#include "tangere/rollout.h"

// ---- an outcome over a parameter ----

/// An outcome x and its slope g at n values p of a parameter.
typedef struct tgCut { int n; double p[TG_LANDSCAPE_MOST], x[TG_LANDSCAPE_MOST], g[TG_LANDSCAPE_MOST]; } tgCut;
/// Sum of |x_{i+1} - x_i|.
double tgi_cut_variation(const tgCut *c);
/// How often the slope changes its sign, slopes below 1e-9, which is rounding, left out.
int tgi_cut_sign_changes(const tgCut *c);
/// Largest |g|.
double tgi_cut_steepest(const tgCut *c);
/// Largest less least x.
double tgi_cut_range(const tgCut *c);
/// Largest difference of the outcomes from the trapezoid sums of their slopes, over their range.
double tgi_cut_rebuilt_error(const tgCut *c);
/// One of several cuts in a picture.
typedef struct tgDrawn { int of; const char *name, *color; } tgDrawn;
/// Draws n of the cuts, at most 8, by tgi_landscape_draw.
bool tgi_cut_draw(tgRun *run, const char *file, const char *variable, const tgCut *cut, const tgDrawn *drawn, size_t n, double steepest);
/// Least difference of g, over widths of 1e-3 to 3e-8, from differences of eighth order of value(ctx, x). False: value gave none.
bool tgi_difference_error(bool (*value)(void *ctx, double x, double *out), void *ctx, double x, double g, double *error);

// ---- scenes ----

/// A scene of models/ under `damped` with settings "name=value name=value", and rollouts of so many steps of h. False: reason printed.
bool tgi_damped_open(tgScene *s, const char *file, const char *settings, double h, int steps, tgRollout **rollout);
void tgi_damped_close(tgScene *s, tgRollout *rollout);
/// A motion, and its loss. False: reason printed.
bool tgi_damped_roll(tgRollout *r, const tgRolloutRun *run, double *value);
/// The row NAME.WHAT, or WHAT where the name is empty.
void tgi_damped_row(tgRun *run, const char *name, const char *what, double value, const char *unit, const char *note);
/// Where contacts are found by distance, a body that is far at the start of a step may go through the other in it, and the next step has
/// no solution: that motion is left out. *good: nothing else is wrong.
bool tgi_damped_left_out(bool found, bool *good);

#endif
