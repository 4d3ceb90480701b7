// test_replay_model.c: shapes and frames of a replay against closed forms: free fall, and a ball at rest, whose contact
// force is its weight.
#include "output/replay_model.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { STEPS = 100 };
static const double H = 0.002, G = 9.81, MASS = 0.75, RADIUS = 0.1;

// a floor, a ball on a free joint, an L of drawn and colliding shapes, a tetrahedron far away
static tgModel *make_model(double height) {
  tgDesc *d = tg_desc_create(NULL);
  int floor_ = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, "floor");
  d->geom[floor_].size[2] = 1;
  int ball = tg_desc_add_body(d, 0, "ball");
  d->body[ball].pos[0] = 0.3;
  d->body[ball].pos[2] = height;
  tg_desc_add_joint(d, ball, TG_JOINT_FREE, NULL);
  int g = tg_desc_add_geom(d, ball, TG_GEOM_SPHERE, "ball");
  d->geom[g].size[0] = RADIUS;
  d->geom[g].mass = MASS;
  d->geom[g].rgba[0] = 0.25f;
  int post = tg_desc_add_body(d, 0, "post");
  d->body[post].pos[1] = 4;
  g = tg_desc_add_geom(d, post, TG_GEOM_BOX, "hull");
  d->geom[g].size[0] = d->geom[g].size[1] = d->geom[g].size[2] = 0.2;
  d->geom[g].pos[2] = 0.5;
  const double vert[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  const int face[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  int mesh = tg_desc_add_mesh(d, "tetra", vert, 4, face, 4);
  g = tg_desc_add_geom(d, post, TG_GEOM_MESH, "look");
  d->geom[g].mesh = mesh;
  d->geom[g].visual_only = true;
  g = tg_desc_add_geom(d, 0, TG_GEOM_CAPSULE, "hidden");
  d->geom[g].size[0] = d->geom[g].size[1] = 0.1;
  d->geom[g].pos[1] = 8;
  d->geom[g].group = 3;
  tgError error = {0};
  tgModel *m = tg_model_compile(d, NULL, &error);
  check_true(m != NULL, "%s", error.text);
  tg_desc_free(d);
  return m;
}

static const tgReplayGeom *find(const tgReplayShapes *def, const char *name) {
  for (int i = 0; i < def->ngeom; i++)
    if (strcmp(def->geom[i].name, name) == 0) return &def->geom[i];
  fail_msg("no geom %s", name);
  return NULL;
}

static void test_shapes(void **state) {
  (void)state;
  tgModel *m = make_model(1);
  tgReplayModel store;
  tgReplayShapes def = {0};
  assert_int_equal(tgi_replay_model(m, NULL, &store, &def), TG_OK);
  assert_int_equal(def.nbody, 3);
  assert_int_equal(def.ngeom, 5);
  assert_string_equal(def.body_name[1], "ball");
  check_close(def.gravity[2], -G, 0);
  const tgReplayGeom *ball = find(&def, "ball");
  assert_int_equal(ball->type, TG_GEOM_SPHERE);
  assert_int_equal(ball->body, 1);
  check_close(ball->size[0], RADIUS, 0);
  check_close((double)ball->rgba[0], 0.25, 1e-7);
  assert_int_equal(ball->role, TG_REPLAY_BOTH);
  // on one body: what is only drawn hides what collides
  assert_int_equal(find(&def, "look")->role, TG_REPLAY_VISUAL);
  assert_int_equal(find(&def, "hull")->role, TG_REPLAY_COLLISION);
  assert_int_equal(find(&def, "hidden")->role, TG_REPLAY_COLLISION);
  assert_int_equal(find(&def, "floor")->role, TG_REPLAY_BOTH);
  // the mesh moved to its own frame, placed back by its geom: the corner at the body's origin is there again
  const tgReplayGeom *look = find(&def, "look");
  const tgReplayMesh *mesh = &def.mesh[look->mesh];
  assert_int_equal(mesh->nvert, 4);
  assert_int_equal(mesh->nface, 4);
  double least = INFINITY;
  for (int i = 0; i < 4; i++) {
    const double *v = mesh->vert + 3 * i, *q = look->quat;
    double u[3], t[3], p[3];
    for (int k = 0; k < 3; k++) t[k] = 2 * (q[1 + (k + 1) % 3] * v[(k + 2) % 3] - q[1 + (k + 2) % 3] * v[(k + 1) % 3]);
    for (int k = 0; k < 3; k++) u[k] = q[1 + (k + 1) % 3] * t[(k + 2) % 3] - q[1 + (k + 2) % 3] * t[(k + 1) % 3];
    for (int k = 0; k < 3; k++) p[k] = look->pos[k] + v[k] + q[0] * t[k] + u[k];
    least = fmin(least, sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]));
  }
  check_close(least, 0, 1e-12);
  tgi_replay_model_free(&store);
  tgi_replay_model_free(&store);
  tg_model_free(m);
}

