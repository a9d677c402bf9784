//! Counters of RDMA devices: ECN and CNP first, then traffic, then health.
//!
//! Apart from the families of ECN and CNP, a name is `roce_` and the quantity's word. A counter of the whole
//! RDMA device has an empty `port`.

use super::{Family, Label};
use crate::export::family::{Askable, Split};
use crate::model::Quantity;

const RDMA: &[Label] = &[Label::Device, Label::RdmaDevice, Label::Port];
const RDMA_WAY: &[Label] = &[Label::Device, Label::RdmaDevice, Label::Port, Label::Direction];

const fn row(name: &'static str, quantity: Quantity, help: &'static str) -> Family {
    Family::counted(name, RDMA, quantity, Split::Whole, help)
}

/// A family whose counters some drivers split further.
const fn health(name: &'static str, quantity: Quantity, help: &'static str) -> Family {
    row(name, quantity, help).or_with(&[Label::Direction, Label::Kind])
}

const fn traffic(name: &'static str, quantity: Quantity, help: &'static str) -> Family {
    Family::counted(name, RDMA_WAY, quantity, Split::Whole, help).or_with(&[Label::Kind])
}

#[rustfmt::skip]
pub(super) const ROWS: &[Family] = &[
    row("roce_ecn_marked_packets", Quantity::RdmaEcnMarkedPackets,
        "RoCE packets that arrived with a CE mark: the network marked them on the way to this receiver, the NP \
         (mlx5 np_ecn_marked_roce_packets, bnxt rx_ecn_marked_pkts, irdma RxECNMrkd)")
        .asked_of(Askable::Rdma),
    row("roce_cnp_sent", Quantity::RdmaCnpSent,
        "CNPs that this receiver, the NP, sent to ask senders to slow down \
         (mlx5 np_cnp_sent, bnxt tx_cnp_pkts, irdma cnpSent)")
        .asked_of(Askable::Rdma),
    row("roce_cnp_handled", Quantity::RdmaCnpHandled,
        "CNPs received that made this sender, the RP, slow down (mlx5 rp_cnp_handled, irdma cnpHandled)")
        .asked_of(Askable::Rdma),
    row("roce_cnp_ignored", Quantity::RdmaCnpIgnored,
        "CNPs received that did not make this sender, the RP, slow down (mlx5 rp_cnp_ignored, irdma cnpIgnored)")
        .asked_of(Askable::Rdma),
    row("roce_cnp_received", Quantity::RdmaCnpReceived,
        "CNPs received by this sender, the RP, where the driver does not say whether they were handled \
         (bnxt rx_cnp_pkts, hns rx_cnp_pkt, ionic rx_rdma_cnp_pkts)")
        .asked_of(Askable::Rdma),
    traffic("roce_rdma_bytes", Quantity::RdmaBytes,
        "RDMA octets, never 4-byte words. tx = sent, rx = received by this port \
         (port_rcv_data, port_xmit_data, bnxt rx_bytes, irdma ip4InOctets)")
        .asked_of(Askable::Rdma),
    traffic("roce_rdma_packets", Quantity::RdmaPackets,
        "RDMA packets. tx = sent, rx = received by this port (port_rcv_packets, bnxt tx_pkts, irdma ip4OutPkts)"),
    health("roce_rdma_out_of_sequence", Quantity::RdmaOutOfSequence,
        "Packets that arrived out of sequence, at the responder: something was lost or reordered on the way \
         (mlx5 out_of_sequence, bnxt oos_drop_count)")
        .asked_of(Askable::Rdma),
    health("roce_rdma_seq_nak_received", Quantity::RdmaSeqNakReceived,
        "Sequence error NAKs received, at the requester (mlx5 packet_seq_err, bnxt seq_err_naks_rcvd)"),
    health("roce_rdma_seq_nak_sent", Quantity::RdmaSeqNakSent,
        "Sequence error NAKs sent, at the responder (ionic resp_tx_pkt_seq_err)"),
    health("roce_rdma_implied_nak", Quantity::RdmaImpliedNak,
        "A later response showed that an earlier one was lost (mlx5 implied_nak_seq_err, bnxt missing_resp)"),
    health("roce_rdma_timeout", Quantity::RdmaTimeout,
        "Local ACK timeouts, at the requester: no answer came in time (mlx5 local_ack_timeout_err, bnxt to_retransmits)")
        .asked_of(Askable::Rdma),
    health("roce_rdma_retransmit", Quantity::RdmaRetransmit,
        "Packets sent again (irdma RetransSegs, ionic tx_rdma_retx_pkts)"),
    health("roce_rdma_retransmit_bytes", Quantity::RdmaRetransmitBytes,
        "Octets sent again (ionic tx_rdma_retx_bytes)"),
    health("roce_rdma_adaptive_retransmit", Quantity::RdmaAdaptiveRetransmit,
        "Adaptive retransmissions (mlx5 roce_adp_retrans)"),
    health("roce_rdma_adaptive_retransmit_timeout", Quantity::RdmaAdaptiveRetransmitTimeout,
        "Adaptive retransmissions after a timeout (mlx5 roce_adp_retrans_to)"),
    health("roce_rdma_rnr_nak_received", Quantity::RdmaRnrNakReceived,
        "RNR NAKs received: the peer had no receive buffer posted (mlx5 rnr_nak_retry_err, bnxt rnr_naks_rcvd)"),
    health("roce_rdma_rnr_nak_sent", Quantity::RdmaRnrNakSent,
        "RNR NAKs sent: this side had no receive buffer posted (irdma RNR sent)"),
    health("roce_rdma_retry_exceeded", Quantity::RdmaRetryExceeded,
        "Requests whose retries were used up (mlx5 req_transport_retries_exceeded, bnxt max_retry_exceeded)"),
    health("roce_rdma_rnr_retry_exceeded", Quantity::RdmaRnrRetryExceeded,
        "Requests whose RNR retries were used up (mlx5 req_rnr_retries_exceeded)"),
    health("roce_rdma_out_of_buffer", Quantity::RdmaOutOfBuffer,
        "Arrivals without a posted receive buffer (mlx5 out_of_buffer, bnxt rx_out_of_buffer)")
        .asked_of(Askable::Rdma),
    health("roce_rdma_duplicate_request", Quantity::RdmaDuplicateRequest,
        "Requests that came twice, at the responder (mlx5 duplicate_request, bnxt dup_req)"),
    health("roce_rdma_duplicate_response", Quantity::RdmaDuplicateResponse,
        "Responses that came twice, at the requester (ionic req_rx_dup_response)"),
    health("roce_rdma_rx_write_requests", Quantity::RdmaRxWriteRequests,
        "RDMA write requests received (mlx5 rx_write_requests)"),
    health("roce_rdma_rx_read_requests", Quantity::RdmaRxReadRequests,
        "RDMA read requests received (mlx5 rx_read_requests)"),
    health("roce_rdma_rx_atomic_requests", Quantity::RdmaRxAtomicRequests,
        "RDMA atomic requests received (mlx5 rx_atomic_requests)"),
    health("roce_rdma_icrc_error", Quantity::RdmaIcrcError,
        "RoCE packets with a bad ICRC: changed on the way (mlx5 rx_icrc_encapsulated)"),
    health("roce_rdma_discards", Quantity::RdmaDiscards,
        "RDMA packets dropped. tx = on the way out, rx = on the way in (bnxt rx_roce_discards)"),
    health("roce_rdma_error_packets", Quantity::RdmaErrorPackets,
        "RDMA packets with errors; kind = the driver's word for them (bnxt rx_roce_errors, port_rcv_errors)"),
    health("roce_rdma_cqe_error", Quantity::RdmaCqeError,
        "Completions with an error (mlx5 req_cqe_error, resp_cqe_error)"),
    health("roce_rdma_cqe_flush_error", Quantity::RdmaCqeFlushError,
        "Completions flushed with an error, as when a queue pair is torn down (mlx5 req_cqe_flush_error)"),
    health("roce_rdma_remote_access_error", Quantity::RdmaRemoteAccessError,
        "Requests refused for access rights (mlx5 req_remote_access_errors)"),
    health("roce_rdma_remote_invalid_request", Quantity::RdmaRemoteInvalidRequest,
        "Requests refused as invalid (mlx5 req_remote_invalid_request)"),
    health("roce_rdma_remote_op_error", Quantity::RdmaRemoteOpError,
        "Operations that failed at the remote end (bnxt remote_op_err)"),
    health("roce_rdma_local_qp_op_error", Quantity::RdmaLocalQpOpError,
        "Local errors of a queue pair's operation (bnxt local_qp_op_err)"),
    health("roce_rdma_local_protection_error", Quantity::RdmaLocalProtectionError,
        "Local protection errors (bnxt local_protection_err)"),
    health("roce_rdma_local_length_error", Quantity::RdmaLocalLengthError,
        "Local length errors (mlx5 resp_local_length_error)"),
    health("roce_rdma_slow_restart", Quantity::RdmaSlowRestart,
        "Slow restarts (mlx5 roce_slow_restart)"),
    health("roce_rdma_slow_restart_cnp", Quantity::RdmaSlowRestartCnp,
        "CNPs made by slow restart (mlx5 roce_slow_restart_cnps)"),
    health("roce_rdma_symbol_error", Quantity::RdmaSymbolError,
        "Symbol errors of the port (symbol_error)"),
    health("roce_rdma_link_error_recovery", Quantity::RdmaLinkErrorRecovery,
        "Link recoveries of the port (link_error_recovery)"),
    health("roce_rdma_link_down_events", Quantity::RdmaLinkDownEvents,
        "The RDMA port's link went down (link_downed)"),
    health("roce_rdma_tx_wait_ticks", Quantity::RdmaTxWaitTicks,
        "Ticks in which the port had data to send and sent none (port_xmit_wait)"),
];
