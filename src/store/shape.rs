//! What kind of thing a database is.

/// What a database is, from which follows what is done differently for it, the words of its SQL aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A file, of one process.
    File,
    /// A server of many processes.
    Server,
    /// A server that has the rows of each app on one of several nodes. It locks rows by their keys alone, a transaction spans nodes
    /// only at a price, and a node may be out of reach while the rest is not.
    Distributed,
}

impl Shape {
    /// Whether other processes may write, meanwhile and what this one is not told of.
    pub fn is_shared(self) -> bool {
        self != Self::File
    }

    /// Whether what shares a transaction is best of one app: it is then one statement, and of a distributed database goes to one
    /// node, which may be gone while others are not.
    pub fn batches_by_app(self) -> bool {
        self.is_shared()
    }

    pub fn is_distributed(self) -> bool {
        self == Self::Distributed
    }
}
