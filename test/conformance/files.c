// files.c: robots of model files: the half-cheetah and a humanoid of 33 dofs on its soles.
#include "conformance/scenes.h"

static void load(tgtConform *c, const char *path) {
  tgError e = {0};
  tg_desc_free(c->d);
  c->d = tg_desc_load(path, NULL, &e);
  if (c->d == NULL) fail_msg("%s", e.text);
}

// 24 corners in the ground by 1 cm, or by a hundredth of that; all joints bent a little and moving
static void humanoid(tgtConform *c, int sunk, int unused) {
  (void)unused;
  load(c, TG_SOURCE_DIR "/models/humanoid33.xml");
  for (int b = 1; b < c->d->nbody; b++)
    if (c->d->body[b].parent == 0) c->d->body[b].pos[2] -= sunk ? 1e-2 : 1e-4;
  for (int j = 1; j < c->d->njoint; j++) {
    const tgJointDesc *joint = &c->d->joint[j];
    double low = fmax(joint->range[0], -.2), high = fmin(joint->range[1], .2);
    c->v[j][0] = 0.02 * (j % 5 - 2);
    if (j > 15) c->q[j] = .6 * low + .4 * high;   // the legs stay straight
  }
  c->v[0][0] = 0.05;
  c->v[0][2] = -0.02;
}

static void cheetah(tgtConform *c, int unused, int also) {
  (void)unused;
  (void)also;
  load(c, TG_SOURCE_DIR "/models/half_cheetah.xml");
  c->q[1] = -.1;
  c->q[2] = .03;
  c->v[0][0] = .5;
}

const tgtConformScene tgt_conform_files[] = {
    {"half-cheetah", cheetah, 0, 0, TGT_CONFORM_TOUCHES},
    {"humanoid of 33 dofs", humanoid, 0, 0, TGT_CONFORM_LARGE},
    {"humanoid of 33 dofs, 1 cm in the ground", humanoid, 1, 0, TGT_CONFORM_LARGE},
    {NULL, NULL, 0, 0, TGT_CONFORM_TOUCHES}};
