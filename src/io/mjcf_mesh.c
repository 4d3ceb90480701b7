// mjcf_mesh.c: mesh assets: from a file or written out, moved by refpos, refquat and scale.
//
// v' = scale * R(refquat)^T (v - refpos), component by component; a mirroring scale turns the triangles round.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/mesh_file.h"
#include "io/mjcf.h"

static tgEl mesh_el(tgMjcf *m, const tgXmlNode *node, int *cls, tgStatus *status) {
  *status = tgi_mjcf_class(m, node, "class", 0, cls);
  return tgi_mjcf_el(m, node, "mesh", *status == TG_OK ? *cls : 0);
}

const char *tgi_mjcf_stem(tgMjcf *m, const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path, *dot = strrchr(base, '.');
  return tgi_xml_string(m->xml, base, dot != NULL && dot > base ? (size_t)(dot - base) : strlen(base));
}

// names come first, so that geoms can refer to meshes; what lies in the files comes when the geoms are known
tgStatus tgi_mjcf_mesh_names(tgMjcf *m) {
  for (const tgXmlNode *s = tgi_xml_child(m->root, "asset"); s != NULL; s = tgi_xml_next(s, "asset"))
    for (tgXmlNode *n = tgi_xml_child(s, "mesh"); n != NULL; n = tgi_xml_next(n, "mesh")) {
      const char *name = tgi_mjcf_own_name(n), *file = tgi_xml_get(n, "file");
      bool inlined = tgi_xml_get(n, "vertex") != NULL;
      if ((file != NULL && *file != 0) == inlined)
        return tgi_xml_error(m->xml, n, m->error, TG_ERR_INVALID, inlined ? "has file and vertex; keep one"
                                                                         : "needs file=\"...\" or vertex=\"...\"");
      if (name == NULL && file != NULL) name = tgi_mjcf_stem(m, file);
      if (name == NULL) return tgi_xml_error(m->xml, n, m->error, TG_ERR_INVALID, "needs a name");
      n->kind = tg_desc_add_mesh(m->desc, name, NULL, 0, NULL, 0);
      if (n->kind < 0) return tgi_mjcf_memory(m);
      m->desc->mesh[n->kind].source = n->source;
      TG_TRY(tgi_mjcf_name(m, n, name, TG_NAME_MESH, n->kind));
    }
  return TG_OK;
}

// which meshes collision or mass needs: physical[mesh]
static tgStatus find_physical(tgMjcf *m, bool **physical) {
  const tgDesc *d = m->desc;
  const int *group = d->compiler.inertiagrouprange;
  bool *mesh = tgi_xml_bytes(m->xml, (size_t)d->nmesh + 1), *paired = tgi_xml_bytes(m->xml, (size_t)d->ngeom + 1);
  if (mesh == NULL || paired == NULL) return tgi_mjcf_memory(m);
  memset(mesh, 0, (size_t)d->nmesh + 1);
  memset(paired, 0, (size_t)d->ngeom + 1);
  for (int p = 0; p < d->npair; p++) paired[d->pair[p].geom1] = paired[d->pair[p].geom2] = true;
  for (int i = 0; i < d->ngeom; i++) {
    const tgGeomDesc *g = &d->geom[i];
    if (g->mesh < 0) continue;
    bool own = d->body[g->body].has_inertial && d->compiler.inertiafromgeom != TG_INERTIA_FROM_GEOM;
    bool none = isnan(g->mass) ? g->density == 0 : g->mass == 0;
    bool weighs = g->body != 0 && !own && !none && d->compiler.inertiafromgeom != TG_INERTIA_FROM_FILE &&
                  g->group >= group[0] && g->group <= group[1];
    if (g->contype != 0 || g->conaffinity != 0 || paired[i] || weighs) mesh[g->mesh] = true;
  }
  *physical = mesh;
  return TG_OK;
}

