//! One sample of a way: a sequence of requests, or one run of another client. Each begins with a
//! prober that remembers nothing.

use std::process::Stdio;
use std::time::Duration;

use roundtrip_model::{Exchange, Strategy, Waited};
use roundtrip_probe::{ConnectionUse, Options, Prober, Sequence};
use tokio::process::Command;
use tokio::time::{Instant, timeout};

use crate::config::CompareConfig;
use crate::way::Way;

/// The result of one attempt to take a sample.
#[derive(Debug)]
pub(crate) struct Taken {
    /// The largest number of requests that the attempt may have made.
    pub(crate) requests: u32,
    /// The sample, or why there is none.
    pub(crate) outcome: Result<Sample, String>,
    /// The sequence; `None` if another program made the requests.
    pub(crate) sequence: Option<Sequence>,
}

/// A successful sample. Times are those of one request, averaged over the sequence.
#[derive(Debug, Clone)]
pub struct Sample {
    pub ms: f64,
    pub round_trips: Option<f64>,
    pub waited: Option<Waited>,
    /// The last exchange, for its facts.
    pub last: Option<Box<Exchange>>,
}

pub(crate) async fn take(config: &CompareConfig, way: &Way, requests: u32) -> Taken {
    match &way.command {
        Some(command) => other(config, command, requests).await,
        None => ours(config, way, requests, config.options.connect_timeout).await,
    }
}

pub(crate) async fn ours(
    config: &CompareConfig,
    way: &Way,
    k: u32,
    connect_timeout: Duration,
) -> Taken {
    let options = Options {
        strategy: way.strategy,
        family: way.family,
        connect_timeout,
        follow: false,
        cold: false,
        ..config.options.clone()
    };
    let mut prober = Prober::new(options);
    let targets = vec![config.target.clone(); k as usize];
    let sequence = prober.sequence(&targets, way.manner).await;
    prober.retire().await;
    Taken {
        requests: requests_of(&sequence, way.strategy),
        outcome: outcome(&sequence, k),
        sequence: Some(sequence),
    }
}

fn outcome(sequence: &Sequence, k: u32) -> Result<Sample, String> {
    if let Some(failure) = sequence.exchanges().find_map(|e| e.failure.as_ref()) {
        return Err(failure.message.clone());
    }
    let share = f64::from(k.max(1));
    let mut waited = Waited::default();
    for phase in sequence.hops.iter().flatten().flat_map(Exchange::phases) {
        waited.network += phase.waited.network / share;
        waited.server += phase.waited.server / share;
        waited.client += phase.waited.client / share;
        waited.resolver += phase.waited.resolver / share;
        waited.loss += phase.waited.loss / share;
        waited.unknown += phase.waited.unknown / share;
    }
    // Concurrent exchanges wait at the same time: their waits overlap and do not add up to the
    // total.
    let apart = sequence.manner != ConnectionUse::AtOnce;
    Ok(Sample {
        ms: sequence.took.as_secs_f64() * 1e3 / share,
        round_trips: Some(f64::from(sequence.round_trips) / share),
        waited: apart.then_some(waited),
        last: sequence.exchanges().last().map(|e| Box::new(slim(e))),
    })
}

/// Removes certificates, which need not be kept for each sample.
fn slim(exchange: &Exchange) -> Exchange {
    let mut slim = exchange.clone();
    if let Some(tls) = &mut slim.tls {
        tls.chain = None;
    }
    slim
}

/// The number of requests. It may be one too high: a kept connection may have carried a request
/// before it turned out to be closed.
fn requests_of(sequence: &Sequence, strategy: Strategy) -> u32 {
    let exchanges = || sequence.hops.iter().flatten();
    let primed = exchanges().any(|e| e.primed);
    let kept = |place: usize| place > 0 || strategy.reuse;
    let lost = match sequence.manner {
        ConnectionUse::Kept => exchanges()
            .enumerate()
            .filter(|(place, e)| kept(*place) && !e.reused)
            .count(),
        ConnectionUse::Each | ConnectionUse::AtOnce => 0,
    };
    u32::from(primed) + (exchanges().count() + lost) as u32
}

