// browser.c: see browser.h. Messages are JSON ended by a zero byte: ours on the browser's descriptor 3, its own on 4.
#include "cli/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

enum { MOST_BYTES = 64 << 20 };   // of one message

struct tgiBrowser {
  pid_t pid;                // also its process group
  int to, from;             // pipes
  char *held;               // bytes read that are no whole message yet, and those of the last message before them
  size_t nheld, room, used;
  int id;                   // of the last command
  char session[128];
  char folder[64];
};

// ---- programs ----

const char *tgi_program_path(const char *name, char path[1024]) {
  const char *dirs = getenv("PATH");
  if (dirs == NULL) dirs = "/usr/local/bin:/usr/bin:/bin";
  for (const char *at = dirs; at != NULL; at = strchr(at, ':') != NULL ? strchr(at, ':') + 1 : NULL) {
    int n = (int)strcspn(at, ":");
    if (n == 0 || snprintf(path, 1024, "%.*s/%s", n, at, name) >= 1024) continue;
    if (access(path, X_OK) == 0) return path;
  }
  return NULL;
}

const char *tgi_browser_path(char path[1024]) {
  static const char *const name[] = {"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"};
  const char *env = getenv("CHROMIUM");
  if (env != NULL && env[0] != '\0') return access(env, X_OK) == 0 && snprintf(path, 1024, "%s", env) < 1024 ? path : NULL;
  for (size_t i = 0; i < sizeof name / sizeof *name; i++)
    if (tgi_program_path(name[i], path) != NULL) return path;
  return NULL;
}

// ---- start and end ----

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where) {
  (void)info, (void)kind, (void)where;
  return remove(path);
}

void tgi_browser_close(tgiBrowser *b) {
  if (b == NULL) return;
  if (b->to >= 0) close(b->to);
  if (b->from >= 0) close(b->from);
  if (b->pid > 0) {
    kill(-b->pid, SIGKILL);
    while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR) continue;
  }
  // processes of its that are still ending may write into it once more
  for (int i = 0; b->folder[0] != '\0' && i < 20 && nftw(b->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0; i++) usleep(50000);
  free(b->held);
  free(b);
}

const char *tgi_browser_folder(const tgiBrowser *b) { return b->folder; }

// in the child: 3 is read and 4 written by the browser, nothing else of ours stays open
static void become(const char *path, const char *folder, int width, int height, int in, int out) {
  char profile[96], size[48];
  snprintf(profile, sizeof profile, "--user-data-dir=%s", folder);
  snprintf(size, sizeof size, "--window-size=%d,%d", width, height);
  const char *arg[] = {path, "--headless", "--remote-debugging-pipe", profile, size, "--no-first-run",
                       "--disable-extensions", "--disable-background-networking",
                       "--disable-component-update", "--disable-sync", "--mute-audio", "--hide-scrollbars", "--disable-dev-shm-usage",
                       "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "about:blank",
                       geteuid() == 0 ? "--no-sandbox" : NULL, NULL};   // its sandbox refuses to run as root
  setpgid(0, 0);
  int nowhere = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++) dup2(nowhere, fd);
  int a = fcntl(in, F_DUPFD, 10), b = fcntl(out, F_DUPFD, 10);
  dup2(a, 3);
  dup2(b, 4);
  for (int fd = 5; fd < 256; fd++) close(fd);
  execv(path, (char *const *)(uintptr_t)arg);
  _exit(127);
}

static tgStatus start(tgiBrowser *b, int width, int height, tgError *error) {
  char path[1024];
  int to[2], from[2];
  if (tgi_browser_path(path) == NULL)
    return tgi_cli_fail(error, TG_ERR_FILE,
                        "pictures and videos are drawn by a Chromium, and there is none on the PATH: install one "
                        "(Debian: apt-get install chromium) or set CHROMIUM to it");
  const char *tmp = getenv("TMPDIR");
  if (tmp == NULL || tmp[0] == '\0' || strlen(tmp) > 30) tmp = "/tmp";
  snprintf(b->folder, sizeof b->folder, "%s/tangere-browser-XXXXXX", tmp);
  if (mkdtemp(b->folder) == NULL) {
    b->folder[0] = '\0';
    return tgi_cli_fail(error, TG_ERR_FILE, "no folder for the browser can be made in %s", tmp);
  }
  if (pipe2(to, O_CLOEXEC) != 0) return tgi_cli_fail(error, TG_ERR_LIMIT, "no pipe to the browser");
  if (pipe2(from, O_CLOEXEC) != 0) {
    close(to[0]);
    close(to[1]);
    return tgi_cli_fail(error, TG_ERR_LIMIT, "no pipe from the browser");
  }
  b->pid = fork();
  if (b->pid == 0) become(path, b->folder, width, height, to[0], from[1]);
  close(to[0]);
  close(from[1]);
  b->to = to[1];
  b->from = from[0];
  if (b->pid < 0) return tgi_cli_fail(error, TG_ERR_LIMIT, "the browser %s cannot be started", path);
  setpgid(b->pid, b->pid);
  return TG_OK;
}

// ---- messages ----

