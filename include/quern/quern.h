/* Quern's C interface: load a model, generate text, keep sessions, chat, read logits and embeddings.
 *
 *   quern_model* model = quern_load("ZAYA1-8B", "q8");
 *   quern_session* chat = quern_session_new(model);
 *   quern_chat_add(chat, "user", "What is a quern?");
 *   quern_chat_reply(chat, NULL, print_piece, NULL);
 *   quern_session_free(chat);
 *   quern_free(model);
 *
 * Errors: a function that can fail returns NULL or a negative number and leaves a message in quern_last_error() of the
 * calling thread. No C++ exception leaves the library.
 * Ownership: what a quern_*_new or quern_load returns belongs to the caller, who frees it with the function named
 * there. Pointers that are passed in are read during the call only, unless a comment says otherwise. A model must
 * outlive its sessions, samplings and adapters. Free functions accept NULL.
 * Threads: a model, its sessions and its samplings are used by one thread at a time. Functions marked [any thread] may
 * be called at any time, also while another thread generates. Different models are independent.
 * Text: UTF-8. A function that writes text into `buffer` writes at most `capacity` bytes, the final NUL included, and
 * returns the length of the whole text without it; buffer may be NULL if capacity is 0.
 * ABI: handles are opaque, no struct of this header grows, and settings have names; see docs/embed.md.
 */
#ifndef QUERN_H
#define QUERN_H

#include <stddef.h>
#include <stdint.h>

#define QUERN_VERSION_MAJOR 0
#define QUERN_VERSION_MINOR 1

