// replay.c: checks the def, then streams template head, JSON, template tail to an atomic file.
#include "output/replay.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "base/atomic_file.h"
#include "output/emit.h"

enum { MAX_TEMPLATE = 64 << 20 };  // bytes; the viewer has under one MiB

// the data goes between these two, once in the template
static const char OPEN[] = "<script type=\"application/json\" id=\"tangere-replay\">";
static const char CLOSE[] = "</script>";

static const char *const GEOM_WORD[] = {"plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"};
static const char *const ROLE_WORD[] = {"both", "visual", "collision"};

// --- the template

tgStatus tgi_replay_template(char *path, size_t size, tgError *error) {
  const char *env = getenv("TANGERE_VIEWER");
  int length;
  if (env != NULL && env[0] != '\0') {
    length = snprintf(path, size, "%s", env);
  } else {
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(exe, '/');
    if (slash == NULL) return tgi_error(error, TG_ERR_FILE, "the viewer is not found: set TANGERE_VIEWER to viewer.html");
    *slash = '\0';
    length = snprintf(path, size, "%s/../share/tangere/viewer.html", exe);
  }
  if (length < 0 || (size_t)length >= size) return tgi_error(error, TG_ERR_FILE, "the path of the viewer is too long");
  if (access(path, R_OK) == 0) return TG_OK;
  return tgi_error(error, TG_ERR_FILE, "the replay viewer %s is not there: `make build` makes it, or set TANGERE_VIEWER", path);
}

// the whole template, malloc'd and ended by 0
static tgStatus read_template(const char *path, char **text, tgError *error) {
  char why[128];
  struct stat info;
  FILE *file = fopen(path, "rbe");
  if (file == NULL)
    return tgi_error(error, TG_ERR_FILE, "the replay viewer %s cannot be read (%s): `make build` makes it", path,
                     strerror_r(errno, why, sizeof why));
  bool plain = fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= MAX_TEMPLATE;
  size_t size = plain ? (size_t)info.st_size : 0;
  *text = plain ? malloc(size + 1) : NULL;
  bool ok = *text != NULL && fread(*text, 1, size, file) == size;
  fclose(file);
  if (ok) {
    (*text)[size] = '\0';
    return TG_OK;
  }
  free(*text);
  *text = NULL;
  return tgi_error(error, TG_ERR_FILE, "the replay viewer %s is no readable file of at most %d MiB", path, MAX_TEMPLATE >> 20);
}

// *head gets the bytes before the place of the data, *tail where the template goes on
static tgStatus split_template(const char *path, const char *text, size_t *head, const char **tail, tgError *error) {
  const char *mark = strstr(text, OPEN);
  const char *after = mark == NULL ? NULL : mark + strlen(OPEN);
  if (mark == NULL || strstr(after, OPEN) != NULL || strncmp(after, CLOSE, strlen(CLOSE)) != 0)
    return tgi_error(error, TG_ERR_FILE, "%s is no replay viewer: it has not exactly one empty place for the data", path);
  *head = (size_t)(after - text);
  *tail = after;
  return TG_OK;
}

// --- checks

// every number that is written can be drawn: finite as a float
static bool finite_floats(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!(fabs(x[i]) <= 3.4e38)) return false;
  return true;
}

static tgStatus check_model(const tgReplayDef *def, tgError *error) {
  if (def->nbody < 1 || def->ngeom < 0 || def->nmesh < 0 || def->ntrajectory < 1 || def->nloss < 0 || def->nfigure < 0)
    return tgi_error(error, TG_ERR_ARG, "a replay needs a world body and a trajectory");
  if (def->nmarker < 0 || def->track < 0 || def->track >= def->nbody)
    return tgi_error(error, TG_ERR_ARG, "a replay of %d bodies cannot track body %d", def->nbody, def->track);
  for (int i = 0; i < def->nmarker; i++)
    if (!finite_floats(def->marker[i].pos, 3) || !(def->marker[i].radius >= 0))
      return tgi_error(error, TG_ERR_NOT_FINITE, "replay marker %d has no finite place", i);
  for (int i = 0; i < def->nloss; i++)
    if (!isfinite(def->loss_x[i])) return tgi_error(error, TG_ERR_NOT_FINITE, "replay loss: x of point %d is not finite", i);
  for (int i = 0; i < def->nmesh; i++) {
    const tgReplayMesh *m = &def->mesh[i];
    for (int k = 0; k < 3 * m->nface; k++)
      if (m->face[k] < 0 || m->face[k] >= m->nvert)
        return tgi_error(error, TG_ERR_ARG, "replay mesh %d: face %d names vertex %d of %d", i, k / 3, m->face[k], m->nvert);
  }
  for (int i = 0; i < def->ngeom; i++) {
    const tgReplayGeom *g = &def->geom[i];
    if (g->body < 0 || g->body >= def->nbody)
      return tgi_error(error, TG_ERR_ARG, "replay geom %d is on body %d of %d", i, g->body, def->nbody);
    if (g->type == TG_GEOM_MESH && (g->mesh < 0 || g->mesh >= def->nmesh))
      return tgi_error(error, TG_ERR_ARG, "replay geom %d has mesh %d of %d", i, g->mesh, def->nmesh);
  }
  return TG_OK;
}

