// force_vjp.c: derivatives of the contacts of the last step: tangere/force.h.
#include <math.h>
#include <string.h>

#include "base/fpenv.h"
#include "contact/contact.h"
#include "step/step.h"
#include "tangere/force.h"

enum { FIELDS = sizeof(tgContactGrad) / sizeof(double) };
_Static_assert(FIELDS == 12, "rows of a contact's Jacobian");

void tg_contact_add_wrench_vjp(const tgContactInfo *contact, int body, const double at[3], const double gwrench[6], tgContactGrad *grad) {
  if (contact == NULL || gwrench == NULL || grad == NULL) return;
  double sign = contact->body2 == body ? 1 : contact->body1 == body ? -1 : 0, r[3];
  const double *f = gwrench, *t = gwrench + 3, *w = contact->world;
  for (int i = 0; i < 3; i++) r[i] = contact->point[i] - (at != NULL ? at[i] : 0);
  // t.(torque + r x w)
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    grad->world[i] += sign * (f[i] + t[j] * r[k] - t[k] * r[j]);
    grad->torque[i] += sign * t[i];
    grad->point[i] += sign * (w[j] * t[k] - w[k] * t[j]);
  }
}

// numbers of touches, 0: none are told
static int most_of(const tgSim *s) {
  const tgContactModel *kind = s->contact_model != NULL ? s->contact_model->kind : NULL;
  return kind != NULL && kind->touches != NULL && s->stage == TG_STAGE_STEPPED ? kind->touches(s) : 0;
}

int tg_sim_count_contacts(const tgSim *sim) {
  tgContactInfo c;
  int n = 0;
  for (int at = 0; tg_sim_next_contact(sim, &at, &c);) n++;
  return n;
}

// from gradients in what is told to those of what the contact model gives; false: their number is another
static bool unfinished(const tgSim *s, const tgContactGrad *grad, int n, int most, tgiTouchGrad *out) {
  tgContactInfo c;
  int told = 0;
  memset(out, 0, (size_t)most * sizeof *out);
  for (int i = 0; i < most; i++) {
    if (!s->contact_model->kind->touch(s, i, &c)) continue;
    if (told < n) tgi_touch_finish_vjp(&c, &grad[told], &out[i]);
    told++;
  }
  return told == n;
}

static tgStatus contacts_vjp(tgSim *s, const tgContactGrad *grad, int n, tgReal *dq, tgReal *dv, tgReal *du, tgParamGrad *dp,
                             tgGradInfo *info) {
  int most = most_of(s);
  tgiTouchGrad *g = tgi_stack_bytes(s, ((size_t)most + 1) * sizeof *g);
  if (g == NULL) return tgi_no_room(s, "adjoint");
  if (!unfinished(s, grad, n, most, g))
    return tgi_error(&s->error, TG_ERR_ARG, "Gradients of %d contacts are given; the last step has another number of them.", n);
  return tgi_step_touches_vjp(s, g, dq, dv, du, dp, info);
}

tgStatus tg_sim_contacts_vjp(tgSim *sim, const tgContactGrad *grad, int n, tgReal *dq, tgReal *dv, tgReal *du, tgParamGrad *dp,
                             tgGradInfo *info) {
  if (sim == NULL || n < 0 || (grad == NULL && n > 0) || (dp != NULL && !tgi_param_fits(dp, sim))) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  size_t mark = tgi_stack_mark(sim);
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = contacts_vjp(sim, grad, n, dq, dv, du, dp, info);
  tgi_fp_leave(env);
  tgi_stack_free(sim, mark);
  tgi_sim_release(sim);
  return status;
}

// row of D and P for field i of contact c; a field that has no derivative: NaN
static tgStatus row(tgSim *s, tgContactGrad *grad, int n, int c, int i, tgReal *D, tgParamGrad *dp, tgReal *P, tgGradInfo *info) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv, nw = (size_t)tgi_nw(&s->m), nc = nv + nw + (size_t)s->m.nu;
  double *field = (double *)&grad[c] + i;
  if (dp != NULL) tg_param_grad_clear(dp);
  *field = 1;
  tgStatus status = contacts_vjp(s, grad, n, D, D + nv, D + nv + nw, dp, info);
  *field = 0;
  tgi_stack_free(s, mark);
  for (size_t k = 0; status == TG_ERR_UNSUPPORTED && k < nc; k++) D[k] = NAN;
  for (int k = 0; dp != NULL && k < dp->size; k++) P[k] = status == TG_ERR_UNSUPPORTED ? NAN : dp->value[k];
  return status;
}

static tgStatus contacts_jacobian(tgSim *s, tgReal *D, tgParamGrad *dp, tgReal *P, tgGradInfo *info) {
  int n = tg_sim_count_contacts(s), known = 0;
  size_t nc = (size_t)s->m.nv + (size_t)tgi_nw(&s->m) + (size_t)s->m.nu;
  tgGradInfo worst = {.label = TG_GRAD_EXACT, .converged = true, .first_step = -1}, one;
  tgContactGrad *grad = tgi_stack_bytes(s, ((size_t)n + 1) * sizeof *grad);
  if (grad == NULL) return tgi_no_room(s, "Jacobian");
  memset(grad, 0, ((size_t)n + 1) * sizeof *grad);
  for (int i = 0; i < FIELDS * n; i++) {
    size_t at = (size_t)i;
    tgStatus status = row(s, grad, n, i / FIELDS, i % FIELDS, D + at * nc, dp, P != NULL ? P + at * (size_t)dp->size : NULL, &one);
    if (status == TG_OK && (known++ == 0 || one.label > worst.label)) worst = one;
    if (status != TG_OK && status != TG_ERR_UNSUPPORTED) return status;
  }
  if (n > 0 && known == 0) return TG_ERR_UNSUPPORTED;
  if (info != NULL) *info = worst;
  s->error = (tgError){.status = TG_OK};
  return TG_OK;
}

tgStatus tg_sim_contacts_jacobian(tgSim *sim, tgReal *D, tgParamGrad *dp, tgReal *P, tgGradInfo *info) {
  if (sim == NULL || D == NULL || (dp != NULL) != (P != NULL) || (dp != NULL && !tgi_param_fits(dp, sim))) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  size_t mark = tgi_stack_mark(sim);
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = sim->stage == TG_STAGE_STEPPED
                        ? contacts_jacobian(sim, D, dp, P, info)
                        : tgi_error(&sim->error, TG_ERR_STATE, "Contacts' derivatives are asked for after no successful step; step first.");
  tgi_fp_leave(env);
  tgi_stack_free(sim, mark);
  tgi_sim_release(sim);
  return status;
}
