//! A session: its rows, compared page by page in one snapshot.

use super::{Inspector, PAGE_BYTES, PAGE_ROWS, Result, ScopeName, SessionName, Snapshot};
use crate::domain::query::UPDATE_BUCKET;
use crate::domain::time::Micros;
use crate::domain::verify::{EventRow, Findings, Seen, SessionCheck, SessionRow, Span, Wanted};
use crate::store::sql::filter::plain_text;
use crate::store::sql::query::Query;

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
            Some((incarnation, row)) => Some(snapshot.fold(name, incarnation, row).await?),
            None => None,
        };
        snapshot.end().await?;
        Ok(checked)
    }
}

impl Snapshot {
    async fn session_row(&mut self, name: &SessionName) -> Result<Option<(i64, SessionRow)>> {
        let query = Query::new(
            "select s.incarnation, s.revision, s.base_revision, s.create_time, s.update_time, s.update_time_number, s.initial_state, \
               s.created_user_revision, s.created_app_revision, s.forked_revision, s.imported_revision, \
               coalesce((select u.revision from user_scopes u \
                         where u.app_name = s.app_name and u.user_id = s.user_id), 0), \
               coalesce((select a.revision from app_scopes a where a.app_name = s.app_name), 0), \
               cast((select count(*) from session_updates o where o.app_name = s.app_name and o.user_id = s.user_id \
                       and o.id = s.id and o.bucket = s.update_time / ",
        )
        .sql(&UPDATE_BUCKET.to_string())
        .sql(
            ") as bigint), \
               (s.lease_owner is null) = (s.lease_expire is null) and (s.lease_owner is null) = (s.lease_ttl is null) \
                 and (s.lease_owner is not null or s.lease_invocation is null and not s.lease_all) \
                 and (s.lease_epoch > 0 or s.lease_epoch = 0 and s.lease_owner is null) \
             from sessions s where (s.app_name, s.user_id, s.id) = ",
        )
        .row(&name.values());
        type Row = (i64, i64, i64, i64, i64, String, String, i64, i64, Option<i64>, Option<i64>, i64, i64, i64, bool);
        let row: Option<Row> = self.rows(query).await?.into_iter().next();
        let Some((
            incarnation,
            revision,
            base,
            created,
            updated,
            number,
            initial_state,
            saw_user,
            saw_app,
            forked,
            imported,
            user,
            app,
            listed,
            lease_agrees,
        )) = row
        else {
            return Ok(None);
        };
        let row = SessionRow {
            revision,
            base,
            create_time: Micros(created),
            update_time: Micros(updated),
            update_time_number: number,
            listed: listed == 1,
            lease_agrees,
            initial_state,
            created: Seen { user: saw_user, app: saw_app },
            now: Seen { user, app },
            floors: self.floors(name).await?,
            forked_revision: forked,
            imported_revision: imported,
        };
        Ok(Some((incarnation, row)))
    }

    /// The revisions before which the session's shared scopes are not known.
    async fn floors(&mut self, name: &SessionName) -> Result<Seen> {
        let query = Query::new("select coalesce((select floor from user_scopes where app_name = ")
            .arg(&name.app)
            .sql(" and user_id = ")
            .arg(&name.user)
            .sql("), 0), coalesce((select floor from app_scopes where app_name = ")
            .arg(&name.app)
            .sql("), 0)");
        let (user, app): (i64, i64) = self.one(query).await?;
        Ok(Seen { user, app })
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
                    self.look_up(name, incarnation, &mut check, &wanted).await?;
                }
            }
            if is_last {
                break;
            }
        }
        check.end_of_events();
        let wanted = check.wanted();
        self.look_up(name, incarnation, &mut check, &wanted).await?;

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
        let spans = Query::new("select count(*) from session_spans where ")
            .incarnation("", name, incarnation)
            .sql(" and valid_to > ")
            .arg(base);
        let (spans,): (i64,) = self.one(spans).await?;
        let named = self.named(name, incarnation, base, &mut check).await?;
        Ok(CheckedSession { events, findings: check.finish(spans, named) })
    }

    /// A page, and whether it is the last one.
    async fn events(&mut self, name: &SessionName, incarnation: i64, after: i64) -> Result<(Vec<EventRow>, bool)> {
        // The sizes first, without the bodies; then the bodies that fit.
        // One by one, as a join may go through all events of the session for each page.
        let query = Query::new(
            "select sequence, id, event_time, author, invocation_id, branch, user_revision, app_revision, effect, digest, \
               (select e.body from events e where ",
        )
        .incarnation("e.", name, incarnation)
        .sql(
            " and e.sequence = sized.sequence) as body, total \
             from (select page.*, sum(size) over (order by sequence) as size_so_far, \
                     row_number() over (order by sequence) as place, count(*) over () as total \
                   from (select sequence, id, event_time, author, invocation_id, branch, user_revision, app_revision, effect, \
                           digest, octet_length(body) as size from events where ",
        )
        .incarnation("", name, incarnation)
        .sql(" and sequence > ")
        .arg(after)
        .sql(" order by sequence limit ")
        .arg(PAGE_ROWS)
        .sql(") as page) as sized where size_so_far <= ")
        .arg(PAGE_BYTES)
        .sql(" or place = 1 order by sequence");
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
        let mut query = Query::new("select key, (select t.value from session_state t where ")
            .incarnation("t.", name, incarnation)
            .sql(
                " and t.key = sized.key) as value, revision, total \
                 from (select key, revision, sum(size) over (order by key) as size_so_far, row_number() over (order by key) as place, \
                         count(*) over () as total \
                       from (select key, revision, octet_length(value) as size from session_state where ",
            )
            .incarnation("", name, incarnation);
        if let Some(after) = after {
            query = query.sql(" and key > ").arg(after);
        }
        let query = query
            .sql(" order by key limit ")
            .arg(PAGE_ROWS)
            .sql(") as page) as sized where size_so_far <= ")
            .arg(PAGE_BYTES)
            .sql(" or place = 1 order by key");
        let rows: Vec<(String, String, i64, i64)> = self.rows(query).await?;
        let is_last = rows.first().is_none_or(|row| row.3 < PAGE_ROWS && row.3 == rows.len() as i64);
        Ok((rows.into_iter().map(|(key, value, revision, _)| (key, value, revision)).collect(), is_last))
    }

    async fn look_up(
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
        let mut found = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(PAGE_ROWS as usize) {
            let query = Query::wanted("node, key", some.iter().map(|span| (span.node, &*span.key)));
            let query = self.looked_up(
                query.sql("select l.node, l.key, l.valid_from, l.valid_to, l.value from k "),
                ("session_spans", "l.node = k.node and l.key = k.key"),
                &[("session_id", &*name.session), ("user_id", &*name.user), ("app_name", &*name.app)],
                Some(incarnation),
            );
            let rows: Vec<(i64, String, i64, i64, String)> = self.rows(query).await?;
            found.extend(rows.into_iter().map(|(node, key, from, to, value)| Span {
                node,
                key: key.into(),
                from,
                to,
                value: Some(value.into()),
            }));
        }
        Ok(found)
    }
}
