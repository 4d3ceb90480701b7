// place.c: sizes, layout and contents of the model's one block.
#include <stdio.h>
#include <string.h>

#include "math/quat.h"
#include "model/compile.h"

static int joint_nq(tgJointType t) { return t == TG_JOINT_FREE ? 7 : t == TG_JOINT_BALL ? 4 : 1; }
static int joint_nv(tgJointType t) { return t == TG_JOINT_FREE ? 6 : t == TG_JOINT_BALL ? 3 : 1; }

static void sizes(const tgCompile *c, tgModel *m) {
  const tgDesc *d = c->desc;
  m->nbody = d->nbody; m->njnt = d->njoint; m->ngeom = d->ngeom; m->nsite = d->nsite; m->nmesh = d->nmesh;
  m->nu = d->nactuator; m->ntendon = d->ntendon; m->neq = d->nequality; m->npair = c->npair; m->npairown = d->npair; m->nkey = d->nkey;
  m->nhull = c->nhull;
  for (int i = 0; i < d->nactuator; i++) m->na += d->actuator[i].activation != TG_ACT_NONE;
  for (int i = 0; i < c->nhull; i++) m->nhullvert += c->hull[i]->hull.nvert;
  for (int i = 0; i < d->njoint; i++) {
    m->nq += joint_nq(d->joint[i].type);
    m->nv += joint_nv(d->joint[i].type);
  }
  for (int i = 0; i < d->nmesh; i++) {
    m->nmeshvert += d->mesh[i].nvert;
    m->nmeshface += d->mesh[i].nface;
  }
  for (int i = 0; i < d->ntendon; i++) {
    const tgTendonDesc *t = &d->tendon[i];
    m->nwrap += t->njoint;
    for (int k = 1; k < t->npath; k++) m->nstrand += t->site[k - 1] >= 0 && t->site[k] >= 0;
  }
  m->nflex = d->nflex;
  m->nsensor = d->nsensor;
  for (int i = 0; i < d->nsensor; i++) m->nsensordata += tg_sensor_width(d->sensor[i].type);
  m->nflexhinge = c->nhinge;
  for (int i = 0; i < d->nflex; i++) {
    m->nflexvert += d->flex[i].nvert;
    m->nflexelem += d->flex[i].nelem;
  }
}

static const char *copy_text(tgLayout *l, const char *text) {
  size_t n = strlen(text == NULL ? "" : text) + 1;
  char *p = tgi_place(l, n, 1);
  if (p != NULL) memcpy(p, text == NULL ? "" : text, n);
  return p;
}

// a name, and behind its end where the thing was written (model/source.h)
static const char *copy_name(tgLayout *l, const tgDesc *d, const char *name, tgSource source) {
  char text[300] = "";
  const char *file = source.file >= 0 && source.file < d->nfile ? d->file[source.file] : NULL;
  const char *slash = file != NULL ? strrchr(file, '/') : NULL;
  if (file != NULL && source.line > 0) snprintf(text, sizeof text, "%.250s:%d", slash != NULL ? slash + 1 : file, source.line);
  if (name == NULL) name = "";
  size_t n = strlen(name) + 1, m = strlen(text) + 1;
  char *p = tgi_place(l, n + m, 1);
  if (p == NULL) return NULL;
  memcpy(p, name, n);
  memcpy(p + n, text, m);
  return p;
}

#define NAMES(kind, list, count, from)                                                    \
  do {                                                                                    \
    const char **p_ = tgi_place(l, (size_t)d->count + 1, sizeof *p_);                     \
    for (int i_ = 0; i_ < d->count; i_++) {                                               \
      const int *from_ = from;                                                            \
      int at_ = from_ != NULL ? from_[i_] : i_;                                           \
      const char *t_ = copy_name(l, d, d->list[at_].name, d->list[at_].source);           \
      if (p_ != NULL) p_[i_] = t_;                                                        \
    }                                                                                     \
    m->thing_name[kind] = p_;                                                             \
  } while (0)

static void names(tgCompile *c, tgModel *m, tgLayout *l) {
  const tgDesc *d = c->desc;
  NAMES(TG_THING_BODY, body, nbody, NULL);
  NAMES(TG_THING_JOINT, joint, njoint, c->joint_from);
  NAMES(TG_THING_GEOM, geom, ngeom, c->geom_from);
  NAMES(TG_THING_SITE, site, nsite, c->site_from);
  NAMES(TG_THING_MESH, mesh, nmesh, NULL);
  NAMES(TG_THING_ACTUATOR, actuator, nactuator, NULL);
  NAMES(TG_THING_TENDON, tendon, ntendon, NULL);
  NAMES(TG_THING_EQUALITY, equality, nequality, NULL);
  NAMES(TG_THING_KEY, key, nkey, NULL);
  NAMES(TG_THING_FLEX, flex, nflex, NULL);
  NAMES(TG_THING_SENSOR, sensor, nsensor, NULL);
  m->name = copy_text(l, d->name);
}

