// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AMD PTDMA (PCI 1022:1498), the memory to memory copy engine of EPYC processors, as far as the
 * Linux driver drives it: one queue of 32-byte descriptors per function.
 *
 * Timing is a fluid model on the virtual clock. A descriptor first costs a fixed time, then its
 * bytes flow at a rate limited by the function, by the pair of functions it belongs to and by the
 * link that all share; functions that move data at the same time share fairly. Rates change only
 * when a transfer starts or ends, so every completion time is computed exactly, in integers, and
 * depends on nothing but the times at which descriptors were issued.
 *
 * Data is copied at the very end of a transfer. That is the harshest order a guest may meet: a
 * source reused, or a destination read, before the completion always shows as wrong contents.
 *
 * What it does not do: other engines than pass-through, byte swapping, fixed addresses, and queue
 * interrupts other than completion and error.
 */

#include "qemu/osdep.h"
#include "qemu/queue.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci_device.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"

#define TYPE_PTDMA "ptdma"
OBJECT_DECLARE_SIMPLE_TYPE(PtdmaState, PTDMA)

#define PTDMA_DEVICE_ID		0x1498
#define PTDMA_CLASS		0x1300	/* non-essential instrumentation, as the real one says */
#define PTDMA_REGS_BAR		2
#define PTDMA_MSIX_BAR		4
#define PTDMA_REGS_SIZE		0x8000
#define PTDMA_PCIE_CAP		0x80

/* One queue of this version: what the driver's debugfs file shows. Not 4, which is AE4DMA. */
#define PTDMA_VERSION		(1 << 6 | 5)

/* Registers of the function that only keep what is written */
#define REG_PRIO		0x0000
#define REG_REQID		0x0004
#define REG_TIMEOUT		0x0008
#define REG_VERSION		0x0010
#define REG_CONFIG		0x1120
#define REG_CLOCK_GATE		0x6004

/* Registers of the queue */
#define REG_CONTROL		0x1000
#define REG_TAIL		0x1004
#define REG_HEAD		0x1008
#define REG_INT_ENABLE		0x100c
#define REG_INT_STATUS		0x1010
#define REG_ERROR		0x1100
#define REG_INT_STATUS_COPY	0x1104

/* Not of the hardware: fault injection and counters for tests, see tests/qemu/README.md */
#define REG_TEST		0x7000
#define REG_TEST_MAGIC		0x54465450	/* "PTFT" */

#define CONTROL_RUN		BIT(0)
#define CONTROL_SIZE(c)		(2u << extract32(c, 3, 5))
#define CONTROL_ADDR_HIGH(c)	extract32(c, 16, 16)

#define INT_COMPLETION		BIT(0)
#define INT_ERROR		BIT(1)
#define INT_ALL			(INT_COMPLETION | INT_ERROR)

#define DESC_SIZE		32
#define DESC_STOP		BIT(0)
#define DESC_INTERRUPT		BIT(1)
#define DESC_ENGINE(dw0)	extract32(dw0, 20, 4)
#define ENGINE_PASSTHROUGH	5

/* Codes of REG_ERROR, from the texts of the driver */
#define ERROR_ENGINE		1
#define ERROR_LENGTH		9
#define ERROR_READ		19
#define ERROR_WRITE		38

#define PPM			1000000
#define COPY_CHUNK		(64 * 1024)

typedef enum PtdmaPhase {
	PHASE_IDLE,
	PHASE_SETUP,	/* the fixed cost of a descriptor, until ready_ns */
	PHASE_MOVE,	/* bytes flow at rate */
	PHASE_HUNG,	/* by injection: only a reset ends it */
} PtdmaPhase;

/* A copy that is done after its completion was told: injection only. */
typedef struct PtdmaLate {
	PtdmaState *s;
	QEMUTimer *timer;
	dma_addr_t src;
	dma_addr_t dst;
	uint32_t len;
	QLIST_ENTRY(PtdmaLate) next;
} PtdmaLate;

