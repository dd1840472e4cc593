// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's hand on the virtual clock of the twin: six 32-bit ports, little endian,
 * that take single bytes as well.
 *
 *	+0  ro  "TWIN", so that a guest can tell that the device is there
 *	+4  rw  mode: 0 no virtual clock (QEMU runs without -icount; writes are ignored)
 *	              1 boot: one instruction takes one ns, so that booting is fast
 *	              2 fitted: insns-per-ns instructions take one ns, as on the machine that the
 *	                constants are fitted to, and a vCPU's turn is capped
 *	+8  ro  insns-per-ns
 *	+12 ro  rep-bytes: bytes that one counted iteration of a REP string instruction moves
 *	+16 ro  turn-ns: cap of a vCPU's turn in mode 2
 *	+20 ro  pause-insns: instructions that a PAUSE counts as
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/isa/isa.h"
#include "hw/qdev-properties.h"
#include "system/cpu-timers.h"

#define TYPE_TWIN_CLOCK "twin-clock"
OBJECT_DECLARE_SIMPLE_TYPE(TwinClock, TWIN_CLOCK)

#define TWIN_CLOCK_MAGIC	0x4e495754
#define TWIN_CLOCK_SIZE		24

enum { MODE_NONE, MODE_BOOT, MODE_FITTED };

struct TwinClock {
	ISADevice parent_obj;
	MemoryRegion io;
	uint32_t iobase;
	uint32_t insns_per_ns;
	uint32_t rep_bytes;
	uint32_t turn_ns;
	uint32_t pause_insns;
	uint32_t mode;
};

static uint32_t twin_clock_reg(TwinClock *s, hwaddr reg)
{
	switch (reg) {
	case 0: return TWIN_CLOCK_MAGIC;
	case 4: return s->mode;
	case 8: return s->insns_per_ns;
	case 12: return s->rep_bytes;
	case 16: return s->turn_ns;
	case 20: return s->pause_insns;
	default: return 0;
	}
}

static uint64_t twin_clock_read(void *opaque, hwaddr addr, unsigned int size)
{
	/* Bytes of a register, too: that is all that the guest's /dev/port can do. */
	return twin_clock_reg(opaque, addr & ~3) >> (addr & 3) * 8;
}

static void twin_clock_write(void *opaque, hwaddr addr, uint64_t val, unsigned int size)
{
	TwinClock *s = opaque;

	if (addr != 4 || s->mode == MODE_NONE || (val != MODE_BOOT && val != MODE_FITTED)) {
		return;
	}
	s->mode = val;
	if (val == MODE_FITTED) {
		icount_set_rate(s->insns_per_ns, s->turn_ns);
	} else {
		icount_set_rate(1, 0);
	}
}

static const MemoryRegionOps twin_clock_ops = {
	.read = twin_clock_read,
	.write = twin_clock_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = { .min_access_size = 1, .max_access_size = 4 },
	.impl = { .min_access_size = 1, .max_access_size = 4 },
};

static void twin_clock_realize(DeviceState *dev, Error **errp)
{
	TwinClock *s = TWIN_CLOCK(dev);
	ISADevice *isa = ISA_DEVICE(dev);

	if (!s->insns_per_ns || !s->rep_bytes || !s->pause_insns) {
		error_setg(errp, "twin-clock: insns-per-ns, rep-bytes and pause-insns must not be 0");
		return;
	}
	s->mode = icount_enabled() ? MODE_BOOT : MODE_NONE;
	if (s->mode != MODE_NONE) {
		icount_set_rep_bytes(s->rep_bytes);
		icount_set_pause_insns(s->pause_insns);
	}
	memory_region_init_io(&s->io, OBJECT(s), &twin_clock_ops, s, TYPE_TWIN_CLOCK,
			      TWIN_CLOCK_SIZE);
	memory_region_add_subregion(isa_address_space_io(isa), s->iobase, &s->io);
}

static const Property twin_clock_properties[] = {
	DEFINE_PROP_UINT32("iobase", TwinClock, iobase, 0x520),
	DEFINE_PROP_UINT32("insns-per-ns", TwinClock, insns_per_ns, 6),
	DEFINE_PROP_UINT32("rep-bytes", TwinClock, rep_bytes, 2),
	DEFINE_PROP_UINT32("turn-ns", TwinClock, turn_ns, 20000),
	DEFINE_PROP_UINT32("pause-insns", TwinClock, pause_insns, 64),
};

static void twin_clock_class_init(ObjectClass *class, void *data)
{
	DeviceClass *dc = DEVICE_CLASS(class);

	dc->realize = twin_clock_realize;
	dc->desc = "rate of the virtual clock, set by the guest";
	device_class_set_props(dc, twin_clock_properties);
	set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static const TypeInfo twin_clock_types[] = {
	{
		.name = TYPE_TWIN_CLOCK,
		.parent = TYPE_ISA_DEVICE,
		.instance_size = sizeof(TwinClock),
		.class_init = twin_clock_class_init,
	},
};

DEFINE_TYPES(twin_clock_types)
