#!/usr/bin/env bash
# The images, as far as that goes without a registry: for each program the root file system that the Dockerfile makes, and
# the program run in it as the user of the image, with nothing else to hold on to.
set -euo pipefail
root=$PWD
PATH=$PATH:/usr/sbin:/sbin   # chroot
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/image.XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
fail() { echo "image_test: $*" >&2; exit 1; }

# As the user of the image; where there is no root, as the only user of a namespace.
if [ "$(id -u)" = 0 ] && chroot --userspec=65532:65532 / true 2>/dev/null; then
  enter=(chroot --userspec=65532:65532)
elif [ "$(id -u)" = 0 ] && chroot / true 2>/dev/null; then
  enter=(chroot)
else
  enter=(unshare --user --map-root-user chroot)
fi

cat >"$work/kubeconfig" <<'YAML'
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://localhost:1"}}]
users: [{name: u, user: {token: none}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
YAML

for path in services/scheduler/koord-queue services/controllers/koord-queue-controllers \
  services/visibility/koord-queue-visibility services/debug-api/koord-queue-debug-api cli/kqctl/kqctl; do
  name=$(basename "$path") image=$work/$(basename "$path")
  "$root/deploy/root_filesystem.sh" "$root/$path" "$image"
  [ ! -e "$image/bin/sh" ] || fail "$name: there is a shell"
  [ -z "$(find "$image" -perm /6000)" ] || fail "$name: there are setuid files"
  [ -z "$(find "$image" -type f -perm /0222 ! -path "$image/etc/*")" ] || fail "$name: programs may be written"
  version=--version
  [ "$name" != kqctl ] || version=version
  said=$("${enter[@]}" "$image" "/usr/bin/$name" "$version") || fail "$name $version: $said"
  [[ $said == "$name "* ]] || fail "$name $version says: $said"
  # By git, or by whoever builds; never what Bazel gives without a stamp.
  [[ $name != kqctl || $said =~ \(commit\ (unknown|[0-9a-f]{7,40}(-dirty)?)\)$ ]] || fail "$name $version says: $said"
  echo "$said, $(du -sm "$image" | cut -f1) MB"
done

# One of them at work, or what it can do of it: names are looked up, ports opened, the authorities read.
image=$work/koord-queue
cp "$work/kubeconfig" "$image/etc/kubeconfig"
echo '127.0.0.1 localhost' >"$image/etc/hosts"   # which a container gets from outside
"${enter[@]}" "$image" /usr/bin/koord-queue --kubeconfig=/etc/kubeconfig --metrics-bind-address=127.0.0.1:0 \
  --grpc-bind-address=127.0.0.1:0 >"$work/log" 2>&1 &
pid=$!
for _ in {1..100}; do
  if grep -q 'Connection refused' "$work/log"; then break; fi
  kill -0 "$pid" 2>/dev/null || fail "koord-queue ended: $(cat "$work/log")"
  sleep 0.1
done
kill -TERM "$pid"
wait "$pid" || fail "koord-queue did not end well: $(cat "$work/log")"
grep -q 'localhost:1: connect: Connection refused' "$work/log" || fail "$(cat "$work/log")"
grep -q '"Stopped"' "$work/log" || fail "$(cat "$work/log")"