static tgStatus check_trajectory(const tgReplayDef *def, int i, tgError *error) {
  const tgReplayTrajectory *t = &def->trajectory[i];
  const char *label = t->label == NULL ? "" : t->label;
  if (t->nframe < 1 || !(t->dt > 0) || !isfinite(t->dt) || t->body_pos == NULL || t->body_quat == NULL || t->stride < 0)
    return tgi_error(error, TG_ERR_ARG, "replay trajectory %d (%s) needs frames, a positive dt and poses", i, label);
  for (int f = 0; f < t->nframe; f++) {
    for (int b = 0; b < def->nbody; b++) {
      size_t k = (size_t)f * (size_t)def->nbody + (size_t)b;
      if (finite_floats(t->body_pos + 3 * k, 3) && finite_floats(t->body_quat + 4 * k, 4)) continue;
      const char *name = def->body_name == NULL || def->body_name[b] == NULL ? "" : def->body_name[b];
      return tgi_error(error, TG_ERR_NOT_FINITE, "replay trajectory %d (%s): the pose of body %d (%s) is not finite in frame %d",
                       i, label, b, name, f);
    }
  }
  const int *o = t->contact_offset;
  if (o == NULL) return TG_OK;
  for (int f = 0; f < t->nframe; f++)
    if (o[f] < 0 || o[f + 1] < o[f])
      return tgi_error(error, TG_ERR_ARG, "replay trajectory %d (%s): contact offsets fall at frame %d", i, label, f);
  size_t n = 3 * (size_t)o[t->nframe];
  if (n > 0 && (t->contact_pos == NULL || t->contact_force == NULL || !finite_floats(t->contact_pos, n) ||
                !finite_floats(t->contact_force, n)))
    return tgi_error(error, TG_ERR_NOT_FINITE, "replay trajectory %d (%s): a contact is missing or not finite", i, label);
  return TG_OK;
}

// --- JSON

static void put_numbers(FILE *out, const double *x, int n) {
  for (int i = 0; i < n; i++) {
    fputc(i == 0 ? '[' : ',', out);
    tgi_emit_number(out, x[i]);
  }
  if (n == 0) fputc('[', out);
  fputc(']', out);
}

static void put_floats(tgBase64 *state, const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    float f = (float)x[i];
    tgi_base64_put(state, &f, sizeof f);
  }
}

static void put_model(FILE *out, const tgReplayDef *def) {
  fputs("\"model\":{\"name\":", out);
  tgi_emit_text(out, def->model_name);
  fputs(",\"gravity\":", out);
  put_numbers(out, def->gravity, 3);
  fputs(",\"bodies\":[", out);
  for (int i = 0; i < def->nbody; i++) {
    fputs(i > 0 ? ",{\"name\":" : "{\"name\":", out);
    tgi_emit_text(out, def->body_name == NULL ? NULL : def->body_name[i]);
    fputc('}', out);
  }
  fputs("],\"geoms\":[", out);
  for (int i = 0; i < def->ngeom; i++) {
    const tgReplayGeom *g = &def->geom[i];
    double rgba[4] = {g->rgba[0], g->rgba[1], g->rgba[2], g->rgba[3]};
    fputs(i > 0 ? ",{\"name\":" : "{\"name\":", out);
    tgi_emit_text(out, g->name);
    fprintf(out, ",\"body\":%d,\"type\":\"%s\",\"role\":\"%s\",\"mesh\":%d,\"size\":", g->body, GEOM_WORD[g->type],
            ROLE_WORD[g->role], g->type == TG_GEOM_MESH ? g->mesh : -1);
    put_numbers(out, g->size, 3);
    fputs(",\"pos\":", out);
    put_numbers(out, g->pos, 3);
    fputs(",\"quat\":", out);
    put_numbers(out, g->quat, 4);
    fputs(",\"rgba\":", out);
    put_numbers(out, rgba, 4);
    fputc('}', out);
  }
  fputs("],\"meshes\":[", out);
  tgBase64 state;
  for (int i = 0; i < def->nmesh; i++) {
    const tgReplayMesh *m = &def->mesh[i];
    fputs(i > 0 ? ",{\"vert\":\"" : "{\"vert\":\"", out);
    tgi_base64_begin(&state, out);
    put_floats(&state, m->vert, 3 * (size_t)m->nvert);
    tgi_base64_end(&state);
    fputs("\",\"face\":\"", out);
    tgi_base64_put(&state, m->face, 3 * (size_t)m->nface * sizeof *m->face);
    tgi_base64_end(&state);
    fputs("\"}", out);
  }
  fputs("]}", out);
}

