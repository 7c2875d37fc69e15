/*
 * api.h - the part of the Redis module API that this module uses
 *
 * A server (Redis from 7.0, or one with the same API) loads a shared object and
 * calls its RedisModule_OnLoad().  A context begins with a pointer to a
 * function.  This function looks up any other function by name and stores its
 * address.  Therefore the module is not linked to the server and needs none of
 * the server's headers.  The names are those of the server's documentation,
 * with RM_ instead of RedisModule_.  api_open() fetches all functions.  It
 * returns the name of the first function of API_NEEDED that is missing.
 * Functions of API_WANTED that the server lacks are NULL.
 */
#ifndef INNET_MEMORY_MODULE_API_H
#define INNET_MEMORY_MODULE_API_H

#include <stddef.h>
#include <stdint.h>

enum { RM_OK = 0, RM_ERR = 1, RM_VERSION = 1, RM_READ = 1, RM_WRITE = 2 };
enum { RM_KEY_EMPTY = 0, RM_KEY_MODULE = 6 };
enum {				/* the flags of RM_GetContextFlags() */
	RM_CTX_LUA = 1 << 0, RM_CTX_MULTI = 1 << 1, RM_CTX_SLAVE = 1 << 3,
	RM_CTX_REPLICATED = 1 << 12, RM_CTX_LOADING = 1 << 13,
	RM_CTX_DENY_BLOCKING = 1 << 21, RM_CTX_RESP3 = 1 << 22,
	RM_CTX_ASYNC_LOADING = 1 << 23
};
enum { RM_OPTION_IO_ERRORS = 1, RM_TYPE_VERSION = 3 };
enum { RM_EVENT_FLUSHDB = 2, RM_FLUSHDB_START = 0, RM_EVENT_SWAPDB = 11 };

struct rm_ctx { void *get_api; };	/* The struct of the server is longer
					 * than this one. */
typedef struct rm_string rm_string;	/* opaque types of the server */
typedef struct rm_key rm_key;
typedef struct rm_io rm_io;
typedef struct rm_type rm_type;
typedef struct rm_digest rm_digest;
typedef struct rm_blocked rm_blocked;

typedef int rm_command(struct rm_ctx *c, rm_string **v, int n);

struct rm_event { uint64_t id, version; };
/* the value -1 of `db` means all databases */
struct rm_flush { uint64_t version; int32_t sync, db; };
struct rm_swap { uint64_t version; int32_t db[2]; };

/* The functions of a data type, in the order of version 3. */
struct rm_methods {
	uint64_t version;
	void *(*load)(rm_io *io, int encoding);
	void (*save)(rm_io *io, void *value);
	void (*rewrite)(rm_io *io, rm_string *key, void *value);
	size_t (*usage)(const void *value);
	void (*digest)(rm_digest *md, void *value);
	void (*free)(void *value);
	int (*aux_load)(rm_io *io, int encoding, int when);
	void (*aux_save)(rm_io *io, int when);
	int aux_triggers;
	size_t (*free_effort)(rm_string *key, const void *value);
	void (*unlink)(rm_string *key, const void *value);
	void *(*copy)(rm_string *from, rm_string *to, const void *value);
	int (*defrag)(void *ctx, rm_string *key, void **value);
};

/* The position of a command's key, and how the command uses the key. */
struct rm_keyspec {
	const char *notes;
	uint64_t flags;
	int begin;		/* argument of RM_BEGIN_INDEX */
	union { struct { int pos; } index; struct { const char *word;
		int from; } keyword; } bs;
	int find;		/* argument of RM_FIND_RANGE */
	union { struct { int last, step, limit; } range; struct { int at,
		first, step; } keynum; } fk;
};
struct rm_info_version { int version; size_t history, keyspec, arg; };
struct rm_info {
	const struct rm_info_version *version;
	const char *summary, *complexity, *since;
	void *history;
	const char *tips;
	int arity;
	struct rm_keyspec *keys;	/* array that ends with an element of
					 * zeros */
	void *args;
};
enum { RM_BEGIN_INDEX = 2, RM_FIND_RANGE = 2, RM_HISTORY_BYTES = 16,
	RM_ARG_BYTES = 64 };
enum { RM_KEY_RO = 1, RM_KEY_RW = 2, RM_KEY_ACCESS = 16, RM_KEY_UPDATE = 32,
	RM_KEY_INSERT = 64, RM_KEY_DELETE = 128 };

