#!/bin/sh
# Installs the real parts that the tests meet: containerd, runc, CNI plugins, nftables, conntrack, busybox, etcd, openssl and what emulates a
# machine from Debian's packages, and programs of later suites, unpacked into .cache/tools: a kubectl and an etcd of today, and where the machine has
# no kubectl that is new enough, an older one too. Does nothing where all of it is there already.
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

# from_suite SUITE PACKAGE RELEASE BINARY TARGET
from_suite() {
  [ ! -x "$tools/$5" ] && [ -n "$mirror" ] || return 0
  echo "test: fetching $2 $3 from a later suite"
  work=$(mktemp -d)
  chmod 755 "$work"
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/unpacked" "$tools"
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$mirror" "$1" >"$work/sources"
  options="-o Dir::Etc::sourcelist=$work/sources -o Dir::Etc::sourceparts=- -o Dir::State::lists=$work/lists -o Dir::Cache=$work/cache -o APT::Sandbox::User=root"
  version=''
  if apt-get $options -qq update; then
    version=$(apt-cache $options madison "$2" | awk -v want="$3." 'index($3, want) == 1 { print $3; exit }')
  fi
  if [ -n "$version" ] && (cd "$work" && apt-get $options -qq download "$2=$version"); then
    dpkg-deb -x "$work/$2"_*.deb "$work/unpacked"
    found=$(find "$work/unpacked" -type f -name "$4" -perm -100 | head -n 1)
    [ -n "$found" ] && cp "$found" "$tools/$5"
  fi
  rm -rf "$work"
  [ -x "$tools/$5" ] || echo "test: no $2 $3 could be had; what needs it is left out"
}

from_suite forky kubectl "$kubectl_version" kubectl "kubectl-$kubectl_version"
from_suite forky etcd-server "$etcd_version" etcd etcd-later

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
    mkdir -p "$tools/node-$node_version"
    cp -R "$work/node_modules/node-linux-$machine/bin" "$tools/node-$node_version/"
  fi
  rm -rf "$work"
fi
