// cloud_round.c: clouds of spheres, capsules, cylinders and ellipsoids: bands of cells about an axis.
//
// A band lies between two lines of latitude and has as many equal cells as its girth asks for, so that spacing is the
// same everywhere; its points lie in the middle. On a line the corners of the bands on both sides alternate, as in
// brickwork, and belong to the patches of both.
// An ellipsoid is banded about the axis whose other two semi-axes are most alike; azimuths are at equal arcs of its
// (similar) ellipses of latitude.
#include "base/memory.h"
#include "geom/cloud_make.h"

// a place of the profile: rho from the axis and zeta along it, on the unit shape; rho 0: a pole
typedef struct Place {
  tgiCloudPart part;
  double rho, zeta;
} Place;

// n cells between line i and line i + 1 (from the bottom up), the place of their points, the unit shape's normal
// (radial, axial) there and its area
typedef struct Band {
  int n;
  Place at;
  double normal[2], area;
} Band;

enum { ARCS = 1024 };

typedef struct Bands {
  tgGeomType type;
  double spacing, size[3];              // semi-axes along axis + 1, axis + 2, axis; of other shapes the radius
  int axis, nband;
  Band *band;
  Place *line;                          // nband + 1, the first and last are poles
  int *first;                           // nband + 2: vertices of line i are first[i] .. first[i + 1] - 1
  double girth[ARCS + 1], meridian[ARCS + 1];  // arcs of a quarter of the equator and of the mean meridian
} Bands;

// ---- equal arcs of an ellipse ----

// arcs of the quarter ellipse (a cos f, b sin f) up to f = k pi/2/ARCS, by Simpson's rule
static void arc_table(double a, double b, double *arc) {
  arc[0] = 0;
  for (int k = 0; k < ARCS; k++) {
    double sum = 0;
    for (int j = 0; j <= 2; j++) {
      double f = 0.5 * TG_PI * (k + 0.5 * j) / (double)ARCS;
      sum += (j == 1 ? 4 : 1) * hypot(a * sin(f), b * cos(f));
    }
    arc[k + 1] = arc[k] + sum / 6 * 0.5 * TG_PI / (double)ARCS;
  }
}

// angle f at the part t (0 to 1) of the whole ellipse; monotone, and between entries of the table linear
static double angle_at(const double *arc, double t) {
  double whole = floor(4 * t), part = 4 * t - whole;
  bool back = (int)whole % 2 == 1;  // the second and fourth quarter run from b to a
  double wanted = arc[ARCS] * (back ? 1 - part : part);
  int low = 0, high = ARCS;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (arc[middle] <= wanted) low = middle;
    else high = middle;
  }
  double f = 0.5 * TG_PI * (low + (wanted - arc[low]) / (arc[high] - arc[low])) / (double)ARCS;
  return 0.5 * TG_PI * whole + (back ? 0.5 * TG_PI - f : f);
}

// ---- profiles ----

// number of bands on a length
static double bands_on(double length, double spacing) { return fmax(1, round(length / spacing)); }

static void add_band(Bands *b, Place at, double radial, double axial, double area, Place upper) {
  double cells = fmax(3, round(4 * b->girth[ARCS] * at.rho / b->spacing));
  b->band[b->nband++] = (Band){.n = (int)fmin(cells, TGI_CLOUD_MOST), .at = at, .normal = {radial, axial}, .area = area};
  b->line[b->nband] = upper;
}

static Place latitude(const Bands *b, tgiCloudPart part, double t) {
  double theta = angle_at(b->meridian, 0.5 * t);
  return (Place){part, t <= 0 || t >= 1 ? 0 : sin(theta), t <= 0 ? -1 : t >= 1 ? 1 : -cos(theta)};
}

