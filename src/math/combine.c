// combine.c: see combine.h. Sixteen neighbouring sums are kept while the rows pass.
#include "math/combine.h"

TGI_INLINE void block(int count, const tgReal *w, const int *at, const tgReal *X, tgReal *out, const int W) {
  tgVec sum[4];
  for (int c = 0; c < W / TGI_LANES; c++) tgi_vec_load(&sum[c], out + TGI_LANES * c);
  for (int k = 0; k < count; k++)
    for (int c = 0; c < W / TGI_LANES; c++) tgi_vec_add(&sum[c], w[k], X + at[k] + TGI_LANES * c);
  for (int c = 0; c < W / TGI_LANES; c++) tgi_vec_store(&sum[c], out + TGI_LANES * c);
}

void TGI_ISA(tgi_combine)(int count, const tgReal *w, const int *at, const tgReal *X, int n, tgReal *out) {
  int c = 0;
  for (; c + 16 <= n; c += 16) block(count, w, at, X + c, out + c, 16);
  for (; c + 8 <= n; c += 8) block(count, w, at, X + c, out + c, 8);
  for (; c + 4 <= n; c += 4) block(count, w, at, X + c, out + c, 4);
}

void TGI_ISA(tgi_add_scaled)(int n, tgReal f, const tgReal *x, tgReal *out) {
  int c = 0;
  for (; c + TGI_LANES <= n; c += TGI_LANES) {
    tgVec sum;
    tgi_vec_load(&sum, out + c);
    tgi_vec_add(&sum, f, x + c);
    tgi_vec_store(&sum, out + c);
  }
  for (; c < n; c++) out[c] += f * x[c];
}

// 0 x is 0 of all but those that are not
bool TGI_ISA(tgi_all_finite)(int n, const tgReal *x) {
  tgVec lanes;
  tgReal sum = 0;
  int c = 0;
  tgi_vec_set(&lanes, 0);
  for (; c + TGI_LANES <= n; c += TGI_LANES) tgi_vec_add(&lanes, 0, x + c);
  for (; c < n; c++) sum += 0 * x[c];
  return tgZero(sum + tgi_vec_total(&lanes));
}
