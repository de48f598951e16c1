"""A corpus plan on a Slurm cluster of several nodes on this machine (tools/e2e/slurm.sh), with jobs killed and requeued while
they run: the bytes of quern corpus build.

    python3 tools/e2e/slurm_corpus.py build/dev/apps/quern/quern FOLDER [NODES [KILLS]]"""

import json
import os
import pathlib
import random
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve()


def write_inputs(folder, files):
    r = random.Random(17)
    for n in range(files):
        with open(folder / f"{n}.jsonl", "w", encoding="utf-8") as f:
            size = 0
            while size < 17 << 18:
                page, text = r.randrange(12000), []
                for w in range(150):
                    text.append(f"w{(page * 7919 + w * w * (page + 3)) % 9973}")
                line = json.dumps({"text": " ".join(text) + (" tail" if r.random() < 0.5 else "")}) + "\n"
                size += len(line)
                f.write(line)
    (folder / "r.toml").write_text('[[source]]\nname = "all"\npaths = ["."]\n[write]\nshard_mb = 4\n')


def rows(folder):
    return {f.name: f.read_bytes() for f in folder.glob("*.zst")}


def queue():
    said = subprocess.run(["squeue", "-h", "-r", "-o", "%A %T"], capture_output=True, text=True, check=False).stdout
    return [line.split() for line in said.splitlines()]


def on_cluster(quern, folder, kills):
    """Within slurm.sh: submits, kills what runs now and then, waits for the end."""
    r = random.Random(int(kills))
    subprocess.run([quern, "corpus", "run", str(folder / "plan.json"), "--runner", "slurm"], check=True)
    killed, begun = 0, time.time()
    while (jobs := queue()) and time.time() - begun < 900:
        running = [job for job, state in jobs if state == "RUNNING"]
        if running and killed < int(kills):
            subprocess.run(["scontrol", "requeue", r.choice(running)], check=False, capture_output=True)
            killed += 1
        time.sleep(r.random())
    print(f"{killed} jobs were killed and requeued, {time.time() - begun:.0f} s")


def main():
    quern, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    if len(sys.argv) > 4 and sys.argv[4] == "on-cluster":
        return on_cluster(quern, folder, sys.argv[3])
    nodes, kills = (sys.argv[3:] + ["4", "6"])[:2] if len(sys.argv) > 3 else ("4", "6")
    data = folder / "in"
    data.mkdir(parents=True)
    write_inputs(data, int(nodes))
    subprocess.run([quern, "corpus", "build", str(data / "r.toml"), "--out", str(folder / "whole")], check=True)
    plan = ["--out", str(folder / "out"), "--plan", str(folder / "plan.json"), "--tasks", nodes]
    subprocess.run([quern, "corpus", "plan", str(data / "r.toml"), *plan], check=True)
    again = [sys.executable, str(HERE), quern, str(folder), kills, "on-cluster"]
    subprocess.run([str(HERE.parent / "slurm.sh"), str(folder / "slurm"), nodes, *again], check=True)
    assert rows(folder / "out") == rows(folder / "whole"), "the bytes differ"
    stages = json.loads((folder / "out/manifest.json").read_text())["plan"]["stages"]
    print(f"{sum(s['tasks'] for s in stages) + 1} tasks on {nodes} nodes: the bytes of a build")


main()
