//! SQLite: statements that read or write many rows at once.
//!
//! The way to the thread that has the connection, and back, takes longer than to find or write a row. So rows take it
//! together, in pieces whose sizes are powers of two: there are few shapes of each statement, and all stay prepared.
//!
//! Parameters are bound in their order and have no numbers: to find out the number of one, the driver has SQLite look
//! through all before it. What two statements of one text share is bound twice, which is cheaper.

use std::fmt::Display;

use sqlx::Sqlite;
use sqlx::query::Query;
use sqlx::query_builder::{QueryBuilder, Separated};
use sqlx::sqlite::SqliteArguments;

use crate::domain::ids::{AppName, EventId, SessionKey, UserKey};

/// The most rows of a piece. With 16 columns each, they stay far below SQLite's limit of 32766 parameters.
const MOST: usize = 64;

/// Room for each shape of each statement that appends use, some twenty in seven sizes, and for all other statements.
pub const STATEMENTS: usize = 256;

/// Cuts rows into pieces, the largest first.
pub fn pieces<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = MOST.min(1 << rows.len().checked_ilog2()?);
        let (piece, rest) = rows.split_at_checked(size)?;
        rows = rest;
        Some(piece)
    })
}

/// Statements that go to the database together, each over rows of its own.
#[derive(Default)]
pub struct Statements(QueryBuilder<Sqlite>);

impl Statements {
    /// A statement that takes its rows from `k`, whose columns have these names.
    pub fn with<C: Columns>(&mut self, names: impl Display, rows: impl Iterator<Item = C>, statement: impl Display) {
        self.0.push(format_args!("with k({names}) as ("));
        self.values(rows);
        self.0.push(format_args!(") {statement}; "));
    }

    /// An insertion, and what follows the rows.
    pub fn insert<C: Columns>(
        &mut self,
        table: &str,
        names: impl Display,
        rows: impl Iterator<Item = C>,
        rest: impl Display,
    ) {
        self.0.push(format_args!("insert into {table} ({names}) "));
        self.values(rows);
        self.0.push(format_args!("{rest}; "));
    }

    fn values<C: Columns>(&mut self, rows: impl Iterator<Item = C>) {
        let mut open = "values (";
        for row in rows {
            self.0.push(open);
            row.add_to(&mut self.0.separated(", "));
            self.0.push(")");
            open = ", (";
        }
    }

    /// What is to be executed; afterwards this is of no more use.
    pub fn build(&mut self) -> Query<'_, Sqlite, SqliteArguments> {
        self.0.build()
    }

    #[cfg(test)]
    pub fn text(&self) -> String {
        self.0.sql().as_str().to_owned()
    }
}

/// The row that is being composed.
pub type Row<'q> = Separated<'q, Sqlite, &'static str>;

/// One column of a row, or several that belong together.
pub trait Columns {
    /// Binds them, as the next ones of the row.
    fn add_to(&self, row: &mut Row<'_>);
}

impl<C: Columns + ?Sized> Columns for &C {
    fn add_to(&self, row: &mut Row<'_>) {
        (**self).add_to(row);
    }
}

impl Columns for i64 {
    fn add_to(&self, row: &mut Row<'_>) {
        row.push_bind(*self);
    }
}

impl Columns for Option<i64> {
    fn add_to(&self, row: &mut Row<'_>) {
        row.push_bind(*self);
    }
}

impl Columns for str {
    fn add_to(&self, row: &mut Row<'_>) {
        row.push_bind(self);
    }
}

impl Columns for Option<&str> {
    fn add_to(&self, row: &mut Row<'_>) {
        row.push_bind(*self);
    }
}

impl Columns for AppName {
    fn add_to(&self, row: &mut Row<'_>) {
        self.as_str().add_to(row);
    }
}

impl Columns for UserKey {
    fn add_to(&self, row: &mut Row<'_>) {
        (&self.app, self.user.as_str()).add_to(row);
    }
}

impl Columns for SessionKey {
    fn add_to(&self, row: &mut Row<'_>) {
        (&self.user, self.session.as_str()).add_to(row);
    }
}

impl Columns for EventId {
    fn add_to(&self, row: &mut Row<'_>) {
        self.as_str().add_to(row);
    }
}

macro_rules! columns_of_tuples {
    ($(($($part:ident $at:tt),+))+) => {
        $(impl<$($part: Columns),+> Columns for ($($part),+) {
            fn add_to(&self, row: &mut Row<'_>) {
                $(self.$at.add_to(row);)+
            }
        })+
    };
}
columns_of_tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_into_few_sizes() {
        let sizes = |count| pieces(&vec![(); count]).map(<[_]>::len).collect::<Vec<_>>();
        assert_eq!(sizes(0), [0; 0]);
        assert_eq!(sizes(1), [1]);
        assert_eq!(sizes(7), [4, 2, 1]);
        assert_eq!(sizes(64), [64]);
        assert_eq!(sizes(256 + 3), [64, 64, 64, 64, 2, 1]);
    }

    #[test]
    fn a_piece_has_all_its_rows() {
        let rows: Vec<i64> = (0..100).collect();
        assert_eq!(pieces(&rows).flatten().copied().collect::<Vec<_>>(), rows);
    }

    #[test]
    fn statements_bind_in_order() {
        let mut statements = Statements::default();
        statements.with("a, b", [(1, "x"), (2, "y")].into_iter(), "delete from t where (a, b) in k");
        statements.insert("t", "a", [3].into_iter(), " on conflict do nothing");
        assert_eq!(
            statements.text(),
            "with k(a, b) as (values (?, ?), (?, ?)) delete from t where (a, b) in k; \
             insert into t (a) values (?) on conflict do nothing; "
        );
    }
}
