#!/bin/sh
# Installs the real parts that the tests meet: containerd, runc, CNI plugins, nftables, conntrack, busybox, etcd, openssl and what emulates a
# machine from Debian's packages, and programs of other suites, unpacked into .cache/tools: a kubectl and an etcd of today, three containerds, and where
# the machine has no kubectl that is new enough, an older one too. Does nothing where all of it is there already.
set -eu
cd "$(dirname "$0")/.."
tools=.cache/tools
kubectl_version=1.36
# Older than this is no kubectl that the tests meet; Debian 12 has 1.20, Debian 13 this one.
oldest_kubectl_minor=27
older_kubectl_version=1.32
# Whose word on the progress of watches can be believed.
etcd_version=3.5
# The oldest Node.js that the npm package allows.
node_version=22.18

need=''
for pair in containerd:containerd runc:runc nft:nftables conntrack:conntrack etcd:etcd-server etcdctl:etcd-client ip:iproute2 iptables:iptables openssl:openssl script:bsdutils prlimit:util-linux curl:curl sysctl:procps qemu-system-x86_64:qemu-system-x86 debootstrap:debootstrap mke2fs:e2fsprogs cpio:cpio; do
  PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null 2>&1 || need="$need ${pair##*:}"
done
[ -x /bin/busybox ] && [ -n "$(dpkg-query -W -f='${Status}' busybox-static 2>/dev/null | grep 'ok installed')" ] || need="$need busybox-static"
[ -x /usr/lib/cni/bridge ] || need="$need containernetworking-plugins"