static void *copy_array(tgLayout *l, const void *from, size_t n, size_t size) {
  void *p = tgi_place(l, n, size);
  if (p != NULL && n > 0) memcpy(p, from, n * size);
  return p;
}

static void hulls(tgCompile *c, tgModel *m, tgLayout *l) {
  tgHull *out = tgi_place(l, (size_t)c->nhull, sizeof *out);
  for (int i = 0, adr = 0; i < c->nhull; adr += c->hull[i++]->hull.nvert) {
    tgHull h = c->hull[i]->hull;
    size_t nf = (size_t)h.nface, loop = (size_t)h.face_adr[h.nface], next = (size_t)h.vert_adr[h.nvert];
    h.edge = copy_array(l, h.edge, 4 * (size_t)h.nedge, sizeof *h.edge);
    h.face_adr = copy_array(l, h.face_adr, nf + 1, sizeof *h.face_adr);
    h.face_vert = copy_array(l, h.face_vert, loop, sizeof *h.face_vert);
    h.face_edge = copy_array(l, h.face_edge, loop, sizeof *h.face_edge);
    h.face_plane = copy_array(l, h.face_plane, 4 * nf, sizeof *h.face_plane);
    h.vert_adr = copy_array(l, h.vert_adr, (size_t)h.nvert + 1, sizeof *h.vert_adr);
    h.vert_next = copy_array(l, h.vert_next, next, sizeof *h.vert_next);
    if (out == NULL) continue;
    for (int k = 0; k < 3 * h.nvert; k++) PUT_REAL(hull_vert, 3 * adr + k, h.vert[k]);
    h.vert = m->hull_vert + 3 * adr;
    out[i] = h;
  }
  m->hull = out;
}

// vertices of a hull are those of its mesh in their order, some left out
static void fill_hulls(const tgCompile *c, tgModel *m) {
  int adr = 0;
  for (int g = 0; g < c->desc->ngeom; g++)
    if (c->geom_hull[g] >= 0) PUT_INT(hull_mesh, c->geom_hull[g], c->desc->geom[g].mesh);
  for (int i = 0; i < m->nhull; adr += m->hull[i++].nvert) {
    const double *x = c->desc->mesh[m->hull_mesh[i]].vert;
    PUT_INT(hull_vertadr, i, adr);
    PUT_INT(hull_vertnum, i, m->hull[i].nvert);
    for (int v = adr, at = 0; v < adr + m->hull[i].nvert; v++, at++) {
      const tgReal *y = m->hull_vert + 3 * v;
      while (x[3 * at] != tgRe(y[0]) || x[3 * at + 1] != tgRe(y[1]) || x[3 * at + 2] != tgRe(y[2])) at++;
      PUT_INT(hull_vertid, v, at);
    }
  }
}

static void fill_tree(tgCompile *c, tgModel *m) {
  const tgDesc *d = c->desc;
  for (int b = 0; b < m->nbody; b++) {
    const tgBodyDesc *body = &d->body[b];
    int nj = c->joint_adr[b + 1] - c->joint_adr[b], ng = c->geom_adr[b + 1] - c->geom_adr[b];
    int parent = b == 0 ? 0 : body->parent;
    PUT_INT(body_parent, b, parent);
    PUT_INT(body_weld, b, b == 0 ? 0 : nj > 0 ? b : m->body_weld[parent]);
    PUT_INT(body_root, b, b == 0 ? 0 : parent == 0 ? b : m->body_root[parent]);
    PUT_INT(body_jntadr, b, nj > 0 ? c->joint_adr[b] : -1);
    PUT_INT(body_jntnum, b, nj);
    PUT_INT(body_geomadr, b, ng > 0 ? c->geom_adr[b] : -1);
    PUT_INT(body_geomnum, b, ng);
    for (int k = 0; k < 3; k++) PUT_REAL(body_pos, 3 * b + k, body->pos[k]);
    for (int k = 0; k < 4; k++) PUT_REAL(body_quat, 4 * b + k, body->quat[k]);
    PUT_REAL(body_mass, b, body->mass);
    for (int k = 0; k < 3; k++) PUT_REAL(body_com, 3 * b + k, body->com[k]);
    for (int k = 0; k < 6; k++) PUT_REAL(body_inertia, 6 * b + k, body->inertia[k]);
    PUT_REAL(body_gravcomp, b, body->gravcomp);
  }
}

