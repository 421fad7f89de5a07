//! PostgreSQL's generic plan of each statement in `docs/sql/postgres.sql` and of the functions that append: rows are
//! found by keys, within one app, and within one user where the table has users. So no statement can read another
//! tenant's rows, and a database that is distributed by app finds everything in one place.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::str::FromStr as _;

use serde_json::Value;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use crate::support::postgres;

const STATEMENTS: &str = include_str!("../../docs/sql/postgres.sql");
const MIGRATION: &str = include_str!("../../migrations/postgres/0001_sessions.sql");
const CITUS: &str = include_str!("../../migrations/citus/sessiond_write.sql");

/// Tables of no app. Of a distributed database they are on the coordinator.
const OF_NO_APP: [&str; 5] = ["api_keys", "token_secrets", "erasure_secrets", "changes", "ticks"];

/// Statements on these, and why.
const ON_TABLES_OF_NO_APP: [(&str, &str); 26] = [
    ("feed_tick", "ticks are of all apps"),
    ("feed_oldest", "ticks are of all apps"),
    ("feed_latest", "ticks are of all apps"),
    ("feed_window", "ticks are of all apps"),
    ("feed_window_back", "ticks are of all apps"),
    ("feed_changes", "the feed of all apps, or what is left of it of one"),
    ("feed_changes_of_user", "ticks are of all apps"),
    ("tick", "ticks are of all apps"),
    ("is_restored", "ticks are of all apps"),
    ("is_recorded", "ticks are of all apps"),
    ("new_epoch", "ticks are of all apps"),
    ("remove_future", "the feed is of all apps"),
    ("ticked", "ticks are of all apps"),
    ("prune_ticks", "ticks are of all apps"),
    ("prune_changes", "the sweep goes through all"),
    ("erasure_secret", "there is one for all"),
    ("insert_erasure_secret", "there is one for all"),
    ("any_api_key", "a key is of no app"),
    ("api_key", "a key is of no app: looked up by its id"),
    ("api_keys", "lists them: a key is of no app"),
    ("revoked_api_keys", "the ledger of revocations has them all"),
    ("lock_api_key", "a key is of no app: looked up by its id"),
    ("change_api_key", "a key is of no app: looked up by its id"),
    ("revoke_api_key", "a key is of no app: looked up by its id"),
    ("touch_api_key", "a key is of no app: looked up by its id"),
    ("token_secret", "there is one for all"),
];

/// Statements on tables of apps that are of all apps, and why. Of a distributed database they go to all shards.
const OF_ALL_APPS: [(&str, &str); 17] = [
    ("policies", "the sweep goes through all"),
    ("indexed_apps", "the sweep goes through all"),
    ("apps", "lists them"),
    ("expired", "the sweep goes through all"),
    ("next_buried", "the sweep goes through all"),
    ("next_trim", "the sweep goes through all"),
    ("dead_import", "the sweep goes through all"),
    ("to_scrub", "the sweep goes through all"),
    ("loose_blobs", "the sweep goes through all"),
    ("known_objects", "the objects of a store are of all apps"),
    ("user_forget_patches", "the sweep goes through all"),
    ("app_forget_patches", "the sweep goes through all"),
    ("erasure", "looked up by its id, of whatever app"),
    ("erasures", "lists them"),
    ("token_epochs", "the ledger of revocations has them all"),
    ("erasures_to_finish", "the sweep goes through all"),
    ("erasure_counts", "an import reads those of all apps at its beginning"),
];

/// Statements that are of all users of an app, and why.
const OF_ALL_USERS: [(&str, &str); 18] = [
    ("walk_artifacts", "the sweep goes through all artifacts of an app that has a policy"),
    ("walk", "the sweep goes through all sessions of an app that has a policy"),
    ("history_of_users", "the sweep goes through all users of an app that has a policy"),
    ("users", "lists them"),
    ("activity", "counts an app's sessions"),
    ("erasure_files", "an erasure names no user"),
    ("app_next_makers", "any of an app's users may have made a change of its state"),
    ("app_key_changes", "any of an app's users may have made a change of its state"),
    ("app_key_changes_backwards", "any of an app's users may have made a change of its state"),
    ("app_past", "any of an app's users may have made a change of its state"),
    ("list_of_app_by_update", "lists an app's sessions"),
    ("list_of_app_by_update_within", "lists the sessions of some of an app's users"),
    ("list_of_app_by_update_backwards", "lists an app's sessions"),
    ("list_of_app_by_update_labelled_with_state", "lists an app's sessions"),
    ("list_of_app_by_create", "lists an app's sessions"),
    ("list_of_app_by_create_within", "lists the sessions of some of an app's users"),
    ("list_of_app_by_create_backwards", "lists an app's sessions"),
    ("list_of_app_by_create_labelled_with_state", "lists an app's sessions"),
];

