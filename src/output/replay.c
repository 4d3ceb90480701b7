// replay.c: checks the def, then streams the template with a JSON head in one place and blocks of frames in another to an atomic file.
#include "output/replay.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_status.h"
#include "base/status.h"
#include "base/atomic_file.h"
#include "output/emit.h"
#include "output/replay_pack.h"

enum { MAX_TEMPLATE = 64 << 20 };  // bytes; the viewer has under one MiB
static const double FARTHEST = 1e30;  // [m], of a pose

// the head goes into the first, the blocks into the second, which stands behind the viewer's script: that runs while they load
static const char HEAD[] = "<script type=\"application/json\" id=\"tangere-replay\"></script>";
static const char DATA[] = "<div id=\"tangere-data\" hidden></div>";

static const char *const GEOM_WORD[] = {"plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"};
static const char *const ROLE_WORD[] = {"both", "visual", "collision"};

// --- the template

// share/tangere/viewer.html, `up` from the folder of the file; false: it is not there
static bool page_near(const char *file, const char *up, char *path, size_t size) {
  const char *slash = strrchr(file, '/');
  if (slash == NULL) return false;
  int length = snprintf(path, size, "%.*s/%sshare/tangere/viewer.html", (int)(slash - file), file, up);
  return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

// of the program, then of what this code lies in, the shared library: lib/ of a prefix, or lib/TRIPLET/
static bool installed_page(char *path, size_t size) {
  char exe[PATH_MAX], library[PATH_MAX];
  Dl_info info;
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  exe[n > 0 ? n : 0] = '\0';
  if (page_near(exe, "../", path, size)) return true;
  static const char here = 0;   // of this object
  if (dladdr(&here, &info) == 0 || info.dli_fname == NULL || realpath(info.dli_fname, library) == NULL) return false;
  return page_near(library, "../", path, size) || page_near(library, "../../", path, size);
}

tgStatus tgi_replay_template(char *path, size_t size, tgError *error) {
  const char *env = getenv("TANGERE_VIEWER");
  if (env == NULL || env[0] == '\0') {
    if (installed_page(path, size)) return TG_OK;
    return tgi_error(error, TG_ERR_FILE,
                     "the replay viewer share/tangere/viewer.html is not there, neither beside the program nor beside the library: "
                     "`make build` makes it, or set TANGERE_VIEWER");
  }
  int length = snprintf(path, size, "%s", env);
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
    return tgi_error(error, tgi_file_status(errno), "the replay viewer %s cannot be read (%s): `make build` makes it", path,
                     tgi_file_reason(errno, why, sizeof why));
  bool plain = fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= MAX_TEMPLATE;
  size_t size = plain ? (size_t)info.st_size : 0;
  *text = plain ? malloc(size + 1) : NULL;
  bool ok = *text != NULL && fread(*text, 1, size, file) == size;
  tgStatus wrong = !ok && ferror(file) ? tgi_file_status(errno) : plain && *text == NULL ? TG_ERR_MEMORY : TG_ERR_FILE;
  fclose(file);
  if (ok) {
    (*text)[size] = '\0';
    return TG_OK;
  }
  free(*text);
  *text = NULL;
  if (wrong == TG_ERR_MEMORY) return tgi_error(error, wrong, "out of memory for the replay viewer %s", path);
  return tgi_error(error, wrong, "the replay viewer %s is no readable file of at most %d MiB", path, MAX_TEMPLATE >> 20);
}

// where `mark` stands in the text, exactly once; NULL: it does not
static const char *only(const char *text, const char *mark) {
  const char *at = strstr(text, mark);
  return at != NULL && strstr(at + 1, mark) == NULL ? at : NULL;
}

// --- checks

// every number that is written can be drawn: finite as a float
static bool finite_floats(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!(fabs(x[i]) <= 3.4e38)) return false;
  return true;
}

