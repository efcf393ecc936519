#!/usr/bin/env python3
"""The closing line counts test cases, and forgets nothing that went wrong."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = ["tools/tests"]
import junit  # noqa: E402


def asked(label):
    return {"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": "SMALL"}}


def finished(code):
    return {"id": {"buildFinished": {}}, "finished": {"exitCode": {"code": code}}}


class Count(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.files = 0

    def ran(self, label, status, cases=None, failed=0, shard=1):
        """The event of a test, with a JUnit file of `cases` cases unless it is None."""
        outputs = []
        if cases is not None:
            self.files += 1
            path = os.path.join(self.folder.name, "%d test.xml" % self.files)
            with open(path, "w", encoding="utf-8") as f:
                f.write("<testsuites><testsuite tests='%d' failures='%d' errors='0'>" % (cases, failed))
                f.write("".join("<testcase name='case %d'>%s</testcase>" % (i, "<failure/>" if i < failed else "") for i in range(cases)))
                f.write("</testsuite></testsuites>")
            outputs = [{"name": "test.xml", "uri": "file://" + path.replace(" ", "%20")}]
        return {"id": {"testResult": {"label": label, "run": 1, "shard": shard}},
                "testResult": {"status": status, "testActionOutput": outputs}}

    def count(self, *runs):
        """(exit code, closing line, the other lines) for event files with these events."""
        paths = []
        for events in runs:
            self.files += 1
            paths.append(os.path.join(self.folder.name, "run%d.json" % self.files))
            if events is not None:
                with open(paths[-1], "w", encoding="utf-8") as f:
                    f.writelines(json.dumps(e) + "\n" for e in events)
        done = subprocess.run([".ci/count.py", *paths], stdout=subprocess.PIPE, check=False)
        lines = done.stdout.decode().splitlines()
        return done.returncode, lines[-1], lines[:-1]

    def test_cases_of_several_tests_shards_and_runs_are_added(self):
        one = [asked("//a:a"), self.ran("//a:a", "PASSED", 3), self.ran("//a:a", "PASSED", 2, shard=2), finished(0)]
        two = [asked("//b:b"), self.ran("//b:b", "PASSED", 4), finished(0)]
        self.assertEqual(self.count(one, two), (0, "9 passed, 0 failed", []))

    def test_failed_cases_are_named(self):
        run = [asked("//a:a"), self.ran("//a:a", "FAILED", 3, failed=1), finished(3)]
        self.assertEqual(self.count(run), (1, "2 passed, 1 failed", ["FAILED  //a:a: case 0"]))

    def test_a_crash_counts_even_if_the_file_says_all_is_well_or_is_not_there(self):
        self.assertEqual(self.count([self.ran("//a:a", "FAILED", 3), finished(3)])[:2], (1, "2 passed, 1 failed"))
        self.assertEqual(self.count([self.ran("//a:a", "TIMEOUT"), finished(3)]), (1, "0 passed, 1 failed", ["FAILED  //a:a: timeout"]))

    def test_of_several_attempts_the_last_counts(self):
        run = [self.ran("//a:a", "FAILED", 2, failed=1), self.ran("//a:a", "PASSED", 2), finished(0)]
        self.assertEqual(self.count(run)[:2], (0, "2 passed, 0 failed"))

    def test_a_test_that_cannot_be_built_counts_as_failed(self):
        run = [asked("//a:a"), {"id": {"targetCompleted": {"label": "//a:a"}}, "completed": {}}, finished(1)]
        self.assertEqual(self.count(run), (1, "0 passed, 1 failed", ["FAILED  //a:a: could not be built"]))

    def test_an_error_that_belongs_to_no_test_counts_as_failed(self):
        self.assertEqual(self.count([finished(1)])[:2], (1, "0 passed, 1 failed"))

    def test_a_run_that_was_cut_short_or_never_began_counts_as_failed(self):
        self.assertEqual(self.count([self.ran("//a:a", "PASSED", 3)])[:2], (1, "3 passed, 1 failed"))
        self.assertEqual(self.count(None)[:2], (1, "0 passed, 1 failed"))

    def test_a_run_that_finds_no_test_is_no_failure(self):
        self.assertEqual(self.count([finished(4)]), (0, "0 passed, 0 failed", []))


if __name__ == "__main__":
    junit.main()