static void fill_dof(tgModel *m, const tgJointDesc *j, int jnt, int dof, int k, int *last) {
  bool turns = (j->type == TG_JOINT_BALL) || (j->type == TG_JOINT_FREE && k >= 3);
  int first = j->type == TG_JOINT_FREE && k >= 3 ? 3 : j->type == TG_JOINT_FREE ? k : 0;
  PUT_INT(dof_jnt, dof, jnt);
  PUT_INT(dof_body, dof, j->body);
  PUT_INT(dof_parent, dof, *last);
  // a run goes on while parents are neighbours
  PUT_INT(dof_run, dof, *last >= 0 && *last == dof - 1 ? m->dof_run[*last] : dof);
  PUT_INT(dof_grpadr, dof, dof - k + first);
  PUT_INT(dof_grpnum, dof, turns ? 3 : 1);
  PUT_INT(dof_depth, dof, *last < 0 ? 1 : m->dof_depth[*last] + 1);
  PUT_REAL(dof_damping, dof, j->damping);
  PUT_REAL(dof_armature, dof, j->armature);
  PUT_REAL(dof_frictionloss, dof, j->frictionloss);
  *last = dof;
}

// qpos0 of a free joint is the body's pose in the file; springs of ball and free joints rest there
static void fill_qpos0(tgModel *m, const tgJointDesc *j, const tgBodyDesc *body, int qadr) {
  double q[7] = {j->ref, 0, 0, 0, 0, 0, 0}, spring[7];
  if (j->type == TG_JOINT_BALL) q[0] = 1;
  if (j->type == TG_JOINT_FREE) {
    memcpy(q, body->pos, 3 * sizeof *q);
    memcpy(q + 3, body->quat, 4 * sizeof *q);
  }
  memcpy(spring, q, sizeof q);
  if (j->type == TG_JOINT_HINGE || j->type == TG_JOINT_SLIDE) spring[0] = j->springref;
  for (int k = 0; k < joint_nq(j->type); k++) {
    PUT_REAL(qpos0, qadr + k, q[k]);
    PUT_REAL(qpos_spring, qadr + k, spring[k]);
  }
}

// Where the rows of matrices stored by trees are: one square block for each tree, as wide as the range of its dofs.
static void fill_blocks(tgModel *m) {
  for (int d = 0; d < m->nv; d++) {
    int root = m->dof_parent[d] < 0 ? d : m->dof_tree[2 * m->dof_parent[d]];
    PUT_INT(dof_tree, 2 * d, root);
    PUT_INT(dof_tree, 2 * root + 1, d + 1);
  }
  for (int d = 0; d < m->nv; d++) {
    int root = m->dof_tree[2 * d], end = m->dof_tree[2 * root + 1], width = end - root;
    PUT_INT(dof_tree, 2 * d + 1, end);
    PUT_INT(dof_block, d, d == root ? m->nM - root : m->dof_block[root] + (d - root) * width);
    if (d == root) m->nM += width * width;
  }
}

static int first_of_set(const tgModel *m, int d) {
  while (m->dof_set[3 * d] != d) d = m->dof_set[3 * d];
  return d;
}

static int dofs_of_set(const tgModel *m, int first) {
  int n = 0;
  for (int d = first; d < m->dof_set[3 * first + 2]; d++) n += m->dof_set[3 * d] == first;
  return n;
}

static void join_sets(tgModel *m, int i, int j) {
  int a = first_of_set(m, i), b = first_of_set(m, j);
  PUT_INT(dof_set, 3 * (a > b ? a : b), a < b ? a : b);
}

// dofs that move n vertices
static void join_vertices(tgModel *m, const int *vertex, int n) {
  int last = -1;
  for (int k = 0; k < n; k++) {
    int d = m->body_lastdof[m->flex_vertbody[vertex[k]]];
    if (d >= 0 && last >= 0) join_sets(m, last, d);
    if (d >= 0) last = d;
  }
}

// Those of a triangle, and those of two that share an edge: where both its ends are held fast, bending alone couples the two others.
static void join_sheet(tgModel *m, int f) {
  for (int e = m->flex_elemadr[f]; e < m->flex_elemadr[f] + m->flex_elemnum[f]; e++) join_vertices(m, m->flex_elem + 3 * e, 3);
  for (int h = m->flex_hingeadr[f]; h < m->flex_hingeadr[f] + m->flex_hingenum[f]; h++) join_vertices(m, m->flex_hinge + 4 * h, 4);
}

// of all that a spatial tendon runs over
static void join_strands(tgModel *m, int t) {
  int last = -1;
  for (int k = 2 * m->ten_strandadr[t]; k < 2 * (m->ten_strandadr[t] + m->ten_strandnum[t]); k++) {
    int d = m->body_lastdof[m->site_body[m->strand_site[k]]];
    if (d >= 0 && last >= 0) join_sets(m, last, d);
    if (d >= 0) last = d;
  }
}

