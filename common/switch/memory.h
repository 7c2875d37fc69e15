/*
 * memory.h - calculate before a switch starts how much memory it will need
 *
 * The plan assumes that every slot contains a frame of the largest size.  The
 * plan also contains the tables for updates and the memory that the program
 * plans to use.  Memory that is allocated later must fit into the rest of the
 * limit that --memory sets.  If packets can wait at ports, a quarter of this
 * rest is for the ports of hosts and for their queues.  The program gets the
 * remainder, because jobs need more memory as workers join.
 */
#ifndef INNET_SWITCH_MEMORY_H
#define INNET_SWITCH_MEMORY_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/columns.h"
#include "common/base/message.h"
#include "common/switch/options.h"

enum {
	PLANE_FRAME_BYTES = 65536,	/* size of the largest datagram */
	PLANE_PORTS_BYTES = 2 * PORTS_TIGHT_BYTES	/* lower bound for the
							 * limit on the memory
							 * of ports, in bytes */
};

/*
 * If --dry-run was given, print the plan and exit.  If --memory is too small,
 * exit with an error.  Otherwise set the limits on the memory that is allocated
 * later.
 */
static inline void plane_check_memory(struct plane_options *o);

/* implementation */

/* Add the memory of the slots of ports with these settings to *slots. */
static inline void
plane_add_slot_memory(const struct port_conf *cf, struct memory_part *slots)
{
	slots->number += cf->slots;
	slots->bytes += cf->slots * (sizeof(struct slot) + PLANE_FRAME_BYTES);
}

/* Return the amount of memory that the slots of all ports need. */
static inline struct memory_part
plane_sum_slot_memory(const struct ports_conf *ports)
{
	struct memory_part slots = { .name = "port slots" };

	if (ports_can_queue(ports))
		plane_add_slot_memory(&ports->all, &slots);
	for (uint32_t i = 0; i < ports->rules; i++)
		plane_add_slot_memory(&ports->rule[i].conf, &slots);
	return slots;
}

/*
 * Write all parts of the plan to the array `part`, which has room for
 * MEMORY_PARTS entries.  Returns the number of parts.
 */
static inline size_t
plane_plan_memory(const struct plane_options *o, struct memory_part *part)
{
	const struct program *pr = o->plane.program;
	const struct memory_part slots = plane_sum_slot_memory(&o->plane.ports);
	size_t n = 0;

	if (slots.number > 0)
		part[n++] = slots;
	if (pr->merges_updates) {
		part[n++] = (struct memory_part){ .name = "clusters",
		    .number = 65536, .bytes = 65536 *
		    (sizeof(struct tally_cluster) + sizeof(struct port_shape) +
		    sizeof(struct active_clusters_node) + sizeof(uint64_t) +
		    sizeof(uint32_t)) };
		part[n++] = (struct memory_part){
		    .name = "destinations of each port",
		    .number = DESTINATIONS_MOST, .grows = true,
		    .unlimited = true, .bytes = port_destination_bytes(65536) };
	}
	return n + (pr->plan_memory == NULL ? 0 : pr->plan_memory(o->settings,
	    part + n));
}

/*
 * Return the number of bytes that are allocated at the start.  If `later` is
 * true, include the bytes that are allocated later.
 */
static inline uint64_t
plane_sum_memory(const struct memory_part *part, size_t n, bool later)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++) {
		if (later || !part[i].grows)
			bytes += part[i].bytes;
	}
	return bytes;
}

/*
 * Print the plan as a table.  `plan` is the total, and `now` is the memory that
 * is allocated at the start, both in bytes.
 */
static inline void
plane_print_memory(const struct memory_part *part, size_t n, uint64_t plan,
    uint64_t now)
{
	struct columns t = { .n = 3, .left = 1 << 2 };

	printf("%.6g MB, of which %.6g MB are taken at the start\n",
	    (double)plan / 1e6, (double)now / 1e6);
	columns_add(&t, "MB");
	columns_add(&t, "number");
	columns_add(&t, "of what");
	for (size_t i = 0; i < n; i++) {
		columns_add(&t, "%.6g", (double)part[i].bytes / 1e6);
		columns_add(&t, "%" PRIu64, part[i].number);
		columns_add(&t, "%s%s", part[i].name, part[i].grows ?
		    ", as they come" : "");
	}
	if (n > 0)
		columns_print(&t, stdout);
	columns_free(&t);
}

