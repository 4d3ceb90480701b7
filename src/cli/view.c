// view.c: tangere view FILE: the simulation in the browser, by the Python package.
//
// The server is that of Sim.view (python/tangere/view.py, decision 46): one, whichever way it is started.
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

// "--word=value" or "--word"; to be freed
static char *word_of(const char *word, const char *value) {
  size_t size = strlen(word) + (value != NULL ? strlen(value) : 0) + 4;
  char *text = malloc(size);
  if (text != NULL) snprintf(text, size, "--%s%s%s", word, value != NULL ? "=" : "", value != NULL ? value : "");
  return text;
}

int tgi_cli_view(const tgCli *cli) {
  enum { GIVEN = sizeof cli->given / sizeof *cli->given };
  const char *word[GIVEN + 6] = {NULL, "-m", "tangere.view"};
  char *text[GIVEN];
  int code = TG_EXIT_OK, n = 3;
  if (cli->port > 65535) {
    tgi_cli_say("tangere view: there is no port %d", cli->port);
    return TG_EXIT_USAGE;
  }
  for (int i = 0; i < cli->ngiven; i++) {
    word[n++] = text[i] = word_of(cli->given[i].word, cli->given[i].value);
    if (text[i] == NULL) code = TG_EXIT_FAULT;
  }
  word[n++] = "--";
  word[n++] = cli->file;
  word[n] = NULL;
  if (code == TG_EXIT_OK) code = tgi_cli_become_python("view", word, "the page is served by the Python package tangere");
  else tgi_cli_say("tangere view: out of memory");
  for (int i = 0; i < cli->ngiven; i++) free(text[i]);
  return code;
}
