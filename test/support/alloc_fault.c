// alloc_fault.c: a library to preload, under which the n-th allocation of a program fails.
//
// Those count that code of certain loaded objects asks for, by malloc and its kin or by C++'s operator new: of the objects whose path has
// one of the words of TANGERE_ALLOC_OF (by ':'), or of all. Nothing counts until it is armed:
//
//   TANGERE_ALLOC_FAULT   "n:times" arms from the program's start: from the n-th on (the first is 1) so many fail, 0: all; n = 0: none
//   TANGERE_ALLOC_LOG     a file that is given the count of an armed program at its end
//   tgt_alloc_fault(n, times)   arms from now on, for interpreters; tgt_alloc_fault_end() disarms and gives the count
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void tgt_alloc_fault(long n, long times);
long tgt_alloc_fault_end(void);

enum { RANGES = 256 };

static struct {
  _Atomic bool armed;
  _Atomic long count;
  long at, times;
  bool every;
  int nrange;
  uintptr_t begin[RANGES], end[RANGES];   // code of the objects that count
} state;

static bool named(const char *path, const char *words) {
  for (const char *end; *words != '\0'; words = *end == ':' ? end + 1 : end) {
    end = strchrnul(words, ':');
    char word[64];
    size_t n = (size_t)(end - words);
    if (n == 0 || n >= sizeof word) continue;
    memcpy(word, words, n);
    word[n] = '\0';
    if (strstr(path, word) != NULL) return true;
  }
  return false;
}

static int add(struct dl_phdr_info *info, size_t size, void *words) {
  (void)size;
  // the program itself has no name
  if (!named(info->dlpi_name[0] != '\0' ? info->dlpi_name : "program", words)) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || (p->p_flags & PF_X) == 0) continue;
    if (state.nrange == RANGES) abort();
    state.begin[state.nrange] = info->dlpi_addr + p->p_vaddr;
    state.end[state.nrange++] = info->dlpi_addr + p->p_vaddr + p->p_memsz;
  }
  return 0;
}

void tgt_alloc_fault(long n, long times) {
  const char *words = getenv("TANGERE_ALLOC_OF");
  state.armed = false;
  state.nrange = 0;
  state.every = words == NULL;
  if (words != NULL) dl_iterate_phdr(add, (void *)(uintptr_t)words);
  state.count = 0;
  state.at = n;
  state.times = times;
  state.armed = true;
}

long tgt_alloc_fault_end(void) {
  state.armed = false;
  return state.count;
}

static bool fails(const void *caller) {
  if (!state.armed) return false;
  bool counts = state.every;
  for (int i = 0; i < state.nrange && !counts; i++) counts = (uintptr_t)caller >= state.begin[i] && (uintptr_t)caller < state.end[i];
  if (!counts) return false;
  long n = ++state.count;
  if (state.at == 0 || n < state.at || (state.times != 0 && n >= state.at + state.times)) return false;
  errno = ENOMEM;
  return true;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t bytes) { return fails(CALLER) ? NULL : __libc_malloc(bytes); }
void *calloc(size_t n, size_t bytes) { return fails(CALLER) ? NULL : __libc_calloc(n, bytes); }
void *realloc(void *block, size_t bytes) { return fails(CALLER) ? NULL : __libc_realloc(block, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return fails(CALLER) ? NULL : __libc_memalign(alignment, bytes); }
void *memalign(size_t alignment, size_t bytes) { return fails(CALLER) ? NULL : __libc_memalign(alignment, bytes); }
int posix_memalign(void **block, size_t alignment, size_t bytes) {
  void *p = fails(CALLER) ? NULL : __libc_memalign(alignment, bytes);
  if (p == NULL) return ENOMEM;
  *block = p;
  return 0;
}
char *strdup(const char *text) {
  size_t n = strlen(text) + 1;
  char *p = fails(CALLER) ? NULL : __libc_malloc(n);
  return p != NULL ? memcpy(p, text, n) : NULL;
}

// operator new, and its kin for arrays: what fails throws std::bad_alloc
static void *created(size_t bytes, const void *caller) {
  void *p = fails(caller) ? NULL : __libc_malloc(bytes > 0 ? bytes : 1);
  if (p != NULL) return p;
  void (*thrown)(void) = NULL;
  // which a module may have loaded for itself alone
  void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  *(void **)&thrown = library != NULL ? dlsym(library, "_ZSt17__throw_bad_allocv") : NULL;
  if (thrown == NULL) abort();
  thrown();
  abort();
}
void *_Znwm(size_t bytes);
void *_Znam(size_t bytes);
void *_Znwm(size_t bytes) { return created(bytes, CALLER); }
void *_Znam(size_t bytes) { return created(bytes, CALLER); }

__attribute__((constructor)) static void start(void) {
  const char *fault = getenv("TANGERE_ALLOC_FAULT");
  long n, times;
  if (fault == NULL) return;
  if (sscanf(fault, "%ld:%ld", &n, &times) != 2) abort();
  tgt_alloc_fault(n, times);
}

__attribute__((destructor)) static void finish(void) {
  const char *log = getenv("TANGERE_ALLOC_LOG");
  char text[32];
  if (!state.armed || log == NULL) return;
  int n = snprintf(text, sizeof text, "%ld\n", tgt_alloc_fault_end()), fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0 || write(fd, text, (size_t)n) != n) abort();
  close(fd);
}
