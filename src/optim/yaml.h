// yaml.h: a YAML file read by libcyaml against a schema; errors name file, line and field.
#ifndef TG_OPTIM_YAML_H
#define TG_OPTIM_YAML_H

#include <cyaml/cyaml.h>
#include <yaml.h>

#include "tangere/base.h"

/// Parses the text into *out, a pointer to what the schema describes. *out is NULL after an error.
tgStatus tgi_yaml_parse(const char *text, size_t bytes, const char *file, const cyaml_schema_value_t *schema, void **out, tgError *error);
/// Reads on to the value of a key of the outermost mapping: *event, zeros before, is the first of it. False: there is no such key, or the
/// text ends or is wrong before, or with YAML_MEMORY_ERROR in parser->error. yaml_event_delete(event) at the end.
bool tgi_yaml_find(yaml_parser_t *parser, yaml_event_t *event, const char *key);
/// The same of the mapping that *event is the start of. False: *event is its end. A NULL key is in no mapping.
bool tgi_yaml_find_in(yaml_parser_t *parser, yaml_event_t *event, const char *key);
/// Line and column, from 1 on, of the value of a key of the outermost mapping; item 0, 1, ...: of that one of a list of mappings. False:
/// there is no such place.
bool tgi_yaml_place(const char *text, size_t bytes, const char *key, int item, int *line, int *column);
void tgi_yaml_free(const cyaml_schema_value_t *schema, void *data);

#endif
