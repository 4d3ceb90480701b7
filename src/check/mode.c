// mode.c: see mode.h.
#include "check/mode.h"

#include <stdio.h>
#include <string.h>

#include "contact/contact.h"
#include "tangere/base.h"

int tgi_mode_clamps(const tgModel *m) { return 3 * m->nu + m->njnt + m->ntendon; }

static int8_t side(tgReal x, tgReal low, tgReal high) {
  return (int8_t)(tgRe(x) <= tgRe(low) ? -1 : tgRe(x) >= tgRe(high) ? 1 : 0);
}

// clamp number i of the last step: -1 at or below its lower end, 1 at or above its upper end, 0 inside or unlimited
static int8_t clamp(const tgSim *s, int i) {
  const tgModel *m = &s->m;
  if (i < m->nu) return m->act_ctrllimited[i] ? side(s->ctrl[i], m->act_ctrlrange[2 * i], m->act_ctrlrange[2 * i + 1]) : 0;
  i -= m->nu;
  if (i < m->nu) return m->act_forcelimited[i] ? side(s->act_force[i], m->act_forcerange[2 * i], m->act_forcerange[2 * i + 1]) : 0;
  i -= m->nu;
  if (i < m->nu) return m->act_actlimited[i] ? side(s->act1[m->act_adr[i]], m->act_actrange[2 * i], m->act_actrange[2 * i + 1]) : 0;
  i -= m->nu;
  if (i < m->njnt) {
    if (!m->jnt_actfrclimited[i]) return 0;
    return side(s->qfrc_actuator[m->jnt_vadr[i]], m->jnt_actfrcrange[2 * i], m->jnt_actfrcrange[2 * i + 1]);
  }
  i -= m->njnt;
  if (tgRe(m->ten_stiffness[i]) == 0) return 0;
  return side(s->start.ten_length[i], m->ten_lengthspring[2 * i], m->ten_lengthspring[2 * i + 1]);
}

static tgiModeRow mode_row(const tgSim *s, int i) {
  int kind = s->rows->kind[i], owner = s->rows->owner[i], cls = s->rows->class[i];
  bool contact = kind == TG_ROW_NORMAL || kind == TG_ROW_TANGENT;
  tgiModeRow r = {.kind = kind, .part = s->rows->part[i], .cls = cls, .b = -1};
  r.a = contact ? s->contact[owner].geom1 : owner;
  if (contact) r.b = s->contact[owner].geom2;
  if (contact) r.feature = s->contact[owner].feature;
  double f = tgRe(s->rows->f[i]), bound = tgRe(s->rows->limit[i]);
  if (kind == TG_ROW_TANGENT && s->rows->parent[i] >= 0) bound *= tgRe(s->rows->f[s->rows->parent[i]]);
  bool cone = kind == TG_ROW_TANGENT && r.part <= 2 && tgi_has_cones(s);   // in which the class tells
  if (cone) r.act = bound <= 0 ? TGI_ACT_FREE : TGI_ACT_OTHERWISE;
  else if (kind == TG_ROW_NORMAL || kind == TG_ROW_LIMIT) r.act = f > 0 ? TGI_ACT_PRESSES : TGI_ACT_FREE;
  else if (kind == TG_ROW_EQUALITY || fabs(f) < bound * (1 - 1e-12)) r.act = TGI_ACT_HOLDS;
  else r.act = bound <= 0 ? TGI_ACT_FREE : f > 0 ? TGI_ACT_SLIDES_UP : TGI_ACT_SLIDES_DOWN;
  return r;
}

// entry k of what the parts of the step chose
static tgiModeRow part_row(const tgSim *s, int k) {
  const int *c = s->rows->choice + (size_t)k * TG_ROW_CHOICE;
  return (tgiModeRow){.where = (tgiWhere)c[0], .kind = c[1], .a = c[2], .b = c[3], .part = c[4],
                      .feature = c[5], .cls = c[6], .act = TGI_ACT_OTHERWISE};
}

uint64_t tgi_mode_hash(const tgSim *s) {
  uint64_t hash = TG_HASH_START;
  for (int i = 0; s->npart == 0 && i < s->nrow; i++) {
    tgiModeRow r = mode_row(s, i);
    if (r.act == TGI_ACT_FREE) continue;
    int key[6] = {r.kind, r.a, r.b, r.part, r.cls, r.feature};
    hash = tg_hash(hash, key, sizeof key);
  }
  if (s->npart > 0) hash = tg_hash(hash, &s->part_mode, sizeof s->part_mode);
  for (int i = 0; i < tgi_mode_clamps(&s->m); i++) {
    int8_t c = clamp(s, i);
    hash = tg_hash(hash, &c, 1);
  }
  return hash;
}

void tgi_mode_capture(const tgSim *s, tgiMode *mode) {
  mode->nrow = 0;
  mode->parts = s->npart > 0 ? s->part_mode : 0;
  mode->rank = s->npart > 1 ? 0 : s->info.rank;   // parts have theirs in the hash
  for (int k = 0; s->npart > 0 && k < s->nchoice && mode->nrow < mode->caprow; k++) mode->row[mode->nrow++] = part_row(s, k);
  for (int i = 0; s->npart == 0 && i < s->nrow && mode->nrow < mode->caprow; i++) {
    tgiModeRow r = mode_row(s, i);
    if (r.act != TGI_ACT_FREE) mode->row[mode->nrow++] = r;
  }
  for (int i = 0; i < tgi_mode_clamps(&s->m); i++) mode->clamp[i] = clamp(s, i);
}

