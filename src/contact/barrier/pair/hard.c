// hard.c: the leaves that harden most, of each pair of geoms and of all. [math/barrier Minimisation]
#include "contact/barrier/pair/hard.h"

int tgi_hard_least(const int count[TGI_HARD_POWERS], long most, long *left) {
  int power = TGI_HARD_POWERS;
  for (; power > 0 && count[power - 1] <= most; power--) most -= count[power - 1];
  *left = most;
  return power;
}

void tgi_hard_begin(tgiHardLog *h) {
  h->n = h->least = h->read = 0;
  h->floor = 0;
  memset(h->count, 0, sizeof h->count);
}

// is it above the least power, or one of the first `left` of the power below?
static bool taken(double growth, int least, long *left) {
  int power = tgi_hard_power(growth);
  return power >= least || (power == least - 1 && (*left)-- > 0);
}

// Of more than `keep` those go that cannot be among the `keep` hardest of all: as many precede each of them, and will precede what comes.
static void press(tgiHardLog *h) {
  long left;
  int n = 0;
  h->least = tgi_hard_least(h->count, h->keep, &left);
  h->floor = ldexp(1, h->least - TGI_HARD_ZERO);
  h->count[h->least - 1] = (int)left;
  memset(h->count, 0, (size_t)(h->least - 1) * sizeof *h->count);
  for (int i = 0; i < h->n; i++)
    if (taken(h->at[i].growth, h->least, &left)) h->at[n++] = h->at[i];
  h->n = n;
}

static void put(const tgiHardLog *h, const tgiHardLeaf *leaf, tgiHardLeaf *to) {
  *to = *leaf;
  to->pair = h->pair;
}

static void note_among_all(tgiHardLog *h, const tgiHardLeaf *leaf) {
  int power = tgi_hard_power(leaf->growth);
  if (h->keep == 0) return;
  if (power >= h->least && h->n == 2 * h->keep) press(h);
  if (power < h->least) return;
  h->count[power]++;
  put(h, leaf, &h->at[h->n++]);
}

// the leaf at place k goes down to where none below it grows less
static void sink(tgiHardLeaves *h, int k) {
  const tgiHardLeaf leaf = h->at[k];
  for (int below = 2 * k + 1; below < h->n; k = below, below = 2 * k + 1) {
    if (below + 1 < h->n && h->at[below + 1].growth < h->at[below].growth) below++;
    if (!(h->at[below].growth < leaf.growth)) break;
    h->at[k] = h->at[below];
    h->at[below] = leaf;
  }
}

void tgi_hard_note(tgiHardLog *h, const tgiHardLeaf *leaf) {
  tgiHardLeaf least;
  tgiHardLeaves *own = &h->own;
  if (own->n < h->few) {
    put(h, leaf, &own->at[own->n++]);
    for (int k = own->n / 2 - 1; own->n == h->few && k >= 0; k--) sink(own, k);
    return;
  }
  if (h->few > 0 && leaf->growth > own->at[0].growth) {
    least = own->at[0];
    put(h, leaf, &own->at[0]);
    sink(own, 0);
    leaf = &least;
  }
  note_among_all(h, leaf);
}

void tgi_hard_gather(tgiHardLog *const *log, int nlog, tgiHardLeaves *to, int n, tgiHardLeaf *at) {
  int *count = log[0]->count, k = 0;
  long left;
  for (int t = 1; t < nlog; t++)
    for (int i = 0; i < TGI_HARD_POWERS; i++) count[i] += log[t]->count[i];
  int least = tgi_hard_least(count, log[0]->keep, &left);
  for (int i = 0; i < n; i++) {
    tgiHardLeaves *h = &to[i];
    if (h->n > 0) memcpy(at + k, h->at, (size_t)h->n * sizeof *at);
    h->own = h->n;
    h->at = at + k;
    for (int t = 0; t < nlog; t++)
      for (; log[t]->read < log[t]->n && log[t]->at[log[t]->read].pair == i; log[t]->read++)
        if (taken(log[t]->at[log[t]->read].growth, least, &left)) h->at[h->n++] = log[t]->at[log[t]->read];
    k += h->n;
  }
}

long tgi_hard_within(tgiHardLeaves *h, int n, double gap, long most) {
  int count[TGI_HARD_POWERS] = {0};
  long left, all = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < h[i].n; k++) {
      if (!(h[i].at[k].gap < gap)) continue;
      if (k < h[i].own) most--;
      else count[tgi_hard_power(h[i].at[k].growth)]++;
    }
  int least = tgi_hard_least(count, most > 0 ? most : 0, &left);
  for (int i = 0; i < n; i++) {
    int kept = 0, own = 0;
    for (int k = 0; k < h[i].n; k++) {
      if (!(h[i].at[k].gap < gap) || (k >= h[i].own && !taken(h[i].at[k].growth, least, &left))) continue;
      own += k < h[i].own;
      h[i].at[kept++] = h[i].at[k];
    }
    h[i].n = kept;
    h[i].own = own;
    all += kept;
  }
  return all;
}