struct PtdmaState {
	PCIDevice parent_obj;
	MemoryRegion regs;
	QLIST_ENTRY(PtdmaState) next;
	QLIST_HEAD(, PtdmaLate) late;

	/* timing */
	uint64_t func_bandwidth;	/* bytes per second */
	uint64_t pair_bandwidth;
	uint64_t link_bandwidth;
	uint32_t desc_ns;
	uint32_t pair;
	uint32_t link;
	bool msix;

	/* injection; the *_at are count-downs, 0 is off */
	uint32_t seed;
	uint32_t error_ppm;
	uint32_t error_at;
	uint32_t error_code;
	uint32_t error_partial;
	uint32_t hang_at;
	uint32_t jitter_ns;
	uint32_t late_ns;
	uint32_t spurious_every;
	uint32_t duplicate_every;
	uint64_t random;

	/* counters, kept over a reset */
	uint32_t descriptors;
	uint32_t duplicated;		/* descriptors when a completion was last duplicated */
	uint32_t errors;
	uint32_t hangs;
	uint32_t interrupts;
	uint64_t bytes;

	/* registers */
	uint32_t prio;
	uint32_t reqid;
	uint32_t timeout;
	uint32_t config;
	uint32_t clock_gate;
	uint32_t control;
	uint32_t tail;
	uint32_t head;
	uint32_t int_enable;
	uint32_t int_status;
	uint32_t error;

	/* the descriptor in work */
	PtdmaPhase phase;
	bool halted;		/* by an error, until it is acknowledged and RUN written after */
	bool head_moved;	/* head was written meanwhile: completion is not to move it */
	bool fails;
	uint32_t flags;
	uint32_t len;
	dma_addr_t src;
	dma_addr_t dst;
	int64_t ready_ns;
	uint64_t left;		/* bytes times 10^9, so that rate times ns needs no rounding */
	uint64_t rate;		/* bytes per second */
};

/* All functions of the machine, since they share pairs and links. Under the big QEMU lock. */
static struct {
	QLIST_HEAD(, PtdmaState) functions;
	QEMUTimer *timer;
	int64_t now;	/* transfers are accounted up to here */
	bool running;	/* a register access or a DMA out of fabric_run() led back into it */
} fabric;

/* The interrupt */

static void ptdma_notify(PtdmaState *s)
{
	PCIDevice *dev = PCI_DEVICE(s);

	s->interrupts++;
	if (msix_enabled(dev)) {
		msix_notify(dev, 0);
	} else if (msi_enabled(dev)) {
		msi_notify(dev, 0);
	}
}

/*
 * An MSI tells of a level: it is sent when a status arises where none that is enabled was, and
 * again at each write of the enable register that finds one, since the driver may have had the
 * interrupt disabled meanwhile. One that joins another which is not acknowledged yet sends nothing.
 */
static void ptdma_update_irq(PtdmaState *s)
{
	if (s->int_status & s->int_enable) {
		ptdma_notify(s);
	}
}

static void ptdma_raise(PtdmaState *s, uint32_t status)
{
	bool told = s->int_status & s->int_enable;

	s->int_status |= status;
	if (!told) {
		ptdma_update_irq(s);
	}
}

/* Data */

/* Copies through the PCI address space (so through an IOMMU, too). Returns an error code or 0. */
static uint32_t ptdma_copy(PtdmaState *s, dma_addr_t src, dma_addr_t dst, uint32_t len)
{
	PCIDevice *dev = PCI_DEVICE(s);
	g_autofree uint8_t *buf = g_malloc(MIN(len, COPY_CHUNK));

	while (len) {
		uint32_t n = MIN(len, COPY_CHUNK);

		if (pci_dma_read(dev, src, buf, n) != MEMTX_OK) {
			return ERROR_READ;
		}
		if (pci_dma_write(dev, dst, buf, n) != MEMTX_OK) {
			return ERROR_WRITE;
		}
		src += n;
		dst += n;
		len -= n;
	}
	return 0;
}

