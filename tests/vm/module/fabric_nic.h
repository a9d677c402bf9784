/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A NIC for lossless Ethernet that exists in the kernel's tables only: a netdev with a driver's statistics, DCB, pause
 * and link settings, and an RDMA device with port statistics. For tests; no part of the program that they test.
 *
 * Every counter is a function of time, so that what a reader should see is known at any instant.
 */
#ifndef FABRIC_NIC_H
#define FABRIC_NIC_H

#include <linux/ethtool.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>
#include <linux/version.h>
#include <net/dcbnl.h>
#include <rdma/ib_verbs.h>

#define FABRIC_PRIORITIES 8
#define FABRIC_MOST_COUNTERS 640
#define FABRIC_MOST_RDMA 96
#define FABRIC_NAME 24

/* When a driver shows a counter. */
enum fabric_scope {
	SCOPE_ALWAYS,
	/* While PFC is on for the counter's priority. */
	SCOPE_PFC,
	/* While 802.3x pause is on. */
	SCOPE_LINK_PAUSE,
};

/* What a storm does to a counter. */
enum fabric_role {
	ROLE_PLAIN,
	/* Pause frames of a priority, or of all of them. */
	ROLE_FRAMES,
	/* Microseconds of pause. */
	ROLE_DURATION,
	/* Ends of a pause. */
	ROLE_TRANSITIONS,
	/* Traffic, which stands still while its priority is paused. */
	ROLE_TRAFFIC,
};

enum fabric_direction { DIRECTION_RX, DIRECTION_TX, DIRECTION_NONE };

/* One line of a driver's table; %u stands for each priority. */
struct fabric_row {
	const char *name;
	enum fabric_scope scope;
	enum fabric_role role;
	enum fabric_direction direction;
};

struct fabric_rdma_row {
	const char *name;
	bool narrow; /* 32 bits wide */
	bool optional; /* has to be switched on */
};

struct fabric_table {
	const char *driver;
	const struct fabric_row *rows;
	const struct fabric_rdma_row *rdma_rows;
};

struct fabric_counter {
	/* A name may fill its slot and then has no NUL there. */
	char name[ETH_GSTRING_LEN + 1];
	enum fabric_scope scope;
	enum fabric_role role;
	enum fabric_direction direction;
	int priority; /* -1: none */
	u64 base;
	u64 per_second;
	u64 since_ns;
};

/* A priority held shut for a share of the time from start to end. */
struct fabric_storm {
	u64 start_ns;
	u64 end_ns;
	u32 permille;
};

/* What a NIC is made from; kept by the platform device, so that a driver that is unbound and bound starts anew. */
struct fabric_spec {
	char nic[FABRIC_NAME];
	char netdev[IFNAMSIZ];
	char driver[FABRIC_NAME];
	char rdma[IB_DEVICE_NAME_MAX];
	u32 speed_megabits;
	u32 refresh_ms;
	u8 pfc;
	bool with_table;
};

struct fabric_rdma {
	struct ib_device ibdev;
	struct fabric_nic *nic;
	struct net_device *netdev;
	unsigned int count;
	struct rdma_stat_desc descs[FABRIC_MOST_RDMA];
	/* By position in descs; lock of the NIC. */
	struct fabric_counter counters[FABRIC_MOST_RDMA];
	bool narrow[FABRIC_MOST_RDMA];
};

struct fabric_nic {
	struct list_head list;
	struct platform_device *pdev;
	struct net_device *netdev;
	struct fabric_spec spec;
	struct fabric_rdma *rdma;

	spinlock_t lock; /* counters and storms */
	unsigned int count;
	struct fabric_counter *counters;
	struct fabric_storm storms[FABRIC_PRIORITIES][2];

	/* Set under rtnl. */
	struct ieee_pfc pfc;
	struct ieee_ets ets;
	struct ieee_maxrate maxrate;
	struct dcbnl_buffer buffer;
	u8 dcbx;
	struct ethtool_pauseparam pause;
	u16 stall_prevention_ms;

	/* Misbehaviour, read without a lock. */
	u32 delay_us;
	u32 hang_ms; /* of the next read only */
	bool netdev_eio;
	bool rdma_eio;

	/* What happened, for the test to read. */
	u64 reads;
	u64 rdma_reads;
	u64 hang_start_ns;
	u64 hang_end_ns;
};

struct fabric_priv {
	struct fabric_nic *nic;
};

extern struct mutex fabric_mutex; /* the list of NICs */
extern struct list_head fabric_nics;

static inline struct fabric_nic *fabric_of(const struct net_device *netdev)
{
	return ((struct fabric_priv *)netdev_priv(netdev))->nic;
}

/* main.c */
struct platform_device *fabric_add(const struct fabric_spec *spec);
int fabric_delete(const char *name);
struct fabric_nic *fabric_find(const char *name);

/* control.c */
int fabric_control_start(void);
void fabric_control_stop(void);

/* counters.c */
u64 fabric_now(const struct fabric_nic *nic);
u64 fabric_value(const struct fabric_nic *nic, const struct fabric_counter *counter, u64 now);
bool fabric_shown(const struct fabric_nic *nic, const struct fabric_counter *counter);
int fabric_fill_counters(struct fabric_nic *nic);
int fabric_append_counter(struct fabric_nic *nic, const char *name, u64 value);
int fabric_set_counter(struct fabric_nic *nic, const char *name, u64 value, u64 per_second);
int fabric_set_rdma_counter(struct fabric_nic *nic, const char *name, u64 value, u64 per_second);
void fabric_clear_counters(struct fabric_nic *nic);
void fabric_start_storm(struct fabric_nic *nic, int priority, enum fabric_direction direction,
			const struct fabric_storm *storm);
void fabric_misbehave(struct fabric_nic *nic);

/* tables.c */
const struct fabric_table *fabric_table_of(const char *driver);

/* netdev.c */
struct net_device *fabric_netdev_create(struct fabric_nic *nic);

/* ethtool.c, dcb.c */
extern const struct ethtool_ops fabric_ethtool_ops;
extern const struct dcbnl_rtnl_ops fabric_dcb_ops;
void fabric_dcb_defaults(struct fabric_nic *nic);

/* rdma.c */
int fabric_rdma_add(struct fabric_nic *nic, const char *name);
void fabric_rdma_remove(struct fabric_nic *nic);

#endif
