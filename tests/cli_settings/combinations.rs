//! Settings that are good by themselves and do not go together.

use super::{load, load_with_file};

#[test]
fn settings_of_storms_must_fit_each_other_and_the_interval() {
    let faults = |arguments: &[&str]| load(arguments).unwrap_err().to_string();
    assert_eq!(
        faults(&["--storm.detection=10ms"]),
        "--storm.detection: \"10ms\": must be two intervals at least, 20ms where sampler.interval is 10ms"
    );
    assert_eq!(
        faults(&["--sampler.interval=1s", "--storm.recovery=400ms"]),
        "--storm.recovery: \"400ms\": must be one interval at least, 1s where sampler.interval is 1s"
    );
    assert_eq!(
        faults(&["--storm.over-ratio=60%", "--storm.suspect-ratio=0.6"]),
        "--storm.over-ratio: \"0.6\": must be below storm.suspect-ratio, which is 0.6"
    );
    let text = "sampler:\n  interval: 150ms\nstorm:\n  recovery: 100ms\n  detection: 200ms\n";
    let both = load_with_file(text, &[]).unwrap_err().to_string();
    let both: Vec<&str> = both.lines().collect();
    let [detection, recovery] = both.as_slice() else { panic!("{both:?}") };
    for (line, expected) in [
        (
            detection,
            "roce.yml:5: storm.detection: \"200ms\": must be two intervals at least, 300ms where \
             sampler.interval is 150ms",
        ),
        (
            recovery,
            "roce.yml:4: storm.recovery: \"100ms\": must be one interval at least, 150ms where \
             sampler.interval is 150ms",
        ),
    ] {
        assert!(line.ends_with(expected), "{line}");
    }
    let one_fault = faults(&["--sampler.interval=1h", "--storm.detection=10ms"]);
    assert_eq!(one_fault.lines().count(), 1, "nothing is judged by a wrong interval: {one_fault}");
    for good in [
        &["--storm.detection=20ms", "--storm.recovery=10ms"][..],
        &["--storm.suspect-ratio=1", "--storm.over-ratio=99.9%"],
        &["--sampler.interval=10s", "--storm.detection=20s", "--storm.recovery=10s"],
    ] {
        assert!(load(good).is_ok(), "{good:?}: {}", faults(good));
    }
}

#[test]
fn times_of_storms_that_nobody_set_grow_with_the_interval() {
    let milliseconds = |arguments: &[&str]| {
        let storm = load(arguments).unwrap().storm;
        (storm.detection.as_millis(), storm.recovery.as_millis())
    };
    assert_eq!(milliseconds(&[]), (200, 400));
    assert_eq!(milliseconds(&["--sampler.interval=150ms"]), (300, 400));
    assert_eq!(milliseconds(&["--sampler.interval=1s"]), (2_000, 1_000));
}

#[test]
fn only_what_is_sampled_can_be_recorded() {
    for command in [&["once"][..], &["decode", "--driver=mlx5_core"], &["replay", "old.roce"]] {
        let faults = load(&[&["--record=new.roce"], command].concat()).unwrap_err().to_string();
        assert_eq!(
            faults,
            "--record: \"new.roce\": only what is sampled can be recorded: this host, or `demo`"
        );
    }
    assert!(load(&["--record=new.roce"]).unwrap().record.is_some());
    assert!(load(&["demo", "--record=new.roce"]).unwrap().record.is_some());
    let speed = load(&["replay", "a", "--speed=0"]).unwrap_err().to_string();
    assert_eq!(speed, "--speed: \"0\": must be a number from 0.1 to 1000");
}
