"""guidance: a program with generated parts over Chat Completions."""
from guidance import assistant, gen, user
from guidance.models import OpenAI
from harness import GREETING, HELLO, KEY, MODEL, V1, same, step


@step
def program():
    lm = OpenAI(MODEL, base_url=V1, api_key=KEY, echo=False)
    with user():
        lm += HELLO
    with assistant():
        lm += gen("greeting", max_tokens=60)
    same(lm["greeting"], GREETING)
