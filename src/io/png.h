// png.h: heights of PNG images.
#ifndef TG_IO_PNG_H
#define TG_IO_PNG_H

#include "base/status.h"
#include "tangere/desc.h"

/// The image as a byte a pixel, rows from the top, as MuJoCo reads heights: what is grey or, of colours, red; of 16 bits the upper 8;
/// without regard to transparency or gamma. Sides from 2 to most_side. *pixel is the allocator's, NULL after an error.
/// TG_ERR_UNSUPPORTED: this build has no libpng, or the one that is there is another; TG_ERR_PARSE: it is damaged; TG_ERR_LIMIT: too many
/// pixels; TG_ERR_INVALID: too few; TG_ERR_MEMORY.
tgStatus tgi_png_heights(const char *data, size_t size, int most_side, const tgAllocator *allocator, unsigned char **pixel,
                         int *nrow, int *ncol, tgError *error);

#endif
