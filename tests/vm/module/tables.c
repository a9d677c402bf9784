// SPDX-License-Identifier: GPL-2.0-only
/* The names that drivers give their counters, as far as the tests look at them; %u is each priority. */

#include "fabric_nic.h"

#define PLAIN(name) { name, SCOPE_ALWAYS, ROLE_PLAIN, DIRECTION_NONE }
#define EACH(name, role, direction) { name, SCOPE_ALWAYS, ROLE_##role, DIRECTION_##direction }
#define PFC(name, role, direction) { name, SCOPE_PFC, ROLE_##role, DIRECTION_##direction }
#define LINK(name) { name, SCOPE_LINK_PAUSE, ROLE_PLAIN, DIRECTION_NONE }
#define WIDE(name) { name, false, false }
#define NARROW(name) { name, true, false }
#define OPTIONAL(name) { name, false, true }

static const struct fabric_row mlx5_rows[] = {
	PLAIN("rx_packets"),
	PLAIN("rx_bytes"),
	PLAIN("tx_packets"),
	PLAIN("tx_bytes"),
	PLAIN("rx_ecn_mark"),
	PLAIN("rx_out_of_buffer"),
	PLAIN("rx_if_down_packets"),
	PLAIN("rx_steer_missed_packets"),
	PLAIN("rx_vport_rdma_unicast_packets"),
	PLAIN("rx_vport_rdma_unicast_bytes"),
	PLAIN("tx_vport_rdma_unicast_packets"),
	PLAIN("tx_vport_rdma_unicast_bytes"),
	PLAIN("rx_vport_rdma_multicast_packets"),
	PLAIN("rx_vport_rdma_multicast_bytes"),
	PLAIN("tx_vport_rdma_multicast_packets"),
	PLAIN("tx_vport_rdma_multicast_bytes"),
	PLAIN("tx_packets_phy"),
	PLAIN("rx_packets_phy"),
	PLAIN("tx_bytes_phy"),
	PLAIN("rx_bytes_phy"),
	PLAIN("tx_mac_control_phy"),
	PLAIN("rx_mac_control_phy"),
	PLAIN("rx_unsupported_op_phy"),
	PLAIN("rx_pause_ctrl_phy"),
	PLAIN("tx_pause_ctrl_phy"),
	PLAIN("rx_discards_phy"),
	PLAIN("tx_discards_phy"),
	PLAIN("tx_errors_phy"),
	PLAIN("rx_buffer_passed_thres_phy"),
	PLAIN("link_down_events_phy"),
	PLAIN("outbound_pci_stalled_rd"),
	PLAIN("outbound_pci_stalled_wr"),
	PLAIN("outbound_pci_stalled_rd_events"),
	PLAIN("outbound_pci_stalled_wr_events"),
	PLAIN("outbound_pci_buffer_overflow"),
	EACH("rx_prio%u_bytes", TRAFFIC, RX),
	EACH("rx_prio%u_packets", TRAFFIC, RX),
	EACH("rx_prio%u_discards", PLAIN, RX),
	EACH("tx_prio%u_bytes", TRAFFIC, TX),
	EACH("tx_prio%u_packets", TRAFFIC, TX),
	PFC("rx_prio%u_pause", FRAMES, RX),
	PFC("rx_prio%u_pause_duration", DURATION, RX),
	PFC("tx_prio%u_pause", FRAMES, TX),
	PFC("tx_prio%u_pause_duration", DURATION, TX),
	PFC("rx_prio%u_pause_transition", TRANSITIONS, RX),
	LINK("rx_global_pause"),
	LINK("rx_global_pause_duration"),
	LINK("tx_global_pause"),
	LINK("tx_global_pause_duration"),
	LINK("rx_global_pause_transition"),
	PLAIN("tx_pause_storm_warning_events"),
	PLAIN("tx_pause_storm_error_events"),
	EACH("rx_prio%u_buf_discard", PLAIN, RX),
	EACH("rx_prio%u_cong_discard", PLAIN, RX),
	EACH("rx_prio%u_marked", PLAIN, RX),
	{}
};

