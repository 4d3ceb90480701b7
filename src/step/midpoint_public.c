// midpoint_public.c: the stepper as the table has it. See midpoint.h.
#include "sim/arrays.h"
#include "step/midpoint.h"

static tgStatus supports(tgContact *c, tgError *error) { return tgi_joint_inertias(c, false, error); }

// what the dense derivative takes besides the dynamics
static size_t scratch(const tgContact *c) {
  size_t nv = (size_t)c->model->nv, nu = (size_t)c->model->nu;
  return (5 * nv * (2 * nv + nu + 4) + 2 * nv * nv + nv * nu + 60 * nv + 160 * (size_t)c->model->nbody + 1024) * sizeof(tgReal);
}

// how many arrays there are
#define TG_OWN_REAL(name, rows, cols, unit, producer, text) +1
enum { ARRAYS = 0
#include "step/midpoint_fields.def"
};
#undef TG_OWN_REAL

static int arrays(const tgSim *s, tgiArray *list) {
  const tgModel *m = s->model;
  int n = 0;
#define TG_OWN_REAL(name_, rows_, cols_, unit_, producer_, text_) \
  list[n++] = (tgiArray){offsetof(tgiMidpoint, name_), TG_SCALAR_REAL, rows_, cols_, #name_, unit_, producer_, text_};
#include "step/midpoint_fields.def"
#undef TG_OWN_REAL
  return n;
}

static void place(tgSim *s, tgLayout *l) {
  tgiArray list[ARRAYS];
  tgiMidpoint *own = tgi_place(l, 1, sizeof *own);
  tgiPattern counted;
  const tgModel *m = s->model;
  int least, *tree = tgi_place(l, (size_t)m->nv, sizeof *tree), trees = tgi_midpoint_trees(m, tree, &least);
  int *pivot = tgi_place(l, (size_t)m->nv + 1, sizeof *pivot), *pair = tgi_place(l, 2 * (size_t)s->cap.nterm, sizeof *pair);
  s->own = own;
  tgi_arrays_place(l, own, list, arrays(s, list));
  tgi_pattern_place(own != NULL ? &own->pattern : &counted, m->nv, trees, least, s->cap.nH, l);
  if (own == NULL) return;
  own->pivot = pivot;
  own->pair = pair;
  tgi_pattern_blocks(&own->pattern, tree);
}

static tgField field(const tgSim *s, int i) {
  tgiArray list[ARRAYS];
  return tgi_arrays_field(s->own, list, arrays(s, list), i);
}

const tgStepper tgi_midpoint = {.name = "midpoint", .twice = true, .supports = supports, .scratch = scratch, .place = place, .field = field,
                                .step = tgi_midpoint_step, .record_bytes = tgi_midpoint_record_bytes, .record = tgi_midpoint_record,
                                .revisit = tgi_midpoint_revisit, .vjp = tgi_midpoint_vjp, .touches_vjp = tgi_midpoint_touches_vjp,
                                .jacobian = tgi_midpoint_jacobian};
