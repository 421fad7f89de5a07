//! The functions that append on PostgreSQL leave the same rows, whichever body is called: the one of the migration, the one for Citus,
//! and, where it can be asked, the one for a single event.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::support::postgres;
use crate::support::random::Random;

const CITUS: &str = include_str!("../../../migrations/citus/sessiond_write.sql");
const ROUNDS: u64 = 400;
/// Later than any time that a clock gives.
const FUTURE: i64 = 5_000_000_000_000_000;

/// Eight sessions of three users: under a lease that excludes others, under one that does not, expired, committed in the future, and
/// with ten
/// events left of the thousand that a session may have, and plain ones. Users begin above what an erased one had.
const SETUP: &str = "
    insert into sessions (app_name, user_id, id, incarnation, revision, create_time, update_time, update_time_number, active_day,
        initial_state, created_user_revision, created_app_revision)
    select 'a', 'u' || n % 3, 's' || n, 100 + n, 0, n, n, n::text, 0, '{}', 0, 0 from generate_series(0, 7) as n;
    insert into session_updates (app_name, user_id, id, place) select app_name, user_id, id, update_time from sessions;
    update sessions set lease_epoch = 3, lease_owner = 'o', lease_ttl = 1000, lease_expire = 5000000000000000, lease_all = true
        where id = 's1';
    update sessions set lease_epoch = 2, lease_owner = 'o', lease_ttl = 1000000, lease_expire = 1 where id = 's2';
    update sessions set expire_time = 1 where id = 's3';
    update sessions set commit_time = 5000000000000000 where id = 's4';
    insert into policies (app_name, revision, policy, events_per_session) values ('a', 1, '{}', 1000);
    update sessions set base_revision = -990 where id = 's5';
    insert into erased_revisions (app_name, revision) values ('a', 5);";

/// All rows, without what a clock or a sequence gives.
const ROWS: &str = "
    select string_agg(line, E'\\n' order by line) from (
        select 'sessions ' || (to_jsonb(t) - '{commit_time, active_day, lease_expire}'::text[])::text
            || (commit_time >= 5000000000000000) || (active_day > 0) || coalesce(lease_expire > 1, false) from sessions t
        union all select 'events ' || (to_jsonb(t) - 'commit_time')::text || (commit_time >= 5000000000000000) || (commit_time > 1) from events t
        union all select 'changes ' || (to_jsonb(t) - '{id, tx, time}'::text[])::text || (tx = pg_current_xact_id()) || (time > 1) from changes t
        union all select 'user_log ' || (to_jsonb(t) - 'time')::text || (time > 1) from user_log t
        union all select 'app_log ' || (to_jsonb(t) - 'time')::text || (time > 1) from app_log t
        union all select 'session_updates ' || to_jsonb(t)::text from session_updates t
        union all select 'session_state ' || to_jsonb(t)::text from session_state t
        union all select 'session_spans ' || to_jsonb(t)::text from session_spans t
        union all select 'user_scopes ' || to_jsonb(t)::text from user_scopes t
        union all select 'user_state ' || to_jsonb(t)::text from user_state t
        union all select 'user_spans ' || to_jsonb(t)::text from user_spans t
        union all select 'app_scopes ' || to_jsonb(t)::text from app_scopes t
        union all select 'app_state ' || to_jsonb(t)::text from app_state t
        union all select 'app_spans ' || to_jsonb(t)::text from app_spans t) as all_rows(line)";

fn one_in(random: &mut Random, n: u64) -> bool {
    random.below(n) == 0
}

/// What goes wrong with a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    StaleSession,
    StaleMetadata,
    StaleUser,
    StaleApp,
    OtherIncarnation,
    TakenId,
    FirstRevision,
    Lease,
    LockedSession,
    LockedUser,
    LockedApp,
}

const FAULTS: [Fault; 11] = [
    Fault::StaleSession,
    Fault::StaleMetadata,
    Fault::StaleUser,
    Fault::StaleApp,
    Fault::OtherIncarnation,
    Fault::TakenId,
    Fault::FirstRevision,
    Fault::Lease,
    Fault::LockedSession,
    Fault::LockedUser,
    Fault::LockedApp,
];

