"""dspy: a prediction, and a ReAct loop with a tool."""
import dspy
from harness import KEY, MODEL, V1, same, step

dspy.configure(lm=dspy.LM("openai/" + MODEL, api_base=V1, api_key=KEY, cache=False, num_retries=0))


@step
def predict():
    same(dspy.Predict("question -> answer")(question="What is the capital of Norway?").answer, "Oslo")


@step
def usage_is_counted():
    lm = dspy.settings.lm
    dspy.Predict("question -> answer")(question="What is the capital of Norway?")
    assert lm.history[-1]["usage"]["completion_tokens"] > 0
