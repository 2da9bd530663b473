//! A test's certificate authority, for servers other than the origin.

use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// PEM texts: the authority to trust, and the chain and key of a server at localhost.
pub(crate) struct Authority {
    pub(crate) ca: String,
    pub(crate) chain: String,
    pub(crate) key: String,
}

impl Authority {
    /// `names` are the names in the server's certificate.
    pub(crate) fn issue(names: &[&str]) -> Self {
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "probe test root");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let root_key = KeyPair::generate().unwrap();
        let root = params.self_signed(&root_key).unwrap();
        let issuer = Issuer::new(params, root_key);

        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut leaf = CertificateParams::new(names).unwrap();
        leaf.distinguished_name
            .push(DnType::CommonName, "probe test server");
        leaf.use_authority_key_identifier_extension = true;
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = leaf.signed_by(&key, &issuer).unwrap();
        Self {
            ca: root.pem(),
            chain: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// Writes `ca.pem`, `chain.pem` and `key.pem`.
    pub(crate) fn write(&self, directory: &Path) {
        for (name, text) in [
            ("ca.pem", &self.ca),
            ("chain.pem", &self.chain),
            ("key.pem", &self.key),
        ] {
            std::fs::write(directory.join(name), text).unwrap();
        }
    }
}
