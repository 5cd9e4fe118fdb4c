#!/bin/bash
# A machine with nothing on it but Debian's smallest system: what `coracle up` meets on the first day of a server. It has its own processes, mounts,
# host name, cgroups and network (a user-mode one, as an emulator gives its guests), and of this machine's only the kernel.
#
#   scripts/bare-machine.sh boot SUITE FOLDER           debootstraps SUITE into FOLDER/fresh where that is not there yet, and starts a copy
#   scripts/bare-machine.sh run FOLDER COMMAND...       as root in its home; the last commit of this repository can be cloned from /source
#   scripts/bare-machine.sh unplug|plug FOLDER          its network
#   scripts/bare-machine.sh halt FOLDER                 kills all of it at once and removes the copy; FOLDER/fresh stays
#
# Needs root, debootstrap, slirp4netns and git.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
complain() {
  echo "bare-machine: $*" >&2
  exit 1
}
[ "$(id -u)" = 0 ] || complain 'needs root'
[ $# -ge 2 ] || complain "usage: see the head of $0"
verb=$1
shift

# What this machine needs to reach packages, the machine inside needs too.
surroundings() {
  echo HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM="${TERM:-dumb}"
  local name
  for name in http_proxy https_proxy no_proxy NODE_EXTRA_CA_CERTS; do
    [ -z "${!name:-}" ] || echo "$name=${!name}"
  done
}

# A line for each hierarchy: where it is mounted, its version, its controllers as mount(8) takes them.
cgroup_mounts() {
  awk '$3 == "cgroup" || $3 == "cgroup2" { print $2, $3, $4 }' /proc/self/mounts | while read -r place kind options; do
    controllers=$(tr , '\n' <<<"$options" | grep -vxE 'rw|ro|relatime|noatime|nosuid|nodev|noexec|xattr|clone_children|memory_.*|nsdelegate|release_agent=.*' | paste -sd,)
    echo "$place $kind ${controllers:-none}"
  done
}

# The machine's own group in a hierarchy, below the one that this script runs in: its limits are the machine's.
cgroup_in() {
  local place=$1 controllers=$2 folder=$3 own
  own=$(awk -F: -v want="$controllers" '$2 == want || ($2 == "" && want == "none") { print $3 }' /proc/self/cgroup)
  echo "$place${own%/}/bare-$(stat -c %i "$folder")"
}

enter_cgroups() {
  local place kind controllers group
  while read -r place kind controllers; do
    group=$(cgroup_in "$place" "$controllers" "$1")
    if [ ! -d "$group" ]; then
      mkdir "$group"
      # A processor set of version 1 starts empty, and then nobody may enter.
      [ "$controllers" != cpuset ] || for set in cpuset.cpus cpuset.mems; do cat "$(dirname "$group")/$set" >"$group/$set"; done
    fi
    if [ -d "$group/init" ]; then group=$group/init; fi
    echo "$BASHPID" >"$group/cgroup.procs"
  done < <(cgroup_mounts)
}

make_fresh() {
  local suite=$1 folder=$2 mirror
  [ ! -d "$folder/fresh" ] || return 0
  mirror=$("$here/debian-mirror.sh")
  [ -n "$mirror" ] || complain "apt on this machine names no mirror of Debian's packages (a URL that ends in /debian)."
  # In a mount namespace of its own: debootstrap mounts what it does not always unmount.
  unshare -m --propagation private debootstrap --variant=minbase --include=ca-certificates "$suite" "$folder/fresh.part" \
    "$mirror" >"$folder/debootstrap.log" 2>&1 || complain "debootstrap failed, see $folder/debootstrap.log"
  mv "$folder/fresh.part" "$folder/fresh"
}

# Runs as the first process of the new namespaces: mounts what a kernel and an init would, and goes into the new root.
start_inside() {
  local folder=$1 name=$2 mounts
  local root=$folder/root
  mounts=$(cgroup_mounts)
  hostname "$name"
  mount --bind "$root" "$root"
  cd "$root"
  mount -t proc proc proc
  mount -t sysfs sysfs sys
  mount -t tmpfs -o mode=755 run run
  mount -t tmpfs -o mode=755 dev dev
  local device
  for device in 'null 1 3' 'zero 1 5' 'full 1 7' 'random 1 8' 'urandom 1 9' 'tty 5 0' 'kmsg 1 11' 'fuse 10 229'; do
    set -- $device
    mknod -m 666 "dev/$1" c "$2" "$3"
  done
  mkdir dev/pts dev/shm dev/mqueue dev/net
  mknod -m 666 dev/net/tun c 10 200
  ln -s /proc/self/fd dev/fd
  ln -s /proc/self/fd/0 dev/stdin
  ln -s /proc/self/fd/1 dev/stdout
  ln -s /proc/self/fd/2 dev/stderr
  ln -s pts/ptmx dev/ptmx
  mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts dev/pts
  mount -t tmpfs shm dev/shm
  mount -t mqueue mqueue dev/mqueue
  # The same versions and places of cgroups as outside, seen from the machine's own group down.
  case $mounts in *' cgroup '*) mount -t tmpfs -o mode=755 cgroup sys/fs/cgroup ;; esac
  local place kind controllers
  while read -r place kind controllers; do
    mkdir -p ".$place"
    if [ "$kind" = cgroup2 ]; then
      mount -t cgroup2 cgroup2 ".$place"
      if [ "$place" = /sys/fs/cgroup ]; then
        mkdir ".$place/init"
        echo 1 >".$place/init/cgroup.procs"
        sed 's/[^ ][^ ]*/+&/g' ".$place/cgroup.controllers" >".$place/cgroup.subtree_control"
      fi
    else
      case $controllers in name=*) controllers=none,$controllers ;; esac
      mount -t cgroup -o "$controllers" cgroup ".$place"
    fi
  done <<<"$mounts"
  mkdir -p source .outside
  mount --bind "$folder/source" source
  pivot_root . .outside
  umount -l /.outside
  mount --make-rshared /
  rmdir /.outside
  touch /run/booted
  # An init that does nothing but bury the dead.
  exec /bin/bash -c 'while :; do sleep infinity & wait $!; done'
}

