//! Which client certificates are let in: rustls' own check, the names that a certificate must have, and the
//! weaker modes in which any certificate will do.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// A verifier that lets in only certificates with one of these names.
#[derive(Debug)]
pub(super) struct NamedClients {
    pub(super) inner: Arc<dyn ClientCertVerifier>,
    pub(super) allowed: Vec<AllowedName>,
}

/// A subject alternative name that a client certificate may have.
#[derive(Debug)]
pub(super) enum AllowedName {
    Address(IpAddr),
    /// A DNS name or a URI, as it stands in the certificate.
    Text(String),
}

impl AllowedName {
    /// # Errors
    /// For an e-mail address, whose kind of name the certificate parser does not give out.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        if text.contains('@') && !text.contains(':') {
            return Err("e-mail addresses of certificates cannot be read; use a DNS name, an IP address or a URI"
                .to_owned());
        }
        Ok(Self::Text(text.to_owned()))
    }

    fn is_of(&self, certificate: &webpki::EndEntityCert<'_>) -> bool {
        match self {
            Self::Address(address) => {
                let name = ServerName::IpAddress((*address).into());
                certificate.verify_is_valid_for_subject_name(&name).is_ok()
            }
            Self::Text(text) => {
                certificate.valid_dns_names().any(|name| name.eq_ignore_ascii_case(text))
                    || certificate.valid_uri_names().any(|name| name == text)
            }
        }
    }
}

impl ClientCertVerifier for NamedClients {
    fn offer_client_auth(&self) -> bool {
        self.inner.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.inner.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.inner.verify_client_cert(end_entity, intermediates, now)?;
        let certificate = webpki::EndEntityCert::try_from(end_entity)
            .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
        if self.allowed.iter().any(|name| name.is_of(&certificate)) {
            Ok(verified)
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Asks for a certificate and takes any, as `RequestClientCert` and `RequireAnyClientCert` say. The client still
/// proves that it has the key.
#[derive(Debug)]
pub(super) struct AnyClient {
    pub(super) provider: Arc<CryptoProvider>,
    pub(super) mandatory: bool,
}

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        self.mandatory
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
