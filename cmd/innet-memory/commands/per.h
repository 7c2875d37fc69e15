/*
 * per.h - the PER commands, and functions that they share
 *
 * A request is read and checked as a whole before it changes anything.  Errors
 * name the argument and the reason.  If a function in this file returns false
 * or NULL, it has already replied with the error.
 */
#ifndef INNET_MEMORY_COMMANDS_PER_H
#define INNET_MEMORY_COMMANDS_PER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/server/command.h"
#include "cmd/innet-memory/commands/per-host.h"
#include "cmd/innet-memory/store/table.h"
#include "common/replay/shards.h"

/* The table of the PER commands.  Its last row has no name. */
extern const struct command per_commands[];

void per_add(struct client *c, const struct resp_args *a);
void per_create(struct client *c, const struct resp_args *a);
void per_drop(struct client *c, const struct resp_args *a);
void per_dump(struct client *c, const struct resp_args *a);
void per_frames(struct client *c, const struct resp_args *a);
void per_info(struct client *c, const struct resp_args *a);
void per_limit(struct client *c, const struct resp_args *a);
void per_remove(struct client *c, const struct resp_args *a);
void per_sample(struct client *c, const struct resp_args *a);
void per_sample_ro(struct client *c, const struct resp_args *a);
void per_update(struct client *c, const struct resp_args *a);

enum {
	PER_SHOWN_BYTES = 36,
	/*
	 * Largest number of experiences in a request.  Other clients wait while
	 * the request runs.
	 */
	PER_MOST = SHARDS_DRAW_MAX
};

/*
 * Write the beginning of argument i to buf for an error message, and return
 * buf.
 */
const char *per_print_arg(const struct resp_args *a, size_t i,
    char buf[PER_SHOWN_BYTES]);

/* Return the table that argument 1 names, or NULL. */
struct table *per_find_table(struct client *c, const struct resp_args *a);

/*
 * Return the index of argument i in `words`, a list that ends with NULL, or
 * PER_NO_WORD.
 */
enum { PER_NO_WORD = -1 };
int per_find_word(const struct resp_args *a, size_t i,
    const char *const *words);

/*
 * Check that the word in argument i is given for the first time.  seen[] has an
 * element for each word, and all elements are 0 at first.
 */
bool per_check_once(struct client *c, const char *const *words, int word,
    size_t i, size_t *seen);

/* Reply that argument i is not a valid word. */
void per_reply_no_word(struct client *c, const struct resp_args *a, size_t i);

/*
 * Read argument i as a number from lo to hi.  `what` names the argument in
 * errors.
 */
bool per_read_whole(struct client *c, const struct resp_args *a, size_t i,
    const char *what, uint64_t lo, uint64_t hi, uint64_t *out);
bool per_read_real(struct client *c, const struct resp_args *a, size_t i,
    const char *what, double lo, double hi, double *out);

/* Return true if a request may have n experiences. */
bool per_check_count(struct client *c, size_t n);

/*
 * Read a priority, a 32-bit number of 0 or more.  If max is true, accept the
 * word "max", for which *out is -1.
 */
bool per_read_priority(struct client *c, const struct resp_args *a, size_t i,
    bool max, float *out);

/* Read the two ratios in arguments i and i + 1. */
bool per_read_ratio(struct client *c, const struct resp_args *a, size_t i,
    struct sample_ratio *out);

/*
 * Call attempt(), which either replies and returns true, or sets *timeout_ms
 * and returns false.  If it returns false, the request waits for up to
 * *timeout_ms, and retry() tries the request again.  If `late` is true,
 * attempt() must reply.
 */
typedef bool per_attempt(struct client *c, const struct resp_args *a,
    uint64_t *timeout_ms, bool late);
void per_answer_or_wait(struct client *c, const struct resp_args *a,
    per_attempt *attempt, host_retry *retry);

#endif
