# Tests of rules that every tool in the suite follows.
bats_require_minimum_version 1.5.0
load common

@test "--help prints on standard output and nothing on standard error, with status 0" {
	for t in $TOOLS; do
		run -0 --separate-stderr "$t" --help
		[[ $output == "usage: $t "* ]]
		[ -z "$stderr" ]
	done
}

@test "--help fits in 80 columns" {
	for t in $TOOLS; do
		"$t" --help | awk -v t="$t" 'length > 80 { print t ": " $0; bad = 1 } END { exit bad }'
	done
}

@test "--version prints one line with name and version" {
	for t in $TOOLS; do
		run -0 --separate-stderr "$t" --version
		[ "$output" = "$t $VERSION" ]
		[ -z "$stderr" ]
	done
}

@test "an unknown option: status 2, no output, two lines on standard error" {
	for t in $TOOLS; do
		run -2 --separate-stderr "$t" --no-such-option
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 2 ]
		[[ ${stderr_lines[0]} == "$t: "* ]]
	done
}

@test "an error about a mistyped option or word names the most similar one" {
	for t in $TOOLS; do
		run -2 --separate-stderr "$t" --versoin
		[ "${stderr_lines[0]}" = "$t: unknown option '--versoin'; the nearest is '--version'" ]
		[ "${stderr_lines[1]}" = "Try '$t --help'." ]
	done
	while IFS='|' read -r words message; do
		run -2 --separate-stderr $words
		[ "${stderr_lines[0]}" = "${words%% *}: $message" ]
	done <<-'END'
	innet-switch -p iswich|invalid program 'iswich': not one of olaf, iswitch, dlp; the nearest is 'iswitch'
	innet-ps -p olav|invalid program 'olav': not one of olaf, iswitch, dlp; the nearest is 'olaf'
	innet-worker --slience 1s|unknown option '--slience'; the nearest is '--silence'
	innet-worker --silence 1sec|invalid time '1sec': unknown unit; use ns, us, ms, s, min or h
	innet-memory --memory 1mb|invalid memory '1mb': unknown unit; use B, kB, MB, GB, TB, KiB, MiB or GiB
	innet-switch -p dlp --listen :0 --as swich|--as: invalid value 'swich': not one of switch, server
	innet-switch --rate|--rate needs a value: --rate=RATE
	innet-switch --json=3|--json takes no value
	innet-switch --wr x|--wr is ambiguous: 2 options begin with it
	END
	run -2 --separate-stderr innet-ctl :9 memebrs
	[[ ${stderr_lines[0]} == "innet-ctl: invalid verb 'memebrs': not one of "*"; the nearest is 'members'" ]]
}

@test "every tool reports a full disk, even with --help" {
	[ -w /dev/full ] || skip "no /dev/full"
	for t in $TOOLS; do
		run -1 sh -c "$t --help >/dev/full"
	done
}

@test "the manual has every long option of --help, and no other" {
	for t in $TOOLS; do
		diff <("$t" --help | grep -oE -e '--[a-z][a-z-]*' | sort -u) \
		     <(sed -n 's/^\.It.*Fl -\([a-z-]*\).*/--\1/p' "$srcdir/man/$t.1" | sort -u)
	done
}

@test "every manual page has EXIT STATUS and EXAMPLES" {
	for t in $TOOLS; do
		grep -q '^\.Sh EXIT STATUS' "$srcdir/man/$t.1"
		grep -q '^\.Sh EXAMPLES' "$srcdir/man/$t.1"
	done
}

