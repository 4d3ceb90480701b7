// test_replay.c: head and blocks in the page are the def, read back by jansson and decoders of the test's own; names
// cannot leave their element; bad defs and templates are refused. That a browser draws it is test/viewer's.
#include "output/replay.h"

#include <jansson.h>
#include <zlib.h>

#include "output/folder.h"
#include "output/scene.h"

static const char TEMPLATE[] =
    "<!doctype html><p>before</p><script type=\"application/json\" id=\"tangere-replay\"></script><p>between</p>"
    "<div id=\"tangere-data\" hidden></div><p>after</p>\n";

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

// the bytes of a base64 text, malloc'd
static uint8_t *decode_bytes(const char *s, size_t *bytes) {
  size_t length = strlen(s);
  assert_int_equal(length % 4, 0);
  uint8_t *out = malloc(length + 4);
  uint32_t held = 0;
  *bytes = 0;
  for (size_t i = 0; i < length; i++) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *d = strchr(digits, s[i]);
    held = held << 6 | (s[i] == '=' ? 0 : (uint32_t)(d - digits));
    if (i % 4 != 3) continue;
    for (int k = 2; k >= 0; k--) out[(*bytes)++] = (uint8_t)(held >> (8 * k));
  }
  for (size_t i = length; i > 0 && s[i - 1] == '='; i--) --*bytes;
  return out;
}

// the words of a JSON base64 text, malloc'd; *n gets their count
static void *decode(const json_t *text, size_t *n) {
  size_t bytes;
  assert_non_null(json_string_value(text));
  void *out = decode_bytes(json_string_value(text), &bytes);
  assert_int_equal(bytes % 4, 0);
  *n = bytes / 4;
  return out;
}

// the head of a written page, whose text stays in *page; checks that the template stands around it unchanged
static json_t *page_head(const char *path, char **page) {
  *page = tgt_read(path, NULL);
  assert_non_null(*page);
  const char *open = "id=\"tangere-replay\">", *close = "</script><p>between</p><div id=\"tangere-data\" hidden>",
             *end = "</div><p>after</p>\n";
  char *from = strstr(*page, open) + strlen(open);
  char *to = strstr(from, "</script>");
  assert_memory_equal(to, close, strlen(close));
  assert_memory_equal(*page, TEMPLATE, (size_t)(from - *page));
  assert_string_equal(*page + strlen(*page) - strlen(end), end);
  json_error_t why;
  json_t *root = json_loadb(from, (size_t)(to - from), 0, &why);
  check_true(root != NULL, "%s", why.text);
  return root;
}

// the words of block k of trajectory i, malloc'd: base64, zlib, byte planes
static uint32_t *block(const char *page, int i, int k, size_t *n) {
  char mark[64];
  snprintf(mark, sizeof mark, "<script type=\"text/plain\" id=\"tangere-%d-%d\">", i, k);
  const char *from = strstr(page, mark);
  check_true(from != NULL, "no block %d of trajectory %d", k, i);
  from += strlen(mark);
  size_t length = (size_t)(strstr(from, "</script>") - from), packed_bytes;
  char *text = malloc(length + 1);
  memcpy(text, from, length);
  text[length] = '\0';
  uint8_t *packed = decode_bytes(text, &packed_bytes), *plane = malloc(1 << 20);
  uLongf bytes = 1 << 20;
  assert_int_equal(uncompress(plane, &bytes, packed, (uLong)packed_bytes), Z_OK);
  assert_int_equal(bytes % 4, 0);
  *n = bytes / 4;
  uint32_t *word = malloc(bytes);
  for (size_t w = 0; w < *n; w++)
    word[w] = (uint32_t)plane[w] | (uint32_t)plane[*n + w] << 8 | (uint32_t)plane[2 * *n + w] << 16 | (uint32_t)plane[3 * *n + w] << 24;
  free(plane);
  free(packed);
  free(text);
  return word;
}

