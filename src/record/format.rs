//! What stands in a recording: the file's head and its kinds of records, as `docs/recording.md` describes them.
//!
//! These types are the format; their order of fields and variants is fixed within a version. They mirror the
//! model instead of being it, so that the model can change without old files becoming unreadable. What a file
//! declares is held to limits before memory is given to it.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::details::DescribedDevice;
use super::settings::{RecordedGid, RecordedRole, RecordedSettings};
use crate::model::{
    BitsPerSecond, DeviceFacts, Feed, GidType, LinkFacts, LinkLayer, Monotonic, OptionalCounter,
    PortDetails, Priority, RdmaPort, Reason, SourceKind, saturating_nanos,
};

/// A choice of the model with its place in the format: the order of the variants is the format's, and one that the
/// model gains does not compile before it has a place here.
macro_rules! recorded {
    ($(#[doc = $doc:literal])+ $name:ident is $of:ident { $($variant:ident,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub(in crate::record) enum $name { $($variant,)+ }

        impl From<$of> for $name {
            fn from(value: $of) -> Self {
                match value { $($of::$variant => Self::$variant,)+ }
            }
        }

        impl From<$name> for $of {
            fn from(value: $name) -> Self {
                match value { $($name::$variant => Self::$variant,)+ }
            }
        }
    };
}

pub(super) use recorded;

/// How a recording begins.
pub(super) const MAGIC: [u8; 8] = *b"ROCE-REC";
/// The version that is written. Each version so far adds to the one before, so that older ones are read as well.
pub(super) const VERSION: u32 = 2;

/// Most names in one set. The largest drivers have some 18,000.
pub(super) const MAX_NAMES: usize = 1 << 20;
/// Most names of all feeds together at one time.
pub(super) const MAX_NAMES_IN_ALL: usize = 1 << 21;
/// Most feeds at one time.
pub(super) const MAX_FEEDS: usize = 4096;
/// Most devices.
pub(super) const MAX_DEVICES: usize = 4096;
/// Most RDMA ports of one device.
pub(super) const MAX_PORTS: usize = 256;
/// There are two kinds of GIDs.
const MAX_GID_TYPES: usize = 2;
/// Most counters of a port that can be switched on and off. A reply of the kernel has room for some 75.
const MAX_OPTIONAL_COUNTERS: usize = 256;

/// When and by what a recording was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The recorded monotonic clock at the start; all times of the recording count from here.
    pub at: Monotonic,
    /// Time since 1970 at the start.
    pub unix: Duration,
    /// The version of the program that recorded.
    pub program: String,
}

impl Start {
    /// Unix time, in seconds, of an instant of the recorded clock. A step of the wall clock during the recording
    /// does not show.
    #[must_use]
    pub fn unix_seconds(&self, at: Monotonic) -> f64 {
        self.unix.saturating_add(at.since(self.at)).as_secs_f64()
    }

    /// `at` as nanoseconds since the start.
    pub(super) fn nanos(&self, at: Monotonic) -> u64 {
        saturating_nanos(at.since(self.at))
    }

    /// The instant `nanos` after the start.
    pub(super) fn instant(&self, nanos: u64) -> Monotonic {
        self.at.plus(Duration::from_nanos(nanos))
    }
}

/// One record. Times are nanoseconds since the start of the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Record {
    /// The first record of a file, and only the first.
    Start {
        /// Monotonic clock, in nanoseconds.
        at: u64,
        /// Nanoseconds since 1970.
        unix: u64,
        /// Version of the program.
        program: String,
    },
    /// The inventory changed, as version 1 wrote it.
    BareDevices {
        at: u64,
        #[serde(deserialize_with = "at_most::<_, _, MAX_DEVICES>")]
        devices: Vec<RecordedDevice>,
    },
    /// A source of a device begins to be read, with nothing known of it yet.
    FeedBegan {
        /// Stands for this feed from here on; never used again for another.
        feed: u32,
        at: u64,
        device: String,
        rdma_device: Option<String>,
        port: Option<u32>,
        source: RecordedSource,
        /// The catalogue's driver key.
        driver: String,
    },
    /// A feed's names are these from now on.
    Names {
        feed: u32,
        at: u64,
        #[serde(deserialize_with = "at_most::<_, _, MAX_NAMES>")]
        names: Vec<String>,
        /// Positions of the names whose values follow in samples, ascending.
        #[serde(deserialize_with = "at_most::<_, _, MAX_NAMES>")]
        wanted: Vec<u32>,
        /// Period on which the kernel serves the same values again, in nanoseconds.
        cache_period: Option<u64>,
    },
    /// A good read.
    Sample(RecordedRead),
    /// A read that failed.
    Failed { feed: u32, at: u64, reason: RecordedReason, missed: u64 },
    /// A feed is gone.
    FeedEnded { feed: u32, at: u64 },
    /// The inventory changed; since version 2.
    Devices {
        at: u64,
        #[serde(deserialize_with = "at_most::<_, _, MAX_DEVICES>")]
        devices: Vec<DescribedDevice>,
    },
}

