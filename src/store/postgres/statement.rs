//! PostgreSQL: statements over rows that are bound as arrays.

use std::fmt::Display;

use sqlx::query_builder::{QueryBuilder, Separated};
use sqlx::{Encode, Postgres, Type};

use crate::domain::ids::AppName;

/// A statement under construction: common table expressions, and then its body.
pub struct Statement {
    sql: QueryBuilder<Postgres>,
}

impl Statement {
    /// A statement in which `$1` is the app, which every part names.
    pub fn of_app(app: &AppName) -> Self {
        let mut sql = QueryBuilder::new("with app as (select ");
        sql.push_bind(app.as_str()).push("::text)");
        Self { sql }
    }

    /// The builder, for the body of the statement.
    pub fn end(self) -> QueryBuilder<Postgres> {
        self.sql
    }

    pub fn part(&mut self, name: impl Display, query: impl Display) {
        self.sql.push(format_args!(", {name} as {query}"));
    }

    /// Binds rows under a name, always as arrays.
    pub fn lists(&mut self, name: impl Display, names: impl Display, values: impl FnOnce(Columns<'_>)) {
        self.part(name, "materialized (select * from unnest(");
        values(Columns { sql: self.sql.separated(", "), one: false });
        self.sql.push(format_args!(") as r({names}))"));
    }

    /// Binds rows under a name. A single row becomes constants, which need no `unnest` and are not materialized.
    pub fn rows(&mut self, name: impl Display, names: impl Display, count: usize, values: impl FnOnce(Columns<'_>)) {
        if count != 1 {
            return self.lists(name, names, values);
        }
        self.part(name, "not materialized (select * from (values (");
        values(Columns { sql: self.sql.separated(", "), one: true });
        self.sql.push(format_args!(")) as r({names}))"));
    }
}

/// The columns of rows.
pub struct Columns<'q> {
    sql: Separated<'q, Postgres, &'static str>,
    one: bool,
}

impl Columns<'_> {
    pub fn add<'t, T>(mut self, kind: &str, mut values: impl Iterator<Item = T>) -> Self
    where
        T: Encode<'t, Postgres> + Type<Postgres>,
        Vec<T>: Encode<'t, Postgres> + Type<Postgres>,
    {
        if !self.one {
            self.sql.push_bind(values.collect::<Vec<T>>()).push_unseparated("::").push_unseparated(kind);
            self.sql.push_unseparated("[]");
        } else if let Some(value) = values.next() {
            self.sql.push_bind(value).push_unseparated("::").push_unseparated(kind);
        }
        self
    }

    pub fn texts<'t>(self, values: impl Iterator<Item = &'t str>) -> Self {
        self.add("text", values)
    }

    pub fn optional_texts<'t>(self, values: impl Iterator<Item = Option<&'t str>>) -> Self {
        self.add("text", values)
    }

    pub fn numbers(self, values: impl Iterator<Item = i64>) -> Self {
        self.add("bigint", values)
    }
}