// n counts from folded differences
static const uint32_t *sums(const uint32_t *word, int n, int *count) {
  int now = 0;
  for (int i = 0; i < n; i++) {
    int d = (int)(word[i] >> 1);
    now += word[i] & 1 ? -d - 1 : d;
    count[i] = now;
  }
  return word + n;
}

static double as_float(uint32_t word) {
  float f;
  memcpy(&f, &word, sizeof f);
  return (double)f;
}

static const json_t *item(const json_t *root, const char *list, size_t i) { return json_array_get(json_object_get(root, list), i); }

static void check_floats(const json_t *text, const double *want, size_t n) {
  size_t got;
  float *x = decode(text, &got);
  assert_int_equal(got, n);
  for (size_t i = 0; i < n; i++) check_close((double)x[i], want[i], 1e-7 * (1 + fabs(want[i])));
  free(x);
}

static double number(const json_t *object, const char *key) { return json_number_value(json_object_get(object, key)); }
static double element(const json_t *object, const char *key, size_t i) {
  return json_number_value(json_array_get(json_object_get(object, key), i));
}

// how many there are after each frame that is written, and when after it
static const uint32_t *check_counts(const uint32_t *w, const int *offset, const double *time, int nframe, int stride) {
  for (int f = 0; f < nframe; f++) {
    int end = (f + 1) * stride < SCENE_FRAMES ? (f + 1) * stride : SCENE_FRAMES;
    assert_int_equal(*w++, offset[end] - offset[f * stride]);
  }
  for (int s = 0; s < SCENE_FRAMES; s++)
    for (int k = offset[s]; k < offset[s + 1]; k++) check_close(as_float(*w++), s % stride * SCENE_DT + time[k], 1e-9);
  return w;
}

static const uint32_t *check_impacts(const uint32_t *w, const tgReplayTrajectory *want, int nframe, int stride) {
  w = check_counts(w, want->impact_offset, want->impact_time, nframe, stride);
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < SCENE_IMPACTS; k++) assert_int_equal(*w++, want->impact_geom[2 * k + side]);
  for (int c = 0; c < 6; c++)
    for (int k = 0; k < SCENE_IMPACTS; k++)
      check_close(as_float(*w++), (c < 3 ? want->impact_pos : want->impact_impulse)[3 * k + c % 3], 1e-6);
  return w;
}

static const uint32_t *check_between(const uint32_t *w, const json_t *t, const tgReplayTrajectory *want, int nframe, int stride) {
  int count[SCENE_IMPACTS];
  double step = number(t, "step");
  w = check_counts(w, want->between_offset, want->between_time, nframe, stride);
  for (int c = 0; c < 3 * SCENE_BODIES; c++) {
    w = sums(w, SCENE_IMPACTS, count);
    for (int k = 0; k < SCENE_IMPACTS; k++)
      check_close(element(t, "base", (size_t)c % 3) + step * count[k], want->between_pos[k * 3 * SCENE_BODIES + c], 0.5001 * step);
  }
  for (int c = 0; c < 4 * SCENE_BODIES; c++) {
    w = sums(w, SCENE_IMPACTS, count);
    for (int k = 0; k < SCENE_IMPACTS; k++) check_close(count[k] / 65536.0, want->between_quat[k * 4 * SCENE_BODIES + c], 0.5001 / 65536);
  }
  return w;
}

