//! How a port is set up: what the tools set is exported, and soon.

use std::time::{Duration, Instant};

use crate::exporter::{Exporter, Scrape};
use crate::nic::{Nic, dcb, run};

/// From the end of the tool that sets to the scrape that shows it; what the program has to keep, and what most changes
/// keep here too.
const BOUND: Duration = Duration::from_millis(100);
/// The longest that a single change may take: the processor is emulated, and others may hold it up.
const LONGEST: Duration = Duration::from_millis(500);

/// How long it takes until a change is exported, after the tool that made it has ended.
fn shown(exporter: &Exporter, what: &str, mut condition: impl FnMut(&Scrape) -> bool) -> Duration {
    let since = Instant::now();
    let mut asked = Duration::ZERO;
    exporter.scrape_until(what, |scrape| {
        let holds = condition(scrape);
        if !holds {
            asked = since.elapsed();
        }
        holds
    });
    // The last scrape that did not show it yet: a scrape itself takes tens of milliseconds here.
    println!("{what}: not yet shown {asked:?} after it was set");
    asked
}

fn mask(scrape: &Scrape) -> u32 {
    let bit = |priority: u32| {
        let label = priority.to_string();
        let labels = [("device", "rail0"), ("priority", label.as_str())];
        u32::from(scrape.expect("roce_pfc_enabled", &labels) == 1.0) << priority
    };
    (0..8).map(bit).sum()
}

pub fn dcb_changes_are_seen_at_once() {
    let nic = Nic::new("rail0", "mlx5_core", "pfc=0x08");
    let exporter = Exporter::start(&[]);
    assert_eq!(mask(&exporter.scrape()), 0x08);
    let mut delays = Vec::new();
    for (turn, wanted) in [0x18, 0x00, 0xff, 0x08, 0x10, 0x08].into_iter().enumerate() {
        let state = |priority: u32| if wanted >> priority & 1 == 1 { "on" } else { "off" };
        let each: Vec<_> =
            (0..8_u32).map(|priority| format!("{priority}:{}", state(priority))).collect();
        if turn % 2 == 0 {
            dcb(&format!("pfc set dev rail0 prio-pfc {}", each.join(" ")));
        } else {
            nic.set(&format!("pfc={wanted}"));
        }
        delays
            .push(shown(&exporter, &format!("PFC {wanted:#04x}"), |scrape| mask(scrape) == wanted));
    }
    let class = [("device", "rail0"), ("priority", "3")];
    dcb("ets set dev rail0 prio-tc 3:5");
    delays.push(shown(&exporter, "traffic class", |scrape| {
        scrape.expect("roce_priority_traffic_class", &class) == 5.0
    }));
    let mode = |mode| [("device", "rail0"), ("mode", mode)];
    assert!(exporter.scrape().value("roce_trust_info", &mode("pcp")).is_some());
    dcb("app add dev rail0 dscp-prio 26:3");
    delays.push(shown(&exporter, "DSCP map", |scrape| {
        scrape.value("roce_dscp_priority", &[("device", "rail0"), ("dscp", "26")]) == Some(3.0)
            && scrape.value("roce_trust_info", &mode("dscp")).is_some()
    }));
    dcb("app del dev rail0 dscp-prio 26:3");
    delays.push(shown(&exporter, "end of the DSCP map", |scrape| {
        scrape.value("roce_trust_info", &mode("pcp")).is_some()
    }));
    delays.sort_unstable();
    assert!(delays[delays.len() / 2] < BOUND && delays[delays.len() - 1] < LONGEST, "{delays:?}");
}

/// What the tool `dcb` sets of buffers, rates, DCBX and any DSCP, as it is exported; absent is a rate without a limit.
pub fn buffers_rates_and_dcbx_are_exported() {
    let nic = Nic::new("rail0", "mlx5_core", "pfc=0x08");
    let exporter = Exporter::start(&["--policy.all-dscps"]);
    let buffer = |scrape: &Scrape, priority: &str, buffer: &str| {
        let labels = [("device", "rail0"), ("priority", priority), ("buffer", buffer)];
        scrape.value("roce_priority_buffer_bytes", &labels)
    };
    let rate = |scrape: &Scrape, class: &str| {
        let labels = [("device", "rail0"), ("traffic_class", class)];
        scrape.value("roce_traffic_class_max_rate_bytes", &labels)
    };
    let mode = |scrape: &Scrape, mode: &str| {
        scrape.value("roce_dcbx_info", &[("device", "rail0"), ("mode", mode)])
    };
    let dscp = |scrape: &Scrape, dscp: &str| {
        scrape.value("roce_dscp_priority", &[("device", "rail0"), ("dscp", dscp)])
    };
    let scrape = exporter.scrape();
    assert_eq!(buffer(&scrape, "3", "1"), Some(262_144.0));
    assert_eq!(buffer(&scrape, "4", "0"), Some(131_072.0));
    assert_eq!((rate(&scrape, "3"), rate(&scrape, "4")), (None, None));
    assert_eq!(mode(&scrape, "host,ieee"), Some(1.0));
    dcb("buffer set dev rail0 prio-buffer 4:2 buffer-size 2:65536");
    exporter.scrape_until("buffer", |scrape| {
        buffer(scrape, "4", "2") == Some(65_536.0) && buffer(scrape, "4", "0").is_none()
    });
    // The tool of iproute2 6.1 hands over bytes per second where the kernel's interface has kbit/s: 25,000,000 here, with
    // which a driver sends 25 Gbit/s.
    dcb("maxrate set dev rail0 tc-maxrate 3:200Mbit");
    exporter.scrape_until("rate", |scrape| rate(scrape, "3") == Some(3.125e9));
    assert_eq!(rate(&exporter.scrape(), "4"), None);
    dcb("app add dev rail0 dscp-prio 10:1 63:7");
    exporter.scrape_until("DSCPs that no policy names", |scrape| {
        dscp(scrape, "10") == Some(1.0) && dscp(scrape, "63") == Some(7.0)
    });
    dcb("dcbx set dev rail0 lld-managed cee");
    // The kernel tells nobody of this one.
    nic.set("carrier=0 carrier=1");
    exporter.scrape_until("mode", |scrape| mode(scrape, "lld-managed,cee") == Some(1.0));
    assert_eq!(mode(&exporter.scrape(), "host,ieee"), None);
}

