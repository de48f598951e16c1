/* The smallest program around Quern: continue a prompt, print it as it comes.   usage: embed DIR PROMPT */
#include <quern.h>
#include <stdio.h>

static int print_piece(const char* piece, size_t length, void* user) {
  (void)user;
  fwrite(piece, 1, length, stdout);
  fflush(stdout);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: embed DIR PROMPT\n");
    return 2;
  }
  quern_model* model = quern_load(argv[1], "bf16");
  if (!model) {
    fprintf(stderr, "%s\n", quern_last_error());
    return 1;
  }
  quern_options options = quern_default_options();
  options.max_tokens = 32;
  options.temperature = 0;
  int64_t n = quern_generate(model, argv[2], &options, print_piece, NULL);
  if (n < 0) fprintf(stderr, "%s\n", quern_last_error());
  printf("\n");
  quern_free(model);
  return n < 0;
}
