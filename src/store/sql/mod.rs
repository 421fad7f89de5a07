//! The SQL that both databases and several resources share; the rest is with its resource. Values are always bound; texts are put
//! together from literals.
//!
//! - [`words`]: what the databases say differently
//! - [`query`]: a statement with what it binds, and who runs it; [`statements`]: how a resource lists its own; [`composed`]: rows as one text
//! - [`filter`]: texts of the columns that filters compare
//! - [`columns`]: the columns of the tables, each named once; [`insert`]: insertions of many rows; [`keys`]: pages of keys
//! - [`scope`]: the tables of app and user state; [`shared`]: their statements; [`makers`]: who made the changes in them
//! - `domain`: types of the domain as columns have them
//! - [`past`]: what a session has and had; [`rows`]: the rows that both databases read; [`heads`]: those that an append is decided on
//! - [`view`]: a session by several statements

pub mod columns;
pub mod composed;
mod domain;
pub mod effective;
pub mod filter;
pub mod heads;
pub mod insert;
pub mod keys;
pub mod makers;
pub mod past;
pub mod query;
pub mod rows;
pub mod scope;
pub mod shared;
pub mod statements;
pub mod view;
pub mod words;
