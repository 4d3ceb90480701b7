// options.c: one table of options for all commands, read with getopt_long.
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shared/program.h"

typedef enum Kind { TEXT, COUNT, REAL, SEED, FLAG, ROOT, PACKAGE, GROUND, SEPARATE, CONTACT, FRAME, DROP } Kind;
typedef struct Option {
  const char *group, *word, *value, *help;   // group: the word by which a command asks for it
  Kind kind;
  size_t at;                                 // offset in tgCli
} Option;

#define AT(field) offsetof(tgCli, field)
static const Option options[] = {
    {"contact", "contact", "WORD", "contact model (compare: several, with commas)", TEXT, AT(contact)},
    {"contact", "option", "NAME=VALUE", "option of the contact model, as in a task's options (repeatable)", CONTACT, 0},
    {"gradient", "gradient", "WORD", "contact model that gradients are of, at the states of the task's", TEXT, AT(gradient)},
    {"steps", "steps", "N", "number of steps", COUNT, AT(steps)},
    {"dt", "dt", "H", "step size [s]; default: the model's", REAL, AT(dt)},
    {"out", "out", "PATH", "folder (convert: file) to write", TEXT, AT(out)},
    {"key", "key", "NAME", "start from this keyframe", TEXT, AT(key)},
    {"separate", "inside-limits", NULL, "start with joints that are outside their limits moved inside, by 5 % of the range",
     FLAG, AT(inside_limits)},
    {"separate", "separate", "[=GAP]",
     "start with bodies that overlap moved apart, to GAP [m] or that of the contact model, by the least motion; told", SEPARATE, 0},
    {"seed", "seed", "N", "seed of everything random", SEED, AT(seed)},
    {"method", "method", "WORD",
     "optimiser: adam, descent, lbfgs, random, cem, ilqr, gauss_newton, bundle, ddp, shooting (compare: several, with "
     "commas)", TEXT, AT(method)},
    {"iterations", "iterations", "N", "iterations at most", COUNT, AT(iterations)},
    {"seconds", "seconds", "S", "seconds that each row may take, then its best so far counts; default 600", REAL, AT(seconds)},
    {"threads", "threads", "N", "threads; default: all cores", COUNT, AT(threads)},
    {"count", "count", "N", "number of rollouts", COUNT, AT(count)},
    {"shard", "shard", "I/N", "of a specification: only part I (from 0) of N, for the N jobs of a cluster's array", TEXT, AT(shard)},
    {"shard", "merge", NULL, "no computation: the results of the folders DIR .. as one file", FLAG, AT(merge)},
    {"shard", "scheduler", "ADDRESS", "of a specification: on the workers of this Dask scheduler (tcp://host:port), by the Python package",
     TEXT,
     AT(scheduler)},
    {"resume", "resume", NULL, "take up an interrupted run in the same folder", FLAG, AT(resume)},
    {"overwrite", "overwrite", NULL, "begin anew in a folder that holds a run", FLAG, AT(overwrite)},
    {"baselines", "baselines", NULL, "also: no contact gradient, and random search with as many simulations", FLAG, AT(baselines)},
    {"second", "second", NULL,
     "also the step's second derivatives, of contact models whose step has them (softmin, toi)", FLAG,
     AT(second)},
    {"motion", "over-h", NULL,
     "the motion of --steps steps (default 100) from the start: do value and gradient converge as the step is halved "
     "three times", FLAG, AT(over_h)},
    {"motion", "widths", NULL, "its gradient against differences of the motion over widths from 1e-7 to 1e-2", FLAG, AT(widths)},
    {"properties", "properties", NULL, "no task: the properties of every contact model, measured", FLAG, AT(properties)},
    {"zero-contact", "zero-contact-gradient", NULL, "ablation: contact forces held constant in the gradient", FLAG, AT(zero_contact)},
    {"full", "full", NULL, "larger: more repeats, longer searches; not bound to ten minutes", FLAG, AT(full)},
    {"list", "list", NULL, "list what there is", FLAG, AT(list)},
    {"notes", "notes", NULL, "list what the loader skipped, assumed or changed", FLAG, AT(notes)},
    {"no-replay", "no-replay", NULL, "do not write replay.html", FLAG, AT(no_replay)},
    {"no-trust", "no-trust", NULL, "do not try how far the gradients at the first and the best iterate may be trusted", FLAG, AT(no_trust)},
    {"sensors", "sensors", NULL, "read the model's sensors after each step: sensors.csv, and sensor of trajectory.npz", FLAG, AT(sensors)},
    {"load", "lenient", NULL, "pass over what is refused and yet changes no motion; each is listed", FLAG, AT(lenient)},
    {"load", "drop", "WHAT",
     "leave out what is not supported and changes motion, by the words that refusals name, with commas; each is listed", DROP, 0},
    {"load", "repair", NULL, "repair invalid inertias and meshes; each repair is listed", FLAG, AT(repair)},
    {"load", "decompose", NULL,
     "let mesh geoms that are not convex collide as convex pieces, kept for the next time beside the mesh", FLAG,
     AT(decompose)},
    {"load", "decompose-threshold", "X",
     "how far pieces may be from the mesh, 0.01 to 1 of half its size; default 0.05", REAL, AT(decompose_threshold)},
    {"overlap", "contact-triangles", "N",
     "let meshes of more than N triangles collide as meshes of about N, at most how far off is told; mass and looks stay", COUNT,
     AT(contact_triangles)},
    {"overlap", "exclude-overlapping", NULL,
     "no contact between bodies of one robot that overlap in the file's pose; listed", FLAG, AT(exclude_overlapping)},
    {"load", "ground", "[=Z|below]", "add a plane to the world, at z = 0 or Z [m], or 1 mm below the model in the file's pose", GROUND, 0},
    {"load", "fixed-base", NULL, "URDF: weld the root link to the world", FLAG, AT(fixed_base)},
    {"load", "allow-absolute", NULL, "permit absolute asset paths below an asset root", FLAG, AT(allow_absolute)},
    {"load", "asset-root", "DIR", "a further directory that files may come from (repeatable)", ROOT, 0},
    {"load", "package", "NAME=DIR", "where package://NAME is (repeatable)", PACKAGE, 0},
    {"png", "png", "FILE", "write a picture of one frame, drawn by a Chromium of this machine", TEXT, AT(png)},
    {"png", "video", "FILE", "write a video of the run (.webm, or .mp4 where there is ffmpeg), drawn likewise", TEXT, AT(video)},
    {"png", "frame", "N", "frame of the picture, from 0", FRAME, AT(frame)},
    {"png", "size", "WxH", "size of picture and video in pixels; default 1280x720", TEXT, AT(size)},
    {"png", "fps", "N", "frames per second of the video; default 30", COUNT, AT(fps)},
    {"png", "speed", "X", "seconds of the run in a second of the video; default 1", REAL, AT(speed)},
    {"png", "view", "TEXT", "view of picture and video: what stands behind # in a link that the page copied", TEXT, AT(view)},
    {"png", "dark", NULL, "picture and video on a dark background", FLAG, AT(dark)},
    {"png", "live", NULL, "show the folder of a running optimisation in the browser, renewed as it goes", FLAG, AT(live)},
    {"png", "port", "N", "of 127.0.0.1 for --live; default: the first free one from 8765", COUNT, AT(port)},
    {"view", "port", "N", "of 127.0.0.1; default: the first free one from 8765", COUNT, AT(port)},
    {"json", "json", NULL, "one machine-readable result on standard output", FLAG, AT(json)},
};
enum { NOPTIONS = sizeof options / sizeof *options };

