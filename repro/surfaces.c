// surfaces.c: SM-R1, zero sets of the soft signed distance [softmin]: a box in the plane for four widths, right and
// with the mistakes that the paper shows, a mesh in space that melts, and both against the sphere that they become.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/picture.h"
#include "repro/softmin.h"
#include "tangere/geometry.h"

// ---- the box ----

enum { BOX_MOST = 256, RAYS = 360 };
#define SPACING 0.2           // of the box's points: 2 sqrt(eps) of the narrowest kernel
static const double widths[] = {0.01, 0.25, 0.5, 10};
enum { NWIDTH = (int)(sizeof widths / sizeof *widths) };

// oriented points and the width of the kernel
typedef struct Field { int n; const double *p, *normal; double eps; } Field;

static double field_at(const Field *s, const double x[3]) { return tg_soft_distance(s->n, s->p, s->normal, s->eps, x, NULL, NULL); }

// points of a square of side 1 in the plane z = 0
typedef struct Box {
  int n;
  double p[3 * BOX_MOST], normal[3 * BOX_MOST];
  Field field;
} Box;

static void put(Box *b, double x, double y, double nx, double ny) {
  const double length = hypot(nx, ny), p[3] = {x, y, 0}, n[3] = {nx / length, ny / length, 0};
  memcpy(b->p + 3 * b->n, p, sizeof p);
  memcpy(b->normal + 3 * b->n++, n, sizeof n);
}

static void box_make(Box *b, double spacing, double eps) {
  int sides = (int)round(1 / spacing);
  b->n = 0;
  for (int k = 0; k < sides; k++) {
    double t = (k + 0.5) / sides - 0.5;
    put(b, 0.5, t, 1, 0);
    put(b, -0.5, t, -1, 0);
    put(b, t, 0.5, 0, 1);
    put(b, t, -0.5, 0, -1);
  }
  b->field = (Field){.n = b->n, .p = b->p, .normal = b->normal, .eps = eps};
}

// one normal of the right side turned inward
static void turn_a_normal(Box *b) {
  for (int k = 0; k < b->n; k++)
    if (b->p[3 * k] == 0.5 && fabs(b->p[3 * k + 1]) < 1e-9) b->normal[3 * k] = -1;
}

// points on the corners, with normals along the diagonals
static void add_corners(Box *b) {
  for (int k = 0; k < 4; k++) put(b, k & 1 ? 0.5 : -0.5, k & 2 ? 0.5 : -0.5, k & 1 ? 1 : -1, k & 2 ? 1 : -1);
  b->field.n = b->n;
}

static double in_plane(void *ctx, const double *x) {
  const Box *b = ctx;
  return field_at(&b->field, (const double[3]){x[0], x[1], 0});
}

static double in_space(void *ctx, const double *x) { return field_at(ctx, x); }

// The field's root along the ray from `from` along the unit direction `d`, between 0 and `far`, by halving; NAN: no change of sign.
static double root(const Field *s, const double *from, const double *d, double far) {
  double low = 0, high = far, x[3];
  for (int end = 0; end < 2; end++) {
    for (int i = 0; i < 3; i++) x[i] = from[i] + (end ? far : 0) * d[i];
    if ((field_at(s, x) < 0) == (end == 1)) return NAN;
  }
  for (int k = 0; k < 48; k++) {
    double middle = 0.5 * (low + high);
    for (int i = 0; i < 3; i++) x[i] = from[i] + middle * d[i];
    if (field_at(s, x) < 0) low = middle;
    else high = middle;
  }
  return 0.5 * (low + high);
}

// worst distance of the zero set from the sides at least one spacing from the corners, on the sides' normals
static double side_error(double spacing, double eps) {
  Box b;
  double worst = 0;
  box_make(&b, spacing, eps);
  for (int k = 0; k <= 400; k++) {
    double t = (0.5 - spacing) * (k / 200.0 - 1);
    for (int side = 0; side < 4; side++) {
      double d[3] = {side == 0 ? 1 : side == 1 ? -1 : 0, side == 2 ? 1 : side == 3 ? -1 : 0, 0},
             from[3] = {fabs(d[1]) * t, fabs(d[0]) * t, 0};
      double r = root(&b.field, from, d, 2);
      worst = isfinite(r) ? fmax(worst, fabs(r - 0.5)) : NAN;
    }
  }
  return worst;
}

