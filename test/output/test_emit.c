// test_emit.c: numbers, JSON strings, base64 and CSV, in the C locale and in one with a decimal comma.
#include "support/locale.h"
#include "output/emit.h"

#include <jansson.h>

#include "tangere/data.h"
#include "output/folder.h"

static uint64_t bits(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static void test_numbers_read_back(void **state) {
  (void)state;
  char text[TG_NUMBER_TEXT];
  const double odd[] = {0, -0.0, 0.1, 1.0 / 3, 1e-310, 5e-324, 1.7976931348623157e308, -2.5e-7, 123456789012345680.0};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
    assert_true(bits(strtod(tgi_format_number(text, odd[i]), NULL)) == bits(odd[i]));
  tgtRandom r = {7};
  for (int i = 0; i < 20000; i++) {
    uint64_t u = tgt_next(&r);
    double x;
    memcpy(&x, &u, sizeof x);
    if (!isfinite(x)) continue;
    double back = strtod(tgi_format_number(text, x), NULL);
    check_true(bits(back) == bits(x), "%s reads back as %.17g, not %.17g", text, back, x);
  }
  assert_string_equal(tgi_format_number(text, 0.1), "0.1");
  assert_string_equal(tgi_format_number(text, NAN), "nan");
  assert_string_equal(tgi_format_number(text, -INFINITY), "-inf");
}

// the text that an emitter writes, malloc'd
static char *emitted(void (*emit)(FILE *, const void *), const void *what) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  emit(out, what);
  fclose(out);
  return text;
}
static void emit_text(FILE *out, const void *what) { tgi_emit_text(out, what); }
static void emit_number(FILE *out, const void *what) { tgi_emit_number(out, *(const double *)what); }

// jansson reads the string back, and no byte of it can end or open an HTML element
static void test_strings(void **state) {
  (void)state;
  const char *const plain[] = {"", "cheetah", "a \"quoted\" \\ one", "</script><script>alert(1)</script>", "<!--", "tab\tline\nend",
                               "\x01\x1f\x7f", "Größe 体 😀",
                               "\xc2\x80 \xc2\xbf \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf", "&amp;"};
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    char *text = emitted(emit_text, plain[i]);
    assert_null(strpbrk(text, "<>&\n"));
    json_t *back = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_string_equal(json_string_value(back), plain[i]);
    json_decref(back);
    free(text);
  }
  // malformed, overlong, surrogate, cut and too large: each bad byte becomes U+FFFD
  const char *const bad[] = {"\xff", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xe4\xbd", "\xf4\x90\x80\x80", "\x80",
                             "\xc1\xbf", "\xf0\x8f\xbf\xbf", "\xf5\x80\x80\x80"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char *text = emitted(emit_text, bad[i]), want[64] = "\"";
    for (size_t k = 0; k < strlen(bad[i]); k++) strcat(want, "\\ufffd");
    assert_string_equal(text, strcat(want, "\""));
    free(text);
  }
}

static void test_numbers_in_json(void **state) {
  (void)state;
  const double x[] = {0.25, NAN, INFINITY};
  const char *const want[] = {"0.25", "null", "null"};
  for (int i = 0; i < 3; i++) {
    char *text = emitted(emit_number, &x[i]);
    assert_string_equal(text, want[i]);
    free(text);
  }
}

// RFC 4648 section 10, in one put and byte by byte
static void test_base64(void **state) {
  (void)state;
  const char *const in[] = {"", "f", "fo", "foo", "foob", "fooba", "foobar"};
  const char *const want[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (int i = 0; i < 7; i++) {
    for (int split = 0; split < 2; split++) {
      char *text = NULL;
      size_t size;
      FILE *out = open_memstream(&text, &size);
      tgBase64 b;
      tgi_base64_begin(&b, out);
      if (split == 0) tgi_base64_put(&b, in[i], strlen(in[i]));
      else for (const char *s = in[i]; *s != '\0'; s++) tgi_base64_put(&b, s, 1);
      tgi_base64_end(&b);
      fclose(out);
      assert_string_equal(text, want[i]);
      free(text);
    }
  }
}

static void test_csv(void **state) {
  (void)state;
  tgtFolder folder;
  tgt_folder_make(&folder);
  const char *const name[] = {"iteration", "loss, \"total\"", "step"};
  const double data[] = {0, 0.1, NAN, 1, 1e-300, -INFINITY};
  const char *path = tgt_folder_file(&folder, "loss.csv");
  assert_int_equal(tg_csv_write(path, 3, name, 2, data, NULL), TG_OK);
  char *text = tgt_read(path, NULL);
  assert_string_equal(text, "iteration,\"loss, \"\"total\"\"\",step\n0,0.1,nan\n1,1e-300,-inf\n");
  free(text);
  tgError error;
  check_refused(tg_csv_write(path, 0, name, 2, data, &error), TG_ERR_ARG, error, "at least one column");
  tgt_folder_remove(&folder);
}

// all of the above where 1/2 is written 0,5
static void test_comma_locale(void **state) {
  if (!tgt_comma_locale()) {
    print_message("no locale with a decimal comma: apt-get install locales\n");
    skip();
  }
  char text[TG_NUMBER_TEXT];
  bool comma = snprintf(text, sizeof text, "%g", 0.5) == 3 && text[1] == ',';
  assert_true(comma);
  assert_string_equal(tgi_format_number(text, -1234.5678e-9), "-1.2345678e-06");
  test_numbers_in_json(state);
  test_csv(state);
  setlocale(LC_NUMERIC, "C");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers_read_back), cmocka_unit_test(test_strings), cmocka_unit_test(test_numbers_in_json),
      cmocka_unit_test(test_base64),            cmocka_unit_test(test_csv),     cmocka_unit_test(test_comma_locale),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
