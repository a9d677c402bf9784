//! Pause parameters and frames, speed and statistics period over ethtool netlink, by the `ethtool` crate.
//!
//! For the slow path alone: a question through the crate costs eight times what the ioctl does. It needs an
//! async runtime, which lives here and runs only while a question is asked. Refuses nothing but to be fast.

use std::io;
use std::time::Duration;

use ethtool::{
    EthtoolAttr, EthtoolCmd, EthtoolCoalesceAttr, EthtoolError, EthtoolFecAttr, EthtoolHandle,
    EthtoolHeader, EthtoolLinkModeAttr, EthtoolMessage, EthtoolPauseAttr, EthtoolPauseStatAttr,
};
use futures_util::{Stream, StreamExt, TryStreamExt};
use netlink_packet_core::{NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_generic::GenlMessage;
use tokio::runtime::{Builder, Runtime};

use crate::model::{LinkPause, StandardPause};

/// `SPEED_UNKNOWN` in the kernel's spelling.
const SPEED_UNKNOWN: u32 = u32::MAX;
/// `ETHTOOL_FLAG_STATS`: asks for statistics beside the settings.
const WITH_STATISTICS: u32 = 1 << 2;
/// `ETHTOOL_STAT_NOT_SET`, which the kernel leaves out of its answers; said anyway, it is no count.
const NOT_COUNTED: u64 = u64::MAX;
/// The longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What ethtool netlink says of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EthtoolSettings {
    /// 802.3x as configured.
    pub link_pause: Option<LinkPause>,
    /// Pause frames of the MAC. Who counts what in them is not known here.
    pub standard_pause: Option<StandardPause>,
    /// Megabits per second.
    pub speed_megabits: Option<u32>,
    /// How often the driver renews its statistics.
    pub statistics_period: Option<Duration>,
    /// Forward error correction in operation.
    pub fec: Option<String>,
}

/// Asks the ethtool family.
#[derive(Debug)]
pub struct EthtoolReader {
    runtime: Runtime,
    handle: EthtoolHandle,
}

impl EthtoolReader {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// When there is no runtime or no socket to be had.
    pub fn open() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let (connection, handle, _) = {
            let _inside = runtime.enter();
            ethtool::new_connection()?
        };
        runtime.spawn(connection);
        Ok(Self { runtime, handle })
    }

    /// The settings of a device. What its driver does not have is absent.
    pub fn settings(&mut self, device: &str) -> EthtoolSettings {
        let handle = &mut self.handle;
        let asking = async {
            let mut settings = EthtoolSettings::default();
            let mut pause = pause_with_statistics(handle, device).await;
            if pause.is_empty() {
                // A kernel before 5.10 does not know the flag.
                pause = collect(handle.pause().get(Some(device)).execute().await).await;
            }
            for answer in pause {
                settings.take(&answer);
            }
            for answer in collect(handle.link_mode().get(Some(device)).execute().await).await {
                settings.take(&answer);
            }
            for answer in collect(handle.coalesce().get(Some(device)).execute().await).await {
                settings.take(&answer);
            }
            for answer in collect(handle.fec().get(Some(device)).execute().await).await {
                settings.take(&answer);
            }
            settings
        };
        let answer = self.runtime.block_on(async { tokio::time::timeout(TIMEOUT, asking).await });
        answer.unwrap_or_default()
    }
}

/// The crate's own request has no flags. Nothing where the kernel refuses.
async fn pause_with_statistics(handle: &mut EthtoolHandle, device: &str) -> Vec<EthtoolAttr> {
    let mut message = NetlinkMessage::from(statistics_question(device));
    message.header.flags = NLM_F_REQUEST;
    let Ok(mut answers) = handle.request(message).await else { return Vec::new() };
    let mut attributes = Vec::new();
    while let Some(Ok(answer)) = answers.next().await {
        match answer.payload {
            NetlinkPayload::InnerMessage(message) => attributes.extend(message.payload.nlas),
            _ => break,
        }
    }
    attributes
}

fn statistics_question(device: &str) -> GenlMessage<EthtoolMessage> {
    let (name, flags) =
        (EthtoolHeader::DevName(device.to_owned()), EthtoolHeader::Flags(WITH_STATISTICS));
    let nlas = vec![EthtoolAttr::Pause(EthtoolPauseAttr::Header(vec![name, flags]))];
    GenlMessage::from_payload(EthtoolMessage { cmd: EthtoolCmd::PauseGet, nlas })
}

async fn collect(
    answers: Result<
        impl Stream<Item = Result<GenlMessage<EthtoolMessage>, EthtoolError>>,
        EthtoolError,
    >,
) -> Vec<EthtoolAttr> {
    let Ok(answers) = answers else { return Vec::new() };
    let messages: Result<Vec<_>, _> = answers.try_collect().await;
    messages.unwrap_or_default().into_iter().flat_map(|message| message.payload.nlas).collect()
}

