// test_mesh.c: meshes under softmin: a cube of triangles rests as the primitive does, gradients in scale and place, an
// open mesh refused by name.
#include "contact/softmin/soft_scene.h"
#include "contact/softmin/softmin.h"
#include "geom/solids.h"
#include "step/param_check.h"

static const double h = 0.002;
#ifdef TG_COMPLEX
static const double tolerance = 1e-10;
#else
static const double tolerance = 1e-6;
#endif

static int add_body(tgDesc *d, double z, double half) {
  int b = tg_desc_add_body(d, 0, NULL);
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  d->body[b].pos[2] = z;
  d->body[b].has_inertial = true;
  d->body[b].mass = 2;
  for (int i = 0; i < 3; i++) d->body[b].inertia[i] = 2 * 4 * half * half / 6;
  return b;
}

// a floor and a solid about the origin, nface of its faces; NULL: a box of that half length
static tgDesc *scene(const tgtSolid *s, int nface, double half, double z) {
  tgDesc *d = tg_desc_create(NULL);
  tg_desc_add_geom(d, 0, TG_GEOM_PLANE, "floor");
  int b = add_body(d, z, half), mesh = s != NULL ? tg_desc_add_mesh(d, "solid", s->vert, s->nvert, s->face, nface) : -1;
  int g = tg_desc_add_geom(d, b, s != NULL ? TG_GEOM_MESH : TG_GEOM_BOX, "body");
  d->geom[g].mesh = mesh;
  for (int i = 0; i < 3 && s == NULL; i++) d->geom[g].size[i] = half;
  return d;
}

static void centre(tgtSolid *s, double x, double y, double z) {
  for (int k = 0; k < s->nvert; k++) {
    s->vert[3 * k] -= x;
    s->vert[3 * k + 1] -= y;
    s->vert[3 * k + 2] -= z;
  }
}

static double rest(tgDesc *d) {
  tgSoftminOptions o = soft_options();
  o.spacing = 0.025;
  Rig rig = rig_of_desc(d, "softmin", &o.of);
  for (int t = 0; t < 500; t++) check_true(tg_sim_step(rig.s, h, NULL) == TG_OK, "%s", rig.s->error.text);
  double z = tgRe(rig.s->qpos[2]);
  for (int i = 0; i < 6; i++) check_close(rig.s->qvel[i], 0, 2e-2);
  drop(&rig);
  return z;
}

static void test_rest(void **state) {
  (void)state;
  tgtSolid cube = tgt_solid_cubes(1, 1, 1, "X", 0.2);
  centre(&cube, 0.1, 0.1, 0.1);
  double box = rest(scene(NULL, 0, 0.1, 0.1)), mesh = rest(scene(&cube, cube.nface, 0.1, 0.1));
  print_message("  box rests at %.5f, the mesh at %.5f m\n", box, mesh);
  check_close(mesh, box, 1e-3);
  tgt_solid_free(&cube);
}

// a T turned at random into the floor: the step's gradient in what a mesh has
static void test_parameters(void **state) {
  (void)state;
  const char *names[] = {"geom_scale", "geom_pos", "geom_quat", "body_mass"};
  tgtSolid tee = tgt_solid_cubes(3, 2, 1, "XXX X ", 0.1);
  centre(&tee, 0.15, 0.1, 0.05);
  tgtRandom r = {.s = 5};
  tgSoftminOptions o = soft_options();
  Rig rig = rig_of_desc(scene(&tee, tee.nface, 0.1, 0.08), "softmin", &o.of);
  tgSim *s = rig.s;
  tgReal q[7], v[6], q1[7], w[12];
  tgError e = {0};
  soft_state(s, &r, 0);
  memcpy(q, s->qpos, sizeof q);
  memcpy(v, s->qvel, sizeof v);
  tgt_random_vector(&r, 12, w);
  tgParamGrad *p = tg_param_grad_create_contact(rig.c, names, 4, NULL, &e);
  check_true(p != NULL, "%s", e.text);
  check_true(tg_sim_step(s, h, NULL) == TG_OK, "%s", s->error.text);
  memcpy(q1, s->qpos, sizeof q1);
  check_true(tg_sim_step_vjp(s, w, w + 6, NULL, NULL, NULL, p, NULL) == TG_OK, "%s", s->error.text);
  tgtParamSeen seen = {0};
  for (int k = 0; tgt_param_name(s, k) != NULL; k++) {
    tgtParamCtx c = {.s = s, .h = h, .q = q, .w = v, .q1 = q1, .nrow = 0, .cls = (int[1]){0}};
    tgt_check_param(&c, k, w, p, &r, tolerance, 1e-3, "T", &seen);
    for (int i = 0; i < 4; i++)
      if (strcmp(tgt_param_name(s, k), names[i]) == 0) check_true(seen.acts[k] > 0, "%s does not act", names[i]);
  }
  tg_param_grad_free(p);
  drop(&rig);
  tgt_solid_free(&tee);
}

// a small ball on a large box: as many points on either, about, where a number is chosen, but on the ball no fewer than
// a quarter of its radius apart take: 4 pi 4^2
static void test_points(void **state) {
  (void)state;
  for (int chosen = 12; chosen <= 1200; chosen *= 10) {
    tgDesc *d = scene(NULL, 0, 0.1, 0.1);
    int b = tg_desc_add_body(d, 0, "ball"), g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, "ball");
    d->body[b].pos[2] = 0.3;
    d->geom[g].size[0] = 0.01;
    tg_desc_add_joint(d, b, TG_JOINT_FREE, "ball");
    tgSoftminOptions o = soft_options();
    o.points = chosen;
    Rig rig = rig_of_desc(d, "softmin", &o.of);
    const tgiSoftmin *k = tgi_softmin(rig.s);
    for (int i = 0; i < rig.m->ngeom; i++) {
      int n = k->cloud[i].n;
      double want = rig.m->geom_type[i] == TG_GEOM_SPHERE ? fmax(chosen, 4 * TG_PI * 16) : chosen;
      if (rig.m->geom_type[i] == TG_GEOM_PLANE) continue;
      check_true(n >= 0.4 * want && n <= 2 * want, "geom %d: %d points, not about %g", i, n, want);
    }
    drop(&rig);
  }
}

static void test_open(void **state) {
  (void)state;
  tgtSolid cube = tgt_solid_cubes(1, 1, 1, "X", 0.2);
  tgError e = {0};
  tgDesc *d = scene(&cube, cube.nface - 1, 0.1, 0.1);
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tg_desc_free(d);
  assert_null(tg_contact_create(m, "softmin", NULL, &e));
  assert_true(strstr(e.text, "geom 'body' (mesh 'solid')") != NULL &&
              strstr(e.text, "between vertices 4 (0 0 0.2) and 6 (0 0.2 0.2)") != NULL);
  tg_model_free(m);
  tgt_solid_free(&cube);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rest), cmocka_unit_test(test_parameters),
                                     cmocka_unit_test(test_points), cmocka_unit_test(test_open)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
