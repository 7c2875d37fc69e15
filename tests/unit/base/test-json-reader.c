/*
 * Test JSON written by hand: each kind of error, and the position that the
 * message names.
 */
#include <unistd.h>

#include "common/base/json-reader.h"
#include "tests/unit/tap.h"

struct link {
	uint64_t delay_ns, count;
};

struct all {
	double rate;
	struct json_reader_list links;
	uint64_t mode;
	bool loud;
	char name[JSON_READER_NAME_BYTES];
};

static const struct json_reader_key link_keys[] = {
	{ .name = "delay", .type = JSON_READER_TIME, .lo = 1, .hi = 1000000000,
	  .at = offsetof(struct link, delay_ns), .needed = true,
	  .help = "how long it takes" },
	{ .name = "count", .type = JSON_READER_COUNT, .lo = 1, .hi = 9,
	  .at = offsetof(struct link, count), .preset = "7",
	  .help = "how many there are" },
	{ 0 }
};
static const struct json_reader_section link_section = {
	link_keys, sizeof(struct link)
};
static const char *const modes[] = { "urgent", "fair", NULL };
static const struct json_reader_key all_keys[] = {
	{ .name = "rate", .type = JSON_READER_REAL, .at = offsetof(struct all,
	  rate), .help = "a number" },
	{ .name = "links", .type = JSON_READER_LIST, .at = offsetof(struct all,
	  links), .list = &link_section, .needed = true, .help = "some" },
	{ .name = "mode", .type = JSON_READER_WORD, .at = offsetof(struct all,
	  mode), .words = modes, .preset = "fair", .help = "how" },
	{ .name = "loud", .type = JSON_READER_BOOL, .at = offsetof(struct all,
	  loud), .help = "or not" },
	{ .name = "name", .type = JSON_READER_NAME, .at = offsetof(struct all,
	  name), .help = "a word" },
	{ 0 }
};
static const struct json_reader_section all_section = {
	all_keys, sizeof(struct all)
};

/*
 * The text is refused with this message, or accepted if the message is empty.
 */
static void
check_error(const char *text, size_t len, const char *why)
{
	struct all a = { 0 };
	struct json_reader r;
	cJSON *root = json_reader_parse(&r, text, len);

	if (root != NULL)
		(void)json_reader_object(&r, root, &all_section, &a);
	if (!ok(strcmp(r.why, why) == 0, "%zu bytes: %s", len, *why == '\0' ?
	    "taken" : why))
		note("%s", r.why);
	json_reader_free(&all_section, &a);
	cJSON_Delete(root);
}

static void
test_values(void)
{
	static const char text[] =
	    "{\"links\": [{\"delay\": \"1.5us\", \"count\": 9}, "
	    "{\"delay\": \"2ms\"}], \"loud\": true, \"rate\": 1e3}\n";
	const struct link *l;
	struct all a = { 0 };
	struct json_reader r;
	cJSON *root = json_reader_parse(&r, text, strlen(text));

	ok(root != NULL && json_reader_object(&r, root, &all_section, &a) &&
	    a.links.n == 2, "a valid text is read");
	l = a.links.item;
	ok(l[0].delay_ns == 1500 && l[0].count == 9 && a.loud &&
	    a.rate == 1000, "the values are those of the text");
	ok(l[1].delay_ns == 2000000 && l[1].count == 7 && a.mode == 1 &&
	    a.name[0] == '\0', "missing values have their defaults");
	json_reader_free(&all_section, &a);
	cJSON_Delete(root);
}

static void
test_files(void)
{
	char path[] = "/tmp/test-reader.XXXXXX", want[sizeof(path) + 40];
	const int fd = mkstemp(path);
	struct json_reader r;
	cJSON *root = NULL;

	ok(fd != -1 && write(fd, "{}\n[", 4) == 4 &&
	    json_reader_load(&r, path) == NULL, "a damaged file gives no "
	    "value");
	snprintf(want, sizeof(want), "%s:2:1: not valid JSON", path);
	ok(strcmp(r.why, want) == 0, "%s", r.why);
	ok(ftruncate(fd, 3) == 0 && (root = json_reader_load(&r, path)) != NULL,
	    "a valid file gives a value");
	cJSON_Delete(root);
	close(fd);
	unlink(path);
	snprintf(want, sizeof(want), "%s: No such file or directory", path);
	ok(json_reader_load(&r, path) == NULL && strcmp(r.why, want) == 0, "%s",
	    r.why);
	ok(json_reader_load(&r, "/") == NULL && strcmp(r.why,
	    "/: Is a directory") == 0, "%s", r.why);
}