// every stride-th frame of trajectory i is in its blocks, to the precision that docs/replay.md states, with all that belongs to them
static void check_blocks(const char *page, const json_t *root, const tgtScene *s, int i, int stride) {
  const json_t *t = item(root, "trajectories", (size_t)i);
  const tgReplayTrajectory *want = &s->trajectory[i];
  int nframe = (int)number(t, "nframe"), count[SCENE_FRAMES];
  assert_int_equal(nframe, (SCENE_FRAMES - 1) / stride + 1);
  double step = number(t, "step");
  check_true(step > 0 && step <= 8 * exp2(-21) && frexp(step, &count[0]) == 0.5, "positions in steps of %g m", step);  // all is within 4 m
  size_t n;
  uint32_t *all = block(page, i, 0, &n);
  const uint32_t *w = all;
  for (int c = 0; c < 3 * SCENE_BODIES; c++) {
    w = sums(w, nframe, count);
    for (int f = 0; f < nframe; f++)
      check_close(element(t, "base", (size_t)c % 3) + step * count[f], want->body_pos[f * stride * 3 * SCENE_BODIES + c], 0.5001 * step);
  }
  double q[SCENE_FRAMES][4 * SCENE_BODIES];
  for (int c = 0; c < 4 * SCENE_BODIES; c++) {
    w = sums(w, nframe, count);
    for (int f = 0; f < nframe; f++) q[f][c] = count[f] / 65536.0;
  }
  for (int f = 0; f < nframe; f++) {
    for (int b = 0; b < SCENE_BODIES; b++) {
      const double *r = want->body_quat + (f * stride * SCENE_BODIES + b) * 4;
      double dot = 0;
      for (int k = 0; k < 4; k++) dot += q[f][4 * b + k] * r[k];
      for (int k = 0; k < 4; k++) check_close(q[f][4 * b + k], (dot < 0 ? -1 : 1) * r[k], 0.5001 / 65536);
    }
  }
  if (want->contact_offset != NULL) {
    int ncontact = 0, at[SCENE_CONTACTS];
    for (int f = 0; f < nframe; f++) {
      assert_int_equal(*w++, want->contact_offset[f * stride + 1] - want->contact_offset[f * stride]);
      for (int c = want->contact_offset[f * stride]; c < want->contact_offset[f * stride + 1]; c++) at[ncontact++] = c;
    }
    assert_int_equal(ncontact, (int)number(t, "ncontact"));
    for (int k = 0; k < 6; k++)
      for (int c = 0; c < ncontact; c++)
        check_close(as_float(*w++), (k < 3 ? want->contact_pos : want->contact_force)[3 * at[c] + k % 3], 1e-6);
  } else {
    assert_true(json_is_null(json_object_get(t, "ncontact")));
  }
  for (int k = 0; k < 2; k++) {
    const json_t *n_inside = json_object_get(t, k == 0 ? "nimpact" : "nbetween");
    assert_true(want->impact_offset != NULL ? json_integer_value(n_inside) == SCENE_IMPACTS : json_is_null(n_inside));
  }
  if (want->impact_offset != NULL) w = check_impacts(w, want, nframe, stride);
  if (want->between_offset != NULL) w = check_between(w, t, want, nframe, stride);
  assert_int_equal(json_is_true(json_object_get(t, "push")), want->push != NULL);
  for (int k = 0; want->push != NULL && k < 2; k++)
    for (int c = 0; c < 3 * SCENE_BODIES; c++)
      for (int f = 0; f < nframe; f++) {
        double x = (k == 0 ? want->push : want->push_at)[f * stride * 3 * SCENE_BODIES + c];
        check_close(as_float(*w++), x, 1e-7 * fabs(x));
      }
  for (size_t g = 0; g < 2; g++) {
    const json_t *signal = json_array_get(json_object_get(t, "signals"), g);
    const tgReplaySignal *ours = &want->signal[g];
    for (int c = 0; c < ours->npart; c++) {
      double low = element(signal, "low", (size_t)c), high = element(signal, "high", (size_t)c);
      int rows = (int)number(signal, "rows");
      assert_int_equal(rows, (ours->nrow - 1) / stride + 1);
      w = sums(w, nframe, count);
      for (int f = 0; f < rows; f++)
        check_close(low + (high - low) * count[f] / 65535, ours->data[f * stride * ours->npart + c], 0.5001 * (high - low) / 65535);
    }
  }
  assert_int_equal(w - all, n);
  free(all);
}

