// live.c: tangere replay FOLDER --live: the folder's page, renewed in the browser as a running optimisation renews it.
//
// A page from file:// may not ask for anything, so it is served from this machine to this machine: 127.0.0.1, GET of
// two addresses, nothing else.
#include "cli/cli.h"

#ifdef TG_MICROHTTPD

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_PORT = 8765, PORTS = 20, MOST_BYTES = 512 << 20 };

typedef struct Live {
  char page[1100];
  int port;
} Live;

// what changes when the page does; "" while there is none
static void state_of(const Live *live, char text[64]) {
  struct stat info;
  text[0] = '\0';
  if (stat(live->page, &info) == 0)
    snprintf(text, 64, "%lld.%09ld-%lld", (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec, (long long)info.st_size);
}

// the page allowed to ask this server, and told that it may; malloc'd, NULL while there is none
static char *page_of(const Live *live, const char *state, size_t *size) {
  static const char closed[] = "default-src 'none';", open[] = "default-src 'none'; connect-src 'self';", head[] = "<head>";
  FILE *file = fopen(live->page, "rbe");
  if (file == NULL) return NULL;
  struct stat info;
  size_t n = fstat(fileno(file), &info) == 0 && info.st_size <= MOST_BYTES ? (size_t)info.st_size : 0;
  char *text = malloc(n + 1), *out = malloc(n + 512);
  bool whole = n > 0 && text != NULL && out != NULL && fread(text, 1, n, file) == n;
  fclose(file);
  char *policy = NULL, *at = NULL;
  if (whole) {
    text[n] = '\0';
    at = strstr(text, head);
    policy = strstr(text, closed);
  }
  if (policy == NULL || at == NULL || at > policy) {
    free(text);
    free(out);
    return NULL;
  }
  at += strlen(head);
  *size = (size_t)sprintf(out, "%.*s<meta name=\"tangere-live\" content=\"%s\">%.*s%s", (int)(at - text), text, state,
                          (int)(policy - at), at, open);
  const char *rest = policy + strlen(closed);
  size_t left = n - (size_t)(rest - text);
  memcpy(out + *size, rest, left);
  *size += left;
  free(text);
  return out;
}

static enum MHD_Result reply(struct MHD_Connection *to, unsigned code, const char *type, const char *text, size_t n,
                             enum MHD_ResponseMemoryMode mode) {
  struct MHD_Response *r = MHD_create_response_from_buffer(n, (void *)(uintptr_t)text, mode);
  if (r == NULL) return MHD_NO;
  MHD_add_response_header(r, "Content-Type", type);
  MHD_add_response_header(r, "Cache-Control", "no-store");
  MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
  enum MHD_Result done = MHD_queue_response(to, code, r);
  MHD_destroy_response(r);
  return done;
}

static enum MHD_Result say(struct MHD_Connection *to, unsigned code, const char *text) {
  return reply(to, code, "text/plain; charset=utf-8", text, strlen(text), MHD_RESPMEM_MUST_COPY);
}

static enum MHD_Result answer(void *ctx, struct MHD_Connection *to, const char *url, const char *method,
                              const char *version, const char *data, size_t *size, void **own) {
  static int seen;
  static const char waiting[] = "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"1\"><title>Tangere</title>"
                                "<p style=\"font:15px system-ui;margin:20vh auto;max-width:50ch\">Waiting for the "
                                "first result of the optimisation.";
  const Live *live = ctx;
  (void)version, (void)data;
  if (*own == NULL) {  // headers only
    *own = &seen;
    return MHD_YES;
  }
  if (*size != 0) {  // what somebody sends is not kept
    *size = 0;
    return MHD_YES;
  }
  char host[64], local[64];
  const char *asked = MHD_lookup_connection_value(to, MHD_HEADER_KIND, "Host");
  snprintf(host, sizeof host, "127.0.0.1:%d", live->port);
  snprintf(local, sizeof local, "localhost:%d", live->port);
  // a page of elsewhere whose name was made to lead here
  if (asked == NULL || (strcmp(asked, host) != 0 && strcmp(asked, local) != 0)) return say(to, MHD_HTTP_FORBIDDEN, "not from here\n");
  if (strcmp(method, "GET") != 0) return say(to, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
  char state[64];
  state_of(live, state);
  if (strcmp(url, "/state") == 0) return say(to, MHD_HTTP_OK, state);
  if (strcmp(url, "/") != 0) return say(to, MHD_HTTP_NOT_FOUND, "not here\n");
  size_t n = 0;
  char *page = page_of(live, state, &n);
  if (page == NULL) return reply(to, MHD_HTTP_OK, "text/html; charset=utf-8", waiting, strlen(waiting), MHD_RESPMEM_PERSISTENT);
  return reply(to, MHD_HTTP_OK, "text/html; charset=utf-8", page, n, MHD_RESPMEM_MUST_FREE);
}

static struct MHD_Daemon *listen_at(Live *live, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  live->port = port;
  return MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, (uint16_t)port, NULL, NULL, answer, live, MHD_OPTION_SOCK_ADDR, &address,
                          MHD_OPTION_CONNECTION_TIMEOUT, 10u, MHD_OPTION_CONNECTION_LIMIT, 32u, MHD_OPTION_END);
}

int tgi_cli_live(const tgCli *cli) {
  Live live = {.port = 0};
  struct stat info;
  snprintf(live.page, sizeof live.page, "%s/replay.html", cli->file);
  if (cli->noperand != 1 || stat(cli->file, &info) != 0 || !S_ISDIR(info.st_mode)) {
    tgi_cli_say("tangere replay: --live takes one folder, which `tangere optimize --out` is writing to; %s is none", cli->file);
    return cli->noperand != 1 ? TG_EXIT_USAGE : TG_EXIT_INPUT;
  }
  struct MHD_Daemon *daemon = NULL;
  if (cli->port > 65535) {
    tgi_cli_say("tangere replay: there is no port %d", cli->port);
    return TG_EXIT_USAGE;
  }
  tgi_cli_catch_signals();
  for (int i = 0; daemon == NULL && i < (cli->port > 0 ? 1 : PORTS); i++)
    daemon = listen_at(&live, cli->port > 0 ? cli->port : FIRST_PORT + i);
  if (daemon == NULL) {
    tgi_cli_say("tangere replay: no port of 127.0.0.1 from %d on can be had: %s; --port names another",
                cli->port > 0 ? cli->port : FIRST_PORT, strerror(errno));
    return TG_EXIT_FAULT;
  }
  tgi_cli_say("open http://127.0.0.1:%d/ in a browser; Ctrl-C ends", live.port);
  while (!tgi_cli_interrupted) usleep(100000);
  MHD_stop_daemon(daemon);
  return TG_EXIT_OK;   // the way that it ends
}

#else

int tgi_cli_live(const tgCli *cli) {
  (void)cli;
  tgi_cli_say("tangere replay: --live was left out of this build, which found no libmicrohttpd (Debian: apt-get "
              "install libmicrohttpd-dev, then build again)");
  return TG_EXIT_FAULT;
}

#endif
