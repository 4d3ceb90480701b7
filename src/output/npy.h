// npy.h: the head of a .npy member: magic, version, length, and a Python dictionary of three keys.
#ifndef TG_OUTPUT_NPY_H
#define TG_OUTPUT_NPY_H

#include "tangere/data.h"

/// Bytes of one element.
size_t tgi_npz_item(tgNpzType type);
/// Number of elements; SIZE_MAX on overflow.
size_t tgi_npz_count(const tgNpzArray *array);

enum { TG_NPY_HEAD = 512 };   ///< bytes that hold any head that we write

/// Writes the head of an array (version 1.0, padded so that data starts at a multiple of 64). Returns its bytes.
size_t tgi_npy_format(char head[TG_NPY_HEAD], const tgNpzArray *array);

/// Reads the head at bytes[0, size) into type, ndim and shape; *offset gets where the data starts. The dictionary has
/// exactly the keys 'descr', 'fortran_order' and 'shape', in any order; reads never past size. `what` is for messages.
tgStatus tgi_npy_parse(const char *what, const uint8_t *bytes, size_t size, tgNpzArray *array, size_t *offset,
                       tgError *error);

#endif
