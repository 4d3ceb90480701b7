// emit.c: numbers without the locale, JSON strings that cannot leave their element, base64.
#include "output/emit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tgi_format_number(char text[TG_NUMBER_TEXT], double value) {
  if (!isfinite(value)) return strcpy(text, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, TG_NUMBER_TEXT, "%.*g", digits, value);
    // written and read in one locale, so the comparison holds in any
    if (strtod(text, NULL) == value) break;
  }
  // what is neither sign, digit nor exponent is the locale's decimal point, of one or more bytes
  char *to = text;
  bool point = false;
  for (const char *from = text; *from != '\0'; from++) {
    if (strchr("+-0123456789e", *from) != NULL) {
      *to++ = *from;
      point = false;
    } else if (!point) {
      *to++ = '.';
      point = true;
    }
  }
  *to = '\0';
  return text;
}

void tgi_emit_number(FILE *out, double value) {
  char text[TG_NUMBER_TEXT];
  fputs(isfinite(value) ? tgi_format_number(text, value) : "null", out);
}

// bytes of the UTF-8 character at s, 0 when it is malformed, overlong, a surrogate or beyond U+10FFFF
static int utf8_length(const unsigned char *s) {
  if (s[0] < 0x80) return 1;
  int n = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
  if (s[0] < 0xC2 || s[0] > 0xF4) return 0;
  for (int i = 1; i < n; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F)) return 0;
  if ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F)) return 0;
  return n;
}

void tgi_emit_text(FILE *out, const char *text) {
  fputc('"', out);
  for (const unsigned char *s = (const unsigned char *)(text == NULL ? "" : text); *s != '\0';) {
    int n = utf8_length(s);
    if (n == 0) {
      fputs("\\ufffd", out);
      s++;
      continue;
    }
    if (*s == '"' || *s == '\\') fprintf(out, "\\%c", *s);
    else if (*s < 0x20 || *s == 0x7F || *s == '<' || *s == '>' || *s == '&') fprintf(out, "\\u%04x", *s);
    else fwrite(s, 1, (size_t)n, out);
    s += n;
  }
  fputc('"', out);
}

// three bytes as four digits of six bits
static void encode(char digits[4], const uint8_t b[3]) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  digits[0] = alphabet[b[0] >> 2];
  digits[1] = alphabet[(b[0] & 3) << 4 | b[1] >> 4];
  digits[2] = alphabet[(b[1] & 15) << 2 | b[2] >> 6];
  digits[3] = alphabet[b[2] & 63];
}

void tgi_base64_begin(tgBase64 *state, FILE *out) {
  state->out = out;
  state->nheld = 0;
}

void tgi_base64_put(tgBase64 *state, const void *data, size_t bytes) {
  const uint8_t *from = data;
  char digits[4];
  for (size_t i = 0; i < bytes; i++) {
    state->held[state->nheld++] = from[i];
    if (state->nheld < 3) continue;
    encode(digits, state->held);
    fwrite(digits, 1, 4, state->out);
    state->nheld = 0;
  }
}

void tgi_base64_end(tgBase64 *state) {
  int n = state->nheld;
  if (n == 0) return;
  // the missing bytes count as zero and their digits become '='
  uint8_t b[3] = {state->held[0], n > 1 ? state->held[1] : 0, 0};
  char digits[4];
  encode(digits, b);
  fwrite(digits, 1, (size_t)n + 1, state->out);
  fwrite("==", 1, (size_t)(3 - n), state->out);
  state->nheld = 0;
}
