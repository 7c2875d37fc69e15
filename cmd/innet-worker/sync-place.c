/* sync-place.c - find the place of results in the vector before they arrive */
#include "common/iswitch/sync-worker.h"

#include "cmd/innet-worker/sync.h"

/*
 * Find the place of the next results in the vector.  Results arrive in order,
 * so the next results belong to the first gap in the vector.  The place is not
 * used if each result has a tag to check, or if the worker repeats an iteration
 * whose result has already arrived.
 */
bool
sync_find_place(void *ctx, struct udp_scatter *l)
{
	struct sync *w = ctx;
	const uint32_t t = w->l.t, segs = w->l.segs, floats = w->l.floats;
	uint32_t end;

	if (!w->begun || worker_tags_data(w->cf) || w->l.redo || segs == 0 ||
	    sync_worker_is_whole(&w->l))
		return false;
	if (w->place_t != t)
		w->place = 0;
	w->place_t = t;
	while (
	    w->place < segs && sync_worker_contributions(&w->l, w->place) != 0)
		w->place++;
	for (end = w->place; end < segs && end < w->place + UDPIO_RUN_MAX &&
	    sync_worker_contributions(&w->l, end) == 0; end++)
		;
	*l = (struct udp_scatter){
		.body = (uint8_t *)(w->result[t & 1] + (size_t)w->place *
		    floats),
		.bytes = 4 * ((end < segs ? (size_t)end * floats :
		    w->c.elements) - (size_t)w->place * floats),
		.head_bytes = seg_head_bytes(worker_tos(w->cf)),
		.body_bytes = 4 * floats };
	return end > w->place;
}

bool
sync_matches_place(void *ctx, const struct udpio_message *m)
{
	const struct sync *w = ctx;
	const size_t n = udpio_count_datagrams(m);

	if ((m->tos & 0xfc) != worker_tos(w->cf) ||
	    !addr_same(&m->from, &w->cf->to))
		return false;
	for (size_t k = 0; k < n; k++) {
		const struct seg s = seg_split(bytes_get(udp_scatter_head(m, k),
		    SEG_HEADER_BYTES));

		if (s.iteration != w->l.t || s.index != w->place + k)
			return false;
	}
	return true;
}
