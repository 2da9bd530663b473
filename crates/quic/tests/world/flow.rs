//! Limits that a receiver sets, and streams that end before their data does.

use bytes::Bytes;
use roundtrip_quic::{Dir, Event, ReadError, StreamEvent, Transport, WriteError};

use super::simulation::{CLIENT, RTT, SERVER, Simulation, fast};

const WINDOW: u64 = 50_000;
const STREAM_WINDOW: u64 = 20_000;

fn narrow() -> Transport {
    Transport {
        window: WINDOW,
        stream_window: STREAM_WINDOW,
        send_buffer: 30_000,
        bidi_streams: 4,
        ..fast()
    }
}

#[test]
fn small_windows_let_everything_through_in_time() {
    for loss in [0, 30] {
        let mut simulation = Simulation::with(1, &narrow(), |_| {});
        simulation.down.loss = loss;
        simulation.up.loss = loss;
        let (client, _) = simulation.establish();
        for _ in 0..12 {
            simulation.request(client, 60_000, 60_000);
        }
        simulation.run_until_completed(client, 12);
    }
}

#[test]
fn a_peer_that_does_not_read_gets_one_window_and_no_more() {
    let mut simulation = Simulation::with(2, &narrow(), |_| {});
    let (client, server) = simulation.establish();
    simulation.with_traffic(CLIENT, client, |traffic, _| traffic.is_paused = true);
    for _ in 0..4 {
        simulation.request(client, 0, 100_000);
    }
    simulation.run_for(RTT * 100);
    let sent = simulation.stats(SERVER, server).stream_bytes_sent;
    assert_eq!(sent, WINDOW);
    simulation.with_traffic(CLIENT, client, |traffic, connection| {
        traffic.resume(connection);
    });
    simulation.run_until_completed(client, 4);
}

#[test]
fn one_stream_that_nobody_reads_does_not_hold_the_others() {
    let transport = Transport {
        window: 10 * STREAM_WINDOW,
        ..narrow()
    };
    let mut simulation = Simulation::with(3, &transport, |_| {});
    let (client, server) = simulation.establish();
    simulation.with_traffic(CLIENT, client, |traffic, _| traffic.ignores_uni = true);
    let unread = simulation.nodes[SERVER]
        .connection(server)
        .open(Dir::Uni)
        .unwrap();
    let data = Bytes::from(vec![0; 30_000]);
    simulation.nodes[SERVER]
        .connection(server)
        .write(unread, data)
        .unwrap();
    for _ in 0..3 {
        simulation.request(client, 0, 200_000);
    }
    simulation.run_until_completed(client, 3);
}

#[test]
fn a_stream_that_is_stopped_or_reset_ends_at_both_sides() {
    let mut simulation = Simulation::new(4);
    let (client, server) = simulation.establish();
    let data = || Bytes::from(vec![0; 500_000]);
    let connection = simulation.nodes[CLIENT].connection(client);
    let stopped = connection.open(Dir::Uni).unwrap();
    connection.write(stopped, data()).unwrap();
    let reset = connection.open(Dir::Uni).unwrap();
    connection.write(reset, data()).unwrap();
    simulation.nodes[SERVER]
        .lives
        .entry(server)
        .or_default()
        .traffic
        .ignores_uni = true;
    simulation.run_for(RTT);

    let connection = simulation.nodes[SERVER].connection(server);
    connection.stop(stopped, 7).unwrap();
    simulation.nodes[CLIENT]
        .connection(client)
        .reset(reset, 8)
        .unwrap();
    let connection = simulation.nodes[CLIENT].connection(client);
    assert_eq!(connection.write(reset, data()), Err(WriteError::Finished));
    simulation.run_for(RTT);
    let connection = simulation.nodes[CLIENT].connection(client);
    assert_eq!(
        connection.write(stopped, data()),
        Err(WriteError::Stopped(7))
    );
    let connection = simulation.nodes[SERVER].connection(server);
    assert_eq!(
        connection.read(reset, &mut [0; 10]),
        Err(ReadError::Reset(8))
    );
    simulation.request(client, 100, 100);
    simulation.run_until_completed(client, 1);
}

#[test]
fn the_writer_hears_that_all_has_arrived() {
    let mut simulation = Simulation::new(5);
    let (client, _) = simulation.establish();
    simulation.down.loss = 100;
    simulation.up.loss = 100;
    let connection = simulation.nodes[CLIENT].connection(client);
    let id = connection.open(Dir::Uni).unwrap();
    connection.write(id, Bytes::from(vec![1; 40_000])).unwrap();
    connection.finish(id).unwrap();
    // The simulation does not keep events of streams: here they are polled before it polls them.
    for _ in 0..200 {
        simulation.run_for(RTT / 2);
        let connection = simulation.nodes[CLIENT].connection(client);
        if connection.poll() == Some(Event::Stream(StreamEvent::Finished(id))) {
            return;
        }
        let written = connection.write(id, Bytes::new());
        if written == Err(WriteError::Unknown) {
            return;
        }
    }
    panic!("40 kB did not arrive in 100 round trips");
}