/// A statement with the types of its parameters, as far as they are known.
struct Statement {
    name: String,
    text: String,
    types: Vec<&'static str>,
}

fn statements() -> Vec<Statement> {
    let named = STATEMENTS.split("\n-- ").skip(2).filter_map(|part| part.split_once('\n'));
    let statement = |(name, text): (&str, &'static str)| Statement {
        name: name.to_owned(),
        text: text.trim().trim_end_matches(';').to_owned(),
        types: vec!["unknown"; highest_parameter(text)],
    };
    named.map(statement).collect()
}

/// The statements within a function. Its variables become parameters, the app `$1`.
fn statements_within(name: &str, file: &'static str) -> Vec<Statement> {
    let (_, function) = file.split_once(&format!("function {name}(")).unwrap();
    let (parameters, rest) = function.split_once("out verdict").unwrap();
    let (_, body) = rest.split_once("begin\n").unwrap();
    let (body, _) = body.split_once("$$").unwrap();
    let body: Vec<&str> = body.lines().filter(|line| !line.trim_start().starts_with("--")).flat_map(words).collect();
    let types = parameters.split(',').filter_map(|parameter| parameter.trim().split_once(' '));
    let types: HashMap<&str, &str> = types
        .chain(["present", "committed", "latest", "most"].map(|name| (name, "bigint")))
        .chain(["user_revisions", "app_revisions", "commit_times"].map(|name| (name, "bigint[]")))
        .chain([("h_at", "tid[]"), ("u_at", "tid[]"), ("a_at", "tid"), ("made_users", "text[]")])
        .collect();
    // Of one event.
    let types = match name {
        "sessiond_append" => {
            let found = [("s_revision", "bigint"), ("s_was", "text")];
            types.into_iter().chain(["h_at", "u_at", "s_at"].map(|name| (name, "tid"))).chain(found).collect()
        }
        _ => types,
    };

    let mut statements = Vec::new();
    let mut cases = 0;
    let parts = body.split(|word| {
        cases += i32::from(*word == "case") - i32::from(*word == "end" && cases > 0);
        cases == 0 && matches!(*word, ";" | "then" | "else" | "loop")
    });
    for part in parts {
        let begin = match part {
            ["for", "r", "in", rest @ ..] => rest,
            other => other,
        };
        if !matches!(begin.first(), Some(&("perform" | "select" | "insert" | "update" | "delete" | "with"))) {
            continue;
        }
        let mut variables = vec![("p_app", "text")];
        let mut text = Vec::new();
        let mut words = begin.iter();
        while let Some(word) = words.next() {
            // Into variables.
            if *word == "into" && begin.first() == Some(&"select") {
                while words.next().is_some() && words.as_slice().first() == Some(&",") {
                    words.next();
                }
                continue;
            }
            if *word == "returning" {
                break;
            }
            // An element of an array: of a row of the statement, or of the turn of a loop.
            let (variable, element) = match word.find('[') {
                Some(at) if name == "sessiond_append" => (&word[..at], "[1]"),
                Some(at) => word.split_at(at),
                None => (*word, ""),
            };
            let kind = types.get(variable).copied().or(word.starts_with("r.").then_some("unknown"));
            text.push(match kind {
                Some(kind) => {
                    let known = variables.iter().position(|(name, _)| *name == variable);
                    let at = known.unwrap_or_else(|| {
                        variables.push((variable, kind));
                        variables.len() - 1
                    });
                    format!("${}{element}", at + 1)
                }
                None if *word == "perform" => "select".to_owned(),
                None => (*word).to_owned(),
            });
        }
        statements.push(Statement {
            name: format!("{name}, statement {}", statements.len() + 1),
            text: text.join(" "),
            types: variables.into_iter().map(|(_, kind)| kind).collect(),
        });
    }
    statements
}

/// Names, numbers and signs.
fn words(line: &str) -> Vec<&str> {
    let is_name =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | ':' | '\'' | '"' | '[' | ']' | '<' | '>' | '=');
    let mut words = Vec::new();
    for part in line.split_whitespace() {
        for piece in part.split_inclusive(|c| !is_name(c)) {
            let name = piece.trim_end_matches(|c| !is_name(c));
            words.extend([name, &piece[name.len()..]].into_iter().filter(|word| !word.is_empty()));
        }
    }
    words
}

