/*
 * optimizer-status.h - how a gradient becomes new weights
 *
 * Gradients point up: adding one raises the agent's objective.  There are
 * two ways: an optimiser of our own (optim.h) and the gradient stream
 * (child.h).
 */
#ifndef INNET_AGENT_NET_OPTIMIZER_STATUS_H
#define INNET_AGENT_NET_OPTIMIZER_STATUS_H

enum ascent_result {
	ASCENT_ON,		/* go on with what w holds now */
	ASCENT_END,		/* training is over, in good order */
	ASCENT_FAILED		/* it is over and the message is written */
};

struct ascent {
	/*
	 * Take the gradient computed from w, and the recent mean reward;
	 * leave in w what to go on with.
	 */
	enum ascent_result (*rise)(void *self, float *w, const float *grad,
	    float reward);
	void *self;
};

#endif
