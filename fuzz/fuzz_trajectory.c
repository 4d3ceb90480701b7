// fuzz_trajectory.c: arrays as a run's trajectory.npz may hold them, of any names, types and shapes near those of the model, with any
// content: refused with the array's name, or a motion whose poses and page are made without reading past an end.
#include "fuzz_step.h"
#include "tangere/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARRAYS = 24, NUMBERS = 400 };

static const char model[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='5 5 .1'/><body name='ball' pos='0 0 .1'><freejoint/>"
    "<geom size='.1' mass='1'/>"
    "<body name='arm'><joint name='j' axis='0 1 0'/><geom type='box' size='.1 .1 .1' pos='.3 0 0'/></body></body></worldbody>"
    "<actuator><general joint='j' dyntype='filter' dynprm='.1'/></actuator></mujoco>";

static const char *const name[] = {"qpos", "qvel", "ctrl", "act", "contact_offset", "contact_pos", "contact_force", "impact_offset",
                                   "impact_time", "impact_geom", "impact_pos", "impact_impulse", "between_offset", "between_time",
                                   "between_qpos", "grad_qpos", "grad_qvel", "grad_ctrl", "grad_act", "push", "push_at"};
static const int width[] = {8, 7, 1, 1, 0, 3, 3, 0, 0, 2, 3, 3, 0, 0, 8, 7, 7, 1, 1, 9, 9};

// an array; where the byte says so as it should be, else with something off
static void make(Bytes *b, int which, int states, tgNpzArray *a) {
  bool whole = tgt_pick(b, 8) < 7, offset = which == 4 || which == 7 || which == 12, integer = offset || which == 9;
  int rows = offset ? states + 1 : which == 2 || which == 17 ? states - 1 : which >= 5 && which <= 14 ? 3 : states;
  int cols = width[which] == 9 ? 3 : width[which];
  *a = (tgNpzArray){.name = name[which], .type = integer ? TG_NPZ_I4 : TG_NPZ_F8, .shape = {(size_t)rows, (size_t)cols}};
  a->ndim = cols == 0 ? 1 : 2;
  if (width[which] == 9) {
    a->ndim = 3;
    a->shape[2] = 3;
  }
  if (!whole) {
    a->type = (tgNpzType)tgt_pick(b, 4);
    a->ndim = tgt_pick(b, 4);
    a->shape[tgt_pick(b, 3)] = (size_t)tgt_pick(b, 12);
  }
  size_t n = 1;
  for (int i = 0; i < a->ndim; i++) n *= a->shape[i];
  size_t item = a->type == TG_NPZ_I4 ? 4 : a->type == TG_NPZ_U1 ? 1 : 8;
  if (n > NUMBERS) n = a->ndim = 0;
  char *x = malloc(n * item + 1);   // no byte more than it says
  if (x == NULL) abort();
  int32_t last = 0;
  for (size_t i = 0; i < n; i++) {
    double value = which == 0 && whole && i % 8 > 2 && i % 8 < 7 ? (i % 8 == 3) : tgt_number(b);
    int32_t small = (int32_t)tgt_byte(b) - 3;
    if (offset && whole) last = small = i > 0 ? last + (small & 1) : 0;
    if (a->type == TG_NPZ_I4) memcpy(x + 4 * i, &small, 4);
    else if (a->type == TG_NPZ_U1) x[i] = (char)small;
    else memcpy(x + 8 * i, &value, 8);
  }
  a->data = x;
}

static void look(Bytes *b, const tgModel *m, const tgContact *c, const tgTrajectory *t) {
  double q[8], h = tgt_size(b, .01);
  for (int k = 0; k < 4; k++) (void)tg_trajectory_pose(m, t, h, tgt_number(b) * 4 * h, q);
  tgError error = {0};
  tgReplay *page = tg_replay_create("fuzz", &error);
  tgSim *sim = tg_sim_create(m, c, NULL, &error);
  if (page == NULL || sim == NULL || tg_replay_add_run(page, NULL, &error) != TG_OK) abort();
  tgStatus st = tg_replay_add_motion(page, sim, t, "fuzz", NAN, h, &error);
  if (st != TG_OK && strlen(error.text) == 0) abort();
  tg_replay_free(page);
  tg_sim_free(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static tgModel *m;
  static tgContact *c;
  if (m == NULL) {
    tgDesc *d = tg_desc_load_memory("m.xml", model, strlen(model), NULL, NULL);
    m = tg_model_compile(d, NULL, NULL);
    c = tg_contact_create(m, "lcp", NULL, NULL);
    tg_desc_free(d);
    if (m == NULL || c == NULL || tg_model_nq(m) != 8) abort();
  }
  Bytes b = {data, data + size};
  tgNpzArray array[ARRAYS];
  tgNpz npz = {.array = array};
  int states = 1 + tgt_pick(&b, 5), kinds = (int)(sizeof name / sizeof *name);
  unsigned there = (unsigned)(tgt_byte(&b) | tgt_byte(&b) << 8 | tgt_byte(&b) << 16);
  for (int k = 0; k < kinds; k++)
    if (k < 3 || (there >> k & 1)) make(&b, k, states, &array[npz.narray++]);
  tgTrajectory t;
  tgError error = {0};
  tgStatus st = tg_trajectory_find(&npz, "fuzz.npz", m, "", &t, &error);
  if (st == TG_OK) look(&b, m, c, &t);
  else if (st >= 0 || strlen(error.text) == 0) abort();
  for (int i = 0; i < npz.narray; i++) free((void *)(uintptr_t)array[i].data);
  return 0;
}
