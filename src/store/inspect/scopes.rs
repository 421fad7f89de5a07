//! The state of a user or of an app: its log and its past.

use super::{Inspector, PAGE_ROWS, Result, Snapshot, of_names};
use crate::domain::verify::{Findings, LogRow, LogValue, Logged, ScopeCheck, Span};
use crate::store::sql::query::Query;

/// A shared scope's names: a user's, or an app's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeName {
    pub app: String,
    pub user: Option<String>,
}

#[derive(Debug)]
pub struct CheckedScope {
    pub keys: u64,
    pub findings: Findings,
}

impl Inspector {
    /// Compares a shared scope with its log.
    ///
    /// # Errors
    /// The database fails.
    pub async fn check_scope(&self, scope: &ScopeName) -> Result<CheckedScope> {
        let mut snapshot = self.snapshot().await?;
        let row = Query::new("select revision, floor, imported from ")
            .sql(&scope.table("scopes"))
            .sql(" where ")
            .scope("", scope);
        let row: Option<(i64, i64, i64)> = snapshot.rows(row).await?.into_iter().next();
        let (floor, imported) = row.map_or((0, 0), |(_, floor, imported)| (floor, imported));
        let mut check = ScopeCheck::new(row.map(|(revision, ..)| revision), floor, imported);

        let mut after = (String::new(), i64::MIN);
        loop {
            let page = snapshot.log(scope, &after).await?;
            let Some(last) = page.last() else { break };
            after = (last.key.clone(), last.revision);
            page.into_iter().for_each(|row| check.log(row));
            let wanted = check.wanted();
            let found = snapshot.scope_spans(scope, &wanted).await?;
            check.found(&wanted, &found);
        }
        check.end_of_log();

        let mut after: Option<String> = None;
        loop {
            let page = snapshot.state_keys(scope, after.as_deref()).await?;
            page.iter().filter(|(_, logged)| *logged == 0).for_each(|(key, _)| check.unlogged(key));
            let Some((last, _)) = page.into_iter().next_back() else { break };
            after = Some(last);
        }
        let spans = Query::new("select count(*) from ").sql(&scope.table("spans")).sql(" where ").scope("", scope);
        let spans = spans.sql(" and valid_to > ").arg(floor);
        let (spans,): (i64,) = snapshot.one(spans).await?;
        snapshot.end().await?;
        let (findings, keys) = check.finish(spans);
        Ok(CheckedScope { keys, findings })
    }
}

impl Snapshot {
    pub(super) async fn log_values(&mut self, scope: &ScopeName, wanted: &[Logged]) -> Result<Vec<LogValue>> {
        let mut found = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(PAGE_ROWS as usize) {
            let query = Query::wanted("revision, key", some.iter().map(|logged| (logged.revision, &*logged.key)));
            let query = self.looked_up(
                query.sql("select l.key, l.revision, l.value from k "),
                (&scope.table("log"), "l.key = k.key and l.revision = k.revision"),
                &scope.columns(),
                None,
            );
            let rows: Vec<(String, i64, Option<String>)> = self.rows(query).await?;
            found.extend(rows.into_iter().map(|(key, revision, value)| LogValue {
                key: key.into(),
                revision,
                value: value.map(String::into_boxed_str),
            }));
        }
        Ok(found)
    }

    /// The values are compared where they are: they may be large, and there may be many of one key.
    async fn log(&mut self, scope: &ScopeName, after: &(String, i64)) -> Result<Vec<LogRow>> {
        let query = Query::new(
            "select l.key, l.revision, cast(case when l.value is null then 1 else 0 end as bigint), s.revision, \
               cast(case when s.revision = l.revision and s.value = l.value then 1 else 0 end as bigint) from (select * from ",
        )
        .sql(&scope.table("log"))
        .sql(" where ")
        .scope("", scope)
        .sql(" and (key, revision) > (")
        .arg(&after.0)
        .sql(", ")
        .arg(after.1)
        .sql(") order by key, revision limit ")
        .arg(PAGE_ROWS)
        .sql(") as l ");
        let query = self.with_state(query, scope).sql(" order by l.key, l.revision");
        let rows: Vec<(String, i64, i64, Option<i64>, i64)> = self.rows(query).await?;
        let row = |(key, revision, removed, state, same): (String, i64, i64, Option<i64>, i64)| LogRow {
            key,
            revision,
            removed: removed == 1,
            state: state.map(|state| (state, same == 1)),
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Keys of a scope's state, and whether the log has them.
    async fn state_keys(&mut self, scope: &ScopeName, after: Option<&str>) -> Result<Vec<(String, i64)>> {
        let mut query = Query::new("select s.key, cast(case when exists (select 1 from ")
            .sql(&format!("{} l where l.key = s.key and ", scope.table("log")))
            .scope("l.", scope)
            .sql(&format!(") then 1 else 0 end as bigint) from {} s where ", scope.table("state")))
            .scope("s.", scope);
        if let Some(after) = after {
            query = query.sql(" and s.key > ").arg(after);
        }
        self.rows(query.sql(" order by s.key limit ").arg(PAGE_ROWS)).await
    }

    async fn scope_spans(&mut self, scope: &ScopeName, wanted: &[Span]) -> Result<Vec<Span>> {
        let mut found = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(PAGE_ROWS as usize) {
            let query = Query::wanted("node, key", some.iter().map(|span| (span.node, &*span.key)));
            let query = self.looked_up(
                query.sql("select l.node, l.key, l.valid_from, l.valid_to from k "),
                (&scope.table("spans"), "l.node = k.node and l.key = k.key"),
                &scope.columns(),
                None,
            );
            let rows: Vec<(i64, String, i64, i64)> = self.rows(query).await?;
            let span = |(node, key, from, to): (_, String, _, _)| Span { node, key: key.into(), from, to, value: None };
            found.extend(rows.into_iter().map(span));
        }
        Ok(found)
    }

    /// The same of the state of a scope as the rows `s`, which need not be there.
    fn with_state<'q>(&self, mut query: Query<'q>, scope: &'q ScopeName) -> Query<'q> {
        let key = of_names(&mut query, "s.key = l.key", "s", &scope.columns(), None);
        query.sql(&(self.words().look_up_if)(&scope.table("state"), "s", &key))
    }
}

impl ScopeName {
    pub(super) fn values(&self) -> Vec<&str> {
        [Some(&self.app), self.user.as_ref()].into_iter().flatten().map(String::as_str).collect()
    }

    /// The names of a row, each with its column.
    pub(super) fn columns(&self) -> Vec<(&'static str, &str)> {
        ["app_name", "user_id"].into_iter().zip(self.values()).collect()
    }

    pub(super) fn table(&self, what: &str) -> String {
        format!("{}_{what}", if self.user.is_some() { "user" } else { "app" })
    }
}
impl<'a> Query<'a> {
    /// That a row belongs to this scope.
    pub(super) fn scope(self, table: &str, scope: &'a ScopeName) -> Self {
        let query = self.sql(&format!("{table}app_name = ")).arg(&scope.app);
        match &scope.user {
            Some(user) => query.sql(&format!(" and {table}user_id = ")).arg(user),
            None => query,
        }
    }
}