/// One read of one feed. What is relative is so to the feed's sample before; at a feed's first all is zero, and
/// values are again after its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedRead {
    pub(super) feed: u32,
    /// When the read finished.
    pub(super) at: u64,
    /// How long it took, in nanoseconds.
    pub(super) took: u64,
    /// The interval that was meant to be kept, in nanoseconds, relative to `next_interval` of the sample before.
    pub(super) interval: i64,
    /// The interval meant for the next read, in nanoseconds, relative to `interval`.
    pub(super) next_interval: i64,
    /// Deadlines missed since the feed began.
    pub(super) missed: u64,
    /// The link, where it differs from that of the sample before.
    pub(super) link: Option<RecordedLink>,
    /// Values that moved: how many places of `wanted` to pass over, and by how much it moved, modulo 2^64.
    #[serde(deserialize_with = "at_most::<_, _, MAX_NAMES>")]
    pub(super) changes: Vec<(u32, i64)>,
    /// Places of `wanted` without a value, and why.
    #[serde(deserialize_with = "at_most::<_, _, MAX_NAMES>")]
    pub(super) missing: Vec<(u32, RecordedReason)>,
}

/// [`LinkFacts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedLink {
    up: Option<bool>,
    bits_per_second: Option<u64>,
    lossless: Option<u8>,
    traffic_class: Option<[u8; Priority::COUNT]>,
}

impl From<LinkFacts> for RecordedLink {
    fn from(link: LinkFacts) -> Self {
        let LinkFacts { up, speed, lossless, traffic_class } = link;
        Self { up, bits_per_second: speed.map(|speed| speed.0), lossless, traffic_class }
    }
}

impl From<RecordedLink> for LinkFacts {
    fn from(link: RecordedLink) -> Self {
        let RecordedLink { up, bits_per_second, lossless, traffic_class } = link;
        Self { up, speed: bits_per_second.map(BitsPerSecond), lossless, traffic_class }
    }
}

/// [`DeviceFacts`] without their details and without the other end of the link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedDevice {
    device: String,
    incarnation: u32,
    driver: String,
    firmware: String,
    pci_address: String,
    master: String,
    #[serde(deserialize_with = "at_most::<_, _, MAX_PORTS>")]
    rdma_ports: Vec<RecordedPort>,
    link: RecordedLink,
    netns: String,
    role: RecordedRole,
    physical_port: String,
    settings: RecordedSettings,
}

impl From<&DeviceFacts> for RecordedDevice {
    fn from(facts: &DeviceFacts) -> Self {
        Self {
            device: facts.device.to_string(),
            incarnation: facts.incarnation,
            driver: facts.driver.clone(),
            firmware: facts.firmware.clone(),
            pci_address: facts.pci_address.clone(),
            master: facts.master.clone(),
            rdma_ports: facts.rdma_ports.iter().take(MAX_PORTS).map(RecordedPort::from).collect(),
            link: facts.link.into(),
            netns: facts.netns.clone(),
            role: facts.role.into(),
            physical_port: facts.physical_port.clone(),
            settings: (&facts.settings).into(),
        }
    }
}

impl From<RecordedDevice> for DeviceFacts {
    fn from(device: RecordedDevice) -> Self {
        Self {
            device: device.device.into(),
            incarnation: device.incarnation,
            driver: device.driver,
            firmware: device.firmware,
            pci_address: device.pci_address,
            // Not recorded: it has names of other hosts.
            peer: None,
            master: device.master,
            rdma_ports: device.rdma_ports.into_iter().map(RdmaPort::from).collect(),
            link: device.link.into(),
            netns: device.netns,
            role: device.role.into(),
            physical_port: device.physical_port,
            settings: device.settings.into(),
            details: PortDetails::default(),
        }
    }
}

/// [`RdmaPort`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedPort {
    rdma_device: String,
    port: u32,
    /// In the kernel's spelling.
    link_layer: Option<String>,
    #[serde(deserialize_with = "at_most::<_, _, MAX_GID_TYPES>")]
    gid_types: Vec<RecordedGid>,
    /// Name, and whether it is on.
    #[serde(deserialize_with = "at_most::<_, _, MAX_OPTIONAL_COUNTERS>")]
    optional_counters: Vec<(String, bool)>,
}

impl From<&RdmaPort> for RecordedPort {
    fn from(port: &RdmaPort) -> Self {
        let optional = port.optional_counters.iter().take(MAX_OPTIONAL_COUNTERS);
        Self {
            rdma_device: port.rdma_device.to_string(),
            port: port.port,
            link_layer: port.link_layer.as_ref().map(|layer| layer.as_str().to_owned()),
            gid_types: port.gid_types.iter().take(MAX_GID_TYPES).map(|own| (*own).into()).collect(),
            optional_counters: optional.map(|own| (own.name.clone(), own.enabled)).collect(),
        }
    }
}

