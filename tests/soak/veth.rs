//! veth devices that come, go and change their names beside one that stays.

use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::clients::{CLIENTS, Memory, Reloads, parsed};
use crate::exporter::Exporter;
use crate::growth::Growth;
use crate::network_namespace::{add_veth, in_namespace, ip, receive_packets};
use crate::program::Taken;

/// Packets that the device which stays has received.
const PACKETS: u16 = 80;
/// Which round of devices is followed by SIGHUP.
const RELOAD_EVERY: u32 = 5;

pub fn run(until: Instant) {
    in_namespace("soak", |namespace| {
        add_veth("veth0", 4);
        receive_packets("veth0", 0, PACKETS);
        let exporter = Exporter::start(namespace, &["--sampler.interval", "1ms"]);
        exporter.wait_for_statistics("veth0");
        let reloads = Reloads::default();
        let (answers, growth, rounds) = std::thread::scope(|scope| {
            let (exporter, reloads) = (&exporter, &reloads);
            let client = move || {
                let (mut memory, mut answers) = (Memory::new(|device| device != "veth0"), 0);
                while Instant::now() < until {
                    memory.ask(reloads, || exporter.text());
                    answers += 1;
                    sleep(Duration::from_millis(500));
                }
                answers
            };
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
            let watch = scope.spawn(move || {
                let mut growth = Growth::default();
                while Instant::now() < until {
                    growth.note(Taken::by(exporter.id()), 0);
                    sleep(Duration::from_millis(500));
                }
                growth
            });
            let rounds = churn(exporter, reloads, until);
            let answers: u64 = clients.into_iter().map(|client| client.join().unwrap()).sum();
            (answers, watch.join().unwrap(), rounds)
        });
        exporter.wait_for_statistics("veth0");
        assert!(!exporter.log().contains("panic"), "{}", exporter.log());
        println!("veth: {rounds} devices came, were renamed and went; {answers} answers");
        assert!(rounds > 1);
        growth.assert_none("veth", 0);
    });
}

/// Makes, renames and deletes a pair, each round another. Returns how many.
fn churn(exporter: &Exporter, reloads: &Reloads, until: Instant) -> u32 {
    let mut rounds = 0;
    while Instant::now() < until {
        let (device, renamed) = (format!("veth{}", rounds + 1), format!("veth-r{rounds}"));
        add_veth(&device, 1);
        exporter.wait_for("a new device", || !exporter.scrape().statistics(&device).is_empty());
        ip(&format!("link set {device} down"));
        ip(&format!("link set {device} name {renamed}"));
        exporter.wait_for("its other name", || {
            let scrape = exporter.scrape();
            !scrape.knows(&device) && !scrape.statistics(&renamed).is_empty()
        });
        ip(&format!("link del {renamed}"));
        exporter.wait_for("end of its series", || {
            let scrape = exporter.scrape();
            !scrape.knows(&renamed) && !scrape.knows(&format!("{device}-peer"))
        });
        assert_eq!(exporter.scrape().received("veth0"), u64::from(PACKETS));
        rounds += 1;
        if rounds % RELOAD_EVERY == 0 {
            reload(exporter, reloads);
        }
    }
    rounds
}

fn reload(exporter: &Exporter, reloads: &Reloads) {
    let told = || exporter.log().matches("settings read again").count();
    let before = told();
    reloads.begins();
    exporter.signal(Signal::HUP);
    exporter.wait_for("reload", || told() > before);
    exporter.wait_for_statistics("veth0");
    reloads.ended();
    assert!(!parsed(&exporter.text()).is_empty());
}