@test "manual pages are valid mdoc" {
	[ -n "$MANDOC" ] || skip "no mandoc"
	for m in "$srcdir"/man/*.[1-9]; do
		[ -e "$m" ] || continue
		run -0 "$MANDOC" -Tlint -Wwarning "$m"
	done
}

@test "groff renders every manual page without a warning" {
	command -v groff >/dev/null || skip "no groff"
	for m in "$srcdir"/man/*.[1-9]; do
		run -0 --separate-stderr groff -mdoc -Tascii "$m"
		[ -z "$stderr" ]
	done
}

# options_of: read lines such as "  -r, --read=FILE  text", and print the names
# and arguments of the options
options_of() {
	sed -nE 's/^ +(-., )?--([a-z-]+)(\[?=([A-Za-z|,]+)\]?)?( .*|$)/\2 \4/p' | tr A-Z a-z | sort
}

@test "innet(7) lists options that two tools share, with the same argument everywhere" {
	[ -n "$MANDOC" ] || skip "no mandoc"
	"$MANDOC" -T ascii "$srcdir/man/innet.7" | sed 's/.\x08//g' |
		sed -n '/^   Options/,/^   Words/p' | options_of >table
	[ "$(wc -l <table)" -ge 50 ]
	for t in $TOOLS; do "$t" --help | options_of >"$t.options"; done
	cat ./*.options | cut -d' ' -f1 | sort | uniq -d >shared
	cut -d' ' -f1 table >named
	[ -z "$(comm -13 named shared)" ]
	[ "$(wc -w <<<"$TOOLS")" -lt 13 ] || cmp named shared
	while read -r name argument; do
		for t in $(grep -l "^$name " ./*.options); do
			got=$(sed -n "s/^$name //p" "$t")
			[[ "|$argument|" == *"|$got|"* || $name = check ]] ||
				{ echo "${t%.options}: --$name=$got, not $argument"; return 1; }
		done
	done <table
}

# Options that name files and can be combined: TOOL [WORD...]|WRITTEN|READ. A
# word in capitals is an argument.
files='innet-switch|-w --report|-r
innet-switch --rate 1M|-w --report|--departures --key --command-key --secret
innet-switch --format bare|-w --report|--cluster-table
innet-switch --listen :0 --upstream :9|-w --write-in --report --port-file|--key --command-key --secret
innet-ps --listen :0|--save -w --write-in --report --port-file|--key --command-key --secret
innet-ps --listen :0|-w --write-in --report --port-file|--load
innet-agent --alone|--log --save --report|--load
innet-agent --role learner --algo dqn --redis :9|--log --save --report|--password-file
innet-agent||--eval
innet-aom|--series|-r --sent --counters --compare
innet-aom --compare y|--series|--compare-sent --compare-counters
innet-aom --format bare|--series|--cluster-table
innet-ctl||--key --command-key
innet-gen|-w|--schedule
innet-gen --format bare|-w --cluster-table|
innet-memory --touch 1MB --listen :0|--save --port-file --unix|--password-file
innet-mpi||
innet-plot cdf|-w|FILE
innet-plot cdf y --format bare|-w|--cluster-table
innet-replay|-w|-r
innet-sim||
innet-verify --objective no-loss|-w|SPEC
innet-worker -p iswitch --worker 0 --switch :9 --synthetic 4B|-w|--key'

# refused TEXT WORD...: check that the tool exits with status 2, prints TEXT and
# leaves x.svg unchanged
refused() {
	local text=$1
	shift
	run -2 --separate-stderr timeout 10 "$@"
	[ "$output$stderr" = "$1: $text" ] || { echo "$*: $output$stderr"; return 1; }
	cmp -s x.svg was || { echo "$*: x.svg is another"; return 1; }
}

@test "tools refuse to write two outputs to one file, or to overwrite an input" {
	echo 'a long word that only we know' | tee x.svg >was
	chmod 600 x.svg
	while IFS='|' read -r tool written reads; do
		[[ " $TOOLS " == *" ${tool%% *} "* ]] || continue
		for a in $written; do
			for b in ${written#*"$a"}; do
				refused "$a and $b both write x.svg" $tool $a x.svg $b ./x.svg
				refused "$a and $b both write new.svg" $tool $a new.svg $b new.svg
				refused "$a and $b both write standard output" $tool $a - $b -
			done
			for b in $reads; do
				case $b in
				[A-Z]*) refused "$a x.svg would overwrite its own input" $tool x.svg $a x.svg ;;
				*) refused "$a x.svg would overwrite the file that $b reads" $tool $b x.svg $a x.svg ;;
				esac
			done
		done
	done <<<"$files"
}

@test "the table of the test above has every option that names a file" {
	for t in $TOOLS; do
		for o in $("$t" --help | sed -n 's/^  \(-.\), --[a-z-]*=FILE .*/\1/p
			s/^      \(--[a-z-]*\)=FILE .*/\1/p'); do
			grep "^$t[ |]" <<<"$files" | tr '| ' '\n\n' | grep -qxe "$o" || { echo "$t $o"; return 1; }
		done
	done
}

