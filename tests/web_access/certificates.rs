//! A directory with two authorities, a server and two clients, for one test.

use std::fs;
use std::path::PathBuf;

use rcgen::string::Ia5String;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};
use tempfile::TempDir;

pub struct Certificates {
    directory: TempDir,
    servers: CertifiedIssuer<'static, KeyPair>,
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut of = CertificateParams::new(Vec::new()).unwrap();
    of.distinguished_name.push(DnType::CommonName, name);
    of.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(of, KeyPair::generate().unwrap()).unwrap()
}

impl Certificates {
    /// `server`, of `ca.crt`; `client`, of `client-ca.crt`; and `stranger`, of neither.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let files = Self { directory, servers: authority("servers") };
        files.write("ca.crt", &files.servers.pem());
        files.renew_server();
        let clients = authority("clients");
        files.write("client-ca.crt", &clients.pem());
        files.issue("client", &clients);
        files.issue("stranger", &authority("strangers"));
        files
    }

    /// Another certificate and key for the server, each put in place as a whole.
    pub fn renew_server(&self) {
        self.issue("server", &self.servers);
    }

    fn issue(&self, name: &str, issuer: &CertifiedIssuer<'static, KeyPair>) {
        let key = KeyPair::generate().unwrap();
        let mut of = CertificateParams::new(vec![
            "localhost".to_owned(),
            "client.example.org".to_owned(),
            "127.0.0.1".to_owned(),
            "192.0.2.7".to_owned(),
        ])
        .unwrap();
        of.distinguished_name.push(DnType::CommonName, name);
        let uri = Ia5String::try_from("spiffe://example.org/prometheus").unwrap();
        of.subject_alt_names.push(SanType::URI(uri));
        let certificate = of.signed_by(&key, issuer).unwrap();
        self.write(&format!("{name}.crt"), &certificate.pem());
        self.write(&format!("{name}.key"), &key.serialize_pem());
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn write(&self, name: &str, text: &str) {
        let new = self.path("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.path(name)).unwrap();
    }

    /// How curl shows a client's certificate.
    pub fn client_flags(&self, name: &str) -> Vec<String> {
        let path = |end: &str| self.path(&format!("{name}.{end}")).display().to_string();
        vec!["--cert".to_owned(), path("crt"), "--key".to_owned(), path("key")]
    }
}