// runs STEPS steps of the ball from a height, recording the start of each and the end
static void record(double height, tgRecorder *r, tgModel **model) {
  tgError error = {0};
  tgModel *m = *model = make_model(height);
  tgContact *contact = tg_contact_create(m, "lcp", NULL, &error);
  check_true(contact != NULL, "%s", error.text);
  tgSim *sim = tg_sim_create(m, contact, NULL, &error);
  check_true(sim != NULL, "%s", error.text);
  tgi_recorder_init(r, m, NULL);
  for (int i = 0; i < STEPS; i++) {
    check_true(tg_sim_step(sim, H, NULL) == TG_OK, "step %d: %s", i, tg_sim_error(sim)->text);
    assert_int_equal(tgi_recorder_add(r, sim, true), TG_OK);
  }
  assert_int_equal(tg_sim_forward(sim), TG_OK);
  assert_int_equal(tgi_recorder_add(r, sim, false), TG_OK);
  tg_sim_free(sim);
  tg_contact_free(contact);
}

static void test_fall(void **state) {
  (void)state;
  tgRecorder r;
  tgModel *m;
  record(3, &r, &m);
  assert_int_equal(r.nframe, STEPS + 1);
  for (int i = 0; i <= STEPS; i++) {
    // v' = v - g h, z' = z + h v': the sum of i steps
    check_close(r.body_pos[(3 * i + 1) * 3 + 2], 3 - G * H * H * i * (i + 1) / 2, 1e-12);
    check_close(r.body_pos[(3 * i + 1) * 3], 0.3, 1e-15);
    check_close(r.body_pos[(3 * i + 2) * 3 + 1], 4, 0);
    check_close(r.body_quat[(3 * i + 1) * 4], 1, 1e-15);
    assert_int_equal(r.contact_offset[i], 0);
  }
  tgReplayTrajectory all = tgi_recorder_trajectory(&r, "fall", 2, H, 0);
  assert_int_equal(all.stride, 1);
  tgReplayTrajectory some = tgi_recorder_trajectory(&r, "fall", 2, H, 40);
  assert_int_equal(some.stride, 3);
  assert_true((some.nframe - 1) / some.stride + 1 <= 40);
  tgi_recorder_clear(&r);
  assert_int_equal(r.nframe, 0);
  tgi_recorder_free(&r);
  tg_model_free(m);
}

static void test_rest(void **state) {
  (void)state;
  tgRecorder r;
  tgModel *m;
  record(RADIUS, &r, &m);
  assert_int_equal(r.contact_offset[STEPS], STEPS);
  assert_int_equal(r.contact_offset[STEPS + 1], STEPS);
  for (int i = 0; i < STEPS; i++) {
    // pushed up by its weight at its foot
    check_close(r.contact_force[3 * i], 0, 1e-9);
    check_close(r.contact_force[3 * i + 1], 0, 1e-9);
    check_close(r.contact_force[3 * i + 2], MASS * G, 1e-9);
    check_close(r.contact_pos[3 * i], 0.3, 1e-9);
    check_close(r.contact_pos[3 * i + 2], 0, 1e-9);
  }
  tgi_recorder_free(&r);
  tg_model_free(m);
}

