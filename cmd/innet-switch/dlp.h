/*
 * dlp.h - a DLP session in captures: workers' packets in, answers out
 *
 * DLP is recognised by its port alone.  Packets to it are input, packets from
 * it are skipped, all else passes as it came.
 */
#ifndef INNET_SWITCH_DLP_H
#define INNET_SWITCH_DLP_H

#include <stddef.h>
#include <stdint.h>

#include "common/account.h"
#include "common/dlpjob.h"
#include "common/judge.h"
#include "common/pcapio.h"

#include "cmd/innet-switch/feed.h"

struct dlp_conf {
	struct dlpjob_conf job;
	uint16_t port;			/* of the aggregator */
};

struct dlp_passed {
	struct dlpjob job;
	uint64_t packets;		/* read */
	uint64_t regular, own;		/* passed, skipped */
	uint64_t time_backwards;
	uint64_t ignored[JUDGE_VERDICTS];	/* before the job saw them */
};

/*
 * Run n open captures through the job into out, or nowhere if it is NULL.
 * The exit status, 0 or 1; what was wrong has been said.
 */
int dlp_filter(const struct dlp_conf *cf, const struct feed_conf *feed,
    struct dlp_passed *passed, struct pcapio_in *in, size_t n,
    struct pcapio_out *out);

/* Everything that was counted, by name. */
void dlp_account(const struct dlp_passed *passed, struct account *a);

#endif
