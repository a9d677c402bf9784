//! What is said of settings: each finding comes with the change that causes it and goes with the one that mends it.
//!
//! Asked both ways: `check` as a command, with its exit code, and the metrics of the running exporter.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::exporter::{Exporter, PROGRAM, Scrape, UNPRIVILEGED};
use crate::modules;
use crate::nic::{Nic, dcb, run};

/// A setting, and the finding that it leads to.
struct Case {
    check: &'static str,
    device: &'static str,
    /// Commands of the tools, one after the other.
    breaks: &'static [&'static str],
    status: &'static str,
    mends: &'static [&'static str],
    /// The setting that has changed then, as `roce_config_changes_total` calls it.
    setting: Option<&'static str>,
}

/// A flap of the link makes the exporter look again; for settings that the kernel tells nobody of.
const LOOK: &str = "carrier";

/// What the `dcb` tool sets.
const DCB: &[Case] = &[
    Case {
        check: "pfc_mask",
        device: "rail0",
        breaks: &["dcb pfc set dev rail0 prio-pfc 3:off"],
        status: "critical",
        mends: &["dcb pfc set dev rail0 prio-pfc 3:on"],
        setting: Some("pfc"),
    },
    Case {
        check: "lossless_priorities",
        device: "rail0",
        breaks: &["dcb pfc set dev rail0 prio-pfc 4:on"],
        status: "warning",
        mends: &["dcb pfc set dev rail0 prio-pfc 4:off"],
        setting: Some("pfc"),
    },
    // This driver's hardware has PFC for one class.
    Case {
        check: "pfc_capability",
        device: "rail2",
        breaks: &["dcb pfc set dev rail2 prio-pfc 4:on"],
        status: "critical",
        mends: &["dcb pfc set dev rail2 prio-pfc 4:off"],
        setting: Some("pfc"),
    },
    Case {
        check: "trust",
        device: "rail0",
        breaks: &["dcb app flush dev rail0 dscp-prio"],
        status: "critical",
        mends: &["dcb app add dev rail0 dscp-prio 26:3 48:6"],
        setting: Some("trust"),
    },
    Case {
        check: "dscp_map",
        device: "rail0",
        breaks: &["dcb app replace dev rail0 dscp-prio 26:0"],
        status: "critical",
        mends: &["dcb app replace dev rail0 dscp-prio 26:3"],
        setting: Some("dscp_map"),
    },
    Case {
        check: "cnp_priority",
        device: "rail0",
        breaks: &["dcb app replace dev rail0 dscp-prio 48:3"],
        status: "warning",
        mends: &["dcb app replace dev rail0 dscp-prio 48:6"],
        setting: Some("dscp_map"),
    },
    // A class that is scheduled by shares and has none.
    Case {
        check: "traffic_class",
        device: "rail0",
        breaks: &["dcb ets set dev rail0 tc-tsa 3:ets tc-bw 0:100"],
        status: "warning",
        mends: &["dcb ets set dev rail0 tc-tsa 3:strict tc-bw 0:0"],
        setting: Some("ets"),
    },
    Case {
        check: "dcbx",
        device: "rail0",
        breaks: &["dcb ets set dev rail0 willing on"],
        status: "warning",
        mends: &["dcb ets set dev rail0 willing off"],
        setting: Some("ets"),
    },
    Case {
        check: "dcbx",
        device: "rail0",
        breaks: &["dcb dcbx set dev rail0 host lld-managed ieee", LOOK],
        status: "warning",
        mends: &["dcb dcbx set dev rail0 host ieee", LOOK],
        setting: Some("dcbx"),
    },
    Case {
        check: "buffer",
        device: "rail0",
        breaks: &["dcb buffer set dev rail0 buffer-size 1:0"],
        status: "critical",
        mends: &["dcb buffer set dev rail0 buffer-size 1:262144"],
        setting: Some("buffers"),
    },
    Case {
        check: "headroom",
        device: "rail0",
        breaks: &["dcb buffer set dev rail0 buffer-size 1:20000"],
        status: "warning",
        mends: &["dcb buffer set dev rail0 buffer-size 1:262144"],
        setting: Some("buffers"),
    },
];

/// What `ethtool` and `ip` set.
const LINK: &[Case] = &[
    Case {
        check: "link_pause",
        device: "rail0",
        breaks: &["ethtool -A rail0 rx on tx on"],
        status: "critical",
        mends: &["ethtool -A rail0 rx off tx off"],
        setting: Some("link_pause"),
    },
    Case {
        check: "mtu",
        device: "rail0",
        breaks: &["ip link set rail0 mtu 1500"],
        status: "warning",
        mends: &["ip link set rail0 mtu 9000"],
        setting: Some("mtu"),
    },
    Case {
        check: "mtu_rails",
        device: "rail1",
        breaks: &["ip link set rail0 mtu 4200"],
        status: "warning",
        mends: &["ip link set rail0 mtu 9000"],
        setting: None,
    },
    Case {
        check: "mtu_stack",
        device: "rail0",
        breaks: &[
            "ip link add link rail0 name storage type vlan id 5",
            "ip link set storage mtu 1500",
        ],
        status: "warning",
        mends: &["ip link set storage mtu 9000"],
        setting: None,
    },
    Case {
        check: "stall_prevention",
        device: "rail0",
        breaks: &["ethtool --set-tunable rail0 pfc-prevention-tout 0", LOOK],
        status: "warning",
        mends: &["ethtool --set-tunable rail0 pfc-prevention-tout 8000", LOOK],
        setting: Some("stall_prevention"),
    },
    Case {
        check: "link",
        device: "rail0",
        breaks: &["ip link set rail0 down"],
        status: "warning",
        mends: &["ip link set rail0 up"],
        setting: None,
    },
];

