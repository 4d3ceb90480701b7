// forces_d.c: dense derivatives of actuator and passive forces. See dynamics.h and forces.h.
//
// Forces on bodies: x_b, of the medium (phi turns with the body, depends on V_b) plus gravity compensation (u_b at the centre of mass).
// Moving q_j gives, with P_j = Vp_j x S_j and the medium's velocity U = (0; wind),
//   dphi_b = S_j x* phi_b + Phi_b (P_j + S_j x U),     d(gravity) = ((w_j x c_b + v_j) x u_b; 0),     v_j:  dphi_b = Phi_b S_j.
// With sums over subtrees and the invariance (S_j x S_i).f + S_i.(S_j x* f) = 0, as in inverse_d.c:
//   d x_i/dq_j = (S_j x S_i) . g_i + S_i . (G_i S_j + Phi_i (P_j + S_j x U))       j on the way from i to the root, i's group included,
//   d x_j/dq_i = S_j . (S_i x* phi_i + G_i S_i + Phi_i (P_i + S_i x U))            j before i's group.
// All u_b are multiples of one direction, so G_i needs their sum and the sum of multiples of c_b only: G m = (w x cu + k v) x e.
#include "dyn/forces.h"

#include "dyn/sheet.h"
#include "math/quat.h"

// where to add, and by which factor; each: one by one instead, but for Du
typedef struct Into { const tgiPlaces *to; const tgiEntries *each; tgReal scale, *Dq, *Dv, *Du; } Into;

static void add(const Into *o, int i, int j, tgReal by_q, tgReal by_v) {
  if (o->each != NULL) o->each->add(o->each->to, i, j, by_q, by_v);
  if (o->Dq != NULL) o->Dq[o->to->row[i] + o->to->q[j]] += o->scale * by_q;
  if (o->Dv != NULL) o->Dv[o->to->row[i] + o->to->v[j]] += o->scale * by_v;
}
static void add_block(const Into *o, int i, int j, const tgReal *by_q, const tgReal *by_v, int stride) {
  if (o->each != NULL && o->each->block != NULL) {
    o->each->block(o->each->to, i, j, by_q, by_v, stride);
    return;
  }
  for (int e = 0; e < 9; e++) {
    int at = stride * (e / 3) + e % 3;
    if (!tgZero(by_q[at]) || !tgZero(by_v[at])) add(o, i + e / 3, j + e % 3, by_q[at], by_v[at]);
  }
}
static void add_q(const Into *o, int i, int j, tgReal x) { add(o, i, j, x, 0); }
static void add_v(const Into *o, int i, int j, tgReal x) { add(o, i, j, 0, x); }

// force times moment, both of which change with the pose
static void on_site(tgSim *s, const tgPose *pose, int i, const tgStepEnd *end, const tgActuatorState *a, const tgReal *sum, const Into *o) {
  const tgModel *m = &s->m;
  tgiSitePull x;
  tgi_site_pull(m, pose, i, &x);
  for (tgiSiteTerm c = {0}; tgi_site_next(m, pose, &x, &c);) {
    tgReal by_q = a->D_length * tgi_site_slope(pose, &x, &c) + a->D_velocity * tgi_site_rate(m, pose, &x, pose->vel, c.dof);
    for (tgiSiteTerm r = {0}; tgi_site_next(m, pose, &x, &r);)
      if (tgi_actuator_sum_side(s, r.dof, end, sum[r.dof], NULL) == 0)
        add(o, r.dof, c.dof, r.moment * by_q + a->force * tgi_site_curve(m, pose, &x, &r, c.dof), r.moment * a->D_velocity * c.moment);
    if (o->Du != NULL && tgi_actuator_sum_side(s, c.dof, end, sum[c.dof], NULL) == 0)
      o->Du[o->to->urow[c.dof] + o->to->u[i]] += o->scale * c.moment * a->D_input;
  }
}

// where entries of one actuator go: to rows of which no joint holds the sum
typedef struct Free { tgSim *s; const tgStepEnd *end; const tgReal *sum; const Into *o; } Free;

static void add_free(void *to, int i, int j, tgReal by_q, tgReal by_v) {
  const Free *f = to;
  if (tgi_actuator_sum_side(f->s, i, f->end, f->sum[i], NULL) == 0) add(f->o, i, j, by_q, by_v);
}

static void add_any(void *to, int i, int j, tgReal by_q, tgReal by_v) { add(to, i, j, by_q, by_v); }

