// test_replay_model.c: shapes and frames of a replay against closed forms: free fall, and a ball at rest, whose contact
// force is its weight.
#include "output/replay_model.h"
#include "output/replay_signals.h"

#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
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

// a sheet is drawn by its triangles, its vertices' balls as what collides
static void test_sheet(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  const int body[3] = {0, 0, 1}, elem[3] = {0, 2, 1};
  const double pos[9] = {1, 2, 3, 4, 5, 6, 7, 8, 0};
  int b = tg_desc_add_body(d, 0, "hand"), g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, NULL), flex;
  d->geom[g].size[0] = 0.1;
  flex = tg_desc_add_flex(d, "cloth", body, pos, 3, elem, 1);
  d->geom[g].flex = flex;
  d->flex[flex].rgba[1] = 0.25f;
  tgError error = {0};
  tgModel *m = tg_model_compile(d, NULL, &error);
  check_true(m != NULL, "%s", error.text);
  tg_desc_free(d);
  tgReplayModel store;
  tgReplayShapes def = {0};
  assert_int_equal(tgi_replay_model(m, NULL, &store, &def), TG_OK);
  assert_int_equal(def.nsheet, 1);
  assert_int_equal(def.sheet[0].nvert, 3);
  assert_int_equal(def.sheet[0].nface, 1);
  for (int k = 0; k < 3; k++) {
    assert_int_equal(def.sheet[0].body[k], body[k]);
    assert_int_equal(def.sheet[0].face[k], elem[k]);
  }
  for (int k = 0; k < 9; k++) check_close(def.sheet[0].pos[k], pos[k], 0);
  check_close((double)def.sheet[0].rgba[1], 0.25, 0);
  assert_int_equal(def.geom[0].role, TG_REPLAY_COLLISION);
  tgi_replay_model_free(&store);
  tg_model_free(m);
}

static const tgReplayGeom *find(const tgReplayShapes *def, const char *name) {
  for (int i = 0; i < def->ngeom; i++)
    if (strcmp(def->geom[i].name, name) == 0) return &def->geom[i];
  fail_msg("no geom %s", name);
  return NULL;
}

// p = pos + R(quat) v
static void placed(const double pos[3], const double q[4], const double v[3], double p[3]) {
  double t[3];
  for (int k = 0; k < 3; k++) t[k] = 2 * (q[1 + (k + 1) % 3] * v[(k + 2) % 3] - q[1 + (k + 2) % 3] * v[(k + 1) % 3]);
  for (int k = 0; k < 3; k++)
    p[k] = pos[k] + v[k] + q[0] * t[k] + q[1 + (k + 1) % 3] * t[(k + 2) % 3] - q[1 + (k + 2) % 3] * t[(k + 1) % 3];
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
    double p[3];
    placed(look->pos, look->quat, mesh->vert + 3 * i, p);
    least = fmin(least, sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]));
  }
  check_close(least, 0, 1e-12);
  tgi_replay_model_free(&store);
  tgi_replay_model_free(&store);
  tg_model_free(m);
}

// a lopsided rock over a floor, turned, without weight
static tgModel *make_rock(void) {
  const double vert[] = {0.1, 0, -0.02, -0.05, 0.08, 0, -0.04, -0.06, -0.03, 0.01, 0.02, 0.09};
  const int face[] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
  tgDesc *d = tg_desc_create(NULL);
  int ground = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL);
  d->geom[ground].size[2] = 1;
  int rock = tg_desc_add_body(d, 0, "rock");
  tg_desc_add_joint(d, rock, TG_JOINT_FREE, NULL);
  int g = tg_desc_add_geom(d, rock, TG_GEOM_MESH, "rock");
  d->geom[g].mesh = tg_desc_add_mesh(d, "rock", vert, 4, face, 4);
  d->geom[g].mass = MASS;
  memset(d->option.gravity, 0, sizeof d->option.gravity);
  tgError error = {0};
  tgModel *m = tg_model_compile(d, NULL, &error);
  check_true(m != NULL, "%s", error.text);
  tg_desc_free(d);
  return m;
}

// height of the lowest vertex that is drawn
static double drawn_height(const tgReplayShapes *def, const tgSim *sim) {
  const tgReplayGeom *g = find(def, "rock");
  const tgReplayMesh *mesh = &def->mesh[g->mesh];
  double least = INFINITY;
  for (int i = 0; i < mesh->nvert; i++) {
    double v[3], in_body[3], p[3];
    for (int k = 0; k < 3; k++) v[k] = g->scale[k] * mesh->vert[3 * i + k];
    placed(g->pos, g->quat, v, in_body);
    placed(sim->start.xpos + 3 * g->body, sim->start.xquat + 4 * g->body, in_body, p);
    least = fmin(least, p[2]);
  }
  return least;
}

