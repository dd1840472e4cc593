/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MIGBATCH_VERSION_H
#define MIGBATCH_VERSION_H

#define MIGBATCH_VERSION "0.1"

#endif /* MIGBATCH_VERSION_H */
