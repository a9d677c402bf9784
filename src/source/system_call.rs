//! The one file with `unsafe`: `SIOCETHTOOL` and a netlink option, which no safe crate covers.
//!
//! Everything here is a read that any user may make: the commands are on the kernel's list that needs no
//! capability (`net/ethtool/ioctl.c`, `dev_ethtool`). Callers get values and an errno, never a pointer.
//! Layouts: `include/uapi/linux/ethtool.h`.
#![allow(unsafe_code, reason = "the one place for system calls that rustix does not have")]

use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// Bytes of one name in a string set (`ETH_GSTRING_LEN`).
pub const NAME_SLOT: usize = 32;

const SIOCETHTOOL: u64 = 0x8946;
const GDRVINFO: u32 = 0x03;
const GSTRINGS: u32 = 0x1b;
const GSTATS: u32 = 0x1d;
const GSSET_INFO: u32 = 0x37;
const GTUNABLE: u32 = 0x48;
/// `ETHTOOL_PFC_PREVENTION_TOUT`: the NIC's time limit for a stall, in milliseconds.
const TUNABLE_PFC_PREVENTION: u32 = 3;
/// `ETHTOOL_TUNABLE_U16`.
const TUNABLE_IS_U16: u32 = 2;
/// `ETH_SS_STATS`: the string set that names the statistics.
const STRING_SET_STATISTICS: u32 = 1;
/// Entries beyond twice the count that a buffer has for a kernel that writes as many values as the driver
/// has at that moment, whatever was asked for.
const SLACK: usize = 4096;

/// What `ETHTOOL_GDRVINFO` says. Texts are as the driver gives them, empty where it gives none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverInfo {
    /// Driver name, which is the catalogue's key.
    pub driver: String,
    /// Firmware version.
    pub firmware: String,
    /// Bus address, for PCI devices `0000:3b:00.0`.
    pub bus: String,
}

/// A buffer for ethtool requests: 8-byte aligned, reused from call to call.
#[derive(Debug, Default)]
pub struct Request {
    words: Vec<u64>,
}

impl Request {
    fn reset(&mut self, bytes: usize) {
        // Zeroed by the kernel, page by page as it is touched: most of the room for names never is.
        self.words = vec![0; bytes.div_ceil(8)];
    }

    /// Grows to at least `words` without clearing what is there: a reply overwrites it.
    fn at_least(&mut self, words: usize) {
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
    }

    fn put_u32(&mut self, at: usize, value: u32) {
        let (word, shift) = (at / 8, (at % 8) * 8);
        if let Some(slot) = self.words.get_mut(word) {
            let mut bytes = slot.to_ne_bytes();
            if let Some(part) = bytes.get_mut(shift / 8..shift / 8 + 4) {
                part.copy_from_slice(&value.to_ne_bytes());
            }
            *slot = u64::from_ne_bytes(bytes);
        }
    }

    fn get_u32(&self, at: usize) -> u32 {
        let bytes = self.words.get(at / 8).copied().unwrap_or_default().to_ne_bytes();
        let start = at % 8;
        let mut out = [0; 4];
        if let Some(part) = bytes.get(start..start + 4) {
            out.copy_from_slice(part);
        }
        u32::from_ne_bytes(out)
    }

    fn get_bytes(&self, at: usize, length: usize) -> Vec<u8> {
        let before = at % 8;
        let words = self.words.iter().skip(at / 8).take((before + length).div_ceil(8));
        let mut bytes = Vec::with_capacity(words.len() * 8);
        for word in words {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        bytes.drain(..before.min(bytes.len()));
        bytes.truncate(length);
        bytes
    }

    fn get_text(&self, at: usize, length: usize) -> String {
        let bytes = self.get_bytes(at, length);
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).trim().to_owned()
    }

    /// The values of the last [`EthtoolSocket::statistics`].
    #[must_use]
    pub fn values(&self) -> &[u64] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// A socket through which ethtool requests go. Any socket does; it sends nothing.
#[derive(Debug)]
pub struct EthtoolSocket {
    socket: OwnedFd,
}

impl EthtoolSocket {
    /// Opens it in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The errno of `socket(2)`.
    pub fn open() -> Result<Self, Errno> {
        let socket =
            socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
                .or_else(|_| {
                    socket_with(AddressFamily::INET6, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
                })?;
        Ok(Self { socket })
    }

    /// `SIOCGIFINDEX`: the number of the netdev that has this name now. Takes no rtnl.
    ///
    /// # Errors
    /// `ENODEV` where there is none.
    pub fn index(&self, device: &str) -> Result<u32, Errno> {
        rustix::net::netdevice::name_to_index(&self.socket, device)
    }

    /// Issues the request in `request` for `device`.
    ///
    /// The caller has made `request` large enough for the largest reply to its command.
    fn call(&self, device: &str, request: &mut Request) -> Result<(), Errno> {
        // SAFETY: an all-zero `ifreq` is a valid value of that plain C structure.
        let mut interface: libc::ifreq = unsafe { mem::zeroed() };
        let name = device.as_bytes();
        if name.is_empty() || name.len() >= interface.ifr_name.len() || name.contains(&0) {
            return Err(Errno::NODEV);
        }
        for (slot, byte) in interface.ifr_name.iter_mut().zip(name) {
            // Signed on some processors and not on others.
            *slot = libc::c_char::from_ne_bytes([*byte]);
        }
        interface.ifr_ifru.ifru_data = request.words.as_mut_ptr().cast();
        // SAFETY: `interface` is a valid `ifreq` with a terminated name, and its data pointer is to
        // `request`, 8-byte aligned, alive during the call, and sized by the caller for this command's
        // reply. The kernel keeps neither pointer.
        let answer =
            unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut interface) };
        if answer < 0 { Err(last_errno()) } else { Ok(()) }
    }