boot() {
  local suite=$1 folder=$2
  command -v slirp4netns >/dev/null && command -v debootstrap >/dev/null || complain 'needs debootstrap and slirp4netns: apt-get install debootstrap slirp4netns'
  mkdir -p "$folder"
  folder=$(cd "$folder" && pwd)
  [ ! -e "$folder/root" ] || complain "there is a machine in $folder: halt it first"
  make_fresh "$suite" "$folder"
  cp -a "$folder/fresh" "$folder/root"
  local root=$folder/root name=bare-$suite
  echo "$name" >"$root/etc/hostname"
  printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$name" >"$root/etc/hosts"
  echo 'nameserver 10.0.2.3' >"$root/etc/resolv.conf"
  # Nobody's data is at stake: installing need not wait for the disk.
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/bare-machine"
  # How this machine's apt is told to take its mirror.
  grep -ls '^Acquire::Check' /etc/apt/apt.conf.d/* | xargs -r cp -t "$root/etc/apt/apt.conf.d"
  # Certificates that this machine trusts beyond Debian's.
  if ls /usr/local/share/ca-certificates/*.crt >/dev/null 2>&1; then
    cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
    chroot "$root" update-ca-certificates >/dev/null 2>&1
  fi
  rm -rf "$folder/source"
  git clone --quiet --bare --single-branch "$(dirname "$here")" "$folder/source"
  (
    enter_cgroups "$folder"
    exec setsid unshare --mount --pid --fork --kill-child --net --uts --ipc --cgroup --propagation private "$0" inside "$folder" "$name"
  ) >"$folder/boot.log" 2>&1 </dev/null &
  local outer=$! init='' attempt
  for attempt in $(seq 200); do
    init=$(cat "/proc/$outer/task/$outer/children" 2>/dev/null | tr -d ' ' || true)
    [ -z "$init" ] || [ ! -e "/proc/$init/root/run/booted" ] || [ "$(readlink "/proc/$init/ns/pid")" = "$(readlink /proc/self/ns/pid)" ] || break
    kill -0 "$outer" 2>/dev/null || complain "the machine did not start: $(cat "$folder/boot.log")"
    sleep 0.05
  done
  [ -e "/proc/$init/root/run/booted" ] || complain "the machine did not start: $(cat "$folder/boot.log")"
  echo "$init" >"$folder/init.pid"
  nsenter -t "$init" -n ip link set lo up
  plug "$folder"
}

init_of() {
  [ -e "$1/init.pid" ] && [ -d "/proc/$(cat "$1/init.pid")" ] || complain "no machine runs in $1"
  cat "$1/init.pid"
}

plug() {
  local init
  init=$(init_of "$1")
  setsid slirp4netns --configure --mtu=65520 --disable-host-loopback "$init" tap0 >"$1/network.log" 2>&1 </dev/null &
  echo $! >"$1/network.pid"
  local attempt
  for attempt in $(seq 100); do
    ! nsenter -t "$init" -n ip route 2>/dev/null | grep -q '^default' || return 0
    sleep 0.05
  done
  complain "the machine got no network: $(cat "$1/network.log")"
}

unplug() {
  [ ! -e "$1/network.pid" ] || kill "$(cat "$1/network.pid")" 2>/dev/null || true
  rm -f "$1/network.pid"
}

run() {
  local init
  init=$(init_of "$1")
  enter_cgroups "$1"
  shift
  exec nsenter -t "$init" -m -u -i -n -p -C -r -w env -i $(surroundings) /bin/sh -c 'cd && exec "$@"' sh "$@"
}

halt() {
  local folder=$1 attempt place controllers group
  unplug "$folder"
  if [ -e "$folder/init.pid" ]; then
    kill -9 "$(cat "$folder/init.pid")" 2>/dev/null || true
    for attempt in $(seq 200); do
      [ -d "/proc/$(cat "$folder/init.pid")" ] || break
      sleep 0.05
    done
    rm "$folder/init.pid"
  fi
  while read -r place _ controllers; do
    group=$(cgroup_in "$place" "$controllers" "$folder")
    [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} +
  done < <(cgroup_mounts)
  ! grep -qF " $folder/root" /proc/self/mountinfo || complain "something is still mounted below $folder/root: nothing is removed"
  rm -rf "$folder/root" "$folder/source"
}

case $verb in
  boot) boot "$@" ;;
  run) run "$@" ;;
  plug) plug "$@" ;;
  unplug) unplug "$@" ;;
  halt) halt "$(cd "$1" && pwd)" ;;
  inside) start_inside "$@" ;;
  *) complain "no such verb: $verb" ;;
esac
