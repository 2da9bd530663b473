//! Several real redis-servers for one test: a cluster of three masters with a replica each, and a
//! master with a replica that three sentinels watch. Their timeouts are short.

use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use roundtrip_store::{Near, NearSettings, Redis, RedisSettings};
use roundtrip_wire::resp::{Value, key_slot};

use crate::server::{Client, Server};
use crate::until;

pub(crate) const MASTERS: usize = 3;

pub(crate) struct Cluster {
    /// The replica of `n` is `n + 3`.
    pub(crate) servers: Vec<Server>,
    pub(crate) ports: Vec<u16>,
}

impl Cluster {
    pub(crate) async fn start(test: &str) -> Option<Self> {
        let ports = free_ports(4 * MASTERS);
        let (ports, bus) = ports.split_at(2 * MASTERS);
        let mut servers = Vec::new();
        for (port, bus) in ports.iter().zip(bus) {
            let (port, bus) = (port.to_string(), bus.to_string());
            let arguments = [
                ["--port", &port],
                ["--cluster-port", &bus],
                ["--cluster-enabled", "yes"],
                ["--cluster-node-timeout", "600"],
                ["--cluster-allow-replica-migration", "no"],
                ["--repl-diskless-sync-delay", "0"],
                ["--repl-ping-replica-period", "1"],
            ];
            servers.push(Server::start(test, arguments.as_flattened()).await?);
        }
        let cluster = Self {
            servers,
            ports: ports.to_vec(),
        };
        cluster.join(bus).await;
        Some(cluster)
    }

    async fn join(&self, bus: &[u16]) {
        let per_master = usize::from(roundtrip_wire::resp::SLOTS) / MASTERS + 1;
        for n in 0..2 * MASTERS {
            let mut client = self.client(n).await;
            let epoch = (n + 1).to_string();
            client.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]).await;
            if n < MASTERS {
                let first = n * per_master;
                let last = (first + per_master - 1).min(16383).to_string();
                let first = first.to_string();
                client
                    .ask(&["CLUSTER", "ADDSLOTSRANGE", &first, &last])
                    .await;
            }
        }
        for n in 0..2 * MASTERS {
            let mut client = self.client(n).await;
            for (port, bus) in self.ports.iter().zip(bus) {
                let (port, bus) = (port.to_string(), bus.to_string());
                client
                    .ask(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus])
                    .await;
            }
        }
        self.all("they know each other", |info| {
            info.contains("cluster_known_nodes:6")
        })
        .await;
        for n in 0..MASTERS {
            let id = text(&self.client(n).await.ask(&["CLUSTER", "MYID"]).await);
            let mut replica = self.client(n + MASTERS).await;
            until("it follows", async || {
                let answer = replica.try_ask(&["CLUSTER", "REPLICATE", &id]).await;
                matches!(answer, Some(Value::Simple(_)))
            })
            .await;
        }
        self.all("it works", |info| info.contains("cluster_state:ok"))
            .await;
        for n in MASTERS..2 * MASTERS {
            has_master(&self.servers[n]).await;
        }
        // Failovers are voted on by masters that know the replicas.
        until("replicas are known", async || {
            let mut known = true;
            for n in 0..MASTERS {
                let nodes = text(&self.client(n).await.ask(&["CLUSTER", "NODES"]).await);
                known &= nodes.matches("slave").count() == MASTERS;
            }
            known
        })
        .await;
    }

    async fn all(&self, what: &str, is: impl Fn(&str) -> bool) {
        until(what, async || {
            let mut all = true;
            for n in 0..self.servers.len() {
                let info = self.client(n).await.ask(&["CLUSTER", "INFO"]).await;
                all &= is(&text(&info));
            }
            all
        })
        .await;
    }

    pub(crate) async fn client(&self, n: usize) -> Client {
        self.servers[n].client().await
    }

    /// The number of the master that this session belongs to at first.
    pub(crate) fn master_of(sid: &str) -> usize {
        usize::from(key_slot(sid.as_bytes()))
            / (usize::from(roundtrip_wire::resp::SLOTS) / MASTERS + 1)
    }

    pub(crate) fn url(&self) -> String {
        let all: Vec<String> = self
            .ports
            .iter()
            .map(|p| format!("127.0.0.1:{p}"))
            .collect();
        format!("redis+cluster://{}", all.join(","))
    }

    pub(crate) fn store(&self) -> Redis {
        store(&self.url())
    }

    /// Waits until the replica of a master has taken its place.
    pub(crate) async fn has_replaced(&self, n: usize) {
        is_master(&self.servers[n + MASTERS]).await;
    }
}

