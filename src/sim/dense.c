// dense.c: fields that are stored by blocks, as the dense matrices that they stand for.
#include <string.h>

#include "base/status.h"
#include "model/blocks.h"
#include "sim/row.h"

static const tgReal *by_trees(const tgSim *s, const char *name) {
  return strcmp(name, "M") == 0 ? s->M : strcmp(name, "Mh") == 0 ? s->Mh : strcmp(name, "L") == 0 ? s->L
         : strcmp(name, "Lm") == 0 ? s->Lm : NULL;
}

static const tgReal *by_rows(const tgSim *s, const char *name) {
  if (s->rows == NULL) return NULL;
  return strcmp(name, "row_J") == 0 ? s->rows->J : strcmp(name, "row_MiJ") == 0 ? s->rows->MiJ : NULL;
}

tgStatus tg_sim_dense(const tgSim *sim, const char *name, tgReal *out, int *rows, int *cols) {
  if (sim == NULL || name == NULL) return TG_ERR_ARG;
  const tgReal *block = by_trees(sim, name), *J = by_rows(sim, name);
  int n = block != NULL ? sim->m.nv : sim->nrow;
  size_t nv = (size_t)sim->m.nv;
  if (block == NULL && J == NULL) return TG_ERR_ARG;
  if (rows != NULL) *rows = n;
  if (cols != NULL) *cols = (int)nv;
  if (out == NULL) return TG_OK;
  memset(out, 0, (size_t)n * nv * sizeof *out);
  if (block != NULL) tgi_block_add(&sim->m, 1, block, out);
  for (int i = 0; i < n && J != NULL; i++) tgi_row_add(sim, J, i, 1, out + (size_t)i * nv);
  return TG_OK;
}
