//! Facts about domains and name servers.

use roundtrip_report::terminal::Tone;

use super::{Block, Facts, Value};
use crate::answer::{Domain, Entity, Item, Nameserver, Object, SecureDns};

impl Facts {
    pub(super) fn domain(&mut self, domain: Domain<'_>) {
        self.name("Domain", *domain);
        let variants = domain.variants().flat_map(|variant| {
            let relations = variant.relations().collect::<Vec<_>>().join(", ");
            let named = move |(ldh, unicode): (Option<&str>, Option<&str>)| {
                let value = Value::new(unicode.or(ldh)?);
                let note = match variant.idn_table() {
                    Some(table) => format!("{relations} · {table}"),
                    None => relations.clone(),
                };
                Some(value.note(note))
            };
            variant.names().filter_map(named).collect::<Vec<_>>()
        });
        self.add(Block::Name, "Variants", variants);
        self.common(*domain);
        self.events(*domain);
        self.registrar(*domain);
        self.add(Block::Dns, "Name servers", domain.nameservers().map(served));
        if let Some(dns) = domain.secure_dns() {
            self.add(Block::Dns, "DNSSEC", signed(dns));
        }
        if let Some(network) = domain.network() {
            self.network(network);
        }
        self.people(*domain, &["registrar", "reseller"]);
        self.remarks(*domain);
    }

    pub(super) fn nameserver(&mut self, server: Nameserver<'_>) {
        self.name("Name server", *server);
        let addresses = server.addresses().into_iter();
        self.add(
            Block::Name,
            "Addresses",
            addresses.map(|a| Value::new(a.to_string())),
        );
        self.common(*server);
        self.events(*server);
        self.registrar(*server);
        self.people(*server, &["registrar", "reseller"]);
        self.remarks(*server);
    }

    /// Adds a name with U-labels and with A-labels.
    fn name(&mut self, label: &str, item: Item<'_>) {
        let ldh = item.text("ldhName").map(|n| n.trim().to_ascii_lowercase());
        let unicode = item.text("unicodeName").map(|n| n.trim().to_lowercase());
        let unicode = unicode.or_else(|| ldh.as_deref().and_then(as_unicode));
        let value = match (unicode, ldh) {
            (Some(unicode), Some(ldh)) if unicode != ldh => {
                Value::new(unicode).note(ldh.clone()).key(ldh)
            }
            (_, Some(ldh)) => Value::new(ldh),
            (Some(unicode), None) => Value::new(unicode),
            (None, None) => return,
        };
        self.add(Block::Name, label, [value.tone(Tone::Strong)]);
    }

    fn registrar(&mut self, item: Item<'_>) {
        if let Some(registrar) = item.entity("registrar") {
            let contact = registrar.contact();
            let name = contact.called().or(registrar.handle());
            let id = registrar.iana_id().map(|id| format!("IANA {id}"));
            let value = name.map(|n| Value::new(n).note(id.clone().unwrap_or_default()));
            self.add(Block::Registrar, "Registrar", value.or(id.map(Value::new)));
            let url = contact
                .urls
                .first()
                .map(|u| Value::new(u.trim_end_matches('/')));
            self.add(Block::Registrar, "Web site", url);
            if let Some(abuse) = registrar.entity("abuse") {
                let contact = abuse.contact();
                let reach = contact.emails.iter().copied().chain(contact.voice());
                let line = reach.collect::<Vec<_>>().join(" · ");
                let value = (!line.is_empty()).then(|| Value::new(line));
                self.add(Block::Registrar, "Abuse", value);
            }
        }
        let reseller = item.entity("reseller").map(Entity::contact);
        let name = reseller.as_ref().and_then(|c| c.called());
        self.text(Block::Registrar, "Reseller", name);
    }
}

/// The name with U-labels, if that differs from the A-labels.
fn as_unicode(ldh: &str) -> Option<String> {
    if !ldh.contains("xn--") {
        return None;
    }
    let (unicode, valid) = idna::domain_to_unicode(ldh);
    (valid.is_ok() && unicode != ldh).then_some(unicode)
}

fn served(server: Nameserver<'_>) -> Value {
    let name = Object::Nameserver(server)
        .name()
        .or(server.handle())
        .unwrap_or("?");
    let addresses: Vec<String> = server.addresses().iter().map(ToString::to_string).collect();
    let value = Value::new(name.trim_end_matches('.').to_lowercase());
    value.note(addresses.join(" "))
}

fn signed(dns: SecureDns<'_>) -> Vec<Value> {
    let mut values = Vec::new();
    match dns.delegation_signed() {
        Some(true) => values.push(Value::new("signed").tone(Tone::Good)),
        Some(false) => values.push(Value::new("not signed")),
        None => {}
    }
    for ds in dns.ds() {
        let parts = [
            ds.key_tag().map(|tag| format!("key tag {tag}")),
            ds.algorithm().map(algorithm),
            ds.digest_type().map(digest_type),
        ];
        let line = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        values.push(Value::new(format!("DS: {line}")));
    }
    for key in dns.keys() {
        let parts = [
            key.flags().map(|f| {
                if f & 1 == 1 {
                    "key-signing key".into()
                } else {
                    format!("flags {f}")
                }
            }),
            key.algorithm().map(algorithm),
        ];
        let line = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        values.push(Value::new(format!("DNSKEY: {line}")));
    }
    values
}

/// IANA's DNS Security Algorithm Numbers.
fn algorithm(number: u64) -> String {
    let name = match number {
        1 => "RSAMD5",
        3 => "DSA",
        5 => "RSASHA1",
        6 => "DSA-NSEC3-SHA1",
        7 => "RSASHA1-NSEC3-SHA1",
        8 => "RSASHA256",
        10 => "RSASHA512",
        12 => "ECC-GOST",
        13 => "ECDSAP256SHA256",
        14 => "ECDSAP384SHA384",
        15 => "ED25519",
        16 => "ED448",
        other => return format!("algorithm {other}"),
    };
    format!("{name} ({number})")
}

/// IANA's DS RR Type Digest Algorithms.
fn digest_type(number: u64) -> String {
    match number {
        1 => "SHA-1".into(),
        2 => "SHA-256".into(),
        4 => "SHA-384".into(),
        other => format!("digest type {other}"),
    }
}