static void test_all_of_it_is_there(void **state) {
  Fixture *x = *state;
  tgError error = {0};
  char *page;
  check_true(tgi_replay_write(&x->scene.def, x->template, x->path, &error) == TG_OK, "%s", error.text);
  json_t *root = page_head(x->path, &page);
  assert_int_equal(json_integer_value(json_object_get(root, "version")), 3);
  assert_string_equal(json_string_value(json_object_get(root, "title")), x->scene.def.title);
  const json_t *model = item(root, "models", 0);
  assert_string_equal(json_string_value(json_object_get(item(model, "bodies", 1), "name")), SCENE_NAME);
  assert_string_equal(json_string_value(json_object_get(item(model, "bodies", 2), "name")), "");
  assert_int_equal(json_array_size(json_object_get(model, "geoms")), 3);
  const json_t *geom = item(model, "geoms", 2);
  assert_string_equal(json_string_value(json_object_get(geom, "type")), "mesh");
  assert_string_equal(json_string_value(json_object_get(geom, "role")), "visual");
  assert_int_equal(json_integer_value(json_object_get(geom, "mesh")), 0);
  for (size_t k = 0; k < 3; k++) check_close(element(geom, "scale", k), x->scene.geom[2].scale[k], 0);
  assert_null(json_object_get(item(model, "geoms", 1), "scale"));
  check_floats(json_object_get(item(model, "meshes", 0), "vert"), x->scene.vert, 12);
  size_t n;
  uint32_t *face = decode(json_object_get(item(model, "meshes", 0), "face"), &n);
  assert_int_equal(n, 12);
  for (int i = 0; i < 12; i++) assert_int_equal(face[i], x->scene.face[i]);
  free(face);
  for (int k = 0; k < 2; k++) {
    const json_t *t = item(root, "trajectories", (size_t)k);
    check_close(number(t, "dt"), SCENE_DT, 0);
    for (size_t b = 0; b < 3; b++) assert_int_equal((int)element(t, "moves", b), b > 0);
    // the origins of the ball and of the mesh at (-0.5, 0, 0.4)
    check_close(element(t, "box", 0), -0.5, 0);
    check_close(element(t, "box", 3), (k == 0 ? 1 : 2) * SCENE_DT * (SCENE_FRAMES - 1), 1e-12);
    check_blocks(page, root, &x->scene, k, 1);
  }
  const json_t *run = item(root, "runs", 0), *marker = item(run, "markers", 0);
  assert_string_equal(json_string_value(json_object_get(marker, "name")), "target");
  check_close(element(marker, "pos", 1), -0.5, 0);
  check_close(number(marker, "radius"), 0.05, 0);
  assert_int_equal(json_integer_value(json_object_get(run, "track")), 1);
  const json_t *y = json_object_get(json_object_get(run, "loss"), "y");
  assert_int_equal(json_array_size(y), SCENE_LOSSES);
  assert_true(json_is_null(json_array_get(y, 3)));
  check_close(json_number_value(json_array_get(y, 30)), x->scene.loss_y[30], 0);
  assert_true(json_is_null(json_object_get(json_object_get(run, "figures"), "spoilt")));
  assert_string_equal(json_string_value(json_object_get(json_object_get(run, "figures"), "optimiser")), "adam");
  json_decref(root);
  free(page);
  assert_int_equal(tgt_folder_count(&x->folder), 2);
}

// every third frame: poses, contacts, push and signals of those frames
static void test_stride(void **state) {
  Fixture *x = *state;
  char *page;
  x->scene.trajectory[1].stride = 3;
  x->scene.trajectory[0].contact_offset = NULL;
  assert_int_equal(tgi_replay_write(&x->scene.def, x->template, x->path, NULL), TG_OK);
  json_t *root = page_head(x->path, &page);
  check_close(number(item(root, "trajectories", 1), "dt"), 3 * SCENE_DT, 1e-15);
  check_blocks(page, root, &x->scene, 0, 1);
  check_blocks(page, root, &x->scene, 1, 3);
  json_decref(root);
  free(page);
}

