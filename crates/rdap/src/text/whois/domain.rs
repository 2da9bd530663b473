//! Domains and name servers, with the keys of ICANN's Registration Data Directory Services.

use super::Lines;
use crate::answer::{Answer, Contact, Domain, Entity, Item, Nameserver, Object, status};

impl Lines {
    pub(super) fn domain(&mut self, domain: Domain<'_>, answer: &Answer) {
        self.text("Domain Name", Object::Domain(domain).name());
        if domain.ldh_name().is_some() && domain.unicode_name() != domain.ldh_name() {
            self.text("Internationalized Domain Name", domain.unicode_name());
        }
        self.text("Registry Domain ID", domain.handle());
        let key = if self.of_registrar {
            "Registrar WHOIS Server"
        } else {
            "WHOIS Server"
        };
        self.text(key, domain.port43());
        let registrar = domain.entity("registrar");
        let contact = registrar.map(Entity::contact).unwrap_or_default();
        self.text("Registrar URL", contact.urls.first().copied());
        self.date("Updated Date", *domain, "last changed");
        self.date("Creation Date", *domain, "registration");
        self.date("Registry Expiry Date", *domain, "expiration");
        self.date(
            "Registrar Registration Expiration Date",
            *domain,
            "registrar expiration",
        );
        self.registrar(domain, &contact);
        self.status(*domain);
        self.people(domain);
        self.redactions(answer);
        for server in domain.nameservers() {
            self.text("Name Server", Object::Nameserver(server).name());
        }
        self.dnssec(domain);
    }

    fn registrar(&mut self, domain: Domain<'_>, contact: &Contact<'_>) {
        let registrar = domain.entity("registrar");
        self.text("Registrar", contact.called());
        self.text("Registrar IANA ID", registrar.and_then(Entity::iana_id));
        let abuse = registrar
            .and_then(|r| r.entity("abuse"))
            .map(Entity::contact);
        let abuse = abuse.unwrap_or_default();
        self.text(
            "Registrar Abuse Contact Email",
            abuse.emails.first().copied(),
        );
        self.text("Registrar Abuse Contact Phone", abuse.voice());
        let reseller = domain.entity("reseller").map(Entity::contact);
        self.text("Reseller", reseller.as_ref().and_then(|r| r.called()));
    }

    fn people(&mut self, domain: Domain<'_>) {
        for (role, prefix) in [
            ("registrant", "Registrant"),
            ("administrative", "Admin"),
            ("technical", "Tech"),
            ("billing", "Billing"),
        ] {
            if let Some(entity) = domain.entities().find(|e| e.has_role(role)) {
                self.person(entity, prefix);
            }
        }
    }

    fn redactions(&mut self, answer: &Answer) {
        for redaction in answer.redactions().take(100) {
            let name = redaction.name().unwrap_or("Redacted").trim();
            // A line with this key has been written already.
            if !self.text.contains(&format!("\n{name}: ")) {
                let reason = redaction.reason().map(|r| format!(" ({})", r.trim()));
                self.key(name, &format!("REDACTED{}", reason.unwrap_or_default()));
            }
        }
    }

    /// Adds EPP's words, each with the page that explains it, as ICANN requires.
    fn status(&mut self, item: Item<'_>) {
        for word in item.status() {
            let epp = status::find(word).and_then(|s| s.epp);
            match epp {
                Some(epp) => self.key(
                    "Domain Status",
                    &format!("{epp} https://icann.org/epp#{epp}"),
                ),
                None => self.key("Domain Status", word),
            }
        }
    }

    fn dnssec(&mut self, domain: Domain<'_>) {
        let Some(dns) = domain.secure_dns() else {
            return;
        };
        match dns.delegation_signed() {
            Some(true) => self.key("DNSSEC", "signedDelegation"),
            Some(false) => self.key("DNSSEC", "unsigned"),
            None => {}
        }
        for ds in dns.ds() {
            let numbers = [ds.key_tag(), ds.algorithm(), ds.digest_type()];
            let numbers = numbers
                .map(|n| n.map_or("?".to_owned(), |n| n.to_string()))
                .join(" ");
            self.key(
                "DNSSEC DS Data",
                &format!("{numbers} {}", ds.digest().unwrap_or("?")),
            );
        }
    }

    pub(super) fn nameserver(&mut self, server: Nameserver<'_>) {
        self.text("Server Name", Object::Nameserver(server).name());
        for address in server.addresses() {
            self.key("IP Address", &address.to_string());
        }
        let registrar = server.entity("registrar").map(Entity::contact);
        self.text("Registrar", registrar.as_ref().and_then(|r| r.called()));
        self.text("WHOIS Server", server.port43());
    }
}
