begin;
CREATE TABLE sessiond_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
CREATE TABLE sessions (
    app_name              text not null,
    user_id               text not null,
    id                    text not null,
    incarnation           integer not null,
    revision              integer not null,
    metadata_revision     integer not null default 0,
    create_time           integer not null,
    -- When its last event was committed, or it was created; 0: not known. No event is committed earlier than the one
    -- before it.
    commit_time           integer not null default 0,
    update_time           integer not null,
    -- The JSON number that shows update_time: the very text that a client gave.
    update_time_number    text not null,
    -- The day of the last commit, in whole days since 1970. No index has it: appends write it.
    active_day            integer not null,
    -- A JSON string, a JSON object of strings.
    display_name          text,
    labels                text,
    expire_time           integer,
    -- Where the log begins: events up to here were trimmed, and have left stubs at most.
    base_revision         integer not null default 0,
    -- The session keys at that revision, and the shared scopes that it saw.
    initial_state         text not null,
    created_user_revision integer not null,
    created_app_revision  integer not null,
    -- The session of the same user, and its revision, of which this one is a fork.
    forked_from           text,
    forked_revision       integer,
    -- The Idempotency-Key of the request that made it, and a digest of what that asked.
    creation_key          text,
    creation_digest       blob,
    -- Of an imported session: the incarnation that it had where it comes from, a digest of its lines, and its revision. From one
    -- sequence to another (the base counts), what user and app state were did not come along.
    imported_mark         text,
    imported_digest       blob,
    imported_revision     integer,
    lost_user_from        integer,
    lost_user_through     integer,
    lost_app_from         integer,
    lost_app_through      integer,
    lost_files_from       integer,
    lost_files_through    integer,
    -- The lease: how often one was granted, and who holds it; all but the epoch is null if nobody does. `lease_ttl` is by how
    -- much an append under it extends it; `lease_all`: it excludes writes without a lease.
    lease_epoch           integer not null default 0,
    lease_owner           text,
    lease_invocation      text,
    lease_expire          integer,
    lease_ttl             integer,
    lease_all             boolean not null default false,
    -- Begins otherwise than the other indexes: a planner without statistics takes two that begin alike for equally good, and
    -- looks for a session through all those of its user.
    constraint sessions_pkey primary key (id, user_id, app_name)
);
CREATE TABLE session_updates (
    app_name text not null,
    user_id  text not null,
    id       text not null,
    bucket   integer not null,
    constraint session_updates_pkey primary key (app_name, user_id, bucket, id)
) without rowid;
CREATE TABLE events (
    app_name      text not null,
    user_id       text not null,
    session_id    text not null,
    incarnation   integer not null,
    sequence      integer not null,
    id            text not null,
    event_time    integer not null,
    commit_time   integer not null,
    -- For filters, in the store's escaped form (one form for both databases).
    author        text not null,
    invocation_id text not null,
    branch        text,
    -- The shared scopes that the event saw.
    user_revision integer not null,
    app_revision  integer not null,
    -- What it does to the history of its session. One that rewinds: the last event before those that it takes back. A compaction: -1.
    effect        integer,
    digest        blob not null,
    body          text not null,
    -- Of a redacted event: the metadata revision of its session that the last redaction made, unless it was copied since. -N: an event
    -- that removes values of the redacted event N, of which there is no span.
    redaction     integer,
    -- The key ends with user and app as PostgreSQL's does.
    constraint events_pkey primary key (incarnation, sequence, user_id, app_name),
    -- Has no column in front that the primary key has in front: a planner that took both for equally good would look
    -- through all events of the session.
    constraint events_id_key unique (id, incarnation, user_id, app_name)
);
CREATE TABLE session_state (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    key         text not null,
    value       text not null,
    revision    integer not null,
    constraint session_state_pkey primary key (incarnation, key, session_id, user_id, app_name)
);
CREATE TABLE user_scopes (
    app_name text not null,
    user_id  text not null,
    revision integer not null,
    floor    integer not null default 0,
    emptied  integer not null default 0,
    began    integer not null default 0,
    imported integer not null default 0,
    redacted integer not null default 0,
    constraint user_scopes_pkey primary key (app_name, user_id)
);
CREATE TABLE user_state (
    app_name text not null,
    user_id  text not null,
    key      text not null,
    value    text not null,
    revision integer not null,
    constraint user_state_pkey primary key (app_name, user_id, key)
);
CREATE TABLE erased_revisions (
    app_name text not null,
    revision integer not null,
    constraint erased_revisions_pkey primary key (app_name)
) without rowid;
CREATE TABLE app_scopes (
    app_name text not null,
    revision integer not null,
    floor    integer not null default 0,
    emptied  integer not null default 0,
    imported integer not null default 0,
    redacted integer not null default 0,
    constraint app_scopes_pkey primary key (app_name)
);
CREATE TABLE app_state (
    app_name text not null,
    key      text not null,
    value    text not null,
    revision integer not null,
    constraint app_state_pkey primary key (app_name, key)
);
CREATE TABLE session_spans (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    node        integer not null,
    key         text not null,
    valid_from  integer not null,
    valid_to    integer not null,
    value       text not null,
    constraint session_spans_pkey primary key (incarnation, node, key, user_id, app_name)
) without rowid;
CREATE TABLE user_log (
    app_name text not null,
    user_id  text not null,
    key      text not null,
    revision integer not null,
    value    text,
    time     integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    -- The event that made the change, if one did. While its session has it, `incarnation` finds it; what an export or a
    -- session that is gone says of it is in the columns after `sequence`, in the forms that `events` has.
    incarnation   integer,
    sequence      integer,
    by_user       text,
    by_session    text,
    by_event      text,
    by_author     text,
    by_invocation text,
    constraint user_log_pkey primary key (app_name, user_id, key, revision)
) without rowid;
CREATE TABLE user_spans (
    app_name   text not null,
    user_id    text not null,
    node       integer not null,
    key        text not null,
    valid_from integer not null,
    valid_to   integer not null,
    constraint user_spans_pkey primary key (app_name, user_id, node, key)
) without rowid;
CREATE TABLE app_log (
    app_name text not null,
    key      text not null,
    revision integer not null,
    value    text,
    time     integer not null default (cast(unixepoch('subsec') * 1000000 as integer)),
    -- The event that made the change, if one did. While its session has it, `incarnation` finds it; what an export or a
    -- session that is gone says of it is in the columns after `sequence`, in the forms that `events` has.
    incarnation   integer,
    sequence      integer,
    by_user       text,
    by_session    text,
    by_event      text,
    by_author     text,
    by_invocation text,
    constraint app_log_pkey primary key (app_name, key, revision)
) without rowid;
CREATE TABLE app_spans (
    app_name   text not null,
    node       integer not null,
    key        text not null,
    valid_from integer not null,
    valid_to   integer not null,
    constraint app_spans_pkey primary key (app_name, node, key)
) without rowid;
CREATE TABLE effective_views (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    sequence    integer not null,
    view        text not null,
    constraint effective_views_pkey primary key (incarnation, sequence, user_id, app_name)
) without rowid;
CREATE TABLE effective_ids (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    sequence    integer not null,
    id          integer not null,
    roles       integer not null,
    constraint effective_ids_pkey primary key (incarnation, sequence, id, user_id, app_name)
) without rowid;
CREATE TABLE event_words (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    sequence    integer not null,
    commit_time integer not null,
    author      text not null,
    words       text not null,
    constraint event_words_pkey primary key (incarnation, sequence, user_id, app_name)
);
CREATE TABLE event_words_by_word (
    word        integer not null,
    incarnation integer not null,
    sequence    integer not null,
    constraint event_words_by_word_pkey primary key (word, incarnation, sequence)
) without rowid;
CREATE TABLE user_patches (
    app_name    text not null,
    user_id     text not null,
    request_key text not null,
    digest      blob not null,
    time        integer not null,
    constraint user_patches_pkey primary key (app_name, user_id, request_key)
) without rowid;
CREATE TABLE app_patches (
    app_name    text not null,
    request_key text not null,
    digest      blob not null,
    time        integer not null,
    constraint app_patches_pkey primary key (app_name, request_key)
) without rowid;
CREATE TABLE buried_sessions (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    -- The erasure that it is a part of.
    erasure     text,
    constraint buried_sessions_pkey primary key (app_name, user_id, session_id, incarnation)
);
CREATE TABLE removed_forks (
    app_name    text not null,
    user_id     text not null,
    id          text not null,
    forked_from text not null,
    constraint removed_forks_pkey primary key (id, forked_from, user_id, app_name)
) without rowid;
CREATE TABLE trims (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    emptied     integer not null,
    constraint trims_pkey primary key (app_name, user_id, session_id, incarnation)
);
CREATE TABLE scrubs (
    app_name text not null,
    count    integer not null,
    constraint scrubs_pkey primary key (app_name)
) without rowid;
CREATE TABLE imports (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    time        integer not null,
    constraint imports_pkey primary key (app_name, user_id, session_id, incarnation)
);
CREATE TABLE artifact_places (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    versions    integer not null,
    constraint artifact_places_pkey primary key (app_name, user_id, session_id)
) without rowid;
CREATE TABLE artifact_names (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    name        text not null,
    next        integer not null,
    latest      integer,
    versions    integer not null,
    named       integer,
    constraint artifact_names_pkey primary key (app_name, user_id, session_id, incarnation, name)
) without rowid;
CREATE TABLE artifacts (
    app_name       text not null,
    user_id        text not null,
    session_id     text not null,
    incarnation    integer not null,
    name           text not null,
    version        integer not null,
    mark           integer not null,
    kind           text not null,
    mime_type      text,
    -- Null of a version that is an address alone.
    size           integer,
    sha256         blob,
    blob           text,
    create_time    integer not null,
    -- A JSON object, JSON strings.
    metadata       text,
    display_name   text,
    file_uri       text,
    -- The revision of the session to which the save appended its event.
    revision       integer,
    -- The Idempotency-Key of the save, and a digest of what it saved.
    request_key    text,
    request_digest blob,
    constraint artifacts_pkey primary key (app_name, user_id, session_id, incarnation, name, version)
);
CREATE TABLE artifact_state (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    name        text not null,
    version     integer not null,
    revision    integer not null,
    constraint artifact_state_pkey primary key (incarnation, name, session_id, user_id, app_name)
) without rowid;
CREATE TABLE artifact_spans (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    node        integer not null,
    name        text not null,
    valid_from  integer not null,
    valid_to    integer not null,
    version     integer not null,
    constraint artifact_spans_pkey primary key (incarnation, node, name, user_id, app_name)
) without rowid;
CREATE TABLE blobs (
    app_name    text not null,
    user_id     text not null,
    id          text not null,
    size        integer not null,
    versions    integer not null,
    loose_since integer,
    -- Where they are: null for the chunks below, else the name of a store, and of the object there.
    store       text,
    object      text,
    -- The unfinished upload that the store keeps while they come in.
    upload      text,
    -- The erasure that they are a part of.
    erasure     text,
    constraint blobs_pkey primary key (app_name, user_id, id)
) without rowid;
CREATE TABLE blob_chunks (
    app_name text not null,
    user_id  text not null,
    blob     text not null,
    n        integer not null,
    bytes    blob not null,
    constraint blob_chunks_pkey primary key (app_name, user_id, blob, n)
);
CREATE TABLE api_keys (
    id             text not null,
    name           text not null,
    digest         blob,
    role           text not null,
    apps           text not null,
    users          text not null,
    create_time    integer not null,
    expire_time    integer,
    last_used_time integer,
    revoke_time    integer,
    constraint api_keys_pkey primary key (id)
) without rowid;
CREATE TABLE token_secrets (
    name   text not null,
    secret blob not null,
    constraint token_secrets_pkey primary key (name)
) without rowid;
CREATE TABLE token_epochs (
    app_name text not null,
    subject  blob not null,
    epoch    integer not null,
    -- The number of the user's last erasure in the app.
    erasure  integer not null default 0,
    constraint token_epochs_pkey primary key (subject, app_name)
) without rowid;
CREATE TABLE erasure_secrets (
    name   text not null,
    secret blob not null,
    constraint erasure_secrets_pkey primary key (name)
) without rowid;
CREATE TABLE erasures (
    id           text not null,
    app_name     text not null,
    subject      blob not null,
    request      blob,
    reference    text,
    block        boolean,
    blocked      boolean not null,
    request_time integer not null,
    done_time    integer,
    sessions     integer not null,
    events       integer not null,
    state_keys   integer not null,
    changes      integer not null,
    artifacts    integer not null,
    receipt      text,
    constraint erasures_pkey primary key (id, app_name)
) without rowid;
CREATE TABLE erasure_counts (
    app_name text not null,
    count    integer not null,
    constraint erasure_counts_pkey primary key (app_name)
) without rowid;
CREATE TABLE blocked_users (
    app_name text not null,
    subject  blob not null,
    constraint blocked_users_pkey primary key (subject, app_name)
) without rowid;
CREATE TABLE policies (
    app_name text not null,
    revision integer not null,
    policy   text,
    -- What the policy bounds of what is stored, for those who write: null for no bound.
    sessions_per_user  integer,
    events_per_session integer,
    artifact_bytes_per_user integer,
    -- What is said is indexed: 1; it was, and the index is there still: 2.
    search integer not null default 0,
    constraint policies_pkey primary key (app_name)
) without rowid;
CREATE TABLE changes (
    id             integer primary key autoincrement,
    kind           integer not null,
    app_name       text not null,
    user_id        text,
    session_id     text,
    incarnation    integer,
    first_revision integer not null,
    last_revision  integer not null,
    detail         text,
    time           integer not null default (cast(unixepoch('subsec') * 1000000 as integer))
);
CREATE INDEX sessions_by_user_create on sessions (app_name, user_id, create_time, id);
CREATE INDEX sessions_by_app_create on sessions (app_name, create_time, user_id, id);
CREATE UNIQUE INDEX sessions_creation_key on sessions (creation_key, user_id, app_name) where creation_key is not null;
CREATE INDEX sessions_by_expiry on sessions (expire_time) where expire_time is not null;
CREATE INDEX sessions_by_source on sessions (app_name, user_id, forked_from) where forked_from is not null;
CREATE INDEX session_updates_by_app on session_updates (app_name, bucket, user_id, id);
CREATE INDEX events_rewinds on events (incarnation, sequence, user_id, app_name) where effect >= 0;
CREATE INDEX events_compactions on events (incarnation, sequence, user_id, app_name) where effect = -1;
CREATE INDEX events_redactions on events (incarnation, redaction) where redaction is not null;
CREATE INDEX session_spans_by_key on session_spans (key, incarnation, valid_to);
CREATE INDEX user_log_by_revision on user_log (app_name, user_id, revision, key);
CREATE INDEX app_log_by_revision on app_log (app_name, revision, key);
CREATE INDEX app_log_by_user on app_log (app_name, by_user) where by_user is not null;
CREATE INDEX effective_ids_by_id on effective_ids (id, incarnation, user_id, app_name);
CREATE INDEX user_patches_by_time on user_patches (time);
CREATE INDEX app_patches_by_time on app_patches (time);
CREATE INDEX buried_by_erasure on buried_sessions (erasure) where erasure is not null;
CREATE INDEX removed_forks_by_source on removed_forks (app_name, user_id, forked_from);
CREATE INDEX artifact_places_of_users on artifact_places (app_name, user_id) where session_id = '';
CREATE UNIQUE INDEX artifacts_request_key on artifacts (app_name, user_id, session_id, incarnation, name, request_key)
    where request_key is not null;
