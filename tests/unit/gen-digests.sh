# Check that innet-gen writes the same bytes for a seed with every compiler, at
# -O0 and at -O3.
t=$(mktemp -d) && trap 'rm -rf "$t"' EXIT
list=$srcdir/tests/unit/gen-digests.txt i=0
say() { i=$((i + 1)); [ "$1" -eq 0 ] && echo "ok $i - $2" || echo "not ok $i - $2"; }

digests() {
	while read -r _ options; do
		# shellcheck disable=SC2086
		echo "$("$1" -q $options | sha256sum | cut -c1-16) $options"
	done <"$list"
}
digests innet-gen >"$t/got"
diff "$list" "$t/got" | sed 's/^/# /'
cmp -s "$list" "$t/got"; say $? "the tool that was built gives the known digests"
compilers='gcc:-O3 clang:-O0'
[ -z "${INNET_TESTS_ONCE-}" ] || compilers=	# the first build tests them
for with in $compilers; do
	cc=${with%:*} o=${with#*:}
	command -v "$cc" >/dev/null || continue
	"$cc" -std=gnu11 -D_GNU_SOURCE -ffp-contract=off "$o" -I. \
		-I"$srcdir" -o "$t/gen" "$srcdir"/cmd/innet-gen/*.c \
		-lpcap -lcsv -lm 2>"$t/err" || sed 's/^/# /' "$t/err"
	digests "$t/gen" >"$t/got"
	cmp -s "$list" "$t/got"; say $? "$cc $o gives the known digests"
done
echo "1..$i"
