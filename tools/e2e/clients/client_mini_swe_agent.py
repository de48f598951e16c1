"""mini-swe-agent: the coding agent runs a command by a tool call, reads its output, and submits."""
import os
import pathlib
import tempfile

os.environ["MSWEA_SILENT_STARTUP"] = "1"
os.environ["MSWEA_COST_TRACKING"] = "ignore_errors"
os.environ["MSWEA_GLOBAL_CONFIG_DIR"] = tempfile.mkdtemp()

from harness import KEY, MODEL, V1, step  # noqa: E402
from minisweagent.agents.default import DefaultAgent  # noqa: E402
from minisweagent.config import get_config_from_spec  # noqa: E402
from minisweagent.environments.local import LocalEnvironment  # noqa: E402
from minisweagent.models.litellm_model import LitellmModel  # noqa: E402


@step
def command_and_submission():
    folder = pathlib.Path(tempfile.mkdtemp())
    config = get_config_from_spec("mini.yaml")
    model = LitellmModel(model_name="openai/" + MODEL, model_kwargs={"api_base": V1, "api_key": KEY},
                         **{k: v for k, v in config["model"].items() if k in ("observation_template", "format_error_template")})
    agent = DefaultAgent(model, LocalEnvironment(cwd=str(folder)),
                         **{k: config["agent"][k] for k in ("system_template", "instance_template")}, step_limit=5)
    result = agent.run("Run a command.")
    assert (folder / "made.txt").read_text() == "made\n"
    assert result["exit_status"] == "Submitted", result
