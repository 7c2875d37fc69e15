# Tests of make dist.
load common

@test "a tarball has no built files, and the same bytes for any folder, umask, time zone, locale, jobs" {
	once
	unset MAKEFLAGS MFLAGS MAKELEVEL SOURCE_DATE_EPOCH
	[ -w "$builddir" ]
	make -s -C "$builddir" dist XZ_OPT=-0
	cp "$builddir"/innet-*.tar.xz one.tar.xz
	tar -tf one.tar.xz | sed -n 's|^[^/]*/||; /[^/]$/p' | while read -r f; do
		[ -e "$srcdir/$f" ] || echo "$f"
	done >made
	[ ! -s made ] || { cat made; false; }
	umask 077
	mkdir -p other/deep/build
	tar -x --no-same-permissions -f one.tar.xz -C other/deep --strip-components 1
	(cd other/deep/build && ../configure -q)
	export TZ=Asia/Tokyo LC_ALL=C.UTF-8
	make -s -j3 -C other/deep/build dist XZ_OPT=-0
	cmp one.tar.xz other/deep/build/innet-*.tar.xz
	[ "$(tar -tvf one.tar.xz | awk '{ print $2, $4, $5 }' | sort -u | wc -l)" -eq 1 ]
}
