//! Tells hosts who is at the other end of their links, as far as the settings say.

use std::sync::Arc;

use crate::config::{LldpSource, Settings};
use crate::source::{Host, LldpAgents, PeeredHost};

/// This machine's name in the links file.
pub(super) fn own_name(settings: &Settings) -> String {
    settings.links.host.clone().unwrap_or_else(|| {
        let names = rustix::system::uname();
        names.nodename().to_string_lossy().into_owned()
    })
}

/// `host`, which the links file knows as `name`, with its peers.
pub(super) fn with_peers(host: Arc<dyn Host>, settings: &Settings, name: &str) -> Arc<dyn Host> {
    let known = &settings.links;
    let own = known.links.as_ref().map(|links| links.of_host(name));
    if own.as_ref().is_some_and(Vec::is_empty) {
        tracing::warn!(host = name, "the links file has no link of this host");
    }
    let agents = LldpAgents {
        networkd: known.lldp.contains(&LldpSource::Networkd).then(|| known.run.clone()),
        lldpd: known.lldp.contains(&LldpSource::Lldpd),
    };
    if own.is_none() && known.lldp.is_empty() {
        return host;
    }
    Arc::new(PeeredHost::new(host, own.unwrap_or_default(), agents))
}
