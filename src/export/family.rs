//! What a metric family is: a row of the table.
//!
//! A row holds everything that is known of a family before a scrape: its name, type, labels, HELP text and
//! where its values come from. It holds no value, and it refuses names with a unit or a type that differ
//! from what is encoded: unit and suffix follow from the name and the type.

use prometheus_client::metrics::MetricType;

use super::gather::Scrape;
use super::process::ProcessFigures;
use super::series::{LabelValue, Series, Value};
use crate::engine::FeedFigures;
use crate::model::{Index, Monotonic, Quantity, SourceKind};

macro_rules! labels {
    ($($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+) => {
        /// A label's name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Label { $($(#[doc = $doc])+ $variant,)+ }

        impl Label {
            /// The name as it is exported.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }
    };
}

labels! {
    /// What a ratio is made of.
    Basis = "basis",
    /// Git branch of the build.
    Branch = "branch",
    /// Number of a packet buffer, buffer group or FIFO.
    Buffer = "buffer",
    /// Check of the configuration.
    Check = "check",
    /// Full name of a metric, or the name of a counter of a driver.
    Counter = "counter",
    /// Netdev; empty for an RDMA device without one.
    Device = "device",
    /// `tx` or `rx`, seen from this port.
    Direction = "direction",
    /// Driver.
    Driver = "driver",
    /// Code point in the IP header, 0 to 63.
    Dscp = "dscp",
    /// What happened, within one family of events.
    Event = "event",
    /// Firmware version.
    Firmware = "firmware",
    /// A further distinction that only some drivers make.
    Kind = "kind",
    /// What an RDMA port runs on, in the kernel's words.
    LinkLayer = "link_layer",
    /// Bond or bridge that the netdev belongs to.
    Master = "master",
    /// What decides a packet's priority, or who rules DCBX.
    Mode = "mode",
    /// Name of a counter as its driver spells it.
    Name = "name",
    /// Network namespace; empty for the program's own.
    Netns = "netns",
    /// PCIe operation.
    Operation = "operation",
    /// PCI address.
    PciAddress = "pci_address",
    /// Host or switch at the other end of a link.
    Peer = "peer",
    /// Port at the other end of a link.
    PeerDevice = "peer_device",
    /// Wire that several functions can share; empty where the driver does not say.
    PhysicalPort = "physical_port",
    /// Port of the RDMA device; empty for counters of the whole RDMA device.
    Port = "port",
    /// 802.1p priority, `0` to `7`.
    Priority = "priority",
    /// RDMA device.
    RdmaDevice = "rdma_device",
    /// Why something was dropped or failed.
    Reason = "reason",
    /// What a netdev is to the wire.
    Role = "role",
    /// Git revision of the build.
    Revision = "revision",
    /// Compiler of the build.
    Rustc = "rustc",
    /// How bad an event is.
    Severity = "severity",
    /// Setting of a port.
    Setting = "setting",
    /// How a check ended.
    Status = "status",
    /// Kernel interface that was read; for a peer, who told of it.
    Source = "source",
    /// Machine that the build is for.
    Target = "target",
    /// Traffic class or CoS queue.
    TrafficClass = "traffic_class",
    /// Kind of a GID.
    Type = "type",
    /// Version of the build.
    Version = "version",
}

/// A family's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows; exported with the suffix `_total`.
    Counter,
    /// Goes both ways.
    Gauge,
    /// Buckets, sum and count.
    Histogram,
    /// Facts in labels, value 1; exported with the suffix `_info`.
    Info,
    /// Nobody knows whether it accumulates.
    Unknown,
}

impl Kind {
    /// The type in words, as OpenMetrics has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
            Self::Unknown => "unknown",
        }
    }

    pub(super) const fn metric_type(self) -> MetricType {
        match self {
            Self::Counter => MetricType::Counter,
            Self::Gauge => MetricType::Gauge,
            Self::Histogram => MetricType::Histogram,
            Self::Info => MetricType::Info,
            Self::Unknown => MetricType::Unknown,
        }
    }

    const fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Info => "_info",
            Self::Gauge | Self::Histogram | Self::Unknown => "",
        }
    }
}

