#!/usr/bin/env python3
"""The budgets find what is planted, and leave alone what is allowed."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = ["tools", "tools/tests"]
import budgets  # noqa: E402
import junit  # noqa: E402


def found(path, text):
    return [sentence for _, _, sentence in budgets.violations(path, text)]


def functions(text, tables_free=False):
    return {f.name: (f.lines, f.params) for f in budgets.functions_of(budgets.tokens_of(text), tables_free)}


def body(lines):
    return "{\n" + "  x = f(1);\n" * (lines - 2) + "}\n"


class Budgets(unittest.TestCase):
    def test_a_long_header_is_found_and_one_at_the_limit_is_not(self):
        self.assertEqual(found("a/x.h", "// c\n" * 250), [])
        self.assertEqual(found("a/x.h", "// c\n" * 251), ["251 lines, at most 250"])

    def test_a_long_source_is_found_and_a_test_may_be_longer(self):
        self.assertEqual(found("a/x.cc", "// c\n" * 501), ["501 lines, at most 500"])
        self.assertEqual(found("a/x_test.cc", "// c\n" * 1200), [])
        self.assertEqual(found("a/x_test.cc", "// c\n" * 1201), ["1201 lines, at most 1200"])

    def test_a_long_function_is_found(self):
        self.assertEqual(found("a/x.cc", "int F() " + body(70)), [])
        self.assertEqual(found("a/x.cc", "int F() " + body(71)), ["F has 71 lines, at most 70"])

    def test_a_long_method_in_a_class_in_a_namespace_is_found(self):
        text = "namespace a::b {\nclass C final : public D<int> {\n public:\n  int G() const override " + body(71) + "};\n}\n"
        self.assertEqual(found("a/x.h", text), ["G has 71 lines, at most 70"])

    def test_a_long_constructor_behind_its_initialisers_is_found(self):
        text = "C::C(int a) : a_(a), b_{a, [] { return 1; }}, c_(f(a)) " + body(71)
        self.assertEqual(found("a/x.cc", text), ["C has 71 lines, at most 70"])

    def test_a_long_test_case_is_found_without_its_table(self):
        table = "  const auto rows = values<Row>({\n" + '      {"a", 1, {2, 3}},\n' * 60 + "  });\n"
        self.assertEqual(found("a/x_test.cc", 'TEST_CASE("t", "[a]") {\n' + table + "  f(1);\n" * 60 + "}\n"), [])
        self.assertEqual(found("a/x_test.cc", 'TEST_CASE("t", "[a]") ' + body(80)), ["TEST_CASE has 80 lines, at most 70"])

    def test_blocks_lambdas_and_loops_in_a_test_are_not_tables(self):
        text = 'TEST_CASE("t") {\n  auto f = [&](int a) -> int {\n' + "    g(a);\n" * 75 + "  };\n  f(1);\n}\n"
        self.assertEqual(len(found("a/x_test.cc", text)), 1)
        text = 'TEST_CASE("t") {\n  for (int i : v) {\n' + "    g(i);\n" * 75 + "  }\n}\n"
        self.assertEqual(len(found("a/x_test.cc", text)), 1)

    def test_many_parameters_are_found_in_declarations_and_definitions(self):
        self.assertEqual(found("a/x.h", "void F(int a, int b, int c, int d, int e);\n"), [])
        self.assertEqual(found("a/x.h", "void F(int a, int b, int c, int d, int e, int f);\n"),
                         ["F has 6 parameters, at most 5"])
        self.assertEqual(found("a/x.cc", "void C::F(int a, int b, int c, int d, int e, int f) const { }\n"),
                         ["F has 6 parameters, at most 5"])

    def test_commas_in_templates_calls_and_function_types_are_not_parameters(self):
        text = "void F(std::map<int, std::pair<int, int>> a, std::function<void(int, int)> b = G(1, 2), X c = {1, 2, 3});\n"
        self.assertEqual(functions(text), {"F": (0, 3)})

    def test_operators_destructors_and_defaults_are_understood(self):
        text = ("struct S {\n  ~S() = default;\n  bool operator==(const S& o) const { return true; }\n"
                "  int operator()(int a, int b) const { return a; }\n  S& operator=(S&&) = delete;\n};\n")
        self.assertEqual(functions(text), {"~S": (0, 0), "operator==": (1, 1), "operator()": (1, 2), "operator=": (0, 1)})

    def test_braces_in_strings_characters_comments_and_directives_do_not_count(self):
        text = ("#define OPEN {\\\n  {\n/* { */ int F() {\n  // {\n  f(\"{\\\"{\", '{', R\"x({ \"( )x\");\n}\nint G() { return 1; }\n")
        self.assertEqual(functions(text), {"F": (4, 0), "G": (1, 0)})

    def test_heavy_headers_are_found_in_headers_only(self):
        text = "#include <boost/beast/core.hpp>\n#include <grpcpp/grpcpp.h>\n#include \"proto/a.grpc.pb.h\"\n#include \"proto/a.pb.h\"\n"
        self.assertEqual(len(found("a/x.h", text)), 3)
        self.assertEqual(found("a/x.cc", text), [])
        self.assertEqual(found("a/testing/fake.h", text), [])

    def test_the_program_ends_with_1_and_names_the_place(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "x.h"), "w", encoding="utf-8") as f:
                f.write("#pragma once\nvoid F(int, int, int, int, int, int);\n")
            done = subprocess.run(["tools/budgets.py", "--root=" + folder], stdout=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.decode(), "x.h:2: F has 6 parameters, at most 5\n")


if __name__ == "__main__":
    junit.main()
