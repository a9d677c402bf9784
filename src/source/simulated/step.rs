//! One step of the fluid model: rates, the time to the next threshold, and the move of the bytes.
//!
//! While something waits or is paused a step takes at most [`LONGEST_BUSY_NS`]. Thresholds end a step
//! exactly, as long as that does not happen too often: steps shorter than [`SHORT_NS`] are paid from a
//! credit that grows with simulated time, which bounds the cost. Without credit a threshold is passed
//! by up to [`SHORT_NS`], which the headroom of the buffers holds.

use super::flow::{Marks, with_queue};
use super::lane::{Downlink, StallDetector, Uplink, crossing};
use super::network::{Network, priority_of};
use super::port::Port;
use super::truth::RdmaTruth;
use crate::model::Direction;

/// Longest step while anything is queued or paused.
const LONGEST_BUSY_NS: u64 = 100_000;

/// Longest step when nothing is; keeps all products of the step within 64 bits.
const LONGEST_IDLE_NS: u64 = 50_000_000;

/// Steps below this are short.
const SHORT_NS: u64 = 50_000;

/// No step is shorter, unless the caller asks for a time in between.
const SHORTEST_NS: u64 = 200;

/// Simulated time that pays for one short step.
const SHORT_STEP_COST_NS: u64 = 200_000;

/// Short steps that can be saved up.
const SHORT_STEPS_SAVED: u64 = 32;

/// Percent of the stall timeout at which the NIC warns (mlx5's minor watermark).
const STALL_WARNING_PERCENT: u64 = 85;

impl Network {
    /// Advances by one step that ends at `until` at the latest.
    pub(super) fn step(&mut self, until: u64) {
        if !self.rates_hold {
            self.set_rates();
        }
        let dt = self.choose_step(until - self.now);
        self.busy = false;
        self.move_bytes(dt);
        let before = self.now;
        self.now += dt;
        self.update_uplinks(before);
        self.update_downlinks(before);
        self.update_ports(before);
        // Nothing waits and nothing will, so that only an event brings other rates.
        self.rates_hold = self.steady && !self.busy;
    }

    /// Sets all rates from the present state.
    fn set_rates(&mut self) {
        for port in &mut self.ports {
            port.uplink_demand = 0;
            port.downlink_demand = 0;
        }
        for lane in &self.active_uplinks {
            if let Some(uplink) = self.uplinks.get_mut(*lane) {
                uplink.inflow = 0;
                uplink.outflow = 0;
            }
        }
        self.steady = true;
        self.ask_senders();
        self.grant_senders();
        self.drain_queues();
    }

    fn ask_senders(&mut self) {
        for lane in &self.active_downlinks {
            let Some(downlink) = self.downlinks.get_mut(*lane) else { continue };
            for flow in downlink.flows.busy_mut() {
                let Some(port) = self.ports.get_mut(flow.from) else { continue };
                let held = self.uplinks.get(flow.uplink).is_some_and(|up| up.pause.is_held());
                flow.wanted = flow.wants(held, port.line);
                port.uplink_demand += flow.wanted;
            }
        }
    }

    fn grant_senders(&mut self) {
        for lane in &self.active_downlinks {
            let Some(downlink) = self.downlinks.get_mut(*lane) else { continue };
            downlink.inflow = 0;
            for flow in downlink.flows.busy_mut() {
                let Some(port) = self.ports.get(flow.from) else { continue };
                flow.granted = share(flow.wanted, port.line, port.uplink_demand);
                self.steady &= flow.granted >= flow.offered_rate;
                downlink.inflow += flow.granted;
                if let Some(uplink) = self.uplinks.get_mut(flow.uplink) {
                    uplink.inflow += flow.granted;
                }
            }
            let Some(port) = self.ports.get_mut(downlink.port) else { continue };
            let held = downlink.pause.is_held() || port.link_pause.is_held();
            let closed = held || (self.levers.stuck && downlink.lossless);
            downlink.wanted =
                if closed { 0 } else { with_queue(downlink.inflow, downlink.queue).min(port.line) };
            port.downlink_demand += downlink.wanted;
        }
    }

