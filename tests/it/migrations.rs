//! Both databases have the same tables, keys and indexes: the migrations are written twice and must not drift apart.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use sqlx::{Connection as _, PgConnection, Row as _, SqliteConnection};

use crate::support::binary::spawn;
use crate::support::databases::{Place, on_both_databases};

on_both_databases!(migrating_again_changes_nothing, only_citus_distributes);

/// `NNNN_name.sql`
fn files(database: &str) -> BTreeSet<String> {
    let dir = Path::new(crate::support::ROOT).join("migrations").join(database);
    let files = fs::read_dir(dir).expect("a folder of migrations");
    files.map(|file| file.expect("an entry").file_name().into_string().expect("UTF-8")).collect()
}

#[test]
fn both_databases_have_the_same_migrations() {
    let (postgres, sqlite) = (files("postgres"), files("sqlite"));
    assert_eq!(postgres, sqlite);
    // sqlx goes by the number alone, and would pass over a second one without a word.
    let numbers: Vec<_> = postgres.iter().map(|file| file.split_once('_').expect("NNNN_name.sql").0).collect();
    let expected: Vec<_> = (1..=numbers.len()).map(|number| format!("{number:04}")).collect();
    assert_eq!(numbers, expected);
}

async fn only_citus_distributes(place: Place) {
    let mut process = spawn(&place.url(), &["migrate", "--citus"]);
    let status = process.wait().await;
    let log = process.log();
    assert_eq!(status.code(), Some(1), "{log}");
    let why = match &place {
        Place::Sqlite(_) => "only PostgreSQL can be distributed",
        Place::Postgres(_) => "the database has no Citus",
    };
    assert!(log.contains(why), "{log}");
    // And the database is migrated, and of use, all the same.
    migrate(&place).await;
    place.finish().await;
}

async fn migrate(place: &Place) {
    let mut process = spawn(&place.url(), &["migrate"]);
    let status = process.wait().await;
    assert!(status.success(), "{status}\n{}", process.log());
}

/// Tables in which they differ on purpose: PostgreSQL's commits have no order, so its feed has ticks; SQLite has no index of arrays.
const OTHERS: [&str; 3] = ["changes", "ticks", "event_words_by_word"];

/// Table, place, column, and whether it may be null.
type Columns = Vec<(String, i64, String, bool)>;

async fn columns(place: &Place) -> Columns {
    let url = place.url();
    let statement = match place {
        Place::Postgres(_) => {
            "select table_name::text, ordinal_position::bigint, column_name::text, is_nullable = 'YES' \
             from information_schema.columns where table_schema = current_schema() \
               and table_name <> 'sessiond_migrations' \
             order by table_name collate \"C\", ordinal_position"
        }
        Place::Sqlite(_) => {
            "select m.name, c.cid + 1, c.name, not c.\"notnull\" and not (c.pk > 0 and m.sql like '%without rowid%') \
             from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' \
               and m.name not like 'sqlite_%' and m.name <> 'sessiond_migrations' \
             order by m.name, c.cid"
        }
    };
    match place {
        Place::Postgres(_) => {
            let mut connection = PgConnection::connect(&url).await.unwrap();
            let rows = sqlx::query(statement).fetch_all(&mut connection).await.unwrap();
            rows.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect()
        }
        Place::Sqlite(_) => {
            let mut connection = SqliteConnection::connect(&url).await.unwrap();
            let rows = sqlx::query(statement).fetch_all(&mut connection).await.unwrap();
            rows.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect()
        }
    }
}

/// An index, be it of a primary key, of a unique constraint or by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Index {
    table: String,
    is_primary: bool,
    is_unique: bool,
    is_partial: bool,
    /// In the order of the key; a descending one ends in ` desc`.
    columns: Vec<String>,
}

/// Every index by its name. SQLite has no name for that of a constraint: it goes by its table and its columns, and so does
/// PostgreSQL's.
type Indexes = BTreeMap<String, Index>;

/// Indexes that one database has and the other lacks or has in another form, with the reason. There are none.
const MEANT_TO_DIFFER: &[(&str, &str)] =
    &[("event_words_by_word", "an index of arrays; on SQLite a table, as it has none")];

/// Of one column of a key: index, table, whether of a constraint, primary, unique, partial; column, whether descending.
type KeyColumn = (String, String, bool, bool, bool, bool, Option<String>, bool);

