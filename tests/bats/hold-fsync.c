/*
 * hold-fsync - a disk that is slow, or that fails, for tests
 *
 *	LD_PRELOAD=./hold-fsync.so COMMAND
 *
 * fsync() waits while there is a file "hold" in the working directory.  If
 * there is a file "fail" then, fsync() removes it and fails.
 */
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

int
fsync(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");

	while (access("hold", F_OK) == 0)
		usleep(10000);
	if (unlink("fail") == 0) {
		errno = EIO;
		return -1;
	}
	return real(fd);
}