// Trees, joined where a tendon or a sheet couples them; the least dof stands for a set, so that the result does not depend on the order.
static void fill_sets(tgModel *m) {
  for (int d = 0; d < m->nv; d++) PUT_INT(dof_set, 3 * d, m->dof_tree[2 * d]);
  for (int t = 0; t < m->ntendon; t++)
    for (int k = m->ten_adr[t] + 1; k < m->ten_adr[t] + m->ten_num[t]; k++)
      join_sets(m, m->jnt_vadr[m->wrap_jnt[k - 1]], m->jnt_vadr[m->wrap_jnt[k]]);
  for (int t = 0; t < m->ntendon; t++) join_strands(m, t);
  for (int f = 0; f < m->nflex; f++) join_sheet(m, f);
  int second = 0;
  for (int d = 0; d < m->nv; d++) {
    int first = first_of_set(m, d);
    PUT_INT(dof_set, 3 * d, first);
    PUT_INT(dof_set, 3 * first + 1, first);
    PUT_INT(dof_set, 3 * first + 2, d + 1);
  }
  for (int d = 0; d < m->nv; d++) {
    PUT_INT(dof_setindex, d, m->dof_set[3 * d] == d ? m->nset++ : m->dof_setindex[m->dof_set[3 * d]]);
    if (m->dof_set[3 * d] != d) continue;
    int width = m->dof_set[3 * d + 2] - d, dofs = dofs_of_set(m, d);
    if (m->nset == 1 || dofs < m->set_least) m->set_least = dofs;
    if (width > m->set_width) { second = m->set_width; m->set_width = width; }
    else if (width > second) second = width;
  }
  m->row_width = m->set_width + second < m->nv ? m->set_width + second : m->nv;
}

// Dof j, of higher number, is eliminated before i, which it is coupled with: i ends the way of j.
static void eliminate_before(tgModel *m, int i, int j) {
  while (m->dof_elim[j] >= 0 && m->dof_elim[j] != i) j = m->dof_elim[j];
  if (j != i) PUT_INT(dof_elim, j, i);
}

// the same of all that an actuated tendon couples with i within its tree
static void eliminate_tendons(tgModel *m, int i) {
  for (int a = 0; a < m->nu; a++) {
    int t = m->act_target[a], end;
    if (m->act_trn[a] != TG_TRN_TENDON) continue;
    end = m->ten_adr[t] + m->ten_num[t];
    for (int x = m->ten_adr[t]; x < end; x++) {
      if (m->jnt_vadr[m->wrap_jnt[x]] != i) continue;
      for (int y = m->ten_adr[t]; y < end; y++) {
        int j = m->jnt_vadr[m->wrap_jnt[y]];
        if (j > i && m->dof_tree[2 * j] == m->dof_tree[2 * i]) eliminate_before(m, i, j);
      }
    }
  }
}

// The elimination tree [Liu1990] of the mass matrix and of actuated tendons, leaves first.
static void fill_elimination(tgModel *m) {
  bool tendons = false;
  for (int a = 0; a < m->nu; a++) tendons = tendons || m->act_trn[a] == TG_TRN_TENDON;
  for (int d = 0; d < m->nv; d++) PUT_INT(dof_elim, d, tendons ? -1 : m->dof_parent[d]);
  for (int i = m->nv - 1; i >= 0 && tendons; i--) {
    for (int j = i + 1; j < m->dof_tree[2 * i + 1]; j++)
      if (m->dof_parent[j] == i) eliminate_before(m, i, j);
    eliminate_tendons(m, i);
  }
  for (int d = 0; d < m->nv; d++) PUT_INT(dof_elimrun, d, d > 0 && m->dof_elim[d] == d - 1 ? m->dof_elimrun[d - 1] : d);
}

static void fill_joints(tgCompile *c, tgModel *m) {
  int qadr = 0, vadr = 0;
  for (int b = 0; b < m->nbody; b++) {
    int last = b == 0 ? -1 : m->body_lastdof[m->body_parent[b]], first = vadr;
    for (int i = c->joint_adr[b]; i < c->joint_adr[b + 1]; i++) {
      const tgJointDesc *j = &c->desc->joint[c->joint_from[i]];
      bool turn_or_slide = j->type == TG_JOINT_HINGE || j->type == TG_JOINT_SLIDE;
      double n = turn_or_slide ? sqrt(j->axis[0] * j->axis[0] + j->axis[1] * j->axis[1] + j->axis[2] * j->axis[2]) : 1;
      PUT_INT(jnt_type, i, (int)j->type);
      PUT_INT(jnt_body, i, b);
      PUT_INT(jnt_qadr, i, qadr);
      PUT_INT(jnt_vadr, i, vadr);
      PUT_INT(jnt_limited, i, j->limited == TG_LIMITED_YES);
      PUT_INT(jnt_actfrclimited, i, j->actfrclimited == TG_LIMITED_YES);
      for (int k = 0; k < 3; k++) {
        PUT_REAL(jnt_pos, 3 * i + k, j->type == TG_JOINT_FREE ? 0 : j->pos[k]);
        PUT_REAL(jnt_axis, 3 * i + k, turn_or_slide ? j->axis[k] / n : k == 2);
      }
      for (int k = 0; k < 2; k++) {
        PUT_REAL(jnt_range, 2 * i + k, j->range[k]);
        PUT_REAL(jnt_actfrcrange, 2 * i + k, j->actfrcrange[k]);
      }
      PUT_REAL(jnt_stiffness, i, j->stiffness);
      fill_qpos0(m, j, &c->desc->body[b], qadr);
      for (int k = 0; k < joint_nv(j->type); k++) fill_dof(m, j, i, vadr + k, k, &last);
      qadr += joint_nq(j->type);
      vadr += joint_nv(j->type);
    }
    PUT_INT(body_dofadr, b, vadr > first ? first : -1);
    PUT_INT(body_dofnum, b, vadr - first);
    PUT_INT(body_lastdof, b, last);
  }
}

