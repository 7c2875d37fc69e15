/*
 * sandbox.h - give up privileges that a live tool does not need while it serves
 *
 * After its sockets and files are open, a tool needs few privileges.  It
 * becomes another user (--user), gives up the right to gain privileges, and
 * asks the kernel (Landlock, Linux 5.13 or later) to restrict it to the folders
 * of the files that it must write.  After this, the tool cannot open other
 * files or execute programs.  There is one exception: it can read, but not
 * write, files in the folders of its keys.  If the kernel has no Landlock,
 * there is no such restriction.  A tool that still needs capabilities lists
 * them in struct sandbox; if --user is given, it keeps only these.  The systemd
 * unit that starts a service sets seccomp filters (innet-security(7)).  Tools
 * that start commands cannot use this file.
 *
 * These functions are for tools only: on failure they print an error and exit
 * with status 1.
 */
#ifndef INNET_NET_SANDBOX_H
#define INNET_NET_SANDBOX_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/file-link.h"
#include "common/base/message.h"

/* The headers of Debian 12 lack these constants of Landlock's ABI 2 and 3. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

/*
 * All access rights of Landlock's ABI 1.  sandbox_restrict() adds those of ABI
 * 2 and 3 if the kernel has them.
 */
#define SANDBOX_ALL ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define SANDBOX_FILE (LANDLOCK_ACCESS_FS_WRITE_FILE | \
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)
#define SANDBOX_FOLDER (SANDBOX_FILE | LANDLOCK_ACCESS_FS_READ_DIR | \
    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | \
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REFER)

enum { SANDBOX_PATHS = 16, SANDBOX_CAPABILITIES = 64 };

struct sandbox {
	const char *user;		/* user to become; NULL: do not change
					 * the user */
	uint64_t capabilities;		/* bit mask of the capabilities to keep
					 * if the user changes; 0: keep none */
	const char *path[SANDBOX_PATHS];	/* paths of files that are
						 * written later */
	bool reads[SANDBOX_PATHS];	/* the file at this index of `path` is
					 * only read later */
	size_t paths;
	const char *system[SANDBOX_PATHS];	/* paths of devices, or of
						 * folders in kernel file
						 * systems, that are read or
						 * written later */
	size_t systems;
};

/* Allow the tool to write the file at path later.  NULL and "-" are ignored. */
static inline void sandbox_add_file(struct sandbox *s, const char *path);

/* Allow the tool to read the file at path later.  NULL is ignored. */
static inline void sandbox_add_input(struct sandbox *s, const char *path);

/*
 * Allow the tool to read and write the device at path later or, if path is a
 * folder of a kernel file system, the files in this folder.  A path that does
 * not exist is ignored.
 */
static inline void sandbox_add_system(struct sandbox *s, const char *path);

/*
 * Enter the sandbox.  Call this function when all files and sockets are open.
 */
static inline void sandbox_enter(const struct sandbox *s);

/* implementation */

static inline void
sandbox_add_file(struct sandbox *s, const char *path)
{
	if (path != NULL && strcmp(path, "-") != 0 && s->paths <
	    SANDBOX_PATHS)
		s->path[s->paths++] = path;
}

static inline void
sandbox_add_input(struct sandbox *s, const char *path)
{
	if (path != NULL && s->paths < SANDBOX_PATHS) {
		s->reads[s->paths] = true;
		s->path[s->paths++] = path;
	}
}

static inline void
sandbox_add_system(struct sandbox *s, const char *path)
{
	if (s->systems < SANDBOX_PATHS)
		s->system[s->systems++] = path;
}

/*
 * Make sure that the process and its children can never gain capabilities
 * outside `keep`, and let the process keep its capabilities when it changes its
 * user.
 */
static inline void
sandbox_keep_capabilities(uint64_t keep)
{
	for (int k = 0; k < SANDBOX_CAPABILITIES; k++) {
		if ((keep >> k & 1) == 0)	/* this call fails for
						 * capabilities that the kernel
						 * does not know */
			(void)prctl(PR_CAPBSET_DROP, k, 0, 0, 0);
	}
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == -1)
		err(1, "--user: capabilities");
}

/* Drop all capabilities of the process that are not in `keep`. */
static inline void
sandbox_limit_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct h = {
		.version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct c[2] = { { 0 } };

	if (syscall(SYS_capget, &h, c) == -1)
		err(1, "--user: capabilities");
	for (int i = 0; i < 2; i++) {
		c[i].permitted &= (uint32_t)(keep >> 32 * i);
		c[i].effective = c[i].permitted;
		c[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &h, c) == -1 ||
	    prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) == -1)
		err(1, "--user: capabilities");
}

