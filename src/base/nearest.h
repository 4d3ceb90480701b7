// nearest.h: the word that somebody may have meant.
#ifndef TG_BASE_NEAREST_H
#define TG_BASE_NEAREST_H

/// The one of `words` (count of them) that lies nearest to `word`, NULL when none is near: for "did you mean".
const char *tgi_nearest_word(const char *word, const char *const *words, int count);

#endif