if [ -n "$need" ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "test: these packages are missing:$need. Install them as root: apt-get install$need" >&2
    exit 1
  fi
  echo "test: installing$need"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need >/dev/null
fi

# Programs of later suites, beside the machine's own: fetched with package lists of their own, so the machine's stay as they are.
mirror=''
[ ! -f /usr/share/keyrings/debian-archive-keyring.gpg ] || mirror=$(scripts/debian-mirror.sh)

suites=$(mktemp -d)
chmod 755 "$suites"
trap 'rm -rf "$suites" "$tools/.part.$$"' EXIT

# look_into SUITE: a folder $work with package lists of that suite alone, which stay for the next time, $options that make apt use them, and
# an empty $work/unpacked; fails where the suite cannot be had.
look_into() {
  work=$suites/$1
  options="-o Dir::Etc::sourcelist=$work/sources -o Dir::Etc::sourceparts=- -o Dir::State::lists=$work/lists -o Dir::Cache=$work/cache -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false -o Acquire::Retries=3"
  rm -rf "$work/unpacked" "$work"/*.deb
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/unpacked" "$tools"
  [ ! -e "$work/sources" ] || return 0
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$mirror" "$1" >"$work/sources"
  apt-get $options -qq update && [ -n "$(apt-cache $options madison libc6)" ] && return 0
  rm -f "$work/sources"
  return 1
}

# unpack PACKAGE [RELEASE], of the suite that was looked into, below $work/unpacked.
unpack() {
  version=$(apt-cache $options madison "$1" | awk -v want="${2-}" 'want == "" || index($3, want ".") == 1 { print $3; exit }')
  [ -n "$version" ] && (cd "$work" && apt-get $options -qq download "$1=$version") && dpkg-deb -x "$work/$1"_*.deb "$work/unpacked"
}

# put SOURCE TARGET, in one step: an installation that is cut off leaves nothing that looks whole. What is there already stays.
put() {
  cp -R "$1" "$tools/.part.$$" && mv -nT "$tools/.part.$$" "$2"
  rm -rf "$tools/.part.$$"
}

# from_suite SUITE PACKAGE RELEASE BINARY TARGET
from_suite() {
  [ ! -x "$tools/$5" ] && [ -n "$mirror" ] || return 0
  echo "test: fetching $2 $3 from a later suite"
  if look_into "$1" && unpack "$2" "$3"; then
    found=$(find "$work/unpacked" -type f -name "$4" -perm -100 | head -n 1)
    [ -n "$found" ] && put "$found" "$tools/$5"
  fi
  [ -x "$tools/$5" ] || echo "test: no $2 $3 could be had; what needs it is left out"
}

# containerd_from SUITE RELEASE: containerd with the runc of its suite, in containerd-RELEASE/bin.
containerd_from() {
  [ ! -x "$tools/containerd-$2/bin/runc" ] && [ -n "$mirror" ] || return 0
  rm -rf "$tools/containerd-$2"
  echo "test: fetching containerd $2 from another suite"
  if look_into "$1" && unpack containerd "$2" && unpack runc; then
    made=$work/unpacked/made
    mkdir -p "$made/bin"
    (cd "$work/unpacked/usr/bin" && cp containerd containerd-shim-runc-v2 ctr "$made/bin/")
    cp "$work/unpacked/usr/sbin/runc" "$made/bin/"
    if "$made/bin/runc" --version >/dev/null 2>&1 || runc_with_libraries; then
      put "$made" "$tools/containerd-$2"
    fi
  fi
  [ -x "$tools/containerd-$2/bin/runc" ] || echo "test: no containerd $2 could be had; what needs it is left out"
}

# For a runc that asks for a later C library than the machine's: its suite's takes the place of the machine's in a mount namespace of that one
# process. (Run by its suite's loader instead, it could not start itself again, as it does inside of a container.) The containers' mounts come
# from the machine still, but none of theirs reaches the machine.
runc_with_libraries() {
  unpack libc6 && unpack libseccomp2 || return 1
  triplet=$(uname -m)-linux-gnu
  mv "$made/bin/runc" "$made/runc"
  mkdir "$made/libraries"
  for folder in "$work/unpacked/lib/$triplet" "$work/unpacked/usr/lib/$triplet"; do
    [ ! -d "$folder" ] || find "$folder" -maxdepth 1 -name '*.so*' -exec cp -P {} "$made/libraries/" \;
  done
  cat >"$made/bin/runc" <<EOF
#!/bin/sh
here=\${0%/*}/..
exec unshare --mount --propagation slave sh -c 'mount --bind "\$0" /usr/lib/$triplet && exec "\$@"' "\$here/libraries" "\$here/runc" "\$@"
EOF
  chmod 755 "$made/bin/runc"
  "$made/bin/runc" --version >/dev/null
}

from_suite forky kubectl "$kubectl_version" kubectl "kubectl-$kubectl_version"
from_suite forky etcd-server "$etcd_version" etcd etcd-later

# The container runtimes beside the machine's own: the last that speaks v1alpha2 alone, and those that came after Debian 12's.
containerd_from bullseye 1.4
containerd_from trixie 1.7
containerd_from forky 2

# scripts/test.ts puts $tools/bin first on the PATH.
minor=$(kubectl version --client -o json 2>/dev/null | sed -n 's/.*"minor": "\([0-9]*\).*/\1/p' | head -n 1)
if [ "${minor:-0}" -lt "$oldest_kubectl_minor" ]; then
  from_suite trixie kubectl "$older_kubectl_version" kubectl "kubectl-$older_kubectl_version"
  mkdir -p "$tools/bin"
  newest=$(ls "$tools" | grep '^kubectl-' | sort -V | tail -n 1)
  [ -z "$newest" ] || ln -sf "../$newest" "$tools/bin/kubectl"
fi

if [ ! -x "$tools/node-$node_version/bin/node" ] && command -v npm >/dev/null 2>&1; then
  echo "test: fetching Node.js $node_version"
  case $(uname -m) in aarch64) machine=arm64 ;; *) machine=x64 ;; esac
  work=$(mktemp -d)
  if npm install --prefix "$work" --no-audit --no-fund --loglevel=error "node-linux-$machine@$node_version" >/dev/null; then
    mkdir -p "$tools"
    mkdir "$work/made"
    mv "$work/node_modules/node-linux-$machine/bin" "$work/made/"
    put "$work/made" "$tools/node-$node_version"
  fi
  rm -rf "$work"
fi
