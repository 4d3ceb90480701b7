// manual.c: the manual page and the completions of shells, made from the tables of commands and options. A test has bash complete by it,
// and man read it.
#include <string.h>

#include "cli/cli.h"

// Room for a line of help about an option of a contact model.
enum { LINE = 600 };

// ---- manual page, in the man macros of roff ----

// text as roff takes it: a minus is no hyphen, and no line begins with a control character
static void roff(const char *text) {
  if (*text == '.' || *text == '\'') printf("\\&");
  for (; *text != '\0'; text++) {
    if (*text == '-') printf("\\-");
    else if (*text == '\\') printf("\\e");
    else putchar(*text);
  }
}

static void item(const char *head, const char *text) {
  printf(".TP\n.B ");
  roff(head);
  printf("\n");
  roff(text);
  printf("\n");
}

static void manual_command(const tgCommand *c) {
  tgCliOption o;
  printf(".SS ");
  roff(c->word);
  printf(" ");
  roff(c->operands);
  printf("\n");
  roff(c->help);
  printf("\n");
  for (int i = 0; tgi_cli_option(c, i, &o); i++) {
    char head[64];
    snprintf(head, sizeof head, "--%s%s%s", o.word, o.value != NULL && o.value[0] != '[' ? " " : "", o.value != NULL ? o.value : "");
    item(head, o.help);
  }
}

static void manual_contact(const char *word) {
  printf(".SS ");
  roff(word);
  printf("\n");
  for (int i = 0; tg_contact_option(word, i).name != NULL; i++) {
    char text[LINE];
    tgOption o = tg_contact_option(word, i);
    item(o.name, tgi_cli_option_text(&o, text, sizeof text));
  }
}

int tgi_cli_manual(const tgCli *cli) {
  (void)cli;
  printf(".TH TANGERE 1 \"\" \"tangere %s\" \"User Commands\"\n.SH NAME\ntangere \\- differentiable physics in which contact is a choice\n",
         tg_version());
  printf(".SH SYNOPSIS\n.B tangere\n.I COMMAND\n.RI [ OPERANDS ]\n.RI [ options ]\n.SH COMMANDS\n");
  for (int i = 0; i < tgi_cli_ncommands; i++) manual_command(&tgi_cli_commands[i]);
  printf(".SH CONTACT MODELS\nOptions of each, for\n.BR \\-\\-option :\n");
  for (int i = 0; tg_contact_words(i) != NULL; i++) manual_contact(tg_contact_words(i));
  printf(".SH EXIT STATUS\n");
  roff(TG_CLI_EXIT_CODES);
  printf("\n.SH ENVIRONMENT\n");
  item("TANGERE_VIEWER", "file of the page that replays are made of, in place of the installed one");
  item("XDG_CACHE_HOME", "folder below which pieces of meshes are kept, in place of ~/.cache");
  return TG_EXIT_OK;
}

// ---- completions ----

typedef void (*Shell)(void);

static void contact_words(const char *between) {
  for (int i = 0; tg_contact_words(i) != NULL; i++) printf("%s%s", i > 0 ? between : "", tg_contact_words(i));
}

// names of all contact models' options, each once, with the = that follows
static void contact_options(void) {
  for (int w = 0; tg_contact_words(w) != NULL; w++)
    for (int i = 0; tg_contact_option(tg_contact_words(w), i).name != NULL; i++) {
      const char *name = tg_contact_option(tg_contact_words(w), i).name;
      bool told = false;
      for (int before = 0; before < w && !told; before++) told = tg_contact_option_named(tg_contact_words(before), name).name != NULL;
      if (!told) printf(" %s=", name);
    }
}

static bool is_contact(const tgCliOption *o) { return strcmp(o->word, "contact") == 0 || strcmp(o->word, "gradient") == 0; }
static bool is_setting(const tgCliOption *o) { return strcmp(o->word, "option") == 0; }

static bool is_file(const tgCliOption *o) { return strstr("PATH FILE DIR", o->value) != NULL; }