static tgStatus check_run(const tgReplayDef *def, const tgReplayRun *run, tgError *error) {
  if (run->model < 0 || run->model >= def->nmodel)
    return tgi_error(error, TG_ERR_ARG, "a replay of %d models has no model %d", def->nmodel, run->model);
  int nbody = def->model[run->model].nbody;
  if (run->nloss < 0 || run->nfigure < 0 || run->nmarker < 0 || run->track < 0 || run->track >= nbody)
    return tgi_error(error, TG_ERR_ARG, "a replay of %d bodies cannot track body %d", nbody, run->track);
  for (int i = 0; i < run->nmarker; i++)
    if (!finite_floats(run->marker[i].pos, 3) || !(run->marker[i].radius >= 0))
      return tgi_error(error, TG_ERR_NOT_FINITE, "replay marker %d has no finite place", i);
  for (int i = 0; i < run->nloss; i++)
    if (!isfinite(run->loss_x[i])) return tgi_error(error, TG_ERR_NOT_FINITE, "replay loss: x of point %d is not finite", i);
  for (int i = 0; i < run->nloss && run->loss_stage != NULL; i++)
    if (!isfinite(run->loss_stage[i])) return tgi_error(error, TG_ERR_NOT_FINITE, "replay loss: the stage of point %d is not finite", i);
  if (run->nband < 0 || (run->nband > 0 && !finite_floats(run->band, 3 * (size_t)run->nband)))
    return tgi_error(error, TG_ERR_NOT_FINITE, "replay loss: its bands are not finite");
  return TG_OK;
}

static tgStatus check_model(const tgReplayShapes *def, tgError *error) {
  if (def->nbody < 1 || def->ngeom < 0 || def->nmesh < 0) return tgi_error(error, TG_ERR_ARG, "a replay needs a world body");
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
  for (int i = 0; i < def->nsheet; i++) {
    const tgReplaySheet *s = &def->sheet[i];
    for (int k = 0; k < s->nvert; k++)
      if (s->body[k] < 0 || s->body[k] >= def->nbody)
        return tgi_error(error, TG_ERR_ARG, "replay sheet %d: vertex %d is on body %d of %d", i, k, s->body[k], def->nbody);
    for (int k = 0; k < 3 * s->nface; k++)
      if (s->face[k] < 0 || s->face[k] >= s->nvert)
        return tgi_error(error, TG_ERR_ARG, "replay sheet %d: face %d names vertex %d of %d", i, k / 3, s->face[k], s->nvert);
  }
  return TG_OK;
}

// signals and gradient
static tgStatus check_numbers(const tgReplayTrajectory *t, int nbody, int i, const char *label, tgError *error) {
  size_t n = 3 * (size_t)t->nframe * (size_t)nbody;
  if (t->push != NULL && (t->push_at == NULL || !finite_floats(t->push, n) || !finite_floats(t->push_at, n)))
    return tgi_error(error, TG_ERR_NOT_FINITE, "replay trajectory %d (%s): the gradient in a push is not finite", i, label);
  for (int k = 0; k < t->nsignal; k++) {
    const tgReplaySignal *s = &t->signal[k];
    if (s->npart < 1 || s->nrow < t->nframe - 1 || s->nrow > t->nframe || (s->nrow > 0 && s->data == NULL))
      return tgi_error(error, TG_ERR_ARG, "replay trajectory %d (%s): signal %s has %d rows of %d", i, label, s->name, s->nrow, t->nframe);
    if (s->nrow > 0 && !finite_floats(s->data, (size_t)s->nrow * (size_t)s->npart))
      return tgi_error(error, TG_ERR_NOT_FINITE, "replay trajectory %d (%s): signal %s is not finite", i, label, s->name);
  }
  return TG_OK;
}

static bool is_impact(const tgReplayTrajectory *t, const tgReplayShapes *m, int k) {
  const int *geom = t->impact_geom + 2 * k;
  return t->impact_time[k] >= 0 && t->impact_time[k] <= 1.000001 * t->dt && geom[0] >= 0 && geom[0] < m->ngeom && geom[1] >= 0 &&
         geom[1] < m->ngeom && finite_floats(t->impact_pos + 3 * k, 3) && finite_floats(t->impact_impulse + 3 * k, 3);
}

