# Run a sweep of two racks and a core, and plot confidence bands.
cat >racks.json <<'END'
{ "duration": "2s", "runs": 5,
  "switches": [ { "name": "rack1" }, { "name": "rack2" }, { "name": "core" } ],
  "servers": [ { "name": "ps" } ],
  "links": [ { "from": "rack1", "to": "core", "rate": "1M" },
             { "from": "rack2", "to": "core", "rate": "1M" },
             { "from": "core", "to": "ps", "rate": "1M" } ],
  "workers": [ { "at": "rack1", "clusters": "1-5", "workers": 3, "interval": "20ms" },
               { "at": "rack2", "clusters": "6-10", "workers": 3, "interval": "20ms" } ],
  "sweep": { "links[core].rate": [ "500k", "1M", "2M" ],
             "switches[*].queue": [ "olaf", "fifo" ] } }
END
innet-sim -q racks.json
innet-sim -q --total --csv racks.json >racks.csv
innet-plot lines --x rate --columns mean_age_ns,loss_percent -w racks.svg racks.csv
innet-sim -q --by switch --csv racks.json >busy.csv
innet-plot topology -w topology.svg racks.json busy.csv
[ "$(wc -l <racks.csv)" -eq 7 ]
head -n 1 racks.csv | grep -q mean_age_ns_ci95
