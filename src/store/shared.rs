//! The primitives of [`Tx`](super::transactions::Tx) whose statements both databases share.

/// Expands inside of an `impl Tx`. The type has `conn` (the connection), `persistent` (whether statements may be
/// prepared by name), `DIALECT`, and `keys` (a key filter as its database takes it).
macro_rules! shared_primitives {
    () => {
        async fn insert_session(&mut self, insert: &SessionInsert<'_>) -> Result<bool> {
            let creation = insert.creation;
            let done = sqlx::query(sql::INSERT_SESSION)
                .persistent(self.persistent)
                .bind(creation.key.app().as_str())
                .bind(creation.key.user.user.as_str())
                .bind(creation.key.session.as_str())
                .bind(creation.incarnation)
                .bind(insert.revision)
                .bind(creation.now.0)
                .bind(insert.update_time.micros.0)
                .bind(insert.update_time.number.text())
                .bind(creation.display_name.as_ref().map(RawJson::text))
                .bind(creation.labels.as_ref().map(RawJson::text))
                .bind(creation.expire_time.map(|time| time.0))
                .bind(insert.initial_state.as_str())
                .execute(&mut *self.conn)
                .await?;
            Ok(done.rows_affected() == 1)
        }

        async fn set_created_revisions(&mut self, key: &SessionKey, user: i64, app: i64) -> Result<()> {
            sqlx::query(sql::SET_CREATED_REVISIONS)
                .persistent(self.persistent)
                .bind(key.app().as_str())
                .bind(key.user.user.as_str())
                .bind(key.session.as_str())
                .bind(user)
                .bind(app)
                .execute(&mut *self.conn)
                .await?;
            Ok(())
        }

        async fn set_metadata(&mut self, key: &SessionKey, patch: &MetadataPatch, now: Micros) -> Result<()> {
            sqlx::query(sql::SET_METADATA)
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
                .execute(&mut *self.conn)
                .await?;
            Ok(())
        }

        async fn bury(&mut self, key: &SessionKey, incarnation: i64) -> Result<()> {
            self.on_incarnation(sql::UNLIST_SESSION, key, incarnation, None).await?;
            self.on_incarnation(sql::BURY_SESSION, key, incarnation, None).await?;
            Ok(())
        }

        async fn purge(&mut self, key: &SessionKey, incarnation: i64, limit: i64) -> Result<u64> {
            let events = self.on_incarnation(sql::PURGE_EVENTS, key, incarnation, Some(limit)).await?;
            Ok(events + self.on_incarnation(sql::PURGE_STATE, key, incarnation, Some(limit)).await?)
        }

        async fn forget(&mut self, key: &SessionKey, incarnation: i64) -> Result<()> {
            self.on_incarnation(sql::FORGET_BURIED, key, incarnation, None).await?;
            Ok(())
        }

        async fn view(&mut self, query: &SessionQuery) -> Result<Option<SessionView>> {
            let key = &query.key;
            let (head, state) = match &query.state {
                None => {
                    let row: Option<HeadRow> = sqlx::query_as(sql::HEAD)
                        .persistent(self.persistent)
                        .bind(key.app().as_str())
                        .bind(key.user.user.as_str())
                        .bind(key.session.as_str())
                        .bind(query.now.0)
                        .fetch_optional(&mut *self.conn)
                        .await?;
                    let Some(row) = row else { return Ok(None) };
                    (Head::try_from(row)?, None)
                }
                Some(filter) => {
                    let row: Option<ViewRow> = sqlx::query_as(Self::DIALECT.view)
                        .persistent(self.persistent)
                        .bind(key.app().as_str())
                        .bind(key.user.user.as_str())
                        .bind(key.session.as_str())
                        .bind(query.now.0)
                        .bind(Self::keys(filter.app.as_deref()))
                        .bind(Self::keys(filter.user.as_deref()))
                        .bind(Self::keys(filter.session.as_deref()))
                        .fetch_optional(&mut *self.conn)
                        .await?;
                    let Some(row) = row else { return Ok(None) };
                    let state = row.merged();
                    (Head::try_from(row.head)?, Some(state))
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
                    let state = row.merged();
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

        async fn events(&mut self, head: &Head, query: &EventQuery) -> Result<EventPage> {
            // Sequences are dense, so the last N are those above revision - N.
            let after = query.after.max(query.last.map_or(0, |last| head.revision.saturating_sub(last)));
            let statement = if query.descending { sql::EVENTS_DESCENDING } else { sql::EVENTS_ASCENDING };
            let rows = sqlx::query_as(statement)
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
                .bind(query.max_bytes as i64)
                .fetch_all(&mut *self.conn)
                .await?;
            Ok(event_page(rows, query.max_rows))
        }
    };
}

pub(super) use {shared_helpers, shared_primitives};
