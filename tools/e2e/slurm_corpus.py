"""Corpus builds from WARC to tokens as plans, killed at random moments: on a Slurm cluster of several nodes on this machine
(tools/e2e/slurm.sh), or by the local runner. Every run must give the bytes of an undisturbed quern corpus build.

    python3 tools/e2e/slurm_corpus.py build/dev/apps/quern/quern FOLDER [--kills 100] [--runner slurm|local]
    python3 tools/e2e/slurm_corpus.py build/dev/apps/quern/quern FOLDER --requeue 6

Kills are SIGKILL: of a task, of the script that Slurm runs it in, of both; with the local runner of a task or of the runner.
--requeue asks Slurm instead to requeue jobs that run, which it holds for two minutes. The seed and every run are printed."""

import argparse
import gzip
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parents[2]
FILES, FILE_BYTES = 4, 17 << 18  # more than a block each, so that there may be a shard for every file


def page(r):
    """A web page of one of some thousand texts, with or without a tail of its own; some hold what the filter removes."""
    number, paragraphs = r.randrange(4000), []
    for p in range(3):
        words = [f"w{(number * 7919 + (p * 60 + w) ** 2 * (number + 3)) % 9973}" for w in range(60)]
        sentences = [" ".join(words[w : w + 12]).capitalize() + "." for w in range(0, 60, 12)]
        paragraphs.append(" ".join(sentences))
    if r.random() < 0.3:
        paragraphs.append(f"The visitors of day {r.randrange(200)} wrote this line beneath the text. ")
    if number % 17 == 0:
        paragraphs.append("Lorem ipsum dolor sit amet, as on all pages that nobody has written yet.")
    body = "".join(f"<p>{p}</p>\n" for p in paragraphs)
    return (
        f"<html><head><title>Page {number}</title></head><body><nav><a href='/'>Home</a> <a href='/all'>All</a></nav>\n"
        f"<article><h1>Page {number}</h1>\n{body}</article><footer>Copyright 2026</footer></body></html>\n"
    )


def record(r):
    html = page(r).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/{r.randrange(10**9)}\r\n"
        f"WARC-Date: 2026-01-02T03:04:05Z\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(answer)}\r\n\r\n"
    )
    return head.encode() + answer + b"\r\n\r\n"


def write_inputs(folder):
    r = random.Random(17)
    for n in range(FILES):
        packed = n == 3  # a member for every record, as crawlers write them
        with open(folder / f"{'ab'[n % 2]}{n}.warc{'.gz' if packed else ''}", "wb") as f:
            while f.tell() < FILE_BYTES:
                one = record(r)
                f.write(gzip.compress(one, 1, mtime=0) if packed else one)
    (folder / "r.toml").write_text(
        '[[source]]\nname = "a"\npaths = ["a*"]\nfilter = "c4-any-end"\nshare = 1\n'
        '[[source]]\nname = "b"\npaths = ["b*"]\nshare = 2\n[write]\nshard_mb = 2\n[mix]\nmegabytes = 2\n'
        f'[tokenize]\ntokenizer = "{ROOT}/models/zaya-nano"\n'
    )


def outputs(folder):
    """All that a build gives but reports, which name times."""
    return {
        str(f.relative_to(folder)): f.read_bytes()
        for f in folder.rglob("*")
        if f.is_file() and f.suffix not in (".json", ".html")
    }


def quern(given, *words, **more):
    return subprocess.run([given.quern, "corpus", *map(str, words)], check=True, stdout=subprocess.DEVNULL, **more)


def process(pid):
    """Parent and words of a process that lives; nothing: it does not."""
    try:
        parent = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return None
    return None if parent[0] == "Z" else (int(parent[1]), [w.decode() for w in words])


