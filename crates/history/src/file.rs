//! The history file: the periods of each series and tier, in redb. A crash does not damage it, and
//! other processes can read it while readings are added.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use redb::backends::{FileBackend, InMemoryBackend};
use redb::{
    Builder, ConcurrencyMode, Database, ReadableDatabase, ReadableTable, StorageBackend, Table,
    TableDefinition, WriteTransaction,
};
use serde::{Deserialize, Serialize};

use crate::{Period, Reading, TIERS};

/// Maps (series, tier, beginning) to the period, as JSON.
const PERIODS: TableDefinition<(u32, u8, u64), &[u8]> = TableDefinition::new("periods");
/// Maps the number of a series to its URL, strategy and interval, as JSON.
const SERIES: TableDefinition<u32, &[u8]> = TableDefinition::new("series");

/// The largest number of combinations of URL and strategy in one file.
pub const MAX_SERIES: u32 = 64;
const CACHE: usize = 4 << 20;
/// The longest time between runs that is believed, in seconds: a year.
const MAX_EVERY: u64 = 366 * 86_400;
/// The largest size of a file that is read, in bytes.
const MAX_FILE: u64 = 1 << 30;
/// How often a file is copied before it counts as damaged.
const MAX_ATTEMPTS: u32 = 3;

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("cannot open the history {file}: {source}")]
    File { file: String, source: io::Error },
    #[error("the history {file} cannot be used: {source}")]
    Redb { file: String, source: redb::Error },
    #[error("{file} is not a history (`probe --every --store` writes one)")]
    NotHistory { file: String },
    #[error("the history {file} already has {MAX_SERIES} URLs and strategies; begin another file")]
    Full { file: String },
}

/// The periods of one URL, requested with one strategy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedSeries {
    pub url: String,
    pub strategy: String,
    /// The time between runs (`--every`) of the latest recording, in seconds.
    pub every: u64,
    /// The periods of each tier, in order.
    pub tiers: [Vec<Period>; TIERS.len()],
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct About {
    url: String,
    strategy: String,
    every: u64,
}

pub struct HistoryFile {
    name: String,
    database: Database,
}

impl HistoryFile {
    /// Opens the file, and creates it if necessary.
    pub fn create(path: &Path) -> Result<Self, HistoryError> {
        let name = path.display().to_string();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).map_err(|source| HistoryError::File {
            file: name.clone(),
            source,
        })?;
        let mut builder = checked_database();
        // Several processes may add readings.
        builder.set_concurrency_mode(ConcurrencyMode::MultiWriter);
        let opened =
            FileBackend::new(file).and_then(|backend| builder.create_with_backend(backend));
        let database = opened.map_err(|error| unusable(&name, error))?;
        Ok(Self { name, database })
    }

    /// Adds each reading to one period of each tier, and removes periods that are too old for their
    /// tier.
    pub fn add(&self, readings: &[Reading]) -> Result<(), HistoryError> {
        let transaction = self.told(self.database.begin_write().map_err(redb::Error::from))?;
        for reading in readings {
            let Some(series) = self.told(series_of(&transaction, reading))? else {
                let file = self.name.clone();
                return Err(HistoryError::Full { file });
            };
            self.told(add(&transaction, series, reading))?;
        }
        self.told(transaction.commit().map_err(redb::Error::from))
    }

    /// Reads all series.
    pub fn series(&self) -> Result<Vec<RecordedSeries>, HistoryError> {
        self.told(read(&self.database))
    }

    /// Writes a period of the finest tier as it stands.
    #[cfg(test)]
    pub(crate) fn put_period(&self, start: u64, period: &[u8]) {
        let transaction = self.database.begin_write().unwrap();
        let mut table = transaction.open_table(PERIODS).unwrap();
        table.insert((0, 0, start), period).unwrap();
        drop(table);
        transaction.commit().unwrap();
    }

    fn told<T>(&self, outcome: Result<T, redb::Error>) -> Result<T, HistoryError> {
        outcome.map_err(|source| unusable(&self.name, source))
    }
}

/// Reads all series of a file that must exist. This needs no permission to write, and changes
/// nothing.
pub fn read_history(path: &Path) -> Result<Vec<RecordedSeries>, HistoryError> {
    let name = path.display().to_string();
    let mut attempts = 1;
    loop {
        let copy = copied(path).map_err(|source| HistoryError::File {
            file: name.clone(),
            source,
        })?;
        match read_copy(copy) {
            // A process that adds readings can have changed pages while they were copied.
            Err(_) if attempts < MAX_ATTEMPTS => attempts += 1,
            outcome => return outcome.map_err(|error| unusable(&name, error)),
        }
    }
}

fn copied(path: &Path) -> io::Result<InMemoryBackend> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_FILE + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        let why = format!("it is larger than {MAX_FILE} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    let copy = InMemoryBackend::new();
    copy.set_len(bytes.len() as u64)?;
    copy.write(0, &bytes)?;
    Ok(copy)
}