/// What `check` says: its exit code, and the status of each finding.
struct Report {
    code: i32,
    document: Value,
}

impl Report {
    fn take() -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["check", "--format", "json"]).uid(UNPRIVILEGED).gid(UNPRIVILEGED);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let document = serde_json::from_slice(&output.stdout);
        let document = document.unwrap_or_else(|error| panic!("{error}: {said}"));
        Self { code: output.status.code().unwrap(), document }
    }

    fn status(&self, device: &str, check: &str) -> &str {
        let ports = self.document["ports"].as_array().unwrap();
        let port = ports.iter().find(|port| port["device"] == device).unwrap();
        let findings = port["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["check"] == check);
        finding.and_then(|own| own["status"].as_str()).unwrap_or("none")
    }

    /// Findings that are not well, with their device.
    fn faults(&self) -> Vec<(&str, &Value)> {
        let ports = self.document["ports"].as_array().unwrap();
        let all = ports.iter().flat_map(|port| {
            let findings = port["findings"].as_array().unwrap();
            findings.iter().map(|finding| (port["device"].as_str().unwrap(), finding))
        });
        let faulty =
            |finding: &Value| finding["status"] == "warning" || finding["status"] == "critical";
        all.filter(|(_, finding)| faulty(finding)).collect()
    }

    /// Its exit code is that of the worst finding.
    fn assert_code(&self) {
        let faults = self.faults();
        let codes = faults.iter().map(|(_, own)| if own["status"] == "critical" { 2 } else { 1 });
        assert_eq!(self.code, codes.max().unwrap_or(0), "{faults:?}");
    }

    /// Nothing but what the emulated processor may be too slow for.
    fn assert_well(&self) {
        let faults = self.faults();
        assert!(faults.iter().all(|(_, own)| own["check"] == "sampler"), "{faults:?}");
        self.assert_code();
    }
}

fn shown<'a>(scrape: &'a Scrape, device: &'a str, check: &str) -> &'a str {
    let own = scrape.of("device", device).find(|own| {
        own.name == "roce_check_status"
            && own.labels.get("check").is_some_and(|own| own == check)
            && own.value == "1"
    });
    own.and_then(|own| own.labels.get("status")).map_or("none", String::as_str)
}

/// Changes of a setting; a rail has it once it could be read.
fn changes(scrape: &Scrape, device: &str, setting: &str) -> f64 {
    scrape.expect("roce_config_changes_total", &[("device", device), ("setting", setting)])
}

fn execute(nic: &Nic, commands: &[&str]) {
    for command in commands {
        match command.split_once(' ') {
            None => nic.set("carrier=0 carrier=1"),
            Some(("dcb", arguments)) => dcb(arguments),
            Some((program, arguments)) => drop(run(program, arguments)),
        }
    }
}

/// Two rails and a port of another driver, set up as the default policy wants them, as far as the NIC can be.
fn rails() -> [Nic; 3] {
    let nics = [
        Nic::new("rail0", "mlx5_core", "rdma=mlx5_0 pfc=0x08"),
        Nic::new("rail1", "mlx5_core", "rdma=mlx5_1 pfc=0x08"),
        Nic::new("rail2", "ice", "pfc=0x08"),
    ];
    for nic in &nics {
        let name = &nic.name;
        run("ip", &format!("link set {name} mtu 9000"));
        dcb(&format!("app add dev {name} dscp-prio 26:3 48:6"));
    }
    nics
}

pub fn findings_come_and_go_with_dcb_settings() {
    come_and_go(DCB);
}

pub fn findings_come_and_go_with_settings_of_the_link() {
    modules::load("8021q");
    come_and_go(LINK);
}

fn come_and_go(cases: &[Case]) {
    let nics = rails();
    Report::take().assert_well();
    let exporter = Exporter::start(&[]);
    for case in cases {
        let Case { check, device, breaks, status, mends, setting } = case;
        // Waits for what went before to be shown, so that its last change is not counted as this case's.
        let before = exporter.scrape_until(&format!("{check} well before"), |scrape| {
            ["ok", "none"].contains(&shown(scrape, device, check))
        });
        let changed = setting.map(|setting| changes(&before, device, setting));
        let since = Instant::now();
        execute(&nics[0], breaks);
        exporter.scrape_until(&format!("{check} {status} after {breaks:?}"), |scrape| {
            shown(scrape, device, check) == *status
                && setting.zip(changed).is_none_or(|(setting, changed)| {
                    changes(scrape, device, setting) >= changed + 1.0
                })
        });
        println!("{check}: {status} {:?} after the first command", since.elapsed());
        let report = Report::take();
        assert_eq!(report.status(device, check), *status, "{check}: {:?}", report.faults());
        report.assert_code();
        execute(&nics[0], mends);
        let after = exporter.scrape_until(&format!("{check} ok after {mends:?}"), |scrape| {
            shown(scrape, device, check) == "ok"
        });
        if let Some((setting, changed)) = setting.zip(changed) {
            assert!(changes(&after, device, setting) >= changed + 2.0, "{check}: {setting}");
        }
    }
    Report::take().assert_well();
}
