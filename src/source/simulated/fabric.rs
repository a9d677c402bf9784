//! The fabric as a whole: time goes on, scripts and chance act, and everything can be asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::cast::{Member, Nic, members};
use super::director::{Act, Disturbance, DisturbanceKind, Load, Timeline, Turn, draw};
use super::drivers::Presence;
use super::loads::base_loads;
use super::network::{Levers, Network};
use super::pause::Obedience;
use super::scenario::{Change, Class, Micros, Scenario};
use super::scenarios::{BACKGROUND, LOSSLESS};
use super::truth::{Balance, EdgeRing, NicTruth, PauseTruth};
use super::view::View;
use crate::model::{Monotonic, Priority, saturating_nanos};

/// How often a NIC gets another load.
const REDRAW: Micros = Micros(150_000, 400_000);

const SECOND: Duration = Duration::from_secs(1);

/// Hosts on a switch, their traffic, and what their drivers show of it.
pub struct Fabric {
    network: Network,
    views: Vec<View>,
    /// When each view's driver refreshes its statistics next.
    refreshes: Vec<u64>,
    timeline: Timeline,
    disturbances: Vec<Disturbance>,
    loads: Vec<Load>,
    lossless: Priority,
    rng: fastrand::Rng,
    next_redraw: u64,
    next_second: u64,
    next_event: u64,
    next_ifindex: u32,
    names_epoch: Arc<AtomicU64>,
}

impl Fabric {
    /// A fabric whose scripts are those of `timeline`, which starts at the same time.
    pub(super) fn new(timeline: Timeline, seed: u64, hosts: usize, start: Monotonic) -> Self {
        let members = members(hosts);
        let specs: Vec<_> = members.iter().map(Member::port_spec).collect();
        let now = start.as_nanos();
        let mut network = Network::new(&specs);
        network.now = now;
        let mut fabric = Self {
            loads: base_loads(&members),
            refreshes: members.iter().map(|member| next_refresh(member, now)).collect(),
            views: Vec::with_capacity(members.len()),
            network,
            timeline,
            disturbances: Vec::new(),
            lossless: LOSSLESS,
            rng: fastrand::Rng::with_seed(seed),
            next_redraw: now,
            next_second: now + saturating_nanos(SECOND),
            next_event: now,
            next_ifindex: 2,
            names_epoch: Arc::default(),
        };
        for member in members {
            let ifindex = fabric.new_ifindex();
            fabric.views.push(View::new(member, ifindex));
        }
        for change in BACKGROUND {
            fabric.disturb(*change, false);
        }
        fabric.set_pfc();
        fabric.handle_events();
        fabric
    }

    /// The fabric's present.
    #[must_use]
    pub const fn now(&self) -> Monotonic {
        Monotonic::from_nanos(self.network.now)
    }

    /// Lets time go on until `now`. Earlier times change nothing.
    ///
    /// What a step cannot resolve depends on where reads cut it: the same seed read at the same times
    /// gives the same figures to the last byte.
    pub fn advance_to(&mut self, now: Monotonic) {
        let end = now.as_nanos();
        while self.network.now < end {
            self.network.step(end.min(self.next_event));
            if self.network.now >= self.next_event {
                self.handle_events();
            }
        }
    }

    /// What really happened at a NIC, by host and place, both from 0.
    #[must_use]
    pub fn truth(&self, host: usize, place: usize) -> Option<NicTruth> {
        self.port(Nic { host, place }).map(|port| self.network.truth(port))
    }

    /// The last pause edges of a NIC.
    #[must_use]
    pub fn edges(&self, host: usize, place: usize) -> Option<&EdgeRing> {
        let port = self.network.ports.get(self.port(Nic { host, place })?)?;
        Some(&port.edges)
    }

    /// What the switch port felt of a NIC's pause on a priority: how long it really held.
    #[must_use]
    pub fn switch_held(&self, host: usize, place: usize, priority: Priority) -> Option<PauseTruth> {
        let port = self.port(Nic { host, place })?;
        Some(self.network.switch_held(port, priority))
    }

    /// The pause that the switch port asked of a NIC on a priority, heard or not.
    #[must_use]
    pub fn switch_asked(
        &self,
        host: usize,
        place: usize,
        priority: Priority,
    ) -> Option<PauseTruth> {
        let port = self.port(Nic { host, place })?;
        Some(self.network.switch_truth(port).priority(priority).tx)
    }

