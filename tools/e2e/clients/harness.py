"""What the clients of this folder share: where the server is, the task that most of them do, and a line per step."""
import json
import os
import sys

URL = os.environ["QUERN_E2E_URL"]
V1 = URL + "/v1"
MODEL = "scripted"
KEY = "none"

WEATHER = "What is the weather in Oslo?"  # a call of get_weather, then the answer below
BOTH = "What is the weather in Oslo and Rome?"  # two calls at once
BERGEN = "What is the weather in Bergen?"  # a call, then a call of final_result
HELLO = "Say hello."
PERSON = "Extract the person: Ada is 36."  # {"name": "Ada", "age": 36}
THINK = "Think about 3 + 4."  # thinking, then the answer
ANSWER = "It is 12 degrees and raining in Oslo."
ANSWERS = "Oslo has 12 degrees, Rome 25."
GREETING = "Hello from the script, word by word."
DEGREES = {"Oslo": "12 degrees, rain", "Rome": "25 degrees, sun", "Bergen": "7 degrees, storm"}


def get_weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: name of the city
    """
    return DEGREES[city]


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "name of the city"}},
    "required": ["city"],
    "additionalProperties": False,
}


def same(a, b):
    assert a == b, f"{a!r} is not {b!r}"


def step(f):
    """Runs a step and reports it; a step that fails does not end the client."""
    try:
        f()
        print(json.dumps({"step": f.__name__, "ok": True}), flush=True)
    except Exception as e:  # a step fails however it likes
        print(json.dumps({"step": f.__name__, "ok": False, "error": f"{type(e).__name__}: {e}"[:600]}), flush=True)
        if "-v" in sys.argv:
            raise
    return f