/// Reads a copy of the file: the check may repair what a crash has left, so it must not have the
/// file itself.
fn read_copy(copy: InMemoryBackend) -> Result<Vec<RecordedSeries>, redb::Error> {
    // redb would begin a history in it.
    if copy.len()? == 0 {
        return Err(redb::Error::Io(io::ErrorKind::InvalidData.into()));
    }
    read(&checked_database().create_with_backend(copy)?)
}

/// Opens databases with a check, because redb panics when it reads damaged parts of a file that it
/// has not checked.
fn checked_database() -> Builder {
    let mut builder = Database::builder();
    builder
        .set_cache_size(CACHE)
        .set_check_integrity_on_open(true);
    builder
}

fn unusable(file: &str, error: impl Into<redb::Error>) -> HistoryError {
    let file = file.to_owned();
    match error.into() {
        // The file is empty, or begins like a file of another kind.
        redb::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            HistoryError::NotHistory { file }
        }
        source => HistoryError::Redb { file, source },
    }
}

fn read(database: &impl ReadableDatabase) -> Result<Vec<RecordedSeries>, redb::Error> {
    let transaction = database.begin_read()?;
    let known = match transaction.open_table(SERIES) {
        Ok(known) => known,
        // Nothing has been added yet.
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let periods = transaction.open_table(PERIODS)?;
    let mut all = Vec::new();
    for entry in known.iter()? {
        let (number, about) = entry?;
        let Ok(about) = serde_json::from_slice::<About>(about.value()) else {
            continue;
        };
        let mut series = RecordedSeries {
            url: about.url,
            strategy: about.strategy,
            every: about.every.min(MAX_EVERY),
            ..RecordedSeries::default()
        };
        for (tier, kept) in (0..).zip(&mut series.tiers) {
            let range = (number.value(), tier, 0)..=(number.value(), tier, u64::MAX);
            for entry in periods.range(range)? {
                let (key, period) = entry?;
                let period = serde_json::from_slice::<Period>(period.value()).ok();
                // A period that cannot be read (for example from a newer version) is a gap.
                let start = key.value().2;
                kept.extend(period.filter(|p| p.start == start && p.is_plausible()));
            }
        }
        all.push(series);
    }
    Ok(all)
}

/// Returns the number of the reading's series, and adds the series if it is new. Returns `None` if
/// the file is full.
fn series_of(
    transaction: &WriteTransaction,
    reading: &Reading,
) -> Result<Option<u32>, redb::Error> {
    let mut table = transaction.open_table(SERIES)?;
    let about = About {
        url: reading.url.clone(),
        strategy: reading.strategy.clone(),
        every: reading.every,
    };
    let mut next = 0;
    let mut found = None;
    for entry in table.iter()? {
        let (number, known) = entry?;
        next = number.value().saturating_add(1);
        let known: Option<About> = serde_json::from_slice(known.value()).ok();
        if let Some(known) = known.filter(|k| k.url == about.url && k.strategy == about.strategy) {
            found = Some((number.value(), known == about));
        }
    }
    let number = match found {
        Some((number, true)) => return Ok(Some(number)),
        Some((number, false)) => number,
        None if next >= MAX_SERIES => return Ok(None),
        None => next,
    };
    let text = serde_json::to_vec(&about).unwrap_or_default();
    table.insert(number, text.as_slice())?;
    Ok(Some(number))
}

fn add(transaction: &WriteTransaction, series: u32, reading: &Reading) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(PERIODS)?;
    for (number, tier) in (0..).zip(TIERS) {
        let start = tier.start(reading.at);
        let key = (series, number, start);
        let all = (series, number, 0)..=(series, number, u64::MAX);
        let newest = table.range(all)?.next_back().transpose()?;
        let newest = newest.map_or(start, |(key, _)| key.value().2);
        let known = table.get(key)?.map(|known| known.value().to_vec());
        let known = known.and_then(|known| serde_json::from_slice(&known).ok());
        let mut period: Period = known.unwrap_or_default();
        period.start = start;
        period.add(reading);
        let text = serde_json::to_vec(&period).unwrap_or_default();
        table.insert(key, text.as_slice())?;
        // A clock that is wrong once must not cost the history: only a reading that follows others
        // removes what is too old.
        if start <= newest.saturating_add(tier.keeps) {
            let end = start.saturating_sub(tier.keeps);
            table.retain_in((series, number, 0)..(series, number, end), |_, _| false)?;
        }
    }
    forget_future(&mut table, series, reading.at)
}

/// Removes periods of the future: those that are further ahead of `now` than the time for which the
/// finest tier keeps periods. If that tier has at least as many of them as periods up to `now`, the
/// clock is wrong now, and nothing is removed.
fn forget_future(
    table: &mut Table<(u32, u8, u64), &[u8]>,
    series: u32,
    now: u64,
) -> Result<(), redb::Error> {
    let [finest, ..] = TIERS;
    let ahead = now.saturating_add(finest.keeps);
    let claims = table.range((series, 0, ahead)..=(series, 0, u64::MAX))?;
    let claims = claims.count();
    if claims > 0 && claims < table.range((series, 0, 0)..=(series, 0, now))?.count() {
        for (number, _) in (0..).zip(TIERS) {
            let future = (series, number, ahead)..=(series, number, u64::MAX);
            table.retain_in(future, |_, _| false)?;
        }
    }
    Ok(())
}
