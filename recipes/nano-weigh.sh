#!/usr/bin/env bash
# zaya-nano learns to weigh attempts: recipes/nano-weigh.sh [WORK], behind recipes/nano.sh zaya WORK. In each round the
# model attempts training problems, its attempts become examples, and it goes on from its weights with them.
# WORK/weigh-7/model is what cascade.sh begins with. About two hours and a half of two cores.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
work="${1:-work}"
quern="${QUERN:-$here/../build/release/apps/quern/quern}"
cd "$work"
cp "$here"/nano.toml "$here"/nano-weigh-*.toml .
kinds=(--kind arithmetic --kind lists --kind logic --kind dates --kind units --kind stories)
train() {  # NUMBER
  local resume=()
  [ -d "weigh-$1" ] && resume=(--resume)
  "$quern" train "nano-weigh-$1.toml" --out "weigh-$1" "${resume[@]}"
}
long_rows() {  # names of chats
  local n
  for n in "$@"; do
    "$quern" data build "nano/$n.jsonl" --chat --max-tokens 641 --tokenizer nano/tokenizer --out "nano/$n"
  done
}
# NUMBER MODEL HARD CONTESTS UNANIMOUS EASY SEED flags…: attempts at levels 4 and 5 (HARD problems each) with contested
# groups, and at 2 and 3 (EASY problems each).
own_and_contested() {
  local n="$1" model="$2" hard="$3" contests="$4" unanimous="$5" easy="$6" seed="$7"
  shift 7
  "$quern" data attempts "$model" "$@" --level 4-5 --count "$hard" --out "nano/hard-$n.jsonl" \
    --contested "nano/contested-$n.jsonl" --contests "$contests" --seed "$seed" --unanimous "$unanimous"
  "$quern" data attempts "$model" "$@" --level 2-3 --count "$easy" --out "nano/easy-$n.jsonl" --seed "$((seed + 1))" \
    --unanimous 0.4
  cat "nano/hard-$n.jsonl" "nano/easy-$n.jsonl" >"nano/own-$n.jsonl"
}
round() {  # NUMBER MODEL flags of quern data attempts…
  local n="$1" model="$2"
  shift 2
  if [ ! -e "nano/own-$n.idx" ]; then
    [ -e "nano/own-$n.jsonl" ] || "$quern" data attempts "$model" --out "nano/own-$n.jsonl" "${kinds[@]}" "$@"
    "$quern" data build "nano/own-$n.jsonl" --chat --max-tokens 513 --tokenizer nano/tokenizer --out "nano/own-$n"
  fi
  train "$n"
}
round 1 zaya-nano/model --count 1900 --seed 11 --unanimous 0.3
round 2 weigh-1/model --count 1600 --seed 12 --unanimous 0.7 --hopeless 0.3
round 3 weigh-2/model --count 1700 --seed 13 --unanimous 0.6 --hopeless 0.15

# The fourth round: contested groups beside the others, harder chats, and the same examples without their verdicts.
if [ ! -e nano/chat-hard.idx ]; then
  own_and_contested 4 weigh-3/model 1300 3 0.6 350 14 "${kinds[@]}" --verdicts --hopeless 0.3
  for n in own-4 contested-4; do
    sed -E 's/<think>\\n(([1-4] (right|wrong)(, )?)+)\.\\n/<think>\\n/' "nano/$n.jsonl" >"nano/$n-plain.jsonl"
  done
  "$quern" data curriculum --out nano/chat-hard.jsonl --count 20000 --form chat "${kinds[@]}" --level 4-5 --seed 23
  long_rows own-4 contested-4 own-4-plain contested-4-plain chat-hard
fi
train 4

# The fifth: searches are learnt, and to go on from the best that others found. Four in ten workings stop short: where every
# working that is learnt has the solution, "Best" is learnt as a guess at the answer, whatever the tries came to.
short=(--cut-short 0.4)
if [ ! -e nano/attempts-search.idx ]; then
  search() { "$quern" data curriculum --kind walks --kind routes --level 1-5 "${short[@]}" "$@"; }
  "$quern" data curriculum --out nano/chat-all.jsonl --count 40000 --form chat "${kinds[@]}" --level 1-5 --seed 31
  search --out nano/chat-search.jsonl --count 24000 --form chat --seed 32
  search --out nano/attempts-search.jsonl --count 9000 --form aggregate --sound 0.3 --tail 90 --seed 33
  long_rows chat-all chat-search attempts-search
fi
train 5

# The sixth: own attempts at all eight kinds.
if [ ! -e nano/contested-6.idx ]; then
  own_and_contested 6 weigh-5/model 1000 3 0.6 350 16 "${short[@]}" --hopeless 0.3
  long_rows own-6 contested-6
fi
train 6

# The seventh: the same at the six older kinds.
if [ ! -e nano/contested-7.idx ]; then
  own_and_contested 7 weigh-6/model 1000 2 0.7 400 18 "${kinds[@]}" --hopeless 0.15
  long_rows own-7 contested-7
fi
train 7
"$quern" report weigh-7