/// What the counters of a family are split by: [`Index`] without its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Split {
    Whole,
    Priority,
    TrafficClass,
    Buffer,
}

impl From<Index> for Split {
    fn from(index: Index) -> Self {
        match index {
            Index::None => Self::Whole,
            Index::Priority(_) => Self::Priority,
            Index::TrafficClass(_) => Self::TrafficClass,
            Index::Buffer(_) => Self::Buffer,
        }
    }
}

/// Where a family's series come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// Totals of the feeds' counters of this quantity and split.
    Counter(Quantity, Split),
    /// At most one value per feed, at the time of the snapshot.
    Feed(fn(&FeedFigures, Monotonic) -> Option<Value>),
    /// At most one value of this process.
    Process(fn(&ProcessFigures) -> Option<Value>),
    /// Any other part of a scrape; the function adds the series.
    Scrape(fn(&Family, &Scrape<'_>, &mut Vec<Series>)),
    /// What had to be left out; known only when all other families are done.
    Skipped,
}

/// Which feeds are asked by `roce_counter_supported` whether they have a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Askable {
    Nobody,
    Ethtool,
    Rdma,
}

impl Askable {
    pub(super) const fn includes(self, source: SourceKind) -> bool {
        match self {
            Self::Nobody => false,
            Self::Ethtool => !source.is_rdma(),
            Self::Rdma => source.is_rdma(),
        }
    }
}

/// One metric family.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Name without the suffix that the type adds.
    pub name: &'static str,
    /// One line, with no backslash, no double quote and no final dot: OpenMetrics output does not escape it.
    pub help: &'static str,
    /// Type.
    pub kind: Kind,
    /// Labels that every series has, in this order. Empty where the value is not known.
    pub labels: &'static [Label],
    /// Labels that a series has only where its driver makes the distinction.
    pub optional_labels: &'static [Label],
    pub(super) origin: Origin,
    pub(super) askable: Askable,
}

impl Family {
    /// The name in queries: for a counter with `_total`, for an info with `_info`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}{}", self.name, self.kind.suffix())
    }

    /// The base unit, where the name ends with one.
    #[must_use]
    pub fn unit(&self) -> Option<&'static str> {
        ["seconds", "bytes", "ratio"]
            .into_iter()
            .find(|unit| self.name.strip_suffix(unit).is_some_and(|stem| stem.ends_with('_')))
    }

    pub(super) fn all_labels(&self) -> impl Iterator<Item = Label> {
        self.labels.iter().chain(self.optional_labels).copied()
    }

    /// A series of this family whose label values are looked up one by one.
    pub(super) fn series(&self, value: Value, label: impl Fn(Label) -> LabelValue) -> Series {
        Series { labels: self.all_labels().map(label).collect(), value }
    }

    pub(super) const fn new(
        kind: Kind,
        name: &'static str,
        labels: &'static [Label],
        origin: Origin,
        help: &'static str,
    ) -> Self {
        let (optional_labels, askable) = (&[] as &[Label], Askable::Nobody);
        Self { name, help, kind, labels, optional_labels, origin, askable }
    }

    /// A counter that a driver counts.
    pub(super) const fn counted(
        name: &'static str,
        labels: &'static [Label],
        quantity: Quantity,
        split: Split,
        help: &'static str,
    ) -> Self {
        Self::new(Kind::Counter, name, labels, Origin::Counter(quantity, split), help)
    }

    /// The same family with labels that only some drivers have.
    pub(super) const fn or_with(self, optional_labels: &'static [Label]) -> Self {
        Self { optional_labels, ..self }
    }

    /// The same family, listed in `roce_counter_supported`.
    pub(super) const fn asked_of(self, askable: Askable) -> Self {
        Self { askable, ..self }
    }
}