// a mesh whose scale and vertices the sim has changed is drawn as it collides: its lowest vertex is as far from the floor as contact says
static void test_scaled_mesh(void **state) {
  (void)state;
  tgModel *m = make_rock();
  tgContact *contact = tg_contact_create(m, "lcp", NULL, NULL);
  tgSim *sim = tg_sim_create(m, contact, NULL, NULL);
  const double scales[2][3] = {{1, 1, 1}, {1.5, 0.5, 2}}, q[7] = {0, 0, 0, 0.8, 0.36, 0.48, 0};
  double height[2];
  for (int k = 0; k < 2; k++) {
    tgReplayModel store;
    tgReplayShapes def = {0};
    tgStepInfo info;
    memcpy(tg_sim_param(sim, "geom_scale", NULL, NULL) + 3, scales[k], sizeof scales[k]);
    if (k == 1)
      for (int i = 0; i < 12; i++) tg_sim_param(sim, "hull_vert", NULL, NULL)[i] += 0.005 * sin(i);
    memcpy(tg_sim_qpos(sim), q, sizeof q);
    assert_int_equal(tgi_replay_model(&sim->m, NULL, &store, &def), TG_OK);
    assert_int_equal(tg_sim_forward(sim), TG_OK);
    height[k] = drawn_height(&def, sim);
    tg_sim_qpos(sim)[2] = 1e-4 - height[k];
    assert_int_equal(tg_sim_forward(sim), TG_OK);
    check_close(drawn_height(&def, sim), 1e-4, 1e-15);
    assert_int_equal(tg_sim_step(sim, H, &info), TG_OK);
    check_close(info.least_distance, 1e-4, 1e-12);
    tgi_replay_model_free(&store);
  }
  check_true(fabs(height[0] - height[1]) > 0.01, "both scales reach down to %g and %g", height[0], height[1]);
  tg_sim_free(sim);
  tg_contact_free(contact);
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
    assert_int_equal(tg_recorder_add(r, sim, true), TG_OK);
  }
  assert_int_equal(tg_sim_forward(sim), TG_OK);
  assert_int_equal(tg_recorder_add(r, sim, false), TG_OK);
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
  tg_recorder_clear(&r);
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
    assert_int_equal(tg_recorder_add(&r, sim, true), TG_OK);
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

// A box on the floor, under gravity aslant that friction holds, or a small box falling on it: in every contact model of
// the table forces are what momentum changes by, and at rest they balance the weight and turn nothing.
static void add_box(tgDesc *d, double half, double mass, double z) {
  int body = tg_desc_add_body(d, 0, NULL);
  d->body[body].pos[2] = z;
  tg_desc_add_joint(d, body, TG_JOINT_FREE, NULL);
  int g = tg_desc_add_geom(d, body, TG_GEOM_BOX, NULL);
  for (int k = 0; k < 3; k++) d->geom[g].size[k] = half;
  d->geom[g].mass = mass;
}

static tgModel *make_boxes(int n) {
  tgDesc *d = tg_desc_create(NULL);
  int ground = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL);
  d->geom[ground].size[2] = 1;
  add_box(d, 0.1, 0.75, 0.1015);
  if (n > 1) add_box(d, 0.05, 0.25, 0.253);
  d->option.gravity[0] = n > 1 ? 0 : 1;
  d->option.gravity[1] = n > 1 ? 0 : -0.5;
  tgError error = {0};
  tgModel *m = tg_model_compile(d, NULL, &error);
  check_true(m != NULL, "%s", error.text);
  tg_desc_free(d);
  return m;
}

// forces on a body, and their moments about its origin
static void sum_touches(tgSim *s, int body, double F[3], double M[3]) {
  const double *c = s->start.xpos + 3 * body;
  for (int k = 0; k < 3; k++) F[k] = M[k] = 0;
  tgContactInfo t;
  for (int i = 0; tg_sim_next_contact(s, &i, &t);) {
    if (t.body1 != body && t.body2 != body) continue;
    double sign = t.body2 == body ? 1 : -1;
    for (int k = 0; k < 3; k++) {
      int a = (k + 1) % 3, b = (k + 2) % 3;
      F[k] += sign * t.world[k];
      M[k] += sign * ((t.point[a] - c[a]) * t.world[b] - (t.point[b] - c[b]) * t.world[a]);
    }
  }
}

