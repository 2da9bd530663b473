//! Exchanges over HTTP/2, with the `h2` crate's client.

mod limits;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use h2::{Reason, RecvStream};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use tokio::io::DuplexStream;
use tokio::task::spawn_local;

use crate::accept::front::scene::{LARGE, Scene, run};
use crate::record::Limit;

pub(in crate::accept::front) type Client = SendRequest<Bytes>;

/// A client over a stream that gate serves, with windows of this size.
pub(in crate::accept::front) async fn speak(stream: DuplexStream, window: u32) -> Client {
    let mut builder = Builder::new();
    builder.initial_window_size(window);
    let (client, connection) = builder.handshake(stream).await.unwrap();
    spawn_local(async move {
        let _ = connection.await;
    });
    client
}

async fn client(scene: &Scene) -> Client {
    speak(scene.connect().0, 65_535).await
}

pub(super) fn get(path: &str) -> Request<()> {
    Request::get(format!("https://a.example{path}"))
        .body(())
        .unwrap()
}

pub(in crate::accept::front) fn post(path: &str) -> Request<()> {
    Request::post(format!("https://a.example{path}"))
        .body(())
        .unwrap()
}

pub(super) async fn ask(
    client: &mut Client,
    request: Request<()>,
) -> Result<Response<RecvStream>, h2::Error> {
    let mut ready = client.clone().ready().await?;
    ready.send_request(request, true)?.0.await
}

pub(super) async fn text(response: Response<RecvStream>) -> String {
    String::from_utf8(whole(response).await.unwrap()).unwrap()
}

async fn whole(response: Response<RecvStream>) -> Result<Vec<u8>, h2::Error> {
    let mut body = response.into_body();
    let mut all = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

/// The end may come in a frame without data.
pub(super) async fn is_over(body: &mut RecvStream) -> bool {
    while let Some(Ok(piece)) = body.data().await {
        if !piece.is_empty() {
            return false;
        }
    }
    body.is_end_stream()
}

#[test]
fn a_request_comes_to_the_backend_as_one_of_http_1() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut client = client(&scene).await;
            let mut request = get("/x?y");
            let fields = request.headers_mut();
            fields.append("cookie", "a=b".parse().unwrap());
            fields.append("cookie", "c=d".parse().unwrap());
            fields.append("x-request-id", "r1".parse().unwrap());
            fields.append("accept", "e".parse().unwrap());
            fields.append("accept", "f".parse().unwrap());
            let response = ask(&mut client, request).await.unwrap();
            assert_eq!(response.status(), 200);
            assert_eq!(response.headers()["x-request-id"], "r1");
            let seen = text(response).await;
            let expected = "GET /x?y HTTP/1.1\r\nHost: a.example\r\naccept: e\r\naccept: f\r\ncookie: a=b; c=d\r\n\
                        X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\nX-Request-Id: r1\r\n\r\n";
            assert_eq!(seen, expected);
        },
    );
}

#[test]
fn a_body_comes_back_as_it_went() {
    run(
        |_| (),
        async |scene: Scene| {
            let client = client(&scene).await;
            for (length, announced) in [(5, true), (5, false), (700_000, true), (700_000, false)] {
                let body = vec![b'y'; length];
                let mut request = post("/body");
                if announced {
                    let fields = request.headers_mut();
                    fields.insert("content-length", length.to_string().parse().unwrap());
                }
                let mut ready = client.clone().ready().await.unwrap();
                let (response, mut up) = ready.send_request(request, false).unwrap();
                up.send_data(body.clone().into(), true).unwrap();
                let got = whole(response.await.unwrap()).await.unwrap();
                assert_eq!(got.len(), length);
                assert!(got == body);
            }
        },
    );
}

#[test]
fn a_large_answer_passes_a_small_window() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut client = speak(scene.connect().0, 100).await;
            let response = ask(&mut client, get("/large")).await.unwrap();
            assert_eq!(whole(response).await.unwrap().len(), LARGE);
        },
    );
}

/// The client may send no more than the backend takes.
#[test]
fn a_client_sends_no_more_than_is_passed_on() {
    run(
        |_| (),
        async |scene: Scene| {
            let client = client(&scene).await;
            let mut ready = client.ready().await.unwrap();
            let (_response, mut up) = ready.send_request(post("/never"), false).unwrap();
            let piece = Bytes::from(vec![b'z'; 16 * 1024]);
            let mut sent = 0;
            loop {
                up.reserve_capacity(piece.len());
                let room = std::future::poll_fn(|cx| up.poll_capacity(cx));
                let room = tokio::time::timeout(std::time::Duration::from_secs(1), room).await;
                let Ok(Some(Ok(room))) = room else { break };
                sent += room;
                up.send_data(piece.slice(..room), false).unwrap();
                assert!(sent < 64 << 20, "it is taken without end");
            }
            assert!(sent > 0);
        },
    );
}

