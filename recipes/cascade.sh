#!/usr/bin/env bash
# The reinforcement-learning cascade at small scale: recipes/cascade.sh [WORK [MODEL]]. MODEL (default: the shipped
# zaya-nano, which is WORK/cascade-4-aggregation/model of the model that nano-weigh.sh makes) goes through five stages: a supervised start, a reasoning warm-up, environments whose difficulty follows the
# learner, aggregation prompts of Markovian RSA, and behavior. Each stage begins with the weights of the one before; problems
# that it always or never solves are replaced. WORK/cascade-5-behavior/model is the result, WORK/stages.tsv
# the effect of every stage. A run that was stopped goes on where it was. STEPS_PERCENT=10 shortens every stage to a tenth.
# Debian packages are fetched for the prose (nano-prose.sh).
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
work="${1:-work}" model="${2:-$here/../models/zaya-nano}" percent="${STEPS_PERCENT:-100}"
quern="${QUERN:-$here/../build/release/apps/quern/quern}"
model="$(cd "$model" && pwd)"
mkdir -p "$work"
work="$(cd "$work" && pwd)"
cd "$work"
cp "$here"/cascade*.toml .
[ -e start ] || ln -s "$model" start
mkdir -p data
kinds=(arithmetic lists logic dates units stories walks routes)

# Measured on the dev split: what is chosen by these figures must be judged on the test split.
measure() { # STAGE MODEL
  local stage="$1" model="$2" single rsa prose
  if grep -q "^$stage	" stages.tsv 2>/dev/null; then return; fi
  mkdir -p logs
  single=$("$quern" gym eval "$model" "${kinds[@]}" --difficulty 2-4 --split dev --count 20 --samples 8 --temp 1 \
    --log "logs/$stage.jsonl" --json | tr -d ' \n' | sed -E 's/.*"pass@1":([0-9.]+),.*"pass@8":([0-9.]+),.*/\1\t\2/')
  rsa=$("$quern" gym eval "$model" "${kinds[@]}" --difficulty 4 --split dev --count 20 --temp 1 \
    --think mrsa:8x4x1,beta=192,tau=64 --json | tr -d ' \n' | sed -E 's/.*"pass@1":([0-9.]+).*/\1/')
  prose=$("$quern" ppl "$model" data/prose-text/held.txt --json | tr -d ' \n' |
    sed -E 's/.*"bits_per_byte":([0-9.]+).*/\1/')
  [ -e stages.tsv ] || printf 'stage\tpass@1\tpass@8\tMarkovian RSA\tprose, bits a byte\n' >stages.tsv
  printf '%s\t%s\t%s\t%s\n' "$stage" "$single" "$rsa" "$prose" >>stages.tsv
  tail -n 1 stages.tsv
}
steps_of() { sed -n 's/^steps = //p' "$1.toml" | awk -v p="$percent" '{n = int($1 * p / 100); print (n > 1 ? n : 1)}'; }
stage() { # VERB NAME
  local resume=()
  [ -d "$2" ] && resume=(--resume)
  [ -e "$2/ended" ] || "$quern" $1 "$2.toml" --out "$2" --set "phase.0.steps=$(steps_of "$2")" "${resume[@]}"
  touch "$2/ended"
  measure "$2" "$2/model"
}

[ -e data/prose-text/held.txt ] || "$here/nano-prose.sh" data/prose-text
measure start start
build() { "$quern" data build "$@" --tokenizer start; }
if [ ! -e data/ended ]; then
  "$quern" gym solutions start "${kinds[@]}" --difficulty 1-5 --count "$(((60 * percent + 99) / 100))" --samples 8 --seed 53 \
    --keep 2 --keep-solved 0.3 --max-tokens 320 --out data/own.jsonl
  build data/own.jsonl --chat --max-tokens 513 --out data/own
  build data/prose-text/[a-gi-z]*.txt --documents file --out data/prose
  touch data/ended
fi
stage train cascade-1-supervised
stage rl cascade-2-warmup
stage rl cascade-3-gym
stage rl cascade-4-aggregation
stage rl cascade-5-behavior
column -t -s "$(printf '\t')" stages.tsv 2>/dev/null || cat stages.tsv
