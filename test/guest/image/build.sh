#!/bin/bash
# Builds what the guest boots from, into the folder given: disk.img (Debian with systemd, containerd, runc and CNI plugins, and what lies in rootfs/), vmlinuz, and
# an initrd that does nothing but mount the disk. Needs root, debootstrap, e2fsprogs and a Debian mirror; the same packages give the same image.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
suite=bookworm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

mirror=$("$here/../../../scripts/debian-mirror.sh")
[ -n "$mirror" ] || { echo "apt on this machine names no Debian mirror to build the guest from: add one to /etc/apt/sources.list" >&2; exit 1; }

# In a mount namespace of its own: debootstrap mounts what it does not always unmount.
unshare -m --propagation private debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,libpam-systemd,udev,kmod,containerd,runc,containernetworking-plugins,iproute2,iptables,procps,util-linux,mount,libstdc++6,libatomic1,bzip2 \
  "$suite" "$work/root" "$mirror" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }

# The kernel is unpacked, not installed: no boot loader, no stock initrd.
mkdir "$work/kernel"
kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n 1)
(cd "$work" && apt-get -o APT::Sandbox::User=root download -qq "$kernel" >/dev/null)
dpkg-deb -x "$work"/linux-image-*.deb "$work/kernel"
version=$(ls "$work/kernel/lib/modules")
mkdir -p "$work/root/lib/modules"
cp -a "$work/kernel/lib/modules/$version" "$work/root/lib/modules/"
chroot "$work/root" depmod "$version"

root=$work/root
cp -a "$here/rootfs/." "$root/"
chmod 755 "$root"/usr/local/sbin/*
echo guest >"$root/etc/hostname"
printf '127.0.0.1 localhost guest\n' >"$root/etc/hosts"
printf 'nameserver 10.0.2.3\n' >"$root/etc/resolv.conf"
printf '/dev/vda / ext4 defaults 0 1\nLABEL=coracle /opt/coracle ext4 ro 0 0\n' >"$root/etc/fstab"
mkdir -p "$root/opt/coracle" "$root/etc/kubernetes" "$root/var/log/journal"
echo 00000000000000000000000000000001 >"$root/etc/machine-id"
rm -f "$root/etc/cni/net.d/.keep" "$root"/var/log/*.log
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}/* "$root"/var/cache/ldconfig
systemctl --root="$root" enable -q containerd guest-network 'guest-commands@1' 'guest-commands@2' 'guest-commands@3'
systemctl --root="$root" disable -q systemd-timesyncd 2>/dev/null || true
systemctl --root="$root" mask -q apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer getty@tty1.service \
  serial-getty@ttyS0.service systemd-networkd-wait-online.service systemd-random-seed.service systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-binfmt.service \
  sys-kernel-debug.mount sys-kernel-tracing.mount

mkdir -p "$work/initrd"/{bin,modules,proc,sys,dev,root}
cp /bin/busybox "$work/initrd/bin/busybox"
for module in virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk crc32c_generic; do
  file=$(find "$work/kernel/lib/modules/$version" -name "$module.ko" | head -n 1)
  [ -z "$file" ] || cp "$file" "$work/initrd/modules/"
done
cat >"$work/initrd/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev; /bin/busybox mount -t proc proc /proc; /bin/busybox mount -t sysfs sys /sys
for name in virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk crc32c_generic; do
  [ -e /modules/$name.ko ] && /bin/busybox insmod /modules/$name.ko
done
tries=0
while [ ! -b /dev/vda ] && [ $tries -lt 200 ]; do /bin/busybox usleep 50000; tries=$((tries + 1)); done
/bin/busybox mount -t ext4 -o rw /dev/vda /root || exec /bin/busybox sh
for folder in dev proc sys; do /bin/busybox mount --move /$folder /root/$folder; done
init=/sbin/init
for word in $(/bin/busybox cat /root/proc/cmdline); do case $word in init=*) init=${word#init=} ;; esac; done
exec /bin/busybox switch_root /root "$init"
INIT
chmod 755 "$work/initrd/init"

mkdir -p "$out"
find "$work/initrd" "$root" -newermt @1700000000 -exec touch -h -d @1700000000 {} +
(cd "$work/initrd" && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible | gzip -n1) >"$out/initrd"
cp "$work/kernel/boot/vmlinuz-$version" "$out/vmlinuz"
mke2fs -q -t ext4 -d "$root" -U 11111111-2222-3333-4444-555555555555 -E lazy_itable_init=1,root_owner=0:0,hash_seed=11111111-2222-3333-4444-555555555555 -m 0 "$out/disk.img.part" 3G >/dev/null
mv "$out/disk.img.part" "$out/disk.img"
