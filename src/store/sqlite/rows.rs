//! SQLite: statements that read or write many rows at once.
//!
//! The round trip to the thread that owns the connection takes longer than finding or writing a row. So many rows, and several
//! statements, share one. To keep statements prepared, each has few shapes: each list of rows is padded to one of a few
//! lengths with rows of nulls, which `limit` excludes.
//!
//! Placeholders are bound in order and have no numbers: to find the number of one, the driver has SQLite search all before
//! it. A value that two statements of one text share is bound twice, which is cheaper.

use std::fmt::Display;

use sqlx::error::BoxDynError;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, AssertSqlSafe, Encode, Sqlite, Type};

use crate::domain::ids::{AppName, EventId, ScopeRef, SessionKey, UserKey};
use crate::store::error::StoreError;

/// How many rows a list may have. With 16 columns each, the most are far below SQLite's limit of 32766 parameters.
const SIZES: [usize; 5] = [1, 4, 16, 32, MOST];
const MOST: usize = 64;

/// Room for each shape of each statement that appends and saves use, some thirty in four or six sizes, and for all other statements.
pub const STATEMENTS: usize = 320;

/// The offsets at which lists of these lengths are cut into pieces of at most `MOST` rows.
pub fn pieces(lengths: impl IntoIterator<Item = usize>) -> impl Iterator<Item = usize> {
    (0..lengths.into_iter().max().unwrap_or(0)).step_by(MOST)
}

/// The piece of a list that begins at this offset.
pub fn piece<T>(rows: &[T], from: usize) -> &[T] {
    let rest = rows.get(from..).unwrap_or_default();
    rest.get(..MOST).unwrap_or(rest)
}

/// Statements that are sent together, each over its own rows: at most [`MOST`].
#[derive(Default)]
pub struct Script {
    text: String,
    values: Values,
}

impl Script {
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn push(&mut self, text: impl Display) {
        self.text += &text.to_string();
    }

    /// A statement that takes its rows from `k`, whose columns have these names.
    pub fn with<C: Columns>(&mut self, names: &str, rows: impl Iterator<Item = C>, statement: impl Display) {
        self.list("with k", names, rows);
        self.push(format_args!(" {statement}; "));
    }

    /// An insertion, and what follows the rows. If one fails, the rows before it stay: the caller rolls back. So SQLite keeps no copies
    /// of pages for undoing a statement.
    pub fn insert<C: Columns>(&mut self, table: &str, names: &str, rows: impl Iterator<Item = C>, rest: impl Display) {
        self.push(format_args!("insert or fail into {table} ({names}) "));
        self.rows(names, rows);
        self.push(format_args!("{rest}; "));
    }

    /// A list of rows with a name, for a statement that takes rows from several.
    pub fn list<C: Columns>(&mut self, list: &str, names: &str, rows: impl Iterator<Item = C>) {
        self.push(format_args!("{list}({names}) as ("));
        self.rows(names, rows);
        self.text.push(')');
    }

    fn rows<C: Columns>(&mut self, names: &str, rows: impl Iterator<Item = C>) {
        let width = names.split(',').count();
        let mut count = 0;
        for row in rows {
            row.add_to(&mut self.values);
            count += 1;
        }
        let size = SIZES.into_iter().find(|size| *size >= count).unwrap_or(count);
        let row = format!("({}?),", "?,".repeat(width - 1));
        // A sum, as for a mere parameter SQLite would plan the statement anew whenever it changes.
        self.push(format_args!("select * from (values {}) limit 0 + ?", row.repeat(size).trim_end_matches(',')));
        for _ in 0..(size - count) * width {
            self.values.add(None::<i64>);
        }
        self.values.add(count as i64);
    }

    /// What is to be executed.
    ///
    /// # Errors
    /// A value that cannot be bound.
    pub fn build(self) -> Result<Query<'static, Sqlite, SqliteArguments>, StoreError> {
        let values = self.values.0.map_err(sqlx::Error::Encode)?;
        Ok(sqlx::query_with(AssertSqlSafe(self.text), values))
    }

    #[cfg(test)]
    pub fn text(self) -> String {
        self.text
    }
}

/// What is bound, in order.
pub struct Values(Result<SqliteArguments, BoxDynError>);

impl Default for Values {
    fn default() -> Self {
        Self(Ok(SqliteArguments::default()))
    }
}

impl Values {
    pub fn add<'q>(&mut self, value: impl Encode<'q, Sqlite> + Type<Sqlite>) {
        if let Ok(values) = &mut self.0
            && let Err(error) = values.add(value)
        {
            self.0 = Err(error);
        }
    }
}

/// One column of a row, or several that belong together.
pub trait Columns {
    /// Adds their values, as the next ones of the row.
    fn add_to(&self, values: &mut Values);
}

impl<C: Columns + ?Sized> Columns for &C {
    fn add_to(&self, values: &mut Values) {
        (**self).add_to(values);
    }
}

macro_rules! one_column {
    ($($name:ident: $type:ty => $value:expr,)*) => {$(
        impl Columns for $type {
            fn add_to(&self, values: &mut Values) {
                let $name = self;
                values.add($value);
            }
        }
    )*};
}
one_column! {
    number: i64 => *number,
    number: Option<i64> => *number,
    is: Option<bool> => *is,
    is_so: bool => *is_so,
    text: str => text,
    text: Option<&str> => *text,
    app: AppName => app.to_arc(),
    event: EventId => event.to_arc(),
}

impl Columns for UserKey {
    fn add_to(&self, values: &mut Values) {
        self.app.add_to(values);
        values.add(self.user.to_arc());
    }
}

impl Columns for ScopeRef<'_> {
    fn add_to(&self, values: &mut Values) {
        match self {
            Self::User(user) => user.add_to(values),
            Self::App(app) => app.add_to(values),
        }
    }
}

impl Columns for SessionKey {
    fn add_to(&self, values: &mut Values) {
        self.user.add_to(values);
        values.add(self.session.to_arc());
    }
}

macro_rules! columns_of_tuples {
    ($(($($part:ident $at:tt),+))+) => {
        $(impl<$($part: Columns),+> Columns for ($($part),+) {
            fn add_to(&self, values: &mut Values) {
                $(self.$at.add_to(values);)+
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
    fn the_pieces_of_lists_are_all_their_rows() {
        for length in [0, 1, 63, 64, 65, 300] {
            let rows: Vec<usize> = (0..length).collect();
            let cut: Vec<&[usize]> = pieces([3, length]).map(|from| piece(&rows, from)).collect();
            assert!(cut.iter().all(|piece| piece.len() <= MOST));
            assert_eq!(cut.concat(), rows);
        }
        assert_eq!(pieces([0, 0]).count(), 0);
    }

    #[test]
    fn there_are_few_shapes() {
        let text = |count| {
            let mut statements = Script::default();
            statements.insert("t", "a", 0..count as i64, "");
            statements.text()
        };
        let texts: std::collections::BTreeSet<String> = (0..=MOST).map(text).collect();
        assert_eq!(texts.len(), SIZES.len());
    }

    #[test]
    fn statements_bind_in_order() {
        let mut statements = Script::default();
        statements.with("a, b", [(1, "x"), (2, "y")].into_iter(), "delete from t where (a, b) in k");
        statements.insert("t", "a", [3].into_iter(), " on conflict do nothing");
        assert_eq!(
            statements.text(),
            "with k(a, b) as (select * from (values (?,?),(?,?),(?,?),(?,?)) limit 0 + ?) \
             delete from t where (a, b) in k; \
             insert or fail into t (a) select * from (values (?)) limit 0 + ? on conflict do nothing; "
        );
    }
}
