# What people type. Each target prints what it is doing; `make help` lists them.

SHELL := /bin/bash

# make demo: extra arguments, such as DEMO_ARGS=--once
DEMO_ARGS ?=
# make demo: play on the cluster of this kubeconfig file, instead of one of our own. (An exported KUBECONFIG
# is never used: the demo must not end up on a cluster that somebody happened to have selected.)
DEMO_KUBECONFIG ?=
# make demo on a cluster of yours: the image of the demo's pods; its command is a sleep
DEMO_IMAGE ?=
# make test, make unit: extra flags for Bazel, such as BAZEL_FLAGS=--nocache_test_results
BAZEL_FLAGS ?=

.PHONY: help demo test unit lint fmt nightly compile_commands clean

help:
	@echo 'make demo              the whole system on a local Kubernetes, as a guided story; Ctrl-C ends it'
	@echo '                       DEMO_ARGS=--once: play it and end; DEMO_KUBECONFIG=FILE: on a cluster of yours'
	@echo 'make test              build everything, run every test, also those on a real control plane'
	@echo 'make unit              the fast tests: all that need no Kubernetes'
	@echo 'make lint              format, budgets, dependency rules, clang-tidy'
	@echo 'make fmt               clang-format in place'
	@echo 'make nightly           what takes long: long forms of tests on a cluster, simulation over many seeds, fuzzing, sanitizers'
	@echo 'make compile_commands  compile_commands.json, for clangd and other tools'
	@echo 'make clean             remove what was built here; the shared cache stays'

demo:
	@tools/setup.sh
	@env -u KUBECONFIG DEMO_KUBECONFIG='$(DEMO_KUBECONFIG)' DEMO_IMAGE='$(DEMO_IMAGE)' demo/run $(DEMO_ARGS)

test:
	@tools/test.sh $(BAZEL_FLAGS)

unit:
	@tools/test.sh --unit $(BAZEL_FLAGS)

lint:
	@tools/setup.sh --checks
	@tools/check.sh
	@tools/tidy.sh

fmt:
	@tools/setup.sh --checks
	@tools/fmt.sh

nightly:
	@tools/nightly.sh

compile_commands:
	@tools/setup.sh
	@bazel/compile_commands.py

clean:
	@bazel clean
	@rm -f compile_commands.json
