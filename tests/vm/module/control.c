// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a test drives the NICs: one command for each write to <debugfs>/fabric_nic/control, and the truth to read in
 * <debugfs>/fabric_nic/state. A write fails with the errno of what it asked for.
 *
 *	add nic=N netdev=D driver=V [rdma=R] [pfc=MASK] [speed=MEGABITS] [refresh=MS] [table=0]
 *	remove N
 *	rdma N R			gives the NIC an RDMA device
 *	unrdma N			takes it away
 *	set N KEY=VALUE...		delay_us, hang_ms, netdev_eio, rdma_eio, carrier, refresh, speed, pfc, pfc_quiet
 *	row N VALUE NAME		one more counter, with any name
 *	counter N VALUE RATE NAME	a statistic of the netdev: its value now, and what it gains in a second
 *	rdma_counter N VALUE RATE NAME	the same of the RDMA port
 *	storm N PRIORITY rx|tx DELAY_MS LENGTH_MS PERMILLE
 *	clear N				all counters of the netdev back to 0
 */

#include <linux/debugfs.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "fabric_nic.h"

#define LONGEST_COMMAND 512

static DEFINE_MUTEX(control_mutex);
static struct dentry *directory;

static int add(char *rest)
{
	struct fabric_spec spec = { .speed_megabits = 100000, .with_table = true };
	struct platform_device *pdev;
	char *word, *value;

	while ((word = strsep(&rest, " "))) {
		unsigned int number = 0;

		value = strchr(word, '=');
		if (!value)
			return -EINVAL;
		*value++ = '\0';
		if (!strcmp(word, "nic"))
			strscpy(spec.nic, value, sizeof(spec.nic));
		else if (!strcmp(word, "netdev"))
			strscpy(spec.netdev, value, sizeof(spec.netdev));
		else if (!strcmp(word, "driver"))
			strscpy(spec.driver, value, sizeof(spec.driver));
		else if (!strcmp(word, "rdma"))
			strscpy(spec.rdma, value, sizeof(spec.rdma));
		else if (kstrtouint(value, 0, &number))
			return -EINVAL;
		else if (!strcmp(word, "pfc"))
			spec.pfc = number;
		else if (!strcmp(word, "speed"))
			spec.speed_megabits = number;
		else if (!strcmp(word, "refresh"))
			spec.refresh_ms = number;
		else if (!strcmp(word, "table"))
			spec.with_table = number;
		else
			return -EINVAL;
	}
	if (!spec.nic[0] || !spec.netdev[0] || !spec.driver[0])
		return -EINVAL;
	pdev = fabric_add(&spec);
	return PTR_ERR_OR_ZERO(pdev);
}

/* As firmware does it, beside the tools: with the notification that a driver sends then, or without. */
static void set_pfc(struct fabric_nic *nic, u8 mask, bool tell)
{
	rtnl_lock();
	nic->pfc.pfc_en = mask;
	if (tell)
		dcbnl_ieee_notify(nic->netdev, RTM_GETDCB, DCB_CMD_IEEE_GET, 0, 0);
	rtnl_unlock();
}

static int set_one(struct fabric_nic *nic, const char *key, unsigned int value)
{
	if (!strcmp(key, "delay_us"))
		WRITE_ONCE(nic->delay_us, value);
	else if (!strcmp(key, "hang_ms"))
		WRITE_ONCE(nic->hang_ms, value);
	else if (!strcmp(key, "netdev_eio"))
		WRITE_ONCE(nic->netdev_eio, value);
	else if (!strcmp(key, "rdma_eio"))
		WRITE_ONCE(nic->rdma_eio, value);
	else if (!strcmp(key, "refresh"))
		WRITE_ONCE(nic->spec.refresh_ms, value);
	else if (!strcmp(key, "speed"))
		WRITE_ONCE(nic->spec.speed_megabits, value);
	else if (!strcmp(key, "pfc") || !strcmp(key, "pfc_quiet"))
		set_pfc(nic, value, !strcmp(key, "pfc"));
	else if (!strcmp(key, "carrier") && value)
		netif_carrier_on(nic->netdev);
	else if (!strcmp(key, "carrier"))
		netif_carrier_off(nic->netdev);
	else
		return -EINVAL;
	return 0;
}

static int set(struct fabric_nic *nic, char *rest)
{
	char *word, *value;

	while ((word = strsep(&rest, " "))) {
		unsigned int number;
		int status;

		value = strchr(word, '=');
		if (!value)
			return -EINVAL;
		*value++ = '\0';
		if (kstrtouint(value, 0, &number))
			return -EINVAL;
		status = set_one(nic, word, number);
		if (status)
			return status;
	}
	return 0;
}

static int counter(struct fabric_nic *nic, char *rest, bool of_rdma)
{
	char *first = strsep(&rest, " "), *second = strsep(&rest, " ");
	u64 value, per_second;

	if (!rest || kstrtou64(first, 0, &value) || kstrtou64(second, 0, &per_second))
		return -EINVAL;
	return of_rdma ? fabric_set_rdma_counter(nic, rest, value, per_second) :
			 fabric_set_counter(nic, rest, value, per_second);
}

