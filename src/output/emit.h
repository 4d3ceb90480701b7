// emit.h: text pieces of output files, the same in every locale: numbers, JSON strings, base64.
#ifndef TG_OUTPUT_EMIT_H
#define TG_OUTPUT_EMIT_H

#include <stdio.h>

#include "tangere/base.h"

enum { TG_NUMBER_TEXT = 32 };   ///< bytes that hold any formatted number

/// The shortest of %.15g, %.16g and %.17g that reads back to the same double, with '.' in every locale. Not finite:
/// "nan", "inf", "-inf". Returns text.
const char *tgi_format_number(char text[TG_NUMBER_TEXT], double value);

/// A JSON number; null when it is not finite, which JSON cannot say.
void tgi_emit_number(FILE *out, double value);
/// A JSON string, safe inside an HTML script element: '<', '>' and '&' are escaped, bytes that are not UTF-8 become
/// U+FFFD. NULL gives "".
void tgi_emit_text(FILE *out, const char *text);

/// Streaming base64: begin, any number of puts, end. No quotes.
typedef struct tgBase64 {
  FILE *out;
  uint8_t held[3];
  int nheld;
} tgBase64;
void tgi_base64_begin(tgBase64 *state, FILE *out);
void tgi_base64_put(tgBase64 *state, const void *data, size_t bytes);
void tgi_base64_end(tgBase64 *state);

#endif
