//! What the metrics text says of who holds whom, for each driver: the way from the fabric to the scrape.

use std::sync::Arc;
use std::time::Duration;

use roce_exporter::engine::{CounterFigures, FeedFigures, PauseSummary, SamplingFigures, Snapshot};
use roce_exporter::export::{BuildInfo, Format, encode};
use roce_exporter::model::{Monotonic, Plan};

use crate::bench::{BNXT, Bench, I40E, ICE, IONIC, MLX5, Nic, PEER, SECOND, START, Setup};

const EVERY_DRIVER: [(Nic, &str); 5] =
    [(MLX5, "mlx5_core"), (BNXT, "bnxt_en"), (ICE, "ice"), (IONIC, "ionic"), (I40E, "i40e")];
const ALL: [Nic; 8] = [MLX5, BNXT, ICE, PEER, IONIC, I40E, (2, 1), (3, 0)];

/// The exposition of one host.
struct Text(String);

impl Text {
    /// The value of the series with these labels, whatever others it has.
    fn get(&self, name: &str, device: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has = |line: &str, (label, value): (&str, &str)| {
            line.contains(&format!("{label}=\"{value}\""))
        };
        let wanted = |line: &&str| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'))
                && has(line, ("device", device))
                && labels.iter().all(|label| has(line, *label))
        };
        let line = self.0.lines().find(wanted)?;
        Some(line.rsplit(' ').next().unwrap().parse().unwrap())
    }

    /// A figure of priority 3 in one direction.
    fn of(&self, name: &str, device: &str, direction: &str) -> Option<f64> {
        self.get(name, device, &[("priority", "3"), ("direction", direction)])
    }

    fn help(&self, name: &str) -> &str {
        let start = format!("# HELP {name} ");
        self.0.lines().find_map(|line| line.strip_prefix(start.as_str())).unwrap()
    }
}

/// The fabric after some seconds of a scenario, a text per host.
struct Played {
    bench: Bench,
    texts: Vec<Text>,
}

impl Played {
    fn new(scenario: &str, seconds: u64) -> Self {
        let mut bench = Bench::new(Setup {
            scenario,
            seed: 5,
            interval: Duration::from_millis(10),
            from: 0,
            nics: &ALL,
            rdma: true,
            link: None,
        });
        bench.run(seconds * SECOND, &mut |_| {});
        let texts = (0..4).map(|host| text_of(&bench, host, START + seconds * SECOND)).collect();
        Self { bench, texts }
    }

    fn text(&self, nic: Nic) -> (&Text, &str) {
        (&self.texts[nic.0], &self.bench.devices[&nic].device)
    }

    /// A figure of priority 3.
    fn of(&self, name: &str, nic: Nic, direction: &str) -> Option<f64> {
        let (text, device) = self.text(nic);
        text.of(name, device, direction)
    }

    /// Paused seconds, or frames where the driver has no time.
    fn paused(&self, nic: Nic, direction: &str) -> f64 {
        let seconds = self.of("roce_pfc_pause_seconds_total", nic, direction);
        seconds.or_else(|| self.of("roce_pfc_pause_frames_total", nic, direction)).unwrap()
    }
}

fn text_of(bench: &Bench, host: usize, now: u64) -> Text {
    let mut feeds = Vec::new();
    for own in bench.watched.iter().filter(|own| own.nic.0 == host) {
        let mut counters = CounterFigures {
            plan: Arc::new(Plan::default()),
            totals: Vec::new(),
            raw: Vec::new(),
            resets: 0,
        };
        let mut pause = PauseSummary::default();
        own.engine.copy_counters(&mut counters);
        own.engine.copy_pause(&mut pause);
        feeds.push(FeedFigures {
            feed: own.feed.clone(),
            driver: own.driver.as_str().into(),
            counters,
            pause,
            sampling: SamplingFigures::new(),
        });
    }
    feeds.sort_by(|a, b| a.feed.cmp(&b.feed));
    let of_host = bench.devices.iter().filter(|((own, _), _)| *own == host);
    let devices = of_host.map(|(_, device)| device.clone()).collect();
    let snapshot = Snapshot {
        taken_at: Monotonic::from_nanos(now),
        devices,
        feeds,
        checks: std::sync::Arc::default(),
    };
    let mut text = String::new();
    encode(&snapshot, &BuildInfo::default(), None, Format::Text004, &mut text).unwrap();
    Text(text)
}