/// A session as the database has it, and after the batch.
#[derive(Clone)]
struct Head {
    user_id: String,
    id: String,
    incarnation: i64,
    revision: i64,
    update_time: i64,
    rough: bool,
    lease_epoch: i64,
}

/// The event that wrote a value: the incarnation of its session, and its sequence.
type By = (i64, i64);

/// A value that did not outlast its batch: whose and under which key, the revisions from which and up to which it held, and who wrote it.
type Passed<K> = ((K, String), Option<String>, i64, i64, Option<By>);

/// A column of an owner: its type, and its value.
type Column<'c, K> = (&'c str, &'c dyn Fn(&K) -> String);

/// A value, the first and the last revision, and who wrote it.
type Row = (Option<String>, i64, i64, Option<By>);

/// State rows by owner and key, and the values that did not outlast the batch.
struct State<K> {
    rows: BTreeMap<(K, String), Row>,
    passed: Vec<Passed<K>>,
}

impl<K: Ord + Clone> State<K> {
    fn new() -> Self {
        Self { rows: BTreeMap::new(), passed: Vec::new() }
    }

    fn write(&mut self, random: &mut Random, owner: &K, revision: i64, by: Option<By>) {
        let key = (owner.clone(), format!("k{}", random.below(4)));
        let value = (!one_in(random, 4)).then(|| format!("\"{}\"", random.below(1_000_000)));
        let before = self.rows.remove(&key);
        let first = before.as_ref().map_or(revision, |(_, first, ..)| *first);
        match before {
            Some((value, _, from, by)) if from < revision => self.passed.push((key.clone(), value, from, revision, by)),
            _ => {}
        }
        self.rows.insert(key, (value, first, revision, by));
    }

