// main.c: the command `tangere`: table of commands, help, dispatch.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

const tgCommand tgi_cli_commands[] = {
    {"simulate", "MODEL", "contact steps dt out overwrite key separate json notes load overlap no-replay sensors",
     "run a model file forward and leave a replay", tgi_cli_simulate},
    {"optimize", "TASK",
     "contact gradient separate out seed resume overwrite method iterations threads zero-contact json load no-replay no-trust",
     "optimise a task file by gradient and leave a replay", tgi_cli_optimize},
    {"gradcheck", "MODEL|TASK", "contact steps dt key separate seed second motion json load overlap",
     "check derivatives against independent differences", tgi_cli_gradcheck},
    {"compare", "[TASK ...]", "properties contact separate method seed iterations seconds threads baselines out json load",
     "tasks under several contact models, methods and baselines: one table; --properties: the contact models themselves", tgi_cli_compare},
    {"batch", "TASK|SPEC|DIR ...", "contact separate count seed threads shard out json load",
     "many rollouts of a task; all runs of a specification, on this machine or many; --merge: their results as one", tgi_cli_batch},
    {"convert", "MODEL", "out json notes load", "compile a model file and write all its arrays (.json or .npz)", tgi_cli_convert},
    {"replay", "FOLDER ...", "out png load",
     "make replay.html again from a run's folder, one page of several runs, or pictures and videos", tgi_cli_replay},
    {"view", "MODEL|TASK", "contact dt key separate load overlap view",
     "run a simulation in the browser: pull at it, switch its contact model, see gradients", tgi_cli_view},
    // a program of its own
    {TG_CLI_REPRODUCE, NULL},
    {"bench", "[NAME]", "list json", "measure speeds as ratios in one run", tgi_cli_bench},
    {"manual", "", "", "print the manual page (roff): tangere manual | man -l -", tgi_cli_manual},
    {"completion", "SHELL", "", "print the completion of a shell, bash, zsh or fish: source <(tangere completion bash)",
     tgi_cli_completion},
};
enum { NCOMMANDS = sizeof tgi_cli_commands / sizeof *tgi_cli_commands };
const int tgi_cli_ncommands = NCOMMANDS;

int tgi_cli_become(const char *program, char **argument) {
  char folder[1000], path[1100];
  bool known = tgi_cli_own_folder(folder, sizeof folder);
  snprintf(path, sizeof path, "%s/%s", known ? folder : ".", program);
  if (known) execv(path, argument);
  tgi_cli_say("tangere %s: its program %s cannot be run: %s; `make build` puts it beside tangere", argument[0], path, strerror(errno));
  return TG_EXIT_FAULT;
}

int tgi_cli_become_python(const char *command, const char **argument, const char *needs) {
  const char *python = getenv("TANGERE_PYTHON");
  argument[0] = python == NULL || python[0] == '\0' ? "python3" : python;
  execvp(argument[0], (char *const *)(uintptr_t)argument);
  tgi_cli_say("tangere %s: %s cannot be run: %s; %s (TANGERE_PYTHON names it)", command, argument[0], strerror(errno), needs);
  return TG_EXIT_FAULT;
}

static void usage(FILE *to) {
  fprintf(to, "tangere %s, a differentiable physics engine in which contact is a choice\n\nusage: tangere COMMAND ...\n\n", tg_version());
  for (int i = 0; i < NCOMMANDS; i++)
    fprintf(to, "  %-10s %-17s %s\n", tgi_cli_commands[i].word, tgi_cli_commands[i].operands, tgi_cli_commands[i].help);
  fprintf(to, "\n`tangere COMMAND --help` lists a command's options. Contact models:");
  for (int i = 0; tg_contact_words(i) != NULL; i++) fprintf(to, " %s", tg_contact_words(i));
  fprintf(to, ".\nExit codes: %s\n", TG_CLI_EXIT_CODES);
}

static int dispatch(int argc, char **argv) {
  if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
    usage(argc < 2 ? stderr : stdout);
    return argc < 2 ? TG_EXIT_USAGE : TG_EXIT_OK;
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("tangere %s\n", tg_version());
    return TG_EXIT_OK;
  }
  for (int i = 0; i < NCOMMANDS; i++) {
    const tgCommand *c = &tgi_cli_commands[i];
    if (strcmp(argv[1], c->word) != 0) continue;
    return c->run != NULL ? tgi_cli_run(c, argc - 1, argv + 1) : tgi_cli_become("tangere-reproduce", argv + 1);
  }
  fprintf(stderr, "tangere: there is no command '%s'\n\n", argv[1]);
  usage(stderr);
  return TG_EXIT_USAGE;
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN);
  tgi_cli_watch_json();
  return tgi_cli_end(dispatch(argc, argv));
}
