//! One flow: what a sender's application hands over, what waits where, and its notification point (NP).

use super::reaction::Reaction;
use super::truth::ROCE_PACKET_BYTES;

/// An NP sends at most one CNP per flow in this time (DCQCN's N).
const CNP_INTERVAL_NS: u64 = 50_000;

/// ACK timer of a queue pair: 4.096 µs × 2^14.
const ACK_TIMEOUT_NS: u64 = 67_108_864;

/// Marking probabilities are parts per million.
pub(super) const PPM: u64 = 1_000_000;

const NANOS: u64 = 1_000_000_000;

/// How fast a queue would be emptied if nothing stood in the way.
const EMPTIES_NS: u64 = 50_000;

/// Whole bytes out of a rate over time, without losing fractions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carry(u64);

impl Carry {
    /// Bytes that `rate` (bytes per second) makes in `dt` nanoseconds. Exact over any number of calls
    /// as long as `rate × dt` stays under 2^64: 400 Gbit/s for 368 ms.
    pub(super) const fn take(&mut self, rate: u64, dt: u64) -> u64 {
        let product = rate * dt + self.0;
        self.0 = product % NANOS;
        product / NANOS
    }
}

/// The rate that keeps up with `inflow` bytes per second and empties a queue in [`EMPTIES_NS`]. A short queue
/// so asks for little, which keeps it from pushing others aside.
pub(super) const fn with_queue(inflow: u64, queue: u64) -> u64 {
    inflow + queue * (NANOS / EMPTIES_NS)
}

/// What the NP of a flow has to report.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    pub(super) packets: u64,
    pub(super) cnps: u64,
}

/// Traffic of one priority from one port to another.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// The sender's port.
    pub(super) from: usize,
    /// The sender's lane into the switch.
    pub(super) uplink: usize,
    /// Both ends speak RoCE: congestion control and RDMA counters apply.
    pub(super) roce: bool,
    /// Bytes per second that the application makes.
    pub(super) offered_rate: u64,
    /// Bytes that the NIC holds at most for this flow; the application waits beyond.
    window: u64,
    /// Bytes that wait in the sender.
    pub(super) backlog: u64,
    /// Bytes that wait in the switch.
    pub(super) in_switch: u64,
    pub(super) reaction: Reaction,
    /// Bytes per second that the sender wants in this step.
    pub(super) wanted: u64,
    /// Bytes per second that it gets.
    pub(super) granted: u64,
    /// Bytes that reached the receiver's NIC in this step.
    pub(super) arrived: u64,
    /// The switch dropped some in this step.
    pub(super) lost: bool,
    offer: Carry,
    send: Carry,
    mark_parts: u64,
    next_cnp: u64,
    stuck_ns: u64,
    /// Bytes accepted from the application, ever.
    pub(super) offered: u64,
    /// Bytes that the switch dropped, ever.
    pub(super) dropped: u64,
}

impl Flow {
    /// A silent flow on a link of `line` bytes per second.
    pub(super) fn new(from: usize, uplink: usize, line: u64, roce: bool) -> Self {
        Self {
            from,
            uplink,
            roce,
            offered_rate: 0,
            window: line / 1_000,
            backlog: 0,
            in_switch: 0,
            reaction: Reaction::new(line),
            wanted: 0,
            granted: 0,
            arrived: 0,
            lost: false,
            offer: Carry::default(),
            send: Carry::default(),
            mark_parts: 0,
            next_cnp: 0,
            stuck_ns: 0,
            offered: 0,
            dropped: 0,
        }
    }

    /// Whether it sends or has anything under way.
    pub(super) const fn is_active(&self) -> bool {
        self.offered_rate > 0 || self.backlog > 0 || self.in_switch > 0
    }

    /// What it would send, in bytes per second.
    pub(super) fn wants(&self, held: bool, line: u64) -> u64 {
        if held {
            0
        } else {
            with_queue(self.offered_rate, self.backlog).min(self.reaction.rate()).min(line)
        }
    }

    /// Takes what the application makes in `dt`, then gives what leaves the sender.
    pub(super) fn advance_sender(&mut self, dt: u64) -> u64 {
        let smooth = self.backlog == 0 && self.granted == self.offered_rate;
        let made = self.offer.take(self.offered_rate, dt);
        let room = self.window.saturating_sub(self.backlog);
        let accepted = if smooth { made } else { made.min(room) };
        self.offered += accepted;
        self.backlog += accepted;
        let sent =
            if smooth { self.backlog } else { self.send.take(self.granted, dt).min(self.backlog) };
        self.backlog -= sent;
        sent
    }

