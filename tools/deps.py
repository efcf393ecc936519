#!/usr/bin/env python3
"""Checks which target uses which, against the rules of the architecture.

    tools/deps.py [--xml=FILE] [--root=FOLDER]

Four rules, each over one `bazel query --output=xml` of the whole project:
  1. the table NEVER: no target on the left reaches one on the right, however indirectly;
  2. headers of the core, the plugins and the life-cycle plan include none of FORBIDDEN_HEADERS, however
     indirectly (system headers need no dependency, so rule 1 does not see them);
  3. a file includes only headers of its own target and of that target's direct dependencies;
  4. every .h and .cc file belongs to a target.
Prints one line per violation, with the way it goes, and ends with 1 if there is any.
"""
import argparse
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

EVERY_SERVICE = ["//services/..."]
SCHEDULER = "//services/scheduler/..."

# (targets, may never reach, except). A pattern is //a/b/... or //a/b:c. Tests and other testonly targets are left
# out, unless `testonly` stands behind the pattern: they may use fakes and builders from anywhere.
NEVER = [
    ("//proto/...", ["//libs/...", "//cli/...", *EVERY_SERVICE], []),
    ("//libs/common/...", ["//libs/api/...", "//libs/http/...", "//libs/kube/...", "//proto/...", *EVERY_SERVICE], []),
    ("//libs/api/...", ["//libs/http/...", "//libs/kube/...", "//proto/...", *EVERY_SERVICE], []),
    ("//libs/api:types", ["//libs/common:json"], []),
    ("//libs/http/...", ["//libs/api/...", "//libs/kube/...", "//proto/...", *EVERY_SERVICE], []),
    ("//libs/kube/...", ["//libs/api/...", "//proto/...", *EVERY_SERVICE], ["//libs/api:object_key"]),
    ("//libs/pki/...", ["//libs/api/...", "//libs/http/...", "//libs/kube/...", "//proto/...", *EVERY_SERVICE], []),
    ("//libs/process/...", ["//libs/api/...", "//proto/...", *EVERY_SERVICE], ["//libs/api:object_key"]),
    ("//libs/scheduler_client/...",
     ["//libs/api/...", "//libs/http/...", "//libs/kube/...", "//libs/process/...", "//cli/...", *EVERY_SERVICE], []),
    ("//services/scheduler/core/...",
     ["//libs/common:clock", "//libs/common:mutex", "//libs/common:mailbox", "//libs/common:log",
      "//libs/common:metrics", "//libs/common:json", "//libs/common:yaml", "//libs/common:grpc_status",
      "//libs/http/...", "//libs/kube/...", "//proto/...", "//services/scheduler/plugins/...",
      "//services/scheduler/runtime/...", "//services/scheduler/rpc/...", "@system//:grpcpp", "@system//:boost",
      "@system//:protobuf", "@system//:prometheus", "@system//:yaml_cpp"], []),
    ("//services/scheduler/plugins/...",
     ["//services/scheduler/runtime/...", "//services/scheduler/rpc/...", "//libs/kube/...", "//libs/http/...",
      "//libs/common:clock", "//libs/common:mutex", "//proto/...", "@system//:grpcpp", "@system//:boost"], []),
    ("//services/scheduler/runtime/...",
     ["//services/scheduler/rpc/...", "//services/scheduler/plugins/...", "//proto/...", "@system//:grpcpp"], []),
    ("//services/scheduler/rpc/...",
     ["//libs/kube/...", "//services/scheduler/runtime/..."], ["//services/scheduler/runtime:snapshot_publisher"]),
    ("//services/scheduler/sim/... testonly", ["@system//:grpcpp", "//services/scheduler/rpc/..."], []),
    (SCHEDULER, ["//services/controllers/...", "//services/visibility/...", "//services/debug-api/..."], []),
    ("//services/controllers/...",
     [SCHEDULER, "//services/visibility/...", "//services/debug-api/...", "//proto/..."], []),
    ("//services/controllers:plan",
     ["//libs/common:clock", "//libs/common:mutex", "//libs/common:mailbox", "//libs/common:log",
      "//libs/common:metrics", "//libs/common:json", "//libs/common:yaml", "//libs/http/...", "//libs/kube/...",
      "@system//:boost", "@system//:prometheus", "@system//:yaml_cpp"], []),
    ("//services/visibility/...",
     [SCHEDULER, "//services/controllers/...", "//services/debug-api/...", "//libs/api/..."],
     ["//libs/api:object_key"]),
    ("//services/debug-api/...", [SCHEDULER, "//services/controllers/...", "//services/visibility/..."], []),
    ("//cli/kqctl/...", ["//libs/api/...", "//libs/http/...", "//libs/kube/...", *EVERY_SERVICE], []),
    ("//demo/... testonly", EVERY_SERVICE, []),
    ("//e2e/... testonly", EVERY_SERVICE, []),
    ("//perf/... testonly", EVERY_SERVICE, []),
]

