//! What is remembered from run to run: tickets and limits of each origin, answers and their validators.