static void on_strands(tgSim *s, const tgPose *pose, int i, const tgStepEnd *end, const tgActuatorState *a, const tgReal *sum,
                       const Into *o) {
  const tgModel *m = &s->m;
  int t = m->act_target[i];
  tgReal gear = m->act_gear[6 * i];
  Free to = {s, end, sum, o};
  tgi_strands_force_d(m, pose, t, pose->vel, gear * a->force, gear * gear * a->D_length, gear * gear * a->D_velocity,
                      &(tgiEntries){.add = add_free, .to = &to});
  for (int d = 0; d < m->nv && o->Du != NULL; d++)
    if (tgi_strands_moved(m, t, d) && tgi_actuator_sum_side(s, d, end, sum[d], NULL) == 0)
      o->Du[o->to->urow[d] + o->to->u[i]] += o->scale * gear * tgi_strands_moment(m, pose, t, d) * a->D_input;
}

static void actuators(tgSim *s, const tgPose *pose, const tgStepEnd *end, const tgReal *sum, const Into *o, int *clamps) {
  const tgModel *m = &s->m;
  for (int i = 0; i < m->nu; i++) {
    tgActuatorState a;
    tgi_actuator_state(s, pose, i, end, &a, clamps);
    if (tgi_on_site(m, i)) on_site(s, pose, i, end, &a, sum, o);
    if (tgi_on_strands(m, i)) on_strands(s, pose, i, end, &a, sum, o);
    for (int r = 0; r < tgi_actuator_terms(m, i); r++) {
      tgReal mr, mc, slope;
      int dr = tgi_actuator_term(m, i, r, pose->q, &mr, NULL);
      if (tgi_actuator_sum_side(s, dr, end, sum[dr], NULL) != 0) continue;
      if (o->Du != NULL) o->Du[o->to->urow[dr] + o->to->u[i]] += o->scale * mr * a.D_input;
      for (int c = 0; c < tgi_actuator_terms(m, i); c++) {
        int dc = tgi_actuator_term(m, i, c, pose->q, &mc, &slope);
        add(o, dr, dc, mr * a.D_length * slope, mr * tgi_actuator_by_rate(s, i, end, &a) * mc);
      }
    }
  }
}

static void joint_springs(const tgModel *m, const tgReal *q, const Into *o) {
  for (int j = 0; j < m->njnt; j++) {
    int a = m->jnt_qadr[j], d = m->jnt_vadr[j], type = m->jnt_type[j];
    int n = type == TG_JOINT_FREE ? 3 : type == TG_JOINT_BALL ? 0 : 1;
    tgReal k = m->jnt_stiffness[j], w[3], J[9];
    if (tgZero(k)) continue;
    for (int i = 0; i < n; i++) add_q(o, d + i, d + i, -k);
    if (n == 1) continue;
    tgi_spring_rotation(m, a + n, q, w);
    tgi_so3_jr_inv(J, w);
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++) add_q(o, d + n + r, d + n + c, -k * J[3 * r + c]);
  }
}

static void tendons(const tgSim *s, const tgPose *pose, const Into *o, int *clamps) {
  const tgModel *m = &s->m;
  for (int t = 0; t < m->ntendon; t++) {
    tgReal slope, f = tgi_tendon_spring(s, pose, t, &slope, clamps);
    if (tgi_is_spatial(m, t)) {
      f -= m->ten_damping[t] * tgi_strands_rate(s, pose, t, pose->vel);
      tgi_strands_force_d(m, pose, t, pose->vel, f, slope, -m->ten_damping[t], &(tgiEntries){.add = add_any, .to = (void *)(uintptr_t)o});
      continue;
    }
    for (int x = m->ten_adr[t]; x < m->ten_adr[t] + m->ten_num[t]; x++)
      for (int y = m->ten_adr[t]; y < m->ten_adr[t] + m->ten_num[t]; y++) {
        int i = m->jnt_vadr[m->wrap_jnt[x]], j = m->jnt_vadr[m->wrap_jnt[y]];
        tgReal cc = m->wrap_coef[x] * m->wrap_coef[y];
        add(o, i, j, slope * cc, -m->ten_damping[t] * cc);
      }
  }
}

// per body: phi (6), Phi (36), k, cu (3)
enum { PHI = 0, PHI_D = 6, WEIGHT = 42, BODY_SIZE = 46 };

static void mul6(tgReal *r, const tgReal *A, const tgReal *x) {
  for (int i = 0; i < 6; i++) {
    r[i] = 0;
    for (int j = 0; j < 6; j++) r[i] += A[6 * i + j] * x[j];
  }
}

