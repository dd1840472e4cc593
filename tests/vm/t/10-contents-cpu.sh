# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched vanilla
# Contents survive moves in both directions by CPU, while threads write.
for size in 4K 64K 2M; do
	move --size $size --bytes 32M --rounds 4 --writers 2
	move --size $size --bytes 32M --rounds 2 --kind shmem --writers 1
done
