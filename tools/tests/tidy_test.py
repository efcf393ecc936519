#!/usr/bin/env python3
"""tools/tidy.py with a made-up clang-tidy: what it runs again, and what it remembers."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = ["tools/tests"]
import junit  # noqa: E402

# Finds the word "wrong" in the file it is given.
CLANG_TIDY = """#!/bin/bash
[ "$1" = --version ] && { echo made-up; exit; }
echo "${@: -1}" >>"$CALLS"
! grep -n wrong "${@: -1}"
"""


class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(folder.name, "root")
        self.calls = os.path.join(folder.name, "calls")
        os.makedirs(os.path.join(self.root, "tools"))
        os.makedirs(os.path.join(folder.name, "bin"))
        self.write("../bin/clang-tidy-14", CLANG_TIDY)
        os.chmod(os.path.join(folder.name, "bin/clang-tidy-14"), 0o755)
        shutil.copy("tools/tidy.py", os.path.join(self.root, "tools/tidy.py"))
        self.write(".clang-tidy", "Checks: '*'\n")
        self.write("a.h", "int a;\n")
        self.write("b.h", '#include "a.h"\n')
        self.write("x.cc", '#include "b.h"\n')
        self.write("y.cc", "int y;\n")
        self.write("compile_commands.json", json.dumps([
            {"directory": self.root, "file": os.path.join(self.root, name), "arguments": ["c++", name]} for name in ("x.cc", "y.cc")]))
        self.environment = dict(os.environ, CALLS=self.calls, HOME=folder.name,
                                PATH=os.path.join(folder.name, "bin") + ":" + os.environ["PATH"])

    def write(self, path, text):
        with open(os.path.join(self.root, path), "w", encoding="utf-8") as f:
            f.write(text)

    def tidy(self, *files):
        """(exit code, names of the files that were looked at)"""
        open(self.calls, "w", encoding="utf-8").close()
        done = subprocess.run([sys.executable, os.path.join(self.root, "tools/tidy.py"), *files], env=self.environment,
                              stdout=subprocess.PIPE, check=False)
        self.out = done.stdout.decode()
        with open(self.calls, encoding="utf-8") as f:
            return done.returncode, sorted(os.path.basename(line.strip()) for line in f)

    def test_what_passed_is_not_looked_at_again(self):
        self.assertEqual(self.tidy(), (0, ["x.cc", "y.cc"]))
        self.assertEqual(self.tidy(), (0, []))

    def test_a_finding_fails_is_printed_and_is_not_forgotten(self):
        self.write("y.cc", "int wrong;\n")
        self.assertEqual(self.tidy(), (1, ["x.cc", "y.cc"]))
        self.assertIn("1:int wrong;", self.out)
        self.assertEqual(self.tidy(), (1, ["y.cc"]))

    def test_a_header_behind_a_header_counts(self):
        self.tidy()
        self.write("a.h", "int b;\n")
        self.assertEqual(self.tidy(), (0, ["x.cc"]))

    def test_other_rules_or_flags_count(self):
        self.tidy()
        self.write(".clang-tidy", "Checks: '-*'\n")
        self.assertEqual(self.tidy(), (0, ["x.cc", "y.cc"]))

    def test_files_can_be_named(self):
        self.assertEqual(self.tidy(os.path.join(self.root, "y.cc")), (0, ["y.cc"]))


if __name__ == "__main__":
    junit.main()
