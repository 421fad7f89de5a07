//! A session: its rows, compared page by page in one snapshot.

use super::{Inspector, PAGE_BYTES, PAGE_ROWS, Result, ScopeName, SessionName, Snapshot};
use crate::domain::time::Micros;
use crate::domain::verify::{EventRow, Findings, Seen, SessionCheck, SessionRow, Span, Wanted};
use crate::store::sql::columns::{LISTED_PLACE, OF_EVENT, OF_INCARNATION, OF_L};
use crate::store::sql::filter::plain_text;
use crate::store::sql::query::{Query, row};

#[derive(Debug)]
pub struct CheckedSession {
    pub events: u64,
    pub findings: Findings,
}

impl Inspector {
    /// Recomputes a session from its events and compares; `None` if it is gone.
    ///
    /// # Errors
    /// The database fails.
    pub async fn check_session(&self, name: &SessionName) -> Result<Option<CheckedSession>> {
        let mut snapshot = self.snapshot().await?;
        let checked = match snapshot.session_row(name).await? {
            Some(CheckedRow { incarnation, row }) => Some(snapshot.fold(name, incarnation, row).await?),
            None => None,
        };
        snapshot.end().await?;
        Ok(checked)
    }
}

impl Snapshot {
    async fn session_row(&mut self, name: &SessionName) -> Result<Option<CheckedRow>> {
        let text = format!(
            "select s.incarnation, s.revision, s.base_revision, s.create_time, s.update_time, s.update_time_number, s.initial_state, \
               s.created_user_revision, s.created_app_revision, s.forked_revision, s.imported_revision, \
               coalesce((select u.revision from user_scopes u \
                         where u.app_name = s.app_name and u.user_id = s.user_id), 0) as user_revision, \
               coalesce((select a.revision from app_scopes a where a.app_name = s.app_name), 0) as app_revision, \
               coalesce((select u.floor from user_scopes u \
                         where u.app_name = s.app_name and u.user_id = s.user_id), 0) as user_floor, \
               coalesce((select a.floor from app_scopes a where a.app_name = s.app_name), 0) as app_floor, \
               exists (select 1 from session_updates o where o.app_name = s.app_name and o.user_id = s.user_id \
                       and o.id = s.id and o.rough = s.rough and o.place = {LISTED_PLACE}) as listed, \
               (s.lease_owner is null) = (s.lease_expire is null) and (s.lease_owner is null) = (s.lease_ttl is null) \
                 and (s.lease_owner is not null or s.lease_invocation is null and not s.lease_all) \
                 and (s.lease_epoch > 0 or s.lease_epoch = 0 and s.lease_owner is null) as lease_agrees \
             from sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3"
        );
        let query = Query::new(text).bind(&name.app).bind(&name.user).bind(&name.session);
        Ok(self.rows(query).await?.into_iter().next())
    }

    async fn fold(&mut self, name: &SessionName, incarnation: i64, row: SessionRow) -> Result<CheckedSession> {
        let base = row.base;
        let mut check = SessionCheck::new(row);
        let (mut events, mut after) = (0, i64::MIN);
        loop {
            let (page, is_last) = self.events(name, incarnation, after).await?;
            after = page.last().map_or(after, |last| last.sequence);
            events += page.len() as u64;
            for event in &page {
                check.event(event);
                if let Some(wanted) = check.wanted_if_full() {
                    self.compare(name, incarnation, &mut check, &wanted).await?;
                }
            }
            if is_last {
                break;
            }
        }
        check.end_of_events();
        let wanted = check.wanted();
        self.compare(name, incarnation, &mut check, &wanted).await?;

        let mut after: Option<String> = None;
        loop {
            let (page, is_last) = self.state(name, incarnation, after.as_deref()).await?;
            for (key, value, revision) in &page {
                check.state(key, value, *revision);
            }
            if is_last {
                break;
            }
            after = page.into_iter().next_back().map(|(last, ..)| last);
        }
        let spans = format!("select count(*) from session_spans where {OF_INCARNATION} and valid_to > $5");
        let (spans,): (i64,) = self.one(name.of(spans, incarnation).bind(base)).await?;
        let named = self.named(name, incarnation, base, &mut check).await?;
        Ok(CheckedSession { events, findings: check.finish(spans, named) })
    }