static void ptdma_late_free(PtdmaLate *late)
{
	QLIST_REMOVE(late, next);
	timer_free(late->timer);
	g_free(late);
}

static void ptdma_late_copy(void *opaque)
{
	PtdmaLate *late = opaque;

	ptdma_copy(late->s, late->src, late->dst, late->len);
	ptdma_late_free(late);
}

static void ptdma_copy_later(PtdmaState *s)
{
	PtdmaLate *late = g_new0(PtdmaLate, 1);

	late->s = s;
	late->src = s->src;
	late->dst = s->dst;
	late->len = s->len;
	late->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, ptdma_late_copy, late);
	QLIST_INSERT_HEAD(&s->late, late, next);
	timer_mod(late->timer, fabric.now + s->late_ns);
}

/* Descriptors */

/* xorshift64*: the same draws on every host. */
static uint32_t ptdma_random(PtdmaState *s, uint32_t below)
{
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return below ? (s->random * 0x2545f4914f6cdd1dull >> 32) % below : 0;
}

static void ptdma_seed(PtdmaState *s)
{
	/* No two functions draw alike, and the state is never 0. */
	s->random = ((uint64_t)s->seed << 32 | pci_get_bdf(PCI_DEVICE(s)) << 1 | 1) *
		    0x9e3779b97f4a7c15ull;
}

static bool count_down(uint32_t *at)
{
	return *at && --*at == 0;
}

static bool every(uint32_t period, uint32_t count)
{
	return period && count % period == 0;
}

/* The ring is aligned to its size: there is no register for its base. */
static uint32_t ptdma_next(PtdmaState *s)
{
	uint32_t mask = CONTROL_SIZE(s->control) * DESC_SIZE - 1;

	return (s->head & ~mask) | ((s->head + DESC_SIZE) & mask);
}

static void ptdma_fail(PtdmaState *s, uint32_t code)
{
	s->phase = PHASE_IDLE;
	s->halted = true;
	s->error = code;
	s->errors++;
	ptdma_raise(s, INT_ERROR);
}

/* Starts the descriptor at head. On an error head stays there, so that it names the culprit. */
static void ptdma_fetch(PtdmaState *s)
{
	dma_addr_t addr = (dma_addr_t)CONTROL_ADDR_HIGH(s->control) << 32 | s->head;
	uint32_t dw[DESC_SIZE / 4];
	uint32_t jitter, draw;

	s->descriptors++;
	s->head_moved = false;
	if (pci_dma_read(PCI_DEVICE(s), addr, dw, sizeof(dw)) != MEMTX_OK) {
		ptdma_fail(s, ERROR_READ);
		return;
	}
	s->flags = le32_to_cpu(dw[0]);
	s->len = le32_to_cpu(dw[1]);
	s->src = (dma_addr_t)extract32(le32_to_cpu(dw[3]), 0, 16) << 32 | le32_to_cpu(dw[2]);
	s->dst = (dma_addr_t)extract32(le32_to_cpu(dw[5]), 0, 16) << 32 | le32_to_cpu(dw[4]);
	if (DESC_ENGINE(s->flags) != ENGINE_PASSTHROUGH) {
		ptdma_fail(s, ERROR_ENGINE);
		return;
	}
	if (!s->len) {
		ptdma_fail(s, ERROR_LENGTH);
		return;
	}

	/* Always both draws: one kind of injection leaves the other's sequence as it is. */
	draw = ptdma_random(s, PPM);
	jitter = ptdma_random(s, s->jitter_ns);
	s->fails = count_down(&s->error_at) || draw < s->error_ppm;
	if (count_down(&s->hang_at)) {
		s->hangs++;
		s->phase = PHASE_HUNG;
		return;
	}
	s->ready_ns = fabric.now + s->desc_ns + jitter;
	s->phase = PHASE_SETUP;
}

