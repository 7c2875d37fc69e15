# Refute an objective, and run the schedule that refutes it.
cat >spec.json <<'END'
{ "service_time": "2ms", "slots": 1, "horizon": "1s", "clusters": [
  { "id": 1, "period": "50ms", "offset": ["0", "40ms"] },
  { "id": 2, "period": "50ms", "offset": ["0", "40ms"] } ] }
END
status=0
innet-verify --objective no-loss --json -w miss.csv spec.json >miss.json 2>said || status=$?
cat said
[ $status -eq 3 ]
innet-plot age -w miss.svg miss.json
# the error message contains the command
again=$(sed -n 's/^innet-verify: again: //p' said)
run=$(sed 's/FILE/miss.csv/; s/innet-gen/innet-gen -q/; s/innet-switch/innet-switch -q --report run.json/; s/innet-aom/innet-aom -q/' <<<"$again")
bash -c "$run"
[ "$(jq .totals.dropped_full.constituents run.json)" -gt 0 ]
