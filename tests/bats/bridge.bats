# Tests of the gradient stream from Python: share/python and the examples that
# use it.
load common
load slurm

examples=$share/examples

# lockstep N COMMAND...: run N synchronous workers with a switch, each with its
# own copy of the command; the output of worker K is in wK
lockstep() {
	local n=$1 k works=''
	shift
	serve switch innet-switch -q -p iswitch -H "$n" --reduce ordered
	for ((k = 0; k < n; k++)); do
		timeout -k 5 200 innet-worker -q -p iswitch --switch "$switch" \
			--worker "$k" --give-up 2min -- "$@" >w$k.out 2>w$k 3>&- &
		pids="$pids $!" works="$works $!"
	done
	for k in $works; do wait "$k" || { tail w? switch.err; return 1; }; done
	run ! grep . w*.out
}

# child OPTION...: run stream-echo with the Python program on standard input as
# its child
child() {
	python numpy
	export PYTHONPATH=$share/python
	{ printf 'import sys, numpy as np, innet_stream as i\n'; cat; } >child.py
	timeout -k 5 60 stream-echo "$@" "$py" child.py
}

@test "PyTorch's plain loop: the reward rises, and the workers have equal weights" {
	once training
	python torch
	lockstep 2 "$py" "$examples/torch-cartpole.py" 80
	[ "$(sed -n 's/.* weights //p' w0 w1 | sort -u | wc -l)" -eq 1 ]
	awk '$1 == "reward" && $2 >= 40 { n++ } END { exit n != 2 }' w0 w1
}