async fn plan(conn: &mut PgConnection, explain: String) -> Value {
    let row = sqlx::query(AssertSqlSafe(explain)).persistent(false).fetch_one(conn).await.unwrap();
    // Its type is json, whose form on the wire is the text.
    serde_json::from_str(row.try_get_unchecked(0).unwrap()).unwrap()
}

/// The faults of a plan's node and of those below it.
fn faults(name: &str, node: &Value, faults: &mut String) {
    if let Some(table) = node["Relation Name"].as_str() {
        let conditions: Vec<&str> =
            ["Index Cond", "Recheck Cond", "Filter"].iter().filter_map(|key| node[key].as_str()).collect();
        let kind = node["Node Type"].as_str().unwrap_or_default();
        // It has the table's name, but finds no rows: what is below it does.
        let is_target = kind == "ModifyTable";
        let has = |column: &str, what: &dyn Fn(&str) -> bool| {
            conditions
                .iter()
                .any(|condition| condition.match_indices(column).any(|(at, _)| what(&condition[at + column.len()..])))
        };
        let of_one_app = has("app_name = ", &|rest| rest.trim_start_matches('(').starts_with('$'));
        let of_one_user = !has_user(table) || has("user_id = ", &|_| true);
        let base = name.strip_prefix("distributed_").unwrap_or(name);
        let excused = |list: &[(&str, &str)]| list.iter().any(|(excused, _)| *excused == base);
        let of_all_apps = match OF_NO_APP.contains(&table) {
            true => excused(&ON_TABLES_OF_NO_APP),
            false => excused(&OF_ALL_APPS),
        };
        // Where a statement of the same function found it by its keys.
        let is_found = kind == "Tid Scan";
        if !is_target && !is_found {
            if !of_one_app && !of_all_apps {
                let _ = writeln!(faults, "{name}: {kind} of {table} is not of one app: {conditions:?}");
            }
            if !of_one_user && !of_all_apps && !excused(&OF_ALL_USERS) {
                let _ = writeln!(faults, "{name}: {kind} of {table} is not of one user: {conditions:?}");
            }
            if kind == "Seq Scan"
                && !["next_buried", "next_trim", "dead_import", "to_scrub", "erasure_counts"].contains(&base)
            {
                let _ = writeln!(faults, "{name}: {kind} of {table}");
            }
        }
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        self::faults(name, child, faults);
    }
}

fn has_user(table: &str) -> bool {
    // What remains after an erasure tells users by a hash.
    !table.starts_with("app_")
        && !["policies", "erasures", "erased_revisions", "blocked_users", "token_epochs", "erasure_counts", "scrubs"]
            .contains(&table)
}

/// The highest number of a parameter in a text.
fn highest_parameter(text: &str) -> usize {
    let numbers = text.split('$').skip(1);
    let number = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
    numbers.map(number).max().unwrap_or(0)
}

async fn prepare(conn: &mut PgConnection, text: &str, types: &[&str]) -> sqlx::Result<()> {
    let types = if types.is_empty() { String::new() } else { format!("({})", types.join(", ")) };
    sqlx::raw_sql(AssertSqlSafe(format!("prepare p{types} as {text}"))).execute(conn).await.map(drop)
}

#[tokio::test]
async fn every_statement_is_planned_within_one_app() {
    let database = postgres::database().await;
    let store = sessiond::store::open::database(&database.url, Default::default(), Default::default()).await.unwrap();
    store.migrate().await.unwrap();
    store.close().await;
    let settings = [("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off")];
    let options = PgConnectOptions::from_str(&database.url).unwrap().options(settings);
    let mut conn = PgConnection::connect_with(&options).await.unwrap();
    let mut found = String::new();
    let documented = statements();
    assert!(documented.len() >= 70, "{}", documented.len());
    let functions =
        [("sessiond_write", MIGRATION, 20), ("sessiond_append", MIGRATION, 19), ("sessiond_write", CITUS, 30)];
    let of_functions = functions.map(|(name, file, least)| {
        let within = statements_within(name, file);
        assert!(within.len() >= least, "{name}: {}", within.len());
        within
    });
    for Statement { name, text, mut types } in documented.into_iter().chain(of_functions.into_iter().flatten()) {
        let name = &*name;
        while let Err(error) = prepare(&mut conn, &text, &types).await {
            // What the service says when it binds: a number, or else a text.
            let message = error.to_string();
            match message.split_once("type of parameter ").map(|(_, rest)| highest_parameter(rest)) {
                Some(unknown) => types[unknown - 1] = "bigint",
                None if message.contains("is of type bigint but expression is of type text") => types[5] = "bigint",
                None => match types.iter().rposition(|kind| *kind == "bigint") {
                    Some(last) if message.contains("operator does not exist") => types[last] = "text",
                    _ => panic!("{name}: {message}: {text}"),
                },
            }
        }
        let nulls = vec!["null"; types.len()].join(", ");
        let arguments = if nulls.is_empty() { nulls } else { format!("({nulls})") };
        let plan = plan(&mut conn, format!("explain (format json) execute p{arguments}")).await;
        faults(name, &plan[0]["Plan"], &mut found);
        sqlx::raw_sql("deallocate p").execute(&mut conn).await.unwrap();
    }
    conn.close().await.unwrap();
    assert!(found.is_empty(), "\n{found}");
}

