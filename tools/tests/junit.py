"""Runs the unittest cases of a script under Bazel, with one JUnit entry a case. Used as: junit.main()"""
import os
import sys
import unittest
from xml.sax import saxutils


class Recorder(unittest.TextTestResult):
    def __init__(self, *args):
        super().__init__(*args)
        self.names = []

    def startTest(self, test):
        super().startTest(test)
        self.names.append(str(test))


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(verbosity=2, resultclass=Recorder).run(suite)
    bad = {str(test): text for test, text in result.failures + result.errors}
    path = os.environ.get("XML_OUTPUT_FILE")
    if path:
        with open(path, "w", encoding="utf-8") as out:
            out.write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n<testsuite name=%s tests="%d" failures="%d" errors="0">\n' % (
                saxutils.quoteattr(os.environ.get("TEST_TARGET", "python")), len(result.names), len(bad)))
            for name in result.names:
                out.write("<testcase name=%s>" % saxutils.quoteattr(name))
                if name in bad:
                    out.write("<failure>%s</failure>" % saxutils.escape(bad[name]))
                out.write("</testcase>\n")
            out.write("</testsuite>\n</testsuites>\n")
    if not result.names:
        sys.exit("no case ran")
    sys.exit(0 if result.wasSuccessful() else 1)
