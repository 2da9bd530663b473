//! `hyper_auth_proxy ADDRESS BACKEND REDIS SECRET-FILE`: hyper-auth-proxy is a library without a
//! program; this is the program that its README shows, with a configuration.

use hyper_auth_proxy::{run_service, ProxyConfig};

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (_stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let config = ProxyConfig {
        jwt_key: std::fs::read_to_string(&words[4]).unwrap(),
        credentials_key: String::new(),
        back_uri: words[2].clone(),
        redis_uri: words[3].clone(),
        address: words[1].parse().unwrap(),
    };
    let server = run_service(config, stopped).await;
    server.await.unwrap();
}