    fn drain_queues(&mut self) {
        for lane in &self.active_downlinks {
            let Some(downlink) = self.downlinks.get_mut(*lane) else { continue };
            let Some(port) = self.ports.get(downlink.port) else { continue };
            downlink.outflow = share(downlink.wanted, port.line, port.downlink_demand);
            downlink.drain = if downlink.stalls > 0 { 0 } else { port.drain() };
            self.steady &=
                downlink.inflow <= downlink.outflow && downlink.outflow <= downlink.drain;
            // Each flow leaves in proportion to its part of the queue, or of the inflow if there is none.
            let whole = if downlink.queue > 0 { downlink.queue } else { downlink.inflow };
            let Some(per_byte) = (downlink.outflow << 20).checked_div(whole) else { continue };
            for flow in downlink.flows.busy() {
                let fraction = if downlink.queue > 0 { flow.in_switch } else { flow.granted };
                if let Some(uplink) = self.uplinks.get_mut(flow.uplink) {
                    uplink.outflow += (fraction * per_byte) >> 20;
                }
            }
        }
    }

    /// How long the present rates may last.
    fn choose_step(&mut self, most: u64) -> u64 {
        let calm = self.steady && !self.busy;
        let longest = if calm { LONGEST_IDLE_NS } else { LONGEST_BUSY_NS };
        let can_pay = self.short_credit >= SHORT_STEP_COST_NS;
        let event = if calm { u64::MAX } else { self.next_crossing() };
        let shortest = if can_pay { SHORTEST_NS } else { SHORT_NS };
        let wished = event.clamp(shortest, longest);
        let dt = wished.min(most);
        if wished < SHORT_NS && dt == wished {
            self.short_credit -= SHORT_STEP_COST_NS;
        }
        let saved = SHORT_STEPS_SAVED * SHORT_STEP_COST_NS;
        self.short_credit = (self.short_credit + dt).min(saved);
        dt
    }

    /// Nanoseconds until the first buffer crosses a threshold.
    fn next_crossing(&self) -> u64 {
        let mut first = u64::MAX;
        for lane in &self.active_downlinks {
            let Some(downlink) = self.downlinks.get(*lane) else { continue };
            let Some(port) = self.ports.get(downlink.port) else { continue };
            if !downlink.lossless && !port.link_pause_on {
                continue;
            }
            let given_up = downlink.stall == StallDetector::Tripped;
            let asked = downlink.pause.is_asked() || port.link_pause.is_asked() || given_up;
            let Downlink { fill, outflow, drain, thresholds, .. } = *downlink;
            first = first.min(crossing(fill, outflow, drain, thresholds, asked));
            if let Some(at) = downlink.pause.obeyed_at() {
                first = first.min(at.saturating_sub(self.now));
            }
        }
        for lane in &self.active_uplinks {
            let Some(uplink) = self.uplinks.get(*lane).filter(|uplink| uplink.lossless) else {
                continue;
            };
            let Uplink { fill, inflow, outflow, thresholds, .. } = *uplink;
            let asked = uplink.pause.is_asked();
            first = first.min(crossing(fill, inflow, outflow, thresholds, asked));
        }
        first
    }

    fn move_bytes(&mut self, dt: u64) {
        let end = self.now + dt;
        for lane in &self.active_downlinks {
            let Some(downlink) = self.downlinks.get_mut(*lane) else { continue };
            let smooth = downlink.queue == 0 && downlink.inflow <= downlink.outflow;
            let Some(port) = self.ports.get(downlink.port) else { continue };
            // By what stands in the queue; what comes and goes within the step does not wait.
            let ppm = if self.levers.marking { port.marking_ppm(downlink.queue) } else { 0 };
            let waiting = send(downlink, &mut self.uplinks, &mut self.ports, dt);
            let leaving = if smooth {
                downlink.queue
            } else {
                downlink.leave.take(downlink.outflow, dt).min(downlink.queue)
            };
            let arrived = leave(downlink, &mut self.uplinks, leaving);
            let excess = downlink.receive(arrived, dt);
            self.busy |= waiting || downlink.queue > 0 || downlink.fill > 0;
            let arrival = Arrival { excess, ppm, dt, end, cnp_delivery: self.levers.cnp_delivery };
            let notes = arrival.note(downlink, &mut self.ports);
            if let Some(port) = self.ports.get_mut(downlink.port) {
                notes.add_to(&mut port.rdma);
            }
        }
    }

