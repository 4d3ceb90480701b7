// base.h: version, export mark, scalar, status codes, error record, allocator.
//
// NULL in place of an object or array that a function needs does no harm, in all headers: what returns a tgStatus returns
// TG_ERR_ARG; what makes an object returns NULL, with TG_ERR_ARG in its tgError; what frees does nothing, as does what returns
// nothing; numbers are 0, indices -1, pointers NULL. What may be NULL because it can be left out says so.
#ifndef TANGERE_BASE_H
#define TANGERE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_VERSION_MAJOR 0  ///< version of these headers; tg_version gives that of the library
#define TG_VERSION_MINOR 1
#define TG_VERSION_PATCH 0
#define TG_VERSION_TEXT "0.1.0"

#define TG_HASH_START 0xCBF29CE484222325u  ///< value that tg_hash starts from

#if defined(__GNUC__)
#define TG_API __attribute__((visibility("default")))  ///< marks what the library exports, and lets compilers check formats
#define TG_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define TG_API
#define TG_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// Scalar of every kernel. The complex build (tests, and inside the library: docs/decisions/0011) differentiates by complex step.
#ifdef TG_COMPLEX
typedef double _Complex tgReal;
#else
typedef double tgReal;  ///< the scalar: double, but for the complex build
#endif

/// Status codes: X(name, value, text). Negative: nothing was done; positive: a numerical outcome.
#define TG_STATUS_LIST(X)                                                                   \
  X(TG_OK, 0, "ok")                                                                         \
  X(TG_NOT_CONVERGED, 1, "the step's solver did not converge; see tgStepInfo")               \
  X(TG_CANCELLED, 2, "cancelled by the caller")                                              \
  X(TG_ERR_ARG, -1, "bad argument")                                                         \
  X(TG_ERR_MEMORY, -2, "out of memory")                                                     \
  X(TG_ERR_CAPACITY, -3, "scratch too small; reserve more and repeat, nothing was changed")  \
  X(TG_ERR_FILE, -4, "file cannot be read or written")                                      \
  X(TG_ERR_PARSE, -5, "malformed input")                                                    \
  X(TG_ERR_UNSUPPORTED, -6, "would change physics and is not supported")                     \
  X(TG_ERR_INVALID, -7, "invalid model")                                                    \
  X(TG_ERR_NOT_FINITE, -8, "a value is not finite")                                          \
  X(TG_ERR_STATE, -9, "call out of order")                                                  \
  X(TG_ERR_LIMIT, -10, "a configured limit was reached")                                     \
  X(TG_ERR_INTERNAL, -11, "internal error, please report")                                  \
  X(TG_ERR_DISK, -12, "the disk is full or fails")

typedef enum tgStatus {  ///< What a call came to.
#define X(name, value, text) name = value,
  TG_STATUS_LIST(X)
#undef X
} tgStatus;

/// One-line text of a status, never NULL.
TG_API const char *tg_status_text(tgStatus status);

/// Version text, "major.minor.patch".
TG_API const char *tg_version(void);

/// What went wrong, for calls that have no object yet (loaders) and for sims. Caller-owned; `text`
/// is a complete sentence that names the culprit and what to do. line and column are 0 when unknown.
typedef struct tgError {
  tgStatus status;                 ///< what kind of failure
  int line, column;                ///< in `file`, from 1
  char file[256];                  ///< the file that was read, "" when none
  char element[96];                ///< the element, field or option at fault, "" when none
  char text[640];                  ///< for people
} tgError;

/// 64-bit hash (FNV-1a) of bytes, to compare runs bit by bit and to name inputs, not against adversaries. Continues
/// `hash`, TG_HASH_START to begin with: the split into calls does not matter.
TG_API uint64_t tg_hash(uint64_t hash, const void *data, size_t bytes);

/// Random number `index` of `stream` under `seed`, uniform in [0, 1) with 53 bits [Philox]. There is no state: any
/// order of calls, any number of threads and any resumption give the same numbers.
TG_API double tg_random_uniform(uint64_t seed, uint64_t stream, uint64_t index);
/// The same, standard normal.
TG_API double tg_random_normal(uint64_t seed, uint64_t stream, uint64_t index);

/// Memory hooks. A NULL allocator means malloc, realloc, free. `ctx` is handed back.
typedef struct tgAllocator {
  void *ctx;                       ///< handed to each hook
  void *(*alloc)(void *ctx, size_t bytes);              ///< uninitialised, 64-byte aligned not required
  void *(*realloc)(void *ctx, void *block, size_t bytes);  ///< block may be NULL; the old one stays when there is no memory
  void (*free)(void *ctx, void *block);                 ///< block may be NULL
} tgAllocator;

#ifdef __cplusplus
}
#endif
#endif
