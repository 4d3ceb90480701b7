// test_replay.c: the JSON in the page is the def, read back by jansson and a base64 decoder of the test's own; names
// cannot leave their element; bad defs and templates are refused. That a browser draws it is test/viewer's.
#include "output/replay.h"

#include <jansson.h>

#include "output/folder.h"
#include "output/scene.h"

static const char TEMPLATE[] =
    "<!doctype html><p>before</p><script type=\"application/json\" id=\"tangere-replay\"></script><p>after</p>\n";

typedef struct Fixture {
  tgtFolder folder;
  char template[400], path[400];
  tgtScene scene;
} Fixture;

static int set_up(void **state) {
  Fixture *x = calloc(1, sizeof *x);
  tgt_folder_make(&x->folder);
  strcpy(x->template, tgt_folder_file(&x->folder, "viewer.html"));
  strcpy(x->path, tgt_folder_file(&x->folder, "replay.html"));
  tgt_write(x->template, TEMPLATE, strlen(TEMPLATE));
  scene_make(&x->scene);
  *state = x;
  return 0;
}

static int tear_down(void **state) {
  Fixture *x = *state;
  tgt_folder_remove(&x->folder);
  free(x);
  return 0;
}

// the words of a base64 text, malloc'd; *n gets their count
static void *decode(const json_t *text, size_t *n) {
  const char *s = json_string_value(text);
  assert_non_null(s);
  size_t length = strlen(s), bytes = 0;
  assert_int_equal(length % 4, 0);
  uint8_t *out = malloc(length + 4);
  uint32_t held = 0;
  for (size_t i = 0; i < length; i++) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *d = strchr(digits, s[i]);
    held = held << 6 | (s[i] == '=' ? 0 : (uint32_t)(d - digits));
    if (i % 4 != 3) continue;
    for (int k = 2; k >= 0; k--) out[bytes++] = (uint8_t)(held >> (8 * k));
  }
  for (size_t i = length; i > 0 && s[i - 1] == '='; i--) bytes--;
  assert_int_equal(bytes % 4, 0);
  *n = bytes / 4;
  return out;
}

// the data of a written page; checks that the template stands around it unchanged
static json_t *page_data(const char *path) {
  char *page = tgt_read(path, NULL);
  assert_non_null(page);
  const char *open = "id=\"tangere-replay\">", *close = "</script><p>after</p>\n";
  char *from = strstr(page, open) + strlen(open);
  char *to = strstr(from, "</script>");
  assert_string_equal(to, close);
  assert_memory_equal(page, TEMPLATE, (size_t)(from - page));
  *to = '\0';
  json_error_t why;
  json_t *root = json_loads(from, 0, &why);
  check_true(root != NULL, "%s", why.text);
  free(page);
  return root;
}

static const json_t *item(const json_t *root, const char *list, size_t i) { return json_array_get(json_object_get(root, list), i); }

static void check_floats(const json_t *text, const double *want, size_t n) {
  size_t got;
  float *x = decode(text, &got);
  assert_int_equal(got, n);
  for (size_t i = 0; i < n; i++) check_close((double)x[i], want[i], 1e-7 * (1 + fabs(want[i])));
  free(x);
}

