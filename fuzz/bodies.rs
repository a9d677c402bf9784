//! What is done with each target's bytes. The fuzzer and the tests over the corpora run the same.

use std::collections::HashSet;
use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::middleware::from_fn_with_state;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use roce_exporter::catalogue::{Catalogue, RawSelection, Table, ethtool_text};
use roce_exporter::config::{Cli, Settings, parse_from};
use roce_exporter::engine::Snapshot;
use roce_exporter::export::{BuildInfo, Format};
use roce_exporter::http::access::{Access, guard};
use roce_exporter::http::{Door, ServerState, router};
use roce_exporter::model::{Plan, Reading, Sample};
use roce_exporter::pair;
use roce_exporter::record::{Event, Reader};
use roce_exporter::sampler::Board;
use roce_exporter::source::netlink::{Attributes, Messages, dcb, generic, link, rdma};
use roce_exporter::source::{
    EthtoolStatistics, KeptFile, NAME_SLOT, PlanRules, PlannedSource, StatisticsCalls,
    monotonic_now, neighbours_of_lldpcli, neighbours_of_networkd,
};
use rustix::io::Errno;
use tempfile::TempDir;
use tokio::runtime::Runtime;

static CATALOGUE: LazyLock<Arc<Catalogue>> =
    LazyLock::new(|| Arc::new(Catalogue::embedded().expect("the shipped tables are good")));

/// Drivers whose names are matched, picked by a byte.
const DRIVERS: [&str; 6] = ["mlx5_core", "ice", "bnxt_en", "i40e", "ionic", "hns3"];

/// A datagram: messages, what kind they are, and attributes within attributes.
pub fn netlink_messages(bytes: &[u8]) {
    let mut total = 0;
    for message in Messages::new(bytes) {
        black_box((message.kind(), message.is_part(), message.is_interrupted()));
        total += message.payload.len();
        walk(Attributes::new(message.payload), 8);
    }
    assert!(total <= bytes.len());
}

fn walk(attributes: Attributes<'_>, depth: u32) {
    for attribute in attributes {
        black_box((attribute.as_u8(), attribute.as_u16(), attribute.as_u32(), attribute.as_u64()));
        assert!(attribute.as_text().is_none_or(|text| !text.contains('\0')));
        if depth > 0 {
            walk(attribute.nested(), depth - 1);
        }
    }
}

/// The payload of a DCB message.
pub fn netlink_dcb(bytes: &[u8]) {
    let Some((_, dcb)) = dcb::parse(bytes) else { return };
    if let Some(dscp) = &dcb.dscp {
        assert!(
            dscp.is_sorted_by(|one, next| one.0 < next.0)
                && dscp.iter().all(|(code, _)| *code < 64)
        );
    }
}

/// The payload of a link message.
pub fn netlink_link(bytes: &[u8]) {
    assert!(link::parse(bytes).is_none_or(|link| !link.name.is_empty()));
}

/// The payload of any RDMA message.
pub fn netlink_rdma(bytes: &[u8]) {
    assert!(rdma::parse_device(bytes).is_none_or(|device| !device.name.is_empty()));
    assert!(rdma::parse_port(bytes).is_none_or(|port| port.port > 0));
    let mut counters = 0;
    rdma::parse_statistics(bytes, &mut |name, value| {
        black_box((name, value));
        counters += 1;
    });
    assert!(counters <= bytes.len());
    black_box(rdma::parse_optional_counters(bytes));
}

/// The payload of the generic controller's answer.
pub fn netlink_generic(bytes: &[u8]) {
    if let Some(family) = generic::parse(bytes) {
        black_box(family.group("monitor"));
    }
}

