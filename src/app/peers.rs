//! Tells hosts who is at the other end of their links, as far as the settings say.

use std::sync::Arc;

use crate::config::Settings;
use crate::source::{Host, PeeredHost};

/// This machine's name in the links file.
pub(super) fn own_name(settings: &Settings) -> String {
    settings.links.host.clone().unwrap_or_else(|| {
        let names = rustix::system::uname();
        names.nodename().to_string_lossy().into_owned()
    })
}

/// `host`, which the links file knows as `name`, with its peers.
pub(super) fn with_peers(host: Arc<dyn Host>, settings: &Settings, name: &str) -> Arc<dyn Host> {
    let Some(links) = &settings.links.links else { return host };
    let own = links.of_host(name);
    if own.is_empty() {
        tracing::warn!(host = name, "the links file has no link of this host");
    }
    Arc::new(PeeredHost::new(host, own))
}
