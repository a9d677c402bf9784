//! How a check ends.

/// A check's outcome, the worse the greater; unknown stands apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It could not be looked at.
    Unknown,
    /// As wanted.
    Ok,
    /// It works, but not as it should, or it will fail in some case.
    Warning,
    /// Traffic is not lossless as wanted, or RDMA does not work.
    Critical,
}

impl Status {
    /// All of them, the best first.
    pub const ALL: [Self; 4] = [Self::Ok, Self::Warning, Self::Critical, Self::Unknown];

    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Critical => "critical",
            Self::Unknown => "unknown",
        }
    }
}

/// A check's answer for one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) status: Status,
    pub(super) found: String,
    pub(super) wanted: String,
    pub(super) inferred: bool,
}

/// An answer. Which status it has is said first, since that is what a check is for.
impl Verdict {
    pub(super) fn ok(found: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self::new(Status::Ok, found, wanted)
    }

    pub(super) fn warning(found: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self::new(Status::Warning, found, wanted)
    }

    pub(super) fn critical(found: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self::new(Status::Critical, found, wanted)
    }

    /// `reason`: why it cannot be known.
    pub(super) fn unknown(reason: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self::new(Status::Unknown, reason, wanted)
    }

    /// `status` where `good` is not so.
    pub(super) fn unless(
        good: bool,
        status: Status,
        found: impl Into<String>,
        wanted: impl Into<String>,
    ) -> Self {
        Self::new(if good { Status::Ok } else { status }, found, wanted)
    }

    /// The same, but it follows from counters.
    pub(super) fn inferred(mut self) -> Self {
        self.inferred = true;
        self
    }

    fn new(status: Status, found: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self { status, found: found.into(), wanted: wanted.into(), inferred: false }
    }
}
