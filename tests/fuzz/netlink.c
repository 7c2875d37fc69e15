/* Fuzz messages of rtnetlink, which come from the kernel. */
#include "cmd/innet-switch/inpath/netlink.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	uint8_t *copy = fuzz_copy(p, len);
	struct netlink all = netlink_walk(copy, len);
	struct netlink_neighbour b;
	struct netlink_message m;
	struct netlink_link l;
	size_t left = len;

	while (netlink_next_message(&all, &m)) {
		must(all.left < left, "each message takes some bytes");
		left = all.left;
		must(m.p >= copy && m.p + m.bytes <= copy + len,
		    "a message is within the bytes");
		if (netlink_read_link(&m, &l))
			must(memchr(l.name, '\0', sizeof(l.name)) != NULL,
			    "a name ends");
		if (netlink_read_neighbour(&m, &b))
			must(b.ip_bytes == 0 || b.ip_bytes == 4 ||
			    b.ip_bytes == 16, "an address is IPv4 or IPv6");
	}
	free(copy);
	return 0;
}