    /// `ETHTOOL_GDRVINFO`. Takes rtnl.
    ///
    /// # Errors
    /// The kernel's errno; `ENODEV` for a name that cannot be.
    pub fn driver_info(&self, device: &str) -> Result<DriverInfo, Errno> {
        let mut request = Request::default();
        request.reset(196);
        request.put_u32(0, GDRVINFO);
        self.call(device, &mut request)?;
        Ok(DriverInfo {
            driver: request.get_text(4, 32),
            firmware: request.get_text(68, 32),
            bus: request.get_text(100, 32),
        })
    }

    /// How many statistics the driver has now (`ETHTOOL_GSSET_INFO`); 0 if it has no such set. Takes rtnl.
    ///
    /// # Errors
    /// The kernel's errno.
    pub fn statistics_count(&self, device: &str) -> Result<u32, Errno> {
        let mut request = Request::default();
        request.reset(24);
        request.put_u32(0, GSSET_INFO);
        request.put_u32(8, 1 << STRING_SET_STATISTICS);
        self.call(device, &mut request)?;
        let supported = request.get_u32(8) & (1 << STRING_SET_STATISTICS) != 0;
        Ok(if supported { request.get_u32(16) } else { 0 })
    }

    /// The names of the statistics (`ETHTOOL_GSTRINGS`), as slots of [`NAME_SLOT`] bytes. Fewer than `count`
    /// when the set changed in between. Takes rtnl.
    ///
    /// # Errors
    /// The kernel's errno.
    pub fn statistics_names(
        &self,
        device: &str,
        count: u32,
    ) -> Result<Vec<[u8; NAME_SLOT]>, Errno> {
        let wanted = count as usize;
        let mut request = Request::default();
        request.reset(12 + (wanted * 2 + SLACK) * NAME_SLOT);
        request.put_u32(0, GSTRINGS);
        request.put_u32(4, STRING_SET_STATISTICS);
        request.put_u32(8, count);
        self.call(device, &mut request)?;
        let length = (request.get_u32(8) as usize).min(wanted * 2 + SLACK);
        let bytes = request.get_bytes(12, length * NAME_SLOT);
        Ok(bytes.as_chunks().0.to_vec())
    }

    /// The values of the statistics (`ETHTOOL_GSTATS`), left in `request`. Returns how many the kernel says
    /// it gave: 0 when it checks the count and `count` is not what the driver has (kernels with commit
    /// 7b07be1ff1cb), the driver's count on others. Takes rtnl.
    ///
    /// On kernels that do not check, a driver whose set more than doubles between the caller's count and
    /// this call could write past the buffer; the room of twice the count and 4,096 entries is the
    /// protection.
    ///
    /// # Errors
    /// The kernel's errno.
    pub fn statistics(
        &self,
        device: &str,
        count: u32,
        request: &mut Request,
    ) -> Result<u32, Errno> {
        request.at_least(1 + count as usize * 2 + SLACK);
        request.put_u32(0, GSTATS);
        request.put_u32(4, count);
        self.call(device, request)?;
        Ok(request.get_u32(4))
    }

    /// The NIC's own time limit for a pause without end, in milliseconds: 0 = off, 65,535 = the driver's choice
    /// (`ETHTOOL_GTUNABLE`). Takes rtnl.
    ///
    /// # Errors
    /// `EOPNOTSUPP` or `EINVAL` where the driver has none.
    pub fn pfc_prevention_millis(&self, device: &str) -> Result<u16, Errno> {
        let mut request = Request::default();
        request.reset(18);
        request.put_u32(0, GTUNABLE);
        request.put_u32(4, TUNABLE_PFC_PREVENTION);
        request.put_u32(8, TUNABLE_IS_U16);
        request.put_u32(12, 2);
        self.call(device, &mut request)?;
        let [low, high, ..] = request.get_u32(16).to_ne_bytes();
        Ok(u16::from_ne_bytes([low, high]))
    }
}

/// Asks for words with the errors of a netlink socket (`NETLINK_EXT_ACK`, Linux 4.12).
///
/// # Errors
/// The errno of `setsockopt(2)`.
pub(super) fn ask_for_extended_errors(socket: &OwnedFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    // SAFETY: the option's value is an `int` that lives during the call; its size is given.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_NETLINK,
            libc::NETLINK_EXT_ACK,
            (&raw const on).cast(),
            libc::socklen_t::try_from(mem::size_of_val(&on)).unwrap_or(4),
        )
    };
    if answer < 0 { Err(last_errno()) } else { Ok(()) }
}

fn last_errno() -> Errno {
    let error = std::io::Error::last_os_error();
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_land_where_the_kernel_looks() {
        let mut request = Request::default();
        request.reset(24);
        request.put_u32(0, 0x0102_0304);
        request.put_u32(4, 0x0506_0708);
        request.put_u32(8, 9);
        let mut expected = Vec::new();
        for word in [0x0102_0304_u32, 0x0506_0708, 9, 0, 0, 0] {
            expected.extend(word.to_ne_bytes());
        }
        assert_eq!(request.get_bytes(0, 24), expected);
        assert_eq!(request.get_u32(4), 0x0506_0708);
    }

    #[test]
    fn an_impossible_name_is_no_device() {
        let socket = EthtoolSocket::open().unwrap();
        for name in ["", "a-name-longer-than-the-kernel-has", "nul\0"] {
            assert_eq!(socket.statistics_count(name), Err(Errno::NODEV), "{name:?}");
        }
    }

    #[test]
    fn a_missing_device_keeps_its_errno() {
        let socket = EthtoolSocket::open().unwrap();
        assert_eq!(socket.driver_info("no-such-netdev"), Err(Errno::NODEV));
    }
}