static void fill_geoms(tgCompile *c, tgModel *m) {
  for (int i = 0; i < m->ngeom; i++) {
    int from = c->geom_from[i];
    const tgGeomDesc *g = &c->desc->geom[from];
    PUT_INT(geom_type, i, (int)g->type);
    PUT_INT(geom_body, i, g->body);
    PUT_INT(geom_mesh, i, g->mesh);
    PUT_INT(geom_hull, i, c->geom_hull[from]);
    PUT_INT(geom_contype, i, g->visual_only ? 0 : g->contype);
    PUT_INT(geom_conaffinity, i, g->visual_only ? 0 : g->conaffinity);
    PUT_INT(geom_condim, i, g->condim);
    PUT_INT(geom_priority, i, g->priority);
    PUT_INT(geom_group, i, g->group);
    PUT_INT(geom_visual, i, g->visual_only);
    PUT_INT(geom_flex, i, g->flex);
    for (int k = 0; k < 3; k++) {
      PUT_REAL(geom_size, 3 * i + k, g->size[k]);
      PUT_REAL(geom_scale, 3 * i + k, 1);
      PUT_REAL(geom_pos, 3 * i + k, g->pos[k]);
    }
    for (int k = 0; k < 4; k++) {
      PUT_REAL(geom_quat, 4 * i + k, g->quat[k]);
      PUT_REAL(geom_rgba, 4 * i + k, (double)g->rgba[k]);
    }
    PUT_REAL(geom_friction, i, g->friction[0]);
    for (int k = 0; k < 2; k++) PUT_REAL(geom_spinfriction, 2 * i + k, g->friction[1 + k]);
    PUT_REAL(geom_restitution, i, g->restitution);
    PUT_REAL(geom_rbound, i, tgi_geom_radius(c, from));
  }
  for (int i = 0; i < m->nsite; i++) {
    const tgSiteDesc *s = &c->desc->site[c->site_from[i]];
    PUT_INT(site_body, i, s->body);
    PUT_INT(site_type, i, (int)s->type);
    for (int k = 0; k < 3; k++) PUT_REAL(site_size, 3 * i + k, s->size[k]);
    for (int k = 0; k < 3; k++) PUT_REAL(site_pos, 3 * i + k, s->pos[k]);
    for (int k = 0; k < 4; k++) PUT_REAL(site_quat, 4 * i + k, s->quat[k]);
  }
}

static void fill_meshes(const tgCompile *c, tgModel *m) {
  int nv = 0, nf = 0;
  for (int i = 0; i < m->nmesh; i++) {
    const tgMeshDesc *mesh = &c->desc->mesh[i];
    PUT_INT(mesh_vertadr, i, nv);
    PUT_INT(mesh_vertnum, i, mesh->nvert);
    PUT_INT(mesh_faceadr, i, nf);
    PUT_INT(mesh_facenum, i, mesh->nface);
    for (int k = 0; k < 3 * mesh->nvert; k++) PUT_REAL(mesh_vert, 3 * nv + k, mesh->vert[k]);
    for (int k = 0; k < 3 * mesh->nface; k++) PUT_INT(mesh_face, 3 * nf + k, mesh->face[k]);
    nv += mesh->nvert;
    nf += mesh->nface;
  }
}