# Concrete plugins do not know each other; what lists them all may.
ISLANDS = ("//services/scheduler/plugins/...", ["//services/scheduler/plugins:registry"])

PURE_FOLDERS = ["services/scheduler/core/", "services/scheduler/plugins/", "services/controllers/plan"]
FORBIDDEN_HEADERS = re.compile(
    r"libs/common/(clock|mutex|mailbox|log|metrics|json|yaml|grpc_status)\.h$|libs/(http|kube)/|^proto/|"
    r"\.pb\.h$|^(grpcpp|grpc|boost|yaml-cpp|prometheus|google/protobuf)/|^absl/synchronization/|"
    r"^(mutex|thread|condition_variable|future|iostream|fstream)$")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
# Only these edges put code into a target; `data` (a binary that a test runs) does not.
CODE_EDGES = {"deps", "srcs", "hdrs", "textual_hdrs", "implementation_deps", "actual", "exports"}


class Target:
    def __init__(self, label, kind):
        self.label = label
        self.kind = kind
        self.testonly = kind.endswith("_test")
        self.edges = {}     # attribute -> labels

    def uses(self):
        return [label for name in CODE_EDGES for label in self.edges.get(name, [])]


def read_graph(xml):
    """label -> Target, of every rule in the query's answer."""
    graph = {}
    for rule in ElementTree.fromstring(xml).iter("rule"):
        target = Target(rule.get("name"), rule.get("class"))
        for entry in rule:
            name = entry.get("name")
            if entry.tag == "boolean" and name == "testonly":
                target.testonly = target.testonly or entry.get("value") == "true"
            elif entry.tag == "list":
                target.edges[name] = [x.get("value") for x in entry.iter("label")]
            elif entry.tag == "label":
                target.edges[name] = [entry.get("value")]
        graph[target.label] = target
    return graph


def matches(label, pattern):
    if pattern.endswith("/..."):
        folder = pattern[:-4]
        return label.startswith(folder + ":") or label.startswith(folder + "/")
    return label == pattern


def ways(graph, start):
    """label -> the label before it, of all that `start` reaches."""
    before = {start: None}
    queue = [start]
    for label in queue:
        for used in graph[label].uses() if label in graph else []:
            if used not in before:
                before[used] = label
                queue.append(used)
    return before


def way_to(before, label):
    steps = []
    while label is not None:
        steps.append(label)
        label = before[label]
    return " -> ".join(reversed(steps))


def never(graph):
    for pattern, banned, excepted in NEVER:
        pattern, _, testonly = pattern.partition(" ")
        for label in sorted(graph):
            if not matches(label, pattern) or (graph[label].testonly and not testonly):
                continue
            before = ways(graph, label)
            for used in sorted(before):
                own = used not in graph and not used.startswith("@")  # a source file
                if own or any(matches(used, e) for e in excepted):
                    continue
                if any(matches(used, b) for b in banned):
                    yield way_to(before, used)


def islands(graph):
    folder, may = ISLANDS
    for label in sorted(graph):
        if not matches(label, folder) or label in may or graph[label].testonly:
            continue
        for used in graph[label].edges.get("deps", []):
            if matches(used, folder) and used in graph and graph[used].kind == "cc_library":
                yield "%s -> %s (plugins do not know each other)" % (label, used)


def path_of(label):
    return label[2:].replace(":", "/").lstrip("/")


def read(root, path):
    try:
        with open(os.path.join(root, path), encoding="utf-8") as f:
            return f.read()
    except OSError:
        return None


