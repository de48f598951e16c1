"""llm: the command-line tool with a model of its own configuration, a tool, a schema, a conversation."""
import os
import pathlib
import subprocess
import sys
import tempfile

from harness import ANSWER, GREETING, HELLO, KEY, MODEL, PERSON, V1, WEATHER, same, step

home = pathlib.Path(tempfile.mkdtemp())
(home / "extra-openai-models.yaml").write_text(f"""
- model_id: {MODEL}
  model_name: {MODEL}
  api_base: {V1}
  api_key_name: none
  supports_tools: true
  supports_schema: true
""")
(home / "keys.json").write_text('{"none": "%s"}' % KEY)
(home / "tools.py").write_text('''
def get_weather(city: str) -> str:
    "The weather of a city."
    return "12 degrees, rain"
''')


def llm(*arguments):
    return subprocess.run([sys.executable, "-m", "llm", *arguments, "-m", MODEL], env=os.environ | {"LLM_USER_PATH": str(home)},
                          check=True, text=True, capture_output=True, timeout=120, stdin=subprocess.DEVNULL).stdout.strip()


@step
def prompt():
    same(llm(HELLO), GREETING)
    same(llm(HELLO, "--no-stream"), GREETING)


@step
def tool():
    assert llm(WEATHER, "--functions", str(home / "tools.py")).endswith(ANSWER)


@step
def schema():
    same(llm(PERSON, "--schema", "name, age int"), '{"name": "Ada", "age": 36}')
