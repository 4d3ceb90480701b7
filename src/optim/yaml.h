// yaml.h: a YAML file read by libcyaml against a schema; errors name file, line and field.
#ifndef TG_OPTIM_YAML_H
#define TG_OPTIM_YAML_H

#include <cyaml/cyaml.h>

#include "tangere/base.h"

/// Parses the text into *out, a pointer to what the schema describes. *out is NULL after an error.
tgStatus tgi_yaml_parse(const char *text, size_t bytes, const char *file, const cyaml_schema_value_t *schema, void **out, tgError *error);
void tgi_yaml_free(const cyaml_schema_value_t *schema, void *data);

#endif