#[test]
fn the_slow_receiver_sends_pause_and_its_senders_receive_it() {
    let played = Played::new("slow-receiver", 20);
    let ratio = |nic, direction| played.of("roce_pfc_pause_ratio", nic, direction).unwrap();
    assert!(ratio(MLX5, "tx") > 0.3, "the slow host holds its peer");
    assert!(ratio(MLX5, "rx") < 0.05, "nobody holds the slow host");
    assert!(ratio(PEER, "rx") > 0.01 && ratio(PEER, "rx") > 5.0 * ratio(PEER, "tx"));
    let (text, device) = played.text(MLX5);
    assert!(text.get("roce_pfc_asymmetry_ratio", device, &[("priority", "3")]).unwrap() > 0.9);
    let (text, device) = played.text(PEER);
    assert!(text.get("roce_pfc_asymmetry_ratio", device, &[("priority", "3")]).unwrap() < -0.5);
}

#[test]
fn whoever_is_held_receives_pause_on_every_driver() {
    let played = Played::new("deadlock", 20);
    for (nic, driver) in EVERY_DRIVER {
        let (tx, rx) = (played.paused(nic, "tx"), played.paused(nic, "rx"));
        assert!(rx > 5.0 && rx > 20.0 * tx, "{driver}: rx {rx}, tx {tx}");
    }
}

#[test]
fn whoever_stalls_sends_pause_on_every_driver() {
    // A scenario in which each driver's own receive side stalls more than it is held.
    for (scenario, nic, driver) in [
        ("slow-receiver", MLX5, "mlx5_core"),
        ("straggler", BNXT, "bnxt_en"),
        ("wrap", I40E, "i40e"),
    ] {
        let (before, after) = (Played::new(scenario, 3), Played::new(scenario, 12));
        let growth = |direction| after.paused(nic, direction) - before.paused(nic, direction);
        let (tx, rx) = (growth("tx"), growth("rx"));
        assert!(tx > 5.0 * rx, "{scenario} {driver}: tx {tx}, rx {rx}");
    }
    // The small stalls of a calm fabric hit the others, too; the fabric knows whose they were.
    let mut played = Played::new("calm", 30);
    let mut truths = std::collections::BTreeMap::new();
    played.bench.run(30 * SECOND + SECOND / 2, &mut |moment| {
        truths.insert(moment.watched.nic, moment.live);
    });
    for (nic, driver) in EVERY_DRIVER {
        let truth = truths[&nic].priorities[3];
        let by_time = played.of("roce_pfc_pause_seconds_total", nic, "tx").is_some();
        let expected = |own: &roce_exporter::source::simulated::PauseTruth| {
            if by_time { own.paused_ns as f64 / 1e9 } else { own.xoff_frames as f64 }
        };
        let (tx, rx) = (expected(&truth.tx), expected(&truth.rx));
        assert!((tx - rx).abs() > 0.2 * (tx + rx), "{driver}: too alike to tell, {tx} and {rx}");
        let (shown_tx, shown_rx) = (played.paused(nic, "tx"), played.paused(nic, "rx"));
        assert_eq!(
            tx > rx,
            shown_tx > shown_rx,
            "{driver}: {shown_tx} {shown_rx}, truly {tx} {rx}"
        );
    }
}

#[test]
fn c60_pause_that_spreads_leads_back_to_where_the_storm_begins() {
    let played = Played::new("nic-storm", 12);
    let storm = |nic, direction| played.of("roce_pfc_storm_active", nic, direction);
    let start =
        |nic, direction| played.of("roce_pfc_storm_last_start_timestamp_seconds", nic, direction);
    let ratio = |nic, direction| played.of("roce_pfc_pause_ratio", nic, direction).unwrap_or(0.0);
    assert_eq!(storm(MLX5, "tx"), Some(1.0), "the storm begins here");
    let begun = start(MLX5, "tx").unwrap();
    let mut held = 0;
    for nic in ALL.into_iter().filter(|nic| *nic != MLX5) {
        assert!(ratio(nic, "tx") < 0.1 * ratio(MLX5, "tx"), "{nic:?} sends pause, too");
        assert_ne!(storm(nic, "tx"), Some(1.0), "{nic:?} is not to blame");
        if let Some(later) = start(nic, "rx") {
            held += 1;
            assert!(later > begun - 0.02, "{nic:?} was held before the storm began");
        }
    }
    assert!(held > 0, "the storm spread to nobody");
}