#[test]
fn each_event_arrives_before_the_next_is_sent() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut client = client(&scene).await;
            let mut body = ask(&mut client, get("/events")).await.unwrap().into_body();
            for number in 1..=3 {
                let event = body.data().await.unwrap().unwrap();
                assert_eq!(event, format!("data: {number}").as_bytes());
                scene.backend.event.notify_one();
            }
            assert!(is_over(&mut body).await);
        },
    );
}

#[test]
fn hints_arrive_before_the_answer() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut client = client(&scene).await.ready().await.unwrap();
            let (mut response, _) = client.send_request(get("/hints"), true).unwrap();
            let hints = std::future::poll_fn(|cx| response.poll_informational(cx));
            let hints = hints.await.unwrap().unwrap();
            assert_eq!(
                (hints.status(), &hints.headers()["link"]),
                (StatusCode::EARLY_HINTS, &"</a>".parse().unwrap())
            );
            scene.backend.event.notify_one();
            assert_eq!(text(response.await.unwrap()).await, "later");
        },
    );
}

#[test]
fn a_client_without_a_session_gets_401_and_may_ask_again() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut client = client(&scene).await;
            let request = Request::post("https://guarded.example/").header("x-request-id", "r1");
            let request = request.body(()).unwrap();
            let mut ready = client.clone().ready().await.unwrap();
            // The request has a body that the backend does not read.
            let (response, _up) = ready.send_request(request, false).unwrap();
            let response = response.await.unwrap();
            assert_eq!(response.status(), 401);
            assert_eq!(response.headers()["x-request-id"], "r1");
            let body = text(response).await;
            assert!(body.ends_with("Reason: no_token\nRequest: r1\n"), "{body}");
            assert!(scene.backend.heads.borrow().is_empty());
            assert_eq!(ask(&mut client, get("/")).await.unwrap().status(), 200);
        },
    );
}

#[test]
fn an_answer_that_breaks_off_is_no_whole_one() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut client = client(&scene).await;
            // The reset may overtake the part that was sent.
            let error = match ask(&mut client, get("/cut")).await {
                Ok(response) => whole(response).await.unwrap_err(),
                Err(error) => error,
            };
            assert_eq!(error.reason(), Some(Reason::INTERNAL_ERROR));
            assert_eq!(ask(&mut client, get("/")).await.unwrap().status(), 200);
        },
    );
}

#[test]
fn an_answer_before_the_end_of_the_body_stops_the_body() {
    run(
        |_| (),
        async |scene: Scene| {
            let client = client(&scene).await;
            let mut ready = client.clone().ready().await.unwrap();
            let (response, mut up) = ready.send_request(post("/refusing"), false).unwrap();
            let response = response.await.unwrap();
            assert_eq!(response.status(), 413);
            assert_eq!(text(response).await, "no");
            let reset = std::future::poll_fn(|cx| up.poll_reset(cx)).await;
            assert_eq!(reset.unwrap(), Reason::NO_ERROR);
        },
    );
}

/// A backend must not work for a client that has gone.
#[test]
fn a_reset_ends_the_exchange_with_the_backend() {
    run(
        |_| (),
        async |scene: Scene| {
            let client = client(&scene).await;
            let mut ready = client.clone().ready().await.unwrap();
            let (response, mut up) = ready.send_request(get("/never"), true).unwrap();
            while scene.backend.heads.borrow().is_empty() {
                tokio::task::yield_now().await;
            }
            up.send_reset(Reason::CANCEL);
            scene.backend.left.notified().await;
            drop(response);
        },
    );
}

#[test]
fn a_disconnect_ends_all_exchanges() {
    run(
        |_| (),
        async |scene: Scene| {
            let (stream, served) = scene.connect();
            let mut client = speak(stream, 100).await.ready().await.unwrap();
            let (response, _) = client.send_request(get("/never"), true).unwrap();
            while scene.backend.heads.borrow().is_empty() {
                tokio::task::yield_now().await;
            }
            drop((client, response));
            scene.backend.left.notified().await;
            let _ = served.await.unwrap();
        },
    );
}

#[test]
fn early_requests_wait_unless_they_are_safe() {
    run(
        |_| (),
        async |scene: Scene| {
            let (stream, handshake) = scene.connect_early();
            let mut client = speak(stream, 65_535).await;
            let seen = text(ask(&mut client, get("/")).await.unwrap()).await;
            assert!(seen.contains("Early-Data: 1\r\n"), "{seen}");
            let mut ready = client.clone().ready().await.unwrap();
            let (response, _) = ready.send_request(post("/"), true).unwrap();
            // A request that frameworks take for a POST counts as one.
            let mut disguised = get("/");
            let name = HeaderName::from_static("x-http-method-override");
            disguised
                .headers_mut()
                .insert(name, HeaderValue::from_static("POST"));
            let mut ready = client.clone().ready().await.unwrap();
            let (_other, _) = ready.send_request(disguised, true).unwrap();
            let second = text(ask(&mut client, get("/")).await.unwrap()).await;
            assert!(second.contains("Early-Data: 1\r\n"), "{second}");
            assert_eq!(scene.backend.heads.borrow().len(), 2, "a POST went early");
            handshake.end();
            let seen = text(response.await.unwrap()).await;
            assert!(
                seen.starts_with("POST ") && !seen.contains("Early-Data"),
                "{seen}"
            );
        },
    );
}

