#!/usr/bin/env bash
# fresh.sh - test the Debian packages of this tree on a fresh Debian 12
#
#	tests/deb/fresh.sh [--from STEP] [--to STEP] [--tests 'FILE...'] ROOT
#
# The steps are:
#
#   packages  make deb, in build/
#   root      debootstrap puts Debian 12 into the folder ROOT, which must be new
#   install   apt installs the packages there, with their dependencies
#   manual    man opens innet(7) and every other page, and every tool prints its
#             version
#   units     systemd is process 1 there and starts the units; workers train
#             through them with a key, and Redis loads the module
#   demo      a user runs the installed demonstration; on a busy machine its
#             agents are too slow to learn, and this step fails
#   tests     make check-installed runs in a tree in which no tool was built
#
# --from continues with an existing ROOT.  --tests selects test files, such as
# tests/bats/live.bats.  The script prints its findings; the exit status is 1 if
# a step failed.
#
# It needs root, 6 GB, the mirror of this machine's apt, and on Debian: apt-get
# install debootstrap debhelper lintian systemd-container, and what ./bootstrap
# installs.  The mounts and processes of a step end with it.
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
steps='packages root install manual units demo tests'
from=packages to=tests tests='' root=''
die() { printf 'fresh: %s\n' "$*" >&2; exit 2; }
while [ $# -gt 0 ]; do
	case $1 in
	--from | --to | --tests)
		[ $# -ge 2 ] || die "$1 needs a value"
		printf -v "${1#--}" %s "$2"
		shift ;;
	-*) die "unknown option '$1'" ;;
	*) [ -z "$root" ] || die "one folder, not '$1' too"; root=$1 ;;
	esac
	shift
done
[ -n "$root" ] || die 'which folder is Debian to be put into?'
for s in "$from" "$to"; do
	[[ " $steps " == *" $s "* ]] || die "no step '$s'; there are: $steps"
done
[ "$(id -u)" -eq 0 ] || die 'only root can make another root'
for p in debootstrap:debootstrap dh:debhelper lintian:lintian \
	systemd-nspawn:systemd-container; do
	command -v "${p%:*}" >/dev/null || die "${p%:*} is missing (package ${p#*:})"
done
if [ "$from" = packages ] || [ "$from" = root ]; then
	[ ! -e "$root" ] || die "$root is there already; name a new one, or --from install"
fi
export LC_ALL=C TZ=UTC DEBIAN_FRONTEND=noninteractive
# the flags and jobs of a make that called this are not ours
unset MAKEFLAGS MFLAGS MAKELEVEL

# inside COMMAND...: run it in ROOT, as process 1 with a /proc, /sys and /run of its
# own; with $alone, in a network of its own.
alone=''
inside() {
	unshare --mount --pid --fork --kill-child ${alone:+--net} sh -c '
		root=$1; shift
		mount --make-rprivate / && mount --bind "$root" "$root" &&
		mount -t proc proc "$root/proc" &&
		mount -t sysfs sysfs "$root/sys" && mount --rbind /dev "$root/dev" &&
		mount -t tmpfs tmpfs "$root/run" || exit
		mkdir -p "$root/run/lock"
		[ -z "'"$alone"'" ] || ip link set lo up
		# not chroot alone, where users may make no namespaces
		cd "$root" && pivot_root . mnt || exit
		exec chroot . sh -c "umount -l /mnt && exec \"\$@\"" inside env -i \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C TZ=UTC HOME=/root \
			DEBIAN_FRONTEND=noninteractive "$@"
	' inside "$root" "$@" </dev/null
}

packages() {
	[ -e "$tree/build/Makefile" ] || "$tree/bootstrap" || return
	make -s -C "$tree/build" deb DEB_FLAGS="-j$(nproc)" >"$tree/build/deb.log" 2>&1 ||
		{ tail -n 40 "$tree/build/deb.log"; return 1; }
	echo "lintian finds nothing; $(cd "$tree/build/deb" && echo innet*_*.deb)"
}