// n bands of the unit sphere, from the part `from` of the arc between its poles to the part `to`
static void add_sphere(Bands *b, tgiCloudPart part, int n, double from, double to) {
  for (int k = 0; k < n; k++) {
    Place low = latitude(b, part, from + (to - from) * k / n), high = latitude(b, part, k + 1 == n ? to : from + (to - from) * (k + 1) / n);
    Place at = latitude(b, part, from + (to - from) * (k + 0.5) / n);
    if (k == 0) b->line[b->nband] = low;
    add_band(b, at, at.rho, at.zeta, 2 * TG_PI * (high.zeta - low.zeta), high);
  }
}

// n bands of the side; the outer points are `inset` (in half lengths) from the ends
static void add_side(Bands *b, int n, double inset) {
  double low = -1, at = n == 1 ? 0 : -1 + inset, step = n == 1 ? 0 : (2 - 2 * inset) / (n - 1);
  b->line[b->nband] = (Place){TGI_PART_TUBE, 1, -1};
  for (int k = 0; k < n; k++, at += step) {
    double high = k + 1 == n ? 1 : at + 0.5 * step;
    add_band(b, (Place){TGI_PART_TUBE, 1, at}, 1, 0, 2 * TG_PI * (high - low), (Place){TGI_PART_TUBE, 1, high});
    low = high;
  }
}

// n rings of a flat cap on side `side` (-1, 1), whose outer points are `inset` (in radii) from the rim
static void add_cap(Bands *b, int n, double inset, int side) {
  double step = (1 - inset) / (n - 0.5);
  if (side < 0) b->line[b->nband] = (Place){TGI_PART_TUBE, 0, -1};
  for (int i = 0; i < n; i++) {
    int k = side < 0 ? i : n - 1 - i;
    double inner = k * step, outer = k + 1 == n ? 1 : (k + 1) * step, to = side < 0 ? outer : inner;
    add_band(b, (Place){TGI_PART_TUBE, (k + 0.5) * step, side}, 0, side, TG_PI * (outer * outer - inner * inner),
             (Place){TGI_PART_TUBE, to, side});
  }
}

// the inset of the points next to the rim: half a cell, the mean of cap and side weighted as by common_inset of cloud_box.c
static double rim_inset(double radius, double half, double rings, double rows) {
  double weight = 1 / (2 * rings) + 1 / rows, inset = (radius / (2 * rings) / (2 * rings) + half / rows / rows) / weight;
  return rows == 1 ? fmin(half, 0.75 * radius) : fmin(inset, 0.75 * radius);
}

// how many bands there will be: on the lower part, the side and the upper part
static double count_bands(const Bands *b, const double size[3], double part[2]) {
  double l = b->spacing;
  bool round_ends = b->type == TG_GEOM_CAPSULE, side = round_ends || b->type == TG_GEOM_CYLINDER;
  part[0] = side ? bands_on(round_ends ? 0.5 * TG_PI * size[0] : size[0], l) : fmax(2, bands_on(2 * b->meridian[ARCS], l));
  part[1] = side ? bands_on(2 * size[1], l) : 0;
  return side ? 2 * part[0] + part[1] : part[0];
}

static void make_profile(Bands *b, const double size[3], const double part[2]) {
  int ends = (int)part[0], rows = (int)part[1];
  if (b->type == TG_GEOM_CAPSULE) {
    add_sphere(b, TGI_PART_LOW, ends, 0, 0.5);
    add_side(b, rows, 1.0 / rows);
    add_sphere(b, TGI_PART_HIGH, ends, 0.5, 1);
  } else if (b->type == TG_GEOM_CYLINDER) {
    double inset = rim_inset(size[0], size[1], ends, rows);
    add_cap(b, ends, inset / size[0], -1);
    add_side(b, rows, inset / size[1]);
    add_cap(b, ends, inset / size[0], 1);
  } else {
    add_sphere(b, b->type == TG_GEOM_SPHERE ? TGI_PART_BALL : TGI_PART_BODY, ends, 0, 1);
  }
}

// ---- vertices ----

static int common_divisor(int a, int b) { return b == 0 ? a : common_divisor(b, a % b); }