/// One run of another program, from its start to its end.
async fn other(config: &CompareConfig, line: &str, k: u32) -> Taken {
    let taken = |outcome| Taken {
        requests: k,
        outcome,
        sequence: None,
    };
    let Some(filled) = filled(line, &config.url, k) else {
        let why = "a shell would execute parts of the URL, because the word URL is inside quotes";
        return taken(Err(why.into()));
    };
    let began = Instant::now();
    let child = Command::new("sh")
        .arg("-c")
        .arg(filled)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let child = match child {
        Ok(child) => child,
        Err(error) => return taken(Err(format!("cannot start sh: {error}"))),
    };
    let limit = config.options.max_time;
    let ended = timeout(limit, child.wait_with_output()).await;
    let took = began.elapsed();
    taken(match ended {
        Err(_) => Err(format!("not over after {} s", limit.as_secs())),
        Ok(Err(error)) => Err(error.to_string()),
        Ok(Ok(output)) if !output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or_default();
            let last: String = last.chars().take(200).collect();
            Err(format!("it ended with {}: {last}", output.status))
        }
        Ok(Ok(_)) => Ok(Sample {
            ms: took.as_secs_f64() * 1e3 / f64::from(k.max(1)),
            round_trips: None,
            waited: None,
            last: None,
        }),
    })
}

/// The command line with the URL in place of each word `URL`, or at the end; once for each request.
/// `None` if the word is inside quotes and the URL has characters that mean something to a shell:
/// quotes in the URL could end those around it, and its author could run commands.
fn filled(line: &str, url: &str, k: u32) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@%=+,".contains(c);
    if has_quoted_word(line) && !url.chars().all(is_plain) {
        return None;
    }
    let quoted = format!("'{}'", url.replace('\'', r"'\''"));
    let urls = vec![quoted; k as usize].join(" ");
    let mut found = false;
    let words: Vec<&str> = line
        .split(' ')
        .map(|word| {
            let here = word == "URL";
            found |= here;
            if here { urls.as_str() } else { word }
        })
        .collect();
    let line = words.join(" ");
    Some(if found {
        line
    } else {
        format!("{line} {urls}")
    })
}

/// Whether any word `URL` of a shell's line is inside quotes, or may be.
fn has_quoted_word(line: &str) -> bool {
    let mut before = 0;
    line.split(' ').any(|word| {
        let quoted = word == "URL" && before > 0;
        before += word.matches(['\'', '"', '`', '\\']).count();
        quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_filled_in_as_words() {
        let filled = |line, url, k| filled(line, url, k).unwrap();
        assert_eq!(filled("curl -s URL", "http://a/", 1), "curl -s 'http://a/'");
        assert_eq!(
            filled("curl -s", "http://a/?b=';rm'", 2),
            r"curl -s 'http://a/?b='\'';rm'\''' 'http://a/?b='\'';rm'\'''"
        );
        let nested = filled("sh -c 'curl URL ; true'", "http://a/?b=c", 1);
        assert_eq!(nested, "sh -c 'curl 'http://a/?b=c' ; true'");
    }

    #[test]
    fn no_url_ends_the_quotes_around_it() {
        for line in [
            "sh -c 'curl URL '",
            "sh -c \"curl URL \"",
            "a 'b' URL",
            "a \\' URL",
        ] {
            for url in [
                "http://a/$(x)",
                "http://a/?b&c",
                "http://a/;b",
                "http://a/'",
            ] {
                assert_eq!(filled(line, url, 1), None, "{line} {url}");
            }
        }
        assert!(filled("curl URL 'b'", "http://a/$(x)", 1).is_some());
    }
}
