/* sync-place.c - find the place of results in the vector before they arrive */
#include "common/iswitch/sync-worker.h"

#include "cmd/innet-worker/sync-io.h"

/*
 * Find the place of the next results in the vector.  Results arrive in order,
 * so the next results belong to the first gap in the vector.  The place is not
 * used if each result has a tag to check, or if the worker repeats an iteration
 * whose result has already arrived.
 */
bool
sync_io_find_place(void *ctx, struct udp_scatter *l)
{
	struct sync_io *io = ctx;
	const uint32_t t = io->l.t, segs = io->l.segs, floats = io->l.floats;
	uint32_t end;

	if (!io->begun || worker_tags_data(io->cf) || io->l.redo || segs == 0 ||
	    sync_worker_is_whole(&io->l))
		return false;
	if (io->place_t != t)
		io->place = 0;
	io->place_t = t;
	while (io->place < segs &&
	    sync_worker_contributions(&io->l, io->place) != 0)
		io->place++;
	for (end = io->place; end < segs && end < io->place + UDPIO_RUN_MAX &&
	    sync_worker_contributions(&io->l, end) == 0; end++)
		;
	*l = (struct udp_scatter){
		.body = (uint8_t *)(io->result[t & 1] + (size_t)io->place *
		    floats),
		.bytes = 4 * ((end < segs ? (size_t)end * floats :
		    io->elements) - (size_t)io->place * floats),
		.head_bytes = seg_head_bytes(worker_tos(io->cf)),
		.body_bytes = 4 * floats };
	return end > io->place;
}

bool
sync_io_matches_place(void *ctx, const struct udpio_message *m)
{
	const struct sync_io *io = ctx;
	const size_t n = udpio_count_datagrams(m);

	if ((m->tos & 0xfc) != worker_tos(io->cf) ||
	    !addr_same(&m->from, &io->cf->to))
		return false;
	for (size_t k = 0; k < n; k++) {
		const struct seg s = seg_split(bytes_get(udp_scatter_head(m, k),
		    SEG_HEADER_BYTES));

		if (s.iteration != io->l.t || s.index != io->place + k)
			return false;
	}
	return true;
}
