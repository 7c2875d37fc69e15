/* write-peer FILE BYTES: write prepared bytes to a new file, 256 kB a call */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_BYTES = 256 * 1024 };

int
main(int argc, char *argv[])
{
	static char block[BLOCK_BYTES];
	long long left;
	int fd;

	if (argc != 3)
		errx(2, "usage: write-peer FILE BYTES");
	left = strtoll(argv[2], NULL, 10);
	memset(block, 0x5a, sizeof(block));
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fd == -1)
		err(1, "%s", argv[1]);
	while (left > 0) {
		ssize_t n = write(fd, block, left < BLOCK_BYTES ?
		    (size_t)left : BLOCK_BYTES);

		if (n == -1)
			err(1, "%s", argv[1]);
		left -= n;
	}
	return close(fd) == 0 ? 0 : 1;
}