    /// The arrays of keys and of what follows them: value, first, revision, until.
    fn arrays(&self, owner: &[Column<'_, K>]) -> Vec<String> {
        let keys = || self.rows.keys().chain(self.passed.iter().map(|(key, ..)| key));
        let mut arrays: Vec<String> =
            owner.iter().map(|(kind, part)| array(kind, keys().map(|(owner, _)| Some(part(owner))))).collect();
        arrays.push(array("text", keys().map(|(_, key)| Some(key))));
        let values = self.rows.values().map(|(value, ..)| value).chain(self.passed.iter().map(|(_, value, ..)| value));
        arrays.push(array("text", values.map(Option::as_ref)));
        let firsts = self.rows.values().map(|(_, first, ..)| first).chain(self.passed.iter().map(|(.., to, _)| to));
        arrays.push(array("bigint", firsts.map(Some)));
        let revisions =
            self.rows.values().map(|(.., last, _)| last).chain(self.passed.iter().map(|(_, _, from, ..)| from));
        arrays.push(array("bigint", revisions.map(Some)));
        let untils = self.rows.values().map(|_| None).chain(self.passed.iter().map(|(.., to, _)| Some(to)));
        arrays.push(if self.passed.is_empty() { "null".into() } else { array("bigint", untils) });
        arrays
    }

    /// As [`State::arrays`], and after them whether removals ended what ends.
    fn marked(&self, owner: &[Column<'_, K>]) -> Vec<String> {
        let is_removed = |key: &(K, String), at: i64| {
            let row = self.rows.get(key).filter(|(.., last, _)| *last == at).map(|(value, ..)| value);
            let passed = self.passed.iter().find(|(other, _, from, ..)| other == key && *from == at);
            row.or(passed.map(|(_, value, ..)| value)).is_some_and(Option::is_none)
        };
        let rows = self.rows.iter().map(|(key, (_, first, ..))| is_removed(key, *first));
        let removed = rows.chain(self.passed.iter().map(|(key, _, _, to, _)| is_removed(key, *to)));
        let mut arrays = self.arrays(owner);
        arrays.push(array("boolean", removed.map(Some)));
        arrays
    }

    /// As [`State::arrays`], and after them who wrote the values.
    fn logged(&self, owner: &[Column<'_, K>]) -> Vec<String> {
        let by = || self.rows.values().map(|(.., by)| by).chain(self.passed.iter().map(|(.., by)| by));
        let mut arrays = self.arrays(owner);
        arrays.push(array("bigint", by().map(|by| by.map(|(incarnation, _)| incarnation))));
        arrays.push(array("bigint", by().map(|by| by.map(|(_, sequence)| sequence))));
        arrays
    }

    /// The arrays of keys and values alone.
    fn changes(&self) -> [String; 2] {
        [
            array("text", self.rows.keys().map(|(_, key)| Some(key))),
            array("text", self.rows.values().map(|(value, ..)| value.as_ref())),
        ]
    }
}

fn literal(value: Option<impl Display>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| format!("'{value}'"))
}

fn array(kind: &str, values: impl IntoIterator<Item = Option<impl Display>>) -> String {
    format!("array[{}]::{kind}[]", values.into_iter().map(literal).collect::<Vec<_>>().join(", "))
}

/// A revision before the batch, the first that it makes, and the last.
type Scope = (i64, i64, i64);

fn next(scope: &mut Option<Scope>, was: i64, first: i64) -> i64 {
    let (.., last) = scope.get_or_insert((was, first, first - 1));
    *last += 1;
    *last
}

/// The place of a session in the list by last update, and whether it is rough, if it moves.
fn moved(was: &Head, now: &Head) -> Option<(bool, i64)> {
    let place = |head: &Head| (head.rough, if head.rough { head.update_time / 10_000_000 } else { head.update_time });
    (place(was) != place(now)).then_some(place(now))
}

/// The arguments of a random batch, and those of the function for one event if it is one.
async fn batch(
    conn: &mut PgConnection,
    random: &mut Random,
    round: u64,
    fault: Option<Fault>,
) -> (String, Option<String>) {
    let heads: Vec<(String, String, i64, i64, i64, bool, i64)> = sqlx::query_as(
        "select user_id, id, incarnation, revision, update_time, rough, lease_epoch from sessions where id like 's%' order by user_id, id",
    )
    .fetch_all(&mut *conn)
    .await
    .unwrap();
    let head = |(user_id, id, incarnation, revision, update_time, rough, lease_epoch)| Head {
        user_id,
        id,
        incarnation,
        revision,
        update_time,
        rough,
        lease_epoch,
    };
    let heads: Vec<Head> = heads.into_iter().map(head).collect();
    let users: Vec<(String, i64)> =
        sqlx::query_as("select user_id, revision from user_scopes").fetch_all(&mut *conn).await.unwrap();
    let users: HashMap<String, i64> = users.into_iter().collect();
    let app: Option<i64> =
        sqlx::query_scalar("select revision from app_scopes").fetch_optional(&mut *conn).await.unwrap();
    let app = app.unwrap_or(0);
    let taken: HashMap<i64, String> = sqlx::query_as("select incarnation, min(id) from events group by incarnation")
        .fetch_all(&mut *conn)
        .await
        .unwrap()
        .into_iter()
        .collect();

    let is_one = one_in(random, 3);
    let size = if is_one { 1 } else { 1 + random.below(7) };
    // A session that the transaction has made is in no list of heads.
    let is_made = fault.is_none() && one_in(random, 10);
    let made = Head {
        user_id: "u1".into(),
        id: format!("made{round}"),
        incarnation: 1000 + round as i64,
        revision: 0,
        update_time: FUTURE,
        rough: false,
        lease_epoch: 0,
    };
    if is_made {
        let insert = format!(
            "insert into sessions (app_name, user_id, id, incarnation, revision, create_time, commit_time, update_time, update_time_number, \
             active_day, initial_state, created_user_revision, created_app_revision) \
             values ('a', 'u1', '{}', {}, {size}, 1, {}, 1, '1', 1, '{{}}', 0, 0)",
            made.id,
            made.incarnation,
            if one_in(random, 2) { FUTURE } else { 7 }
        );
        sqlx::raw_sql(AssertSqlSafe(insert)).execute(&mut *conn).await.unwrap();
    }

    let mut after: BTreeMap<(String, String), (Head, Head)> = BTreeMap::new();
    let mut events: Vec<(Head, String)> = Vec::new();
    let (mut of_users, mut of_app): (BTreeMap<String, Option<Scope>>, Option<Scope>) = Default::default();
    let (mut session_state, mut user_state, mut app_state) = (State::new(), State::new(), State::new());
    for n in 0..size {
        // Expired, and under somebody else's lease: now and then.
        let usable: Vec<&Head> = heads.iter().filter(|head| !matches!(&*head.id, "s1" | "s3")).collect();
        let head = match random.below(30) {
            _ if is_made => &made,
            0 => &heads[random.below(heads.len() as u64) as usize],
            _ => usable[random.below(usable.len() as u64) as usize],
        };
        let (was, now) =
            after.entry((head.user_id.clone(), head.id.clone())).or_insert_with(|| (head.clone(), head.clone()));
        now.revision += 1;
        now.update_time = match random.below(3) {
            0 => was.update_time + random.below(10) as i64,
            1 => was.update_time - random.below(20_000_000) as i64,
            _ => FUTURE + (round * 1_000_000 + n) as i64,
        };
        now.rough = one_in(random, 2);
        let owner = (now.user_id.clone(), now.id.clone(), now.incarnation);
        let by = Some((now.incarnation, now.revision));
        for _ in 0..random.below(3) {
            session_state.write(random, &owner, now.revision, None);
        }
        if one_in(random, 3) {
            let was = users.get(&now.user_id).copied().unwrap_or(0);
            let mut first = if was == 0 { 6 } else { was + 1 };
            first += i64::from(fault == Some(Fault::FirstRevision) && was == 0);
            let revision = next(of_users.entry(now.user_id.clone()).or_default(), was, first);
            user_state.write(random, &now.user_id, revision, by);
        }
        if one_in(random, 6) {
            let revision = next(&mut of_app, app, app + 1);
            app_state.write(random, &(), revision, by);
        }
        let is_taken = fault == Some(Fault::TakenId) && n == size - 1;
        let id = taken.get(&now.incarnation).filter(|_| is_taken);
        events.push((now.clone(), id.cloned().unwrap_or_else(|| format!("e{round}.{n}"))));
    }
    // Compared, and not changed.
    for (user, revision) in &users {
        if *revision > 0 && one_in(random, 8) && (!is_one || *user == events[0].0.user_id) {
            of_users.entry(user.clone()).or_default().get_or_insert((*revision, revision + 1, *revision));
        }
    }
    if app > 0 && one_in(random, 4) {
        of_app.get_or_insert((app, app + 1, app));
    }
    if fault == Some(Fault::StaleUser) {
        of_users.values_mut().flatten().take(1).for_each(|scope| scope.0 += 100);
    }
    if fault == Some(Fault::StaleApp) {
        of_app.iter_mut().for_each(|scope| scope.0 += 100);
    }
    let off = |wrong: Fault, by: i64| if fault == Some(wrong) { by } else { 0 };
    let heads: Vec<&(Head, Head)> = if is_made { Vec::new() } else { after.values().collect() };
    let leases: Vec<Option<i64>> = heads
        .iter()
        .map(|(was, _)| (was.lease_epoch > 0 && !one_in(random, 3)).then_some(was.lease_epoch + off(Fault::Lease, 1)))
        .collect();
    let is_leased = leases.iter().any(Option::is_some);
    let sides: Vec<bool> = leases.iter().map(|lease| lease.is_none() || one_in(random, 4)).collect();
    let is_noted = |scope: Option<&Scope>| scope.map(|(.., last)| *last);
    let user_revisions: Vec<Option<i64>> =
        events.iter().map(|(head, _)| is_noted(of_users.get(&head.user_id).and_then(Option::as_ref))).collect();
    let app_revision = is_noted(of_app.as_ref());
    let feeds = one_in(random, 2);

    let number = |of: &dyn Fn(&Head, &Head) -> i64| array("bigint", heads.iter().map(|(was, now)| Some(of(was, now))));
    let moved: Vec<Option<(bool, i64)>> = heads.iter().map(|(was, now)| moved(was, now)).collect();
    let is_moved = moved.iter().any(Option::is_some);
    let roughs = array("boolean", moved.iter().map(|to| to.map(|(rough, _)| rough)));
    let places = array("bigint", moved.iter().map(|to| to.map(|(_, place)| place)));
    let text = |of: &dyn Fn(&Head) -> String| array("text", heads.iter().map(|(_, now)| Some(of(now))));
    let event = |kind: &str, of: &dyn Fn(&Head, &str) -> String| {
        array(kind, events.iter().map(|(head, id)| Some(of(head, id))))
    };
    let scopes: Vec<(&String, &Scope)> =
        of_users.iter().filter_map(|(user, scope)| Some((user, scope.as_ref()?))).collect();
    let scope = |of: &dyn Fn(&Scope) -> i64| array("bigint", scopes.iter().map(|(_, scope)| Some(of(scope))));
    let mut arguments = vec![
        "'a'".to_owned(),
        text(&|now| now.user_id.clone()),
        text(&|now| now.id.clone()),
        number(&|was, _| was.incarnation + off(Fault::OtherIncarnation, 1)),
        number(&|was, _| was.revision + off(Fault::StaleSession, -1)),
        number(&|_, _| off(Fault::StaleMetadata, 1)),
        if is_moved { roughs } else { "null".into() },
        if is_moved { places } else { "null".into() },
        number(&|_, now| now.revision),
        number(&|_, now| now.update_time),
        text(&|now| now.update_time.to_string()),
        if is_leased { array("bigint", leases.iter().copied()) } else { "null".into() },
        if is_leased { array("boolean", sides.iter().map(Some)) } else { "null".into() },
        array("text", scopes.iter().map(|(user, _)| Some(user))),
        scope(&|(was, ..)| *was),
        scope(&|(_, first, _)| *first),
        scope(&|(.., last)| *last),
        literal(of_app.map(|(was, ..)| was)),
        literal(app_revision),
        event("text", &|head, _| head.user_id.clone()),
        event("text", &|head, _| head.id.clone()),
        event("bigint", &|head, _| head.incarnation.to_string()),
        event("bigint", &|head, _| head.revision.to_string()),
        event("text", &|_, id| id.to_owned()),
        event("bigint", &|head, _| head.update_time.to_string()),
        event("text", &|_, id| format!("author of {id}")),
        event("text", &|_, id| format!("invocation of {id}")),
        array("text", events.iter().map(|(_, id)| id.ends_with('1').then_some("branch"))),
        array("bigint", user_revisions.iter().copied()),
        array("bigint", events.iter().map(|_| app_revision)),
        array("bigint", events.iter().map(|(head, id)| id.ends_with('0').then_some(head.revision - 1))),
        event("bytea", &|_, _| "\\x0102".to_owned()),
        event("text", &|_, id| format!("body of {id}")),
    ];
    arguments.extend(session_state.marked(&[
        ("text", &|(user, ..): &(String, String, i64)| user.clone()),
        ("text", &|(_, session, _)| session.clone()),
        ("bigint", &|(.., incarnation)| incarnation.to_string()),
    ]));
    arguments.extend(user_state.logged(&[("text", &|user: &String| user.clone())]));
    arguments.extend(app_state.logged(&[]));
    arguments.push(feeds.to_string());

    let others = scopes.iter().any(|(user, _)| **user != events[0].0.user_id);
    let one = (events.len() == 1 && heads.len() == 1 && !others).then(|| {
        let ((was, now), (_, id), user) = (heads[0], &events[0], scopes.first().map(|(_, scope)| **scope));
        let mut arguments = vec![
            literal(Some("a")),
            literal(Some(&now.user_id)),
            literal(Some(&now.id)),
            literal(Some(was.incarnation + off(Fault::OtherIncarnation, 1))),
            literal(Some(was.revision + off(Fault::StaleSession, -1))),
            literal(Some(off(Fault::StaleMetadata, 1))),
            literal(moved[0].map(|(rough, _)| rough)),
            literal(moved[0].map(|(_, place)| place)),
            literal(Some(now.revision)),
            literal(Some(now.update_time)),
            literal(Some(now.update_time)),
            literal(leases[0]),
            literal(Some(sides[0])),
            literal(user.map(|(was, ..)| was)),
            literal(user.map(|(.., last)| last)),
            literal(of_app.map(|(was, ..)| was)),
            literal(app_revision),
            literal(Some(id)),
            literal(Some(now.update_time)),
            literal(Some(format!("author of {id}"))),
            literal(Some(format!("invocation of {id}"))),
            literal(id.ends_with('1').then_some("branch")),
            literal(user_revisions[0]),
            literal(app_revision),
            literal(id.ends_with('0').then_some(now.revision - 1)),
            literal(Some("\\x0102")),
            literal(Some(format!("body of {id}"))),
        ];
        arguments.extend(session_state.changes());
        arguments.extend(user_state.changes());
        arguments.extend(app_state.changes());
        arguments.push(feeds.to_string());
        arguments.join(", ")
    });
    (arguments.join(", "), one)
}

#[tokio::test]
async fn each_body_of_the_functions_that_append_leaves_the_same_rows() {
    // What was noted of events counts where they were written.
    const VERDICT: &str = "select verdict, case verdict when 'ok' then \
         (array[incarnations, user_revisions, app_revisions], (select array_agg(t >= 5000000000000000) from unnest(commit_times) t))::text \
         end from";
    const VERDICT_OF_ONE: &str = "select verdict, case verdict when 'ok' then \
         (array[array[incarnation], array[user_revision], array[app_revision]], array[commit_time >= 5000000000000000])::text end from";
    type Verdict = (String, Option<String>);
    let database = postgres::migrated().await;
    let mut conn = PgConnection::connect(&database.url).await.unwrap();
    let mut other = PgConnection::connect(&database.url).await.unwrap();
    let citus = CITUS.replace("create or replace function sessiond_write(", "create function write_on_citus(");
    assert_ne!(citus, CITUS);
    sqlx::raw_sql(AssertSqlSafe(citus)).execute(&mut conn).await.unwrap();
    sqlx::raw_sql(SETUP).execute(&mut conn).await.unwrap();

    let mut random = Random(15);
    let mut seen: BTreeMap<(String, bool), u32> = BTreeMap::new();
    for round in 0..ROUNDS {
        let fault = one_in(&mut random, 3).then(|| FAULTS[random.below(FAULTS.len() as u64) as usize]);
        let lock = match fault {
            Some(Fault::LockedSession) => "select 1 from sessions for no key update",
            Some(Fault::LockedUser) => "select 1 from user_scopes for update",
            Some(Fault::LockedApp) => "select 1 from app_scopes for update",
            _ => "select 1",
        };
        sqlx::raw_sql(AssertSqlSafe(format!("begin; {lock}"))).execute(&mut other).await.unwrap();
        sqlx::raw_sql("begin").execute(&mut conn).await.unwrap();
        let (arguments, one) = batch(&mut conn, &mut random, round, fault).await;
        sqlx::raw_sql("savepoint before").execute(&mut conn).await.unwrap();
        let is_one = one.is_some();
        let mut calls =
            vec![format!("{VERDICT} write_on_citus({arguments})"), format!("{VERDICT} sessiond_write({arguments})")];
        calls.extend(one.map(|arguments| {
            let incarnation = arguments.split(", ").nth(3).unwrap();
            format!("{VERDICT_OF_ONE} sessiond_append({arguments}), (values ({incarnation}::bigint)) as i(incarnation)")
        }));
        let mut found: BTreeSet<(Verdict, String)> = BTreeSet::new();
        let is_listed = "select not exists (select from sessions s where id like 's%' and not exists (select from session_updates o \
            where o.user_id = s.user_id and o.id = s.id and o.rough = s.rough \
            and o.place = case when s.rough then s.update_time / 10000000 else s.update_time end))";
        for call in &calls {
            sqlx::raw_sql("rollback to before").execute(&mut conn).await.unwrap();
            let verdict: Verdict = sqlx::query_as(AssertSqlSafe(&**call)).fetch_one(&mut conn).await.unwrap();
            let rows: String = sqlx::query_scalar(ROWS).fetch_one(&mut conn).await.unwrap();
            found.insert((verdict, rows));
            assert!(sqlx::query_scalar::<_, bool>(is_listed).fetch_one(&mut conn).await.unwrap(), "{call}");
        }
        let shown: Vec<_> = found.iter().collect();
        let [(verdict, _)] = &shown[..] else { panic!("round {round}: {calls:#?}\n{shown:#?}") };
        *seen.entry((verdict.0.clone(), is_one)).or_default() += 1;
        sqlx::raw_sql("commit").execute(&mut conn).await.unwrap();
        sqlx::raw_sql("rollback").execute(&mut other).await.unwrap();
    }
    for verdict in ["ok", "conflict", "locked"] {
        for is_one in [false, true] {
            let times = seen.get(&(verdict.to_owned(), is_one)).copied().unwrap_or(0);
            assert!(times > 3, "{verdict}, {is_one}: {seen:?}");
        }
    }
}
