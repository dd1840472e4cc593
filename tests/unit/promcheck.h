/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A strict reading of Prometheus' text format (version 0.0.4), by its own text and not by our
 * writer: grammar, one HELP and one TYPE before a family's samples, all samples of a family
 * together and none twice, counters that end in _total, histograms whole and rising.
 */
#ifndef MIGBATCH_PROMCHECK_H
#define MIGBATCH_PROMCHECK_H

#include <stddef.h>

/* 0 when all is right, else the line's number, with what is wrong with it in @why. */
int prom_check(const char *text, char *why, size_t size);

/* The number of samples, after a check that found nothing. */
size_t prom_samples(const char *text);

#endif /* MIGBATCH_PROMCHECK_H */
