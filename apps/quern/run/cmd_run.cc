// quern run: answer a prompt (-p), or chat when none is given. Text is streamed to stdout, statistics go to stderr.
#include <unistd.h>

#include <array>
#include <chrono>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/interrupt.h"
#include "apps/quern/cli/line_editor.h"
#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/cli/standard_input.h"
#include "apps/quern/cli/trace_file.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/draft_flags.h"
#include "apps/quern/models/shipped_models.h"
#include "apps/quern/run/chat_command.h"
#include "apps/quern/run/chat_file.h"
#include "apps/quern/run/prefill_progress.h"
#include "apps/quern/run/run_think.h"
#include "apps/quern/run/server_chat.h"
#include "quern/base/mmap.h"
#include "quern/comm/in_process.h"
#include "quern/comm/mpi.h"
#include "quern/infer/engine/chat.h"
#include "quern/infer/sampling/grammar_constraint.h"
#include "quern/mixers/ranks/cache_shards.h"
#include "quern/models/fingerprint.h"
#include "quern/text/chat/chat_prompt.h"
#include "quern/text/chat/message.h"

namespace quern::cli {
namespace {

struct RunOptions {
  std::string dir, prompt, system, session, trace;
  WeightFlags weights{.dtype_default = "auto"};
  LoraFlag adapter;
  ContextFlags context;
  bool json = false, shard_context = false, plain = false;
  GivenSettings<infer::GenerateOptions> given;
  std::string answer;
  ThinkFlag think;
  std::optional<std::string> json_schema, grammar, regex;
  DraftFlags ahead;
  McpFlag mcp;