static const struct fabric_rdma_row mlx5_rdma_rows[] = {
	NARROW("rx_write_requests"),
	NARROW("rx_read_requests"),
	NARROW("rx_atomic_requests"),
	NARROW("rx_dct_connect"),
	NARROW("out_of_buffer"),
	NARROW("out_of_sequence"),
	NARROW("duplicate_request"),
	NARROW("rnr_nak_retry_err"),
	NARROW("packet_seq_err"),
	NARROW("implied_nak_seq_err"),
	NARROW("local_ack_timeout_err"),
	NARROW("resp_local_length_error"),
	NARROW("resp_cqe_error"),
	NARROW("req_cqe_error"),
	NARROW("req_remote_invalid_request"),
	NARROW("req_remote_access_errors"),
	NARROW("resp_remote_access_errors"),
	NARROW("resp_cqe_flush_error"),
	NARROW("req_cqe_flush_error"),
	NARROW("req_transport_retries_exceeded"),
	NARROW("req_rnr_retries_exceeded"),
	NARROW("roce_adp_retrans"),
	NARROW("roce_adp_retrans_to"),
	NARROW("roce_slow_restart"),
	NARROW("roce_slow_restart_cnps"),
	NARROW("roce_slow_restart_trans"),
	WIDE("rp_cnp_ignored"),
	WIDE("rp_cnp_handled"),
	WIDE("np_ecn_marked_roce_packets"),
	WIDE("np_cnp_sent"),
	WIDE("rx_icrc_encapsulated"),
	OPTIONAL("cc_rx_ce_pkts"),
	OPTIONAL("cc_rx_cnp_pkts"),
	OPTIONAL("cc_tx_cnp_pkts"),
	{}
};

static const struct fabric_row bnxt_rows[] = {
	PLAIN("rx_total_discard_pkts"),
	PLAIN("rx_total_ring_discards"),
	PLAIN("tx_total_ring_discards"),
	PLAIN("rx_total_frames"),
	PLAIN("rx_bytes"),
	PLAIN("rx_ctrl_frames"),
	PLAIN("rx_pause_frames"),
	{ "rx_pfc_frames", SCOPE_ALWAYS, ROLE_FRAMES, DIRECTION_RX },
	EACH("rx_pfc_ena_frames_pri%u", FRAMES, RX),
	PLAIN("rx_stat_discard"),
	PLAIN("tx_total_frames"),
	PLAIN("tx_bytes"),
	PLAIN("tx_pause_frames"),
	{ "tx_pfc_frames", SCOPE_ALWAYS, ROLE_FRAMES, DIRECTION_TX },
	EACH("tx_pfc_ena_frames_pri%u", FRAMES, TX),
	PLAIN("tx_xthol_frames"),
	PLAIN("tx_stat_discard"),
	PLAIN("link_down_events"),
	PLAIN("continuous_pause_events"),
	PLAIN("resume_pause_events"),
	PLAIN("continuous_roce_pause_events"),
	PLAIN("resume_roce_pause_events"),
	EACH("rx_bytes_cos%u", PLAIN, RX),
	EACH("rx_packets_cos%u", PLAIN, RX),
	EACH("pfc_pri%u_rx_duration_us", DURATION, RX),
	EACH("pfc_pri%u_rx_transitions", TRANSITIONS, RX),
	PLAIN("rx_buffer_passed_threshold"),
	EACH("rx_discard_packets_cos%u", PLAIN, RX),
	EACH("tx_bytes_cos%u", PLAIN, TX),
	EACH("pfc_pri%u_tx_duration_us", DURATION, TX),
	EACH("pfc_pri%u_tx_transitions", TRANSITIONS, TX),
	EACH("rx_bytes_pri%u", TRAFFIC, RX),
	EACH("rx_packets_pri%u", TRAFFIC, RX),
	EACH("tx_bytes_pri%u", TRAFFIC, TX),
	EACH("tx_packets_pri%u", TRAFFIC, TX),
	{}
};

static const struct fabric_rdma_row bnxt_rdma_rows[] = {
	WIDE("rx_pkts"),
	WIDE("rx_bytes"),
	WIDE("tx_pkts"),
	WIDE("tx_bytes"),
	WIDE("rx_roce_errors"),
	WIDE("rx_roce_discards"),
	WIDE("to_retransmits"),
	WIDE("seq_err_naks_rcvd"),
	WIDE("max_retry_exceeded"),
	WIDE("rnr_naks_rcvd"),
	WIDE("missing_resp"),
	WIDE("dup_req"),
	WIDE("oos_drop_count"),
	WIDE("rx_out_of_buffer"),
	WIDE("tx_cnp_pkts"),
	WIDE("rx_cnp_pkts"),
	WIDE("rx_ecn_marked_pkts"),
	{}
};