static void ptdma_succeed(PtdmaState *s)
{
	s->bytes += s->len;
	s->phase = PHASE_IDLE;
	if (s->head_moved) {
		return;
	}
	s->head = ptdma_next(s);
	if (s->flags & DESC_STOP) {
		s->control &= ~CONTROL_RUN;
	}
	if (s->flags & DESC_INTERRUPT) {
		ptdma_raise(s, INT_COMPLETION);
	}
	if (every(s->spurious_every, s->descriptors)) {
		ptdma_notify(s);
	}
}

static void ptdma_finish(PtdmaState *s)
{
	uint32_t code = 0;

	if (s->fails) {
		ptdma_copy(s, s->src, s->dst, s->error_partial ? s->len / 2 : 0);
		code = s->error_code;
	} else if (s->late_ns) {
		ptdma_copy_later(s);
	} else {
		code = ptdma_copy(s, s->src, s->dst, s->len);
	}
	if (code) {
		ptdma_fail(s, code);
	} else {
		ptdma_succeed(s);
	}
}

/* Does what is due now for one function. Returns whether it did anything. */
static bool ptdma_step(PtdmaState *s)
{
	switch (s->phase) {
	case PHASE_IDLE:
		if (!(s->control & CONTROL_RUN) || s->halted || s->head == s->tail) {
			return false;
		}
		ptdma_fetch(s);
		return true;
	case PHASE_SETUP:
		if (s->ready_ns > fabric.now) {
			return false;
		}
		s->left = (uint64_t)s->len * NANOSECONDS_PER_SECOND;
		s->rate = 0;
		s->phase = PHASE_MOVE;
		return true;
	case PHASE_MOVE:
		if (s->left) {
			return false;
		}
		ptdma_finish(s);
		return true;
	default:
		return false;
	}
}

/* The fabric: who moves how fast */

/* What the function alone, and its half of a busy pair, would allow. */
static uint64_t fabric_cap(PtdmaState *s)
{
	unsigned int active = 0;
	PtdmaState *other;

	QLIST_FOREACH(other, &fabric.functions, next) {
		if (other->phase == PHASE_MOVE && other->link == s->link &&
		    other->pair == s->pair) {
			active++;
		}
	}
	return MIN(s->func_bandwidth, s->pair_bandwidth / active);
}

/* The one with the smallest limit of those on the link without a rate. Counts these. */
static PtdmaState *fabric_tightest(uint32_t link, uint64_t *cap, unsigned int *count)
{
	PtdmaState *s, *best = NULL;

	*count = 0;
	QLIST_FOREACH(s, &fabric.functions, next) {
		uint64_t c;

		if (s->phase != PHASE_MOVE || s->link != link || s->rate) {
			continue;
		}
		c = fabric_cap(s);
		if (!best || c < *cap) {
			best = s;
			*cap = c;
		}
		++*count;
	}
	return best;
}

/* Max-min fair: the tightest takes its limit or an even share, the others share what is left. */
static void fabric_share_link(PtdmaState *first)
{
	uint64_t left = first->link_bandwidth;
	unsigned int count;
	uint64_t cap = 0;
	PtdmaState *s;

	while ((s = fabric_tightest(first->link, &cap, &count))) {
		s->rate = MAX(MIN(cap, left / count), 1);
		left -= MIN(left, s->rate);
	}
}

static void fabric_share(void)
{
	PtdmaState *s;

	QLIST_FOREACH(s, &fabric.functions, next) {
		s->rate = 0;
	}
	QLIST_FOREACH(s, &fabric.functions, next) {
		if (s->phase == PHASE_MOVE && !s->rate) {
			fabric_share_link(s);
		}
	}
}

static void fabric_advance(void)
{
	int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
	PtdmaState *s;

	QLIST_FOREACH(s, &fabric.functions, next) {
		if (s->phase == PHASE_MOVE) {
			/* Divided first, as a long pause would overflow the product. */
			uint64_t need = DIV_ROUND_UP(s->left, s->rate);

			s->left = now - fabric.now >= need ? 0 :
				  s->left - s->rate * (now - fabric.now);
		}
	}
	fabric.now = now;
}

