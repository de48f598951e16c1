"""Hooks of openapi_cases.py: requests that generate ask for few tokens, so that a case takes milliseconds; and four of five
requests name a model that is served, so that most of them are not a 404 at once."""
import os

import schemathesis

MODEL = os.environ["QUERN_SERVED_MODEL"]

# What bounds an answer, by the path that reads it.
BOUNDS = {
    "/v1/chat/completions": "max_tokens", "/chat/completions": "max_tokens", "/v1/completions": "max_tokens",
    "/v1/messages": "max_tokens", "/v1/responses": "max_output_tokens", "/completion": "n_predict",
    "/completions": "n_predict", "/infill": "n_predict",
}
UNBOUNDED = ("/completion", "/completions", "/infill")  # where -1 is as much as fits
OTHER_NAMES = ("max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict")
FEW = 3


def shorten(path, body):
    if isinstance(body.get("model"), str) and len(body["model"]) % 5 != 4:
        body["model"] = MODEL
    for name in OTHER_NAMES:
        value = body.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and (value > FEW or (value < 0 and path in UNBOUNDED)):
            body[name] = FEW
    if path in BOUNDS and body.get(BOUNDS[path]) is None:
        body[BOUNDS[path]] = FEW
    if isinstance(body.get("n"), int) and body["n"] > 2:
        body["n"] = 2
    if path not in ("/api/chat", "/api/generate"):
        return
    options = body.setdefault("options", {})
    if options is None:
        body["options"] = {"num_predict": FEW}
    elif isinstance(options, dict):
        n = options.get("num_predict")
        if n is None or (isinstance(n, int) and not 0 < n < FEW):
            options["num_predict"] = FEW


@schemathesis.hook
def before_call(ctx, case, kwargs):  # of all phases
    if isinstance(case.body, dict):
        shorten(case.operation.path, case.body)
    if isinstance(case.path_parameters, dict) and isinstance(case.path_parameters.get("model"), str):
        if len(case.path_parameters["model"]) % 2:
            case.path_parameters["model"] = MODEL
