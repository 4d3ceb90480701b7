// inertia.c: masses of geoms and bodies: from the file or from geoms, then MuJoCo's compiler settings in its order
// (boundmass and boundinertia, balanceinertia, settotalmass), then the checks that a body must pass.
#include <math.h>
#include <string.h>

#include "math/quat.h"
#include "model/compile.h"

// mass, first moment and inertia about the body origin (xx yy zz xy xz yz), which add up over geoms
typedef struct Moments { double m, mc[3], I[6]; } Moments;

// adds mass m with com c and inertia I about c (all in body axes): parallel-axis theorem
static void add_about_origin(Moments *sum, double m, const double c[3], const double I[6]) {
  double cc = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
  sum->m += m;
  for (int k = 0; k < 3; k++) sum->mc[k] += m * c[k];
  for (int k = 0; k < 3; k++) sum->I[k] += I[k] + m * (cc - c[k] * c[k]);
  sum->I[3] += I[3] - m * c[0] * c[1];
  sum->I[4] += I[4] - m * c[0] * c[2];
  sum->I[5] += I[5] - m * c[1] * c[2];
}

// R I R' for a symmetric I of 6 numbers
static void rotate_inertia(double out[6], const double q[4], const double I[6]) {
  tgReal qr[4] = {q[0], q[1], q[2], q[3]}, R[9], RI[9], W[9];
  tgReal A[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
  tgi_quat_to_mat(R, qr);
  tgi_m3_mul(RI, R, A);
  tgi_m3_mult(W, RI, R);
  static const int at[6] = {0, 4, 8, 1, 2, 5};
  for (int k = 0; k < 6; k++) out[k] = tgRe(W[at[k]]);
}

// what a geom weighs: its own mass, else density times volume; com and inertia in the body frame
static void add_geom(const tgCompile *c, int g, Moments *sum) {
  const tgGeomDesc *d = &c->desc->geom[g];
  const tgMassProps *p = &c->geom_mass[g];
  if (!(p->volume > 0)) return;
  double mass = isnan(d->mass) ? d->density * p->volume : d->mass, f = mass / p->volume;
  double I[6], com[3], Ib[6];
  for (int k = 0; k < 6; k++) I[k] = f * p->inertia[k];
  tgReal q[4] = {d->quat[0], d->quat[1], d->quat[2], d->quat[3]}, cg[3] = {p->com[0], p->com[1], p->com[2]}, cb[3];
  tgi_quat_rotate(cb, q, cg);
  for (int k = 0; k < 3; k++) com[k] = tgRe(cb[k]) + d->pos[k];
  rotate_inertia(Ib, d->quat, I);
  add_about_origin(sum, mass, com, Ib);
}

static bool weighs(const tgCompile *c, int g) {
  const tgGeomDesc *d = &c->desc->geom[g];
  const int *range = c->desc->compiler.inertiagrouprange;
  return d->type != TG_GEOM_PLANE && !d->visual_only && d->group >= range[0] && d->group <= range[1];
}

static tgStatus geom_mass(tgCompile *c, int g) {
  const tgGeomDesc *d = &c->desc->geom[g];
  char label[128];
  c->geom_mass[g] = (tgMassProps){0};
  if (d->type == TG_GEOM_PLANE || d->visual_only) return TG_OK;
  if (d->type != TG_GEOM_MESH) return tgi_mass_primitive(d->type, d->size, d->shell, &c->geom_mass[g]);
  if (d->mass == 0 || (isnan(d->mass) && d->density == 0)) return TG_OK;
  const tgMeshDesc *mesh = &c->desc->mesh[d->mesh];
  tgError why = {0};
  tgStatus st = tgi_mass_mesh(mesh->vert, mesh->nvert, mesh->face, mesh->nface, d->shell ? TG_MASS_SHELL : (tgMassKind)mesh->inertia_kind,
                              &c->alloc, &c->geom_mass[g], &why);
  if (st < 0)
    return tgi_compile_error(c, st, d->source, tgi_desc_label("geom", d->name, g, label, sizeof label),
                             "no mass can be computed from mesh '%s': %s; give the body an inertial, or mass=\"0\" to the geom",
                             mesh->name == NULL ? "" : mesh->name, why.text);
  return TG_OK;
}

// inertia about the com from the sums about the origin
static void from_moments(tgBodyDesc *b, const Moments *s) {
  Moments about = {0};
  b->mass = s->m;
  for (int k = 0; k < 3; k++) b->com[k] = s->m > 0 ? s->mc[k] / s->m : 0;
  double zero[6] = {0};
  add_about_origin(&about, s->m, b->com, zero);
  for (int k = 0; k < 6; k++) b->inertia[k] = s->I[k] - about.I[k];
}

static tgStatus body_from_geoms(tgCompile *c, int b) {
  tgBodyDesc *body = &c->desc->body[b];
  tgInertiaFrom how = c->desc->compiler.inertiafromgeom;
  bool from_file = how == TG_INERTIA_FROM_FILE || (how == TG_INERTIA_FROM_AUTO && body->has_inertial);
  if (from_file) {
    if (!body->has_inertial) body->mass = 0;
    return TG_OK;
  }
  Moments sum = {0};
  for (int i = c->geom_adr[b]; i < c->geom_adr[b + 1]; i++) {
    int g = c->geom_from[i];
    if (!weighs(c, g)) continue;
    TG_TRY(geom_mass(c, g));
    add_geom(c, g, &sum);
  }
  from_moments(body, &sum);
  return TG_OK;
}

// principal moments with their axes (columns of V) of a symmetric 3x3: cyclic Jacobi
static void principal(const double I[6], double moment[3], double V[9]) {
  double A[3][3] = {{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}};
  for (int i = 0; i < 9; i++) V[i] = i % 4 == 0;
  for (int sweep = 0; sweep < 60; sweep++) {
    double off = A[0][1] * A[0][1] + A[0][2] * A[0][2] + A[1][2] * A[1][2];
    if (off == 0) break;
    for (int p = 0; p < 2; p++)
      for (int q = p + 1; q < 3; q++) {
        if (A[p][q] == 0) continue;
        double t = 0.5 * (A[q][q] - A[p][p]) / A[p][q];
        t = (t >= 0 ? 1 : -1) / (fabs(t) + sqrt(1 + t * t));
        double cs = 1 / sqrt(1 + t * t), sn = cs * t;
        for (int k = 0; k < 3; k++) {
          double x = A[k][p], y = A[k][q];
          A[k][p] = cs * x - sn * y;
          A[k][q] = sn * x + cs * y;
        }
        for (int k = 0; k < 3; k++) {
          double x = A[p][k], y = A[q][k];
          A[p][k] = cs * x - sn * y;
          A[q][k] = sn * x + cs * y;
          x = V[3 * k + p];
          y = V[3 * k + q];
          V[3 * k + p] = cs * x - sn * y;
          V[3 * k + q] = sn * x + cs * y;
        }
      }
  }
  for (int k = 0; k < 3; k++) moment[k] = A[k][k];
}

static void rebuild(double I[6], const double moment[3], const double V[9]) {
  static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
  for (int k = 0; k < 6; k++) {
    I[k] = 0;
    for (int a = 0; a < 3; a++) I[k] += V[3 * row[k] + a] * moment[a] * V[3 * col[k] + a];
  }
}

// the largest principal moment of a rigid body is at most the sum of the other two
static bool is_impossible(const double J[3]) {
  double largest = fmax(J[0], fmax(J[1], J[2]));
  return J[0] + J[1] + J[2] - 2 * largest < -1e-6 * largest;
}

#define ROUNDED 1e-15   // of the mass times 1 m^2: moments below are 0 but for rounding

// boundmass, boundinertia, balanceinertia as MuJoCo's compiler does them; what changes is noted
static tgStatus bound_and_check(tgCompile *c, int b) {
  tgBodyDesc *body = &c->desc->body[b];
  const tgCompilerDesc *o = &c->desc->compiler;
  char label[128];
  tgi_desc_label("body", body->name, b, label, sizeof label);
  double J[3], V[9];
  principal(body->inertia, J, V);
  bool changed = false;
  // before bounding, which would lift a negative moment to 0 and hide it
  double largest = fmax(J[0], fmax(J[1], J[2])), least = fmin(J[0], fmin(J[1], J[2]));
  bool negative = least < -1e-12 * largest || largest < 0, mean_good = J[0] + J[1] + J[2] >= -ROUNDED * body->mass;
  if (negative && !(o->balanceinertia && mean_good))
    return tgi_compile_error(c, TG_ERR_INVALID, body->source, label,
                             "its inertia is not positive: principal moments %g %g %g; correct it%s", J[0], J[1], J[2],
                             mean_good ? ", or let balanceinertia (URDF: --repair) take their mean" : "");
  if (o->boundmass > body->mass) body->mass = o->boundmass;
  for (int k = 0; k < 3 && !negative; k++)
    if (o->boundinertia > J[k]) { J[k] = o->boundinertia; changed = true; }
  largest = fmax(J[0], fmax(J[1], J[2]));
  if (negative || is_impossible(J)) {
    bool moves = c->joint_adr[b + 1] > c->joint_adr[b];
    if (o->balanceinertia) {
      double mean = fmax(0, (J[0] + J[1] + J[2]) / 3);
      TG_TRY(tgi_compile_noted(c, tg_desc_add_note(c->desc, TG_NOTE_WARNING, body->source,
                                                   "%s: principal moments %g %g %g replaced by their mean "
                                                   "(balanceinertia)", label, J[0], J[1], J[2])));
      for (int k = 0; k < 3; k++) J[k] = mean;
      changed = true;
    } else if (!moves) {
      TG_TRY(tgi_compile_noted(c, tg_desc_add_note(c->desc, TG_NOTE_WARNING, body->source,
                       "%s: no rigid body has the principal moments %g %g %g; kept, as only the rigid group that it is part of matters",
                       label, J[0], J[1], J[2])));
    }
  }
  if (changed) rebuild(body->inertia, J, V);
  return TG_OK;
}

static void scale_to_total(tgCompile *c) {
  double total = 0, want = c->desc->compiler.settotalmass;
  for (int b = 1; b < c->desc->nbody; b++) total += c->desc->body[b].mass;
  if (!(want > 0) || !(total > 0)) return;
  for (int b = 1; b < c->desc->nbody; b++) {
    c->desc->body[b].mass *= want / total;
    for (int k = 0; k < 6; k++) c->desc->body[b].inertia[k] *= want / total;
  }
}

// every joint must move some mass: else the mass matrix is singular
static tgStatus check_moving_mass(tgCompile *c) {
  const tgDesc *d = c->desc;
  double *mass = c->alloc.alloc(c->alloc.ctx, tgi_size_mul((size_t)d->nbody, sizeof *mass));
  if (mass == NULL) return tgi_error(c->error, TG_ERR_MEMORY, "out of memory for the masses of %d bodies", c->desc->nbody);
  for (int b = 0; b < d->nbody; b++) mass[b] = d->body[b].mass;
  for (int b = d->nbody - 1; b > 0; b--) mass[d->body[b].parent] += mass[b];
  tgStatus st = TG_OK;
  for (int b = 1; b < d->nbody && st == TG_OK; b++) {
    if (mass[b] > 0 || c->joint_adr[b] == c->joint_adr[b + 1]) continue;
    const tgJointDesc *j = &d->joint[c->joint_from[c->joint_adr[b]]];
    if (j->armature > 0) continue;
    char label[128];
    st = tgi_compile_error(c, TG_ERR_INVALID, d->body[b].source,
                           tgi_desc_label("body", d->body[b].name, b, label, sizeof label),
                           "it moves (joint '%s') but neither it nor anything it carries has mass; give it an "
                           "inertial, or a geom with density (URDF: --repair fixes the joint)", j->name == NULL ? "" : j->name);
  }
  c->alloc.free(c->alloc.ctx, mass);
  return st;
}

// adds a body's moments about its own origin to those of its parent's, in the parent's axes
static void add_to_parent(Moments *parent, const Moments *child, const tgBodyDesc *pose) {
  if (!(child->m > 0)) return;
  tgReal q[4] = {pose->quat[0], pose->quat[1], pose->quat[2], pose->quat[3]}, cc[3], cp[3];
  double com[3], about[6], turned[6], zero[6] = {0};
  Moments point = {0};
  for (int k = 0; k < 3; k++) cc[k] = com[k] = child->mc[k] / child->m;
  add_about_origin(&point, child->m, com, zero);
  for (int k = 0; k < 6; k++) about[k] = child->I[k] - point.I[k];
  tgi_quat_rotate(cp, q, cc);
  for (int k = 0; k < 3; k++) com[k] = tgRe(cp[k]) + pose->pos[k];
  rotate_inertia(turned, pose->quat, about);
  add_about_origin(parent, child->m, com, turned);
}

// bodies that are rigidly attached move as one: it is their sum that must be a possible rigid body
static tgStatus check_groups(tgCompile *c) {
  const tgDesc *d = c->desc;
  Moments *sum = c->alloc.alloc(c->alloc.ctx, tgi_size_mul((size_t)d->nbody, sizeof *sum));
  if (sum == NULL) return tgi_error(c->error, TG_ERR_MEMORY, "out of memory for the masses of %d bodies", c->desc->nbody);
  tgStatus st = TG_OK;
  for (int b = 0; b < d->nbody; b++) {
    sum[b] = (Moments){0};
    add_about_origin(&sum[b], d->body[b].mass, d->body[b].com, d->body[b].inertia);
  }
  for (int b = d->nbody - 1; b > 0 && st == TG_OK; b--) {
    if (c->joint_adr[b + 1] == c->joint_adr[b]) {
      add_to_parent(&sum[d->body[b].parent], &sum[b], &d->body[b]);
      continue;
    }
    tgBodyDesc whole = {0};
    double J[3], V[9];
    char label[128];
    from_moments(&whole, &sum[b]);
    principal(whole.inertia, J, V);
    if (is_impossible(J) && fmax(J[0], fmax(J[1], J[2])) > ROUNDED * whole.mass)
      st = tgi_compile_error(c, TG_ERR_INVALID, d->body[b].source,
                             tgi_desc_label("body", d->body[b].name, b, label, sizeof label),
                             "no rigid body has the principal moments %g %g %g (the largest exceeds the sum of the "
                             "others), of it and what is rigidly attached to it; correct them or set balanceinertia "
                             "(URDF: --repair)", J[0], J[1], J[2]);
  }
  c->alloc.free(c->alloc.ctx, sum);
  return st;
}

tgStatus tgi_compile_inertia(tgCompile *c) {
  for (int b = 1; b < c->desc->nbody; b++) {
    TG_TRY(body_from_geoms(c, b));
    TG_TRY(bound_and_check(c, b));
  }
  scale_to_total(c);
  TG_TRY(check_groups(c));
  return check_moving_mass(c);
}
