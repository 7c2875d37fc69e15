# Run in the root folder of fresh.sh the tests of tools, all or those in $1,
# with the installed tools.
set -eu
rm -rf /fresh/tree
mkdir /fresh/tree
cd /fresh/tree
tar -xf /fresh/innet_*.orig.tar.xz --strip-components 1
mkdir build
cd build
lib=$(dirname "$(dirname "$(dpkg -L innet-redis | grep innet_per.so)")")
../configure -q --prefix=/usr --libdir="$lib"
make -s -j"$((2 * $(nproc)))" check-installed ${1:+"TESTS=$1"} >../log 2>&1 || :
[ ! -e innet-switch ]	# only the tools of the packages may be found
count() { find . -name '*.trs' -exec cat {} + | grep -cE "^:test-result: ($1)" || :; }
find . -name '*.log' -exec grep -hE '^(FAIL|XPASS|ERROR): ' {} + | sort -u
find . -name '*.log' -exec grep -hE '^SKIP: ' {} + | sort -u
echo "$(count 'PASS|XFAIL') passed, $(count SKIP) skipped, $(count 'FAIL|XPASS|ERROR') failed"
[ "$(count 'PASS|XFAIL')" -gt 0 ] && [ "$(count 'FAIL|XPASS|ERROR')" -eq 0 ]
