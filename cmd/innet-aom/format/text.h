/*
 * text.h - read a format (innet-format(5)) from JSON or from options
 *
 * On failure, the functions return false with the place and the reason in
 * r->why.  A field in an option, such as "cluster=u16@0", is converted to the
 * JSON object that a file would contain, so one reader is enough.  If a field
 * names a file of prefixes, only the name is stored; the caller opens the file.
 */
#ifndef INNET_AOM_FORMAT_TEXT_H
#define INNET_AOM_FORMAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cmd/innet-aom/format/format.h"
#include "common/base/json-reader.h"
#include "common/base/nearest.h"

/*
 * Return the format that all other formats extend: opaque payloads that are
 * matched with sent packets.
 */
static inline struct format format_opaque(void);

/* Read the format in the object root into *f; call format_free() later. */
static inline bool format_from_json(struct json_reader *r, const cJSON *root,
    struct format *f);

/* Read one field of an option, as in "cluster=u16@0" or "generated=sent". */
static inline bool format_field_text(struct json_reader *r, const char *text,
    struct format *f);

/* Check that the fields of f are consistent with each other. */
static inline bool format_check(struct json_reader *r, const struct format *f);

/* implementation */

/* The keys of a field in JSON.  A key that is not given is UINT64_MAX. */
struct format_field_keys {
	uint64_t value, at, type, header, unit, epoch;
	int64_t add;
};

struct format_keys {
	char name[JSON_READER_NAME_BYTES], filter[JSON_READER_FILE_BYTES];
};

struct format_match_keys {
	uint64_t from, to;
};

static const char *const format_none[] = { "none", NULL };
static const char *const format_units[] = { "ns", "us", "ms", "s", NULL };
static const char *const format_epochs[] = { "unix", "ntp", NULL };
static const char *const format_whole[] = { "end", NULL };

#define AT(f) offsetof(struct format_field_keys, f)
static const struct json_reader_key format_field_table[] = {
	{ .name = "value", .type = JSON_READER_COUNT, .at = AT(value),
	  .preset = "none", .words = format_none, .hi = UINT32_MAX,
	  .help = "a constant" },
	{ .name = "at", .type = JSON_READER_COUNT, .at = AT(at),
	  .preset = "none", .words = format_none, .hi = FORMAT_AT_MAX,
	  .help = "offset in the message, bytes" },
	{ .name = "type", .type = JSON_READER_WORD, .at = AT(type),
	  .words = format_type_words, .help = "type of the value" },
	{ .name = "field", .type = JSON_READER_ANY,
	  .help = "a field of the packet's headers" },
	{ .name = "unit", .type = JSON_READER_WORD, .at = AT(unit),
	  .words = format_units, .help = "unit of a time" },
	{ .name = "epoch", .type = JSON_READER_COUNT, .at = AT(epoch),
	  .preset = "unix", .words = format_epochs, .hi = INT64_MAX,
	  .help = "instant at which a time is 0, in ns since 1970" },
	{ .name = "add", .type = JSON_READER_ANY,
	  .help = "bytes that a length does not count" },
	{ .name = "table", .type = JSON_READER_ANY,
	  .help = "a file of prefix,cluster or an object of numbers" },
	{ 0 }
};
#undef AT

#define AT(f) offsetof(struct format_keys, f)
static const struct json_reader_key format_table[] = {
	{ .name = "name", .type = JSON_READER_NAME, .at = AT(name),
	  .help = "name of the protocol" },
	{ .name = "filter", .type = JSON_READER_FILE, .at = AT(filter),
	  .help = "expression of pcap-filter(7) that selects packets" },
	{ .name = "cluster", .type = JSON_READER_ANY, .help = "a field" },
	{ .name = "worker", .type = JSON_READER_ANY, .help = "a field" },
	{ .name = "sequence", .type = JSON_READER_ANY, .help = "a field" },
	{ .name = "generated", .type = JSON_READER_ANY,
	  .help = "a field, or sent" },
	{ .name = "merged", .type = JSON_READER_ANY, .help = "a field" },
	{ .name = "reward", .type = JSON_READER_ANY, .help = "a field" },
	{ .name = "length", .type = JSON_READER_ANY,
	  .help = "length of a message: a number of bytes, or a field" },
	{ .name = "delimiter", .type = JSON_READER_ANY,
	  .help = "bytes that end a message" },
	{ .name = "match", .type = JSON_READER_ANY,
	  .help = "bytes by which a received packet is recognized" },
	{ 0 }
};
#undef AT