// Where a site is at qpos_spring, where joint springs rest.
static void rest_place(const tgModel *m, int site, tgReal x[3]) {
  tgReal r[3], turn[4];
  tgi_v3_copy(x, m->site_pos + 3 * site);
  for (int b = m->site_body[site]; b > 0; b = m->body_parent[b]) {
    for (int j = m->body_jntadr[b] + m->body_jntnum[b] - 1; j >= m->body_jntadr[b]; j--) {
      const tgReal *q = m->qpos_spring + m->jnt_qadr[j];
      tgReal d = q[0] - m->qpos0[m->jnt_qadr[j]];
      if (m->jnt_type[j] == TG_JOINT_FREE) {
        tgi_quat_rotate(r, q + 3, x);
        tgi_v3_add(x, q, r);
        return;
      }
      if (m->jnt_type[j] == TG_JOINT_SLIDE) {
        tgi_v3_axpy(x, d, m->jnt_axis + 3 * j);
        continue;
      }
      if (m->jnt_type[j] == TG_JOINT_BALL)
        for (int k = 0; k < 4; k++) turn[k] = q[k];
      else tgi_quat_axis_angle(turn, m->jnt_axis + 3 * j, d);
      tgi_v3_sub(x, x, m->jnt_pos + 3 * j);
      tgi_quat_rotate(r, turn, x);
      tgi_v3_add(x, m->jnt_pos + 3 * j, r);
    }
    tgi_quat_rotate(r, m->body_quat + 4 * b, x);
    tgi_v3_add(x, m->body_pos + 3 * b, r);
  }
}

// A spatial tendon's strands from n on; returns the number of the next, *rest: the length where joint springs rest.
static int fill_strands(const tgCompile *c, tgModel *m, int i, int n, double *rest) {
  const tgTendonDesc *t = &c->desc->tendon[i];
  double share = 1;
  PUT_INT(ten_strandadr, i, n);
  for (int k = 0; k < t->npath; k++) {
    if (t->site[k] < 0) share = 1 / t->divisor[k];
    if (k == 0 || t->site[k] < 0 || t->site[k - 1] < 0) continue;
    tgReal way[3], at[2][3];
    for (int end = 0; end < 2; end++) {
      PUT_INT(strand_site, 2 * n + end, c->site_to[t->site[k - 1 + end]]);
      rest_place(m, m->strand_site[2 * n + end], at[end]);
    }
    tgi_v3_sub(way, at[1], at[0]);
    *rest += share * tgRe(tgi_v3_norm(way));
    PUT_REAL(strand_share, n, share);
    n++;
  }
  PUT_INT(ten_strandnum, i, n - m->ten_strandadr[i]);
  return n;
}

static void fill_tendons(const tgCompile *c, tgModel *m) {
  int n = 0, strands = 0;
  for (int i = 0; i < m->ntendon; i++) {
    const tgTendonDesc *t = &c->desc->tendon[i];
    double rest = 0;  // length with every joint at its spring reference
    PUT_INT(ten_adr, i, n);
    PUT_INT(ten_num, i, t->njoint);
    PUT_INT(ten_limited, i, t->limited == TG_LIMITED_YES);
    for (int k = 0; k < t->njoint; k++, n++) {
      PUT_INT(wrap_jnt, n, c->joint_to[t->joint[k]]);
      PUT_REAL(wrap_coef, n, t->coef[k]);
      rest += t->coef[k] * c->desc->joint[t->joint[k]].springref;
    }
    strands = fill_strands(c, m, i, strands, &rest);
    PUT_REAL(ten_stiffness, i, t->stiffness);
    PUT_REAL(ten_damping, i, t->damping);
    PUT_REAL(ten_frictionloss, i, t->frictionloss);
    bool automatic = t->springlength[0] == -1 && t->springlength[1] == -1;
    for (int k = 0; k < 2; k++) {
      PUT_REAL(ten_range, 2 * i + k, t->range[k]);
      PUT_REAL(ten_lengthspring, 2 * i + k, automatic ? rest : t->springlength[k]);
    }
  }
}

static void fill_actuators(const tgCompile *c, tgModel *m) {
  int adr = 0;
  for (int i = 0; i < m->nu; i++) {
    const tgActuatorDesc *a = &c->desc->actuator[i];
    PUT_INT(act_trn, i, (int)a->transmission);
    PUT_INT(act_target, i, a->transmission == TG_TRN_JOINT  ? c->joint_to[a->target]
                           : a->transmission == TG_TRN_SITE ? c->site_to[a->target]
                                                            : a->target);
    PUT_INT(act_refsite, i, a->transmission == TG_TRN_SITE && a->refsite >= 0 ? c->site_to[a->refsite] : -1);
    PUT_INT(act_ctrllimited, i, a->ctrllimited);
    PUT_INT(act_forcelimited, i, a->forcelimited);
    PUT_INT(act_activation, i, (int)a->activation);
    PUT_INT(act_adr, i, a->activation != TG_ACT_NONE ? adr++ : -1);
    PUT_INT(act_actlimited, i, a->activation != TG_ACT_NONE && a->actlimited);
    PUT_REAL(act_timeconst, i, a->timeconst);
    for (int k = 0; k < 6; k++) PUT_REAL(act_gear, 6 * i + k, a->gear[k]);
    for (int k = 0; k < 3; k++) {
      PUT_REAL(act_gain, 3 * i + k, a->gain[k]);
      PUT_REAL(act_bias, 3 * i + k, a->bias[k]);
    }
    for (int k = 0; k < 2; k++) {
      PUT_REAL(act_ctrlrange, 2 * i + k, a->ctrlrange[k]);
      PUT_REAL(act_forcerange, 2 * i + k, a->forcerange[k]);
      PUT_REAL(act_actrange, 2 * i + k, a->actrange[k]);
    }
  }
}