/*
 * Return the total number of bytes in the plan, including memory that is
 * allocated later.  For the parts that --memory limits, at most `limit` bytes
 * are counted, unless `limit` is 0.
 */
static inline uint64_t
plane_get_plan(const struct memory_part *part, size_t n, uint64_t limit)
{
	uint64_t limited = 0, unlimited = 0;

	for (size_t i = 0; i < n; i++)
		*(part[i].unlimited ? &unlimited : &limited) += part[i].bytes;
	return (limit > 0 && limited > limit ? limit : limited) + unlimited;
}

/* Print the plan for --dry-run; `limit` is --memory, or 0. */
static inline void
plane_report_memory(const struct memory_part *part, size_t n, uint64_t limit,
    bool json)
{
	const uint64_t now = plane_sum_memory(part, n, false), later =
	    plane_sum_memory(part, n, true), plan =
	    plane_get_plan(part, n, limit);
	struct counters c = counters_begin(COUNTERS_JSON, NULL);

	counters_put(&c, "plan", plan);
	counters_put(&c, "bytes", now);
	counters_put(&c, "later", later);
	counters_in(&c, "parts");
	for (size_t i = 0; i < n; i++) {
		counters_in(&c, part[i].name);
		counters_put(&c, "number", part[i].number);
		counters_put(&c, "bytes", part[i].bytes);
		counters_out(&c);
	}
	counters_out(&c);
	if (counters_text(&c) == NULL)
		err(1, "memory");
	if (json)
		fputs(c.text, stdout);
	else
		plane_print_memory(part, n, plan, now);
	counters_free(&c);
	if (fflush(stdout) == EOF)
		err(1, "standard output");
}

/*
 * Return half of the machine's memory, in bytes.  A live switch uses it as the
 * limit if --memory is not given.
 */
static inline uint64_t
plane_half_of_memory(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES), page =
	    sysconf(_SC_PAGESIZE);

	return pages <= 0 || page <= 0 ? 0 : (uint64_t)pages / 2 *
	    (uint64_t)page;
}

/*
 * Divide the `left` bytes that may be allocated later among the ports and the
 * program.  If `left` is 0, there is no limit.
 */
static inline void
plane_divide_memory(struct plane_options *o, uint64_t left)
{
	struct ports_conf *ports = &o->plane.ports;
	const bool hosts = left > 0 && ports_can_queue(ports);

	ports->memory_bytes = !hosts ? 0 : left / 4 + PLANE_PORTS_BYTES +
	    plane_sum_slot_memory(ports).bytes;
	o->plane.place.memory_bytes = hosts ? left - left / 4 : left;
}

static inline void
plane_check_memory(struct plane_options *o)
{
	struct memory_part part[MEMORY_PARTS];
	const size_t n = plane_plan_memory(o, part);
	const uint64_t need = plane_sum_memory(part, n, false);

	if (o->memory_bytes > 0 && need > o->memory_bytes && o->dry_run)
		errx(1, "--memory: the switch needs %.1f MB at the start, but "
		    "only %.1f MB are allowed; raise --memory",
		    (double)need / 1e6,
		    (double)o->memory_bytes / 1e6);
	if (o->dry_run) {
		plane_report_memory(part, n, o->memory_bytes, o->json);
		exit(0);
	}
	if (o->memory_bytes > 0 && need > o->memory_bytes)
		errx(1, "--slots %" PRIu32 " needs %.1f MB, but only %.1f MB "
		    "are allowed; lower --slots or raise --memory",
		    o->plane.ports.all.slots,
		    (double)need / 1e6, (double)o->memory_bytes / 1e6);
	if (o->memory_bytes > 0)
		plane_divide_memory(o, o->memory_bytes > need ?
		    o->memory_bytes - need : 1);
	else
		plane_divide_memory(o, o->plane.place.live ?
		    plane_half_of_memory() : 0);
}

#endif
