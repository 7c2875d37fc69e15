/*
 * train-dlp.h - workers of a session of DLP, and their switch
 */
#ifndef INNET_SIM_TRAIN_DLP_H
#define INNET_SIM_TRAIN_DLP_H

#include "cmd/innet-sim/training/train.h"

/* Open the machine of worker w. */
void train_dlp_open(struct train_worker *w, uint64_t now_ns);

/* Set up the program of a switch. */
void train_dlp_set_program(struct train_switch *w);

/* The gradient of worker w is ready. */
void train_dlp_gradient(struct train_worker *w, uint64_t now_ns);

/* Worker w receives a datagram. */
void train_dlp_receive(struct sim *s, struct train_worker *w,
    const struct sim_datagram *d);

/* Send what is due; return when more is. */
uint64_t train_dlp_send_pending(struct sim *s, struct train_worker *w);

/* Return what the switch and the workers counted. */
uint64_t train_dlp_partial(const struct training *t);
uint64_t train_dlp_left_out(const struct training *t);
uint64_t train_dlp_repeated(const struct training *t);

#endif
