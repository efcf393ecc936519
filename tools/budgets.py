#!/usr/bin/env python3
"""Keeps files, functions and headers small enough to be read at one go.

    tools/budgets.py [--root=FOLDER]      all tracked and new .h and .cc files of the checkout (or of FOLDER)

A header has at most 250 lines, a source 500, a test 1200; a function 70 lines and
5 parameters; libraries that are slow to compile are included by .cc files and fakes alone.
Tables (braced lists) do not count towards the length of a test's functions.
Prints one line per violation and ends with 1 if there is any.
"""
import argparse
import os
import re
import subprocess
import sys

HEADER_LINES = 250
SOURCE_LINES = 500
TEST_LINES = 1200
FUNCTION_LINES = 70
PARAMETERS = 5
HEAVY = re.compile(r'\s*#\s*include\s*[<"]((boost/(asio|beast)|grpcpp)[/.][^>"]*|[^>"]*\.grpc\.pb\.h)[>"]')

# "path: what" -> why it may be so. `what` is lines, include, or a function's name.
EXCEPTIONS = {
    "services/scheduler/rpc/snapshot_feed.h: include": "is a gRPC reactor; only the service includes it",
    "services/scheduler/rpc/snapshot_service.h: include": "is a gRPC service; only server.cc includes it",
}

TOKEN = re.compile(r"""
    (?P<space>\s+)
  | (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<raw>(?:u8|[uUL])?R"(?P<delim>[^()\\\s]{0,16})\(.*?\)(?P=delim)")
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<directive>(?m:^)[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)
  | (?P<word>[A-Za-z_0-9][A-Za-z_0-9']*)
  | (?P<op>->|::|&&|\|\||<<=?|[<>=!+*/%&|^-]=|\+\+|--|.)
""", re.X | re.S)

# Words that may stand between the parameters and the body.
QUALIFIERS = {"const", "noexcept", "override", "final", "mutable", "volatile", "try", "requires"}
NOT_A_NAME = {"if", "for", "while", "switch", "catch", "return", "sizeof", "alignas", "decltype", "noexcept",
              "static_assert", "requires", "defined", "operator"}


class Token:
    __slots__ = ("text", "line")

    def __init__(self, text, line):
        self.text = text
        self.line = line


def tokens_of(text):
    """Code without comments, directives and the insides of strings."""
    out = []
    line = 1
    for m in TOKEN.finditer(text):
        kind = m.lastgroup if m.lastgroup != "delim" else "raw"
        if kind in ("string", "raw"):
            out.append(Token('""', line))
        elif kind in ("word", "op"):
            out.append(Token(m.group(), line))
        line += m.group().count("\n")
    return out