static tgStatus inline_mesh(tgMjcf *m, const tgXmlNode *node, tgMeshDesc *mesh) {
  double *vert, *corner;
  int nvert, ncorner;
  TG_TRY(tgi_xml_array(m->xml, node, "vertex", &vert, &nvert, m->error));
  TG_TRY(tgi_xml_array(m->xml, node, "face", &corner, &ncorner, m->error));
  if (nvert < 12 || nvert % 3 != 0)
    return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, "vertex"), m->error, TG_ERR_INVALID,
                              "vertex needs three numbers for each of at least four vertices, has %d", nvert);
  if (ncorner % 3 != 0)
    return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, "face"), m->error, TG_ERR_INVALID,
                              "face needs three vertices for each triangle, has %d numbers", ncorner);
  int *face = tgi_xml_bytes(m->xml, ((size_t)ncorner + 1) * sizeof *face);
  if (face == NULL) return tgi_mjcf_memory(m);
  for (int i = 0; i < ncorner; i++) {
    if (!(corner[i] >= 0 && corner[i] < nvert / 3 && corner[i] == floor(corner[i])))
      return tgi_xml_attr_error(m->xml, node, tgi_xml_attr(node, "face"), m->error, TG_ERR_INVALID,
                                "face: %g is not a vertex; vertices are 0 to %d", corner[i], nvert / 3 - 1);
    face[i] = (int)corner[i];
  }
  mesh->vert = tg_desc_bytes(m->desc, vert, (size_t)nvert * sizeof *vert);
  mesh->face = tg_desc_bytes(m->desc, face, (size_t)ncorner * sizeof *face);
  if (mesh->vert == NULL || mesh->face == NULL) return tgi_mjcf_memory(m);
  mesh->nvert = nvert / 3;
  mesh->nface = ncorner / 3;
  if (ncorner == 0) mesh->inertia_kind = 2;           // points alone: their hull is the mesh
  return TG_OK;
}

tgStatus tgi_mjcf_mesh_file(tgMjcf *m, const tgXmlNode *node, tgMeshDesc *mesh, tgError *why) {
  const char *file = tgi_xml_get(node, "file"), *slash = strrchr(file, '/'), *own = tgi_mjcf_directory(m, node);
  const double one[3] = {1, 1, 1};
  char path[1024], beside[1024];
  tgError also;
  if (m->strippath && slash != NULL) file = slash + 1;
  if (!tgi_path_join(path, sizeof path, m->meshdir, file))
    return tgi_error(why, TG_ERR_FILE, "its path is longer than %zu bytes", sizeof path);
  mesh->path = tg_desc_string(m->desc, path);
  if (mesh->path == NULL) return tgi_error(why, TG_ERR_MEMORY, "out of memory for mesh %s", file);
  tgStatus status = tgi_mesh_read(m->desc, m->files, path, one, mesh, why);
  if (status != TG_ERR_FILE || *own == 0 || !tgi_path_join(beside, sizeof beside, own, file) ||
      !tgi_path_join(path, sizeof path, m->meshdir, beside))
    return status;
  tgStatus second = tgi_mesh_read(m->desc, m->files, path, one, mesh, &also);
  if (second == TG_OK && (mesh->path = tg_desc_string(m->desc, path)) == NULL)
    return tgi_error(why, TG_ERR_MEMORY, "out of memory for mesh %s", file);
  if (second != TG_ERR_FILE) *why = also;
  return second == TG_ERR_FILE ? status : second;
}

typedef struct Missing {
  const bool *physical;          // by mesh
  const tgXmlNode *first;        // first mesh that collision or mass needs and that cannot be read
  tgStatus status;
  int count;
  char text[520];
} Missing;

// A file that cannot be read: a warning for a mesh that is only drawn, else kept for one error that names all.
// A file of the wrong content is an error of its own.
static tgStatus unreadable(tgMjcf *m, const tgXmlNode *node, tgMeshDesc *mesh, const tgError *why, Missing *list) {
  if (why->status == TG_ERR_MEMORY) return tgi_mjcf_memory(m);
  if (!list->physical[node->kind]) {
    mesh->missing = true;
    mesh->vert = NULL;
    mesh->face = NULL;
    mesh->nvert = mesh->nface = 0;
    int i = tg_desc_add_note(m->desc, TG_NOTE_WARNING, node->source, "mesh \"%.60s\" is only drawn and cannot be read: %s",
                             mesh->name, why->text);
    return i < 0 ? tgi_mjcf_memory(m) : TG_OK;
  }
  size_t n = strlen(list->text);
  if (list->first == NULL) {
    list->first = node;
    list->status = why->status;
  }
  if (n < sizeof list->text)
    snprintf(list->text + n, sizeof list->text - n, "%s%.200s", list->count > 0 ? "; " : "", why->text);
  list->count++;
  return TG_OK;
}

