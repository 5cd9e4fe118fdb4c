#!/bin/sh
# Installs the real parts that the tests meet: containerd, runc, CNI plugins, nftables, conntrack, busybox, etcd and openssl from Debian's
# packages, and a kubectl of today from a later suite, unpacked into .cache/tools. Does nothing where all of it is there already.
set -eu
cd "$(dirname "$0")/.."
tools=.cache/tools
kubectl_version=1.36
# The oldest Node.js that the npm package allows.
node_version=22.18

need=''
for pair in containerd:containerd runc:runc nft:nftables conntrack:conntrack etcd:etcd-server ip:iproute2 iptables:iptables openssl:openssl script:bsdutils prlimit:util-linux; do
  PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null 2>&1 || need="$need ${pair##*:}"
done
[ -x /bin/busybox ] && [ -n "$(dpkg-query -W -f='${Status}' busybox-static 2>/dev/null | grep 'ok installed')" ] || need="$need busybox-static"
[ -x /usr/lib/cni/bridge ] || need="$need containernetworking-plugins"
command -v kubectl >/dev/null 2>&1 || need="$need kubernetes-client"

if [ -n "$need" ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "test: these packages are missing:$need. Install them as root: apt-get install$need" >&2
    exit 1
  fi
  echo "test: installing$need"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need >/dev/null
fi

# kubectl of the newest suite, beside the machine's own: fetched with package lists of its own, so the machine's stay as they are.
if [ ! -x "$tools/kubectl-$kubectl_version" ] && [ -f /usr/share/keyrings/debian-archive-keyring.gpg ]; then
  mirror=$(sed -n 's/^URIs: *\([^ ]*\/debian\)\/*$/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
  [ -n "$mirror" ] || mirror=$(awk '$1 == "deb" && $2 ~ /\/debian\/?$/ { print $2; exit }' /etc/apt/sources.list 2>/dev/null || true)
  if [ -n "$mirror" ]; then
    echo "test: fetching kubectl $kubectl_version from a later suite"
    work=$(mktemp -d)
    chmod 755 "$work"
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/unpacked" "$tools"
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s forky main\n' "$mirror" >"$work/sources"
    options="-o Dir::Etc::sourcelist=$work/sources -o Dir::Etc::sourceparts=- -o Dir::State::lists=$work/lists -o Dir::Cache=$work/cache -o APT::Sandbox::User=root"
    version=''
    if apt-get $options -qq update; then
      version=$(apt-cache $options madison kubectl | awk -v want="$kubectl_version." 'index($3, want) == 1 { print $3; exit }')
    fi
    if [ -n "$version" ] && (cd "$work" && apt-get $options -qq download "kubectl=$version"); then
      dpkg-deb -x "$work"/kubectl_*.deb "$work/unpacked"
      found=$(find "$work/unpacked" -type f -name kubectl -perm -100 | head -n 1)
      [ -n "$found" ] && cp "$found" "$tools/kubectl-$kubectl_version"
    fi
    rm -rf "$work"
  fi
  [ -x "$tools/kubectl-$kubectl_version" ] || echo "test: no kubectl $kubectl_version could be had; the walk-through runs with the others"
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