def children(pid):
    try:
        return [int(c) for c in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def tasks_of(plan):
    """Processes that run a task of this plan, with the script that started them."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        known = process(pid)
        if known and known[1][-4:-1] == ["corpus", "task", str(plan)]:
            found.append((int(pid), known[0]))
    return found


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


class Kills:
    """How many of each kind were done, and how many are left of a run's."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.done = {}
        self.left = 0

    def count(self, kind, killed):
        if killed:
            self.done[kind] = self.done.get(kind, 0) + 1
            self.left -= 1

    def all(self):
        return sum(self.done.values())


def queue():
    said = subprocess.run(["squeue", "-h", "-r", "-o", "%i %T"], capture_output=True, text=True, check=False).stdout
    return [line.split() for line in said.splitlines()]


def run_on_slurm(given, plan, out, kills):
    """Submits the plan until it is done: an array that failed cancels those behind it."""
    submitted, seen, begun = 0, set(), time.time()
    while not (out / "manifest.json").exists() or (out / "build.json").exists() or submitted == 0:
        assert submitted < 60, "submitted sixty times, and it is not done"
        quern(given, "run", plan, "--runner", "slurm")
        submitted += 1
        jobs, asked = queue(), time.time()
        while jobs and time.time() - begun < 1800:
            if time.time() - asked > 1:
                jobs, asked = queue(), time.time()
            if given.requeue and kills.left > 0:
                running = [job for job, state in jobs if state == "RUNNING"]
                if running:
                    job = kills.random.choice(running)
                    asked_for = subprocess.run(["scontrol", "requeue", job], check=False, capture_output=True)
                    kills.count("requeue", asked_for.returncode == 0)  # it may have ended meanwhile
                time.sleep(kills.random.random())
                continue
            new = [t for t in tasks_of(plan) if t[0] not in seen]
            seen.update(pid for pid, _ in new)
            if not new or kills.left <= 0 or kills.random.random() < 0.3:
                time.sleep(0.005 if kills.left > 0 else 0.3)
                continue
            pid, script = kills.random.choice(new)
            time.sleep(kills.random.choice([0.03, 0.1, 0.6]) * kills.random.random())  # most tasks are short
            which = kills.random.choice(["task", "task", "script", "both"])
            if not process(pid):
                continue
            if which != "task":
                known = process(script)
                assert not known or known[1][-1].endswith("slurm_script"), known  # and not Slurm itself
                gone = kill(script)
                if which == "script":
                    kills.count(which, gone)
            if which != "script":
                kills.count(which, kill(pid))
    return submitted


def run_here(given, plan, out, kills):
    started, done = 0, False
    while not done:
        assert started < 60, "started sixty times, and it is not done"
        command = [given.quern, "corpus", "run", str(plan), "-j", "2"]
        runner = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        started, of_tasks = started + 1, 0
        while runner.poll() is None:
            if kills.left <= 0:
                runner.wait()
                break
            time.sleep(given.seconds * 0.4 * kills.random.random())
            running = children(runner.pid)
            if running and of_tasks < 3 and kills.random.random() < 0.5:
                kills.count("task", kill(kills.random.choice(running)))
                of_tasks += 1
            elif runner.poll() is None:
                kills.count("runner", kill(runner.pid))
                runner.wait()
        done = runner.returncode == 0
        assert done or runner.returncode == -signal.SIGKILL, f"the runner ended with {runner.returncode}"
    return started


def run_all(given, folder):
    """Whole builds until there were enough kills."""
    expected, kills, runs = outputs(folder / "whole"), Kills(given.seed), 0
    assert {"tokens.bin", "mixed/part-00000.jsonl.zst"} <= set(expected) and len(expected) > 5, sorted(expected)
    begin = time.time()
    run = run_on_slurm if given.runner == "slurm" else run_here
    while kills.all() < (given.requeue or given.kills):
        out, plan = folder / f"out{runs}", folder / f"plan{runs}.json"
        quern(given, "plan", folder / "in/r.toml", "--out", out, "--plan", plan, "--tasks", given.nodes)
        kills.left = given.requeue or min(given.kills - kills.all(), 6 + kills.random.randrange(9))
        starts, runs = run(given, plan, out, kills), runs + 1
        assert outputs(out) == expected, f"{out}: the bytes differ"
        assert not (out / "unfinished").exists(), f"{out}: something unfinished is left"
        tasks = len(json.loads(plan.read_text())["tasks"])
        print(f"run {runs}: {tasks} tasks, started {starts} times, kills so far {kills.done}", flush=True)
        shutil.rmtree(out)
        shutil.rmtree(f"{plan}.slurm", ignore_errors=True)
    print(f"{given.runner}, seed {given.seed}: {runs} runs, {kills.done}: the bytes of a build, {time.time() - begin:.0f} s")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("quern")
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--runner", choices=["slurm", "local"], default="slurm")
    p.add_argument("--nodes", type=int, default=4, help="of the cluster, and tasks per stage [4]")
    p.add_argument("--kills", type=int, default=100, help="in all; runs follow each other until they were done [100]")
    p.add_argument("--requeue", type=int, default=0, help="requeue so many jobs of one run instead")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--on-cluster", action="store_true", help=argparse.SUPPRESS)
    given = p.parse_args()
    given.quern, folder = os.path.abspath(given.quern), given.folder.resolve()
    given.seconds = 1.0
    if given.on_cluster:
        return run_all(given, folder)
    data = folder / "in"
    data.mkdir(parents=True)
    write_inputs(data)
    begin = time.time()
    quern(given, "build", data / "r.toml", "--out", folder / "whole")
    given.seconds = time.time() - begin
    if given.runner == "local":
        return run_all(given, folder)
    again = [sys.executable, str(HERE), *sys.argv[1:], "--on-cluster"]
    return subprocess.run([str(HERE.parent / "slurm.sh"), str(folder / "slurm"), str(given.nodes), *again], check=True)


main()
