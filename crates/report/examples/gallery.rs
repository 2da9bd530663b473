//! Writes every report of a few sample exchanges into a directory: `gallery DIRECTORY`.

use std::path::PathBuf;

use roundtrip_report::html::PageHead;
use roundtrip_report::{html, json, runs, terminal, text};

#[path = "../tests/report/samples.rs"]
#[allow(dead_code, clippy::unwrap_used)] // samples made for tests, which may unwrap
mod samples;

fn main() -> std::io::Result<()> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    std::fs::create_dir_all(&directory)?;
    let pages = [
        ("explained", vec![samples::explained()]),
        ("redirected", samples::redirected()),
        ("quic", vec![samples::quic()]),
        ("refused", vec![samples::refused()]),
        ("hostile", vec![samples::hostile()]),
        ("repeats", samples::repeats(60)),
    ];
    for (name, exchanges) in pages {
        std::fs::write(
            directory.join(format!("{name}.html")),
            html::page(&exchanges, &PageHead::default()),
        )?;
        let document = serde_json::to_string_pretty(&json::document(&exchanges))?;
        std::fs::write(directory.join(format!("{name}.json")), document)?;
        for width in [40, 60, 80, 120, 160] {
            let style = terminal::Style {
                width,
                colour: true,
                unicode: true,
            };
            let mut text: String = runs(&exchanges)
                .map(|run| {
                    if exchanges.len() > 9 {
                        text::line(&run, Some(300.0), &style)
                    } else {
                        text::run(&run, &style)
                    }
                })
                .collect();
            if exchanges.len() > 9 {
                text.push_str(&text::summary(&exchanges, &style));
            }
            std::fs::write(directory.join(format!("{name}.{width}.txt")), text)?;
        }
    }
    Ok(())
}
