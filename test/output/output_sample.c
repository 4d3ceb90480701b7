// output_sample.c: writes what the tests in other languages read back: FOLDER/replay.html, arrays.npz, wide0.npz to wide2.npz and loss.csv;
// or
// says what arrays a file holds.
//   output_sample FOLDER [TEMPLATE]     output_sample --read FILE.npz
#include <stdio.h>
#include <string.h>

#include "output/npy.h"
#include "output/zip.h"
#include "output/scene.h"

// one line an array: name, type, shape, sum of elements
static int read_back(const char *path) {
  tgNpz npz;
  tgError error = {0};
  if (tg_npz_read(path, 0, NULL, &npz, &error) != TG_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 2;
  }
  for (int i = 0; i < npz.narray; i++) {
    const tgNpzArray *a = &npz.array[i];
    printf("%s %d (", a->name, a->type);
    for (int k = 0; k < a->ndim; k++) printf("%s%zu", k > 0 ? "," : "", a->shape[k]);
    double sum = 0;
    for (size_t k = 0; k < tgi_npz_count(a); k++) {
      switch (a->type) {
        case TG_NPZ_F8: sum += ((const double *)a->data)[k]; break;
        case TG_NPZ_I4: sum += ((const int32_t *)a->data)[k]; break;
        case TG_NPZ_I8: sum += (double)((const int64_t *)a->data)[k]; break;
        case TG_NPZ_U1: sum += ((const uint8_t *)a->data)[k]; break;
      }
    }
    printf(") %.17g\n", sum);
  }
  tg_npz_free(&npz);
  return 0;
}

// two arrays in an archive whose sizes and places from `wide` on take 64 bits
static bool write_wide(const char *path, const tgNpzArray *array, uint64_t wide) {
  char head[2][TG_NPY_HEAD];
  ZipPart part[2];
  for (int i = 0; i < 2; i++) {
    part[i] = (ZipPart){.head = head[i], .nhead = tgi_npy_format(head[i], &array[i]), .data = array[i].data,
                        .ndata = tgi_npz_count(&array[i]) * tgi_npz_item(array[i].type)};
    snprintf(part[i].name, sizeof part[i].name, "%s.npy", array[i].name);
  }
  FILE *to = fopen(path, "wb");
  return to != NULL && tgi_zip_write(to, part, 2, wide) && fclose(to) == 0;
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--read") == 0) return read_back(argv[2]);
  if (argc < 2 || argc > 3) return 1;
  static tgtScene scene;
  scene_make(&scene);
  const int32_t index[] = {-5, 0, 2147483647};
  const int64_t seed[] = {INT64_MIN, 42};
  const uint8_t raw[] = {0, 1, 254, 255};
  const tgNpzArray array[] = {
      {"body_pos", TG_NPZ_F8, 3, {SCENE_FRAMES, SCENE_BODIES, 3}, scene.pos[1]},
      {"index", TG_NPZ_I4, 1, {3}, index},
      {"seed", TG_NPZ_I8, 1, {2}, seed},
      {"raw", TG_NPZ_U1, 2, {2, 2}, raw},
      {"time", TG_NPZ_F8, 0, {0}, scene.loss_y},
      {"none", TG_NPZ_F8, 2, {0, 7}, NULL},
      {"loss", TG_NPZ_F8, 1, {SCENE_LOSSES}, scene.loss_y},
  };
  const char *const column[] = {"iteration", "loss"};
  double table[2 * SCENE_LOSSES];
  for (int i = 0; i < SCENE_LOSSES; i++) {
    table[2 * i] = scene.loss_x[i];
    table[2 * i + 1] = scene.loss_y[i];
  }
  char path[4096];
  tgError error = {0};
  snprintf(path, sizeof path, "%s/arrays.npz", argv[1]);
  tgStatus status = tg_npz_write(path, array, sizeof array / sizeof *array, &error);
  for (int i = 0; i < 3 && status == TG_OK; i++) {
    snprintf(path, sizeof path, "%s/wide%d.npz", argv[1], i);
    if (!write_wide(path, &array[1], (uint64_t)100 * (uint64_t)i)) return 4;
  }
  snprintf(path, sizeof path, "%s/loss.csv", argv[1]);
  if (status == TG_OK) status = tg_csv_write(path, 2, column, SCENE_LOSSES, table, &error);
  snprintf(path, sizeof path, "%s/replay.html", argv[1]);
  if (status == TG_OK) status = tgi_replay_write(&scene.def, argc == 3 ? argv[2] : NULL, path, &error);
  if (status != TG_OK) fprintf(stderr, "%s\n", error.text);
  return status == TG_OK ? 0 : 4;
}
