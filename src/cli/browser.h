// browser.h: a Chromium of this machine, without a window, driven over a pipe (the DevTools protocol): opens a
// page, runs expressions in it.
#ifndef TG_CLI_BROWSER_H
#define TG_CLI_BROWSER_H

#include <jansson.h>

#include "tangere/base.h"

typedef struct tgiBrowser tgiBrowser;

/// The Chromium that would be started: $CHROMIUM, else the first of the usual names on the PATH. NULL: there is none.
const char *tgi_browser_path(char path[1024]);
/// The program of that name on the PATH; NULL: there is none.
const char *tgi_program_path(const char *name, char path[1024]);
/// Starts it with an empty profile in a folder of its own and opens `url`. NULL: the error says what is missing or went wrong.
tgiBrowser *tgi_browser_open(const char *url, int width, int height, bool dark, tgError *error);
/// The folder of the profile, which goes with the browser: room for files that it is to open.
const char *tgi_browser_folder(const tgiBrowser *browser);
/// Goes to another page.
tgStatus tgi_browser_go(tgiBrowser *browser, const char *url, tgError *error);
/// Value of an expression in the page, waiting for a promise; to be dropped by the caller. NULL: the error says why: an
/// exception, no answer within `seconds`, an interrupt (TG_CANCELLED).
json_t *tgi_browser_eval(tgiBrowser *browser, const char *expression, double seconds, tgError *error);
/// Ends it and removes its folder. NULL is allowed.
void tgi_browser_close(tgiBrowser *browser);

#endif
