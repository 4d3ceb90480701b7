// csv.h: tables of numbers as comma-separated text (loss.csv).
#ifndef TG_OUTPUT_CSV_H
#define TG_OUTPUT_CSV_H

#include "tangere/base.h"

/// Writes a header line of ncolumn names and nrow lines of data (row-major, nrow x ncolumn), whole or not at all. Numbers
/// read back to the same double; '.' in every locale; not finite: nan, inf, -inf. Names with comma, quote or line
/// break are quoted. error may be NULL.
tgStatus tgi_csv_write(const char *path, int ncolumn, const char *const *name, int nrow, const double *data,
                       tgError *error);

#endif