// least and greatest distance of the zero set from the middle over all directions, and the mean
static void radii(const Field *s, double far, double *least, double *most, double *mean) {
  *least = INFINITY;
  *most = *mean = 0;
  for (int k = 0; k < RAYS; k++) {
    double a = 2 * M_PI * k / RAYS, d[3] = {cos(a), sin(a), 0}, from[3] = {0}, r = root(s, from, d, far);
    *least = fmin(*least, r);
    *most = fmax(*most, r);
    *mean += r / RAYS;
  }
}

// distance of a point of the plane from the square's outline
static double from_outline(const double *x) {
  double a = fabs(x[0]) - 0.5, b = fabs(x[1]) - 0.5;
  return a > 0 && b > 0 ? hypot(a, b) : fabs(fmax(a, b));
}

// greatest distance of the zero set near the square from its outline
static double worst_outline(Box *b) {
  tgSegments s = {0};
  double worst = tgi_contour(in_plane, b, 0, 1.1, 440, &s) ? 0 : NAN;
  for (int k = 0; k < 2 * s.n; k++) worst = fmax(worst, from_outline(s.x + 2 * k));
  free(s.x);
  return worst;
}

// ---- pictures of the box ----

static void path(FILE *out, const tgSegments *s, const char *style) {
  fprintf(out, "<path fill=\"none\" %s d=\"", style);
  for (int k = 0; k < s->n; k++) fprintf(out, "M%.4g %.4gL%.4g %.4g", s->x[4 * k], -s->x[4 * k + 1], s->x[4 * k + 2], -s->x[4 * k + 3]);
  fprintf(out, "\"/>\n");
}

// the field as colours, isolines every quarter of what is to be seen, the zero line, outline, points and normals
static bool draw_box(FILE *out, Box *b, double half) {
  tgRaster r;
  bool good = tgi_raster_make(&r, 160, 160);
  if (!good) return false;
  tgi_raster_diverging(&r);
  for (int k = 0; k < 160 * 160; k++) {
    const double x[2] = {half * ((k % 160 + 0.5) / 80 - 1), -half * ((k / 160 + 0.5) / 80 - 1)};
    r.pixel[k] = (uint8_t)(128 + 127 * tanh(2 * in_plane(b, x) / half));
  }
  fprintf(out, "<svg viewBox=\"%g %g %g %g\">\n", -half, -half, 2 * half, 2 * half);
  good = tgi_raster_image(&r, out, -half, -half, 2 * half, 2 * half);
  char style[120];
  for (int k = -4; k <= 4 && good; k++) {
    tgSegments s = {0};
    good = tgi_contour(in_plane, b, 0.2 * half * k, half, 200, &s);
    snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"%g\"", k == 0 ? "#0a3cff" : "#00000038", (k == 0 ? 0.022 : 0.006) * half);
    path(out, &s, style);
    free(s.x);
  }
  fprintf(out, "<rect x=\"-.5\" y=\"-.5\" width=\"1\" height=\"1\" fill=\"none\" stroke=\"#fff\" stroke-width=\"%g\"/>\n", 0.012 * half);
  for (int k = 0; k < b->n && b->n < 64; k++) {
    const double *p = b->p + 3 * k, *n = b->normal + 3 * k;
    fprintf(out, "<path stroke=\"#fff\" stroke-width=\"%g\" d=\"M%g %gL%g %g\"/>", 0.012 * half, p[0], -p[1], p[0] + 0.1 * half * n[0],
            -p[1] - 0.1 * half * n[1]);
    fprintf(out, "<circle cx=\"%g\" cy=\"%g\" r=\"%g\" fill=\"#fff\" stroke=\"#333\" stroke-width=\"%g\"/>\n", p[0],
            -p[1], 0.022 * half, 0.004 * half);
  }
  fprintf(out, "</svg>\n");
  tgi_raster_free(&r);
  return good;
}

typedef void (*Change)(Box *b);
static void nothing(Box *b) { (void)b; }

