//! The command line and the settings file: what they mean and what they refuse.
#![allow(missing_docs, reason = "tests")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test says where")]

#[path = "cli_settings/combinations.rs"]
mod combinations;
#[path = "cli_settings/hostile.rs"]
mod hostile;
#[path = "cli_settings/links.rs"]
mod links;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use roce_exporter::config::{
    Command, DecodeInput, DecodeSettings, DecodeTable, DemoSettings, ListenAddress, LogFormat,
    LogLevel, ReplaySettings, Settings, SettingsErrors, parse_from,
};
use roce_exporter::engine::StormSettings;

/// Loads a command line, without the program's name.
fn load(arguments: &[&str]) -> Result<Settings, SettingsErrors> {
    let arguments = std::iter::once("roce_exporter").chain(arguments.iter().copied());
    Settings::load(&parse_from(arguments).unwrap())
}

/// Loads a command line with a settings file of this text.
fn load_with_file(text: impl AsRef<[u8]>, arguments: &[&str]) -> Result<Settings, SettingsErrors> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("roce.yml");
    fs::write(&file, text).unwrap();
    let file = format!("--config.file={}", file.display());
    load(&[&[file.as_str()], arguments].concat())
}

/// The faults of a settings file, one a line, the file's directory taken out.
fn faults_of_file(text: impl AsRef<[u8]>) -> Vec<String> {
    let errors = load_with_file(text, &[]).unwrap_err().to_string();
    errors
        .lines()
        .map(|line| line.get(line.find("roce.yml").unwrap()..).unwrap().to_owned())
        .collect()
}

#[test]
fn without_flags_everything_has_its_default() {
    let settings = load(&[]).unwrap();
    assert_eq!(settings.command, Command::Serve);
    assert!(!settings.check_only);
    assert_eq!(settings.web.listen, [ListenAddress::Any { port: 10479 }]);
    assert_eq!(settings.web.telemetry_path, "/metrics");
    assert_eq!(settings.web.max_requests.unwrap().get(), 40);
    assert!(settings.web.exporter_metrics);
    assert_eq!(settings.sysfs, Path::new("/sys"));
    assert_eq!(settings.procfs, Path::new("/proc"));
    assert!(settings.devices.include.is_none() && settings.devices.exclude.is_none());
    assert_eq!(settings.sampler.interval, Duration::from_millis(10));
    assert!((settings.sampler.rtnl_budget - 0.1).abs() < f64::EPSILON);
    assert_eq!(settings.storm, StormSettings::default());
    assert!(settings.links.links.is_none() && settings.links.lldp.is_empty());
    assert_eq!((settings.links.host, settings.links.run), (None, PathBuf::from("/run")));
    assert_eq!(settings.record, None);
    assert!(settings.raw.include.is_none());
    assert_eq!(settings.raw.max, 100);
    assert_eq!(settings.catalogue_file, None);
    assert_eq!((settings.log.level, settings.log.format), (LogLevel::Info, LogFormat::Logfmt));
}

