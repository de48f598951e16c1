"""The golden event file, written by TensorBoard's own code at a fixed wall time.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/train/make.py            # writes tests/goldens/train/events.bin
    python tools/oracles/train/make.py FILE       # prints what TensorBoard reads in an event file

The events: the head at second 1700000000.25, a session that starts at step 8, one summary of three scalars at step 300
(one tag not ASCII, one value not finite) and one of step 0.
"""
import math
import pathlib
import sys
import tempfile

from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

OUT = pathlib.Path(__file__).resolve().parents[3] / "tests" / "goldens" / "train"


def scalars(wall_time, step, values):
    summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=t, simple_value=v) for t, v in values])
    return event_pb2.Event(wall_time=wall_time, step=step, summary=summary)


def show(file):
    for e in LegacyEventFileLoader(str(file)).Load():
        what = e.WhichOneof("what")
        values = [f"{v.tag}={v.simple_value:.9g}" for v in e.summary.value]
        print(f"{e.wall_time:.3f} step {e.step} {what} {e.file_version} {' '.join(values)}".rstrip())


def main():
    if len(sys.argv) > 1:
        return show(sys.argv[1])
    OUT.mkdir(parents=True, exist_ok=True)
    start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
    events = [
        event_pb2.Event(wall_time=1700000000.25, file_version="brain.Event:2"),
        event_pb2.Event(wall_time=1700000001.5, step=8, session_log=start),
        scalars(1700000002.0, 300, [("train/loss", 2.71828), ("eval/Prosa für Anfänger/loss", -1e-20),
                                    ("train/grad_norm", math.inf)]),
        scalars(1700000003.0, 0, [("a", 0.0)]),
    ]
    with tempfile.TemporaryFile() as f:
        writer = RecordWriter(f)
        for e in events:
            writer.write(e.SerializeToString(deterministic=True))
        f.seek(0)
        (OUT / "events.bin").write_bytes(f.read())
    show(OUT / "events.bin")


if __name__ == "__main__":
    main()
