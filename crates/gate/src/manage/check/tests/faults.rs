//! Single faults: the words of the correct configuration that are replaced, their replacement, and
//! the expected findings.

pub(super) type Case = (&'static str, &'static str, &'static [&'static str]);

pub(super) const CASES: &[Case] = &[
    ("http = [\"127.0.0.1:8080\"]", "", &[]),
    (
        "http = [\"127.0.0.1:8080\"]\nhttps = [\"127.0.0.1:8443\"]\nh3 = true\n[[tls.certificate]]\nchain = \"DIR/own.pem\"\nkey = \"DIR/own.key\"",
        "",
        &["error listen: there is no address for clients"],
    ),
    (
        "8443",
        "8080",
        &["error listen.https[0]: 127.0.0.1:8080 is already used by 'listen.http[0]'"],
    ),
    (
        "http = [\"127.0.0.1:8080\"]",
        "http = [\"0.0.0.0:8443\"]",
        &["error listen.https[0]: 127.0.0.1:8443 is already used"],
    ),
    (
        "[[route]]",
        "[limits]\nfields = 3\n[[route]]\nstreams = true",
        &["warning limits.fields: browsers send up to"],
    ),
    (
        "http = [\"127.0.0.1:8080\"]",
        "http = [\"0.0.0.0:8081\", \"[::]:8081\"]",
        &[],
    ),
    (
        "http = [\"127.0.0.1:8080\"]",
        "http = [\"[::]:8081\"]",
        &["warning listen.http[0]: this is for IPv6 only; add \"0.0.0.0:8081\""],
    ),
    (
        "http = [\"127.0.0.1:8080\"]",
        "http = [\"203.0.113.7:80\"]",
        &["error listen.http[0]: this machine cannot listen at 203.0.113.7"],
    ),
    (
        "http = [\"127.0.0.1:8080\"]",
        "trusted = [\"0.0.0.0/0\"]",
        &["warning listen.trusted: this includes every client"],
    ),
    (
        "http = [\"127.0.0.1:8080\"]",
        "trusted = [\"10.0.0.7/8\", \"2001:db8::1/64\", \"192.0.2.1\", \"::1/128\"]\n\
         proxy_protocol_from = [\"10.0.0.0/9\", \"10.128.0.0/8\"]",
        &[
            "warning listen.proxy_protocol_from[1]: this means all of 10.0.0.0/8",
            "warning listen.trusted[0]: this means all of 10.0.0.0/8",
            "warning listen.trusted[1]: this means all of 2001:db8::/64",
        ],
    ),
    (
        "https = [\"127.0.0.1:8443\"]\nh3 = true\n[[tls.certificate]]\nchain = \"DIR/own.pem\"\nkey = \"DIR/own.key\"",
        "https = [\"127.0.0.1:8443\", \"0.0.0.0:8444\"]",
        &["warning listen.https[1]: there is no [[tls.certificate]]"],
    ),
    (
        "[[route]]",
        "[admin]\nhosts = [\"*\"]\n[[route]]\npath = \"/admin*\"\nupstream = \"backend\"\n\
         [[route]]\nhost = \"[::1]\"\nupstream = \"backend\"\n[[route]]\nhost = \"[0::1]\"",
        &[
            "error route[0].path: there are no wildcards",
            "error route[2]: 'route[1]' is for the same host and path",
            "warning admin.hosts[0]: it must be only a host name",
        ],
    ),
    (
        "[[route]]",
        "[[route]]\npath = \"/admin\"\nupstream = \"backend\"\n[[route]]\npath = \"/x/y\"\nupstream = \"backend\"\n\
         [[route]]\nhost = \"a.example\"\nauth = false\nupstream = \"backend\"\n\
         [[route]]\nhost = \"A.example.\"\npath = \"/x\"\nupstream = \"backend\"\n\
         [[route]]\nhost = \"b.example\"\nauth = false\npath = \"/admin/x\"\nupstream = \"backend\"\n[[route]]",
        &[
            "warning route[2]: for this host, /admin needs no session: a route with a host precedes 'route[0]'",
        ],
    ),
    (
        "[[route]]",
        "[limits]\nbody_rate = \"1MiB\"\n[[route]]",
        &["warning limits.body_rate_most: it is less than 'limits.body_rate'"],
    ),
    (
        "[[route]]",
        "protocol = \"h2\"\n[[route]]\nupgrades = true\nset = { X-A = \"1\" }\nremove = [\"x_a\"]",
        &[
            "warning upstream.backend.protocol: HTTP/2 without TLS",
            "error route[0].remove: 'x_a' and 'x-a' in 'set' are the same field",
            "warning route[0].upgrades: gate passes upgrades on over HTTP/1.1 only",
        ],
    ),
    (
        "[session]",
        "[authz]\ntrusted = [\"127.0.0.1\"]\nhttp = [\"127.0.0.1:9190\"]\n[[route]]\npath = \"/a\"\n\
         upstream = \"backend\"\nremove = [\"X-A\"]\n[session]",
        &["warning route[0].remove: proxies that ask over HTTP"],
    ),
    (
        "http = [\"127.0.0.1:8080\"]",
        "trusted_fields = [\"X-Real-IP\", \"X-Auth-Request-User\", \"Cookie\"]",
        &[
            "warning listen.trusted_fields: without 'listen.trusted' it has no effect",
            "warning listen.trusted_fields[2]: 'Cookie' is not among the fields",
        ],
    ),
    (
        "[[route]]",
        "[[route]]\nlogin = true\nrequire = { groups = [] }",
        &[
            "error route[0].login: there is no [login]",
            "error route[0].require: 'groups' has no value",
        ],
    ),
    (
        "[[route]]",
        "[[route]]\nrequire = { email_domain = [\"a@example.com\"] }",
        &[
            "error route[0].require: only logins have claims",
            "error route[0].require: a domain has no '@'",
        ],
    ),
    (
        "[session]",
        "[login]\nissuer = \"https://login.example\"\nclient_id = \"gate\"\n[session]",
        &["warning login: nobody can log in"],
    ),
    (
        "[session]",
        "[login]\nissuer = \"https://login.example\"\nclient_id = \"\"\nclient_secret = { file = \"DIR/none\" }\n\
         start = \"/x\"\nlogout = \"/x\"\ncookie = \"a b\"\nscopes = [\"email\"]\nparameters = { state = \"x\" }\n\
         algorithms = [\"HS256\", \"none\"]\norigin = \"https://app.example/\"\nafter_logout = \"/bye\"\nlife = \"1s\"\n[session]",
        &[
            "warning login: nobody can log in",
            "error login.logout: another of gate's own paths",
            "error login.origin: write it as browsers do",
            "error login.after_logout: it has to be a whole URL",
            "error login.cookie: a cookie's name",
            "error login.client_id: ",
            "error login.client_secret: ",
            "error login.scopes: without 'openid'",
            "error login.parameters: 'state' is set by gate",
            "error login.algorithms[0]: the provider's keys are public",
            "error login.algorithms[1]: 'none' is not an algorithm",
            "error login.life: ",
        ],
    ),
    (
        "[session]",
        "[login]\nissuer = \"https://login.example\"\nclient_id = \"gate\"\ncookie = \"Authorization\"\n[session]",
        &[
            "warning login: nobody can log in",
            "error login.cookie: 'token.cookie' has the same name",
            "warning login.cookie: other hosts",
        ],
    ),
    (
        "[[route]]",
        "[[route]]\nbuffer_request = \"64MiB\"\nstreams = true",
        &[
            "error route[0].buffer_request: it waits for the end of a body",
            "error route[0].buffer_request: no body can be that large: 'limits.buffered_per_client'",
        ],
    ),
    (
        "[session]",
        "[authz]\nhttp = [\"127.0.0.1:9190\"]\ntrusted = [\"0.0.0.0/0\"]\n[session]",
        &["error authz.trusted: this includes every client"],
    ),
    (
        "[session]",
        "[authz]\ngrpc = [\"127.0.0.1:8080\"]\ntrusted = []\n[session]",
        &[
            "error authz.grpc[0]: 127.0.0.1:8080 is already used by 'listen.http[0]'",
            "error authz.trusted: no proxy may ask",
        ],
    ),
    (
        "[session]",
        "[authz]\nhttp = [\"0.0.0.0:9190\"]\nsecret = { file = \"DIR/none\" }\n[session]",
        &[
            "error authz.secret: ",
            "warning authz.http: answers contain logins",
        ],
    ),
    (
        "http = [\"127.0.0.1:8080\"]\nhttps = [\"127.0.0.1:8443\"]\nh3 = true\n[[tls.certificate]]\nchain = \"DIR/own.pem\"\nkey = \"DIR/own.key\"",
        "[authz]\nhttp = [\"127.0.0.1:9190\"]",
        &[],
    ),
    (
        "own.key",
        "other.key",
        &["error tls.certificate[0].key: the key does not fit"],
    ),
    (
        "own.key",
        "own.pem",
        &["error tls.certificate[0].key: users outside its group can read"],
    ),
    (
        "own.key",
        "home/seal.key",
        &["error tls.certificate[0].key: "],
    ),
    (
        "own.pem",
        "none.pem",
        &["error tls.certificate[0].chain: cannot read"],
    ),
    ("own.pem", "own.key", &["error tls.certificate[0].chain: "]),
    (
        "own.",
        "old.",
        &["error tls.certificate[0].chain: the certificate expired 335 days ago"],
    ),
    (
        "own.",
        "later.",
        &["error tls.certificate[0].chain: the certificate is valid only in 365 days"],
    ),
    ("own.", "soon.", &[]),
    (
        "[[token.key]]",
        "[tls]\nearly_data = true\n[[token.key]]",
        &["error tls.early_data: others can repeat early data"],
    ),
    (
        "[[token.key]]",
        "[tls]\nresumption = \"single-use\"\nearly_data = true\n[[token.key]]",
        &[],
    ),
    (
        "[[token.key]]",
        "[tls]\nseed = { file = \"DIR/short.key\" }\n[[token.key]]",
        &["error tls.seed: it has to be 32 bytes"],
    ),
    (
        "HS512",
        "HS511",
        &["error token.key[0].algorithm: 'HS511' is not an algorithm"],
    ),
    ("HS512", "ES256", &["error token.key[0].from: "]),
    (
        "home/token.key",
        "open.key",
        &["warning token.key[0].from: its group may read"],
    ),
    (
        "home/token.key",
        "world.key",
        &["error token.key[0].from: users outside its group can read"],
    ),
    (
        "own.key",
        "shared.key",
        &["warning tls.certificate[0].key: its group may read"],
    ),
    (
        "own.key",
        "everybodys.key",
        &["error tls.certificate[0].key: users outside its group can read"],
    ),
    (
        "home/seal.key",
        "gone.key",
        &["error session.seal[0].from: cannot read"],
    ),
    (
        "home/token.key",
        "short.key",
        &["error token.key[0].from: the key '(unnamed)' cannot be used: it is shorter"],
    ),
    (
        "[[token.key]]",
        "[token]\ncookie = \"\"\nbearer = false\n[[token.key]]",
        &["error token.cookie: no place for tokens is configured"],
    ),
    (
        "[[token.key]]",
        "[token.jwks]\n[[token.key]]",
        &["error token.jwks: set exactly one of 'file' and 'url'"],
    ),
    (
        "[[token.key]]",
        "[token.jwks]\nurl = \"http://h/\"\n[[token.key]]",
        &["warning token.jwks.url: over http://"],
    ),
    (
        "redb:DIR/home/",
        "redb:DIR/none/",
        &["error session.store: the directory"],
    ),
    (
        "redb:DIR/home/sessions.redb",
        "redb:DIR/own.pem",
        &["error session.store: other users may open"],
    ),
    (
        "redb:DIR/home/sessions.redb",
        "memory:",
        &["warning session.store: sessions in memory end"],
    ),
    (
        "redb:DIR/home/sessions.redb",
        "redis://u:canary@h",
        &["error session.store: 'redis://h' is not the address"],
    ),
    (
        "redb:DIR/home/sessions.redb\"",
        "redis+cluster://h\"\n[tls]\nresumption = \"single-use\"",
        &["warning session.prefix: with an empty prefix, the servers tell every thread"],
    ),
    (
        "redb:DIR/home/sessions.redb\"",
        "redis://h/0\"\n[tls]\nresumption = \"single-use\"",
        &[],
    ),
    (
        "redb:DIR/home/sessions.redb\"",
        "redis+cluster://h\"\nprefix = \"s:\"\n[tls]\nresumption = \"single-use\"",
        &[],
    ),
    (
        "id = \"a\"",
        "id = \"a b\"",
        &["error session.seal[0]: the key 'a b' cannot be used"],
    ),
    ("home/seal.key", "short.key", &["error session.seal[0]: "]),
    (
        "id = \"a\"\nfrom = { file = \"DIR/home/seal.key\" }",
        "id = \"a\"\nfrom = { env = \"ROUNDTRIP_NO_SUCH\" }",
        &["error session.seal[0].from: the environment has no variable"],
    ),
    (
        "http://127.0.0.1:8000",
        "127.0.0.1:8000",
        &["error upstream.backend.servers[0]: it "],
    ),
    (
        "http://127.0.0.1:8000",
        "http://u:canary@h",
        &["error upstream.backend.servers[0]: a user and a password"],
    ),
    (
        "http://127.0.0.1:8000",
        "http://h/path",
        &["error upstream.backend.servers[0]: it must end with the port"],
    ),
    (
        "[\"http://127.0.0.1:8000\"]",
        "[\"http://h\", \"https://h\"]",
        &["error upstream.backend.servers: some begin"],
    ),
    (
        "upstream = \"backend\"",
        "upstream = \"back\"",
        &[
            "warning upstream.backend: no route uses it",
            "error route[0].upstream: there is no [upstream.back], only backend",
        ],
    ),
    (
        "upstream = \"backend\"",
        "upstream = \"backend\"\n[[route]]\nupstream = \"backend\"\nhost = \"A.example\"\n[[route]]\nhost = \"a.example\"\nupstream = \"backend\"",
        &["error route[2]: 'route[1]' is for the same"],
    ),
    (
        "upstream = \"backend\"",
        "upstream = \"backend\"\nhost = \"a:80\"",
        &["error route[0].host: it must be only a host name"],
    ),
    (
        "upstream = \"backend\"",
        "upstream = \"backend\"\npath = \"api\"",
        &["error route[0].path: "],
    ),
    (
        "upstream = \"backend\"",
        "upstream = \"backend\"\n[route.cors]\norigins = [\"*\"]\ncredentials = true",
        &["error route[0].cors.credentials: not allowed with '*'"],
    ),
    (
        "upstream = \"backend\"",
        "upstream = \"backend\"\n[route.cors]\norigins = [\"app.example\"]",
        &["error route[0].cors.origins: 'app.example' is not an origin"],
    ),
    (
        "upstream = \"backend\"",
        "upstream = \"backend\"\n[route.cors]\npreflight = \"answer\"",
        &["error route[0].cors.origins: no origin is allowed"],
    ),
    (
        "upstream = \"backend\"",
        "upstream = \"backend\"\nsafe_jmap = true",
        &["warning route[0].safe_jmap: "],
    ),
    (
        "upstream = \"backend\"",
        "upstream = \"backend\"\n[admin]\nlisten = \"0.0.0.0:9180\"",
        &["warning admin.listen: it is not protected"],
    ),
    (
        "upstream = \"backend\"",
        "upstream = \"backend\"\n[admin]\nlisten = \"127.0.0.1:8080\"",
        &["error admin.listen: 127.0.0.1:8080 is already used by 'listen.http[0]'"],
    ),
    (
        "upstream = \"backend\"",
        "upstream = \"backend\"\n[log]\naccess = \"DIR/none/log\"",
        &["error log.access: cannot create a file"],
    ),
    (
        "upstream = \"backend\"",
        "upstream = \"backend\"\n[limits]\nstreams = 0",
        &["error limits.streams: "],
    ),
    (
        "[[route]]\nupstream = \"backend\"",
        "[[route]]\nupstream = \"backend\"\npath = \"/a//b\"\nset = { X-Real-IP = \"{nobody}\" }",
        &[
            "error route[0].path: servers read such a path in more than one way",
            "error route[0].set: the placeholders are {client}, {host} and {scheme}, not {nobody}",
        ],
    ),
    (
        "[[route]]\nupstream = \"backend\"",
        "[[route]]\nupstream = \"backend\"\npath = \"/a b\"\n[[route]]\nupstream = \"backend\"\npath = \"/ä\"",
        &[
            "error route[0].path: servers read such a path in more than one way",
            "error route[1].path: servers read such a path in more than one way",
        ],
    ),
    (
        "servers = [\"http://127.0.0.1:8000\"]",
        "servers = [\"http://localhost:8080\", \"https://127.0.0.1:8443\"]",
        &[
            "error upstream.backend.servers[0]: gate itself listens there ('listen.http[0]')",
            "error upstream.backend.servers[1]: gate itself listens there ('listen.https[0]')",
            "error upstream.backend.servers: some begin with http://",
        ],
    ),
    (
        "[[route]]\nupstream = \"backend\"",
        "[[route]]\nupstream = \"backend\"\nremove = [\"Content-Length\"]\n[limits]\nhead = \"1MiB\"",
        &[
            "error limits.head: at most 512KiB",
            "error route[0].remove: 'Content-Length' is set by gate itself",
        ],
    ),
];