    /// A page, and whether it is the last one.
    async fn events(&mut self, name: &SessionName, incarnation: i64, after: i64) -> Result<(Vec<EventRow>, bool)> {
        // The sizes first, without the bodies; then the bodies that fit.
        // One by one, as a join may go through all events of the session for each page.
        let text = format!(
            "select sequence, id, event_time, author, invocation_id, branch, user_revision, app_revision, effect, digest, \
               (select e.body from events e where {OF_EVENT} and e.sequence = sized.sequence) as body, total \
             from (select page.*, sum(size) over (order by sequence) as size_so_far, \
                     row_number() over (order by sequence) as place, count(*) over () as total \
                   from (select sequence, id, event_time, author, invocation_id, branch, user_revision, app_revision, effect, \
                           digest, octet_length(body) as size from events where {OF_INCARNATION} and sequence > $5 \
                         order by sequence limit {PAGE_ROWS}) as page) as sized \
             where size_so_far <= {PAGE_BYTES} or place = 1 order by sequence"
        );
        let query = name.of(text, incarnation).bind(after);
        type Row = (i64, String, i64, String, String, Option<String>, i64, i64, Option<i64>, Vec<u8>, String, i64);
        let rows: Vec<Row> = self.rows(query).await?;
        let is_last = rows.first().is_none_or(|row| row.11 < PAGE_ROWS && row.11 == rows.len() as i64);
        let event =
            |(sequence, id, time, author, invocation_id, branch, user, app, effect, digest, body, _): Row| EventRow {
                sequence,
                id,
                event_time: Micros(time),
                author: plain_text(&author),
                invocation_id: plain_text(&invocation_id),
                branch: branch.as_deref().map(plain_text),
                saw: Seen { user, app },
                effect,
                digest,
                body,
            };
        Ok((rows.into_iter().map(event).collect(), is_last))
    }

    /// A page, and whether it is the last one.
    async fn state(
        &mut self,
        name: &SessionName,
        incarnation: i64,
        after: Option<&str>,
    ) -> Result<(Vec<(String, String, i64)>, bool)> {
        let behind = after.map_or("", |_| " and key > $5");
        let text = format!(
            "select key, (select l.value from session_state l where {OF_L} and l.key = sized.key) as value, revision, total \
             from (select key, revision, sum(size) over (order by key) as size_so_far, row_number() over (order by key) as place, \
                     count(*) over () as total \
                   from (select key, revision, octet_length(value) as size from session_state \
                         where {OF_INCARNATION}{behind} order by key limit {PAGE_ROWS}) as page) as sized \
             where size_so_far <= {PAGE_BYTES} or place = 1 order by key"
        );
        let query = after.into_iter().fold(name.of(text, incarnation), Query::bind);
        let rows: Vec<(String, String, i64, i64)> = self.rows(query).await?;
        let is_last = rows.first().is_none_or(|row| row.3 < PAGE_ROWS && row.3 == rows.len() as i64);
        Ok((rows.into_iter().map(|(key, value, revision, _)| (key, value, revision)).collect(), is_last))
    }

    async fn compare(
        &mut self,
        name: &SessionName,
        incarnation: i64,
        check: &mut SessionCheck,
        wanted: &Wanted,
    ) -> Result<()> {
        let spans = self.session_spans(name, incarnation, &wanted.spans).await?;
        let named = self.named_spans(name, incarnation, &wanted.named).await?;
        let user = ScopeName { app: name.app.clone(), user: Some(name.user.clone()) };
        let user_log = self.log_values(&user, &wanted.user_log).await?;
        let app_log = self.log_values(&ScopeName { app: name.app.clone(), user: None }, &wanted.app_log).await?;
        check.found(wanted, &spans, &named, &user_log, &app_log);
        Ok(())
    }

    async fn session_spans(&mut self, name: &SessionName, incarnation: i64, wanted: &[Span]) -> Result<Vec<Span>> {
        let spans = wanted.iter().map(|span| (span.node, &*span.key));
        let (shown, table) =
            ("l.node, l.key, l.valid_from, l.valid_to, l.removed, l.value", ("session_spans", "node", "key"));
        self.look_up(shown, table, OF_L, |text| name.of(text, incarnation), spans).await
    }
}

row! {
    struct CheckedRow {
        incarnation: i64,
        row: SessionRow,
    }
}

row! {
    impl SessionRow {
        revision: i64,
        base: i64 = "base_revision",
        create_time: Micros,
        update_time: Micros,
        update_time_number: String,
        listed: bool,
        initial_state: String,
        created: Seen,
        now: Seen,
        floors: Seen,
        forked_revision: Option<i64>,
        imported_revision: Option<i64>,
        lease_agrees: bool,
    }
}

row! {
    impl Span {
        node: i64,
        key: Box<str>,
        from: i64 = "valid_from",
        to: i64 = "valid_to",
        removed: bool,
        value: Option<Box<str>>,
    }
}
