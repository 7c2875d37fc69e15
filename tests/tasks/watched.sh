# Watch a service, rotate its captures, and keep strangers out.
innet-switch -q --program iswitch -H 1 --allow 127.0.0.0/8 --listen :0 --port-file port \
	--write-in in.pcap --rotate 100kB,2 --report report.json & switch=$!
until [ -s port ]; do sleep 0.1; done
at=:$(cat port)
innet-ctl $at stats --prometheus | grep '^innet_switch_up.* 1$'
innet-worker -q --program iswitch --switch $at --worker 0 --synthetic 40kB --interval 1ms -c 50
innet-ctl $at watch -c 2 --interval 200ms
ls in.pcap in.pcap.1
mv in.pcap mine.pcap
kill -HUP $switch
until [ -s report.json ] && [ -e in.pcap ]; do sleep 0.1; done
jq -e .packets report.json
kill $switch
wait
# the service accepts no packet from other networks
rm port
innet-switch -q --program iswitch -H 1 --allow 192.0.2.0/24 --listen :0 --port-file port \
	--report report.json & switch=$!
until [ -s port ]; do sleep 0.1; done
if innet-ctl --give-up 200ms :$(cat port) jobs; then exit 1; fi
kill $switch
wait
[ "$(jq .not_allowed report.json)" -gt 0 ]
