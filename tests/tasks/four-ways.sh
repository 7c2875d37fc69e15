# Train in four ways: synchronous, asynchronous, with PyTorch, and with Ape-X.
three() {	# three OPTION...: of a switch and of its workers
	rm -f port
	innet-switch -q --program iswitch "$@" -H 3 --listen :0 --port-file port & switch=$!
	until [ -s port ]; do sleep 0.1; done
	workers=
	for w in 0 1 2; do
		innet-worker -q --program iswitch "$@" --switch :$(cat port) \
			--worker $w -- innet-agent -q --init-seed 1 --seed $((w + 1)) --steps 5k &
		workers="$workers $!"
	done
	for w in $workers; do wait $w; done
	kill $switch
	wait $switch
}
three
three --async
if "${PYTHON:-python3}" -c 'import torch' 2>/dev/null; then
	rm -f port
	innet-switch -q --program iswitch -H 2 --listen :0 --port-file port & switch=$!
	until [ -s port ]; do sleep 0.1; done
	cp "$EXAMPLES/reinforce.py" .
	patch -s reinforce.py "$EXAMPLES/reinforce-innet.diff"
	innet-worker -q --program iswitch --switch :$(cat port) --worker 0 -- \
		"${PYTHON:-python3}" reinforce.py --episodes 5 & first=$!
	innet-worker -q --program iswitch --switch :$(cat port) --worker 1 -- \
		"${PYTHON:-python3}" reinforce.py --episodes 5
	wait $first
	kill $switch
	wait $switch
fi
innet-memory -q --listen none --unix ./memory --duration 60s & memory=$!
until [ -S memory ]; do sleep 0.1; done
for i in 0 1; do
	innet-agent -q --role actor --replay-memory ./memory --algo dqn --actor $i/2 &
done
innet-agent -q --role learner --replay-memory ./memory --algo dqn --gradients 100
kill $memory
wait
