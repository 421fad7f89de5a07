//! The primitives of [`Tx`](crate::store::backend::Tx) whose statements both databases share.

/// How many events one statement copies: it must end within its time limit.
pub const COPIED_EVENTS: i64 = 10_000;

/// Expands inside of an `impl Tx`. The type has `conn` (the connection), `persistent` (whether statements may be
/// prepared by name), `DIALECT`, and `keys`, `numbers` and `at` (a key filter, a list of numbers and the time of a
/// [`SessionQuery`](crate::domain::query::SessionQuery) as its database takes them).
macro_rules! shared_primitives {
    () => {
        async fn set_metadata(&mut self, key: &SessionKey, patch: &MetadataPatch, now: Micros) -> Result<()> {
            sqlx::query(Self::DIALECT.set_metadata)
                .persistent(self.persistent)
                .bind(key.app().as_str())
                .bind(key.user.user.as_str())
                .bind(key.session.as_str())
                .bind(patch.display_name.is_some())
                .bind(patch.display_name.as_ref().and_then(|name| name.as_ref().map(RawJson::text)))
                .bind(patch.labels.is_some())
                .bind(patch.labels.as_ref().and_then(|labels| labels.as_ref().map(RawJson::text)))
                .bind(patch.expiry.is_some())
                .bind(patch.expiry.flatten().map(|expiry| expiry.at(now).0))
                .bind(patch.expiry.flatten().and_then(|expiry| expiry.counted_from(now)).map(|from| from.0))
                .execute(&mut *self.conn)
                .await?;
            Ok(())
        }

        async fn bury(&mut self, key: &SessionKey, incarnation: i64) -> Result<()> {
            self.on_incarnation(sql::UNLIST_UPDATE, key, incarnation, None).await?;
            self.on_incarnation(sql::UNLIST_SESSION, key, incarnation, None).await?;
            self.on_incarnation(sql::BURY_SESSION, key, incarnation, None).await?;
            Ok(())
        }

        async fn purge(&mut self, key: &SessionKey, incarnation: i64, limit: i64) -> Result<u64> {
            let mut purged = 0;
            for statement in [sql::PURGE_EVENTS, sql::PURGE_STATE, sql::PURGE_SPANS] {
                purged += self.on_incarnation(statement, key, incarnation, Some(limit)).await?;
            }
            Ok(purged)
        }

        async fn forget(&mut self, key: &SessionKey, incarnation: i64) -> Result<()> {
            self.on_incarnation(sql::FORGET_BURIED, key, incarnation, None).await?;
            Ok(())
        }

        async fn event(&mut self, key: &SessionKey, incarnation: i64, id: &EventId) -> Result<Option<StoredEvent>> {
            let row: Option<EventRow> = sqlx::query_as(sql::EVENT)
                .persistent(self.persistent)
                .bind(key.app().as_str())
                .bind(key.user.user.as_str())
                .bind(key.session.as_str())
                .bind(incarnation)
                .bind(id.as_str())
                .fetch_optional(&mut *self.conn)
                .await?;
            Ok(row.map(StoredEvent::from))
        }

        async fn value(&mut self, address: &StateAddress, incarnation: i64) -> Result<Option<RawJson>> {
            let query = match address {
                StateAddress::Session(key, name) => sqlx::query_scalar(sql::SESSION_VALUE)
                    .bind(key.app().as_str())
                    .bind(key.user.user.as_str())
                    .bind(key.session.as_str())
                    .bind(incarnation)
                    .bind(&**name),
                StateAddress::User(key, name) => {
                    sqlx::query_scalar(sql::USER_VALUE).bind(key.app.as_str()).bind(key.user.as_str()).bind(&**name)
                }
                StateAddress::App(key, name) => sqlx::query_scalar(sql::APP_VALUE).bind(key.as_str()).bind(&**name),
            };
            let value: Option<String> = query.persistent(self.persistent).fetch_optional(&mut *self.conn).await?;
            Ok(value.map(RawJson::trusted))
        }

        async fn scope(&mut self, scope: &ScopeKey) -> Result<ScopeView> {
            let query = match scope {
                ScopeKey::App(app) => sqlx::query_as(Self::DIALECT.app_scope).bind(app.as_str()),
                ScopeKey::User(key) => {
                    sqlx::query_as(Self::DIALECT.user_scope).bind(key.app.as_str()).bind(key.user.as_str())
                }
            };
            let row: ScopeRow = query.persistent(self.persistent).fetch_one(&mut *self.conn).await?;
            Ok(ScopeView { revision: row.revision, state: join([row.state.as_deref()]) })
        }

        async fn seen_revisions(
            &mut self,
            key: &SessionKey,
            incarnation: i64,
            revision: i64,
        ) -> Result<Option<(i64, i64)>> {
            Ok(sqlx::query_as(sql::SEEN_REVISIONS)
                .persistent(self.persistent)
                .bind(key.app().as_str())
                .bind(key.user.user.as_str())
                .bind(key.session.as_str())
                .bind(incarnation)
                .bind(revision)
                .fetch_optional(&mut *self.conn)
                .await?)
        }

        async fn state_then(&mut self, head: &SessionInfo, then: &Tag, filter: &StateFilter) -> Result<String> {
            let row: StateRow = sqlx::query_as(Self::DIALECT.state_then)
                .persistent(self.persistent)
                .bind(head.key.app().as_str())
                .bind(head.key.user.user.as_str())
                .bind(head.key.session.as_str())
                .bind(head.incarnation)
                .bind(then.revision)
                .bind(then.user)
                .bind(then.app)
                .bind(Self::numbers(history::path(then.revision, head.revision)))
                .bind(Self::numbers(history::path(then.user, head.user_revision)))
                .bind(Self::numbers(history::path(then.app, head.app_revision)))
                .bind(Self::keys(filter.app.as_deref()))
                .bind(Self::keys(filter.user.as_deref()))
                .bind(Self::keys(filter.session.as_deref()))
                .fetch_one(&mut *self.conn)
                .await?;
            Ok(row.merged())
        }

        async fn differences(&mut self, row: &LockedSession, revision: i64) -> Result<Vec<Difference>> {
            let rows: Vec<DifferenceRow> = sqlx::query_as(Self::DIALECT.differences)
                .persistent(self.persistent)
                .bind(row.key.app().as_str())
                .bind(row.key.user.user.as_str())
                .bind(row.key.session.as_str())
                .bind(row.head.incarnation)
                .bind(revision)
                .bind(Self::numbers(history::path(revision, row.head.revision)))
                .fetch_all(&mut *self.conn)
                .await?;
            Ok(rows.into_iter().map(Difference::from).collect())
        }

        async fn removed_since(
            &mut self,
            addresses: &[&StateAddress],
            locked: Option<SessionHead>,
            since: i64,
        ) -> Result<HashMap<String, i64>> {
            let names: Vec<String> = addresses.iter().map(|address| address.key().to_owned()).collect();
            let (incarnation, revision) = locked.map_or((0, 0), |locked| (locked.incarnation, locked.revision));
            let Some(owner) = addresses.first() else { return Ok(HashMap::new()) };
            let query = match owner {
                StateAddress::Session(key, _) => sqlx::query_as(Self::DIALECT.removed)
                    .bind(key.app().as_str())
                    .bind(key.user.user.as_str())
                    .bind(key.session.as_str())
                    .bind(incarnation)
                    .bind(Self::keys(Some(&names)))
                    .bind(since)
                    .bind(Self::numbers(history::path(since, revision))),
                StateAddress::User(key, _) => sqlx::query_as(Self::DIALECT.user_keys_changed)
                    .bind(key.app.as_str())
                    .bind(key.user.as_str())
                    .bind(Self::keys(Some(&names))),
                StateAddress::App(key, _) => {
                    sqlx::query_as(Self::DIALECT.app_keys_changed).bind(key.as_str()).bind(Self::keys(Some(&names)))
                }
            };
            let rows: Vec<(String, Option<i64>)> = query.persistent(self.persistent).fetch_all(&mut *self.conn).await?;
            Ok(rows.into_iter().filter_map(|(key, revision)| Some((key, revision?))).collect())
        }

        async fn first_of_invocation(
            &mut self,
            key: &SessionKey,
            incarnation: i64,
            invocation: &str,
        ) -> Result<Option<i64>> {
            Ok(sqlx::query_scalar(sql::FIRST_OF_INVOCATION)
                .persistent(self.persistent)
                .bind(key.app().as_str())
                .bind(key.user.user.as_str())
                .bind(key.session.as_str())
                .bind(incarnation)
                .bind(filter_text(invocation))
                .fetch_one(&mut *self.conn)
                .await?)
        }

        async fn event_at(&mut self, key: &SessionKey, incarnation: i64, sequence: i64) -> Result<Option<StoredEvent>> {
            let row: Option<EventRow> = sqlx::query_as(sql::EVENT_AT)
                .persistent(self.persistent)
                .bind(key.app().as_str())
                .bind(key.user.user.as_str())
                .bind(key.session.as_str())
                .bind(incarnation)
                .bind(sequence)
                .fetch_optional(&mut *self.conn)
                .await?;
            Ok(row.map(StoredEvent::from))
        }

        async fn insert_fork(
            &mut self,
            source: &LockedSession,
            fork: &Fork,
            revision: i64,
            update_time: &Timestamp,
        ) -> Result<bool> {
            let done = sqlx::query(Self::DIALECT.insert_fork)
                .persistent(self.persistent)
                .bind(source.key.app().as_str())
                .bind(source.key.user.user.as_str())
                .bind(source.key.session.as_str())
                .bind(source.head.incarnation)
                .bind(fork.session.as_str())
                .bind(fork.incarnation)
                .bind(fork.now.0)
                .bind(revision)
                .bind(update_time.micros.0)
                .bind(update_time.number.text())
                .bind(fork.request.as_ref().map(|request| request.key.as_str()))
                .bind(fork.request.as_ref().map(|request| &request.digest[..]))
                .execute(&mut *self.conn)
                .await?;
            Ok(done.rows_affected() > 0)
        }

        async fn made_by(
            &mut self,
            user: &UserKey,
            key: &IdempotencyKey,
        ) -> Result<Option<(SessionKey, i64, Vec<u8>)>> {
            let row: Option<(String, i64, Vec<u8>)> = sqlx::query_as(sql::MADE_BY)
                .persistent(self.persistent)
                .bind(user.app.as_str())
                .bind(user.user.as_str())
                .bind(key.as_str())
                .fetch_optional(&mut *self.conn)
                .await?;
            row.map(|(id, incarnation, digest)| {
                let session = SessionId::parse(&id).map_err(corrupt)?;
                Ok((SessionKey { user: user.clone(), session }, incarnation, digest))
            })
            .transpose()
        }

        async fn patched_by(&mut self, scope: &ScopeKey, key: &IdempotencyKey) -> Result<Option<Vec<u8>>> {
            let query = match scope {
                ScopeKey::App(app) => sqlx::query_scalar(sql::APP_PATCH).bind(app.as_str()),
                ScopeKey::User(user) => {
                    sqlx::query_scalar(sql::USER_PATCH).bind(user.app.as_str()).bind(user.user.as_str())
                }
            };
            Ok(query.bind(key.as_str()).persistent(self.persistent).fetch_optional(&mut *self.conn).await?)
        }

        async fn remember_patch(&mut self, scope: &ScopeKey, request: &RequestKey, now: Micros) -> Result<()> {
            let [of_user, of_app] = Self::DIALECT.remember_patches;
            let query = match scope {
                ScopeKey::App(app) => sqlx::query(of_app).bind(app.as_str()),
                ScopeKey::User(user) => sqlx::query(of_user).bind(user.app.as_str()).bind(user.user.as_str()),
            };
            query
                .bind(request.key.as_str())
                .bind(&request.digest[..])
                .bind(now.0)
                .persistent(self.persistent)
                .execute(&mut *self.conn)
                .await?;
            Ok(())
        }

        async fn forget_patches(&mut self, before: Micros, limit: i64) -> Result<u64> {
            let mut forgotten = 0;
            for statement in Self::DIALECT.forget_patches {
                let done = sqlx::query(statement)
                    .persistent(self.persistent)
                    .bind(before.0)
                    .bind(limit)
                    .execute(&mut *self.conn)
                    .await?;
                forgotten += done.rows_affected();
            }
            Ok(forgotten)
        }

        async fn copy_history(&mut self, source: &LockedSession, fork: &Fork, revision: i64) -> Result<()> {
            let mut after = 0;
            while after < revision {
                let last = revision.min(after + COPIED_EVENTS);
                self.copy(sql::COPY_EVENTS, source, fork, &[after, last], None).await?;
                after = last;
            }
            self.copy(sql::COPY_SPANS, source, fork, &[revision], None).await?;
            // Appends to the source go on meanwhile: what holds at the revision may have ended since it was read.
            let path = history::path(revision, i64::MAX);
            self.copy(Self::DIALECT.copy_state, source, fork, &[revision], Some(path)).await
        }

        async fn list(&mut self, query: &ListQuery, now: Micros) -> Result<Page<SessionView>> {
            let (text, values) = Self::DIALECT.list(query, now);
            let mut statement = sqlx::query(AssertSqlSafe(text)).persistent(self.persistent);
            for value in &values {
                statement = match value {
                    ListValue::Text(text) => statement.bind(*text),
                    ListValue::Integer(number) => statement.bind(*number),
                };
            }
            let mut rows = statement.fetch(&mut *self.conn);
            let mut page = Page { items: Vec::new(), more: false, cut: false };
            let mut bytes = 0;
            while let Some(row) = rows.try_next().await? {
                if page.items.len() == query.max_rows {
                    page.more = true;
                    break;
                }
                let (head, state) = if query.with_state {
                    let row = ViewRow::from_row(&row)?;
                    let state = row.state.merged();
                    (row.head, Some(state))
                } else {
                    (HeadRow::from_row(&row)?, None)
                };
                let view = SessionView { head: head.try_into()?, state, events: EventPage::default() };
                bytes += view.weight();
                if bytes > query.max_bytes && !page.items.is_empty() {
                    page.more = true;
                    page.cut = true;
                    break;
                }
                page.items.push(view);
            }
            Ok(page)
        }

        async fn apps(&mut self, after: &str, limit: i64) -> Result<Vec<String>> {
            Ok(sqlx::query_scalar(sql::APPS)
                .persistent(self.persistent)
                .bind(after)
                .bind(limit)
                .fetch_all(&mut *self.conn)
                .await?)
        }

        async fn users(&mut self, app: &AppName, after: &str, limit: i64) -> Result<Vec<String>> {
            Ok(sqlx::query_scalar(sql::USERS)
                .persistent(self.persistent)
                .bind(after)
                .bind(limit)
                .bind(app.as_str())
                .fetch_all(&mut *self.conn)
                .await?)
        }
    };
}

