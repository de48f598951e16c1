"""The machine that a table was made on: a figure without its name says nothing."""
import json
import subprocess


def machine(quern):
    """What `quern bench host` says of the processor, its instructions, and its rates in this run."""
    said = json.loads(subprocess.run([quern, "bench", "host", "--json"], capture_output=True, text=True, check=True).stdout)
    return {key: said[key] for key in ("cpu", "threads", "isa_active", "bf16_products", "peaks", "one_thread")}


def headline(m):
    rates = ", ".join(f"{name} {rate:.0f}" for name, rate in m["one_thread"].items())
    return (f"{m['cpu']}, {m['threads']} threads, {m['isa_active']}, bf16 by {m['bf16_products']}; "
            f"GOP/s of one thread: {rates}; read {m['peaks']['read']:.0f} GB/s")
