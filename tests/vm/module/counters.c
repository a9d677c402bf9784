// SPDX-License-Identifier: GPL-2.0-only
/* Counters as functions of time: a base, a rate, and what a storm adds or withholds. */

#include <linux/delay.h>
#include <linux/slab.h>

#include "fabric_nic.h"

/* While a priority is shut, a pause frame goes out this often. */
#define FRAME_EVERY_NS 100000ULL

/* The instant whose values a read shows: that of the last refresh. */
u64 fabric_now(const struct fabric_nic *nic)
{
	u64 now = ktime_get_ns();
	u64 period = READ_ONCE(nic->spec.refresh_ms) * (u64)NSEC_PER_MSEC;

	return period ? now - now % period : now;
}

static u64 paused_ns(const struct fabric_storm *storm, u64 from, u64 until)
{
	u64 start = max(storm->start_ns, from);
	u64 end = min(storm->end_ns, until);

	return end > start ? (end - start) * storm->permille / 1000 : 0;
}

static u64 paused_of(const struct fabric_nic *nic, const struct fabric_counter *counter,
		     enum fabric_direction direction, u64 until)
{
	u64 sum = 0;
	int priority;

	if (direction == DIRECTION_NONE)
		return 0;
	for (priority = 0; priority < FABRIC_PRIORITIES; priority++)
		if (counter->priority < 0 || counter->priority == priority)
			sum += paused_ns(&nic->storms[priority][direction], counter->since_ns, until);
	return sum;
}

static u64 ended_of(const struct fabric_nic *nic, const struct fabric_counter *counter, u64 until)
{
	const struct fabric_storm *storm;

	if (counter->priority < 0 || counter->direction == DIRECTION_NONE)
		return 0;
	storm = &nic->storms[counter->priority][counter->direction];
	return storm->end_ns > counter->since_ns && storm->end_ns <= until;
}

/* The caller holds the NIC's lock. */
u64 fabric_value(const struct fabric_nic *nic, const struct fabric_counter *counter, u64 now)
{
	u64 elapsed = now > counter->since_ns ? now - counter->since_ns : 0;
	u64 own, other;

	if (counter->role == ROLE_TRAFFIC && counter->priority >= 0) {
		/* Received pause holds what this port sends, and the other way round. */
		other = paused_of(nic, counter,
				  counter->direction == DIRECTION_RX ? DIRECTION_TX : DIRECTION_RX, now);
		elapsed -= min(elapsed, other);
	}
	own = mul_u64_u64_div_u64(counter->per_second, elapsed, NSEC_PER_SEC);
	switch (counter->role) {
	case ROLE_FRAMES:
		own += div64_u64(paused_of(nic, counter, counter->direction, now), FRAME_EVERY_NS);
		break;
	case ROLE_DURATION:
		own += div64_u64(paused_of(nic, counter, counter->direction, now), NSEC_PER_USEC);
		break;
	case ROLE_TRANSITIONS:
		own += ended_of(nic, counter, now);
		break;
	default:
		break;
	}
	return counter->base + own;
}

bool fabric_shown(const struct fabric_nic *nic, const struct fabric_counter *counter)
{
	switch (counter->scope) {
	case SCOPE_PFC:
		return nic->pfc.pfc_en & BIT(counter->priority);
	case SCOPE_LINK_PAUSE:
		return nic->pause.rx_pause || nic->pause.tx_pause;
	default:
		return true;
	}
}

static void add_counter(struct fabric_nic *nic, const struct fabric_row *row, int priority)
{
	struct fabric_counter *counter = &nic->counters[nic->count];

	if (nic->count == FABRIC_MOST_COUNTERS)
		return;
	if (priority < 0)
		strscpy(counter->name, row->name, sizeof(counter->name));
	else
		snprintf(counter->name, sizeof(counter->name), row->name, priority);
	counter->scope = row->scope;
	counter->role = row->role;
	counter->direction = row->direction;
	counter->priority = priority;
	counter->since_ns = ktime_get_ns();
	nic->count++;
}