static void test_all_of_it_is_there(void **state) {
  Fixture *x = *state;
  tgError error = {0};
  check_true(tgi_replay_write(&x->scene.def, x->template, x->path, &error) == TG_OK, "%s", error.text);
  json_t *root = page_data(x->path);
  assert_int_equal(json_integer_value(json_object_get(root, "version")), 1);
  assert_string_equal(json_string_value(json_object_get(root, "title")), x->scene.def.title);
  const json_t *model = json_object_get(root, "model");
  assert_string_equal(json_string_value(json_object_get(item(model, "bodies", 1), "name")), SCENE_NAME);
  assert_string_equal(json_string_value(json_object_get(item(model, "bodies", 2), "name")), "");
  assert_int_equal(json_array_size(json_object_get(model, "geoms")), 3);
  const json_t *geom = item(model, "geoms", 2);
  assert_string_equal(json_string_value(json_object_get(geom, "type")), "mesh");
  assert_string_equal(json_string_value(json_object_get(geom, "role")), "visual");
  assert_int_equal(json_integer_value(json_object_get(geom, "mesh")), 0);
  check_floats(json_object_get(item(model, "meshes", 0), "vert"), x->scene.vert, 12);
  size_t n;
  uint32_t *face = decode(json_object_get(item(model, "meshes", 0), "face"), &n);
  assert_int_equal(n, 12);
  for (int i = 0; i < 12; i++) assert_int_equal(face[i], x->scene.face[i]);
  free(face);
  for (size_t k = 0; k < 2; k++) {
    const json_t *t = item(root, "trajectories", k);
    assert_int_equal(json_integer_value(json_object_get(t, "nframe")), SCENE_FRAMES);
    check_close(json_number_value(json_object_get(t, "dt")), SCENE_DT, 0);
    check_floats(json_object_get(t, "body_pos"), x->scene.pos[k], SCENE_FRAMES * SCENE_BODIES * 3);
    check_floats(json_object_get(t, "body_quat"), x->scene.quat, SCENE_FRAMES * SCENE_BODIES * 4);
    const json_t *c = json_object_get(t, "contacts");
    check_floats(json_object_get(c, "force"), x->scene.contact_force, 3 * SCENE_CONTACTS);
    uint32_t *offset = decode(json_object_get(c, "offset"), &n);
    assert_int_equal(n, SCENE_FRAMES + 1);
    for (int f = 0; f <= SCENE_FRAMES; f++) assert_int_equal(offset[f], x->scene.offset[f]);
    free(offset);
  }
  const json_t *marker = item(root, "markers", 0);
  assert_string_equal(json_string_value(json_object_get(marker, "name")), "target");
  check_close(json_number_value(json_array_get(json_object_get(marker, "pos"), 1)), -0.5, 0);
  check_close(json_number_value(json_object_get(marker, "radius")), 0.05, 0);
  assert_int_equal(json_integer_value(json_object_get(root, "track")), 1);
  const json_t *y = json_object_get(json_object_get(root, "loss"), "y");
  assert_int_equal(json_array_size(y), SCENE_LOSSES);
  assert_true(json_is_null(json_array_get(y, 3)));
  check_close(json_number_value(json_array_get(y, 30)), x->scene.loss_y[30], 0);
  assert_true(json_is_null(json_object_get(json_object_get(root, "figures"), "spoilt")));
  assert_string_equal(json_string_value(json_object_get(json_object_get(root, "figures"), "optimiser")), "adam");
  json_decref(root);
  assert_int_equal(tgt_folder_count(&x->folder), 2);
}

// every third frame: poses, contacts and dt of those frames
static void test_stride(void **state) {
  Fixture *x = *state;
  x->scene.trajectory[1].stride = 3;
  x->scene.trajectory[0].contact_offset = NULL;
  assert_int_equal(tgi_replay_write(&x->scene.def, x->template, x->path, NULL), TG_OK);
  json_t *root = page_data(x->path);
  assert_true(json_is_null(json_object_get(item(root, "trajectories", 0), "contacts")));
  const json_t *t = item(root, "trajectories", 1);
  assert_int_equal(json_integer_value(json_object_get(t, "nframe")), 54);
  check_close(json_number_value(json_object_get(t, "dt")), 3 * SCENE_DT, 1e-15);
  size_t n;
  float *pos = decode(json_object_get(t, "body_pos"), &n);
  assert_int_equal(n, 54 * SCENE_BODIES * 3);
  for (int f = 0; f < 54; f++) {
    double p[3];
    scene_ball(1, 3 * f * SCENE_DT, p);
    for (int k = 0; k < 3; k++) check_close((double)pos[(f * SCENE_BODIES + 1) * 3 + k], p[k], 1e-6);
  }
  free(pos);
  // frames 0, 3, ..., 18 have one contact each, with force 0.25 f along x
  float *force = decode(json_object_get(json_object_get(t, "contacts"), "force"), &n);
  assert_int_equal(n, 3 * 7);
  for (int i = 0; i < 7; i++) check_close((double)force[3 * i], 0.25 * 3 * i, 1e-6);
  free(force);
  json_decref(root);
}

