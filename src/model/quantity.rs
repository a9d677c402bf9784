//! Everything that can be measured, with the word that the catalogue uses for it.

/// Whether a reading accumulates or is a state of the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReadingKind {
    /// Only grows, but for wraps and resets.
    Counter,
    /// Goes both ways: never a rate of it.
    Gauge,
}

macro_rules! quantities {
    ($($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+) => {
        /// What a counter counts. How it is split (priority, direction, reason) is beside it in a
        /// [`super::CounterKey`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Quantity { $($(#[doc = $doc])+ $variant,)+ }

        impl Quantity {
            /// All quantities.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The catalogue's word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The quantity of a catalogue word.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

quantities! {
    /// PFC frames that pause a class: XOFF where the driver splits, else XOFF and XON together.
    PfcPauseFrames = "pfc_pause_frames",
    /// PFC frames that release a class (XON), where split.
    PfcResumeFrames = "pfc_resume_frames",
    /// Time a class was paused.
    PfcPauseTime = "pfc_pause_time",
    /// Edges of a class's pause state.
    PfcPauseTransitions = "pfc_pause_transitions",
    /// PFC frames without a class split.
    PfcFrames = "pfc_frames",
    /// The NIC's own stall detector; detail: severity.
    PfcStallEvents = "pfc_stall_events",
    /// The NIC saw pause without end, or its end; detail: `any_start`, `any_end`, `roce_start`, `roce_end`.
    ContinuousPauseEvents = "continuous_pause_events",
    /// 802.3x frames: XOFF where split.
    LinkPauseFrames = "link_pause_frames",
    /// 802.3x XON frames, where split.
    LinkResumeFrames = "link_resume_frames",
    /// Time the link was paused by 802.3x.
    LinkPauseTime = "link_pause_time",
    /// Edges of the link's 802.3x pause state.
    LinkPauseTransitions = "link_pause_transitions",
    /// PAUSE opcode frames at the MAC, which on some hardware hold PFC frames too.
    MacPauseFrames = "mac_pause_frames",
    /// All MAC control frames.
    MacControlFrames = "mac_control_frames",
    /// Octets.
    Bytes = "bytes",
    /// Packets.
    Packets = "packets",
    /// Drops; detail: reason.
    Discards = "discards",
    /// Packets that this device marked with CE.
    EcnMarkedByDevice = "ecn_marked_by_device",
    /// CE packets in the netdev's software path; RDMA is not in it.
    EcnCeReceived = "ecn_ce_received",
    /// The receive buffer passed its threshold.
    BufferThresholdEvents = "buffer_threshold_events",
    /// Seconds in which PCIe held the NIC back for more than the device's threshold; detail: operation.
    PcieStalledTime = "pcie_stalled_time",
    /// Share of the last second in which PCIe held the NIC back; detail: operation.
    PcieStalledRatio = "pcie_stalled_ratio",
    /// Packets dropped since the PCIe buffer was full.
    PcieBufferOverflow = "pcie_buffer_overflow",
    /// RDMA octets of this function, counted by the netdev's driver.
    VportRdmaBytes = "vport_rdma_bytes",
    /// RDMA packets of this function, counted by the netdev's driver.
    VportRdmaPackets = "vport_rdma_packets",
    /// The link went down.
    LinkDownEvents = "link_down_events",

    /// RoCE packets that arrived CE marked (NP).
    RdmaEcnMarkedPackets = "rdma_ecn_marked_packets",
    /// CNPs sent (NP).
    RdmaCnpSent = "rdma_cnp_sent",
    /// CNPs that slowed a sender (RP).
    RdmaCnpHandled = "rdma_cnp_handled",
    /// CNPs that did not slow a sender (RP).
    RdmaCnpIgnored = "rdma_cnp_ignored",
    /// CNPs received, handled or not.
    RdmaCnpReceived = "rdma_cnp_received",
    /// RDMA octets.
    RdmaBytes = "rdma_bytes",
    /// RDMA packets.
    RdmaPackets = "rdma_packets",
    /// Packets that arrived out of sequence (responder).
    RdmaOutOfSequence = "rdma_out_of_sequence",
    /// Sequence error NAKs received (requester).
    RdmaSeqNakReceived = "rdma_seq_nak_received",
    /// Sequence error NAKs sent (responder).
    RdmaSeqNakSent = "rdma_seq_nak_sent",
    /// Implied NAKs: a later response made a lost one known.
    RdmaImpliedNak = "rdma_implied_nak",
    /// Local ACK timeouts (requester).
    RdmaTimeout = "rdma_timeout",
    /// Packets sent again.
    RdmaRetransmit = "rdma_retransmit",
    /// Octets sent again.
    RdmaRetransmitBytes = "rdma_retransmit_bytes",
    /// Adaptive retransmissions.
    RdmaAdaptiveRetransmit = "rdma_adaptive_retransmit",
    /// Adaptive retransmissions after a time-out.
    RdmaAdaptiveRetransmitTimeout = "rdma_adaptive_retransmit_timeout",
    /// RNR NAKs received.
    RdmaRnrNakReceived = "rdma_rnr_nak_received",
    /// RNR NAKs sent.
    RdmaRnrNakSent = "rdma_rnr_nak_sent",
    /// Retries used up.
    RdmaRetryExceeded = "rdma_retry_exceeded",
    /// RNR retries used up.
    RdmaRnrRetryExceeded = "rdma_rnr_retry_exceeded",
    /// Arrivals without a posted receive buffer.
    RdmaOutOfBuffer = "rdma_out_of_buffer",
    /// Requests that came twice.
    RdmaDuplicateRequest = "rdma_duplicate_request",
    /// Responses that came twice.
    RdmaDuplicateResponse = "rdma_duplicate_response",
    /// Write requests received.
    RdmaRxWriteRequests = "rdma_rx_write_requests",
    /// Read requests received.
    RdmaRxReadRequests = "rdma_rx_read_requests",
    /// Atomic requests received.
    RdmaRxAtomicRequests = "rdma_rx_atomic_requests",
    /// RoCE packets with a bad ICRC.
    RdmaIcrcError = "rdma_icrc_error",
    /// RDMA packets dropped.
    RdmaDiscards = "rdma_discards",
    /// Packets with errors; detail: the driver's name for them.
    RdmaErrorPackets = "rdma_error_packets",
    /// Completions with an error.
    RdmaCqeError = "rdma_cqe_error",
    /// Completions flushed with an error.
    RdmaCqeFlushError = "rdma_cqe_flush_error",
    /// Requests refused for access rights.
    RdmaRemoteAccessError = "rdma_remote_access_error",
    /// Requests refused as invalid.
    RdmaRemoteInvalidRequest = "rdma_remote_invalid_request",
    /// Operations that failed at the remote end.
    RdmaRemoteOpError = "rdma_remote_op_error",
    /// Local errors of a queue pair's operation.
    RdmaLocalQpOpError = "rdma_local_qp_op_error",
    /// Local protection errors.
    RdmaLocalProtectionError = "rdma_local_protection_error",
    /// Local length errors.
    RdmaLocalLengthError = "rdma_local_length_error",
    /// Slow restarts.
    RdmaSlowRestart = "rdma_slow_restart",
    /// CNPs generated by slow restart.
    RdmaSlowRestartCnp = "rdma_slow_restart_cnp",
    /// Symbol errors of the port.
    RdmaSymbolError = "rdma_symbol_error",
    /// Link recoveries of the port.
    RdmaLinkErrorRecovery = "rdma_link_error_recovery",
    /// The port's link went down.
    RdmaLinkDownEvents = "rdma_link_down_events",
    /// Ticks with data to send and nothing sent.
    RdmaTxWaitTicks = "rdma_tx_wait_ticks",
}
