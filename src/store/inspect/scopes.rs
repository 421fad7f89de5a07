//! The state of a user or of an app: its log and its past.

use super::{Inspector, PAGE_ROWS, Result, Snapshot};
use crate::domain::verify::{Findings, LogRow, LogValue, Logged, ScopeCheck, Span};
use crate::store::sql::query::{Query, row};
use crate::store::sql::scope::{SCOPES, ScopeTables};

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
        let ScopeTables { name, of, params: [p, ..], .. } = scope.tables();
        let row = scope.of(format!("select revision, floor, imported from {name}_scopes where {of}"));
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
            page.iter().filter(|(_, is_logged)| !is_logged).for_each(|(key, _)| check.unlogged(key));
            let Some((last, _)) = page.into_iter().next_back() else { break };
            after = Some(last);
        }
        let spans = scope.of(format!("select count(*) from {name}_spans where {of} and valid_to > {p}")).bind(floor);
        let (spans,): (i64,) = snapshot.one(spans).await?;
        snapshot.end().await?;
        let (findings, keys) = check.finish(spans);
        Ok(CheckedScope { keys, findings })
    }
}

impl Snapshot {
    pub(super) async fn log_values(&mut self, scope: &ScopeName, wanted: &[Logged]) -> Result<Vec<LogValue>> {
        let logged = wanted.iter().map(|logged| (logged.revision, &*logged.key));
        let ScopeTables { name, l_of, .. } = scope.tables();
        let (shown, table) = ("l.key, l.revision, l.value", format!("{name}_log"));
        self.look_up(shown, (&table, "revision", "key"), l_of, |text| scope.of(text), logged).await
    }

    /// The values are compared where they are: they may be large, and there may be many of one key.
    async fn log(&mut self, scope: &ScopeName, after: &(String, i64)) -> Result<Vec<LogRow>> {
        let ScopeTables { name, of, s_of, params: [p, q, ..], .. } = scope.tables();
        let text = format!(
            "select l.key, l.revision, l.value is null, s.revision, coalesce(s.revision = l.revision and s.value = l.value, false) \
             from (select * from {name}_log where {of} and (key, revision) > ({p}, {q}) order by key, revision limit {PAGE_ROWS}) as l \
             {} order by l.key, l.revision",
            (self.words().look_up_if)(&format!("{name}_state"), "s", &format!("{s_of} and s.key = l.key"))
        );
        let query = scope.of(text).bind(&after.0).bind(after.1);
        let rows: Vec<(String, i64, bool, Option<i64>, bool)> = self.rows(query).await?;
        let row = |(key, revision, removed, state, same): (_, _, _, Option<i64>, bool)| LogRow {
            key,
            revision,
            removed,
            state: state.map(|state| (state, same)),
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Keys of a scope's state, and whether the log has them.
    async fn state_keys(&mut self, scope: &ScopeName, after: Option<&str>) -> Result<Vec<(String, bool)>> {
        let ScopeTables { name, l_of, s_of, params: [p, ..], .. } = scope.tables();
        let behind = after.map_or(String::new(), |_| format!(" and s.key > {p}"));
        let text = format!(
            "select s.key, exists (select 1 from {name}_log l where {l_of} and l.key = s.key) \
             from {name}_state s where {s_of}{behind} order by s.key limit {PAGE_ROWS}"
        );
        self.rows(after.into_iter().fold(scope.of(text), Query::bind)).await
    }

    async fn scope_spans(&mut self, scope: &ScopeName, wanted: &[Span]) -> Result<Vec<Span>> {
        let spans = wanted.iter().map(|span| (span.node, &*span.key));
        let ScopeTables { name, l_of, .. } = scope.tables();
        let (shown, table) =
            ("l.node, l.key, l.valid_from, l.valid_to, false as removed, null as value", format!("{name}_spans"));
        self.look_up(shown, (&table, "node", "key"), l_of, |text| scope.of(text), spans).await
    }
}

impl ScopeName {
    /// A statement over the rows of the scope, whose names it binds first.
    pub(super) fn of(&self, text: String) -> Query<'_> {
        let query = Query::new(text).bind(&self.app);
        match &self.user {
            Some(user) => query.bind(user),
            None => query,
        }
    }

    pub(super) fn tables(&self) -> &'static ScopeTables {
        let [users, apps] = &SCOPES;
        if self.user.is_some() { users } else { apps }
    }
}

row! { impl LogValue { key: Box<str>, revision: i64, value: Option<Box<str>>, } }
