//! A statement with what it binds, and who runs it.

use std::borrow::Cow;
use std::future::Future;
use std::ops::ControlFlow;

use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, ColumnIndex, Decode, FromRow, SqlSafeStr as _, SqlStr, Type};

use super::words::Words;
use crate::domain::ids::{AppName, ArtifactName, EventId, ScopeKey, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::RawJson;
use crate::domain::policy::Walked;
use crate::domain::time::Micros;
use crate::store::error::{Cause, Result, StoreError};
use crate::store::shape::Shape;

/// A row that both databases give.
pub trait Row: Send + Unpin + for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow> {}
impl<T: Send + Unpin + for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow>> Row for T {}

/// What a field of a `row!` is read from: the column of its name, or, if it is a row itself, the columns of its own fields.
pub trait Field<'r, R>: Sized {
    fn read(row: &'r R, name: &'static str) -> sqlx::Result<Self>;
}

macro_rules! columns {
    ($($type:ty,)*) => {$(
        impl<'r, R: sqlx::Row> Field<'r, R> for $type
        where
            Self: Decode<'r, R::Database> + Type<R::Database>,
            &'static str: ColumnIndex<R>,
        {
            fn read(row: &'r R, name: &'static str) -> sqlx::Result<Self> {
                row.try_get(name)
            }
        }
    )*};
}
columns! {
    i32, i64, bool, String, Box<str>, Vec<u8>, Vec<i64>, AppName, UserId, SessionId, EventId, ArtifactName, Micros, RawJson,
    Option<i64>, Option<bool>, Option<String>, Option<Box<str>>, Option<Vec<u8>>, Option<UserId>, Option<SessionId>, Option<EventId>, Option<Micros>, Option<RawJson>,
}

