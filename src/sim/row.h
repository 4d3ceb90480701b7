// row.h: numbers of constraint rows, stored by the dofs that each row acts on (row_span), not by all.
//
// Row i of row_J or row_MiJ starts at i * model->row_width: first the dofs of the first range of its span, then those of the second.
#ifndef TG_SIM_ROW_H
#define TG_SIM_ROW_H

#include "sim/sim.h"

/// Numbers of row i, packed. J: s->rows->J or s->rows->MiJ.
static inline tgReal *tgi_row(const tgSim *s, tgReal *J, int i) { return J + (size_t)i * (size_t)s->m.row_width; }

/// What the memory keeps of a row: its class, and of a flow that of the positions' problem and whether these are cut.
enum { TGI_CLASS_BITS = 8, TGI_CUT_BIT = 2 * TGI_CLASS_BITS };
static inline int tgi_row_to_remember(const tgSim *s, int i) {
  const tgRows *r = s->rows;
  return r->class[i] | (s->ahead || tgRe(s->clearance) > 0 ? r->class2[i] << TGI_CLASS_BITS | r->cut[i] << TGI_CUT_BIT : 0);
}
static inline void tgi_row_recall(tgSim *s, int i, int remembered) {
  static const int classes = (1 << TGI_CLASS_BITS) - 1;
  s->rows->class[i] = remembered & classes;
  s->rows->class2[i] = remembered >> TGI_CLASS_BITS & classes;
  s->rows->cut[i] = remembered >> TGI_CUT_BIT;
}

/// How many they are.
static inline int tgi_row_length(const tgSim *s, int i) {
  const int *span = s->rows->span + 4 * i;
  return span[1] - span[0] + span[3] - span[2];
}

/// Place in row i of dof d, -1 when the row does not act on it. Neighbouring dofs of a range are neighbours.
static inline int tgi_row_place(const tgSim *s, int i, int d) {
  const int *span = s->rows->span + 4 * i;
  if (d >= span[0] && d < span[1]) return d - span[0];
  return d >= span[2] && d < span[3] ? span[1] - span[0] + d - span[2] : -1;
}

/// The number of row i for dof d.
static inline tgReal tgi_row_number(const tgSim *s, const tgReal *J, int i, int d) {
  int at = tgi_row_place(s, i, d);
  return at >= 0 ? J[(size_t)i * (size_t)s->m.row_width + (size_t)at] : 0;
}

/// J_i x, x (nv).
static inline tgReal tgi_row_dot(const tgSim *s, const tgReal *J, int i, const tgReal *x) {
  const int *span = s->rows->span + 4 * i;
  const tgReal *y = J + (size_t)i * (size_t)s->m.row_width;
  tgReal sum = 0;
  for (int d = span[0]; d < span[1]; d++) sum += *y++ * x[d];
  for (int d = span[2]; d < span[3]; d++) sum += *y++ * x[d];
  return sum;
}

/// x (nv) += f J_i.
static inline void tgi_row_add(const tgSim *s, const tgReal *J, int i, tgReal f, tgReal *x) {
  const int *span = s->rows->span + 4 * i;
  const tgReal *y = J + (size_t)i * (size_t)s->m.row_width;
  for (int d = span[0]; d < span[1]; d++) x[d] += f * *y++;
  for (int d = span[2]; d < span[3]; d++) x[d] += f * *y++;
}

#endif
