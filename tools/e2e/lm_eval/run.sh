#!/usr/bin/env bash
# lm-eval (PyPI: lm-eval) against a running server, by scores and by answers, on sums made here: nothing is downloaded.
#   quern serve models/zaya-nano --port 8139 --quiet &   tools/e2e/lm_eval/run.sh http://127.0.0.1:8139 models/zaya-nano
set -euo pipefail
url="$1" model="$(realpath "$2")" here="$(dirname "$(realpath "$0")")" work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 - "$work" <<'PY'
import json, random, sys
r = random.Random(7)
choice, chat = (open(f"{sys.argv[1]}/{n}.jsonl", "w") for n in ("choice", "chat"))
for _ in range(100):
    a, b = r.randint(10, 99), r.randint(10, 99)
    options = [a + b] + r.sample([a + b + d for d in (-20, -11, -10, -1, 1, 10, 11, 20)], 3)
    r.shuffle(options)
    print(json.dumps({"question": f"Question: What is {a} + {b}?", "choices": [f"{a} + {b} = {o}." for o in options],
                      "answer": options.index(a + b)}), file=choice)
    print(json.dumps({"question": f"What is {a} + {b}?", "answer": str(a + b)}), file=chat)
PY
for t in "$here"/*.yaml; do sed "s|WORK|$work|" "$t" >"$work/$(basename "$t")"; done
export HF_HUB_OFFLINE=1 HF_DATASETS_CACHE="$work/cache" TOKENIZERS_PARALLELISM=false
name="$(basename "$model")"
lm_eval --model local-completions --include_path "$work" --tasks quern_sums_choice \
  --model_args "model=$name,base_url=$url/v1/completions,tokenizer=$model,num_concurrent=4,max_retries=1"
lm_eval --model local-chat-completions --include_path "$work" --tasks quern_sums_chat --apply_chat_template \
  --model_args "model=$name,base_url=$url/v1/chat/completions,num_concurrent=4,max_retries=1"