// what is recorded is the touches that are not negligible, on the body held up
static void check_recorded(tgSim *s, const char *name, int nbox) {
  tgRecorder r;
  tgContactInfo t;
  int n = 0;
  tgi_recorder_init(&r, s->model, NULL);
  assert_int_equal(tg_recorder_add(&r, s, true), TG_OK);
  for (int i = 0; tg_sim_next_contact(s, &i, &t);) {
    double mass = t.body1 == 2 || t.body2 == 2 ? 0.25 : 0.75,
           size = sqrt(t.world[0] * t.world[0] + t.world[1] * t.world[1] + t.world[2] * t.world[2]);
    if (size < TG_REPLAY_LEAST * TG_STANDARD_GRAVITY * mass) continue;
    check_true(n < r.ncontact, "%s: a force of %g N is not recorded", name, size);
    for (int k = 0; k < 3; k++) {
      check_close(r.contact_pos[3 * n + k], t.point[k], 0);
      check_close(r.contact_force[3 * n + k], t.world[2] > 0 ? t.world[k] : -t.world[k], 0);
    }
    // on the floor, where it holds up the lower box alone
    check_true(nbox > 1 || fabs(t.point[2]) < 0.002, "%s: a force at height %g", name, t.point[2]);
    check_true(nbox > 1 || (fabs(t.point[0] - s->start.xpos[3]) < 0.101 && fabs(t.point[1] - s->start.xpos[4]) < 0.101),
               "%s: a force at %g, %g beside the box", name, t.point[0], t.point[1]);
    n++;
  }
  check_true(n >= nbox && n == r.ncontact, "%s: %d forces, %d recorded", name, n, r.ncontact);
  tgi_recorder_free(&r);
}

static void check_balance(const char *name, int nbox) {
  tgModel *m = make_boxes(nbox);
  tgError error = {0};
  tgContact *contact = tg_contact_create(m, name, NULL, &error);
  check_true(contact != NULL, "%s: %s", name, error.text);
  tgSim *sim = tg_sim_create(m, contact, NULL, &error);
  double F[3], M[3];
  for (int i = 0; i < (nbox == 1 ? 1000 : 200); i++) {
    check_true(tg_sim_step_growing(sim, H, NULL) == TG_OK, "%s, step %d: %s", name, i, tg_sim_error(sim)->text);
    for (int body = 1; body <= nbox; body++) {
      double mass = body == 1 ? 0.75 : 0.25;
      const double *before = sim->start.vel + 6 * (body - 1), *after = sim->end.vel + 6 * (body - 1);
      sum_touches(sim, body, F, M);
      for (int k = 0; k < 3; k++) {
        double want = mass * ((after[k] - before[k]) / H - m->opt_gravity[k]);
        check_true(fabs(F[k] - want) < 1e-6 * mass * G, "%s, step %d: %.9g N on body %d along %d, of %.9g N", name, i, F[k], body, k, want);
      }
    }
    if (i % 40 == 39) check_recorded(sim, name, nbox);
  }
  // the two sides of a friction force may act a gap apart, of at most a millimetre
  for (int k = 0; k < 3 && nbox == 1; k++) {
    check_true(fabs(F[k] + 0.75 * m->opt_gravity[k]) < 1e-4 * 0.75 * G, "%s: %.9g N on a body at rest along %d", name, F[k], k);
    check_true(fabs(M[k]) < 1e-3 * 0.75 * 1.2, "%s: %.3g N m on a body at rest about %d", name, M[k], k);
  }
  tg_sim_free(sim);
  tg_contact_free(contact);
  tg_model_free(m);
}