#define AT(f) offsetof(struct format_match_keys, f)
static const struct json_reader_key format_match_table[] = {
	{ .name = "from", .type = JSON_READER_COUNT, .at = AT(from),
	  .hi = FORMAT_AT_MAX, .help = "offset of the first byte" },
	{ .name = "to", .type = JSON_READER_COUNT, .at = AT(to),
	  .preset = "end", .words = format_whole, .lo = 1,
	  .hi = FORMAT_AT_MAX, .help = "offset after the last byte" },
	{ 0 }
};
#undef AT

static const struct json_reader_section format_field_section = {
	format_field_table, sizeof(struct format_field_keys)
}, format_section = {
	format_table, sizeof(struct format_keys)
}, format_match_section = {
	format_match_table, sizeof(struct format_match_keys)
};

/*
 * The names of fields in JSON and in options, in the order of enum format_role.
 */
static const char *const format_role_words[] = {
	"cluster", "worker", "sequence", "generated", "merged", "reward",
	"length", NULL
};

static inline int
format_entry_order(const void *a, const void *b)
{
	const struct format_entry *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/*
 * Read a table, such as "table": { "10.0.0.1": 1 }, or the name of a file of
 * prefixes.
 */
static inline bool
format_read_table(struct json_reader *r, const cJSON *o, struct format *f,
    struct format_field *to)
{
	const int n = cJSON_GetArraySize(o);
	const cJSON *v;

	if (cJSON_IsString(o)) {
		if (f->prefixes[0] != '\0' &&
		    strcmp(f->prefixes, o->valuestring) != 0)
			return json_reader_fail(r, "only one field can name a "
			    "file of prefixes");
		if (strlen(o->valuestring) >= sizeof(f->prefixes))
			return json_reader_fail(r, "the name of the file is "
			    "too long");
		memcpy(f->prefixes, o->valuestring,
		    strlen(o->valuestring) + 1);
		to->prefixes = true;
		return true;
	}
	if (!cJSON_IsObject(o) || n == 0 || n > FORMAT_TABLE_MAX)
		return json_reader_fail(r, "must be the name of a file or an "
		    "object of 1 to %d numbers", FORMAT_TABLE_MAX);
	to->entry = calloc((size_t)n, sizeof(*to->entry));
	if (to->entry == NULL)
		return json_reader_fail(r, "out of memory");
	cJSON_ArrayForEach(v, o) {
		struct format_entry *e = &to->entry[to->entries++];

		if (!cJSON_IsNumber(v) || v->valuedouble < 0 ||
		    v->valuedouble > UINT32_MAX ||
		    v->valuedouble != (double)(uint64_t)v->valuedouble)
			return json_reader_fail(r, "'%s' must be a number from "
			    "0 to 4294967295", v->string);
		if (strlen(v->string) >= sizeof(e->text))
			return json_reader_fail(r, "'%.40s...' is too long",
			    v->string);
		memcpy(e->text, v->string, strlen(v->string) + 1);
		e->number = (uint64_t)v->valuedouble;
	}
	qsort(to->entry, to->entries, sizeof(*to->entry), format_entry_order);
	for (size_t i = 1; i < to->entries; i++)
		if (strcmp(to->entry[i - 1].text, to->entry[i].text) == 0)
			return json_reader_fail(r, "'%s' is given twice",
			    to->entry[i].text);
	return true;
}

/* Set the length and the kind of a field from its type. */
static inline void
format_set_type(struct format_field *f, uint64_t type)
{
	const char *word = format_type_words[type];

	f->little = strncmp(word, "le-", 3) == 0;
	word += f->little ? 3 : 0;
	f->real = word[0] == 'f';
	f->bytes = word[1] == '8' ? 1 : word[1] == '1' ? 2 :
	    word[1] == '3' ? 4 : 8;
}

/*
 * Write the member of `words` that is nearest to `word` to `hint`, if a member
 * is near.  Return the hint.
 */
static inline const char *
format_hint(const char *word, const char *const *words,
    char hint[NEAREST_TEXT])
{
	struct nearest near = { 0 };

	for (; *words != NULL; words++)
		nearest_offer(&near, word, *words);
	return nearest_hint(&near, word, "", hint);
}

/* Check that the keys of a field are complete and allowed for its role. */
static inline bool
format_check_field(struct json_reader *r, const cJSON *o,
    enum format_role role, const struct format_field *f,
    const struct format_field_keys *k)
{
	const bool names = role == FORMAT_CLUSTER || role == FORMAT_WORKER;
	const bool has_type = cJSON_GetObjectItemCaseSensitive(o, "type");
	const bool timed = cJSON_GetObjectItemCaseSensitive(o, "unit") ||
	    cJSON_GetObjectItemCaseSensitive(o, "epoch");
	const int ways = (k->value != UINT64_MAX) + (k->at != UINT64_MAX) +
	    (f->from == FORMAT_HEADER);

	if (ways != 1)
		return json_reader_fail(r, "must have exactly one of 'value', "
		    "'at' and 'field'");
	if (has_type != (f->from == FORMAT_AT))
		return json_reader_fail(r, "'at' and 'type' must be given "
		    "together");
	if (f->from == FORMAT_HEADER && !names)
		return json_reader_fail(r, "cannot be a field of the packet's "
		    "headers");
	if (f->real && role != FORMAT_GENERATED && role != FORMAT_REWARD)
		return json_reader_fail(r, "must have a type of whole numbers");
	if (timed && role != FORMAT_GENERATED)
		return json_reader_fail(r, "cannot have 'unit' or 'epoch', "
		    "which are only for generated");
	if (role == FORMAT_GENERATED && f->from != FORMAT_AT)
		return json_reader_fail(r, "must be 'sent', or have 'at', "
		    "'type' and 'unit'");
	if (role == FORMAT_SEQUENCE && f->from != FORMAT_AT)
		return json_reader_fail(r, "must have 'at' and 'type'");
	if (cJSON_GetObjectItemCaseSensitive(o, "table") && !names)
		return json_reader_fail(r, "cannot have 'table'");
	if (cJSON_GetObjectItemCaseSensitive(o, "add") &&
	    role != FORMAT_LENGTH)
		return json_reader_fail(r, "cannot have 'add', which is only "
		    "for length");
	return true;
}

/* Read the object of a field into *f. */
static inline bool
format_read_field(struct json_reader *r, const cJSON *o, struct format *to,
    enum format_role role)
{
	static const uint64_t unit_ns[] = { 1, 1000, 1000000, 1000000000 };
	struct format_field *f = &to->field[role];
	struct format_field_keys k = { 0 };
	const cJSON *v;
	char room[64], hint[NEAREST_TEXT];
	uint64_t header;

	*f = (struct format_field){ 0 };
	if (role == FORMAT_GENERATED && cJSON_IsString(o)) {
		if (strcmp(o->valuestring, "sent") != 0)
			return json_reader_fail(r, "must be an object or "
			    "'sent'");
		f->from = FORMAT_SENT;
		return true;
	}
	if (role == FORMAT_LENGTH && cJSON_IsNumber(o)) {
		if (!(o->valuedouble >= 1 &&
		    o->valuedouble <= FORMAT_MESSAGE_MAX))
			return json_reader_fail(r, "must be 1 to %d",
			    FORMAT_MESSAGE_MAX);
		f->from = FORMAT_VALUE;
		f->value = (uint64_t)o->valuedouble;
		return true;
	}
	if (!json_reader_object(r, o, &format_field_section, &k))
		return false;
	v = cJSON_GetObjectItemCaseSensitive(o, "field");
	if (v != NULL) {
		if (!cJSON_IsString(v) || json_reader_word(v->valuestring,
		    format_header_words, &header, room, sizeof(room)) != NULL)
			return json_reader_fail(r, "'field' must be one of "
			    "ip.src, ip.dst, port.src, port.dst, dscp, vlan, "
			    "flow%s", format_hint(cJSON_IsString(v) ?
			    v->valuestring : "", format_header_words, hint));
		f->from = FORMAT_HEADER;
		f->header = (enum format_header)header;
	} else if (k.at != UINT64_MAX) {
		f->from = FORMAT_AT;
		f->at = (uint32_t)k.at;
		format_set_type(f, k.type);
	} else {
		f->from = FORMAT_VALUE;
		f->value = k.value;
	}
	if (!format_check_field(r, o, role, f, &k))
		return false;
	f->unit_ns = unit_ns[k.unit];
	f->ntp = k.epoch == UINT64_MAX - 1;
	f->epoch_ns = k.epoch >= UINT64_MAX - 1 ? 0 : k.epoch;
	v = cJSON_GetObjectItemCaseSensitive(o, "add");
	if (v != NULL && !(cJSON_IsNumber(v) && v->valuedouble >= 0 &&
	    v->valuedouble <= FORMAT_MESSAGE_MAX))
		return json_reader_fail(r, "'add' must be 0 to %d",
		    FORMAT_MESSAGE_MAX);
	if (v != NULL)
		f->value = (uint64_t)v->valuedouble;
	v = cJSON_GetObjectItemCaseSensitive(o, "table");
	return v == NULL || format_read_table(r, v, to, f);
}

/* Read the key "match", the bytes that identify a message: true or a range. */
static inline bool
format_read_match(struct json_reader *r, const cJSON *o, struct format *f)
{
	struct format_match_keys k = { 0 };

	f->matches = true;
	f->match_from = 0;
	f->match_to = UINT32_MAX;
	if (cJSON_IsTrue(o))
		return true;
	if (!json_reader_object(r, o, &format_match_section, &k))
		return false;
	f->match_from = (uint32_t)k.from;
	f->match_to = k.to == UINT64_MAX ? UINT32_MAX : (uint32_t)k.to;
	if (f->match_to <= f->match_from)
		return json_reader_fail(r, "'to' must be after 'from'");
	return true;
}

static inline bool
format_read_delimiter(struct json_reader *r, const cJSON *o, struct format *f)
{
	if (!cJSON_IsString(o) || o->valuestring[0] == '\0' ||
	    strlen(o->valuestring) > FORMAT_DELIMITER_MAX)
		return json_reader_fail(r, "must be a string of 1 to %d bytes",
		    FORMAT_DELIMITER_MAX);
	memcpy(f->delimiter, o->valuestring, strlen(o->valuestring) + 1);
	return true;
}

static inline struct format
format_opaque(void)
{
	struct format f = { .match_to = UINT32_MAX, .name = "match" };

	f.field[FORMAT_CLUSTER].from = FORMAT_VALUE;
	f.field[FORMAT_WORKER] = (struct format_field){
	    .from = FORMAT_HEADER, .header = FORMAT_FLOW };
	f.field[FORMAT_GENERATED].from = FORMAT_SENT;
	return f;
}

static inline bool
format_check(struct json_reader *r, const struct format *f)
{
	if (f->delimiter[0] != '\0' && format_has(f, FORMAT_LENGTH))
		return json_reader_fail(r, "give 'length' or 'delimiter', not "
		    "both");
	if (f->matches && format_has(f, FORMAT_SEQUENCE))
		return json_reader_fail(r, "give 'match' or 'sequence', not "
		    "both");
	if (f->matches && !format_needs_sent(f))
		return json_reader_fail(r, "'match' needs a 'generated' that "
		    "is 'sent'");
	return true;
}

static inline bool
format_from_json(struct json_reader *r, const cJSON *root, struct format *f)
{
	struct format_keys k;
	const cJSON *v;
	size_t at;
	bool ok = true;

	*f = format_opaque();
	if (!json_reader_object(r, root, &format_section, &k))
		return false;
	memcpy(f->name, k.name, sizeof(f->name));
	memcpy(f->filter, k.filter, sizeof(f->filter));
	cJSON_ArrayForEach(v, root) {
		at = json_reader_down(r, v->string, 0);
		for (int i = 0; ok && format_role_words[i] != NULL; i++)
			if (strcmp(v->string, format_role_words[i]) == 0)
				ok = format_read_field(r, v, f,
				    (enum format_role)i);
		if (ok && strcmp(v->string, "match") == 0)
			ok = format_read_match(r, v, f);
		if (ok && strcmp(v->string, "delimiter") == 0)
			ok = format_read_delimiter(r, v, f);
		if (!ok)
			return false;
		json_reader_up(r, at);
	}
	return format_check(r, f);
}

/* Parse a number of bytes.  On failure return -1, which no key accepts. */
static inline double
format_bytes_text(const char *text)
{
	uint64_t n;

	return num_bytes(text, 0, FORMAT_MESSAGE_MAX, &n) == NULL ?
	    (double)n : -1;
}

/*
 * Return the JSON object of a field from a text such as "u64@8",
 * "u64@8,us,ntp", "ip.src" or "7".
 */
static inline cJSON *
format_field_object(const char *text)
{
	char room[128], *at, *save = NULL, *word;
	cJSON *o = cJSON_CreateObject();

	if (o == NULL || strlen(text) >= sizeof(room))
		return o;
	memcpy(room, text, strlen(text) + 1);
	at = strchr(room, '@');
	word = strtok_r(at == NULL ? room : at + 1, ",", &save);
	if (word == NULL)
		return o;
	if (at != NULL) {
		*at = '\0';
		cJSON_AddStringToObject(o, "type", room);
		cJSON_AddStringToObject(o, "at", word);
	} else {
		cJSON_AddStringToObject(o, word[0] >= '0' && word[0] <= '9' ?
		    "value" : "field", word);
	}
	while ((word = strtok_r(NULL, ",", &save)) != NULL) {
		const bool epoch = strcmp(word, "unix") == 0 ||
		    strcmp(word, "ntp") == 0;

		if (word[0] == '+')
			cJSON_AddNumberToObject(o, "add",
			    format_bytes_text(word + 1));
		else
			cJSON_AddStringToObject(o, epoch ||
			    (word[0] >= '0' && word[0] <= '9') ? "epoch" :
			    "unit", word);
	}
	return o;
}

static inline bool
format_field_text(struct json_reader *r, const char *text, struct format *f)
{
	const char *eq = strchr(text, '=');
	char name[NEAREST_MAX] = "", hint[NEAREST_TEXT];
	cJSON *o;
	bool ok;
	int role;

	if (eq == NULL || (size_t)(eq - text) >= sizeof(name))
		return json_reader_fail(r, "give NAME=WHERE, for example "
		    "cluster=u16@0");
	memcpy(name, text, (size_t)(eq - text));
	for (role = 0; format_role_words[role] != NULL &&
	    strcmp(name, format_role_words[role]) != 0; role++)
		;
	if (format_role_words[role] == NULL)
		return json_reader_fail(r, "'%s' is not one of cluster, "
		    "worker, sequence, generated, merged, reward, length%s",
		    name, format_hint(name, format_role_words, hint));
	json_reader_down(r, name, 0);
	free(f->field[role].entry);
	if (role == FORMAT_GENERATED && strcmp(eq + 1, "sent") == 0)
		o = cJSON_CreateString("sent");
	else if (role == FORMAT_LENGTH && strchr(eq, '@') == NULL)
		o = cJSON_CreateNumber(format_bytes_text(eq + 1));
	else
		o = format_field_object(eq + 1);
	ok = o != NULL && format_read_field(r, o, f, (enum format_role)role);
	cJSON_Delete(o);
	json_reader_up(r, 0);
	return ok;
}

#endif
