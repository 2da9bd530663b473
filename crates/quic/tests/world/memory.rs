//! How much memory many connections use together.

use std::sync::Arc;
use std::time::Duration;

use roundtrip_quic::{Budget, CloseReason, Transport};

use super::simulation::{RTT, SERVER, Simulation, fast};

const BUDGET: u64 = 4 << 20;

#[test]
fn clients_that_fall_silent_stay_within_the_budget_and_others_are_served_afterwards() {
    let budget = Arc::new(Budget::new(BUDGET));
    let shared = Transport {
        budget: Some(budget.clone()),
        ..fast()
    };
    let mut simulation = Simulation::with(1, &fast(), |server| {
        server.transport = Arc::new(shared);
    });
    let mut refused = 0;
    for number in 0..30 {
        let address = format!("203.0.113.{number}:50000");
        let host = simulation.add_host(None, &address);
        let client = simulation.connect_from(host);
        simulation.run_for(4 * RTT);
        if simulation.nodes[host].lives[&client].closed().is_some() {
            refused += 1;
            continue;
        }
        simulation.request_from(host, client, 0, 20 << 20);
        simulation.act();
        // The client receives nothing more.
        simulation.hosts.remove(&address.parse().unwrap());
        simulation.run_for(RTT);
    }
    assert!(budget.used() > BUDGET / 2, "{}", budget.used());
    assert!(budget.used() < BUDGET * 5 / 4, "{}", budget.used());
    assert!(refused > 5, "{refused}");
    let counted = simulation.nodes[SERVER].endpoint.refused_over_budget();
    assert!(counted >= refused, "{counted} of {refused}");
    // Their idle timeouts end them.
    simulation.run_for(Duration::from_mins(3));
    simulation.nodes[SERVER].endpoint.remove_drained();
    assert_eq!(budget.used(), 0);
    let (client, _) = simulation.establish();
    simulation.request(client, 1000, 1 << 20);
    simulation.run_until_completed(client, 1);
    let closed: Option<&CloseReason> = simulation.life(client).closed();
    assert_eq!(closed, None);
}