// a run longer than a block: each block begins anew, and the last is shorter
static void test_long(void **state) {
  enum { FRAMES = 1200 };
  Fixture *x = *state;
  char *page;
  double *pos = calloc(FRAMES * SCENE_BODIES * 3, sizeof *pos), *quat = calloc(FRAMES * SCENE_BODIES * 4, sizeof *quat);
  for (int i = 0; i < FRAMES * SCENE_BODIES; i++) {
    pos[3 * i] = 1e-3 * (i / SCENE_BODIES) * (i % SCENE_BODIES);
    quat[4 * i] = i % 2 == 0 ? 1 : -1;   // the same turn
  }
  x->scene.trajectory[0] = (tgReplayTrajectory){.label = "long", .iteration = NAN, .dt = 0.01, .nframe = FRAMES,
                                                .body_pos = pos, .body_quat = quat};
  x->scene.def.ntrajectory = 1;
  assert_int_equal(tgi_replay_write(&x->scene.def, x->template, x->path, NULL), TG_OK);
  json_t *root = page_head(x->path, &page);
  const json_t *t = item(root, "trajectories", 0);
  int size = (int)number(t, "block"), count[FRAMES];
  for (int k = 0, from = 0; from < FRAMES; k++, from += size) {
    int frames = FRAMES - from < size ? FRAMES - from : size;
    size_t n;
    uint32_t *all = block(page, 0, k, &n);
    assert_int_equal(n, (size_t)frames * SCENE_BODIES * 7);
    const uint32_t *w = all;
    for (int c = 0; c < 3 * SCENE_BODIES; c++) {
      w = sums(w, frames, count);
      for (int f = 0; f < frames; f++)
        check_close(number(t, "step") * count[f], pos[(from + f) * 3 * SCENE_BODIES + c], 0.5001 * number(t, "step"));
    }
    for (int c = 0; c < 4 * SCENE_BODIES; c++) {
      w = sums(w, frames, count);
      for (int f = 1; f < frames; f++) assert_int_equal(count[f], count[0]);
    }
    free(all);
  }
  check_true(strstr(page, "tangere-0-3") == NULL, "more blocks than frames");
  json_decref(root);
  free(page);
  free(pos);
  free(quat);
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
  s->quat[5] = 9;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error,
                "the quaternion of body 1 is no rotation in frame 0");
  s->quat[5] = 0;
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
  s->run.track = 3;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "cannot track body 3");
  s->run.track = 0;
  s->run.model = 1;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "1 models has no model 1");
  s->run.model = 0;
  s->trajectory[0].run = -1;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "is of run -1 of 1");
  s->trajectory[0].run = 0;
  s->impact_time[1] = 1.1 * SCENE_DT;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "impact 1 is not of its frame, 7");
  s->impact_time[1] = 0.42 * SCENE_DT;
  s->impact_geom[3] = 3;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "impact 1 is not");
  s->impact_geom[3] = 2;
  const double wrong_times[SCENE_IMPACTS] = {0, 0.004, 0.003, 0};
  s->trajectory[1].between_time = wrong_times;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "time of pose 2 between frames");
  s->trajectory[1].between_time = s->impact_time;
  s->between_pos[3] = NAN;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_NOT_FINITE, error, "in pose between frames 0");
  s->between_pos[3] = 0;
  s->impact_offset[5] = 0;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "between frames fall at frame 4");
  s->impact_offset[5] = 1;
  s->push[12] = NAN;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_NOT_FINITE, error,
                "trajectory 1 (last iterate): the gradient");
  s->push[12] = 0;
  s->signal[1].nrow = 7;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_ARG, error, "signal ramp has 7 rows of 161");
  s->signal[1].nrow = SCENE_FRAMES - 1;
  s->ramp[0] = INFINITY;
  check_refused(tgi_replay_write(&s->def, x->template, x->path, &error), TG_ERR_NOT_FINITE, error, "signal ramp is not finite");
  s->ramp[0] = 0;
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
      "", "<p>no place</p>", "<script type=\"application/json\" id=\"tangere-replay\"></script><p>no place for blocks</p>",
      "<div id=\"tangere-data\" hidden></div><script type=\"application/json\" id=\"tangere-replay\"></script>",
      "<script type=\"application/json\" id=\"tangere-replay\">{}</script>",
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
      cmocka_unit_test_setup_teardown(test_long, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_bad_defs, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_bad_templates, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
