// contacts.cpp: a ball falls and rolls; where it touches and with what force, and a page to look at. C++17.
#include <tangere/force.h>
#include <tangere/replay.h>
#include <tangere/rollout.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

template <auto free> struct Free {
  template <class T> void operator()(T *x) const { free(x); }
};
using Model = std::unique_ptr<tgModel, Free<tg_model_free>>;
using Contact = std::unique_ptr<tgContact, Free<tg_contact_free>>;
using Rollout = std::unique_ptr<tgRollout, Free<tg_rollout_free>>;

struct Seen { int step; tgContactInfo contact; };

// called after each step: a loss that is 0 and looks on
static tgStatus look(void *list, tgSim *sim, int t, int steps, double *, double *, double *, double *) {
  auto &seen = *static_cast<std::vector<Seen> *>(list);
  if (t == 0) seen.clear();
  tgContactInfo c;
  for (int at = 0; t < steps && tg_sim_next_contact(sim, &at, &c);) seen.push_back({t, c});
  return TG_OK;
}

int main(int argc, char **argv) try {
  tgError error{};
  auto check = [&](bool well) { if (!well) throw std::runtime_error(error.text); };
  Model model(tg_model_load(argc > 1 ? argv[1] : "samples/ball.xml", nullptr, &error));
  check(model != nullptr);
  Contact contact(tg_contact_create(model.get(), "lcp", nullptr, &error));
  check(contact != nullptr);
  tgRolloutOptions options = tg_rollout_default();
  options.steps = 100;
  Rollout rollout(tg_rollout_create(model.get(), contact.get(), &options, &error));
  check(rollout != nullptr);

  const double v0[6] = {0.5, 0, 0, 0, 0, 0};
  std::vector<Seen> seen;
  tgRolloutRun run{};
  tgRolloutResult result{};
  run.v0 = v0;
  run.loss = look;
  run.loss_ctx = &seen;
  if (tg_rollout_run(rollout.get(), &run, &result) != TG_OK) throw std::runtime_error(result.error.text);
  for (std::size_t i = 0; i < seen.size(); i += 10) {
    const tgContactInfo &c = seen[i].contact;
    std::printf("step %3d: %6.2f N up, %6.2f N of friction, %s\n", seen[i].step, c.world[2], c.world[0], tg_contact_state_text(c.state));
  }
  if (argc > 2) check(tg_replay_rollout(rollout.get(), &run, "ball", nullptr, argv[2], &error) == TG_OK);
  return seen.empty();
} catch (const std::exception &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
