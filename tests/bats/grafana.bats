# Check that the dashboard queries only metrics that the tools print.
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	command -v jq >/dev/null || skip "no jq"
	pids=''
	board=$share/grafana/innet.json
}

# Print the metrics that the panels of a data source query, one name per line.
asked() {
	jq -r '.panels[].targets[]?.expr // empty' "$board" | grep -oE 'innet_[a-z_]+' | sort -u
}

@test "innet-ctl prints every metric of the dashboard" {
	serve sums innet-switch -q -p iswitch -H 1
	serve sink innet-ps -q
	serve queue innet-switch -q --upstream "$sink"
	innet-worker -q -p iswitch --worker 0 --switch "$sums" --synthetic 4kB --interval 1ms -c 5
	innet-gen -q --clusters 1 -c 5 -w updates.pcap
	innet-replay -q -r updates.pcap --to "$queue" --topspeed
	for _ in $(seq 500); do
		innet-ctl "$queue" stats --prometheus | grep -q '^innet_job_arrived_total' && break
		sleep 0.02
	done
	for at in "$sums" "$queue" "$sink"; do
		innet-ctl "$at" stats --prometheus >text
		[ -z "$(grep '^# TYPE' text | sort | uniq -d)" ]
		sed -nE 's/^(innet_[a-z_]+)\{.*/\1/p' text
	done | sort -u >printed
	[ "$(asked | wc -l)" -gt 30 ]
	asked | comm -23 - printed >missing
	[ ! -s missing ] || { cat missing; false; }
}

@test "innet-ctl prints every label of the dashboard, except instance, which a scrape adds" {
	serve sums innet-switch -q -p iswitch -H 1
	innet-worker -q -p iswitch --worker 0 --switch "$sums" --synthetic 4kB --interval 1ms -c 5
	innet-ctl "$sums" stats --prometheus | grep -oE '[a-z]+="' | tr -d '="' | sort -u >printed
	echo instance >>printed
	jq -r '.panels[].targets[]? | .expr // empty, .legendFormat // empty' "$board" >text
	{ grep -oE '[a-z_]+=~?"' text | tr -d '=~"'; grep -oE '\{\{[a-z_]+' text | tr -d '{'
		grep -oE 'by \([^)]*' text | sed 's/by (//; s/, */\n/g'; } | sort -u >labels
	[ "$(wc -l <labels)" -eq 3 ]
	[ -z "$(comm -23 labels <(sort printed))" ]
	grep -q 'honor_labels: true' "$srcdir/man/innet-service.7"
}

@test "INFO of innet-memory contains every field of the dashboard" {
	command -v redis-cli >/dev/null || skip "no redis-cli"
	serve memory innet-memory -q
	jq -r '.panels[] | .transformations[]?.options.include.names[] | select(. != "#time")' "$board" | sort -u >fields
	[ "$(wc -l <fields)" -gt 8 ]
	redis-cli -p "${memory#*:}" info | sed -n 's/:.*//p' | sort -u | comm -23 fields - >missing
	[ ! -s missing ] || { cat missing; false; }
}

@test "panels have titles, descriptions and separate places" {
	jq -e '[.panels[] | select(.type != "row")] | all(.title != "" and .description != "" and (.targets | length > 0))' "$board"
	jq -e '[.panels[].gridPos | [.x, .y]] | length == (unique | length)' "$board"
	jq -e '[.panels[].id] | length == (unique | length)' "$board"
}