#[test]
fn each_flag_is_heard() {
    let directory = tempfile::tempdir().unwrap();
    let table = directory.path().join("mine.csv");
    fs::write(&table, "").unwrap();
    let (directory, table) = (directory.path().display().to_string(), table.display().to_string());
    let settings = load(&[
        "--config.check",
        "--web.listen-address=127.0.0.1:1",
        "--web.listen-address",
        "[::1]:2",
        "--web.telemetry-path=/roce",
        "--web.max-requests=0",
        "--web.disable-exporter-metrics",
        "--path.sysfs",
        &directory,
        "--path.procfs",
        &directory,
        "--device.include=eth.*",
        "--device.exclude=eth0",
        "--catalogue.file",
        &table,
        "--raw.include=rx_.*",
        "--raw.max=7",
        "--sampler.interval=2s",
        "--sampler.rtnl-budget=25%",
        "--storm.suspect-ratio=80%",
        "--storm.detection=4s",
        "--storm.least-samples=3",
        "--storm.over-ratio=0.1",
        "--storm.recovery=2s",
        "--record=run.roce",
        "--log.level=debug",
        "--log.format=json",
    ])
    .unwrap();
    assert!(settings.check_only);
    assert_eq!(settings.web.listen, ["127.0.0.1:1".parse().unwrap(), "[::1]:2".parse().unwrap()]);
    assert_eq!(settings.web.telemetry_path, "/roce");
    assert_eq!(settings.web.max_requests, None);
    assert!(!settings.web.exporter_metrics);
    assert_eq!(
        (settings.sysfs, settings.procfs),
        (PathBuf::from(&directory), PathBuf::from(&directory))
    );
    assert!(settings.devices.admits("eth1", true));
    assert!(!settings.devices.admits("eth0", true) && !settings.devices.admits("veth1", true));
    assert_eq!(settings.catalogue_file, Some(PathBuf::from(table)));
    assert!(settings.raw.include.unwrap().is_match("rx_x"));
    assert_eq!(settings.raw.max, 7);
    assert_eq!(settings.sampler.interval, Duration::from_secs(2));
    assert!((settings.sampler.rtnl_budget - 0.25).abs() < f64::EPSILON);
    let storm = StormSettings {
        suspect_ratio: 0.8,
        detection: Duration::from_secs(4),
        least_samples: 3,
        over_ratio: 0.1,
        recovery: Duration::from_secs(2),
    };
    assert_eq!(settings.storm, storm);
    assert_eq!(settings.record, Some(PathBuf::from("run.roce")));
    assert_eq!((settings.log.level, settings.log.format), (LogLevel::Debug, LogFormat::Json));
}

#[test]
fn flags_stand_before_or_after_the_command() {
    for arguments in [["--log.level=warn", "once"], ["once", "--log.level=warn"]] {
        let settings = load(&arguments).unwrap();
        assert_eq!(
            (settings.command, settings.log.level),
            (Command::Once, LogLevel::Warn),
            "{arguments:?}"
        );
    }
}

#[test]
fn commands_carry_their_arguments() {
    let demo = DemoSettings { scenario: None, seed: 1, hosts: 1, switch: false, list: false };
    assert_eq!(load(&["demo"]).unwrap().command, Command::Demo(demo));
    let demo = DemoSettings {
        scenario: Some("incast".to_owned()),
        seed: 9,
        hosts: 2,
        switch: true,
        list: true,
    };
    let arguments = ["demo", "--scenario=incast", "--seed", "9", "--hosts=2", "--switch", "--list"];
    assert_eq!(load(&arguments).unwrap().command, Command::Demo(demo));

    let replay = |speed| Command::Replay(ReplaySettings { file: "run.roce".into(), speed });
    assert_eq!(load(&["replay", "run.roce"]).unwrap().command, replay(1.0));
    assert_eq!(load(&["replay", "--speed=0.1", "run.roce"]).unwrap().command, replay(0.1));
    assert_eq!(load(&["replay", "run.roce", "--speed", "1000"]).unwrap().command, replay(1000.0));

    let decode = |table, input| {
        Command::Decode(DecodeSettings { driver: "mlx5_core".to_owned(), table, input })
    };
    let stdin = decode(DecodeTable::Ethtool, DecodeInput::Stdin);
    assert_eq!(load(&["decode", "--driver=mlx5_core"]).unwrap().command, stdin);
    assert_eq!(load(&["decode", "--driver", "mlx5_core", "-"]).unwrap().command, stdin);
    let file = decode(DecodeTable::Rdma, DecodeInput::File("capture.txt".into()));
    let arguments = ["decode", "--driver=mlx5_core", "--table=rdma", "capture.txt"];
    assert_eq!(load(&arguments).unwrap().command, file);
}

#[test]
fn a_wrong_command_line_ends_with_code_2() {
    for arguments in [
        &["--bogus"][..],
        &["decode"],
        &["replay"],
        &["serve"],
        &["--log.level"],
        &["once", "extra"],
        &["demo", "-x"],
    ] {
        let error = parse_from([&["roce_exporter"], arguments].concat()).unwrap_err();
        assert_eq!(error.exit_code(), i32::from(SettingsErrors::EXIT_CODE), "{arguments:?}");
    }
}

