//! SQLite: the statements over rows that appends and creations send.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use super::rows::{Columns, Script, Values};
use crate::domain::history;
use crate::domain::ids::{AppName, ScopeRef, SessionKey, UserId};
use crate::domain::json::RawJson;
use crate::domain::policy::DAY_MICROS;
use crate::domain::scope::Scope;
use crate::domain::time::Micros;
use crate::domain::writes::{
    ChangeRow, EventRef, EventWrite, Passed, ScopeUpdate, SessionUpdate, StateWrite, StateWrites, Writes,
};
use crate::store::backend::SessionInsert;
use crate::store::sql::columns::{EVENT, EVENT_COLUMNS, EventValue, LISTED_PLACE, SESSION_COLUMNS, StateTables};

pub const EXPIRED: &str = "select app_name, user_id, id as session_id, incarnation from sessions \
     where expire_time <= $1 limit 0 + $2";

pub const NEXT_BURIED: &str = "select app_name, user_id, session_id, incarnation, erasure from buried_sessions limit 1";

/// Ends a feed in which changes begin to be missing: `$1`, or if something was recorded since the last end.
pub const END_FEED: &str = "insert into changes (kind, app_name, first_revision, last_revision) \
    select 0, '', 0, 0 from (select app_name from changes order by id desc limit 1) where $1 or app_name <> ''";

/// Removes the first `$2` changes, as far as they are of before `$1`, but for the last one, behind which the feed then begins.
pub const PRUNE_FEED: &str = "delete from changes where id < (select max(id) from (select id, time from changes order by id \
     limit 0 + $2) where time < $1)";

impl Columns for ChangeRow<'_> {
    fn add_to(&self, values: &mut Values) {
        values.add(self.kind.number());
        self.app.add_to(values);
        values.add(self.user.map(UserId::to_arc));
        values.add(self.session.map(|(session, _)| session.to_arc()));
        values.add(self.session.map(|(_, incarnation)| incarnation));
        (self.first, self.last).add_to(values);
        values.add(self.detail.as_deref());
    }
}

/// The node (domain/history.rs) of a span from `revision` to `first`: the latter without its low bits, as many as leave it above the
/// former.
static NODE: LazyLock<String> = LazyLock::new(|| {
    let levels = (0..62).map(|bits: i64| (-1_i64 << (bits + 1), -1_i64 << bits));
    let levels = levels.map(|(next, mask)| format!(" when first & {next} <= revision then first & {mask}"));
    format!("case{} else first & {} end", levels.collect::<String>(), -1_i64 << 62)
});

impl Columns for EventWrite<'_> {
    fn add_to(&self, values: &mut Values) {
        (self.key, self.incarnation).add_to(values);
        for (_, part) in EVENT {
            match part {
                EventValue::Number(of) => values.add(of(self)),
                EventValue::Text(of) => values.add(of(self)),
                EventValue::Shared(of) => values.add(Arc::clone(of(self))),
                EventValue::Bytes(of) => values.add(of(self)),
            }
        }
    }
}

/// Looks for rows by all columns of a key, one by one in that order; `n` counts the keys from 0.
pub fn find<K: Columns>(table: &str, key: &str, columns: &str, keys: &[K]) -> Script {
    let mut statement = Script::default();
    statement.with(
        &format!("n, {key}"),
        (0..).zip(keys),
        format_args!("select {columns}, n from k cross join {table} using ({key})"),
    );
    statement
}

