// number.c: see number.h. A number is scanned here, up to the given end; what was scanned is handed on in a short
// buffer to the C library's conversion in the "C" locale, which rounds correctly.
#include "io/number.h"

#include <fenv.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  TOKEN_MAX = 1 << 20,   // longest text that is still called a number
  DIGIT_MAX = 800        // a double is decided by 768 digits and whether anything but zeros follows
};

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

const char *tgi_skip_space(const char *text, const char *end) {
  while (text < end && is_space(*text)) text++;
  return text;
}

// length of `word` when text begins with it, in any case; 0 else
static size_t match(const char *text, const char *end, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(end - text) < n) return 0;
  for (size_t i = 0; i < n; i++)
    if ((text[i] | 0x20) != word[i]) return 0;
  return n;
}

// 10^0 to 10^22 are exact in a double, and so is an integer below 2^53: one multiplication or division of the two
// is then correctly rounded
static double small(long long digits, int exponent) {
  static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  return exponent < 0 ? (double)digits / power[-exponent] : (double)digits * power[exponent];
}

// 0.d1d2d3... x 10^exponent for the digits in buffer, through the C library
static double large(char *buffer, size_t n, long exponent) {
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (c == (locale_t)0) return NAN;
  snprintf(buffer + n, 32, "e%ld", exponent - (long)n);
  int rounding = fegetround();
  fesetround(FE_TONEAREST);              // the C library asks for the mode itself, and not the one of the SSE unit
  double x = strtod_l(buffer, NULL, c);
  fesetround(rounding);
  freelocale(c);
  return x;
}

// "infinity", "inf" or "nan" at p: where it ends, NULL: none of them is there
static const char *read_word(const char *p, const char *end, bool negative, double *value) {
  size_t n = match(p, end, "infinity");
  if (n == 0) n = match(p, end, "inf");
  if (n > 0) *value = negative ? -INFINITY : INFINITY;
  else if ((n = match(p, end, "nan")) > 0) *value = NAN;
  return n > 0 ? p + n : NULL;
}

// The digits of a number before its exponent: 0.d1d2d3... x 10^exponent. Significant ones go to the buffer; leading zeros and everything
// past DIGIT_MAX only move the exponent.
typedef struct Digits {
  char buffer[DIGIT_MAX + 40];
  size_t n;
  long exponent;
  bool any, sticky;   // there is one; one that is not 0 is past DIGIT_MAX
} Digits;

static const char *read_digits(const char *p, const char *end, Digits *d) {
  bool point = false;
  d->n = 0;
  d->exponent = 0;
  d->any = d->sticky = false;
  for (; p < end && (is_digit(*p) || (*p == '.' && !point)); p++) {
    if (*p == '.') {
      point = true;
      continue;
    }
    d->any = true;
    if (d->n == 0 && *p == '0') {
      d->exponent -= point;
      continue;
    }
    if (d->n < DIGIT_MAX) d->buffer[d->n++] = *p;
    else d->sticky = d->sticky || *p != '0';
    d->exponent += !point;
  }
  return p;
}

// an exponent at p, if there is one: where it ends; added to *exponent
static const char *read_exponent(const char *p, const char *end, long *exponent) {
  static const long most = 100000000;
  if (p == end || (*p != 'e' && *p != 'E')) return p;
  const char *e = p + 1;
  bool down = e < end && *e == '-';
  if (e < end && (*e == '-' || *e == '+')) e++;
  if (e == end || !is_digit(*e)) return p;
  long given = 0;
  for (; e < end && is_digit(*e); e++)
    if (given < most) given = 10 * given + (*e - '0');
  *exponent += down ? -given : given;
  return e;
}

// rounded to nearest
static double value_of(Digits *d) {
  long shift = d->exponent - (long)d->n;
  if (d->n == 0) return 0;
  if (d->n <= 15 && shift >= -22 && shift <= 22) {
    long long digits = 0;
    for (size_t i = 0; i < d->n; i++) digits = 10 * digits + (d->buffer[i] - '0');
    return small(digits, (int)shift);
  }
  if (d->sticky) d->buffer[d->n++] = '1';
  return large(d->buffer, d->n, d->exponent);
}

const char *tgi_number(const char *text, const char *end, double *value) {
  const char *p = text;
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  const char *word = read_word(p, end, negative, value);
  if (word != NULL) return word;
  Digits d;
  p = read_digits(p, end - text < TOKEN_MAX ? end : text + TOKEN_MAX, &d);
  if (!d.any || p - text >= TOKEN_MAX) return NULL;
  p = read_exponent(p, end, &d.exponent);
  if (p - text >= TOKEN_MAX) return NULL;
  double x = value_of(&d);
  *value = negative ? -x : x;
  return p;
}

const char *tgi_integer(const char *text, const char *end, int *value) {
  const char *p = text;
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  if (p >= end || !is_digit(*p)) return NULL;
  long long x = 0;
  for (; p < end && is_digit(*p); p++) {
    x = 10 * x + (*p - '0');
    if (x > (long long)INT_MAX + 1) return NULL;
  }
  if (negative) x = -x;
  if (x > INT_MAX || x < INT_MIN) return NULL;
  *value = (int)x;
  return p;
}
