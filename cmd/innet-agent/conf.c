/* conf.c - read the command line of innet-agent */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/env/kinds.h"
#include "cmd/innet-agent/algo/algorithms.h"
#include "cmd/innet-agent/conf.h"
#include "cmd/innet-agent/hyperparameter-options.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/opt.h"
#include "common/net/password.h"
#include "common/wire/stream.h"

static const struct opt opts[] = {
	{ O_ENV, "env", "NAME", "environment to play (default cartpole)" },
	{ O_ALGO, "algo", "NAME",
	    "learning algorithm: a2c (default), ppo, dqn or ddpg" },
	{ O_ALONE, "alone", NULL, "train without a gradient stream" },
	{ O_EVAL, "eval", "FILE",
	    "play a saved policy, always with the most likely action" },
	{ O_SEED, "seed", "N", "seed of the random numbers (default 1)" },
	{ O_INIT_SEED, "init-seed", "N",
	    "seed of the initial weights (default: the value of --seed)" },
	{ O_STEPS, "steps", "N",
	    "end after N steps in all environments together" },
	{ O_EPISODES, "episodes", "N", "end after N episodes" },
	{ O_SOLVE, "solve", NULL, "end when the environment is solved" },
	{ O_LOG, "log", "FILE",
	    "write a CSV file with a row for each episode" },
	{ O_SAVE, "save", "FILE", "write the policy to this file at the end" },
	{ O_SAVE_EVERY, "save-every", "N",
	    "every N updates, write a checkpoint to the file of --save" },
	{ O_LOAD, "load", "FILE", "continue from a checkpoint" },
	{ O_REPORT, "report", "FILE",
	    "write a JSON object to this file at the end" },
	{ O_SEND, "send", "WHAT",
	    "vectors to send: gradients (default) or deltas" },
	{ O_VECTOR, "vector", "VECTOR",
	    "pad each vector with zeros to this size" },
	{ O_INTERVAL, "interval", "TIME",
	    "send at most one vector per TIME" },
	{ O_COMPUTE, "compute", "TIME",
	    "spend at least TIME on each gradient" },
	{ O_GIVE_UP, "give-up", "TIME",
	    "fail if no result arrives within this time (default 60s)" },
	{ O_OPTIMIZER, "optimizer", "NAME",
	    "optimizer of the agent: adam (default) or sgd" },
	{ O_RATE, "learning-rate", "X", "learning rate of the optimizer" },
	{ O_HIDDEN, "hidden", "N", "width of the two hidden layers" },
	{ O_ENVS, "envs", "N",
	    "a2c, ppo: number of environments in parallel" },
	{ O_HORIZON, "horizon", "N",
	    "learn after every N steps of each environment" },
	{ O_EPOCHS, "epochs", "N",
	    "ppo: number of passes over the collected steps" },
	{ O_BATCH, "batch", "N",
	    "ppo, dqn, ddpg: compute each gradient from N steps" },
	{ O_CLIP, "clip", "X", "ppo: clipping range of the probability ratio" },
	{ O_GAMMA, "gamma", "X", "discount factor of rewards" },
	{ O_LAMBDA, "lambda", "X",
	    "a2c, ppo: decay of generalized advantage estimates" },
	{ O_ENTROPY, "entropy", "X",
	    "a2c, ppo: weight of the policy's entropy in the objective" },
	{ O_NORM, "norm", "X", "maximum norm of a gradient (0: no limit)" },
	{ O_SCALE, "reward-scale", "X",
	    "multiply rewards by this factor before learning from them" },
	{ O_BUFFER, "buffer", "N",
	    "dqn, ddpg: number of steps that the replay memory keeps" },
	{ O_REPLAY, "replay", "HOW",
	    "dqn, ddpg: method of drawing experiences: uniform (default) or "
	    "per (by priority)" },
	{ O_ALPHA, "alpha", "X",
	    "with --replay per: exponent of the priorities" },
	{ O_BETA, "beta", "X",
	    "with --replay per: initial exponent of the importance weights" },
	{ O_ANNEAL, "anneal", "N",
	    "with --replay per: number of gradients over which the exponent "
	    "of --beta rises to 1" },
	{ O_WARMUP, "warmup", "N",
	    "dqn, ddpg: number of steps before the first gradient" },
	{ O_NSTEP, "n-step", "N",
	    "dqn, ddpg: number of rewards in an n-step return" },
	{ O_TARGET, "target", "N",
	    "dqn, ddpg: copy the weights to the target network every N "
	    "gradients" },
	{ O_TAU, "tau", "X",
	    "dqn, ddpg: share by which the target network follows the online "
	    "network at each gradient" },
	{ O_EXPLORE, "explore", "X",
	    "dqn: minimum probability of a random action; ddpg: standard "
	    "deviation of the noise" },
	{ O_EXPLORE_STEPS, "explore-steps", "N",
	    "dqn: number of steps over which the probability of a random "
	    "action falls from 1 to --explore" },
	{ O_DOUBLE, "double", "YESNO",
	    "dqn: use double Q-learning: yes (default) or no" },
	{ O_LAGGED, "lagged-critic", "YESNO",
	    "ddpg: train the actor with the critic as it was before the "
	    "critic's own gradient: yes (default) or no" },
	{ O_DUELING, "dueling", "YESNO",
	    "dqn: use a dueling network, which computes a value and "
	    "advantages: yes or no (default)" },
	{ O_ROLE, "role", "WHICH",
	    "role of this agent: worker (default), actor (Ape-X) or learner "
	    "(Ape-X)" },
	{ O_MEMORY, "replay-memory", "ADDRS",
	    "addresses of innet-memory servers, separated by commas: HOST:PORT "
	    "or the path of a socket" },
	{ O_REDIS, "redis", "ADDR",
	    "address of a plain Redis server, which stores the experiences in "
	    "a list" },
	{ O_PASSWORD, "password-file", "FILE",
	    "file whose first line is the server's password" },
	{ O_ACTOR, "actor", "I/N",
	    "actor: number I of this actor, counted from 0, and total number "
	    "N of actors (default 0/1)" },
	{ O_PUSH, "push", "N",
	    "actor: number of experiences in each push (default 50)" },
	{ O_PULL, "pull", "N",
	    "actor: look for newer parameters every N steps (default 50)" },
	{ O_PUBLISH, "publish", "N",
	    "learner: publish the parameters every N gradients (default 10)" },
	{ O_GRADIENTS, "gradients", "N", "learner: end after N gradients" },
	{ O_RATIO, "ratio", "LO:HI",
	    "learner: lower and upper limit on the number of draws per "
	    "experience" },
	{ O_CLEAR, "clear", NULL,
	    "learner: first remove the data of an earlier learner" },
	{ O_NO_PREFETCH, "no-prefetch", NULL,
	    "learner: draw each batch only after learning from the previous "
	    "batch" },
	{ O_BATCHES, "batches", "N",
	    "learner: number of batches to draw in one exchange (default 1)" },
	{ O_REALTIME, "realtime", NULL,
	    "actor: exchange data with the memory at real-time priority" },
	{ O_REALTIME, "urgent",    NULL,   NULL },
	{ O_EXPERIENCE, "experience", "SIZE",
	    "pad each experience with zeros to this size" },
	{ O_JSON, "json", NULL, "print JSON objects, one on each line" },
	{ 'q', "quiet", NULL,
	    "print no progress and no summary on standard error" },
	{ 'v', "verbose", NULL, "print more on standard error" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	.name = "innet-agent",
	.version = PACKAGE_VERSION,
	.usage = "[--alone | --eval=FILE] [--env=NAME] [--algo=NAME] ...",
	.about = "Train an agent alone, or as a child of innet-worker, which "
	    "exchanges gradients\nwith it over standard input and output.",
	.opts = opts,
};

/*
 * Parse optarg as a whole number from lo to hi.  In messages, `what` is its
 * name.
 */
static uint64_t
parse_count(const char *what, uint64_t lo, uint64_t hi)
{
	uint64_t n = 0;

	opt_check(what, optarg, num_u64(optarg, lo, hi, &n));
	return n;
}

static uint64_t
parse_span(const char *what)
{
	uint64_t ns = 0;

	opt_check(what, optarg, num_time(optarg, 1, 86400000000000, &ns));
	return ns;
}

static uint64_t
parse_size(const char *what)
{
	uint64_t bytes = 0;

	opt_check(what, optarg, num_bytes(optarg, 4,
	    (uint64_t)STREAM_ELEMENTS_MAX * 4, &bytes));
	return bytes;
}

static const char *
option_name(int ch)
{
	const struct opt *o = opts;

	while (o->ch != ch)
		o++;
	return o->name;
}

/*
 * Return the default algorithm for a part of Ape-X: the first algorithm with a
 * replay memory that can learn the environment.
 */
static const struct algo *
default_replay_algorithm(const struct env_kind *env)
{
	const struct algo *fits = NULL;

	for (size_t i = 0; algo_all[i] != NULL; i++) {
		if (algo_all[i]->prioritize != NULL && (fits == NULL ||
		    algo_unfit(fits, env) != NULL))
			fits = algo_all[i];
	}
	return fits;
}

static void
check_remote(struct conf *cf)
{
	const struct remote *rm = &cf->remote;

	if (rm->role == ROLE_WORKER && rm->password != NULL)
		errx(2, "--password-file needs --role actor or --role learner");
	if (rm->role == ROLE_WORKER && rm->clear)
		errx(2, "--clear needs --role learner");
	if (rm->role != ROLE_ACTOR && rm->realtime)
		errx(2, "--realtime needs --role actor");
	if (rm->role == ROLE_WORKER && rm->batches > 1)
		errx(2, "--batches needs --role learner");
	if (rm->role == ROLE_WORKER && rm->servers != 0)
		errx(2, "--replay-memory and --redis need --role actor or "
		    "--role learner");
	if (rm->role == ROLE_WORKER)
		return;
	if (rm->servers == 0)
		errx(2, "--role needs --replay-memory or --redis, the server "
		    "that stores the experiences");
	if (cf->algo->prioritize == NULL)
		errx(2, "--role cannot be used with --algo %s; use --algo dqn "
		    "or ddpg",
		    cf->algo->name);
	if (cf->hyper.batch * rm->batches > SHARDS_DRAW_MAX)
		errx(2, "--batch times --batches can be at most %d with --role",
		    SHARDS_DRAW_MAX);
	if (cf->alone || cf->eval != NULL || cf->deltas ||
	    cf->interval_ns != 0 || cf->compute_ns != 0)
		errx(2, "--role cannot be used with --alone, --eval, --send, "
		    "--interval or --compute");
	if (rm->role == ROLE_ACTOR && (cf->solve || cf->save != NULL ||
	    cf->load != NULL || rm->clear))
		errx(2, "--role actor cannot be used with --solve, --save, "
		    "--load or --clear, which are options of the learner");
	if (rm->redis && (rm->lo > 0 || rm->hi > 0))
		errx(2, "--ratio needs --replay-memory; the list of --redis "
		    "has no such limits");
	if (rm->batches > 1 && (rm->redis || rm->role == ROLE_ACTOR))
		errx(2, "--batches needs --replay-memory and --role learner");
}

/* Check the options for checkpoints. */
static void
check_checkpoints(const struct conf *cf)
{
	if (cf->save_every != 0 && cf->save == NULL)
		errx(2, "--save-every needs --save");
	if (cf->save_every == 0 && cf->load == NULL)
		return;
	if (cf->eval != NULL)
		errx(2, "--save-every and --load cannot be used with --eval");
	if (cf->remote.role == ROLE_LEARNER)
		return;
	if (cf->algo->prioritize != NULL)
		errx(2, "--save-every and --load cannot be used with --algo "
		    "%s, because a checkpoint would contain all experiences; "
		    "give --role learner, or use --algo a2c or ppo",
		    cf->algo->name);
	if (cf->env->opaque)
		errx(2, "--save-every and --load cannot be used with %s, "
		    "because Box2D cannot save its state", cf->env->name);
}

/* Choose defaults, and exit with status 2 if options contradict each other. */
static void
check_conf(struct conf *cf, const struct hyperparameter_options *g)
{
	const char *why;

	if (cf->algo == NULL)
		cf->algo = cf->remote.role == ROLE_WORKER ? algo_all[0] :
		    default_replay_algorithm(cf->env);
	why = algo_unfit(cf->algo, cf->env);
	if (why != NULL && cf->eval == NULL)
		errx(2, "%s cannot learn %s: %s", cf->algo->name,
		    cf->env->name, why);
	hyperparameter_options_apply(g, cf->algo, cf->env, &cf->hyper);
	cf->buffer_given = hyperparameter_options_given(g, O_BUFFER);
	cf->alpha_given = hyperparameter_options_given(g, O_ALPHA);
	if (cf->hyper.by_priority == 0 &&
	    (hyperparameter_options_given(g, O_ALPHA) ||
		hyperparameter_options_given(g, O_BETA) ||
		hyperparameter_options_given(g, O_ANNEAL)))
		errx(2, "--alpha, --beta and --anneal need --replay per");
	if (strcmp(cf->algo->name, "ddpg") == 0 && cf->hyper.lagged == 0 &&
	    ((!cf->alone && !cf->deltas && cf->remote.role == ROLE_WORKER) ||
	    cf->hyper.norm != 0))
		errx(2, "'--lagged-critic no' needs --norm 0, and one of "
		    "--alone, --send deltas and --role learner");
	if (hyperparameter_options_given(g, O_TARGET) && cf->hyper.tau != 0)
		errx(2, "--target needs --tau 0; with --tau %g the target "
		    "network moves at every gradient", cf->hyper.tau);
	if (cf->algo->check != NULL)
		cf->algo->check(&cf->hyper);
	if (cf->eval != NULL && (cf->alone || cf->save != NULL ||
	    cf->report != NULL || cf->log != NULL || cf->solve ||
	    cf->steps != 0))
		errx(2, "--eval only plays and cannot be used with --alone, "
		    "--save, --report, --log, --solve or --steps");
	if (cf->alone && (cf->deltas || cf->elements != 0))
		errx(2, "--send and --vector need a gradient stream and cannot "
		    "be used with --alone");
	check_remote(cf);
	check_checkpoints(cf);
	if (cf->alone && !cf->solve && cf->steps == 0 && cf->episodes == 0) {
		cf->solve = true;
		cf->steps = 1000000;
	}
	if (cf->solve && cf->env->solved == INFINITY)
		errx(2, "--solve: no reward is defined at which %s is solved; "
		    "give --steps or --episodes", cf->env->name);
}

/* Check that no file would overwrite another one. */
static void
check_files(struct conf *cf, bool json)
{
	struct files f = { 0 };

	if (!cf->alone && cf->eval == NULL && cf->remote.role == ROLE_WORKER)
		files_out(&f, "the gradient stream", "-");
	files_in(&f, "--eval", cf->eval);
	files_in(&f, "--password-file", cf->remote.password_file);
	files_out(&f, "--log", cf->log);
	files_out(&f, "--save", cf->save);
	if (cf->save_every == 0 || cf->load == NULL ||
	    strcmp(cf->save, cf->load) != 0)
		files_in(&f, "--load", cf->load);
	files_out(&f, "--report", cf->report);
	if (json)
		cf->json = files_json(&f);
	files_done(&f);
}

/*
 * Parse "3/8": the number of this actor, counted from 0, and the number of
 * actors.
 */
static void
parse_actor(struct remote *rm)
{
	char *slash = strchr(optarg, '/');
	const char *why = "give I/N, for example 0/8";

	if (slash != NULL) {
		*slash = '\0';
		why = num_u64(slash + 1, 1, 4096, &rm->actors);
		if (why == NULL)
			why = num_u64(optarg, 0, rm->actors - 1, &rm->index);
		*slash = '/';
	}
	opt_check("actor", optarg, why);
}

/* Parse "4:8", the two bounds of the ratio, or one number for both. */
static void
parse_ratio(struct remote *rm)
{
	char *colon = strchr(optarg, ':');
	const char *why;

	if (colon != NULL)
		*colon = '\0';
	why = num_real(optarg, 0, 1e6, &rm->lo);
	rm->hi = rm->lo;
	if (colon != NULL) {
		*colon = ':';
		if (why == NULL)
			why = num_real(colon + 1, 0, 1e6, &rm->hi);
	}
	if (why == NULL && rm->hi != 0 && rm->hi < rm->lo)
		why = "the second number is below the first";
	opt_check("ratio", optarg, why);
}

/* Split "HOST:PORT,HOST:PORT" in place.  With --redis there is one address. */
static void
parse_servers(struct remote *rm)
{
	char *at = optarg, *comma;

	do {
		comma = rm->redis ? NULL : strchr(at, ',');
		if (comma != NULL)
			*comma = '\0';
		if (*at == '\0')
			errx(2, "--replay-memory: an address is missing");
		if (rm->servers == SHARDS_MAX)
			errx(2, "--replay-memory: at most %d servers can be "
			    "given",
			    SHARDS_MAX);
		rm->at[rm->servers++] = at;
		at = comma + 1;
	} while (comma != NULL);
}

/*
 * Process option ch and return true if it is an option of Ape-X; otherwise
 * return false.
 */
static bool
parse_remote_option(int ch, struct remote *rm)
{
	static const char *const roles[] = { "worker", "actor", "learner",
	    NULL };

	switch (ch) {
	case O_ROLE:
		rm->role = (enum role)opt_word("role", optarg, roles);
		return true;
	case O_MEMORY:
	case O_REDIS:
		if (rm->servers != 0)
			errx(2, "give either --replay-memory or --redis, and "
			    "only once");
		rm->redis = ch == O_REDIS;
		parse_servers(rm);
		return true;
	case O_PASSWORD:
		free(rm->password);
		rm->password_file = optarg;
		rm->password = password_read(optarg);
		return true;
	case O_ACTOR: parse_actor(rm); return true;
	case O_PUSH: rm->push = parse_count("push", 1, 65536); return true;
	case O_PULL: rm->pull = parse_count("pull", 1, UINT64_MAX); return true;
	case O_PUBLISH:
		rm->publish = parse_count("gradients", 1, UINT64_MAX);
		return true;
	case O_GRADIENTS:
		rm->gradients = parse_count("gradients", 1, UINT64_MAX);
		return true;
	case O_RATIO: parse_ratio(rm); return true;
	case O_CLEAR: rm->clear = true; return true;
	case O_NO_PREFETCH: rm->prefetch = false; return true;
	case O_BATCHES:
		rm->batches = parse_count("batches", 1, 1024);
		return true;
	case O_REALTIME: rm->realtime = true; return true;
	case O_EXPERIENCE: rm->experience_bytes = parse_size("experience");
		return true;
	}
	return false;
}

/* Process an option that sets no hyperparameter. */
static void
parse_option(int ch, struct conf *cf)
{
	static const char *const what[] = { "gradients", "deltas", NULL };
	const uint64_t all = UINT64_MAX;

	switch (ch) {
	case O_ALONE: cf->alone = true; break;
	case O_ALGO:
		cf->algo = algo_all[opt_word("algorithm", optarg,
		    algo_names())];
		break;
	case O_ENV:
		cf->env = env_kinds[opt_word("environment", optarg,
		    env_names())];
		break;
	case O_OPTIMIZER:
		cf->rule = (enum optimizer_rule)opt_word("optimizer", optarg,
		    optimizer_names);
		break;
	case O_EPISODES: cf->episodes = parse_count("episodes", 1, all); break;
	case O_STEPS: cf->steps = parse_count("steps", 1, all); break;
	case O_SEED: cf->seed = parse_count("seed", 0, all); break;
	case O_INIT_SEED:
		cf->init_seed = parse_count("seed", 0, all);
		cf->init = true;
		break;
	case O_INTERVAL: cf->interval_ns = parse_span("interval"); break;
	case O_COMPUTE: cf->compute_ns = parse_span("time to compute"); break;
	case O_GIVE_UP: cf->timeout_ns = parse_span("time-out"); break;
	case O_SEND: cf->deltas = opt_word("what to send", optarg, what) == 1;
		break;
	case O_VECTOR:
		opt_check("vector", optarg, num_vector(optarg, 1,
		    STREAM_ELEMENTS_MAX, &cf->elements));
		break;
	case O_EVAL: cf->eval = optarg; break;
	case O_LOG: cf->log = optarg; break;
	case O_SAVE: cf->save = optarg; break;
	case O_SAVE_EVERY:
		cf->save_every = parse_count("updates", 1, all);
		break;
	case O_LOAD: cf->load = optarg; break;
	case O_REPORT: cf->report = optarg; break;
	case O_SOLVE: cf->solve = true; break;
	case 'q': cf->quiet = true; break;
	case 'v': cf->verbose = true; break;
	}
}

struct conf
conf_parse(int argc, char *argv[])
{
	struct conf cf = {
		.env = env_kinds[0], .seed = 1,
		.timeout_ns = 60000000000,
		.remote = { .actors = 1, .push = 50, .pull = 50,
		    .publish = 10, .prefetch = true, .batches = 1 },
	};
	struct hyperparameter_options g = { 0 };
	bool json = false;
	int ch;

	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		json |= ch == O_JSON;
		if (!hyperparameter_options_take(&g, ch, option_name(ch)) &&
		    !parse_remote_option(ch, &cf.remote))
			parse_option(ch, &cf);
	}
	opt_done(&tool, argc, argv);
	check_conf(&cf, &g);
	check_files(&cf, json);
	return cf;
}
