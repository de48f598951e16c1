"""aider: the coding agent adds a function to a file of a git repository and commits it."""
import os
import pathlib
import subprocess
import sys
import tempfile

from harness import KEY, MODEL, V1, URL, step


def edit(model, environment):
    folder = pathlib.Path(tempfile.mkdtemp())
    run = lambda *c: subprocess.run(c, cwd=folder, check=True, capture_output=True, text=True, timeout=280,
                                    stdin=subprocess.DEVNULL,
                                    env=os.environ | environment | {"HOME": str(folder), "AIDER_ANALYTICS": "false"})
    (folder / "sums.py").write_text("def one():\n    return 1\n")
    run("git", "init", "-q")
    run("git", "-c", "user.name=a", "-c", "user.email=a@b", "add", ".")
    run("git", "config", "user.name", "a")
    run("git", "config", "user.email", "a@b")
    run("git", "commit", "-qm", "begin")
    out = run(sys.executable, "-m", "aider", "--model", model, "--weak-model", model, "--edit-format", "diff",
              "--yes-always", "--no-show-model-warnings", "--no-check-update", "--no-pretty", "--no-browser",
              "--no-gitignore", "--map-tokens", "0", "--message", "Add a function that adds two numbers.", "sums.py")
    text = (folder / "sums.py").read_text()
    assert "def add(a, b):" in text and "def one():" in text, out.stdout + text
    assert len(run("git", "log", "--oneline").stdout.splitlines()) == 2, out.stdout


@step
def edit_by_chat_completions():
    edit("openai/" + MODEL, {"OPENAI_API_BASE": V1, "OPENAI_API_KEY": KEY})


@step
def edit_by_messages():
    edit("anthropic/" + MODEL, {"ANTHROPIC_API_BASE": URL, "ANTHROPIC_API_KEY": KEY})