// impacts and poses between frames
static tgStatus check_inside(const tgReplayTrajectory *t, const tgReplayShapes *m, int i, const char *label, tgError *error) {
  const int *o = t->impact_offset, *p = t->between_offset;
  for (int f = 0; f < t->nframe; f++) {
    if ((o != NULL && (o[f] < 0 || o[f + 1] < o[f])) || (p != NULL && (p[f] < 0 || p[f + 1] < p[f])))
      return tgi_error(error, TG_ERR_ARG, "replay trajectory %d (%s): offsets of what is between frames fall at frame %d", i, label, f);
    for (int k = o != NULL ? o[f] : 0; o != NULL && k < o[f + 1]; k++)
      if (!is_impact(t, m, k))
        return tgi_error(error, TG_ERR_ARG, "replay trajectory %d (%s): impact %d is not of its frame, %d, or not of geoms", i, label, k,
                         f);
    for (int k = p != NULL ? p[f] : 0; p != NULL && k < p[f + 1]; k++)
      if (!(t->between_time[k] >= (k > p[f] ? t->between_time[k - 1] : 0) && t->between_time[k] <= 1.000001 * t->dt))
        return tgi_error(error, TG_ERR_ARG, "replay trajectory %d (%s): the time of pose %d between frames is not of its frame, %d", i,
                         label, k, f);
  }
  return TG_OK;
}

// n poses are finite, near and turns
static tgStatus check_poses(const tgReplayShapes *m, const double *pos, const double *quat, int n, int i, const char *label,
                            const char *what, tgError *error) {
  for (int f = 0; f < n; f++) {
    for (int b = 0; b < m->nbody; b++) {
      size_t k = (size_t)f * (size_t)m->nbody + (size_t)b;
      const double *p = pos + 3 * k, *q = quat + 4 * k;
      const char *name = m->body_name == NULL || m->body_name[b] == NULL ? "" : m->body_name[b];
      if (!finite_floats(p, 3) || !finite_floats(q, 4) || !(fabs(p[0]) < FARTHEST && fabs(p[1]) < FARTHEST && fabs(p[2]) < FARTHEST))
        return tgi_error(error, TG_ERR_NOT_FINITE, "replay trajectory %d (%s): the pose of body %d (%s) is not finite in %s %d",
                         i, label, b, name, what, f);
      double size = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
      if (!(size > 0.25 && size < 4))
        return tgi_error(error, TG_ERR_ARG, "replay trajectory %d (%s): the quaternion of body %d is no rotation in %s %d", i, label, b,
                         what, f);
    }
  }
  return TG_OK;
}

