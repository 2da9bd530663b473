//! The origin as a separate program.

use clap::Parser;
use roundtrip_origin::{Knobs, Origin};

#[derive(Parser)]
#[command(
    name = "origin",
    about = "A test server with a knob for every behaviour"
)]
struct Line {
    #[command(flatten)]
    knobs: Knobs,
    /// Print the addresses as one line of JSON
    #[arg(long)]
    json: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let line = Line::parse();
    let running = Origin::start(line.knobs).await?;
    if line.json {
        println!("{}", running.to_json());
    } else {
        println!("{running}");
    }
    tokio::signal::ctrl_c().await?;
    running.stop().await;
    Ok(())
}
