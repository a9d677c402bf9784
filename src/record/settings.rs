//! How a port is set up, as a recording keeps it: the model's types with a form that stays.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::format::{at_most, recorded};
use crate::model::{
    Buffers, Dcb, Ets, GidType, LinkPause, Pfc, PortRole, PortSettings, Priority, StandardPause,
    Trust, saturating_nanos,
};

const EIGHT: usize = Priority::COUNT;
/// There are 64 DSCPs.
const MAX_DSCPS: usize = 64;

recorded! {
    /// [`PortRole`].
    RecordedRole is PortRole { Physical, VirtualFunction, Representor, Bond, Virtual, }
}

recorded! {
    /// [`GidType`].
    RecordedGid is GidType { V1, V2, }
}

recorded! {
    /// [`Trust`].
    RecordedTrust is Trust { Dscp, Pcp, }
}

/// [`PortSettings`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedSettings {
    dcb: Option<RecordedDcb>,
    trust: Option<RecordedTrust>,
    /// Negotiated, rx, tx.
    link_pause: Option<(bool, bool, bool)>,
    /// Nanoseconds.
    stall_prevention: Option<u64>,
    /// Nanoseconds.
    statistics_period: Option<u64>,
    mtu_bytes: Option<u32>,
    /// Received and sent, and whether 802.3x alone.
    standard_pause: Option<(Option<u64>, Option<u64>, bool)>,
}

/// [`Dcb`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedDcb {
    pfc: Option<RecordedPfc>,
    ets: Option<RecordedEts>,
    dscp: Option<RecordedMap>,
    buffers: Option<RecordedBuffers>,
    max_rate: Option<[u64; EIGHT]>,
    trust: Option<RecordedTrust>,
    dcbx: Option<u8>,
}

/// DSCP and priority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedMap(#[serde(deserialize_with = "at_most::<_, _, MAX_DSCPS>")] Vec<(u8, u8)>);

/// [`Pfc`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedPfc {
    capability: u8,
    enabled: u8,
    delay: u16,
    requests: [u64; EIGHT],
    indications: [u64; EIGHT],
}

/// [`Ets`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedEts {
    willing: bool,
    traffic_class: [u8; EIGHT],
    bandwidth: [u8; EIGHT],
    algorithm: [u8; EIGHT],
}

/// [`Buffers`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedBuffers {
    buffer: [u8; EIGHT],
    bytes: [u32; EIGHT],
    total_bytes: u32,
}

impl From<&PortSettings> for RecordedSettings {
    fn from(settings: &PortSettings) -> Self {
        let pause = settings.link_pause;
        Self {
            dcb: settings.dcb.as_ref().map(RecordedDcb::from),
            trust: settings.trust.map(RecordedTrust::from),
            link_pause: pause.map(|LinkPause { negotiated, rx, tx }| (negotiated, rx, tx)),
            stall_prevention: settings.stall_prevention.map(saturating_nanos),
            statistics_period: settings.statistics_period.map(saturating_nanos),
            mtu_bytes: settings.mtu_bytes,
            standard_pause: settings
                .standard_pause
                .map(|own| (own.rx_frames, own.tx_frames, own.link_only)),
        }
    }
}

impl From<RecordedSettings> for PortSettings {
    fn from(settings: RecordedSettings) -> Self {
        let pause = settings.link_pause;
        Self {
            dcb: settings.dcb.map(Dcb::from),
            trust: settings.trust.map(Trust::from),
            link_pause: pause.map(|(negotiated, rx, tx)| LinkPause { negotiated, rx, tx }),
            stall_prevention: settings.stall_prevention.map(Duration::from_nanos),
            statistics_period: settings.statistics_period.map(Duration::from_nanos),
            mtu_bytes: settings.mtu_bytes,
            standard_pause: settings.standard_pause.map(|(rx_frames, tx_frames, link_only)| {
                StandardPause { rx_frames, tx_frames, link_only }
            }),
        }
    }
}

impl From<&Dcb> for RecordedDcb {
    fn from(dcb: &Dcb) -> Self {
        let Dcb { pfc, ets, dscp, buffers, max_rate, trust, dcbx } = dcb;
        let map = dscp.as_ref().map(|map| map.iter().map(|(code, own)| (*code, own.number())));
        Self {
            pfc: pfc.map(|Pfc { capability, enabled, delay, requests, indications }| RecordedPfc {
                capability,
                enabled,
                delay,
                requests,
                indications,
            }),
            ets: ets.map(|Ets { willing, traffic_class, bandwidth, algorithm }| RecordedEts {
                willing,
                traffic_class,
                bandwidth,
                algorithm,
            }),
            dscp: map.map(|map| RecordedMap(map.take(MAX_DSCPS).collect())),
            buffers: buffers.map(|Buffers { buffer, bytes, total_bytes }| RecordedBuffers {
                buffer,
                bytes,
                total_bytes,
            }),
            max_rate: *max_rate,
            trust: trust.map(RecordedTrust::from),
            dcbx: *dcbx,
        }
    }
}

impl From<RecordedDcb> for Dcb {
    fn from(dcb: RecordedDcb) -> Self {
        let RecordedDcb { pfc, ets, dscp, buffers, max_rate, trust, dcbx } = dcb;
        let priority = |(code, own): (u8, u8)| Some((code, Priority::new(own).ok()?));
        Self {
            pfc: pfc.map(|RecordedPfc { capability, enabled, delay, requests, indications }| Pfc {
                capability,
                enabled,
                delay,
                requests,
                indications,
            }),
            ets: ets.map(|RecordedEts { willing, traffic_class, bandwidth, algorithm }| Ets {
                willing,
                traffic_class,
                bandwidth,
                algorithm,
            }),
            dscp: dscp.map(|RecordedMap(map)| map.into_iter().filter_map(priority).collect()),
            buffers: buffers.map(|RecordedBuffers { buffer, bytes, total_bytes }| Buffers {
                buffer,
                bytes,
                total_bytes,
            }),
            max_rate,
            trust: trust.map(Trust::from),
            dcbx,
        }
    }
}