static void composites(const tgSim *s, const tgPose *pose, bool fluid, tgReal *C) {
  const tgModel *m = &s->m;
  for (int i = 0; i < m->nbody * BODY_SIZE; i++) C[i] = 0;
  for (int b = 1; b < m->nbody; b++) {
    tgReal *c = C + b * BODY_SIZE;
    if (fluid) tgi_fluid_force(s, pose, b, c + PHI, c + PHI_D);
    c[WEIGHT] = -m->body_gravcomp[b] * m->body_mass[b];
    tgi_v3_scale(c + WEIGHT + 1, pose->xcom + 3 * b, c[WEIGHT]);
  }
  for (int b = m->nbody - 1; b > 0; b--)
    for (int i = 0; i < BODY_SIZE; i++) C[m->body_parent[b] * BODY_SIZE + i] += C[b * BODY_SIZE + i];
}

// r = G m, (6) with zero force
static void gravity_turn(const tgModel *m, const tgReal *c, const tgReal *S, tgReal *r) {
  tgReal d[3];
  tgi_v3_cross(d, S, c + WEIGHT + 1);
  tgi_v3_axpy(d, c[WEIGHT], S + 3);
  tgi_v3_cross(r, d, m->opt_gravity);
  tgi_v3_zero(r + 3);
}

// P_d + S_d x U
static void slip(const tgSim *s, const tgPose *pose, int d, tgReal *r) {
  tgReal U[6] = {0, 0, 0, s->m.opt_wind[0], s->m.opt_wind[1], s->m.opt_wind[2]};
  tgi_sp_cross_m(r, pose->S + 6 * d, U);
  tgi_sp_axpy(r, 1, pose->Sd + 6 * d);
}

static tgReal moved_by(const tgSim *s, const tgPose *pose, int i, int j, const tgReal *c, const tgReal *PhiS, const tgReal *g) {
  tgReal t[6], r;
  tgi_sp_cross_m(t, pose->S + 6 * j, pose->S + 6 * i);
  r = tgi_sp_dot(t, g);
  gravity_turn(&s->m, c, pose->S + 6 * j, t);
  r += tgi_sp_dot(pose->S + 6 * i, t);
  slip(s, pose, j, t);
  return r + tgi_sp_dot(PhiS, t);
}

static void body_forces(const tgSim *s, const tgPose *pose, const tgReal *C, const Into *o) {
  const tgModel *m = &s->m;
  for (int i = 0; i < m->nv; i++) {
    const tgReal *c = C + m->dof_body[i] * BODY_SIZE, *S = pose->S + 6 * i;
    tgReal g[6], PhiS[6], Z[6], t[6];
    int group = m->dof_grpadr[i], end = group + m->dof_grpnum[i];
    // g = force of gravity compensation: sum c x (k e), e = gravity
    tgi_v3_cross(g, c + WEIGHT + 1, m->opt_gravity);
    tgi_v3_scale(g + 3, m->opt_gravity, c[WEIGHT]);
    mul6(PhiS, c + PHI_D, S);
    slip(s, pose, i, t);
    mul6(Z, c + PHI_D, t);
    tgi_sp_cross_f(t, S, c + PHI);
    tgi_sp_axpy(Z, 1, t);
    gravity_turn(m, c, S, t);
    tgi_sp_axpy(Z, 1, t);
    for (int j = end - 1; j >= 0; j = j > group ? j - 1 : m->dof_parent[j]) {
      tgReal slowed = tgi_sp_dot(PhiS, pose->S + 6 * j);
      add(o, i, j, moved_by(s, pose, i, j, c, PhiS, g), slowed);
      if (j >= group) continue;
      add(o, j, i, tgi_sp_dot(pose->S + 6 * j, Z), slowed);  // Phi is symmetric
    }
  }
}

// how the point x of a body moves with dof d, its velocity w with it
static void point_by_dof(const tgPose *pose, int body, const tgReal *x, int d, tgReal *dx, tgReal *dv) {
  tgReal U[6], turn[3];
  tgi_sp_point_velocity(dx, pose->S + 6 * d, x);
  tgi_sp_sub(U, pose->V + 6 * body, pose->Vp + 6 * d);
  tgi_sp_cross_m(U, pose->S + 6 * d, U);
  tgi_sp_point_velocity(dv, U, x);
  tgi_v3_cross(turn, pose->V + 6 * body, dx);
  tgi_v3_add(dv, dv, turn);
}

static bool slides(const tgModel *m, int d) { return m->jnt_type[m->dof_jnt[d]] == TG_JOINT_SLIDE; }

