/* match.c - find the sent packet that belongs to a delivery */
#include "common/base/message.h"

#include "cmd/innet-aom/ages/match.h"

#include <stdlib.h>

void
match_sent(struct match *m, const struct match_item *item)
{
	if (m->n == UINT32_MAX)
		errx(1, "too many updates were sent; the limit is %u",
		    UINT32_MAX);
	if (m->n == m->room) {
		m->room = m->room * 2 + 1024;
		m->item = realloc(m->item, m->room * sizeof(*m->item));
		if (m->item == NULL)
			err(1, "no memory for %zu updates", m->room);
	}
	m->item[m->n++] = *item;
}

static int
compare_u64(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

static int
compare_hashes(const void *a, const void *b)
{
	const struct match_item *x = a, *y = b;
	const int c = compare_u64(x->hash, y->hash);

	return c != 0 ? c : compare_u64(x->sent_ns, y->sent_ns);
}

static int
compare_groups(const void *a, const void *b, void *items)
{
	const struct match_item *item = items;
	const struct match_item *x = &item[*(const uint32_t *)a];
	const struct match_item *y = &item[*(const uint32_t *)b];
	const int c = compare_u64(x->group, y->group);

	return c != 0 ? c : compare_u64(x->sent_ns, y->sent_ns);
}

void
match_sort(struct match *m, bool groups)
{
	if (m->n > 0)
		qsort(m->item, m->n, sizeof(*m->item), compare_hashes);
	if (!groups || m->n == 0)
		return;
	m->by_group = malloc((m->n + 1) * sizeof(*m->by_group));
	if (m->by_group == NULL)
		err(1, "no memory for %zu updates", m->n);
	for (size_t i = 0; i < m->n; i++)
		m->by_group[i] = (uint32_t)i;
	qsort_r(m->by_group, m->n, sizeof(*m->by_group), compare_groups,
	    m->item);
}

/* Return the first item that is not before (hash, t_ns). */
static size_t
find_first(const struct match *m, uint64_t hash, uint64_t t_ns)
{
	const struct match_item key = { .hash = hash, .sent_ns = t_ns };
	size_t lo = 0, hi = m->n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (compare_hashes(&m->item[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool
match_find(struct match *m, uint64_t hash, uint64_t t_ns,
    struct matched *found)
{
	const size_t first = find_first(m, hash, 0);
	const size_t behind = find_first(m, hash, t_ns + 1);
	size_t at;

	if (first == m->n || m->item[first].hash != hash)
		return false;
	at = first + m->item[first].taken;
	if (at == m->n || m->item[at].hash != hash)
		return false;
	m->item[first].taken++;
	*found = (struct matched){ .flow = m->item[at].flow,
	    .sent_ns = m->item[at].sent_ns,
	    .earliest_ns = m->item[at].sent_ns,
	    .latest_ns = m->item[at].sent_ns };
	if (behind > at + 1) {
		found->ambiguous = true;
		found->latest_ns = m->item[behind - 1].sent_ns;
	}
	return true;
}

bool
match_newest(const struct match *m, uint64_t group, uint64_t t_ns,
    struct matched *found)
{
	const struct match_item *x;
	size_t lo = 0, hi = m->n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		x = &m->item[m->by_group[mid]];
		if (x->group < group || (x->group == group &&
		    x->sent_ns <= t_ns))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || m->item[m->by_group[lo - 1]].group != group)
		return false;
	x = &m->item[m->by_group[lo - 1]];
	*found = (struct matched){ .flow = x->flow, .sent_ns = x->sent_ns,
	    .earliest_ns = x->sent_ns, .latest_ns = x->sent_ns,
	    .newest = true };
	return true;
}

void
match_free(struct match *m)
{
	free(m->item);
	free(m->by_group);
}
