#!/bin/bash
# Builds upstream's conformance suite and the programs of its test images, from Go's module proxy and Debian's packages, into the folder given.
# Needs root, Go 1.26 or newer, debootstrap and a Debian mirror; takes about half an hour on two cores the first time. Nothing of it belongs in the repository.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
release=$2
command -v go >/dev/null || { echo "Go is not installed; upstream's suite is built from its source (https://go.dev/doc/install)" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "debootstrap is not installed; run scripts/install-test-tools.sh" >&2; exit 1; }
mkdir -p "$out/module" "$out/programs"
export GOFLAGS="-mod=mod -buildvcs=false" CGO_ENABLED=0

# A module that takes upstream's parts at the versions they are published under, where its own go.mod takes them from its source tree.
cd "$out/module"
source=$(go mod download -json "k8s.io/kubernetes@$release" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
parts=v0.${release#v1.}
{
  printf 'module suite\n\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$release"
  sed -n "s#^\t\(k8s.io/[a-z-]*\) => ./staging.*#\t\1 => \1 $parts#p" "$source/go.mod"
  printf ')\n'
} >go.mod

version="-X k8s.io/component-base/version.gitVersion=$release"
images=k8s.io/kubernetes/test/images
build() { echo "building $1"; go build -ldflags "-s -w $version" -o "$out/programs/$1" "$2"; }
echo "building e2e.test"
go test -c -ldflags "-s -w $version" -o "$out/programs/e2e.test" k8s.io/kubernetes/test/e2e
build ginkgo github.com/onsi/ginkgo/v2/ginkgo
build kubectl k8s.io/kubernetes/cmd/kubectl
build agnhost $images/agnhost
build nonewprivs $images/nonewprivs
build regression-issue-74839 $images/regression-issue-74839
build resource-consumer $images/resource-consumer
build consume-cpu $images/resource-consumer/consume-cpu
build sample-apiserver k8s.io/sample-apiserver
cp "$source"/test/images/{kitten/html/kitten.jpg,nautilus/html/nautilus.jpg,agnhost/porter/localhost.crt,agnhost/porter/localhost.key} "$out/programs/"

# What the images have beside their program.
if [ ! -f "$out/system.tar" ]; then
  mirror=$("$here/../../scripts/debian-mirror.sh")
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  chmod 755 "$work"
  unshare -m --propagation private debootstrap --variant=minbase \
    --include=bash-static,bind9-dnsutils,busybox-static,ca-certificates,curl,etcd-server,iperf,iproute2,iptables,netcat-openbsd,nginx-light,procps \
    bookworm "$work/root" "$mirror" >"$out/debootstrap.log" 2>&1 || { tail -n 20 "$out/debootstrap.log" >&2; exit 1; }
  # As in upstream's image of agnhost: a test asks for a user who has a group in the image.
  echo 'user-defined-in-image:x:1000:1000::/home:/bin/sh' >>"$work/root/etc/passwd"
  echo 'group-defined-in-image:x:50000:user-defined-in-image' >>"$work/root/etc/group"
  rm -rf "$work"/root/var/cache/apt/* "$work"/root/var/lib/apt/lists/* "$work"/root/usr/share/{doc,locale,man}
  cp "$work/root/usr/bin/busybox" "$work/root/usr/bin/bash-static" "$work/root/usr/bin/etcd" "$out/programs/" 2>/dev/null ||
    cp "$work"/root/bin/{busybox,bash-static} "$work/root/usr/bin/etcd" "$out/programs/"
  tar -C "$work/root" --exclude=./dev -cf "$out/system.tar" .
fi
