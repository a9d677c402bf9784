//! `tls_server_config` as rustls understands it. What rustls lacks is refused by name, never left out silently.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{
    NamedGroup, RootCertStore, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion,
};

use super::client_certificate::{AllowedName, AnyClient, NamedClients};
use super::file::TlsSection;

const CERTIFICATE: &str = "tls_server_config.cert";
const KEY: &str = "tls_server_config.key";
const CLIENT_CA: &str = "tls_server_config.client_ca";

/// The files that a section names, relative ones below `directory`.
pub(super) fn files(section: &TlsSection, directory: &Path) -> Vec<PathBuf> {
    let named = [&section.cert_file, &section.key_file, &section.client_ca_file];
    let named = named.into_iter().flatten().filter(|name| !name.is_empty());
    named.map(|name| directory.join(name)).collect()
}

/// The server's side of TLS; none where the section asks for nothing.
///
/// # Errors
/// What is wrong, beginning with the key of the file.
pub(super) fn server_config(
    section: &TlsSection,
    directory: &Path,
    http2: bool,
) -> Result<Option<Arc<ServerConfig>>, String> {
    let pem = |key, inline, file| pem(key, inline, file, directory);
    let certificate = pem(CERTIFICATE, section.cert.as_ref(), section.cert_file.as_ref())?;
    let key = pem(KEY, section.key.as_ref(), section.key_file.as_ref())?;
    let authorities = pem(CLIENT_CA, section.client_ca.as_ref(), section.client_ca_file.as_ref())?;
    let mode = section.client_auth_type.as_deref().unwrap_or_default();
    if certificate.is_none() && key.is_none() && authorities.is_none() && mode.is_empty() {
        return Ok(None);
    }
    let certificate =
        certificate.ok_or_else(|| format!("{CERTIFICATE} or cert_file is missing"))?;
    let key = key.ok_or_else(|| format!("{KEY} or key_file is missing"))?;
    let chain = certificates(CERTIFICATE, &certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| format!("{KEY}: {error}"))?;

    let provider = Arc::new(provider(section)?);
    let clients = client_verifier(section, mode, authorities, &provider)?;
    let builder = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions(section)?)
        .map_err(|error| format!("tls_server_config: {error}"))?;
    let mut config = builder
        .with_client_cert_verifier(clients)
        .with_single_cert(chain, key)
        .map_err(|error| format!("{CERTIFICATE} and key: {error}"))?;
    config.ignore_client_order = section.prefer_server_cipher_suites.unwrap_or(true);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if http2 {
        config.alpn_protocols.insert(0, b"h2".to_vec());
    }
    Ok(Some(Arc::new(config)))
}

/// Text that is written in the file itself, or in one that it names.
fn pem(
    key: &str,
    inline: Option<&String>,
    file: Option<&String>,
    directory: &Path,
) -> Result<Option<Vec<u8>>, String> {
    let inline = inline.filter(|text| !text.is_empty());
    match (inline, file.filter(|name| !name.is_empty())) {
        (Some(_), Some(_)) => Err(format!("{key} and {key}_file exclude each other")),
        (Some(text), None) => Ok(Some(text.clone().into_bytes())),
        (None, Some(name)) => {
            let path = directory.join(name);
            let read = fs::read(&path);
            read.map(Some).map_err(|error| format!("{key}_file: {}: {error}", path.display()))
        }
        (None, None) => Ok(None),
    }
}

fn certificates(key: &str, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let found = found.map_err(|error| format!("{key}: {error}"))?;
    if found.is_empty() { Err(format!("{key}: no certificate in PEM form")) } else { Ok(found) }
}

fn versions(section: &TlsSection) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    let number = |key: &str, name: &Option<String>, unset: u8| match name.as_deref() {
        None | Some("") => Ok(unset),
        Some("TLS12") => Ok(2),
        Some("TLS13") => Ok(3),
        Some("TLS10" | "TLS11") => Err(format!(
            "tls_server_config.{key}: versions below TLS 1.2 are not spoken; use TLS12 or TLS13"
        )),
        Some(_) => Err(format!("tls_server_config.{key}: must be TLS12 or TLS13")),
    };
    let least = number("min_version", &section.min_version, 2)?;
    let most = number("max_version", &section.max_version, 3)?;
    let all = [(2, &TLS12), (3, &TLS13)];
    let chosen = all.into_iter().filter(|(version, _)| (least..=most).contains(version));
    let chosen: Vec<_> = chosen.map(|(_, version)| version).collect();
    if chosen.is_empty() {
        return Err("tls_server_config: max_version is below min_version".to_owned());
    }
    Ok(chosen)
}