int
main(void)
{
	static const struct { const char *text, *why; } is[] = {
		{ "", "1:1: not valid JSON" },
		{ "{\n \"rate\" 1}", "2:9: not valid JSON" },
		{ "{} x", "1:4: not valid JSON" },
		{ "[]", "is not an object: { ... }" },
		{ "{}", "links: is missing" },
		{ "{\"rat\": 1}", "rat: unknown key; the nearest is 'rate'" },
		{ "{\"Rate\": 1}",
		    "Rate: unknown key; the nearest is 'rate'" },
		{ "{\"mod\": 1}", "mod: unknown key; the nearest is 'mode'" },
		{ "{\"rate\": 1, \"rate\": 1}", "rate: given twice" },
		{ "{\"a\\nb\": 1}",
		    "a?b: unknown key; the nearest is 'rate'" },
		{ "{\"links\": {}}",
		    "links: is not a list: [ { ... }, ... ]" },
		{ "{\"links\": [0]}", "links[0]: is not an object: { ... }" },
		{ "{\"links\": [{}]}", "links[0].delay: is missing" },
		{ "{\"links\": [{\"delay\": {}}]}",
		    "links[0].delay: is not a string or a number" },
		{ "{\"links\": [{\"delay\": 1}]}", "links[0].delay: '1': "
		    "a unit is missing (ns, us, ms, s, min, h)" },
		{ "{\"links\": [{\"delay\": \"1x\"}]}",
		    "links[0].delay: '1x': unknown unit; use ns, us, ms, s, "
		    "min or h" },
		{ "{\"links\": [{\"delay\": \"2s\"}]}",
		    "links[0].delay: '2s': too large" },
		{ "{\"links\": [{\"delay\": \"1s\"}]}", "" },
		{ "{\"links\": [{\"delay\": \"0\"}]}",
		    "links[0].delay: '0': too small" },
		{ "{\"links\": [{\"delay\": \"1s\", \"cont\": 1}]}",
		    "links[0].cont: unknown key; the nearest is 'count'" },
		{ "{\"links\": [{\"delay\": \"1s\", \"count\": 10}]}",
		    "links[0].count: '10': too large" },
		{ "{\"links\": [{\"delay\": \"1s\", \"count\": -1}]}",
		    "links[0].count: '-1': not a number" },
		{ "{\"links\": [{\"delay\": \"1s\", \"count\": 1e400}]}",
		    "links[0].count: 'inf': not a number" },
		{ "{\"links\": [{\"delay\": \"1s\", \"count\": 1.5}]}",
		    "links[0].count: '1.5': not a whole number" },
		{ "{\"loud\": 1}", "loud: is not true or false" },
		{ "{\"name\": \"\"}", "name: '': empty" },
		{ "{\"name\": \"a/b\"}", "name: 'a/b': may have only letters, "
		    "digits, '-' and '_'" },
		{ "{\"mode\": \"un\\nfair\", \"links\": []}",
		    "mode: 'un?fair': not one of urgent, fair" },
	};
	char deep[3000];

	for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++)
		check_error(is[i].text, strlen(is[i].text), is[i].why);
	check_error("{}\0{}", 5, "1:3: not valid JSON");
	memset(deep, '[', sizeof(deep));
	check_error(deep, sizeof(deep), "1:1001: not valid JSON");
	memset(deep, 'k', sizeof(deep));
	memcpy(deep, "{\"", 2);
	memcpy(deep + sizeof(deep) - 5, "\": 1}", 5);
	check_error(deep, sizeof(deep),
	    "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
	    "kkkkkkkkkkkkkkkkkkkk: unknown key; the nearest is 'links'");
	test_values();
	test_files();
	return tap_end();
}
