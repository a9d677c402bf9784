// SPDX-License-Identifier: GPL-2.0-only
/* The netdev: it has a carrier while it is up, and what it is given to send goes nowhere. */

#include <linux/etherdevice.h>

#include "fabric_nic.h"

static int fabric_open(struct net_device *netdev)
{
	netif_carrier_on(netdev);
	netif_start_queue(netdev);
	return 0;
}

static int fabric_stop(struct net_device *netdev)
{
	netif_stop_queue(netdev);
	netif_carrier_off(netdev);
	return 0;
}

static netdev_tx_t fabric_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	netdev->stats.tx_packets++;
	netdev->stats.tx_bytes += skb->len;
	dev_consume_skb_any(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops fabric_netdev_ops = {
	.ndo_open = fabric_open,
	.ndo_stop = fabric_stop,
	.ndo_start_xmit = fabric_xmit,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

struct net_device *fabric_netdev_create(struct fabric_nic *nic)
{
	struct net_device *netdev = alloc_etherdev(sizeof(struct fabric_priv));
	struct fabric_priv *priv;
	int status;

	if (!netdev)
		return ERR_PTR(-ENOMEM);
	priv = netdev_priv(netdev);
	priv->nic = nic;
	strscpy(netdev->name, nic->spec.netdev, sizeof(netdev->name));
	SET_NETDEV_DEV(netdev, &nic->pdev->dev);
	netdev->netdev_ops = &fabric_netdev_ops;
	netdev->ethtool_ops = &fabric_ethtool_ops;
	netdev->dcbnl_ops = &fabric_dcb_ops;
	netdev->max_mtu = 9978;
	netdev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	eth_hw_addr_random(netdev);
	netif_carrier_on(netdev);
	nic->netdev = netdev;
	status = register_netdev(netdev);
	if (status) {
		free_netdev(netdev);
		nic->netdev = NULL;
		return ERR_PTR(status);
	}
	return netdev;
}