    /// What really happened at the switch port that the NIC at `port` hangs on.
    pub(super) fn switch_truth(&self, port: usize) -> NicTruth {
        self.network.switch_truth(port)
    }

    /// The priorities with PFC at the switch's end, as a mask.
    pub(super) fn switch_pfc(&self, port: usize) -> u8 {
        let set = self.network.ports.get(port).and_then(|port| port.switch_pfc);
        let nic = || self.views.get(port).map_or(0, |view| view.presence().pfc_mask());
        set.unwrap_or_else(nic)
    }

    /// Where all bytes are.
    #[must_use]
    pub fn balance(&self) -> Balance {
        self.network.balance()
    }

    /// The NICs of all hosts, as host and place.
    pub fn nics(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.views.iter().map(|view| (view.member.nic.host, view.member.nic.place))
    }

    /// The scenario that is on now.
    #[must_use]
    pub fn scenario(&self) -> Option<&'static Scenario> {
        self.timeline.scenario()
    }

    /// Moves at the instant at which a set of names or the set of devices changes.
    #[must_use]
    pub fn names_epoch(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.names_epoch)
    }

    pub(super) fn port(&self, nic: Nic) -> Option<usize> {
        self.views.iter().position(|view| view.member.nic == nic)
    }

    pub(super) fn views(&self) -> &[View] {
        &self.views
    }

    /// A view with the means to look at the truth behind it.
    pub(super) fn view_and_truth(
        &mut self,
        port: usize,
    ) -> Option<(&mut View, impl FnOnce() -> NicTruth + '_)> {
        let network = &self.network;
        self.views.get_mut(port).map(|view| (view, move || network.truth(port)))
    }

    fn new_ifindex(&mut self) -> u32 {
        self.next_ifindex += 1;
        self.next_ifindex - 1
    }

    fn note_names_change(&self) {
        self.names_epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// Does everything that is due and finds when something is due again.
    fn handle_events(&mut self) {
        let now = self.network.now;
        self.refresh_statistics(now);
        let mut loads_changed = self.redraw_loads(now);
        while let Some(turn) = self.timeline.turn(now) {
            match turn {
                Turn::Restore => self.restore(),
                Turn::Make(change) => self.make(change),
            }
            loads_changed = true;
        }
        loads_changed |= self.play_disturbances(now);
        if loads_changed {
            self.lay_loads();
        }
        self.network.rates_hold = false;
        self.next_event = self.find_next_event();
    }

    fn find_next_event(&self) -> u64 {
        let disturbances = self.disturbances.iter().map(|disturbance| disturbance.next);
        let refreshes = self.refreshes.iter().copied();
        let fixed = [self.next_redraw, self.next_second, self.timeline.next_at()];
        disturbances.chain(refreshes).chain(fixed).min().unwrap_or(u64::MAX)
    }

    fn refresh_statistics(&mut self, now: u64) {
        for (port, (view, next)) in self.views.iter_mut().zip(&mut self.refreshes).enumerate() {
            if *next <= now {
                view.publish(&self.network.truth(port));
                *next = next_refresh(&view.member, now);
            }
        }
        if self.next_second <= now {
            self.next_second += saturating_nanos(SECOND);
            for port in &mut self.network.ports {
                port.close_second();
            }
        }
    }

    fn redraw_loads(&mut self, now: u64) -> bool {
        if self.next_redraw > now {
            return false;
        }
        self.next_redraw = now + draw(&mut self.rng, REDRAW);
        let from = self.rng.usize(0..self.views.len());
        for load in self.loads.iter_mut().filter(|load| load.from == from && !load.scripted) {
            load.factor = self.rng.u64(60..=140);
        }
        true
    }

    fn play_disturbances(&mut self, now: u64) -> bool {
        let mut bursts_changed = false;
        for disturbance in &mut self.disturbances {
            while disturbance.next <= now {
                let due = disturbance.next;
                let scope = (self.views.len(), self.lossless);
                let (ended, begun) = disturbance.turn(due, scope, &mut self.rng);
                if let Some(Act::Stall { lane }) = ended {
                    self.network.count_stall(lane, false);
                }
                if let Some(Act::Stall { lane }) = begun {
                    self.network.count_stall(lane, true);
                }
                bursts_changed |= matches!(ended.or(begun), Some(Act::Burst { .. }));
            }
        }
        bursts_changed
    }

    /// Lays all loads on the network anew.
    fn lay_loads(&mut self) {
        self.network.clear_offers();
        for load in &self.loads {
            let rate = load.rate * load.factor / 100;
            let priority = load.class.priority(self.lossless);
            self.network.add_offer(load.from, load.to, priority, rate);
        }
        for disturbance in &self.disturbances {
            if let Some(Act::Burst { to, first, count, percent }) = disturbance.act {
                let burst = (to, first, count, percent);
                lay_burst(&mut self.network, &self.views, self.lossless, burst);
            }
        }
        self.network.find_active();
    }

    fn disturb(&mut self, change: Change, scripted: bool) {
        let (kind, spans) = match change {
            Change::Bursts { to, senders, percent, every, lasts } => {
                let to = to.and_then(|nic| self.port(nic));
                (DisturbanceKind::Bursts { to, senders, percent }, (every, lasts))
            }
            Change::Stalls { nic, class, every, lasts } => {
                let port = nic.and_then(|nic| self.port(nic));
                (DisturbanceKind::Stalls { port, class }, (every, lasts))
            }
            _ => return,
        };
        let now = self.network.now;
        let disturbance = Disturbance::new(kind, spans, scripted, now, &mut self.rng);
        self.disturbances.push(disturbance);
    }

    /// Makes one change of a script.
    fn make(&mut self, change: Change) {
        match change {
            Change::Bursts { .. } | Change::Stalls { .. } => self.disturb(change, true),
            Change::Offer { from, to, class, percent } => self.offer(from, to, class, percent),
            Change::Drain { nic, percent } => self.drain(nic, Some(percent)),
            Change::DrainAll { nic } => self.drain(nic, None),
            Change::Marking(on) => self.network.levers.marking = on,
            Change::CnpDelivery(on) => self.network.levers.cnp_delivery = on,
            Change::PeerIgnores { nic } => {
                self.obey(nic, Obedience::Never);
                self.set_switch_pfc(nic, 0);
            }
            Change::Ignores { nic } => self.ignore(nic),
            Change::PeerPfc { nic, priority } => self.peer_pfc(nic, priority),
            Change::Mtu { nic, bytes } => {
                let port = self.port(nic);
                if let Some(view) = port.and_then(|port| self.views.get_mut(port)) {
                    view.set_mtu(bytes);
                }
            }
            Change::PeerLags { nic, micros } => self.obey(nic, Obedience::After(micros * 1_000)),
            Change::Stuck(on) => self.network.levers.stuck = on,
            Change::LinkPause { nic } => self.link_pause(nic),
            Change::LosslessPriority(priority) => {
                self.lossless = priority;
                self.set_pfc();
            }
            Change::ExtraPfc { nic, priority } => self.extra_pfc(nic, priority),
            Change::Reading { nic, trouble } => {
                let ifindex = self.new_ifindex();
                let Some(port) = self.port(nic) else { return };
                let live = self.network.truth(port);
                let changed = self
                    .views
                    .get_mut(port)
                    .is_some_and(|view| view.suffer(trouble, &live, ifindex));
                if changed {
                    self.note_names_change();
                }
            }
        }
    }

    fn offer(&mut self, from: Nic, to: Nic, class: Class, percent: u64) {
        let (Some(from), Some(to)) = (self.port(from), self.port(to)) else { return };
        let rate = slower(&self.views, from, to) * percent / 100;
        self.loads.push(Load { from, to, class, rate, factor: 100, scripted: true });
    }

    fn drain(&mut self, nic: Nic, percent: Option<u64>) {
        let port = self.port(nic);
        if let Some(port) = port.and_then(|port| self.network.ports.get_mut(port)) {
            port.set_drain(percent);
        }
    }

    fn obey(&mut self, nic: Nic, obedience: Obedience) {
        if let Some(port) = self.port(nic) {
            self.network.set_obedience(port, obedience);
        }
    }

    fn set_switch_pfc(&mut self, nic: Nic, mask: u8) {
        let port = self.port(nic);
        if let Some(port) = port.and_then(|port| self.network.ports.get_mut(port)) {
            port.switch_pfc = Some(mask);
        }
    }

    /// Turns PFC off at the NIC; its switch port goes on to ask for pause.
    fn ignore(&mut self, nic: Nic) {
        let Some(port) = self.port(nic) else { return };
        for priority in Priority::ALL {
            let deaf_nic = (Obedience::AtOnce, Obedience::Never);
            self.network.set_lane_obedience(port, priority, deaf_nic);
            self.network.set_downlink_pfc(port, priority, false);
        }
        self.set_switch_pfc(nic, 1 << self.lossless.number());
        self.change_presence(port, |presence| presence.pfc = [false; Priority::COUNT]);
        self.network.withdraw_pauses();
    }

    /// Either end hears only pause on the priorities that it has PFC on.
    fn peer_pfc(&mut self, nic: Nic, priority: Priority) {
        let Some(port) = self.port(nic) else { return };
        let deaf_switch = (Obedience::Never, Obedience::AtOnce);
        self.network.set_lane_obedience(port, self.lossless, deaf_switch);
        self.network.set_lane_obedience(port, priority, (Obedience::AtOnce, Obedience::Never));
        self.network.set_uplink_pfc(port, self.lossless, false);
        self.network.set_uplink_pfc(port, priority, true);
        self.set_switch_pfc(nic, 1 << priority.number());
        self.network.withdraw_pauses();
    }

    fn link_pause(&mut self, nic: Nic) {
        let Some(position) = self.port(nic) else { return };
        if let Some(port) = self.network.ports.get_mut(position) {
            port.link_pause_on = true;
        }
        self.network.withdraw_pauses();
        self.change_presence(position, |presence| presence.link_pause = true);
    }

    fn extra_pfc(&mut self, nic: Nic, priority: Priority) {
        let Some(port) = self.port(nic) else { return };
        self.network.set_pfc(port, priority, true);
        self.change_presence(port, |presence| {
            if let Some(on) = presence.pfc.get_mut(priority.position()) {
                *on = true;
            }
        });
    }

    fn change_presence(&mut self, port: usize, change: impl FnOnce(&mut Presence)) {
        let Some(view) = self.views.get_mut(port) else { return };
        let mut presence = view.presence();
        change(&mut presence);
        if view.set_presence(presence) {
            self.note_names_change();
        }
    }

    /// Makes the lossless priority, and no other, the one with PFC everywhere.
    fn set_pfc(&mut self) {
        for port in 0..self.views.len() {
            let mut pfc = [false; Priority::COUNT];
            for (priority, on) in Priority::ALL.into_iter().zip(&mut pfc) {
                *on = priority == self.lossless;
                self.network.set_pfc(port, priority, *on);
            }
            self.change_presence(port, |presence| presence.pfc = pfc);
        }
        self.network.withdraw_pauses();
    }

    /// Takes back all that scripts have done. Counters that were reset or set near their end stay so.
    fn restore(&mut self) {
        for disturbance in self.disturbances.iter().filter(|disturbance| disturbance.scripted) {
            if let Some(Act::Stall { lane }) = disturbance.act {
                self.network.count_stall(lane, false);
            }
        }
        self.disturbances.retain(|disturbance| !disturbance.scripted);
        self.loads.retain(|load| !load.scripted);
        self.network.levers = Levers::default();
        self.lossless = LOSSLESS;
        for port in 0..self.views.len() {
            self.network.set_obedience(port, Obedience::AtOnce);
            if let Some(shared) = self.network.ports.get_mut(port) {
                shared.set_drain(None);
                shared.link_pause_on = false;
                shared.switch_pfc = None;
            }
            self.change_presence(port, |presence| presence.link_pause = false);
            let live = self.network.truth(port);
            let ifindex = self.new_ifindex();
            if self.views.get_mut(port).is_some_and(|view| view.restore(&live, ifindex)) {
                self.note_names_change();
            }
        }
        self.set_pfc();
    }
}

/// When a driver refreshes its statistics after `now`; never for one that is read live.
fn next_refresh(member: &Member, now: u64) -> u64 {
    member.driver.refresh.map_or(u64::MAX, |period| now.saturating_add(saturating_nanos(period)))
}

/// Bytes per second of the slower of two links.
fn slower(views: &[View], from: usize, to: usize) -> u64 {
    let line = |port: usize| views.get(port).map_or(0, |view| view.member.bits_per_second / 8);
    line(from).min(line(to))
}

/// Adds a burst: receiver, first sender, number of senders, percent of the slower link.
fn lay_burst(
    network: &mut Network,
    views: &[View],
    lossless: Priority,
    (to, first, count, percent): (usize, usize, usize, u64),
) {
    let Some(receiver) = views.get(to) else { return };
    let ring = views.iter().enumerate().cycle().skip(first).take(views.len());
    let senders = ring.filter(|(_, view)| view.member.nic.host != receiver.member.nic.host);
    for (from, _) in senders.take(count) {
        let rate = slower(views, from, to) * percent / 100;
        network.add_offer(from, to, lossless, rate);
    }
}