static void bash(void) {
  printf("# bash completion of tangere\n_tangere() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} list=\n"
         "  COMPREPLY=()\n  case $before in\n    --contact|--gradient) list=\"");
  contact_words(" ");
  printf("\" ;;\n    --option) list=\"");
  contact_options();
  printf(" \"; compopt -o nospace 2>/dev/null ;;\n    completion) list=\"bash zsh fish\" ;;\n    *) case ${COMP_WORDS[1]} in\n");
  for (int i = 0; i < tgi_cli_ncommands; i++) {
    tgCliOption o;
    printf("      %s) list=\"--help", tgi_cli_commands[i].word);
    for (int k = 0; tgi_cli_option(&tgi_cli_commands[i], k, &o); k++) printf(" --%s", o.word);
    printf("\" ;;\n");
  }
  printf("    esac\n    [[ $COMP_CWORD -eq 1 || $word == -* ]] || return 0 ;;\n  esac\n"
         "  if [[ $COMP_CWORD -eq 1 ]]; then list=\"--help --version");
  for (int i = 0; i < tgi_cli_ncommands; i++) printf(" %s", tgi_cli_commands[i].word);
  printf("\"; fi\n  COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n}\ncomplete -o default -F _tangere tangere\n");
}

// text inside single quotes; of zsh's lists, where `special` stand for something, with a backslash before them
static void quoted(const char *text, const char *special) {
  for (; *text != '\0'; text++) {
    if (*text == '\'') printf("'\\''");
    else printf("%s%c", strchr(special, *text) != NULL ? "\\" : "", *text);
  }
}

static void zsh(void) {
  printf("#compdef tangere\n_tangere() {\n  local -a commands\n  commands=(\n");
  for (int i = 0; i < tgi_cli_ncommands; i++) {
    printf("    '%s:", tgi_cli_commands[i].word);
    quoted(tgi_cli_commands[i].help, ":\\");
    printf("'\n");
  }
  printf("  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n  local command=$words[2]\n  shift words\n"
         "  (( CURRENT-- ))\n  case $command in\n");
  for (int i = 0; i < tgi_cli_ncommands; i++) {
    tgCliOption o;
    bool shells = strcmp(tgi_cli_commands[i].word, "completion") == 0;
    printf("    %s) _arguments '--help[list the options]'", tgi_cli_commands[i].word);
    for (int k = 0; tgi_cli_option(&tgi_cli_commands[i], k, &o); k++) {
      bool may = o.value != NULL && o.value[0] == '[';
      printf(" \\\n      '%s--%s%s[", o.repeatable ? "*" : "", o.word, may ? "=-" : o.value != NULL ? "=" : "");
      quoted(o.help, "[]:\\");
      printf("]");
      if (o.value != NULL) printf("%s:value:%s", may ? ":" : "", is_contact(&o) || is_setting(&o) ? "(" : is_file(&o) ? "_files" : "");
      if (o.value != NULL && is_contact(&o)) contact_words(" ");
      if (o.value != NULL && is_setting(&o)) contact_options();
      printf("%s'", is_contact(&o) || is_setting(&o) ? ")" : "");
    }
    printf(" \\\n      '*:file:%s' ;;\n", shells ? "(bash zsh fish)" : "_files");
  }
  printf("  esac\n}\n_tangere \"$@\"\n");
}

static void fish(void) {
  printf("# fish completion of tangere\n");
  for (int i = 0; i < tgi_cli_ncommands; i++) {
    const tgCommand *c = &tgi_cli_commands[i];
    tgCliOption o;
    printf("complete -c tangere -n __fish_use_subcommand -f -a %s -d '", c->word);
    for (const char *t = c->help; *t != '\0'; t++) printf("%s%c", *t == '\'' ? "\\" : "", *t);
    printf("'\n");
    for (int k = 0; tgi_cli_option(c, k, &o); k++) {
      bool must = o.value != NULL && o.value[0] != '[';
      printf("complete -c tangere -n '__fish_seen_subcommand_from %s' -l %s%s", c->word, o.word, must ? " -r" : "");
      if (is_contact(&o) || is_setting(&o)) printf(" -f -a '");
      if (is_contact(&o)) contact_words(" ");
      if (is_setting(&o)) contact_options();
      printf("%s -d '", is_contact(&o) || is_setting(&o) ? "'" : "");
      for (const char *t = o.help; *t != '\0'; t++) printf("%s%c", *t == '\'' ? "\\" : "", *t);
      printf("'\n");
    }
  }
  printf("complete -c tangere -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n");
}

int tgi_cli_completion(const tgCli *cli) {
  static const struct { const char *name; Shell write; } shell[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
  for (size_t i = 0; i < sizeof shell / sizeof *shell; i++) {
    if (strcmp(cli->file, shell[i].name) != 0) continue;
    shell[i].write();
    return TG_EXIT_OK;
  }
  tgi_cli_say("tangere completion: '%s' is none of bash, zsh, fish", cli->file);
  return TG_EXIT_USAGE;
}
