//! What lines have in common, whoever writes or reads them.

use sha2::{Digest as _, Sha256};

/// The version of the format.
pub(super) const FORMAT: &str = "1";

/// The `scope` of an export without an app.
pub(super) const DATABASE: &str = "database";

/// How many bytes of an artifact a line `artifact.data` has, but for the last of each.
pub const DATA_BYTES: usize = 1 << 20;

/// The longest such line but for its name and its white space.
pub const LONGEST_DATA: usize = DATA_BYTES.div_ceil(3) * 4;

/// How many lines some bytes take.
pub fn data_lines(bytes: u64) -> u64 {
    bytes.div_ceil(DATA_BYTES as u64)
}

/// JSON may have line breaks between its tokens only (RFC 8259, section 2).
pub(super) fn has_line_break(json: &str) -> bool {
    json.bytes().any(|byte| matches!(byte, b'\n' | b'\r'))
}

/// The same JSON with spaces instead of line breaks.
pub(super) fn on_one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

/// The name of the member that has the exact text of another one, as a JSON string.
pub(super) fn raw_name(name: &str) -> String {
    format!("{name}Raw")
}

/// The digest of a session's lines, line feeds included.
#[derive(Debug, Clone, Default)]
pub struct LinesDigest(Sha256);

impl LinesDigest {
    pub fn add(&mut self, line: &[u8]) {
        self.0.update(line);
    }

    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}
