// pattern_wide.c: see pattern_wide.h. Each entry of an update, a product and a step down goes through the operations of the plain loop in
// their order; the sums of a step up are of four parts, whatever the processor.
#include "math/pattern_wide.h"

// W neighbouring entries of y, each with the sum of w[r] x[r m + c]
TGI_INLINE void add(int n, size_t m, const tgReal *w, const tgReal *x, tgReal *y, const int W) {
  tgVec sum[4];
  for (int c = 0; c < W / TGI_LANES; c++) tgi_vec_load(&sum[c], y + TGI_LANES * c);
  for (int r = 0; r < n; r++)
    for (int c = 0; c < W / TGI_LANES; c++) tgi_vec_add(&sum[c], w[r], x + (size_t)r * m + TGI_LANES * c);
  for (int c = 0; c < W / TGI_LANES; c++) tgi_vec_store(&sum[c], y + TGI_LANES * c);
}

// What is left behind the last whole vector goes with the numbers before it, as they were before that: their sums are the same twice.
TGI_INLINE void add_rows(int n, size_t m, const tgReal *w, const tgReal *x, int count, tgReal *y) {
  int c = 0, last = count - TGI_LANES;
  bool again = last > 0 && last % TGI_LANES != 0;
  tgVec tail;
  if (again) {
    tgi_vec_load(&tail, y + last);
    for (int r = 0; r < n; r++) tgi_vec_add(&tail, w[r], x + (size_t)r * m + last);
  }
  for (; c + 16 <= count; c += 16) add(n, m, w, x + c, y + c, 16);
  for (; c + 8 <= count; c += 8) add(n, m, w, x + c, y + c, 8);
  for (; c + 4 <= count; c += 4) add(n, m, w, x + c, y + c, 4);
  if (again) {
    tgi_vec_store(&tail, y + last);
    return;
  }
  for (; c < count; c++) {
    tgReal sum = y[c];
    for (int r = 0; r < n; r++) sum += w[r] * x[(size_t)r * m + (size_t)c];
    y[c] = sum;
  }
}

void TGI_ISA(tgi_panel_update)(const tgiPanelUpdate *u, const tgReal *L, const tgReal *U, tgReal *Ub, tgReal *w) {
  size_t m = (size_t)u->m;
  for (int i = 0; i < u->rows; i++) {
    tgReal *to = Ub + (size_t)i * (size_t)u->width;
    for (int r = 0; r < u->n; r++) w[r] = -L[(size_t)r * m + (size_t)(u->from + i)];
    for (int j = 0; j < u->runs; j++) {
      int skip = j == 0 ? i : 0;
      add_rows(u->n, m, w, U + u->run[j].from + skip, u->run[j].count - skip, to + u->run[j].to + skip);
    }
  }
}

void TGI_ISA(tgi_panel_multiply)(int n, int m, const tgReal *B, tgReal *S, tgReal *work) {
  size_t width = (size_t)m;
  for (int c = n; c < m; c += TGI_LANES) {
    int wide = m - c < TGI_LANES ? m - c : TGI_LANES;
    for (int r = 0; r < n; r++)
      for (int k = 0; k < TGI_LANES; k++) work[TGI_LANES * r + k] = k < wide ? S[(size_t)r * width + (size_t)(c + k)] : 0;
    for (int r = 0; r < n; r++) {
      tgVec sum;
      tgi_vec_set(&sum, 0);
      for (int q = 0; q < n; q++) tgi_vec_add(&sum, B[(size_t)q * width + (size_t)r], work + TGI_LANES * q);
      tgi_vec_put(&sum, wide, S + (size_t)r * width + (size_t)c);
    }
  }
}

void TGI_ISA(tgi_panel_down)(int n, int m, const tgReal *S, const tgReal *f, tgReal *x) {
  size_t width = (size_t)m;
  int c = n;
  for (; c + TGI_LANES <= m; c += TGI_LANES) {
    tgVec sum;
    tgi_vec_load(&sum, x + c);
    for (int r = 0; r < n; r++) tgi_vec_sub(&sum, f[r], S + (size_t)r * width + c);
    tgi_vec_store(&sum, x + c);
  }
  for (; c < m; c++)
    for (int r = 0; r < n; r++) x[c] -= f[r] * S[(size_t)r * width + (size_t)c];
}

void TGI_ISA(tgi_panel_up)(int n, int m, const tgReal *S, const tgReal *x, tgReal *y) {
  for (int r = 0; r < n; r++) {
    const tgReal *row = S + (size_t)r * (size_t)m;
    int c = n;
    tgVec sum;
    tgi_vec_set(&sum, 0);
    for (; c + TGI_LANES <= m; c += TGI_LANES) tgi_vec_dot(&sum, row + c, x + c);
    y[r] = tgi_vec_total(&sum);
    for (; c < m; c++) y[r] += row[c] * x[c];
  }
}

void TGI_ISA(tgi_panel_outer)(const tgiPanelOuter *o, const tgReal *y, const tgReal *x, tgReal *to, tgReal *w) {
  for (int r = 0; r < o->rows; r++) {
    for (int t = 0; t < o->terms; t++) w[t] = y[(size_t)t * (size_t)o->apart + (size_t)r];
    add_rows(o->terms, (size_t)o->apart, w, x, o->columns, to + (size_t)r * (size_t)o->width);
  }
}
