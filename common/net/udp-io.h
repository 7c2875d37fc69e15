/*
 * udp-io.h - what the tools that live on a UDP socket do with it
 *
 * All of udp-socket.h and udp-send.h; and listening or a message, what is said
 * of a socket, and udpio_capture(), which writes what passed as a capture.
 */
#ifndef INNET_NET_UDP_IO_H
#define INNET_NET_UDP_IO_H

#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/base/atomic-file.h"
#include "common/capture/pcapio.h"
#include "common/net/udp-send.h"
#include "common/net/udp-socket.h"
#include "common/wire/addr.h"
#include "common/wire/flow.h"
#include "common/wire/frame.h"

/*
 * How this socket sends and receives, for -v: into text, which is returned.
 * Runs are told for the datagrams of a 1,500-byte path.
 */
static inline const char *
udpio_describe(const struct udpio *u, char text[UDPIO_TEXT_BYTES])
{
	const bool v6 = u->local.sa.sa_family == AF_INET6;
	const size_t seg = v6 ? 1452 : 1472;
	char out[96] = "sendmmsg", in[96] = "recvmmsg";

	if (u->gso)
		snprintf(out, sizeof(out), "UDP_SEGMENT, %d segments of %zu "
		    "bytes a call", udpio_run_max(u, seg), seg);
	else if (u->gso_errno != 0)
		snprintf(out, sizeof(out), "sendmmsg, no UDP_SEGMENT here "
		    "(%s)", strerror(u->gso_errno));
	if (u->gro)
		snprintf(in, sizeof(in), "UDP_GRO");
	else if (u->gro_errno != 0)
		snprintf(in, sizeof(in), "recvmmsg, no UDP_GRO here (%s)",
		    strerror(u->gro_errno));
	snprintf(text, UDPIO_TEXT_BYTES, "sends by %s; receives by %s; "
	    "buffers %.1f MB out, %.1f MB in", out, in,
	    (double)u->sndbuf_bytes / 1e6, (double)u->rcvbuf_bytes / 1e6);
	return text;
}

/* Write a packet that passed, with headers as they were on the wire. */
static inline void
udpio_capture(struct pcapio_out *out, const union addr *from,
    const union addr *to, uint8_t tos, const void *p, size_t len,
    uint64_t stamp_ns)
{
	const struct frame_flow flow = flow_between(from, to);
	uint8_t *q = pcapio_room(out);
	struct frame f;
	size_t head = frame_put(q, &flow, tos, len, &f);

	memcpy(q + head, p, len);
	frame_seal(q, &f);
	pcapio_commit(out, stamp_ns, (uint32_t)(head + len),
	    (uint32_t)(head + len));
}

/*
 * For tools: listen on a or exit 1; say so on stderr; write the port to
 * port_file (atomically) unless it is NULL.
 */
static inline void
udpio_listen_or_exit(struct udpio *u, const union addr *a, uint8_t tos,
    bool offload, const char *port_file)
{
	char name[ADDR_NAME_BYTES], port[8];
	struct atomic_file w;

	if (udpio_open(u, a, tos, offload) == -1)
		err(1, "%s", addr_print(a, name));
	if (port_file != NULL) {
		snprintf(port, sizeof(port), "%u\n", addr_port(&u->local));
		if (atomic_file_open(&w, port_file) == -1 ||
		    atomic_file_close(&w,
		    atomic_file_write(&w, port, strlen(port))) == -1)
			err(1, "%s", port_file);
	}
	fprintf(stderr, "listening on %s\n", addr_print(&u->local, name));
}

/* For tools: under -v, how the socket sends and receives. */
static inline void
udpio_tell(const struct udpio *u, bool verbose)
{
	char text[UDPIO_TEXT_BYTES];

	if (verbose)
		warnx("%s", udpio_describe(u, text));
}

/* For tools: warn once when the kernel dropped packets. */
static inline void
udpio_warn_drops(const struct udpio *u, bool *warned)
{
	if (u->kernel_drops == 0 || *warned)
		return;
	*warned = true;
	warnx("the kernel dropped %" PRIu64 " packets: raise "
	    "net.core.rmem_max (sysctl -w net.core.rmem_max=%d)",
	    u->kernel_drops, UDPIO_BUFFER_BYTES);
}

#endif