static bool box_row(FILE *out, const char *head, double spacing, Change change) {
  bool good = true;
  fprintf(out, "<h2>%s</h2>\n<div class=\"row\">\n", head);
  for (int k = 0; k < NWIDTH && good; k++) {
    Box b;
    double half = widths[k] > 1 ? 4 : 1.1;
    box_make(&b, spacing, widths[k]);
    change(&b);
    fprintf(out, "<figure>");
    good = draw_box(out, &b, half);
    fprintf(out, "<figcaption>eps = %g m<sup>2</sup>, a window of %g m</figcaption></figure>\n", widths[k], 2 * half);
  }
  fprintf(out, "</div>\n");
  return good;
}

static bool box_page(FILE *out) {
  fprintf(out, "<p>Soft signed distance of a square of side 1 m from its points p<sub>i</sub> and normals "
               "n<sub>i</sub> (white), as in figure 4 of "
               "<i>A Smooth Analytical Formulation of Collision Detection and Rigid Body Dynamics With Contact</i>. Blue line: zero set. "
               "Colours and thin lines: the distance, negative (blue) inside.</p>\n");
  return box_row(out, "Points in the middle of equal parts of the sides, 0.2 m apart", SPACING, nothing) &&
         box_row(out, "One normal the wrong way: the right side is torn open where its kernel is narrow", SPACING,
                 turn_a_normal) && box_row(out,
                                           "Points on the corners, normals along the diagonals: the corners grow horns",
                                           SPACING, add_corners) && box_row(out,
                                                                            "Ten times as many points, 0.02 m apart: "
                                                                            "at a narrow kernel corners bulge over "
                                                                            "about sqrt(eps), sides stay", 0.02,
                                                                            nothing);
}

static void box_rows(tgRun *run, double *far_error) {
  Box b;
  double least, most, mean;
  char name[60];
  tgi_run_row(run, "box_zero_set_error_m", side_error(SPACING, widths[0]),
              "side 1 m, eps %g, points %g m apart; worst over the sides, %g m and more from the corners", widths[0], SPACING, SPACING);
  tgi_run_row(run, "box_zero_set_error_m.spacing_0.1", side_error(0.1, widths[0]),
              "points sqrt(eps) apart, to one spacing from the corners, where the kernel mixes the planes of both sides");
  for (int k = 0; k < NWIDTH; k++) {
    box_make(&b, SPACING, widths[k]);
    radii(&b.field, 4 * sqrt(widths[k]) + 4, &least, &most, &mean);
    snprintf(name, sizeof name, "box.radius_over_limit.%g", widths[k]);
    tgi_run_row(run, name, mean / sqrt(widths[k]), "mean radius over sqrt(eps); radius from %.4f to %.4f m", least, most);
    *far_error = fmax(fabs(least / sqrt(widths[k]) - 1), fabs(most / sqrt(widths[k]) - 1));
  }
  box_make(&b, SPACING, widths[0]);
  tgi_run_row(run, "box.outline_error_m", worst_outline(&b),
              "worst distance of the zero set from the outline, corners too, eps %g", widths[0]);
  turn_a_normal(&b);
  tgi_run_row(run, "box.wrong_normal.outline_error_m", worst_outline(&b),
              "the same with one of %d normals the wrong way; the tear leaves the window of 2.2 m", b.n);
  box_make(&b, SPACING, widths[0]);
  add_corners(&b);
  tgi_run_row(run, "box.corner_points.outline_error_m", worst_outline(&b), "the same with four points on the corners");
}

// ---- the mesh ----

#define MESH_SPACING 0.01
static const double melt[] = {1e-4, 1e-3, 4e-3, 1.6e-2, 0.64};  // spacing^2, ..., ten times the square of the width
static const double fit[] = {4e-3, 1.6e-2, 0.64, 6.4};         // where it is a star about its middle, up to a hundred times that square
enum { NMELT = (int)(sizeof melt / sizeof *melt), NFIT = (int)(sizeof fit / sizeof *fit), SIDE = 300 };

