#!/usr/bin/env bash
# zaya-nano learns to weigh attempts: recipes/nano-weigh.sh [WORK], behind recipes/nano.sh zaya WORK. In each round the
# model attempts training problems, its attempts become examples, and it goes on from its weights with them.
# WORK/weigh-7/model is the model that comes with Quern. About two hours and a half of two cores.
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
  attempts() { "$quern" data attempts weigh-3/model "${kinds[@]}" --verdicts "$@"; }
  attempts --level 4-5 --count 1300 --out nano/hard-4.jsonl --contested nano/contested-4.jsonl --contests 3 --seed 14 \
    --unanimous 0.6 --hopeless 0.3
  attempts --level 2-3 --count 350 --out nano/easy-4.jsonl --seed 15 --unanimous 0.4 --hopeless 0.3
  cat nano/hard-4.jsonl nano/easy-4.jsonl >nano/own-4.jsonl
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
  attempts() { "$quern" data attempts weigh-5/model "${short[@]}" --hopeless 0.3 "$@"; }
  attempts --level 4-5 --count 1000 --out nano/hard-6.jsonl --contested nano/contested-6.jsonl --contests 3 --seed 16 \
    --unanimous 0.6
  attempts --level 2-3 --count 350 --out nano/easy-6.jsonl --seed 17 --unanimous 0.4
  cat nano/hard-6.jsonl nano/easy-6.jsonl >nano/own-6.jsonl
  long_rows own-6 contested-6
fi
train 6

# The seventh: the same at the six older kinds.
if [ ! -e nano/contested-7.idx ]; then
  attempts() { "$quern" data attempts weigh-6/model "${kinds[@]}" --hopeless 0.15 "$@"; }
  attempts --level 4-5 --count 1000 --out nano/hard-7.jsonl --contested nano/contested-7.jsonl --contests 2 --seed 18 \
    --unanimous 0.7
  attempts --level 2-3 --count 400 --out nano/easy-7.jsonl --seed 19 --unanimous 0.4
  cat nano/hard-7.jsonl nano/easy-7.jsonl >nano/own-7.jsonl
  long_rows own-7 contested-7
fi
train 7
"$quern" report weigh-7
