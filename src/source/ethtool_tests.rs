//! Both kernel behaviours, name slots of any content, and every errno, on a kernel that is made here.

#![allow(clippy::cast_possible_truncation, reason = "small sets made here")]

use super::*;

/// A kernel with a device whose set can change between calls.
struct FakeKernel {
    names: Vec<[u8; NAME_SLOT]>,
    values: Vec<u64>,
    checks_the_count: bool,
    fails: Option<Errno>,
    index: u32,
    reply: Vec<u64>,
}

impl FakeKernel {
    fn with(names: &[&[u8]], checks_the_count: bool) -> Self {
        let slots = names.iter().map(|name| {
            let mut slot = [0; NAME_SLOT];
            slot[..name.len()].copy_from_slice(name);
            slot
        });
        let values = (1..=names.len() as u64).map(|number| number * 1_000 + 7).collect();
        Self {
            names: slots.collect(),
            values,
            checks_the_count,
            fails: None,
            index: 7,
            reply: Vec::new(),
        }
    }
}

impl StatisticsCalls for FakeKernel {
    fn index(&self, _device: &str) -> Result<u32, Errno> {
        Ok(self.index)
    }

    fn count(&self, _device: &str) -> Result<u32, Errno> {
        self.fails.map_or(Ok(self.names.len() as u32), Err)
    }

    fn names(&self, _device: &str, count: u32) -> Result<Vec<[u8; NAME_SLOT]>, Errno> {
        let all = self.names.len() == count as usize || !self.checks_the_count;
        self.fails.map_or(Ok(if all { self.names.clone() } else { Vec::new() }), Err)
    }

    fn values(&mut self, _device: &str, count: u32) -> Result<(u32, &[u64]), Errno> {
        if let Some(errno) = self.fails {
            return Err(errno);
        }
        let now = self.values.len() as u32;
        if self.checks_the_count && count != now {
            return Ok((0, &[]));
        }
        // As the real buffer: larger than what was given, with old values behind it.
        self.reply = self.values.clone();
        self.reply.resize(self.values.len() * 2 + 16, u64::MAX);
        Ok((now, &self.reply))
    }
}

fn set_of(names: &[&[u8]], checks_the_count: bool) -> EthtoolStatistics<FakeKernel> {
    EthtoolStatistics::new(FakeKernel::with(names, checks_the_count), "eth0".to_owned())
}

#[test]
fn values_belong_to_their_names_on_both_kinds_of_kernel() {
    for checks_the_count in [true, false] {
        let mut set = set_of(&[b"a", b"b", b"c", b"d"], checks_the_count);
        assert_eq!(set.names().unwrap(), ["a", "b", "c", "d"]);
        let mut readings = [Reading::Missing(Reason::Io); 2];
        set.read(&[1, 3], &mut readings).unwrap();
        assert_eq!(readings, [Reading::Value(2_007), Reading::Value(4_007)]);
    }
}

#[test]
fn a_set_that_grew_or_shrank_is_noticed_on_both_kinds_of_kernel() {
    for checks_the_count in [true, false] {
        for now in [vec!["a".as_bytes()], vec![b"x", b"a", b"b", b"c"]] {
            let mut set = set_of(&[b"a", b"b"], checks_the_count);
            set.names().unwrap();
            set.calls.names = FakeKernel::with(&now, checks_the_count).names;
            set.calls.values = FakeKernel::with(&now, checks_the_count).values;
            let mut readings = [Reading::Missing(Reason::Io); 1];
            assert_eq!(set.read(&[0], &mut readings), Err(SourceError::NamesChanged));
            assert_eq!(readings, [Reading::Missing(Reason::Io)]);
            assert_eq!(set.names().unwrap().len(), now.len());
            set.read(&[0], &mut readings).unwrap();
            assert_eq!(readings, [Reading::Value(1_007)]);
        }
    }
}

#[test]
fn c21_names_of_any_bytes_are_read() {
    let full = [b'x'; NAME_SLOT];
    let mut set = set_of(&[b"", b"  Queue[0] AllocFails", b"\xff\xfe:\n", &full], true);
    let names = set.names().unwrap();
    assert_eq!(names[0], "");
    assert_eq!(names[1], "  Queue[0] AllocFails");
    assert_eq!(names[2], "\u{fffd}\u{fffd}:\n");
    assert_eq!(names[3].len(), NAME_SLOT, "a slot without a NUL ends at its width");
}

#[test]
fn c47_an_errno_is_kept_and_mapped() {
    for (errno, reason) in [
        (Errno::PERM, Reason::Denied),
        (Errno::NODEV, Reason::Gone),
        (Errno::OPNOTSUPP, Reason::Unsupported),
        (Errno::IO, Reason::Io),
        (Errno::INVAL, Reason::Invalid),
        (Errno::TIMEDOUT, Reason::Busy),
    ] {
        let mut set = set_of(&[b"a"], true);
        set.names().unwrap();
        set.calls.fails = Some(errno);
        let error = set.read(&[0], &mut [Reading::Value(0)]).unwrap_err();
        assert_eq!(error.reason(), reason);
        assert!(matches!(error, SourceError::Kernel { errno: kept, .. } if kept == errno));
    }
}

#[test]
fn a_driver_without_statistics_has_no_names() {
    let mut set = set_of(&[], true);
    assert_eq!(set.names().unwrap(), Vec::<String>::new());
    set.calls.fails = Some(Errno::OPNOTSUPP);
    assert_eq!(set.names().unwrap(), Vec::<String>::new());
    set.read(&[], &mut []).unwrap();
}

#[test]
fn a_position_outside_the_set_is_missing() {
    let mut set = set_of(&[b"a"], true);
    set.names().unwrap();
    let mut readings = [Reading::Value(0); 1];
    set.read(&[9], &mut readings).unwrap();
    assert_eq!(readings, [Reading::Missing(Reason::NamesChanged)]);
}

#[test]
fn another_device_of_the_same_name_is_not_gone_on_with() {
    let mut set = set_of(&[b"a"], true);
    assert_eq!(set.names().unwrap(), ["a"]);
    set.calls.index = 8;
    for _ in 0..2 {
        assert_eq!(set.names().unwrap_err().reason(), Reason::Gone);
    }
}
