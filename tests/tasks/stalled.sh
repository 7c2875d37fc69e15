# Kill a worker, and find with innet-ctl why the job is stalled.
innet-switch -q --program iswitch -H 3 --listen :0 --port-file port & switch=$!
until [ -s port ]; do sleep 0.1; done
at=:$(cat port)
for w in 0 1 2; do
	innet-worker -q --program iswitch --switch $at --worker $w \
		--synthetic 40kB --interval 5ms -c 1000000 2>said.$w & last=$!
	workers="${workers-} $last"
done
until innet-ctl $at members 2>/dev/null | grep -q '^3 members'; do sleep 0.1; done
kill -9 $last
until innet-ctl $at members | grep '^waiting for worker 2'; do sleep 0.2; done
innet-ctl $at watch --job 1 -c 1
until grep 'missing: worker 2' said.0; do sleep 0.2; done
# the switch removes it from the job, and the two others continue
innet-ctl $at leave 2
innet-ctl $at set-h 2
until innet-ctl $at members | grep '^2 members, all heard within 1 s'; do sleep 0.2; done
innet-ctl $at members | grep 'left [0-9.]* s ago'
kill $workers $switch 2>/dev/null || :
wait
