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
    -- A removal ended it, or a redaction; not another value.
    removed     integer not null,
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
CREATE INDEX session_spans_by_key on session_spans (key, incarnation, valid_to) where node & 31 = 0 or removed;
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
insert into api_keys values ('65bl6js2cjwj', 'reads less', X'082A893543F77056514D8B6F3E16F8A103355958BA7D182D3A89BDED6F872EB9', 'reader', '["shop"]', '["ada"]', 1796072502072675, NULL, NULL, NULL);
insert into api_keys values ('72ihfsdch25a', 'is revoked', NULL, 'agent', '["läger*","shop"]', '["*"]', 1796072502073852, NULL, NULL, 1796072502077978);
insert into api_keys values ('mrfp6battnuk', 'admin', X'93088B820E962869A6F34204FBDF5F504ED6A888ECE0A142CAF82D8FBBAC7943', 'admin', '["*"]', '["*"]', 1796072502056257, NULL, 1796072502072464, NULL);
insert into api_keys values ('xcxddj6eiiva', 'ends', X'F71C04180DD56A5B27026211804BD676D7F1B5311367C6DA600EC7B7BC1E186E', 'operator', '["*"]', '["*"]', 1796072502075159, 4102444800000000, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k0ä', 1, '0', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k10ä', 1, '1180591620717411303424', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k11ä', 1, '-170141183460469231731687303715884105729', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k12ä', 1, '1.7976931348623157e308', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k13ä', 1, '9007199254740993', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k14ä', 1, '"\u0000"', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k18ä', 1, '" ﻿�􏿿"', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k19ä', 1, '""', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k1ä', 1, '-0', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k22ä', 1, '[ ]', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k27ä', 1, 'true', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k28ä', 1, 'null', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k2ä', 1, '1', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k3ä', 1, '1.0', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k4ä', 1, '1E2', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k5ä', 1, '1e+2', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k6ä', 1, '-0.0', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k7ä', 1, '0e0', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k8ä', 1, '1e-400', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k9ä', 1, '0.1000000000000000055511151231257827', 1796072502293000, 8274127361720612197, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'by', 5, '"deleted"', 1796072502228000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'count', 4, '2', 1796072502095000, 2298016303248754600, 2, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'currency', 3, '"EUR"', 1796072502092000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'gone', 1, '[1.0]', 1796072502086000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'gone', 2, NULL, 1796072502088000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'last', 6, '"x"', 1796072502295000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'last', 7, '"x"', 1796072502341000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'returnDays', 1, '30', 1796072502086000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
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
insert into artifact_names values ('shop', 'ada', 'files', 2446335788768811924, 'notes/summary', 2, 1, 2, NULL);
insert into artifact_names values ('shop', 'ada', 'files-2', 1964195382495825550, 'gone', 1, NULL, 0, NULL);
insert into artifact_names values ('shop', 'ada', 'files-2', 1964195382495825550, 'page.html', 4, 3, 4, 3);
insert into artifact_names values ('shop', 'bob', 'by-adk', 4801938774264330969, 'a', 1, 0, 1, NULL);
insert into artifact_places values ('shop', 'ada', '', 0, 1);
insert into artifact_places values ('shop', 'ada', 'files', 2446335788768811924, 2);
insert into artifact_places values ('shop', 'ada', 'files-2', 1964195382495825550, 4);
insert into artifact_places values ('shop', 'bob', 'by-adk', 4801938774264330969, 1);
insert into artifact_spans values ('shop', 'ada', 'files-2', 1964195382495825550, 2, 'page.html', 1, 2, 0);
insert into artifact_spans values ('shop', 'ada', 'files-2', 1964195382495825550, 3, 'page.html', 2, 3, 2);
insert into artifact_state values ('shop', 'ada', 'files-2', 1964195382495825550, 'gone', 0, 4);
insert into artifact_state values ('shop', 'ada', 'files-2', 1964195382495825550, 'page.html', 3, 3);
insert into artifact_state values ('shop', 'ada', 'files', 2446335788768811924, 'notes/summary', 0, 1);
insert into artifact_state values ('shop', 'ada', 'files', 2446335788768811924, 'user:address', 0, 2);
insert into artifacts values ('shop', 'ada', 'files', 2446335788768811924, 'notes/summary', 0, 4138087617397324187, 'text', 'text/plain', 14, X'3E6C1234228EB2390FA98A214DC9021924B308E03BDFF3C19BE6E22D608173DE', '01a22e43-7374-70ae-b914-e403c05f59db', 1796072502132236, '{"n":1.0}', NULL, NULL, 1, 'save-1', X'26419E28C76E7A79A0E9095791E4F0F2C2B8762A3394F5C51365C71CEBEB2984');
insert into artifacts values ('shop', 'ada', 'files', 2446335788768811924, 'notes/summary', 1, 1446629927129286297, 'bytes', 'a/b', 7, X'A9D7A888389F7C168A45F653D59E171FD5188CA7A88DE23A306070AB968E847D', '01a22e43-737c-7199-baca-e046ecd89577', 1796072502140588, NULL, '"n"', NULL, NULL, 'save-2', X'139E072544FC51136CE7148E64C95E8C2BC71D474CFBEB1A793EA2274D6939A7');
insert into artifacts values ('shop', 'ada', '', 0, 'user:address', 0, 8958562036787558088, 'uri', 'c/d', NULL, NULL, NULL, 1796072502141658, NULL, NULL, '"gs://a/b"', 2, 'save-3', X'5F891A92236FAB2F7566EF7A7A61B65A17ECCF13C674360002BBFD995648A46B');
insert into artifacts values ('shop', 'ada', 'files-2', 1964195382495825550, 'page.html', 0, 6273303770313128153, 'bytes', 'text/html', 8, X'DB149029E10436BD960194453B725D04A252D8FDFDCAC86D4EB2DF7B85577B07', '01a22e43-738d-7703-a980-e84a8e9b399a', 1796072502157340, NULL, NULL, NULL, 1, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 1964195382495825550, 'page.html', 1, 1105075434389754693, 'bytes', 'text/html', 8, X'6E784353EA75228D9D65F28D704F77C2B294757AE6D8CA74AE74A459DE564CFA', '01a22e43-7393-762b-970e-f2ab321056fe', 1796072502163603, NULL, NULL, NULL, NULL, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 1964195382495825550, 'page.html', 2, 9164024259871753137, 'bytes', 'text/html', 8, X'F543C768A1419D4865F627460E7D4F974AE95606E4981F9B6E829D09299E7DA8', '01a22e43-7394-72eb-b321-191222abf991', 1796072502164514, NULL, '"ü"', NULL, 2, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 1964195382495825550, 'page.html', 3, 5047225514222719998, 'bytes', 'text/html', 8, X'DB149029E10436BD960194453B725D04A252D8FDFDCAC86D4EB2DF7B85577B07', '01a22e43-738d-7703-a980-e84a8e9b399a', 1796072502165563, NULL, NULL, NULL, 3, NULL, NULL);
insert into artifacts values ('shop', 'bob', 'by-adk', 4801938774264330969, 'a', 0, 1083838487473190999, 'text', 'text/plain', 6, X'9A2F5DA45C096840A0CE25B489C89C3B91F4ECA1054E71D338BE0BCEFA7D3A2A', '01a22e43-73e1-7646-bd87-b0379842e3e2', 1796072502241752, '{"m":"s"}', NULL, NULL, NULL, NULL, NULL);
insert into blob_chunks values ('shop', 'ada', '01a22e43-7374-70ae-b914-e403c05f59db', 0, X'6772C3BCC39F000A22476F747422');
insert into blob_chunks values ('shop', 'ada', '01a22e43-737c-7199-baca-e046ecd89577', 0, X'000102030405FF');
insert into blob_chunks values ('shop', 'ada', '01a22e43-738d-7703-a980-e84a8e9b399a', 0, X'3C623E313C2F623E');
insert into blob_chunks values ('shop', 'ada', '01a22e43-7393-762b-970e-f2ab321056fe', 0, X'3C623E323C2F623E');
insert into blob_chunks values ('shop', 'ada', '01a22e43-7394-72eb-b321-191222abf991', 0, X'3C623E333C2F623E');
insert into blob_chunks values ('shop', 'bob', '01a22e43-73e1-7646-bd87-b0379842e3e2', 0, X'62792041444B');
insert into blobs values ('shop', 'ada', '01a22e43-7374-70ae-b914-e403c05f59db', 14, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22e43-737c-7199-baca-e046ecd89577', 7, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22e43-738d-7703-a980-e84a8e9b399a', 8, 2, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22e43-7393-762b-970e-f2ab321056fe', 8, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22e43-7394-72eb-b321-191222abf991', 8, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'bob', '01a22e43-73e1-7646-bd87-b0379842e3e2', 6, 1, NULL, NULL, NULL, NULL, NULL);
insert into blocked_users values ('shop', X'772E7DA7D3098101C409814BD6251AD1895C74F46549E69DBF8423566C74DFE9');
insert into changes values (1, 0, '', NULL, NULL, NULL, 0, 0, NULL, 1796072502035000);
insert into changes values (2, 7, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796072502087000);
insert into changes values (3, 7, 'shop', NULL, NULL, NULL, 2, 2, NULL, 1796072502088000);
insert into changes values (4, 6, 'shop', 'zoe', NULL, NULL, 1, 1, NULL, 1796072502089000);
insert into changes values (5, 6, 'shop', 'ada', NULL, NULL, 1, 1, NULL, 1796072502090000);
insert into changes values (6, 1, 'shop', 'ada', 'files', 2446335788768811924, 0, 0, NULL, 1796072502091000);
insert into changes values (7, 1, 'shop', 'ada', 'order-1', 2298016303248754600, 0, 0, NULL, 1796072502093000);
insert into changes values (8, 6, 'shop', 'ada', NULL, NULL, 2, 2, NULL, 1796072502093000);
insert into changes values (9, 7, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1796072502093000);
insert into changes values (10, 2, 'shop', 'ada', 'order-1', 2298016303248754600, 1, 1, NULL, 1796072502094000);
insert into changes values (11, 6, 'shop', 'ada', NULL, NULL, 3, 3, NULL, 1796072502094000);
insert into changes values (12, 2, 'shop', 'ada', 'order-1', 2298016303248754600, 2, 3, NULL, 1796072502095000);
insert into changes values (13, 7, 'shop', NULL, NULL, NULL, 4, 4, NULL, 1796072502095000);
insert into changes values (14, 2, 'shop', 'ada', 'order-1', 2298016303248754600, 4, 4, NULL, 1796072502097000);
insert into changes values (15, 2, 'shop', 'ada', 'order-1', 2298016303248754600, 5, 5, NULL, 1796072502111000);
insert into changes values (16, 2, 'shop', 'ada', 'order-1', 2298016303248754600, 6, 6, NULL, 1796072502117000);
insert into changes values (17, 6, 'shop', 'ada', NULL, NULL, 4, 4, NULL, 1796072502117000);
insert into changes values (18, 1, 'shop', 'ada', 'order-1-again', 1028202594739904035, 0, 3, '{"sessionId":"order-1","revision":3}', 1796072502122000);
insert into changes values (19, 2, 'shop', 'ada', 'order-1-again', 1028202594739904035, 1, 3, NULL, 1796072502122000);
insert into changes values (20, 9, 'shop', 'ada', 'files', 2446335788768811924, 0, 0, '{"name":"notes/summary","version":0,"size":14}', 1796072502133000);
insert into changes values (21, 2, 'shop', 'ada', 'files', 2446335788768811924, 1, 1, NULL, 1796072502133000);
insert into changes values (22, 9, 'shop', 'ada', 'files', 2446335788768811924, 0, 0, '{"name":"notes/summary","version":1,"size":7}', 1796072502141000);
insert into changes values (23, 9, 'shop', 'ada', NULL, NULL, 0, 0, '{"name":"user:address","version":0}', 1796072502142000);
insert into changes values (24, 2, 'shop', 'ada', 'files', 2446335788768811924, 2, 2, NULL, 1796072502142000);
insert into changes values (25, 3, 'shop', 'ada', 'order-1-again', 1028202594739904035, 0, 0, '{"displayName":"forked","labels":{"a":"b"},"expireTime":4102444800.000000}', 1796072502143000);
insert into changes values (26, 2, 'shop', 'ada', 'order-1-again', 1028202594739904035, 4, 4, NULL, 1796072502153000);
insert into changes values (27, 6, 'shop', 'ada', NULL, NULL, 5, 5, NULL, 1796072502153000);
insert into changes values (28, 1, 'shop', 'ada', 'files-2', 1964195382495825550, 0, 0, NULL, 1796072502155000);
insert into changes values (29, 9, 'shop', 'ada', 'files-2', 1964195382495825550, 0, 0, '{"name":"page.html","version":0,"size":8}', 1796072502157000);
insert into changes values (30, 2, 'shop', 'ada', 'files-2', 1964195382495825550, 1, 1, NULL, 1796072502157000);
insert into changes values (31, 9, 'shop', 'ada', 'files-2', 1964195382495825550, 0, 0, '{"name":"page.html","version":1,"size":8}', 1796072502163000);
insert into changes values (32, 9, 'shop', 'ada', 'files-2', 1964195382495825550, 0, 0, '{"name":"page.html","version":2,"size":8}', 1796072502165000);
insert into changes values (33, 2, 'shop', 'ada', 'files-2', 1964195382495825550, 2, 2, NULL, 1796072502165000);
insert into changes values (34, 9, 'shop', 'ada', 'files-2', 1964195382495825550, 0, 0, '{"name":"page.html","version":3,"size":8}', 1796072502166000);
insert into changes values (35, 2, 'shop', 'ada', 'files-2', 1964195382495825550, 3, 3, NULL, 1796072502166000);
insert into changes values (36, 9, 'shop', 'ada', 'files-2', 1964195382495825550, 0, 0, '{"name":"gone","version":0,"size":1}', 1796072502167000);
insert into changes values (37, 2, 'shop', 'ada', 'files-2', 1964195382495825550, 4, 4, NULL, 1796072502167000);
insert into changes values (38, 10, 'shop', 'ada', 'files-2', 1964195382495825550, 0, 0, '{"name":"gone","reason":"deleted"}', 1796072502168000);
insert into changes values (39, 1, 'shop', 'ada', 'compacted', 651320406693707948, 0, 0, NULL, 1796072502169000);
insert into changes values (40, 2, 'shop', 'ada', 'compacted', 651320406693707948, 1, 1, NULL, 1796072502170000);
insert into changes values (41, 2, 'shop', 'ada', 'compacted', 651320406693707948, 2, 2, NULL, 1796072502171000);
insert into changes values (42, 2, 'shop', 'ada', 'compacted', 651320406693707948, 3, 3, NULL, 1796072502172000);
insert into changes values (43, 2, 'shop', 'ada', 'compacted', 651320406693707948, 4, 4, NULL, 1796072502172000);
insert into changes values (44, 2, 'shop', 'ada', 'compacted', 651320406693707948, 5, 5, NULL, 1796072502173000);
insert into changes values (45, 2, 'shop', 'ada', 'compacted', 651320406693707948, 6, 6, NULL, 1796072502174000);
insert into changes values (46, 1, 'shop', 'ada', 'trimmed', 7974693791003762433, 0, 0, NULL, 1796072502176000);
insert into changes values (47, 2, 'shop', 'ada', 'trimmed', 7974693791003762433, 1, 1, NULL, 1796072502178000);
insert into changes values (48, 2, 'shop', 'ada', 'trimmed', 7974693791003762433, 2, 2, NULL, 1796072502179000);
insert into changes values (49, 2, 'shop', 'ada', 'trimmed', 7974693791003762433, 3, 3, NULL, 1796072502179000);
insert into changes values (50, 2, 'shop', 'ada', 'trimmed', 7974693791003762433, 4, 4, NULL, 1796072502183000);
insert into changes values (51, 2, 'shop', 'ada', 'trimmed', 7974693791003762433, 5, 5, NULL, 1796072502183000);
insert into changes values (52, 4, 'shop', 'ada', 'trimmed', 7974693791003762433, 0, 3, NULL, 1796072502184000);
insert into changes values (53, 1, 'shop', 'ada', 'moved', 8307504473162776080, 0, 0, NULL, 1796072502196000);
insert into changes values (54, 2, 'shop', 'ada', 'moved', 8307504473162776080, 1, 1, NULL, 1796072502197000);
insert into changes values (55, 2, 'shop', 'ada', 'moved', 8307504473162776080, 2, 2, NULL, 1796072502197000);
insert into changes values (56, 2, 'shop', 'ada', 'moved', 8307504473162776080, 3, 3, NULL, 1796072502198000);
insert into changes values (57, 2, 'shop', 'ada', 'moved', 8307504473162776080, 4, 4, NULL, 1796072502198000);
insert into changes values (58, 2, 'shop', 'ada', 'moved', 8307504473162776080, 5, 5, NULL, 1796072502199000);
insert into changes values (59, 4, 'shop', 'ada', 'moved', 8307504473162776080, 0, 3, NULL, 1796072502200000);
insert into changes values (60, 1, 'shop', 'ada', 'redacted', 299302885296743091, 0, 0, NULL, 1796072502200000);
insert into changes values (61, 2, 'shop', 'ada', 'redacted', 299302885296743091, 1, 1, NULL, 1796072502203000);
insert into changes values (62, 6, 'shop', 'ada', NULL, NULL, 6, 6, NULL, 1796072502203000);
insert into changes values (63, 11, 'shop', 'ada', 'redacted', 299302885296743091, 1, 1, NULL, 1796072502204000);
insert into changes values (64, 2, 'shop', 'ada', 'redacted', 299302885296743091, 2, 2, NULL, 1796072502218000);
insert into changes values (65, 6, 'shop', 'ada', NULL, NULL, 7, 7, NULL, 1796072502218000);
insert into changes values (66, 11, 'shop', 'ada', 'redacted', 299302885296743091, 2, 2, NULL, 1796072502223000);
insert into changes values (67, 2, 'shop', 'ada', 'redacted', 299302885296743091, 3, 3, NULL, 1796072502223000);
insert into changes values (68, 6, 'shop', 'ada', NULL, NULL, 8, 8, NULL, 1796072502223000);
insert into changes values (69, 1, 'shop', 'ada', 'deleted', 2947574586904322326, 0, 0, NULL, 1796072502229000);
insert into changes values (70, 7, 'shop', NULL, NULL, NULL, 5, 5, NULL, 1796072502229000);
insert into changes values (71, 5, 'shop', 'ada', 'deleted', 2947574586904322326, 0, 0, 'deleted', 1796072502230000);
insert into changes values (72, 1, 'shop', 'bob', 'by-adk', 4801938774264330969, 0, 0, NULL, 1796072502232000);
insert into changes values (73, 6, 'shop', 'bob', NULL, NULL, 1, 1, NULL, 1796072502232000);
insert into changes values (74, 9, 'shop', 'bob', 'by-adk', 4801938774264330969, 0, 0, '{"name":"a","version":0,"size":6}', 1796072502242000);
insert into changes values (75, 5, 'shop', 'ada', 'moved', 8307504473162776080, 0, 0, 'deleted', 1796072502265000);
insert into changes values (76, 1, 'shop', 'ada', 'moved', 3007348657785772919, 0, 5, NULL, 1796072502267000);
insert into changes values (77, 2, 'shop', 'ada', 'moved', 3007348657785772919, 4, 5, NULL, 1796072502267000);
insert into changes values (78, 1, 'copy', 'ada', 'order-1', 8977419563172955886, 0, 6, NULL, 1796072502285000);
insert into changes values (79, 2, 'copy', 'ada', 'order-1', 8977419563172955886, 1, 6, NULL, 1796072502285000);
insert into changes values (80, 1, 'läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 0, 0, NULL, 1796072502287000);
insert into changes values (81, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 1, 1, NULL, 1796072502289000);
insert into changes values (82, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 2, 2, NULL, 1796072502291000);
insert into changes values (83, 6, 'läger/1 ü', 'ß ø@例え', NULL, NULL, 1, 1, NULL, 1796072502291000);
insert into changes values (84, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 3, 3, NULL, 1796072502293000);
insert into changes values (85, 7, 'läger/1 ü', NULL, NULL, NULL, 1, 1, NULL, 1796072502293000);
insert into changes values (86, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1796072502295000);
insert into changes values (87, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796072502295000);
insert into changes values (88, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796072502295000);
insert into changes values (89, 7, 'shop', NULL, NULL, NULL, 6, 6, NULL, 1796072502295000);
insert into changes values (90, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22e43-7418-7007-bb83-057733d1b136","subject":"772e7da7d3098101c409814bd6251ad1895c74f46549e69dbf8423566c74dfe9"}', 1796072502297000);
insert into changes values (91, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1796072502341000);
insert into changes values (92, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796072502341000);
insert into changes values (93, 0, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1796072502341000);
insert into changes values (94, 7, 'shop', NULL, NULL, NULL, 7, 7, NULL, 1796072502341000);
insert into changes values (95, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22e43-7446-75a4-822f-933ce164404f","subject":"d921b599e4c91b0b69bd073d3dcd6388094d87f625aebcccf2537aa25c34deae"}', 1796072502343000);
insert into effective_views values ('shop', 'ada', 'compacted', 651320406693707948, 5, '{"covered":[[1,3]],"needed":[],"unsure":false,"kept":[[5,4607182418800017408,4613937818241073152,{"scope":null,"branch":null,"node":false},5]]}');
insert into erased_revisions values ('shop', 4);
insert into erasure_counts values ('shop', 2);
insert into erasure_secrets values ('receipt', X'3051020101300506032B657004220420D61C74ADAD4A7E1A0CBEEFC7AE1067638668A8F219FE42DAA08AF41F1423D25D8121006444DD1E9453E11BB02E7E1F1E6C63E3B1D2E6DB167CCDE18416FA417F0DDCA1');
insert into erasure_secrets values ('salt', X'5393DF326F6DAE1B97E7C1B0F913D1C43F4114603BA1268E88A57C2FB37D8EE9');
insert into erasures values ('01a22e43-7418-7007-bb83-057733d1b136', 'shop', X'772E7DA7D3098101C409814BD6251AD1895C74F46549E69DBF8423566C74DFE9', X'C1C10A5D5BA43976AB9A00A039BD8335F51AD7A3721A0EA98DF1A5F1345DCADD', 'case 17', 1, 1, 1796072502296204, 1796072502311143, 1, 1, 2, 1, 0, '{"id":"01a22e43-7418-7007-bb83-057733d1b136","appName":"shop","subject":"772e7da7d3098101c409814bd6251ad1895c74f46549e69dbf8423566c74dfe9","reference":"case 17","requestTime":1796072502.296204,"doneTime":1796072502.311143,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":true,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens","a keyed hash of app and user by which the user is refused"],"instance":"7f4b9dd3343b9ea7cce36aa59739f3c1","keyId":"5d36905d3de78b58","signature":"OD4PO1XOfyvxm1EoNCTOjIjMhlM9fYKKTXJWZgOWuYPsHXckkiFzzVwnmNEU3laoQfGEbdLt8qHKmfosfK9JDw"}');
insert into erasures values ('01a22e43-7446-75a4-822f-933ce164404f', 'shop', X'D921B599E4C91B0B69BD073D3DCD6388094D87F625AEBCCCF2537AA25C34DEAE', NULL, 'case 18', NULL, 0, 1796072502342262, 1796072502359461, 1, 1, 2, 1, 0, '{"id":"01a22e43-7446-75a4-822f-933ce164404f","appName":"shop","subject":"d921b599e4c91b0b69bd073d3dcd6388094d87f625aebcccf2537aa25c34deae","reference":"case 18","requestTime":1796072502.342262,"doneTime":1796072502.359461,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":false,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens"],"instance":"7f4b9dd3343b9ea7cce36aa59739f3c1","keyId":"5d36905d3de78b58","signature":"UY6qrS09targMvIesSeFg2vl7f4xU9uwq9AIGyF1gmuQ0qM-KfpoDmcVVslz9bfoGe57STA-7Nfimzqc9DlzCA"}');
insert into events values ('shop', 'ada', 'order-1', 2298016303248754600, 1, 'e1', 1500000, 1796072502093865, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('shop', 'ada', 'order-1', 2298016303248754600, 2, 'e2', 1796072502095094, 1796072502095342, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796072502.095094}', NULL);
insert into events values ('shop', 'ada', 'order-1', 2298016303248754600, 3, 'e3', 1796072502095094, 1796072502095342, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796072502.095094}', NULL);
insert into events values ('shop', 'ada', 'order-1', 2298016303248754600, 4, 'rewind-1', 1796072502096615, 1796072502097360, 'user', 'rewind-01a22e43-7350-70e9-9048-131c3df780fd', NULL, 3, 4, 2, X'DCB11ED63D4B83EDE810A55584161357FF26E956DD8FC435A25670842CACF802', '{"author":"user","invocationId":"rewind-01a22e43-7350-70e9-9048-131c3df780fd","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1796072502.096615}', NULL);
insert into events values ('shop', 'ada', 'order-1', 2298016303248754600, 5, 'put-1', 1796072502110683, 1796072502110964, 'user', '', NULL, 3, 4, NULL, X'092F58824834CCFBEE5844FCF7C78C5BF2B2628CDD2601E3FDBE2AD78B3A4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1796072502.110683}', NULL);
insert into events values ('shop', 'ada', 'order-1', 2298016303248754600, 6, 'patch-1', 1796072502115986, 1796072502116371, 'agent', '', NULL, 4, 4, NULL, X'6EBA5E92B5A282EBC5D1C847BFC06332ABC5A8BE554AA8ACCF3D24C8E88E37D5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1796072502.115986}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 1028202594739904035, 1, 'e1', 1500000, 1796072502093865, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 1028202594739904035, 2, 'e2', 1796072502095094, 1796072502095342, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796072502.095094}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 1028202594739904035, 3, 'e3', 1796072502095094, 1796072502095342, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796072502.095094}', NULL);
insert into events values ('shop', 'ada', 'files', 2446335788768811924, 1, '01a22e43-7374-70ae-b914-e404f3fe9803', 1796072502132236, 1796072502132895, 'user', '', NULL, 4, 4, NULL, X'D2E2E5C0F9AED3095775C9C8F1BC1925FBCEB4704466F38B9E2A05F080ED24B6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"notes/summary":0}},"id":"01a22e43-7374-70ae-b914-e404f3fe9803","timestamp":1796072502.132236}', NULL);
insert into events values ('shop', 'ada', 'files', 2446335788768811924, 2, '01a22e43-737d-75b8-9118-169a7937c073', 1796072502141658, 1796072502142000, 'user', '', NULL, 4, 4, NULL, X'601AC91DD78257428AFF5E52EF0CF956333CE74FF62FF6F9C0EE2174F1AEEBC6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"user:address":0}},"id":"01a22e43-737d-75b8-9118-169a7937c073","timestamp":1796072502.141658}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 1028202594739904035, 4, 'own', 1796072502153260, 1796072502153479, 'user', '', NULL, 5, 4, NULL, X'ABAC0094F067CA3A080374546A8F16559889F3D0C2DB27C80EC48CA855EDF5D3', '{"id":"own","author":"user","actions":{"stateDelta":{"user:n":7}},"timestamp":1796072502.153260}', NULL);
insert into events values ('shop', 'ada', 'files-2', 1964195382495825550, 1, '01a22e43-738d-7703-a980-e84b15ca7a3a', 1796072502157340, 1796072502157649, 'user', '', NULL, 5, 4, NULL, X'2E8CC7579CFFF08786CE4C8806BD956E831F50E37DDCFEFE584B2D0E6EA27985', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":0}},"id":"01a22e43-738d-7703-a980-e84b15ca7a3a","timestamp":1796072502.157340}', NULL);
insert into events values ('shop', 'ada', 'files-2', 1964195382495825550, 2, '01a22e43-7394-72eb-b321-1913c9a7c6b2', 1796072502164514, 1796072502164799, 'user', '', NULL, 5, 4, NULL, X'80D48EAE81BBE94071B8B31400F3C11BCB79002CD30FA2CAF13AA738E46633C2', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":2}},"id":"01a22e43-7394-72eb-b321-1913c9a7c6b2","timestamp":1796072502.164514}', NULL);
insert into events values ('shop', 'ada', 'files-2', 1964195382495825550, 3, '01a22e43-7395-7420-8c16-b1b82b36dffb', 1796072502165563, 1796072502165973, 'user', 'rewind-01a22e43-7395-7420-8c16-b1b91403dde1', NULL, 5, 4, 1, X'B5CB74C8EA3E52A10B06E792186E71486ACB58B133555EF40FD796AD8CF4EC63', '{"author":"user","invocationId":"rewind-01a22e43-7395-7420-8c16-b1b91403dde1","actions":{"stateDelta":{},"rewindBeforeInvocationId":"","artifactDelta":{"page.html":3}},"customMetadata":{"rewindToRevision":1},"id":"01a22e43-7395-7420-8c16-b1b82b36dffb","timestamp":1796072502.165563}', NULL);
insert into events values ('shop', 'ada', 'files-2', 1964195382495825550, 4, '01a22e43-7397-749d-8de6-704de7fbc922', 1796072502167174, 1796072502167461, 'user', '', NULL, 5, 4, NULL, X'65F05C4408D5AECEBEA0AD84224D538BAEA2B514D41885DC4A2462ECE115D210', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"gone":0}},"id":"01a22e43-7397-749d-8de6-704de7fbc922","timestamp":1796072502.167174}', NULL);
insert into events values ('shop', 'ada', 'compacted', 651320406693707948, 1, 'c1', 1000000, 1796072502170291, 'user', '', NULL, 5, 4, NULL, X'249CD456F8A74212A410A302A901B41D830C2659E48737E6AE21D7CF0B6AFF57', '{"id":"c1","author":"user","timestamp":1,"content":{"parts":[{"text":"1"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 651320406693707948, 2, 'c2', 2000000, 1796072502171219, 'user', '', NULL, 5, 4, NULL, X'F680371D2B6E2F9D8A0FDEAFE556555B5DF34CB1FD66A522FF0A8ABAEE264B2D', '{"id":"c2","author":"user","timestamp":2,"content":{"parts":[{"text":"2"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 651320406693707948, 3, 'c3', 3000000, 1796072502172072, 'user', '', NULL, 5, 4, NULL, X'E49233C089B6757E03E35240335E71790F5C5EFE2BB2F209D847FCC8719F6D55', '{"id":"c3","author":"user","timestamp":3,"content":{"parts":[{"text":"3"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 651320406693707948, 4, 'c4', 4000000, 1796072502172695, 'user', '', NULL, 5, 4, NULL, X'BE10D376FFB0E7AEEB33FBE5F68C72675B04DC9A8E0541BBE6CD7690CA245DD4', '{"id":"c4","author":"user","timestamp":4,"content":{"parts":[{"text":"4"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 651320406693707948, 5, 'sum', 5000000, 1796072502173373, 'agent', '', NULL, 5, 4, -1, X'2585B1D6369DD3B1F387F46B7886EACF90A8ACF9098174BC4BB3BAC18B6AD881', '{"id":"sum","author":"agent","timestamp":5,"actions":{"compaction":{"startTimestamp":1,"endTimestamp":3,"compactedContent":{"role":"model","parts":[{"text":"1 to 3"}]}}}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 651320406693707948, 6, 'last', 6000000, 1796072502174105, 'user', '', NULL, 5, 4, NULL, X'6E30AB5A008548DD04251542838F5591806078AD17B61289A8EDF5F1F50CB1A6', '{"id":"last","author":"user","timestamp":6}', NULL);
insert into events values ('shop', 'ada', 'trimmed', 7974693791003762433, 1, 't1', 1796072502177587, 1796072502177642, '', '', NULL, 5, 4, NULL, X'FF2D88C66F77E0238B99E82D83E7DB0C21EDDA552CC80296614C3DF02B01BA8C', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 7974693791003762433, 2, 't2', 1796072502178860, 1796072502178912, '', '', NULL, 5, 4, NULL, X'6A790D825986340576AC3F9489FE714CAAF96F13F8E290114CC4412B2BDA686B', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 7974693791003762433, 3, 't3', 1796072502179603, 1796072502179657, '', '', NULL, 5, 4, NULL, X'328D69FB0E1172DCB5AC25EFE82CB7E226756E7723E10AF118220AF799DD1756', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 7974693791003762433, 4, 't4', 1796072502182998, 1796072502183053, 'a', '', NULL, 5, 4, NULL, X'647278D9F4A40649CF88D24F234524AFA68425EFC8862D9DBB6E190B074B277A', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1796072502.182998}', NULL);
insert into events values ('shop', 'ada', 'trimmed', 7974693791003762433, 5, 't5', 1796072502183687, 1796072502183734, 'a', '', NULL, 5, 4, NULL, X'8B8C18622A99B65602D693776167AB69499E522B6F9DEB569A835F5089CE23B7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1796072502.183687}', NULL);
insert into events values ('shop', 'ada', 'redacted', 299302885296743091, 1, 'kept', 1796072502201847, 1796072502201907, 'user', '', NULL, 6, 4, NULL, X'0000000000000000000000000000000000000000000000000000000000000000', '{"id":"kept","timestamp":1796072502.201847,"author":"user","actions":{"stateDelta":{"kept":"hunter2","user:kept":"hunter2"}},"redacted":{"time":1796072502.204450,"reason":"a password"}}', 1);
insert into events values ('shop', 'ada', 'redacted', 299302885296743091, 2, 'removed', 1796072502217397, 1796072502218369, 'user', '', NULL, 7, 4, NULL, X'0000000000000000000000000000000000000000000000000000000000000000', '{"id":"removed","timestamp":1796072502.217397,"author":"user","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"redacted":{"time":1796072502.219926,"reason":"a password"}}', 2);
insert into events values ('shop', 'ada', 'redacted', 299302885296743091, 3, '01a22e43-73cb-75d2-8d2f-a1d2402d4972', 1796072502219339, 1796072502220678, 'user', '', NULL, 8, 4, NULL, X'8C372D64E780678DB298D472C65643BBAC5AB92E04588C224C9EA5E5E0C7EDE4', '{"id":"01a22e43-73cb-75d2-8d2f-a1d2402d4972","author":"user","invocationId":"","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"timestamp":1796072502.219339}', -2);
insert into events values ('shop', 'ada', 'moved', 3007348657785772919, 1, 't1', 1796072502196842, 1796072502196903, '', '', NULL, 5, 4, NULL, X'FF2D88C66F77E0238B99E82D83E7DB0C21EDDA552CC80296614C3DF02B01BA8C', '', NULL);
insert into events values ('shop', 'ada', 'moved', 3007348657785772919, 2, 't2', 1796072502197460, 1796072502197507, '', '', NULL, 5, 4, NULL, X'6A790D825986340576AC3F9489FE714CAAF96F13F8E290114CC4412B2BDA686B', '', NULL);
insert into events values ('shop', 'ada', 'moved', 3007348657785772919, 3, 't3', 1796072502197986, 1796072502198030, '', '', NULL, 5, 4, NULL, X'328D69FB0E1172DCB5AC25EFE82CB7E226756E7723E10AF118220AF799DD1756', '', NULL);
insert into events values ('shop', 'ada', 'moved', 3007348657785772919, 4, 't4', 1796072502198503, 1796072502198547, 'a', '', NULL, 5, 4, NULL, X'647278D9F4A40649CF88D24F234524AFA68425EFC8862D9DBB6E190B074B277A', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1796072502.198503}', NULL);
insert into events values ('shop', 'ada', 'moved', 3007348657785772919, 5, 't5', 1796072502199048, 1796072502199096, 'a', '', NULL, 5, 4, NULL, X'8B8C18622A99B65602D693776167AB69499E522B6F9DEB569A835F5089CE23B7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1796072502.199048}', NULL);
insert into events values ('copy', 'ada', 'order-1', 8977419563172955886, 1, 'e1', 1500000, 1796072502093865, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('copy', 'ada', 'order-1', 8977419563172955886, 2, 'e2', 1796072502095094, 1796072502095342, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796072502.095094}', NULL);
insert into events values ('copy', 'ada', 'order-1', 8977419563172955886, 3, 'e3', 1796072502095094, 1796072502095342, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796072502.095094}', NULL);
insert into events values ('copy', 'ada', 'order-1', 8977419563172955886, 4, 'rewind-1', 1796072502096615, 1796072502097360, 'user', 'rewind-01a22e43-7350-70e9-9048-131c3df780fd', NULL, 3, 4, 2, X'DCB11ED63D4B83EDE810A55584161357FF26E956DD8FC435A25670842CACF802', '{"author":"user","invocationId":"rewind-01a22e43-7350-70e9-9048-131c3df780fd","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1796072502.096615}', NULL);
insert into events values ('copy', 'ada', 'order-1', 8977419563172955886, 5, 'put-1', 1796072502110683, 1796072502110964, 'user', '', NULL, 3, 4, NULL, X'092F58824834CCFBEE5844FCF7C78C5BF2B2628CDD2601E3FDBE2AD78B3A4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1796072502.110683}', NULL);
insert into events values ('copy', 'ada', 'order-1', 8977419563172955886, 6, 'patch-1', 1796072502115986, 1796072502116371, 'agent', '', NULL, 4, 4, NULL, X'6EBA5E92B5A282EBC5D1C847BFC06332ABC5A8BE554AA8ACCF3D24C8E88E37D5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1796072502.115986}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 1, 'e/ä', 1796072502288239, 1796072502288336, 'agent', '', NULL, 0, 0, NULL, X'E78CFB5291353133438166F3E9E1F7DA2539E819856DE2D160DEA064905B1F7C', '{"id":"e/ä","author":"agent","actions":{"stateDelta":{ "k0ä": 0 , "k1ä": -0 , "k2ä": 1 , "k3ä": 1.0 , "k4ä": 1E2 , "k5ä": 1e+2 , "k6ä": -0.0 , "k7ä": 0e0 , "k8ä": 1e-400 , "k9ä": 0.1000000000000000055511151231257827 , "k10ä": 1180591620717411303424 , "k11ä": -170141183460469231731687303715884105729 , "k12ä": 1.7976931348623157e308 , "k13ä": 9007199254740993 , "k14ä": "\u0000" , "k15ä": "a\u0000b\u001f\u007f" , "k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "k17ä": "\/ / \" \\ \b\f\n\r\t" , "k18ä": " ﻿�􏿿" , "k19ä": "" , "k20ä": {"b":1,"a":2,"":3,"B":4} , "k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "k22ä": [ ] , "k23ä": {"$serde_json::private::RawValue": "[1]"} , "k24ä": {"$serde_json::private::Number": "1"} , "k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "k26ä": {"__proto__":1,"constructor":{"x":null}} , "k27ä": true , "k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796072502.288239}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 2, 'user:e/ä', 1796072502289862, 1796072502290577, 'agent', '', NULL, 1, 0, NULL, X'AAEB3F9FD8C682C65552B5F40D0C01C5E8880C8B8CC9650F2751ABEAFFB0268B', '{"id":"user:e/ä","author":"agent","actions":{"stateDelta":{ "user:k0ä": 0 , "user:k1ä": -0 , "user:k2ä": 1 , "user:k3ä": 1.0 , "user:k4ä": 1E2 , "user:k5ä": 1e+2 , "user:k6ä": -0.0 , "user:k7ä": 0e0 , "user:k8ä": 1e-400 , "user:k9ä": 0.1000000000000000055511151231257827 , "user:k10ä": 1180591620717411303424 , "user:k11ä": -170141183460469231731687303715884105729 , "user:k12ä": 1.7976931348623157e308 , "user:k13ä": 9007199254740993 , "user:k14ä": "\u0000" , "user:k15ä": "a\u0000b\u001f\u007f" , "user:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "user:k17ä": "\/ / \" \\ \b\f\n\r\t" , "user:k18ä": " ﻿�􏿿" , "user:k19ä": "" , "user:k20ä": {"b":1,"a":2,"":3,"B":4} , "user:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "user:k22ä": [ ] , "user:k23ä": {"$serde_json::private::RawValue": "[1]"} , "user:k24ä": {"$serde_json::private::Number": "1"} , "user:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "user:k26ä": {"__proto__":1,"constructor":{"x":null}} , "user:k27ä": true , "user:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796072502.289862}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 3, 'app:e/ä', 1796072502292275, 1796072502292340, 'agent', '', NULL, 1, 1, NULL, X'7C243795615B1D07ED39E8C4AFFB45B944DE62BE3E14B9683ECFEFE79FB05006', '{"id":"app:e/ä","author":"agent","actions":{"stateDelta":{ "app:k0ä": 0 , "app:k1ä": -0 , "app:k2ä": 1 , "app:k3ä": 1.0 , "app:k4ä": 1E2 , "app:k5ä": 1e+2 , "app:k6ä": -0.0 , "app:k7ä": 0e0 , "app:k8ä": 1e-400 , "app:k9ä": 0.1000000000000000055511151231257827 , "app:k10ä": 1180591620717411303424 , "app:k11ä": -170141183460469231731687303715884105729 , "app:k12ä": 1.7976931348623157e308 , "app:k13ä": 9007199254740993 , "app:k14ä": "\u0000" , "app:k15ä": "a\u0000b\u001f\u007f" , "app:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "app:k17ä": "\/ / \" \\ \b\f\n\r\t" , "app:k18ä": " ﻿�􏿿" , "app:k19ä": "" , "app:k20ä": {"b":1,"a":2,"":3,"B":4} , "app:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "app:k22ä": [ ] , "app:k23ä": {"$serde_json::private::RawValue": "[1]"} , "app:k24ä": {"$serde_json::private::Number": "1"} , "app:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "app:k26ä": {"__proto__":1,"constructor":{"x":null}} , "app:k27ä": true , "app:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796072502.292275}', NULL);
insert into policies values ('none', 2, NULL, NULL, NULL, NULL, 0);
insert into policies values ('shop', 1, '{"sessions":{"maxAge":"36500d"},"artifacts":{"keepVersions":50},"limits":{"sessionsPerUser":1000,"eventsPerSession":1000}}', 1000, 1000, NULL, 0);
insert into session_spans values ('shop', 'ada', 'order-1-again', 1028202594739904035, 1, 'n', 0, 1, 0, '1.10');
insert into session_spans values ('shop', 'ada', 'order-1-again', 1028202594739904035, 2, 'n', 1, 3, 0, '1E2');
insert into session_spans values ('shop', 'ada', 'order-1-again', 1028202594739904035, 2, 'topic', 0, 3, 1, '"return"');
insert into session_spans values ('shop', 'ada', 'order-1', 2298016303248754600, 1, 'n', 0, 1, 0, '1.10');
insert into session_spans values ('shop', 'ada', 'order-1', 2298016303248754600, 2, 'n', 1, 3, 0, '1E2');
insert into session_spans values ('shop', 'ada', 'order-1', 2298016303248754600, 2, 'topic', 0, 3, 1, '"return"');
insert into session_spans values ('shop', 'ada', 'order-1', 2298016303248754600, 4, 'n', 3, 4, 0, 'null');
insert into session_spans values ('shop', 'ada', 'moved', 3007348657785772919, 4, 'k', 3, 4, 0, '3');
insert into session_spans values ('shop', 'ada', 'moved', 3007348657785772919, 5, 'k', 4, 5, 0, '4');
insert into session_spans values ('shop', 'ada', 'trimmed', 7974693791003762433, 4, 'k', 3, 4, 0, '3');
insert into session_spans values ('shop', 'ada', 'trimmed', 7974693791003762433, 5, 'k', 4, 5, 0, '4');
insert into session_spans values ('copy', 'ada', 'order-1', 8977419563172955886, 1, 'n', 0, 1, 0, '1.10');
insert into session_spans values ('copy', 'ada', 'order-1', 8977419563172955886, 2, 'n', 1, 3, 0, '1E2');
insert into session_spans values ('copy', 'ada', 'order-1', 8977419563172955886, 2, 'topic', 0, 3, 1, '"return"');
insert into session_spans values ('copy', 'ada', 'order-1', 8977419563172955886, 4, 'n', 3, 4, 0, 'null');
insert into session_state values ('shop', 'ada', 'order-1', 2298016303248754600, 'n', '1E2', 4);
insert into session_state values ('shop', 'ada', 'order-1', 2298016303248754600, 'big', '1180591620717411303424', 1);
insert into session_state values ('shop', 'ada', 'order-1', 2298016303248754600, 'neg', '-0', 1);
insert into session_state values ('shop', 'ada', 'order-1', 2298016303248754600, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('shop', 'ada', 'order-1', 2298016303248754600, 'list', '[-0.0]', 2);
insert into session_state values ('shop', 'ada', 'order-1', 2298016303248754600, 'topic', '"return"', 4);
insert into session_state values ('shop', 'ada', 'order-1', 2298016303248754600, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5);
insert into session_state values ('shop', 'ada', 'order-1', 2298016303248754600, 'step', '"refund"', 6);
insert into session_state values ('shop', 'ada', 'order-1-again', 1028202594739904035, 'big', '1180591620717411303424', 1);
insert into session_state values ('shop', 'ada', 'order-1-again', 1028202594739904035, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('shop', 'ada', 'order-1-again', 1028202594739904035, 'list', '[-0.0]', 2);
insert into session_state values ('shop', 'ada', 'order-1-again', 1028202594739904035, 'neg', '-0', 1);
insert into session_state values ('shop', 'ada', 'order-1-again', 1028202594739904035, 'n', 'null', 3);
insert into session_state values ('shop', 'ada', 'files-2', 1964195382495825550, 'k', '1', 0);
insert into session_state values ('shop', 'ada', 'trimmed', 7974693791003762433, 'k', '5', 5);
insert into session_state values ('shop', 'ada', 'trimmed', 7974693791003762433, 'k1', '1', 1);
insert into session_state values ('shop', 'ada', 'trimmed', 7974693791003762433, 'k2', '2', 2);
insert into session_state values ('shop', 'ada', 'trimmed', 7974693791003762433, 'k3', '3', 3);
insert into session_state values ('shop', 'ada', 'trimmed', 7974693791003762433, 'k4', '4', 4);
insert into session_state values ('shop', 'ada', 'trimmed', 7974693791003762433, 'k5', '5', 5);
insert into session_state values ('shop', 'ada', 'redacted', 299302885296743091, 'kept', '"hunter2"', 1);
insert into session_state values ('shop', 'bob', 'by-adk', 4801938774264330969, 'topic', '"warranty"', 0);
insert into session_state values ('shop', 'ada', 'moved', 3007348657785772919, 'k', '5', 5);
insert into session_state values ('shop', 'ada', 'moved', 3007348657785772919, 'k1', '1', 3);
insert into session_state values ('shop', 'ada', 'moved', 3007348657785772919, 'k2', '2', 3);
insert into session_state values ('shop', 'ada', 'moved', 3007348657785772919, 'k3', '3', 3);
insert into session_state values ('shop', 'ada', 'moved', 3007348657785772919, 'k4', '4', 4);
insert into session_state values ('shop', 'ada', 'moved', 3007348657785772919, 'k5', '5', 5);
insert into session_state values ('copy', 'ada', 'order-1', 8977419563172955886, 'big', '1180591620717411303424', 1);
insert into session_state values ('copy', 'ada', 'order-1', 8977419563172955886, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('copy', 'ada', 'order-1', 8977419563172955886, 'list', '[-0.0]', 2);
insert into session_state values ('copy', 'ada', 'order-1', 8977419563172955886, 'n', '1E2', 4);
insert into session_state values ('copy', 'ada', 'order-1', 8977419563172955886, 'neg', '-0', 1);
insert into session_state values ('copy', 'ada', 'order-1', 8977419563172955886, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5);
insert into session_state values ('copy', 'ada', 'order-1', 8977419563172955886, 'step', '"refund"', 6);
insert into session_state values ('copy', 'ada', 'order-1', 8977419563172955886, 'topic', '"return"', 4);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k0ä', '0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k10ä', '1180591620717411303424', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k11ä', '-170141183460469231731687303715884105729', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k12ä', '1.7976931348623157e308', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k13ä', '9007199254740993', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k14ä', '"\u0000"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k15ä', '"a\u0000b\u001f\u007f"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k18ä', '" ﻿�􏿿"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k19ä', '""', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k1ä', '-0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k22ä', '[ ]', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k24ä', '{"$serde_json::private::Number": "1"}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k27ä', 'true', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k28ä', 'null', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k2ä', '1', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k3ä', '1.0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k4ä', '1E2', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k5ä', '1e+2', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k6ä', '-0.0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k7ä', '0e0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k8ä', '1e-400', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 'k9ä', '0.1000000000000000055511151231257827', 1);
insert into session_updates values ('copy', 'ada', 'order-1', 179607250);
insert into session_updates values ('läger/1 ü', 'ß ø@例え', 'a b😀', 179607250);
insert into session_updates values ('shop', 'ada', 'compacted', 0);
insert into session_updates values ('shop', 'ada', 'files', 179607250);
insert into session_updates values ('shop', 'ada', 'files-2', 179607250);
insert into session_updates values ('shop', 'ada', 'moved', 179607250);
insert into session_updates values ('shop', 'ada', 'order-1', 179607250);
insert into session_updates values ('shop', 'ada', 'order-1-again', 179607250);
insert into session_updates values ('shop', 'ada', 'redacted', 179607250);
insert into session_updates values ('shop', 'ada', 'trimmed', 179607250);
insert into session_updates values ('shop', 'bob', 'by-adk', 179607250);
insert into sessiond_migrations values (1, 'sessions', '2026-11-30 21:01:42', 1, X'C79700C23DC07E9CBC4BC2A88E25AE3B49EB54FF7511B9FF5DEA8810DEF4873DB676FA35A43EA1E0AB68C237EF0826DC', 2144734);
insert into sessions values ('shop', 'ada', 'files', 2446335788768811924, 2, 0, 1796072502090557, 1796072502142000, 1796072502141658, '1796072502.141658', 20787, NULL, NULL, NULL, 0, '{}', 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'order-1', 2298016303248754600, 6, 0, 1796072502092251, 1796072502116371, 1796072502115986, '1796072502.115986', 20787, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, 'create-1', X'986E8347A1CA037F059646A89B18A481CB8A30C7777918AC2E45F9DF0E63F133', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 'pod-7/4f1c', 'i9', 1796072562142684, 60000000, 0);
insert into sessions values ('shop', 'ada', 'order-1-again', 1028202594739904035, 4, 1, 1796072502121939, 1796072502153479, 1796072502153260, '1796072502.153260', 20787, '"forked"', '{"a":"b"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, 'order-1', 3, 'fork-1', X'5852D7B187AB49A4BD7E012F6F3D1B907F2E43D839BF5FEE347D0B6E3CD017E4', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'files-2', 1964195382495825550, 4, 0, 1796072502154527, 1796072502167461, 1796072502167174, '1796072502.167174', 20787, NULL, NULL, NULL, 0, '{"k":1}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'compacted', 651320406693707948, 6, 0, 1796072502168994, 1796072502174105, 6000000, '6', 20787, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'trimmed', 7974693791003762433, 5, 1, 1796072502174943, 1796072502183734, 1796072502183687, '1796072502.183687', 20787, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'redacted', 299302885296743091, 3, 2, 1796072502200441, 1796072502220678, 1796072502219339, '1796072502.219339', 20787, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'bob', 'by-adk', 4801938774264330969, 0, 0, 1796072502231312, 1796072502231312, 1796072502231312, '1796072502.231312', 20787, NULL, NULL, NULL, 0, '{"topic":"warranty"}', 1, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'moved', 3007348657785772919, 5, 0, 1796072502195645, 1796072502199096, 1796072502199048, '1796072502.199048', 20787, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, '734a2f4da4d5fe10', X'56BE996291E008EEFF1E15D3A862B8181DAD884938A089BCD476958312C350ED', 5, 3, 5, 3, 5, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('copy', 'ada', 'order-1', 8977419563172955886, 6, 0, 1796072502092251, 1796072502116371, 1796072502115986, '1796072502.115986', 20787, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, NULL, NULL, '1fe431a70332c7a8', X'77B193CB8EE5E427DE57755CC6BC1E3B08111A86633218DDB59279AC62C15D3A', 6, 0, 6, 0, 6, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('läger/1 ü', 'ß ø@例え', 'a b😀', 8274127361720612197, 3, 0, 1796072502285818, 1796072502292340, 1796072502292275, '1796072502.292275', 20787, NULL, NULL, NULL, 0, '{}', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into token_epochs values ('shop', X'3F81D6CD65C679EEEC677CDC2B2EDF71D09FCC4000AADCA97182B859C537EE2C', 1, 0);
insert into token_epochs values ('shop', X'772E7DA7D3098101C409814BD6251AD1895C74F46549E69DBF8423566C74DFE9', 1, 1);
insert into token_epochs values ('shop', X'D921B599E4C91B0B69BD073D3DCD6388094D87F625AEBCCCF2537AA25C34DEAE', 1, 2);
insert into token_secrets values ('current', X'2A1CD65A649123D839B7B8FE2FBE37CD849AE46AFC87D05F67DAF5977FBE5D13');
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k0ä', 1, '0', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k10ä', 1, '1180591620717411303424', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k11ä', 1, '-170141183460469231731687303715884105729', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k12ä', 1, '1.7976931348623157e308', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k13ä', 1, '9007199254740993', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k14ä', 1, '"\u0000"', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k18ä', 1, '" ﻿�􏿿"', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k19ä', 1, '""', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k1ä', 1, '-0', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k22ä', 1, '[ ]', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k27ä', 1, 'true', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k28ä', 1, 'null', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k2ä', 1, '1', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k3ä', 1, '1.0', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k4ä', 1, '1E2', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k5ä', 1, '1e+2', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k6ä', 1, '-0.0', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k7ä', 1, '0e0', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k8ä', 1, '1e-400', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k9ä', 1, '0.1000000000000000055511151231257827', 1796072502290000, 8274127361720612197, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'kept', 6, '"hunter2"', 1796072502203000, 299302885296743091, 1, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'language', 1, '"en"', 1796072502089000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'n', 3, '-0.0', 1796072502094000, 2298016303248754600, 1, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'n', 5, '7', 1796072502153000, 1028202594739904035, 4, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'name', 2, '"Ada"', 1796072502092000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'removed', 7, NULL, 1796072502218000, 299302885296743091, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'removed', 8, NULL, 1796072502221000, 299302885296743091, 3, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'returns', 4, '1', 1796072502116000, 2298016303248754600, 6, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'bob', 'name', 1, '"Bob"', 1796072502232000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'zoe', 'alone', 1, 'true', 1796072502089000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
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