#[test]
fn version_has_the_prometheus_shape_and_ends_with_code_0() {
    let error = parse_from(["roce_exporter", "--version"]).unwrap_err();
    assert_eq!(error.exit_code(), 0);
    let text = error.to_string();
    let first = format!("roce_exporter, version {} (branch: ", env!("CARGO_PKG_VERSION"));
    assert!(text.starts_with(&first) && text.contains(", revision: "), "{text}");
    let names: Vec<&str> =
        text.lines().skip(1).map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(names, ["  rustc", "  platform"], "{text}");
}

#[test]
fn all_dscps_are_shown_when_asked_for() {
    assert_eq!(load(&[]).unwrap().policy.dscps(), [26, 48]);
    for flag in ["--policy.all-dscps", "--policy.all-dscps=true"] {
        assert_eq!(load(&[flag]).unwrap().policy.dscps().len(), 64, "{flag}");
    }
    let errors = load(&["--policy.all-dscps=yes"]).unwrap_err().to_string();
    assert_eq!(errors, "--policy.all-dscps: \"yes\": must be one of true, false");
}

#[test]
fn flag_wins_over_file_and_file_over_default() {
    let file = "web: {listen_address: [':1', ':2'], telemetry_path: /file, max_requests: 3, \
                disable_exporter_metrics: true}\n\
                sampler: {interval: 20ms, rtnl_budget: 0.5}\n\
                storm: {suspect_ratio: 0.9, detection: 1s, least_samples: 4, over_ratio: 1%, recovery: 3s}\n\
                raw: {include: a, max: 5}\n\
                device: {include: eth.*, exclude: eth9}\n\
                policy: {all_dscps: true}\n\
                log: {level: error, format: json}\n";
    let settings = load_with_file(file, &[]).unwrap();
    assert_eq!(settings.web.listen.iter().map(ListenAddress::port).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(settings.web.telemetry_path, "/file");
    assert_eq!(settings.web.max_requests.unwrap().get(), 3);
    assert!(!settings.web.exporter_metrics);
    assert_eq!(settings.sampler.interval, Duration::from_millis(20));
    assert!((settings.sampler.rtnl_budget - 0.5).abs() < f64::EPSILON);
    let storm = StormSettings {
        suspect_ratio: 0.9,
        detection: Duration::from_secs(1),
        least_samples: 4,
        over_ratio: 0.01,
        recovery: Duration::from_secs(3),
    };
    assert_eq!(settings.storm, storm);
    assert!(settings.raw.include.unwrap().is_match("a"));
    assert_eq!(settings.raw.max, 5);
    assert_eq!(settings.policy.dscps().len(), 64);
    assert!(settings.devices.admits("eth1", true) && !settings.devices.admits("eth9", true));
    assert_eq!((settings.log.level, settings.log.format), (LogLevel::Error, LogFormat::Json));

    let flags = [
        "--web.listen-address=:3",
        "--sampler.interval=30ms",
        "--web.disable-exporter-metrics=false",
        "--policy.all-dscps=false",
    ];
    let settings = load_with_file(file, &flags).unwrap();
    assert_eq!(settings.policy.dscps(), [26, 48]);
    assert_eq!(settings.web.listen, [ListenAddress::Any { port: 3 }], "flags replace the list");
    assert_eq!(settings.sampler.interval, Duration::from_millis(30));
    assert!(settings.web.exporter_metrics, "a flag can take back what the file says");
    assert_eq!(settings.web.telemetry_path, "/file", "what no flag says stays the file's");
}

#[test]
fn a_list_of_one_may_be_written_as_text() {
    let settings = load_with_file("web:\n  listen_address: localhost:80\n", &[]).unwrap();
    assert_eq!(settings.web.listen, ["localhost:80".parse().unwrap()]);
}

#[test]
fn a_file_without_settings_is_fine() {
    for text in [
        "",
        "\n",
        "# nothing\n",
        "---\n",
        "{}",
        "null\n",
        "web:\n",
        "web: {}\n",
        "log:\n  level:\n",
        "\u{feff}",
    ] {
        let settings = load_with_file(text, &[]);
        assert!(settings.is_ok(), "{text:?}: {}", settings.unwrap_err());
    }
}

/// What is wrong in the test below, in the order of the settings.
fn every_fault(file: &str) -> Vec<String> {
    vec![
        format!("{file}:5: sampler.speed: unknown key; known here: interval, rtnl_budget"),
        "--seed: \"-1\": must be a whole number from 0 to 18446744073709551615".to_owned(),
        "--hosts: \"0\": must be a whole number from 1 to 64".to_owned(),
        "--web.listen-address: \"80\": must end in a port: `:PORT`, `HOST:PORT` or `[IPv6]:PORT`"
            .to_owned(),
        "--web.listen-address: \":1\": given twice".to_owned(),
        "--web.telemetry-path: \"/-/ready\": must not be below /-/, where the health checks are"
            .to_owned(),
        "--web.max-requests: \"many\": must be a whole number from 0 to 10000".to_owned(),
        "--web.disable-exporter-metrics: \"yes\": must be one of true, false".to_owned(),
        "--path.sysfs: \"/nowhere/at/all\": No such file or directory (os error 2)".to_owned(),
        format!("--path.procfs: \"{file}\": must be a directory"),
        "--device.include: \"(\": must be a regular expression: unclosed group".to_owned(),
        "--device.exclude: \"a)|(b\": must be a regular expression: unopened group".to_owned(),
        format!(
            "{file}:4: sampler.interval: \"11s\": must be a duration with its unit from 1ms to 10s, such as 10ms or 2s"
        ),
        "--sampler.rtnl-budget: \"200%\": must be a share from 0.001 to 1, such as 0.1 or 10%"
            .to_owned(),
        "--storm.suspect-ratio: \"0.4\": must be a share from 0.5 to 1, such as 0.1 or 10%".to_owned(),
        "--storm.detection: \"61s\": must be a duration with its unit from 10ms to 1m, such as 10ms or 2s"
            .to_owned(),
        "--storm.least-samples: \"0\": must be a whole number from 1 to 1000".to_owned(),
        "--storm.over-ratio: \"0\": must be a share from 0.001 to 1, such as 0.1 or 10%".to_owned(),
        "--storm.recovery: \"1ms\": must be a duration with its unit from 10ms to 1m, such as 10ms or 2s"
            .to_owned(),
        "--raw.include: \"[\": must be a regular expression: unclosed character class".to_owned(),
        format!("{file}:6: raw.max: \"0\": must be a whole number from 1 to 1000"),
        "--catalogue.file: \"/\": must be a file, not a directory".to_owned(),
        format!("{file}:2: log.level: \"loud\": must be one of debug, info, warn, error"),
        "--log.format: \"xml\": must be one of logfmt, json".to_owned(),
    ]
}

#[test]
fn all_faults_are_listed_at_once_with_their_places() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("roce.yml");
    fs::write(&file, "log:\n  level: loud\nsampler:\n  interval: 11s\n  speed: 1\nraw: {max: 0}\n")
        .unwrap();
    let file = file.display().to_string();
    let errors = load(&[
        "--config.file",
        &file,
        "--web.listen-address=80",
        "--web.listen-address=:1",
        "--web.listen-address=:1",
        "--web.telemetry-path=/-/ready",
        "--web.max-requests=many",
        "--web.disable-exporter-metrics=yes",
        "--path.sysfs=/nowhere/at/all",
        "--path.procfs",
        &file,
        "--device.include=(",
        "--device.exclude=a)|(b",
        "--catalogue.file=/",
        "--raw.include=[",
        "--sampler.rtnl-budget=200%",
        "--storm.suspect-ratio=0.4",
        "--storm.detection=61s",
        "--storm.least-samples=0",
        "--storm.over-ratio=0",
        "--storm.recovery=1ms",
        "--log.format=xml",
        "demo",
        "--seed=-1",
        "--hosts=0",
    ])
    .unwrap_err();
    let expected = every_fault(&file);
    let printed = errors.to_string();
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
    assert_eq!(errors.problems().len(), expected.len());
}

