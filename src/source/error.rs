//! Why a whole read failed, with the errno kept.

use std::io;

use rustix::io::Errno;

use crate::model::Reason;

/// A failed read of a whole counter set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The kernel refused a call.
    #[error("{call}: {errno}")]
    Kernel {
        /// The call or file, for a person.
        call: String,
        /// The kernel's answer.
        errno: Errno,
    },
    /// The names are no longer those that the plan was made of.
    #[error("the set of names changed")]
    NamesChanged,
    /// The kernel answered something that cannot be.
    #[error("{0}")]
    Nonsense(String),
}

impl SourceError {
    /// From an I/O error of `call`, its errno kept.
    #[must_use]
    pub fn from_io(call: impl Into<String>, error: &io::Error) -> Self {
        let errno = error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error);
        Self::Kernel { call: call.into(), errno }
    }

    /// The label of the error.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Kernel { errno, .. } => reason_of(*errno),
            Self::NamesChanged => Reason::NamesChanged,
            Self::Nonsense(_) => Reason::Io,
        }
    }

    /// Whether the device is gone, so that asking it again has no use.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.reason() == Reason::Gone
    }
}

/// The one place where an errno becomes a reason.
#[must_use]
pub fn reason_of(errno: Errno) -> Reason {
    match errno {
        Errno::NODEV | Errno::NOENT | Errno::NXIO => Reason::Gone,
        Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOTTY => Reason::Unsupported,
        Errno::PERM | Errno::ACCESS => Reason::Denied,
        Errno::INVAL => Reason::Invalid,
        Errno::BUSY | Errno::AGAIN | Errno::TIMEDOUT | Errno::INTR => Reason::Busy,
        _ => Reason::Io,
    }
}
