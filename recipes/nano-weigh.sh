#!/usr/bin/env bash
# zaya-nano learns to weigh attempts: recipes/nano-weigh.sh [WORK], behind recipes/nano.sh zaya WORK. In each round the
# model attempts training problems, its attempts become examples, and it goes on from its weights with them.
# WORK/weigh-4/model is the model that comes with Quern. About an hour and a half of two cores.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
work="${1:-work}"
quern="${QUERN:-$here/../build/release/apps/quern/quern}"
cd "$work"
cp "$here"/nano.toml "$here"/nano-weigh-*.toml .
round() {  # NUMBER MODEL flags of quern data attempts…
  local n="$1" model="$2"
  shift 2
  if [ ! -e "nano/own-$n.idx" ]; then
    [ -e "nano/own-$n.jsonl" ] || "$quern" data attempts "$model" --out "nano/own-$n.jsonl" "$@"
    "$quern" data build "nano/own-$n.jsonl" --chat --max-tokens 513 --tokenizer nano/tokenizer --out "nano/own-$n"
  fi
  local resume=()
  [ -d "weigh-$n" ] && resume=(--resume)
  "$quern" train "nano-weigh-$n.toml" --out "weigh-$n" "${resume[@]}"
}
round 1 zaya-nano/model --count 1900 --seed 11 --unanimous 0.3
round 2 weigh-1/model --count 1600 --seed 12 --unanimous 0.7 --hopeless 0.3
round 3 weigh-2/model --count 1700 --seed 13 --unanimous 0.6 --hopeless 0.15

# The fourth round: contested groups beside the others, harder chats, and the same examples without their verdicts.
if [ ! -e nano/chat-hard.idx ]; then
  "$quern" data attempts weigh-3/model --level 4-5 --count 1300 --out nano/hard-4.jsonl --contested nano/contested-4.jsonl \
    --contests 3 --verdicts --seed 14 --unanimous 0.6 --hopeless 0.3
  "$quern" data attempts weigh-3/model --level 2-3 --count 350 --out nano/easy-4.jsonl --verdicts --seed 15 \
    --unanimous 0.4 --hopeless 0.3
  cat nano/hard-4.jsonl nano/easy-4.jsonl >nano/own-4.jsonl
  for n in own-4 contested-4; do
    sed -E 's/<think>\\n(([1-4] (right|wrong)(, )?)+)\.\\n/<think>\\n/' "nano/$n.jsonl" >"nano/$n-plain.jsonl"
  done
  "$quern" data curriculum --out nano/chat-hard.jsonl --count 20000 --form chat --level 4-5 --seed 23
  for n in own-4 contested-4 own-4-plain contested-4-plain chat-hard; do
    "$quern" data build "nano/$n.jsonl" --chat --max-tokens 641 --tokenizer nano/tokenizer --out "nano/$n"
  done
fi
resume=()
[ -d weigh-4 ] && resume=(--resume)
"$quern" train nano-weigh-4.toml --out weigh-4 "${resume[@]}"
"$quern" report weigh-4