/// Ring's provider, narrowed to what the section names. As in Go, the choice of suites is one for TLS 1.2 alone.
fn provider(section: &TlsSection) -> Result<CryptoProvider, String> {
    let mut provider = ring::default_provider();
    if let Some(names) = section.cipher_suites.as_ref().filter(|names| !names.is_empty()) {
        let (newest, mut chosen): (Vec<_>, Vec<_>) =
            provider.cipher_suites.iter().partition(|suite| suite.tls13().is_some());
        let offered = chosen.clone();
        chosen.clear();
        for name in names {
            let of_name =
                |suite: &&SupportedCipherSuite| suite.suite().as_str() == Some(name.as_str());
            if let Some(suite) = offered.iter().find(of_name) {
                chosen.push(*suite);
            } else if !GO_TLS13_SUITES.contains(&name.as_str()) {
                let known: Vec<_> =
                    offered.iter().filter_map(|suite| suite.suite().as_str()).collect();
                let known = known.join(", ");
                return Err(format!(
                    "tls_server_config.cipher_suites: {name:?} is not supported; supported: {known}"
                ));
            }
        }
        provider.cipher_suites = newest.into_iter().chain(chosen).collect();
    }
    if let Some(names) = section.curve_preferences.as_ref().filter(|names| !names.is_empty()) {
        let groups: Result<Vec<_>, _> = names.iter().map(|name| group(&provider, name)).collect();
        provider.kx_groups = groups?;
    }
    Ok(provider)
}

/// The names by which Go knows the suites of TLS 1.3, which cannot be chosen.
const GO_TLS13_SUITES: [&str; 3] =
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

fn group(provider: &CryptoProvider, name: &str) -> Result<&'static dyn SupportedKxGroup, String> {
    let wanted = match name {
        "CurveP256" => Some(NamedGroup::secp256r1),
        "CurveP384" => Some(NamedGroup::secp384r1),
        "X25519" => Some(NamedGroup::X25519),
        _ => None,
    };
    let mut groups = provider.kx_groups.iter();
    let found = groups.find(|group| Some(group.name()) == wanted).copied();
    found.ok_or_else(|| {
        format!(
            "tls_server_config.curve_preferences: {name:?} is not supported; supported: CurveP256, CurveP384, X25519"
        )
    })
}

fn client_verifier(
    section: &TlsSection,
    mode: &str,
    authorities: Option<Vec<u8>>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let checks = matches!(mode, "VerifyClientCertIfGiven" | "RequireAndVerifyClientCert");
    let names = section.client_allowed_sans.as_deref().unwrap_or_default();
    if authorities.is_some() && !checks {
        return Err(format!(
            "{CLIENT_CA}: needs client_auth_type RequireAndVerifyClientCert or VerifyClientCertIfGiven"
        ));
    }
    if !names.is_empty() && mode != "RequireAndVerifyClientCert" {
        return Err(
            "tls_server_config.client_allowed_sans: needs client_auth_type RequireAndVerifyClientCert"
                .to_owned(),
        );
    }
    let any = |mandatory| Arc::new(AnyClient { provider: Arc::clone(provider), mandatory });
    match mode {
        "" | "NoClientCert" => return Ok(Arc::new(NoClientAuth)),
        "RequestClientCert" => return Ok(any(false)),
        "RequireAnyClientCert" | "RequireClientCert" => return Ok(any(true)),
        "VerifyClientCertIfGiven" | "RequireAndVerifyClientCert" => {}
        _ => {
            return Err(
                "tls_server_config.client_auth_type: must be NoClientCert, RequestClientCert, \
                RequireAnyClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert"
                    .to_owned(),
            );
        }
    }
    let authorities =
        authorities.ok_or_else(|| format!("{CLIENT_CA} or client_ca_file is missing"))?;
    let mut roots = RootCertStore::empty();
    for authority in certificates(CLIENT_CA, &authorities)? {
        roots.add(authority).map_err(|error| format!("{CLIENT_CA}: {error}"))?;
    }
    let builder =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let builder =
        if mode == "VerifyClientCertIfGiven" { builder.allow_unauthenticated() } else { builder };
    let inner = builder.build().map_err(|error| format!("{CLIENT_CA}: {error}"))?;
    if names.is_empty() {
        return Ok(inner);
    }
    let allowed: Result<Vec<_>, _> = names.iter().map(|name| AllowedName::parse(name)).collect();
    let allowed =
        allowed.map_err(|error| format!("tls_server_config.client_allowed_sans: {error}"))?;
    Ok(Arc::new(NamedClients { inner, allowed }))
}
