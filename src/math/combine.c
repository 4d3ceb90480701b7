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
