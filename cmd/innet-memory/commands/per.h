/*
 * per.h - the PER commands, and what they share
 *
 * A request is read and found good as a whole before anything changes.  What
 * is wrong is answered with the argument and why; the functions below that
 * return false have done so.
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

/* Their rows; the last one has no name. */
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
	PER_MOST = SHARDS_DRAW_MAX	/* experiences of a request: others
				   wait meanwhile */
};

/* Argument i as it is shown in an error: its beginning, made printable. */
const char *per_print_arg(const struct resp_args *a, size_t i,
    char buf[PER_SHOWN_BYTES]);

/* The table that argument 1 names; NULL: there is none, which was said. */
struct table *per_find_table(struct client *c, const struct resp_args *a);

/* Which of the words, with NULL at the end, argument i is, in any case. */
enum { PER_NO_WORD = -1 };
int per_find_word(const struct resp_args *a, size_t i,
    const char *const *words);

/*
 * Does that word, argument i, stand for the first time?  seen has a place for
 * each word, all 0 at first.
 */
bool per_check_once(struct client *c, const char *const *words, int word,
    size_t i, size_t *seen);

/* Say that argument i is no word that may stand there. */
void per_reply_no_word(struct client *c, const struct resp_args *a, size_t i);

/* Argument i, which is called what, as a number within lo and hi. */
bool per_read_whole(struct client *c, const struct resp_args *a, size_t i,
    const char *what, uint64_t lo, uint64_t hi, uint64_t *out);
bool per_read_real(struct client *c, const struct resp_args *a, size_t i,
    const char *what, double lo, double hi, double *out);

/* n experiences are not more than a request may have. */
bool per_check_count(struct client *c, size_t n);

/* A priority: 0 or more, in 32 bits; "max", where that may be, is -1. */
bool per_read_priority(struct client *c, const struct resp_args *a, size_t i,
    bool max, float *out);

/* lo and hi from argument i on; at may be "" or tell what they are of. */
bool per_read_ratio(struct client *c, const struct resp_args *a, size_t i,
    struct sample_ratio *out);

/*
 * Once or until it works: attempt() answers and returns true, or returns
 * false, and then it waits for up to *timeout_ms, which it has set.  Late: it
 * has to answer.
 */
typedef bool per_attempt(struct client *c, const struct resp_args *a,
    uint64_t *timeout_ms, bool late);
void per_answer_or_wait(struct client *c, const struct resp_args *a,
    per_attempt *attempt, host_retry *retry);

#endif
