/*
 * train-dlp.h - workers of a session of DLP, and their switch
 */
#ifndef INNET_SIM_TRAIN_DLP_H
#define INNET_SIM_TRAIN_DLP_H

#include "cmd/innet-sim/training/train.h"

/* Open the state machine of worker w. */
void train_dlp_open(struct train_worker *w, uint64_t now_ns);

/* Set up the program of a switch. */
void train_dlp_set_program(struct train_switch *w);

/* Pass the gradient of worker w, which is ready, to its state machine. */
void train_dlp_gradient(struct train_worker *w, uint64_t now_ns);

/* Handle a datagram that worker w receives. */
void train_dlp_receive(struct sim *s, struct train_worker *w,
    const struct sim_datagram *d);

/* Send all packets that are due; return the time when the next one is due. */
uint64_t train_dlp_send_pending(struct sim *s, struct train_worker *w);

/* Return counters of the switch and the workers; 0 without program dlp. */
uint64_t train_dlp_partial(const struct training *t);
uint64_t train_dlp_left_out(const struct training *t);
uint64_t train_dlp_repeated(const struct training *t);

#endif
