#!/bin/bash
# Does on a bare machine what the README promises a new user: installs git and Node.js as it says, clones, walks the first tour as it stands there, takes
# the cluster away with its data, and sees that nothing is left. No part of `npm test`: it downloads some hundred MB.
#
#   scripts/try-bare-machine.sh [SUITE]      of Debian; default: bookworm
#
# With KEEP=1 the machine stays, for `scripts/bare-machine.sh run .cache/bare/SUITE bash`; `halt` ends it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
suite=${1:-bookworm}
folder=${BARE_FOLDER:-$root/.cache/bare/$suite}
machine() { "$here/bare-machine.sh" run "$folder" "$@"; }
# A login would do so.
in_clone() { machine bash -ec "cd coracle; export KUBECONFIG=/var/lib/coracle/kubeconfig; $1"; }
step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

step "a bare $suite"
[ -z "${KEEP:-}" ] && trap '"$here/bare-machine.sh" halt "$folder"' EXIT
"$here/bare-machine.sh" boot "$suite" "$folder"

step 'what the README asks for'
installs=$(sed -n 's/.*`\(apt-get install git nodejs npm\)`.*/\1/p' "$root/README.md" | head -n 1)
[ -n "$installs" ] || { echo 'the README does not say what to install' >&2; exit 1; }
machine sh -ec "apt-get update -qq && DEBIAN_FRONTEND=noninteractive $installs -y -qq --no-install-recommends >/dev/null"
machine node --version
if machine sh -c 'apt-cache madison kubernetes-client' | awk '{ split($3, v, "."); found = v[1] == 1 && v[2] >= 27 } END { exit !found }'; then
  machine sh -ec 'DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends kubernetes-client >/dev/null'
else
  kubectl=$(ls "$root"/.cache/tools/kubectl-* 2>/dev/null | tail -n 1)
  [ -n "$kubectl" ] || { echo 'there is no kubectl to bring in: scripts/install-test-tools.sh fetches one' >&2; exit 1; }
  machine sh -c 'cat >/usr/local/bin/kubectl; chmod 755 /usr/local/bin/kubectl' <"$kubectl"
fi

step 'a clone'
machine git clone -q /source coracle

step 'the first tour'
tour=$(awk '/^## / { here = $0 == "## A first tour" } here && /^```/ { if (inside) exit; inside = 1; next } inside' "$root/README.md")
in_clone "$(head -n 1 <<<"$tour")"
# No image can be pulled where there is no internet: the one of the example is made of Debian's own busybox, and loaded as the README says.
machine sh -ec 'DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends busybox-static >/dev/null'
in_clone "node_modules/.bin/node -e 'import(\"./src/testing/oci-image.ts\").then(({ busyboxImageArchive: of }) => process.stdout.write(of(\"docker.io/library/busybox:1.36\")))' | ./coracle image load -"
in_clone "set -x; $(tail -n +2 <<<"$tour")"

step 'up again, and away with it'
in_clone './coracle up --detach && kubectl rollout status deployment/hello && kubectl wait --for=condition=Complete job/hello-once && ./coracle down --purge'
left=$(machine sh -c 'ls -d /var/lib/coracle /run/coracle* 2>/dev/null; nft list tables; ip -o link | grep veth; pidof containerd containerd-shim-runc-v2' || true)
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
step 'done'
