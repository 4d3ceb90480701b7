// journal.h: a file that records every evaluation of an optimisation. Replaying it brings any method back to where it
// was, to the same bits, whatever state the method keeps inside.
#ifndef TG_OPTIM_JOURNAL_H
#define TG_OPTIM_JOURNAL_H

#include "tangere/optim.h"

/// One evaluation.
typedef struct tgEvaluation {
  int32_t status, label;     ///< tgStatus; tgGradLabel
  double loss, distance;
} tgEvaluation;

typedef struct tgJournal tgJournal;

/// What a journal is of.
typedef struct tgJournalKey {
  uint64_t problem, start;   ///< all but where it starts; the decision variables there
  uint64_t follows;          ///< 1: it starts where an earlier stage ended, which other iterations of that stage change
} tgJournalKey;

/// Opens `path` for `n` variables of the problem with this key. resume: reads what is there (a torn last record is cut off); a journal
/// that follows an earlier stage and began elsewhere is begun anew. Without it starts anew, which a journal that holds something is refused
/// for unless it may be overwritten. NULL path: a journal that records nothing, of which key may be NULL. NULL: error filled (file, another
/// problem's journal, or one that is there).
tgJournal *tgi_journal_open(const char *path, bool resume, bool overwrite, const tgJournalKey *key, int n, const tgAllocator *alloc,
                            tgError *error);
/// The next recorded evaluation, if it is of x (nx) and carries as many numbers as are asked for: fills *e and data (count; a
/// gradient, or what else the method records); out->grad and out->error become what they were after it. One that failed carries no
/// numbers, whatever was asked for. False: none.
bool tgi_journal_next(tgJournal *j, const double *x, int nx, tgEvaluation *e, double *data, int count, tgOptimum *out);
/// Appends an evaluation, with out->grad and out->error as they are after it, and hands it to the system.
tgStatus tgi_journal_add(tgJournal *j, const double *x, int nx, const tgEvaluation *e, const double *data, int count, tgOptimum *out);
/// Removes the journals of starts, stages and attempts beside the one at path: those of a run that is to be overwritten, which the next run
/// would take for its own.
tgStatus tgi_journal_clear_parts(const char *path, tgError *error);
void tgi_journal_close(tgJournal *j);

#endif
