// gradient.c: one step of a sliding ball, and how the speed after it depends on everything before it.
#include <stdio.h>
#include <tangere/step.h>

int main(int argc, char **argv) {
  tgError error = {0};
  tgModel *model = tg_model_load(argc > 1 ? argv[1] : "samples/ball.xml", NULL, &error);
  if (model == NULL) return fprintf(stderr, "%s\n", error.text), 2;
  tgContact *contact = tg_contact_create(model, "lcp", NULL, &error);
  tgSim *sim = tg_sim_create(model, contact, NULL, &error);
  if (sim == NULL) return fprintf(stderr, "%s\n", error.text), 2;

  tg_sim_qpos(sim)[2] = 0.099;                       // one millimetre into the ground
  tg_sim_qvel(sim)[0] = 2;                           // sliding at 2 m/s
  if (tg_sim_step(sim, 0.01, NULL) != TG_OK) return fprintf(stderr, "%s\n", tg_sim_error(sim)->text), 4;

  double dq[6], dv[6], want[6] = {1, 0, 0, 0, 0, 0}; // L = forward speed after the step
  tgGradInfo info;
  tg_sim_step_vjp(sim, NULL, want, dq, dv, NULL, NULL, &info);
  printf("speed %.4f m/s\n", tg_sim_qvel(sim)[0]);
  printf("dL/d(height) %.4f, dL/d(speed) %.4f, dL/d(vertical speed) %.4f, %s\n", dq[2], dv[0], dv[2],
         info.label == TG_GRAD_EXACT ? "exact" : info.reason);
  tg_sim_free(sim);
  tg_contact_free(contact);
  tg_model_free(model);
  // Coulomb friction takes mu times the normal impulse: d(speed)/d(vertical speed) = mu while the ball slides
  return dv[2] > 0.5999 && dv[2] < 0.6001 ? 0 : 1;
}