impl EthtoolSettings {
    fn take(&mut self, attribute: &EthtoolAttr) {
        const OFF: LinkPause = LinkPause { negotiated: false, rx: false, tx: false };
        match attribute {
            EthtoolAttr::Pause(EthtoolPauseAttr::AutoNeg(on)) => {
                self.link_pause.get_or_insert(OFF).negotiated = *on;
            }
            EthtoolAttr::Pause(EthtoolPauseAttr::Rx(on)) => {
                self.link_pause.get_or_insert(OFF).rx = *on;
            }
            EthtoolAttr::Pause(EthtoolPauseAttr::Tx(on)) => {
                self.link_pause.get_or_insert(OFF).tx = *on;
            }
            EthtoolAttr::Pause(EthtoolPauseAttr::Stats(statistics)) => {
                self.standard_pause = standard_pause(statistics);
            }
            EthtoolAttr::LinkMode(EthtoolLinkModeAttr::Speed(megabits)) => {
                let known = Some(*megabits).filter(|own| *own != 0 && *own != SPEED_UNKNOWN);
                self.speed_megabits = known;
            }
            EthtoolAttr::Coalesce(EthtoolCoalesceAttr::StatsBlockUsecs(micros)) => {
                self.statistics_period = Some(Duration::from_micros((*micros).into()));
            }
            EthtoolAttr::Fec(EthtoolFecAttr::Active(mode)) => {
                self.fec = Some(mode.to_string().to_ascii_lowercase());
            }
            _ => {}
        }
    }
}

/// None where the driver counts nothing: the kernel then answers with an empty list.
fn standard_pause(statistics: &[EthtoolPauseStatAttr]) -> Option<StandardPause> {
    let mut pause = StandardPause::default();
    for attribute in statistics {
        match attribute {
            EthtoolPauseStatAttr::Rx(frames) if *frames != NOT_COUNTED => {
                pause.rx_frames = Some(*frames);
            }
            EthtoolPauseStatAttr::Tx(frames) if *frames != NOT_COUNTED => {
                pause.tx_frames = Some(*frames);
            }
            _ => {}
        }
    }
    (pause.rx_frames.is_some() || pause.tx_frames.is_some()).then_some(pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_settings_or_without_existence_has_none() {
        let mut reader = EthtoolReader::open().unwrap();
        assert_eq!(reader.settings("lo"), EthtoolSettings::default());
        assert_eq!(reader.settings("no-such-netdev"), EthtoolSettings::default());
    }

    #[test]
    fn answers_become_settings() {
        let mut settings = EthtoolSettings::default();
        for attribute in [
            EthtoolAttr::Pause(EthtoolPauseAttr::AutoNeg(false)),
            EthtoolAttr::Pause(EthtoolPauseAttr::Rx(true)),
            EthtoolAttr::Pause(EthtoolPauseAttr::Tx(false)),
            EthtoolAttr::LinkMode(EthtoolLinkModeAttr::Speed(400_000)),
            EthtoolAttr::Coalesce(EthtoolCoalesceAttr::StatsBlockUsecs(250_000)),
            EthtoolAttr::Fec(EthtoolFecAttr::Active(ethtool::EthtoolFecMode::Rs)),
        ] {
            settings.take(&attribute);
        }
        let link_pause = Some(LinkPause { negotiated: false, rx: true, tx: false });
        let statistics_period = Some(Duration::from_millis(250));
        let speed_megabits = Some(400_000);
        let fec = Some("rs".to_owned());
        let expected = EthtoolSettings {
            link_pause,
            standard_pause: None,
            speed_megabits,
            statistics_period,
            fec,
        };
        assert_eq!(settings, expected);
        settings.take(&EthtoolAttr::LinkMode(EthtoolLinkModeAttr::Speed(SPEED_UNKNOWN)));
        assert_eq!(settings.speed_megabits, None);
    }

    #[test]
    fn pause_statistics_are_frames_where_the_driver_counts_them() {
        use EthtoolPauseStatAttr::{Rx, Tx};
        let taken = |statistics: Vec<EthtoolPauseStatAttr>| {
            let mut settings = EthtoolSettings::default();
            settings.take(&EthtoolAttr::Pause(EthtoolPauseAttr::Stats(statistics)));
            settings.standard_pause.map(|own| (own.rx_frames, own.tx_frames))
        };
        assert_eq!(taken(vec![Tx(2), Rx(1)]), Some((Some(1), Some(2))));
        assert_eq!(taken(vec![Rx(0), Tx(NOT_COUNTED)]), Some((Some(0), None)));
        assert_eq!(taken(vec![Rx(NOT_COUNTED)]), None);
        assert_eq!(taken(Vec::new()), None);
    }

    #[test]
    fn a_request_for_statistics_has_the_bytes_of_the_layout() {
        use netlink_packet_core::Emitable;
        let message = statistics_question("eth0");
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        assert_eq!(bytes[0], 21, "ETHTOOL_MSG_PAUSE_GET");
        // The nest of the header; in it the name, padded to four bytes, and the flags.
        let mut expected = [24_u16.to_ne_bytes(), 0x8001_u16.to_ne_bytes()].concat();
        expected.extend([9_u16.to_ne_bytes(), 2_u16.to_ne_bytes()].concat());
        expected.extend(b"eth0\0\0\0\0");
        expected.extend([8_u16.to_ne_bytes(), 3_u16.to_ne_bytes()].concat());
        expected.extend(4_u32.to_ne_bytes());
        assert_eq!(bytes[4..], expected);
    }
}
