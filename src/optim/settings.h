// settings.h: options of contact models as a task has them: by name, for whichever contact model runs.
#ifndef TG_OPTIM_SETTINGS_H
#define TG_OPTIM_SETTINGS_H

#include "tangere/contact.h"

/// name: "erp", or "lcp.erp" for that contact model alone. line, column: in the task's file, 0: not from it.
typedef struct tgSetting { char name[64], value[64]; int line, column; } tgSetting;
/// In the order given: a later one of the same name counts.
typedef struct tgSettings { tgAllocator alloc; int n; tgSetting *setting; } tgSettings;

/// Takes a copy. TG_ERR_ARG: too long.
tgStatus tgi_settings_add(tgSettings *s, const char *name, const char *value, int line, int column, tgError *error);
void tgi_settings_free(tgSettings *s);
/// Takes the setting of that name out; its value into `value`. False: there is none.
bool tgi_settings_take(tgSettings *s, const char *name, char value[64]);
/// Those of the mapping `key` of a task file ("options", "gradient"), which the schema of the rest leaves out: its
/// names are those of the contact models' lists. A scalar in its place is the setting `word`; NULL: that is an error.
tgStatus tgi_settings_read(tgSettings *s, const char *key, const char *word, const char *text, size_t bytes,
                           const char *file, tgError *error);
/// Those of the mapping `options` of item k, from 0 on, of the list `refine`, which has more than k.
tgStatus tgi_settings_read_stage(tgSettings *s, int k, const char *text, size_t bytes, const char *file, tgError *error);
/// Appends those of `more`.
tgStatus tgi_settings_append(tgSettings *s, const tgSettings *more, tgError *error);
/// Options of the contact model `word` with all settings that it has; more (may be NULL) come after them. An error
/// carries the place of the setting.
tgStatus tgi_settings_apply(const tgSettings *s, const tgSettings *more, const char *word, tgAnyContactOptions *options, tgError *error);

#endif
