// limit.c: the limits of joints and tendons, as distances. See joint.h.
#include "joint/joint.h"
#include "math/quat.h"

int tgi_rotation_dof(const tgModel *m, int j, int *adr) {
  int lead = m->jnt_type[j] == TG_JOINT_FREE ? 3 : 0;
  if (m->jnt_type[j] != TG_JOINT_FREE && m->jnt_type[j] != TG_JOINT_BALL) return -1;
  *adr = m->jnt_qadr[j] + lead;
  return m->jnt_vadr[j] + lead;
}

tgReal tgi_tendon_length(const tgModel *m, int t, const tgReal *q) {
  tgReal sum = 0;
  for (int w = m->ten_adr[t]; w < m->ten_adr[t] + m->ten_num[t]; w++) sum += m->wrap_coef[w] * q[m->jnt_qadr[m->wrap_jnt[w]]];
  return sum;
}

tgReal tgi_tendon_rate(const tgModel *m, int t, const tgReal *v) {
  tgReal sum = 0;
  for (int w = m->ten_adr[t]; w < m->ten_adr[t] + m->ten_num[t]; w++) sum += m->wrap_coef[w] * v[m->jnt_vadr[m->wrap_jnt[w]]];
  return sum;
}

static bool is_ball(const tgModel *m, int i) { return i < m->njnt && m->jnt_type[i] == TG_JOINT_BALL; }

static const tgReal *range_of(const tgModel *m, int i) { return i < m->njnt ? m->jnt_range + 2 * i : m->ten_range + 2 * (i - m->njnt); }

// what the width is a share of; *whole: of the range, else of 1
static tgReal span_of(const tgModel *m, int i, bool *whole) {
  const tgReal *range = range_of(m, i);
  *whole = isfinite(tgRe(range[1])) && (is_ball(m, i) || isfinite(tgRe(range[0])));
  return !*whole ? 1 : is_ball(m, i) ? range[1] : range[1] - range[0];
}

static tgReal angle_of(const tgReal *q) {
  tgReal r[4] = {q[0], q[1], q[2], q[3]}, w[3];
  tgi_quat_normalize(r);
  tgi_quat_log(w, r);
  // inside the width of the limit the angle is not 0, where it has no derivative
  return tgRe(tgi_v3_dot(w, w)) > 0 ? tgi_v3_norm(w) : 0;
}

// length: of a tendon, at the pose; NULL: q tells it
static bool limit(const tgSim *s, int i, int side, const tgReal *q, const tgReal *length, tgReal *gap, tgReal *width) {
  const tgModel *m = &s->m;
  const tgReal *range = range_of(m, i);
  bool whole, turns = is_ball(m, i), joint = i < m->njnt;
  if (!(joint ? m->jnt_limited[i] : m->ten_limited[i - m->njnt]) || !isfinite(tgRe(range[side]))) return false;
  if (joint && m->jnt_type[i] == TG_JOINT_FREE) return false;
  if (turns && (side == 0 || tgRe(range[1]) >= TG_PI)) return false;
  *width = TG_NUMBER(s, limit_range) * span_of(m, i, &whole);
  tgReal x = turns ? angle_of(q + m->jnt_qadr[i]) : joint ? q[m->jnt_qadr[i]] : 0;
  if (!joint) x = length != NULL ? length[i - m->njnt] : tgi_tendon_length(m, i - m->njnt, q);
  *gap = side == 0 ? x - range[0] : range[1] - x;
  return true;
}

bool tgi_limit(const tgSim *s, int i, int side, const tgReal *q, tgReal *gap, tgReal *width) {
  return limit(s, i, side, q, NULL, gap, width);
}

bool tgi_limit_at(const tgSim *s, int i, int side, const tgPose *pose, tgReal *gap, tgReal *width) {
  return limit(s, i, side, pose->q, pose->ten_length, gap, width);
}

void tgi_limit_parameters(const tgSim *s, int i, int side, tgReal by_gap, tgReal by_width, tgParamGrad *p) {
  const tgModel *m = &s->m;
  bool whole;
  tgReal span = span_of(m, i, &whole), share = TG_NUMBER(s, limit_range), *by_share = TG_NUMBER_GRAD(p, limit_range);
  tgReal *all = i < m->njnt ? p->jnt_range : p->ten_range;
  if (by_share != NULL) *by_share += by_width * span;
  if (all == NULL) return;
  tgReal *out = all + 2 * (i < m->njnt ? i : i - m->njnt);
  out[side] += side == 0 ? -by_gap : by_gap;
  if (!whole) return;
  out[1] += share * by_width;
  if (!is_ball(m, i)) out[0] -= share * by_width;
}

const char *tgi_limit_label(const tgModel *m, int i, char *text, size_t size) {
  return i < m->njnt ? tgi_model_label(m, TG_THING_JOINT, i, text, size) : tgi_model_label(m, TG_THING_TENDON, i - m->njnt, text, size);
}

void tgi_limit_barrier(tgReal x, tgReal b[3]) {
  b[0] = b[1] = b[2] = 0;
  if (tgRe(x) >= 1) return;
  tgReal l = tgLog(x), y = x - 1;
  b[0] = -y * y * l / x;
  b[1] = -2 * y * l / x + (l - 1) * y * y / (x * x);
  b[2] = 4 * (l - 1) * y / (x * x) - 2 * l * (y * y / (x * x * x) + 1 / x) + 3 * y * y / (x * x * x);
}
