/*
 * lock.h - lock a file, so that one server at a time uses it: the holder of
 * FILE.lock may write FILE
 *
 * A save replaces FILE by another file, so the lock is on a file beside it.
 * The kernel holds the lock for the server and for the child that saves, and
 * releases it when both have ended, for whatever reason; the lock file that is
 * left then means nothing.  At a normal end it is removed.
 */
#ifndef INNET_MEMORY_STORE_LOCK_H
#define INNET_MEMORY_STORE_LOCK_H

/*
 * Acquire the lock of path and return a descriptor for lock_release(), or -1
 * with errno: EWOULDBLOCK if another process holds it.  Wait LOCK_WAIT_MS at
 * most, because the child of a killed server may still be writing.
 */
enum { LOCK_WAIT_MS = 2000 };
int lock_acquire(const char *path);
void lock_release(int fd, const char *path);

/*
 * Lock the file at path itself, so that no server uses it by another name (a
 * hard link).  Return its descriptor, which the caller closes, or -1 with
 * errno: ENOENT if it does not exist, ELOOP if it is a symbolic link,
 * EWOULDBLOCK if another process holds it.
 */
int lock_hold_file(const char *path);

#endif
