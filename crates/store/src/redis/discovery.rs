//! Finds the servers, by asking a cluster's own servers or the sentinels.

use roundtrip_wire::resp::Value;

use super::link::Link;
use super::node::Node;
use super::refused;
use super::servers::{RedisServers, is_master_role};
use super::settings::{Address, RedisTopology};
use super::slots::SlotMap;
use crate::StoreError;

pub(super) async fn find(servers: &RedisServers) -> Result<SlotMap, StoreError> {
    match &servers.settings.topology {
        RedisTopology::One(address) => Ok(SlotMap::whole(address.clone(), Vec::new())),
        RedisTopology::Cluster(seeds) => in_cluster(servers, seeds).await,
        RedisTopology::Sentinels { master, .. } => by_sentinels(servers, master).await,
    }
}

/// Asks one server after another, those with an open connection first. A server that is cut off
/// from the others has lost its connection by its probe.
async fn in_cluster(servers: &RedisServers, seeds: &[Address]) -> Result<SlotMap, StoreError> {
    // A seed can be another name of a known server, so it becomes one only if it is needed.
    let seeds = seeds.iter().map(|address| servers.node(address));
    let mut failed = StoreError::down("no server of the cluster is known");
    for node in servers.known().into_iter().chain(seeds) {
        match slots_by(servers, &node).await {
            Ok(map) => return Ok(map),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

async fn slots_by(servers: &RedisServers, node: &Node) -> Result<SlotMap, StoreError> {
    let link = servers.link_to(node).await?;
    let answer = refused("CLUSTER SLOTS", link.ask(&[b"CLUSTER", b"SLOTS"]).await?)?;
    let address = |host: &[u8], port: i64| {
        let port = u16::try_from(port).ok()?;
        node.address.named(host, port)
    };
    let map = SlotMap::parse(&answer, address).ok_or(StoreError::NotUnderstood(
        "CLUSTER SLOTS did not return slots",
    ))?;
    if map.is_empty() {
        return Err(StoreError::down("the cluster has no slots yet"));
    }
    Ok(map)
}

/// A sentinel's statement about the master.
struct Witness {
    epoch: u64,
    map: SlotMap,
    master: Address,
}

/// Asks all sentinels with an open connection; if there is none, one after another. The sentinel
/// that knows the latest failover is right, if the server that it names agrees.
async fn by_sentinels(servers: &RedisServers, name: &str) -> Result<SlotMap, StoreError> {
    let any_live = servers.sentinels.iter().any(|node| node.live().is_some());
    let mut failed = StoreError::down("no sentinel is known");
    let mut latest: Option<Witness> = None;
    for sentinel in &servers.sentinels {
        if any_live && sentinel.live().is_none() {
            continue;
        }
        match witness(sentinel, name).await {
            Ok(witness) => {
                let newer = |known: &Witness| witness.epoch > known.epoch;
                if latest.as_ref().is_none_or(newer) {
                    latest = Some(witness);
                }
                if !any_live {
                    break;
                }
            }
            Err(error) => failed = error,
        }
    }
    let Some(witness) = latest else {
        return Err(failed);
    };
    let node = servers.node(&witness.master);
    let Ok(link) = servers.link_to(&node).await else {
        // It is down and has not been replaced.
        return Ok(witness.map);
    };
    let role = refused("ROLE", node.probe(&link).await?)?;
    if !is_master_role(&role) {
        return Err(StoreError::down("the new master has not begun yet"));
    }
    Ok(witness.map)
}

async fn witness(sentinel: &Node, name: &str) -> Result<Witness, StoreError> {
    let link = sentinel.link().await?;
    let told = ask(&link, &[b"SENTINEL", b"MASTER", name.as_bytes()]).await?;
    let place = |told: &Value| {
        let host = field(told, b"ip")?;
        let port = number(field(told, b"port")?)?;
        sentinel.address.named(host, u16::try_from(port).ok()?)
    };
    let not = || StoreError::NotUnderstood("SENTINEL MASTER did not return a server");
    let master = place(&told).ok_or_else(not)?;
    let epoch = field(&told, b"config-epoch")
        .and_then(number)
        .ok_or_else(not)?;
    let replicas = match ask(&link, &[b"SENTINEL", b"REPLICAS", name.as_bytes()]).await? {
        Value::Array(replicas) => replicas,
        _ => Vec::new(),
    };
    let is_up = |told: &&Value| {
        let flags = field(told, b"flags").unwrap_or_default();
        let mut flags = flags.split(|byte| *byte == b',');
        !flags.any(|flag| matches!(flag, b"s_down" | b"disconnected"))
    };
    let replicas = replicas.iter().filter(is_up).filter_map(place).collect();
    Ok(Witness {
        epoch,
        map: SlotMap::whole(master.clone(), replicas),
        master,
    })
}

async fn ask(link: &Link, parts: &[&[u8]]) -> Result<Value, StoreError> {
    refused("SENTINEL", link.ask(parts).await?)
}

/// A field of a map, which is a flat list in version 2 of the protocol.
fn field<'a>(value: &'a Value, name: &[u8]) -> Option<&'a [u8]> {
    match value {
        Value::Map(pairs) => {
            let found = pairs.iter().find(|(key, _)| key.bytes() == Some(name));
            found.and_then(|(_, value)| value.bytes())
        }
        Value::Array(parts) => {
            let mut pairs = parts.chunks_exact(2);
            let found = pairs.find(|p| p.first().and_then(Value::bytes) == Some(name));
            found.and_then(|pair| pair.get(1)).and_then(Value::bytes)
        }
        _ => None,
    }
}

fn number(text: &[u8]) -> Option<u64> {
    str::from_utf8(text).ok()?.parse().ok()
}