/// How many rows the scans of a table below a node of an analysed plan gave, and their conditions.
fn read_of(table: &str, node: &Value, conditions: &mut Vec<String>) -> f64 {
    let below = node["Plans"].as_array().into_iter().flatten();
    let below: f64 = below.map(|child| read_of(table, child, conditions)).sum();
    if node["Relation Name"] != table {
        return below;
    }
    conditions.push(node["Index Cond"].as_str().unwrap_or_default().to_owned());
    below + node["Actual Rows"].as_f64().unwrap() * node["Actual Loops"].as_f64().unwrap()
}

#[tokio::test]
async fn a_page_of_a_list_by_last_update_and_the_activity_of_an_app_read_no_more_than_they_need() {
    let database = postgres::migrated().await;
    let settings = [("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off")];
    let settings = settings.into_iter().chain([("enable_hashjoin", "off"), ("enable_mergejoin", "off")]);
    let options = PgConnectOptions::from_str(&database.url).unwrap().options(settings);
    let mut conn = PgConnection::connect_with(&options).await.unwrap();
    // Two a second, so 20 in ten seconds, of which every other one has a rough place; of every other user a tenth.
    let rows = "insert into sessions (app_name, user_id, id, incarnation, revision, create_time, update_time, update_time_number, \
           active_day, initial_state, created_user_revision, created_app_revision, labels, rough) \
         select 'a', 'u' || n % 10, 's' || n, n, 0, 0, n * 500000, '', 0, '{}', 0, 0, '{\"k\":\"v\"}', n / 10 % 2 = 0 from generate_series(1::bigint, 20000) as n; \
         insert into session_updates (app_name, user_id, id, rough, place) select app_name, user_id, id, rough, \
           case when rough then update_time / 10000000 else update_time end from sessions";
    sqlx::raw_sql(rows).execute(&mut conn).await.unwrap();
    let middle = 10_000 * 500_000_i64;
    let bucket = middle / 10_000_000;
    let pages = [
        ("activity", "'a', 0, 1001, 100".to_owned()),
        ("list_of_app_by_update", format!("'a', {middle}, 'u0', 's10000', {bucket}, 101")),
        ("list_of_app_by_update_backwards", format!("'a', {middle}, 'u0', 's10000', {bucket}, 101")),
        ("list_of_user_by_update", format!("'a', 'u0', {middle}, 's10000', {bucket}, 101")),
        ("list_of_user_by_update_backwards", format!("'a', 'u0', {middle}, 's10000', {bucket}, 101")),
    ];
    for is_analysed in [false, true] {
        if is_analysed {
            sqlx::raw_sql("analyze").execute(&mut conn).await.unwrap();
        }
        for (name, arguments) in &pages {
            let statement = statements().into_iter().find(|statement| statement.name == *name).unwrap();
            let mut types = vec!["text"; statement.types.len()];
            for (n, value) in arguments.split(", ").enumerate() {
                types[n] = if value.starts_with('\'') { "text" } else { "bigint" };
            }
            prepare(&mut conn, &statement.text, &types).await.unwrap();
            let plan = plan(&mut conn, format!("explain (analyze, format json) execute p({arguments})")).await;
            let mut conditions = Vec::new();
            let read = read_of("session_updates", &plan[0]["Plan"], &mut conditions);
            // Of those with a rough place as many as of those with an exact one.
            let (most, shown) = if *name == "activity" { (1201.0, 100.0) } else { (243.0, 101.0) };
            assert!((101.0..=most).contains(&read), "{name}: {read} rows: {conditions:?}");
            assert_eq!(plan[0]["Plan"]["Actual Rows"].as_f64(), Some(shown), "{name}");
            sqlx::raw_sql("deallocate p").execute(&mut conn).await.unwrap();
        }
    }
    conn.close().await.unwrap();
}

