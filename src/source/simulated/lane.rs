//! The lanes of a link: one priority in one direction, with its buffer, its thresholds and its pause.
//!
//! An [`Uplink`] leads from a NIC into the switch: the switch counts what came from that NIC and is not
//! out yet, and pauses the NIC. A [`Downlink`] leads to a NIC: a queue in the switch, then the receive
//! buffer of the NIC, which pauses the switch.

use super::flow::{Carry, Flows};
use super::pause::Pause;

const NANOS: u64 = 1_000_000_000;

/// When a buffer asks for a pause and when it overflows, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    pub(super) xoff: u64,
    pub(super) xon: u64,
    pub(super) size: u64,
}

impl Thresholds {
    /// A NIC's receive buffer on a link of `line` bytes per second. The room above XOFF is the headroom.
    pub(super) const fn of_nic(line: u64) -> Self {
        Self {
            xoff: bytes_in(line, 8_000),
            xon: bytes_in(line, 6_500),
            size: bytes_in(line, 80_000),
        }
    }

    /// The switch's share for one priority of one port.
    pub(super) const fn of_switch(line: u64) -> Self {
        Self {
            xoff: bytes_in(line, 20_000),
            xon: bytes_in(line, 8_000),
            size: bytes_in(line, 100_000),
        }
    }

    /// Where a NIC raises its alarm: 85 % full.
    pub(super) const fn alarm(&self) -> u64 {
        self.size / 100 * 85
    }
}

/// Bytes that a link of `line` bytes per second carries in `nanos`.
pub(super) const fn bytes_in(line: u64, nanos: u64) -> u64 {
    line * nanos / NANOS
}

/// Nanoseconds until `distance` bytes have passed at `rate` bytes per second, rounded up.
pub(super) const fn time_for(distance: u64, rate: u64) -> u64 {
    (distance * NANOS).div_ceil(rate)
}

/// Nanoseconds until a buffer asks for or ends a pause, if its rates stay as they are.
pub(super) fn crossing(fill: u64, inflow: u64, outflow: u64, t: Thresholds, asked: bool) -> u64 {
    if asked {
        match outflow.checked_sub(inflow) {
            None | Some(0) => u64::MAX,
            Some(net) => time_for(fill.saturating_sub(t.xon), net),
        }
    } else {
        match inflow.checked_sub(outflow) {
            None | Some(0) => u64::MAX,
            Some(net) => time_for(t.xoff.saturating_sub(fill), net),
        }
    }
}

/// One priority from a NIC into the switch.
#[derive(Clone, Debug)]
pub(super) struct Uplink {
    pub(super) port: usize,
    /// XOFF of the switch to the NIC.
    pub(super) pause: Pause,
    pub(super) thresholds: Thresholds,
    /// PFC is on for this priority.
    pub(super) lossless: bool,
    /// Bytes from this NIC that are in the switch.
    pub(super) fill: u64,
    /// Bytes per second into the switch in this step.
    pub(super) inflow: u64,
    /// Bytes per second of this NIC's traffic out of the switch in this step.
    pub(super) outflow: u64,
    /// Bytes sent, ever.
    pub(super) sent: u64,
}

impl Uplink {
    pub(super) fn new(port: usize, bits_per_second: u64) -> Self {
        Self {
            port,
            pause: Pause::new(bits_per_second),
            thresholds: Thresholds::of_switch(bits_per_second / 8),
            lossless: false,
            fill: 0,
            inflow: 0,
            outflow: 0,
            sent: 0,
        }
    }

    /// Bytes that do not fit into the buffer. The headroom of a lossless priority always suffices for a NIC
    /// that obeys.
    pub(super) const fn excess(&self) -> u64 {
        if self.lossless && self.pause.is_obeyed() {
            0
        } else {
            self.fill.saturating_sub(self.thresholds.size)
        }
    }
}

/// One priority from the switch to a NIC.
#[derive(Clone, Debug)]
pub(super) struct Downlink {
    pub(super) port: usize,
    /// XOFF of the NIC to the switch.
    pub(super) pause: Pause,
    pub(super) thresholds: Thresholds,
    /// PFC is on for this priority.
    pub(super) lossless: bool,
    /// Traffic that ends here.
    pub(super) flows: Flows,
    /// Bytes in the switch's queue.
    pub(super) queue: u64,
    /// Bytes in the NIC's receive buffer.
    pub(super) fill: u64,
    /// Bytes per second into the queue in this step.
    pub(super) inflow: u64,
    /// Bytes per second that would leave the queue.
    pub(super) wanted: u64,
    /// Bytes per second that leave it.
    pub(super) outflow: u64,
    /// Bytes per second from the receive buffer into memory.
    pub(super) drain: u64,
    pub(super) leave: Carry,
    pub(super) store: Carry,
    /// Stalls of the receive side that go on now.
    pub(super) stalls: u32,
    pub(super) stall: StallDetector,
    /// The receive buffer is above its alarm level.
    pub(super) alarming: bool,
    /// Bytes that arrived at the NIC, ever.
    pub(super) arrived: u64,
    /// Bytes that reached memory, ever.
    pub(super) delivered: u64,
    /// Bytes dropped on arrival, ever.
    pub(super) discarded: u64,
}