// the T of the pushing experiment: 25 x 20 cm, bars and thickness 5 cm
static tgPointCloud *tee_cloud(tgError *error) {
  static const double outline[8][2] = {{-0.025, -0.1}, {0.025, -0.1}, {0.025, 0.05},   {0.125, 0.05},
                                       {0.125, 0.1},   {-0.125, 0.1}, {-0.125, 0.05}, {-0.025, 0.05}};
  static const int cap[6][3] = {{0, 1, 2}, {0, 2, 7}, {2, 3, 4}, {2, 4, 5}, {2, 5, 7}, {5, 6, 7}};
  double vert[48];
  int face[28 * 3], n = 0;
  for (int k = 0; k < 16; k++) {
    vert[3 * k] = outline[k % 8][0];
    vert[3 * k + 1] = outline[k % 8][1];
    vert[3 * k + 2] = k < 8 ? -0.025 : 0.025;
  }
  for (int k = 0; k < 8; k++) {
    const int l = (k + 1) % 8, side[6] = {k, l, 8 + l, k, 8 + l, 8 + k};
    memcpy(face + 3 * n, side, sizeof side);
    n += 2;
  }
  for (int t = 0; t < 6; t++) {
    const int two[6] = {cap[t][0], cap[t][2], cap[t][1], 8 + cap[t][0], 8 + cap[t][1], 8 + cap[t][2]};
    memcpy(face + 3 * n, two, sizeof two);
    n += 2;
  }
  return tg_point_cloud_mesh(vert, 16, face, n, MESH_SPACING, error);
}

// Centre of the sphere that the zero set becomes. For wide kernels weights are 1/n (1 + 2/eps (p_i - m) . x), x from
// the mean m of the points, and
//   phi = b . x + (2/eps) x'C x - tr C,   b = mean n_i,  C = mean n_i (p_i - m)'.
// On a closed surface the mean by area of n is 0 and that of n p' is 1 V/A, which gives the sphere about m;
// points count alike whatever their areas, so that b is not quite 0 and moves the centre by -eps b/(4 k),
// k = tr C/3. drift: by how much.
static void limit_centre(const Field *s, double *centre, double *drift) {
  double m[3] = {0}, b[3] = {0}, k = 0;
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < 3; j++) {
      m[j] += s->p[3 * i + j] / s->n;
      b[j] += s->normal[3 * i + j] / s->n;
    }
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < 3; j++) k += s->normal[3 * i + j] * (s->p[3 * i + j] - m[j]) / s->n / 3;
  for (int j = 0; j < 3; j++) centre[j] = m[j] - s->eps * b[j] / (4 * k);
  *drift = s->eps / (4 * k) * sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2]);
}

// worst relative difference of the zero set from the sphere about the centre, over directions spread by the golden
// angle; also the mean radius
static double sphere_error(const Field *s, const double *centre, double radius, double *mean) {
  double worst = 0;
  *mean = 0;
  for (int k = 0; k < RAYS; k++) {
    double z = (2 * k + 1.0) / RAYS - 1, a = M_PI * (3 - sqrt(5)) * k, d[3] = {sqrt(1 - z * z) * cos(a), sqrt(1 - z * z) * sin(a), z};
    double r = root(s, centre, d, 4 * radius);
    worst = isfinite(r) ? fmax(worst, fabs(r / radius - 1)) : NAN;
    *mean += r / RAYS;
  }
  return worst;
}

// viewed from above and in front, x to the right
static const double view[9] = {0.940, 0.342, 0, -0.2198, 0.604, 0.766, 0.262, -0.7198, 0.643};

static bool draw_melt(FILE *out, const tgPoints *c, double eps) {
  Field s = {.n = c->n, .p = c->position, .normal = c->normal, .eps = eps};
  static const double mesh_half[3] = {0.125, 0.1, 0.025};
  double grow = 1.1 * sqrt(1.5 * eps), half[3], most = 0, drift, middle[3] = {0};
  if (eps > 0.01) limit_centre(&s, middle, &drift);
  const uint8_t hue[3] = {86, 132, 190};
  tgRaster r;
  if (!tgi_raster_make(&r, SIDE, SIDE)) return false;
  tgi_raster_shades(&r, hue);
  memset(r.palette[0], 255, 3);
  for (int i = 0; i < 3; i++) most = fmax(most, half[i] = mesh_half[i] + grow);
  bool good = tgi_zero_set_draw(in_space, &s, middle, half, most / 28, view, 0.44 * SIDE / fmax(0.14, 0.85 * most), &r);
  fprintf(out, "<figure><svg viewBox=\"0 0 %d %d\">\n", SIDE, SIDE);
  good = good && tgi_raster_image(&r, out, 0, 0, SIDE, SIDE);
  fprintf(out, "</svg><figcaption>eps = %g m<sup>2</sup>, a window of %.2g m</figcaption></figure>\n", eps, fmax(0.14, 0.85 * most) / 0.44);
  tgi_raster_free(&r);
  return good;
}