/// Makes a struct a row, by [`Field`]; `impl` one that is there. A field is read from the column of its name, or from another one, and may be
/// made of what is read by a function.
/// With sqlx's derive, both drivers would be compiled a second time, to run in the compiler.
macro_rules! row {
    ($(#[$meta:meta])* $vis:vis struct $row:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty $(= $column:literal)?,)*
    }) => {
        $(#[$meta])*
        $vis struct $row {
            $($(#[$field_meta])* $field_vis $field: $type,)*
        }

        $crate::store::sql::query::row! { impl $row { $($field: $type $(= $column)?,)* } }
    };
    (impl $row:ty { $($field:ident: $type:ty $(= $column:literal)? $(=> $made:expr)?,)* }) => {
        impl<'r, R: sqlx::Row> sqlx::FromRow<'r, R> for $row
        where
            $($type: $crate::store::sql::query::Field<'r, R>,)*
        {
            fn from_row(row: &'r R) -> sqlx::Result<Self> {
                use $crate::store::sql::query::Field;
                // The column that is named, if one is, or else that of the field's name.
                Ok(Self { $($field: $($made)?(<$type as Field<'r, R>>::read(row, [$($column,)? stringify!($field)][0])?),)* })
            }
        }

        impl<'r, R> $crate::store::sql::query::Field<'r, R> for $row
        where
            Self: sqlx::FromRow<'r, R>,
            R: sqlx::Row,
        {
            fn read(row: &'r R, _name: &'static str) -> sqlx::Result<Self> {
                sqlx::FromRow::from_row(row)
            }
        }
    };
}
pub(crate) use row;

/// What runs statements: a transaction of one of the databases.
pub trait Sql: Send {
    /// The dialect of this database.
    fn words(&self) -> &'static Words;

    fn shape(&self) -> Shape {
        self.words().shape
    }

    fn fetch<R: Row>(&mut self, query: Query<'_>) -> impl Future<Output = Result<Vec<R>>> + Send;

    /// Fetches rows until `take` has enough.
    fn fetch_until<R: Row>(
        &mut self,
        query: Query<'_>,
        take: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> impl Future<Output = Result<()>> + Send;

    /// The number of rows that it changed.
    fn execute(&mut self, query: Query<'_>) -> impl Future<Output = Result<u64>> + Send;
}

/// The one row of a statement that always has one.
///
/// # Errors
/// Those of the database.
pub async fn one<R: Row>(db: &mut impl Sql, query: Query<'_>) -> Result<R> {
    let row = db.fetch(query).await?.pop();
    row.ok_or_else(|| StoreError::new(Cause::Internal, "a statement that always has a row had none"))
}

/// The row of a statement that has at most one.
///
/// # Errors
/// Those of the database.
pub async fn at_most_one<R: Row>(db: &mut impl Sql, query: Query<'_>) -> Result<Option<R>> {
    Ok(db.fetch(query).await?.pop())
}

/// The value of a statement of one column that has at most one row.
///
/// # Errors
/// Those of the database.
pub async fn value<T>(db: &mut impl Sql, query: Query<'_>) -> Result<Option<T>>
where
    (T,): Row,
{
    Ok(at_most_one(db, query).await?.map(|(value,)| value))
}

/// The values of a statement of one column.
///
/// # Errors
/// Those of the database.
pub async fn all_values<T>(db: &mut impl Sql, query: Query<'_>) -> Result<Vec<T>>
where
    (T,): Row,
{
    Ok(db.fetch(query).await?.into_iter().map(|(value,)| value).collect())
}

/// A value to be bound.
#[derive(Clone)]
pub enum Value<'a> {
    Text(Option<Cow<'a, str>>),
    Integer(Option<i64>),
    Bytes(Option<&'a [u8]>),
    Flag(Option<bool>),
    /// A list of texts, or null.
    Texts(Option<&'a [String]>),
    Integers(Vec<i64>),
    /// Rows by their columns, which have one length, and each a parameter of its own.
    Columns(Vec<Column<'a>>),
}

#[derive(Clone)]
pub enum Column<'a> {
    Texts(Vec<&'a str>),
    Integers(Vec<i64>),
}

/// An artifact: the user, the session and its incarnation, which are empty and 0 of a user's own, and the name.
pub type ArtifactKey<'a> = (&'a UserKey, &'a str, i64, &'a str);

/// A statement, put together from literals, with the values of its parameters in order.
pub struct Query<'a> {
    text: Cow<'static, str>,
    values: Vec<Value<'a>>,
}

impl<'a> Query<'a> {
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), values: Vec::new() }
    }

    /// A statement over the rows of one incarnation of a session.
    pub fn of(text: &'static str, key: &'a SessionKey, incarnation: i64) -> Self {
        Self::new(text).session(key).bind(incarnation)
    }

    /// Appends a literal.
    pub fn sql(mut self, literal: &str) -> Self {
        self.text.to_mut().push_str(literal);
        self
    }

    /// Appends the placeholder of a value, and binds it.
    pub fn arg(mut self, value: impl Into<Value<'a>>) -> Self {
        let place = self.place(value);
        self.sql(&place)
    }

    /// Binds a value, and returns its placeholder.
    pub fn place(&mut self, value: impl Into<Value<'a>>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    /// Binds the next parameter that the text has already.
    pub fn bind(mut self, value: impl Into<Value<'a>>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Binds the next parameters, one for each column of rows: as [`Words::rows`] reads them.
    pub fn columns<const N: usize>(self, columns: [Column<'a>; N]) -> Self {
        self.bind(Value::Columns(columns.into()))
    }

    /// Binds artifacts of one app, as [`Words::artifacts`] reads them.
    pub fn artifacts(self, keys: &[ArtifactKey<'a>]) -> Self {
        self.columns([
            Column::Texts(keys.iter().map(|(user, ..)| user.user.as_str()).collect()),
            Column::Texts(keys.iter().map(|(_, session, ..)| *session).collect()),
            Column::Integers(keys.iter().map(|(.., incarnation, _)| *incarnation).collect()),
            Column::Texts(keys.iter().map(|(.., name)| *name).collect()),
        ])
    }

    pub fn app(self, app: &'a AppName) -> Self {
        self.bind(app.as_str())
    }

    pub fn user(self, user: &'a UserKey) -> Self {
        self.app(&user.app).bind(user.user.as_str())
    }

    /// The owner of shared state.
    pub fn owner(self, scope: &'a ScopeKey) -> Self {
        match scope {
            ScopeKey::User(user) => self.user(user),
            ScopeKey::App(app) => self.app(app),
        }
    }

    pub fn session(self, session: &'a SessionKey) -> Self {
        self.user(&session.user).bind(session.session.as_str())
    }

    /// Binds the position of a walk through the sessions of an app: three parameters, below all others at its beginning.
    pub fn walked(self, after: Option<&'a Walked>) -> Self {
        self.bind(after.map_or(i64::MIN, |after| after.create_time.0))
            .bind(after.map_or("", |after| after.key.user.user.as_str()))
            .bind(after.map_or("", |after| after.key.session.as_str()))
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn into_parts(self) -> (SqlStr, Vec<Value<'a>>) {
        (AssertSqlSafe(self.text).into_sql_str(), self.values)
    }
}

/// What a value is made of.
macro_rules! values {
    ($($name:ident: $of:ty => $value:expr,)*) => {$(
        impl<'a> From<$of> for Value<'a> {
            fn from($name: $of) -> Self {
                $value
            }
        }
    )*};
}
values! {
    text: &'a str => Self::Text(Some(Cow::Borrowed(text))),
    text: &'a String => Self::from(text.as_str()),
    text: String => Self::Text(Some(Cow::Owned(text))),
    text: Cow<'a, str> => Self::Text(Some(text)),
    text: Option<&'a str> => Self::Text(text.map(Cow::Borrowed)),
    text: Option<Cow<'a, str>> => Self::Text(text),
    number: i64 => Self::Integer(Some(number)),
    number: Option<i64> => Self::Integer(number),
    bytes: &'a [u8] => Self::Bytes(Some(bytes)),
    bytes: Option<&'a [u8]> => Self::Bytes(bytes),
    flag: bool => Self::Flag(Some(flag)),
    flag: Option<bool> => Self::Flag(flag),
    texts: Option<&'a [String]> => Self::Texts(texts),
    numbers: Vec<i64> => Self::Integers(numbers),
}