def pure(root, sources):
    """Includes of the pure folders, followed through the project's own headers."""
    for path in sources:
        if not path.startswith(tuple(PURE_FOLDERS)) or "/testing/" in path or re.search(r"_(test|benchmark)\.cc$", path):
            continue
        before = {path: None}
        queue = [path]
        for file in queue:
            for _, used in INCLUDE.findall(read(root, file) or ""):
                if used in before:
                    continue
                before[used] = file
                if FORBIDDEN_HEADERS.search(used):
                    # A header from elsewhere may use <mutex> and the like for itself.
                    if "/" in used or file.startswith(tuple(PURE_FOLDERS)):
                        yield way_to(before, used)
                else:
                    queue.append(used)


def headers_of(graph, label, seen=None):
    """Paths of the headers that a dependency on `label` brings, generated ones included."""
    target = graph.get(label)
    if target is None:
        return set()
    found = set()
    for name in ("hdrs", "textual_hdrs"):
        for file in target.edges.get(name, []):
            if file in graph:  # a filegroup over generated code
                found |= {h for h in generated(graph, file)}
            else:
                found.add(path_of(file))
    if target.kind == "alias":
        found |= headers_of(graph, target.edges["actual"][0])
    return found


def generated(graph, label):
    """The headers that protoc makes of the .proto files behind `label`."""
    found = set()
    for used in ways(graph, label):
        if used.endswith(".proto"):
            stem = path_of(used)[:-len(".proto")]
            found |= {stem + ".pb.h", stem + ".grpc.pb.h", stem + "_mock.grpc.pb.h"}
        elif used.endswith(".h") and used not in graph:
            found.add(path_of(used))
    return found


def direct(graph, root, owners):
    known = {header for label in graph if label.startswith("//") for header in headers_of(graph, label)}
    for label in sorted(graph):
        target = graph[label]
        if not label.startswith("//") or target.kind not in ("cc_library", "cc_binary", "cc_test"):
            continue
        own = [f for name in ("srcs", "hdrs", "textual_hdrs") for f in target.edges.get(name, []) if f not in graph]
        allowed = {path_of(f) for f in own} | headers_of(graph, label)
        for used in target.edges.get("deps", []):
            allowed |= headers_of(graph, used)
        for file in own:
            for mark, include in INCLUDE.findall(read(root, path_of(file)) or ""):
                ours = include in known or include in owners
                if mark == '"' and ours and include not in allowed:
                    yield "%s: %s includes %s, which no direct dependency brings" % (label, path_of(file), include)


def orphans(sources, owners):
    for path in sources:
        if path not in owners:
            yield "%s belongs to no target" % path


def query():
    done = subprocess.run(
        ["bazel", "query", "--noimplicit_deps", "--nohost_deps", "--keep_going", "--output=xml", "--color=no",
         "--xml:default_values",  # else a package's default_testonly is not told
         "--noshow_progress", "deps(//...)"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, 3) or b"ERROR" in done.stderr:
        sys.stderr.buffer.write(done.stderr)
        sys.exit("tools/deps.py: bazel query failed")
    return done.stdout


def source_files(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard",
                             "*.h", "*.cc"], stdout=subprocess.PIPE, check=False)
    if listed.returncode == 0:
        return sorted(p for p in listed.stdout.decode().split("\0") if p and os.path.exists(os.path.join(root, p)))
    found = []
    for folder, _, names in os.walk(root):
        found += [os.path.relpath(os.path.join(folder, n), root) for n in names if n.endswith((".h", ".cc"))]
    return sorted(found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--xml", help="an answer of bazel query, instead of asking it")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    args = parser.parse_args()
    os.chdir(args.root)
    if args.xml:
        with open(args.xml, "rb") as f:
            xml = f.read()
    else:
        xml = query()
    graph = read_graph(xml)
    sources = source_files(".")
    owners = {path_of(f) for t in graph.values() for name in ("srcs", "hdrs", "textual_hdrs")
              for f in t.edges.get(name, []) if f not in graph}

    found = [*never(graph), *islands(graph), *pure(".", sources), *direct(graph, ".", owners),
             *orphans(sources, owners)]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