#[test]
fn a_request_that_got_425_is_sent_again_after_the_handshake() {
    run(
        |_| (),
        async |scene: Scene| {
            let (stream, handshake) = scene.connect_early();
            let mut client = speak(stream, 65_535).await.ready().await.unwrap();
            let (response, _) = client.send_request(get("/too-early"), true).unwrap();
            while scene.backend.heads.borrow().is_empty() {
                tokio::task::yield_now().await;
            }
            handshake.end();
            let seen = text(response.await.unwrap()).await;
            assert!(!seen.contains("Early-Data"), "{seen}");
            assert_eq!(scene.backend.heads.borrow().len(), 2);
        },
    );
}

#[test]
fn a_second_425_is_the_client_s_answer() {
    run(
        |_| (),
        async |scene: Scene| {
            let (stream, handshake) = scene.connect_early();
            let mut client = speak(stream, 65_535).await.ready().await.unwrap();
            let request = get("/always-too-early");
            let (response, _) = client.send_request(request, true).unwrap();
            while scene.backend.heads.borrow().is_empty() {
                tokio::task::yield_now().await;
            }
            handshake.end();
            assert_eq!(response.await.unwrap().status(), 425);
            let heads = scene.backend.heads.borrow();
            assert_eq!(heads.len(), 2);
            assert_eq!(heads[0].replace("Early-Data: 1\r\n", ""), heads[1]);
        },
    );
}

/// Anyone may send early data, so what is read of it counts for its client.
#[test]
fn no_more_early_bodies_are_read_than_a_client_may_have() {
    run(
        |config| config.limits.exchanges_per_client = 2,
        async |scene: Scene| {
            let (stream, handshake) = scene.connect_early();
            let client = speak(stream, 65_535).await;
            let body = r#"{"using":[],"methodCalls":[["Email/get",{},"0"]]}"#;
            let mut sent = Vec::new();
            for _ in 0..3 {
                let request = Request::post("https://mail.example/body")
                    .header("content-type", "application/json")
                    .header("content-length", body.len())
                    .body(())
                    .unwrap();
                let mut ready = client.clone().ready().await.unwrap();
                sent.push(ready.send_request(request, false).unwrap());
            }
            let reached = || scene.met(Limit::ExchangesPerClient) == 1;
            while !reached() {
                tokio::task::yield_now().await;
            }
            for (_, up) in &mut sent {
                up.send_data(body.into(), true).unwrap();
            }
            let (third, _) = sent.pop().unwrap();
            for (response, _) in sent {
                assert_eq!(text(response.await.unwrap()).await, body);
            }
            assert_eq!(scene.backend.heads.borrow().len(), 2);
            handshake.end();
            assert_eq!(text(third.await.unwrap()).await, body);
        },
    );
}

/// Only the body of a JMAP request shows whether it changes something.
#[test]
fn a_batch_of_reads_goes_early_and_one_with_a_write_waits() {
    run(
        |_| (),
        async |scene: Scene| {
            let (stream, handshake) = scene.connect_early();
            let client = speak(stream, 65_535).await;
            let send = async |call: &str, name: &str| {
                let body = format!(r#"{{"using":[],"methodCalls":[["{call}",{{}},"0"]]}}"#);
                let request = Request::post("https://mail.example/body")
                    .header("content-type", "application/json")
                    .header("content-length", body.len())
                    .header(name, "DELETE")
                    .body(())
                    .unwrap();
                let mut ready = client.clone().ready().await.unwrap();
                let (response, mut up) = ready.send_request(request, false).unwrap();
                up.send_data(body.clone().into(), true).unwrap();
                (response, body)
            };
            let (write, written) = send("Email/set", "x-a").await;
            // Frameworks take it for a DELETE.
            let _disguised = send("Email/get", "x-http-method-override").await;
            let (read, asked) = send("Email/get", "x-a").await;
            assert_eq!(text(read.await.unwrap()).await, asked);
            {
                let heads = scene.backend.heads.borrow();
                assert_eq!(heads.len(), 1, "a write went early");
                assert!(heads[0].contains("Early-Data: 1\r\n"), "{}", heads[0]);
            }
            handshake.end();
            assert_eq!(text(write.await.unwrap()).await, written);
            let heads = scene.backend.heads.borrow();
            assert!(!heads[1].contains("Early-Data"), "{}", heads[1]);
        },
    );
}