// Boundary k of n equal cells among those of n and `other` cells on one line, told in order from azimuth 0, common ones once.
static int place_on_line(int n, int other, int64_t k) {
  int64_t g = common_divisor(n, other);
  return (int)(k + (k * other + n - 1) / n - (k * g + n - 1) / n);
}

static int line_vertices(const Bands *b, int line) {
  return line == 0 || line == b->nband ? 1 : place_on_line(b->band[line - 1].n, b->band[line].n, b->band[line - 1].n);
}

static void put(const Bands *b, double rho, double angle, double zeta, double *u) {
  u[(b->axis + 1) % 3] = rho * cos(angle);
  u[(b->axis + 2) % 3] = rho * sin(angle);
  u[b->axis] = zeta;
}

static void put_line(const Bands *b, int line, tgCloud *cloud) {
  int v = b->first[line], end = b->first[line + 1];
  const Place *at = &b->line[line];
  int64_t below = line > 0 ? b->band[line - 1].n : 1, above = line < b->nband ? b->band[line].n : 1;
  for (int64_t i = 0, j = 0; v < end; v++) {
    bool lower = i * above <= j * below, upper = j * below <= i * above;
    double t = lower ? (double)i / (double)below : (double)j / (double)above;
    put(b, at->rho, angle_at(b->girth, t), at->zeta, cloud->vert_unit + 3 * v);
    cloud->vert_part[v] = (unsigned char)at->part;
    i += lower;
    j += upper;
  }
}

// corners of cell k of a band on one of its lines, in order of azimuth or against it; returns how many
static int line_corners(const Bands *b, int band, int line, int k, int *corner) {
  int first = b->first[line], count = b->first[line + 1] - first, n = b->band[band].n, other = line == band ? band - 1 : band + 1;
  if (line == 0 || line == b->nband) return corner[0] = first, 1;
  int from = place_on_line(n, b->band[other].n, k), to = place_on_line(n, b->band[other].n, k + 1);
  for (int i = from; i <= to; i++) corner[line == band ? i - from : to - i] = first + i % count;
  return to - from + 1;
}

// ---- points ----

// area of the ellipsoid over the unit sphere's cell of heights z0 to z1 and azimuths f0 to f1: |cof(S) s| by
// Gauss' rule, four points a side
static double ellipsoid_area(const double size[3], double z0, double z1, double f0, double f1) {
  static const double node[4] = {-0.86113631159405258, -0.33998104358485626, 0.33998104358485626, 0.86113631159405258};
  static const double weight[4] = {0.34785484513745386, 0.65214515486254614, 0.65214515486254614, 0.34785484513745386};
  double sum = 0;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      double z = 0.5 * (z0 + z1 + node[i] * (z1 - z0)), f = 0.5 * (f0 + f1 + node[j] * (f1 - f0)), rho = sqrt(1 - z * z);
      double x = size[1] * size[2] * rho * cos(f), y = size[2] * size[0] * rho * sin(f);
      sum += weight[i] * weight[j] * hypot(hypot(x, y), size[0] * size[1] * z);
    }
  return 0.25 * (z1 - z0) * (f1 - f0) * sum;
}

// vector area of cell k of a band on the unit shape; an ellipsoid's is made so long that |cof(S) a| is the cell's area
static void put_extent(const Bands *b, int band, int k, double angle, double *a) {
  const Band *at = &b->band[band];
  double length = at->area / at->n;
  if (b->type == TG_GEOM_ELLIPSOID) {
    const double *s = b->size, c[3] = {at->at.rho * cos(angle), at->at.rho * sin(angle), at->at.zeta};
    double f0 = angle_at(b->girth, (double)k / at->n), f1 = angle_at(b->girth, (double)(k + 1) / at->n);
    length = ellipsoid_area(s, b->line[band].zeta, b->line[band + 1].zeta, f0, f1) /
             hypot(hypot(s[1] * s[2] * c[0], s[2] * s[0] * c[1]), s[0] * s[1] * c[2]);
  }
  put(b, length * at->normal[0], angle, length * at->normal[1], a);
}