async fn indexes(place: &Place) -> Indexes {
    let url = place.url();
    let statement = match place {
        Place::Postgres(_) => {
            "select i.relname::text, t.relname::text, c.oid is not null, x.indisprimary, x.indisunique, \
                    x.indpred is not null, coalesce(a.attname, pg_get_indexdef(i.oid, k.n, true))::text, (x.indoption[k.n - 1] & 1) = 1 \
             from pg_index x \
             join pg_class i on i.oid = x.indexrelid \
             join pg_class t on t.oid = x.indrelid \
             left join pg_constraint c on c.conindid = x.indexrelid and c.contype in ('p', 'u') \
             cross join lateral generate_series(1, x.indnkeyatts) as k(n) \
             left join pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[k.n - 1] \
             where t.relnamespace = current_schema()::regnamespace and t.relname <> 'sessiond_migrations' \
             order by i.relname, k.n"
        }
        Place::Sqlite(_) => {
            "select i.name, m.name, i.origin <> 'c', i.origin = 'pk', i.\"unique\", i.partial, c.name, c.desc \
             from sqlite_master m, pragma_index_list(m.name) i, pragma_index_xinfo(i.name) c \
             where m.type = 'table' and m.name <> 'sessiond_migrations' and c.key \
             order by i.name, c.seqno"
        }
    };
    let rows: Vec<KeyColumn> = match place {
        Place::Postgres(_) => {
            let mut connection = PgConnection::connect(&url).await.unwrap();
            sqlx::query_as(statement).fetch_all(&mut connection).await.unwrap()
        }
        Place::Sqlite(_) => {
            let mut connection = SqliteConnection::connect(&url).await.unwrap();
            sqlx::query_as(statement).fetch_all(&mut connection).await.unwrap()
        }
    };
    let mut found: BTreeMap<String, (bool, Index)> = BTreeMap::new();
    for (name, table, of_constraint, is_primary, is_unique, is_partial, column, descends) in rows {
        let column = column.unwrap_or_else(|| panic!("{name} is over an expression, which this test cannot compare"));
        let index = Index { table, is_primary, is_unique, is_partial, columns: Vec::new() };
        let (_, index) = found.entry(name).or_insert((of_constraint, index));
        index.columns.push(if descends { format!("{column} desc") } else { column });
    }
    let named = |(name, (of_constraint, index)): (String, (bool, Index))| match of_constraint {
        true => (format!("{}({})", index.table, index.columns.join(", ")), index),
        false => (name, index),
    };
    found.into_iter().map(named).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_databases_have_the_same_tables() {
    let (postgres, sqlite) = (Place::postgres().await, Place::sqlite());
    migrate(&postgres).await;
    migrate(&sqlite).await;
    let mut columns = (columns(&postgres).await, columns(&sqlite).await);
    columns.0.retain(|(table, ..)| !OTHERS.contains(&&**table));
    columns.1.retain(|(table, ..)| !OTHERS.contains(&&**table));
    assert!(columns.0.iter().any(|(table, ..)| table == "events"));
    assert_eq!(columns.0, columns.1);

    let (mut postgres, mut sqlite) = (indexes(&postgres).await, indexes(&sqlite).await);
    for indexes in [&mut postgres, &mut sqlite] {
        indexes.retain(|_, index| !OTHERS.contains(&&*index.table));
    }
    for (name, has) in [("events(id, incarnation, user_id, app_name)", "unique"), ("events_rewinds", "partial")] {
        let index = postgres.get(name).unwrap_or_else(|| panic!("no {name} in {postgres:#?}"));
        assert!(index.is_unique == (has == "unique") && index.is_partial == (has == "partial"), "{index:?}");
    }
    let tables: BTreeSet<&str> = columns.0.iter().map(|(table, ..)| table.as_str()).collect();
    for table in tables {
        assert!(postgres.values().any(|index| index.is_primary && index.table == table), "{table} has no primary key");
    }
    let differ: BTreeSet<&str> = postgres
        .keys()
        .chain(sqlite.keys())
        .filter(|name| postgres.get(*name) != sqlite.get(*name))
        .map(String::as_str)
        .collect();
    let meant = MEANT_TO_DIFFER.iter().map(|(name, _)| *name).collect();
    let shown = |indexes: &Indexes| differ.iter().map(|name| format!("{:?}", indexes.get(*name))).collect::<Vec<_>>();
    assert_eq!(differ, meant, "PostgreSQL: {:#?}\nSQLite: {:#?}", shown(&postgres), shown(&sqlite));
}

async fn migrating_again_changes_nothing(place: Place) {
    migrate(&place).await;
    let before = (columns(&place).await, indexes(&place).await);
    migrate(&place).await;
    assert_eq!((columns(&place).await, indexes(&place).await), before);
}
