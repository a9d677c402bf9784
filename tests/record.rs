//! A recording replayed is the run itself, to the last digit; any other file is refused or cut short.
#![allow(missing_docs, unreachable_pub, reason = "tests")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a failed test is a panic, and its figures are small"
)]

#[path = "record/bytes.rs"]
mod bytes;
#[path = "record/live.rs"]
mod live;
#[path = "record/nic.rs"]
mod nic;
#[path = "record/program.rs"]
mod program;
#[path = "record/tape.rs"]
mod tape;

use std::fs;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nic::{BEGIN, Bench, INTERVAL, MS, assert_same, catalogue, mlx5_names, player, start, text_of};
use roce_exporter::catalogue::{Catalogue, RawSelection, Table};
use roce_exporter::model::{BitsPerSecond, LinkFacts, Reason};
use roce_exporter::record::{Event, Reader, RecordedSample, Recording};
use roce_exporter::source::SourceError;
use tape::{FullDisk, Memory, StickyDisk};

/// The samples of a recording.
fn samples_of(bytes: &[u8]) -> Vec<RecordedSample> {
    let events = Reader::new(bytes).unwrap().map(Result::unwrap);
    let samples = events.filter_map(|event| match event {
        Event::Sample(sample) => Some(sample),
        _ => None,
    });
    samples.collect()
}

/// What happens at one step of the run.
fn disturb(bench: &mut Bench, step: u64) {
    bench.add("rx_prio0_bytes", 1_000 + step);
    bench.add("tx_prio3_packets", 7);
    bench.add("rx_packets_phy", 30);
    let half_paused = (100..110).contains(&step) || step.is_multiple_of(50);
    let in_storm = (300..420).contains(&step);
    if half_paused {
        bench.add("rx_prio3_pause", 3);
        bench.add("rx_prio3_pause_duration", 4_321);
        bench.add("tx_prio3_bytes", 900_000);
    } else if in_storm {
        bench.add("rx_prio3_pause", 150);
        bench.add("rx_prio3_pause_duration", 9_990);
    } else {
        bench.add("tx_prio3_bytes", 1_100_000);
    }
    let all = mlx5_names();
    match step {
        500 => bench.rename(all.iter().rev().cloned().collect()),
        510 => bench.rename(all),
        520 => bench.state.lock().unwrap().failure = Some(SourceError::NamesChanged),
        523 => bench.state.lock().unwrap().failure = None,
        530 => {
            let mut state = bench.state.lock().unwrap();
            state.missing.insert("rx_prio3_pause".to_owned(), Reason::AllOnes);
            state.missing.insert("tx_prio5_bytes".to_owned(), Reason::NotANumber);
        }
        540 => bench.state.lock().unwrap().missing.clear(),
        550 => bench.state.lock().unwrap().values.values_mut().for_each(|value| *value = 5),
        560 => bench.link.up = Some(false),
        570 => bench.link.up = Some(true),
        580 => bench.link.speed = Some(BitsPerSecond(25_000_000_000)),
        590 => bench.link = LinkFacts::default(),
        600 => bench.add("tx_pause_storm_error_events", 1),
        610 => bench.fail(Reason::Panicked),
        _ => {}
    }
}

/// Seven seconds of a run, recorded; with what was exported after every tenth step.
fn run() -> (Vec<u8>, Vec<String>) {
    let memory = Memory::default();
    let recording = Recording::write_to(memory.clone(), start()).unwrap();
    let mut bench = Bench::new("eth0", &recording.recorder(), mlx5_names());
    let mut exported = Vec::new();
    for step in 0..700 {
        disturb(&mut bench, step);
        // Some reads come late, and the interval is stretched for a while.
        let interval = if (640..660).contains(&step) { 3 * INTERVAL } else { INTERVAL };
        bench.missed += u64::from(step.is_multiple_of(90));
        bench.step(interval + MS * u32::from(step.is_multiple_of(70)), interval);
        if step % 10 == 9 {
            exported.push(text_of(&bench.snapshot()));
        }
    }
    assert_eq!(recording.recorder().dropped(), 0);
    recording.finish();
    (memory.bytes(), exported)
}

