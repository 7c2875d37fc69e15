/*
 * breakout.c - bounce a ball off a paddle to break bricks: MinAtar's Breakout,
 * but only with the three actions that have an effect
 *
 * The board has 10 x 10 fields.  The paddle is in the last row, and at first
 * there are three rows of bricks.  The random events are MinAtar's: with
 * probability 0.1 the previous action is repeated instead of the chosen one,
 * and the ball starts from the left or the right side.  Both events are drawn
 * from numpy's RandomState with the environment's seed.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/innet-agent/env/env.h"
#include "cmd/innet-agent/env/mt19937.h"

/* TOP is the first row of bricks, and ROWS is the number of these rows. */
enum { SIDE = 10, LAST = SIDE - 1, TOP = 1, ROWS = 3 };
enum { PADDLE, BALL, TRAIL, BRICK, CHANNELS };
enum { NONE, LEFT, RIGHT, ACTIONS };

/* The directions of the ball, clockwise, beginning with up and left. */
static const struct {
	int x, y;
} fly[] = { { -1, -1 }, { 1, -1 }, { 1, 1 }, { -1, 1 } };

/*
 * The new direction, indexed by the old direction, after the ball hits a wall
 * beside it, an obstacle above or below it, or a corner.
 */
static const unsigned
	off_side[] = { 1, 0, 3, 2 },
	off_level[] = { 3, 2, 1, 0 },
	off_corner[] = { 2, 3, 0, 1 };

struct breakout {
	struct mt mt;
	unsigned last_action;	/* last action taken; kept across episodes */
	int x, y;		/* position of the ball; the top left field is
				 * 0, 0 */
	int last_x, last_y;	/* position of the ball one step ago */
	unsigned way;		/* direction of the ball, as an index into
				 * `fly` */
	int paddle;		/* column of the paddle */
	uint32_t bricks[ROWS];	/* bit x is set if column x has a brick */
	bool struck;		/* the ball broke a brick, and has touched a
				 * brick in every step since then */
};

static void
open_state(void *state, uint64_t seed)
{
	struct breakout *b = state;

	mt_seed(&b->mt, seed);
}

static void
write_observation(const struct breakout *b, float *obs)
{
	float (*const board)[SIDE][CHANNELS] = (void *)obs;

	memset(obs, 0, sizeof(float[SIDE][SIDE][CHANNELS]));
	board[LAST][b->paddle][PADDLE] = 1;
	board[b->y][b->x][BALL] = 1;
	board[b->last_y][b->last_x][TRAIL] = 1;
	for (int r = 0; r < ROWS; r++) {
		for (int x = 0; x < SIDE; x++)
			board[TOP + r][x][BRICK] = b->bricks[r] >> x & 1;
	}
}

static void
build_wall(struct breakout *b)
{
	for (int r = 0; r < ROWS; r++)
		b->bricks[r] = (1 << SIDE) - 1;
}

static void
reset_episode(void *state, struct rng *rng, float *obs)
{
	struct breakout *b = state;

	(void)rng;		/* all random numbers come from b->mt */
	b->y = b->last_y = 3;
	if ((mt_u32(&b->mt) & 1) == 0) {
		b->x = 0;
		b->way = 2;
	} else {
		b->x = LAST;
		b->way = 3;
	}
	b->last_x = b->x;
	b->paddle = 4;
	b->struck = false;
	build_wall(b);
	write_observation(b, obs);
}

/*
 * Handle a ball that enters the row of the paddle from column b->x.  Reflect
 * the ball, or return false if the ball missed the paddle.
 */
static bool
hit_paddle(struct breakout *b, int x, int *y)
{
	if (b->bricks[0] == 0 && b->bricks[1] == 0 && b->bricks[2] == 0)
		build_wall(b);
	if (b->x == b->paddle)
		b->way = off_level[b->way];
	else if (x == b->paddle)
		b->way = off_corner[b->way];
	else
		return false;
	*y = b->y;
	return true;
}

/* Return whether there is a brick at column x and row y. */
static bool
has_brick(const struct breakout *b, int x, int y)
{
	return y >= TOP && y < TOP + ROWS && (b->bricks[y - TOP] >> x & 1);
}

/* Move the ball one step.  Set *out if the ball is lost.  Return the reward. */
static double
move_ball(struct breakout *b, bool *out)
{
	int x = b->x + fly[b->way].x, y = b->y + fly[b->way].y;
	bool among = false;
	double reward = 0;

	if (x < 0 || x > LAST) {
		x = x < 0 ? 0 : LAST;
		b->way = off_side[b->way];
	}
	if (y < 0) {
		y = 0;
		b->way = off_level[b->way];
	} else if (has_brick(b, x, y)) {
		among = true;
		if (!b->struck) {
			b->struck = true;
			b->bricks[y - TOP] &= ~(1u << x);
			b->way = off_level[b->way];
			y = b->y;
			reward = 1;
		}
	} else if (y == LAST)
		*out = !hit_paddle(b, x, &y);
	if (!among)
		b->struck = false;
	b->last_x = b->x;
	b->last_y = b->y;
	b->x = x;
	b->y = y;
	return reward;
}

static double
take_step(void *state, struct rng *rng, const union env_action *action,
    float *obs, bool *terminated)
{
	struct breakout *b = state;
	double reward;

	(void)rng;
	if (mt_double(&b->mt) >= 0.1)
		b->last_action = action->index;
	if (b->last_action == LEFT && b->paddle > 0)
		b->paddle--;
	else if (b->last_action == RIGHT && b->paddle < LAST)
		b->paddle++;
	*terminated = false;
	reward = move_ball(b, terminated);
	write_observation(b, obs);
	return reward;
}

const struct env_kind env_breakout = {
	.name = "breakout",
	.gym = "MinAtar/Breakout-v1",
	.obs = SIDE * SIDE * CHANNELS,
	.whole = true,
	.actions = ACTIONS,
	.state_bytes = sizeof(struct breakout),
	.solved = INFINITY,	/* there is no agreed reward at which the
				 * environment is solved */
	.begin = open_state,
	.reset = reset_episode,
	.step = take_step,
};
