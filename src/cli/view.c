// view.c: tangere view FILE: the simulation in the browser, by the Python package.
//
// The server is that of Sim.view (python/tangere/view.py, decision 46): one, whichever way it is started.
#include <string.h>

#include "cli/cli.h"

enum { WORDS = 160, TEXTS = 8, LONG = 64 };

typedef struct Call {
  const char *word[WORDS];
  int n;
  char text[TEXTS][LONG], drop[1000];
  int ntext;
} Call;

// there is room for every option of the command line at its most
static void add(Call *c, const char *word, const char *value) {
  c->word[c->n++] = word;
  if (value != NULL) c->word[c->n++] = value;
}

static void flag(Call *c, bool on, const char *word) {
  if (on) add(c, word, NULL);
}

// "--word=number", as a number may begin with a minus
static void number(Call *c, const char *word, double value) {
  char *text = c->text[c->ntext++];
  snprintf(text, LONG, "%s=%.17g", word, value);
  add(c, text, NULL);
}

static void loading(Call *c, const tgCli *cli) {
  flag(c, cli->lenient, "--lenient");
  flag(c, cli->repair, "--repair");
  flag(c, cli->decompose, "--decompose");
  flag(c, cli->fixed_base, "--fixed-base");
  flag(c, cli->exclude_overlapping, "--exclude-overlapping");
  flag(c, cli->ground_below, "--ground=below");
  if (cli->ground) number(c, "--ground", cli->ground_height);
  if (cli->contact_triangles > 0) number(c, "--contact-triangles", cli->contact_triangles);
  for (int i = 0; i < TG_DROP_COUNT; i++)
    if ((cli->drop & (1u << i)) != 0) {
      if (c->drop[0] != '\0') strncat(c->drop, ",", sizeof c->drop - strlen(c->drop) - 1);
      strncat(c->drop, tg_drop_word((tgDrop)i), sizeof c->drop - strlen(c->drop) - 1);
    }
  if (c->drop[0] != '\0') add(c, "--drop", c->drop);
  for (int i = 0; i < cli->nasset_root; i++) add(c, "--asset-root", cli->asset_root[i]);
}

int tgi_cli_view(const tgCli *cli) {
  Call c = {.word = {NULL, "-m", "tangere.view"}, .n = 3};
  char package[16][600];
  if (cli->port > 65535) {
    tgi_cli_say("tangere view: there is no port %d", cli->port);
    return TG_EXIT_USAGE;
  }
  if (cli->allow_absolute || cli->decompose_threshold > 0) {
    tgi_cli_say("tangere view: --%s is not to be had here", cli->allow_absolute ? "allow-absolute" : "decompose-threshold");
    return TG_EXIT_USAGE;
  }
  if (cli->contact != NULL) add(&c, "--contact", cli->contact);
  for (int i = 0; i < cli->ncontact_option; i++) add(&c, "--option", cli->contact_option[i]);
  if (cli->dt > 0) number(&c, "--dt", cli->dt);
  if (cli->key != NULL) add(&c, "--key", cli->key);
  flag(&c, cli->inside_limits, "--inside-limits");
  if (cli->separate) number(&c, "--separate", cli->separate_gap);
  if (cli->port > 0) number(&c, "--port", cli->port);
  loading(&c, cli);
  for (int i = 0; i < cli->npackage; i++) {
    snprintf(package[i], sizeof package[i], "%s=%s", cli->package_name[i], cli->package_path[i]);
    add(&c, "--package", package[i]);
  }
  add(&c, "--", cli->file);
  return tgi_cli_become_python("view", c.word, "the page is served by the Python package tangere");
}
