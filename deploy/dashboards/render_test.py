#!/usr/bin/env python3
"""The boards ask for what a Prometheus can have, and the renderer draws it, or says what is missing."""
import http.server
import io
import json
import os
import re
import sys
import tempfile
import threading
import unittest
from contextlib import redirect_stderr, redirect_stdout
from urllib.parse import parse_qs, urlparse
from xml.etree import ElementTree

FOLDER = "deploy/dashboards"
sys.path[:0] = [FOLDER, "tools/tests"]
import board  # noqa: E402
import chart  # noqa: E402
import junit  # noqa: E402
import render  # noqa: E402

BOARDS = ("koord-queue.json", "operations.json")


class FakePrometheus:
    """Has one series for every selector and query, except those that contain `without`; its labels have `values`."""

    def __init__(self, without=None, nan=None, values=("team-a", "team-b")):
        fake = self
        self.without, self.nan, self.values = without, nan, list(values)

        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps({"status": "success", "data": fake.data(urlparse(self.path))}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.thread = threading.Thread(target=self.server.serve_forever)

    def data(self, url):
        asked = parse_qs(url.query)
        if url.path.endswith("/values"):
            return self.values
        text = (asked.get("match[]") or asked.get("query"))[0]
        if self.without and self.without in text:
            return {"result": []} if url.path.endswith("query_range") else []
        if url.path.endswith("/series"):
            return [{"__name__": "x"}]
        value = "NaN" if self.nan and self.nan in text else "3.5"
        start, step = float(asked["start"][0]), int(asked["step"][0])
        points = [[start + i * step, value] for i in range(20)]
        return {"resultType": "matrix", "result": [{"metric": {"queue": "team-a", "instance": "127.0.0.1:1"}, "values": points}]}

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def render(self, folder, *more):
        """The exit code, and what was said of mistakes."""
        errors = io.StringIO()
        with redirect_stderr(errors), redirect_stdout(io.StringIO()):
            code = render.main(["--prometheus", "http://127.0.0.1:%d" % self.server.server_port, "--out", folder, *more])
        return code, errors.getvalue()


class Boards(unittest.TestCase):
    def test_the_original_keeps_its_name_its_uid_and_its_job(self):
        one = board.load("%s/koord-queue.json" % FOLDER)
        self.assertEqual((one.title, one.uid), ("AckKoordQueue", "VhwsfAqVz"))
        for panel in one.panels:
            for expression, _ in panel.targets:
                for selector in board.selectors(expression):
                    self.assertIn('job="koord-queue-exporter"', selector)

    def test_variables_are_those_of_the_original_and_the_data_source_is_one(self):
        one = board.load("%s/koord-queue.json" % FOLDER)
        self.assertEqual([v["name"] for v in one.variables], ["datasource", "interval", "Namespace", "Quota", "Resource"])
        for name in BOARDS:
            with open("%s/%s" % (FOLDER, name), encoding="utf-8") as source:
                self.assertEqual(set(re.findall(r'"uid": "(\$[^"]*)"', source.read())), {"${datasource}"})

    def test_titles_are_english_and_chinese(self):
        for name in BOARDS:
            for panel in board.load("%s/%s" % (FOLDER, name)).panels:
                self.assertRegex(panel.title, r"^[\x20-\x7e]+ · .*[\u4e00-\u9fff]", panel.title)

    def test_panels_do_not_overlap(self):
        for name in BOARDS:
            taken = {}
            for panel in board.load("%s/%s" % (FOLDER, name)).panels:
                self.assertLessEqual(panel.x + panel.w, 24, panel.title)
                for x in range(panel.x, panel.x + panel.w):
                    for y in range(panel.y, panel.y + panel.h):
                        self.assertEqual(taken.setdefault((x, y), panel.title), panel.title)

    def test_the_panel_of_answers_no_longer_claims_to_show_latency(self):
        titles = [p.title for p in board.load("%s/koord-queue.json" % FOLDER).panels for e, _ in p.targets if 'code=~"' in e]
        self.assertEqual(len(titles), 4)
        self.assertFalse([t for t in titles if "latency" in t.lower() or "延迟" in t])


class Queries(unittest.TestCase):
    def test_selectors_are_found_and_functions_labels_and_strings_are_not(self):
        for expression, expected in (
            ("up", ["up"]),
            ('rate(a_total{x="1",y=~"b(c|d)"}[5m]) / on (x) group_left (y) b', ['a_total{x="1",y=~"b(c|d)"}', "b"]),
            ('histogram_quantile(0.99, sum(rate(h_bucket{j="k"}[1h])) by (le, job))', ['h_bucket{j="k"}']),
            ("count(x > 0) or vector(0)", ["x"]),
            ('sum by (queue) (a{q="}{"}) unless b offset 5m', ['a{q="}{"}', "b"]),
            ('{__name__="a"}', ['{__name__="a"}']),
            ("time() - a_seconds > 6 * 3600", ["a_seconds"]),
        ):
            self.assertEqual(board.selectors(expression), expected)

    def test_variables_are_replaced_and_unknown_ones_refused(self):
        self.assertEqual(board.substitute("a[$interval]{q=\"${Quota}\"}", {"interval": "5m", "Quota": "x"}), 'a[5m]{q="x"}')
        with self.assertRaises(ValueError):
            board.substitute("$nobody", {})

    def test_a_variable_is_asked_for_its_values_and_a_given_one_must_be_among_them(self):
        query = 'label_values(a_total{job="j"}, quota)'
        one = board.Board("t", "u", [], [{"name": "Quota", "type": "query", "query": query}])
        asked = []

        def values_of(selector, label):
            asked.append((selector, label))
            return ["team-a", "team-b"]

        self.assertEqual(board.resolve(one, values_of, {}), {"Quota": "team-a"})
        self.assertEqual(board.resolve(one, values_of, {"Quota": "team-b"}), {"Quota": "team-b"})
        self.assertEqual(asked, [('a_total{job="j"}', "quota")] * 2)
        with self.assertRaisesRegex(ValueError, "variable Quota has no value team-c"):
            board.resolve(one, values_of, {"Quota": "team-c"})
        with self.assertRaisesRegex(ValueError, "variable Quota has no value: label_values"):
            board.resolve(one, lambda *_: [], {"Quota": "team-b"})

    def test_legends_are_made_of_labels(self):
        self.assertEqual(board.legend("{{queue}} scheduled", {"queue": "a"}), "a scheduled")
        self.assertEqual(board.legend("", {"b": "2", "a": "1", "__name__": "n"}), "a=1, b=2")


class Pictures(unittest.TestCase):
    def test_all_panels_of_all_boards_are_drawn(self):
        with tempfile.TemporaryDirectory() as folder, FakePrometheus() as fake:
            code, said = fake.render(folder, "--range", "15m")
            self.assertEqual((code, said), (0, ""))
            for name in BOARDS:
                svg = ElementTree.parse("%s/%s" % (folder, name.replace(".json", ".svg")))
                texts = [t.text for t in svg.iter("{http://www.w3.org/2000/svg}text")]
                for panel in board.load("%s/%s" % (FOLDER, name)).panels:
                    title = re.sub(r"\$\w+", "team-a", panel.title)
                    self.assertTrue(any(t.startswith(title[:20]) for t in texts), panel.title)
                curves = list(svg.iter("{http://www.w3.org/2000/svg}polyline"))
                self.assertGreaterEqual(len(curves), sum(len(p.targets) for p in board.load("%s/%s" % (FOLDER, name)).panels))

    def test_an_empty_panel_is_a_failure_that_names_it(self):
        for missing in (FakePrometheus(without="process_resident_memory_bytes"), FakePrometheus(nan="process_resident_memory_bytes")):
            with tempfile.TemporaryDirectory() as folder, missing as fake:
                code, said = fake.render(folder, "%s/koord-queue.json" % FOLDER)
                self.assertEqual(code, 1)
                self.assertIn("Memory usage", said)
                self.assertTrue(os.path.exists(folder + "/koord-queue.svg"))

    def test_one_selector_of_many_that_matches_nothing_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder, FakePrometheus(without='code=~"5.."') as fake:
            code, said = fake.render(folder, "%s/koord-queue.json" % FOLDER)
            self.assertEqual(code, 1)
            self.assertIn('no series matches rest_client_requests_total{job="koord-queue-exporter",code=~"5.."}', said)

    def test_a_value_that_the_boards_own_query_does_not_find_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder, FakePrometheus() as fake:
            code, said = fake.render(folder, "--var", "Namespace=nowhere", "%s/koord-queue.json" % FOLDER)
            self.assertEqual(code, 1)
            self.assertIn("variable Namespace has no value nowhere: label_values(dequeued_quota_usage_by_namespace{", said)

    def test_given_variables_count_and_names_are_escaped(self):
        with tempfile.TemporaryDirectory() as folder, FakePrometheus(values=["a", "<a&b>"]) as fake:
            code, _ = fake.render(folder, "--var", "Quota=<a&b>", "%s/koord-queue.json" % FOLDER)
            self.assertEqual(code, 0)
            with open(folder + "/koord-queue.svg", encoding="utf-8") as source:
                self.assertIn("quota &lt;a&amp;b&gt;", source.read())


class Numbers(unittest.TestCase):
    def test_amounts_are_shown_with_their_unit(self):
        for value, unit, text in (
            (0, "short", "0"), (1500, "short", "1.5k"), (0.25, "short", "0.25"), (2e9, "decbytes", "2 GB"), (4, "suffix: cores", "4 cores"),
            (0.0031, "s", "3.1 ms"), (95, "s", "95 s"), (90000, "s", "25 h"), (0.04, "ms", "40 µs"), (12.5, "percent", "12.5 %"), (0.2, "ops", "0.2/s"),
        ):
            self.assertEqual(chart.amount(value, unit), text)

    def test_ticks_are_round_and_reach_the_top(self):
        self.assertEqual(chart.ticks(4), [0, 1, 2, 3, 4])
        for top in (0.0007, 1, 3.3, 17, 99, 12345):
            marks = chart.ticks(top)
            self.assertGreaterEqual(marks[-1], top * 0.999)
            self.assertLessEqual(len(marks), 7)

    def test_a_line_is_broken_where_values_are_missing(self):
        frame = chart.Frame(0, 0, 100, 100, (0, 100), 10)
        self.assertEqual(len(chart.curve(frame, [(0, 1), (10, 1), (60, 1), (70, 1)], "#000", 30)), 2)
        self.assertEqual(len(chart.curve(frame, [(0, 1), (10, float("nan")), (20, 1)], "#000", 30)), 2)


if __name__ == "__main__":
    junit.main()
