#!/usr/bin/env bash
# zaya-nano learns to weigh attempts: recipes/nano-weigh.sh [WORK], behind recipes/nano.sh zaya WORK. In each round the
# model attempts training problems, its attempts become examples, and it goes on from its weights with them.
# WORK/weigh-3/model is the model that comes with Quern. About an hour of two cores.
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
"$quern" report weigh-3
