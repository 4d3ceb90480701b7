// arrays.h: the arrays of a part of a simulation as a list, made of a .def file: they are placed, copied and enumerated by it.
#ifndef TG_SIM_ARRAYS_H
#define TG_SIM_ARRAYS_H

#include "base/layout.h"
#include "tangere/sim.h"

/// An array whose address stands at `at` in the struct of the part.
typedef struct tgiArray {
  size_t at;
  tgScalar scalar;
  int rows, cols;
  const char *name, *unit, *producer, *text;
} tgiArray;

/// Places them; part NULL counts.
void tgi_arrays_place(tgLayout *l, void *part, const tgiArray *list, int n);
/// Copies their numbers between parts of the same sizes.
void tgi_arrays_copy(void *to, const void *from, const tgiArray *list, int n);
/// Array i as tg_sim_field gives it; name NULL past the last.
tgField tgi_arrays_field(const void *part, const tgiArray *list, int n, int i);

#endif
