//! The words that all rooms share: port, priority, direction, quantity, reading, sample.
//!
//! Plain data with conversions; no kernel call, no arithmetic over time, no metric name.

mod dcb;
mod details;
mod device;
mod feed;
mod figures;
mod filter;
mod key;
mod peer;
mod plan;
mod quantity;
mod reading;
mod sample;
mod time;

pub use dcb::{
    Buffers, DCBX_DEVICE, DCBX_HOST, DCBX_WORDS, Dcb, Ets, LinkPause, Pfc, PortSettings,
    StandardPause, Trust,
};
pub use details::{EcnSettings, PcieLink, PortDetails, RdmaCm, Upper};
pub use device::{
    BitsPerSecond, DeviceFacts, GidType, LinkFacts, LinkLayer, OptionalCounter, PortRole, RdmaPort,
};
pub use feed::{Feed, SourceKind};
pub use figures::Histogram;
pub use filter::{DeviceFilter, NamespaceSelection};
pub use key::{CounterKey, Direction, Index, InvalidPriority, Priority};
pub use peer::{LinkPeer, PeerSource, PortName};
pub use plan::{Freshness, Plan, PlanCounter, Unit, Width};
pub use quantity::{Quantity, ReadingKind};
pub use reading::{Reading, Reason};
pub use sample::Sample;
pub use time::{Monotonic, saturating_nanos};