/// A driver with any number of any names: one byte for the driver, one for the kernel's behaviour, then slots.
pub fn ethtool_names(bytes: &[u8]) {
    let [driver, behaviour, slots @ ..] = bytes else { return };
    let driver = DRIVERS[usize::from(*driver) % DRIVERS.len()];
    let rules = PlanRules {
        catalogue: Arc::clone(&CATALOGUE),
        table: Table::Ethtool,
        driver: driver.to_owned(),
        raw: RawSelection { pattern: regex::Regex::new(".*").ok(), cap: 10 },
    };
    let padded = |name: &[u8]| {
        let mut slot = [0; NAME_SLOT];
        slot[..name.len()].copy_from_slice(name);
        slot
    };
    let slots = slots.chunks(NAME_SLOT).map(padded).collect();
    let driver = AnyDriver { slots, behaviour: *behaviour, values: Vec::new() };
    let set = EthtoolStatistics::new(driver, "rail0".to_owned());
    let mut source = PlannedSource::new(Box::new(set), rules, Arc::default());
    let mut sample = Sample::empty(Arc::new(Plan::default()));
    for _ in 0..2 {
        if source.read(&monotonic_now, &mut sample).is_ok() {
            assert_eq!(sample.readings.len(), sample.plan.counters.len());
            assert_eq!(sample.raw.len(), sample.plan.raw.len());
        }
    }
}

struct AnyDriver {
    slots: Vec<[u8; NAME_SLOT]>,
    /// Bits: the kernel checks the count; counts lie; a slot is missing; values are few; values are all ones.
    behaviour: u8,
    values: Vec<u64>,
}

impl AnyDriver {
    const fn has(&self, bit: u8) -> bool {
        self.behaviour >> bit & 1 == 1
    }

    fn len(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }
}

impl StatisticsCalls for AnyDriver {
    fn count(&self, _device: &str) -> Result<u32, Errno> {
        Ok(if self.has(1) { self.len().wrapping_mul(0x0101_0101) } else { self.len() })
    }

    fn names(&self, _device: &str, _count: u32) -> Result<Vec<[u8; NAME_SLOT]>, Errno> {
        Ok(self.slots.iter().skip(usize::from(self.has(2))).copied().collect())
    }

    fn values(&mut self, _device: &str, count: u32) -> Result<(u32, &[u64]), Errno> {
        if self.has(0) && count != self.len() {
            return Ok((0, &[]));
        }
        let given = if self.has(3) { self.slots.len() / 2 } else { self.slots.len() };
        let value = |place: usize| if self.has(4) { u64::MAX } else { place as u64 };
        self.values = (0..given).map(value).collect();
        Ok((self.len(), &self.values))
    }
}

/// What somebody captured with `ethtool -S`.
pub fn ethtool_text(bytes: &[u8]) {
    let text = ethtool_text::parse(&String::from_utf8_lossy(bytes));
    assert_eq!(text.names.len(), text.values.len());
    for driver in DRIVERS {
        let uses = CATALOGUE.classify(Table::Ethtool, driver, &text.names);
        assert_eq!(uses.len(), text.names.len());
    }
}

thread_local! {
    /// A folder for the parsers that read files.
    static FOLDER: TempDir = tempfile::tempdir().expect("a folder for temporary files");
}

fn file_with(name: &str, bytes: &[u8]) -> PathBuf {
    let path = FOLDER.with(|folder| folder.path().join(name));
    fs::write(&path, bytes).expect("a temporary file can be written");
    path
}

/// A counter file of sysfs.
pub fn sysfs_number(bytes: &[u8]) {
    if let Reading::Value(value) = KeptFile::new(&file_with("counter", bytes)).read() {
        let text = String::from_utf8_lossy(bytes.get(..64).unwrap_or(bytes));
        let digits = text.trim_ascii().trim_start_matches('0');
        assert_eq!(digits.parse().unwrap_or(0), value);
    }
}

/// An operator's catalogue.
pub fn catalogue_file(bytes: &[u8]) {
    let shipped = Catalogue::clone(&CATALOGUE);
    if let Err(error) = shipped.with_file(&String::from_utf8_lossy(bytes), "operator.csv") {
        assert!(!error.to_string().is_empty());
    }
}

thread_local! {
    /// Flags that name a file; to read them takes longer than to read the file.
    static FLAGS: Cli = flags("--config.file", SETTINGS);
    static LINKS_FLAGS: Cli = flags("--links.file", LINKS);
}

const SETTINGS: &str = "settings.yaml";
const LINKS: &str = "links.yaml";

fn flags(flag: &str, file: &str) -> Cli {
    let path = file_with(file, b"").into_os_string();
    parse_from(["roce_exporter".into(), flag.into(), path]).expect("these flags are good")
}

/// A settings file.
pub fn settings_file(bytes: &[u8]) {
    FLAGS.with(|flags| {
        file_with(SETTINGS, bytes);
        if let Err(errors) = Settings::load(flags) {
            assert!(!errors.problems().is_empty() && !errors.to_string().is_empty());
        }
    });
}

