// check.c: values that are not numbers, found at the entry of a step and named.
#include "step/step.h"

#include <string.h>

#include "dyn/dynamics.h"
#include "math/combine.h"

static tgStatus bad_parameter(tgSim *s, const char *name, int row, int col, double value) {
  char label[160];
  const tgModel *m = &s->m;
  tgKindOfThing kind;
  bool named = tgi_model_rows_kind(name, &kind);
  int thing = named ? tgi_model_row_thing(m, name, row) : 0;
  return tgi_error(&s->error, TG_ERR_NOT_FINITE, "Parameter %s[%d][%d]%s%s is %g; set a finite number before the step.", name, row,
                   col, named ? " of " : "", named ? tgi_model_label(m, kind, thing, label, sizeof label) : "", value);
}

// limits of ranges may be infinite; nothing else
static tgStatus check_array(tgSim *s, const char *name, const tgReal *x, int rows, int cols) {
  if (x == s->m.hull_vert && !s->hulls_given) return TG_OK;   // many, and the model's
  if (tgi_all_finite(rows * cols, x)) return TG_OK;
  bool range = strstr(name, "range") != NULL;
  for (int i = 0; i < rows * cols; i++)
    if (range ? isnan(tgRe(x[i])) : !tgFinite(x[i])) return bad_parameter(s, name, i / cols, i % cols, tgRe(x[i]));
  return TG_OK;
}

static tgStatus check_numbers(tgSim *s) {
  const tgContact *c = s->contact_model;
  for (int i = 0; c != NULL && i < c->nnumber; i++) {
    const tgOption *p = &c->number[i]->is;
    double value = tgRe(s->contact_number[i]);
    if (!(value >= p->least && value <= p->most))
      return tgi_error(&s->error, isfinite(value) ? TG_ERR_ARG : TG_ERR_NOT_FINITE,
                       "Parameter %s is %g; set %g to %g before the step.", p->parameter, value, p->least, p->most);
  }
  return TG_OK;
}

static tgStatus check_time_constants(tgSim *s) {
  const tgModel *m = &s->m;
  for (int i = 0; i < m->nu; i++) {
    double tau = tgRe(m->act_timeconst[i]);
    char label[160];
    if (m->act_activation[i] < TG_ACT_FILTER || tau > 0) continue;
    return tgi_error(&s->error, TG_ERR_ARG, "act_timeconst of %s is %g; set a positive time before the step.",
                     tgi_model_label(m, TG_THING_ACTUATOR, i, label, sizeof label), tau);
  }
  return TG_OK;
}

tgStatus tgi_check_parameters(tgSim *s) {
  const tgModel *m = &s->m;
  int nbody = m->nbody, njnt = m->njnt, nv = m->nv, nq = m->nq, nu = m->nu, na = m->na, ngeom = m->ngeom, nsite = m->nsite,
      nhullvert = m->nhullvert, ntendon = m->ntendon, nwrap = m->nwrap, nstrand = m->nstrand, neq = m->neq,
      npairown = m->npairown, nkey = m->nkey, nflex = m->nflex, nflexvert = m->nflexvert;
#define TG_MODEL_INT(name, rows, cols, unit, text)
#define TG_MODEL_SHARED(name, rows, cols, unit, text)
#define TG_MODEL_REAL(name, rows, cols, unit, text) TG_TRY(check_array(s, #name, m->name, rows, cols));
#include "model/model_fields.def"
#undef TG_MODEL_INT
#undef TG_MODEL_SHARED
#undef TG_MODEL_REAL
  TG_TRY(check_time_constants(s));
  return check_numbers(s);
}

tgStatus tgi_check_velocity(tgSim *s, const tgReal *v) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv; d++) {
    if (tgFinite(v[d])) continue;
    char label[160];
    return tgi_error(&s->error, TG_ERR_NOT_FINITE,
                     "The step gives %s a velocity that is not finite; the state is unchanged. Try a smaller step.",
                     tgi_model_label(m, TG_THING_BODY, m->dof_body[d], label, sizeof label));
  }
  return TG_OK;
}