pub(crate) struct Watched {
    /// In the beginning, the first one is the master.
    pub(crate) servers: Vec<Server>,
    pub(crate) sentinels: Vec<Server>,
    sentinel_ports: Vec<u16>,
}

impl Watched {
    pub(crate) async fn start(test: &str) -> Option<Self> {
        let ports = free_ports(5);
        let (ports, sentinel_ports) = ports.split_at(2);
        let (master, replica) = (ports[0].to_string(), ports[1].to_string());
        let quick = ["--repl-diskless-sync-delay", "0"];
        let first = [&["--port", &master], &quick[..]].concat();
        let second = [
            &["--port", &replica, "--replicaof", "127.0.0.1", &master],
            &quick[..],
        ]
        .concat();
        let servers = vec![
            Server::start(test, &first).await?,
            Server::start(test, &second).await?,
        ];
        has_master(&servers[1]).await;
        let mut sentinels = Vec::new();
        for port in sentinel_ports {
            let configuration = format!(
                "port {port}\nsentinel monitor mymaster 127.0.0.1 {master} 2\n\
                 sentinel down-after-milliseconds mymaster 500\n\
                 sentinel failover-timeout mymaster 3000\n\
                 requirepass canary-s\nsentinel sentinel-pass canary-s\n"
            );
            sentinels.push(Server::start_sentinel(test, &configuration).await?);
        }
        let watched = Self {
            servers,
            sentinels,
            sentinel_ports: sentinel_ports.to_vec(),
        };
        for sentinel in &watched.sentinels {
            let mut client = sentinel.client().await;
            client.ask(&["AUTH", "canary-s"]).await;
            until("sentinels and the replica are known", async || {
                let told = client.ask(&["SENTINEL", "MASTER", "mymaster"]).await;
                let Value::Array(fields) = told else {
                    panic!("{told:?}")
                };
                let field = |name: &str| {
                    let mut pairs = fields.chunks_exact(2);
                    pairs.find(|p| text(&p[0]) == name).map(|p| text(&p[1]))
                };
                field("num-other-sentinels").as_deref() == Some("2")
                    && field("num-slaves").as_deref() == Some("1")
            })
            .await;
        }
        Some(watched)
    }

    pub(crate) fn store(&self) -> Redis {
        let ports = self.sentinel_ports.iter();
        let all: Vec<String> = ports.map(|p| format!("127.0.0.1:{p}")).collect();
        let url = format!("redis+sentinel://{}/mymaster", all.join(","));
        let mut settings = settings(&url);
        let password = roundtrip_tls::Secret::new(b"canary-s".to_vec());
        settings.sentinel_password = Some(Arc::new(password));
        Redis::new(Arc::new(settings))
    }
}

pub(crate) fn settings(url: &str) -> RedisSettings {
    let mut settings = RedisSettings::from_url(url).unwrap();
    // A busy machine must not fail the test.
    settings.connect = Duration::from_secs(20);
    settings.answer = Duration::from_secs(20);
    settings
}

pub(crate) fn store(url: &str) -> Redis {
    Redis::new(Arc::new(settings(url)))
}

/// A near cache with a long grace.
pub(crate) fn near(store: Redis) -> Rc<Near<Redis>> {
    let settings = NearSettings {
        grace: Duration::from_mins(10),
        ..NearSettings::default()
    };
    let near = Rc::new(Near::new(store, settings));
    tokio::task::spawn_local(near.clone().run());
    near
}

pub(crate) async fn has_master(server: &Server) {
    replication(server, "it follows its master", "master_link_status:up").await;
}

/// Waits until the master counts its replica, which can be later than the replica is in order.
pub(crate) async fn has_replica(master: &Server) {
    replication(master, "its replica is online", "state=online").await;
}

pub(crate) async fn is_master(server: &Server) {
    replication(server, "it becomes a master", "role:master").await;
}

async fn replication(server: &Server, what: &str, line: &str) {
    until(what, async || {
        // Some servers close connections when their role changes.
        let info = server
            .client()
            .await
            .try_ask(&["INFO", "replication"])
            .await;
        info.is_some_and(|info| text(&info).contains(line))
    })
    .await;
}

pub(crate) fn text(value: &Value) -> String {
    String::from_utf8_lossy(value.bytes().unwrap_or_default()).into_owned()
}

/// Free ports outside the range from which the kernel chooses by itself.
fn free_ports(count: usize) -> Vec<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + u16::try_from(std::process::id() % 200).unwrap() * 100;
    let next = std::iter::repeat_with(|| first + NEXT.fetch_add(1, Ordering::Relaxed) % 2_000);
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    next.filter(is_free).take(count).collect()
}
