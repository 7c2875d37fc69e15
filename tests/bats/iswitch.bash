# Functions for the tests of innet-switch --program iswitch. Worker W is
# 10.0.1.W:5000, the switch is $S, and every vector has two floats in a segment.
# Joins are at -1000 ms, so a job whose H follows its members opens at 0 ms.
load common
S=10.255.255.1:46638

ns() { echo $((100000000000 + $1 * 1000000)); }
addr() { case $1 in *:*) echo "$1" ;; *) echo "10.0.1.$1:5000" ;; esac; }

# seg MS WORKER ITERATION INDEX FLOAT...: print a worker's segment
seg() { echo "$(ns "$1") $(addr "$2") $S seg $3 1 $4 ${*:5}"; }

# segs MS ITERATION INDEX WORKER...: print a segment of each worker, which
# contributes its own number twice
segs() { for w in "${@:4}"; do seg "$1" "$w" "$2" "$3" "$w" "$w"; done; }

# ask MS WORKER ACTION [WORD...]: print a control message of job ${JOB:-1}
ask() { echo "$(ns "$1") $(addr "$2") $S $3 ${JOB:-1} $((++xid)) ${*:4}"; }

# join MS WORKER [WORD...]: print a Join with one segment of two floats, from
# iteration 1. With an address instead of a worker's number, also give worker=N.
join() {
	case $2 in *:*) ;; *) set -- "$1" "$2" worker="$2" "${@:3}" ;; esac
	ask "$1" "$2" join elements=2 floats=2 next=1 "${@:3}"
}

# joins N [WORD...]: print Joins of workers 1 to N
joins() { for w in $(seq "$1"); do join -1000 "$w" "${@:2}"; done; }

# through [OPTION...]: run the lines through the switch; its output is out.pcap,
# and its report r.json
through() {
	mkiswitch >in.pcap
	innet-switch -q --program iswitch -r in.pcap -w out.pcap --report r.json "$@"
}

# out [DESTINATION]: print every packet that the switch sent, or every packet to
# DESTINATION, from its fourth column on
out() {
	dumpiswitch out.pcap |
		awk -v to="${1:+$(addr "$1")}" 'to == "" || $3 == to' | cut -d' ' -f4-
}

# to WORKER: print the packets that a worker gets, except for Acks of Join and
# Acks with the status done. Job and xid are left out, and a Seg is
# ITERATION.INDEX.
to() {
	out "$1" | sed -En '/^ack [0-9]+ [0-9]+ ([a-z-]+ done|join)/d
		s/^([a-rt-z][a-z-]*|set-h|stats) [0-9]+ [0-9]+/\1/
		s/seg=([0-9]+)\.[0-9]+\./seg=\1./; p'
}

# acks WORKER ACTION: print the status and words of the Acks that a worker gets
acks() { out "$1" | sed -En "s/^ack [0-9]+ [0-9]+ $2 //p"; }

# statuses WORKER ACTION: print the statuses of these Acks in one line
statuses() { acks "$1" "$2" | cut -d' ' -f1 | paste -sd' '; }

# counter NAME [JOB], unfinished [JOB], total NAME: print values of the report
counter() { jq ".jobs[\"${2:-1}\"].counters.$1 // 0" r.json; }
unfinished() { jq ".jobs[\"${1:-1}\"].unfinished // 0" r.json; }
total() { jq ".$1 // 0" r.json; }
foreign() { jq .switch.foreign r.json; }

# ignored: print the number of packets to the switch that it ignored, for any
# reason
ignored() {
	jq '[.ignored[], .jobs[].counters.mismatched, .switch.bad_segment,
		.switch.bad_control] | add' r.json
}
