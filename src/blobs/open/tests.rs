//! Stores in a folder, and the addresses of all. Buckets are tested with a server that speaks as S3 does (`tests/it`).

use std::fs;
use std::ops::Range;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use bytes::Bytes;
use futures_util::TryStreamExt as _;

use super::*;
use crate::blobs::PART;
use crate::blobs::objects::{ObjectError, Result};

const PATIENCE: Duration = Duration::from_secs(60);
const SHELF: &str = "0123/ab";
const OBJECT: &str = "0123/ab/0123456789abcdef";

/// A folder for one test.
struct Folders(PathBuf);

impl Folders {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sessiond-objects-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn store(&self) -> Arc<dyn Objects> {
        objects(&Address::Folder(self.0.clone()), PATIENCE).unwrap()
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|n| (n % 251) as u8 ^ (n >> 16) as u8).collect()
}

async fn write(store: &dyn Objects, bytes: &[u8]) -> Result<()> {
    let mut writing = store.write(OBJECT);
    for part in bytes.chunks(PART) {
        assert_eq!(writing.write(Bytes::copy_from_slice(part)).await?, None);
    }
    writing.finish().await
}

async fn read(store: &dyn Objects, range: Range<u64>) -> Result<Vec<u8>> {
    let parts: Vec<Bytes> = store.read(OBJECT, range).try_collect().await?;
    assert!(parts.iter().all(|part| !part.is_empty() && part.len() <= PART));
    Ok(parts.concat())
}

#[tokio::test]
async fn what_is_written_is_read_listed_and_removed() {
    let folder = Folders::new("all");
    let store = folder.store();
    for size in [0, 1, PART - 1, PART, PART + 1, 5 * PART + 17] {
        let (bytes, end) = (pattern(size), size as u64);
        write(&*store, &bytes).await.unwrap();
        for range in [0..end, 0..end.min(1), end / 3..end / 2, end.saturating_sub(10)..end] {
            let expected = &bytes[range.start as usize..range.end as usize];
            assert!(read(&*store, range.clone()).await.unwrap() == expected, "{range:?} of {size}");
        }
        // It is shorter than the database says.
        assert_eq!(read(&*store, 0..end + 1).await, Err(ObjectError::Missing));
        let listed = store.list(SHELF).await.unwrap();
        assert_eq!(listed.iter().map(|listed| (&*listed.object, listed.size)).collect::<Vec<_>>(), [(OBJECT, end)]);
        assert_eq!(store.list("0123/ac").await.unwrap(), []);
        assert_eq!(store.list("0124/ab").await.unwrap(), []);
        store.remove(OBJECT, None).await.unwrap();
        store.remove(OBJECT, None).await.unwrap();
        assert_eq!(store.list(SHELF).await.unwrap(), []);
        assert_eq!(read(&*store, 0..1).await, Err(ObjectError::Missing));
    }
}

#[tokio::test]
async fn what_is_not_finished_is_removed() {
    let folder = Folders::new("unfinished");
    let store = folder.store();
    let mut writing = store.write(OBJECT);
    writing.write(Bytes::from_static(b"abc")).await.unwrap();
    drop(writing);
    assert_eq!(store.list(SHELF).await.unwrap().len(), 1);
    store.remove(OBJECT, None).await.unwrap();
    assert_eq!(store.list(SHELF).await.unwrap(), []);
}

/// A name is used once: an object that is there is never written over.
#[tokio::test]
async fn nothing_is_overwritten() {
    let folder = Folders::new("once");
    let store = folder.store();
    write(&*store, b"abc").await.unwrap();
    assert!(matches!(write(&*store, b"def").await, Err(ObjectError::Unavailable(_))));
    assert_eq!(read(&*store, 0..3).await.unwrap(), b"abc");
}

#[tokio::test]
async fn nobody_else_reads_them() {
    let folder = Folders::new("private");
    write(&*folder.store(), b"abc").await.unwrap();
    let mode = |path: &str| fs::metadata(folder.0.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode("0123"), mode(SHELF), mode(OBJECT)], [0o700, 0o700, 0o600]);
}

#[tokio::test]
async fn no_link_is_followed_to_what_is_removed() {
    let (folder, other) = (Folders::new("links"), Folders::new("elsewhere"));
    let store = folder.store();
    write(&*other.store(), b"abc").await.unwrap();
    for link in [SHELF, "0123"] {
        let _ = fs::remove_dir_all(folder.0.join("0123"));
        fs::create_dir_all(folder.0.join(link).parent().unwrap()).unwrap();
        symlink(other.0.join(link), folder.0.join(link)).unwrap();
        assert!(matches!(store.list(SHELF).await, Err(ObjectError::Unavailable(_))), "{link}");
        assert!(matches!(store.remove(OBJECT, None).await, Err(ObjectError::Unavailable(_))), "{link}");
        fs::remove_file(folder.0.join(link)).unwrap();
    }
    assert_eq!(read(&*other.store(), 0..3).await.unwrap(), b"abc");
}

/// Where the folder itself is gone, no object is: nothing is known of any.
#[tokio::test]
async fn a_folder_that_is_gone_has_lost_nothing() {
    let folder = Folders::new("gone");
    let store = folder.store();
    write(&*store, b"abc").await.unwrap();
    fs::remove_dir_all(&folder.0).unwrap();
    let failures = [
        read(&*store, 0..3).await.map(drop),
        write(&*store, b"abc").await,
        store.remove(OBJECT, None).await,
        store.list(SHELF).await.map(drop),
    ];
    for failure in failures {
        assert!(matches!(failure, Err(ObjectError::Unavailable(_))), "{failure:?}");
    }
    assert!(!folder.0.exists());
}

#[test]
fn an_address_has_one_name() {
    for (text, name) in [
        ("s3://b/p/q/", "s3://b/p/q"),
        ("s3://b", "s3://b"),
        ("gs://b/", "gs://b"),
        ("az://c/p", "az://c/p"),
        ("file:///a/b/", "file:///a/b"),
        ("file:///a%20b", "file:///a%20b"),
    ] {
        let address: Address = text.parse().unwrap();
        assert_eq!(address.to_string(), name);
        assert_eq!(name.parse::<Address>().unwrap(), address);
    }
}

#[test]
fn what_is_no_address_is_refused() {
    for text in [
        "",
        "x",
        "/a",
        "file:a",
        "file://host/a",
        "file:///",
        "s3:///p",
        "s3://user@b",
        "s3://u:p@b",
        "s3://b?x=1",
        "s3://b#x",
        "https://b",
        "memory:///",
    ] {
        assert!(text.parse::<Address>().is_err(), "{text}");
    }
}

#[cfg(feature = "buckets")]
/// A bucket's settings are read without any request.
#[tokio::test]
async fn buckets_open_while_they_are_gone() {
    for address in ["s3://b/p", "gs://b/p"] {
        assert!(objects(&address.parse().unwrap(), PATIENCE).is_ok(), "{address}");
    }
    // It needs the name of an account, which an error names.
    let error = objects(&"az://c/p".parse().unwrap(), PATIENCE).err().unwrap();
    assert!(error.contains("Account"), "{error}");
}
