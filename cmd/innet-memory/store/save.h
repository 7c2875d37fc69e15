/*
 * save.h - write a checkpoint: a file that is there whole or not at all
 *
 * Numbers are little-endian, floats as IEEE 754 has them, [n] is a count of
 * bytes, and "bytes" is a u64 count and as many bytes.
 *
 *	file	= "INNETMEM" version:u32 (2) record... end
 *	end	= 'E' crc:u32	CRC-32C of all that stands before it, 'E' too
 *	record	= clock | string | list | expiry | table
 *	clock	= 'V' u64	the last version given to a change
 *	string	= 'S' key:bytes version:u64 value:bytes
 *	list	= 'L' key:bytes version:u64 n:u64 element:bytes[n]
 *	expiry	= 'X' u64	when the key before it expires, ms of the
 *		wall clock
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
 *	frames	n:u32, then each frame, once; in the order in which the items
 *		first refer to them
 *	items	n:u64, oldest first: id:u64 priority:f32 times sampled:u32,
 *		2 * stack numbers of frames:u32, tail:bytes; times are 0 in a
 *		table where nothing wears out
 *	holes	of a lifo table only, so that ids to come are those that would
 *		have come: n:u32, then the generation:u32 of each of the first
 *		n slots; a file of version 1 has none
 *
 * The file is written under its name with .tmp at the end, synced, and renamed;
 * then its folder is synced.
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
/* Of the key that was saved last, elements and all. */
void save_expiry(struct writer *w, uint64_t at_ms);
/* Then as many elements by writer_put_counted(). */
void save_list(struct writer *w, const void *key, size_t key_len,
    uint64_t version, uint64_t n);

/*
 * Everything between the head and the end is fill's; onto fd, or into the
 * file at path, where a symbolic link is replaced.  0, or an errno, and then
 * what stood at path still does.
 */
int save_to(int fd, void (*fill)(struct writer *w, void *arg), void *arg);
int save_file(const char *path, void (*fill)(struct writer *w, void *arg),
    void *arg);

#endif