// refpos, refquat, scale
static tgStatus move_mesh(tgMjcf *m, tgEl el, tgMeshDesc *mesh) {
  double q[4] = {1, 0, 0, 0}, inverse[4];
  tgi_el_numbers(el, "refpos", 3, mesh->refpos);
  tgi_el_numbers(el, "refquat", 4, q);
  tgi_el_numbers(el, "scale", 3, mesh->scale);
  if (!tgi_unit(q, 4))
    return tgi_xml_attr_error(m->xml, el.node, tgi_el_attr(el, "refquat"), m->error, TG_ERR_INVALID,
                              "refquat has zero length; give a rotation, 1 0 0 0 for none");
  memcpy(mesh->refquat, q, sizeof q);
  memcpy(inverse, (double[4]){q[0], -q[1], -q[2], -q[3]}, sizeof inverse);
  double det = mesh->scale[0] * mesh->scale[1] * mesh->scale[2];
  if (det == 0)
    return tgi_xml_attr_error(m->xml, el.node, tgi_el_attr(el, "scale"), m->error, TG_ERR_INVALID,
                              "scale has a zero, which flattens the mesh");
  for (int i = 0; i < mesh->nvert; i++) {
    double d[3], *v = &mesh->vert[3 * i];
    for (int k = 0; k < 3; k++) d[k] = v[k] - mesh->refpos[k];
    tgi_place_rotate(v, inverse, d);
    for (int k = 0; k < 3; k++) v[k] *= mesh->scale[k];
  }
  for (int i = 0; det < 0 && i < mesh->nface; i++) {
    int *f = &mesh->face[3 * i], t = f[1];
    f[1] = f[2];
    f[2] = t;
  }
  return TG_OK;
}

static tgStatus read_mesh(tgMjcf *m, const tgXmlNode *node, Missing *list) {
  static const char *const kind[] = {"exact", "shell", "convex", "legacy"};
  tgStatus status;
  int cls;
  tgEl el = mesh_el(m, node, &cls, &status);
  TG_TRY(status);
  tgMeshDesc *mesh = &m->desc->mesh[node->kind];
  const char *inertia = tgi_el_get(el, "inertia");
  mesh->inertia_kind = m->exact_mesh ? 0 : 3;
  for (int i = 0; inertia != NULL && i < 4; i++)
    if (strcmp(inertia, kind[i]) == 0) mesh->inertia_kind = i;
  if (tgi_xml_get(node, "vertex") != NULL) {
    TG_TRY(inline_mesh(m, node, mesh));
    return move_mesh(m, el, mesh);
  }
  tgError why = {0};
  status = tgi_mjcf_mesh_file(m, node, mesh, &why);
  if (status < 0) {
    why.status = status;
    return unreadable(m, node, mesh, &why, list);
  }
  return move_mesh(m, el, mesh);
}

tgStatus tgi_mjcf_meshes(tgMjcf *m) {
  bool *physical = NULL;
  TG_TRY(find_physical(m, &physical));
  Missing list = {.physical = physical};
  for (const tgXmlNode *s = tgi_xml_child(m->root, "asset"); s != NULL; s = tgi_xml_next(s, "asset"))
    for (const tgXmlNode *n = tgi_xml_child(s, "mesh"); n != NULL; n = tgi_xml_next(n, "mesh"))
      TG_TRY(read_mesh(m, n, &list));
  if (list.count == 0) return TG_OK;
  if (list.count == 1) return tgi_xml_error(m->xml, list.first, m->error, list.status, "%s", list.text);
  return tgi_xml_error(m->xml, list.first, m->error, list.status, "%d mesh files cannot be read: %s", list.count, list.text);
}