static void test_bad_defs(void **state) {
  Fixture *x = *state;
  tgtScene *s = &x->scene;
  tgError error;
  s->pos[1][(7 * SCENE_BODIES + 1) * 3] = NAN;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_NOT_FINITE, error,
                "trajectory 1 (last iterate): the pose of body 1 (ball </script><script>window.pwned=1</script>) is not finite in frame 7");
  s->pos[1][(7 * SCENE_BODIES + 1) * 3] = 1e39;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_NOT_FINITE, error, "in frame 7");
  s->pos[1][(7 * SCENE_BODIES + 1) * 3] = 0;
  s->contact_force[4] = INFINITY;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_NOT_FINITE, error, "a contact");
  s->contact_force[4] = 0;
  s->offset[9] = 3;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "fall at frame 8");
  s->offset[9] = 9;
  s->face[5] = 4;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "face 1 names vertex 4 of 4");
  s->face[5] = 3;
  s->geom[1].body = 3;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "geom 1 is on body 3 of 3");
  s->geom[1].body = 1;
  s->geom[2].mesh = -1;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "geom 2 has mesh -1");
  s->geom[2].mesh = 0;
  s->trajectory[0].dt = 0;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "positive dt");
  s->trajectory[0].dt = SCENE_DT;
  s->loss_x[2] = NAN;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_NOT_FINITE, error, "point 2");
  s->loss_x[2] = 2;
  s->marker[0].pos[2] = NAN;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_NOT_FINITE, error, "marker 0");
  s->marker[0].pos[2] = 0;
  s->def.track = 3;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "cannot track body 3");
  s->def.track = 0;
  // all mended again, so each refusal was for its own reason; nothing was left behind
  assert_int_equal(tgt_folder_count(&x->folder), 1);
  assert_int_equal(tgi_replay_write(&s->def, x->template, x->path, &error), TG_OK);
}

static void test_bad_templates(void **state) {
  Fixture *x = *state;
  tgError error;
  check_refused(tgi_replay_write(&x->scene.def, "/nowhere/viewer.html", x->path, &error), TG_ERR_FILE, error, "make build");
  check_refused(tgi_replay_write(&x->scene.def, x->folder.path, x->path, &error), TG_ERR_FILE, error, "no readable file");
  const char *const bad[] = {
      "", "<p>no place</p>", "<script type=\"application/json\" id=\"tangere-replay\">{}</script>",
      "<script type=\"application/json\" id=\"tangere-replay\"></script><script type=\"application/json\" id=\"tangere-replay\"></script>",
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tgt_write(x->template, bad[i], strlen(bad[i]));
    check_refused(tgi_replay_write(&x->scene.def, x->template, x->path, &error), TG_ERR_FILE, error, "no replay viewer");
  }
  // found at run time
  setenv("TANGERE_VIEWER", "/nowhere/viewer.html", 1);
  char found[512];
  check_refused(tgi_replay_template(found, sizeof found, &error), TG_ERR_FILE, error, "/nowhere/viewer.html is not there: `make build`");
  check_refused(tgi_replay_template(found, 5, &error), TG_ERR_FILE, error, "too long");
  tgt_write(x->template, TEMPLATE, strlen(TEMPLATE));
  setenv("TANGERE_VIEWER", x->template, 1);
  assert_int_equal(tgi_replay_write(&x->scene.def, NULL, x->path, &error), TG_OK);
  unsetenv("TANGERE_VIEWER");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_all_of_it_is_there, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_stride, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_bad_defs, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_bad_templates, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