impl Downlink {
    pub(super) fn new(port: usize, bits_per_second: u64) -> Self {
        Self {
            port,
            pause: Pause::new(bits_per_second),
            thresholds: Thresholds::of_nic(bits_per_second / 8),
            lossless: false,
            flows: Flows::default(),
            queue: 0,
            fill: 0,
            inflow: 0,
            wanted: 0,
            outflow: 0,
            drain: 0,
            leave: Carry::default(),
            store: Carry::default(),
            stalls: 0,
            stall: StallDetector::Calm,
            alarming: false,
            arrived: 0,
            delivered: 0,
            discarded: 0,
        }
    }

    /// Whether anything is on the way to this NIC. Its flows are sorted before.
    pub(super) fn is_active(&self) -> bool {
        self.queue > 0
            || self.fill > 0
            || self.pause.is_asked()
            || self.pause.is_held()
            || !self.flows.busy().is_empty()
    }

    /// Takes in `bytes` from the wire, stores what memory takes in `dt`, and drops what does not fit.
    /// Gives the bytes dropped.
    pub(super) fn receive(&mut self, bytes: u64, dt: u64) -> u64 {
        let smooth = self.fill == 0 && self.outflow <= self.drain;
        self.arrived += bytes;
        self.fill += bytes;
        let stored =
            if smooth { self.fill } else { self.store.take(self.drain, dt).min(self.fill) };
        self.fill -= stored;
        self.delivered += stored;
        let safe = self.lossless && self.pause.is_obeyed() && self.stall != StallDetector::Tripped;
        let excess = if safe { 0 } else { self.fill.saturating_sub(self.thresholds.size) };
        self.fill -= excess;
        self.discarded += excess;
        excess
    }
}

/// A NIC's guard against pausing for ever, per priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StallDetector {
    /// Nothing to say.
    Calm,
    /// The pause has lasted for most of the timeout.
    Warned,
    /// The pause lasted for the whole timeout: pausing is off until the buffer has room again.
    Tripped,
}

#[cfg(test)]
mod tests {
    use super::*;

    const BITS: u64 = 100_000_000_000;

    #[test]
    fn thresholds_are_in_order() {
        for thresholds in [Thresholds::of_nic(BITS / 8), Thresholds::of_switch(BITS / 8)] {
            assert!(thresholds.xon < thresholds.xoff);
            assert!(thresholds.xoff < thresholds.alarm());
            assert!(thresholds.alarm() < thresholds.size);
        }
    }

    #[test]
    fn a_crossing_is_never_before_its_threshold() {
        let t = Thresholds { xoff: 1_000, xon: 500, size: 5_000 };
        let dt = crossing(100, 7, 0, t, false);
        assert!(100 + 7 * dt / NANOS >= t.xoff);
        assert_eq!(crossing(100, 7, 7, t, false), u64::MAX);
        assert_eq!(crossing(2_000, 0, NANOS, t, true), 1_500);
        assert_eq!(crossing(2_000, 3, 3, t, true), u64::MAX);
    }

    #[test]
    fn a_lossy_uplink_overflows_and_a_lossless_one_does_not() {
        let mut uplink = Uplink::new(0, BITS);
        uplink.fill = uplink.thresholds.size + 10;
        assert_eq!(uplink.excess(), 10);
        uplink.lossless = true;
        assert_eq!(uplink.excess(), 0);
    }

    #[test]
    fn a_fast_memory_takes_all_at_once_and_a_dead_one_nothing() {
        let mut downlink = Downlink::new(0, BITS);
        downlink.drain = BITS / 8;
        downlink.outflow = 1_000;
        assert_eq!(downlink.receive(1_000, 1), 0);
        assert_eq!(downlink.delivered, 1_000);
        downlink.drain = 0;
        let dropped = downlink.receive(downlink.thresholds.size + 3, 1_000);
        assert_eq!(dropped, 3);
        assert_eq!(downlink.fill, downlink.thresholds.size);
        assert_eq!(downlink.arrived, downlink.delivered + downlink.fill + downlink.discarded);
    }
}
