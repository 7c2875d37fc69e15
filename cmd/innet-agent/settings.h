/* settings.h - the numbers that decide how learning goes */
#ifndef INNET_AGENT_SETTINGS_H
#define INNET_AGENT_SETTINGS_H

#include <stdint.h>

struct settings {
	uint64_t envs;		/* environments run side by side */
	uint64_t horizon;	/* steps of each that make a batch */
	uint64_t epochs;	/* passes over the batch */
	uint64_t batch;		/* samples in a gradient */
	double gamma;		/* discount */
	double lambda;		/* of generalised advantage estimation */
	double entropy;		/* weight of the policy's entropy */
	double clip;		/* PPO: how far a ratio may leave 1 */
	double norm;		/* longest gradient in the L2 norm, 0: any */
	double rate;		/* learning rate */
};

#endif
