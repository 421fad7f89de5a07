//! The SQL that both databases share. Values are always bound; texts are put together from literals.
//!
//! - [`query`]: a statement with what it binds, and who runs it
//! - [`words`]: what the databases say differently
//! - [`columns`]: the columns of the tables, each named once
//! - [`statements`]: the statements, built once for each database; `list`: the one that is put together for each request
//! - [`rows`]: the rows, and what they say; [`heads`]: the rows that an append is decided on
//! - [`primitives`]: what transactions do with them; [`transfer`]: what exports and imports do;
//!   [`feed`]: what readers of the change feed get
//! - [`filter`]: texts of the columns that filters compare

pub mod columns;
pub mod feed;
pub mod filter;
pub mod heads;
pub mod list;
pub mod primitives;
pub mod query;
pub mod rows;
pub mod statements;
pub mod transfer;
pub mod words;