static void test_balance(void **state) {
  (void)state;
  for (int word = 0; tg_contact_words(word) != NULL; word++)
    for (int nbox = 1; nbox <= 2; nbox++) check_balance(tg_contact_words(word), nbox);
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

// two balls under `toi`: the impact is recorded after its state, with the pose there, which the page's trajectory has in body frames
static void test_impact(void **state) {
  (void)state;
  static const char xml[] =
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body>"
      "<body pos='.5 0 0'><joint type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body></worldbody></mujoco>";
  enum { SIX = 6 };
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("balls", xml, sizeof xml - 1, NULL, &e);
  tgModel *m = tg_model_compile(d, NULL, &e);
  tg_desc_free(d);
  tgContact *c = tg_contact_create(m, "toi", NULL, &e);
  tgSim *s = tg_sim_create(m, c, NULL, &e);
  check_true(s != NULL, "%s", e.text);
  tgRecorder r;
  double q[2 * (SIX + 1)], v[2 * (SIX + 1)], h = 0.04, at = (0.3 - 1e-6) / 2;
  tgi_recorder_init(&r, m, NULL);
  tg_sim_qvel(s)[0] = 2;
  for (int t = 0; t <= SIX; t++) {
    memcpy(q + 2 * t, tg_sim_qpos(s), 2 * sizeof *q);
    memcpy(v + 2 * t, tg_sim_qvel(s), 2 * sizeof *v);
    assert_int_equal(t < SIX ? tg_sim_step(s, h, NULL) : tg_sim_forward(s), TG_OK);
    assert_int_equal(tg_recorder_add(&r, s, t < SIX), TG_OK);
  }
  tgTrajectory motion = {.steps = SIX, .q = q, .v = v};
  tg_recorder_contacts(&r, &motion);
  const int offset[SIX + 2] = {0, 0, 0, 0, 1, 1, 1, 1};
  assert_memory_equal(motion.impact_offset, offset, sizeof offset);
  assert_memory_equal(motion.between_offset, offset, sizeof offset);
  check_close(motion.impact_time[0], at - 3 * h, 1e-13);
  check_close(motion.impact_impulse[0], 1, 1e-12);   // of the second ball, m v (1 + e)/2 without restitution
  check_close(motion.between_q[0], 2 * at, 1e-13);
  double pose[2];
  for (int k = 0; k <= 12; k++) {   // both run freely before and after: the first stays with the second
    double time = k * 0.02, met = fmin(time, at), after = fmax(time - at, 0);
    assert_int_equal(tg_trajectory_pose(m, &motion, h, time, pose), TG_OK);
    check_close(pose[0], 2 * met + after, 1e-12);
    check_close(pose[1], after, 1e-12);
  }
  assert_int_equal(tg_trajectory_pose(m, &motion, h, 0.25, pose), TG_ERR_ARG);
  assert_int_equal(tg_trajectory_pose(m, &motion, h, -0.01, pose), TG_ERR_ARG);
  motion.between_offset = NULL;
  assert_int_equal(tg_trajectory_pose(m, &motion, h, 0.14, pose), TG_OK);
  check_close(pose[0], q[6] + 0.5 * (q[8] - q[6]), 1e-12);   // straight from state to state
  tg_recorder_contacts(&r, &motion);
  tgReplayShown shown;
  check_true(tgi_replay_show(s, &motion, "run", NAN, h, &shown, &e) == TG_OK, "%s", e.text);
  const tgReplayTrajectory *t = &shown.trajectory;
  assert_int_equal(t->between_offset[SIX + 1], 1);
  check_close(t->between_pos[3], 2 * at, 1e-13);
  check_close(t->between_pos[6], 0.5, 1e-13);
  check_close(t->between_quat[4], 1, 1e-13);
  tgi_replay_shown_free(&shown);
  tgi_recorder_free(&r);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
}

static void test_no_memory(void **state) {
  (void)state;
  tgModel *m = make_model(RADIUS);
  tgContact *contact = tg_contact_create(m, "lcp", NULL, NULL);
  tgSim *sim = tg_sim_create(m, contact, NULL, NULL);
  assert_int_equal(tg_sim_step(sim, H, NULL), TG_OK);
  for (int k = 0; k < 14; k++) {
    Counter c = {k, 0};
    tgAllocator alloc = {&c, count_alloc, count_realloc, count_free};
    tgReplayModel store;
    tgReplayShapes def = {0};
    tgRecorder r;
    assert_int_equal(tgi_replay_model(m, &alloc, &store, &def), k < 6 ? TG_ERR_MEMORY : TG_OK);
    tgi_recorder_init(&r, m, &alloc);
    tgStatus status = tg_recorder_add(&r, sim, true);
    assert_int_equal(status, k < 13 ? TG_ERR_MEMORY : TG_OK);
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
      cmocka_unit_test(test_sheet), cmocka_unit_test(test_shapes), cmocka_unit_test(test_scaled_mesh), cmocka_unit_test(test_fall),
      cmocka_unit_test(test_rest), cmocka_unit_test(test_stack), cmocka_unit_test(test_balance),
      cmocka_unit_test(test_impact), cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