/* The kernel counts the set of names under rtnl: it must not grow while it is read. */
static int row(struct fabric_nic *nic, char *rest)
{
	char *first = strsep(&rest, " ");
	u64 value;
	int status;

	if (!rest || kstrtou64(first, 0, &value))
		return -EINVAL;
	rtnl_lock();
	status = fabric_append_counter(nic, rest, value);
	rtnl_unlock();
	return status;
}

static int storm(struct fabric_nic *nic, const char *rest)
{
	struct fabric_storm storm;
	unsigned int priority, delay_ms, length_ms, permille;
	char direction[3];

	if (sscanf(rest, "%u %2s %u %u %u", &priority, direction, &delay_ms, &length_ms,
		   &permille) != 5)
		return -EINVAL;
	if (priority >= FABRIC_PRIORITIES || permille > 1000)
		return -EINVAL;
	storm.start_ns = ktime_get_ns() + delay_ms * (u64)NSEC_PER_MSEC;
	storm.end_ns = storm.start_ns + length_ms * (u64)NSEC_PER_MSEC;
	storm.permille = permille;
	fabric_start_storm(nic, priority,
			   !strcmp(direction, "rx") ? DIRECTION_RX : DIRECTION_TX, &storm);
	return 0;
}

static int of_nic(const char *verb, struct fabric_nic *nic, char *rest)
{
	if (!strcmp(verb, "clear")) {
		fabric_clear_counters(nic);
		return 0;
	}
	if (!strcmp(verb, "unrdma")) {
		fabric_rdma_remove(nic);
		return 0;
	}
	if (!rest)
		return -EINVAL;
	if (!strcmp(verb, "rdma"))
		return fabric_rdma_add(nic, rest);
	if (!strcmp(verb, "set"))
		return set(nic, rest);
	if (!strcmp(verb, "row"))
		return row(nic, rest);
	if (!strcmp(verb, "counter"))
		return counter(nic, rest, false);
	if (!strcmp(verb, "rdma_counter"))
		return counter(nic, rest, true);
	if (!strcmp(verb, "storm"))
		return storm(nic, rest);
	return -EINVAL;
}

static int execute(char *command)
{
	char *rest = command;
	char *verb = strsep(&rest, " ");
	struct fabric_nic *nic;
	char *name;
	int status = -ENODEV;

	if (!rest)
		return -EINVAL;
	if (!strcmp(verb, "add"))
		return add(rest);
	if (!strcmp(verb, "remove"))
		return fabric_delete(rest);
	name = strsep(&rest, " ");
	mutex_lock(&fabric_mutex);
	nic = fabric_find(name);
	if (nic)
		status = of_nic(verb, nic, rest);
	mutex_unlock(&fabric_mutex);
	return status;
}

static ssize_t control_write(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	char *command;
	int status;

	if (length > LONGEST_COMMAND)
		return -E2BIG;
	command = memdup_user_nul(from, length);
	if (IS_ERR(command))
		return PTR_ERR(command);
	mutex_lock(&control_mutex);
	status = execute(command);
	mutex_unlock(&control_mutex);
	kfree(command);
	return status ? status : length;
}

static const struct file_operations control_file = {
	.open = simple_open,
	.write = control_write,
	.llseek = noop_llseek,
};

static int state_show(struct seq_file *file, void *data)
{
	struct fabric_nic *nic;
	int priority, direction;

	mutex_lock(&fabric_mutex);
	list_for_each_entry(nic, &fabric_nics, list) {
		seq_printf(file, "%s netdev=%s reads=%llu rdma_reads=%llu hang_start_ns=%llu hang_end_ns=%llu\n",
			   nic->spec.nic, nic->netdev->name, READ_ONCE(nic->reads),
			   READ_ONCE(nic->rdma_reads), READ_ONCE(nic->hang_start_ns),
			   READ_ONCE(nic->hang_end_ns));
		for (priority = 0; priority < FABRIC_PRIORITIES; priority++)
			for (direction = 0; direction < 2; direction++) {
				const struct fabric_storm *storm = &nic->storms[priority][direction];

				if (storm->end_ns)
					seq_printf(file, "%s storm priority=%d direction=%s start_ns=%llu end_ns=%llu\n",
						   nic->spec.nic, priority,
						   direction == DIRECTION_RX ? "rx" : "tx",
						   storm->start_ns, storm->end_ns);
			}
	}
	mutex_unlock(&fabric_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

int fabric_control_start(void)
{
	directory = debugfs_create_dir("fabric_nic", NULL);
	if (IS_ERR(directory))
		return PTR_ERR(directory);
	debugfs_create_file("control", 0200, directory, NULL, &control_file);
	debugfs_create_file("state", 0400, directory, NULL, &state_fops);
	return 0;
}

void fabric_control_stop(void)
{
	debugfs_remove_recursive(directory);
}
