# SPDX-License-Identifier: GPL-2.0-or-later
# vm: strict lazy
# The engines see memory through an IOMMU: contents survive, the engines do the copies, and they touch
# nothing that is not mapped for them.
dcbm_on
nr=0
for device in /sys/bus/pci/drivers/ptdma/0000:*; do
	group=$device/iommu_group
	[ -e "$group" ] || fail "$device is not behind an IOMMU"
	case $(<$group/type) in
	DMA) mode=strict ;;
	DMA-FQ) mode=lazy ;;
	*) fail "$device is not translated: $(<$group/type)" ;;
	esac
	grep -qw "iommu.strict=$([ $mode = lazy ]; echo $?)" /proc/cmdline ||
		fail "$device is in mode $mode"
	nr=$((nr + 1))
done
same "engines behind the IOMMU" $nr 8

set_knob default_channels 8
for kind in anon shmem; do
	stream 32 4 0
	moves_by_dma $kind 4K
	stream 64 4 16384
	moves_by_dma $kind 64K
	stream 512 2 131072
	moves_by_dma $kind 2M
done
# One batch at a time, as without streams.
stream 8192 1 0
moves_by_dma anon 4K
moves_by_dma anon 2M

faults=$(dmesg | grep -E 'DMAR:.*[Ff]ault|DMA (Read|Write)')
[ -z "$faults" ] || fail "the IOMMU has seen faults: $faults"
