// mode.h: the discrete side of a step: which constraint rows it had, in which class, and what was clamped.
//
// A step map is smooth as long as its mode is the same. Differences taken across two modes are no derivative. A row without force
// (a contact that is there and separates) has no part in the step: the map is the same when it is absent, so it is left out.
#ifndef TG_CHECK_MODE_H
#define TG_CHECK_MODE_H

#include "sim/sim.h"

/// One constraint row: what it is, the class that the contact solver gave it, and a word for what it does.
typedef struct tgiModeRow {
  int kind, a, b, part, cls;   // a, b: geoms of a contact; else a: the owner
  int feature;                 // of a contact: which vertices, edges and faces meet; else 0
  int act;                     // TGI_ACT_*
  tgiWhere where;
} tgiModeRow;

/// TGI_ACT_OTHERWISE: of a step in parts, whose rows have classes in two problems, and of friction in a cone, where the class tells.
enum { TGI_ACT_OTHERWISE = -1, TGI_ACT_FREE, TGI_ACT_PRESSES, TGI_ACT_HOLDS, TGI_ACT_SLIDES_UP, TGI_ACT_SLIDES_DOWN };

/// Mode of a step. Arrays are the caller's, of capacity caprow and the model's size (tgi_mode_clamps).
typedef struct tgiMode {
  int nrow, caprow;
  tgiModeRow *row;
  int8_t *clamp;
  uint64_t parts;   // of the parts of the step, where it has any: what each chose
  int rank;         // of the rows that hold, of a step in one part: where redundant ones become independent, the step becomes another map
} tgiMode;

/// Entries of clamp: actuators (control, force, activation), joints (summed force), tendons (dead zone of the spring).
int tgi_mode_clamps(const tgModel *m);

/// Hash of the mode of the last step; equal modes have equal hashes.
uint64_t tgi_mode_hash(const tgSim *s);

/// Mode of the last step: its rows that act; rows beyond caprow are dropped.
void tgi_mode_capture(const tgSim *s, tgiMode *mode);

/// First difference between two modes as words that name geoms, joint or actuator: "contact of geom 'a' and geom 'b': sticks -> slides".
/// Returns false and "" when there is none.
bool tgi_mode_difference(const tgModel *m, const tgiMode *from, const tgiMode *to, char *text, size_t size);

#endif