/// A links file. No port has two cables.
pub fn links_file(bytes: &[u8]) {
    LINKS_FLAGS.with(|flags| {
        file_with(LINKS, bytes);
        match Settings::load(flags) {
            Ok(settings) => {
                let links = settings.links.links.expect("a links file was named");
                let mut ports = HashSet::new();
                for port in links.pairs().take(10_000).flatten() {
                    assert!(!port.host.is_empty() && !port.device.is_empty());
                    assert!(ports.insert((port.host, port.device)));
                }
                black_box(links.of_host("node1"));
            }
            Err(errors) => assert!(!errors.problems().is_empty()),
        }
    });
}

/// A web configuration file. It may name other files, so it is kept to names below its own folder.
pub fn web_configuration(bytes: &[u8]) {
    if bytes.contains(&b'/') {
        return;
    }
    if let Err(error) = Access::load(&file_with("web.yaml", bytes)) {
        assert!(!error.to_string().is_empty());
    }
}

/// What lldpd's program prints.
pub fn lldp_json(bytes: &[u8]) {
    for (interface, port) in neighbours_of_lldpcli(bytes) {
        black_box(interface);
        assert_is_name(&port.host);
        assert_is_name(&port.device);
    }
}

/// A file of systemd-networkd with frames as they came from the wire.
pub fn lldp_frames(bytes: &[u8]) {
    for port in neighbours_of_networkd(bytes) {
        assert_is_name(&port.host);
        assert_is_name(&port.device);
    }
}

fn assert_is_name(text: &str) {
    assert!(!text.is_empty() && text.chars().count() < 256 && !text.contains(char::is_control));
}

/// The metrics of another exporter, as `pair` reads them.
pub fn exposition_page(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match pair::parse(&text) {
        Ok(samples) => {
            assert!(samples.len() <= text.lines().count());
            for sample in samples {
                assert!(!sample.name.is_empty() && sample.value.parse::<f64>().is_ok());
            }
        }
        Err(error) => assert!(error.line > 0 && error.line <= text.lines().count()),
    }
}

thread_local! {
    static RUNTIME: Runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be started");
    /// The server's own paths behind a door with a user. The password is `secret`.
    static SERVER: Router = {
        let hash = bcrypt::hash_with_salt("secret", 4, [7; 16]).expect("a cheap hash");
        let users = format!("basic_auth_users:\n  x: {hash}\n");
        let door = Door::of_file(&file_with("users.yaml", users.as_bytes()));
        let state = ServerState {
            snapshot: Arc::new(|| Snapshot {
                taken_at: monotonic_now(),
                devices: Vec::new(),
                feeds: Vec::new(),
                checks: Arc::default(),
            }),
            ready: Arc::new(|| true),
            past: Arc::new(Board::default()),
            build: BuildInfo { version: "0", revision: "0", branch: "0", rustc: "0", target: "0" },
            telemetry_path: "/metrics".to_owned(),
            process_root: None,
            max_requests: 1,
        };
        let door = Arc::new(door.expect("these users are good"));
        router(state).layer(from_fn_with_state(door, guard))
    };
}

/// A request as lines: method and path, then headers. It is never answered with a fault of the server.
pub fn http_request(bytes: &[u8]) {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let mut first = lines.next().unwrap_or_default().splitn(2, |byte| *byte == b' ');
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let mut request = Request::builder().method(method).uri(path);
    for line in lines {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        request = request.header(name, value);
    }
    let Ok(request) = request.body(Body::empty()) else { return };
    let server = TowerToHyperService::new(SERVER.with(Router::clone));
    let answer = RUNTIME.with(|runtime| runtime.block_on(server.call(request)));
    let Ok(answer) = answer;
    assert_ne!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
}

/// A recording.
pub fn recording(bytes: &[u8]) {
    let Ok(mut reader) = Reader::new(bytes) else { return };
    let mut samples = 0;
    for event in reader.by_ref() {
        match event {
            Ok(Event::Sample(_)) => samples += 1,
            Ok(_) => {}
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert_eq!(samples, reader.usable().samples);
}

/// The Accept header of a scrape.
pub fn accept_header(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).ok();
    black_box(Format::negotiate(text));
}
