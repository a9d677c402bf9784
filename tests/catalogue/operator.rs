//! An operator's own file.

use roce_exporter::catalogue::{COLUMNS, Catalogue, NameUse, RawSelection, Table};
use roce_exporter::model::{Direction, Index, Quantity};

use super::{gather, key, keys, only, priority, shipped, strings};

fn with(rows: &str) -> Result<Catalogue, String> {
    let text = format!("# mine\n{}\n{rows}", COLUMNS.join(","));
    shipped().with_file(&text, "mine.csv").map_err(|error| error.to_string())
}

#[test]
fn the_example_of_the_documentation_loads_and_does_what_it_says() {
    let page = include_str!("../../docs/catalogue.md");
    let example = page.split("```csv\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let catalogue = shipped().with_file(example, "docs/catalogue.md").unwrap();
    let plan = |driver, names: &[&str]| {
        catalogue.plan(Table::Ethtool, driver, &strings(names), &RawSelection::default())
    };
    let new = plan("examplenic", &["rx_class3_pause", "rx_class3_paused_us", "fc_credits"]);
    let (rx, class) = (Direction::Rx, priority(3));
    let expected =
        [key(Quantity::PfcPauseFrames, rx, class), key(Quantity::PfcPauseTime, rx, class)];
    assert_eq!(keys(&new), expected);
    let override_ = plan("rvu-nicpf", &["cgx_rxstat2: "]);
    assert_eq!(only(&override_).key, key(Quantity::LinkPauseFrames, rx, Index::None));
    for column in COLUMNS {
        assert!(page.contains(&format!("| `{column}` |")), "{column} is not explained");
    }
}

#[test]
fn the_documentation_lists_every_quantity() {
    let page = include_str!("../../docs/catalogue.md");
    for quantity in Quantity::ALL {
        assert!(page.contains(&format!("\n- `{}`: ", quantity.as_str())), "{quantity:?}");
    }
}

#[test]
fn a_row_of_the_file_replaces_the_shipped_one() {
    let catalogue =
        with("ethtool,mlx5_core,rx_prio{n}_pause,known,-,priority,,,,,,,not wanted\n").unwrap();
    let names = strings(&["rx_prio3_pause", "tx_prio3_pause"]);
    let plan = catalogue.plan(Table::Ethtool, "mlx5_core", &names, &RawSelection::default());
    assert_eq!(only(&plan).key, key(Quantity::PfcPauseFrames, Direction::Tx, priority(3)));
    let uses = catalogue.classify(Table::Ethtool, "mlx5_core", &names);
    assert_eq!(uses[0], NameUse::Known("not wanted".into()));
}

#[test]
fn a_single_name_of_the_file_comes_before_a_shipped_template() {
    let rows = "ethtool,mlx5_core,rx_prio6_pause,known,-,-,,,,,,,broken on this firmware\n";
    let names = strings(&["rx_prio5_pause", "rx_prio6_pause"]);
    let plan =
        with(rows).unwrap().plan(Table::Ethtool, "mlx5_core", &names, &RawSelection::default());
    assert_eq!(plan.wanted, [0]);
}

#[test]
fn a_precise_driver_comes_before_a_wildcard() {
    let rows = "ethtool,acme*,rx_pause,link_pause_frames,rx,-,count,,,,,,\n\
                ethtool,acme7,rx_pause,known,-,-,,,,,,,counts something else\n\
                ethtool,*,rx_pause,link_pause_frames,tx,-,count,,,,,,\n";
    let catalogue = with(rows).unwrap();
    let direction = |driver| {
        let names = strings(&["rx_pause"]);
        let plan = catalogue.plan(Table::Ethtool, driver, &names, &RawSelection::default());
        plan.counters.first().and_then(|counter| counter.key.direction)
    };
    assert_eq!(direction("acme6"), Some(Direction::Rx));
    assert_eq!(direction("acme7"), None);
    assert_eq!(direction("other"), Some(Direction::Tx));
}

#[test]
fn a_counter_of_a_precise_driver_comes_before_a_wildcards() {
    let rows = "ethtool,acme,precise,bytes,rx,-,bytes,,,,sum,,\n\
                ethtool,acme*,general,bytes,rx,-,bytes,,,,,,\n\
                ethtool,*,rx_any,bytes,rx,-,bytes,,,,sum,,\n";
    let catalogue = with(rows).unwrap();
    let all = strings(&["rx_any", "general", "precise"]);
    for (driver, position) in [("acme", 2), ("acme7", 1), ("other", 0)] {
        let plan = catalogue.plan(Table::Ethtool, driver, &all, &RawSelection::default());
        assert_eq!((plan.wanted, plan.counters.len()), (vec![position], 1), "{driver}");
    }
}

#[test]
fn rows_that_say_so_are_added_up_or_stand_in() {
    let rows = "ethtool,acme,rx_a,bytes,rx,-,bytes,,live,,sum,,\n\
                ethtool,acme,rx_b,bytes,rx,-,bytes,,live,,sum,8,\n\
                ethtool,acme,rx_c,bytes,rx,-,bytes,,,,fallback,,\n\
                ethtool,acme,rx_d,bytes,rx,-,bytes,,,,fallback,,\n";
    let catalogue = with(rows).unwrap();
    let value = |names: &[&str]| {
        let plan =
            catalogue.plan(Table::Ethtool, "acme", &strings(names), &RawSelection::default());
        gather(&plan, |position| [1, 10, 100, 1000][position])
    };
    assert_eq!(value(&["rx_a", "rx_b", "rx_c", "rx_d"]), [81]);
    assert_eq!(value(&["rx_d", "rx_b"]), [80]);
    assert_eq!(value(&["rx_d", "rx_c"]), [10], "the first row of the table wins, not of the set");
    assert_eq!(value(&["rx_d"]), [1]);
}

#[test]
fn a_counter_that_two_names_claim_is_refused() {
    let twice = with("ethtool,ice,rx_mine,link_pause_frames,rx,-,count,,,,,,\n").unwrap_err();
    assert!(
        twice
            .starts_with("mine.csv:3: `rx_mine` of ice and `link_xoff_rx.nic` of ice (netdev.csv:"),
        "{twice}"
    );
    let advice = "both give link_pause_frames with the same labels; say in combine how, or make one of them known";
    assert!(twice.ends_with(advice), "{twice}");
    assert_eq!(twice.lines().count(), 1);
    let sum = "ethtool,acme,one,bytes,rx,-,bytes,32,,,sum,,\nethtool,acme,two,bytes,rx,-,bytes,64,,,sum,,\n";
    assert!(with(sum).unwrap_err().contains("cannot be added"));
    let name =
        "ethtool,acme,a{n},bytes,rx,priority,bytes,,,,,,\nethtool,acme,a3,bytes,tx,-,bytes,,,,,,\n";
    assert!(with(name).unwrap_err().contains("both claim the name `a3`"));
}

#[test]
fn all_faults_of_a_file_are_listed_with_their_lines() {
    let rows = "\n# a comment\nnetlink,,rx{prio},pause,up,prio,frames,65,soon,A b,max,0,\n\
                ethtool,acme,good,bytes,rx,-,bytes,,,,,,\n\
                ethtool,acme,short\n\
                ethtool,acme,good,bytes,tx,-,bytes,,,,,,\n";
    let error = with(rows).unwrap_err();
    let lines: Vec<&str> = error.lines().collect();
    let expected = [
        "mine.csv:5: source `netlink` is none of ethtool, rdma, rdma_port, rdma_device",
        "mine.csv:5: the driver is empty",
        "mine.csv:5: template `rx{prio}` may have one {n} and one {*} and no other brace",
        "mine.csv:5: index `prio` is none of -, priority, priority:1-7, tc:0-7, buffer:0-3",
        "mine.csv:5: no quantity is called `pause`",
        "mine.csv:5: direction `up` is none of tx, rx, -",
        "mine.csv:5: unit `frames` is none of count, bytes, microseconds, milliseconds, seconds, percent",
        "mine.csv:5: width `65` is no number of bits from 1 to 64, such as 32 or 16s",
        "mine.csv:5: freshness_ms `soon` is none of live, unknown, or milliseconds",
        "mine.csv:5: detail `A b` may have small letters, digits and _ only",
        "mine.csv:5: combine `max` is none of sum, fallback, or empty",
        "mine.csv:5: factor `0` is no number from 1 to 4294967296",
        "mine.csv:7: 3 columns instead of 13",
        "mine.csv:8: `good` of acme is in line 6 already",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_row_that_makes_no_sense_is_refused() {
    for (row, fault) in [
        ("ethtool,acme,a,pfc_pause_time,rx,-,count,,,,,,", "the unit does not fit pfc_pause_time"),
        ("ethtool,acme,a{n},pfc_pause_frames,-,priority,count,,,,,,", "needs a direction"),
        ("ethtool,acme,a,pfc_pause_frames,rx,-,count,,,,,,", "needs an index"),
        ("ethtool,acme,a{n},bytes,rx,-,bytes,,,,,,", "exactly if it has an index"),
        ("ethtool,acme,a,bytes,rx,priority,bytes,,,,,,", "exactly if it has an index"),
        ("ethtool,acme,a{n},bytes,rx,priority:0-8,bytes,,,,,,", "goes beyond priority 7"),
        ("ethtool,acme,a{n},bytes,rx,tc:3-1,bytes,,,,,,", "no range of numbers"),
        ("ethtool,acme,a{n},bytes,rx,tc:0-256,bytes,,,,,,", "no range of numbers"),
        ("ethtool,acme,a{*},bytes,rx,-,bytes,,,,,,", "{*} is for known names only"),
        ("ethtool,acme,a,bytes,rx,-,bytes,32,,,,4,", "a factor needs a width of 64"),
        ("ethtool,acme,a,known,-,-,,,,,,,", "says in its note why"),
        ("ethtool,acme,a,known,rx,-,count,,,,,,why", "has no direction"),
        ("ethtool,ac*me,a,bytes,rx,-,bytes,,,,,,", "a * only at its end"),
    ] {
        let error = with(row).unwrap_err();
        assert!(error.starts_with("mine.csv:3: ") && error.contains(fault), "{row}: {error}");
    }
}

#[test]
fn a_file_without_the_columns_is_refused_once() {
    let error =
        shipped().with_file("source,driver\nethtool,acme\n", "mine.csv").unwrap_err().to_string();
    assert!(
        error.starts_with("mine.csv:1: the first line must be `source,driver,template,"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1);
}

#[test]
fn lines_are_counted_with_carriage_returns_and_comments_too() {
    let rows =
        "ethtool,acme,a,bytes,rx,-,bytes,,,,,,\n\n# x\nethtool,acme,b,nothing,rx,-,bytes,,,,,,\n";
    assert!(with(rows).unwrap_err().starts_with("mine.csv:6: "));
    let text = format!("# mine\n{}\n{rows}", COLUMNS.join(",")).replace('\n', "\r\n");
    let error = shipped().with_file(&text, "mine.csv").unwrap_err().to_string();
    assert!(error.starts_with("mine.csv:6: "), "{error}");
}