static void fabric_arm(void)
{
	int64_t first = INT64_MAX;
	PtdmaState *s;

	QLIST_FOREACH(s, &fabric.functions, next) {
		if (s->phase == PHASE_SETUP) {
			first = MIN(first, s->ready_ns);
		} else if (s->phase == PHASE_MOVE) {
			first = MIN(first, fabric.now + DIV_ROUND_UP(s->left, s->rate));
		}
	}
	if (first == INT64_MAX) {
		timer_del(fabric.timer);
	} else {
		timer_mod(fabric.timer, first);
	}
}

/* Brings all functions to the present time. Called at each event that may change something. */
static void fabric_run(void)
{
	PtdmaState *s;
	bool again;

	if (fabric.running) {
		return;
	}
	fabric.running = true;
	fabric_advance();
	do {
		again = false;
		QLIST_FOREACH(s, &fabric.functions, next) {
			again |= ptdma_step(s);
		}
	} while (again);
	fabric_share();
	fabric_arm();
	fabric.running = false;
}

static void fabric_timer(void *opaque)
{
	fabric_run();
}

static void fabric_join(PtdmaState *s)
{
	if (!fabric.timer) {
		fabric.timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, fabric_timer, NULL);
	}
	QLIST_INSERT_HEAD(&fabric.functions, s, next);
}

static void fabric_leave(PtdmaState *s)
{
	QLIST_REMOVE(s, next);
	fabric_run();
}

/* Registers */

static uint32_t *ptdma_plain_reg(PtdmaState *s, hwaddr addr)
{
	switch (addr) {
	case REG_PRIO: return &s->prio;
	case REG_REQID: return &s->reqid;
	case REG_TIMEOUT: return &s->timeout;
	case REG_CONFIG: return &s->config;
	case REG_CLOCK_GATE: return &s->clock_gate;
	case REG_TEST + 0x04: return &s->error_ppm;
	case REG_TEST + 0x08: return &s->error_at;
	case REG_TEST + 0x0c: return &s->error_code;
	case REG_TEST + 0x10: return &s->error_partial;
	case REG_TEST + 0x14: return &s->hang_at;
	case REG_TEST + 0x18: return &s->jitter_ns;
	case REG_TEST + 0x1c: return &s->late_ns;
	case REG_TEST + 0x20: return &s->spurious_every;
	case REG_TEST + 0x24: return &s->duplicate_every;
	case REG_TEST + 0x28: return &s->seed;
	default: return NULL;
	}
}

static uint64_t ptdma_read(void *opaque, hwaddr addr, unsigned int size)
{
	PtdmaState *s = opaque;
	uint32_t *reg = ptdma_plain_reg(s, addr);

	if (reg) {
		return *reg;
	}
	/* What became due by now must show, even if the timer has not run yet. */
	fabric_run();
	switch (addr) {
	case REG_VERSION: return PTDMA_VERSION;
	case REG_CONTROL: return s->control;
	case REG_TAIL: return s->tail;
	case REG_HEAD: return s->head;
	case REG_INT_ENABLE: return s->int_enable;
	case REG_INT_STATUS:
	case REG_INT_STATUS_COPY: return s->int_status;
	case REG_ERROR: return s->error;
	case REG_TEST: return REG_TEST_MAGIC;
	case REG_TEST + 0x40: return s->descriptors;
	case REG_TEST + 0x44: return s->errors;
	case REG_TEST + 0x48: return s->hangs;
	case REG_TEST + 0x4c: return s->interrupts;
	case REG_TEST + 0x50: return (uint32_t)s->bytes;
	case REG_TEST + 0x54: return s->bytes >> 32;
	case REG_TEST + 0x58: return s->phase;
	default: return 0;
	}
}

static void ptdma_write_control(PtdmaState *s, uint32_t val)
{
	s->control = val;
	/* A submitter that does not know of the error must not restart the failed descriptor. */
	if (val & CONTROL_RUN && !(s->int_status & INT_ERROR)) {
		s->halted = false;
	}
}