static void fill(const Bands *b, tgCloud *cloud) {
  int point = 0, corner = 0;
  for (int line = 0; line <= b->nband; line++) put_line(b, line, cloud);
  for (int i = 0; i < b->nband; i++)
    for (int k = 0; k < b->band[i].n; k++, point++) {
      double angle = angle_at(b->girth, (k + 0.5) / b->band[i].n);
      put(b, b->band[i].at.rho, angle, b->band[i].at.zeta, cloud->unit + 3 * point);
      put_extent(b, i, k, angle, cloud->extent + 3 * point);
      cloud->part[point] = (unsigned char)b->band[i].at.part;
      corner += line_corners(b, i, i, k, cloud->corner + corner);
      corner += line_corners(b, i, i + 1, k, cloud->corner + corner);
      cloud->corner_at[point + 1] = corner;
    }
}

// axis whose other two semi-axes are most alike, the last of equals
static int best_axis(const double size[3]) {
  int best = 2;
  for (int i = 1; i >= 0; i--) {
    double mine = fabs(log(size[(i + 1) % 3] / size[(i + 2) % 3])), least = fabs(log(size[(best + 1) % 3] / size[(best + 2) % 3]));
    if (mine < least * (1 - 1e-9) - 1e-12) best = i;
  }
  return best;
}

static void orient(Bands *b, const double size[3]) {
  bool ellipsoid = b->type == TG_GEOM_ELLIPSOID;
  b->axis = ellipsoid ? best_axis(size) : 2;
  for (int i = 0; i < 3; i++) b->size[i] = ellipsoid ? size[(b->axis + 1 + i) % 3] : size[0];
  arc_table(b->size[0], b->size[1], b->girth);
  arc_table(b->size[2], sqrt(0.5 * (b->size[0] * b->size[0] + b->size[1] * b->size[1])), b->meridian);
}

static tgStatus fill_cloud(Bands *b, const tgAllocator *allocator, tgCloud *cloud, tgError *error) {
  double points = 0;
  for (int i = 0; i < b->nband; i++) points += b->band[i].n;
  TG_TRY(tgi_cloud_fits(points, b->spacing, error));
  int corners = 0;
  b->first[0] = 0;
  for (int line = 0; line <= b->nband; line++) {
    int count = line_vertices(b, line);
    b->first[line + 1] = b->first[line] + count;
    if (line > 0) corners += line == b->nband ? b->band[line - 1].n : count + b->band[line - 1].n;
    if (line < b->nband) corners += line == 0 ? b->band[line].n : count + b->band[line].n;
  }
  TG_TRY(tgi_cloud_room(b->type, b->spacing, (int)points, b->first[b->nband + 1], corners, allocator, cloud));
  fill(b, cloud);
  return TG_OK;
}

tgStatus tgi_cloud_round(tgGeomType type, const double size[3], double spacing, const tgAllocator *allocator,
                         tgCloud *cloud, tgError *error) {
  Bands b = {.type = type, .spacing = spacing};
  tgAllocator alloc = tgi_allocator(allocator);
  double part[2];
  orient(&b, size);
  double bands = count_bands(&b, size, part);
  TG_TRY(tgi_cloud_fits(3 * bands, spacing, error));
  size_t n = (size_t)bands;
  b.band = alloc.alloc(alloc.ctx, n * sizeof *b.band);
  b.line = alloc.alloc(alloc.ctx, (n + 1) * sizeof *b.line);
  b.first = alloc.alloc(alloc.ctx, (n + 2) * sizeof *b.first);
  tgStatus st = TG_ERR_MEMORY;
  if (b.band != NULL && b.line != NULL && b.first != NULL) {
    make_profile(&b, size, part);
    st = fill_cloud(&b, &alloc, cloud, error);
  }
  alloc.free(alloc.ctx, b.band);
  alloc.free(alloc.ctx, b.line);
  alloc.free(alloc.ctx, b.first);
  return st;
}