static tgStatus put(tgiBrowser *b, const char *text, tgError *error) {
  size_t n = strlen(text) + 1;
  while (n > 0) {
    ssize_t done = write(b->to, text, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return tgi_cli_fail(error, TG_ERR_INTERNAL, "the browser has ended");
    text += done;
    n -= (size_t)done;
  }
  return TG_OK;
}

// the next message, which stays until the next call; NULL with the error filled
static const char *next(tgiBrowser *b, double until, tgError *error) {
  memmove(b->held, b->held + b->used, b->nheld - b->used);
  b->nheld -= b->used;
  b->used = 0;
  for (size_t seen = 0;;) {
    char *end = b->nheld > seen ? memchr(b->held + seen, '\0', b->nheld - seen) : NULL;
    if (end != NULL) {
      b->used = (size_t)(end - b->held) + 1;
      return b->held;
    }
    seen = b->nheld;
    if (b->nheld == b->room) {
      b->room = 2 * b->room + 65536;
      char *more = b->room <= MOST_BYTES ? realloc(b->held, b->room) : NULL;
      if (more == NULL) return tgi_cli_fail(error, TG_ERR_MEMORY, "a message of the browser is too long"), NULL;
      b->held = more;
    }
    struct pollfd one = {.fd = b->from, .events = POLLIN};
    int ready = poll(&one, 1, 100);
    if (tgi_cli_interrupted) return tgi_cli_fail(error, TG_CANCELLED, "interrupted"), NULL;
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
      if (tgi_cli_now() > until) return tgi_cli_fail(error, TG_ERR_LIMIT, "the browser does not answer"), NULL;
      continue;
    }
    ssize_t n = read(b->from, b->held + b->nheld, b->room - b->nheld);
    if (n <= 0) return tgi_cli_fail(error, TG_ERR_INTERNAL, "the browser ended before it answered"), NULL;
    b->nheld += (size_t)n;
  }
}

// the result of a command; params is dropped
static json_t *command(tgiBrowser *b, const char *method, json_t *params, double seconds, tgError *error) {
  double until = tgi_cli_now() + seconds;
  json_t *message = json_pack("{s:i, s:s, s:o}", "id", ++b->id, "method", method, "params", params != NULL ? params : json_object());
  if (b->session[0] != '\0') json_object_set_new(message, "sessionId", json_string(b->session));
  char *text = json_dumps(message, JSON_COMPACT);
  tgStatus st = text == NULL ? tgi_cli_fail(error, TG_ERR_MEMORY, "out of memory") : put(b, text, error);
  free(text);
  json_decref(message);
  const char *line;
  while (st == TG_OK && (line = next(b, until, error)) != NULL) {
    json_t *answer = json_loads(line, 0, NULL), *result = NULL;
    if (json_integer_value(json_object_get(answer, "id")) != b->id) {   // an event, which nobody waits for
      json_decref(answer);
      continue;
    }
    result = json_incref(json_object_get(answer, "result"));
    const char *why = json_string_value(json_object_get(json_object_get(answer, "error"), "message"));
    if (result == NULL) tgi_cli_fail(error, TG_ERR_INTERNAL, "the browser refuses %s: %s", method, why != NULL ? why : "no reason given");
    json_decref(answer);
    return result;
  }
  return NULL;
}

json_t *tgi_browser_eval(tgiBrowser *b, const char *expression, double seconds, tgError *error) {
  json_t *answer = command(b, "Runtime.evaluate",
                           json_pack("{s:s, s:b, s:b}", "expression", expression, "awaitPromise", 1, "returnByValue",
                                     1), seconds, error);
  if (answer == NULL) return NULL;
  json_t *thrown = json_object_get(answer, "exceptionDetails"), *value = NULL;
  if (thrown != NULL) {
    const char *text = json_string_value(json_object_get(json_object_get(thrown, "exception"), "description"));
    tgi_cli_fail(error, TG_ERR_INTERNAL, "in the page: %.400s", text != NULL ? text : "an exception");
  } else {
    value = json_incref(json_object_get(json_object_get(answer, "result"), "value"));
    if (value == NULL) value = json_null();
  }
  json_decref(answer);
  return value;
}

tgStatus tgi_browser_go(tgiBrowser *b, const char *url, tgError *error) {
  json_t *answer = command(b, "Page.navigate", json_pack("{s:s}", "url", url), 60, error);
  if (answer == NULL) return error->status;
  const char *why = json_string_value(json_object_get(answer, "errorText"));
  tgStatus st = why != NULL ? tgi_cli_fail(error, TG_ERR_FILE, "the browser cannot open %s: %s", url, why) : TG_OK;
  json_decref(answer);
  return st;
}

tgiBrowser *tgi_browser_open(const char *url, int width, int height, bool dark, tgError *error) {
  tgiBrowser *b = calloc(1, sizeof *b);
  if (b == NULL) return tgi_cli_fail(error, TG_ERR_MEMORY, "out of memory"), NULL;
  b->to = b->from = -1;
  json_t *page = NULL, *session = NULL, *shown = NULL;
  if (start(b, width, height, error) == TG_OK) page = command(b, "Target.createTarget", json_pack("{s:s}", "url", url), 60, error);
  const char *target = json_string_value(json_object_get(page, "targetId"));
  if (target != NULL) session = command(b, "Target.attachToTarget", json_pack("{s:s, s:b}", "targetId", target, "flatten", 1), 60, error);
  const char *id = json_string_value(json_object_get(session, "sessionId"));
  if (id != NULL && strlen(id) < sizeof b->session) {
    strcpy(b->session, id);
    shown = command(b, "Emulation.setEmulatedMedia",
                    json_pack("{s:[{s:s, s:s}]}", "features", "name", "prefers-color-scheme", "value",
                              dark ? "dark" : "light"), 60, error);
  }
  json_decref(page);
  json_decref(session);
  json_decref(shown);
  if (shown != NULL) return b;
  if (error->text[0] == '\0') tgi_cli_fail(error, TG_ERR_INTERNAL, "the browser opens no page");
  tgi_browser_close(b);
  return NULL;
}