static int farther(const void *a, const void *b, void *ctx) {
  const double *p = (const double *)ctx + 3 * *(const int *)a, *q = (const double *)ctx + 3 * *(const int *)b;
  double d = view[6] * (p[0] - q[0]) + view[7] * (p[1] - q[1]) + view[8] * (p[2] - q[2]);
  return (d > 0) - (d < 0);
}

// patches that face the viewer, from the farthest on, shaded by area against the spacing's square, with their points
static bool draw_cloud(FILE *out, const tgPoints *c) {
  int *order = malloc((size_t)c->n * sizeof *order);
  if (order == NULL) return false;
  for (int k = 0; k < c->n; k++) order[k] = k;
  qsort_r(order, (size_t)c->n, sizeof *order, farther, (void *)(uintptr_t)c->position);
  fprintf(out, "<figure style=\"max-width:760px\"><svg viewBox=\"-0.165 -0.15 0.33 0.3\">\n");
  for (int m = 0; m < c->n; m++) {
    int k = order[m];
    const double *n = c->normal + 3 * k, *p = c->position + 3 * k;
    if (view[6] * n[0] + view[7] * n[1] + view[8] * n[2] <= 0.02) continue;
    int tone = (int)fmin(250, fmax(110, 250 - 140 * fabs(c->area[k] / (MESH_SPACING * MESH_SPACING) - 1)));
    fprintf(out, "<path fill=\"rgb(%d,%d,%d)\" stroke=\"#456\" stroke-width=\".0004\" d=\"", tone - 60, tone - 20, tone);
    for (int j = c->corner_at[k]; j < c->corner_at[k + 1]; j++) {
      const double *v = c->vert + 3 * c->corner[j];
      fprintf(out, "%c%.5f %.5f", j == c->corner_at[k] ? 'M' : 'L', view[0] * v[0] + view[1] * v[1] + view[2] * v[2],
              -(view[3] * v[0] + view[4] * v[1] + view[5] * v[2]));
    }
    fprintf(out, "Z\"/><circle cx=\"%.5f\" cy=\"%.5f\" r=\".0009\" fill=\"#b3261e\"/>\n", view[0] * p[0] + view[1] * p[1] + view[2] * p[2],
            -(view[3] * p[0] + view[4] * p[1] + view[5] * p[2]));
  }
  fprintf(out, "</svg></figure>\n");
  free(order);
  return true;
}

static bool mesh_page(FILE *out, const tgPoints *c) {
  bool good = true;
  fprintf(out,
          "<h2>A mesh that melts into its limit (figure 1)</h2>"
          "<p>The T of the pushing experiment, 25 x 20 x 5 cm, %d points 1 cm apart. The zero set "
          "keeps its concave corners while sqrt(eps) is below their size, becomes convex, and then grows without bound "
          "as a sphere of radius "
          "sqrt(3 eps/2): the shapes on the right are not the body's size. The widest is ten times the square of its "
          "width.</p>\n<div class=\"row\">\n",
          c->n);
  for (int k = 0; k < NMELT && good; k++) good = draw_melt(out, c, melt[k]);
  fprintf(out, "</div>\n<h2>Its cloud</h2><p>Patches and points of the mesh. Points beside creases are in pairs at "
               "equal distances; no point is on an "
               "edge. Lighter: nearer to an area of 1 cm<sup>2</sup>.</p>\n");
  return good && draw_cloud(out, c);
}

