"""Measuring on a machine that others use: a turn starts when the cores are idle and is taken again when others took
more than a share of them meanwhile. Threads that meet at barriers lose far more than that share, and engines differ
in how much, so a disturbed pair says little about either. The least disturbed of a few attempts counts.
"""
import os
import pathlib
import resource
import time

PATIENCE, ATTEMPTS, SHARE = 5.0, 3, 0.05
TICK = os.sysconf("SC_CLK_TCK")


def busy_seconds():
    """Of all cores together: everything but idle and waiting for disks."""
    fields = [int(x) for x in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8]]
    return (sum(fields) - fields[3] - fields[4]) / TICK


def own_seconds(pid):
    """Processor time of a running process, and of every child that has ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return ended.ru_utime + ended.ru_stime + (int(stat[11]) + int(stat[12])) / TICK


def wait_for_idle():
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        before, start = busy_seconds(), time.monotonic()
        time.sleep(0.3)
        if busy_seconds() - before < SHARE * os.cpu_count() * (time.monotonic() - start):
            return


def undisturbed(pid, turn):
    """(what turn() gave, the share of the machine others took during it); pid is the process that works."""
    best = None
    for _ in range(ATTEMPTS):
        wait_for_idle()
        busy, own, start = busy_seconds(), own_seconds(pid), time.monotonic()
        result = turn()
        elapsed = time.monotonic() - start
        others = max(0.0, busy_seconds() - busy - (own_seconds(pid) - own)) / (elapsed * os.cpu_count())
        if best is None or others < best[1]:
            best = result, others
        if others <= SHARE:
            break
    return best
