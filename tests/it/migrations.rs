//! The two databases have the same tables: the SQL of the migrations is written twice, and must not drift.

use std::{collections::BTreeSet, fs, path::Path};

use sqlx::{Connection as _, PgConnection, Row as _, SqliteConnection};

use crate::support::http::{Place, on_both_databases, spawn};

on_both_databases!(migrating_again_changes_nothing);

/// `NNNN_name.sql`
fn files(database: &str) -> BTreeSet<String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(database);
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

async fn migrate(place: &Place) {
    let mut process = spawn(&place.url(), &["migrate"]);
    let status = process.wait().await;
    assert!(status.success(), "{status}\n{}", process.log());
}

/// Table, place, column, and whether it may be null.
type Columns = Vec<(String, i64, String, bool)>;

async fn columns(place: &Place) -> Columns {
    let url = place.url();
    let statement = match place {
        Place::Postgres(_) => {
            "select table_name::text, ordinal_position::bigint, column_name::text, is_nullable = 'YES' \
             from information_schema.columns where table_schema = current_schema() \
               and table_name <> '_sqlx_migrations' \
             order by table_name collate \"C\", ordinal_position"
        }
        Place::Sqlite(_) => {
            "select m.name, c.cid + 1, c.name, not c.\"notnull\" and not (c.pk > 0 and m.sql like '%without rowid%') \
             from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' \
               and m.name not like 'sqlite_%' and m.name <> '_sqlx_migrations' \
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

#[tokio::test(flavor = "multi_thread")]
async fn both_databases_have_the_same_tables() {
    let (postgres, sqlite) = (Place::postgres().await, Place::sqlite());
    migrate(&postgres).await;
    migrate(&sqlite).await;
    let columns = (columns(&postgres).await, columns(&sqlite).await);
    assert!(columns.0.iter().any(|(table, ..)| table == "events"));
    assert_eq!(columns.0, columns.1);
}

async fn migrating_again_changes_nothing(place: Place) {
    migrate(&place).await;
    let before = columns(&place).await;
    migrate(&place).await;
    assert_eq!(columns(&place).await, before);
}