static bool same_row(const tgiModeRow *x, const tgiModeRow *y) {
  return x->where == y->where && x->kind == y->kind && x->a == y->a && x->b == y->b && x->part == y->part;
}

static const char *act_text(const tgiModeRow *r) {
  bool tangent = r->kind == TG_ROW_TANGENT || r->kind == TG_ROW_FRICTION;
  switch (r->act) {
    case TGI_ACT_PRESSES: return "pressing";
    case TGI_ACT_HOLDS: return tangent ? "sticking" : "held";
    case TGI_ACT_SLIDES_UP: return "sliding (force at its upper bound)";
    case TGI_ACT_SLIDES_DOWN: return "sliding (force at its lower bound)";
    default: return tangent ? "without force" : "separating";
  }
}

static void row_text(const tgModel *m, const tgiModeRow *r, char *text, size_t size) {
  char a[80], b[80];
  switch (r->kind) {
    case TG_ROW_NORMAL: case TG_ROW_TANGENT:
      snprintf(text, size, "contact of %s and %s", tgi_model_label(m, TG_THING_GEOM, r->a, a, sizeof a),
               tgi_model_label(m, TG_THING_GEOM, r->b, b, sizeof b));
      return;
    case TG_ROW_LIMIT:
      snprintf(text, size, "limit of %s", tgi_model_label(m, r->part < 2 ? TG_THING_JOINT : TG_THING_TENDON, r->a, a, sizeof a));
      return;
    case TG_ROW_FRICTION:
      if (r->part == 0) tgi_model_label(m, TG_THING_JOINT, m->dof_jnt[r->a], a, sizeof a);
      else tgi_model_label(m, TG_THING_TENDON, r->a, a, sizeof a);
      snprintf(text, size, "dry friction of %s", a);
      return;
    default:
      snprintf(text, size, "%s", tgi_model_label(m, TG_THING_EQUALITY, r->a, a, sizeof a));
  }
}

static void clamp_text(const tgModel *m, int i, char *text, size_t size) {
  char a[80];
  static const char *const what[3] = {"control", "force", "activation"};
  if (i < 3 * m->nu)
    snprintf(text, size, "%s range of %s", what[i / m->nu], tgi_model_label(m, TG_THING_ACTUATOR, i % m->nu, a, sizeof a));
  else if (i < 3 * m->nu + m->njnt)
    snprintf(text, size, "actuator force range of %s", tgi_model_label(m, TG_THING_JOINT, i - 3 * m->nu, a, sizeof a));
  else
    snprintf(text, size, "spring rest range of %s", tgi_model_label(m, TG_THING_TENDON, i - 3 * m->nu - m->njnt, a, sizeof a));
}

bool tgi_mode_difference(const tgModel *m, const tgiMode *from, const tgiMode *to, char *text, size_t size) {
  char what[200];
  static const char *const where[3] = {"at its lower end", "inside", "at its upper end"};
  text[0] = 0;
  // rows come in a fixed order, so the first place where the two lists part is a row that changed, began or ended
  for (int i = 0; i < from->nrow || i < to->nrow; i++) {
    const tgiModeRow *x = i < from->nrow ? &from->row[i] : NULL, *y = i < to->nrow ? &to->row[i] : NULL;
    bool same = x != NULL && y != NULL && same_row(x, y);
    if (same && x->cls == y->cls && x->feature == y->feature) continue;
    const tgiModeRow *named = x == NULL || (y != NULL && to->nrow > from->nrow) ? y : x;
    row_text(m, named, what, sizeof what);
    const char *at = named->where == TGI_WHERE_IMPACT ? ", in an impact" : named->where == TGI_WHERE_DRIFT ? ", at the start" : "";
    if (same && x->feature != y->feature) snprintf(text, size, "%s%s: other features meet", what, at);
    else if (same && x->act == TGI_ACT_OTHERWISE) snprintf(text, size, "%s%s: acts in another way", what, at);
    else if (same) snprintf(text, size, "%s%s: %s -> %s", what, at, act_text(x), act_text(y));
    else snprintf(text, size, "%s%s: %s", what, at, named == y ? "begins to act" : "lets go");
    return true;
  }
  if (from->parts != to->parts) {
    snprintf(text, size, "the times or the number of the impacts within the step, or which rows are redundant there");
    return true;
  }
  if (from->rank != to->rank) {
    snprintf(text, size, "redundant rows: %d independent ones -> %d", from->rank, to->rank);
    return true;
  }
  for (int i = 0; i < tgi_mode_clamps(m); i++) {
    if (from->clamp[i] == to->clamp[i]) continue;
    clamp_text(m, i, what, sizeof what);
    snprintf(text, size, "%s: %s -> %s", what, where[from->clamp[i] + 1], where[to->clamp[i] + 1]);
    return true;
  }
  return false;
}