@test "PyTorch's plain loop learns from the models of a server" {
	once training
	python torch
	run -0 --separate-stderr stream-echo -a 1e-2 "$py" "$examples/torch-cartpole.py" 40
	[[ $output == *"40 gradients, 0 stale, reward "* ]]
	reward=${output##*reward }
	[ "${reward%.*}" -ge 100 ]
}

@test "DistributedDataParallel: the loss falls, and the workers have equal weights" {
	once training
	python torch
	lockstep 3 "$py" "$examples/torch-ddp.py" 150
	[ "$(sed -n 's/.* weights //p' w0 w1 w2 | sort -u | wc -l)" -eq 1 ]
	awk '/^loss/ && $4 < 0.01 && $2 > 0.5 { n++ } END { exit n != 3 }' w0 w1 w2
}

@test "both examples end with status 0 if the network ends the stream" {
	once training
	python torch
	for e in torch-cartpole torch-ddp; do
		run -0 --separate-stderr timeout -k 5 60 stream-echo -s -n 3 "$py" "$examples/$e.py" 50
		[[ $output == *"3 gradients, 0 stale"* ]]
		[[ $stderr != *Traceback* ]]
	done
}

@test "innet_stream: sums, models and several results arrive unchanged" {
	child -s -n 3 >out <<-'END'
	w = np.arange(300000, dtype='f4')
	with i.Stream(w, name='x') as s:
	    assert (s.worker, s.members, s.mode) == (0, 1, 'async'), s.hello
	    assert (s.mean(w) == w).all() and s.iteration == 1
	    r = s.exchange(w + 1, reward=7, out=w)
	    assert r.vector is w and w[5] == 6 and r.contributions == 1
	    assert not r.model and not r.partial and r.iteration == 2
	END
	grep -q 'hello {.*"elements": 300000, "name": "x"}' out
	grep -x 'bye' out
	grep -x '2 gradients, 0 stale, reward 7.0' out
	child -m 3 <<-'END'
	s = i.Stream(np.zeros(5, 'f4'))
	assert [r.model for r in s.results(np.ones(5, 'f4'))] == [True] * 3
	assert 0 < s.exchange(np.ones(5)).vector[4] < 1
	END
}

@test "innet_stream: output of a script and its child processes goes to standard error" {
	child -s -n 2 >out 2>err <<-'END'
	import os, subprocess
	print('before', flush=True)
	s = i.Stream(np.zeros(5, 'f4'))
	print('between'); os.write(1, b'raw\n'); subprocess.run(['echo', 'child'])
	assert sys.stdin.read() == ''
	s.exchange(np.ones(5, 'f4'))
	END
	[ "$(cat err)" = "$(printf '%s\n' before between raw child)" ]
	grep -q '^1 gradients, 0 stale' out
}

# says TEXT FAULT...: check that the child fails and that TEXT is its last line
says() {
	local text=$1
	shift
	run -1 --separate-stderr child "$@" <<-'END'
	s = i.Stream(np.zeros(5, 'f4'), timeout=0.2)
	for _ in range(3):
	    s.mean(np.zeros(5, 'f4'))
	END
	[ "${stderr_lines[-1]}" = "innet_stream.Error: $text" ]
}

@test "innet_stream: a fault of the other side is reported in one line" {
	says "no result arrived within 0.2 s, after 1 gradients" -s -x silent
	says "a message (expected: result) begins with b'XNET' and not with INET" -s -x magic
	says "result of 4 elements for gradient 1 of 5" -s -x length
	says "the stream ends in the middle of a message, after 1 gradients" -s -n 1 -x cut
	says "3 sums for gradient 1, because rounds continued without this worker; use results()" -s -m 3
	says "the result of gradient 1 is a model, not a sum: in async mode use exchange()" -n 1
}

@test "innet_stream: misuse is reported in one line" {
	child -s <<-'END'
	def fails(text, call, *a, **k):
	    try:
	        call(*a, **k)
	    except i.Error as e:
	        assert str(e) == text, e
	    else:
	        sys.exit('no error')
	s = i.Stream(np.zeros(5, 'f4'))
	fails('a gradient of 4 elements, but there are 5 weights', s.exchange, np.zeros(4))
	fails('out is not a contiguous array of 5 float32', s.exchange, np.zeros(5), out=np.zeros(5))
	it = s.results(np.zeros(5))
	fails('not all results of gradient 1 have been read', s.exchange, np.zeros(5))
	list(it)
	s.close(), s.close()
	fails('this process has already opened its stream', i.Stream, np.zeros(5))
	fails('the stream is closed', s.exchange, np.zeros(5))
	END
}

@test "innet_stream: a vector of 16 MB passes through small pipes in both directions" {
	child -s -n 2 >out <<-'END'
	import fcntl
	w = np.arange(4 << 20, dtype='f4')
	s = i.Stream(w)
	assert fcntl.fcntl(s._out, 1032) >= 1 << 20
	fcntl.fcntl(s._out, 1031, 4096), fcntl.fcntl(s._in, 1031, 4096)
	assert (s.exchange(w).vector == w).all()
	END
	grep -q '^1 gradients' out
}

# agreed N FILE: check that N workers printed a checksum of their weights at the
# end, and that all are equal
agreed() {
	# mpirun may join the lines of two ranks
	grep -oE 'weights [0-9a-f]{8}' "$2" >crcs
	[ "$(wc -l <crcs)" -eq "$1" ]
	[ "$(sort -u crcs | wc -l)" -eq 1 ]
}

@test "a script that was not written for innet needs at most ten changed lines" {
	once training
	python torch
	cp "$examples/reinforce.py" .
	run ! grep -i innet_ reinforce.py
	patch -s reinforce.py "$examples/reinforce-innet.diff"
	[ "$(diff "$examples/reinforce.py" reinforce.py | grep -c '^[<>]')" -le 10 ]
	lockstep 3 sh -c '"$0" reinforce.py --episodes 60 --save "$$.pt"' "$py"
	awk '/^episode 60 / && $NF >= 50 { n++ } END { exit n != 3 }' w0 w1 w2
	[ "$(tail -qn 1 w0 w1 w2 | sort -u | wc -l)" -eq 3 ]
	[ "$(ls ./*.pt | wc -l)" -eq 3 ]
	"$py" - ./*.pt <<-'END'
	import sys, torch
	a, *others = [torch.load(f) for f in sys.argv[1:]]
	assert all((a[k] == b[k]).all() for b in others for k in a)
	END
}

@test "wrap() uses the models of a parameter server, and takes no optimizer step itself" {
	once training
	python torch
	patch -s -o reinforce.py "$examples/reinforce.py" "$examples/reinforce-innet.diff"
	export PYTHONPATH=$examples/../python
	for _ in 1 2 3; do	# on a busy machine models arrive late, and the policy can be bad
		serve ps innet-ps -q --optimizer adam --learning-rate 5e-3
		timeout -k 5 200 innet-worker -q --switch "$ps" --give-up 2min -- \
			"$py" reinforce.py --episodes 100 --save ps.pt 2>w0 3>&-
		! awk '/^episode 100 / && $NF >= 35 { n++ } END { exit n != 1 }' w0 || return 0
	done
	cat w0
	return 1
}

# Write a child that needs no PyTorch: it makes 20 sums and prints their
# checksum.
agree() {
	unset PYTHONPATH	# innet-worker sets it to the folder
	cat >agree.py <<-'END'
	import sys, zlib, numpy as np, innet_stream
	w = np.zeros(100, 'f4')
	with innet_stream.Stream(w) as s:
	    for k in range(20):
	        w += s.mean(np.arange(100, dtype='f4') * (1 + s.worker) + k)
	print('weights %08x' % zlib.crc32(w.tobytes()), file=sys.stderr)
	END
}

@test "mpirun.sh: workers get their numbers from mpirun, and have equal weights" {
	once training
	python torch
	command -v mpirun >/dev/null || skip "no mpirun"
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	export MPIRUN="timeout -k 5 200 mpirun --oversubscribe"
	agree
	"$examples/mpirun.sh" 3 "$py" agree.py >out 2>&1 3>&- || { cat out; false; }
	agreed 3 out
	run -2 "$examples/mpirun.sh" 3
}

@test "slurm.sbatch: the switch gets H, and workers get their numbers, from Slurm" {
	once training
	python torch
	cluster
	agree
	timeout -k 5 200 sbatch --wait -n 3 -o out "$examples/slurm.sbatch" "$py" "$PWD/agree.py" 3>&-
	agreed 3 out
}

# kept FROM-TO OPTIONS: run two workers for these steps with these options of
# wrap(), in which K is the worker's number; the output of worker K is in wK
kept() {
	local k works=''
	cat >kept.py <<-'END'
	import sys, zlib, torch, innet_stream
	torch.manual_seed(1), torch.set_num_threads(1)
	net = torch.nn.Linear(20, 5)
	optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
	begin, end = map(int, sys.argv[1].split('-'))
	stream = innet_stream.wrap(optimizer, **eval('dict(%s)' % sys.argv[2]))
	assert stream.iteration == begin
	for step in range(begin, end):
	    torch.manual_seed(100 * step + stream.worker)
	    optimizer.zero_grad()
	    (net(torch.randn(8, 20)) ** 2).mean().backward()
	    optimizer.step()
	flat = torch.nn.utils.parameters_to_vector(net.parameters()).detach()
	print('weights %08x' % zlib.crc32(flat.numpy().tobytes()))
	END
	export PYTHONPATH=$examples/../python
	serve switch innet-switch -q -p iswitch -H 2 --reduce ordered
	for k in 0 1; do
		timeout -k 5 200 innet-worker -q -p iswitch --switch "$switch" --worker $k --give-up 2min \
			-- "$py" kept.py "$1" "${2//K/$k}" 2>w$k 3>&- &
		pids="$pids $!" works="$works $!"
	done
	for k in $works; do wait "$k" || { tail w? switch.err; return 1; }; done
	finish switch
}

@test "wrap() saves a training and resumes it with the same weights, bit for bit" {
	python torch
	kept 0-30 ''
	grep -h '^weights ' w0 w1 >whole
	kept 0-17 "save='K.pt', save_every=5"
	[ -s 0.pt ]
	[ -s 1.pt.old ]
	[ ! -e 0.pt.tmp ]
	kept 15-30 "load='K.pt'"
	grep -h '^weights ' w0 w1 | cmp - whole
	kept 10-30 "load='K.pt.old', save='K.pt', save_every=30"
	grep -h '^weights ' w0 w1 | cmp - whole
	kept 30-30 "load='K.pt'"
	grep -h '^weights ' w0 w1 | cmp - whole
}


@test "wrap() reports a bad file to load in one line" {
	python torch
	kept 0-1 "save='K.pt', save_every=1"
	head -c 700 0.pt >cut
	echo text >text
	cat >load.py <<-'END'
	import innet_stream, torch
	torch.save({'a': 1}, 'other')
	sgd = torch.optim.SGD(torch.nn.Linear(3, 2).parameters(), lr=1)
	for name in 'none', 'cut', 'text', 'other', '0.pt':
	    try:
	        innet_stream.wrap(sgd, load=name)
	    except innet_stream.Error as e:
	        print(e)
	        last = e
	raise last
	END
	run -1 --separate-stderr timeout -k 5 60 stream-echo -s "$py" load.py
	[[ $'\n'$stderr$'\n' == *$'\n'"innet_stream.Error: 0.pt: the parameters have other shapes than those of the optimizer"$'\n'* ]]
	grep '^[a-z0]*[.pt]*: ' <<<"$stderr" >said
	diff said - <<-'END'
	none: No such file or directory
	cut: the checkpoint is truncated or damaged, or the file is not a checkpoint
	text: the checkpoint is truncated or damaged, or the file is not a checkpoint
	other: the file is not a checkpoint of wrap()
	0.pt: the parameters have other shapes than those of the optimizer
	END
}
