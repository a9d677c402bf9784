// SPDX-License-Identifier: GPL-2.0-only
/* The RDMA device of a NIC: one RoCE port with its GIDs and its driver's statistics. It transports nothing. */

#include <net/addrconf.h>
#include <rdma/ib_addr.h>

#include "fabric_nic.h"

static struct fabric_rdma *rdma_of(struct ib_device *ibdev)
{
	return container_of(ibdev, struct fabric_rdma, ibdev);
}

static int fabric_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			       struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->max_pkeys = 1;
	return 0;
}

static int fabric_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct net_device *netdev = rdma_of(ibdev)->netdev;
	bool up = netif_running(netdev) && netif_carrier_ok(netdev);

	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = iboe_get_mtu(netdev->mtu);
	attr->gid_tbl_len = 16;
	attr->pkey_tbl_len = 1;
	attr->ip_gids = true;
	attr->active_speed = IB_SPEED_EDR;
	attr->active_width = IB_WIDTH_4X;
	return 0;
}

static int fabric_port_immutable(struct ib_device *ibdev, u32 port,
				 struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE | RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->gid_tbl_len = 16;
	immutable->pkey_tbl_len = 1;
	return 0;
}

static int fabric_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

static enum rdma_link_layer fabric_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int fabric_add_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static int fabric_del_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static void fabric_firmware(struct ib_device *ibdev, char *text)
{
	strscpy(text, "22.41.1000", IB_FW_VERSION_NAME_MAX);
}

static struct rdma_hw_stats *fabric_alloc_stats(struct ib_device *ibdev, u32 port)
{
	struct fabric_rdma *rdma = rdma_of(ibdev);
	struct rdma_hw_stats *stats =
		rdma_alloc_hw_stats_struct(rdma->descs, rdma->count, RDMA_HW_STATS_DEFAULT_LIFESPAN);
	unsigned int i;

	for (i = 0; stats && i < rdma->count; i++)
		if (rdma->descs[i].flags & IB_STAT_FLAG_OPTIONAL)
			set_bit(i, stats->is_disabled);
	return stats;
}

static int fabric_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port,
			    int index)
{
	struct fabric_rdma *rdma = rdma_of(ibdev);
	struct fabric_nic *nic = rdma->nic;
	u64 now = ktime_get_ns();
	unsigned int i;

	if (READ_ONCE(nic->rdma_eio))
		return -EIO;
	spin_lock(&nic->lock);
	nic->rdma_reads++;
	for (i = 0; i < rdma->count; i++) {
		u64 value = fabric_value(nic, &rdma->counters[i], now);

		stats->value[i] = rdma->narrow[i] ? (u32)value : value;
	}
	spin_unlock(&nic->lock);
	return rdma->count;
}

/* The kernel itself keeps which optional counters are on. */
static int fabric_modify_stat(struct ib_device *ibdev, u32 port, unsigned int index, bool enable)
{
	return 0;
}

static const struct ib_device_ops fabric_rdma_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver = 1,
	.query_device = fabric_query_device,
	.query_port = fabric_query_port,
	.get_port_immutable = fabric_port_immutable,
	.query_pkey = fabric_query_pkey,
	.get_link_layer = fabric_link_layer,
	.add_gid = fabric_add_gid,
	.del_gid = fabric_del_gid,
	.get_dev_fw_str = fabric_firmware,
	.alloc_hw_port_stats = fabric_alloc_stats,
	.get_hw_stats = fabric_get_stats,
	.modify_hw_stat = fabric_modify_stat,
};

static void fill(struct fabric_rdma *rdma, const struct fabric_rdma_row *row)
{
	u64 now = ktime_get_ns();

	for (; row->name && rdma->count < FABRIC_MOST_RDMA; row++) {
		unsigned int i = rdma->count++;

		rdma->descs[i].name = row->name;
		rdma->descs[i].flags = row->optional ? IB_STAT_FLAG_OPTIONAL : 0;
		rdma->narrow[i] = row->narrow;
		strscpy(rdma->counters[i].name, row->name, ETH_GSTRING_LEN);
		rdma->counters[i].priority = -1;
		rdma->counters[i].direction = DIRECTION_NONE;
		rdma->counters[i].since_ns = now;
	}
}

int fabric_rdma_add(struct fabric_nic *nic, const char *name)
{
	const struct fabric_table *table = fabric_table_of(nic->spec.driver);
	struct fabric_rdma *rdma;
	int status;

	if (nic->rdma)
		return -EEXIST;
	if (!table)
		return -ENOENT;
	rdma = ib_alloc_device(fabric_rdma, ibdev);
	if (!rdma)
		return -ENOMEM;
	rdma->nic = nic;
	rdma->netdev = nic->netdev;
	fill(rdma, table->rdma_rows);
	rdma->ibdev.node_type = RDMA_NODE_IB_CA;
	rdma->ibdev.phys_port_cnt = 1;
	rdma->ibdev.num_comp_vectors = 1;
	rdma->ibdev.dev.parent = &nic->pdev->dev;
	addrconf_addr_eui48((u8 *)&rdma->ibdev.node_guid, nic->netdev->dev_addr);
	ib_set_device_ops(&rdma->ibdev, &fabric_rdma_ops);
	status = ib_device_set_netdev(&rdma->ibdev, nic->netdev, 1);
	if (!status)
		status = ib_register_device(&rdma->ibdev, name, NULL);
	if (status) {
		ib_dealloc_device(&rdma->ibdev);
		return status;
	}
	spin_lock(&nic->lock);
	nic->rdma = rdma;
	spin_unlock(&nic->lock);
	return 0;
}

void fabric_rdma_remove(struct fabric_nic *nic)
{
	struct fabric_rdma *rdma = nic->rdma;

	if (!rdma)
		return;
	spin_lock(&nic->lock);
	nic->rdma = NULL;
	spin_unlock(&nic->lock);
	ib_unregister_device(&rdma->ibdev);
	ib_dealloc_device(&rdma->ibdev);
}
