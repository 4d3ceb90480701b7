// cli.h: the commands of `tangere`: a function each, which returns an exit code.
#ifndef TG_CLI_CLI_H
#define TG_CLI_CLI_H

#include "cli/shared/program.h"

/// The table of commands.
extern const tgCommand tgi_cli_commands[];
extern const int tgi_cli_ncommands;

int tgi_cli_simulate(const tgCli *cli);
int tgi_cli_optimize(const tgCli *cli);
int tgi_cli_gradcheck(const tgCli *cli);
/// What a check of a motion found, as a table or as JSON; an exit code.
int tgi_cli_report_motion(const tgCli *cli, const tgMotionCheckOptions *o, const tgMotionCheck *check);
int tgi_cli_compare(const tgCli *cli);
/// compare --properties: the four properties of a contact potential, measured on every contact model.
int tgi_cli_properties(const tgCli *cli);
/// What compare ends with: json to compare.json of the folder that is asked for and to standard output with --json,
/// then dropped. An exit code.
int tgi_cli_compared(const tgCli *cli, json_t *json, int code);
int tgi_cli_convert(const tgCli *cli);
int tgi_cli_replay(const tgCli *cli);
int tgi_cli_view(const tgCli *cli);
int tgi_cli_bench(const tgCli *cli);
int tgi_cli_batch(const tgCli *cli);
/// batch of a specification, and batch --merge.
int tgi_cli_shards(const tgCli *cli);
int tgi_cli_merge(const tgCli *cli);
int tgi_cli_manual(const tgCli *cli);
int tgi_cli_completion(const tgCli *cli);

/// Becomes the program of that name beside this one, under the command's word, with argument and what follows. Returns
/// only where that is not to be had: an exit code, with the reason printed.
int tgi_cli_become(const char *program, char **argument);

/// Becomes the Python of $TANGERE_PYTHON, else python3, with these arguments, the last NULL; the first is the name of the Python and is
/// filled in. Returns only where that is not to be had: an exit code, with the reason and `needs` printed.
int tgi_cli_become_python(const char *command, const char **argument, const char *needs);

/// Runs `count` rollouts of the task with gradients over a pool; hash of all losses and gradients. False: reason printed.
bool tgi_cli_batch_bits(const tgTask *task, int count, int threads, double *seconds, uint64_t *bits);
/// Pictures and videos of the page that write(ctx, path) makes, as the command line asks. 0 or an exit code with the reason printed.
int tgi_cli_pictures(const tgCli *cli, tgStatus (*write)(void *ctx, const char *path, tgError *error), void *ctx);
/// Serves the page of the command line's folder, renewed while it is open, until interrupted. An exit code.
int tgi_cli_live(const tgCli *cli);
/// Size of pictures, and whether the options fit: false with the reason printed.
bool tgi_cli_picture_options(const tgCli *cli, int *width, int *height);

#endif