/* Lines with a priority that follow each other in the table take turns for each priority, as drivers list them. */
int fabric_fill_counters(struct fabric_nic *nic)
{
	const struct fabric_table *table = fabric_table_of(nic->spec.driver);
	const struct fabric_row *row, *end, *each;
	int priority;

	nic->counters = kvcalloc(FABRIC_MOST_COUNTERS, sizeof(*nic->counters), GFP_KERNEL);
	if (!nic->counters)
		return -ENOMEM;
	if (!table || !nic->spec.with_table)
		return 0;
	for (row = table->rows; row->name; row = end) {
		end = row + 1;
		if (!strstr(row->name, "%u")) {
			add_counter(nic, row, -1);
			continue;
		}
		while (end->name && strstr(end->name, "%u") && end->scope == row->scope)
			end++;
		for (priority = 0; priority < FABRIC_PRIORITIES; priority++)
			for (each = row; each < end; each++)
				add_counter(nic, each, priority);
	}
	return 0;
}

int fabric_append_counter(struct fabric_nic *nic, const char *name, u64 value)
{
	struct fabric_row row = { .name = name, .direction = DIRECTION_NONE };
	int status = 0;

	spin_lock(&nic->lock);
	if (nic->count == FABRIC_MOST_COUNTERS) {
		status = -ENOSPC;
	} else {
		add_counter(nic, &row, -1);
		nic->counters[nic->count - 1].base = value;
	}
	spin_unlock(&nic->lock);
	return status;
}

static int set_in(struct fabric_counter *counters, unsigned int count, const char *name, u64 value,
		  u64 per_second)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (strcmp(counters[i].name, name))
			continue;
		counters[i].base = value;
		counters[i].per_second = per_second;
		counters[i].since_ns = ktime_get_ns();
		return 0;
	}
	return -ENOENT;
}

int fabric_set_counter(struct fabric_nic *nic, const char *name, u64 value, u64 per_second)
{
	int status;

	spin_lock(&nic->lock);
	status = set_in(nic->counters, nic->count, name, value, per_second);
	spin_unlock(&nic->lock);
	return status;
}

int fabric_set_rdma_counter(struct fabric_nic *nic, const char *name, u64 value, u64 per_second)
{
	int status = -ENODEV;

	spin_lock(&nic->lock);
	if (nic->rdma)
		status = set_in(nic->rdma->counters, nic->rdma->count, name, value, per_second);
	spin_unlock(&nic->lock);
	return status;
}

/* As after a reset of the device: every counter starts again at 0, rates go on. */
void fabric_clear_counters(struct fabric_nic *nic)
{
	u64 now = ktime_get_ns();
	unsigned int i;

	spin_lock(&nic->lock);
	for (i = 0; i < nic->count; i++) {
		nic->counters[i].base = 0;
		nic->counters[i].since_ns = now;
	}
	memset(nic->storms, 0, sizeof(nic->storms));
	spin_unlock(&nic->lock);
}

/* What earlier storms did stays in the counters. */
void fabric_start_storm(struct fabric_nic *nic, int priority, enum fabric_direction direction,
			const struct fabric_storm *storm)
{
	struct fabric_storm *slot = &nic->storms[priority][direction];
	u64 now = ktime_get_ns();
	unsigned int i;

	spin_lock(&nic->lock);
	for (i = 0; i < nic->count; i++) {
		struct fabric_counter *counter = &nic->counters[i];

		counter->base = fabric_value(nic, counter, now);
		counter->since_ns = now;
	}
	*slot = *storm;
	spin_unlock(&nic->lock);
}

/* Takes the time that a test wants this read to take. May sleep; callers hold rtnl, as they would in a driver. */
void fabric_misbehave(struct fabric_nic *nic)
{
	u32 delay_us = READ_ONCE(nic->delay_us);
	u32 hang_ms = xchg(&nic->hang_ms, 0);

	if (hang_ms) {
		WRITE_ONCE(nic->hang_start_ns, ktime_get_ns());
		msleep(hang_ms);
		WRITE_ONCE(nic->hang_end_ns, ktime_get_ns());
	}
	if (delay_us)
		fsleep(delay_us);
}