// two equal balls, one on the other, in either order in the file: each contact pushes up with what it carries
static void test_stack(void **state) {
  (void)state;
  for (int order = 0; order < 2; order++) {
    tgDesc *d = tg_desc_create(NULL);
    int ground = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL);
    d->geom[ground].size[2] = 1;
    for (int i = 0; i < 2; i++) {
      int body = tg_desc_add_body(d, 0, NULL);
      d->body[body].pos[2] = RADIUS * (i == order ? 1 : 3);
      tg_desc_add_joint(d, body, TG_JOINT_SLIDE, NULL);  // along z
      int g = tg_desc_add_geom(d, body, TG_GEOM_SPHERE, NULL);
      d->geom[g].size[0] = RADIUS;
      d->geom[g].mass = MASS;
    }
    tgModel *m = tg_model_compile(d, NULL, NULL);
    tg_desc_free(d);
    tgContact *contact = tg_contact_create(m, "lcp", NULL, NULL);
    tgSim *sim = tg_sim_create(m, contact, NULL, NULL);
    tgRecorder r;
    tgi_recorder_init(&r, m, NULL);
    assert_int_equal(tg_sim_step(sim, H, NULL), TG_OK);
    assert_int_equal(tgi_recorder_add(&r, sim, true), TG_OK);
    assert_int_equal(r.ncontact, 2);
    for (int i = 0; i < 2; i++) {
      bool upper = r.contact_pos[3 * i + 2] > RADIUS;
      check_close(r.contact_force[3 * i + 2], (upper ? 1 : 2) * MASS * G, 1e-9);
    }
    tgi_recorder_free(&r);
    tg_sim_free(sim);
    tg_contact_free(contact);
    tg_model_free(m);
  }
}

// allocation k fails, for every k: an error, and nothing lost or leaked
typedef struct Counter { int left; int held; } Counter;
static void *count_realloc(void *ctx, void *block, size_t bytes) {
  Counter *c = ctx;
  if (c->left-- <= 0) return NULL;
  c->held += block == NULL;
  return realloc(block, bytes);
}
static void *count_alloc(void *ctx, size_t bytes) { return count_realloc(ctx, NULL, bytes); }
static void count_free(void *ctx, void *block) {
  ((Counter *)ctx)->held -= block != NULL;
  free(block);
}

static void test_no_memory(void **state) {
  (void)state;
  tgModel *m = make_model(RADIUS);
  tgContact *contact = tg_contact_create(m, "lcp", NULL, NULL);
  tgSim *sim = tg_sim_create(m, contact, NULL, NULL);
  assert_int_equal(tg_sim_step(sim, H, NULL), TG_OK);
  for (int k = 0; k < 8; k++) {
    Counter c = {k, 0};
    tgAllocator alloc = {&c, count_alloc, count_realloc, count_free};
    tgReplayModel store;
    tgReplayShapes def = {0};
    tgRecorder r;
    assert_int_equal(tgi_replay_model(m, &alloc, &store, &def), k < 2 ? TG_ERR_MEMORY : TG_OK);
    tgi_recorder_init(&r, m, &alloc);
    tgStatus status = tgi_recorder_add(&r, sim, true);
    assert_int_equal(status, k < 7 ? TG_ERR_MEMORY : TG_OK);
    assert_int_equal(r.nframe, status == TG_OK);
    tgi_recorder_free(&r);
    tgi_replay_model_free(&store);
    assert_int_equal(c.held, 0);
  }
  tg_sim_free(sim);
  tg_contact_free(contact);
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes), cmocka_unit_test(test_fall), cmocka_unit_test(test_rest), cmocka_unit_test(test_stack),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