/// What an append is decided on.
pub fn read_heads(
    sessions: &[(i64, (&SessionKey, Option<&str>))],
    shared: &[&[(i64, ScopeRef<'_>)]; 2],
    erased: &[(i64, &AppName)],
) -> Script {
    let shared = Scope::SHARED.map(StateTables::of).into_iter().zip(shared);
    let mut statement = Script::default();
    statement.list("with ks", "n, app_name, user_id, session_id, id", sessions.iter());
    for (StateTables { heads, owner, .. }, scopes) in shared.clone() {
        statement.list(&format!(", of_{heads}"), &format!("n, {owner}"), scopes.iter());
    }
    statement.list(", ke", "n, app_name", erased.iter());
    statement.push(
        " select 0 as kind, k.n, s.revision, s.incarnation, s.metadata_revision, s.update_time, s.expire_time, \
            s.lease_epoch, case when s.lease_all then s.lease_owner end as lease_owner, s.lease_expire, null as lease_now, \
            s.base_revision + (select p.events_per_session from policies p where p.app_name = s.app_name) as most_revision, \
            e.sequence, e.event_time, e.commit_time, e.digest, \
            case when e.sequence > s.base_revision then e.body end as body \
          from ks as k cross join sessions s on s.app_name = k.app_name and s.user_id = k.user_id and s.id = k.session_id \
          left join events e on e.incarnation = s.incarnation and e.id = k.id and e.app_name = k.app_name \
            and e.user_id = k.user_id and e.session_id = k.session_id",
    );
    const NULLS: &str = "null, null, null, null, null, null, null, null, null, null, null, null, null, null";
    for (StateTables { heads, owner, .. }, _) in shared {
        statement.push(format_args!(
            " union all select 1, n, revision, {NULLS} from of_{heads} cross join {heads} using ({owner})"
        ));
    }
    statement.push(format_args!(
        " union all select 2, n, revision, {NULLS} from ke cross join erased_revisions using (app_name)"
    ));
    statement
}

impl Columns for SessionInsert<'_> {
    fn add_to(&self, values: &mut Values) {
        let creation = self.creation;
        let update_time = self.update_time.clone().unwrap_or_else(|| creation.now.into());
        (&creation.key, creation.incarnation, self.revision, update_time.micros.0).add_to(values);
        values.add(update_time.number.text().to_owned());
        values.add(creation.display_name.as_ref().map(RawJson::text));
        values.add(creation.labels.as_ref().map(RawJson::text));
        values.add(creation.expire_time().map(|time| time.0));
        values.add(self.initial_state.as_str());
        let request = creation.request.as_ref();
        values.add(request.map(|request| request.key.as_str()));
        values.add(request.map(|request| &request.digest[..]));
        values.add(creation.now.0);
    }
}

/// Inserts rows of sessions of which neither the id nor the request is there, and their places in the list by last update;
/// returns the incarnations of those.
pub fn insert_sessions(rows: &[SessionInsert<'_>]) -> Script {
    let mut statements = Script::default();
    let columns = &**SESSION_COLUMNS;
    statements.with(
        &format!("{columns}, now"),
        rows.iter(),
        format_args!(
            "insert into sessions ({columns}, create_time, commit_time, active_day, created_user_revision, created_app_revision) \
             select {columns}, now, now, now / {DAY_MICROS}, coalesce((select u.revision from user_scopes u where u.app_name = k.app_name \
                 and u.user_id = k.user_id), 0), \
               coalesce((select a.revision from app_scopes a where a.app_name = k.app_name), 0) \
             from k where true on conflict do nothing returning incarnation"
        ),
    );
    statements.with(
        "app_name, user_id, id, incarnation",
        rows.iter().map(|row| (&row.creation.key, row.creation.incarnation)),
        // One that an earlier try of ours inserted is there already.
        format_args!(
            "insert or ignore into session_updates (app_name, user_id, id, place) \
             select app_name, user_id, id, update_time \
             from k cross join sessions using (app_name, user_id, id, incarnation)"
        ),
    );
    statements
}

/// An event, with the heads that it was decided on, and the time now.
impl Columns for (&EventWrite<'_>, &Writes<'_>, Option<Micros>) {
    fn add_to(&self, values: &mut Values) {
        let (event, writes, now) = self;
        let update = writes.sessions.get(event.key);
        let was = update.and_then(|update| update.was.as_ref());
        let [user, app] = event.key.scopes().map(|scope| writes.scopes.get(&scope).map(|update| update.was));
        let (user, app) = (user.unwrap_or(event.user_revision), app.unwrap_or(event.app_revision));
        (*event, was.map(|was| was.revision), was.map(|was| was.metadata_revision), user, app).add_to(values);
        values.add(update.and_then(|update| update.lease));
        values.add(update.is_some_and(|update| update.side));
        values.add(now.unwrap_or(event.commit_time).0);
    }
}

/// Returns of each event what it notes, unless it is of a session that this transaction made.
pub fn insert_events(statements: &mut Script, rows: &[EventWrite<'_>], writes: &Writes<'_>, now: Option<Micros>) {
    // Of a session that this transaction made, or just of changes of shared state.
    if writes.sessions.is_empty() {
        return statements.insert("events", &EVENT_COLUMNS, rows.iter(), "");
    }
    statements.with(
        &format!("{}, was, metadata_was, user_was, app_was, lease, side, now", *EVENT_COLUMNS),
        rows.iter().map(|row| (row, writes, now)),
        &*INSERT_IF_UNCHANGED,
    );
}

/// If a head has changed since the decision, a column that must not be null becomes null, and the statement fails.
static INSERT_IF_UNCHANGED: LazyLock<String> = LazyLock::new(|| {
    const UNCHANGED: &str = "case when s.incarnation = k.incarnation and s.revision = k.was \
           and s.metadata_revision = k.metadata_was and (k.lease is null or s.lease_epoch = k.lease) \
           and (not k.side or not s.lease_all or s.lease_expire <= k.now) \
           and (p.events_per_session is null or k.sequence <= s.base_revision + p.events_per_session) \
         then k.incarnation end";
    let value = |column: &str| match column {
        "incarnation" => UNCHANGED.to_owned(),
        "commit_time" => "case when k.now < s.commit_time then s.commit_time else k.now end".to_owned(),
        "user_revision" => "case when k.user_was = coalesce(u.revision, 0) then k.user_revision end".to_owned(),
        "app_revision" => "case when k.app_was = coalesce(a.revision, 0) then k.app_revision end".to_owned(),
        column => format!("k.{column}"),
    };
    let values: Vec<String> = EVENT_COLUMNS.split(", ").map(value).collect();
    format!(
        "insert or fail into events ({}) select {} from k \
         left join sessions s on s.app_name = k.app_name and s.user_id = k.user_id and s.id = k.session_id \
         left join user_scopes u on u.app_name = k.app_name and u.user_id = k.user_id \
         left join app_scopes a on a.app_name = k.app_name left join policies p on p.app_name = k.app_name \
         returning incarnation, user_revision, app_revision, commit_time",
        *EVENT_COLUMNS,
        values.join(", ")
    )
});

pub fn update_sessions(statements: &mut Script, rows: &[(&&SessionKey, &SessionUpdate<'_>)], now: Option<Micros>) {
    if rows.is_empty() {
        return;
    }
    let moves = || rows.iter().filter_map(|(key, update)| Some((key, update.move_in_list()?)));
    if moves().next().is_some() {
        // From where the row of the session says that it is.
        statements.with(
            "app_name, user_id, id, rough, place",
            moves(),
            format_args!(
                "update or fail session_updates as o set rough = k.rough, place = k.place \
                 from k cross join sessions s using (app_name, user_id, id) where o.app_name = k.app_name \
                   and o.user_id = k.user_id and o.rough = s.rough and o.place = {LISTED_PLACE} and o.id = k.id"
            ),
        );
    }
    statements.with(
        "app_name, user_id, id, revision, update_time, update_time_number, rough, extended_from, now, active_day",
        rows.iter().map(|(key, update)| {
            let now = now.unwrap_or(update.now).0;
            let extended_from = update.lease.map(|_| now);
            let day = now.div_euclid(DAY_MICROS);
            let (time, number) = (update.update_time.micros.0, update.update_time.number.text());
            let rough = update.move_in_list().map(|(rough, _)| rough);
            (key, update.revision, time, number, (rough, extended_from, now, day))
        }),
        "update or fail sessions as s set revision = k.revision, update_time = k.update_time, update_time_number = k.update_time_number, \
           active_day = k.active_day, rough = coalesce(k.rough, s.rough), \
           commit_time = case when k.now < s.commit_time then s.commit_time else k.now end, \
           lease_expire = case when s.lease_expire < k.extended_from + s.lease_ttl then k.extended_from + s.lease_ttl \
                          else s.lease_expire end \
         from k where s.app_name = k.app_name and s.user_id = k.user_id and s.id = k.id",
    );
}

/// Tells the change feed.
pub fn record(statements: &mut Script, changes: &[ChangeRow<'_>]) {
    let columns = "kind, app_name, user_id, session_id, incarnation, first_revision, last_revision, detail";
    if !changes.is_empty() {
        statements.insert("changes", columns, changes.iter(), "");
    }
}

/// A shared scope and its revision. The state of a user that is not there begins where the first revision does.
impl Columns for (&ScopeRef<'_>, &ScopeUpdate) {
    fn add_to(&self, values: &mut Values) {
        let (scope, update) = self;
        (scope, update.revision).add_to(values);
        if let ScopeRef::User(_) = scope {
            let began = update.first - 1;
            (began, began, began).add_to(values);
        }
    }
}

pub fn set_revisions(statements: &mut Script, scope: Scope, rows: &[(&ScopeRef<'_>, &ScopeUpdate)]) {
    if rows.is_empty() {
        return;
    }
    let StateTables { owner, heads, .. } = StateTables::of(scope);
    let began = if scope == Scope::User { ", floor, emptied, began" } else { "" };
    let replace = format_args!(" on conflict ({owner}) do update set revision = excluded.revision");
    statements.insert(heads, &format!("{owner}, revision{began}"), rows.iter(), replace);
}

/// Files a span that ends with `first` for each value that is replaced, logs changes of shared state, and then sets the
/// values, or removes the rows that have none.
pub fn write_state<K: Columns>(
    statements: &mut Script,
    tables: &StateTables,
    rows: &[(&K, &StateWrite<'_>)],
    removed: bool,
) {
    if rows.is_empty() {
        return;
    }
    let StateTables { owner, state, spans, log, .. } = tables;
    let more = if log.is_some() { "" } else { ", removed, value" };
    statements.with(
        &format!("{owner}, key, first, removed"),
        rows.iter().map(|(key, row)| (key, row.first, i64::from(row.first_removes))),
        format_args!(
            "insert or fail into {spans} ({owner}, key, node, valid_from, valid_to{more}) \
             select {owner}, key, {}, revision, first{more} from k cross join {state} using ({owner}, key)",
            *NODE
        ),
    );
    let written = rows.iter().map(|(key, row)| (key, row.revision, text(row.value.as_ref())));
    if let Some(log) = log {
        let by = rows.iter().map(|(_, row)| row.by);
        statements.insert(log, &format!("{owner}, {LOGGED}"), written.clone().zip(by), "");
    }
    if removed {
        statements.with(
            &format!("{owner}, key"),
            rows.iter().map(|(key, _)| key),
            format_args!("delete from {state} where ({owner}, key) in k"),
        );
    } else {
        let replace = format_args!(
            " on conflict ({owner}, key) do update set value = excluded.value, revision = excluded.revision"
        );
        statements.insert(state, &format!("{owner}, key, revision, value"), written, replace);
    }
}

/// Values that were replaced within their own batch: a span for each that was not a removal, and the log.
pub fn write_passed<K: Columns>(statements: &mut Script, tables: &StateTables, rows: &[&Passed<'_, K>], removed: bool) {
    let StateTables { owner, spans, log, .. } = tables;
    let names = format!("{owner}, key, node, valid_from, valid_to");
    let held = rows.iter().map(|row| (&row.key, history::node(row.from, row.to), row.from, row.to));
    let values = rows.iter().map(|row| text(row.value.as_ref()));
    match log {
        None => {
            let rest = rows.iter().map(|row| i64::from(row.removed)).zip(values);
            statements.insert(spans, &format!("{names}, removed, value"), held.zip(rest), "");
        }
        Some(log) => {
            let written = rows.iter().map(|row| (&row.key, row.from)).zip(values).zip(rows.iter().map(|row| row.by));
            statements.insert(log, &format!("{owner}, {LOGGED}"), written, "");
            if !removed {
                statements.insert(spans, &names, held, "");
            }
        }
    }
}

/// The columns of a log that a write fills, beside those of the owner.
const LOGGED: &str = "key, revision, value, incarnation, sequence";

impl Columns for Option<EventRef> {
    fn add_to(&self, values: &mut Values) {
        (self.map(|event| event.incarnation), self.map(|event| event.sequence)).add_to(values);
    }
}

fn text<'a>(value: Option<&'a Cow<'_, RawJson>>) -> Option<&'a str> {
    value.map(|value| value.text())
}

pub type StateRows<'w, 'a, K> = Vec<(&'w K, &'w StateWrite<'a>)>;

/// What a batch changes in the state of one scope.
pub struct StateParts<'w, 'a, K> {
    pub tables: &'static StateTables,
    pub set: StateRows<'w, 'a, K>,
    pub removed: StateRows<'w, 'a, K>,
    pub passed: Vec<&'w Passed<'a, K>>,
}

impl<'w, 'a, K> StateParts<'w, 'a, K> {
    pub fn of(scope: Scope, writes: &'w StateWrites<'a, K>, has: impl Fn(&K) -> bool) -> Self {
        let rows = writes.rows.iter().filter(|(key, _)| has(key));
        let (set, removed) = rows.partition(|(_, row)| row.value.is_some());
        let passed = writes.passed.iter().filter(|passed| has(&passed.key)).collect();
        Self { tables: StateTables::of(scope), set, removed, passed }
    }

    /// How many rows a list has at most that is rarely there.
    pub fn rest(&self) -> usize {
        self.removed.len().max(self.passed.len())
    }
}

/// The statements that are put together here, each over one row, with their names.
#[cfg(test)]
pub fn composed() -> Vec<(String, String)> {
    use crate::domain::lease::LeaseHead;
    use crate::domain::loaded::SessionHead;
    use crate::domain::shown::Shown;
    use crate::domain::time::Timestamp;
    use crate::store::tests::creation;
    fn passed<K>(key: K) -> Passed<'static, K> {
        Passed { key, from: 1, to: 2, removed: false, value: None, by: None }
    }
    let key = creation(Shown::Full).key;
    let time = Timestamp::from(Micros(0));
    let [user, app] = key.scopes();
    let was = SessionHead {
        incarnation: 1,
        revision: 0,
        metadata_revision: 0,
        update_time: Micros(i64::MAX),
        rough: false,
        expire_time: None,
        most_revision: None,
        lease: LeaseHead::default(),
    };
    let session = || SessionUpdate {
        revision: 1,
        update_time: &time,
        rough: false,
        was: Some(was.clone()),
        lease: None,
        side: true,
        now: Micros(0),
    };
    let state = StateWrite { value: None, by: None, first: 1, first_removes: true, revision: 1 };
    let scope = ScopeUpdate { was: 0, first: 1, revision: 1 };
    let [own, of_user, of_app] = [Scope::Session, Scope::User, Scope::App].map(StateTables::of);
    let owner = |tables: &StateTables| format!("{}, key", tables.owner);
    let (in_session, in_user, in_app) = ((&key, 1, "k"), (user, "k"), (app, "k"));
    let mut all = vec![
        ("expired".to_owned(), EXPIRED.to_owned()),
        ("next_buried".to_owned(), NEXT_BURIED.to_owned()),
        (
            "read_heads".to_owned(),
            read_heads(&[(1, (&key, Some("e")))], &[&[(1, user)], &[(1, app)]], &[(1, key.app())]).text(),
        ),
        ("find_sessions".to_owned(), find("sessions", "app_name, user_id, id", "revision", &[&key]).text()),
        ("find_session_state".to_owned(), find("session_state", &owner(own), "value", &[in_session]).text()),
        ("find_user_state".to_owned(), find("user_state", &owner(of_user), "value", &[in_user]).text()),
        ("find_app_state".to_owned(), find("app_state", &owner(of_app), "value", &[in_app]).text()),
        ("insert_sessions".to_owned(), insert_sessions(&[]).text()),
    ];
    let mut add = |name: &str, add: &dyn Fn(&mut Script)| {
        let mut script = Script::default();
        add(&mut script);
        all.push((name.to_owned(), script.text()));
    };
    let heads = Writes { sessions: [(&key, session())].into(), ..Writes::default() };
    add("insert_events", &|script| insert_events(script, &[], &Writes::default(), None));
    add("insert_events_if_unchanged", &|script| insert_events(script, &[], &heads, None));
    add("update_sessions", &|script| update_sessions(script, &[(&&key, &session())], None));
    add("set_user_revisions", &|script| set_revisions(script, Scope::User, &[(&user, &scope)]));
    add("set_app_revisions", &|script| set_revisions(script, Scope::App, &[(&app, &scope)]));
    for (change, removed) in [("set", false), ("remove", true)] {
        let name = |what: &str| format!("{change}_{what}");
        add(&name("session_state"), &|script| write_state(script, own, &[(&in_session, &state)], removed));
        add(&name("user_state"), &|script| write_state(script, of_user, &[(&in_user, &state)], removed));
        add(&name("app_state"), &|script| write_state(script, of_app, &[(&in_app, &state)], removed));
    }
    add("passed_session_state", &|script| write_passed(script, own, &[&passed(in_session)], false));
    add("passed_user_state", &|script| write_passed(script, of_user, &[&passed(in_user)], false));
    add("passed_app_state", &|script| write_passed(script, of_app, &[&passed(in_app)], false));
    all
}
