//! Pause parameters, speed and statistics period over ethtool netlink, by the `ethtool` crate.
//!
//! For the slow path alone: a question through the crate costs eight times what the ioctl does. It needs an
//! async runtime, which lives here and runs only while a question is asked. Refuses nothing but to be fast.

use std::io;
use std::time::Duration;

use ethtool::{
    EthtoolAttr, EthtoolCoalesceAttr, EthtoolError, EthtoolFecAttr, EthtoolHandle,
    EthtoolLinkModeAttr, EthtoolMessage, EthtoolPauseAttr,
};
use futures_util::{Stream, TryStreamExt};
use netlink_packet_generic::GenlMessage;
use tokio::runtime::{Builder, Runtime};

use crate::model::LinkPause;

/// `SPEED_UNKNOWN` in the kernel's spelling.
const SPEED_UNKNOWN: u32 = u32::MAX;
/// The longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What ethtool netlink says of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EthtoolSettings {
    /// 802.3x as configured.
    pub link_pause: Option<LinkPause>,
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
            for answer in collect(handle.pause().get(Some(device)).execute().await).await {
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
        let expected = EthtoolSettings { link_pause, speed_megabits, statistics_period, fec };
        assert_eq!(settings, expected);
        settings.take(&EthtoolAttr::LinkMode(EthtoolLinkModeAttr::Speed(SPEED_UNKNOWN)));
        assert_eq!(settings.speed_megabits, None);
    }
}
