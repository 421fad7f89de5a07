//! What a check found.

/// How many differences of a session or scope are described; further ones are only counted.
pub const MAX_LINES: usize = 20;

/// Differences between the stored rows and the expected ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// The first differences, one line each.
    pub lines: Vec<String>,
    /// The number of all differences.
    pub count: u64,
}

impl Findings {
    pub fn note(&mut self, line: impl FnOnce() -> String) {
        self.count += 1;
        if self.lines.len() < MAX_LINES {
            self.lines.push(line());
        }
    }
}
