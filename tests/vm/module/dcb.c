// SPDX-License-Identifier: GPL-2.0-only
/* DCB as the `dcb` tool reads and sets it. The kernel keeps the application table and tells listeners of each set. */

#include "fabric_nic.h"

void fabric_dcb_defaults(struct fabric_nic *nic)
{
	int i;

	nic->pfc.pfc_cap = FABRIC_PRIORITIES;
	nic->pfc.pfc_en = nic->spec.pfc;
	nic->ets.ets_cap = FABRIC_PRIORITIES;
	for (i = 0; i < FABRIC_PRIORITIES; i++) {
		nic->ets.prio_tc[i] = i;
		nic->ets.tc_tsa[i] = IEEE_8021QAZ_TSA_STRICT;
		nic->buffer.prio2buffer[i] = i == 3;
	}
	nic->buffer.buffer_size[0] = 128 * 1024;
	nic->buffer.buffer_size[1] = 256 * 1024;
	nic->buffer.total_size = 512 * 1024;
	nic->dcbx = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
}

/* Requests and indications stay 0: on mlx5 they are as old as the last read of the statistics. */
static int fabric_getpfc(struct net_device *netdev, struct ieee_pfc *pfc)
{
	if (READ_ONCE(fabric_of(netdev)->netdev_eio))
		return -EIO;
	*pfc = fabric_of(netdev)->pfc;
	return 0;
}

static int fabric_setpfc(struct net_device *netdev, struct ieee_pfc *pfc)
{
	fabric_of(netdev)->pfc.pfc_en = pfc->pfc_en;
	fabric_of(netdev)->pfc.delay = pfc->delay;
	return 0;
}

static int fabric_getets(struct net_device *netdev, struct ieee_ets *ets)
{
	*ets = fabric_of(netdev)->ets;
	return 0;
}

static int fabric_setets(struct net_device *netdev, struct ieee_ets *ets)
{
	ets->ets_cap = FABRIC_PRIORITIES;
	fabric_of(netdev)->ets = *ets;
	return 0;
}

static int fabric_getmaxrate(struct net_device *netdev, struct ieee_maxrate *maxrate)
{
	*maxrate = fabric_of(netdev)->maxrate;
	return 0;
}

static int fabric_setmaxrate(struct net_device *netdev, struct ieee_maxrate *maxrate)
{
	fabric_of(netdev)->maxrate = *maxrate;
	return 0;
}

static int fabric_getbuffer(struct net_device *netdev, struct dcbnl_buffer *buffer)
{
	*buffer = fabric_of(netdev)->buffer;
	return 0;
}

static int fabric_setbuffer(struct net_device *netdev, struct dcbnl_buffer *buffer)
{
	buffer->total_size = fabric_of(netdev)->buffer.total_size;
	fabric_of(netdev)->buffer = *buffer;
	return 0;
}

static u8 fabric_getdcbx(struct net_device *netdev)
{
	return fabric_of(netdev)->dcbx;
}

/* Returns 0 for success, as the interface wants it. */
static u8 fabric_setdcbx(struct net_device *netdev, u8 mode)
{
	fabric_of(netdev)->dcbx = mode;
	return 0;
}

static int fabric_setapp(struct net_device *netdev, struct dcb_app *app)
{
	return dcb_ieee_setapp(netdev, app);
}

static int fabric_delapp(struct net_device *netdev, struct dcb_app *app)
{
	return dcb_ieee_delapp(netdev, app);
}

const struct dcbnl_rtnl_ops fabric_dcb_ops = {
	.ieee_getpfc = fabric_getpfc,
	.ieee_setpfc = fabric_setpfc,
	.ieee_getets = fabric_getets,
	.ieee_setets = fabric_setets,
	.ieee_getmaxrate = fabric_getmaxrate,
	.ieee_setmaxrate = fabric_setmaxrate,
	.ieee_setapp = fabric_setapp,
	.ieee_delapp = fabric_delapp,
	.dcbnl_getbuffer = fabric_getbuffer,
	.dcbnl_setbuffer = fabric_setbuffer,
	.getdcbx = fabric_getdcbx,
	.setdcbx = fabric_setdcbx,
};