/* Become the user `name`, and keep only the groups of this user. */
static inline void
sandbox_change_user(const char *name)
{
	const struct passwd *pw;

	errno = 0;
	pw = getpwnam(name);
	if (pw == NULL && errno != 0)
		err(1, "--user %s", name);
	if (pw == NULL)
		errx(1, "--user: unknown user '%s'", name);
	if (initgroups(name, pw->pw_gid) == -1 || setgid(pw->pw_gid) == -1 ||
	    setuid(pw->pw_uid) == -1)
		err(1, "--user %s", name);
	if (pw->pw_uid != 0 && setuid(0) == 0)
		errx(1, "--user %s: the process could become root again",
		    name);
}

/*
 * Add a rule for the folder of `path`.  Follow symbolic links, because they
 * will also be followed when the file is opened later.  If `reads` is true, the
 * program may only read files in the folder; otherwise it may also create,
 * write and remove files there.  `known` is the set of access rights that the
 * kernel knows.  Returns false with errno on failure.
 */
static inline bool
sandbox_allow_folder(int rules, const char *path, bool reads, uint64_t known)
{
	struct landlock_path_beneath_attr at = { .allowed_access = known &
	    (reads ? LANDLOCK_ACCESS_FS_READ_FILE : SANDBOX_FOLDER) };
	char folder[PATH_MAX], end[PATH_MAX];
	const char *slash;
	struct stat st;
	bool ok;

	if (file_link_end(path, end))	/* atomic-file.h follows links too */
		path = end;
	slash = strrchr(path, '/');

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) &&
	    !S_ISSOCK(st.st_mode)) {	/* `path` is a pipe, or a file in
					 * /dev */
		snprintf(folder, sizeof(folder), "%s", path);
		at.allowed_access = SANDBOX_FILE & known;
	} else if (slash == NULL) {
		snprintf(folder, sizeof(folder), ".");
	} else {
		snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 :
		    (int)(slash - path), path);
	}
	at.parent_fd = open(folder, O_PATH | O_CLOEXEC);
	if (at.parent_fd == -1)
		return false;
	ok = syscall(SYS_landlock_add_rule, rules,
	    LANDLOCK_RULE_PATH_BENEATH, &at, 0) == 0;
	close(at.parent_fd);
	return ok;
}

/*
 * Add a rule for `path`, which is a device or a folder of a kernel file system.
 * If path does not exist, do nothing.
 */
static inline bool
sandbox_allow_system(int rules, const char *path, uint64_t known)
{
	struct landlock_path_beneath_attr at = { .allowed_access =
	    SANDBOX_FILE & known, .parent_fd = open(path, O_PATH |
	    O_CLOEXEC) };
	bool ok;

	if (at.parent_fd == -1)
		return true;
	ok = syscall(SYS_landlock_add_rule, rules,
	    LANDLOCK_RULE_PATH_BENEATH, &at, 0) == 0;
	close(at.parent_fd);
	return ok;
}

/*
 * If the program was built with a sanitizer, allow the sanitizer's leak check
 * to read /proc.
 */
static inline bool
sandbox_allow_leak_check(int rules)
{
#ifdef INNET_SANITIZERS
	struct landlock_path_beneath_attr at = { .allowed_access =
	    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
	    .parent_fd = open("/proc", O_PATH | O_CLOEXEC) };
	const bool ok = at.parent_fd != -1 && syscall(
	    SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &at,
	    0) == 0;

	close(at.parent_fd);
	return ok;
#else
	(void)rules;
	return true;
#endif
}

/*
 * Restrict this process to the files in s.  If the kernel has no Landlock, do
 * nothing.
 */
static inline void
sandbox_restrict(const struct sandbox *s)
{
	const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr all = { .handled_access_fs =
	    SANDBOX_ALL | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
	    (abi >= 3 ? LANDLOCK_ACCESS_FS_TRUNCATE : 0) };
	int rules;

	if (abi < 1)
		return;
	rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all),
	    0);
	if (rules == -1)
		err(1, "landlock");
	for (size_t i = 0; i < s->paths; i++) {
		if (!sandbox_allow_folder(rules, s->path[i], s->reads[i],
		    all.handled_access_fs))
			err(1, "%s", s->path[i]);
	}
	for (size_t i = 0; i < s->systems; i++) {
		if (!sandbox_allow_system(rules, s->system[i],
		    all.handled_access_fs))
			err(1, "%s", s->system[i]);
	}
	if (!sandbox_allow_leak_check(rules))
		err(1, "/proc");
	if (syscall(SYS_landlock_restrict_self, rules, 0) == -1)
		err(1, "landlock");
	close(rules);
}

static inline void
sandbox_enter(const struct sandbox *s)
{
	if (s->user != NULL && s->capabilities != 0)
		sandbox_keep_capabilities(s->capabilities);
	if (s->user != NULL)
		sandbox_change_user(s->user);
	if (s->user != NULL && s->capabilities != 0)
		sandbox_limit_capabilities(s->capabilities);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		err(1, "no_new_privs");
	sandbox_restrict(s);
}

#endif
