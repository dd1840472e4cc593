# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched vanilla
# Memory of all kinds and folio sizes bounces between the nodes, while others write, fork, protect,
# unmap, move, lock, split and free it at random: no store is lost and no permission too wide.
# A long run: bounce --folios 100000 --seconds 1000 (100 to 1000 folios a second, as the host is
# busy).
swap=/var/tmp/bounce.swap
dd if=/dev/zero of=$swap bs=1M count=64 status=none && chmod 600 $swap &&
	mkswap -q $swap && swapon $swap || fail "no swap"

# bounced NAME: the value in the last result line.
bounced() {
	sed -n "s/.* $1=\([^ ]*\).*/\1/p" <<<"$result"
}

bounce_on() {
	echo "+ bounce $*"
	result=$(bounce "$@") || fail "bounce: ${result:-see above}"
	echo "$result"
	at_least "folios moved" "$(bounced folios)" 500
	at_least "large ones" "$(bounced large)" 50
}

bounce_on --folios 15000 --seconds 12
if [ -d $mb ]; then
	dcbm_on
	set_knob default_channels 4
	count_from_here
	bounce_on --folios 15000 --seconds 12
	at_least "pages copied by DMA" "$(since pages_dma)" 500
	dcbm_off
fi

# What is done wrong on purpose is found, or the above proves nothing.
for fault in store protect swap; do
	result=$(bounce --seconds 20 --sabotage $fault 2>/run/bounce.err)
	same "status of a run with sabotage '$fault'" $? 1
	grep -m 1 'slot' /run/bounce.err
done
swapoff $swap
rm -f $swap
