/*
 * save.h - write a checkpoint file, which is either complete or does not exist
 *
 * Numbers are little-endian, and floats follow IEEE 754.  "[n]" is a repeat
 * count.  "bytes" is a u64 length, followed by as many bytes.
 *
 *	file	= "INNETMEM" version:u32 (2) record... end
 *	end	= 'E' crc:u32	CRC-32C of all bytes before it, including 'E'
 *	record	= clock | string | list | expiry | table
 *	clock	= 'V' u64	version of the latest change
 *	string	= 'S' key:bytes version:u64 value:bytes
 *	list	= 'L' key:bytes version:u64 n:u64 element:bytes[n]
 *	expiry	= 'X' u64	wall-clock time in ms at which the key before
 *		it expires
 *	table	= 'T' name:bytes settings counters frames items holes
 *
 * The parts of a table, in this order:
 *
 *	settings	capacity:u64 alpha:f64 selector:u32 (0 per, 1 uniform,
 *		2 fifo, 3 lifo) times:u32 lo:f64 hi:f64 slack:u64 bytes of a
 *		frame:u64 stack:u32 (0: no frames)
 *	counters	inserted, sampled, updated, stale, evicted, removed,
 *		worn:u64 slot to fill next:u32 newest generation:u32 highest
 *		priority:f32
 *	frames	n:u32, then each frame once, in the order in which the items
 *		first refer to it
 *	items	n:u64, oldest first: id:u64 priority:f32 times sampled:u32,
 *		2 * stack numbers of frames:u32, tail:bytes; times sampled is
 *		0 in a table without a limit of samples
 *	holes	in a lifo table only, so that the next ids are the same:
 *		n:u32, then the generation:u32 of each of the first n slots;
 *		a file of version 1 has none
 *
 * The file is written under its name with .tmp appended.  It is then synced and
 * renamed, and its directory is synced.
 */
#ifndef INNET_MEMORY_STORE_SAVE_H
#define INNET_MEMORY_STORE_SAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/writer.h"

#define SAVE_MAGIC "INNETMEM"
enum { SAVE_VERSION = 2, SAVE_MAGIC_BYTES = 8, SAVE_HEAD_BYTES = 12 };

void save_clock(struct writer *w, uint64_t version);
void save_string(struct writer *w, const void *key, size_t key_len,
    uint64_t version, const void *value, size_t len);
/*
 * Save the expiry time of the key that was saved last.  Call this after all
 * elements of the key.
 */
void save_expiry(struct writer *w, uint64_t at_ms);
/*
 * Save the head of a list.  The caller must then write n elements with
 * writer_put_counted().
 */
void save_list(struct writer *w, const void *key, size_t key_len,
    uint64_t version, uint64_t n);

/*
 * Write a checkpoint to fd, or into the file at path; fill() writes its
 * records.  If path is a symbolic link, the file replaces the link.  Return 0,
 * or an errno value; after an error, the old file at path still exists.
 */
int save_to(int fd, void (*fill)(struct writer *w, void *arg), void *arg);
int save_file(const char *path, void (*fill)(struct writer *w, void *arg),
    void *arg);

#endif
