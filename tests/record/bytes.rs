//! Cut, damaged and hostile files.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use proptest::prelude::*;
use roce_exporter::catalogue::{RawSelection, Table};
use roce_exporter::model::{
    BitsPerSecond, DeviceFacts, LinkFacts, PortDetails, Reading, Reason, Sample, Trust,
};
use roce_exporter::record::{Event, Reader, RecordedSample, Recording, RecordingError, Taken};

use super::nic::{
    BEGIN, Bench, INTERVAL, catalogue, facts, feed_of, mlx5_names, player, start, text_of,
};
use super::tape::Memory;

/// The file's magic and version.
const FILE_HEAD: usize = 12;
/// Length and checksums of a record.
const HEAD: usize = 12;

/// A small recording with records of every kind.
fn small() -> &'static [u8] {
    static SMALL: OnceLock<Vec<u8>> = OnceLock::new();
    SMALL.get_or_init(|| {
        let memory = Memory::default();
        let recording = Recording::write_to(memory.clone(), start()).unwrap();
        let recorder = recording.recorder();
        let names = mlx5_names().into_iter().take(6).collect();
        let mut bench = Bench::new("eth0", &recorder, names);
        for step in 0..4 {
            bench.add("rx_prio0_pause", 1 << (9 * step));
            bench.step(INTERVAL, INTERVAL);
        }
        bench.fail(roce_exporter::model::Reason::Busy);
        recorder.feed_ended(bench.now(), bench.recorder.id());
        recording.finish();
        memory.bytes()
    })
}

fn events_of(bytes: &[u8]) -> (Vec<Event>, Option<RecordingError>) {
    let mut events = Vec::new();
    let reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (events, Some(error)),
    };
    for event in reader {
        match event {
            Ok(event) => events.push(event),
            Err(error) => return (events, Some(error)),
        }
    }
    (events, None)
}

/// Payloads of a recording's records.
fn payloads(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &bytes[FILE_HEAD..];
    let mut payloads = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
        payloads.push(rest[HEAD..HEAD + length].to_vec());
        rest = &rest[HEAD + length..];
    }
    payloads
}

/// A recording of these payloads, whatever they are, with checksums that are right.
fn file_of(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = small()[..FILE_HEAD].to_vec();
    for payload in payloads {
        let mut head = (payload.len() as u32).to_le_bytes().to_vec();
        head.extend(crc32fast::hash(payload).to_le_bytes());
        bytes.extend(&head);
        bytes.extend(crc32fast::hash(&head).to_le_bytes());
        bytes.extend(payload);
    }
    bytes
}

/// Reads and plays a file; must end without a panic.
fn play(bytes: &[u8]) {
    let Ok(reader) = Reader::new(bytes) else { return };
    let (mut player, board) = player(&catalogue());
    let mut now = reader.start().at;
    for event in reader.map_while(Result::ok) {
        now = now.max(event.at());
        player.play(event);
    }
    let _ = text_of(&board.snapshot(now));
}

#[test]
fn a_file_cut_at_any_byte_gives_what_was_before_the_cut() {
    let (all, error) = events_of(small());
    assert!(error.is_none());
    assert_eq!(all.len(), 9, "{all:?}");
    let first_record = FILE_HEAD + HEAD + payloads(small())[0].len();
    let mut whole = 0;
    for cut in 0..small().len() {
        let (events, error) = events_of(&small()[..cut]);
        if cut < first_record {
            let expected =
                if cut < FILE_HEAD { "is no recording" } else { "before its first record" };
            let message = error.unwrap().to_string();
            assert!(message.contains(expected), "{cut}: {message}");
            continue;
        }
        assert!(error.is_none(), "{cut}: {error:?}");
        assert_eq!(events, all[..events.len()], "{cut}");
        let mut reader = Reader::new(&small()[..cut]).unwrap();
        reader.by_ref().for_each(drop);
        if events.len() > whole || cut == first_record {
            whole = events.len();
            assert_eq!(reader.torn(), None, "{cut} is between two records");
        } else {
            assert!(reader.torn().is_some_and(|bytes| bytes > 0), "{cut} is within a record");
        }
    }
    assert_eq!(whole, all.len() - 1);
}

