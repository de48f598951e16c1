#!/usr/bin/env python3
"""Schemathesis against the OpenAPI document that a running server publishes: thousands of valid and invalid requests to every
endpoint. Checked: no 5xx, no status, content type or method that the document does not have, answers that match their schemas.

    pip install -r tools/e2e/compat_requirements.txt
    quern serve models/zaya-nano --port 8123 --quiet --session-dir saved --request-seconds 5 &
    python tools/e2e/openapi_cases.py http://127.0.0.1:8123 --cases 2000 [--only /v1/models]

Requests that generate ask for three tokens (openapi_hooks.py). Exit code: that of schemathesis.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
          "response_headers_conformance", "unsupported_method", "allow_header_conformance")

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("url")
p.add_argument("--cases", type=int, default=2000, help="of every endpoint [2000]")
p.add_argument("--only", action="append", default=[], help="a path; repeatable")
p.add_argument("--workers", default="1")
p.add_argument("--seed", default="1")
a = p.parse_args()
command = ["schemathesis", "run", a.url + "/openapi.json", "--phases", "coverage,fuzzing", "--checks", ",".join(CHECKS),
           "--max-examples", str(a.cases), "--continue-on-failure", "--workers", a.workers, "--seed", a.seed,
           "--suppress-health-check", "all", "--request-timeout", "60", "--warnings", "off", "--no-color"]
for path in a.only:
    command += ["--include-path", path]
with urllib.request.urlopen(a.url + "/v1/models", timeout=60) as answer:
    model = json.load(answer)["data"][0]["id"]
hooks = pathlib.Path(__file__).resolve().with_name("openapi_hooks.py")
environment = {**os.environ, "SCHEMATHESIS_HOOKS": "openapi_hooks", "PYTHONPATH": str(hooks.parent),
               "QUERN_SERVED_MODEL": model}
environment["PATH"] = str(pathlib.Path(sys.executable).parent) + os.pathsep + environment["PATH"]
with tempfile.TemporaryDirectory() as folder:  # what schemathesis keeps between runs
    sys.exit(subprocess.run(command, env=environment, cwd=folder).returncode)
