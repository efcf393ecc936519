# For demo/run: what is printed, how things are waited for, which processes there are and how they end.
# It uses: root (the checkout), once (not empty: plays and ends).

began=$EPOCHREALTIME
state=           # the folder of this run
kubectl=         # the program
programs=        # the folder of koord-queue, koord-queue-controllers and kqctl
place=           # "local" or "foreign" once there is a cluster
ended=           # the story is told and Ctrl-C is the normal end
attended=        # pid of the long command that is waited for
started_bazel=   # no Bazel server was there before
declare -A services=()    # name: pid
declare -A took_care_of=()

# ---- printing: to people who watch, so colours and pauses are for terminals alone
bold='' dim='' green='' red='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
  bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m'
fi

elapsed() { # seconds since the start, with one digit
  local now=${EPOCHREALTIME/[.,]/} then=${began/[.,]/}
  local tenths=$(((now - then) / 100000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}
heading() { printf '\n%s== %s%s  %s(%s s)%s\n' "$bold" "$*" "$plain" "$dim" "$(elapsed)" "$plain"; }
tell() { printf '   %s\n' "$@" | sed 's/ *$//'; }
happened() { printf '   %s+%s %s  %s(%s s)%s\n' "$green" "$plain" "$*" "$dim" "$(elapsed)" "$plain"; }
quote() { sed 's/^./     &/'; }
shorten() { sed -E 's/^(.{200}).+/\1.../'; } # lines that nobody reads to their end

show() { # COMMAND...: as one would type it, and what it prints
  printf '\n   %s$ %s%s\n' "$bold" "$*" "$plain"
  "$@" 2>&1 | quote || differs "the command above answers" "it failed"
}

show_line() { # LINE PATTERN: the same for a line with a pipe, whose answer matches the pattern
  local said
  printf '\n   %s$ %s%s\n' "$bold" "$1" "$plain"
  said=$(eval "$1" 2>&1) || differs "the command above answers" "it failed: $said"
  quote <<<"$said"
  [[ $said == $2 ]] || differs "an answer like $2" "the one above"
}

differs() { # EXPECTED FOUND: the end of a story that goes differently
  local name
  printf '\n%s== This is not how it should go%s  (%s s)\n' "$red$bold" "$plain" "$(elapsed)"
  tell "expected: $1" "found:    $2"
  if [ ${#services[@]} != 0 ]; then
    printf '\n   what there is\n'
    kubectl get queueunits,jobs,pods -o wide 2>&1 | quote
  fi
  for name in "${!services[@]}"; do
    printf '\n   the last lines of %s\n' "$state/logs/$name.log"
    tail -n 12 "$state/logs/$name.log" | shorten | quote
  done
  exit 1
} >&2

# ---- waiting
await() { # SECONDS WHAT PATTERN COMMAND...: until the command prints what matches the pattern
  local limit=$1 what=$2 pattern=$3 found end
  shift 3
  end=$((SECONDS + limit))
  while found=$("$@" 2>&1) || true; [[ $found != $pattern ]]; do
    check_processes
    [ $SECONDS -lt $end ] || differs "$what, within $limit s" "${found:-nothing}   ($*)"
    sleep 0.2
  done
}

attend() { # COMMAND...: a long one. A signal ends the wait for it, which it would not do to a command in front.
  "$@" &
  attended=$!
  local rc=0
  wait "$attended" || rc=$?
  attended=
  return "$rc"
}

# ---- processes
start() { # NAME PROGRAM FLAGS...: out of reach of the terminal's Ctrl-C; ends when this script is killed
  local name=$1
  shift
  setsid setpriv --pdeathsig TERM "$@" >>"$state/logs/$name.log" 2>&1 </dev/null &
  services[$name]=$!
}

check_processes() { # every part is there
  local name file
  for name in "${!services[@]}"; do
    kill -0 "${services[$name]}" 2>/dev/null || tell_end_of "$name"
  done
  for file in "$state"/cluster/*.pid; do
    [ "$place" != local ] || kill -0 "$(cat "$file")" 2>/dev/null ||
      differs "the cluster's $(basename "$file" .pid) runs" "it has ended; see $state/cluster/logs"
  done
}

tell_end_of() { # NAME of a service that is no longer there; by what, only this shell can ask, as its parent
  local rc=0
  wait "${services[$1]}" 2>/dev/null || rc=$?
  [ "$rc" -le 128 ] || differs "$1 runs" "it was ended by the signal $(kill -l "$rc")"
  differs "$1 runs" "it has ended, with exit code $rc"
}

stop_services() {
  local name
  for name in "${!services[@]}"; do kill -TERM "${services[$name]}" 2>/dev/null || true; done
  for name in "${!services[@]}"; do
    for _ in {1..100}; do
      kill -0 "${services[$name]}" 2>/dev/null || continue 2
      sleep 0.1
    done
    echo "demo: $name did not end in 10 s; killed" >&2
    kill -KILL "${services[$name]}" 2>/dev/null || true
  done
  services=()
}

# ---- beginning and end
make_state_folder() {
  local folders=${XDG_CACHE_HOME:-$HOME/.cache}/koord-queue/demo folder
  umask 077
  mkdir -p "$folders"
  for folder in "$folders"/*/; do
    if [ -e "$folder/pid" ] && ! is_demo "$(cat "$folder/pid")"; then
      # Killed without a chance to clean up: end its cluster. One that failed is kept for a day, to be looked at.
      [ ! -e "$folder/failed" ] || [ -n "$(find "$folder/failed" -mmin +1440)" ] || continue
      "$root/cluster/down" --delete "$folder/cluster"
      rm -rf "$folder"
    fi
  done
  state=$(mktemp -d "$folders/$(date +%H%M%S).XXXXXX")
  echo $$ >"$state/pid"
  mkdir "$state/logs"
}
is_demo() { tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" | grep -q demo/run; } # PID; of one that is gone nothing is said

finish() { # whatever the end is: no process stays
  local rc=$?
  trap '' HUP INT TERM
  set +e
  if [ -n "$attended" ]; then
    kill -TERM "$attended"
    wait "$attended"
  fi 2>/dev/null
  if [ -n "$ended" ] && [ "$rc" = 130 ]; then rc=0; fi
  if [ -n "$place" ]; then
    heading "Ending"
    stop_services
  fi
  leave_bazel
  if [ "$place" = foreign ]; then take_away || rc=1; fi
  if [ "$rc" = 1 ]; then
    touch "$state/failed"
    "$root/cluster/down" "$state/cluster" 2>/dev/null
    echo "demo: the logs are in $state" >&2
    [ "$place" != local ] || echo "demo: $root/cluster/up $state/cluster   brings its cluster back, to be looked at" >&2
  else
    "$root/cluster/down" --delete "$state/cluster" 2>/dev/null
    rm -rf "$state"
  fi
  [ -z "$place" ] || [ "$rc" != 0 ] || happened "all processes have ended"
  exit "$rc"
}

wait_for_ctrl_c() {
  ended=1
  while :; do
    check_processes
    sleep 1 &
    wait $!
  done
}
