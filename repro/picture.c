// picture.c: rasters as PNG inside HTML pages.
#include "repro/picture.h"

#include <stdlib.h>
#include <string.h>


bool tgi_raster_make(tgRaster *r, int width, int height) {
  *r = (tgRaster){.width = width, .height = height};
  r->pixel = calloc((size_t)width * (size_t)height, 1);
  return r->pixel != NULL;
}

void tgi_raster_free(tgRaster *r) {
  free(r->pixel);
  r->pixel = NULL;
}

static uint8_t between(double a, double b, double t) { return (uint8_t)(a + (b - a) * t + 0.5); }

void tgi_raster_shades(tgRaster *r, const uint8_t hue[3]) {
  for (int k = 0; k < 256; k++)
    for (int i = 0; i < 3; i++)
      r->palette[k][i] = k < 160 ? between(0.15 * hue[i], hue[i], k / 160.0) : between(hue[i], 255, (k - 160) / 95.0);
}

void tgi_raster_diverging(tgRaster *r) {
  static const double end[2][3] = {{24, 66, 120}, {190, 92, 24}}, middle[3] = {186, 186, 184};
  for (int k = 0; k < 256; k++)
    for (int i = 0; i < 3; i++) r->palette[k][i] = between(middle[i], end[k >= 128][i], k < 128 ? (128 - k) / 128.0 : (k - 128) / 127.0);
}

// ---- PNG ----

// a growing file in memory
typedef struct Bytes {
  size_t n, room;
  uint8_t *at;
  bool failed;
} Bytes;

static void add(Bytes *b, const void *data, size_t n) {
  if (b->n + n > b->room) {
    size_t room = 2 * (b->n + n);
    uint8_t *grown = b->failed ? NULL : realloc(b->at, room);
    if (grown == NULL) {
      b->failed = true;
      return;
    }
    b->at = grown;
    b->room = room;
  }
  memcpy(b->at + b->n, data, n);
  b->n += n;
}

static void big_endian(uint8_t out[4], uint32_t x) {
  for (int i = 0; i < 4; i++) out[i] = (uint8_t)(x >> (24 - 8 * i));
}

static uint32_t crc(const uint8_t *data, size_t n) {
  uint32_t c = 0xffffffff;
  for (size_t k = 0; k < n; k++) {
    c ^= data[k];
    for (int i = 0; i < 8; i++) c = c & 1 ? 0xedb88320 ^ (c >> 1) : c >> 1;
  }
  return ~c;
}

// a chunk: length, name, data, check sum of name and data
static void add_chunk(Bytes *b, const char *name, const void *data, size_t n) {
  uint8_t word[4];
  big_endian(word, (uint32_t)n);
  add(b, word, 4);
  size_t from = b->n;
  add(b, name, 4);
  add(b, data, n);
  big_endian(word, b->failed ? 0 : crc(b->at + from, n + 4));
  add(b, word, 4);
}

// rows, each behind a filter byte of 0, as a zlib stream of stored blocks
static void add_rows(Bytes *b, const tgRaster *r) {
  Bytes raw = {0}, z = {0};
  uint32_t low = 1, high = 0;
  for (int y = 0; y < r->height; y++) {
    add(&raw, "", 1);
    add(&raw, r->pixel + (size_t)y * (size_t)r->width, (size_t)r->width);
  }
  add(&z, "\x78\x01", 2);
  for (size_t at = 0; at < raw.n; at += 65535) {
    size_t n = raw.n - at < 65535 ? raw.n - at : 65535;
    const uint8_t head[5] = {at + n == raw.n, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)~n, (uint8_t)(~n >> 8)};
    add(&z, head, 5);
    add(&z, raw.at + at, n);
  }
  for (size_t k = 0; k < raw.n; k++) {
    low = (low + raw.at[k]) % 65521;
    high = (high + low) % 65521;
  }
  uint8_t sum[4];
  big_endian(sum, high << 16 | low);
  add(&z, sum, 4);
  if (!raw.failed && !z.failed) add_chunk(b, "IDAT", z.at, z.n);
  else b->failed = true;
  free(raw.at);
  free(z.at);
}

static void put_base64(FILE *out, const uint8_t *at, size_t n) {
  static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t k = 0; k < n; k += 3) {
    size_t left = n - k;
    uint32_t three = (uint32_t)at[k] << 16 | (left > 1 ? (uint32_t)at[k + 1] << 8 : 0) | (left > 2 ? at[k + 2] : 0);
    for (int i = 0; i < 4; i++) fputc((size_t)i <= left ? digit[three >> (18 - 6 * i) & 63] : '=', out);
  }
}

bool tgi_raster_image(const tgRaster *r, FILE *out, double x, double y, double width, double height) {
  Bytes b = {0};
  uint8_t head[13] = {[8] = 8, [9] = 3};  // eight bits that pick a colour
  big_endian(head, (uint32_t)r->width);
  big_endian(head + 4, (uint32_t)r->height);
  add(&b, "\x89PNG\r\n\x1a\n", 8);
  add_chunk(&b, "IHDR", head, sizeof head);
  add_chunk(&b, "PLTE", r->palette, sizeof r->palette);
  add_rows(&b, r);
  add_chunk(&b, "IEND", "", 0);
  if (!b.failed) {
    fprintf(out, "<image x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" preserveAspectRatio=\"none\" "
                 "href=\"data:image/png;base64,", x, y, width, height);
    put_base64(out, b.at, b.n);
    fprintf(out, "\"/>\n");
  }
  free(b.at);
  return !b.failed;
}

// ---- pages ----

bool tgi_page_begin(tgPage *page, const char *title) {
  *page = (tgPage){.bytes = NULL};
  page->stream = open_memstream(&page->bytes, &page->size);
  if (page->stream == NULL) return false;
  fprintf(page->stream,
          "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width\"><title>%s</title>\n"
          "<style>body{font:15px/1.45 system-ui,sans-serif;max-width:1120px;margin:24px auto;padding:0 16px;color:#1b1f24;background:#fff}"
          "h1{font-size:22px}h2{font-size:17px;margin:28px 0 6px}p{max-width:900px;margin:6px 0}"
          ".row{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:12px}"
          "figure{margin:0}figcaption{font-size:13px;color:#444}"
          "svg{width:100%%;height:auto;display:block;border-radius:4px}</style></head><body>\n<h1>%s</h1>\n",
          title, title);
  return true;
}

tgStatus tgi_page_end(tgPage *page, const char *path, bool whole, tgError *error) {
  fprintf(page->stream, "</body></html>\n");
  whole = fclose(page->stream) == 0 && whole;
  tgStatus st = whole ? tg_file_write(path, page->bytes, page->size, error)
                : tgi_cli_fail(error, TG_ERR_MEMORY, "out of memory for the pictures");
  free(page->bytes);
  return st;
}
