"""What the scripted model says: the line whose cue stands last in the prompt (tests/serve/scripted_model.h)."""
import json


def call(name, /, **arguments):
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>"


# Aider's edit block; its marks are those of an unfinished merge, which no file of the project may hold.
AIDER_EDIT = "I add the function.\n\nsums.py\n```\n" + "\n".join([
    "<" * 7 + " SEARCH", "def one():", "    return 1", "=" * 7, "def one():", "    return 1", "", "", "def add(a, b):",
    "    return a + b", ">" * 7 + " REPLACE"]) + "\n```\n"

LINES = {
    "weather in Oslo?": "I look it up.\n" + call("get_weather", city="Oslo"),
    "12 degrees": "It is 12 degrees and raining in Oslo.",
    "weather in Oslo and Rome?": call("get_weather", city="Oslo") + "\n" + call("get_weather", city="Rome"),
    "25 degrees": "Oslo has 12 degrees, Rome 25.",
    "weather in Narvik?": call("Plugin-get_weather", city="Oslo"),
    "weather in Bergen?": call("get_weather", city="Bergen"),
    "7 degrees": call("final_result", city="Bergen", degrees=7),
    "weather in Tromso?": call("get_weather", city="Tromso"),
    "1 degrees": call("final_answer", answer="It is 1 degrees in Tromso."),
    "Say hello": "Hello from the script, word by word.",
    "Ada is 36": '{"name": "Ada", "age": 36}',
    "Call for the person Ada": call("Person", name="Ada", age=36),
    "Call for a part of Ada": call("PartialPerson", name="Ada", age=36),
    "Think about 3 + 4": "<think>\nThree and four are seven.\n</think>\n\nSeven.",
    "Run a command": call("bash", command="echo made > made.txt; cat made.txt"),
    "\"returncode\": 0": call("bash", command="echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
    "Add a function that adds": AIDER_EDIT,
    "Compute with code": "I add them.\n<code>\nfinal_answer(sum([3, 4]))\n</code>",
    "the capital of Norway": "[[ ## answer ## ]]\nOslo\n\n[[ ## completed ## ]]",
}


def script(model):
    lines = [{"cue": c, "say": s} for c, s in LINES.items()]
    return {"model": model, "aliases": ["gpt-4o", "claude-sonnet-4-5"], "lines": lines + [{"cue": "", "say": "Nothing."}]}
