// The verbs. Each takes the arguments after its name and returns the exit code.
#pragma once
#include <span>
#include <string>

namespace quern::cli {

using Words = std::span<const std::string>;
int cmd_info(Words args);
int cmd_new(Words args);
int cmd_logits(Words args);
int cmd_pull(Words args);
int cmd_embed(Words args);
int cmd_tokenize(Words args);
int cmd_detokenize(Words args);
int cmd_tokenizer(Words args);
int cmd_data(Words args);
int cmd_corpus(Words args);
int cmd_gym(Words args);
int cmd_quantize(Words args);
int cmd_ppl(Words args);
int cmd_eval(Words args);
int cmd_run(Words args);
int cmd_serve(Words args);
int cmd_sandbox(Words args);
int cmd_doctor(Words args);
int cmd_bench(Words args);
int cmd_report(Words args);
int cmd_recall(Words args);
int cmd_reshape(Words args);
int cmd_export(Words args);
int cmd_demo(Words args);
int cmd_plan(Words args);
int cmd_paper(Words args);
int cmd_train(Words args);
int cmd_finetune(Words args);
int cmd_merge(Words args);
int cmd_rl(Words args);
int cmd_study(Words args);
int cmd_memory(Words args);
int cmd_mcp(Words args);
int cmd_learn(Words args);

bool has_lab();  // research studies are part of this build

}  // namespace quern::cli
