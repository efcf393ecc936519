#!/usr/bin/env python3
"""The dependency rules find what is planted in a small made-up project, and leave alone what is allowed."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = ["tools", "tools/tests"]
import junit  # noqa: E402


def rule(label, kind="cc_library", testonly=False, **lists):
    rows = ["<boolean name='testonly' value='%s'/>" % str(testonly).lower()]
    for name, labels in lists.items():
        rows.append("<list name='%s'>%s</list>" % (name, "".join("<label value='%s'/>" % x for x in labels)))
    return "<rule class='%s' name='%s'>%s</rule>" % (kind, label, "".join(rows))


def check(rules, files=None):
    """What tools/deps.py says about a project of these rules and files."""
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, "root")
        os.mkdir(root)
        for path, text in (files or {}).items():
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        xml = os.path.join(folder, "query.xml")
        with open(xml, "w", encoding="utf-8") as f:
            f.write("<?xml version='1.1' encoding='UTF-8' standalone='no'?>\n<query version='2'>%s</query>" % "".join(rules))
        done = subprocess.run(["tools/deps.py", "--xml=" + xml, "--root=" + root], stdout=subprocess.PIPE, check=False)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == (1 if lines else 0), done
    return lines


class Never(unittest.TestCase):
    def test_an_indirect_way_is_found_and_shown(self):
        self.assertEqual(
            check([rule("//services/scheduler/core:core", deps=["//libs/api:types"]),
                   rule("//libs/api:types", deps=["//libs/common:backoff"]),
                   rule("//libs/common:backoff", deps=["//libs/common:clock"]),
                   rule("//libs/common:clock")]),
            ["//services/scheduler/core:core -> //libs/api:types -> //libs/common:backoff -> //libs/common:clock"])

    def test_a_system_library_behind_another_is_found(self):
        found = check([rule("//services/scheduler/core:core", deps=["//libs/common:x"]),
                       rule("//libs/common:x", deps=["@system//:boost_json"]),
                       rule("@system//:boost_json", deps=["@system//:boost"]), rule("@system//:boost")])
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].endswith("@system//:boost"))

    def test_a_service_that_links_another_is_found(self):
        self.assertEqual(len(check([rule("//services/visibility:server", deps=["//services/scheduler/core:snapshot"]),
                                    rule("//services/scheduler/core:snapshot")])), 1)

    def test_a_binary_as_data_is_allowed(self):
        self.assertEqual(check([rule("//e2e:story_test", "cc_test", data=["//services/scheduler:koord-queue"]),
                                rule("//services/scheduler:koord-queue", "cc_binary")]), [])

    def test_the_code_of_a_service_in_an_end_to_end_test_is_found(self):
        self.assertEqual(len(check([rule("//e2e:story_test", "cc_test", deps=["//services/scheduler:config"]),
                                    rule("//services/scheduler:config")])), 1)

    def test_tests_and_testonly_targets_may_use_more_but_not_the_simulation(self):
        clock = rule("//libs/common:clock")
        self.assertEqual(check([rule("//services/scheduler/core:core_test", "cc_test", deps=["//libs/common:clock"]), clock]), [])
        self.assertEqual(check([rule("//services/scheduler/core:builders", testonly=True, deps=["//libs/common:clock"]), clock]), [])
        self.assertEqual(len(check([rule("//services/scheduler/sim:world", testonly=True, deps=["@system//:grpcpp"]),
                                    rule("@system//:grpcpp")])), 1)

    def test_an_exception_is_granted_to_the_named_target_alone(self):
        self.assertEqual(check([rule("//libs/kube:events", deps=["//libs/api:object_key"]), rule("//libs/api:object_key")]), [])
        self.assertEqual(len(check([rule("//libs/kube:events", deps=["//libs/api:types"]), rule("//libs/api:types")])), 1)

    def test_plugins_do_not_know_each_other_but_the_registry_knows_all(self):
        rules = [rule("//services/scheduler/plugins:a", deps=["//services/scheduler/plugins:b"]),
                 rule("//services/scheduler/plugins:b"),
                 rule("//services/scheduler/plugins:registry", deps=["//services/scheduler/plugins:a"])]
        self.assertEqual(len(check(rules)), 1)


class Includes(unittest.TestCase):
    def test_a_header_without_a_direct_dependency_is_found(self):
        rules = [rule("//libs/a:a", hdrs=["//libs/a:a.h"]), rule("//libs/a:b", hdrs=["//libs/a:b.h"], deps=["//libs/a:a"]),
                 rule("//libs/a:c", srcs=["//libs/a:c.cc"], deps=["//libs/a:b"])]
        files = {"libs/a/a.h": "", "libs/a/b.h": '#include "libs/a/a.h"\n', "libs/a/c.cc": '#include "libs/a/a.h"\n'}
        self.assertEqual(check(rules, files), ["//libs/a:c: libs/a/c.cc includes libs/a/a.h, which no direct dependency brings"])

    def test_generated_headers_come_with_their_proto(self):
        rules = [rule("//proto:p_gen", "_proto_gen", srcs=["//proto:p.proto"]),
                 rule("//proto:p_hdrs", "filegroup", srcs=["//proto:p_gen"]),
                 rule("//proto:p", hdrs=["//proto:p_hdrs"]),
                 rule("//services/scheduler/rpc:r", srcs=["//services/scheduler/rpc:r.cc"], deps=["//proto:p"]),
                 rule("//services/scheduler/rpc:s", srcs=["//services/scheduler/rpc:s.cc"])]
        text = '#include "proto/p.grpc.pb.h"\n'
        files = {"services/scheduler/rpc/r.cc": text, "services/scheduler/rpc/s.cc": text}
        self.assertEqual(len(check(rules, files)), 1)

    def test_a_system_header_behind_a_header_of_the_core_is_found(self):
        rules = [rule("//services/scheduler/core:x", hdrs=["//services/scheduler/core:x.h"], deps=["//libs/api:y"]),
                 rule("//libs/api:y", hdrs=["//libs/api:y.h"])]
        files = {"services/scheduler/core/x.h": '#include "libs/api/y.h"\n', "libs/api/y.h": "#include <boost/json.hpp>\n"}
        self.assertEqual(check(rules, files), ["services/scheduler/core/x.h -> libs/api/y.h -> boost/json.hpp"])

    def test_threads_in_the_core_are_found_and_those_of_its_tests_are_not(self):
        rules = [rule("//services/scheduler/core:x", srcs=["//services/scheduler/core:x.cc"]),
                 rule("//services/scheduler/core:x_test", "cc_test", srcs=["//services/scheduler/core:x_test.cc"])]
        files = {"services/scheduler/core/x.cc": "#include <thread>\n", "services/scheduler/core/x_test.cc": "#include <thread>\n"}
        self.assertEqual(check(rules, files), ["services/scheduler/core/x.cc -> thread"])

    def test_a_file_without_a_target_is_found(self):
        self.assertEqual(check([], {"libs/a/lost.cc": ""}), ["libs/a/lost.cc belongs to no target"])


if __name__ == "__main__":
    junit.main()
