// SPDX-License-Identifier: GPL-2.0-only
/* What ethtool asks: names and values of statistics, pause, link speed, tunables. The kernel calls all of it under rtnl. */

#include <linux/ethtool.h>

#include "fabric_nic.h"

static int fabric_begin(struct net_device *netdev)
{
	return READ_ONCE(fabric_of(netdev)->netdev_eio) ? -EIO : 0;
}

static void fabric_get_drvinfo(struct net_device *netdev, struct ethtool_drvinfo *info)
{
	struct fabric_nic *nic = fabric_of(netdev);

	strscpy(info->driver, nic->spec.driver, sizeof(info->driver));
	strscpy(info->fw_version, "22.41.1000", sizeof(info->fw_version));
	strscpy(info->bus_info, dev_name(&nic->pdev->dev), sizeof(info->bus_info));
}

static int fabric_get_sset_count(struct net_device *netdev, int set)
{
	struct fabric_nic *nic = fabric_of(netdev);
	int count = 0;
	unsigned int i;

	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	for (i = 0; i < nic->count; i++)
		count += fabric_shown(nic, &nic->counters[i]);
	return count;
}

static void fabric_get_strings(struct net_device *netdev, u32 set, u8 *data)
{
	struct fabric_nic *nic = fabric_of(netdev);
	unsigned int i;

	if (set != ETH_SS_STATS)
		return;
	for (i = 0; i < nic->count; i++) {
		if (!fabric_shown(nic, &nic->counters[i]))
			continue;
		memcpy(data, nic->counters[i].name, ETH_GSTRING_LEN);
		data += ETH_GSTRING_LEN;
	}
}

static void fabric_get_stats(struct net_device *netdev, struct ethtool_stats *stats, u64 *data)
{
	struct fabric_nic *nic = fabric_of(netdev);
	unsigned int i;
	u64 now;

	fabric_misbehave(nic);
	now = fabric_now(nic);
	spin_lock(&nic->lock);
	nic->reads++;
	for (i = 0; i < nic->count; i++)
		if (fabric_shown(nic, &nic->counters[i]))
			*data++ = fabric_value(nic, &nic->counters[i], now);
	spin_unlock(&nic->lock);
}

static int fabric_get_link_ksettings(struct net_device *netdev, struct ethtool_link_ksettings *link)
{
	struct fabric_nic *nic = fabric_of(netdev);
	bool up = netif_running(netdev) && netif_carrier_ok(netdev);

	link->base.speed = up ? nic->spec.speed_megabits : SPEED_UNKNOWN;
	link->base.duplex = up ? DUPLEX_FULL : DUPLEX_UNKNOWN;
	link->base.port = PORT_FIBRE;
	link->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

static void fabric_get_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause)
{
	u32 cmd = pause->cmd;

	*pause = fabric_of(netdev)->pause;
	pause->cmd = cmd;
}

static int fabric_set_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause)
{
	if (pause->autoneg)
		return -EINVAL;
	fabric_of(netdev)->pause = *pause;
	return 0;
}

static u64 value_of(struct fabric_nic *nic, const char *name)
{
	u64 now = fabric_now(nic), value = ETHTOOL_STAT_NOT_SET;
	unsigned int i;

	spin_lock(&nic->lock);
	for (i = 0; i < nic->count; i++)
		if (!strcmp(nic->counters[i].name, name))
			value = fabric_value(nic, &nic->counters[i], now);
	spin_unlock(&nic->lock);
	return value;
}

/* The same counters as in the statistics: whoever compares the two must find them equal. */
static void fabric_get_pause_stats(struct net_device *netdev, struct ethtool_pause_stats *stats)
{
	struct fabric_nic *nic = fabric_of(netdev);

	if (!strcmp(nic->spec.driver, "mlx5_core")) {
		stats->rx_pause_frames = value_of(nic, "rx_pause_ctrl_phy");
		stats->tx_pause_frames = value_of(nic, "tx_pause_ctrl_phy");
	} else if (!strcmp(nic->spec.driver, "bnxt_en")) {
		stats->rx_pause_frames = value_of(nic, "rx_pause_frames");
		stats->tx_pause_frames = value_of(nic, "tx_pause_frames");
	} else {
		/* Any other driver has them when a test gives it these rows. */
		stats->rx_pause_frames = value_of(nic, "standard_rx");
		stats->tx_pause_frames = value_of(nic, "standard_tx");
	}
}

static int fabric_get_tunable(struct net_device *netdev, const struct ethtool_tunable *tunable,
			      void *data)
{
	struct fabric_nic *nic = fabric_of(netdev);

	if (tunable->id != ETHTOOL_PFC_PREVENTION_TOUT || strcmp(nic->spec.driver, "mlx5_core"))
		return -EOPNOTSUPP;
	*(u16 *)data = nic->stall_prevention_ms;
	return 0;
}

static int fabric_set_tunable(struct net_device *netdev, const struct ethtool_tunable *tunable,
			      const void *data)
{
	struct fabric_nic *nic = fabric_of(netdev);
	u16 millis = *(const u16 *)data;

	if (tunable->id != ETHTOOL_PFC_PREVENTION_TOUT || strcmp(nic->spec.driver, "mlx5_core"))
		return -EOPNOTSUPP;
	/* The bounds of mlx5. */
	if (millis && millis != PFC_STORM_PREVENTION_AUTO && (millis < 80 || millis > 8000))
		return -EINVAL;
	nic->stall_prevention_ms = millis;
	return 0;
}

static int fabric_get_coalesce(struct net_device *netdev, struct ethtool_coalesce *coalesce,
			       struct kernel_ethtool_coalesce *kernel, struct netlink_ext_ack *extack)
{
	struct fabric_nic *nic = fabric_of(netdev);

	if (strcmp(nic->spec.driver, "bnxt_en"))
		return -EOPNOTSUPP;
	coalesce->stats_block_coalesce_usecs = nic->spec.refresh_ms * USEC_PER_MSEC;
	return 0;
}

const struct ethtool_ops fabric_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_STATS_BLOCK_USECS,
	.begin = fabric_begin,
	.get_drvinfo = fabric_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_sset_count = fabric_get_sset_count,
	.get_strings = fabric_get_strings,
	.get_ethtool_stats = fabric_get_stats,
	.get_link_ksettings = fabric_get_link_ksettings,
	.get_pauseparam = fabric_get_pauseparam,
	.set_pauseparam = fabric_set_pauseparam,
	.get_pause_stats = fabric_get_pause_stats,
	.get_tunable = fabric_get_tunable,
	.set_tunable = fabric_set_tunable,
	.get_coalesce = fabric_get_coalesce,
};
