/*
 * Fuzz a payload that a client gives to RESTORE, as innet_per.so reads it in a
 * server that has only the functions that RESTORE needs.  The module must
 * refuse the payload, or the value must stay below maxmemory and load again
 * from its own payload.
 *
 * The first byte of the input sets the limit of memory, and the second one the
 * length of the strings.  If the second one is odd, the total length is wrong.
 */
#include "cmd/innet-memory/module/memory.h"
#include "cmd/innet-memory/module/type.h"
#include "cmd/innet-memory/module/value.h"
#include "tests/fuzz/fuzz.h"

/* A payload that the server reads or has written. */
struct rm_io {
	uint8_t *p;
	size_t len, at, piece;
	uint64_t declared;
	bool error;
};

static struct rm_methods type;
static uint64_t room;

static uint64_t
load_unsigned(rm_io *io)
{
	return io->declared;
}

static char *
load_string(rm_io *io, size_t *len)
{
	*len = io->len - io->at < io->piece ? io->len - io->at : io->piece;
	io->error |= *len == 0;
	io->at += *len;
	return *len == 0 ? NULL : (char *)fuzz_copy(io->p + io->at - *len,
	    *len);
}

static int
is_error(rm_io *io)
{
	return io->error;
}

static void
save_unsigned(rm_io *io, uint64_t n)
{
	io->declared = n;
}

static void
save_string(rm_io *io, const char *p, size_t len)
{
	io->p = realloc(io->p, io->len + len + 1);
	if (io->p == NULL)
		abort();
	memcpy(io->p + io->len, p, len);
	io->len += len;
}

static void
log_error(rm_io *io, const char *level, const char *fmt, ...)
{
	(void)io, (void)level, (void)fmt;
}

static rm_type *
create_type(struct rm_ctx *c, const char *name, int version,
    struct rm_methods *methods)
{
	(void)name, (void)version;
	type = *methods;
	return (rm_type *)(void *)c;
}

static int
get_flags(struct rm_ctx *c)
{
	(void)c;
	return 0;
}

static void *
get_info(struct rm_ctx *c, const char *section)
{
	(void)c, (void)section;
	return &room;
}

static unsigned long long
get_field(void *info, const char *name, int *error)
{
	(void)info, (void)error;
	return strcmp(name, "maxmemory") == 0 ? room : 0;
}

static void
free_info(struct rm_ctx *c, void *info)
{
	(void)c, (void)info;
}

static void
unexpected(void)
{
	must(false, "a load calls nothing else of the server");
}

/* Give the module these functions of a server. */
static int
get_api(const char *name, void *to)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} api[] = {
		{ "CreateDataType", (void (*)(void))create_type },
		{ "Free", (void (*)(void))free },
		{ "FreeServerInfo", (void (*)(void))free_info },
		{ "GetContextFlags", (void (*)(void))get_flags },
		{ "GetServerInfo", (void (*)(void))get_info },
		{ "IsIOError", (void (*)(void))is_error },
		{ "LoadStringBuffer", (void (*)(void))load_string },
		{ "LoadUnsigned", (void (*)(void))load_unsigned },
		{ "LogIOError", (void (*)(void))log_error },
		{ "SaveStringBuffer", (void (*)(void))save_string },
		{ "SaveUnsigned", (void (*)(void))save_unsigned },
		{ "ServerInfoGetFieldUnsigned", (void (*)(void))get_field },
		{ "TryAlloc", (void (*)(void))malloc },
	};
	void (*f)(void) = unexpected;

	for (size_t i = 0; i < sizeof(api) / sizeof(*api); i++) {
		if (strcmp(name + strlen("RedisModule_"), api[i].name) == 0)
			f = api[i].function;
	}
	memcpy(to, &f, sizeof(f));
	return RM_OK;
}

/*
 * Load a payload, save it into *to and free the value; return whether it was
 * valid.
 */
static bool
again(struct rm_io *from, struct rm_io *to)
{
	struct table_value *h = type.load(from, 1);

	*to = (struct rm_io){ .piece = SIZE_MAX };
	if (h == NULL)
		return false;
	must(h->account.most <= room, "no value passes the limit");
	must(replay_buffer_counters_add_up(&h->table->buf),
	    "the counters add up");
	type.save(to, h);
	must(to->declared == to->len, "the length is right");
	type.free(h);
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct rm_ctx ctx = { (void *)get_api };
	struct rm_io from = { 0 }, first, second;

	if (len < 2)
		return 0;
	if (type.load == NULL)
		must(api_open(&ctx) == NULL && type_open(&ctx),
		    "the module finds its server");
	room = (uint64_t)1 << (16 + p[0] % 8);
	from.p = fuzz_copy(p + 2, len - 2);
	from.len = len - 2;
	from.piece = 1 + p[1] / 2;
	from.declared = p[1] % 2 == 0 ? from.len : (uint64_t)1 << 40;
	if (again(&from, &first)) {
		must(again(&first, &second), "what was saved loads");
		must(first.len == second.len && memcmp(first.p, second.p,
		    first.len) == 0, "and is saved alike");
		free(second.p);
	}
	free(from.p);
	free(first.p);
	return 0;
}
