/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the build says of itself; these are for a build without its Makefile. */
#ifndef MIGBATCH_VERSION_H
#define MIGBATCH_VERSION_H

#ifndef MIGBATCH_VERSION
#define MIGBATCH_VERSION "0.1.0"
#endif

/* Where `make install` puts the observer and the policies. */
#ifndef MIGBATCH_LIBDIR
#define MIGBATCH_LIBDIR "/usr/lib/migbatch"
#endif

#endif /* MIGBATCH_VERSION_H */