    /// Marks of `bytes` that leave a queue with this marking probability.
    pub(super) fn mark(&mut self, bytes: u64, probability_ppm: u64, now: u64) -> Marks {
        self.mark_parts += bytes * probability_ppm;
        let per_packet = ROCE_PACKET_BYTES * PPM;
        let packets = self.mark_parts / per_packet;
        self.mark_parts %= per_packet;
        if packets == 0 || now < self.next_cnp {
            return Marks { packets, cnps: 0 };
        }
        let cnps = packets.min((now - self.next_cnp) / CNP_INTERVAL_NS + 1).min(2);
        self.next_cnp = now + CNP_INTERVAL_NS;
        Marks { packets, cnps }
    }

    /// Counts the time in which nothing of the flow moved; true when an ACK timer runs out.
    pub(super) const fn times_out(&mut self, dt: u64) -> bool {
        if self.arrived > 0 || (self.in_switch == 0 && self.backlog == 0) {
            self.stuck_ns = 0;
            return false;
        }
        self.stuck_ns += dt;
        if self.stuck_ns < ACK_TIMEOUT_NS {
            return false;
        }
        self.stuck_ns -= ACK_TIMEOUT_NS;
        true
    }
}

/// The flows to one receiver on one priority; those with something to do come first.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows {
    all: Vec<Flow>,
    busy: usize,
}

impl Flows {
    /// All flows there ever were.
    pub(super) fn all(&self) -> &[Flow] {
        &self.all
    }

    /// All flows there ever were.
    pub(super) fn all_mut(&mut self) -> &mut [Flow] {
        &mut self.all
    }

    /// The flows that had something to do when they were sorted. Only a new offer makes a flow busy, and it
    /// is followed by a sort.
    pub(super) fn busy(&self) -> &[Flow] {
        self.all.get(..self.busy).unwrap_or_default()
    }

    /// See [`Flows::busy`].
    pub(super) fn busy_mut(&mut self) -> &mut [Flow] {
        self.all.get_mut(..self.busy).unwrap_or_default()
    }

    /// Puts the busy flows first.
    pub(super) fn sort(&mut self) {
        self.all.sort_unstable_by_key(|flow| (!flow.is_active(), flow.from));
        self.busy = self.all.iter().filter(|flow| flow.is_active()).count();
    }

    /// The flow from a sender, made by `new` when there is none yet.
    pub(super) fn of_sender(
        &mut self,
        from: usize,
        new: impl FnOnce() -> Flow,
    ) -> Option<&mut Flow> {
        if !self.all.iter().any(|flow| flow.from == from) {
            self.all.push(new());
        }
        self.all.iter_mut().find(|flow| flow.from == from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carry_loses_nothing_over_odd_steps() {
        let mut carry = Carry::default();
        let total: u64 = (0..1_000).map(|_| carry.take(12_345_678_901, 777)).sum();
        assert_eq!(total, 12_345_678_901 * 777_000 / NANOS);
    }

    #[test]
    fn a_smooth_flow_leaves_no_backlog() {
        let mut flow = Flow::new(0, 0, 12_500_000_000, true);
        flow.offered_rate = 1_234_567;
        flow.granted = flow.wants(false, 12_500_000_000);
        let sent: u64 = (0..10_000).map(|_| flow.advance_sender(333)).sum();
        assert_eq!(flow.backlog, 0);
        assert_eq!(sent, flow.offered);
        assert_eq!(sent, 1_234_567 * 3_330_000 / NANOS);
    }

    #[test]
    fn a_held_flow_fills_its_window_and_no_more() {
        let mut flow = Flow::new(0, 0, 12_500_000_000, true);
        flow.offered_rate = 12_500_000_000;
        flow.granted = flow.wants(true, 12_500_000_000);
        for _ in 0..100 {
            assert_eq!(flow.advance_sender(100_000), 0);
        }
        assert_eq!(flow.backlog, 12_500_000);
        assert_eq!(flow.offered, 12_500_000);
    }

    #[test]
    fn at_most_one_cnp_leaves_per_interval() {
        let mut flow = Flow::new(0, 0, 12_500_000_000, true);
        let step = 10_000;
        let cnps: u64 = (1..=100).map(|round| flow.mark(1_000_000, PPM, round * step).cnps).sum();
        assert!((19..=21).contains(&cnps), "{cnps} CNPs in 1 ms");
    }

    #[test]
    fn a_stuck_flow_times_out_every_67_ms() {
        let mut flow = Flow::new(0, 0, 12_500_000_000, true);
        flow.backlog = 1;
        let timeouts = (0..10_000).filter(|_| flow.times_out(100_000)).count();
        assert_eq!(timeouts, 14);
    }
}