static void ptdma_write_head(PtdmaState *s, uint32_t val)
{
	s->head = val;
	s->head_moved = true;
}

static void ptdma_ack(PtdmaState *s, uint32_t val)
{
	uint32_t cleared = s->int_status & val;

	s->int_status &= ~val;
	/* Once a descriptor, or the acknowledgement of the duplicate would bring another one. */
	if (cleared & INT_COMPLETION && s->duplicated != s->descriptors &&
	    every(s->duplicate_every, s->descriptors)) {
		s->duplicated = s->descriptors;
		ptdma_raise(s, INT_COMPLETION);
	}
}

static void ptdma_write(void *opaque, hwaddr addr, uint64_t val, unsigned int size)
{
	PtdmaState *s = opaque;
	uint32_t *reg = ptdma_plain_reg(s, addr);

	/* First the past with the old values, below the future with the new ones. */
	fabric_run();
	if (reg) {
		*reg = val;
		if (reg == &s->seed) {
			ptdma_seed(s);
		}
		return;
	}
	switch (addr) {
	case REG_CONTROL:
		ptdma_write_control(s, val);
		break;
	case REG_TAIL:
		s->tail = val;
		break;
	case REG_HEAD:
		ptdma_write_head(s, val);
		break;
	case REG_INT_ENABLE:
		s->int_enable = val & INT_ALL;
		ptdma_update_irq(s);
		return;
	case REG_INT_STATUS:
		ptdma_ack(s, val & INT_ALL);
		return;
	default:
		return;
	}
	fabric_run();
}

static const MemoryRegionOps ptdma_ops = {
	.read = ptdma_read,
	.write = ptdma_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = { .min_access_size = 4, .max_access_size = 4 },
};

/* The device */

static void ptdma_reset_hold(Object *obj, ResetType type)
{
	PtdmaState *s = PTDMA(obj);

	while (!QLIST_EMPTY(&s->late)) {
		ptdma_late_free(QLIST_FIRST(&s->late));
	}
	s->phase = PHASE_IDLE;
	s->halted = false;
	s->control = 0;
	s->tail = 0;
	s->head = 0;
	s->int_enable = 0;
	s->int_status = 0;
	s->error = 0;
	s->prio = 0;
	s->reqid = 0;
	s->timeout = 0;
	s->config = 0;
	s->clock_gate = 0;
	/* The others get its share. */
	fabric_run();
}

static void ptdma_write_config(PCIDevice *dev, uint32_t addr, uint32_t val, int len)
{
	pci_default_write_config(dev, addr, val, len);
	pcie_cap_flr_write_config(dev, addr, val, len);
}

static bool ptdma_init_interrupts(PtdmaState *s, Error **errp)
{
	PCIDevice *dev = PCI_DEVICE(s);

	if (s->msix) {
		if (msix_init_exclusive_bar(dev, 1, PTDMA_MSIX_BAR, errp)) {
			return false;
		}
		msix_vector_use(dev, 0);
	}
	return !msi_init(dev, 0, 1, true, false, errp);
}

static void ptdma_realize(PCIDevice *dev, Error **errp)
{
	PtdmaState *s = PTDMA(dev);

	if (!s->func_bandwidth || !s->pair_bandwidth || !s->link_bandwidth) {
		error_setg(errp, "ptdma: bandwidth, pair-bandwidth and link-bandwidth must not be 0");
		return;
	}
	if (s->error_code < 1 || s->error_code > 63) {
		error_setg(errp, "ptdma: error-code must be 1 to 63, not %u", s->error_code);
		return;
	}
	memory_region_init_io(&s->regs, OBJECT(s), &ptdma_ops, s, "ptdma", PTDMA_REGS_SIZE);
	pci_register_bar(dev, PTDMA_REGS_BAR, PCI_BASE_ADDRESS_SPACE_MEMORY, &s->regs);
	if (pcie_endpoint_cap_init(dev, PTDMA_PCIE_CAP) < 0) {
		error_setg(errp, "ptdma: must be plugged into a PCI Express bus");
		return;
	}
	/* A function-level reset is the way out of a hang. */
	pcie_cap_flr_init(dev);
	if (!ptdma_init_interrupts(s, errp)) {
		return;
	}
	QLIST_INIT(&s->late);
	ptdma_seed(s);
	fabric_join(s);
}

