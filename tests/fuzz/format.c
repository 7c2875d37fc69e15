/*
 * Fuzz the bytes as a format in JSON, and as a capture that is read with
 * formats of every kind.
 */
#include "cmd/innet-aom/format/text.h"
#include "cmd/innet-aom/format/messages.h"
#include "tests/fuzz/fuzz.h"

static void
read_json(const uint8_t *p, size_t len)
{
	struct json_reader r = { .at = 0 };
	cJSON *root = json_reader_parse(&r, (const char *)p, len);
	struct format f;

	if (root == NULL)
		return;
	if (!format_from_json(&r, root, &f))
		must(r.why[0] != '\0', "what is wrong is named");
	else
		must(format_head_bytes(&f) <= FORMAT_AT_MAX + 8,
		    "fields lie where they can");
	format_free(&f);
	cJSON_Delete(root);
}

static void
read_text(const uint8_t *p, size_t len)
{
	struct json_reader r = { .at = 0 };
	struct format f = format_opaque();
	char text[256];

	if (len >= sizeof(text))
		return;
	memcpy(text, p, len);
	text[len] = '\0';
	if (!format_field_text(&r, text, &f))
		must(r.why[0] != '\0', "what is wrong is named");
	format_free(&f);
}

static void
take(struct messages *m, size_t *given)
{
	struct format_packet k;
	struct format_message g;
	struct format_found u;
	char text[FORMAT_TEXT_BYTES];
	uint64_t t;
	int got;

	while ((got = messages_next(m, &k, &g, &t)) == 1) {
		++*given;
		must(g.have <= g.len, "no more is there than there was");
		if (format_update(m->format, &k, &g, &u) != UPDATE_OK)
			continue;
		must(u.merged > 0 && u.generated_ns <= INT64_MAX,
		    "an update is sound");
		format_text(&u.cluster, text);
		format_text(&u.worker, text);
	}
	must(got == 0 || m->bad != UPDATE_OK, "what is refused has a reason");
}

/*
 * Read packets from p: two bytes of length, one byte that cuts, then the frame.
 */
static void
read_packets(const struct format *f, const uint8_t *p, size_t len)
{
	struct messages m;
	size_t given = 0, n;
	struct pcapio_packet k;

	must(messages_open(&m, f, FRAME_ETHERNET) == 0, "there is no filter");
	for (uint64_t t = 0; len > 3; t++) {
		n = (size_t)(p[0] << 8 | p[1]) % (len - 2);
		k = (struct pcapio_packet){ .stamp_ns = t, .data = p + 3,
		    .caplen = (uint32_t)n, .len = (uint32_t)n + p[2] };
		if (n > len - 3)
			break;
		if (messages_packet(&m, FRAME_ETHERNET, &k, t) == UPDATE_OK)
			take(&m, &given);
		p += 3 + n;
		len -= 3 + n;
	}
	while (messages_end(&m))
		take(&m, &given);
	messages_close(&m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const char *const field[][4] = {
		{ "length=u16@0", "generated=u64@4,us" },
		{ "length=1", "cluster=u8@0", "generated=f64@0,s,ntp" },
		{ "length=le-u32@2,+6", "sequence=le-u16@0" },
		{ "worker=ip.src", "cluster=vlan", "reward=f32@3" },
		{ "merged=u16@1", "generated=u32@0,s" },
	};
	struct json_reader r = { .at = 0 };
	struct format f;

	read_json(p, len);
	read_text(p, len);
	for (size_t i = 0; i <= sizeof(field) / sizeof(field[0]); i++) {
		f = format_opaque();
		if (i == sizeof(field) / sizeof(field[0]))
			strcpy(f.delimiter, "\r\n");
		for (size_t k = 0; i < sizeof(field) / sizeof(field[0]) &&
		    k < 4 && field[i][k] != NULL; k++)
			must(format_field_text(&r, field[i][k], &f),
			    "our own fields are right");
		read_packets(&f, p, len);
		format_free(&f);
	}
	return 0;
}