    fn update_uplinks(&mut self, before: u64) {
        let now = self.now;
        for lane in &self.active_uplinks {
            let Some(uplink) = self.uplinks.get_mut(*lane) else { continue };
            uplink.pause.elapse(before, now);
            if uplink.lossless && uplink.fill >= uplink.thresholds.xoff {
                uplink.pause.ask(now);
            } else if uplink.fill <= uplink.thresholds.xon {
                uplink.pause.release();
            }
            let edge = uplink.pause.settle(now);
            self.busy |= uplink.pause.is_asked();
            if let Some(port) = self.ports.get_mut(uplink.port).filter(|_| edge.is_some()) {
                port.note(edge, now, priority_of(*lane), Direction::Rx);
            }
        }
    }

    fn update_downlinks(&mut self, before: u64) {
        let now = self.now;
        for lane in &self.active_downlinks {
            let Some(downlink) = self.downlinks.get_mut(*lane) else { continue };
            let Some(port) = self.ports.get_mut(downlink.port) else { continue };
            downlink.pause.elapse(before, now);
            let full = downlink.fill >= downlink.thresholds.xoff;
            let filled = downlink.fill > downlink.thresholds.xon;
            port.buffer_full |= full;
            port.buffer_filled |= filled;
            guard_against_stall(downlink, port, now);
            let may_ask = downlink.lossless
                && !port.link_pause_on
                && downlink.stall != StallDetector::Tripped;
            let edge = if full && may_ask {
                downlink.pause.ask(now)
            } else if !filled || !may_ask {
                downlink.pause.release()
            } else {
                None
            };
            port.note(edge, now, priority_of(*lane), Direction::Tx);
            downlink.pause.settle(now);
            self.busy |= downlink.pause.is_asked();
            let alarming = downlink.fill > downlink.thresholds.alarm();
            if alarming && !downlink.alarming {
                port.buffer_alarms += 1;
            }
            downlink.alarming = alarming;
        }
    }

    fn update_ports(&mut self, before: u64) {
        let now = self.now;
        for port in &mut self.ports {
            port.elapse(before, now);
            let edge = if port.link_pause_on && port.buffer_full {
                port.link_pause.ask(now)
            } else if !port.buffer_filled {
                port.link_pause.release()
            } else {
                None
            };
            port.note(edge, now, None, Direction::Tx);
            port.link_pause.settle(now);
            self.busy |= port.link_pause.is_asked();
            port.buffer_full = false;
            port.buffer_filled = false;
        }
    }
}

/// What the flows of a lane tell both ends after a step.
struct Arrival {
    /// Bytes dropped on arrival.
    excess: u64,
    /// Marking probability in the queue.
    ppm: u64,
    dt: u64,
    end: u64,
    cnp_delivery: bool,
}

/// What a step adds to the RDMA counters of the receiver.
#[derive(Default)]
struct Notes {
    rx_bytes: u64,
    ecn_marked: u64,
    cnp_sent: u64,
    out_of_sequence: u64,
    discarded_bytes: u64,
}

impl Notes {
    const fn add_to(&self, rdma: &mut RdmaTruth) {
        rdma.rx_bytes += self.rx_bytes;
        rdma.ecn_marked += self.ecn_marked;
        rdma.cnp_sent += self.cnp_sent;
        rdma.out_of_sequence += self.out_of_sequence;
        rdma.discarded_bytes += self.discarded_bytes;
    }
}

