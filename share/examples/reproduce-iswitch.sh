#!/usr/bin/env bash
# reproduce-iswitch.sh - simulate iSwitch's Tables 3 to 5 and Figures 12 and 15
#
#	share/examples/reproduce-iswitch.sh [-w DIR]
#
# The script runs share/scenarios/iswitch-*.json with innet-sim and prints
# Markdown.
# The tables have the figures of the paper, those of the simulation, and the
# differences.  More tables show the effect of other costs of PPO's messages and
# of a server's optimizer.  share/scenarios/README-iswitch.md explains the
# settings.
# With -w the script keeps the results of innet-sim in DIR/iswitch-*.json, one
# object a line.  This needs jq and takes about 15 s.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
say() { printf 'reproduce-iswitch: %s\n' "$*" >&2; }
dir=''
while [ $# -gt 0 ]; do
	case $1 in
	-h|--help) sed -n '2,/^set /{/^set /!p}' "$0" | sed 's/^# \?//'; exit 0 ;;
	-w) [ $# -ge 2 ] || { say '-w needs a folder'; exit 2; }
		dir=$2; shift 2 ;;
	*) say "unknown option '$1'"; exit 2 ;;
	esac
done
[ -x "$here/../../build/innet-sim" ] && PATH=$here/../../build:$PATH
for tool in innet-sim jq; do
	command -v $tool >/dev/null || { say "$tool is missing"; exit 1; }
done
scratch=''
[ -n "$dir" ] || { dir=$(mktemp -d); scratch=1; }
trap '[ -z "$scratch" ] || rm -rf "$dir"' EXIT
mkdir -p "$dir"
for s in fig12 table5 fig15 testbed; do
	innet-sim -q --json "$here/../scenarios/iswitch-$s.json" >"$dir/iswitch-$s.json"
done

# Experiments: a cost of PPO's messages that is fitted to iSW alone, and
# optimizers with which the asynchronous server takes as long as that of the
# paper.
jq '.trainings |= map(select(.name | startswith("ppo")) + { message: "0.92ms" })' \
	"$here/../scenarios/iswitch-fig12.json" | innet-sim -q --json - >"$dir/iswitch-message.json"
for s in fig12 table5; do
	jq '{ "dqn-ps": "19.5ms", "a2c-ps": "9.2ms", "ddpg-ps": "6.7ms" } as $optimizer |
		.trainings |= map(select($optimizer[.name]) + { update: $optimizer[.name] })' \
		"$here/../scenarios/iswitch-$s.json" | innet-sim -q --json - >"$dir/iswitch-optimizer-$s.json"
done

# Tables 3, 4 and 5 of the paper: n and h are iterations and hours of
# synchronous PS, AR and iSW; x are the speedups of AR, iSW and asynchronous
# iSW; ps and isw are iterations, ms per iteration and hours of asynchronous PS
# and iSW.
paper='{
"dqn":  { "n": 1.4e6, "h": [ 31.72, 16.08, 8.66 ], "x": [ 1.97, 3.66, 3.71 ],
          "ps": [ 6.3e6, 24.88, 43.54 ], "isw": [ 3.5e6, 12.07, 11.74 ] },
"a2c":  { "n": 2.0e5, "h": [ 2.87, 1.78, 1.12 ], "x": [ 1.62, 2.55, 3.14 ],
          "ps": [ 1.2e6, 13.13, 4.38 ], "isw": [ 4.0e5, 12.53, 1.39 ] },
"ppo":  { "n": 8.0e4, "h": [ 0.39, 0.42, 0.22 ], "x": [ 0.91, 1.72, 1.92 ],
          "ps": [ 5.4e5, 3.40, 0.51 ], "isw": [ 1.2e5, 7.99, 0.27 ] },
"ddpg": { "n": 7.5e5, "h": [ 8.07, 9.01, 4.40 ], "x": [ 0.90, 1.83, 1.56 ],
          "ps": [ 3.0e6, 11.58, 9.65 ], "isw": [ 1.5e6, 14.89, 6.20 ] } }'

# The measurements of innet's own runs, if the file is present.
measured=$here/../results/iswitch/measured.csv
[ -e "$measured" ] || measured=/dev/null
jq -L "$here" -rn --argjson paper "$paper" --slurpfile step "$dir/iswitch-fig12.json" \
	--slurpfile out "$dir/iswitch-table5.json" \
	--slurpfile message "$dir/iswitch-message.json" \
	--slurpfile optimizer_step "$dir/iswitch-optimizer-fig12.json" \
	--slurpfile optimizer_out "$dir/iswitch-optimizer-table5.json" \
	--slurpfile racks "$dir/iswitch-fig15.json" \
	--slurpfile live "$dir/iswitch-testbed.json" \
	--rawfile measured "$measured" -f "$here/reproduce-iswitch.jq"