// connect: the anchor in b's frame, at qpos0; weld: b in a, at qpos0 unless the file gives it
static void fill_equality_pose(const tgCompile *c, tgModel *m, int i, const tgEqualityDesc *e) {
  tgReal anchor[3], world[3], inv[4], rel[3], relq[4];
  const tgReal *pa = c->xpos + 3 * e->a, *qa = c->xquat + 4 * e->a, *pb = c->xpos + 3 * e->b, *qb = c->xquat + 4 * e->b;
  for (int k = 0; k < 3; k++) anchor[k] = e->anchor[k];
  for (int k = 0; k < 4; k++) inv[k] = k == 0 ? qb[k] : -qb[k];
  tgi_quat_rotate(world, qa, anchor);
  tgi_v3_add(world, world, pa);
  tgi_v3_sub(world, world, pb);
  tgi_quat_rotate(rel, inv, world);
  for (int k = 0; k < 3; k++) PUT_REAL(eq_anchor2, 3 * i + k, e->has_anchor2 ? e->anchor2[k] : rel[k]);
  for (int k = 0; k < 4; k++) inv[k] = k == 0 ? qa[k] : -qa[k];
  tgi_v3_sub(world, pb, pa);
  tgi_quat_rotate(rel, inv, world);
  tgi_quat_mul(relq, inv, qb);
  for (int k = 0; k < 3; k++) PUT_REAL(eq_relpos, 3 * i + k, e->relpose_from_qpos0 ? rel[k] : e->relpos[k]);
  for (int k = 0; k < 4; k++) PUT_REAL(eq_relquat, 4 * i + k, e->relpose_from_qpos0 ? relq[k] : e->relquat[k]);
}

static void fill_equalities(const tgCompile *c, tgModel *m) {
  for (int i = 0; i < m->neq; i++) {
    const tgEqualityDesc *e = &c->desc->equality[i];
    bool joint = e->type == TG_EQ_JOINT;
    PUT_INT(eq_type, i, (int)e->type);
    PUT_INT(eq_active, i, e->active);
    PUT_INT(eq_a, i, joint ? c->joint_to[e->a] : e->a);
    PUT_INT(eq_b, i, joint && e->b >= 0 ? c->joint_to[e->b] : e->b);
    for (int k = 0; k < 3; k++) PUT_REAL(eq_anchor, 3 * i + k, e->anchor[k]);
    for (int k = 0; k < 5; k++) PUT_REAL(eq_polycoef, 5 * i + k, e->polycoef[k]);
    PUT_REAL(eq_torquescale, i, e->torquescale);
    if (!tgi_is_tie(m, i)) fill_equality_pose(c, m, i, e);
  }
}

static void fill_pairs(const tgCompile *c, tgModel *m) {
  m->friction_most = 2;
  for (int i = 0; i < m->npair; i++) {
    if (c->pair[i][3] - 1 > m->friction_most) m->friction_most = c->pair[i][3] - 1;
    PUT_INT(pair_geom1, i, c->pair[i][0]);
    PUT_INT(pair_geom2, i, c->pair[i][1]);
    PUT_INT(pair_condim, i, c->pair[i][3]);
    PUT_INT(pair_own, i, c->pair[i][2]);
  }
  for (int g = 0, p = 0; g <= m->ngeom; g++) {
    while (p < m->npair && m->pair_geom1[p] < g) p++;
    PUT_INT(geom_pairadr, g, p);
  }
  for (int i = 0; i < m->npairown; i++) {
    const tgPairDesc *p = &c->desc->pair[i];
    bool friction = p->friction[0] >= 0;
    PUT_REAL(pair_friction, 2 * i, friction ? p->friction[0] : -1);
    PUT_REAL(pair_friction, 2 * i + 1, friction ? (p->friction[1] >= 0 ? p->friction[1] : p->friction[0]) : -1);
    for (int k = 0; k < 3; k++) PUT_REAL(pair_spinfriction, 3 * i + k, p->friction[2 + k] >= 0 ? p->friction[2 + k] : -1);
    PUT_REAL(pair_restitution, i, p->restitution >= 0 ? p->restitution : -1);
  }
}