  std::string fingerprint() const {  // of weights and positions that a saved chat was computed with
    const models::LoadOptions o = adapter.with({});
    const std::string scale = o.adapter ? fmt::format(", adapter x{}", o.adapter_scale) : "";
    return models::model_fingerprint(dir, weights.name() + scale + context.settings.rope_name(), o.adapter);
  }
};

// Flags win over generation_config.json. What neither decides is greedy, or as the model says once a flag asks for
// sampling.
infer::GenerateOptions generation(const RunOptions& r, const models::GenerationConfig& g,
                                  const text::Tokenizer& tokenizer) {
  infer::GenerateOptions o;
  infer::SamplingOptions& sampling = o.sampling;
  sampling = g.defaults();
  sampling.seed = static_cast<uint64_t>(-1);
  r.given.overlay(o);
  const auto given = [&](const char* name) { return r.given.has(name); };
  if (!g.do_sample && !given("temperature")) {
    const bool sampled = given("top_p") || given("top_k") || given("min_p") || given("typical_p") ||
                         sampling.xtc_probability > 0 || sampling.top_n_sigma > 0;
    sampling.temperature = sampled ? g.sampling.temperature : 0;
  }
  if (static_cast<int64_t>(sampling.seed) < 0)
    sampling.seed = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  if (sampling.dry.on()) sampling.dry.text = [tokenizer](int32_t t) { return tokenizer.decode(std::span(&t, 1)); };
  o.stop_ids = g.eos_token_id;
  o.speculate = r.ahead.options();
  infer::check(sampling), check_settings(o);
  if (o.max_tokens < 1) fail("-n {}: expected at least 1", o.max_tokens);
  return o;
}

// The prompt as the model's chat template puts it, where the model has one; else the text itself.
struct FirstPrompt {
  std::vector<int32_t> tokens;
  bool opens_thinking = false;
};

FirstPrompt first_prompt(const RunOptions& r, const text::Tokenizer& tokenizer) {
  const auto chat_template = r.plain ? std::nullopt : models::own_chat_template(r.dir);
  if (!chat_template) {
    if (!r.system.empty()) fail("--system: {} has no chat template, so its prompt has no place for it", r.dir);
    return {tokenizer.encode(r.prompt, {}), false};
  }
  std::vector<text::Message> messages;
  if (!r.system.empty()) messages.push_back({"system", r.system});
  messages.push_back({"user", r.prompt});
  const text::PromptText prompt = text::chat_prompt(*chat_template, tokenizer, text::messages_json(messages));
  return {prompt.encode(tokenizer), prompt.opens_thinking()};
}

// What --json-schema, --grammar or --regex asks of the answer, behind the thinking that the prompt opens; null when none
// does.
std::shared_ptr<const infer::ConstraintSource> constraint(const RunOptions& r, const text::Tokenizer& tokenizer,
                                                          bool opens_thinking) {
  infer::GrammarNotation notation = infer::GrammarNotation::regex;
  std::string text;
  if (r.regex) {
    text = *r.regex;
  } else if (r.json_schema || r.grammar) {
    notation = r.grammar ? infer::GrammarNotation::gbnf : infer::GrammarNotation::json_schema;
    text = read_file(r.grammar ? *r.grammar : *r.json_schema);
  } else {
    return nullptr;
  }
  return infer::GrammarSource(infer::parse_grammar(notation, text), std::make_shared<text::TokenTrie>(tokenizer))
      .with(opens_thinking ? infer::ThinkStart::opened : infer::ThinkStart::none, -1);
}

void print_speed(const infer::Generated& g) {
  double decode =
      g.tokens.size() > 1 && g.decode_seconds > 0 ? static_cast<double>(g.tokens.size() - 1) / g.decode_seconds : 0;
  const infer::Speculated& ahead = g.speculated;
  const std::string drafted =
      ahead.steps > 0 ? fmt::format(", {} of {} draft tokens accepted", ahead.all_accepted(), ahead.all_drafted())
                      : "";
  fmt::print(stderr, "[{} prompt tokens in {:.2f} s, {} tokens at {:.1f} tokens/s{}, {}]\n", g.recomputed_tokens,
             g.prompt_seconds, g.tokens.size(), decode, drafted, g.finish);
}

// A list a token: the likeliest tokens there.
Json top_logprobs_of(const infer::Generated& g, const text::Tokenizer& tokenizer) {
  Json all = Json::array();
  for (const std::vector<infer::TokenLogprob>& at : g.top) {
    Json list = Json::array();
    for (const infer::TokenLogprob& t : at) {
      Json one = Json::object();
      one.set("token", t.token), one.set("text", tokenizer.id_to_token(t.token)), one.set("logprob", t.logprob);
      list.push(std::move(one));
    }
    all.push(std::move(list));
  }
  return all;
}

// Whether the answer goes on, as all ranks see it; they must have chosen the same token.
bool agreed(comm::Communicator& comm, int32_t token, bool on) {
  std::array<int64_t, 3> seen{token, -int64_t{token}, !on};
  comm.all_reduce(seen, comm::ReduceOp::max);
  if (seen[0] != -seen[1])
    fail(
        "--shard-context: rank {} sampled token {}, other ranks {} to {}; all ranks need the same model files and "
        "the "
        "same kind of CPU",
        comm.rank(), token, -seen[1], seen[0]);
  return seen[2] == 0;
}

// Where the caches lie over ranks (--shard-context) rank 0 speaks.
int answer_once(models::Model& model, const RunOptions& r, const std::vector<int32_t>& prompt,
                const infer::GenerateOptions& o, infer::EngineOptions options) {
  Interrupt interrupt;
  const text::Tokenizer& tokenizer = *options.tokenizer;
  const mixers::CacheShards* shards = options.shards;
  const bool speaks = !shards || shards->comm().rank() == 0;
  infer::Request request{.prompt = prompt, .options = o};
  request.on_token = [&](const infer::Emitted& e) {
    if (!r.json && speaks) {
      fmt::print("{}", e.text);
      std::fflush(stdout);
    }
    return shards ? agreed(shards->comm(), e.token, !interrupt.raised()) : !interrupt.raised();
  };
  options.cache_bytes = 0;
  CountingModel counting(model);
  infer::Engine engine(counting, options);
  PrefillProgress progress(counting, std::ssize(request.prompt));
  request.on_token = [&progress, told = std::move(request.on_token)](const infer::Emitted& e) {
    progress.first_token();
    return told(e);
  };
  infer::Generated g = engine.run(std::move(request));
  progress.first_token();  // where there was none
  if (!speaks) return 0;
  if (!r.json) {
    fmt::print("\n");
    print_speed(g);
    return 0;
  }
  Json j = Json::object(), out = Json::array(), lp = Json::array();
  for (int32_t t : g.tokens) out.push(t);
  for (double p : g.logprobs) lp.push(p);
  j.set("text", g.text);
  j.set("tokens", out);
  j.set("logprobs", lp);
  if (o.top_logprobs > 0) j.set("top_logprobs", top_logprobs_of(g, tokenizer));
  j.set("prompt_tokens", g.prompt_tokens);
  j.set("finish", g.finish);
  j.set("seed", static_cast<int64_t>(o.sampling.seed));
  j.set("prompt_seconds", g.prompt_seconds);
  j.set("decode_seconds", g.decode_seconds);
  if (o.speculate->on()) j.set("drafted", g.speculated.all_drafted()), j.set("accepted", g.speculated.all_accepted());
  fmt::print("{}\n", j.dump());
  return 0;
}

// Every rank runs its share of a long prompt and all other tokens, and keeps its share of the caches.
int answer_over_ranks(const RunOptions& r, const models::LoadOptions& load, const std::vector<int32_t>& prompt,
                      infer::GenerateOptions o, infer::EngineOptions options) {
  auto answer = [&](comm::Communicator& comm) {
    auto seed = static_cast<int64_t>(o.sampling.seed);
    comm.broadcast(std::span(&seed, 1));
    o.sampling.seed = static_cast<uint64_t>(seed);
    const mixers::CacheShards shards(comm);
    auto model = load_for_inference(r.dir, load);
    options.shards = &shards;
    answer_once(*model, r, prompt, o, options);
  };
  comm::under_mpi() ? comm::run_mpi(answer) : comm::run_ranks(1, answer);
  return 0;
}

int chat(models::Model& model, const RunOptions& r, infer::GenerateOptions o, const infer::EngineOptions& options) {
  CountingModel counting(model);
  infer::Engine engine(counting, options);
  infer::Chat talk(engine, *options.tokenizer, models::load_chat_template(r.dir, model.family()));
  std::optional<ChatFile> file;
  if (!r.session.empty()) file.emplace(r.session, r.fingerprint());
  if (file && file->exists()) {
    if (!r.system.empty())
      throw UsageError(fmt::format(
          "--system: {} already holds a chat, which keeps its system message; name another --chat-file", r.session));
    file->restore(engine, talk);
  }
  if (!r.system.empty()) talk.set_system(r.system);
  bool terminal = isatty(STDIN_FILENO) != 0;
  if (terminal)
    fmt::print(stderr,
               "Ctrl-C stops the response, Ctrl-D quits; /new starts a new chat, /help lists the commands.\n");
  LineEditor editor;
  bool kept = r.system.empty();  // the file has all that was said
  while (auto line = editor.read("> ")) {
    if (line->empty()) continue;
    if (*line == "/exit" || *line == "/quit") break;
    if (*line == "/new") {
      talk.reset();
      continue;
    }
    if (*line == "/help") {
      fmt::print(stderr, "/new  start a new chat    /system TEXT  set the system message    /exit  quit\n");
      continue;
    }
    if (line->starts_with("/system ")) {
      talk.set_system(line->substr(8));
      kept = false;
      continue;
    }
    if (const std::string unknown = unknown_command(*line); !unknown.empty()) {
      fmt::print(stderr, "{}\n", unknown);
      continue;
    }
    try {
      Interrupt interrupt;
      PrefillProgress progress(counting, 0);
      infer::Generated g = talk.turn(*line, o, [&](std::string_view piece) {
        progress.first_token();
        fmt::print("{}", piece);
        std::fflush(stdout);
        return !interrupt.raised();
      });
      progress.first_token();
      fmt::print("\n");
      std::fflush(stdout);
      if (terminal) print_speed(g);
      kept = false;
      if (file) file->save(engine, talk), kept = true;
    } catch (const Error& e) {
      fmt::print(stderr, "{}\n", e.what());  // too long, say: the chat goes on
    }
    ++o.sampling.seed;
  }
  if (file && !kept) file->save(engine, talk);
  return 0;
}

// Without the end of its last line, which a shell adds and no question has.
std::string piped_prompt(const RunOptions& r) {
  if (r.shard_context)
    throw UsageError("quern run: --shard-context needs the prompt itself: ranks do not share standard input");
  std::string text = standard_input();
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

int respond(RunOptions& r, const std::optional<std::string>& prompt) {
  const models::LoadOptions load = r.context.with(r.adapter.with(r.weights.load_options()));
  const std::string named = r.dir;
  r.dir = model_folder(named);
  if (!std::filesystem::exists(r.dir))
    fail("{}: no such model folder or file{}", named,
         named.find(' ') == named.npos ? "" : "; give a question with -p");
  text::Tokenizer tokenizer = models::load_tokenizer(r.dir);
  infer::GenerateOptions o = generation(r, models::load_generation_config(r.dir), tokenizer);
  infer::EngineOptions options{.kv = r.weights.kv(), .tokenizer = &tokenizer};
  FirstPrompt first;
  if (prompt && !r.think.plan) {  // what is wrong with it is told before the model is loaded
    r.prompt = *prompt;
    first = first_prompt(r, tokenizer);
    o.constraint = constraint(r, tokenizer, first.opens_thinking);
    if (!r.answer.empty()) o.forced = tokenizer.encode(r.answer, {.add_special_tokens = false});
  }
  if (r.shard_context) return answer_over_ranks(r, load, first.tokens, o, options);
  if (!r.mcp.file.empty())
    return chat_with_servers(
        {.dir = r.dir, .system = r.system, .servers = r.mcp.file, .load = load, .generate = o, .engine = options});
  const auto draft = r.ahead.load(r.dir, tokenizer, r.context.settings);
  auto model = load_for_inference(r.dir, load);
  options.draft = draft.get();
  if (!prompt) return chat(*model, r, o, options);
  if (r.think.plan) {
    reason::ThinkPlan plan = reason::parse_plan(*r.think.plan);
    if (plan.seed == 0) plan.seed = o.sampling.seed;
    if (plan.n > 1 && !r.given.has("temperature")) o.sampling.temperature = 1;  // candidates must differ
    return answer_by_thinking(
        *model, models::load_chat_template(r.dir, model->family()),
        {.question = *prompt, .system = r.system, .plan = plan, .options = o, .engine = options, .json = r.json});
  }
  return answer_once(*model, r, first.tokens, o, options);
}

}  // namespace

int cmd_run(Words args) {
  RunOptions r;
  std::optional<std::string> prompt;
  Args a("run", "generate text from a prompt, or chat");
  a.optional_positional("DIR", r.dir)
      .flag("-p,--prompt TEXT", prompt,
            "question, or text to continue where the model has no chat template; - for all of standard input but the "
            "end of its last line; without it, start a chat")
      .flag("--plain", r.plain, "continue the text as it stands, without the chat template")
      .settings(infer::GenerateOptions(), r.given)
      .flag("--response-prefix TEXT", r.answer, "with -p: forced prefix, the text that the output starts with")
      .alias("--answer")
      .flag("--json-schema FILE", r.json_schema,
            "constrained decoding: the output is JSON that satisfies the schema in FILE")
      .flag("--grammar FILE", r.grammar, "constrained decoding: the output matches the GBNF grammar in FILE")
      .flag("--regex REGEX", r.regex, "constrained decoding: the whole output matches the regular expression")
      .flag("--system TEXT", r.system, "system message of the chat")
      .flag("--chat-file FILE", r.session,
            "without -p: resume the chat saved in FILE, and save it there after every response")
      .alias("--session")
      .settings(r.mcp)
      .settings(r.think)
      .flag("--shard-context", r.shard_context,
            "under mpirun, with -p: shard the KV cache and the work of the prompt across ranks (context "
            "parallelism); the "
            "tokens are the same for any number of ranks with --dtype f32 --kv f32, else rounding may change them")
      .flag("--trace FILE", r.trace,
            "where the time goes, as a table, and a trace for Chrome written to FILE, and as a page next to it")
      .flag("--json", r.json, "with -p: print one JSON object")
      .note(
          "DIR is a model folder, a .gguf file, or a name in the Hugging Face cache such as org/name; without DIR, "
          "the\n"
          "shipped model answers.\n"
          "Without generation_config.json and sampling flags, decoding is greedy. --think needs -p. With --mcp, the "
          "chat\n"
          "asks before every call of a tool.");
  a.settings(r.ahead);
  r.weights.add_to(a);
  r.weights.add_cache_to(a);
  a.settings(r.adapter).settings(r.context);
  if (!a.parse(args)) return 0;
  a.check(r.context);
  if (r.dir.empty()) r.dir = kShippedModel;
  if (prompt == "-") prompt = piped_prompt(r);
  if (r.json && !prompt) throw UsageError("quern run: --json needs a prompt: add -p TEXT");
  if (!r.answer.empty() && !prompt) throw UsageError("quern run: --response-prefix needs a prompt: add -p TEXT");
  if (!r.mcp.file.empty() && (prompt || !r.session.empty() || !r.ahead.dir.empty()))
    throw UsageError("quern run: --mcp is for a chat and cannot be used with -p, --chat-file and --draft");
  if (!r.session.empty() && prompt)
    throw UsageError("quern run: --chat-file saves a chat and cannot be used with -p");
  if (r.plain && (!prompt || r.think.plan || !r.system.empty()))
    throw UsageError("quern run: --plain needs a prompt (-p) and cannot be used with --system and --think");
  infer::GenerateOptions asked;
  r.given.overlay(asked);
  if (asked.top_logprobs != 0 && !r.json)
    throw UsageError("quern run: --logprobs needs --json: they are printed as JSON only");
  if (r.think.plan && !prompt) throw UsageError("quern run: --think needs a prompt: add -p TEXT");
  if (r.think.plan && !r.answer.empty()) throw UsageError("quern run: --think cannot be used with --response-prefix");
  const int constraints = r.json_schema.has_value() + r.grammar.has_value() + r.regex.has_value();
  if (constraints > 1) throw UsageError("quern run: give only one of --json-schema, --grammar and --regex");
  if (constraints > 0 && (!prompt || r.think.plan))
    throw UsageError(
        "quern run: --json-schema, --grammar and --regex need a prompt (-p) and cannot be used with --think");
  if (r.shard_context && (r.ahead.speculate.value_or("none") != "none" || !r.ahead.dir.empty()))
    throw UsageError(
        "quern run: --speculate and --draft cannot be used with --shard-context: a sharded KV cache cannot be rolled "
        "back");
  if (r.shard_context && (!prompt || r.think.plan))
    throw UsageError("quern run: --shard-context needs a prompt (-p) and cannot be used with --think");
  if (!r.trace.empty() && r.shard_context)
    throw UsageError("quern run: --trace is of one process and cannot be used with --shard-context");
  if (r.trace.empty()) return respond(r, prompt);
  TraceFile trace(r.trace);
  const int status = respond(r, prompt);
  fmt::print(stderr, "{}", trace.finish());
  return status;
}

}  // namespace quern::cli
