// dense.c: fields that are stored by blocks, as the dense matrices that they stand for.
#include <string.h>

#include "base/status.h"
#include "model/blocks.h"
#include "sim/sim.h"

static const tgReal *by_trees(const tgSim *s, const char *name) {
  return strcmp(name, "M") == 0 ? s->M : strcmp(name, "Mh") == 0 ? s->Mh : strcmp(name, "L") == 0 ? s->L : strcmp(name, "Lm") == 0 ? s->Lm : NULL;
}

tgStatus tg_sim_dense(const tgSim *sim, const char *name, tgReal *out, int *rows, int *cols) {
  if (sim == NULL || name == NULL) return TG_ERR_ARG;
  int nv = sim->m.nv;
  const tgReal *block = by_trees(sim, name);
  if (block == NULL) return TG_ERR_ARG;
  if (rows != NULL) *rows = nv;
  if (cols != NULL) *cols = nv;
  if (out == NULL) return TG_OK;
  memset(out, 0, (size_t)nv * (size_t)nv * sizeof *out);
  tgi_block_add(&sim->m, 1, block, out);
  return TG_OK;
}