static tgStatus check_trajectory(const tgReplayDef *def, int i, tgError *error) {
  const tgReplayTrajectory *t = &def->trajectory[i];
  const char *label = t->label == NULL ? "" : t->label;
  if (t->nframe < 1 || !(t->dt > 0) || !isfinite(t->dt) || t->body_pos == NULL || t->body_quat == NULL || t->stride < 0)
    return tgi_error(error, TG_ERR_ARG, "replay trajectory %d (%s) needs frames, a positive dt and poses", i, label);
  if (t->run < 0 || t->run >= def->nrun)
    return tgi_error(error, TG_ERR_ARG, "replay trajectory %d (%s) is of run %d of %d", i, label, t->run, def->nrun);
  const tgReplayShapes *m = &def->model[def->run[t->run].model];
  TG_TRY(check_poses(m, t->body_pos, t->body_quat, t->nframe, i, label, "frame", error));
  TG_TRY(check_inside(t, m, i, label, error));
  if (t->between_offset != NULL)
    TG_TRY(check_poses(m, t->between_pos, t->between_quat, t->between_offset[t->nframe], i, label, "pose between frames", error));
  TG_TRY(check_numbers(t, m->nbody, i, label, error));
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

static tgStatus check(const tgReplayDef *def, tgError *error) {
  if (def->nmodel < 1 || def->nrun < 1 || def->ntrajectory < 1)
    return tgi_error(error, TG_ERR_ARG, "a replay needs a model, a run and a trajectory");
  for (int i = 0; i < def->nmodel; i++) TG_TRY(check_model(&def->model[i], error));
  for (int i = 0; i < def->nrun; i++) TG_TRY(check_run(def, &def->run[i], error));
  for (int i = 0; i < def->ntrajectory; i++) TG_TRY(check_trajectory(def, i, error));
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

static void put_geom(FILE *out, const tgReplayGeom *g) {
  double rgba[4] = {g->rgba[0], g->rgba[1], g->rgba[2], g->rgba[3]};
  fputs("{\"name\":", out);
  tgi_emit_text(out, g->name);
  fprintf(out, ",\"body\":%d,\"type\":\"%s\",\"role\":\"%s\",\"mesh\":%d,\"size\":", g->body, GEOM_WORD[g->type],
          ROLE_WORD[g->role], g->type == TG_GEOM_MESH ? g->mesh : -1);
  put_numbers(out, g->size, 3);
  if (g->type == TG_GEOM_MESH) {
    fputs(",\"scale\":", out);
    put_numbers(out, g->scale, 3);
  }
  fputs(",\"pos\":", out);
  put_numbers(out, g->pos, 3);
  fputs(",\"quat\":", out);
  put_numbers(out, g->quat, 4);
  fputs(",\"rgba\":", out);
  put_numbers(out, rgba, 4);
  fputc('}', out);
}

// a key and numbers in base 64: floats of 4 bytes, integers as they are
static void put_packed_floats(FILE *out, const char *key, const double *x, size_t n) {
  tgBase64 state;
  fprintf(out, "\"%s\":\"", key);
  tgi_base64_begin(&state, out);
  put_floats(&state, x, n);
  tgi_base64_end(&state);
  fputc('"', out);
}

static void put_packed_ints(FILE *out, const char *key, const int *x, size_t n) {
  tgBase64 state;
  fprintf(out, "\"%s\":\"", key);
  tgi_base64_begin(&state, out);
  tgi_base64_put(&state, x, n * sizeof *x);
  tgi_base64_end(&state);
  fputc('"', out);
}

static void put_mesh(FILE *out, const tgReplayMesh *m) {
  fputc('{', out);
  put_packed_floats(out, "vert", m->vert, 3 * (size_t)m->nvert);
  fputc(',', out);
  put_packed_ints(out, "face", m->face, 3 * (size_t)m->nface);
  fputc('}', out);
}

static void put_sheet(FILE *out, const tgReplaySheet *s) {
  double rgba[4] = {s->rgba[0], s->rgba[1], s->rgba[2], s->rgba[3]};
  fputs("{\"rgba\":", out);
  put_numbers(out, rgba, 4);
  fputc(',', out);
  put_packed_ints(out, "body", s->body, (size_t)s->nvert);
  fputc(',', out);
  put_packed_floats(out, "pos", s->pos, 3 * (size_t)s->nvert);
  fputc(',', out);
  put_packed_ints(out, "face", s->face, 3 * (size_t)s->nface);
  fputc('}', out);
}

static void put_model(FILE *out, const tgReplayShapes *def) {
  fputs("{\"name\":", out);
  tgi_emit_text(out, def->name);
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
    if (i > 0) fputc(',', out);
    put_geom(out, &def->geom[i]);
  }
  fputs("],\"meshes\":[", out);
  for (int i = 0; i < def->nmesh; i++) {
    if (i > 0) fputc(',', out);
    put_mesh(out, &def->mesh[i]);
  }
  fputs("],\"sheets\":[", out);
  for (int i = 0; i < def->nsheet; i++) {
    if (i > 0) fputc(',', out);
    put_sheet(out, &def->sheet[i]);
  }
  fputs("]}", out);
}

static void put_signals(FILE *out, const tgReplayTrajectory *t, const tgReplayScale *scale) {
  int stride = tgi_replay_stride(t), at = 0;
  for (int i = 0; i < t->nsignal; i++) {
    const tgReplaySignal *s = &t->signal[i];
    fputs(i > 0 ? ",{\"name\":" : "{\"name\":", out);
    tgi_emit_text(out, s->name);
    fputs(",\"unit\":", out);
    tgi_emit_text(out, s->unit);
    fprintf(out, ",\"rows\":%d,\"parts\":[", s->nrow < 1 ? 0 : (s->nrow - 1) / stride + 1);
    for (int k = 0; k < s->npart; k++) {
      if (k > 0) fputc(',', out);
      tgi_emit_text(out, s->part == NULL ? NULL : s->part[k]);
    }
    fputs("],\"low\":", out);
    put_numbers(out, scale->low + at, s->npart);
    fputs(",\"high\":", out);
    put_numbers(out, scale->high + at, s->npart);
    fputc('}', out);
    at += s->npart;
  }
}

static void put_count(FILE *out, const char *key, size_t n) {
  if (n > 0) fprintf(out, ",\"%s\":%zu", key, n);
  else fprintf(out, ",\"%s\":null", key);
}

static void put_trajectory(FILE *out, const tgReplayTrajectory *t, int nbody, const tgReplayScale *scale, const char *moves) {
  fputs("{\"label\":", out);
  tgi_emit_text(out, t->label);
  fprintf(out, ",\"run\":%d,\"iteration\":", t->run);
  tgi_emit_number(out, t->iteration);
  fputs(",\"dt\":", out);
  tgi_emit_number(out, t->dt * tgi_replay_stride(t));
  fprintf(out, ",\"nframe\":%d,\"block\":%d,\"step\":", scale->nframe, TG_REPLAY_BLOCK);
  tgi_emit_number(out, scale->step);
  fputs(",\"base\":", out);
  put_numbers(out, scale->base, 3);
  fputs(",\"box\":", out);
  put_numbers(out, scale->box, 6);
  fputs(",\"moves\":[", out);
  for (int b = 0; b < nbody; b++) fprintf(out, "%s%d", b > 0 ? "," : "", moves[b]);
  fputs("],\"ncontact\":", out);
  if (t->contact_offset == NULL) fputs("null", out);
  else fprintf(out, "%zu", scale->ncontact);
  put_count(out, "nimpact", scale->nimpact);
  put_count(out, "nbetween", scale->nbetween);
  fprintf(out, ",\"push\":%s,\"signals\":[", t->push != NULL ? "true" : "false");
  put_signals(out, t, scale);
  fputs("]}", out);
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

static void put_run(FILE *out, const tgReplayRun *def) {
  fputs("{\"label\":", out);
  tgi_emit_text(out, def->label);
  fprintf(out, ",\"model\":%d,\"markers\":[", def->model);
  for (int i = 0; i < def->nmarker; i++) put_marker(out, &def->marker[i], i);
  fprintf(out, "],\"track\":%d,\"loss\":", def->track);
  if (def->nloss > 0) {
    fputs("{\"label\":", out);
    tgi_emit_text(out, def->loss_label);
    fputs(",\"x\":", out);
    put_numbers(out, def->loss_x, def->nloss);
    fputs(",\"y\":", out);
    put_numbers(out, def->loss_y, def->nloss);
    if (def->loss_stage != NULL) {
      fputs(",\"stage\":", out);
      put_numbers(out, def->loss_stage, def->nloss);
    }
    if (def->nband > 0) {
      fputs(",\"band\":", out);
      put_numbers(out, def->band, 3 * def->nband);
    }
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

// what the blocks of each trajectory are measured by
typedef struct Packed {
  tgReplayScale *scale;
  char **moves;
} Packed;

static int bodies(const tgReplayDef *def, int i) { return def->model[def->run[def->trajectory[i].run].model].nbody; }

static tgStatus measure(const tgReplayDef *def, Packed *p) {
  p->scale = calloc((size_t)def->ntrajectory, sizeof *p->scale);
  p->moves = calloc((size_t)def->ntrajectory, sizeof *p->moves);
  if (p->scale == NULL || p->moves == NULL) return TG_ERR_MEMORY;
  for (int i = 0; i < def->ntrajectory; i++) {
    p->moves[i] = malloc((size_t)bodies(def, i));
    if (p->moves[i] == NULL) return TG_ERR_MEMORY;
    TG_TRY(tgi_replay_scale(&def->trajectory[i], bodies(def, i), &p->scale[i], p->moves[i]));
  }
  return TG_OK;
}

static void forget(const tgReplayDef *def, Packed *p) {
  for (int i = 0; i < def->ntrajectory; i++) {
    if (p->scale != NULL) tgi_replay_scale_free(&p->scale[i]);
    if (p->moves != NULL) free(p->moves[i]);
  }
  free(p->scale);
  free(p->moves);
}

static void put_head(FILE *out, const tgReplayDef *def, const Packed *p) {
  fputs("{\"version\":3,\"title\":", out);
  tgi_emit_text(out, def->title);
  fputs(",\"models\":[", out);
  for (int i = 0; i < def->nmodel; i++) {
    if (i > 0) fputc(',', out);
    put_model(out, &def->model[i]);
  }
  fputs("],\"runs\":[", out);
  for (int i = 0; i < def->nrun; i++) {
    if (i > 0) fputc(',', out);
    put_run(out, &def->run[i]);
  }
  fputs("],\"trajectories\":[", out);
  for (int i = 0; i < def->ntrajectory; i++) {
    if (i > 0) fputc(',', out);
    put_trajectory(out, &def->trajectory[i], bodies(def, i), &p->scale[i], p->moves[i]);
  }
  fputs("]}", out);
}

// block k of every trajectory before block k + 1 of any: all of them can be seen from the start
static tgStatus put_blocks(FILE *out, const tgReplayDef *def, const Packed *p) {
  bool more = true;
  for (int k = 0; more; k++) {
    more = false;
    for (int i = 0; i < def->ntrajectory; i++) {
      if (k > (p->scale[i].nframe - 1) / TG_REPLAY_BLOCK) continue;
      more = true;
      fprintf(out, "<script type=\"text/plain\" id=\"tangere-%d-%d\">", i, k);
      TG_TRY(tgi_replay_block(out, &def->trajectory[i], bodies(def, i), &p->scale[i], k));
      fputs("</script>\n", out);
    }
  }
  return TG_OK;
}

// the template with the head and the blocks in their places
static tgStatus put_page(const char *text, const char *head, const char *data, const tgReplayDef *def, const char *path, tgError *error) {
  const char *close = "</script>", *end = "</div>";
  Packed packed = {0};
  tgAtomicFile file = {0};
  const char *inside = head + strlen(HEAD) - strlen(close), *below = data + strlen(DATA) - strlen(end);
  tgStatus status = measure(def, &packed);
  if (status == TG_OK) status = tgi_atomic_open(&file, path, error);
  if (status == TG_OK) {
    fwrite(text, 1, (size_t)(inside - text), file.stream);
    put_head(file.stream, def, &packed);
    fwrite(inside, 1, (size_t)(below - inside), file.stream);
    status = put_blocks(file.stream, def, &packed);
    fputs(below, file.stream);
    if (status == TG_OK) status = tgi_atomic_commit(&file, error);
    else tgi_atomic_discard(&file);
  }
  forget(def, &packed);
  return status == TG_ERR_MEMORY ? tgi_error(error, status, "out of memory for the replay %s", path) : status;
}

tgStatus tgi_replay_write(const tgReplayDef *def, const char *template_path, const char *path, tgError *error) {
  char found[PATH_MAX];
  TG_TRY(check(def, error));
  if (template_path == NULL) {
    TG_TRY(tgi_replay_template(found, sizeof found, error));
    template_path = found;
  }
  char *text = NULL;
  TG_TRY(read_template(template_path, &text, error));
  const char *head = only(text, HEAD), *data = only(text, DATA);
  tgStatus status = head == NULL || data == NULL || data < head
      ? tgi_error(error, TG_ERR_FILE, "%s is no replay viewer: it has not exactly one empty place for the data", template_path)
      : put_page(text, head, data, def, path, error);
  free(text);
  return status;
}
