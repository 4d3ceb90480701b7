// picture.c: PNG and video of a replay, drawn by its own page in a Chromium without a window.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/browser.h"
#include "cli/cli.h"

enum { PIECE = 4 << 20, SLOWEST = 3600 };   // characters taken from the page at once; seconds that a video may take

// ---- what the page made ----

static int digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// base64 whose length is a multiple of four
static bool write_bytes(FILE *out, const char *text, size_t n) {
  for (size_t i = 0; i + 4 <= n; i += 4) {
    int d[4], pad = 0;
    for (size_t k = 0; k < 4; k++) {
      d[k] = digit(text[i + k]);
      if (d[k] < 0 && text[i + k] != '=') return false;
      if (d[k] < 0) d[k] = 0, pad++;
    }
    unsigned held = (unsigned)d[0] << 18 | (unsigned)d[1] << 12 | (unsigned)d[2] << 6 | (unsigned)d[3];
    for (int k = 0; k < 3 - pad; k++) fputc((int)(held >> (16 - 8 * k) & 255), out);
  }
  return n % 4 == 0;
}

// the base64 text of `length` characters that the page holds, as a file
static tgStatus fetch(tgiBrowser *b, long length, const char *path, tgError *error) {
  char *bytes = NULL;
  size_t n = 0;
  FILE *file = open_memstream(&bytes, &n);
  tgStatus st = file != NULL ? TG_OK : tgi_cli_fail(error, TG_ERR_MEMORY, "out of memory for %s", path);
  for (long at = 0; st == TG_OK && at < length; at += PIECE) {
    char expression[96];
    snprintf(expression, sizeof expression, "__tangere.made(%ld, %ld)", at, at + PIECE);
    json_t *piece = tgi_browser_eval(b, expression, 120, error);
    if (piece == NULL) st = error->status;
    else if (!write_bytes(file, json_string_value(piece), json_string_length(piece)))
      st = tgi_cli_fail(error, TG_ERR_INTERNAL, "the page gave no base64");
    json_decref(piece);
  }
  bool whole = file != NULL && fclose(file) == 0;
  if (st == TG_OK) st = whole ? tg_file_write(path, bytes, n, error) : tgi_cli_fail(error, TG_ERR_MEMORY, "out of memory for %s", path);
  free(bytes);
  return st;
}

// ---- the page ----

static bool ends_in(const char *path, const char *end) {
  size_t n = strlen(path), k = strlen(end);
  return n > k && strcmp(path + n - k, end) == 0;
}

static tgStatus wait_ready(tgiBrowser *b, tgError *error) {
  double until = tgi_cli_now() + 120;
  while (tgi_cli_now() < until) {
    json_t *state = tgi_browser_eval(b, "typeof __tangere === 'undefined' ? '' : __tangere.ready ? 'ready' : __tangere.error", 60, error);
    if (state == NULL) return error->status;
    const char *text = json_string_value(state);
    tgStatus st = TG_OK;
    bool ready = text != NULL && strcmp(text, "ready") == 0;
    if (!ready && text != NULL && text[0] != '\0') st = tgi_cli_fail(error, TG_ERR_INVALID, "the page: %.400s", text);
    json_decref(state);
    if (ready || st != TG_OK) return st;
    usleep(50000);
  }
  return tgi_cli_fail(error, TG_ERR_LIMIT, "the replay did not open within two minutes");
}

// number that an expression gives
static tgStatus number(tgiBrowser *b, const char *expression, double seconds, double *value, tgError *error) {
  json_t *v = tgi_browser_eval(b, expression, seconds, error);
  *value = 0;
  if (v == NULL) return error->status;
  *value = json_number_value(v);
  json_decref(v);
  return TG_OK;
}

static tgStatus picture(const tgCli *cli, tgiBrowser *b, int width, int height, tgError *error) {
  double frames = 0, frame = (double)cli->frame, length = 0;
  char expression[128];
  TG_CLI_TRY(number(b, "__tangere.frames()", 60, &frames, error));
  if (cli->frame_given && frame > frames - 1)
    return tgi_cli_fail(error, TG_ERR_ARG, "--frame %.0f: the run has frames 0 to %.0f", frame, frames - 1);
  if (!cli->frame_given) TG_CLI_TRY(number(b, "__tangere.frame()", 60, &frame, error));
  snprintf(expression, sizeof expression, "__tangere.makePicture(%d, %d, %.0f)", width, height, frame);
  TG_CLI_TRY(number(b, expression, 300, &length, error));
  return fetch(b, (long)length, cli->png, error);
}

