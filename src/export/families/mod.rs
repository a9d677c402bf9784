//! The table of all metric families, in the order in which they are exported.
//!
//! To add a metric, add a row here and a line to `docs/metrics.md`; tests fail without either. A row of a
//! driver's counter needs no code. Any other row names the function that fills it.

mod checks;
mod computed;
mod exporter;
mod inventory;
mod pause;
mod process;
mod rdma;
mod settings;
mod traffic;

use std::sync::LazyLock;

use super::family::{Family, Label};

/// All metric families.
pub static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    [
        pause::ROWS,
        traffic::ROWS,
        rdma::ROWS,
        computed::ROWS,
        inventory::ROWS,
        settings::ROWS,
        checks::ROWS,
        exporter::ROWS,
        process::ROWS,
    ]
    .concat()
});

const NO_LABELS: &[Label] = &[];
const DEVICE: &[Label] = &[Label::Device];
const DEVICE_WAY: &[Label] = &[Label::Device, Label::Direction];
const PRIORITY_WAY: &[Label] = &[Label::Device, Label::Priority, Label::Direction];
const CLASS_WAY: &[Label] = &[Label::Device, Label::TrafficClass, Label::Direction];
const BUFFER_WAY: &[Label] = &[Label::Device, Label::Buffer, Label::Direction];