def closing(tokens, start):
    """The index of the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(tokens)):
        if tokens[i].text in "([{":
            depth += 1
        elif tokens[i].text in ")]}":
            depth -= 1
            if depth == 0:
                return i
    return len(tokens) - 1


def parameters(tokens, start, end):
    """How many parameters stand between the parentheses at `start` and `end`."""
    inside = tokens[start + 1:end]
    if not inside or (len(inside) == 1 and inside[0].text == "void"):
        return 0
    count, depth, angle = 1, 0, 0
    for i, token in enumerate(inside):
        text = token.text
        if text in "([{":
            depth += 1
        elif text in ")]}":
            depth -= 1
        elif text == "<" and i and re.match(r"[A-Za-z_]", inside[i - 1].text):
            angle += 1
        elif text in (">", ">>") and angle:
            angle -= len(text)
        elif text == "," and depth == 0 and angle <= 0:
            count += 1
    return count


class Function:
    def __init__(self, name, line, lines, params):
        self.name = name
        self.line = line
        self.lines = lines      # of the body, braces included; 0 for a declaration
        self.params = params


def table_lines(tokens, start, end):
    """Lines of the outermost braced lists (not blocks) in the body between `start` and `end`."""
    total = 0
    i = start + 1
    while i < end:
        if tokens[i].text == "{":
            before = tokens[i - 1].text
            is_block = before in {")", "{", "}", ";", ":", "else", "do", "try", "mutable", "const", "noexcept"} or (
                is_lambda_return(tokens, i))
            if before == "{" or not is_block:
                # `{` after `{` opens a row of a table or a bare block; a bare block has a `;` at its own level.
                close = closing(tokens, i)
                if not has_statement(tokens, i, close):
                    total += tokens[close].line - tokens[i].line
                    i = close
        i += 1
    return total


def is_lambda_return(tokens, brace):
    """Whether the brace ends `) -> Type {`."""
    for i in range(brace - 1, max(brace - 12, 0), -1):
        if tokens[i].text == "->":
            return tokens[i - 1].text == ")"
        if tokens[i].text in (";", "{", "}"):
            return False
    return False


def has_statement(tokens, start, end):
    depth = 0
    for i in range(start + 1, end):
        if tokens[i].text in "([{":
            depth += 1
        elif tokens[i].text in ")]}":
            depth -= 1
        elif tokens[i].text == ";" and depth == 0:
            return True
    return False


def functions_of(tokens, tables_free=False):
    """The functions defined or declared at namespace or class level."""
    found = []
    i = 0
    head = 0  # where the present declaration begins
    while i < len(tokens):
        text = tokens[i].text
        if text == ";" or text == "}":
            head = i + 1
        elif text == ":" and i and tokens[i - 1].text in ("public", "private", "protected"):
            head = i + 1
        elif text == "{":
            words = {t.text for t in tokens[head:i]}
            if words & {"namespace", "extern"} or (words & {"class", "struct", "union"} and not any(
                    t.text == "(" for t in tokens[head:i])) or (
                    words & {"class", "struct"} and not ends_a_signature(tokens, head, i)):
                head = i + 1  # step inside
            else:
                i = closing(tokens, i)  # an enum or an initialiser
                head = i + 1 if i + 1 < len(tokens) and tokens[i + 1].text != ";" else i + 1
        elif text == "(":
            close = closing(tokens, i)
            name = name_before(tokens, i)
            if name is None:
                i = close
            else:
                i, function = signature(tokens, i, close, name, tables_free)
                if function:
                    found.append(function)
                    head = i + 1
        i += 1
    return found


def ends_a_signature(tokens, head, brace):
    return any(t.text == ")" for t in tokens[max(head, brace - 4):brace])


def name_before(tokens, paren):
    if not paren:
        return None
    before = tokens[paren - 1].text
    if re.match(r"[A-Za-z_]\w*$", before) and before not in NOT_A_NAME:
        if paren > 1 and tokens[paren - 2].text == "~":
            return "~" + before
        return before
    for back in (2, 3, 4):  # operator==, operator(), operator bool is a word
        if paren >= back and tokens[paren - back].text == "operator":
            return "operator" + "".join(t.text for t in tokens[paren - back + 1:paren])
    return None


def signature(tokens, paren, close, name, tables_free):
    """Follows what comes after `name(...)`. Returns (index to go on from, Function or None)."""
    params = 0 if name in ("TEST_CASE", "SECTION", "TEMPLATE_TEST_CASE") else parameters(tokens, paren, close)
    if name.isupper() and len(name.strip("~")) > 1 and name not in ("TEST_CASE", "TEMPLATE_TEST_CASE"):
        return close, None  # an annotation or another macro
    line = tokens[paren].line
    i = close + 1
    while i < len(tokens):
        text = tokens[i].text
        if text == "{":
            end = closing(tokens, i)
            lines = tokens[end].line - tokens[i].line + 1
            if tables_free:
                lines -= table_lines(tokens, i, end)
            return end, Function(name, line, lines, params)
        if text == ";":
            return i, Function(name, line, 0, params)
        if text == "=":  # = default, = delete, = 0, or an initialiser
            kind = tokens[i + 1].text if i + 1 < len(tokens) else ""
            return i, (Function(name, line, 0, params) if kind in ("default", "delete", "0") else None)
        if text == ":":
            i = body_after_initialisers(tokens, i)
            continue
        if text in QUALIFIERS or text in ("->", "&", "&&", "::", "<", ">", "*", ",", "[", "]"):
            i += 1
        elif text == "(":
            i = closing(tokens, i) + 1
        elif re.match(r"[A-Za-z_]", text):
            i += 1
        else:
            return close, None
    return close, None


def body_after_initialisers(tokens, colon):
    """The `{` of a constructor's body: the first that follows a complete initialiser."""
    i = colon + 1
    while i < len(tokens):
        text = tokens[i].text
        if text in ("(", "{"):
            after = closing(tokens, i) + 1
            if text == "{" and not re.match(r"[A-Za-z_>]", tokens[i - 1].text):
                return i
            if after < len(tokens) and tokens[after].text == "{":
                return after
            if after < len(tokens) and tokens[after].text not in (",", "."):
                return after
            i = after
        elif text == ";":
            return i
        else:
            i += 1
    return i


def violations(path, text):
    """Yields (what, line, sentence)."""
    lines = text.count("\n")
    test = is_test(path)
    limit = HEADER_LINES if path.endswith(".h") else TEST_LINES if test else SOURCE_LINES
    if lines > limit:
        yield "lines", 1, "%d lines, at most %d" % (lines, limit)
    if path.endswith(".h") and "/testing/" not in path:
        for n, line in enumerate(text.splitlines(), 1):
            m = HEAVY.match(line)
            if m:
                yield "include", n, "includes %s; only .cc files may" % m.group(1)
    for function in functions_of(tokens_of(text), tables_free=test):
        if function.lines > FUNCTION_LINES:
            yield function.name, function.line, "%s has %d lines, at most %d" % (
                function.name, function.lines, FUNCTION_LINES)
        if function.params > PARAMETERS:
            yield function.name, function.line, "%s has %d parameters, at most %d" % (
                function.name, function.params, PARAMETERS)


def is_test(path):
    return path.endswith("_test.cc") or "/testing/" in path and path.endswith(".cc")


def files(root):
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.h", "*.cc"],
        stdout=subprocess.PIPE, check=False)
    if listed.returncode == 0:
        return sorted(p for p in listed.stdout.decode().split("\0") if p and os.path.exists(os.path.join(root, p)))
    found = []
    for folder, _, names in os.walk(root):
        found += [os.path.relpath(os.path.join(folder, n), root) for n in names if n.endswith((".h", ".cc"))]
    return sorted(found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    root = parser.parse_args().root
    used = set()
    bad = 0
    for path in files(root):
        with open(os.path.join(root, path), encoding="utf-8") as f:
            text = f.read()
        for what, line, sentence in violations(path, text):
            key = "%s: %s" % (path, what)
            if key in EXCEPTIONS:
                used.add(key)
                continue
            print("%s:%d: %s" % (path, line, sentence))
            bad += 1
    for key in sorted(set(EXCEPTIONS) - used):
        if os.path.exists(os.path.join(root, key.split(":")[0])):
            print("tools/budgets.py: the exception '%s' is not needed any more" % key)
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
