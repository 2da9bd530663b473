//! Sets of numbers kept as ranges, few and sorted.
