/*
 * mkgso - put datagrams of a capture together, as offloads do, for tests
 *
 *	mkgso [-s] <capture >capture
 *
 * Datagrams of one flow that stand one after another, all as long as the first
 * but the last, become one frame with the first one's stamp; its UDP checksum
 * is the pseudo header's.  With -s they stay what they are, with that stamp:
 * what is done to both captures must come to the same.
 */
#include <err.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/capture/pcapio.h"
#include "common/wire/frame.h"

enum { MOST = 65000 };		/* bytes of a frame */

struct joined {
	struct frame f;		/* of the first */
	uint64_t stamp_ns;
	uint8_t bytes[MOST];
	uint32_t n, each;
	bool any, ended;	/* by one that is shorter */
};

static void
flush(struct pcapio_out *out, struct joined *j)
{
	uint8_t *p = pcapio_room(out);
	struct frame f;
	uint32_t head;
	uint16_t sum;

	if (!j->any)
		return;
	head = (uint32_t)frame_put(p, &j->f.flow, j->f.tos, j->n, &f);
	memcpy(p + head, j->bytes, j->n);
	if (j->n > j->each) {
		sum = inetsum_fold(frame_pseudo_sum(p, &f));
		memcpy(p + f.udp_at + 6, &sum, 2);
	} else {
		frame_put_checksum(p, &f);
	}
	pcapio_commit(out, j->stamp_ns, head + j->n, head + j->n);
	j->any = false;
}

/* Does f go behind what is there? */
static bool
fits(const struct joined *j, const struct frame *f)
{
	return j->any && !j->ended && f->tos == j->f.tos &&
	    memcmp(&f->flow, &j->f.flow, sizeof(f->flow)) == 0 &&
	    f->payload_bytes > 0 && f->payload_bytes <= j->each &&
	    j->n + f->payload_bytes <= MOST;
}

int
main(int argc, char *argv[])
{
	static struct joined j;
	const bool stamps = argc > 1 && strcmp(argv[1], "-s") == 0;
	struct pcapio_packet p = { 0 };
	struct pcapio_in in;
	struct pcapio_out out;
	struct frame f;

	pcapio_open_or_exit(&in, "-");
	pcapio_create_or_exit(&out, "-");
	while (pcapio_next(&in, &p) == 1) {
		if (frame_parse(in.link, p.data, p.caplen, p.len, &f) !=
		    FRAME_UDP || f.payload_bytes > MOST)
			errx(1, "packet %llu is no datagram",
			    (unsigned long long)in.packets);
		if (!fits(&j, &f)) {
			if (!stamps)
				flush(&out, &j);
			j = (struct joined){ .f = f, .stamp_ns = p.stamp_ns,
			    .each = f.payload_bytes, .any = true };
		}
		if (stamps)
			pcapio_write(&out, j.stamp_ns, p.data, p.caplen, p.len);
		memcpy(j.bytes + j.n, p.data + f.payload_at, f.payload_bytes);
		j.n += f.payload_bytes;
		j.ended = f.payload_bytes < j.each;
	}
	if (!stamps)
		flush(&out, &j);
	pcapio_close_in(&in);
	return pcapio_close_or_warn(&out);
}
