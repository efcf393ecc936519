#!/usr/bin/env python3
"""Runs clang-tidy 14 over the project's sources, and over each again only when something it reads has changed.

    tools/tidy.py [--jobs=N] [FILES...]      default: every source in compile_commands.json

A file that passed is remembered, by the contents of it and of the project's headers that it includes, in
~/.cache/koord-queue/tidy. Prints what clang-tidy found; ends with 1 if that is anything.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.M)
FINDING = re.compile(r"^(/[^:]+):\d+:\d+: (?:error|warning): .*\[([^\]]+)\]$", re.M)
REMEMBERED = 20000   # stamps kept at most; beyond it the oldest go


class Sources:
    """Contents of files and of the headers behind them."""

    def __init__(self, roots):
        self.roots = roots    # where quoted includes are looked for
        self.texts = {}

    def text(self, path):
        if path not in self.texts:
            try:
                with open(path, "rb") as f:
                    self.texts[path] = f.read()
            except OSError:
                self.texts[path] = b""
        return self.texts[path]

    def behind(self, path):
        """`path` and the project's headers that it includes, however indirectly, sorted."""
        seen = {path}
        queue = [path]
        for file in queue:
            for name in INCLUDE.findall(self.text(file)):
                for root in self.roots:
                    header = os.path.join(root, name.decode())
                    if os.path.exists(header):
                        if header not in seen:
                            seen.add(header)
                            queue.append(header)
                        break
        return sorted(seen)

    def stamp(self, entry, config):
        digest = hashlib.sha256(config)
        digest.update(json.dumps(entry["arguments"]).encode())
        for path in self.behind(entry["file"]):
            digest.update(os.path.basename(path).encode() + b"\0" + self.text(path) + b"\0")
        return digest.hexdigest()


def tidy(root, entry):
    done = subprocess.run(["clang-tidy-14", "--quiet", "-p", root, entry["file"]], cwd=root,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    out = done.stdout.decode(errors="replace")
    if done.returncode and not out.strip():
        out = done.stderr.decode(errors="replace")
    return done.returncode == 0 or all_in_libraries(root, out), out


def all_in_libraries(root, out):
    """Whether the analyser only lost its way in headers of the system's libraries, where nothing can be said about it."""
    findings = FINDING.findall(out)
    return bool(findings) and all(
        not path.startswith(root) and checks.startswith("clang-analyzer-") for path, checks in findings)


def forget_oldest(memory):
    stamps = sorted((os.path.join(memory, name) for name in os.listdir(memory)), key=os.path.getmtime)
    for path in stamps[:-REMEMBERED]:
        os.unlink(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    root = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    with open(os.path.join(root, "compile_commands.json"), encoding="utf-8") as f:
        # Not the benchmarks: their loop variable is never read.
        entries = [e for e in json.load(f)
                   if e["file"].startswith(root) and not e["file"].endswith("_benchmark.cc")]
    if args.files:
        wanted = {os.path.abspath(path) for path in args.files}
        entries = [e for e in entries if e["file"] in wanted]
    with open(os.path.join(root, ".clang-tidy"), "rb") as f:
        config = f.read() + subprocess.run(["clang-tidy-14", "--version"], stdout=subprocess.PIPE, check=True).stdout
    memory = os.path.join(os.path.expanduser("~"), ".cache", "koord-queue", "tidy")
    os.makedirs(memory, exist_ok=True)
    forget_oldest(memory)

    sources = Sources([root, os.path.join(root, "bazel-bin")])
    todo = []
    for entry in entries:
        stamp = os.path.join(memory, sources.stamp(entry, config))
        if not os.path.exists(stamp):
            todo.append((entry, stamp))
    print("clang-tidy: %d files, %d of them new or changed" % (len(entries), len(todo)), flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        running = {pool.submit(tidy, root, entry): (entry, stamp) for entry, stamp in todo}
        for n, future in enumerate(concurrent.futures.as_completed(running), 1):
            entry, stamp = running[future]
            clean, out = future.result()
            print("[%d/%d] %s%s" % (n, len(todo), os.path.relpath(entry["file"], root), "" if clean else ": FAILED"), flush=True)
            if clean:
                with open(stamp, "w", encoding="utf-8"):
                    pass
            else:
                failed += 1
                print(out, flush=True)
    if failed:
        print("clang-tidy: %d files have findings" % failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
