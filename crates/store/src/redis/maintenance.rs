//! Keeps connections open while a thread serves: opens those that were lost, asks servers whether
//! they still serve their sessions, and follows changes in the set of servers.

use std::collections::HashMap;
use std::rc::Rc;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, sleep_until};

use super::node::Node;
use super::servers::RedisServers;

/// Maintains the connections until this is dropped.
pub(super) async fn tend(servers: Rc<RedisServers>) {
    let mut tasks = JoinSet::new();
    let mut tended: HashMap<*const Node, AbortHandle> = HashMap::new();
    loop {
        let nodes: Vec<Rc<Node>> = servers
            .known()
            .into_iter()
            .chain(servers.sentinels.iter().cloned())
            .collect();
        let is_known = |of: &*const Node| nodes.iter().any(|node| Rc::as_ptr(node) == *of);
        for (_, task) in tended.extract_if(|of, _| !is_known(of)) {
            task.abort();
        }
        for node in nodes {
            let of = Rc::as_ptr(&node);
            tended
                .entry(of)
                .or_insert_with(|| tasks.spawn_local(tend_node(servers.clone(), node)));
        }
        servers.keep_view().await;
        while tasks.try_join_next().is_some() {}
    }
}

async fn tend_node(servers: Rc<RedisServers>, node: Rc<Node>) {
    let interval = if servers.settings.has_several_servers() {
        servers.settings.probe
    } else {
        servers.settings.heartbeat
    };
    loop {
        let Ok(link) = servers.link_to(&node).await else {
            sleep_until(node.next_attempt()).await;
            continue;
        };
        tokio::select! {
            () = node.ended.notified() => continue,
            () = sleep(interval) => {}
        }
        if let Ok(answer) = node.probe(&link).await {
            servers.probed(&node, &answer);
        }
    }
}