#[test]
fn a_damaged_byte_is_found_and_what_is_before_it_is_good() {
    let (all, _) = events_of(small());
    for place in 0..small().len() {
        for bit in [0, 3, 7] {
            let mut bytes = small().to_vec();
            bytes[place] ^= 1 << bit;
            let (events, error) = events_of(&bytes);
            assert_eq!(events, all[..events.len()], "{place}");
            let error = error.unwrap_or_else(|| panic!("{place}: damage went unseen"));
            if let RecordingError::Damaged { offset, usable, .. } = &error {
                assert!(*offset <= place as u64, "{place}: {error}");
                assert_eq!(usable.records, events.len() as u64, "{place}: {error}");
            } else {
                assert!(place < FILE_HEAD, "{place}: {error}");
            }
        }
    }
    let mut bytes = small().to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let message = events_of(&bytes).1.unwrap().to_string();
    assert!(message.contains("at byte"), "{message}");
    assert!(message.contains("good before it: 4 samples in 40ms"), "{message}");
}

#[test]
fn other_files_and_other_versions_are_refused_by_name() {
    let message = |bytes: &[u8]| events_of(bytes).1.unwrap().to_string();
    assert_eq!(message(b"NIC statistics:\n     rx_packets: 1\n"), "is no recording");
    assert_eq!(message(b""), "is no recording");
    let mut newer = small().to_vec();
    newer[8] = 3;
    assert_eq!(message(&newer), "is a recording of format 3; this program reads formats 1 to 2");
    newer[8] = 0;
    assert_eq!(message(&newer), "is a recording of format 0; this program reads formats 1 to 2");
    let mut twice = payloads(small());
    twice.swap(0, 1);
    assert!(message(&file_of(&twice)).contains("another kind than the first must be"));
}

fn devices_of(events: &[Event]) -> Vec<DeviceFacts> {
    let all = events.iter().filter_map(|event| match event {
        Event::Devices { devices, .. } => Some(devices.clone()),
        _ => None,
    });
    all.flatten().collect()
}

/// Whole records of what the program recorded of its demo when it wrote version 1, which has no details.
#[test]
fn a_recording_of_version_1_is_read() {
    let bytes = include_bytes!("../../fuzz/corpus/recording/version_1");
    let (events, error) = events_of(bytes);
    assert!(error.is_none(), "{error:?}");
    let devices = devices_of(&events);
    let names: Vec<&str> = devices.iter().map(|facts| &*facts.device).collect();
    assert_eq!(names, ["eth0", "eth1", "eth2"]);
    let eth0 = &devices[0];
    assert_eq!(eth0.firmware, "28.39.1002 (MT_0000000838)");
    assert_eq!(&*eth0.rdma_ports[0].rdma_device, "mlx5_0");
    assert_eq!(eth0.link.speed, Some(BitsPerSecond(100_000_000_000)));
    assert_eq!(eth0.settings.trust, Some(Trust::Dscp));
    assert_eq!(eth0.settings.mtu_bytes, Some(9_000));
    let mapped = eth0.settings.dcb.as_ref().and_then(|dcb| dcb.dscp.as_deref()).unwrap();
    assert_eq!(
        mapped.iter().map(|(dscp, own)| (*dscp, own.number())).collect::<Vec<_>>(),
        [(26, 3), (48, 6)]
    );
    assert_eq!(eth0.details, PortDetails::default());
    let samples = events.iter().filter(|event| matches!(event, Event::Sample(_)));
    assert_eq!(samples.count(), 19);
    play(bytes);
}

/// The bytes that this version wrote once have to mean the same for ever.
#[test]
fn a_recording_of_version_2_is_read() {
    let (events, error) = events_of(include_bytes!("../../fuzz/corpus/recording/version_2"));
    assert!(error.is_none(), "{error:?}");
    assert_eq!(devices_of(&events), [facts("eth0")]);
    assert_eq!(events, events_of(small()).0);
}

#[test]
fn declared_lengths_cost_nothing() {
    // A record of 4 GiB that is not there, and one larger than any.
    for (length, expected) in [(u32::MAX, Some("a length that no record has")), (60 << 20, None)] {
        let mut bytes = small().to_vec();
        let mut head = length.to_le_bytes().to_vec();
        head.extend([0; 4]);
        bytes.extend(&head);
        bytes.extend(crc32fast::hash(&head).to_le_bytes());
        bytes.extend([0; 100]);
        let (events, error) = events_of(&bytes);
        assert_eq!(events.len(), 9);
        let message = error.map(|error| error.to_string());
        assert_eq!(message.is_some(), expected.is_some(), "{message:?}");
        assert!(message.unwrap_or_default().contains(expected.unwrap_or_default()));
    }
}

