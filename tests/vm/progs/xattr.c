// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sets or removes an extended attribute, as setfattr(1) of package attr does.
 *
 * usage: xattr FILE NAME [VALUE]
 */
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

int main(int argc, char **argv)
{
	int ret;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: xattr FILE NAME [VALUE]\n");
		return 2;
	}
	ret = argc == 3 ? removexattr(argv[1], argv[2]) :
			  setxattr(argv[1], argv[2], argv[3], strlen(argv[3]), 0);
	if (ret)
		perror(argv[1]);
	return ret != 0;
}
