// pattern_wide.h: the loops over panels behind math/pattern.c, of matrices that are not symmetric.
//
// A panel has n rows of its block of unknowns, m columns, rows m apart; the first n columns are the block's own.
#ifndef TG_MATH_PATTERN_WIDE_H
#define TG_MATH_PATTERN_WIDE_H

#include "math/wide.h"

/// Columns of an update that are neighbours in the panel that they come from and in the one that they go to.
typedef struct tgiRun { int from, to, count; } tgiRun;
/// What the panels of an eliminated block take from those of block b: the `rows` rows of b from Ub on, `width` apart, less L' U of the
/// eliminated block's n rows; b's own columns are L's from `from` on, and those of U that b's panel has come in `runs` runs, the first of
/// which begins with b's own; of these the part on and above the diagonal alone is touched.
typedef struct tgiPanelUpdate { int n, m, from, rows, width, runs; const tgiRun *run; } tgiPanelUpdate;

/// w: n.
TGI_KERNEL(void, tgi_panel_update, (const tgiPanelUpdate *u, const tgReal *L, const tgReal *U, tgReal *Ub, tgReal *w), (u, L, U, Ub, w))
/// S's columns behind its own <- B' times them, B its n x n own block elsewhere, rows m apart. work: 4 n.
TGI_KERNEL(void, tgi_panel_multiply, (int n, int m, const tgReal *B, tgReal *S, tgReal *work), (n, m, B, S, work))
/// x (m) behind its first n <- less f' S there.
TGI_KERNEL(void, tgi_panel_down, (int n, int m, const tgReal *S, const tgReal *f, tgReal *x), (n, m, S, f, x))
/// y (n) = S x of what is behind the first n.
TGI_KERNEL(void, tgi_panel_up, (int n, int m, const tgReal *S, const tgReal *x, tgReal *y), (n, m, S, x, y))
/// A block of a panel (rows x columns, rows `width` apart) += sum of y_t x_t', t < terms, vectors of a kind `apart` numbers from one to the
/// next. w: terms.
typedef struct tgiPanelOuter { int rows, columns, width, terms, apart; } tgiPanelOuter;
TGI_KERNEL(void, tgi_panel_outer, (const tgiPanelOuter *o, const tgReal *y, const tgReal *x, tgReal *to, tgReal *w), (o, y, x, to, w))

#endif
