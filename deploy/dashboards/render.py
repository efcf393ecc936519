#!/usr/bin/env python3
"""Renders the dashboards of this folder to pictures, from a Prometheus, without a Grafana.

  deploy/dashboards/render.py --prometheus http://127.0.0.1:9090 --out DIR [--range 15m] [--var NAME=VALUE]... [BOARD.json]...

Writes one SVG for each board and, where rsvg-convert is installed, a PNG. Ends with 1, after drawing what there is, and
names what is wrong: a query without a value, a selector that matches no series, a variable without a value.
"""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import board as boards  # noqa: E402
import chart  # noqa: E402

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MOST_POINTS = 240


def seconds(text):
    if not text[:-1].isdigit() or text[-1] not in UNITS:
        raise argparse.ArgumentTypeError("not a duration like 30s, 15m, 6h, 7d: " + text)
    return int(text[:-1]) * UNITS[text[-1]]


class Prometheus:
    """Its HTTP API, over a span of time."""

    def __init__(self, url, start, end):
        self.url, self.start, self.end = url.rstrip("/"), start, end
        self.step = max(1, math.ceil((end - start) / MOST_POINTS))

    def ask(self, path, **parameters):
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen("%s/api/v1/%s?%s" % (self.url, path, query), timeout=30) as answer:
            return json.load(answer)["data"]

    def values(self, selector, label):
        path = "label/%s/values" % label
        return self.ask(path, **{"match[]": selector, "start": self.start, "end": self.end})

    def matches(self, selector):
        return bool(self.ask("series", **{"match[]": selector, "start": self.start, "end": self.end}))

    def range(self, expression):
        """(labels, [(time, value)]) of each series."""
        result = self.ask("query_range", query=expression, start=self.start, end=self.end, step=self.step)["result"]
        return [(one["metric"], [(at, float(value)) for at, value in one["values"]]) for one in result]


def series_of(panel, prometheus, values, wrong):
    """The panel's series; appends to `wrong` what its queries lack."""
    series = []
    for expression, template in panel.targets:
        query = boards.substitute(expression, values)
        for selector in boards.selectors(query):
            if not prometheus.matches(selector):
                wrong.append("%s: no series matches %s" % (panel.title, selector))
        found = [(boards.legend(template, labels), points) for labels, points in prometheus.range(query)]
        found = [(name, points) for name, points in found if any(math.isfinite(v) for _, v in points)]
        if not found:
            wrong.append("%s: no value of %s" % (panel.title, query))
        series += sorted(found)
    return series


def picture(board, prometheus, given, wrong):
    """The board as SVG."""
    try:
        values = boards.resolve(board, prometheus.values, given)
    except ValueError as error:
        wrong.append("%s: %s" % (board.title, error))
        values = {v["name"]: given.get(v["name"], "") for v in board.variables}
    parts, bottom = [], 0
    span, gap = (prometheus.start, prometheus.end), max(2.5 * prometheus.step, 30)
    for panel in board.panels:
        box = chart.box_of(panel)
        bottom = max(bottom, box[1] + box[3])
        title = boards.substitute(panel.title, values)
        if panel.kind == "row":
            parts += chart.row(title, box)
        else:
            parts += chart.panel(title, panel.unit, series_of(panel, prometheus, values, wrong), box, span, gap)
    names = " · ".join("%s=%s" % item for item in values.items())
    at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(prometheus.end))
    return chart.page(board.title, " · ".join(filter(None, (names, at))), parts, bottom)


def write(folder, name, svg):
    path = os.path.join(folder, name + ".svg")
    with open(path, "w", encoding="utf-8") as out:
        out.write(svg)
    print(path)
    if shutil.which("rsvg-convert"):
        subprocess.run(["rsvg-convert", "-o", path[:-4] + ".png", path], check=True)
        print(path[:-4] + ".png")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prometheus", required=True, metavar="URL")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--range", type=seconds, default=900, help="how far back from now; default 15m")
    parser.add_argument("--var", action="append", default=[], metavar="NAME=VALUE", help="a variable of the boards")
    parser.add_argument("boards", nargs="*", metavar="BOARD.json", help="default: all of this folder")
    options = parser.parse_args(arguments)
    here = os.path.dirname(os.path.abspath(__file__))
    paths = options.boards or sorted(os.path.join(here, f) for f in os.listdir(here) if f.endswith(".json"))
    end = time.time()
    prometheus = Prometheus(options.prometheus, end - options.range, end)
    os.makedirs(options.out, exist_ok=True)
    wrong = []
    for path in paths:
        svg = picture(boards.load(path), prometheus, dict(v.split("=", 1) for v in options.var), wrong)
        write(options.out, os.path.basename(path)[: -len(".json")], svg)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