static void fill_keys(const tgCompile *c, tgModel *m) {
  for (int i = 0; i < m->nkey; i++) {
    const tgKeyDesc *k = &c->desc->key[i];
    for (int j = 0; j < m->nq; j++) PUT_REAL(key_qpos, i * m->nq + j, k->nqpos > 0 ? k->qpos[j] : m->qpos0[j]);
    for (int j = 0; j < m->nv; j++) PUT_REAL(key_qvel, i * m->nv + j, k->nqvel > 0 ? k->qvel[j] : 0);
    for (int j = 0; j < m->na; j++) PUT_REAL(key_act, i * m->na + j, k->nact > 0 ? k->act[j] : 0);
    for (int j = 0; j < m->nu; j++) PUT_REAL(key_ctrl, i * m->nu + j, k->nctrl > 0 ? k->ctrl[j] : 0);
  }
}

static int placed_frame(const tgCompile *c, tgFrameKind frame, int i) {
  return frame == TG_FRAME_GEOM ? c->geom_to[i] : frame == TG_FRAME_SITE ? c->site_to[i] : i;
}

static void fill_sensors(const tgCompile *c, tgModel *m) {
  for (int i = 0, adr = 0; i < m->nsensor; adr += m->sensor_num[i++]) {
    const tgSensorDesc *s = &c->desc->sensor[i];
    tgiSensorOf of = tgi_sensor_of(s->type);
    PUT_INT(sensor_type, i, (int)s->type);
    PUT_INT(sensor_object, i, of == TGI_OF_JOINT || of == TGI_OF_BALL ? c->joint_to[s->object]
                              : of == TGI_OF_SITE                     ? c->site_to[s->object]
                                                                      : placed_frame(c, s->frame, s->object));
    PUT_INT(sensor_frame, i, (int)(of == TGI_OF_SITE ? TG_FRAME_SITE : of == TGI_OF_FRAME ? s->frame : TG_FRAME_NONE));
    PUT_INT(sensor_refframe, i, (int)s->ref_frame);
    PUT_INT(sensor_ref, i, s->ref_frame != TG_FRAME_NONE ? placed_frame(c, s->ref_frame, s->ref) : -1);
    PUT_INT(sensor_adr, i, adr);
    PUT_INT(sensor_num, i, tg_sensor_width(s->type));
    PUT_REAL(sensor_cutoff, i, s->cutoff);
  }
}

static void fill_option(const tgCompile *c, tgModel *m) {
  const tgOptionDesc *o = &c->desc->option;
  PUT_REAL(opt_timestep, 0, o->timestep);
  PUT_REAL(opt_density, 0, o->density);
  PUT_REAL(opt_viscosity, 0, o->viscosity);
  for (int k = 0; k < 3; k++) {
    PUT_REAL(opt_gravity, k, o->gravity[k]);
    PUT_REAL(opt_wind, k, o->wind[k]);
  }
}

void tgi_model_layout(tgCompile *c, tgModel *m, tgLayout *l) {
  tgAllocator alloc = c->alloc;
  *m = (tgModel){.alloc = alloc};
  sizes(c, m);
  int nbody = m->nbody, njnt = m->njnt, nv = m->nv, nq = m->nq, nu = m->nu, na = m->na, ngeom = m->ngeom, nsite = m->nsite,
      nmesh = m->nmesh, nmeshface = m->nmeshface, nmeshvert = m->nmeshvert, nhull = m->nhull, nhullvert = m->nhullvert,
      ntendon = m->ntendon, nwrap = m->nwrap, nstrand = m->nstrand, neq = m->neq, npair = m->npair,
      npairown = m->npairown, nkey = m->nkey, nflex = m->nflex, nflexvert = m->nflexvert, nflexelem = m->nflexelem,
      nflexhinge = m->nflexhinge, nsensor = m->nsensor;
#define TG_MODEL_INT(name, rows, cols, unit, text) m->name = tgi_place(l, tgi_size_mul((size_t)(rows), (size_t)(cols)), sizeof(int));
#define TG_MODEL_REAL(name, rows, cols, unit, text) m->name = tgi_place(l, tgi_size_mul((size_t)(rows), (size_t)(cols)), sizeof(tgReal));
#define TG_MODEL_SHARED TG_MODEL_REAL
#include "model/model_fields.def"
#undef TG_MODEL_INT
#undef TG_MODEL_REAL
#undef TG_MODEL_SHARED
  hulls(c, m, l);
  names(c, m, l);
  m->keep = tgi_place(l, 1, sizeof *m->keep);
  if (l->base == NULL) return;
  *m->keep = (tgiKeep){.alloc = alloc};
  fill_option(c, m);
  fill_tree(c, m);
  fill_joints(c, m);
  fill_blocks(m);
  fill_geoms(c, m);
  fill_meshes(c, m);
  fill_hulls(c, m);
  fill_tendons(c, m);
  tgi_fill_flexes(c, m);
  fill_sets(m);
  fill_actuators(c, m);
  fill_elimination(m);
  fill_equalities(c, m);
  fill_pairs(c, m);
  fill_keys(c, m);
  fill_sensors(c, m);
}
