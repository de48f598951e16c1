/* The C interface in one small program: continue a prompt, then chat in a session that is kept between runs.
 *   usage: embed DIR PROMPT [SESSION_FILE] */
#include <quern.h>
#include <stdio.h>

static int print_piece(const char* piece, size_t length, void* user) {
  (void)user;
  fwrite(piece, 1, length, stdout);
  fflush(stdout);
  return 0; /* anything else stops */
}

static int failed(const char* what) {
  fprintf(stderr, "embed: %s: %s\n", what, quern_last_error());
  return 1;
}

/* A turn of a chat. The session of an earlier run goes on where it was: nothing is computed twice. */
static int chat(quern_model* model, const char* message, const char* file) {
  int code = 0;
  quern_session* session = quern_session_new(model);
  quern_sampling* sampling = quern_sampling_new(model);
  FILE* saved = fopen(file, "rb");
  if (saved) fclose(saved);
  if (!session || !sampling)
    code = failed("session");
  else if (saved && quern_session_load(session, file) < 0)
    code = failed(file);
  else if (quern_sampling_set(sampling, "max_tokens", "32") < 0 || quern_sampling_set(sampling, "top_p", "0.9") < 0)
    code = failed("sampling");
  else if (quern_chat_add(session, "user", message) < 0 || quern_chat_reply(session, sampling, print_piece, NULL) < 0)
    code = failed("chat");
  else if (quern_session_save(session, file) < 0)
    code = failed(file);
  if (code == 0) printf("\n[%lld tokens in the session]\n", (long long)quern_session_length(session));
  quern_sampling_free(sampling);
  quern_session_free(session);
  return code;
}

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: embed DIR PROMPT [SESSION_FILE]\n");
    return 2;
  }
  quern_model* model = quern_load(argv[1], "bf16"); /* "q8" and "q4" quantize while loading */
  if (!model) return failed("load");
  int code = 0;
  if (argc == 4) {
    code = chat(model, argv[2], argv[3]);
  } else {
    quern_options options = quern_default_options();
    options.max_tokens = 32;
    options.temperature = 0;
    if (quern_generate(model, argv[2], &options, print_piece, NULL) < 0) code = failed("generate");
    printf("\n");
  }
  quern_free(model);
  return code;
}
