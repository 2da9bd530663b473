//! The size of the queue in front of a bottleneck, and which packets it drops when it is full.

use std::str::FromStr;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    pub room: QueueSize,
    pub discipline: Discipline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSize {
    Bytes(u64),
    /// The bytes that the bottleneck carries in this time, and at least one packet.
    Time(Duration),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// Packets that find no room are lost.
    #[default]
    DropTail,
    /// Controlled delay (RFC 8289): packets that have waited too long are lost.
    CoDel,
}

impl Default for Queue {
    /// A tenth of a second, as in many routers.
    fn default() -> Self {
        Self {
            room: QueueSize::Time(Duration::from_millis(100)),
            discipline: Discipline::DropTail,
        }
    }
}

impl FromStr for Queue {
    type Err = String;

    /// Parses `100ms`, `64kB` or `30000B`, each with `,codel` or `,drop-tail`; or `codel` alone.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut queue = Self::default();
        for word in text.split(',') {
            match word.trim() {
                "codel" => queue.discipline = Discipline::CoDel,
                "drop-tail" => queue.discipline = Discipline::DropTail,
                room => queue.room = parse_room(room)?,
            }
        }
        Ok(queue)
    }
}

fn parse_room(text: &str) -> Result<QueueSize, String> {
    let sizes = [
        ("kB", 1000),
        ("KiB", 1024),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("B", 1),
    ];
    for (unit, bytes) in sizes {
        if let Some(number) = text
            .strip_suffix(unit)
            .and_then(|number| number.parse::<u32>().ok())
        {
            return Ok(QueueSize::Bytes(u64::from(number) * bytes));
        }
    }
    roundtrip_model::parse_duration(text).map(QueueSize::Time).map_err(|_| {
        format!("`{text}` is not a queue; write it like 100ms or 64kB, with `,codel` if it should control its delay")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_bytes_and_discipline() {
        let queue = |text: &str| {
            text.parse::<Queue>()
                .map(|queue| (queue.room, queue.discipline))
        };
        let tenth = QueueSize::Time(Duration::from_millis(100));
        assert_eq!(queue("100ms"), Ok((tenth, Discipline::DropTail)));
        assert_eq!(queue("codel"), Ok((tenth, Discipline::CoDel)));
        assert_eq!(
            queue("64kB,codel"),
            Ok((QueueSize::Bytes(64_000), Discipline::CoDel))
        );
        assert_eq!(
            queue("30000B"),
            Ok((QueueSize::Bytes(30_000), Discipline::DropTail))
        );
        for text in ["", "many", "64", "64kb", "-1B", "100ms,red"] {
            assert!(queue(text).is_err(), "{text}");
        }
    }
}