#define API_NEEDED(X) \
	X(void, SetModuleAttribs, (struct rm_ctx *, const char *, int, int)) \
	X(void, SetModuleOptions, (struct rm_ctx *, int)) \
	X(int, CreateCommand, (struct rm_ctx *, const char *, rm_command *, \
	    const char *flags, int first, int last, int step)) \
	X(rm_type *, CreateDataType, (struct rm_ctx *, const char *, int, \
	    struct rm_methods *)) \
	X(int, SubscribeToServerEvent, (struct rm_ctx *, struct rm_event, \
	    void (*)(struct rm_ctx *, struct rm_event, uint64_t, void *))) \
	X(void, GetRandomBytes, (unsigned char *, size_t)) \
	X(unsigned long long, GetClientId, (struct rm_ctx *)) \
	X(void, Log, (struct rm_ctx *, const char *, const char *, ...)) \
	X(void *, TryAlloc, (size_t)) \
	X(void, Free, (void *)) \
	X(rm_key *, OpenKey, (struct rm_ctx *, rm_string *, int)) \
	X(void, CloseKey, (rm_key *)) \
	X(int, KeyType, (rm_key *)) \
	X(int, UnlinkKey, (rm_key *)) \
	X(int, GetSelectedDb, (struct rm_ctx *)) \
	X(rm_type *, ModuleTypeGetType, (rm_key *)) \
	X(void *, ModuleTypeGetValue, (rm_key *)) \
	X(int, ModuleTypeSetValue, (rm_key *, rm_type *, void *)) \
	X(int, SignalModifiedKey, (struct rm_ctx *, rm_string *)) \
	X(const char *, StringPtrLen, (const rm_string *, size_t *)) \
	X(int, ReplyWithError, (struct rm_ctx *, const char *)) \
	X(int, ReplyWithSimpleString, (struct rm_ctx *, const char *)) \
	X(int, ReplyWithLongLong, (struct rm_ctx *, long long)) \
	X(int, ReplyWithNull, (struct rm_ctx *)) \
	X(int, ReplyWithArray, (struct rm_ctx *, long)) \
	X(int, ReplyWithStringBuffer, (struct rm_ctx *, const char *, \
	    size_t)) \
	X(int, GetContextFlags, (struct rm_ctx *)) \
	X(int, Replicate, (struct rm_ctx *, const char *, const char *, ...)) \
	X(int, ReplicateVerbatim, (struct rm_ctx *)) \
	X(rm_blocked *, BlockClientOnKeys, (struct rm_ctx *, rm_command *, \
	    rm_command *, void (*)(struct rm_ctx *, void *), \
	    long long ms, rm_string **, int, void *)) \
	X(void *, GetBlockedClientPrivateData, (struct rm_ctx *)) \
	X(int, UnblockClient, (rm_blocked *, void *)) \
	X(void, SignalKeyAsReady, (struct rm_ctx *, rm_string *)) \
	X(void *, GetServerInfo, (struct rm_ctx *, const char *)) \
	X(unsigned long long, ServerInfoGetFieldUnsigned, (void *, \
	    const char *, int *)) \
	X(void, FreeServerInfo, (struct rm_ctx *, void *)) \
	X(void, SaveUnsigned, (rm_io *, uint64_t)) \
	X(uint64_t, LoadUnsigned, (rm_io *)) \
	X(void, SaveStringBuffer, (rm_io *, const char *, size_t)) \
	X(char *, LoadStringBuffer, (rm_io *, size_t *)) \
	X(int, IsIOError, (rm_io *)) \
	X(void, LogIOError, (rm_io *, const char *, const char *, ...)) \
	X(void, EmitAOF, (rm_io *, const char *, const char *, ...)) \
	X(void, DigestAddStringBuffer, (rm_digest *, const char *, size_t)) \
	X(void, DigestEndSequence, (rm_digest *))

#define API_WANTED(X) \
	X(void *, GetCommand, (struct rm_ctx *, const char *)) \
	X(int, SetCommandInfo, (void *, const struct rm_info *)) \
	X(int, ReplyWithMap, (struct rm_ctx *, long)) \
	X(int, ReplyWithDouble, (struct rm_ctx *, double)) \
	X(int, SetCommandACLCategories, (void *, const char *))

#define API_DECLARE(ret, name, args) extern ret (*RM_##name) args;
API_NEEDED(API_DECLARE)
API_WANTED(API_DECLARE)

/*
 * Fetch all functions.  Return NULL, or the name of a missing function that the
 * module needs.
 */
const char *api_open(struct rm_ctx *c);

#endif
