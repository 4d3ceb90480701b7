// force.c: what pushed in the last step: tangere/force.h.
#include "tangere/force.h"

#include "base/fpenv.h"
#include "contact/contact.h"
#include "dyn/dynamics.h"
#include "dyn/sheet.h"
#include "step/step.h"

// ---- contacts of the last step ----

bool tg_sim_next_contact(const tgSim *sim, int *cursor, tgContactInfo *contact) {
  if (sim == NULL || cursor == NULL || contact == NULL || sim->contact_model == NULL || sim->stage != TG_STAGE_STEPPED) return false;
  const tgContactModel *kind = sim->contact_model->kind;
  int most = kind->touches != NULL ? kind->touches(sim) : 0;
  tgiFpEnv env = tgi_fp_enter();
  bool found = false;
  while (!found && *cursor >= 0 && *cursor < most) found = kind->touch(sim, (*cursor)++, contact);
  if (found) tgi_touch_finish(contact);
  tgi_fp_leave(env);
  return found;
}

void tg_contact_add_wrench(const tgContactInfo *contact, int body, const double at[3], double wrench[6]) {
  if (contact == NULL || wrench == NULL) return;
  double sign = contact->body2 == body ? 1 : contact->body1 == body ? -1 : 0, r[3];
  for (int i = 0; i < 3; i++) r[i] = contact->point[i] - (at != NULL ? at[i] : 0);
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    wrench[i] += sign * contact->world[i];
    wrench[3 + i] += sign * (contact->torque[i] + r[j] * contact->world[k] - r[k] * contact->world[j]);
  }
}

const char *tg_contact_state_text(tgContactState state) {
  static const char *const text[] = {"open", "sticking", "sliding"};
  return (unsigned)state < sizeof text / sizeof *text ? text[state] : NULL;
}

// ---- what joints carry ----

static tgStatus no_loops(tgSim *s) {
  char label[128];
  for (int e = 0; e < s->m.neq; e++)
    if (tgi_is_bound(&s->m, e))
      return tgi_error(&s->error, TG_ERR_UNSUPPORTED, "%s closes a loop beside the joints, of which the forces are not told.",
                       tgi_model_label(&s->m, TG_THING_EQUALITY, e, label, sizeof label));
  return TG_OK;
}

// of the contacts, (moment; force) at the world's origin
static void contact_wrenches(const tgSim *s, tgReal *x) {
  tgContactInfo c;
  for (int i = 0; i < 6 * s->m.nbody; i++) x[i] = 0;
  for (int i = 0; tg_sim_next_contact(s, &i, &c);) {
    double w[6] = {0};
    tg_contact_add_wrench(&c, c.body2, NULL, w);
    for (int k = 0; k < 6; k++) {
      tgReal f = w[(k + 3) % 6];
      x[6 * c.body2 + k] += f;
      x[6 * c.body1 + k] -= f;
    }
  }
}

// F of the body and all it carries, less what reaches them otherwise, about the body's origin
static void tell(const tgSim *s, tgReal *wrench) {
  bool medium = tgi_has_fluid(&s->m) || tgi_has_gravcomp(&s->m) || tgi_has_sheet(&s->m);
  for (int b = 0; b < s->m.nbody; b++) {
    tgReal F[6], t[3];
    tgi_sp_copy(F, s->F + 6 * b);
    if (medium) tgi_sp_sub(F, F, s->fpassive + 6 * b);
    tgi_v3_cross(t, s->start.xpos + 3 * b, F + 3);
    for (int k = 0; k < 3; k++) {
      wrench[6 * b + k] = b > 0 ? F[3 + k] : 0;
      wrench[6 * b + 3 + k] = b > 0 ? F[k] - t[k] : 0;
    }
  }
}

tgStatus tgi_joint_wrenches(tgSim *s, tgReal *wrench) {
  if (s->stage != TG_STAGE_STEPPED)
    return tgi_error(&s->error, TG_ERR_STATE, "What joints carried is asked for after something else than a successful step; step first.");
  TG_TRY(no_loops(s));
  size_t nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  tgReal *x = tgi_stack_real(s, 6 * (size_t)s->m.nbody), *a = tgi_stack_real(s, nv + 1), *tau = tgi_stack_real(s, nv + 1);
  if (x == NULL || a == NULL || tau == NULL)
    return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for joints' forces; reserve more.");
  contact_wrenches(s, x);
  for (size_t d = 0; d < nv; d++) a[d] = (s->end.vel[d] - s->start.vel[d]) / s->h;
  tgi_inertias(s, &s->start);
  tgi_velocities(s, &s->start, s->start.vel);
  tgi_inverse(s, &s->start, a, x, tau);
  tell(s, wrench);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tg_sim_joint_wrenches(tgSim *sim, tgReal *wrench) {
  if (sim == NULL || wrench == NULL) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  tgiFpEnv env = tgi_fp_enter();
  tgi_stack_free(sim, 0);
  tgStatus status = tgi_joint_wrenches(sim, wrench);
  tgi_fp_leave(env);
  tgi_sim_release(sim);
  return status;
}