static void ptdma_exit(PCIDevice *dev)
{
	PtdmaState *s = PTDMA(dev);

	while (!QLIST_EMPTY(&s->late)) {
		ptdma_late_free(QLIST_FIRST(&s->late));
	}
	fabric_leave(s);
	msi_uninit(dev);
	if (s->msix) {
		msix_uninit_exclusive_bar(dev);
	}
	pcie_cap_exit(dev);
}

/* The defaults of the timing are those of tests/qemu/constants, which says where they come from. */
static const Property ptdma_properties[] = {
	DEFINE_PROP_UINT64("bandwidth", PtdmaState, func_bandwidth, 14000000000),
	DEFINE_PROP_UINT64("pair-bandwidth", PtdmaState, pair_bandwidth, 15300000000),
	DEFINE_PROP_UINT64("link-bandwidth", PtdmaState, link_bandwidth, 78000000000),
	DEFINE_PROP_UINT32("descriptor-ns", PtdmaState, desc_ns, 500),
	DEFINE_PROP_UINT32("pair", PtdmaState, pair, 0),
	DEFINE_PROP_UINT32("link", PtdmaState, link, 0),
	DEFINE_PROP_BOOL("msix", PtdmaState, msix, true),
	DEFINE_PROP_UINT32("seed", PtdmaState, seed, 1),
	DEFINE_PROP_UINT32("error-ppm", PtdmaState, error_ppm, 0),
	DEFINE_PROP_UINT32("error-at", PtdmaState, error_at, 0),
	DEFINE_PROP_UINT32("error-code", PtdmaState, error_code, ERROR_READ),
	DEFINE_PROP_UINT32("error-partial", PtdmaState, error_partial, 0),
	DEFINE_PROP_UINT32("hang-at", PtdmaState, hang_at, 0),
	DEFINE_PROP_UINT32("jitter-ns", PtdmaState, jitter_ns, 0),
	DEFINE_PROP_UINT32("late-ns", PtdmaState, late_ns, 0),
	DEFINE_PROP_UINT32("spurious-every", PtdmaState, spurious_every, 0),
	DEFINE_PROP_UINT32("duplicate-every", PtdmaState, duplicate_every, 0),
};

static const VMStateDescription ptdma_vmstate = {
	.name = "ptdma",
	.unmigratable = 1,
};

static void ptdma_class_init(ObjectClass *class, void *data)
{
	DeviceClass *dc = DEVICE_CLASS(class);
	PCIDeviceClass *pc = PCI_DEVICE_CLASS(class);
	ResettableClass *rc = RESETTABLE_CLASS(class);

	pc->realize = ptdma_realize;
	pc->exit = ptdma_exit;
	pc->config_write = ptdma_write_config;
	pc->vendor_id = PCI_VENDOR_ID_AMD;
	pc->device_id = PTDMA_DEVICE_ID;
	pc->class_id = PTDMA_CLASS;
	rc->phases.hold = ptdma_reset_hold;
	dc->desc = "AMD PTDMA copy engine";
	dc->vmsd = &ptdma_vmstate;
	device_class_set_props(dc, ptdma_properties);
	set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static const TypeInfo ptdma_types[] = {
	{
		.name = TYPE_PTDMA,
		.parent = TYPE_PCI_DEVICE,
		.instance_size = sizeof(PtdmaState),
		.class_init = ptdma_class_init,
		.interfaces = (InterfaceInfo[]) {
			{ INTERFACE_PCIE_DEVICE },
			{ }
		},
	},
};

DEFINE_TYPES(ptdma_types)
