// nearest.c: see nearest.h.
#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>

// edit distance with neighbours swapped counted once, up to 3; words longer than 31 are never near
static int distance(const char *a, const char *b) {
  enum { N = 32 };
  size_t na = strlen(a), nb = strlen(b);
  if (na >= N || nb >= N) return 99;
  int d[N][N];
  for (size_t i = 0; i <= na; i++) {
    for (size_t j = 0; j <= nb; j++) {
      if (i == 0 || j == 0) {
        d[i][j] = (int)(i + j);
        continue;
      }
      int cost = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      if (d[i - 1][j] + 1 < cost) cost = d[i - 1][j] + 1;
      if (d[i][j - 1] + 1 < cost) cost = d[i][j - 1] + 1;
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && d[i - 2][j - 2] + 1 < cost) cost = d[i - 2][j - 2] + 1;
      d[i][j] = cost;
    }
  }
  return d[na][nb];
}

const char *tgi_nearest_word(const char *word, const char *const *words, int count) {
  const char *best = NULL;
  size_t n = strlen(word);
  int limit = n <= 4 ? 1 : n <= 8 ? 2 : 3, least = limit + 1;
  for (int i = 0; i < count; i++) {
    int d = distance(word, words[i]);
    if (d < least) {
      least = d;
      best = words[i];
    }
  }
  return best;
}
