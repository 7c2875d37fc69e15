/*
 * lock.h - one server to a file: who holds FILE.lock may write FILE
 *
 * FILE itself is another one after each save, so the lock is beside it.  The
 * kernel holds it for the server and for the child that saves, and gives it
 * back when both are gone, however they ended; what is left is a file that
 * means nothing.  At a normal end that goes, too.
 */
#ifndef INNET_MEMORY_STORE_LOCK_H
#define INNET_MEMORY_STORE_LOCK_H

/*
 * The lock of path, to be given back; -1 with errno, EWOULDBLOCK if another
 * holds it.  A child whose server was just killed is waited for, LOCK_WAIT_MS
 * at most: it may be within the kernel, writing.
 */
enum { LOCK_WAIT_MS = 2000 };
int lock_acquire(const char *path);
void lock_release(int fd, const char *path);

/*
 * Hold the file at path itself, so that no server begins from it by another
 * name, a hard link: its descriptor, to be closed; -1 with errno, ENOENT if it
 * is not there, ELOOP if that is a symbolic link, EWOULDBLOCK as above.
 */
int lock_hold_file(const char *path);

#endif
