// number.h: numbers from text, the same in every locale, never past the given end.
#ifndef TG_IO_NUMBER_H
#define TG_IO_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/// Parses one decimal number at text (no leading space). Accepts sign, digits, '.', exponent, and nan / inf / infinity
/// in any case, which the caller judges by isfinite. Correctly rounded. Overflow gives infinity, underflow 0 or a
/// denormal. Returns the first character after it, NULL when there is no number. A token longer than 1 MB is none.
const char *tgi_number(const char *text, const char *end, double *value);
/// The same for a decimal integer; NULL also when it does not fit in int.
const char *tgi_integer(const char *text, const char *end, int *value);
/// First character in [text, end) that is not a space, tab, newline, return, form feed or vertical tab.
const char *tgi_skip_space(const char *text, const char *end);

#endif