#[test]
fn a_replay_exports_what_the_run_exported() {
    let (bytes, exported) = run();
    let reader = Reader::new(bytes.as_slice()).unwrap();
    assert_eq!(reader.start(), &start());
    let (mut player, board) = player(&catalogue());
    let mut steps = 0;
    for event in reader {
        let event = event.unwrap();
        let (at, read) = (event.at(), matches!(event, Event::Sample(_)));
        let failed = matches!(event, Event::Failed { reason, .. } if reason != Reason::Panicked);
        player.play(event);
        if read || failed {
            steps += 1;
            if steps % 10 == 0 {
                let step = steps - 1;
                let replayed = text_of(&board.snapshot(at));
                assert_same(&replayed, &exported[steps / 10 - 1], &format!("step {step}"));
            }
        }
    }
    assert_eq!(steps, 700);
    let last = exported.last().unwrap();
    for series in [
        "roce_pfc_storms_total{",
        "roce_pfc_storm_last_start_timestamp_seconds{",
        "roce_pfc_pause_ratio{",
        "roce_counter_resets_total{",
        r#"firmware="28.39.1002""#,
        r#"reason="names_changed""#,
    ] {
        assert!(last.contains(series) || exported[50].contains(series), "no {series}");
    }
    let storm = r#"roce_pfc_storms_total{device="eth0",priority="3",direction="rx"} 1"#;
    assert!(exported[50].contains(storm), "{}", exported[50]);
}