# Commands that print with --json; each runs in a folder with the files that it
# needs.
json='innet-switch -r in.pcap -w out.pcap
innet-switch -p iswitch --listen :0 --duration 10ms
innet-ps --listen :0 --duration 10ms
innet-agent --alone --steps 200
innet-agent --eval policy --episodes 2
innet-aom -r in.pcap
innet-ctl $switch join --job 2 --vector 1
innet-gen -c 5 -w out.pcap
innet-gen --program iswitch -c 5 -w out.pcap
innet-gen --program dlp -c 5 -w out.pcap
innet-memory --listen :0 --touch 1MB --duration 10ms
innet-mpi --synthetic 4B -c 3
innet-replay -r in.pcap -w out.pcap
innet-sim s.json
innet-verify --objective no-loss -w out.pcap spec.json
innet-worker --switch $ps --synthetic 4B --interval 1ms -c 3 -w out.pcap
innet-worker -p iswitch --worker 0 --switch $switch --synthetic 4B --interval 1ms -c 3
innet-worker -p iswitch --async --switch $async --synthetic 4B --interval 1ms -c 30 --every 1'

# Write all files that these commands need; $run gets the commands of the tools
# that are built.
with_json() {
	local t q one=$share/scenarios
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0	# MPI has leaks
	innet-gen -q -c 5 -w in.pcap
	innet-agent -q --alone --steps 200 --save policy
	jq '.workers[0].count = 5 | del(.sweep)' "$one/olaf-table1.json" >s.json
	cp "$one/verify/one-slot.json" spec.json
	serve ps innet-ps -q
	serve switch innet-switch -q -p iswitch -H 1
	serve async innet-switch -q -p iswitch -H 1 --async
	export ps switch async
	run=()
	while read -r t; do
		[[ " $TOOLS " == *" ${t%% *} "* ]] || continue
		q=$("${t%% *}" --help | sed -n 's/^  \(-q\), .*/\1/p')
		run+=("$t $q --json")
	done <<<"$json"
}

# objects FILE: check that the file is not empty and that each line is a JSON
# object
objects() {
	[ "$(jq -c 'objects' "$1" | wc -l)" -eq "$(wc -l <"$1")" ] && [ -s "$1" ]
}

@test "--json prints an object a line on standard output, also with -q, and nothing else" {
	with_json
	for t in "${run[@]}"; do
		echo "$t"
		bash -c "$t" >out 2>err || [ $? -eq 3 ]
		objects out
		run ! grep '^{' err
		[ ! -w /dev/full ] || run -1 --separate-stderr bash -c "$t >/dev/full"
		[ ! -w /dev/full ] || [[ ${stderr_lines[-1]} == "${t%% *}: standard output: "* ]]
	done
}

@test "--json prints on standard error if standard output is a capture or a stream" {
	with_json
	for t in "${run[@]}"; do
		[[ $t == *" -w "* ]] || continue
		echo "$t"
		bash -c "$t" >said || [ $? -eq 3 ]
		bash -c "${t/out.pcap/-}" >out 2>err || [ $? -eq 3 ]
		objects err
		cmp <(head -c 24 out) <(head -c 24 out.pcap)
		rm out.pcap
	done
	innet-worker -q --switch "$ps" --cluster 2 -- innet-agent -q --json --steps 200 2>err >out
	[ ! -s out ]
	objects err
}

@test "the test of --json covers every tool that has this option" {
	for t in $TOOLS; do
		! "$t" --help | grep -q -e --json || grep -q "^$t " <<<"$json"
	done
}

@test "in tests, jq -e fails if its input is empty" {
	run -4 jq -e . </dev/null
	run -4 jq -es '.[]' </dev/null
	[ "$(jq -e .a <<<'{"a":1}')" = 1 ]
}