impl Arrival {
    fn note(&self, downlink: &mut Downlink, ports: &mut [Port]) -> Notes {
        let mut notes = Notes::default();
        for flow in downlink.flows.busy_mut().iter_mut().filter(|flow| flow.roce) {
            notes.rx_bytes += flow.arrived;
            notes.discarded_bytes = self.excess;
            let marks = match (self.ppm, flow.arrived) {
                (0, _) | (_, 0) => Marks::default(),
                (ppm, arrived) => flow.mark(arrived, ppm, self.end),
            };
            notes.ecn_marked += marks.packets;
            notes.cnp_sent += marks.cnps;
            let lost = flow.lost || (self.excess > 0 && flow.arrived > 0);
            notes.out_of_sequence += u64::from(lost);
            let handled = if self.cnp_delivery { marks.cnps } else { 0 };
            if handled > 0 {
                flow.reaction.on_cnp(self.end);
            }
            flow.reaction.recover(self.end);
            let timed_out = flow.times_out(self.dt);
            if (lost || timed_out || handled > 0)
                && let Some(sender) = ports.get_mut(flow.from)
            {
                sender.rdma.cnp_handled += handled;
                sender.rdma.sequence_naks += u64::from(lost);
                sender.rdma.timeouts += u64::from(timed_out);
            }
        }
        notes
    }
}

/// Moves what the senders send into the switch; true when something still waits in a sender.
fn send(downlink: &mut Downlink, uplinks: &mut [Uplink], ports: &mut [Port], dt: u64) -> bool {
    let mut waiting = false;
    for flow in downlink.flows.busy_mut() {
        let sent = flow.advance_sender(dt);
        waiting |= flow.backlog > 0;
        if sent == 0 {
            continue;
        }
        let Some(uplink) = uplinks.get_mut(flow.uplink) else { continue };
        uplink.sent += sent;
        uplink.fill += sent;
        flow.in_switch += sent;
        downlink.queue += sent;
        if let Some(sender) = ports.get_mut(flow.from).filter(|_| flow.roce) {
            sender.rdma.tx_bytes += sent;
        }
    }
    waiting
}

/// Moves about `leaving` bytes out of the queue, from each flow in proportion; gives the exact number.
/// What the switch then cannot hold is dropped.
fn leave(downlink: &mut Downlink, uplinks: &mut [Uplink], leaving: u64) -> u64 {
    let all = leaving == downlink.queue;
    let mut total = 0;
    let mut dropped = 0;
    for flow in downlink.flows.busy_mut() {
        flow.arrived = if all {
            flow.in_switch
        } else {
            (flow.in_switch * leaving).checked_div(downlink.queue).unwrap_or(0)
        };
        flow.in_switch -= flow.arrived;
        total += flow.arrived;
        if let Some(uplink) = uplinks.get_mut(flow.uplink) {
            uplink.fill -= flow.arrived;
            let excess = uplink.excess().min(flow.in_switch);
            uplink.fill -= excess;
            flow.in_switch -= excess;
            flow.dropped += excess;
            flow.lost = excess > 0;
            dropped += excess;
        }
    }
    downlink.queue -= total + dropped;
    total
}

/// Watches how long a NIC has been pausing: it warns, then stops pausing.
fn guard_against_stall(downlink: &mut Downlink, port: &mut Port, now: u64) {
    if downlink.fill <= downlink.thresholds.xon {
        downlink.stall = StallDetector::Calm;
    }
    let (Some(timeout), Some(since)) = (port.spec.stall_timeout_ns, downlink.pause.asked_since())
    else {
        return;
    };
    let lasted = now - since;
    if downlink.stall == StallDetector::Calm && lasted >= timeout / 100 * STALL_WARNING_PERCENT {
        downlink.stall = StallDetector::Warned;
        port.stall_warnings += 1;
    }
    if downlink.stall == StallDetector::Warned && lasted >= timeout {
        downlink.stall = StallDetector::Tripped;
        port.stall_errors += 1;
    }
}

/// `wanted` scaled down when all wishes together exceed the line.
const fn share(wanted: u64, line: u64, demand: u64) -> u64 {
    if demand <= line { wanted } else { (wanted * ((line << 16) / demand)) >> 16 }
}
