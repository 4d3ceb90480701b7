// landscape.h: cuts through a cost with its slopes, drawn.
#ifndef TG_REPRO_LANDSCAPE_H
#define TG_REPRO_LANDSCAPE_H

#include "repro/experiments.h"

enum { TG_LANDSCAPE_MOST = 301 };
/// A cost x and its slope g at n places p, not more than TG_LANDSCAPE_MOST; what it is called, and a colour of SVG.
typedef struct tgLandscape { const char *name, *color; int n; const double *p, *x, *g; } tgLandscape;
/// Writes them into a file of the run's folder, where it has one: costs, with the sums of their slopes, beside the slopes up to `steepest`.
bool tgi_landscape_draw(tgRun *run, const char *file, const char *variable, const tgLandscape *l, int n, double steepest);

#endif
