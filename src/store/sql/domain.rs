//! Types of the domain as columns have them: rows are read as these.

use std::sync::Arc;

use sqlx::error::BoxDynError;
use sqlx::{Database, Decode, Type};

use super::filter::plain_text;
use super::query::Field;
use crate::domain::artifact::Kind;
use crate::domain::erasure::Subject;
use crate::domain::event::StoredEvent;
use crate::domain::ids::{AppName, ArtifactName, EventId, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::RawJson;
use crate::domain::lease::{Exclusion, Exclusive, Holding, LeaseHead};
use crate::domain::loaded::SessionHead;
use crate::domain::tag::Timeline;
use crate::domain::time::{Micros, Timestamp};
use crate::domain::transfer::Lost;
use crate::domain::verify::Seen;
use crate::store::error::corrupt;

/// What one column has.
macro_rules! columns {
    ($($name:ident: $stored:ty => $type:ty, $read:expr;)*) => {$(
        impl<D: Database> Type<D> for $type
        where
            $stored: Type<D>,
        {
            fn type_info() -> D::TypeInfo {
                <$stored>::type_info()
            }

            fn compatible(info: &D::TypeInfo) -> bool {
                <$stored>::compatible(info)
            }
        }

        impl<'r, D: Database> Decode<'r, D> for $type
        where
            $stored: Decode<'r, D>,
        {
            fn decode(value: D::ValueRef<'r>) -> Result<Self, BoxDynError> {
                let $name = <$stored>::decode(value)?;
                Ok($read)
            }
        }
    )*};
}
columns! {
    name: String => AppName, Self::parse(&name).map_err(corrupt)?;
    name: String => UserId, Self::parse(&name).map_err(corrupt)?;
    name: String => SessionId, Self::parse(&name).map_err(corrupt)?;
    name: String => EventId, Self::parse(&name).map_err(corrupt)?;
    name: String => ArtifactName, Self::parse(&name).map_err(corrupt)?;
    text: String => RawJson, Self::trusted(text);
    micros: i64 => Micros, Self(micros);
}

/// What several columns have, or one that is read in another form first.
macro_rules! fields {
    ($($type:ty, of $($part:ty),*: |$row:ident, $name:ident| $read:expr;)*) => {$(
        impl<'r, R: sqlx::Row> Field<'r, R> for $type
        where
            $($part: Field<'r, R>,)*
        {
            fn read($row: &'r R, $name: &'static str) -> sqlx::Result<Self> {
                Ok($read)
            }
        }
    )*};
}
fields! {
    UserKey, of AppName, UserId: |row, _name| {
        Self { app: Field::read(row, "app_name")?, user: Field::read(row, "user_id")? }
    };
    // The column is the session's: it has several names.
    SessionKey, of UserKey, SessionId: |row, name| Self { user: Field::read(row, "")?, session: Field::read(row, name)? };
    Timestamp, of Micros, RawJson: |row, name| {
        Self { micros: Field::read(row, name)?, number: Field::read(row, "update_time_number")? }
    };
    // The transaction fills it in.
    Timeline, of: |_row, _name| Self::default();
    // The source of a fork.
    Option<(SessionId, i64)>, of Option<SessionId>, Option<i64>: |row, name| {
        Option::zip(Field::read(row, name)?, Field::read(row, "forked_revision")?)
    };
    [u8; 32], of Vec<u8>: |row, name| {
        let bytes: Vec<u8> = Field::read(row, name)?;
        bytes.try_into().map_err(|_| odd("does not have 32 bytes"))?
    };
    Option<[u8; 32]>, of Option<Vec<u8>>: |row, name| {
        let bytes: Option<Vec<u8>> = Field::read(row, name)?;
        let digest = bytes.map(|bytes| bytes.try_into()).transpose();
        digest.map_err(|_| odd("does not have 32 bytes"))?
    };
    Subject, of [u8; 32]: |row, name| Self::trusted(Field::read(row, name)?);
    Kind, of String: |row, name| {
        let word: String = Field::read(row, name)?;
        Self::parse(&word).ok_or_else(|| odd("is of no kind"))?
    };
    u64, of i64: |row, name| i64::read(row, name)?.unsigned_abs();
    Option<u64>, of Option<i64>: |row, name| Option::map(Field::read(row, name)?, i64::unsigned_abs);
    // The revisions of user and app state that an event saw.
    (i64, i64), of i64: |row, _name| (Field::read(row, "user_revision")?, Field::read(row, "app_revision")?);
    // The same; or, as the name says, what a session's creation saw, or from which revisions on the past of the scopes is known.
    Seen, of i64: |row, name| {
        let (user, app) = match name {
            "created" => ("created_user_revision", "created_app_revision"),
            "floors" => ("user_floor", "app_floor"),
            _ => ("user_revision", "app_revision"),
        };
        Self { user: Field::read(row, user)?, app: Field::read(row, app)? }
    };
    // The store of an artifact's bytes, and the object there.
    Option<(String, String)>, of Option<String>: |row, name| {
        Option::zip(Field::read(row, "store")?, Field::read(row, name)?)
    };
    // The lease by which writes are judged; there is an owner only of one that excludes all others.
    LeaseHead, of Option<i64>, Option<String>, Option<Micros>: |row, _name| {
        let owner: Option<String> = Field::read(row, "lease_owner")?;
        let (expire_time, now): (Option<Micros>, _) = (Field::read(row, "lease_expire")?, Field::read(row, "lease_now")?);
        let exclusion = |(owner, expire_time): (String, _)| Exclusion { owner: plain_text(&owner), expire_time, now };
        Self {
            epoch: Option::unwrap_or_default(Field::read(row, "lease_epoch")?),
            all: owner.zip(expire_time).map(exclusion).map(Arc::new),
        }
    };
    // Without the bound of a policy, which is read where an append is decided.
    SessionHead, of i64, Micros, Option<Micros>, LeaseHead: |row, _name| Self {
        incarnation: Field::read(row, "incarnation")?,
        revision: Field::read(row, "revision")?,
        metadata_revision: Field::read(row, "metadata_revision")?,
        update_time: Field::read(row, "update_time")?,
        rough: false,
        expire_time: Field::read(row, "expire_time")?,
        most_revision: None,
        lease: Field::read(row, "")?,
    };
    // Who has a lease, if somebody has.
    Option<Holding>, of Option<String>, Option<Micros>, Option<i64>, bool: |row, _name| {
        let owner: Option<String> = Field::read(row, "lease_owner")?;
        let times: Option<(Micros, i64)> = Option::zip(Field::read(row, "lease_expire")?, Field::read(row, "lease_ttl")?);
        let invocation_id: Option<String> = Field::read(row, "lease_invocation")?;
        let exclusive = if bool::read(row, "lease_all")? { Exclusive::All } else { Exclusive::Turn };
        owner.zip(times).map(|(owner, (expire_time, ttl_micros))| Holding {
            owner: plain_text(&owner),
            invocation_id: invocation_id.as_deref().map(plain_text),
            expire_time,
            ttl_micros,
            exclusive,
        })
    };
    // Where an imported session lost what shared scopes, and the files of its user, were.
    Lost, of Option<i64>: |row, _name| {
        let range = |from, through| -> sqlx::Result<Option<(i64, i64)>> {
            Ok(Option::zip(Field::read(row, from)?, Field::read(row, through)?))
        };
        Self {
            user: range("lost_user_from", "lost_user_through")?,
            app: range("lost_app_from", "lost_app_through")?,
            files: range("lost_files_from", "lost_files_through")?,
        }
    };
    StoredEvent, of i64, Micros, String: |row, _name| {
        Self::new(Field::read(row, "sequence")?, Field::read(row, "commit_time")?, String::read(row, "body")?)
    };
    // One that may be missing.
    Option<StoredEvent>, of Option<i64>, Option<Micros>, Option<String>: |row, _name| {
        let place: Option<(i64, Micros)> = Option::zip(Field::read(row, "sequence")?, Field::read(row, "commit_time")?);
        let body: Option<String> = Field::read(row, "body")?;
        place.zip(body).map(|((sequence, time), body)| StoredEvent::new(sequence, time, body))
    };
    // The size and the digest of an artifact's bytes.
    Option<(u64, [u8; 32])>, of Option<i64>, Option<[u8; 32]>: |row, _name| {
        let size: Option<i64> = Field::read(row, "size")?;
        size.map(i64::unsigned_abs).zip(Field::read(row, "sha256")?)
    };
}

/// The database was written by something else.
fn odd(what: &str) -> sqlx::Error {
    sqlx::Error::Decode(format!("what is stored {what}").into())
}
