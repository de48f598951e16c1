#!/usr/bin/env bash
# The nano models from nothing: recipes/nano.sh zaya|zamba2|llama|ovq [WORK] [quern train flags…]
# WORK (default: work) gets the data (once, the same for all four) and WORK/FAMILY-nano, the run; its model/ is the
# trained model. A run that was stopped goes on where it was. Ten million tokens: about three quarters of an hour of one core a model.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
family="${1:?usage: nano.sh zaya|zamba2|llama|ovq [WORK] [flags]}"
work="${2:-work}"
shift $(($# < 2 ? $# : 2))
quern="${QUERN:-$here/../build/release/apps/quern/quern}"
mkdir -p "$work/nano"
work="$(cd "$work" && pwd)"
cd "$work/nano"

if [ ! -e done ]; then
  [ -e prose-text/held.txt ] || "$here/nano-prose.sh" prose-text
  kinds=(--kind arithmetic --kind lists --kind logic --kind dates --kind units --kind stories)  # searches come later
  # Seeds differ: no form repeats another's problems in order.
  problems() { "$quern" data curriculum --level 1-5 "${kinds[@]}" "$@"; }
  problems --out problems.jsonl --count 160000 --form text --seed 1
  problems --out problems-held.jsonl --count 2000 --form text --seed 2 --split heldout
  problems --out chat.jsonl --count 60000 --form chat --seed 3
  problems --out chat-held.jsonl --count 2000 --form chat --seed 4 --split heldout
  problems --out attempts.jsonl --count 12000 --form aggregate --level 2-5 --attempts 4 --tail 160 --seed 5
  if [ ! -e tokenizer/tokenizer.json ]; then
    head -n 12000 problems.jsonl | sed 's/^{"text":"//; s/","kind".*//; s/\\n/\n/g' >tokenizer.txt
    head -n 12000 chat.jsonl | sed 's/.*"content":"<think>/<think>/; s/"}\].*//; s/\\n/\n/g' >>tokenizer.txt
    "$quern" tokenizer train tokenizer.txt prose-text/[a-gi-z]*.txt --out tokenizer --vocab 4096 --individual-digits
  fi
  build() { "$quern" data build "$@" --tokenizer tokenizer; }
  build prose-text/[a-gi-z]*.txt --documents file --out prose
  build prose-text/held.txt --documents file --out prose-held
  build problems.jsonl --out problems
  build problems-held.jsonl --out problems-held
  build chat.jsonl --chat --max-tokens 513 --out chat
  build chat-held.jsonl --chat --max-tokens 513 --out chat-held
  build attempts.jsonl --chat --max-tokens 513 --out attempts
  build "$here/nano-talk.jsonl" --chat --out talk
  touch done
fi
cp "$here/nano.toml" "$here/nano-$family.toml" "$work"
resume=()
[ -d "$work/$family-nano" ] && resume=(--resume)
"$quern" train "$work/nano-$family.toml" --out "$work/$family-nano" "${resume[@]}" "$@"
"$quern" report "$work/$family-nano"
