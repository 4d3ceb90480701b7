// locale.h: a locale in which 1/2 is written 0,5: an installed one, or one compiled for the test (package locales).
#ifndef TG_TEST_LOCALE_H
#define TG_TEST_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/// Numbers have a decimal comma from here until setlocale(LC_NUMERIC, "C"). False where no such locale is to be had.
static inline bool tgt_comma_locale(void) {
  static const char *const name[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
  for (int i = 0; i < 3; i++)
    if (setlocale(LC_NUMERIC, name[i]) != NULL) return true;
  char folder[] = "/tmp/tangere-locale-XXXXXX", command[200];
  if (mkdtemp(folder) == NULL) return false;
  snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
  bool found = system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL;
  unsetenv("LOCPATH");
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) == 0 && found;
}

#endif
