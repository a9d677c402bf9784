//! One value as read, or the reason why there is none.

/// Why a value or a whole read is missing. The label `reason` of `roce_source_errors_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The device or file went away (`ENODEV`, `ENOENT`, `ENXIO`).
    Gone,
    /// The driver lacks the call (`EOPNOTSUPP`, `ENOSYS`, `ENOTTY`).
    Unsupported,
    /// Not allowed (`EPERM`, `EACCES`).
    Denied,
    /// The driver refused the argument (`EINVAL`).
    Invalid,
    /// The kernel or the device was busy or late (`EBUSY`, `EAGAIN`, `ETIMEDOUT`, `EINTR`).
    Busy,
    /// Any other error of the kernel or the device.
    Io,
    /// Text where a number was due, such as `N/A (no PMA)`.
    NotANumber,
    /// All bits set: how firmware says "no such counter" and how a dead PCI device reads.
    AllOnes,
    /// The value does not fit after conversion to base units.
    OutOfRange,
    /// The set of names changed under the read, so the values could belong to other names.
    NamesChanged,
    /// The reader panicked; a fault of this program.
    Panicked,
}

impl Reason {
    /// All reasons; a reason's place is its [`Reason::position`].
    pub const ALL: [Self; 11] = [
        Self::Gone,
        Self::Unsupported,
        Self::Denied,
        Self::Invalid,
        Self::Busy,
        Self::Io,
        Self::NotANumber,
        Self::AllOnes,
        Self::OutOfRange,
        Self::NamesChanged,
        Self::Panicked,
    ];

    /// The place of this reason in [`Reason::ALL`].
    #[must_use]
    pub const fn position(self) -> usize {
        self as usize
    }

    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Unsupported => "unsupported",
            Self::Denied => "denied",
            Self::Invalid => "invalid",
            Self::Busy => "busy",
            Self::Io => "io",
            Self::NotANumber => "not_a_number",
            Self::AllOnes => "all_ones",
            Self::OutOfRange => "out_of_range",
            Self::NamesChanged => "names_changed",
            Self::Panicked => "panicked",
        }
    }
}

/// One value as the source gave it, in the unit of its [`super::PlanCounter`]. Absent is never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// What was read.
    Value(u64),
    /// Nothing was read, for this reason.
    Missing(Reason),
}

impl Reading {
    /// The value, if there is one.
    #[must_use]
    pub const fn value(self) -> Option<u64> {
        match self {
            Self::Value(value) => Some(value),
            Self::Missing(_) => None,
        }
    }
}