#[test]
fn a_host_that_begins_its_feeds_anew_for_ever_stays_small() {
    let began = payloads(small()).into_iter().find(|payload| payload[0] == 2).unwrap();
    assert_eq!(began[1], 0, "the feed's number");
    let mut records = vec![payloads(small())[0].clone()];
    // Numbers of two bytes: as many feeds as a reader takes at one time, and more.
    for id in 128..16_000_u16 {
        let mut record = vec![2, (id & 0x7f | 0x80) as u8, (id >> 7) as u8];
        record.extend(&began[2..]);
        records.push(record);
    }
    let (events, error) = events_of(&file_of(&records));
    assert!(error.is_none(), "{error:?}");
    assert_eq!(events.len(), records.len() - 1);
}

/// A read with values that no NIC has.
fn any_read(counters: usize) -> impl Strategy<Value = RecordedSample> {
    let nanos = || prop_oneof![0..1_000_000_000_u64, 0..=u64::MAX / 2];
    let reading = prop_oneof![
        4 => any::<u64>().prop_map(Reading::Value),
        1 => prop::sample::select(&Reason::ALL[..]).prop_map(Reading::Missing),
    ];
    let link = (
        any::<Option<bool>>(),
        any::<Option<u64>>(),
        any::<Option<u8>>(),
        any::<Option<[u8; 8]>>(),
    );
    let times = (nanos(), nanos(), nanos(), nanos(), any::<u64>());
    (times, link, prop::collection::vec(reading, counters)).prop_map(
        |((at, took, interval, next_interval, missed), link, readings)| RecordedSample {
            at: BEGIN.plus(Duration::from_nanos(at)),
            id: 0,
            took: Duration::from_nanos(took),
            link: LinkFacts {
                up: link.0,
                speed: link.1.map(BitsPerSecond),
                lossless: link.2,
                traffic_class: link.3,
            },
            interval: Duration::from_nanos(interval),
            next_interval: Duration::from_nanos(next_interval),
            missed,
            readings,
        },
    )
}

/// Records these reads of one feed.
fn record(reads: &[RecordedSample], names: &[String]) -> Vec<u8> {
    let memory = Memory::default();
    let recording = Recording::write_to(memory.clone(), start()).unwrap();
    let mut recorder = recording.recorder().feed(&feed_of("eth0"), "mlx5_core");
    let none = RawSelection::default();
    let plan = Arc::new(catalogue().plan(Table::Ethtool, "mlx5_core", names, &none));
    for read in reads {
        let mut sample = Sample::empty(Arc::clone(&plan));
        (sample.taken_at, sample.took) = (read.at, read.took);
        recorder.sample(&Taken {
            names,
            cache_period: None,
            sample: &sample,
            readings: &read.readings,
            link: read.link,
            interval: read.interval,
            next_interval: read.next_interval,
            missed: read.missed,
        });
    }
    recording.finish();
    memory.bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_reads_come_back_and_can_be_played(mut reads in prop::collection::vec(any_read(6), 1..20)) {
        let names: Vec<String> = mlx5_names().into_iter().take(6).collect();
        let played = record(&reads, &names);
        let events = events_of(&played).0.into_iter();
        let samples: Vec<_> = events.filter_map(|event| match event {
            Event::Sample(sample) => Some(sample),
            _ => None,
        }).collect();
        prop_assert_eq!(&samples, &reads);
        play(&played);
        reads.sort_by_key(|read| read.at);
        play(&record(&reads, &names));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        play(&bytes);
        play(&[&small()[..FILE_HEAD], &bytes].concat());
        play(&[small(), &bytes].concat());
    }

    #[test]
    fn any_payload_with_a_right_checksum_is_read_or_refused(
        added in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..60), 1..6),
        kind in 0..8_u8,
    ) {
        let mut all = payloads(small());
        all.pop();
        all.extend(added.into_iter().map(|mut payload| {
            payload[0] = kind;
            payload
        }));
        play(&file_of(&all));
    }

    #[test]
    fn any_change_with_a_right_checksum_is_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut all = payloads(small());
        for (record, place, byte) in changes {
            let record = record.index(all.len());
            let place = place.index(all[record].len());
            all[record][place] = byte;
        }
        play(&file_of(&all));
    }
}
