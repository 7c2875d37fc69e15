# Compare each step of the environments with other implementations: twins
# written from the rules alone, recorded steps of Gymnasium, and Gymnasium
# itself if it is installed.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	tests=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	export PYTHONPATH=$tests/twins PYTHONDONTWRITEBYTECODE=1
}

# python_with MODULE: set $py to a python3 that has the module, or skip
python_with() {
	for py in python3 /usr/bin/python3; do
		! "$py" -c "import $1" 2>/dev/null || return 0
	done
	skip "no python3 with $1"
}

parity() {
	timeout -s KILL 300 "$py" "$tests/twins/gymnasium-parity.py" "$@"
}

@test "twins written only from the rules compute the same values, bit for bit" {
	python_with numpy
	run -0 parity --against env_twins --steps 5000 --seeds 0,1,4294967295,4294967296
	[ "$(grep -c '^ok' <<<"$output")" -eq 24 ]
	[[ $output != *SKIP* ]]
}

@test "the comparison detects a twin that computes squares as products, by the last bit of a cost" {
	python_with numpy
	sed 's/math.pow(\([a-z.]*\), 2)/\1 * \1/' "$tests/twins/env_twins.py" >off.py
	PYTHONPATH=. run -1 parity --against off --env Pendulum-v1 --seeds 0
	[[ $output == *"not ok 1 "*"step "*": reward" ]]
}

@test "the comparison detects a twin that keeps the car in doubles" {
	python_with numpy
	sed '/self.p, self.v = f32/d' "$tests/twins/env_twins.py" >off.py
	PYTHONPATH=. run -1 parity --against off --env MountainCarContinuous-v0 --seeds 0 --steps 100
	[[ $output == *"not ok 1 "*"step "*": observation"* ]]
}

@test "Acrobot begins with the sines that numpy computes for floats, not with rounded doubles" {
	python_with numpy
	begin() { parity --env Acrobot-v1 --steps 1 --seeds 835,1506,2823,3092 "$@"; }
	run -0 begin --against env_twins
	sed 's/np\.\(cos\|sin\)(/math.\1(/g' "$tests/twins/env_twins.py" >off.py
	PYTHONPATH=. run -1 begin --against off
	[ "$(grep -c 'step reset: observation' <<<"$output")" -eq 4 ]
}

@test "the script finds no difference in the recorded steps of Gymnasium" {
	py=python3
	cp "$tests/twins/gym_replay.py" gymnasium.py
	export PYTHONPATH=. GYM_TRACES=$tests/data/gym-traces.csv
	run -0 parity --random --steps 300 --seeds 0,7 --env CartPole-v1 --env MountainCar-v0 \
		--env MountainCarContinuous-v0 --env Acrobot-v1 --env Pendulum-v1
	[ "$(grep -c '^ok' <<<"$output")" -eq 10 ]
	[[ $output != *SKIP* ]]
}

@test "the script finds one wrong bit at any position" {
	py=python3
	cp "$tests/twins/gym_replay.py" gymnasium.py
	export PYTHONPATH=. GYM_TRACES=$PWD/wrong.csv
	wrong() {		# REGEX TEXT POSITION: replace REGEX by TEXT in a row of Pendulum-v1
		sed "/^Pendulum-v1,7,150,/s/$1/$2/" "$tests/data/gym-traces.csv" >wrong.csv
		run -1 cmp -s wrong.csv "$tests/data/gym-traces.csv"
		run -1 parity --random --steps 300 --seeds 0,7 --env Pendulum-v1
		[[ $output == *"ok 1 - "*"not ok 2 - "*"step 150: $3" ]]
	}
	wrong 9b47c067fp 9b47c067ep reward
	wrong 0x1.256e8c0 0x1.256e8e0 observation
	wrong ',0,0,' ',1,0,' terminated
	wrong ',0,0,' ',0,1,' truncated
}

@test "the script drives MinAtar with its own random state and actions" {
	python_with numpy
	cat >minatar.py <<-'END'
	import numpy, env_twins
	class Environment:
	    def __init__(self, name):
	        assert name == "breakout"
	        self.random, self.env = numpy.random.RandomState(99), self
	        self.twin, self.last_action = env_twins.Breakout(), 3
	    def reset(self):
	        self.twin.random = self.random
	        self.twin.reset()
	    def act(self, action):
	        self.twin.sticky = {0: 0, 1: 1, 3: 2}[self.last_action]
	        _, reward, over, _, _ = self.twin.step({0: 0, 1: 1, 3: 2}[action])
	        self.last_action = (0, 1, 3)[self.twin.sticky]
	        return int(reward), over
	    def state(self):
	        return numpy.array(self.twin.seen()).reshape(10, 10, 4) > 0
	END
	PYTHONPATH=.:$tests/twins run -0 parity --env MinAtar/Breakout-v1 --seeds 0,1,$((7 << 32)) --steps 1000
	[[ $output != *SKIP* ]]
}

@test "a seed has 64 bits; the script names any other seed and exits with status 2" {
	python_with numpy
	run -0 parity --against env_twins --steps 100 --seeds 18446744073709551615
	for bad in -1 18446744073709551616 one 1,; do
		run -2 parity --against env_twins --steps 100 --seeds="$bad"
		[[ ${lines[-1]} == "gymnasium-parity.py: error: argument --seeds: not of 64 bits: '${bad#1,}'" ]]
	done
}

@test "the parity test skips modules that are not installed, and says why" {
	py=python3
	for module in gymnasium minatar; do
		echo 'raise ImportError("not on this shelf")' >$module.py
	done
	PYTHONPATH=. run -0 parity --seeds 0
	[ "$(grep -c 'SKIP not on this shelf' <<<"$output")" -eq 6 ]
}

@test "Gymnasium itself computes the same values, bit for bit" {
	python_with gymnasium
	run -0 parity --steps 5000
}