// contacts of the written frames
static void put_contacts(FILE *out, const tgReplayTrajectory *t, int stride) {
  tgBase64 state;
  uint32_t n = 0;
  fputs("{\"offset\":\"", out);
  tgi_base64_begin(&state, out);
  tgi_base64_put(&state, &n, sizeof n);
  for (int f = 0; f < t->nframe; f += stride) {
    n += (uint32_t)(t->contact_offset[f + 1] - t->contact_offset[f]);
    tgi_base64_put(&state, &n, sizeof n);
  }
  tgi_base64_end(&state);
  for (int k = 0; k < 2; k++) {
    const double *x = k == 0 ? t->contact_pos : t->contact_force;
    fputs(k == 0 ? "\",\"pos\":\"" : "\",\"force\":\"", out);
    for (int f = 0; f < t->nframe; f += stride) {
      size_t from = 3 * (size_t)t->contact_offset[f], to = 3 * (size_t)t->contact_offset[f + 1];
      if (to > from) put_floats(&state, x + from, to - from);
    }
    tgi_base64_end(&state);
  }
  fputs("\"}", out);
}

static void put_trajectory(FILE *out, const tgReplayDef *def, const tgReplayTrajectory *t) {
  int stride = t->stride > 1 ? t->stride : 1;
  fputs("{\"label\":", out);
  tgi_emit_text(out, t->label);
  fputs(",\"iteration\":", out);
  tgi_emit_number(out, t->iteration);
  fputs(",\"dt\":", out);
  tgi_emit_number(out, t->dt * stride);
  fprintf(out, ",\"nframe\":%d", (t->nframe - 1) / stride + 1);
  tgBase64 state;
  for (int k = 0; k < 2; k++) {
    const double *x = k == 0 ? t->body_pos : t->body_quat;
    size_t n = (size_t)def->nbody * (k == 0 ? 3 : 4);
    fputs(k == 0 ? ",\"body_pos\":\"" : "\",\"body_quat\":\"", out);
    tgi_base64_begin(&state, out);
    for (int f = 0; f < t->nframe; f += stride) put_floats(&state, x + (size_t)f * n, n);
    tgi_base64_end(&state);
  }
  fputs("\",\"contacts\":", out);
  if (t->contact_offset == NULL) fputs("null", out);
  else put_contacts(out, t, stride);
  fputc('}', out);
}

static void put_marker(FILE *out, const tgReplayMarker *m, int i) {
  double rgba[4] = {m->rgba[0], m->rgba[1], m->rgba[2], m->rgba[3]};
  fputs(i > 0 ? ",{\"name\":" : "{\"name\":", out);
  tgi_emit_text(out, m->name);
  fputs(",\"pos\":", out);
  put_numbers(out, m->pos, 3);
  fputs(",\"radius\":", out);
  tgi_emit_number(out, m->radius);
  fputs(",\"rgba\":", out);
  put_numbers(out, rgba, 4);
  fputc('}', out);
}

static void put_replay(FILE *out, const tgReplayDef *def) {
  fputs("{\"version\":1,\"title\":", out);
  tgi_emit_text(out, def->title);
  fputc(',', out);
  put_model(out, def);
  fputs(",\"trajectories\":[", out);
  for (int i = 0; i < def->ntrajectory; i++) {
    if (i > 0) fputc(',', out);
    put_trajectory(out, def, &def->trajectory[i]);
  }
  fputs("],\"markers\":[", out);
  for (int i = 0; i < def->nmarker; i++) put_marker(out, &def->marker[i], i);
  fprintf(out, "],\"track\":%d,\"loss\":", def->track);
  if (def->nloss > 0) {
    fputs("{\"label\":", out);
    tgi_emit_text(out, def->loss_label);
    fputs(",\"x\":", out);
    put_numbers(out, def->loss_x, def->nloss);
    fputs(",\"y\":", out);
    put_numbers(out, def->loss_y, def->nloss);
    fputc('}', out);
  } else {
    fputs("null", out);
  }
  fputs(",\"figures\":{", out);
  for (int i = 0; i < def->nfigure; i++) {
    if (i > 0) fputc(',', out);
    tgi_emit_text(out, def->figure[i].name);
    fputc(':', out);
    if (def->figure[i].text != NULL) tgi_emit_text(out, def->figure[i].text);
    else tgi_emit_number(out, def->figure[i].value);
  }
  fputs("}}", out);
}

tgStatus tgi_replay_write(const tgReplayDef *def, const char *template_path, const char *path, tgError *error) {
  char found[PATH_MAX];
  TG_TRY(check_model(def, error));
  for (int i = 0; i < def->ntrajectory; i++) TG_TRY(check_trajectory(def, i, error));
  if (template_path == NULL) {
    TG_TRY(tgi_replay_template(found, sizeof found, error));
    template_path = found;
  }
  char *text = NULL;
  const char *tail = NULL;
  size_t head = 0;
  tgAtomicFile file = {0};
  TG_TRY(read_template(template_path, &text, error));
  tgStatus status = split_template(template_path, text, &head, &tail, error);
  if (status == TG_OK) status = tgi_atomic_open(&file, path, error);
  if (status == TG_OK) {
    fwrite(text, 1, head, file.stream);
    put_replay(file.stream, def);
    fputs(tail, file.stream);
    status = tgi_atomic_commit(&file, error);
  }
  free(text);
  return status;
}
