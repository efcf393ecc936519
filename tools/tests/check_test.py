#!/usr/bin/env python3
"""The searches of tools/check.sh find what is planted, and leave alone what is allowed."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = ["tools/tests"]
import junit  # noqa: E402


def failed(path, text):
    """The names of the checks that fail when `text` stands in the file `path`."""
    with tempfile.TemporaryDirectory() as folder:
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write(text + "\n")
        done = subprocess.run(["tools/check.sh", "--text", folder], stdout=subprocess.PIPE, check=False)
    names = [line[len("FAILED  "):] for line in done.stdout.decode().splitlines() if line.startswith("FAILED")]
    assert done.returncode == (1 if names else 0), done
    return names


class Check(unittest.TestCase):
    def test_an_ordinary_file_passes(self):
        self.assertEqual(failed("libs/a/x.cc", "class Reflector {\n  std::string manager_data;  // data of a handler\n};"), [])

    def test_the_time_of_the_system_is_found_outside_the_clock(self):
        line = "const absl::Time t = absl::" + "Now();"
        self.assertEqual(failed("libs/a/x.cc", line), ["only libs/common/clock asks for the time"])
        self.assertEqual(failed("libs/common/clock.cc", line), [])

    def test_unfinished_places_are_found(self):
        self.assertEqual(failed("libs/a/x.h", "// TO" + "DO: later"), ["nothing is left for later"])

    def test_paths_of_a_machine_are_found(self):
        for text in ("see /ro" + "ot/notes", "cd /wo" + "rk/main", "HOME=/ho" + "me/somebody/x"):
            self.assertEqual(failed("docs/x.md", text), ["no path of somebody's machine, no host of a package registry"], text)
        self.assertEqual(failed("docs/x.md", "https://example.com/wo" + "rk/items and ~/.cache"), [])

    def test_names_that_say_nothing_are_found(self):
        for text in ("class QueueManager {", "struct UnitInfo final {", "class RequestHandler : public X {"):
            self.assertEqual(failed("libs/a/x.h", text), ["type names say what they are"], text)
        self.assertEqual(failed("libs/a/x.h", "class Manager;  // only declared\nstruct Handlers {"), [])

    def test_friends_for_tests_are_found(self):
        self.assertEqual(failed("libs/a/x.h", "  FRIEND_" + "TEST(A, B);"), ["no access for one test alone"])

    def test_packages_that_are_open_by_default_are_found(self):
        self.assertEqual(failed("libs/a/BUILD.bazel", 'package(default_visibility = ["//visibility:public"])'),
                         ["targets are private unless they say otherwise"])
        self.assertEqual(failed("libs/a/BUILD.bazel", 'package(default_visibility = ["//visibility:private"])'), [])


if __name__ == "__main__":
    junit.main()
