#!/usr/bin/env bash
# What takes too long for every change:
#   tools/nightly.sh [STAGE...]     e2e simulation fuzz tidy sanitizers; default: all, in this order
#   VISIBILITY_GAP_KILLS=20 ...     of the tests on a cluster, see long_forms below and e2e/README.md
#   SEEDS=1000 STEPS=2000           of the simulation, from FIRST_SEED (default 1)
#   FUZZ_SECONDS=300                of each fuzz target; its corpus is kept in ~/.cache/koord-queue/fuzz
# Ends with 1 if a stage failed, after running the others.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools/setup.sh --checks || exit
failed=()

# The tests that have a long form. What is in the environment wins; e2e prints all, to run one again.
long_forms=(
  VISIBILITY_GAP_KILLS=20
  KILL_TEST_ROUNDS=10 KILL_TEST_UNITS=1000
  FAULT_TEST_JOBS=1000 FAULT_TEST_SEED="$RANDOM"
  API_SERVER_TEST_JOBS=240 API_SERVER_TEST_KILLS=3
  IDLE_TEST_UNITS=100000 IDLE_TEST_SECONDS=60
)
e2e() {
  local form name flags=()
  for form in "${long_forms[@]}"; do
    name=${form%%=*}
    form=$name=${!name:-${form#*=}}
    echo "$form"
    flags+=(--test_env="$form")
  done
  # They print what they measure.
  tools/test.sh --cluster "//e2e/failover:all //e2e/faults:all //e2e/idle:all" \
    --test_timeout=7200 --test_output=all "${flags[@]}"
}

simulation() {
  [ -e services/scheduler/sim/BUILD.bazel ] || { echo "no simulation here"; return 1; }
  bazel run -c opt --copt=-O2 //services/scheduler/sim -- \
    --first-seed="${FIRST_SEED:-1}" --seeds="${SEEDS:-1000}" --steps="${STEPS:-2000}"
}

fuzz() {
  local target rc=0 corpus program seeds
  for target in $(bazel query --noshow_progress 'attr(tags, "\bfuzz\b", tests(//...))' 2>/dev/null); do
    echo "== $target, ${FUZZ_SECONDS:-300} s"
    corpus=$HOME/.cache/koord-queue/fuzz/$(tr -c 'A-Za-z0-9_\n' _ <<<"${target#//}")
    mkdir -p "$corpus"
    bazel build --config=fuzz "$target" || { rc=1; continue; }
    program=bazel-bin/${target#//}
    mapfile -t seeds < <(bazel query --noshow_progress "labels(data, $target)" 2>/dev/null |
      sed 's#^//##; s#:#/#; s#/[^/]*$##' | sort -u)
    # New inputs go to the first folder; the others are read.
    "${program/://}" -max_total_time="${FUZZ_SECONDS:-300}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="$corpus-" "$corpus" "${seeds[@]}" || rc=1
  done
  return $rc
}

sanitizers() { .ci/run asan ubsan tsan; }
tidy() { tools/tidy.sh; }

for stage in "${@:-e2e simulation fuzz tidy sanitizers}"; do
  for one in $stage; do
    case $one in
      e2e | simulation | fuzz | tidy | sanitizers) ;;
      *) echo "tools/nightly.sh: no stage '$one'" >&2; exit 2 ;;
    esac
    printf '\n======== %s\n' "$one"
    "$one" || failed+=("$one")
  done
done
if [ ${#failed[@]} -gt 0 ]; then echo "FAILED: ${failed[*]}"; exit 1; fi
echo "nightly: all well"
