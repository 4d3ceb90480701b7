// png.c: the one file that knows libpng.
#include "io/png.h"

#ifndef TG_PNG

tgStatus tgi_png_heights(const char *data, size_t size, int most_side, const tgAllocator *allocator, unsigned char **pixel,
                         int *nrow, int *ncol, tgError *error) {
  (void)data, (void)size, (void)most_side, (void)allocator;
  *pixel = NULL;
  *nrow = *ncol = 0;
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "a PNG image, and this build has no libpng to read it: install libpng-dev and build again (-DTG_WITH_PNG=ON insists on "
                   "it), or give elevation or MuJoCo's own binary file");
}

#else

#include <setjmp.h>
#include <string.h>

#include <png.h>

#include "base/memory.h"

/// What outlives a jump out of libpng: it is in memory, never in a register.
typedef struct Reader {
  const char *data;
  size_t size, at;               // what is read so far
  const tgAllocator *alloc;
  png_structp png;
  png_infop info;
  png_bytep image;               // rows as libpng gives them
  png_bytep *row;
  int most, nrow, ncol, channels;
  bool short_of_memory;
  tgStatus status;
  tgError *error;
} Reader;

// ---- called by libpng ----

static void take(png_structp png, png_bytep out, size_t n) {
  Reader *r = png_get_io_ptr(png);
  if (n > r->size - r->at) png_error(png, "it ends too early");
  memcpy(out, r->data + r->at, n);
  r->at += n;
}

static void fail(png_structp png, png_const_charp text) {
  Reader *r = png_get_error_ptr(png);
  r->status = r->short_of_memory ? tgi_error(r->error, TG_ERR_MEMORY, "out of memory")
                                 : tgi_error(r->error, TG_ERR_PARSE, "no PNG image that can be read: %.100s", text);
  png_longjmp(png, 1);
}

static void pass(png_structp png, png_const_charp text) { (void)png, (void)text; }

static png_voidp room(png_structp png, png_alloc_size_t n) {
  Reader *r = png_get_mem_ptr(png);
  void *p = r->alloc->alloc(r->alloc->ctx, n);
  if (p == NULL) r->short_of_memory = true;
  return p;
}

static void give(png_structp png, png_voidp p) {
  Reader *r = png_get_mem_ptr(png);
  r->alloc->free(r->alloc->ctx, p);
}

// ---- reading: a jump out of any of these ends in decode ----

static void ask_for_bytes(Reader *r) {
  int kind = png_get_color_type(r->png, r->info), depth = png_get_bit_depth(r->png, r->info);
  if (depth == 16) png_set_strip_16(r->png);
  else if (depth < 8 && kind == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(r->png);
  else if (depth < 8) png_set_packing(r->png);
  png_set_interlace_handling(r->png);
  png_read_update_info(r->png, r->info);
  r->channels = png_get_channels(r->png, r->info);
}

static void judge_size(Reader *r) {
  png_uint_32 w = png_get_image_width(r->png, r->info), h = png_get_image_height(r->png, r->info);
  unsigned most = (unsigned)r->most;
  if (w < 2 || h < 2 || w > most || h > most) {
    r->status = tgi_error(r->error, w > most || h > most ? TG_ERR_LIMIT : TG_ERR_INVALID,
                          "an image of %u x %u pixels; heights need 2 to %d of each", (unsigned)w, (unsigned)h, r->most);
    png_longjmp(r->png, 1);
  }
  r->ncol = (int)w;
  r->nrow = (int)h;
}

static void read_rows(Reader *r) {
  size_t stride = png_get_rowbytes(r->png, r->info), rows = (size_t)r->nrow;
  r->image = png_malloc(r->png, tgi_size_mul(rows, stride));
  r->row = png_malloc(r->png, rows * sizeof *r->row);
  for (size_t i = 0; i < rows; i++) r->row[i] = r->image + i * stride;
  png_read_image(r->png, r->row);
  png_read_end(r->png, NULL);
}

// indices become the red of their colours
static void look_up_colours(Reader *r) {
  png_colorp colour = NULL;
  int ncolour = 0;
  if (png_get_color_type(r->png, r->info) != PNG_COLOR_TYPE_PALETTE) return;
  png_get_PLTE(r->png, r->info, &colour, &ncolour);
  for (int i = 0; i < r->nrow; i++)
    for (int k = 0; k < r->ncol; k++) {
      if (r->row[i][k] >= ncolour) png_error(r->png, "a pixel has a colour that its palette does not have");
      r->row[i][k] = colour[r->row[i][k]].red;
    }
}

static tgStatus decode(Reader *r) {
  if (setjmp(png_jmpbuf(r->png)) != 0) return r->status;
  png_set_crc_action(r->png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);   // texts, profiles, times: passed over
  png_set_read_fn(r->png, r, take);
  png_read_info(r->png, r->info);
  judge_size(r);
  ask_for_bytes(r);
  read_rows(r);
  look_up_colours(r);
  return TG_OK;
}

static tgStatus first_channel(const Reader *r, unsigned char **pixel) {
  unsigned char *p = r->alloc->alloc(r->alloc->ctx, (size_t)r->nrow * (size_t)r->ncol);
  if (p == NULL) return tgi_error(r->error, TG_ERR_MEMORY, "out of memory");
  for (int i = 0; i < r->nrow; i++)
    for (int k = 0; k < r->ncol; k++) p[(size_t)i * (size_t)r->ncol + (size_t)k] = r->row[i][k * r->channels];
  *pixel = p;
  return TG_OK;
}

tgStatus tgi_png_heights(const char *data, size_t size, int most_side, const tgAllocator *allocator, unsigned char **pixel,
                         int *nrow, int *ncol, tgError *error) {
  Reader r = {.data = data, .size = size, .alloc = allocator, .most = most_side, .error = error, .status = TG_ERR_MEMORY};
  *pixel = NULL;
  *nrow = *ncol = 0;
  r.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &r, fail, pass, &r, room, give);
  if (r.png != NULL) r.info = png_create_info_struct(r.png);
  bool other = r.png == NULL && !r.short_of_memory;
  tgStatus status = r.info != NULL ? decode(&r)
                    : other ? tgi_error(error, TG_ERR_UNSUPPORTED, "a PNG image, and libpng is of another version than this build's")
                            : tgi_error(error, TG_ERR_MEMORY, "out of memory");
  if (status == TG_OK) status = first_channel(&r, pixel);
  if (status == TG_OK) *nrow = r.nrow, *ncol = r.ncol;
  allocator->free(allocator->ctx, r.image);
  allocator->free(allocator->ctx, r.row);
  png_destroy_read_struct(&r.png, &r.info, NULL);
  return status;
}

#endif
