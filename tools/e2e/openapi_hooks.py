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
OTHER_NAMES = ("max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict")
FEW = 3


@schemathesis.hook
def map_body(ctx, body):
    path = ctx.operation.path
    if not isinstance(body, dict):
        return body
    if isinstance(body.get("model"), str) and len(body["model"]) % 5 != 4:
        body["model"] = MODEL
    for name in OTHER_NAMES:
        value = body.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > FEW:
            body[name] = FEW
    if path in BOUNDS and body.get(BOUNDS[path]) is None:
        body[BOUNDS[path]] = FEW
    if isinstance(body.get("n"), int) and body["n"] > 2:
        body["n"] = 2
    if path in ("/api/chat", "/api/generate"):
        options = body.get("options")
        if options is None:
            body["options"] = {"num_predict": FEW}
        elif isinstance(options, dict) and not (isinstance(options.get("num_predict"), int) and options["num_predict"] < FEW):
            options["num_predict"] = FEW
    return body


@schemathesis.hook
def map_path_parameters(ctx, path_parameters):
    if path_parameters and isinstance(path_parameters.get("model"), str) and len(path_parameters["model"]) % 2:
        path_parameters["model"] = MODEL
    return path_parameters
