# SPDX-License-Identifier: GPL-2.0-or-later
# vm: errors
# An engine hangs with a full ring. Its client is not told that its buffers are safe, the driver lets
# go of the device all the same, and after a reset both work again.
modprobe ptdma || fail "modprobe ptdma"
mapfile -t channels < <(ptdma_channels)
chan=${channels[0]}
function=$(function_of "$chan")
ppm=$(engine_count "$function" error-ppm)
twinctl ptdma "$function" error-ppm=0 hang-at=20 || fail "no hang"

dmesg -C
modprobe dmaburst channel="$chan" bursts=1 burst=60 && fail "all was copied"
burst=$(dmesg | sed -n 's/.*dmaburst: \(descriptors=.*\)/\1/p')
echo "$burst"
same "descriptors that hang" "$(engine_count "$function" phase)" 3
same "copies that were answered" "$(burst_value good)" 19
same "copies that were not" "$(burst_value lost)" 41
dmesg | grep "ptdma $function: .*commands do not end" ||
	fail "the driver said nothing of buffers that are not safe"
same "commands that are left in the ring" "$(in_flight "$function")" 31

driver=$(readlink -f "/sys/bus/pci/devices/$function/driver")
echo "$function" >"$driver/unbind" || fail "the driver cannot be unbound"
echo 1 >"/sys/bus/pci/devices/$function/reset" || fail "no reset"
echo "$function" >"$driver/bind" || fail "the driver cannot be bound again"
same "descriptors that hang" "$(engine_count "$function" phase)" 0

mapfile -t channels < <(ptdma_channels)
for chan in "${channels[@]}"; do
	[ "$(function_of "$chan")" != "$function" ] || break
done
dma_burst channel="$chan" bursts=10 burst=60
same "good ones" "$(burst_value good)" 600
twinctl ptdma "$function" error-ppm="$ppm"
