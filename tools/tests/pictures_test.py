#!/usr/bin/env python3
"""The pictures of the dashboards are taken out of a test's outputs, all or none."""
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.path[:0] = ["tools/tests"]
import junit  # noqa: E402

ALL = ["koord-queue.png", "koord-queue.svg", "operations.png", "operations.svg"]


class Pictures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.outputs = os.path.join(folder.name, "outputs.zip")
        self.kept = os.path.join(folder.name, "artifacts", "dashboards")

    def left_behind(self, pictures):
        with zipfile.ZipFile(self.outputs, "w") as out:
            out.writestr("leader.log", "some words")
            for name, content in pictures.items():
                out.writestr("dashboards/" + name, content)

    def run_it(self):
        return subprocess.run([".ci/pictures.py", self.outputs, self.kept], capture_output=True, text=True, check=False)

    def test_all_pictures_are_kept_and_named_and_nothing_else(self):
        self.left_behind({name: "picture of " + name for name in ALL})
        done = self.run_it()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.kept)), ALL)
        for name in ALL:
            self.assertIn(os.path.join(self.kept, name), done.stdout)
            with open(os.path.join(self.kept, name), encoding="utf-8") as f:
                self.assertEqual(f.read(), "picture of " + name)

    def test_one_that_is_missing_or_empty_is_named_and_those_of_before_do_not_stay(self):
        self.left_behind({name: "x" for name in ALL})
        self.assertEqual(self.run_it().returncode, 0)
        for left, name in [({n: "x" for n in ALL[1:]}, ALL[0]), ({n: "" if n == ALL[3] else "x" for n in ALL}, ALL[3])]:
            self.left_behind(left)
            done = self.run_it()
            self.assertEqual(done.returncode, 1)
            self.assertIn(name, done.stderr)
            self.assertFalse(os.path.exists(self.kept))

    def test_outputs_that_are_not_there_or_are_no_zip_are_an_error(self):
        self.assertIn(self.outputs, self.run_it().stderr)
        with open(self.outputs, "w", encoding="utf-8") as out:
            out.write("no zip")
        done = self.run_it()
        self.assertEqual(done.returncode, 1)
        self.assertIn("no pictures of the dashboards", done.stderr)


if __name__ == "__main__":
    junit.main()