root() {
	local mirror
	mirror=$(apt-get indextargets --format '$(SITE)' 'Identifier: Packages' \
		'Codename: bookworm' | head -n 1)
	debootstrap bookworm "$root" "${mirror:-http://deb.debian.org/debian}" \
		>"$tree/build/debootstrap.log" 2>&1 ||
		{ tail "$tree/build/debootstrap.log"; return 1; }
	echo "Debian $(cat "$root/etc/debian_version"), $(du -sh "$root" | cut -f1)"
}

install() {
	mkdir -p "$root/fresh"
	cp "$tree"/build/deb/{innet{,-doc,-redis},libinnet{0,-dev}}_*.deb "$tree"/build/deb/*.orig.tar.xz \
		"$here"/fresh-*.sh "$root/fresh/" || return
	# nothing that is installed is started yet
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod +x "$root/usr/sbin/policy-rc.d"
	inside sh -c 'apt-get -qq update && apt-get install -y man-db /fresh/*.deb' \
		>"$root/fresh/install.log" 2>&1 || { tail "$root/fresh/install.log"; return 1; }
	inside dpkg-query -W -f '${Package} ${Version} ${Status}\n' innet innet-doc innet-redis libinnet0 libinnet-dev
}

manual() {
	inside sh /fresh/fresh-manual.sh
}

units() {
	local unit=$root/etc/systemd/system/fresh.service
	cat >"$unit" <<-'E'
		[Unit]
		SuccessAction=exit-force
		FailureAction=exit-force
		After=multi-user.target
		[Service]
		Type=oneshot
		ExecStart=/bin/sh -c 'timeout 300 bash /fresh/fresh-units.sh >/fresh/units.log 2>&1'
		[Install]
		WantedBy=multi-user.target
	E
	mkdir -p "${unit%/*}/multi-user.target.wants"
	ln -sf ../fresh.service "${unit%/*}/multi-user.target.wants/fresh.service"
	rm -f "$root/fresh/units.log" "$root/usr/sbin/policy-rc.d"
	timeout -k 10 400 systemd-nspawn -q -D "$root" --boot --register=no --keep-unit \
		--private-network --console=pipe </dev/null >"$tree/build/boot.log" 2>&1
	rm -f "$unit" "${unit%/*}/multi-user.target.wants/fresh.service"
	[ -s "$root/fresh/units.log" ] || { tail "$tree/build/boot.log"; return 1; }
	cat "$root/fresh/units.log"
	[ "$(tail -n 1 "$root/fresh/units.log")" = 'the units serve' ]
}

demo() {
	inside sh -c 'id tester >/dev/null 2>&1 || useradd -m tester'
	alone=1 inside su - tester -c '/usr/share/innet/examples/demo.sh && ls -d "$PWD/demo"'
}

tests() {
	local needs
	needs=$(sed -n "s/^\(build\|demo\|check\)_needs='\(.*\)'/\2/p" "$tree/bootstrap")
	# shellcheck disable=SC2086	# words
	inside apt-get install -y --no-install-recommends $needs xz-utils \
		>>"$root/fresh/install.log" 2>&1 || { tail "$root/fresh/install.log"; return 1; }
	alone=1 inside bash /fresh/fresh-tests.sh "$tests"
}

started='' bad=''
for s in $steps; do
	[ "$s" != "$from" ] || started=1
	[ -n "$started" ] || continue
	begun=$SECONDS
	printf '== %s\n' "$s"
	if $s; then
		printf '   %s: done, %d s\n' "$s" $((SECONDS - begun))
	else
		printf '   %s: FAILED, %d s\n' "$s" $((SECONDS - begun))
		bad=1
		case $s in packages | root | install) exit 1 ;; esac
	fi
	[ "$s" != "$to" ] || break
done
[ -z "$bad" ]