#[tokio::test]
async fn a_prefix_of_keys_is_a_range_of_an_index() {
    let database = postgres::migrated().await;
    let settings = [("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off")];
    let options = PgConnectOptions::from_str(&database.url).unwrap().options(settings);
    let mut conn = PgConnection::connect_with(&options).await.unwrap();
    let rows = "insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision) \
         select 'a', 'u', 's', 1, 'k' || lpad(n::text, 5, '0'), '1', 0 from generate_series(1, 10000) as n; \
         insert into user_state (app_name, user_id, key, value, revision) \
         select 'a', 'u', 'k' || lpad(n::text, 5, '0'), '1', 0 from generate_series(1, 10000) as n; \
         insert into app_state (app_name, key, value, revision) \
         select 'a', 'k' || lpad(n::text, 5, '0'), '1', 0 from generate_series(1, 10000) as n; \
         insert into sessions (app_name, user_id, id, incarnation, revision, create_time, update_time, update_time_number, \
           active_day, initial_state, created_user_revision, created_app_revision) \
         values ('a', 'u', 's', 1, 0, 0, 0, '', 0, '{}', 0, 0)";
    sqlx::raw_sql(rows).execute(&mut conn).await.unwrap();
    for is_analysed in [false, true] {
        if is_analysed {
            sqlx::raw_sql("analyze").execute(&mut conn).await.unwrap();
        }
        const STATES: [&str; 3] = ["app_state", "user_state", "session_state"];
        for (name, tables, of) in [
            ("state_range", &STATES[..], "'a', 'u', 's', 0, R, R, R"),
            ("user_range", &["user_state"], "'a', 'u', R"),
            ("app_range", &["app_state"], "'a', R"),
        ] {
            // The end of the prefix, or of the page.
            for (range, limit, shown) in [("'k0010', 'k0011'", 1000, 10.0), ("'k', 'l'", 20, 20.0)] {
                let statement = statements().into_iter().find(|statement| statement.name == name).unwrap();
                let arguments = format!("{}, {limit}, 1000000", of.replace('R', range));
                let kind = |value: &str| if value.starts_with('\'') { "text" } else { "bigint" };
                let types: Vec<&str> = arguments.split(", ").map(kind).collect();
                prepare(&mut conn, &statement.text, &types).await.unwrap();
                let plan = plan(&mut conn, format!("explain (analyze, format json) execute p({arguments})")).await;
                for table in tables {
                    let mut conditions = Vec::new();
                    let read = read_of(table, &plan[0]["Plan"], &mut conditions);
                    assert!((shown..=shown + 1.0).contains(&read), "{name}: {read} rows: {conditions:?}");
                }
                sqlx::raw_sql("deallocate p").execute(&mut conn).await.unwrap();
            }
        }
    }
    conn.close().await.unwrap();
}

/// The planner's own choice, between an index of which it knows little and a scan that it may end early.
#[tokio::test]
async fn a_word_is_found_by_its_index() {
    let database = postgres::migrated().await;
    let options =
        PgConnectOptions::from_str(&database.url).unwrap().options([("plan_cache_mode", "force_generic_plan")]);
    let mut conn = PgConnection::connect_with(&options).await.unwrap();
    let rows = "insert into event_words (app_name, user_id, session_id, incarnation, sequence, commit_time, author, words) \
         select 'a', 'u', 's', n / 1000, n, n, 'agent', (select array_agg(n * 100 + k) from generate_series(1, 30) as k) \
         from generate_series(1::bigint, 20000) as n";
    for statement in [rows, "vacuum analyze event_words"] {
        sqlx::raw_sql(statement).execute(&mut conn).await.unwrap();
    }
    let statement = statements().into_iter().find(|statement| statement.name == "with_word").unwrap();
    prepare(&mut conn, &statement.text, &["text", "text", "bigint", "bigint"]).await.unwrap();
    let plan = plan(&mut conn, "explain (analyze, format json) execute p('a', 'u', 1500007, 10001)".to_owned()).await;
    assert!(plan.to_string().contains("event_words_by_word"), "{plan}");
    assert_eq!(plan[0]["Plan"]["Actual Rows"].as_f64(), Some(1.0), "{plan}");
    conn.close().await.unwrap();
}