#[test]
fn what_is_recorded_is_raw_so_a_corrected_catalogue_changes_the_outcome() {
    let (bytes, exported) = run();
    let corrections = "source,driver,template,quantity,direction,index,unit,width,freshness_ms,detail,combine,factor,note\n\
         ethtool,mlx5_core,rx_prio{n}_pause,pfc_pause_frames,rx,priority,count,64,live,,,8,\n\
         ethtool,mlx5_core,rx_lro_packets,discards,rx,-,count,64,live,mistaken,,,\n";
    let shipped = Catalogue::embedded().unwrap();
    let corrected = Arc::new(shipped.with_file(corrections, "corrected.csv").unwrap());
    let (mut player, board) = player(&corrected);
    let mut now = BEGIN;
    for event in Reader::new(bytes.as_slice()).unwrap() {
        let event = event.unwrap();
        now = event.at();
        player.play(event);
    }
    let text = text_of(&board.snapshot(now));
    let frames = |text: &str| -> u64 {
        let series = r#"roce_pfc_pause_frames_total{device="eth0",priority="3",direction="rx"} "#;
        let value = text.lines().find_map(|line| line.strip_prefix(series));
        value.unwrap().parse().unwrap()
    };
    assert_eq!(frames(&text), 8 * frames(exported.last().unwrap()));
    assert!(!text.contains("mistaken"), "a counter that was not recorded has no series");
    assert!(text.contains(r#"reason="unsupported""#), "and its absence is told: {text}");
}

#[test]
fn names_are_all_there_once_per_set_and_values_only_of_the_wanted() {
    let (bytes, _) = run();
    let sets: Vec<_> = Reader::new(bytes.as_slice())
        .unwrap()
        .filter_map(|event| match event.unwrap() {
            Event::Names { names, .. } => Some(names),
            _ => None,
        })
        .collect();
    assert_eq!(sets.first().unwrap().names, mlx5_names());
    assert_eq!(sets.len(), 4, "at first, two renames, and one that the driver told of");
    let wanted = sets.first().unwrap().wanted.len();
    assert!(wanted < mlx5_names().len());
    assert!(samples_of(&bytes).iter().all(|sample| sample.readings.len() == wanted));
}

#[test]
fn an_existing_file_is_never_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.roce");
    Recording::create(&path, start()).unwrap().finish();
    let before = fs::read(&path).unwrap();
    assert!(Reader::open(&path).unwrap().next().is_none());
    let error = Recording::create(&path, start()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_disk_that_is_stuck_costs_records_and_nothing_else() {
    let disk = StickyDisk::default();
    let recording = Recording::write_to(disk.clone(), start()).unwrap();
    let recorder = recording.recorder();
    let mut bench = Bench::new("eth0", &recorder, mlx5_names());
    let mut taken = Vec::new();
    for step in 0..9_000_u64 {
        // More than the writer's own buffer and the channel hold.
        match step {
            10 => disk.set_stuck(true),
            8_900 => {
                disk.set_stuck(false);
                // The writer needs real time to make room.
                let began = Instant::now();
                while disk.memory.bytes().len() < 50_000 {
                    assert!(began.elapsed() < Duration::from_mins(1), "the disk stays stuck");
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            _ => {}
        }
        bench.add("rx_prio3_bytes", step);
        bench.step(INTERVAL, INTERVAL);
        taken.push((bench.snapshot().feeds[0].sampling.last_sample.unwrap(), bench.readings()));
    }
    let dropped = recorder.dropped();
    recording.finish();
    let samples = samples_of(&disk.memory.bytes());
    assert!(dropped > 1_000, "{dropped}");
    assert_eq!(samples.len() as u64 + dropped, 9_000);
    assert_eq!(samples.last().unwrap().at, taken.last().unwrap().0, "it went on after the gap");
    for sample in samples {
        let place = taken.binary_search_by_key(&sample.at, |(at, _)| *at).unwrap();
        assert_eq!(sample.readings, taken[place].1, "values are right after a gap too");
    }
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_sampling() {
    let recording = Recording::write_to(FullDisk(5_000), start()).unwrap();
    let recorder = recording.recorder();
    let mut bench = Bench::new("eth0", &recorder, mlx5_names());
    for _ in 0..3_000 {
        bench.step(INTERVAL, INTERVAL);
    }
    std::thread::sleep(Duration::from_millis(1_200));
    bench.step(INTERVAL, INTERVAL);
    assert_eq!(bench.snapshot().feeds[0].sampling.samples, 3_001);
    recording.finish();
    assert_eq!(recorder.dropped(), 0, "what comes after the end is not dropped but not recorded");
}

#[test]
fn the_inventory_is_recorded_when_it_changes() {
    let memory = Memory::default();
    let recording = Recording::write_to(memory.clone(), start()).unwrap();
    let recorder = recording.recorder();
    let mut facts = vec![nic::facts("eth0")];
    for step in 0..10_u32 {
        facts[0].link.up = Some(step < 5);
        recorder.devices(BEGIN.plus(MS * step), &facts);
    }
    recording.finish();
    let events: Vec<Event> =
        Reader::new(memory.bytes().as_slice()).unwrap().map(Result::unwrap).collect();
    let [Event::Devices { devices: first, .. }, Event::Devices { at, devices }] = events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!((first, *at), (&vec![nic::facts("eth0")], BEGIN.plus(MS * 5)));
    assert_eq!(devices, &facts);
}

/// The figures stand in `docs/recording.md`. An hour at 10 ms has 360,000 samples.
#[test]
fn a_sample_of_110_counters_takes_less_than_400_bytes() {
    let names = names_for(110);
    let figure = |busy: bool| {
        let memory = Memory::default();
        let recording = Recording::write_to(memory.clone(), start()).unwrap();
        let mut bench = Bench::new("eth0", &recording.recorder(), names.clone());
        bench.step(INTERVAL, INTERVAL);
        for step in 0..1_000_u64 {
            if busy {
                work(&bench, step);
            }
            bench.step(INTERVAL, INTERVAL);
        }
        recording.finish();
        let bytes = memory.bytes();
        assert_eq!(samples_of(&bytes)[0].readings.len(), 110);
        let mut reader = Reader::new(bytes.as_slice()).unwrap();
        assert!(reader.all(|event| event.is_ok()));
        let sets: usize = names.iter().map(|name| name.len() + 2).sum();
        (bytes.len() - sets) as f64 / 1_001.0
    };
    let (idle, busy) = (figure(false), figure(true));
    println!("bytes per sample of 110 counters: idle {idle:.0}, busy {busy:.0}");
    let paper = include_str!("../docs/recording.md");
    for (what, bytes) in [("nothing moves", idle), ("pause on three", busy)] {
        let row = format!("{what} | {bytes:.0} | {:.0} MB |", bytes * 0.36);
        assert!(paper.contains(&row), "docs/recording.md lacks {row}");
    }
    assert!(busy < 400.0, "{busy}");
    assert!(idle < 60.0, "{idle}");
}

/// Names of mlx5 of which so many are catalogued.
fn names_for(wanted: usize) -> Vec<String> {
    let (catalogue, names) = (catalogue(), mlx5_names());
    let plan = catalogue.plan(Table::Ethtool, "mlx5_core", &names, &RawSelection::default());
    let last = plan.wanted[wanted - 1] as usize;
    names[..=last].to_vec()
}

/// 10 ms of a NIC that is full both ways on four priorities, with some traffic on the others and pause on three.
fn work(bench: &Bench, step: u64) {
    for priority in 0..8_u64 {
        let share = if priority < 4 { 1 } else { 100 };
        for way in ["rx", "tx"] {
            let noise = step * 7_919 % 1_009;
            bench.add(&format!("{way}_prio{priority}_bytes"), (31_250_000 + noise) / share);
            bench.add(&format!("{way}_prio{priority}_packets"), (7_500 + noise) / share);
            if (3..6).contains(&priority) {
                bench.add(&format!("{way}_prio{priority}_pause"), 40 + noise);
                bench.add(&format!("{way}_prio{priority}_pause_duration"), 3_000 + noise);
            }
        }
    }
}