impl From<RecordedPort> for RdmaPort {
    fn from(port: RecordedPort) -> Self {
        let known = [LinkLayer::Ethernet, LinkLayer::InfiniBand];
        let layer = |text: String| {
            let found = known.into_iter().find(|layer| layer.as_str() == text);
            found.unwrap_or(LinkLayer::Other(text))
        };
        let optional = |(name, enabled)| OptionalCounter { name, enabled };
        Self {
            rdma_device: port.rdma_device.into(),
            port: port.port,
            link_layer: port.link_layer.map(layer),
            gid_types: port.gid_types.into_iter().map(GidType::from).collect(),
            optional_counters: port.optional_counters.into_iter().map(optional).collect(),
        }
    }
}

recorded! {
    /// [`SourceKind`].
    RecordedSource is SourceKind { Ethtool, RdmaSysfs, RdmaNetlink, }
}

recorded! {
    /// [`Reason`].
    RecordedReason is Reason {
        Gone,
        Unsupported,
        Denied,
        Invalid,
        Busy,
        Io,
        NotANumber,
        AllOnes,
        OutOfRange,
        NamesChanged,
        Panicked,
    }
}

impl Record {
    /// The record of a feed that begins.
    pub(super) fn feed_began(id: u32, at: u64, feed: &Feed, driver: &str) -> Self {
        Self::FeedBegan {
            feed: id,
            at,
            device: feed.device.to_string(),
            rdma_device: feed.rdma_device.as_deref().map(str::to_owned),
            port: feed.port,
            source: feed.source.into(),
            driver: driver.to_owned(),
        }
    }
}

/// Reads a list that declares its length, and refuses one of more than `MAX` before anything is kept of it.
pub(super) fn at_most<'de, D, T, const MAX: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct AtMost<T, const MAX: usize>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for AtMost<T, MAX> {
        type Value = Vec<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "a list of at most {MAX}")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let too_long = || A::Error::custom("a list that is too long");
            if list.size_hint().is_some_and(|length| length > MAX) {
                return Err(too_long());
            }
            let mut values = Vec::new();
            while let Some(value) = list.next_element()? {
                if values.len() == MAX {
                    return Err(too_long());
                }
                values.push(value);
            }
            Ok(values)
        }
    }

    deserializer.deserialize_seq(AtMost::<T, MAX>(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_and_source_comes_back() {
        for reason in Reason::ALL {
            assert_eq!(Reason::from(RecordedReason::from(reason)), reason);
        }
        for source in [SourceKind::Ethtool, SourceKind::RdmaSysfs, SourceKind::RdmaNetlink] {
            assert_eq!(SourceKind::from(RecordedSource::from(source)), source);
        }
    }

    #[test]
    fn the_bytes_of_a_record_stay_the_same() {
        let read = RecordedRead {
            feed: 1,
            at: 300,
            took: 2,
            interval: -1,
            next_interval: 0,
            missed: 3,
            link: None,
            changes: vec![(0, 1), (2, -2)],
            missing: vec![(5, RecordedReason::Panicked)],
        };
        let bytes = postcard::to_allocvec(&Record::Sample(read)).unwrap();
        assert_eq!(bytes, [4, 1, 0xac, 2, 2, 1, 0, 3, 0, 2, 0, 2, 2, 3, 1, 5, 10]);
    }

    #[test]
    fn link_layers_keep_their_spelling() {
        for layer in
            [LinkLayer::Ethernet, LinkLayer::InfiniBand, LinkLayer::Other("Unspecified".to_owned())]
        {
            let port = RdmaPort {
                rdma_device: "mlx5_0".into(),
                port: 1,
                link_layer: Some(layer),
                gid_types: vec![GidType::V2],
                optional_counters: vec![OptionalCounter {
                    name: "cc_rx_cnp_pkts".to_owned(),
                    enabled: true,
                }],
            };
            assert_eq!(RdmaPort::from(RecordedPort::from(&port)), port);
        }
    }

    #[test]
    fn a_declared_length_costs_nothing() {
        // A set of names that claims 2^60 of them.
        let mut bytes = vec![3, 0, 0];
        bytes.extend([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]);
        assert!(postcard::from_bytes::<Record>(&bytes).is_err());
        let names = Record::Names {
            feed: 0,
            at: 0,
            names: vec![String::new(); MAX_NAMES + 1],
            wanted: Vec::new(),
            cache_period: None,
        };
        let bytes = postcard::to_allocvec(&names).unwrap();
        assert!(postcard::from_bytes::<Record>(&bytes).is_err(), "one name too many");
    }
}