pub fn link_and_speed_are_followed() {
    let nic = Nic::new("rail0", "mlx5_core", "rdma=mlx5_0 pfc=0x08 speed=400000");
    let exporter = Exporter::start(&[]);
    let device = [("device", "rail0")];
    let scrape = exporter.scrape();
    assert_eq!(scrape.expect("roce_port_up", &device), 1.0);
    assert_eq!(scrape.expect("roce_port_speed_bytes", &device), 50e9);
    nic.set("carrier=0");
    shown(&exporter, "link down", |scrape| {
        scrape.expect("roce_port_up", &device) == 0.0
            && scrape.value("roce_port_speed_bytes", &device).is_none()
    });
    nic.set("speed=200000 carrier=1");
    shown(&exporter, "link up", |scrape| {
        scrape.expect("roce_port_up", &device) == 1.0
            && scrape.value("roce_port_speed_bytes", &device) == Some(25e9)
    });
    run("ip", "link set rail0 mtu 4200");
    shown(&exporter, "MTU", |scrape| {
        scrape.expect("roce_mtu_bytes", &device) == 4200.0
            && scrape
                .expect("roce_rdma_mtu_bytes", &[("device", "rail0"), ("rdma_device", "mlx5_0")])
                == 4096.0
    });
}

/// No event tells of it, so it is shown with the next look; a change of the link brings one.
pub fn stall_prevention_is_exported() {
    let nic = Nic::new("rail0", "mlx5_core", "pfc=0x08");
    let other = Nic::new("rail1", "bnxt_en", "pfc=0x08");
    let exporter = Exporter::start(&[]);
    let device = [("device", "rail0")];
    let scrape = exporter.scrape();
    assert_eq!(scrape.expect("roce_stall_prevention_seconds", &device), 8.0);
    assert_eq!(scrape.value("roce_stall_prevention_seconds", &[("device", "rail1")]), None);
    for (millis, seconds) in [("500", 0.5), ("0", 0.0), ("65535", 0.1)] {
        run("ethtool", &format!("--set-tunable rail0 pfc-prevention-tout {millis}"));
        nic.set("carrier=0 carrier=1");
        exporter.scrape_until("stall prevention", |scrape| {
            scrape.expect("roce_stall_prevention_seconds", &device) == seconds
        });
    }
    drop(other);
}

/// Drivers that answer the kernel's standard question have their pause frames from it, unless they have names of their
/// own; those that may count PFC there are not called 802.3x.
pub fn standard_pause_statistics_are_exported() {
    let nics: Vec<Nic> = [("rail0", "bnge"), ("rail1", "fbnic")]
        .into_iter()
        .map(|(name, driver)| {
            let nic = Nic::new(name, driver, "table=0");
            nic.order("row", "4711 standard_rx");
            nic.order("row", "815 standard_tx");
            nic
        })
        .collect();
    let named = Nic::new("rail2", "mlx5_core", "pfc=0x08");
    named.counter("rx_pause_ctrl_phy", 77, 0);
    let shown = run("ethtool", "-I -a rail0");
    assert!(shown.contains("rx_pause_frames: 4711"), "{shown}");
    let exporter = Exporter::start(&[]);
    let scrape = exporter.scrape();
    for (nic, metric, other) in [
        (&nics[0], "roce_link_pause_frames_total", "roce_mac_pause_frames_total"),
        (&nics[1], "roce_mac_pause_frames_total", "roce_link_pause_frames_total"),
    ] {
        for (direction, value) in [("rx", 4711.0), ("tx", 815.0)] {
            let labels = [("device", nic.name.as_str()), ("direction", direction)];
            assert_eq!(scrape.expect(metric, &labels), value);
            assert_eq!(scrape.value(other, &labels), None);
        }
    }
    let rx = [("device", "rail2"), ("direction", "rx")];
    assert_eq!(scrape.expect("roce_mac_pause_frames_total", &rx), 77.0);
    assert_eq!(scrape.value("roce_link_pause_frames_total", &rx), None);
}
