# SPDX-License-Identifier: GPL-2.0-or-later
# The devices of the twin, all others are left out of the build.
CONFIG_Q35=y
CONFIG_ISA_DEBUG=y
CONFIG_PCIE_PORT=y
CONFIG_PXB=y
# pxb-pcie refers to symbols of the two
CONFIG_CXL=y
CONFIG_CXL_MEM_DEVICE=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_BLK=y
CONFIG_AMD_IOMMU=y
CONFIG_VTD=y
# real-time guests: see hpet in tests/qemu/run
CONFIG_HPET=y
# ptdma.c and twin-clock.c
CONFIG_TWIN=y
