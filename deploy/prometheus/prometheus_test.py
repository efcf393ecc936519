#!/usr/bin/env python3
"""What this folder ships is what Prometheus takes, and each alert is shown firing and not firing."""
import re
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = ["tools/tests"]
import junit  # noqa: E402

FOLDER = "deploy/prometheus"


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, cwd=FOLDER)
    return done.returncode, done.stdout + done.stderr


def text_of(name):
    with open("%s/%s" % (FOLDER, name), encoding="utf-8") as source:
        return source.read()


class Shipped(unittest.TestCase):
    def test_promtool_takes_the_configuration(self):
        code, output = promtool("check", "config", "prometheus.yaml")
        self.assertEqual(code, 0, output)

    def test_the_original_scrape_job_is_there_as_it_was(self):
        found = re.search(r"- job_name: koord-queue-exporter\n(.*?)- job_name", text_of("prometheus.yaml"), re.S).group(1)
        for line in ("metrics_path: /metrics", "scheme: http", "honor_timestamps: false", "honor_labels: false", "targets: ['127.0.0.1:10259']"):
            self.assertIn(line, found)

    def test_alerts_fire_when_they_should_and_not_otherwise(self):
        code, output = promtool("test", "rules", "alerts_test.yaml")
        self.assertEqual(code, 0, output)

    def test_each_alert_is_shown_firing_and_not_firing(self):
        alerts = re.findall(r"- alert: (\w+)", text_of("alerts.yaml"))
        self.assertGreater(len(alerts), 20)
        cases = re.findall(r"alertname: (\w+),?\s+exp_alerts:(.*)", text_of("alerts_test.yaml"))
        quiet = {name for name, expected in cases if "[]" in expected}
        fires = {name for name, expected in cases if "[]" not in expected}
        self.assertEqual([a for a in alerts if a not in fires], [])
        self.assertEqual([a for a in alerts if a not in quiet], [])

    def test_a_changed_rule_is_noticed(self):
        rules = text_of("alerts.yaml").replace("== 0\n    for: 2m", "== 7\n    for: 2m")
        self.assertNotEqual(rules, text_of("alerts.yaml"))
        head, cases = text_of("alerts_test.yaml").split("tests:\n")
        of_this_rule = next(case for case in cases.split("\n\n") if "alertname: KoordQueueScrapeGone" in case)
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("alerts.yaml", rules), ("alerts_test.yaml", head + "tests:\n" + of_this_rule)):
                with open("%s/%s" % (folder, name), "w", encoding="utf-8") as out:
                    out.write(text)
            self.assertEqual(promtool("test", "rules", folder + "/alerts_test.yaml")[0], 1)


if __name__ == "__main__":
    junit.main()