// by ffmpeg, which was there when the options were looked at; colours as video has them, which players expect of an .mp4
static tgStatus to_mp4(const char *from, const char *path, tgError *error) {
  char ffmpeg[1024];
  pid_t pid = tgi_program_path("ffmpeg", ffmpeg) != NULL ? fork() : -1;
  if (pid == 0) {
    execl(ffmpeg, ffmpeg, "-y", "-loglevel", "error", "-i", from, "-vf",
          "scale=out_range=tv:out_color_matrix=bt709,format=yuv420p", "-color_range", "tv", "-colorspace", "bt709",
          "-movflags", "+faststart", path, (char *)NULL);
    _exit(127);
  }
  int state = 0;
  while (pid > 0 && waitpid(pid, &state, 0) < 0 && errno == EINTR) continue;
  return pid > 0 && WIFEXITED(state) && WEXITSTATUS(state) == 0 ? TG_OK
         : tgi_cli_fail(error, TG_ERR_FILE, "ffmpeg could not write %s", path);
}

static tgStatus video(const tgCli *cli, tgiBrowser *b, int width, int height, tgError *error) {
  double length = 0;
  char expression[128], webm[160];
  snprintf(expression, sizeof expression, "__tangere.makeVideo(%d, %d, %d, %.17g)", width, height,
           cli->fps > 0 ? cli->fps : 30, cli->speed > 0 ? cli->speed : 1);
  TG_CLI_TRY(number(b, expression, SLOWEST, &length, error));
  if (!ends_in(cli->video, ".mp4")) return fetch(b, (long)length, cli->video, error);
  snprintf(webm, sizeof webm, "%s/video.webm", tgi_browser_folder(b));
  TG_CLI_TRY(fetch(b, (long)length, webm, error));
  return to_mp4(webm, cli->video, error);
}

// ---- command line ----

bool tgi_cli_picture_options(const tgCli *cli, int *width, int *height) {
  char left;
  char program[1024];
  *width = 1280;
  *height = 720;
  if (cli->size != NULL && (sscanf(cli->size, "%dx%d%c", width, height, &left) != 2 || *width < 16 || *height < 16 ||
                            *width > 7680 || *height > 4320)) {
    tgi_cli_say("tangere replay: --size does not take '%s'; give WIDTHxHEIGHT, as 1280x720", cli->size);
    return false;
  }
  if (cli->png != NULL && !ends_in(cli->png, ".png")) {
    tgi_cli_say("tangere replay: --png takes a name that ends in .png, not '%s'", cli->png);
    return false;
  }
  if (cli->video != NULL && !ends_in(cli->video, ".webm") && !ends_in(cli->video, ".mp4")) {
    tgi_cli_say("tangere replay: --video takes a name that ends in .webm or .mp4, not '%s'", cli->video);
    return false;
  }
  if (cli->video != NULL && ends_in(cli->video, ".mp4") && tgi_program_path("ffmpeg", program) == NULL) {
    tgi_cli_say("tangere replay: an .mp4 is made by ffmpeg, which is not on the PATH: install it (Debian: apt-get "
                "install ffmpeg) or ask for a .webm");
    return false;
  }
  return true;
}

int tgi_cli_pictures(const tgCli *cli, tgStatus (*write)(void *ctx, const char *path, tgError *error), void *ctx) {
  tgError error = {0};
  int width, height;
  char path[128], url[1400];
  if (!tgi_cli_picture_options(cli, &width, &height)) return TG_EXIT_USAGE;
  tgi_cli_catch_signals();
  tgiBrowser *b = tgi_browser_open("about:blank", width, height, cli->dark, &error);
  if (b == NULL) return tgi_cli_error("replay", &error);
  snprintf(path, sizeof path, "%s/replay.html", tgi_browser_folder(b));
  snprintf(url, sizeof url, "file://%s%s%.1200s", path, cli->view != NULL ? "#" : "",
           cli->view == NULL ? "" : cli->view[0] == '#' ? cli->view + 1 : cli->view);
  tgStatus st = write(ctx, path, &error);
  if (st == TG_OK) st = tgi_browser_go(b, url, &error);
  if (st == TG_OK) st = wait_ready(b, &error);
  if (st == TG_OK && cli->png != NULL) st = picture(cli, b, width, height, &error);
  if (st == TG_OK && cli->png != NULL) tgi_cli_say("wrote %s", cli->png);
  if (st == TG_OK && cli->video != NULL) st = video(cli, b, width, height, &error);
  if (st == TG_OK && cli->video != NULL) tgi_cli_say("wrote %s", cli->video);
  tgi_browser_close(b);
  error.status = st;
  return st == TG_OK ? TG_EXIT_OK : st == TG_CANCELLED ? TG_EXIT_INTERRUPTED : tgi_cli_error("replay", &error);
}