static const struct fabric_row ice_rows[] = {
	PLAIN("rx_unicast"),
	PLAIN("rx_bytes"),
	PLAIN("rx_dropped"),
	PLAIN("rx_bytes.nic"),
	PLAIN("tx_bytes.nic"),
	PLAIN("rx_dropped.nic"),
	PLAIN("tx_dropped_link_down.nic"),
	PLAIN("link_xon_rx.nic"),
	PLAIN("link_xon_tx.nic"),
	PLAIN("link_xoff_rx.nic"),
	PLAIN("link_xoff_tx.nic"),
	EACH("tx_priority_%u_xon.nic", TRANSITIONS, TX),
	EACH("tx_priority_%u_xoff.nic", FRAMES, TX),
	EACH("rx_priority_%u_xon.nic", TRANSITIONS, RX),
	EACH("rx_priority_%u_xoff.nic", FRAMES, RX),
	{}
};

static const struct fabric_rdma_row irdma_rows[] = {
	WIDE("ip4InDiscards"),
	WIDE("ip4OutNoRoutes"),
	WIDE("ip4InOctets"),
	WIDE("ip4InPkts"),
	WIDE("ip4OutOctets"),
	WIDE("ip4OutPkts"),
	WIDE("cnpHandled"),
	WIDE("cnpIgnored"),
	WIDE("cnpSent"),
	WIDE("RxECNMrkd"),
	WIDE("InRdmaWrites"),
	WIDE("RetransSegs"),
	WIDE("RNR sent"),
	WIDE("RNR received"),
	WIDE("Nak Sequence Error Implied"),
	{}
};

static const struct fabric_row ionic_rows[] = {
	PLAIN("tx_packets"),
	PLAIN("tx_bytes"),
	PLAIN("rx_packets"),
	PLAIN("rx_bytes"),
	PLAIN("hw_tx_dropped"),
	PLAIN("hw_rx_dropped"),
	PLAIN("frames_rx_ok"),
	PLAIN("frames_rx_pause"),
	{ "frames_rx_pripause", SCOPE_ALWAYS, ROLE_FRAMES, DIRECTION_RX },
	PLAIN("frames_rx_dropped"),
	PLAIN("frames_tx_ok"),
	PLAIN("frames_tx_pause"),
	{ "frames_tx_pripause", SCOPE_ALWAYS, ROLE_FRAMES, DIRECTION_TX },
	EACH("frames_tx_pri_%u", TRAFFIC, TX),
	EACH("frames_rx_pri_%u", TRAFFIC, RX),
	EACH("tx_pripause_%u_1us_count", DURATION, TX),
	EACH("rx_pripause_%u_1us_count", DURATION, RX),
	PLAIN("rx_pause_1us_count"),
	{}
};

static const struct fabric_rdma_row ionic_rdma_rows[] = {
	WIDE("tx_rdma_ucast_bytes"),
	WIDE("tx_rdma_ucast_pkts"),
	WIDE("tx_rdma_cnp_pkts"),
	WIDE("rx_rdma_ucast_bytes"),
	WIDE("rx_rdma_ucast_pkts"),
	WIDE("rx_rdma_cnp_pkts"),
	WIDE("rx_rdma_ecn_pkts"),
	WIDE("req_rx_pkt_seq_err"),
	WIDE("req_rx_rnr_retry_err"),
	WIDE("resp_rx_outof_buf"),
	WIDE("resp_rx_outouf_seq"),
	WIDE("tx_rdma_retx_pkts"),
	WIDE("tx_rdma_ack_timeout"),
	{}
};

static const struct fabric_table tables[] = {
	{ "mlx5_core", mlx5_rows, mlx5_rdma_rows },
	{ "bnxt_en", bnxt_rows, bnxt_rdma_rows },
	{ "ice", ice_rows, irdma_rows },
	{ "ionic", ionic_rows, ionic_rdma_rows },
};

const struct fabric_table *fabric_table_of(const char *driver)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		if (!strcmp(tables[i].driver, driver))
			return &tables[i];
	return NULL;
}
