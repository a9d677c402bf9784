//! What few drivers and kernels say of a port's set-up, as a recording keeps it.

use serde::{Deserialize, Serialize};

use super::format::{RecordedDevice, at_most};
use super::settings::RecordedGid;
use crate::model::{DeviceFacts, EcnSettings, GidType, PcieLink, PortDetails, RdmaCm, Upper};

/// Most devices above one port.
const MAX_UPPERS: usize = 4096;
/// Most RDMA ports of one device.
const MAX_PORTS: usize = 256;

/// [`DeviceFacts`] without the other end of the link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DescribedDevice {
    device: RecordedDevice,
    details: RecordedDetails,
}

impl From<&DeviceFacts> for DescribedDevice {
    fn from(facts: &DeviceFacts) -> Self {
        Self { device: facts.into(), details: (&facts.details).into() }
    }
}

impl From<DescribedDevice> for DeviceFacts {
    fn from(described: DescribedDevice) -> Self {
        Self { details: described.details.into(), ..described.device.into() }
    }
}

/// [`PortDetails`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedDetails {
    ecn: RecordedEcn,
    pcie: RecordedPcie,
    fec: Option<String>,
    /// Name and MTU.
    #[serde(deserialize_with = "at_most::<_, _, MAX_UPPERS>")]
    uppers: Vec<(String, u32)>,
    #[serde(deserialize_with = "at_most::<_, _, MAX_PORTS>")]
    rdma_cm: Vec<RecordedRdmaCm>,
}

/// [`EcnSettings`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedEcn {
    notification_point: Option<u8>,
    reaction_point: Option<u8>,
    cnp_dscp: Option<u8>,
}

/// [`PcieLink`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedPcie {
    lanes: Option<u32>,
    most_lanes: Option<u32>,
    megatransfers: Option<u32>,
    most_megatransfers: Option<u32>,
}

/// [`RdmaCm`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedRdmaCm {
    rdma_device: String,
    port: u32,
    default_gid: Option<RecordedGid>,
    default_tos: Option<u8>,
}

impl From<&PortDetails> for RecordedDetails {
    fn from(details: &PortDetails) -> Self {
        let PortDetails { ecn, pcie, fec, uppers, rdma_cm } = details;
        let EcnSettings { notification_point, reaction_point, cnp_dscp } = *ecn;
        let PcieLink { lanes, most_lanes, megatransfers, most_megatransfers } = *pcie;
        let uppers = uppers.iter().take(MAX_UPPERS);
        let rdma_cm = rdma_cm.iter().take(MAX_PORTS).map(|own| RecordedRdmaCm {
            rdma_device: own.rdma_device.clone(),
            port: own.port,
            default_gid: own.default_gid.map(RecordedGid::from),
            default_tos: own.default_tos,
        });
        Self {
            ecn: RecordedEcn { notification_point, reaction_point, cnp_dscp },
            pcie: RecordedPcie { lanes, most_lanes, megatransfers, most_megatransfers },
            fec: fec.clone(),
            uppers: uppers.map(|own| (own.name.clone(), own.mtu_bytes)).collect(),
            rdma_cm: rdma_cm.collect(),
        }
    }
}

impl From<RecordedDetails> for PortDetails {
    fn from(details: RecordedDetails) -> Self {
        let RecordedDetails { ecn, pcie, fec, uppers, rdma_cm } = details;
        let RecordedEcn { notification_point, reaction_point, cnp_dscp } = ecn;
        let RecordedPcie { lanes, most_lanes, megatransfers, most_megatransfers } = pcie;
        let rdma_cm = rdma_cm.into_iter().map(|own| RdmaCm {
            rdma_device: own.rdma_device,
            port: own.port,
            default_gid: own.default_gid.map(GidType::from),
            default_tos: own.default_tos,
        });
        Self {
            ecn: EcnSettings { notification_point, reaction_point, cnp_dscp },
            pcie: PcieLink { lanes, most_lanes, megatransfers, most_megatransfers },
            fec,
            uppers: uppers.into_iter().map(|(name, mtu_bytes)| Upper { name, mtu_bytes }).collect(),
            rdma_cm: rdma_cm.collect(),
        }
    }
}
