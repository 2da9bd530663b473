//! The first minute: one origin, one path, seven ways to ask the same question.