static bool takes(const tgCommand *c, const Option *o) {
  size_t n = strlen(o->group);
  for (const char *p = c->options; (p = strstr(p, o->group)) != NULL; p += n)
    if ((p == c->options || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0')) return true;
  return false;
}

bool tgi_cli_option(const tgCommand *command, int i, tgCliOption *out) {
  for (int k = 0; k < NOPTIONS; k++) {
    const Option *o = &options[k];
    if (!takes(command, o) || i-- > 0) continue;
    *out = (tgCliOption){o->word, o->value, o->help, o->kind == ROOT || o->kind == PACKAGE || o->kind == CONTACT || o->kind == DROP};
    return true;
  }
  return false;
}

// its default, then its range or words
const char *tgi_cli_option_text(const tgOption *o, char *text, size_t size) {
  const char *word = o->words;
  char most[40] = "", list[300] = "";
  size_t n = 0;
  switch (o->type) {
    case TG_OPTION_BOOLEAN: snprintf(text, size, "%s (%s)", o->text, o->value != 0 ? "true" : "false"); break;
    case TG_OPTION_WORD:
      for (int i = 0; i < (int)o->value; i++) word = strchr(word, ' ') + 1;
      for (const char *c = o->words; *c != '\0' && n + 3 < sizeof list; c++)
        n += (size_t)snprintf(list + n, 3, *c == ' ' ? ", " : "%c", *c);
      snprintf(text, size, "%s (%.*s; %s)", o->text, (int)strcspn(word, " "), word, list);
      break;
    case TG_OPTION_NUMBER:
    case TG_OPTION_INTEGER:
      if (isfinite(o->most)) snprintf(most, sizeof most, " to %g", o->most);
      snprintf(text, size, "%s (%g%s%s; %s%g%s)", o->text, o->value, o->unit[0] != '\0' ? " " : "", o->unit,
               isfinite(o->most) ? "" : "from ", o->least, most);
  }
  return text;
}

// what --option takes, as the contact models' own lists have it
static void help_contact(void) {
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    printf("\noptions of the contact model '%s':\n", tg_contact_words(w));
    for (int i = 0; tg_contact_option(tg_contact_words(w), i).name != NULL; i++) {
      tgOption o = tg_contact_option(tg_contact_words(w), i);
      char left[64], text[600];
      snprintf(left, sizeof left, "%s%s%s%s", o.name, o.alias != NULL ? " (or " : "", o.alias != NULL ? o.alias : "",
               o.alias != NULL ? ")" : "");
      printf("  %-24s %s\n", left, tgi_cli_option_text(&o, text, sizeof text));
    }
  }
}

static void help(const tgCommand *c) {
  tgCliOption o;
  printf("usage: tangere %s %s [options]\n%s\n\n", c->word, c->operands, c->help);
  for (int i = 0; tgi_cli_option(c, i, &o); i++) {
    char left[64];
    snprintf(left, sizeof left, "--%s%s%s", o.word, o.value != NULL && o.value[0] == '[' ? "" : " ", o.value != NULL ? o.value : "");
    printf("  %-24s %s\n", left, o.help);
  }
  for (int i = 0; i < NOPTIONS; i++)
    if (options[i].kind == CONTACT && takes(c, &options[i])) help_contact();
}

static bool whole(const char *text, double *value) {
  char *end;
  errno = 0;
  *value = strtod(text, &end);
  return errno == 0 && end != text && *end == '\0' && isfinite(*value);
}

// a whole number, be it 400, 4e2 or 400.0, as a task file takes it: 010 is 8 to some readers and 10 to others, 0x10 is for programs
static bool counted(const char *text, double least, double most, double *value) {
  const char *digits = text + (*text == '+');
  bool plain = *digits >= '0' && *digits <= '9' && strspn(digits, "0123456789.eE+-") == strlen(digits);
  bool octal = *digits == '0' && digits[1] >= '0' && digits[1] <= '9';
  return plain && !octal && whole(text, value) && *value >= least && *value <= most && *value == floor(*value);
}

static bool add_package(tgCli *cli, const char *text) {
  const char *eq = strchr(text, '=');
  if (eq == NULL || eq == text || cli->npackage == 16 || strlen(text) >= sizeof cli->package_text[0]) return false;
  char *copy = cli->package_text[cli->npackage];
  strcpy(copy, text);
  copy[eq - text] = '\0';
  cli->package_name[cli->npackage] = copy;
  cli->package_path[cli->npackage++] = copy + (eq - text) + 1;
  return true;
}

static bool add_drop(tgCli *cli, const char *words, tgError *error) {
  tgLoadOptions load = {.drop = cli->drop};
  if (tg_load_drop(&load, words, error) < 0) return false;
  cli->drop = load.drop;
  return true;
}

static bool store(tgCli *cli, const Option *o, const char *text) {
  void *at = (char *)cli + o->at;
  double value;
  switch (o->kind) {
    case TEXT: *(const char **)at = text; return text[0] != '\0';
    case FLAG: *(bool *)at = true; return true;
    case REAL: return whole(text, (double *)at) && *(double *)at > 0;
    case COUNT:
      if (!counted(text, 1, 1e9, &value)) return false;
      *(int *)at = (int)value;
      return true;
    case SEED:
      if (!counted(text, 0, 9e15, &value)) return false;
      *(uint64_t *)at = (uint64_t)value;
      return true;
    case FRAME:
      if (!counted(text, 0, 1e9, &value)) return false;
      *(uint64_t *)at = (uint64_t)value;
      return cli->frame_given = true;
    case ROOT:
      if (cli->nasset_root == 16) return false;
      cli->asset_root[cli->nasset_root++] = text;
      return true;
    case CONTACT:
      if (cli->ncontact_option == 16 || strchr(text, '=') == NULL) return false;
      cli->contact_option[cli->ncontact_option++] = text;
      return true;
    case GROUND:
      cli->ground_below = text != NULL && strcmp(text, "below") == 0;
      cli->ground = !cli->ground_below;
      return text == NULL || cli->ground_below || whole(text, &cli->ground_height);
    case SEPARATE:
      cli->separate = true;
      cli->separate_gap = -1;
      return text == NULL || (whole(text, &cli->separate_gap) && cli->separate_gap >= 0);
    case PACKAGE: return add_package(cli, text);
    case DROP: return add_drop(cli, text, NULL);
  }
  return false;
}

static void tell_refused(const tgCommand *command, const Option *o, const char *name, const char *text) {
  static const char *const needed[] = {[TEXT] = "a text",
                                       [COUNT] = "a whole number above 0",
                                       [REAL] = "a number above 0",
                                       [SEED] = "a whole number, 0 or more",
                                       [FRAME] = "a whole number, 0 or more",
                                       [ROOT] = "16 directories at most",
                                       [PACKAGE] = "NAME=DIR, 16 times at most",
                                       [GROUND] = "a height [m] or `below`",
                                       [SEPARATE] = "a gap [m], 0 or more",
                                       [CONTACT] = "NAME=VALUE, 16 times at most"};
  tgError error = {0};
  if (o->kind == DROP && !add_drop(&(tgCli){.drop = 0}, text, &error)) {
    fprintf(stderr, "tangere %s: %s\n", command->word, error.text);
    return;
  }
  fprintf(stderr, "tangere %s: --%s '%s': wanted is %s (%s)\n", command->word, name, text != NULL ? text : "", needed[o->kind], o->help);
}

int tgi_cli_parse(const tgCommand *command, int argc, char **argv, tgCli *cli) {
  struct option table[NOPTIONS + 2];
  int n = 0, index[NOPTIONS + 2];
  for (int i = 0; i < NOPTIONS; i++) {
    if (!takes(command, &options[i])) continue;
    index[n] = i;
    const char *value = options[i].value;
    int argument = value == NULL ? no_argument : value[0] == '[' ? optional_argument : required_argument;
    table[n++] = (struct option){options[i].word, argument, NULL, 1};
  }
  index[n] = -1;
  table[n++] = (struct option){"help", no_argument, NULL, 2};
  table[n] = (struct option){0};
  int which, got;
  while ((got = getopt_long(argc, argv, "", table, &which)) != -1) {
    if (got == 2) {
      help(command);
      return TG_EXIT_OK;
    }
    if (got != 1) {
      fprintf(stderr, "`tangere %s --help` lists the options\n", command->word);
      return TG_EXIT_USAGE;
    }
    if (!store(cli, &options[index[which]], optarg)) {
      tell_refused(command, &options[index[which]], table[which].name, optarg);
      return TG_EXIT_USAGE;
    }
    if (cli->ngiven == (int)(sizeof cli->given / sizeof *cli->given)) {
      fprintf(stderr, "tangere %s: more than %d options\n", command->word, cli->ngiven);
      return TG_EXIT_USAGE;
    }
    cli->given[cli->ngiven].word = table[which].name;
    cli->given[cli->ngiven++].value = optarg;
  }
  for (; optind < argc && cli->noperand < 16; optind++) cli->operand[cli->noperand++] = argv[optind];
  cli->file = cli->noperand > 0 ? cli->operand[0] : NULL;
  bool none = command->operands[0] == '\0', needs = !none && command->operands[0] != '[',
       several = strstr(command->operands, "...") != NULL;
  if ((needs && cli->noperand == 0) || (cli->noperand > !none && !several) || optind < argc) {
    fprintf(stderr, "usage: tangere %s %s [options]\n", command->word, command->operands);
    return TG_EXIT_USAGE;
  }
  return 0;
}

void tgi_cli_keep_loading(const tgCli *cli, json_t *run) {
  json_t *list = json_array();
  for (int i = 0; i < cli->ngiven; i++)
    for (int k = 0; k < NOPTIONS; k++)
      if (strcmp(options[k].group, "load") == 0 && strcmp(options[k].word, cli->given[i].word) == 0)
        json_array_append_new(list, json_pack("[s, s?]", cli->given[i].word, cli->given[i].value));
  if (json_array_size(list) > 0) json_object_set(run, "loading", list);
  json_decref(list);
}

// Where a model may have files from is said by who runs the program, never by a folder that may come from anyone.
static bool opens_folders(const Option *o) { return o->kind == ROOT || o->kind == PACKAGE || strcmp(o->word, "allow-absolute") == 0; }

// one option of a run's account; false: it is none of those, or takes no such value
static bool take_loading(tgCli *cli, const char *word, const char *value) {
  for (int k = 0; k < NOPTIONS; k++) {
    const Option *o = &options[k];
    bool takes_none = o->value == NULL || o->value[0] == '[';
    if (strcmp(o->group, "load") != 0 || strcmp(o->word, word) != 0) continue;
    if (!opens_folders(o)) return (value != NULL || takes_none) && store(cli, o, value);
    tgi_cli_say("tangere %s: the run was given --%s %s; which folders may be read is for this command line alone to say", cli->command,
                word, value != NULL ? value : "");
    return true;
  }
  return false;
}

bool tgi_cli_take_loading(tgCli *cli, const json_t *loading) {
  size_t i;
  const json_t *one;
  if (loading != NULL && !json_is_array(loading)) return false;
  json_array_foreach(loading, i, one) {
    const char *word = json_string_value(json_array_get(one, 0)), *value = json_string_value(json_array_get(one, 1));
    bool again = false;   // the command line's own come first
    for (int k = 0; k < cli->ngiven && word != NULL && !again; k++) again = strcmp(cli->given[k].word, word) == 0;
    if (word == NULL || (!again && !take_loading(cli, word, value))) return false;
  }
  return true;
}

tgLoadOptions tgi_cli_load_options(const tgCli *cli) {
  tgLoadOptions o = tg_load_default();
  o.lenient = cli->lenient;
  o.drop = cli->drop;
  o.repair = cli->repair;
  o.fixed_base = cli->fixed_base;
  o.ground = cli->ground;
  o.ground_height = cli->ground_height;
  o.allow_absolute = cli->allow_absolute;
  o.asset_root = cli->asset_root;
  o.nasset_root = cli->nasset_root;
  o.package_name = cli->package_name;
  o.package_path = cli->package_path;
  o.npackage = cli->npackage;
  o.decompose = cli->decompose || cli->decompose_threshold > 0;
  if (cli->decompose_threshold > 0) o.decompose_threshold = cli->decompose_threshold;
  if (o.decompose) {
    o.cache_directory = tgi_cli_cache_folder();
    if (tg_decomposer()[0] != '\0')
      tgi_cli_say("meshes that are not convex are cut into pieces; the first time this takes seconds to minutes");
  }
  return o;
}

const char *tgi_cli_split_option(const tgCli *cli, int i, char name[TG_CLI_OPTION_NAME]) {
  const char *text = cli->contact_option[i], *eq = strchr(text, '=');
  snprintf(name, TG_CLI_OPTION_NAME, "%.*s", (int)(eq - text), text);
  return eq + 1;
}

bool tgi_cli_contact_options(const tgCli *cli, const char *word, tgAnyContactOptions *contact) {
  bool known = tg_contact_default(word, &contact->of, sizeof *contact) == TG_OK;   // else tg_contact_create lists the words
  for (int i = 0; known && i < cli->ncontact_option; i++) {
    char name[TG_CLI_OPTION_NAME];
    tgError error = {0};
    const char *value = tgi_cli_split_option(cli, i, name);
    if (tg_contact_offer(&contact->of, name, value, NULL, &error) == TG_OK) continue;
    tgi_cli_error(cli->command, &error);
    return false;
  }
  return true;
}
