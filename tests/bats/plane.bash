# Functions for the tests of the data plane: they run a live switch, workers,
# and the filter on the captured packets.
load iswitch

# live PROGRAM [OPTION...]: start a live switch, with captures and a report
live() {
	local program=$1
	shift
	serve switch innet-switch -q -p "$program" --write-in in.pcap -w out.pcap --report live.json "$@"
}

# crew PROGRAM [OPTION...]: run two workers at $switch until they end; the first
# one gets the options in $lead
crew() {
	local w all='' program=$1
	shift
	for w in 1 2; do
		innet-worker -p "$program" --json --switch "$switch" \
			$([ "$program" = dlp ] && echo --seed || echo --worker) $w \
			$([ $w -gt 1 ] || echo "${lead-}") "$@" >"w$w.json" 3>&- &
		all="$all $!"
	done
	pids="$pids $all"
	for w in $all; do wait "$w"; done
}

# again PROGRAM [OPTION...]: run the captured packets through the filter
again() {
	local program=$1
	shift
	innet-switch -q -p "$program" -r in.pcap -w again.pcap --report again.json "$@"
}
