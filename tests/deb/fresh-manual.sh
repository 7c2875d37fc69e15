# Check in the root folder of fresh.sh that each page of the manual opens, and
# that each tool runs.
set -eu
MANWIDTH=80 man innet | sed -n '1,6p'
pages=0
for p in $(dpkg -L innet | grep '/man/man'); do
	[ ! -d "$p" ] || continue
	name=${p##*/} name=${name%.gz}
	man --warnings -E ascii "${name##*.}" "${name%.*}" >/tmp/page 2>/tmp/said
	[ -s /tmp/page ] && [ ! -s /tmp/said ] || { echo "$p: $(cat /tmp/said)"; exit 1; }
	pages=$((pages + 1))
done
[ -s /usr/share/doc/innet-doc/html/index.html ]
echo "$pages pages open"
for p in $(dpkg -L innet | grep '^/usr/bin/.'); do
	"$p" --version
	"$p" --help >/dev/null
done
python3 -c 'import innet_stream, innet_replay; print("both modules of Python are found")'
