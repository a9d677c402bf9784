// SPDX-License-Identifier: GPL-2.0-only
/* NICs as platform devices, each bound to a driver of the name that the test wants to see. */

#include <linux/module.h>
#include <linux/slab.h>

#include "fabric_nic.h"

static unsigned int nics;
module_param(nics, uint, 0444);
MODULE_PARM_DESC(nics, "NICs to begin with: rail0, rail1, ...");
static char *driver = "mlx5_core";
module_param(driver, charp, 0444);
MODULE_PARM_DESC(driver, "driver that those NICs have");

DEFINE_MUTEX(fabric_mutex);
LIST_HEAD(fabric_nics);

/* Bus drivers stay until the module goes: a name is bound once. */
struct bus_driver {
	struct list_head list;
	char name[FABRIC_NAME];
	struct platform_driver driver;
};

struct device_entry {
	struct list_head list;
	struct platform_device *pdev;
};

static LIST_HEAD(bus_drivers);
static LIST_HEAD(device_entries);
static int next_id;

/* The caller holds fabric_mutex. */
struct fabric_nic *fabric_find(const char *name)
{
	struct fabric_nic *nic;

	list_for_each_entry(nic, &fabric_nics, list)
		if (!strcmp(nic->spec.nic, name))
			return nic;
	return NULL;
}

static int fabric_probe(struct platform_device *pdev)
{
	const struct fabric_spec *spec = dev_get_platdata(&pdev->dev);
	struct fabric_nic *nic = kzalloc(sizeof(*nic), GFP_KERNEL);
	struct net_device *netdev;
	int status;

	if (!nic)
		return -ENOMEM;
	nic->spec = *spec;
	nic->pdev = pdev;
	/* mlx5's own default. */
	nic->stall_prevention_ms = 8000;
	spin_lock_init(&nic->lock);
	fabric_dcb_defaults(nic);
	status = fabric_fill_counters(nic);
	if (status)
		goto no_counters;
	netdev = fabric_netdev_create(nic);
	if (IS_ERR(netdev)) {
		status = PTR_ERR(netdev);
		goto no_netdev;
	}
	if (spec->rdma[0]) {
		status = fabric_rdma_add(nic, spec->rdma);
		if (status)
			goto no_rdma;
	}
	platform_set_drvdata(pdev, nic);
	mutex_lock(&fabric_mutex);
	list_add_tail(&nic->list, &fabric_nics);
	mutex_unlock(&fabric_mutex);
	return 0;

no_rdma:
	unregister_netdev(netdev);
	free_netdev(netdev);
no_netdev:
	kvfree(nic->counters);
no_counters:
	kfree(nic);
	return status;
}

static void fabric_take_down(struct platform_device *pdev)
{
	struct fabric_nic *nic = platform_get_drvdata(pdev);

	mutex_lock(&fabric_mutex);
	list_del(&nic->list);
	mutex_unlock(&fabric_mutex);
	fabric_rdma_remove(nic);
	unregister_netdev(nic->netdev);
	free_netdev(nic->netdev);
	kvfree(nic->counters);
	kfree(nic);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define fabric_remove fabric_take_down
#else
static int fabric_remove(struct platform_device *pdev)
{
	fabric_take_down(pdev);
	return 0;
}
#endif

static int ensure_driver(const char *name)
{
	struct bus_driver *own;
	int status;

	list_for_each_entry(own, &bus_drivers, list)
		if (!strcmp(own->name, name))
			return 0;
	own = kzalloc(sizeof(*own), GFP_KERNEL);
	if (!own)
		return -ENOMEM;
	strscpy(own->name, name, sizeof(own->name));
	own->driver.probe = fabric_probe;
	own->driver.remove = fabric_remove;
	own->driver.driver.name = own->name;
	status = platform_driver_register(&own->driver);
	if (status) {
		kfree(own);
		return status;
	}
	list_add_tail(&own->list, &bus_drivers);
	return 0;
}

/* Calls of this come one at a time. */
struct platform_device *fabric_add(const struct fabric_spec *spec)
{
	struct device_entry *entry;
	struct platform_device *pdev;
	int status = ensure_driver(spec->driver);

	if (status)
		return ERR_PTR(status);
	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return ERR_PTR(-ENOMEM);
	pdev = platform_device_register_data(NULL, spec->driver, next_id++, spec, sizeof(*spec));
	if (IS_ERR(pdev)) {
		kfree(entry);
		return pdev;
	}
	if (!platform_get_drvdata(pdev)) {
		/* The reason is in the kernel's log. */
		platform_device_unregister(pdev);
		kfree(entry);
		return ERR_PTR(-ENODEV);
	}
	entry->pdev = pdev;
	list_add_tail(&entry->list, &device_entries);
	return pdev;
}

int fabric_delete(const char *name)
{
	struct device_entry *entry;

	list_for_each_entry(entry, &device_entries, list) {
		const struct fabric_spec *spec = dev_get_platdata(&entry->pdev->dev);

		if (strcmp(spec->nic, name))
			continue;
		list_del(&entry->list);
		platform_device_unregister(entry->pdev);
		kfree(entry);
		return 0;
	}
	return -ENOENT;
}

static void delete_all(void)
{
	struct device_entry *entry, *next;
	struct bus_driver *own, *after;

	list_for_each_entry_safe(entry, next, &device_entries, list) {
		platform_device_unregister(entry->pdev);
		kfree(entry);
	}
	list_for_each_entry_safe(own, after, &bus_drivers, list) {
		platform_driver_unregister(&own->driver);
		kfree(own);
	}
}

static int __init fabric_init(void)
{
	struct fabric_spec spec = { .speed_megabits = 100000, .pfc = BIT(3), .with_table = true };
	struct platform_device *pdev;
	unsigned int i;
	int status;

	strscpy(spec.driver, driver, sizeof(spec.driver));
	for (i = 0; i < nics; i++) {
		snprintf(spec.nic, sizeof(spec.nic), "rail%u", i);
		snprintf(spec.netdev, sizeof(spec.netdev), "rail%u", i);
		snprintf(spec.rdma, sizeof(spec.rdma), "mlx5_%u", i);
		pdev = fabric_add(&spec);
		if (IS_ERR(pdev)) {
			status = PTR_ERR(pdev);
			goto failed;
		}
	}
	status = fabric_control_start();
	if (!status)
		return 0;
failed:
	delete_all();
	return status;
}

static void __exit fabric_exit(void)
{
	fabric_control_stop();
	delete_all();
}

module_init(fabric_init);
module_exit(fabric_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A NIC for lossless Ethernet that exists in the kernel's tables only, for tests");