#[test]
fn c64_texts_say_which_side_is_congested() {
    let played = Played::new("link-pause", 12);
    let (text, _) = played.text(MLX5);
    for name in ["roce_pfc_pause_frames_total", "roce_link_pause_frames_total"] {
        let help = text.help(name);
        assert!(help.contains("tx = sent by this port: this port is congested"), "{help}");
        assert!(help.contains("rx = received: this port's transmit is held"), "{help}");
    }
    let help = text.help("roce_pfc_pause_ratio");
    assert!(help.contains("this port is congested and holds its peer"), "{help}");
    for line in text.0.lines().filter(|line| line.starts_with("roce_") && line.contains("_pause_"))
    {
        let known = ["direction=\"tx\"", "direction=\"rx\""].iter().any(|own| line.contains(own));
        let other = ["_basis", "_enabled", "_supported"].iter().any(|own| line.contains(own));
        assert!(known || other, "{line}");
    }
}

#[test]
fn c66_marks_that_stand_still_while_cnps_flow_can_be_told_from_no_marks() {
    // Both ends of the rule are there: the mark's counter with its support, and the CNPs.
    let played = Played::new("cnp-lost", 12);
    let (text, device) = played.text(PEER);
    let marks = text.get("roce_ecn_marked_packets_total", device, &[]);
    assert!(marks.unwrap() > 0.0 && text.get("roce_cnp_sent_total", device, &[]).unwrap() > 0.0);
    let flat = Played::new("ecn-off", 12);
    let (text, device) = flat.text(PEER);
    assert_eq!(text.get("roce_ecn_marked_packets_total", device, &[]), Some(0.0), "0 was read");
    let (text, device) = flat.text(I40E);
    assert_eq!(text.get("roce_ecn_marked_packets_total", device, &[]), None, "nothing can be read");
    assert_eq!(text.get("roce_cnp_sent_total", device, &[]), None);
}

#[test]
fn c71_link_pause_shows_how_much_of_the_line_rate_is_gone_and_is_no_pfc() {
    let (before, after) = (Played::new("link-pause", 10), Played::new("link-pause", 20));
    let seconds = |played: &Played, direction| {
        let (text, device) = played.text(MLX5);
        text.get("roce_link_pause_seconds_total", device, &[("direction", direction)]).unwrap()
    };
    let share = |direction| (seconds(&after, direction) - seconds(&before, direction)) / 10.0;
    assert!((0.1..0.4).contains(&share("tx")), "{}", share("tx"));
    assert!(share("rx") < 0.01, "{}", share("rx"));
    let frames = |played: &Played| played.of("roce_pfc_pause_frames_total", MLX5, "tx").unwrap();
    assert_eq!(frames(&before).to_bits(), frames(&after).to_bits(), "link pause is not in PFC");
}

#[test]
fn c72_a_straggler_s_tx_ratio_stands_out_of_its_group() {
    let played = Played::new("straggler", 15);
    let ratio = |nic| played.of("roce_pfc_pause_ratio", nic, "tx");
    let own = ratio(BNXT).unwrap();
    let mut others: Vec<f64> =
        ALL.into_iter().filter(|nic| *nic != BNXT).filter_map(ratio).collect();
    others.sort_by(f64::total_cmp);
    assert!(others.len() >= 4, "{others:?}");
    let median = others[others.len() / 2];
    assert!(own > 0.02 && own > 10.0 * median, "{own} beside {others:?}");
}

#[test]
fn c46_a_bond_s_members_and_twins_are_never_summed() {
    let mut played = Played::new("slow-receiver", 12);
    // Two members of one bond share a master; their figures stay their own.
    for nic in [MLX5, BNXT] {
        played.bench.devices.get_mut(&nic).unwrap().master = "bond0".to_owned();
    }
    let bonded = text_of(&played.bench, 0, START + 12 * SECOND);
    let figures = |text: &Text| -> Vec<String> {
        let judged = text.0.lines().filter(|line| line.starts_with("roce_pfc_"));
        judged.map(str::to_owned).collect()
    };
    assert!(bonded.0.contains("master=\"bond0\""));
    assert!(
        !bonded.0.contains("device=\"bond0\""),
        "the master has no figures made of its members"
    );
    assert_eq!(figures(&bonded), figures(&played.texts[0]));
}