// the cube of side 1 from its own cloud
static double cube_error(double eps) {
  static const double half[3] = {0.5, 0.5, 0.5}, centre[3] = {0};
  double mean, worst = NAN;
  tgPointCloud *cloud = tg_point_cloud_primitive(TG_GEOM_BOX, half, SPACING, NULL);
  if (cloud == NULL) return NAN;
  tgPoints c = tg_point_cloud_points(cloud);
  Field s = {.n = c.n, .p = c.position, .normal = c.normal, .eps = eps};
  worst = sphere_error(&s, centre, sqrt(1.5 * eps), &mean);
  tg_point_cloud_free(cloud);
  return worst;
}

static void mesh_rows(tgRun *run, const tgPointCloud *cloud, double plane_error) {
  const tgPoints points = tg_point_cloud_points(cloud), *c = &points;
  tgCloudQuality q;
  double worst = NAN, drift = NAN, cube = cube_error(widths[NWIDTH - 1]);
  char name[60];
  for (int k = 0; k < NFIT; k++) {
    Field s = {.n = c->n, .p = c->position, .normal = c->normal, .eps = fit[k]};
    double mean, radius = sqrt(1.5 * fit[k]), centre[3];
    limit_centre(&s, centre, &drift);
    worst = sphere_error(&s, centre, radius, &mean);
    snprintf(name, sizeof name, "mesh.radius_over_limit.%g", fit[k]);
    tgi_run_row(run, name, mean / radius, "mean radius of the T over sqrt(3 eps/2); worst direction off by %.3g", worst);
  }
  tgi_run_row(run, "zero_set_radius_error", fmax(fmax(worst, cube), plane_error),
              "worst direction; square of side 1 m in the plane and cube of side 1 m in space at eps %g: %.4f, %.4f; T "
              "at eps %g: %.4f", widths[NWIDTH - 1], plane_error, cube, fit[NFIT - 1], worst);
  tgi_run_row(run, "mesh.drift_over_radius", drift / sqrt(1.5 * fit[NFIT - 1]),
              "of the T's sphere at eps %g from the middle of the points, as points count alike whatever their areas; "
              "it grows as sqrt(eps)", fit[NFIT - 1]);
  if (tg_point_cloud_quality(cloud, &q) < 0) return;
  tgi_run_row(run, "mesh.points", c->n, "of the T, %g m apart", MESH_SPACING);
  tgi_run_row(run, "mesh.spacing", q.near_mean,
              "distance to the nearest neighbour over the spacing, mean; deviation %.3f, from %.2f to %.2f",
              q.near_deviation, q.near_least, q.near_most);
  tgi_run_row(run, "mesh.area_deviation", q.area_deviation, "of patches, over the spacing's square; mean %.3f", q.area_mean);
  tgi_run_row(run, "mesh.crease_error", q.crease_worst,
              "worst distance of the cloud's edge from a crease over the spacing; mean %.2g, %d edges of patches",
              q.crease_error, q.ncrease);
}

// ---- the experiment ----

static bool leave_page(tgRun *run, const tgPoints *c) {
  char path_of[1200];
  tgPage page;
  tgError error = {0};
  if (run->folder == NULL) return true;
  snprintf(path_of, sizeof path_of, "%s/index.html", run->folder);
  tgStatus st = tgi_page_begin(&page, "SM-R1: zero sets of the soft signed distance") ? TG_OK
                : tgi_cli_fail(&error, TG_ERR_MEMORY, "out of memory for the pictures");
  if (st == TG_OK) st = tgi_page_end(&page, path_of, box_page(page.stream) && mesh_page(page.stream, c), &error);
  if (st == TG_OK) json_array_append_new(run->left, json_string(path_of));
  else tgi_cli_say("SM-R1: %s", error.text);
  return st == TG_OK;
}

bool tgi_reproduce_surfaces(tgRun *run) {
  tgError error = {0};
  double plane_error = NAN;
  tgPointCloud *cloud = tee_cloud(&error);
  if (cloud == NULL) {
    tgi_cli_say("SM-R1: the mesh: %s", error.text);
    return false;
  }
  tgPoints points = tg_point_cloud_points(cloud);
  box_rows(run, &plane_error);
  mesh_rows(run, cloud, plane_error);
  bool good = leave_page(run, &points);
  tg_point_cloud_free(cloud);
  return good;
}
