// picture.h: pictures of scalar fields and surfaces for pages of reproductions: rasters of 256 colours, lines, and an
// HTML page that holds them.
#ifndef TG_REPRO_PICTURE_H
#define TG_REPRO_PICTURE_H

#include <stdint.h>
#include <stdio.h>

#include "cli/shared/program.h"

/// A raster, rows from the top, with one byte a pixel that picks a colour.
typedef struct tgRaster {
  int width, height;
  uint8_t *pixel;
  uint8_t palette[256][3];
} tgRaster;

/// False: no memory.
bool tgi_raster_make(tgRaster *r, int width, int height);
void tgi_raster_free(tgRaster *r);
/// Colours from dark through `hue` (0..255 a channel) to white.
void tgi_raster_shades(tgRaster *r, const uint8_t hue[3]);
/// Colours from blue (0) through grey (128) to orange (255).
void tgi_raster_diverging(tgRaster *r);
/// An <image> of SVG over x, y, width, height of its coordinates. False: no memory.
bool tgi_raster_image(const tgRaster *r, FILE *out, double x, double y, double width, double height);

/// A scalar field of the plane or of space.
typedef double (*tgPictureField)(void *ctx, const double *x);

/// Line segments, 4 numbers each.
typedef struct tgSegments {
  int n, room;
  double *x;
} tgSegments;
/// The set where the field is `level`, over the square of half side `half` about the origin, by marching squares on
/// cells x cells. False: no memory.
bool tgi_contour(tgPictureField field, void *ctx, double level, double half, int cells, tgSegments *s);

/// Draws the zero set of a field in the box of half extents `half` about `centre`, seen along -z of the rows of `view`
/// (an orthogonal matrix), `scale` pixels a metre, on grid cells of about `cell`. False: no memory.
bool tgi_zero_set_draw(tgPictureField field, void *ctx, const double centre[3], const double half[3], double cell,
                       const double view[9], double scale, tgRaster *r);

/// A page in memory: what the caller writes to the stream stands between its head and its end.
typedef struct tgPage {
  FILE *stream;
  char *bytes;
  size_t size;
} tgPage;
/// False: no memory.
bool tgi_page_begin(tgPage *page, const char *title);
/// Writes the page at `path`, where its pictures are whole; TG_ERR_MEMORY where not. Ends it in either case.
tgStatus tgi_page_end(tgPage *page, const char *path, bool whole, tgError *error);

#endif