#ifdef __cplusplus
extern "C" {
#endif

typedef struct quern_model quern_model;         /* weights, tokenizer, chat template, prefix cache */
typedef struct quern_session quern_session;     /* a sequence of tokens whose state is kept between calls */
typedef struct quern_sampling quern_sampling;   /* generation options by name */
typedef struct quern_index quern_index;         /* a search index in a folder */
typedef struct quern_memory quern_memory;       /* long-term conversation memory in a file */
typedef struct quern_tokenizer quern_tokenizer; /* a tokenizer without a model */
typedef struct quern_trainer quern_trainer;     /* a training run */
typedef struct quern_rows quern_rows;           /* documents of a corpus, read one after the other */
typedef struct quern_adapter quern_adapter;     /* a LoRA adapter beside a model */
typedef struct quern_encoder quern_encoder;     /* an encoder: embeddings, rerankers, classifiers */
typedef struct quern_texts quern_texts;         /* columns of texts of an Arrow table */

/* The structs of the Arrow C interfaces, for tables; arrow/c/abi.h declares them, or a copy of what its page states. */
struct ArrowSchema;
struct ArrowArray;
struct ArrowArrayStream;

/* Called with each piece of text as it becomes complete (never a split character; not NUL-terminated). Return 0 to go
 * on, anything else to stop. Of the model in use it may call [any thread] functions only. */
typedef int (*quern_on_text)(const char* piece, size_t length, void* user);
/* Called while a corpus is built, by one thread at a time: the stage and its share that is done, 0 to 1. */
typedef void (*quern_on_progress)(const char* stage, double share, void* user);

/* ---- Library ---- */

/* Version of the library, MAJOR.MINOR.PATCH; the macros above are that of this header. [any thread] */
const char* quern_version(void);
/* Message of the last failed call of this thread, "" when it succeeded. Valid until the next call. [any thread] */
const char* quern_last_error(void);
/* Threads that computations use, the caller's included [one per core that affinity and cgroup quota allow]. Call it
 * while no model is in use. Returns 0, or -1. */
int quern_set_threads(int threads);

/* ---- Model ---- */

/* Loads a model folder, a quantized folder or a .gguf file. `format` of the weights in memory: "f32" or "bf16", or
 * quantized at load: "q8", "q4" or "q8a8" (q8 with int8 activations). Free with quern_free. */
quern_model* quern_load(const char* folder, const char* format);
/* The same with options as a JSON object; NULL or "{}" for the defaults:
 *   format     as above ["bf16"]
 *   head       with a quantized format: format of embedding and LM head ["q8" with q8, q4 and q8a8]
 *   kv         KV cache type: "f32", "bf16" or "q8" [f32 with f32 weights, else bf16]
 *   adapter    folder of a LoRA adapter (PEFT)
 *   cache_mib  size of the prefix cache, which holds the state of sessions [1024]
 * An unknown name is an error. */
quern_model* quern_load_with(const char* folder, const char* options_json);
void quern_free(quern_model* model);

int64_t quern_vocab_size(const quern_model* model);    /* rows of the LM head, padding included. [any thread] */
int64_t quern_max_positions(const quern_model* model); /* context length in tokens. [any thread] */

/* Writes at most `capacity` token ids and returns how many the text has; call again with more room if that is larger.
 * add_special: add what the tokenizer puts around a text (<bos>). [any thread] */
int64_t quern_tokenize(const quern_model* model, const char* text, int add_special, int32_t* ids, int64_t capacity);
/* Text of n tokens, without special tokens, into `text` of `capacity` bytes. [any thread] */
int64_t quern_detokenize(const quern_model* model, const int32_t* ids, int64_t n, char* text, int64_t capacity);

/* Renders messages, a JSON array of {"role", "content"}, with the model's chat template, up to where the assistant's
 * reply begins. context_json: an object of further names the template asks for (enable_thinking, tools), or NULL.
 * [any thread] */
int64_t quern_chat_prompt(const quern_model* model, const char* messages_json, const char* context_json, char* buffer,
                          int64_t capacity);

/* Logits after each of n tokens, computed from an empty state: n × vocab_size floats, row by row, into `logits`, whose
 * `capacity` counts floats. Returns the number of floats; with a smaller capacity nothing is computed or written. */
int64_t quern_logits(quern_model* model, const int32_t* ids, int64_t n, float* logits, int64_t capacity);
/* Log-probability of tokens 1 … n-1, each given the tokens before it, into logprobs[0 … n-2]. Returns n-1. */
int64_t quern_score(quern_model* model, const int32_t* ids, int64_t n, double* logprobs, int64_t capacity);
/* Embedding of a text: the mean of its last hidden states, normalized to length 1. Writes it if `capacity` floats are
 * enough and returns its dimension; with a smaller capacity nothing is computed. */
int64_t quern_embed(quern_model* model, const char* text, float* embedding, int64_t capacity);

/* ---- Sampling: generation options by name ---- */

/* Options as the model's generation_config.json asks; greedy decoding without one. Free with quern_sampling_free. */
quern_sampling* quern_sampling_new(quern_model* model);
void quern_sampling_free(quern_sampling* sampling);
/* Sets one option from text. Returns 0, or -1 when there is no such name (the message has the nearest one) or the
 * value is out of range; the options are then unchanged. Names:
 *   max_tokens          maximum number of tokens to generate [256]
 *   temperature         0 is greedy decoding
 *   top_k, top_p, min_p, typical_p, top_n_sigma, xtc_probability, xtc_threshold    filters
 *   repetition_penalty, presence_penalty, frequency_penalty                        penalties
 *   dry_multiplier, dry_base, dry_allowed_length, dry_penalty_last_n, dry_sequence_breakers
 *   logit_bias          "ID=X,…": add X to the logit of token ID
 *   samplers            order of the sampling steps: "top_k,temperature"
 *   seed                same seed, same text [0]
 *   stop                stop sequence, which ends the output and is not part of it; every call adds one
 *   ignore_eos          "true": end-of-sequence tokens do not end the output
 *   response_prefix     forced prefix: text that the output starts with
 *   speculative         speculative decoding: "none", or "ngram" with a maximum draft length: "ngram:8"
 *   top_logprobs        report the N most likely tokens of every position in quern_session_result [0]
 *   json_schema, regex, grammar    constrained decoding: a JSON schema, a regular expression or a GBNF grammar (its
 *                       text, not a file); the last one set holds, "" removes it */
int quern_sampling_set(quern_sampling* sampling, const char* name, const char* value);
/* Loads a LoRA adapter (PEFT) for rows of the model, whose weights stay as they are; the model was loaded without one.
 * Free with quern_adapter_free; what is being generated with it goes on. */
quern_adapter* quern_adapter_load(quern_model* model, const char* folder);
void quern_adapter_free(quern_adapter* adapter);
/* Adds an adapter, times `scale`, to what is generated with these options; several add up. Returns 0, or -1. */
int quern_sampling_adapter(quern_sampling* sampling, const quern_adapter* adapter, double scale);

/* ---- Session: tokens whose KV cache and recurrent state are kept ---- */

/* An empty session. Its state lives in the model's prefix cache, least recently used first out; what was evicted is
 * computed again when needed. Sessions that begin alike share it. Free with quern_session_free. */
quern_session* quern_session_new(quern_model* model);
/* A session that continues from here on its own; costs a copy of the token ids. Free with quern_session_free. */
quern_session* quern_session_fork(const quern_session* session);
void quern_session_free(quern_session* session);
/* Forgets tokens and messages. */
void quern_session_reset(quern_session* session);

/* Appends text, or token ids. Returns the session's length in tokens. Text at the start of a session gets what the
 * tokenizer puts before a text (<bos>). Nothing is computed until a function below needs it. */
int64_t quern_session_append(quern_session* session, const char* text);
int64_t quern_session_append_tokens(quern_session* session, const int32_t* ids, int64_t n);
int64_t quern_session_length(const quern_session* session); /* in tokens */
/* Writes at most `capacity` of the session's token ids and returns how many there are. */
int64_t quern_session_tokens(const quern_session* session, int32_t* ids, int64_t capacity);

/* Computes the state of all tokens now (prefill). Returns how many were not in the cache. */
int64_t quern_session_prefill(quern_session* session);
/* Logits after the last token, vocab_size floats; returns their number. With a smaller capacity nothing is computed. */
int64_t quern_session_logits(quern_session* session, float* logits, int64_t capacity);

/* Continues the session and appends what was generated. Returns the number of tokens. sampling NULL: as a new
 * quern_sampling; on_text may be NULL. */
int64_t quern_session_generate(quern_session* session, const quern_sampling* sampling, quern_on_text on_text,
                               void* user);
/* Ends the generation that is running, within one forward pass; what was generated until then stays. Without one it
 * does nothing. [any thread] */
void quern_session_cancel(quern_session* session);
/* The last generation as a JSON object: text, tokens, logprobs, top_logprobs, finish ("stop", "length" or
 * "cancelled"), prompt_tokens, cached_tokens, prompt_seconds, decode_seconds. */
int64_t quern_session_result(const quern_session* session, char* buffer, int64_t capacity);

/* Writes tokens, messages and state to a file, readable by its owner only. Returns 0, or -1. */
int quern_session_save(quern_session* session, const char* file);
/* Replaces the session by a saved one. The file must be of the same model and KV cache type. Returns 0, or -1. */
int quern_session_load(quern_session* session, const char* file);

/* ---- Chat: a session made of messages ---- */

/* Appends a message; role: "system", "user", "assistant" or "tool". Special tokens spelled in it stay plain text.
 * Returns the number of messages. */
int64_t quern_chat_add(quern_session* session, const char* role, const char* content);
/* Replaces all messages by a JSON array of {"role", "content"}, with "tool_calls" and "tool_call_id" as in the OpenAI
 * API. Returns their number. */
int64_t quern_chat_set(quern_session* session, const char* messages_json);
/* The messages as a JSON array. */
int64_t quern_chat_messages(const quern_session* session, char* buffer, int64_t capacity);
/* Renders the messages with the chat template, generates the assistant's reply and appends it as a message. The
 * session's tokens become those of the conversation; the cache supplies all but the new part. Returns the number of
 * tokens generated; after an error the messages are unchanged. Arguments as in quern_session_generate. */
int64_t quern_chat_reply(quern_session* session, const quern_sampling* sampling, quern_on_text on_text, void* user);
/* What replies are made with beside the messages, a JSON object; NULL for nothing. Names, as in the OpenAI API:
 *   tools, tool_choice, parallel_tool_calls    functions that the model may call, or has to
 *   chat_template_kwargs, reasoning_effort     further names the template asks for (enable_thinking)
 *   thinking_budget                            tokens of thinking, after which it is closed and the answer begins
 * A reply that calls is kept as a message with "tool_calls". Returns 0, or -1. */
int quern_chat_setup(quern_session* session, const char* setup_json);
/* The last reply as a message of the OpenAI API: role, content, and where there are any reasoning_content (the text
 * inside <think>) and tool_calls. */
int64_t quern_chat_message(const quern_session* session, char* buffer, int64_t capacity);
/* quern_chat_reply by test-time compute: many candidates, of which a plan chooses ("vote:8", "mrsa:8x2x2"; docs/run.md).
 * Returns the number of tokens generated in all. agreement, which may be NULL: share of the last candidates that came to
 * the answer. */
int64_t quern_chat_think(quern_session* session, const char* plan, const quern_sampling* sampling, double* agreement);

/* ---- Generation in steps: for streams without a callback, and for several sessions at once ---- */

/* Starts what quern_session_generate, or quern_chat_reply, does in one call; nothing is computed yet. Sessions of a
 * model that have been started run together: a step of one is a step of all (continuous batching). A session that has
 * been started takes no other calls than those below until it has ended, its free and its reset. Returns 0, or -1. */
int quern_session_start(quern_session* session, const quern_sampling* sampling);
int quern_chat_start(quern_session* session, const quern_sampling* sampling);
/* At most one forward pass. Returns 1 while the generation goes on, 0 when it has ended, -1 when it failed. */
int quern_session_step(quern_session* session);
/* Text that became complete since the last call, without the reasoning and the tool calls of a chat. It is handed out
 * once `capacity` is enough for all of it. */
int64_t quern_session_text(quern_session* session, char* buffer, int64_t capacity);
/* The same of a chat's reasoning, the text inside <think>. */
int64_t quern_session_reasoning(quern_session* session, char* buffer, int64_t capacity);

/* ---- Search index: BM25 and personalized PageRank, retrieval for RAG. An index is used by one thread at a time ---- */

/* Opens the index in a folder, or creates one. Free with quern_index_free. */
quern_index* quern_index_open(const char* folder);
void quern_index_free(quern_index* index);
/* Adds one text under a name, replacing what had it. Searchable and on disk when it returns. Returns 0, or -1. */
int quern_index_put(quern_index* index, const char* name, const char* text);
/* The same for n texts at once: name and text i are what stands between ends[i - 1], or 0, and ends[i]. */
int quern_index_put_all(quern_index* index, const char* names, const int64_t* name_ends, const char* texts,
                        const int64_t* ends, int64_t n);
/* Removes what has these names, a JSON array, or lies below folders of these names. Returns how many documents went, or
 * -1, and removes nothing, if a name is not there. */
int64_t quern_index_remove(quern_index* index, const char* names_json);
/* Hybrid retrieval: an encoder's folder, whose vectors are compared too; format as in quern_encoder_load. A new index of
 * English texts has the vectors of "words"; "none" searches by words alone, and a new index then has no vectors. What is in the
 * index already gets its vectors with the next quern_index_add. Returns 0, or -1 for another encoder than it was made with. */
int quern_index_encoder(quern_index* index, const char* folder, const char* format);
/* Brings the index up to date with the text files in and below a path: new, changed and deleted ones. Returns the
 * number of documents in the index. */
int64_t quern_index_add(quern_index* index, const char* path);
/* The k chunks of text that a question needs, best first, as a JSON object: {"chunks": [{"path", "begin", "end",
 * "score", "text"}]}. Every call searches. */
int64_t quern_index_search(const quern_index* index, const char* question, int64_t k, char* buffer, int64_t capacity);

/* ---- Conversation memory with temporal queries. A memory is used by one thread at a time ---- */

/* Opens a memory file and one of its conversations; creates what is missing. conversation NULL: the only one; zone
 * NULL: UTC, else the time zone of a conversation made now ("Europe/Berlin"). Free with quern_memory_free. */
quern_memory* quern_memory_open(const char* file, const char* conversation, const char* zone);
void quern_memory_free(quern_memory* memory);
/* Stores a turn, said at unix_time (seconds). Returns its number. */
int64_t quern_memory_add(quern_memory* memory, const char* speaker, const char* text, int64_t unix_time);
/* The turns that answer a question asked at unix_time ("What did Ada say last Sunday?"), as a JSON object: {"turns":
 * [{"response", "session", "time", "speaker", "text"}], "plan", "notes"}. asker: the speaker that "I" is; NULL: nobody.
 * Every call searches. */
int64_t quern_memory_ask(quern_memory* memory, const char* question, const char* asker, int64_t unix_time,
                         char* buffer, int64_t capacity);
/* Unix seconds of a time as text ("2023-05-08 13:56", "2023-05-08T13:56:04+02:00"), without an offset on the wall of the
 * conversation's time zone. INT64_MIN when it is none. */
int64_t quern_memory_time(const quern_memory* memory, const char* text);
/* Up to `limit` turns from number `first` on, as a JSON object: {"turns": [{"speaker", "text", "time", "response",
 * "session"}]}, where time has its offset; a line each, they are what `quern memory import` reads. */
int64_t quern_memory_turns(quern_memory* memory, int64_t first, int64_t limit, char* buffer, int64_t capacity);
/* Deletes n turns by their numbers; their bytes are overwritten. Returns how many there were. */
int64_t quern_memory_forget(quern_memory* memory, const int64_t* turns, int64_t n);

/* ---- Encoder: embeddings, rerankers, classifiers (docs/encoders.md). An encoder is used by one thread at a time ---- */

/* Loads the folder of a BERT, MiniLM, DeBERTa-v2, -v3 or ModernBERT model, or "words", the word encoder that is a part of
 * the library. format of the weights in memory: "f32" (NULL), "bf16", "q8", "q4" or "q8a8"; a word encoder has one of its
 * own. Free with quern_encoder_free. */
quern_encoder* quern_encoder_load(const char* folder, const char* format);
void quern_encoder_free(quern_encoder* encoder);
/* A JSON object: width (of an embedding), max_tokens (of a text), labels (of the head; empty without one). */
int64_t quern_encoder_info(const quern_encoder* encoder, char* buffer, int64_t capacity);
/* Embeddings of n texts, n × width floats of length 1 per row. Text i is what stands between ends[i - 1], or 0, and
 * ends[i]. role NULL: "plain"; "query" or "document": with the prompt that the model wants before one. Returns the number
 * of floats; with a smaller capacity nothing is computed. */
int64_t quern_encoder_embed(quern_encoder* encoder, const char* texts, const int64_t* ends, int64_t n,
                            const char* role, float* rows, int64_t capacity);
/* What the head says of n texts, n × labels floats: probabilities, or the one score of a reranker. */
int64_t quern_encoder_score(quern_encoder* encoder, const char* texts, const int64_t* ends, int64_t n, float* scores,
                            int64_t capacity);
/* The same of n pairs: texts holds 2n of them, the first and the second of each pair. */
int64_t quern_encoder_score_pairs(quern_encoder* encoder, const char* texts, const int64_t* ends, int64_t n,
                                  float* scores, int64_t capacity);
int64_t quern_encoder_truncated(
    const quern_encoder* encoder); /* texts of the last call that were too long, and cut */

/* ---- Tokenizer, without a model. [any thread] but free ---- */

/* Loads a tokenizer.json, or the one of a model folder. Free with quern_tokenizer_free. */
quern_tokenizer* quern_tokenizer_load(const char* path);
void quern_tokenizer_free(quern_tokenizer* tokenizer);
int64_t quern_tokenizer_vocab_size(const quern_tokenizer* tokenizer); /* one past the highest id */
/* As quern_tokenize and quern_detokenize. */
int64_t quern_tokenizer_encode(const quern_tokenizer* tokenizer, const char* text, int add_special, int32_t* ids,
                               int64_t capacity);
int64_t quern_tokenizer_decode(const quern_tokenizer* tokenizer, const int32_t* ids, int64_t n, char* text,
                               int64_t capacity);

/* ---- Training, in this process. A trainer is used by one thread at a time ---- */

/* Starts the run that a recipe (TOML, docs/training.md) describes, its phases of reinforcement learning and of learning
 * from preferences included. options_json, a JSON object:
 *   out     folder of the run: checkpoints, metrics.jsonl, recipe.json
 *   set     fields of the recipe to change: ["phase.0.batch_size=8"]
 *   resume  true: continue from the newest checkpoint in the folder
 *   models  folder in which the recipe's model is looked for where its path is none
 *   rl      true: refuse a recipe that has no phase of reinforcement learning
 * Free with quern_trainer_free. */
quern_trainer* quern_trainer_new(const char* recipe, const char* options_json);
void quern_trainer_free(quern_trainer* trainer);
int64_t quern_trainer_steps(const quern_trainer* trainer);    /* of the recipe */
int64_t quern_trainer_finished(const quern_trainer* trainer); /* steps done */
/* One optimizer step, with the checkpoints and evaluations that the recipe asks for. Returns 1, or 0 when the recipe
 * is done, or -1. */
int quern_trainer_step(quern_trainer* trainer);
/* A number of the last step's record by its name (docs/metrics.md): "loss", "lr", "grad_norm", "tokens_per_s". NaN
 * where the step has none. Returns 0, or -1 for a name that no record has. */
int quern_trainer_metric(const quern_trainer* trainer, const char* name, double* value);
/* Saves a checkpoint now, in the folder of the run. Returns 0, or -1. */
int quern_trainer_checkpoint(quern_trainer* trainer);
/* Writes the model, and its tokenizer, as a folder that quern_load reads; dtype: "bf16" or "f32". Returns 0, or -1. */
int quern_trainer_export(quern_trainer* trainer, const char* folder, const char* dtype);

/* ---- Corpus building ---- */

/* Builds the corpus that a recipe (TOML, docs/corpus/README.md) describes: filters, removes duplicates, mixes, writes
 * token shards. options_json, a JSON object:
 *   out         output folder; manifest.json and report.html there say what was kept and why
 *   against     folder of a saved index to deduplicate against
 *   save_index  folder to save an index of the kept documents in
 * on_progress may be NULL. A build that was killed resumes when it is called again. Returns the number of documents
 * that deduplication kept, or -1. */
int64_t quern_corpus_build(const char* recipe, const char* options_json, quern_on_progress on_progress, void* user);

/* ---- Rows of a corpus. Rows are used by one thread at a time ---- */

/* Reads the documents of JSON lines, texts, WARC and Parquet files, compressed or not, as `quern corpus` does.
 * options_json, a JSON object: paths, and form, text_field, url_field, on_bad and max_row_mb as in a recipe
 * (docs/corpus/README.md): {"paths": ["crawl/2024-*.jsonl.zst"]}. Free with quern_rows_free. */
quern_rows* quern_rows_open(const char* options_json);
void quern_rows_free(quern_rows* rows);
/* Goes to the next document. Returns 1, or 0 at the end, or -1. */
int quern_rows_next(quern_rows* rows);
/* "text", "line" (the JSON line as it came), "url", "date" or "source" of the current document, `length` bytes; none
 * where it has no such thing. Valid until the next call of quern_rows_next. */
const char* quern_rows_field(const quern_rows* rows, const char* name, int64_t* length);
/* The same for many documents at a time. Goes to the next block of them and returns how many it has, 0 at the end, or
 * -1. A field of all of them is one text, of which document i is what stands between ends[i - 1], or 0, and ends[i]. */
int64_t quern_rows_next_block(quern_rows* rows);
const char* quern_rows_block_field(const quern_rows* rows, const char* name, const int64_t** ends);
int64_t quern_rows_skipped(const quern_rows* rows); /* invalid records so far */

/* ---- Tables, over the Arrow C data and C stream interfaces ---- */

/* A released struct of one of the interfaces, by its name: "arrow_schema", "arrow_array" or "arrow_array_stream"; and its
 * end, which first releases what is in it. [any thread] */
void* quern_arrow_new(const char* name);
void quern_arrow_free(void* arrow, const char* name);
/* A function that ends the struct in a capsule of Python, whose PyCapsule_GetName and PyCapsule_GetPointer are given: a
 * destructor that may be called while an exception is on its way. [any thread] */
typedef void (*quern_capsule_end)(void* capsule);
quern_capsule_end quern_arrow_capsule_end(const char* (*name_of)(void* capsule),
                                          void* (*pointer_of)(void* capsule, const char* name));

/* Writes a stream of record batches of documents. options_json as in quern_rows_open, and
 *   columns  ["text", "source", "url"]; also "date", "line", and members of JSON lines as "NAME:TYPE" with text, integer,
 *            number or truth for the type: null where a line has none
 * The caller releases the stream. Returns 0, or -1. */
int quern_rows_stream(const char* options_json, struct ArrowArrayStream* out);
/* Writes a stream of what filters say of the texts of another one, which it takes over: a row for each of its rows, in its
 * batches, with keep (bool), failing (list of utf8: the rules that reject) and text (utf8, as the filters leave it).
 * options_json: filter ("gopher-quality+c4", docs/corpus/filters.md), lists (folder of word lists), column (with the text).
 * Returns 0, or -1. */
int quern_filter_stream(const char* options_json, struct ArrowArrayStream* texts, struct ArrowArrayStream* out);
/* Writes a stream of one array, which it takes over with its schema. The stream hands out its schema once. Returns 0, or
 * -1. */
int quern_array_stream(struct ArrowSchema* schema, struct ArrowArray* array, struct ArrowArrayStream* out);
/* Reads columns of a stream, which it takes over; a stream that is no table is itself a column. columns_json: an array of
 * names; NULL: the only column, else "text". Strings of any Arrow type, dictionaries of them and whole numbers are read,
 * nulls as empty texts. Free with quern_texts_free. */
quern_texts* quern_texts_open(struct ArrowArrayStream* stream, const char* columns_json);
void quern_texts_free(quern_texts* texts);
/* Goes to the next batch and returns how many rows it has, 0 at the end, or -1. A column of it is one text, of which row i
 * is what stands between ends[i - 1], or 0, and ends[i]; valid until the next call. */
int64_t quern_texts_next(quern_texts* texts);
const char* quern_texts_block(const quern_texts* texts, int64_t column, const int64_t** ends);
/* Writes what is left of the first column to a file of JSON lines, {"row", "text"} with rows counted from 0, as the stages of
 * `quern corpus` read them. Returns how many there are. */
int64_t quern_texts_write(quern_texts* texts, const char* file);

/* ---- One prompt, without a session ---- */

/* Fixed set of options; quern_sampling has all of them. */
typedef struct quern_options {
  int64_t max_tokens;
  double temperature; /* 0: greedy */
  int64_t top_k;      /* 0: off */
  double top_p;       /* 1: off */
  double min_p;       /* 0: off */
  uint64_t seed;
} quern_options;
/* 256 tokens, temperature 1, no filters, seed 0. [any thread] */
quern_options quern_default_options(void);

/* Continues the prompt; returns the number of tokens generated. options and on_text may be NULL. */
int64_t quern_generate(quern_model* model, const char* prompt, const quern_options* options, quern_on_text on_text,
                       void* user);

#ifdef __cplusplus
}
#endif

#endif
