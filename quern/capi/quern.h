/* Quern's C interface: load a model folder, turn text into tokens and back, generate, free.
 * Every function that can fail returns NULL or a negative number and leaves a message in quern_last_error() of the
 * calling thread. A quern_model may be used from one thread at a time. Strings are UTF-8.
 */
#ifndef QUERN_H
#define QUERN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct quern_model quern_model;

const char* quern_version(void);
const char* quern_last_error(void); /* "" when the last call of this thread succeeded */

/* dtype: "f32" or "bf16". */
quern_model* quern_load(const char* folder, const char* dtype);
void quern_free(quern_model* model);

int64_t quern_vocab_size(const quern_model* model);
int64_t quern_max_positions(const quern_model* model);

/* Writes at most `capacity` ids and returns how many the text has; call again with more room if that is larger. */
int64_t quern_tokenize(const quern_model* model, const char* text, int add_special, int32_t* ids, int64_t capacity);
/* Writes at most `capacity` bytes, the final NUL included, and returns the length without it. */
int64_t quern_detokenize(const quern_model* model, const int32_t* ids, int64_t n, char* text, int64_t capacity);

typedef struct quern_options {
  int64_t max_tokens;
  double temperature; /* 0: greedy */
  int64_t top_k;      /* 0: off */
  double top_p;       /* 1: off */
  double min_p;       /* 0: off */
  uint64_t seed;
} quern_options;
quern_options quern_default_options(void);

/* Called with each piece of text as it becomes complete (never a split character). Return 0 to go on, anything else
 * to stop. */
typedef int (*quern_on_text)(const char* piece, size_t length, void* user);

/* Continues the prompt; returns the number of tokens generated. options and on_text may be NULL. */
int64_t quern_generate(quern_model* model, const char* prompt, const quern_options* options, quern_on_text on_text,
                       void* user);

#ifdef __cplusplus
}
#endif

#endif