// Of a vertex, dof by dof from its body's last one towards the root: how its place moves, and its velocity with that. plain: there are
// three, slides along z, y and x of the world.
typedef struct Moves { tgReal *dx, *dv; bool plain; } Moves;

// those of three slides of a body that hangs from what is fixed, whose axes are the world's
static bool is_plain(const tgModel *m, const tgPose *pose, int last) {
  int n = 0;
  for (int d = last; d >= 0; d = m->dof_parent[d], n++) {
    const tgReal *S = pose->S + 6 * d;
    if (n == 3 || d != last - n || !slides(m, d)) return false;
    for (int e = 0; e < 3; e++)
      if (tgRe(S[3 + e]) != (e == 2 - n) || !tgZero(S[3 + e] - (e == 2 - n))) return false;
  }
  return n == 3;
}

static void vertex_moves(const tgSim *s, const tgPose *pose, const tgiPatch *k, int i, Moves *to) {
  int body = s->m.flex_vertbody[k->vert[i]], n = 0;
  to->plain = is_plain(&s->m, pose, s->m.body_lastdof[body]);
  for (int d = s->m.body_lastdof[body]; d >= 0 && !to->plain; d = s->m.dof_parent[d], n += 3)
    point_by_dof(pose, body, k->x + 3 * i, d, to->dx + n, to->dv + n);
  for (int e = 0; e < 9 && to->plain; e++) {
    to->dx[e] = e % 3 == 2 - e / 3;
    to->dv[e] = 0;
  }
}

// vertex i's force stays as it is: its row turns, and the force acts elsewhere; slides turn nothing and move no row
static void held_force(const tgSim *s, const tgPose *pose, const tgiPatch *k, int i, const Moves *of, const tgReal *f, const Into *o) {
  const tgModel *m = &s->m;
  int last = m->body_lastdof[m->flex_vertbody[k->vert[i]]];
  tgReal w[6], t[6];
  tgi_sp_screw(w, k->x + 3 * i, f);
  for (int r = last; r >= 0; r = m->dof_parent[r])
    for (int c = last, n = 0; c >= 0; c = m->dof_parent[c], n += 3) {
      if (slides(m, r) && slides(m, c)) continue;
      tgi_v3_cross(t, pose->S + 6 * r, of->dx + n);
      tgReal sum = tgi_v3_dot(t, f);
      if (c < m->dof_grpadr[r] + m->dof_grpnum[r]) {
        tgi_sp_cross_m(t, pose->S + 6 * c, pose->S + 6 * r);
        sum += tgi_sp_dot(t, w);
      }
      add_q(o, r, c, sum);
    }
}

// Forces on vertex i as vertex j moves with its dofs: K, C (rows `stride` apart) are the former's derivatives in place and velocity.
static void grown_force(const tgSim *s, const tgiPatch *k, int i, int j, const Moves *of, const tgReal *K, const tgReal *C, int stride,
                        const Into *o) {
  const tgModel *m = &s->m;
  if (of[i].plain && of[j].plain) {
    add_block(o, m->body_lastdof[m->flex_vertbody[k->vert[i]]] - 2, m->body_lastdof[m->flex_vertbody[k->vert[j]]] - 2, K, C, stride);
    return;
  }
  tgReal by_q[3], by_v[3];
  for (int c = m->body_lastdof[m->flex_vertbody[k->vert[j]]], a = 0; c >= 0; c = m->dof_parent[c], a += 3) {
    for (int e = 0; e < 3; e++) {
      by_v[e] = tgi_v3_dot(C + stride * e, of[j].dx + a);
      by_q[e] = tgi_v3_dot(K + stride * e, of[j].dx + a) + tgi_v3_dot(C + stride * e, of[j].dv + a);
    }
    for (int r = m->body_lastdof[m->flex_vertbody[k->vert[i]]], b = 0; r >= 0; r = m->dof_parent[r], b += 3) {
      tgReal q = tgi_v3_dot(of[i].dx + b, by_q), v = tgi_v3_dot(of[i].dx + b, by_v);
      if (!tgZero(q) || !tgZero(v)) add(o, r, c, q, v);   // bending of what is flat at rest couples no two directions
    }
  }
}

static void patch(const tgSim *s, const tgPose *pose, const tgiPatch *k, Moves *of, const Into *o) {
  int n = 3 * k->n;
  tgReal K[144], C[144], f[12];   // of the forces in places and velocities of the vertices
  tgi_patch_derivative(s, k, K, C);
  tgi_patch_force(s, k, f);
  for (int i = 0; i < k->n; i++) vertex_moves(s, pose, k, i, of + i);
  for (int j = 0; j < k->n; j++) {
    if (!of[j].plain) held_force(s, pose, k, j, of + j, f + 3 * j, o);
    for (int i = 0; i < k->n; i++) grown_force(s, k, i, j, of, K + 3 * (n * i + j), C + 3 * (n * i + j), n, o);
  }
}