CREATE INDEX blobs_loose on blobs (loose_since) where loose_since is not null;
CREATE INDEX blobs_by_object on blobs (object) where object is not null;
CREATE INDEX blobs_by_erasure on blobs (erasure) where erasure is not null;
CREATE UNIQUE INDEX erasures_request on erasures (request, app_name) where request is not null;
CREATE INDEX erasures_running on erasures (subject, app_name, request_time, id) where done_time is null;
CREATE INDEX changes_begin on changes (id) where app_name = '';
CREATE TRIGGER event_words_added after insert on event_words begin
    insert into event_words_by_word (word, incarnation, sequence)
    select value, new.incarnation, new.sequence from json_each(new.words);
end;
CREATE TRIGGER event_words_removed after delete on event_words begin
    delete from event_words_by_word where incarnation = old.incarnation and sequence = old.sequence
      and word in (select value from json_each(old.words));
end;
insert into api_keys values ('bnvof6t2e5ny', 'ends', X'812B10256696372A08BBE035042953B53D7CE6BD7FAAFFB8BD6FF013F6DFA523', 'operator', '["*"]', '["*"]', 1795959328305767, 4102444800000000, NULL, NULL);
insert into api_keys values ('gosxlhtpfzqh', 'reads less', X'8FA6DD9549700C4C8DCEF2BB374C599611E3E45BB2F80B526E05C8CBF570949F', 'reader', '["shop"]', '["ada"]', 1795959328300113, NULL, NULL, NULL);
insert into api_keys values ('hpwjk6hii6za', 'is revoked', NULL, 'agent', '["läger*","shop"]', '["*"]', 1795959328302130, NULL, NULL, 1795959328308029);
insert into api_keys values ('zyytxu6ch4yl', 'admin', X'9F6E398EEAD228543F01BCD0E9C8091221BBB22BEFEC3276A8963B6F63FD378C', 'admin', '["*"]', '["*"]', 1795959328231793, NULL, 1795959328294694, NULL);
insert into app_log values ('läger/1 ü', 'k0ä', 1, '0', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k10ä', 1, '1180591620717411303424', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k11ä', 1, '-170141183460469231731687303715884105729', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k12ä', 1, '1.7976931348623157e308', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k13ä', 1, '9007199254740993', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k14ä', 1, '"\u0000"', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k18ä', 1, '" ﻿�􏿿"', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k19ä', 1, '""', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k1ä', 1, '-0', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k22ä', 1, '[ ]', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k27ä', 1, 'true', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k28ä', 1, 'null', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k2ä', 1, '1', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k3ä', 1, '1.0', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k4ä', 1, '1E2', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k5ä', 1, '1e+2', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k6ä', 1, '-0.0', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k7ä', 1, '0e0', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k8ä', 1, '1e-400', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k9ä', 1, '0.1000000000000000055511151231257827', 1795959328893000, 7328620830977201959, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'by', 5, '"deleted"', 1795959328755000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'count', 4, '2', 1795959328380000, 8473957536909502599, 2, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'currency', 3, '"EUR"', 1795959328368000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'gone', 1, '[1.0]', 1795959328341000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'gone', 2, NULL, 1795959328347000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'last', 6, '"x"', 1795959328902000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'last', 7, '"x"', 1795959329027000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'returnDays', 1, '30', 1795959328341000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_scopes values ('shop', 7, 0, 0, 0, 0);
insert into app_scopes values ('läger/1 ü', 1, 0, 0, 0, 0);
insert into app_spans values ('shop', 2, 'gone', 1, 2);
insert into app_spans values ('shop', 7, 'last', 6, 7);
insert into app_state values ('shop', 'returnDays', '30', 1);
insert into app_state values ('shop', 'currency', '"EUR"', 3);
insert into app_state values ('shop', 'count', '2', 4);
insert into app_state values ('shop', 'by', '"deleted"', 5);
insert into app_state values ('läger/1 ü', 'k0ä', '0', 1);
insert into app_state values ('läger/1 ü', 'k10ä', '1180591620717411303424', 1);
insert into app_state values ('läger/1 ü', 'k11ä', '-170141183460469231731687303715884105729', 1);
insert into app_state values ('läger/1 ü', 'k12ä', '1.7976931348623157e308', 1);
insert into app_state values ('läger/1 ü', 'k13ä', '9007199254740993', 1);
insert into app_state values ('läger/1 ü', 'k14ä', '"\u0000"', 1);
insert into app_state values ('läger/1 ü', 'k15ä', '"a\u0000b\u001f\u007f"', 1);
insert into app_state values ('läger/1 ü', 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1);
insert into app_state values ('läger/1 ü', 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1);
insert into app_state values ('läger/1 ü', 'k18ä', '" ﻿�􏿿"', 1);
insert into app_state values ('läger/1 ü', 'k19ä', '""', 1);
insert into app_state values ('läger/1 ü', 'k1ä', '-0', 1);
insert into app_state values ('läger/1 ü', 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1);
insert into app_state values ('läger/1 ü', 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1);
insert into app_state values ('läger/1 ü', 'k22ä', '[ ]', 1);
insert into app_state values ('läger/1 ü', 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1);
insert into app_state values ('läger/1 ü', 'k24ä', '{"$serde_json::private::Number": "1"}', 1);
insert into app_state values ('läger/1 ü', 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1);
insert into app_state values ('läger/1 ü', 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1);
insert into app_state values ('läger/1 ü', 'k27ä', 'true', 1);
insert into app_state values ('läger/1 ü', 'k28ä', 'null', 1);
insert into app_state values ('läger/1 ü', 'k2ä', '1', 1);
insert into app_state values ('läger/1 ü', 'k3ä', '1.0', 1);
insert into app_state values ('läger/1 ü', 'k4ä', '1E2', 1);
insert into app_state values ('läger/1 ü', 'k5ä', '1e+2', 1);
insert into app_state values ('läger/1 ü', 'k6ä', '-0.0', 1);
insert into app_state values ('läger/1 ü', 'k7ä', '0e0', 1);
insert into app_state values ('läger/1 ü', 'k8ä', '1e-400', 1);
insert into app_state values ('läger/1 ü', 'k9ä', '0.1000000000000000055511151231257827', 1);
insert into app_state values ('shop', 'last', '"x"', 7);
insert into artifact_names values ('shop', 'ada', '', 0, 'user:address', 1, 0, 1, NULL);
insert into artifact_names values ('shop', 'ada', 'files', 6156037573961997116, 'notes/summary', 2, 1, 2, NULL);
insert into artifact_names values ('shop', 'ada', 'files-2', 5358610204835273162, 'gone', 1, NULL, 0, NULL);
insert into artifact_names values ('shop', 'ada', 'files-2', 5358610204835273162, 'page.html', 4, 3, 4, 3);
insert into artifact_names values ('shop', 'bob', 'by-adk', 2486909161431512084, 'a', 1, 0, 1, NULL);
insert into artifact_places values ('shop', 'ada', '', 0, 1);
insert into artifact_places values ('shop', 'ada', 'files', 6156037573961997116, 2);
insert into artifact_places values ('shop', 'ada', 'files-2', 5358610204835273162, 4);
insert into artifact_places values ('shop', 'bob', 'by-adk', 2486909161431512084, 1);
insert into artifact_spans values ('shop', 'ada', 'files-2', 5358610204835273162, 2, 'page.html', 1, 2, 0);
insert into artifact_spans values ('shop', 'ada', 'files-2', 5358610204835273162, 3, 'page.html', 2, 3, 2);
insert into artifact_state values ('shop', 'ada', 'files-2', 5358610204835273162, 'gone', 0, 4);
insert into artifact_state values ('shop', 'ada', 'files-2', 5358610204835273162, 'page.html', 3, 3);
insert into artifact_state values ('shop', 'ada', 'files', 6156037573961997116, 'notes/summary', 0, 1);
insert into artifact_state values ('shop', 'ada', 'files', 6156037573961997116, 'user:address', 0, 2);
insert into artifacts values ('shop', 'ada', 'files', 6156037573961997116, 'notes/summary', 0, 4706571233633080961, 'text', 'text/plain', 14, X'3E6C1234228EB2390FA98A214DC9021924B308E03BDFF3C19BE6E22D608173DE', '01a22784-8ed5-70a6-80f5-f7fccee775ab', 1795959328469431, '{"n":1.0}', NULL, NULL, 1, 'save-1', X'26419E28C76E7A79A0E9095791E4F0F2C2B8762A3394F5C51365C71CEBEB2984');
insert into artifacts values ('shop', 'ada', 'files', 6156037573961997116, 'notes/summary', 1, 8885895069850994798, 'bytes', 'a/b', 7, X'A9D7A888389F7C168A45F653D59E171FD5188CA7A88DE23A306070AB968E847D', '01a22784-8efc-769b-8d04-785071c72bc1', 1795959328508258, NULL, '"n"', NULL, NULL, 'save-2', X'139E072544FC51136CE7148E64C95E8C2BC71D474CFBEB1A793EA2274D6939A7');
insert into artifacts values ('shop', 'ada', '', 0, 'user:address', 0, 5178326415844999393, 'uri', 'c/d', NULL, NULL, NULL, 1795959328516156, NULL, NULL, '"gs://a/b"', 2, 'save-3', X'5F891A92236FAB2F7566EF7A7A61B65A17ECCF13C674360002BBFD995648A46B');
insert into artifacts values ('shop', 'ada', 'files-2', 5358610204835273162, 'page.html', 0, 4914427601945897583, 'bytes', 'text/html', 8, X'DB149029E10436BD960194453B725D04A252D8FDFDCAC86D4EB2DF7B85577B07', '01a22784-8f19-7440-a65b-01236164504a', 1795959328537202, NULL, NULL, NULL, 1, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 5358610204835273162, 'page.html', 1, 9128213294431143205, 'bytes', 'text/html', 8, X'6E784353EA75228D9D65F28D704F77C2B294757AE6D8CA74AE74A459DE564CFA', '01a22784-8f34-75c0-b477-4959d27ac155', 1795959328564891, NULL, NULL, NULL, NULL, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 5358610204835273162, 'page.html', 2, 5282706532653018256, 'bytes', 'text/html', 8, X'F543C768A1419D4865F627460E7D4F974AE95606E4981F9B6E829D09299E7DA8', '01a22784-8f37-72e8-ae55-5b9cb0245009', 1795959328567256, NULL, '"ü"', NULL, 2, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 5358610204835273162, 'page.html', 3, 6124521296639559053, 'bytes', 'text/html', 8, X'DB149029E10436BD960194453B725D04A252D8FDFDCAC86D4EB2DF7B85577B07', '01a22784-8f19-7440-a65b-01236164504a', 1795959328573912, NULL, NULL, NULL, 3, NULL, NULL);
insert into artifacts values ('shop', 'bob', 'by-adk', 2486909161431512084, 'a', 0, 895429857888003673, 'text', 'text/plain', 6, X'9A2F5DA45C096840A0CE25B489C89C3B91F4ECA1054E71D338BE0BCEFA7D3A2A', '01a22784-9014-7582-b202-305ea9284644', 1795959328788646, '{"m":"s"}', NULL, NULL, NULL, NULL, NULL);
insert into blob_chunks values ('shop', 'ada', '01a22784-8ed5-70a6-80f5-f7fccee775ab', 0, X'6772C3BCC39F000A22476F747422');
insert into blob_chunks values ('shop', 'ada', '01a22784-8efc-769b-8d04-785071c72bc1', 0, X'000102030405FF');
insert into blob_chunks values ('shop', 'ada', '01a22784-8f19-7440-a65b-01236164504a', 0, X'3C623E313C2F623E');
insert into blob_chunks values ('shop', 'ada', '01a22784-8f34-75c0-b477-4959d27ac155', 0, X'3C623E323C2F623E');
insert into blob_chunks values ('shop', 'ada', '01a22784-8f37-72e8-ae55-5b9cb0245009', 0, X'3C623E333C2F623E');
insert into blob_chunks values ('shop', 'bob', '01a22784-9014-7582-b202-305ea9284644', 0, X'62792041444B');
insert into blobs values ('shop', 'ada', '01a22784-8ed5-70a6-80f5-f7fccee775ab', 14, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22784-8efc-769b-8d04-785071c72bc1', 7, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22784-8f19-7440-a65b-01236164504a', 8, 2, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22784-8f34-75c0-b477-4959d27ac155', 8, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22784-8f37-72e8-ae55-5b9cb0245009', 8, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'bob', '01a22784-9014-7582-b202-305ea9284644', 6, 1, NULL, NULL, NULL, NULL, NULL);
insert into blocked_users values ('shop', X'262F195E664C002CA113BCEAE01E57164D7297E1625C1A51A82A81136BA4B5F6');
insert into changes values (1, 0, '', NULL, NULL, NULL, 0, 0, NULL, 1795959328194000);
insert into changes values (2, 7, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795959328345000);
insert into changes values (3, 7, 'shop', NULL, NULL, NULL, 2, 2, NULL, 1795959328347000);
insert into changes values (4, 6, 'shop', 'zoe', NULL, NULL, 1, 1, NULL, 1795959328353000);
insert into changes values (5, 6, 'shop', 'ada', NULL, NULL, 1, 1, NULL, 1795959328355000);
insert into changes values (6, 1, 'shop', 'ada', 'files', 6156037573961997116, 0, 0, NULL, 1795959328365000);
insert into changes values (7, 1, 'shop', 'ada', 'order-1', 8473957536909502599, 0, 0, NULL, 1795959328369000);
insert into changes values (8, 6, 'shop', 'ada', NULL, NULL, 2, 2, NULL, 1795959328369000);
insert into changes values (9, 7, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1795959328369000);
insert into changes values (10, 2, 'shop', 'ada', 'order-1', 8473957536909502599, 1, 1, NULL, 1795959328377000);
insert into changes values (11, 6, 'shop', 'ada', NULL, NULL, 3, 3, NULL, 1795959328377000);
insert into changes values (12, 2, 'shop', 'ada', 'order-1', 8473957536909502599, 2, 3, NULL, 1795959328385000);
insert into changes values (13, 7, 'shop', NULL, NULL, NULL, 4, 4, NULL, 1795959328385000);
insert into changes values (14, 2, 'shop', 'ada', 'order-1', 8473957536909502599, 4, 4, NULL, 1795959328394000);
insert into changes values (15, 2, 'shop', 'ada', 'order-1', 8473957536909502599, 5, 5, NULL, 1795959328404000);
insert into changes values (16, 2, 'shop', 'ada', 'order-1', 8473957536909502599, 6, 6, NULL, 1795959328408000);
insert into changes values (17, 6, 'shop', 'ada', NULL, NULL, 4, 4, NULL, 1795959328408000);
insert into changes values (18, 1, 'shop', 'ada', 'order-1-again', 1731505049034132654, 0, 3, '{"sessionId":"order-1","revision":3}', 1795959328467000);
insert into changes values (19, 2, 'shop', 'ada', 'order-1-again', 1731505049034132654, 1, 3, NULL, 1795959328467000);
insert into changes values (20, 9, 'shop', 'ada', 'files', 6156037573961997116, 0, 0, '{"name":"notes/summary","version":0,"size":14}', 1795959328474000);
insert into changes values (21, 2, 'shop', 'ada', 'files', 6156037573961997116, 1, 1, NULL, 1795959328474000);
insert into changes values (22, 9, 'shop', 'ada', 'files', 6156037573961997116, 0, 0, '{"name":"notes/summary","version":1,"size":7}', 1795959328510000);
insert into changes values (23, 9, 'shop', 'ada', NULL, NULL, 0, 0, '{"name":"user:address","version":0}', 1795959328521000);
insert into changes values (24, 2, 'shop', 'ada', 'files', 6156037573961997116, 2, 2, NULL, 1795959328521000);
insert into changes values (25, 3, 'shop', 'ada', 'order-1-again', 1731505049034132654, 0, 0, '{"displayName":"forked","labels":{"a":"b"},"expireTime":4102444800.000000}', 1795959328525000);
insert into changes values (26, 2, 'shop', 'ada', 'order-1-again', 1731505049034132654, 4, 4, NULL, 1795959328532000);
insert into changes values (27, 6, 'shop', 'ada', NULL, NULL, 5, 5, NULL, 1795959328532000);
insert into changes values (28, 1, 'shop', 'ada', 'files-2', 5358610204835273162, 0, 0, NULL, 1795959328535000);
insert into changes values (29, 9, 'shop', 'ada', 'files-2', 5358610204835273162, 0, 0, '{"name":"page.html","version":0,"size":8}', 1795959328540000);
insert into changes values (30, 2, 'shop', 'ada', 'files-2', 5358610204835273162, 1, 1, NULL, 1795959328540000);
insert into changes values (31, 9, 'shop', 'ada', 'files-2', 5358610204835273162, 0, 0, '{"name":"page.html","version":1,"size":8}', 1795959328565000);
insert into changes values (32, 9, 'shop', 'ada', 'files-2', 5358610204835273162, 0, 0, '{"name":"page.html","version":2,"size":8}', 1795959328571000);
insert into changes values (33, 2, 'shop', 'ada', 'files-2', 5358610204835273162, 2, 2, NULL, 1795959328571000);
insert into changes values (34, 9, 'shop', 'ada', 'files-2', 5358610204835273162, 0, 0, '{"name":"page.html","version":3,"size":8}', 1795959328581000);
insert into changes values (35, 2, 'shop', 'ada', 'files-2', 5358610204835273162, 3, 3, NULL, 1795959328581000);
insert into changes values (36, 9, 'shop', 'ada', 'files-2', 5358610204835273162, 0, 0, '{"name":"gone","version":0,"size":1}', 1795959328588000);
insert into changes values (37, 2, 'shop', 'ada', 'files-2', 5358610204835273162, 4, 4, NULL, 1795959328588000);
insert into changes values (38, 10, 'shop', 'ada', 'files-2', 5358610204835273162, 0, 0, '{"name":"gone","reason":"deleted"}', 1795959328590000);
insert into changes values (39, 1, 'shop', 'ada', 'compacted', 8851001820199837056, 0, 0, NULL, 1795959328595000);
insert into changes values (40, 2, 'shop', 'ada', 'compacted', 8851001820199837056, 1, 1, NULL, 1795959328599000);
insert into changes values (41, 2, 'shop', 'ada', 'compacted', 8851001820199837056, 2, 2, NULL, 1795959328602000);
insert into changes values (42, 2, 'shop', 'ada', 'compacted', 8851001820199837056, 3, 3, NULL, 1795959328604000);
insert into changes values (43, 2, 'shop', 'ada', 'compacted', 8851001820199837056, 4, 4, NULL, 1795959328606000);
insert into changes values (44, 2, 'shop', 'ada', 'compacted', 8851001820199837056, 5, 5, NULL, 1795959328609000);
insert into changes values (45, 2, 'shop', 'ada', 'compacted', 8851001820199837056, 6, 6, NULL, 1795959328614000);
insert into changes values (46, 1, 'shop', 'ada', 'trimmed', 2283741936227673879, 0, 0, NULL, 1795959328620000);
insert into changes values (47, 2, 'shop', 'ada', 'trimmed', 2283741936227673879, 1, 1, NULL, 1795959328624000);
insert into changes values (48, 2, 'shop', 'ada', 'trimmed', 2283741936227673879, 2, 2, NULL, 1795959328627000);
insert into changes values (49, 2, 'shop', 'ada', 'trimmed', 2283741936227673879, 3, 3, NULL, 1795959328630000);
insert into changes values (50, 2, 'shop', 'ada', 'trimmed', 2283741936227673879, 4, 4, NULL, 1795959328634000);
insert into changes values (51, 2, 'shop', 'ada', 'trimmed', 2283741936227673879, 5, 5, NULL, 1795959328637000);
insert into changes values (52, 4, 'shop', 'ada', 'trimmed', 2283741936227673879, 0, 3, NULL, 1795959328640000);
insert into changes values (53, 1, 'shop', 'ada', 'moved', 8326632925660258884, 0, 0, NULL, 1795959328672000);
insert into changes values (54, 2, 'shop', 'ada', 'moved', 8326632925660258884, 1, 1, NULL, 1795959328674000);
insert into changes values (55, 2, 'shop', 'ada', 'moved', 8326632925660258884, 2, 2, NULL, 1795959328677000);
insert into changes values (56, 2, 'shop', 'ada', 'moved', 8326632925660258884, 3, 3, NULL, 1795959328680000);
insert into changes values (57, 2, 'shop', 'ada', 'moved', 8326632925660258884, 4, 4, NULL, 1795959328683000);
insert into changes values (58, 2, 'shop', 'ada', 'moved', 8326632925660258884, 5, 5, NULL, 1795959328686000);
insert into changes values (59, 4, 'shop', 'ada', 'moved', 8326632925660258884, 0, 3, NULL, 1795959328689000);
insert into changes values (60, 1, 'shop', 'ada', 'redacted', 8068598782224942119, 0, 0, NULL, 1795959328696000);
insert into changes values (61, 2, 'shop', 'ada', 'redacted', 8068598782224942119, 1, 1, NULL, 1795959328704000);
insert into changes values (62, 6, 'shop', 'ada', NULL, NULL, 6, 6, NULL, 1795959328704000);
insert into changes values (63, 11, 'shop', 'ada', 'redacted', 8068598782224942119, 1, 1, NULL, 1795959328709000);
insert into changes values (64, 2, 'shop', 'ada', 'redacted', 8068598782224942119, 2, 2, NULL, 1795959328737000);
insert into changes values (65, 6, 'shop', 'ada', NULL, NULL, 7, 7, NULL, 1795959328737000);
insert into changes values (66, 11, 'shop', 'ada', 'redacted', 8068598782224942119, 2, 2, NULL, 1795959328750000);
insert into changes values (67, 2, 'shop', 'ada', 'redacted', 8068598782224942119, 3, 3, NULL, 1795959328750000);
insert into changes values (68, 6, 'shop', 'ada', NULL, NULL, 8, 8, NULL, 1795959328750000);
insert into changes values (69, 1, 'shop', 'ada', 'deleted', 2041358918286310513, 0, 0, NULL, 1795959328757000);
insert into changes values (70, 7, 'shop', NULL, NULL, NULL, 5, 5, NULL, 1795959328757000);
insert into changes values (71, 5, 'shop', 'ada', 'deleted', 2041358918286310513, 0, 0, 'deleted', 1795959328761000);
insert into changes values (72, 1, 'shop', 'bob', 'by-adk', 2486909161431512084, 0, 0, NULL, 1795959328764000);
insert into changes values (73, 6, 'shop', 'bob', NULL, NULL, 1, 1, NULL, 1795959328764000);
insert into changes values (74, 9, 'shop', 'bob', 'by-adk', 2486909161431512084, 0, 0, '{"name":"a","version":0,"size":6}', 1795959328790000);
insert into changes values (75, 5, 'shop', 'ada', 'moved', 8326632925660258884, 0, 0, 'deleted', 1795959328842000);
insert into changes values (76, 1, 'shop', 'ada', 'moved', 8171852357083951655, 0, 5, NULL, 1795959328846000);
insert into changes values (77, 2, 'shop', 'ada', 'moved', 8171852357083951655, 4, 5, NULL, 1795959328846000);
insert into changes values (78, 1, 'copy', 'ada', 'order-1', 7917843400581816598, 0, 6, NULL, 1795959328876000);
insert into changes values (79, 2, 'copy', 'ada', 'order-1', 7917843400581816598, 1, 6, NULL, 1795959328876000);
insert into changes values (80, 1, 'läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 0, 0, NULL, 1795959328879000);
insert into changes values (81, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 1, 1, NULL, 1795959328882000);
insert into changes values (82, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 2, 2, NULL, 1795959328889000);
insert into changes values (83, 6, 'läger/1 ü', 'ß ø@例え', NULL, NULL, 1, 1, NULL, 1795959328889000);
insert into changes values (84, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 3, 3, NULL, 1795959328895000);
insert into changes values (85, 7, 'läger/1 ü', NULL, NULL, NULL, 1, 1, NULL, 1795959328895000);
insert into changes values (86, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1795959328904000);
insert into changes values (87, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795959328904000);
insert into changes values (88, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795959328904000);
insert into changes values (89, 7, 'shop', NULL, NULL, NULL, 6, 6, NULL, 1795959328904000);
insert into changes values (90, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22784-908a-7527-b6f8-a7dcc626bd2d","subject":"262f195e664c002ca113bceae01e57164d7297e1625c1a51a82a81136ba4b5f6"}', 1795959328910000);
insert into changes values (91, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1795959329031000);
insert into changes values (92, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795959329031000);
insert into changes values (93, 0, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1795959329031000);
insert into changes values (94, 7, 'shop', NULL, NULL, NULL, 7, 7, NULL, 1795959329031000);
insert into changes values (95, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22784-9108-72e7-a793-9a647ea2900e","subject":"06a403e3d3992163487a90d639701b3892437d4efa9c4e05be7f626c6a30df8c"}', 1795959329036000);
insert into effective_views values ('shop', 'ada', 'compacted', 8851001820199837056, 5, '{"covered":[[1,3]],"needed":[],"unsure":false,"kept":[[5,4607182418800017408,4613937818241073152,{"scope":null,"branch":null,"node":false},5]]}');
insert into erased_revisions values ('shop', 4);
insert into erasure_counts values ('shop', 2);
insert into erasure_secrets values ('receipt', X'3051020101300506032B6570042204205B50F52108988C8332D1837A6BB02DA973BBA97338634B2D24DF5B1DD9F7728E812100288598C9D9B69BB8BB79E41B849CA2ACA8BE5181A4415284A82BE344DA42AC3D');
insert into erasure_secrets values ('salt', X'49574A8AF29F511F47627A1D7BE580CA09CC8B06471DC80DBCAA184CBB55A81A');
insert into erasures values ('01a22784-908a-7527-b6f8-a7dcc626bd2d', 'shop', X'262F195E664C002CA113BCEAE01E57164D7297E1625C1A51A82A81136BA4B5F6', X'AF0AC437E58AEB02673A556DFC0B5AF6A1B848FBC4BE5E7B1261890B3FF9404F', 'case 17', 1, 1, 1795959328906306, 1795959329017353, 1, 1, 2, 1, 0, '{"id":"01a22784-908a-7527-b6f8-a7dcc626bd2d","appName":"shop","subject":"262f195e664c002ca113bceae01e57164d7297e1625c1a51a82a81136ba4b5f6","reference":"case 17","requestTime":1795959328.906306,"doneTime":1795959329.017353,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":true,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens","a keyed hash of app and user by which the user is refused"],"instance":"d59dd9ac778b87444ca079fa78df5d0e","keyId":"4c920abd4b98c864","signature":"k3hiBtWVUQz_YaDALBvD7PDUuot0a8G9s01EVVdBdvR7W7-fmK4CAJ98Ka5rCyvFp8cfVlBIFEImxC1FvEQpDw"}');
insert into erasures values ('01a22784-9108-72e7-a793-9a647ea2900e', 'shop', X'06A403E3D3992163487A90D639701B3892437D4EFA9C4E05BE7F626C6A30DF8C', NULL, 'case 18', NULL, 0, 1795959329032979, 1795959329128163, 1, 1, 2, 1, 0, '{"id":"01a22784-9108-72e7-a793-9a647ea2900e","appName":"shop","subject":"06a403e3d3992163487a90d639701b3892437d4efa9c4e05be7f626c6a30df8c","reference":"case 18","requestTime":1795959329.032979,"doneTime":1795959329.128163,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":false,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens"],"instance":"d59dd9ac778b87444ca079fa78df5d0e","keyId":"4c920abd4b98c864","signature":"RqSl7npKbrPHPU8MXVvFKTcU4GQfVvlS1QwSPmbvsArUGegfqet1v0bvapx004tS4AQLMU_Os_uNZzZjqdRKAw"}');
insert into events values ('shop', 'ada', 'order-1', 8473957536909502599, 1, 'e1', 1500000, 1795959328375867, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('shop', 'ada', 'order-1', 8473957536909502599, 2, 'e2', 1795959328379262, 1795959328379917, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1795959328.379262}', NULL);
insert into events values ('shop', 'ada', 'order-1', 8473957536909502599, 3, 'e3', 1795959328379262, 1795959328379917, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1795959328.379262}', NULL);
insert into events values ('shop', 'ada', 'order-1', 8473957536909502599, 4, 'rewind-1', 1795959328387466, 1795959328393531, 'user', 'rewind-01a22784-8e83-73ad-a7de-a868ea4695d2', NULL, 3, 4, 2, X'A92732C9AB665E670DB79C4C80D4F37859B497655E5FE3D4050AC87392D72388', '{"author":"user","invocationId":"rewind-01a22784-8e83-73ad-a7de-a868ea4695d2","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1795959328.387466}', NULL);
insert into events values ('shop', 'ada', 'order-1', 8473957536909502599, 5, 'put-1', 1795959328396380, 1795959328399950, 'user', '', NULL, 3, 4, NULL, X'092F58824834CCFBEE5844FCF7C78C5BF2B2628CDD2601E3FDBE2AD78B3A4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1795959328.396380}', NULL);
insert into events values ('shop', 'ada', 'order-1', 8473957536909502599, 6, 'patch-1', 1795959328405813, 1795959328406591, 'agent', '', NULL, 4, 4, NULL, X'6EBA5E92B5A282EBC5D1C847BFC06332ABC5A8BE554AA8ACCF3D24C8E88E37D5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1795959328.405813}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 1731505049034132654, 1, 'e1', 1500000, 1795959328375867, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 1731505049034132654, 2, 'e2', 1795959328379262, 1795959328379917, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1795959328.379262}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 1731505049034132654, 3, 'e3', 1795959328379262, 1795959328379917, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1795959328.379262}', NULL);
insert into events values ('shop', 'ada', 'files', 6156037573961997116, 1, '01a22784-8ed5-70a6-80f5-f7fded0673e1', 1795959328469431, 1795959328473047, 'user', '', NULL, 4, 4, NULL, X'D2E2E5C0F9AED3095775C9C8F1BC1925FBCEB4704466F38B9E2A05F080ED24B6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"notes/summary":0}},"id":"01a22784-8ed5-70a6-80f5-f7fded0673e1","timestamp":1795959328.469431}', NULL);
insert into events values ('shop', 'ada', 'files', 6156037573961997116, 2, '01a22784-8f04-75ed-a16e-48a6dc78d204', 1795959328516156, 1795959328520710, 'user', '', NULL, 4, 4, NULL, X'601AC91DD78257428AFF5E52EF0CF956333CE74FF62FF6F9C0EE2174F1AEEBC6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"user:address":0}},"id":"01a22784-8f04-75ed-a16e-48a6dc78d204","timestamp":1795959328.516156}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 1731505049034132654, 4, 'own', 1795959328531701, 1795959328532050, 'user', '', NULL, 5, 4, NULL, X'ABAC0094F067CA3A080374546A8F16559889F3D0C2DB27C80EC48CA855EDF5D3', '{"id":"own","author":"user","actions":{"stateDelta":{"user:n":7}},"timestamp":1795959328.531701}', NULL);
insert into events values ('shop', 'ada', 'files-2', 5358610204835273162, 1, '01a22784-8f19-7440-a65b-01243da6dd2a', 1795959328537202, 1795959328538043, 'user', '', NULL, 5, 4, NULL, X'2E8CC7579CFFF08786CE4C8806BD956E831F50E37DDCFEFE584B2D0E6EA27985', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":0}},"id":"01a22784-8f19-7440-a65b-01243da6dd2a","timestamp":1795959328.537202}', NULL);
insert into events values ('shop', 'ada', 'files-2', 5358610204835273162, 2, '01a22784-8f37-72e8-ae55-5b9d0ec71994', 1795959328567256, 1795959328568548, 'user', '', NULL, 5, 4, NULL, X'80D48EAE81BBE94071B8B31400F3C11BCB79002CD30FA2CAF13AA738E46633C2', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":2}},"id":"01a22784-8f37-72e8-ae55-5b9d0ec71994","timestamp":1795959328.567256}', NULL);
insert into events values ('shop', 'ada', 'files-2', 5358610204835273162, 3, '01a22784-8f3d-74eb-a9fd-5755905591a7', 1795959328573912, 1795959328576568, 'user', 'rewind-01a22784-8f3d-74eb-a9fd-5756056c122d', NULL, 5, 4, 1, X'99EC26B8963ECCB744CF44E08825DFC0C1027FCC023706053EEA425197DA8BAB', '{"author":"user","invocationId":"rewind-01a22784-8f3d-74eb-a9fd-5756056c122d","actions":{"stateDelta":{},"rewindBeforeInvocationId":"","artifactDelta":{"page.html":3}},"customMetadata":{"rewindToRevision":1},"id":"01a22784-8f3d-74eb-a9fd-5755905591a7","timestamp":1795959328.573912}', NULL);
insert into events values ('shop', 'ada', 'files-2', 5358610204835273162, 4, '01a22784-8f48-7256-8e0a-3233cf892612', 1795959328584853, 1795959328586242, 'user', '', NULL, 5, 4, NULL, X'65F05C4408D5AECEBEA0AD84224D538BAEA2B514D41885DC4A2462ECE115D210', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"gone":0}},"id":"01a22784-8f48-7256-8e0a-3233cf892612","timestamp":1795959328.584853}', NULL);
insert into events values ('shop', 'ada', 'compacted', 8851001820199837056, 1, 'c1', 1000000, 1795959328598436, 'user', '', NULL, 5, 4, NULL, X'249CD456F8A74212A410A302A901B41D830C2659E48737E6AE21D7CF0B6AFF57', '{"id":"c1","author":"user","timestamp":1,"content":{"parts":[{"text":"1"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 8851001820199837056, 2, 'c2', 2000000, 1795959328601602, 'user', '', NULL, 5, 4, NULL, X'F680371D2B6E2F9D8A0FDEAFE556555B5DF34CB1FD66A522FF0A8ABAEE264B2D', '{"id":"c2","author":"user","timestamp":2,"content":{"parts":[{"text":"2"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 8851001820199837056, 3, 'c3', 3000000, 1795959328604164, 'user', '', NULL, 5, 4, NULL, X'E49233C089B6757E03E35240335E71790F5C5EFE2BB2F209D847FCC8719F6D55', '{"id":"c3","author":"user","timestamp":3,"content":{"parts":[{"text":"3"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 8851001820199837056, 4, 'c4', 4000000, 1795959328605964, 'user', '', NULL, 5, 4, NULL, X'BE10D376FFB0E7AEEB33FBE5F68C72675B04DC9A8E0541BBE6CD7690CA245DD4', '{"id":"c4","author":"user","timestamp":4,"content":{"parts":[{"text":"4"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 8851001820199837056, 5, 'sum', 5000000, 1795959328607800, 'agent', '', NULL, 5, 4, -1, X'2585B1D6369DD3B1F387F46B7886EACF90A8ACF9098174BC4BB3BAC18B6AD881', '{"id":"sum","author":"agent","timestamp":5,"actions":{"compaction":{"startTimestamp":1,"endTimestamp":3,"compactedContent":{"role":"model","parts":[{"text":"1 to 3"}]}}}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 8851001820199837056, 6, 'last', 6000000, 1795959328613366, 'user', '', NULL, 5, 4, NULL, X'6E30AB5A008548DD04251542838F5591806078AD17B61289A8EDF5F1F50CB1A6', '{"id":"last","author":"user","timestamp":6}', NULL);
insert into events values ('shop', 'ada', 'trimmed', 2283741936227673879, 1, 't1', 1795959328622770, 1795959328622901, '', '', NULL, 5, 4, NULL, X'FF2D88C66F77E0238B99E82D83E7DB0C21EDDA552CC80296614C3DF02B01BA8C', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 2283741936227673879, 2, 't2', 1795959328627128, 1795959328627466, '', '', NULL, 5, 4, NULL, X'6A790D825986340576AC3F9489FE714CAAF96F13F8E290114CC4412B2BDA686B', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 2283741936227673879, 3, 't3', 1795959328629455, 1795959328629610, '', '', NULL, 5, 4, NULL, X'328D69FB0E1172DCB5AC25EFE82CB7E226756E7723E10AF118220AF799DD1756', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 2283741936227673879, 4, 't4', 1795959328632472, 1795959328632631, 'a', '', NULL, 5, 4, NULL, X'647278D9F4A40649CF88D24F234524AFA68425EFC8862D9DBB6E190B074B277A', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1795959328.632472}', NULL);
insert into events values ('shop', 'ada', 'trimmed', 2283741936227673879, 5, 't5', 1795959328636663, 1795959328636800, 'a', '', NULL, 5, 4, NULL, X'8B8C18622A99B65602D693776167AB69499E522B6F9DEB569A835F5089CE23B7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1795959328.636663}', NULL);
insert into events values ('shop', 'ada', 'redacted', 8068598782224942119, 1, 'kept', 1795959328699864, 1795959328700013, 'user', '', NULL, 6, 4, NULL, X'0000000000000000000000000000000000000000000000000000000000000000', '{"id":"kept","timestamp":1795959328.699864,"author":"user","actions":{"stateDelta":{"kept":"hunter2","user:kept":"hunter2"}},"redacted":{"time":1795959328.706408,"reason":"a password"}}', 1);
insert into events values ('shop', 'ada', 'redacted', 8068598782224942119, 2, 'removed', 1795959328736919, 1795959328737316, 'user', '', NULL, 7, 4, NULL, X'0000000000000000000000000000000000000000000000000000000000000000', '{"id":"removed","timestamp":1795959328.736919,"author":"user","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"redacted":{"time":1795959328.741140,"reason":"a password"}}', 2);
insert into events values ('shop', 'ada', 'redacted', 8068598782224942119, 3, '01a22784-8fe3-7214-b54b-0e89719dc03f', 1795959328739043, 1795959328748862, 'user', '', NULL, 8, 4, NULL, X'8C372D64E780678DB298D472C65643BBAC5AB92E04588C224C9EA5E5E0C7EDE4', '{"id":"01a22784-8fe3-7214-b54b-0e89719dc03f","author":"user","invocationId":"","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"timestamp":1795959328.739043}', -2);
insert into events values ('shop', 'ada', 'moved', 8171852357083951655, 1, 't1', 1795959328673802, 1795959328673933, '', '', NULL, 5, 4, NULL, X'FF2D88C66F77E0238B99E82D83E7DB0C21EDDA552CC80296614C3DF02B01BA8C', '', NULL);
insert into events values ('shop', 'ada', 'moved', 8171852357083951655, 2, 't2', 1795959328677025, 1795959328677161, '', '', NULL, 5, 4, NULL, X'6A790D825986340576AC3F9489FE714CAAF96F13F8E290114CC4412B2BDA686B', '', NULL);
insert into events values ('shop', 'ada', 'moved', 8171852357083951655, 3, 't3', 1795959328678868, 1795959328678994, '', '', NULL, 5, 4, NULL, X'328D69FB0E1172DCB5AC25EFE82CB7E226756E7723E10AF118220AF799DD1756', '', NULL);
insert into events values ('shop', 'ada', 'moved', 8171852357083951655, 4, 't4', 1795959328681426, 1795959328681580, 'a', '', NULL, 5, 4, NULL, X'647278D9F4A40649CF88D24F234524AFA68425EFC8862D9DBB6E190B074B277A', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1795959328.681426}', NULL);
insert into events values ('shop', 'ada', 'moved', 8171852357083951655, 5, 't5', 1795959328685698, 1795959328685833, 'a', '', NULL, 5, 4, NULL, X'8B8C18622A99B65602D693776167AB69499E522B6F9DEB569A835F5089CE23B7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1795959328.685698}', NULL);
insert into events values ('copy', 'ada', 'order-1', 7917843400581816598, 1, 'e1', 1500000, 1795959328375867, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('copy', 'ada', 'order-1', 7917843400581816598, 2, 'e2', 1795959328379262, 1795959328379917, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1795959328.379262}', NULL);
insert into events values ('copy', 'ada', 'order-1', 7917843400581816598, 3, 'e3', 1795959328379262, 1795959328379917, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1795959328.379262}', NULL);
insert into events values ('copy', 'ada', 'order-1', 7917843400581816598, 4, 'rewind-1', 1795959328387466, 1795959328393531, 'user', 'rewind-01a22784-8e83-73ad-a7de-a868ea4695d2', NULL, 3, 4, 2, X'A92732C9AB665E670DB79C4C80D4F37859B497655E5FE3D4050AC87392D72388', '{"author":"user","invocationId":"rewind-01a22784-8e83-73ad-a7de-a868ea4695d2","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1795959328.387466}', NULL);
insert into events values ('copy', 'ada', 'order-1', 7917843400581816598, 5, 'put-1', 1795959328396380, 1795959328399950, 'user', '', NULL, 3, 4, NULL, X'092F58824834CCFBEE5844FCF7C78C5BF2B2628CDD2601E3FDBE2AD78B3A4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1795959328.396380}', NULL);
insert into events values ('copy', 'ada', 'order-1', 7917843400581816598, 6, 'patch-1', 1795959328405813, 1795959328406591, 'agent', '', NULL, 4, 4, NULL, X'6EBA5E92B5A282EBC5D1C847BFC06332ABC5A8BE554AA8ACCF3D24C8E88E37D5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1795959328.405813}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 1, 'e/ä', 1795959328880664, 1795959328880831, 'agent', '', NULL, 0, 0, NULL, X'E78CFB5291353133438166F3E9E1F7DA2539E819856DE2D160DEA064905B1F7C', '{"id":"e/ä","author":"agent","actions":{"stateDelta":{ "k0ä": 0 , "k1ä": -0 , "k2ä": 1 , "k3ä": 1.0 , "k4ä": 1E2 , "k5ä": 1e+2 , "k6ä": -0.0 , "k7ä": 0e0 , "k8ä": 1e-400 , "k9ä": 0.1000000000000000055511151231257827 , "k10ä": 1180591620717411303424 , "k11ä": -170141183460469231731687303715884105729 , "k12ä": 1.7976931348623157e308 , "k13ä": 9007199254740993 , "k14ä": "\u0000" , "k15ä": "a\u0000b\u001f\u007f" , "k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "k17ä": "\/ / \" \\ \b\f\n\r\t" , "k18ä": " ﻿�􏿿" , "k19ä": "" , "k20ä": {"b":1,"a":2,"":3,"B":4} , "k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "k22ä": [ ] , "k23ä": {"$serde_json::private::RawValue": "[1]"} , "k24ä": {"$serde_json::private::Number": "1"} , "k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "k26ä": {"__proto__":1,"constructor":{"x":null}} , "k27ä": true , "k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1795959328.880664}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 2, 'user:e/ä', 1795959328885369, 1795959328886995, 'agent', '', NULL, 1, 0, NULL, X'AAEB3F9FD8C682C65552B5F40D0C01C5E8880C8B8CC9650F2751ABEAFFB0268B', '{"id":"user:e/ä","author":"agent","actions":{"stateDelta":{ "user:k0ä": 0 , "user:k1ä": -0 , "user:k2ä": 1 , "user:k3ä": 1.0 , "user:k4ä": 1E2 , "user:k5ä": 1e+2 , "user:k6ä": -0.0 , "user:k7ä": 0e0 , "user:k8ä": 1e-400 , "user:k9ä": 0.1000000000000000055511151231257827 , "user:k10ä": 1180591620717411303424 , "user:k11ä": -170141183460469231731687303715884105729 , "user:k12ä": 1.7976931348623157e308 , "user:k13ä": 9007199254740993 , "user:k14ä": "\u0000" , "user:k15ä": "a\u0000b\u001f\u007f" , "user:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "user:k17ä": "\/ / \" \\ \b\f\n\r\t" , "user:k18ä": " ﻿�􏿿" , "user:k19ä": "" , "user:k20ä": {"b":1,"a":2,"":3,"B":4} , "user:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "user:k22ä": [ ] , "user:k23ä": {"$serde_json::private::RawValue": "[1]"} , "user:k24ä": {"$serde_json::private::Number": "1"} , "user:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "user:k26ä": {"__proto__":1,"constructor":{"x":null}} , "user:k27ä": true , "user:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1795959328.885369}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 3, 'app:e/ä', 1795959328891856, 1795959328892022, 'agent', '', NULL, 1, 1, NULL, X'7C243795615B1D07ED39E8C4AFFB45B944DE62BE3E14B9683ECFEFE79FB05006', '{"id":"app:e/ä","author":"agent","actions":{"stateDelta":{ "app:k0ä": 0 , "app:k1ä": -0 , "app:k2ä": 1 , "app:k3ä": 1.0 , "app:k4ä": 1E2 , "app:k5ä": 1e+2 , "app:k6ä": -0.0 , "app:k7ä": 0e0 , "app:k8ä": 1e-400 , "app:k9ä": 0.1000000000000000055511151231257827 , "app:k10ä": 1180591620717411303424 , "app:k11ä": -170141183460469231731687303715884105729 , "app:k12ä": 1.7976931348623157e308 , "app:k13ä": 9007199254740993 , "app:k14ä": "\u0000" , "app:k15ä": "a\u0000b\u001f\u007f" , "app:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "app:k17ä": "\/ / \" \\ \b\f\n\r\t" , "app:k18ä": " ﻿�􏿿" , "app:k19ä": "" , "app:k20ä": {"b":1,"a":2,"":3,"B":4} , "app:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "app:k22ä": [ ] , "app:k23ä": {"$serde_json::private::RawValue": "[1]"} , "app:k24ä": {"$serde_json::private::Number": "1"} , "app:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "app:k26ä": {"__proto__":1,"constructor":{"x":null}} , "app:k27ä": true , "app:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1795959328.891856}', NULL);
insert into policies values ('none', 2, NULL, NULL, NULL, NULL, 0);
insert into policies values ('shop', 1, '{"sessions":{"maxAge":"36500d"},"artifacts":{"keepVersions":50},"limits":{"sessionsPerUser":1000,"eventsPerSession":1000}}', 1000, 1000, NULL, 0);
insert into session_spans values ('shop', 'ada', 'order-1-again', 1731505049034132654, 1, 'n', 0, 1, '1.10');
insert into session_spans values ('shop', 'ada', 'order-1-again', 1731505049034132654, 2, 'n', 1, 3, '1E2');
insert into session_spans values ('shop', 'ada', 'order-1-again', 1731505049034132654, 2, 'topic', 0, 3, '"return"');
insert into session_spans values ('shop', 'ada', 'trimmed', 2283741936227673879, 4, 'k', 3, 4, '3');
insert into session_spans values ('shop', 'ada', 'trimmed', 2283741936227673879, 5, 'k', 4, 5, '4');
insert into session_spans values ('copy', 'ada', 'order-1', 7917843400581816598, 1, 'n', 0, 1, '1.10');
insert into session_spans values ('copy', 'ada', 'order-1', 7917843400581816598, 2, 'n', 1, 3, '1E2');
insert into session_spans values ('copy', 'ada', 'order-1', 7917843400581816598, 2, 'topic', 0, 3, '"return"');
insert into session_spans values ('copy', 'ada', 'order-1', 7917843400581816598, 4, 'n', 3, 4, 'null');
insert into session_spans values ('shop', 'ada', 'moved', 8171852357083951655, 4, 'k', 3, 4, '3');
insert into session_spans values ('shop', 'ada', 'moved', 8171852357083951655, 5, 'k', 4, 5, '4');
insert into session_spans values ('shop', 'ada', 'order-1', 8473957536909502599, 1, 'n', 0, 1, '1.10');
insert into session_spans values ('shop', 'ada', 'order-1', 8473957536909502599, 2, 'n', 1, 3, '1E2');
insert into session_spans values ('shop', 'ada', 'order-1', 8473957536909502599, 2, 'topic', 0, 3, '"return"');
insert into session_spans values ('shop', 'ada', 'order-1', 8473957536909502599, 4, 'n', 3, 4, 'null');
insert into session_state values ('shop', 'ada', 'order-1', 8473957536909502599, 'n', '1E2', 4);
insert into session_state values ('shop', 'ada', 'order-1', 8473957536909502599, 'big', '1180591620717411303424', 1);
insert into session_state values ('shop', 'ada', 'order-1', 8473957536909502599, 'neg', '-0', 1);
insert into session_state values ('shop', 'ada', 'order-1', 8473957536909502599, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('shop', 'ada', 'order-1', 8473957536909502599, 'list', '[-0.0]', 2);
insert into session_state values ('shop', 'ada', 'order-1', 8473957536909502599, 'topic', '"return"', 4);
insert into session_state values ('shop', 'ada', 'order-1', 8473957536909502599, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5);
insert into session_state values ('shop', 'ada', 'order-1', 8473957536909502599, 'step', '"refund"', 6);
insert into session_state values ('shop', 'ada', 'order-1-again', 1731505049034132654, 'big', '1180591620717411303424', 1);
insert into session_state values ('shop', 'ada', 'order-1-again', 1731505049034132654, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('shop', 'ada', 'order-1-again', 1731505049034132654, 'list', '[-0.0]', 2);
insert into session_state values ('shop', 'ada', 'order-1-again', 1731505049034132654, 'neg', '-0', 1);
insert into session_state values ('shop', 'ada', 'order-1-again', 1731505049034132654, 'n', 'null', 3);
insert into session_state values ('shop', 'ada', 'files-2', 5358610204835273162, 'k', '1', 0);
insert into session_state values ('shop', 'ada', 'trimmed', 2283741936227673879, 'k', '5', 5);
insert into session_state values ('shop', 'ada', 'trimmed', 2283741936227673879, 'k1', '1', 1);
insert into session_state values ('shop', 'ada', 'trimmed', 2283741936227673879, 'k2', '2', 2);
insert into session_state values ('shop', 'ada', 'trimmed', 2283741936227673879, 'k3', '3', 3);
insert into session_state values ('shop', 'ada', 'trimmed', 2283741936227673879, 'k4', '4', 4);
insert into session_state values ('shop', 'ada', 'trimmed', 2283741936227673879, 'k5', '5', 5);
insert into session_state values ('shop', 'ada', 'redacted', 8068598782224942119, 'kept', '"hunter2"', 1);
insert into session_state values ('shop', 'bob', 'by-adk', 2486909161431512084, 'topic', '"warranty"', 0);
insert into session_state values ('shop', 'ada', 'moved', 8171852357083951655, 'k', '5', 5);
insert into session_state values ('shop', 'ada', 'moved', 8171852357083951655, 'k1', '1', 3);
insert into session_state values ('shop', 'ada', 'moved', 8171852357083951655, 'k2', '2', 3);
insert into session_state values ('shop', 'ada', 'moved', 8171852357083951655, 'k3', '3', 3);
insert into session_state values ('shop', 'ada', 'moved', 8171852357083951655, 'k4', '4', 4);
insert into session_state values ('shop', 'ada', 'moved', 8171852357083951655, 'k5', '5', 5);
insert into session_state values ('copy', 'ada', 'order-1', 7917843400581816598, 'big', '1180591620717411303424', 1);
insert into session_state values ('copy', 'ada', 'order-1', 7917843400581816598, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('copy', 'ada', 'order-1', 7917843400581816598, 'list', '[-0.0]', 2);
insert into session_state values ('copy', 'ada', 'order-1', 7917843400581816598, 'n', '1E2', 4);
insert into session_state values ('copy', 'ada', 'order-1', 7917843400581816598, 'neg', '-0', 1);
insert into session_state values ('copy', 'ada', 'order-1', 7917843400581816598, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5);
insert into session_state values ('copy', 'ada', 'order-1', 7917843400581816598, 'step', '"refund"', 6);
insert into session_state values ('copy', 'ada', 'order-1', 7917843400581816598, 'topic', '"return"', 4);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k0ä', '0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k10ä', '1180591620717411303424', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k11ä', '-170141183460469231731687303715884105729', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k12ä', '1.7976931348623157e308', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k13ä', '9007199254740993', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k14ä', '"\u0000"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k15ä', '"a\u0000b\u001f\u007f"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k18ä', '" ﻿�􏿿"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k19ä', '""', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k1ä', '-0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k22ä', '[ ]', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k24ä', '{"$serde_json::private::Number": "1"}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k27ä', 'true', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k28ä', 'null', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k2ä', '1', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k3ä', '1.0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k4ä', '1E2', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k5ä', '1e+2', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k6ä', '-0.0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k7ä', '0e0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k8ä', '1e-400', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 'k9ä', '0.1000000000000000055511151231257827', 1);
insert into session_updates values ('copy', 'ada', 'order-1', 179595932);
insert into session_updates values ('läger/1 ü', 'ß ø@例え', 'a b😀', 179595932);
insert into session_updates values ('shop', 'ada', 'compacted', 0);
insert into session_updates values ('shop', 'ada', 'files', 179595932);
insert into session_updates values ('shop', 'ada', 'files-2', 179595932);
insert into session_updates values ('shop', 'ada', 'moved', 179595932);
insert into session_updates values ('shop', 'ada', 'order-1', 179595932);
insert into session_updates values ('shop', 'ada', 'order-1-again', 179595932);
insert into session_updates values ('shop', 'ada', 'redacted', 179595932);
insert into session_updates values ('shop', 'ada', 'trimmed', 179595932);
insert into session_updates values ('shop', 'bob', 'by-adk', 179595932);
insert into sessiond_migrations values (1, 'sessions', '2026-11-29 13:35:28', 1, X'EBD5D17A6DD8A9E85422B8B9DAD6965BC80B1D8FFFE4CF88BEBCF4C07F349ED20BA85605255DBDE37EC395D01276739C', 10732258);
insert into sessions values ('shop', 'ada', 'files', 6156037573961997116, 2, 0, 1795959328360154, 1795959328520710, 1795959328516156, '1795959328.516156', 20786, NULL, NULL, NULL, 0, '{}', 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'order-1', 8473957536909502599, 6, 0, 1795959328366948, 1795959328406591, 1795959328405813, '1795959328.405813', 20786, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, 'create-1', X'986E8347A1CA037F059646A89B18A481CB8A30C7777918AC2E45F9DF0E63F133', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 'pod-7/4f1c', 'i9', 1795959388522638, 60000000, 0);
insert into sessions values ('shop', 'ada', 'order-1-again', 1731505049034132654, 4, 1, 1795959328465538, 1795959328532050, 1795959328531701, '1795959328.531701', 20786, '"forked"', '{"a":"b"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, 'order-1', 3, 'fork-1', X'5852D7B187AB49A4BD7E012F6F3D1B907F2E43D839BF5FEE347D0B6E3CD017E4', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'files-2', 5358610204835273162, 4, 0, 1795959328534321, 1795959328586242, 1795959328584853, '1795959328.584853', 20786, NULL, NULL, NULL, 0, '{"k":1}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'compacted', 8851001820199837056, 6, 0, 1795959328592363, 1795959328613366, 6000000, '6', 20786, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'trimmed', 2283741936227673879, 5, 1, 1795959328618313, 1795959328636800, 1795959328636663, '1795959328.636663', 20786, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'redacted', 8068598782224942119, 3, 2, 1795959328690960, 1795959328748862, 1795959328739043, '1795959328.739043', 20786, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'bob', 'by-adk', 2486909161431512084, 0, 0, 1795959328762615, 1795959328762615, 1795959328762615, '1795959328.762615', 20786, NULL, NULL, NULL, 0, '{"topic":"warranty"}', 1, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'moved', 8171852357083951655, 5, 0, 1795959328671355, 1795959328685833, 1795959328685698, '1795959328.685698', 20786, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, '738e24878d0d2244', X'BC41B73ED0668F026D7AADFC2B5AF2DA90B2F3D079E505D9E03ABB1FBCD3E362', 5, 3, 5, 3, 5, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('copy', 'ada', 'order-1', 7917843400581816598, 6, 0, 1795959328366948, 1795959328406591, 1795959328405813, '1795959328.405813', 20786, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, NULL, NULL, '75998b7b9d3c2887', X'192100AA0AC560414A503F9F6AA8299ED7133CF8C92BFD9C78BE0592EC80B6D1', 6, 0, 6, 0, 6, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('läger/1 ü', 'ß ø@例え', 'a b😀', 7328620830977201959, 3, 0, 1795959328877890, 1795959328892022, 1795959328891856, '1795959328.891856', 20786, NULL, NULL, NULL, 0, '{}', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into token_epochs values ('shop', X'06A403E3D3992163487A90D639701B3892437D4EFA9C4E05BE7F626C6A30DF8C', 1, 2);
insert into token_epochs values ('shop', X'262F195E664C002CA113BCEAE01E57164D7297E1625C1A51A82A81136BA4B5F6', 1, 1);
insert into token_epochs values ('shop', X'D21C9C1A4548BD978D2E7A49B5C40C80DA0DCD7B02C51E10E45C4C19A623FB6C', 1, 0);
insert into token_secrets values ('current', X'EA7AD3BBA9DFA1B06AA3A664EB3CD560CA22DFD082F638AFB43948ABFEFC0340');
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k0ä', 1, '0', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k10ä', 1, '1180591620717411303424', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k11ä', 1, '-170141183460469231731687303715884105729', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k12ä', 1, '1.7976931348623157e308', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k13ä', 1, '9007199254740993', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k14ä', 1, '"\u0000"', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k18ä', 1, '" ﻿�􏿿"', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k19ä', 1, '""', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k1ä', 1, '-0', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k22ä', 1, '[ ]', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k27ä', 1, 'true', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k28ä', 1, 'null', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k2ä', 1, '1', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k3ä', 1, '1.0', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k4ä', 1, '1E2', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k5ä', 1, '1e+2', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k6ä', 1, '-0.0', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k7ä', 1, '0e0', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k8ä', 1, '1e-400', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k9ä', 1, '0.1000000000000000055511151231257827', 1795959328887000, 7328620830977201959, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'kept', 6, '"hunter2"', 1795959328703000, 8068598782224942119, 1, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'language', 1, '"en"', 1795959328355000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'n', 3, '-0.0', 1795959328376000, 8473957536909502599, 1, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'n', 5, '7', 1795959328532000, 1731505049034132654, 4, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'name', 2, '"Ada"', 1795959328368000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'removed', 7, NULL, 1795959328737000, 8068598782224942119, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'removed', 8, NULL, 1795959328749000, 8068598782224942119, 3, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'returns', 4, '1', 1795959328407000, 8473957536909502599, 6, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'bob', 'name', 1, '"Bob"', 1795959328764000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'zoe', 'alone', 1, 'true', 1795959328353000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_scopes values ('shop', 'zoe', 1, 0, 0, 0, 0, 0);
insert into user_scopes values ('shop', 'ada', 8, 0, 0, 0, 0, 1);
insert into user_scopes values ('shop', 'bob', 1, 0, 0, 0, 0, 0);
insert into user_scopes values ('läger/1 ü', 'ß ø@例え', 1, 0, 0, 0, 0, 0);
insert into user_spans values ('shop', 'ada', 4, 'n', 3, 5);
insert into user_state values ('shop', 'zoe', 'alone', 'true', 1);
insert into user_state values ('shop', 'ada', 'language', '"en"', 1);
insert into user_state values ('shop', 'ada', 'name', '"Ada"', 2);
insert into user_state values ('shop', 'ada', 'n', '7', 5);
insert into user_state values ('shop', 'ada', 'returns', '1', 4);
insert into user_state values ('shop', 'ada', 'kept', '"hunter2"', 6);
insert into user_state values ('shop', 'bob', 'name', '"Bob"', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k0ä', '0', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k10ä', '1180591620717411303424', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k11ä', '-170141183460469231731687303715884105729', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k12ä', '1.7976931348623157e308', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k13ä', '9007199254740993', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k14ä', '"\u0000"', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k15ä', '"a\u0000b\u001f\u007f"', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k18ä', '" ﻿�􏿿"', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k19ä', '""', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k1ä', '-0', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k22ä', '[ ]', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k24ä', '{"$serde_json::private::Number": "1"}', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k27ä', 'true', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k28ä', 'null', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k2ä', '1', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k3ä', '1.0', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k4ä', '1E2', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k5ä', '1e+2', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k6ä', '-0.0', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k7ä', '0e0', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k8ä', '1e-400', 1);
insert into user_state values ('läger/1 ü', 'ß ø@例え', 'k9ä', '0.1000000000000000055511151231257827', 1);
delete from sqlite_sequence;
insert into sqlite_sequence values ('changes', 95);
commit;