/// Expands inside of an `impl` of the transaction's type: what [`shared_primitives`] calls.
macro_rules! shared_helpers {
    () => {
        /// Runs a statement that takes a session's key, its incarnation, and perhaps a limit.
        async fn on_incarnation(
            &mut self,
            statement: &'static str,
            key: &SessionKey,
            incarnation: i64,
            limit: Option<i64>,
        ) -> Result<u64> {
            let mut query = sqlx::query(statement)
                .persistent(self.persistent)
                .bind(key.app().as_str())
                .bind(key.user.user.as_str())
                .bind(key.session.as_str())
                .bind(incarnation);
            if let Some(limit) = limit {
                query = query.bind(limit);
            }
            Ok(query.execute(&mut *self.conn).await?.rows_affected())
        }

        /// A session, its state and its events in a statement each.
        async fn view_in_parts(&mut self, query: &SessionQuery) -> Result<Option<SessionView>> {
            let key = &query.key;
            let (head, state) = match &query.state {
                None => {
                    let row: Option<HeadRow> = sqlx::query_as(Self::DIALECT.head)
                        .persistent(self.persistent)
                        .bind(key.app().as_str())
                        .bind(key.user.user.as_str())
                        .bind(key.session.as_str())
                        .bind(Self::at(query.now))
                        .fetch_optional(&mut *self.conn)
                        .await?;
                    let Some(row) = row else { return Ok(None) };
                    (SessionInfo::try_from(row)?, None)
                }
                Some(filter) => {
                    let row: Option<ViewRow> = sqlx::query_as(Self::DIALECT.view)
                        .persistent(self.persistent)
                        .bind(key.app().as_str())
                        .bind(key.user.user.as_str())
                        .bind(key.session.as_str())
                        .bind(Self::at(query.now))
                        .bind(Self::keys(filter.app.as_deref()))
                        .bind(Self::keys(filter.user.as_deref()))
                        .bind(Self::keys(filter.session.as_deref()))
                        .fetch_optional(&mut *self.conn)
                        .await?;
                    let Some(row) = row else { return Ok(None) };
                    let state = row.state.merged();
                    (SessionInfo::try_from(row.head)?, Some(state))
                }
            };
            if query.incarnation.is_some_and(|wanted| wanted != head.incarnation) {
                return Ok(None);
            }
            let events = match &query.events {
                Some(events) => self.events(&head, events).await?,
                None => EventPage::default(),
            };
            Ok(Some(SessionView { head, state, events }))
        }

        async fn events(&mut self, head: &SessionInfo, query: &EventQuery) -> Result<EventPage> {
            // Sequences are dense, so the last N are those above revision - N.
            let after = query.after.max(query.last.map_or(0, |last| head.revision.saturating_sub(last)));
            let hidden = match query.exclude_rewound {
                true => rewind::hidden(&self.rewinds(head).await?),
                false => Vec::new(),
            };
            let statement = match (query.descending, hidden.is_empty()) {
                (false, true) => sql::EVENTS_ASCENDING,
                (true, true) => sql::EVENTS_DESCENDING,
                (false, false) => Self::DIALECT.visible_ascending,
                (true, false) => Self::DIALECT.visible_descending,
            };
            let mut rows = sqlx::query_as(statement)
                .persistent(self.persistent)
                .bind(head.key.app().as_str())
                .bind(head.key.user.user.as_str())
                .bind(head.key.session.as_str())
                .bind(head.incarnation)
                .bind(after)
                .bind(query.before)
                .bind(query.since.map(|time| time.0))
                .bind(query.author.as_deref().map(filter_text))
                .bind(query.invocation_id.as_deref().map(filter_text))
                .bind(query.branch.as_deref().map(filter_text))
                .bind(query.max_rows as i64 + 1)
                .bind(query.max_bytes as i64);
            if !hidden.is_empty() {
                let (first, last) = hidden.into_iter().unzip();
                rows = rows.bind(Self::numbers(first)).bind(Self::numbers(last));
            }
            Ok(event_page(rows.fetch_all(&mut *self.conn).await?, query.max_rows))
        }

        /// Runs a statement that copies rows of `source` to its fork.
        async fn copy(
            &mut self,
            statement: &'static str,
            source: &LockedSession,
            fork: &Fork,
            bounds: &[i64],
            nodes: Option<Vec<i64>>,
        ) -> Result<()> {
            let mut query = sqlx::query(statement)
                .persistent(self.persistent)
                .bind(source.key.app().as_str())
                .bind(source.key.user.user.as_str())
                .bind(source.key.session.as_str())
                .bind(source.head.incarnation)
                .bind(fork.session.as_str())
                .bind(fork.incarnation);
            for bound in bounds {
                query = query.bind(*bound);
            }
            if let Some(nodes) = nodes {
                query = query.bind(Self::numbers(nodes));
            }
            query.execute(&mut *self.conn).await?;
            Ok(())
        }

        async fn rewinds(&mut self, head: &SessionInfo) -> Result<Vec<(i64, i64)>> {
            Ok(sqlx::query_as(sql::REWINDS)
                .persistent(self.persistent)
                .bind(head.key.app().as_str())
                .bind(head.key.user.user.as_str())
                .bind(head.key.session.as_str())
                .bind(head.incarnation)
                .fetch_all(&mut *self.conn)
                .await?)
        }
    };
}

pub(in crate::store) use {shared_helpers, shared_primitives};