#[test]
fn a_value_cannot_forge_a_line_of_the_list() {
    let errors = load(&["--log.level=x\n--log.format: forged"]).unwrap_err().to_string();
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn unknown_keys_are_all_listed_with_their_lines() {
    assert_eq!(
        faults_of_file("web:\n  telemetry-path: /m\nweb2: {a: [1, {b: 2}]}\ndevice:\n  incl: x\n"),
        [
            "roce.yml:2: web.telemetry-path: unknown key; known here: listen_address, systemd_socket, \
             telemetry_path, max_requests, disable_exporter_metrics",
            "roce.yml:3: web2: unknown key; known here: catalogue, device, links, log, path, policy, raw, sampler, storm, web",
            "roce.yml:5: device.incl: unknown key; known here: include, exclude, netns",
        ]
    );
}

#[test]
fn a_file_of_the_wrong_form_says_where() {
    for (text, line) in [
        ("web: [1]\n", 1),
        ("a\n", 1),
        ("log:\n  level: info\n  level: warn\n", 3),
        ("log:\n  level: [info]\n", 2),
        ("log:\n  level: {a: b}\n", 2),
        ("web:\n  listen_address: 80\n", 2),
        ("web:\n  listen_address: [[':80']]\n", 2),
        ("log: {level: info\nraw:\n", 2),
        ("log: *nowhere\n", 1),
        ("log: {level: !secret info}\n", 1),
        ("a: &a {level: info}\nlog:\n  <<: *a\n", 3),
        ("log: {}\n---\nlog: {}\n", 3),
    ] {
        let faults = faults_of_file(text);
        assert_eq!(faults.len(), 1, "{text:?}: {faults:?}");
        assert!(faults.concat().starts_with(&format!("roce.yml:{line}: ")), "{text:?}: {faults:?}");
    }
    assert_eq!(faults_of_file(b"log: \xff\n"), ["roce.yml: not valid UTF-8"]);
}

#[test]
fn a_file_that_cannot_be_read_is_a_fault_and_flags_are_judged_all_the_same() {
    let errors = load(&["--config.file=/nowhere.yml", "--log.level=x"]).unwrap_err().to_string();
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.first(), Some(&"/nowhere.yml: No such file or directory (os error 2)"));
    assert_eq!(lines.len(), 2, "{errors}");
    assert!(load(&["--config.file=/"]).unwrap_err().to_string().starts_with("/: "));
}

