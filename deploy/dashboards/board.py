"""Grafana dashboards as this folder keeps them: panels, variables, queries, and what the queries select."""
import json
import re
from dataclasses import dataclass, field

WORDS = {"by", "without", "on", "ignoring", "group_left", "group_right", "and", "or", "unless", "offset", "bool", "atan2", "inf", "nan"}
# In this order: what a query is made of, as far as its selectors are concerned.
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{(?:[^}"]|"(?:[^"\\]|\\.)*")*\}|[A-Za-z_:][A-Za-z0-9_:]*|[0-9][0-9a-zA-Z.]*|\S')


@dataclass
class Panel:
    title: str
    kind: str  # "timeseries" or "row"
    unit: str
    x: int
    y: int
    w: int
    h: int
    targets: list = field(default_factory=list)  # (expression, legend)


@dataclass
class Board:
    title: str
    uid: str
    panels: list
    variables: list  # as Grafana has them


def load(path):
    """The board of a JSON file, in the form that Grafana imports."""
    with open(path, encoding="utf-8") as source:
        doc = json.load(source)
    panels = []
    for one in doc["panels"]:
        grid = one["gridPos"]
        unit = one.get("fieldConfig", {}).get("defaults", {}).get("unit", "short")
        targets = [(t["expr"], t.get("legendFormat", "")) for t in one.get("targets", [])]
        panels.append(Panel(one["title"], one["type"], unit, grid["x"], grid["y"], grid["w"], grid["h"], targets))
    return Board(doc["title"], doc["uid"], panels, doc["templating"]["list"])


def resolve(board, values_of, given):
    """A value for each variable. Of one with a query `values_of(selector, label)` is asked for all, as Grafana does for
    its list: the given one of them, else the first. Of another the given one, else the current one. ValueError where
    there is none, or not the given one."""
    values = {}
    for variable in board.variables:
        name, kind = variable["name"], variable["type"]
        if kind == "datasource":
            continue
        if kind == "query":
            found = re.fullmatch(r"label_values\((.+),\s*(\w+)\)", variable["query"])
            candidates = values_of(found.group(1), found.group(2)) if found else []
            if not candidates:
                raise ValueError("variable %s has no value: %s" % (name, variable["query"]))
            if given.get(name, candidates[0]) not in candidates:
                raise ValueError("variable %s has no value %s: %s" % (name, given[name], variable["query"]))
            values[name] = given.get(name, candidates[0])
        else:
            values[name] = given[name] if name in given else variable["current"]["value"]
    return values


def substitute(text, values):
    """`text` with $name and ${name} replaced. ValueError names a variable that the board does not have."""

    def value(match):
        name = match.group(1) or match.group(2)
        if name not in values:
            raise ValueError("no variable %s: %s" % (name, text))
        return values[name]

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", value, text)


def selectors(expression):
    """The vector selectors of a PromQL expression, without their ranges."""
    tokens = TOKEN.findall(expression)
    found, i = [], 0
    while i < len(tokens):
        token = tokens[i]
        following = tokens[i + 1] if i + 1 < len(tokens) else ""
        if not re.match(r"[A-Za-z_:]", token):
            if token.startswith("{"):
                found.append(token)
            i += 1
        elif token.lower() in WORDS:
            i += 1
            if following == "(":  # labels, not metrics
                while i < len(tokens) and tokens[i] != ")":
                    i += 1
        elif following == "(" or following.lower() in ("by", "without"):
            i += 1  # a function
        elif following.startswith("{"):
            found.append(token + following)
            i += 2
        else:
            found.append(token)
            i += 1
    return found


def legend(template, labels):
    """A legend as Grafana makes it: {{label}} is replaced; without a template all labels."""
    if not template:
        return ", ".join("%s=%s" % item for item in sorted(labels.items()) if item[0] != "__name__") or "value"
    return re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda m: labels.get(m.group(1), ""), template).strip() or "value"
