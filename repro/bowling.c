// bowling.c: see bowling.h.
#include "repro/bowling.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tangere/base.h"

enum { SEGMENTS = 32, PIECES = 6 };
const double tgi_pin_mass = 1.5, tgi_ball_mass = 6.8, tgi_ball_radius = 0.1085;
static const double inch = 0.0254;
// heights and diameters of a pin [inches], and where its convex pieces begin: it is concave at the neck
static const double height[] = {0, 0.75, 2.25, 3.375, 4.5, 5.875, 7.25, 8.625, 9.375, 10, 10.875, 11.75, 12.625, 13.5, 14.5, 15},
                    wide[] = {2.03, 2.83, 3.91, 4.51, 4.77, 4.56, 3.70, 2.47, 1.97, 1.80, 1.87, 2.09, 2.41, 2.55, 1.9, 0};
static const int piece[PIECES + 1] = {0, 7, 8, 9, 10, 11, 15};

// of the solid of revolution, by slices
tgPin tgi_pin(void) {
  enum { SLICES = 3000 };
  double m = 0, mz = 0, mzz = 0, disc = 0;
  for (int i = 0; i < SLICES; i++) {
    double z = 15 * (i + 0.5) / SLICES;
    int k = 0;
    while (height[k + 1] < z) k++;
    double r = (wide[k] + (wide[k + 1] - wide[k]) * (z - height[k]) / (height[k + 1] - height[k])) / 2 * inch;
    z *= inch;
    m += r * r;
    mz += r * r * z;
    mzz += r * r * z * z;
    disc += r * r * r * r / 4;
  }
  return (tgPin){mz / m, (disc + mzz) / m - mz * mz / (m * m), 2 * disc / m};
}

// appends, printf style
typedef struct Text { char *at; size_t used, room; } Text;
static void put(Text *t, const char *format, ...) TG_PRINTF(2, 3);
static void put(Text *t, const char *format, ...) {
  va_list list;
  va_start(list, format);
  if (t->used < t->room) t->used += (size_t)vsnprintf(t->at + t->used, t->room - t->used, format, list);
  va_end(list);
}

static void put_piece(Text *t, int p) {
  put(t, "<mesh name=\"p%d\" vertex=\"", p);
  for (int k = piece[p]; k <= piece[p + 1]; k++)
    for (int i = 0; i < (wide[k] > 0 ? SEGMENTS : 1); i++) {
      double angle = 2 * 3.14159265358979324 * i / SEGMENTS, r = wide[k] / 2 * inch;
      put(t, "%.12g %.12g %.12g ", r * cos(angle), r * sin(angle), height[k] * inch);
    }
  put(t, "\"/>");
}

enum { RINGS = 15 };   // of a whole pin, between the middle of its foot and its top

// the pin as one mesh, which is not convex
static void put_whole(Text *t) {
  put(t, "<mesh name=\"whole\" vertex=\"0 0 0 ");
  for (int k = 0; k <= RINGS; k++)
    for (int i = 0; i < (k < RINGS ? SEGMENTS : 1); i++) {
      double angle = 2 * 3.14159265358979324 * i / SEGMENTS, r = wide[k] / 2 * inch;
      put(t, "%.12g %.12g %.12g ", r * cos(angle), r * sin(angle), height[k] * inch);
    }
  put(t, "\" face=\"");
  for (int i = 0; i < SEGMENTS; i++) {
    int next = (i + 1) % SEGMENTS, last = 1 + SEGMENTS * (RINGS - 1);
    put(t, "0 %d %d ", 1 + next, 1 + i);
    for (int a = 1; a < last; a += SEGMENTS)
      put(t, "%d %d %d %d %d %d ", a + i, a + next, a + SEGMENTS + next, a + i, a + SEGMENTS + next, a + SEGMENTS + i);
    put(t, "%d %d %d ", last + i, last + next, 1 + SEGMENTS * RINGS);
  }
  put(t, "\"/>");
}

char *tgi_bowling(bool whole, double clearance) {
  enum { ROOM = 200000 };
  tgPin pin = tgi_pin();
  Text t = {calloc(ROOM, 1), 0, ROOM};
  if (t.at == NULL) return NULL;
  put(&t, "<mujoco><option gravity=\"0 0 -9.81\"/><default><geom friction=\".2\"/></default><asset>");
  for (int p = 0; p < PIECES && !whole; p++) put_piece(&t, p);
  if (whole) put_whole(&t);
  put(&t, "</asset><worldbody><geom type=\"plane\" size=\"9 9 1\" friction=\".1\" priority=\"1\"/>");
  for (int row = 0; row < 4; row++)
    for (int i = 0; i <= row; i++) {
      put(&t, "<body pos=\"%.12g %.12g %.12g\"><freejoint/><inertial pos=\"0 0 0\" mass=\"%g\" diaginertia=\"%.12g %.12g %.12g\"/>",
          0.3048 * sqrt(0.75) * row, 0.3048 * (i - 0.5 * row), pin.com + clearance, tgi_pin_mass, tgi_pin_mass * pin.across,
          tgi_pin_mass * pin.across, tgi_pin_mass * pin.along);
      if (whole) put(&t, "<geom type=\"mesh\" mesh=\"whole\" pos=\"0 0 %.12g\"/>", -pin.com);
      for (int p = 0; p < PIECES && !whole; p++) put(&t, "<geom type=\"mesh\" mesh=\"p%d\" pos=\"0 0 %.12g\"/>", p, -pin.com);
      put(&t, "</body>");
    }
  put(&t, "<body pos=\"-1.5 0 %.12g\"><freejoint/><geom size=\"%g\" mass=\"%g\"/></body></worldbody></mujoco>",
      tgi_ball_radius + clearance, tgi_ball_radius, tgi_ball_mass);
  return t.at;
}