static tgStatus patches(tgSim *s, const tgPose *pose, const Into *o) {
  Moves of[4];
  size_t depth = 0, mark = tgi_stack_mark(s);
  if (!tgi_has_sheet(&s->m)) return TG_OK;
  for (int d = 0; d < s->m.nv; d++) depth = (size_t)s->m.dof_depth[d] > depth ? (size_t)s->m.dof_depth[d] : depth;
  tgReal *room = tgi_stack_real(s, 24 * depth);
  if (room == NULL) return TG_ERR_CAPACITY;
  for (size_t i = 0; i < 4; i++) of[i] = (Moves){.dx = room + 6 * i * depth, .dv = room + (6 * i + 3) * depth};
  for (tgiPatch k = tgi_no_patch; tgi_next_patch(s, pose, &k);) patch(s, pose, &k, of, o);
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus actuation(tgSim *s, const tgPose *pose, const tgStepEnd *end, const Into *o, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  tgReal *sum = tgi_stack_real(s, (size_t)s->m.nv);
  if (sum == NULL) return TG_ERR_CAPACITY;
  tgi_actuator_sum(s, pose, end, sum);
  for (int d = 0; d < s->m.nv; d++) tgi_actuator_sum_side(s, d, end, sum[d], clamps);  // counts each tie once
  actuators(s, pose, end, sum, o, clamps);
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus passive(tgSim *s, const tgPose *pose, const Into *o, int *clamps) {
  const tgModel *m = &s->m;
  int nv = m->nv;
  bool fluid = tgi_has_fluid(m), bodies = fluid || tgi_has_gravcomp(m);
  size_t mark = tgi_stack_mark(s);
  tgReal *C = bodies ? tgi_stack_real(s, (size_t)m->nbody * BODY_SIZE) : NULL;
  if (bodies && C == NULL) return TG_ERR_CAPACITY;
  joint_springs(m, pose->q, o);
  for (int d = 0; d < nv; d++) add_v(o, d, d, -m->dof_damping[d]);
  tendons(s, pose, o, clamps);
  if (bodies) {
    if (fluid) tgi_fluid_boxes(s);
    composites(s, pose, fluid, C);
    body_forces(s, pose, C, o);
  }
  tgStatus status = patches(s, pose, o);
  tgi_stack_free(s, mark);
  return status;
}

// of the whole; the entries of o are set
static tgStatus all(tgSim *s, const tgPose *pose, const tgStepEnd *end, const Into *o, int *clamps) {
  tgStatus status = actuation(s, pose, end, o, clamps);
  return status == TG_OK ? passive(s, pose, o, clamps) : status;
}

tgStatus tgi_actuation_d_into(tgSim *s, const tgPose *pose, const tgStepEnd *end, tgReal scale, const tgiPlaces *to, tgReal *Dq, tgReal *Dv,
                              tgReal *Du, int *clamps) {
  return actuation(s, pose, end, &(Into){.to = to, .scale = scale, .Dq = Dq, .Dv = Dv, .Du = Du}, clamps);
}

tgStatus tgi_passive_d_into(tgSim *s, const tgPose *pose, tgReal scale, const tgiPlaces *to, tgReal *Dq, tgReal *Dv, int *clamps) {
  return passive(s, pose, &(Into){.to = to, .scale = scale, .Dq = Dq, .Dv = Dv}, clamps);
}

tgStatus tgi_forces_d_into(tgSim *s, const tgPose *pose, const tgStepEnd *end, tgReal scale, const tgiPlaces *to, tgReal *Dq, tgReal *Dv,
                           tgReal *Du, int *clamps) {
  return all(s, pose, end, &(Into){.to = to, .scale = scale, .Dq = Dq, .Dv = Dv, .Du = Du}, clamps);
}

tgStatus tgi_forces_d_each(tgSim *s, const tgPose *pose, const tgiEntries *each, tgReal *Du, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  const tgiPlaces *to = tgi_places_dense(s);
  tgStatus status = to == NULL ? TG_ERR_CAPACITY : all(s, pose, NULL, &(Into){.to = to, .each = each, .scale = 1, .Du = Du}, clamps);
  tgi_stack_free(s, mark);
  return status;
}
