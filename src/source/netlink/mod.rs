//! A small netlink transport and typed readers on it: RDMA, DCB, links, generic.
//!
//! No crate has DCB or RDMA statistics. One socket asks one question at a time; replies are parsed by offset in
//! place, never cast, and any bytes are survived. This room refuses everything that changes a device, and has no
//! `unsafe`.

mod attribute;
pub mod dcb;
pub mod generic;
pub mod link;
mod message;
pub mod rdma;
mod socket;

pub use attribute::{Attribute, Attributes, RequestBody};
pub use message::{Message, MessageKind, Messages};
pub use socket::{Dumped, NetlinkError, NetlinkSocket, Protocol};