#[test]
fn paths_in_a_file_start_at_its_directory_and_paths_of_flags_where_the_program_does() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("mine.csv"), "").unwrap();
    let file = directory.path().join("roce.yml");
    fs::write(&file, "catalogue:\n  file: mine.csv\npath:\n  sysfs: /sys\n").unwrap();
    let settings = load(&["--config.file", &file.display().to_string()]).unwrap();
    assert_eq!(settings.catalogue_file, Some(directory.path().join("mine.csv")));
    assert_eq!(settings.sysfs, Path::new("/sys"), "absolute paths stay");
    let errors = load(&["--config.file", &file.display().to_string(), "--catalogue.file=mine.csv"])
        .unwrap_err();
    assert!(errors.to_string().starts_with("--catalogue.file: \"mine.csv\": "), "{errors}");
}

#[test]
fn loading_again_sees_the_file_as_it_is_then() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("roce.yml");
    fs::write(&file, "log: {level: warn}").unwrap();
    let cli = parse_from(["roce_exporter", "--config.file", &file.display().to_string()]).unwrap();
    assert_eq!(Settings::load(&cli).unwrap().log.level, LogLevel::Warn);
    fs::write(&file, "log: {level: error}").unwrap();
    assert_eq!(Settings::load(&cli).unwrap().log.level, LogLevel::Error);
}
