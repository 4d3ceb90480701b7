// motion.c: the tables of gradcheck --over-h and --widths.
#include <math.h>

#include "cli/cli.h"

static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *as_json(const tgMotionCheck *k) {
  json_t *rows = json_array(), *widths = json_array();
  for (int i = 0; i < k->nrow; i++) {
    const tgMotionRow *r = &k->row[i];
    json_array_append_new(rows, json_pack("{s:f, s:o, s:o, s:o, s:o, s:o, s:s, s:i}", "h", r->h, "value",
                                          number(r->value), "value_change", number(r->value_change), "gradient",
                                          number(r->gradient), "gradient_change", number(r->gradient_change), "entry",
                                          number(r->entry), "label", tg_grad_label_text(r->label), "unstable", r->unstable));
  }
  for (int i = 0; i < k->nwidth; i++) {
    const tgWidthRow *r = &k->width[i];
    json_array_append_new(widths, json_pack("{s:f, s:o, s:o, s:o}", "width", r->width, "error", number(r->error),
                                            "ours", number(r->ours), "reference", number(r->reference)));
  }
  return json_pack("{s:b, s:s, s:o, s:s, s:o, s:o, s:s, s:f, s:s, s:o, s:o}", "pass", (int)k->pass, "value",
                   tg_convergence_text(k->value), "value_order", number(k->value_order), "gradient", tg_convergence_text(k->gradient),
                   "gradient_order", number(k->gradient_order), "growth", number(k->growth), "entry", k->entry_name,
                   "holds_to", k->holds_to, "reason", k->reason, "rows", rows, "widths", widths);
}

static void print_rows(const tgMotionCheck *k) {
  printf("%-10s %-14s %-10s %-11s %-10s %-14s %s\n", "h [s]", "value", "change", "|gradient|", "change", "largest entry", "label");
  for (int i = 0; i < k->nrow; i++) {
    const tgMotionRow *r = &k->row[i];
    printf("%-10.4g %-14.8g %-10.3g %-11.5g %-10.3g %-14.6g %s%s\n", r->h, r->value, r->value_change, r->gradient,
           r->gradient_change, r->entry, tg_grad_label_text(r->label), r->unstable > 0 ? ", unstable" : "");
  }
  printf("value: %s", tg_convergence_text(k->value));
  if (!isnan(k->value_order)) printf(" (order %.2f)", k->value_order);
  printf("; gradient: %s", tg_convergence_text(k->gradient));
  if (k->gradient == TG_GROWS) printf(" (as h^-%.2f)", k->growth);
  else if (!isnan(k->gradient_order)) printf(" (order %.2f)", k->gradient_order);
  printf("; the entry that changes most: %s\n", k->entry_name);
}

static void print_widths(const tgMotionCheck *k) {
  printf("%-10s %-12s %-14s %s\n", "width", "error", "gradient", "difference of the motion, worst of three directions");
  for (int i = 0; i < k->nwidth; i++) {
    const tgWidthRow *r = &k->width[i];
    printf("%-10.0e %-12.3g %-14.8g %.8g\n", r->width, r->error, r->ours, r->reference);
  }
  if (k->holds_to > 0) printf("within a tenth up to a width of %g\n", k->holds_to);
}

int tgi_cli_report_motion(const tgCli *cli, const tgMotionCheckOptions *o, const tgMotionCheck *check) {
  int code = check->pass ? TG_EXIT_OK : TG_EXIT_MISSED;
  if (cli->json) return tgi_cli_print_json(as_json(check), code);
  printf("motion of %d steps of %g s\n", o->steps, o->h);
  if (cli->over_h) print_rows(check);
  if (cli->widths) print_widths(check);
  printf("%s%s\n", check->pass ? "ok" : "FAIL: ", check->reason);
  return code;
}
