//! The direction of a packet, and a value for each direction.

/// The direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

impl Direction {
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }

    /// The direction as one word: `up` or `down`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// One value for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerWay<T> {
    pub(crate) up: T,
    pub(crate) down: T,
}

impl<T> PerWay<T> {
    pub(crate) fn get(&self, way: Direction) -> &T {
        match way {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    pub(crate) fn get_mut(&mut self, way: Direction) -> &mut T {
        match way {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
}
