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
    -- That session, or once it is removed the nearest one above it that is there: redactions reach a fork from it. Null: none is left.
    nearest_source        text,
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
    -- Of a redacted event: the metadata revision of its session that the last redaction made, unless it was copied since. -1: an event
    -- that removes values of which a redaction left no span.
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
CREATE INDEX sessions_by_nearest_source on sessions (app_name, user_id, nearest_source) where nearest_source is not null;
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
CREATE INDEX artifact_places_of_users on artifact_places (app_name, user_id) where session_id = '';
CREATE UNIQUE INDEX artifacts_request_key on artifacts (app_name, user_id, session_id, incarnation, name, request_key)
    where request_key is not null;
CREATE INDEX blobs_loose on blobs (loose_since) where loose_since is not null;
CREATE INDEX blobs_by_object on blobs (object) where object is not null;
CREATE INDEX blobs_by_erasure on blobs (erasure) where erasure is not null;
CREATE UNIQUE INDEX erasures_request on erasures (request, app_name) where request is not null;
CREATE INDEX erasures_running on erasures (subject, app_name, request_time, id) where done_time is null;
CREATE INDEX changes_begin on changes (id) where app_name = '';
insert into api_keys values ('4dnwjeh75wtx', 'ends', X'0D966592216C16BD7EC046ED9990B031E8E659053C0996AA76DE4E84836E715F', 'operator', '["*"]', '["*"]', 1795786061770050, 4102444800000000, NULL, NULL);
insert into api_keys values ('ds2b7srvwbrf', 'admin', X'263ED65212883A804A757F6E176206A4899C1899C94541D2EC33608E86D9BB96', 'admin', '["*"]', '["*"]', 1795786061670151, NULL, 1795786061756363, NULL);
insert into api_keys values ('f72c3med2v7p', 'is revoked', NULL, 'agent', '["läger*","shop"]', '["*"]', 1795786061765446, NULL, NULL, 1795786061773874);
insert into api_keys values ('pqyseuy47z6i', 'reads less', X'E4E343667C0750162906106F492A89C626621A9274A75281738173161122F7E4', 'reader', '["shop"]', '["ada"]', 1795786061757846, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k0ä', 1, '0', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k10ä', 1, '1180591620717411303424', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k11ä', 1, '-170141183460469231731687303715884105729', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k12ä', 1, '1.7976931348623157e308', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k13ä', 1, '9007199254740993', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k14ä', 1, '"\u0000"', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k18ä', 1, '" ﻿�􏿿"', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k19ä', 1, '""', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k1ä', 1, '-0', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k22ä', 1, '[ ]', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k27ä', 1, 'true', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k28ä', 1, 'null', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k2ä', 1, '1', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k3ä', 1, '1.0', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k4ä', 1, '1E2', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k5ä', 1, '1e+2', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k6ä', 1, '-0.0', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k7ä', 1, '0e0', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k8ä', 1, '1e-400', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k9ä', 1, '0.1000000000000000055511151231257827', 1795786062763000, 2552860424372090089, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'by', 5, '"deleted"', 1795786062449000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'count', 4, '2', 1795786061897000, 6679765812985651648, 2, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'currency', 3, '"EUR"', 1795786061871000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'gone', 1, '[1.0]', 1795786061828000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'gone', 2, NULL, 1795786061835000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'last', 6, '"x"', 1795786062778000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'last', 7, '"x"', 1795786062897000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'returnDays', 1, '30', 1795786061828000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
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
insert into artifact_names values ('shop', 'ada', '', 0, 'user:address', 1, 0, 1);
insert into artifact_names values ('shop', 'ada', 'files', 2567750046147229642, 'notes/summary', 2, 1, 2);
insert into artifact_names values ('shop', 'ada', 'files-2', 8080994869194317609, 'gone', 1, NULL, 0);
insert into artifact_names values ('shop', 'ada', 'files-2', 8080994869194317609, 'page.html', 4, 3, 4);
insert into artifact_names values ('shop', 'bob', 'by-adk', 8079130458692157283, 'a', 1, 0, 1);
insert into artifact_places values ('shop', 'ada', '', 0, 1);
insert into artifact_places values ('shop', 'ada', 'files', 2567750046147229642, 2);
insert into artifact_places values ('shop', 'ada', 'files-2', 8080994869194317609, 4);
insert into artifact_places values ('shop', 'bob', 'by-adk', 8079130458692157283, 1);
insert into artifact_spans values ('shop', 'ada', 'files-2', 8080994869194317609, 2, 'page.html', 1, 2, 0);
insert into artifact_spans values ('shop', 'ada', 'files-2', 8080994869194317609, 3, 'page.html', 2, 3, 2);
insert into artifact_state values ('shop', 'ada', 'files', 2567750046147229642, 'notes/summary', 0, 1);
insert into artifact_state values ('shop', 'ada', 'files', 2567750046147229642, 'user:address', 0, 2);
insert into artifact_state values ('shop', 'ada', 'files-2', 8080994869194317609, 'gone', 0, 4);
insert into artifact_state values ('shop', 'ada', 'files-2', 8080994869194317609, 'page.html', 3, 3);
insert into artifacts values ('shop', 'ada', 'files', 2567750046147229642, 'notes/summary', 0, 791092731483199170, 'text', 'text/plain', 14, X'3E6C1234228EB2390FA98A214DC9021924B308E03BDFF3C19BE6E22D608173DE', '01a21d30-b886-756a-a3b7-381b2b11932d', 1795786061958876, '{"n":1.0}', NULL, NULL, 1, 'save-1', X'26419E28C76E7A79A0E9095791E4F0F2C2B8762A3394F5C51365C71CEBEB2984');
insert into artifacts values ('shop', 'ada', 'files', 2567750046147229642, 'notes/summary', 1, 5943912550820412508, 'bytes', 'a/b', 7, X'A9D7A888389F7C168A45F653D59E171FD5188CA7A88DE23A306070AB968E847D', '01a21d30-b893-70b0-80a9-b1589abdd932', 1795786061971679, NULL, '"n"', NULL, NULL, 'save-2', X'139E072544FC51136CE7148E64C95E8C2BC71D474CFBEB1A793EA2274D6939A7');
insert into artifacts values ('shop', 'ada', '', 0, 'user:address', 0, 2392724682609759828, 'uri', 'c/d', NULL, NULL, NULL, 1795786061979625, NULL, NULL, '"gs://a/b"', 2, 'save-3', X'5F891A92236FAB2F7566EF7A7A61B65A17ECCF13C674360002BBFD995648A46B');
insert into artifacts values ('shop', 'ada', 'files-2', 8080994869194317609, 'page.html', 0, 2260050568028556779, 'bytes', 'text/html', 8, X'DB149029E10436BD960194453B725D04A252D8FDFDCAC86D4EB2DF7B85577B07', '01a21d30-b8c3-764e-a2d9-e54b45119501', 1795786062019994, NULL, NULL, NULL, 1, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 8080994869194317609, 'page.html', 1, 8904353340689123534, 'bytes', 'text/html', 8, X'6E784353EA75228D9D65F28D704F77C2B294757AE6D8CA74AE74A459DE564CFA', '01a21d30-b8f3-7162-835d-3f594e1eb2c6', 1795786062067962, NULL, NULL, NULL, NULL, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 8080994869194317609, 'page.html', 2, 8059285665415902616, 'bytes', 'text/html', 8, X'F543C768A1419D4865F627460E7D4F974AE95606E4981F9B6E829D09299E7DA8', '01a21d30-b8fa-702f-ac2c-f5ab445646c9', 1795786062074874, NULL, '"ü"', NULL, 2, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 8080994869194317609, 'page.html', 3, 6362402944249569666, 'bytes', 'text/html', 8, X'DB149029E10436BD960194453B725D04A252D8FDFDCAC86D4EB2DF7B85577B07', '01a21d30-b8c3-764e-a2d9-e54b45119501', 1795786062083404, NULL, NULL, NULL, 3, NULL, NULL);
insert into artifacts values ('shop', 'bob', 'by-adk', 8079130458692157283, 'a', 0, 5152646733603592281, 'text', 'text/plain', 6, X'9A2F5DA45C096840A0CE25B489C89C3B91F4ECA1054E71D338BE0BCEFA7D3A2A', '01a21d30-bab2-70fd-a4ec-d3e0a1ff339d', 1795786062514314, '{"m":"s"}', NULL, NULL, NULL, NULL, NULL);
insert into blob_chunks values ('shop', 'ada', '01a21d30-b886-756a-a3b7-381b2b11932d', 0, X'6772C3BCC39F000A22476F747422');
insert into blob_chunks values ('shop', 'ada', '01a21d30-b893-70b0-80a9-b1589abdd932', 0, X'000102030405FF');
insert into blob_chunks values ('shop', 'ada', '01a21d30-b8c3-764e-a2d9-e54b45119501', 0, X'3C623E313C2F623E');
insert into blob_chunks values ('shop', 'ada', '01a21d30-b8f3-7162-835d-3f594e1eb2c6', 0, X'3C623E323C2F623E');
insert into blob_chunks values ('shop', 'ada', '01a21d30-b8fa-702f-ac2c-f5ab445646c9', 0, X'3C623E333C2F623E');
insert into blob_chunks values ('shop', 'bob', '01a21d30-bab2-70fd-a4ec-d3e0a1ff339d', 0, X'62792041444B');
insert into blobs values ('shop', 'ada', '01a21d30-b886-756a-a3b7-381b2b11932d', 14, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a21d30-b893-70b0-80a9-b1589abdd932', 7, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a21d30-b8c3-764e-a2d9-e54b45119501', 8, 2, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a21d30-b8f3-7162-835d-3f594e1eb2c6', 8, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a21d30-b8fa-702f-ac2c-f5ab445646c9', 8, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'bob', '01a21d30-bab2-70fd-a4ec-d3e0a1ff339d', 6, 1, NULL, NULL, NULL, NULL, NULL);
insert into blocked_users values ('shop', X'8B24FD9090347203818664AC3CA7F9D7F82BC8F30FABC64C256F22D03B17A464');
insert into changes values (1, 0, '', NULL, NULL, NULL, 0, 0, NULL, 1795786061599000);
insert into changes values (2, 7, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795786061829000);
insert into changes values (3, 7, 'shop', NULL, NULL, NULL, 2, 2, NULL, 1795786061836000);
insert into changes values (4, 6, 'shop', 'zoe', NULL, NULL, 1, 1, NULL, 1795786061844000);
insert into changes values (5, 6, 'shop', 'ada', NULL, NULL, 1, 1, NULL, 1795786061850000);
insert into changes values (6, 1, 'shop', 'ada', 'files', 2567750046147229642, 0, 0, NULL, 1795786061863000);
insert into changes values (7, 1, 'shop', 'ada', 'order-1', 6679765812985651648, 0, 0, NULL, 1795786061872000);
insert into changes values (8, 6, 'shop', 'ada', NULL, NULL, 2, 2, NULL, 1795786061872000);
insert into changes values (9, 7, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1795786061872000);
insert into changes values (10, 2, 'shop', 'ada', 'order-1', 6679765812985651648, 1, 1, NULL, 1795786061883000);
insert into changes values (11, 6, 'shop', 'ada', NULL, NULL, 3, 3, NULL, 1795786061883000);
insert into changes values (12, 2, 'shop', 'ada', 'order-1', 6679765812985651648, 2, 3, NULL, 1795786061898000);
insert into changes values (13, 7, 'shop', NULL, NULL, NULL, 4, 4, NULL, 1795786061898000);
insert into changes values (14, 2, 'shop', 'ada', 'order-1', 6679765812985651648, 4, 4, NULL, 1795786061914000);
insert into changes values (15, 2, 'shop', 'ada', 'order-1', 6679765812985651648, 5, 5, NULL, 1795786061924000);
insert into changes values (16, 2, 'shop', 'ada', 'order-1', 6679765812985651648, 6, 6, NULL, 1795786061940000);
insert into changes values (17, 6, 'shop', 'ada', NULL, NULL, 4, 4, NULL, 1795786061940000);
insert into changes values (18, 1, 'shop', 'ada', 'order-1-again', 394228207557928496, 0, 3, '{"sessionId":"order-1","revision":3}', 1795786061952000);
insert into changes values (19, 2, 'shop', 'ada', 'order-1-again', 394228207557928496, 1, 3, NULL, 1795786061952000);
insert into changes values (20, 9, 'shop', 'ada', 'files', 2567750046147229642, 0, 0, '{"name":"notes/summary","version":0,"size":14}', 1795786061964000);
insert into changes values (21, 2, 'shop', 'ada', 'files', 2567750046147229642, 1, 1, NULL, 1795786061964000);
insert into changes values (22, 9, 'shop', 'ada', 'files', 2567750046147229642, 0, 0, '{"name":"notes/summary","version":1,"size":7}', 1795786061974000);
insert into changes values (23, 9, 'shop', 'ada', NULL, NULL, 0, 0, '{"name":"user:address","version":0}', 1795786061983000);
insert into changes values (24, 2, 'shop', 'ada', 'files', 2567750046147229642, 2, 2, NULL, 1795786061983000);
insert into changes values (25, 3, 'shop', 'ada', 'order-1-again', 394228207557928496, 0, 0, '{"displayName":"forked","labels":{"a":"b"},"expireTime":4102444800.000000}', 1795786061996000);
insert into changes values (26, 2, 'shop', 'ada', 'order-1-again', 394228207557928496, 4, 4, NULL, 1795786062004000);
insert into changes values (27, 6, 'shop', 'ada', NULL, NULL, 5, 5, NULL, 1795786062004000);
insert into changes values (28, 1, 'shop', 'ada', 'files-2', 8080994869194317609, 0, 0, NULL, 1795786062014000);
insert into changes values (29, 9, 'shop', 'ada', 'files-2', 8080994869194317609, 0, 0, '{"name":"page.html","version":0,"size":8}', 1795786062024000);
insert into changes values (30, 2, 'shop', 'ada', 'files-2', 8080994869194317609, 1, 1, NULL, 1795786062024000);
insert into changes values (31, 9, 'shop', 'ada', 'files-2', 8080994869194317609, 0, 0, '{"name":"page.html","version":1,"size":8}', 1795786062070000);
insert into changes values (32, 9, 'shop', 'ada', 'files-2', 8080994869194317609, 0, 0, '{"name":"page.html","version":2,"size":8}', 1795786062078000);
insert into changes values (33, 2, 'shop', 'ada', 'files-2', 8080994869194317609, 2, 2, NULL, 1795786062078000);
insert into changes values (34, 9, 'shop', 'ada', 'files-2', 8080994869194317609, 0, 0, '{"name":"page.html","version":3,"size":8}', 1795786062088000);
insert into changes values (35, 2, 'shop', 'ada', 'files-2', 8080994869194317609, 3, 3, NULL, 1795786062088000);
insert into changes values (36, 9, 'shop', 'ada', 'files-2', 8080994869194317609, 0, 0, '{"name":"gone","version":0,"size":1}', 1795786062100000);
insert into changes values (37, 2, 'shop', 'ada', 'files-2', 8080994869194317609, 4, 4, NULL, 1795786062100000);
insert into changes values (38, 10, 'shop', 'ada', 'files-2', 8080994869194317609, 0, 0, '{"name":"gone","reason":"deleted"}', 1795786062111000);
insert into changes values (39, 1, 'shop', 'ada', 'compacted', 9169974778207802677, 0, 0, NULL, 1795786062124000);
insert into changes values (40, 2, 'shop', 'ada', 'compacted', 9169974778207802677, 1, 1, NULL, 1795786062136000);
insert into changes values (41, 2, 'shop', 'ada', 'compacted', 9169974778207802677, 2, 2, NULL, 1795786062145000);
insert into changes values (42, 2, 'shop', 'ada', 'compacted', 9169974778207802677, 3, 3, NULL, 1795786062153000);
insert into changes values (43, 2, 'shop', 'ada', 'compacted', 9169974778207802677, 4, 4, NULL, 1795786062164000);
insert into changes values (44, 2, 'shop', 'ada', 'compacted', 9169974778207802677, 5, 5, NULL, 1795786062199000);
insert into changes values (45, 2, 'shop', 'ada', 'compacted', 9169974778207802677, 6, 6, NULL, 1795786062205000);
insert into changes values (46, 1, 'shop', 'ada', 'trimmed', 1993793977584428361, 0, 0, NULL, 1795786062215000);
insert into changes values (47, 2, 'shop', 'ada', 'trimmed', 1993793977584428361, 1, 1, NULL, 1795786062224000);
insert into changes values (48, 2, 'shop', 'ada', 'trimmed', 1993793977584428361, 2, 2, NULL, 1795786062231000);
insert into changes values (49, 2, 'shop', 'ada', 'trimmed', 1993793977584428361, 3, 3, NULL, 1795786062239000);
insert into changes values (50, 2, 'shop', 'ada', 'trimmed', 1993793977584428361, 4, 4, NULL, 1795786062251000);
insert into changes values (51, 2, 'shop', 'ada', 'trimmed', 1993793977584428361, 5, 5, NULL, 1795786062266000);
insert into changes values (52, 4, 'shop', 'ada', 'trimmed', 1993793977584428361, 0, 3, NULL, 1795786062273000);
insert into changes values (53, 1, 'shop', 'ada', 'moved', 7010794607301665361, 0, 0, NULL, 1795786062281000);
insert into changes values (54, 2, 'shop', 'ada', 'moved', 7010794607301665361, 1, 1, NULL, 1795786062289000);
insert into changes values (55, 2, 'shop', 'ada', 'moved', 7010794607301665361, 2, 2, NULL, 1795786062299000);
insert into changes values (56, 2, 'shop', 'ada', 'moved', 7010794607301665361, 3, 3, NULL, 1795786062306000);
insert into changes values (57, 2, 'shop', 'ada', 'moved', 7010794607301665361, 4, 4, NULL, 1795786062319000);
insert into changes values (58, 2, 'shop', 'ada', 'moved', 7010794607301665361, 5, 5, NULL, 1795786062328000);
insert into changes values (59, 4, 'shop', 'ada', 'moved', 7010794607301665361, 0, 3, NULL, 1795786062335000);
insert into changes values (60, 1, 'shop', 'ada', 'redacted', 246311763637858418, 0, 0, NULL, 1795786062344000);
insert into changes values (61, 2, 'shop', 'ada', 'redacted', 246311763637858418, 1, 1, NULL, 1795786062352000);
insert into changes values (62, 6, 'shop', 'ada', NULL, NULL, 6, 6, NULL, 1795786062352000);
insert into changes values (63, 11, 'shop', 'ada', 'redacted', 246311763637858418, 1, 1, NULL, 1795786062365000);
insert into changes values (64, 2, 'shop', 'ada', 'redacted', 246311763637858418, 2, 2, NULL, 1795786062423000);
insert into changes values (65, 6, 'shop', 'ada', NULL, NULL, 7, 7, NULL, 1795786062423000);
insert into changes values (66, 11, 'shop', 'ada', 'redacted', 246311763637858418, 2, 2, NULL, 1795786062436000);
insert into changes values (67, 2, 'shop', 'ada', 'redacted', 246311763637858418, 3, 3, NULL, 1795786062436000);
insert into changes values (68, 6, 'shop', 'ada', NULL, NULL, 8, 8, NULL, 1795786062436000);
insert into changes values (69, 1, 'shop', 'ada', 'deleted', 4244290929561656444, 0, 0, NULL, 1795786062451000);
insert into changes values (70, 7, 'shop', NULL, NULL, NULL, 5, 5, NULL, 1795786062451000);
insert into changes values (71, 5, 'shop', 'ada', 'deleted', 4244290929561656444, 0, 0, 'deleted', 1795786062457000);
insert into changes values (72, 1, 'shop', 'bob', 'by-adk', 8079130458692157283, 0, 0, NULL, 1795786062466000);
insert into changes values (73, 6, 'shop', 'bob', NULL, NULL, 1, 1, NULL, 1795786062466000);
insert into changes values (74, 9, 'shop', 'bob', 'by-adk', 8079130458692157283, 0, 0, '{"name":"a","version":0,"size":6}', 1795786062516000);
insert into changes values (75, 5, 'shop', 'ada', 'moved', 7010794607301665361, 0, 0, 'deleted', 1795786062607000);
insert into changes values (76, 1, 'shop', 'ada', 'moved', 7479558531090820643, 0, 5, NULL, 1795786062623000);
insert into changes values (77, 2, 'shop', 'ada', 'moved', 7479558531090820643, 4, 5, NULL, 1795786062623000);
insert into changes values (78, 1, 'copy', 'ada', 'order-1', 8883185828265585995, 0, 6, NULL, 1795786062694000);
insert into changes values (79, 2, 'copy', 'ada', 'order-1', 8883185828265585995, 1, 6, NULL, 1795786062694000);
insert into changes values (80, 1, 'läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 0, 0, NULL, 1795786062704000);
insert into changes values (81, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 1, 1, NULL, 1795786062716000);
insert into changes values (82, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 2, 2, NULL, 1795786062726000);
insert into changes values (83, 6, 'läger/1 ü', 'ß ø@例え', NULL, NULL, 1, 1, NULL, 1795786062726000);
insert into changes values (84, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 3, 3, NULL, 1795786062764000);
insert into changes values (85, 7, 'läger/1 ü', NULL, NULL, NULL, 1, 1, NULL, 1795786062764000);
insert into changes values (86, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1795786062780000);
insert into changes values (87, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795786062780000);
insert into changes values (88, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795786062780000);
insert into changes values (89, 7, 'shop', NULL, NULL, NULL, 6, 6, NULL, 1795786062780000);
insert into changes values (90, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a21d30-bbc5-77d8-b7f6-591eee9494eb","subject":"8b24fd9090347203818664ac3ca7f9d7f82bc8f30fabc64c256f22d03b17a464"}', 1795786062798000);
insert into changes values (91, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1795786062898000);
insert into changes values (92, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795786062898000);
insert into changes values (93, 0, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1795786062898000);
insert into changes values (94, 7, 'shop', NULL, NULL, NULL, 7, 7, NULL, 1795786062898000);
insert into changes values (95, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a21d30-bc38-72c7-8c50-6907985482b5","subject":"8967b69654369effc5296af76d7a8a4a8d63b7b3be86cd9621a6a15882c862f2"}', 1795786062908000);
insert into effective_views values ('shop', 'ada', 'compacted', 9169974778207802677, 5, '{"covered":[[1,3]],"needed":[],"unsure":false,"kept":[[5,4607182418800017408,4613937818241073152,{"scope":null,"branch":null,"node":false},5]]}');
insert into erased_revisions values ('shop', 4);
insert into erasure_counts values ('shop', 2);
insert into erasure_secrets values ('receipt', X'3051020101300506032B657004220420AF2B6DD1F3B84A642EF9B09707C7C82070850E293B91E5213595870BD131CC5A812100AD6D327E33BCCB6082A5EC94FBD71825488FC2C47494EDD8B92EBC9D8DE36048');
insert into erasure_secrets values ('salt', X'D918B15C064718FBC5B84CA98BCDEB69F548248033FB69976C020D72F7B981C6');
insert into erasures values ('01a21d30-bbc5-77d8-b7f6-591eee9494eb', 'shop', X'8B24FD9090347203818664AC3CA7F9D7F82BC8F30FABC64C256F22D03B17A464', X'7024C75495BF220AFF66E39E96755BBA779487189D822451D249384EE315FF40', 'case 17', 1, 1, 1795786062795194, 1795786062884969, 1, 1, 2, 1, 0, '{"id":"01a21d30-bbc5-77d8-b7f6-591eee9494eb","appName":"shop","subject":"8b24fd9090347203818664ac3ca7f9d7f82bc8f30fabc64c256f22d03b17a464","reference":"case 17","requestTime":1795786062.795194,"doneTime":1795786062.884969,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":true,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens","a keyed hash of app and user by which the user is refused"],"instance":"d5474496d7f7c272a7e4bf679fa234db","keyId":"8e5ff9faca53ca08","signature":"lTo8rY22wlPJrDClrxzuKnNitCElxKzRYOqgHUngt5rgSIol1yO48cWjtpzq0bW_BUWlE0viApuYfofXfJCECQ"}');
insert into erasures values ('01a21d30-bc38-72c7-8c50-6907985482b5', 'shop', X'8967B69654369EFFC5296AF76D7A8A4A8D63B7B3BE86CD9621A6A15882C862F2', NULL, 'case 18', NULL, 0, 1795786062905318, 1795786063004049, 1, 1, 2, 1, 0, '{"id":"01a21d30-bc38-72c7-8c50-6907985482b5","appName":"shop","subject":"8967b69654369effc5296af76d7a8a4a8d63b7b3be86cd9621a6a15882c862f2","reference":"case 18","requestTime":1795786062.905318,"doneTime":1795786063.004049,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":false,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens"],"instance":"d5474496d7f7c272a7e4bf679fa234db","keyId":"8e5ff9faca53ca08","signature":"2Mayx4lDcLdZvc6EnvsGBkMv-zFTP0ImLw9yaWuUQ9NZwHQo7pAz5672Hza5J5OkHBbQoEUtXt_Jh5vHMP33Dg"}');
insert into events values ('shop', 'ada', 'order-1', 6679765812985651648, 1, 'e1', 1500000, 1795786061880147, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('shop', 'ada', 'order-1', 6679765812985651648, 2, 'e2', 1795786061894382, 1795786061897098, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1795786061.894382}', NULL);
insert into events values ('shop', 'ada', 'order-1', 6679765812985651648, 3, 'e3', 1795786061894382, 1795786061897098, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1795786061.894382}', NULL);
insert into events values ('shop', 'ada', 'order-1', 6679765812985651648, 4, 'rewind-1', 1795786061907233, 1795786061912254, 'user', 'rewind-01a21d30-b853-733b-ac12-beec3cd55f74', NULL, 3, 4, 2, X'0C6C227C879A67E58CEE58A22674C136F74FF5EAA056C1541113497D5C230AB3', '{"author":"user","invocationId":"rewind-01a21d30-b853-733b-ac12-beec3cd55f74","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1795786061.907233}', NULL);
insert into events values ('shop', 'ada', 'order-1', 6679765812985651648, 5, 'put-1', 1795786061920646, 1795786061922280, 'user', '', NULL, 3, 4, NULL, X'092F58824834CCFBEE5844FCF7C78C5BF2B2628CDD2601E3FDBE2AD78B3A4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1795786061.920646}', NULL);
insert into events values ('shop', 'ada', 'order-1', 6679765812985651648, 6, 'patch-1', 1795786061932737, 1795786061936148, 'agent', '', NULL, 4, 4, NULL, X'6EBA5E92B5A282EBC5D1C847BFC06332ABC5A8BE554AA8ACCF3D24C8E88E37D5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1795786061.932737}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 394228207557928496, 1, 'e1', 1500000, 1795786061880147, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 394228207557928496, 2, 'e2', 1795786061894382, 1795786061897098, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1795786061.894382}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 394228207557928496, 3, 'e3', 1795786061894382, 1795786061897098, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1795786061.894382}', NULL);
insert into events values ('shop', 'ada', 'files', 2567750046147229642, 1, '01a21d30-b886-756a-a3b7-381ce8a1384a', 1795786061958876, 1795786061961818, 'user', '', NULL, 4, 4, NULL, X'D2E2E5C0F9AED3095775C9C8F1BC1925FBCEB4704466F38B9E2A05F080ED24B6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"notes/summary":0}},"id":"01a21d30-b886-756a-a3b7-381ce8a1384a","timestamp":1795786061.958876}', NULL);
insert into events values ('shop', 'ada', 'files', 2567750046147229642, 2, '01a21d30-b89b-76ba-8786-c43f06ab76d1', 1795786061979625, 1795786061981751, 'user', '', NULL, 4, 4, NULL, X'601AC91DD78257428AFF5E52EF0CF956333CE74FF62FF6F9C0EE2174F1AEEBC6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"user:address":0}},"id":"01a21d30-b89b-76ba-8786-c43f06ab76d1","timestamp":1795786061.979625}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 394228207557928496, 4, 'own', 1795786062001906, 1795786062003539, 'user', '', NULL, 5, 4, NULL, X'ABAC0094F067CA3A080374546A8F16559889F3D0C2DB27C80EC48CA855EDF5D3', '{"id":"own","author":"user","actions":{"stateDelta":{"user:n":7}},"timestamp":1795786062.001906}', NULL);
insert into events values ('shop', 'ada', 'files-2', 8080994869194317609, 1, '01a21d30-b8c3-764e-a2d9-e54ce2e22d0b', 1795786062019994, 1795786062022263, 'user', '', NULL, 5, 4, NULL, X'2E8CC7579CFFF08786CE4C8806BD956E831F50E37DDCFEFE584B2D0E6EA27985', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":0}},"id":"01a21d30-b8c3-764e-a2d9-e54ce2e22d0b","timestamp":1795786062.019994}', NULL);
insert into events values ('shop', 'ada', 'files-2', 8080994869194317609, 2, '01a21d30-b8fa-702f-ac2c-f5ac6bbd32cf', 1795786062074874, 1795786062076892, 'user', '', NULL, 5, 4, NULL, X'80D48EAE81BBE94071B8B31400F3C11BCB79002CD30FA2CAF13AA738E46633C2', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":2}},"id":"01a21d30-b8fa-702f-ac2c-f5ac6bbd32cf","timestamp":1795786062.074874}', NULL);
insert into events values ('shop', 'ada', 'files-2', 8080994869194317609, 3, '01a21d30-b903-7105-b097-9787213773fd', 1795786062083404, 1795786062086089, 'user', 'rewind-01a21d30-b903-7105-b097-978809dd47d1', NULL, 5, 4, 1, X'DBC960D50FD7E123F10CC46D9DD216D637D129F1851277F3F7BC64B4E973BB77', '{"author":"user","invocationId":"rewind-01a21d30-b903-7105-b097-978809dd47d1","actions":{"stateDelta":{},"rewindBeforeInvocationId":"","artifactDelta":{"page.html":3}},"customMetadata":{"rewindToRevision":1},"id":"01a21d30-b903-7105-b097-9787213773fd","timestamp":1795786062.083404}', NULL);
insert into events values ('shop', 'ada', 'files-2', 8080994869194317609, 4, '01a21d30-b910-7332-82a8-c9db15bcd8c7', 1795786062096028, 1795786062098548, 'user', '', NULL, 5, 4, NULL, X'65F05C4408D5AECEBEA0AD84224D538BAEA2B514D41885DC4A2462ECE115D210', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"gone":0}},"id":"01a21d30-b910-7332-82a8-c9db15bcd8c7","timestamp":1795786062.096028}', NULL);
insert into events values ('shop', 'ada', 'compacted', 9169974778207802677, 1, 'c1', 1000000, 1795786062134333, 'user', '', NULL, 5, 4, NULL, X'249CD456F8A74212A410A302A901B41D830C2659E48737E6AE21D7CF0B6AFF57', '{"id":"c1","author":"user","timestamp":1,"content":{"parts":[{"text":"1"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 9169974778207802677, 2, 'c2', 2000000, 1795786062144054, 'user', '', NULL, 5, 4, NULL, X'F680371D2B6E2F9D8A0FDEAFE556555B5DF34CB1FD66A522FF0A8ABAEE264B2D', '{"id":"c2","author":"user","timestamp":2,"content":{"parts":[{"text":"2"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 9169974778207802677, 3, 'c3', 3000000, 1795786062152622, 'user', '', NULL, 5, 4, NULL, X'E49233C089B6757E03E35240335E71790F5C5EFE2BB2F209D847FCC8719F6D55', '{"id":"c3","author":"user","timestamp":3,"content":{"parts":[{"text":"3"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 9169974778207802677, 4, 'c4', 4000000, 1795786062163139, 'user', '', NULL, 5, 4, NULL, X'BE10D376FFB0E7AEEB33FBE5F68C72675B04DC9A8E0541BBE6CD7690CA245DD4', '{"id":"c4","author":"user","timestamp":4,"content":{"parts":[{"text":"4"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 9169974778207802677, 5, 'sum', 5000000, 1795786062198557, 'agent', '', NULL, 5, 4, -1, X'2585B1D6369DD3B1F387F46B7886EACF90A8ACF9098174BC4BB3BAC18B6AD881', '{"id":"sum","author":"agent","timestamp":5,"actions":{"compaction":{"startTimestamp":1,"endTimestamp":3,"compactedContent":{"role":"model","parts":[{"text":"1 to 3"}]}}}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 9169974778207802677, 6, 'last', 6000000, 1795786062204085, 'user', '', NULL, 5, 4, NULL, X'6E30AB5A008548DD04251542838F5591806078AD17B61289A8EDF5F1F50CB1A6', '{"id":"last","author":"user","timestamp":6}', NULL);
insert into events values ('shop', 'ada', 'trimmed', 1993793977584428361, 1, 't1', 1795786062223224, 1795786062223889, '', '', NULL, 5, 4, NULL, X'FF2D88C66F77E0238B99E82D83E7DB0C21EDDA552CC80296614C3DF02B01BA8C', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 1993793977584428361, 2, 't2', 1795786062230506, 1795786062231070, '', '', NULL, 5, 4, NULL, X'6A790D825986340576AC3F9489FE714CAAF96F13F8E290114CC4412B2BDA686B', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 1993793977584428361, 3, 't3', 1795786062237460, 1795786062238281, '', '', NULL, 5, 4, NULL, X'328D69FB0E1172DCB5AC25EFE82CB7E226756E7723E10AF118220AF799DD1756', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 1993793977584428361, 4, 't4', 1795786062249559, 1795786062250299, 'a', '', NULL, 5, 4, NULL, X'647278D9F4A40649CF88D24F234524AFA68425EFC8862D9DBB6E190B074B277A', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1795786062.249559}', NULL);
insert into events values ('shop', 'ada', 'trimmed', 1993793977584428361, 5, 't5', 1795786062260281, 1795786062260961, 'a', '', NULL, 5, 4, NULL, X'8B8C18622A99B65602D693776167AB69499E522B6F9DEB569A835F5089CE23B7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1795786062.260281}', NULL);
insert into events values ('shop', 'ada', 'redacted', 246311763637858418, 1, 'kept', 1795786062350695, 1795786062351422, 'user', '', NULL, 6, 4, NULL, X'292C595B4BB94254C2D9F442025BFFB4F9512E5594FAEE7CCF431B437917AFC4', '{"id":"kept","timestamp":1795786062.350695,"author":"user","actions":{"stateDelta":{"kept":"hunter2","user:kept":"hunter2"}},"redacted":{"time":1795786062.362060,"reason":"a password"}}', 1);
insert into events values ('shop', 'ada', 'redacted', 246311763637858418, 2, 'removed', 1795786062420961, 1795786062422429, 'user', '', NULL, 7, 4, NULL, X'2F8814680DEE5D0655898E1BD79AA8F8EA597D1D0AC0027976B493C4686DF305', '{"id":"removed","timestamp":1795786062.420961,"author":"user","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"redacted":{"time":1795786062.428608,"reason":"a password"}}', 2);
insert into events values ('shop', 'ada', 'redacted', 246311763637858418, 3, '01a21d30-ba5c-70ba-ab1e-4fa44d94cdd8', 1795786062428090, 1795786062433446, 'user', '', NULL, 8, 4, NULL, X'8C372D64E780678DB298D472C65643BBAC5AB92E04588C224C9EA5E5E0C7EDE4', '{"id":"01a21d30-ba5c-70ba-ab1e-4fa44d94cdd8","author":"user","invocationId":"","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"timestamp":1795786062.428090}', -1);
insert into events values ('shop', 'ada', 'moved', 7479558531090820643, 1, 't1', 1795786062287356, 1795786062288224, '', '', NULL, 5, 4, NULL, X'FF2D88C66F77E0238B99E82D83E7DB0C21EDDA552CC80296614C3DF02B01BA8C', '', NULL);
insert into events values ('shop', 'ada', 'moved', 7479558531090820643, 2, 't2', 1795786062297237, 1795786062298052, '', '', NULL, 5, 4, NULL, X'6A790D825986340576AC3F9489FE714CAAF96F13F8E290114CC4412B2BDA686B', '', NULL);
insert into events values ('shop', 'ada', 'moved', 7479558531090820643, 3, 't3', 1795786062304409, 1795786062304893, '', '', NULL, 5, 4, NULL, X'328D69FB0E1172DCB5AC25EFE82CB7E226756E7723E10AF118220AF799DD1756', '', NULL);
insert into events values ('shop', 'ada', 'moved', 7479558531090820643, 4, 't4', 1795786062312194, 1795786062318132, 'a', '', NULL, 5, 4, NULL, X'647278D9F4A40649CF88D24F234524AFA68425EFC8862D9DBB6E190B074B277A', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1795786062.312194}', NULL);
insert into events values ('shop', 'ada', 'moved', 7479558531090820643, 5, 't5', 1795786062324389, 1795786062325204, 'a', '', NULL, 5, 4, NULL, X'8B8C18622A99B65602D693776167AB69499E522B6F9DEB569A835F5089CE23B7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1795786062.324389}', NULL);
insert into events values ('copy', 'ada', 'order-1', 8883185828265585995, 1, 'e1', 1500000, 1795786061880147, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('copy', 'ada', 'order-1', 8883185828265585995, 2, 'e2', 1795786061894382, 1795786061897098, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1795786061.894382}', NULL);
insert into events values ('copy', 'ada', 'order-1', 8883185828265585995, 3, 'e3', 1795786061894382, 1795786061897098, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1795786061.894382}', NULL);
insert into events values ('copy', 'ada', 'order-1', 8883185828265585995, 4, 'rewind-1', 1795786061907233, 1795786061912254, 'user', 'rewind-01a21d30-b853-733b-ac12-beec3cd55f74', NULL, 3, 4, 2, X'0C6C227C879A67E58CEE58A22674C136F74FF5EAA056C1541113497D5C230AB3', '{"author":"user","invocationId":"rewind-01a21d30-b853-733b-ac12-beec3cd55f74","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1795786061.907233}', NULL);
insert into events values ('copy', 'ada', 'order-1', 8883185828265585995, 5, 'put-1', 1795786061920646, 1795786061922280, 'user', '', NULL, 3, 4, NULL, X'092F58824834CCFBEE5844FCF7C78C5BF2B2628CDD2601E3FDBE2AD78B3A4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1795786061.920646}', NULL);
insert into events values ('copy', 'ada', 'order-1', 8883185828265585995, 6, 'patch-1', 1795786061932737, 1795786061936148, 'agent', '', NULL, 4, 4, NULL, X'6EBA5E92B5A282EBC5D1C847BFC06332ABC5A8BE554AA8ACCF3D24C8E88E37D5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1795786061.932737}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 1, 'e/ä', 1795786062709958, 1795786062710643, 'agent', '', NULL, 0, 0, NULL, X'E78CFB5291353133438166F3E9E1F7DA2539E819856DE2D160DEA064905B1F7C', '{"id":"e/ä","author":"agent","actions":{"stateDelta":{ "k0ä": 0 , "k1ä": -0 , "k2ä": 1 , "k3ä": 1.0 , "k4ä": 1E2 , "k5ä": 1e+2 , "k6ä": -0.0 , "k7ä": 0e0 , "k8ä": 1e-400 , "k9ä": 0.1000000000000000055511151231257827 , "k10ä": 1180591620717411303424 , "k11ä": -170141183460469231731687303715884105729 , "k12ä": 1.7976931348623157e308 , "k13ä": 9007199254740993 , "k14ä": "\u0000" , "k15ä": "a\u0000b\u001f\u007f" , "k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "k17ä": "\/ / \" \\ \b\f\n\r\t" , "k18ä": " ﻿�􏿿" , "k19ä": "" , "k20ä": {"b":1,"a":2,"":3,"B":4} , "k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "k22ä": [ ] , "k23ä": {"$serde_json::private::RawValue": "[1]"} , "k24ä": {"$serde_json::private::Number": "1"} , "k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "k26ä": {"__proto__":1,"constructor":{"x":null}} , "k27ä": true , "k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1795786062.709958}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 2, 'user:e/ä', 1795786062723426, 1795786062724483, 'agent', '', NULL, 1, 0, NULL, X'AAEB3F9FD8C682C65552B5F40D0C01C5E8880C8B8CC9650F2751ABEAFFB0268B', '{"id":"user:e/ä","author":"agent","actions":{"stateDelta":{ "user:k0ä": 0 , "user:k1ä": -0 , "user:k2ä": 1 , "user:k3ä": 1.0 , "user:k4ä": 1E2 , "user:k5ä": 1e+2 , "user:k6ä": -0.0 , "user:k7ä": 0e0 , "user:k8ä": 1e-400 , "user:k9ä": 0.1000000000000000055511151231257827 , "user:k10ä": 1180591620717411303424 , "user:k11ä": -170141183460469231731687303715884105729 , "user:k12ä": 1.7976931348623157e308 , "user:k13ä": 9007199254740993 , "user:k14ä": "\u0000" , "user:k15ä": "a\u0000b\u001f\u007f" , "user:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "user:k17ä": "\/ / \" \\ \b\f\n\r\t" , "user:k18ä": " ﻿�􏿿" , "user:k19ä": "" , "user:k20ä": {"b":1,"a":2,"":3,"B":4} , "user:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "user:k22ä": [ ] , "user:k23ä": {"$serde_json::private::RawValue": "[1]"} , "user:k24ä": {"$serde_json::private::Number": "1"} , "user:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "user:k26ä": {"__proto__":1,"constructor":{"x":null}} , "user:k27ä": true , "user:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1795786062.723426}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 3, 'app:e/ä', 1795786062738241, 1795786062759388, 'agent', '', NULL, 1, 1, NULL, X'7C243795615B1D07ED39E8C4AFFB45B944DE62BE3E14B9683ECFEFE79FB05006', '{"id":"app:e/ä","author":"agent","actions":{"stateDelta":{ "app:k0ä": 0 , "app:k1ä": -0 , "app:k2ä": 1 , "app:k3ä": 1.0 , "app:k4ä": 1E2 , "app:k5ä": 1e+2 , "app:k6ä": -0.0 , "app:k7ä": 0e0 , "app:k8ä": 1e-400 , "app:k9ä": 0.1000000000000000055511151231257827 , "app:k10ä": 1180591620717411303424 , "app:k11ä": -170141183460469231731687303715884105729 , "app:k12ä": 1.7976931348623157e308 , "app:k13ä": 9007199254740993 , "app:k14ä": "\u0000" , "app:k15ä": "a\u0000b\u001f\u007f" , "app:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "app:k17ä": "\/ / \" \\ \b\f\n\r\t" , "app:k18ä": " ﻿�􏿿" , "app:k19ä": "" , "app:k20ä": {"b":1,"a":2,"":3,"B":4} , "app:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "app:k22ä": [ ] , "app:k23ä": {"$serde_json::private::RawValue": "[1]"} , "app:k24ä": {"$serde_json::private::Number": "1"} , "app:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "app:k26ä": {"__proto__":1,"constructor":{"x":null}} , "app:k27ä": true , "app:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1795786062.738241}', NULL);
insert into policies values ('none', 2, NULL, NULL, NULL);
insert into policies values ('shop', 1, '{"sessions":{"maxAge":"36500d"},"artifacts":{"keepVersions":50},"limits":{"sessionsPerUser":1000,"eventsPerSession":1000}}', 1000, 1000);
insert into session_spans values ('shop', 'ada', 'order-1-again', 394228207557928496, 1, 'n', 0, 1, '1.10');
insert into session_spans values ('shop', 'ada', 'order-1-again', 394228207557928496, 2, 'n', 1, 3, '1E2');
insert into session_spans values ('shop', 'ada', 'order-1-again', 394228207557928496, 2, 'topic', 0, 3, '"return"');
insert into session_spans values ('shop', 'ada', 'trimmed', 1993793977584428361, 4, 'k', 3, 4, '3');
insert into session_spans values ('shop', 'ada', 'trimmed', 1993793977584428361, 5, 'k', 4, 5, '4');
insert into session_spans values ('shop', 'ada', 'order-1', 6679765812985651648, 1, 'n', 0, 1, '1.10');
insert into session_spans values ('shop', 'ada', 'order-1', 6679765812985651648, 2, 'n', 1, 3, '1E2');
insert into session_spans values ('shop', 'ada', 'order-1', 6679765812985651648, 2, 'topic', 0, 3, '"return"');
insert into session_spans values ('shop', 'ada', 'order-1', 6679765812985651648, 4, 'n', 3, 4, 'null');
insert into session_spans values ('shop', 'ada', 'moved', 7479558531090820643, 4, 'k', 3, 4, '3');
insert into session_spans values ('shop', 'ada', 'moved', 7479558531090820643, 5, 'k', 4, 5, '4');
insert into session_spans values ('copy', 'ada', 'order-1', 8883185828265585995, 1, 'n', 0, 1, '1.10');
insert into session_spans values ('copy', 'ada', 'order-1', 8883185828265585995, 2, 'n', 1, 3, '1E2');
insert into session_spans values ('copy', 'ada', 'order-1', 8883185828265585995, 2, 'topic', 0, 3, '"return"');
insert into session_spans values ('copy', 'ada', 'order-1', 8883185828265585995, 4, 'n', 3, 4, 'null');
insert into session_state values ('shop', 'ada', 'order-1', 6679765812985651648, 'n', '1E2', 4);
insert into session_state values ('shop', 'ada', 'order-1', 6679765812985651648, 'big', '1180591620717411303424', 1);
insert into session_state values ('shop', 'ada', 'order-1', 6679765812985651648, 'neg', '-0', 1);
insert into session_state values ('shop', 'ada', 'order-1', 6679765812985651648, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('shop', 'ada', 'order-1', 6679765812985651648, 'list', '[-0.0]', 2);
insert into session_state values ('shop', 'ada', 'order-1', 6679765812985651648, 'topic', '"return"', 4);
insert into session_state values ('shop', 'ada', 'order-1', 6679765812985651648, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5);
insert into session_state values ('shop', 'ada', 'order-1', 6679765812985651648, 'step', '"refund"', 6);
insert into session_state values ('shop', 'ada', 'order-1-again', 394228207557928496, 'big', '1180591620717411303424', 1);
insert into session_state values ('shop', 'ada', 'order-1-again', 394228207557928496, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('shop', 'ada', 'order-1-again', 394228207557928496, 'list', '[-0.0]', 2);
insert into session_state values ('shop', 'ada', 'order-1-again', 394228207557928496, 'neg', '-0', 1);
insert into session_state values ('shop', 'ada', 'order-1-again', 394228207557928496, 'n', 'null', 3);
insert into session_state values ('shop', 'ada', 'files-2', 8080994869194317609, 'k', '1', 0);
insert into session_state values ('shop', 'ada', 'trimmed', 1993793977584428361, 'k', '5', 5);
insert into session_state values ('shop', 'ada', 'trimmed', 1993793977584428361, 'k1', '1', 1);
insert into session_state values ('shop', 'ada', 'trimmed', 1993793977584428361, 'k2', '2', 2);
insert into session_state values ('shop', 'ada', 'trimmed', 1993793977584428361, 'k3', '3', 3);
insert into session_state values ('shop', 'ada', 'trimmed', 1993793977584428361, 'k4', '4', 4);
insert into session_state values ('shop', 'ada', 'trimmed', 1993793977584428361, 'k5', '5', 5);
insert into session_state values ('shop', 'ada', 'redacted', 246311763637858418, 'kept', '"hunter2"', 1);
insert into session_state values ('shop', 'bob', 'by-adk', 8079130458692157283, 'topic', '"warranty"', 0);
insert into session_state values ('shop', 'ada', 'moved', 7479558531090820643, 'k', '5', 5);
insert into session_state values ('shop', 'ada', 'moved', 7479558531090820643, 'k1', '1', 3);
insert into session_state values ('shop', 'ada', 'moved', 7479558531090820643, 'k2', '2', 3);
insert into session_state values ('shop', 'ada', 'moved', 7479558531090820643, 'k3', '3', 3);
insert into session_state values ('shop', 'ada', 'moved', 7479558531090820643, 'k4', '4', 4);
insert into session_state values ('shop', 'ada', 'moved', 7479558531090820643, 'k5', '5', 5);
insert into session_state values ('copy', 'ada', 'order-1', 8883185828265585995, 'big', '1180591620717411303424', 1);
insert into session_state values ('copy', 'ada', 'order-1', 8883185828265585995, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('copy', 'ada', 'order-1', 8883185828265585995, 'list', '[-0.0]', 2);
insert into session_state values ('copy', 'ada', 'order-1', 8883185828265585995, 'n', '1E2', 4);
insert into session_state values ('copy', 'ada', 'order-1', 8883185828265585995, 'neg', '-0', 1);
insert into session_state values ('copy', 'ada', 'order-1', 8883185828265585995, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5);
insert into session_state values ('copy', 'ada', 'order-1', 8883185828265585995, 'step', '"refund"', 6);
insert into session_state values ('copy', 'ada', 'order-1', 8883185828265585995, 'topic', '"return"', 4);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k0ä', '0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k10ä', '1180591620717411303424', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k11ä', '-170141183460469231731687303715884105729', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k12ä', '1.7976931348623157e308', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k13ä', '9007199254740993', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k14ä', '"\u0000"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k15ä', '"a\u0000b\u001f\u007f"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k18ä', '" ﻿�􏿿"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k19ä', '""', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k1ä', '-0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k22ä', '[ ]', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k24ä', '{"$serde_json::private::Number": "1"}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k27ä', 'true', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k28ä', 'null', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k2ä', '1', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k3ä', '1.0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k4ä', '1E2', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k5ä', '1e+2', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k6ä', '-0.0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k7ä', '0e0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k8ä', '1e-400', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 'k9ä', '0.1000000000000000055511151231257827', 1);
insert into session_updates values ('copy', 'ada', 'order-1', 179578606);
insert into session_updates values ('läger/1 ü', 'ß ø@例え', 'a b😀', 179578606);
insert into session_updates values ('shop', 'ada', 'compacted', 0);
insert into session_updates values ('shop', 'ada', 'files', 179578606);
insert into session_updates values ('shop', 'ada', 'files-2', 179578606);
insert into session_updates values ('shop', 'ada', 'moved', 179578606);
insert into session_updates values ('shop', 'ada', 'order-1', 179578606);
insert into session_updates values ('shop', 'ada', 'order-1-again', 179578606);
insert into session_updates values ('shop', 'ada', 'redacted', 179578606);
insert into session_updates values ('shop', 'ada', 'trimmed', 179578606);
insert into session_updates values ('shop', 'bob', 'by-adk', 179578606);
insert into sessiond_migrations values (1, 'sessions', '2026-11-27 13:27:41', 1, X'666A015F4C052037AD4B85580FDC39CF86B2C9D83908683B3FC2AC9E6C0F10C4BC9CA82DC79AD344CDF1EC94E845E057', 12832031);
insert into sessions values ('shop', 'ada', 'files', 2567750046147229642, 2, 0, 1795786061859424, 1795786061981751, 1795786061979625, '1795786061.979625', 20784, NULL, NULL, NULL, 0, '{}', 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'order-1', 6679765812985651648, 6, 0, 1795786061869452, 1795786061936148, 1795786061932737, '1795786061.932737', 20784, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, NULL, 'create-1', X'986E8347A1CA037F059646A89B18A481CB8A30C7777918AC2E45F9DF0E63F133', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 'pod-7/4f1c', 'i9', 1795786121988628, 60000000, 0);
insert into sessions values ('shop', 'ada', 'order-1-again', 394228207557928496, 4, 1, 1795786061947477, 1795786062003539, 1795786062001906, '1795786062.001906', 20784, '"forked"', '{"a":"b"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, 'order-1', 3, 'order-1', 'fork-1', X'5852D7B187AB49A4BD7E012F6F3D1B907F2E43D839BF5FEE347D0B6E3CD017E4', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'files-2', 8080994869194317609, 4, 0, 1795786062011361, 1795786062098548, 1795786062096028, '1795786062.096028', 20784, NULL, NULL, NULL, 0, '{"k":1}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'compacted', 9169974778207802677, 6, 0, 1795786062118255, 1795786062204085, 6000000, '6', 20784, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'trimmed', 1993793977584428361, 5, 1, 1795786062213295, 1795786062260961, 1795786062260281, '1795786062.260281', 20784, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'redacted', 246311763637858418, 3, 2, 1795786062341134, 1795786062433446, 1795786062428090, '1795786062.428090', 20784, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'bob', 'by-adk', 8079130458692157283, 0, 0, 1795786062461269, 1795786062461269, 1795786062461269, '1795786062.461269', 20784, NULL, NULL, NULL, 0, '{"topic":"warranty"}', 1, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'moved', 7479558531090820643, 5, 0, 1795786062277785, 1795786062325204, 1795786062324389, '1795786062.324389', 20784, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, NULL, '614b588cf170a251', X'9CAD2CF54D8D711504AA89D06E69332C4FFDE44F3E4B6D5BDE69D1A2F55253B1', 5, 3, 5, 3, 5, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('copy', 'ada', 'order-1', 8883185828265585995, 6, 0, 1795786061869452, 1795786061936148, 1795786061932737, '1795786061.932737', 20784, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, NULL, NULL, NULL, '5cb34b9db1cee1c0', X'54789AF56DB4773086AF709EF0F79997DB34B70B6F45480EA4F3B2620F71A503', 6, 0, 6, 0, 6, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('läger/1 ü', 'ß ø@例え', 'a b😀', 2552860424372090089, 3, 0, 1795786062702634, 1795786062759388, 1795786062738241, '1795786062.738241', 20784, NULL, NULL, NULL, 0, '{}', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into token_epochs values ('shop', X'8967B69654369EFFC5296AF76D7A8A4A8D63B7B3BE86CD9621A6A15882C862F2', 1, 2);
insert into token_epochs values ('shop', X'8B24FD9090347203818664AC3CA7F9D7F82BC8F30FABC64C256F22D03B17A464', 1, 1);
insert into token_epochs values ('shop', X'A9C82E3B4CE15FD57D0D95C9948C4675394921A320A2B46B17E7C875EDF62792', 1, 0);
insert into token_secrets values ('current', X'1F26D5AA089E0A44D79293009306096D37C42E59FF02E91E862A686EA30A9206');
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k0ä', 1, '0', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k10ä', 1, '1180591620717411303424', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k11ä', 1, '-170141183460469231731687303715884105729', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k12ä', 1, '1.7976931348623157e308', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k13ä', 1, '9007199254740993', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k14ä', 1, '"\u0000"', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k18ä', 1, '" ﻿�􏿿"', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k19ä', 1, '""', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k1ä', 1, '-0', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k22ä', 1, '[ ]', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k27ä', 1, 'true', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k28ä', 1, 'null', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k2ä', 1, '1', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k3ä', 1, '1.0', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k4ä', 1, '1E2', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k5ä', 1, '1e+2', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k6ä', 1, '-0.0', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k7ä', 1, '0e0', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k8ä', 1, '1e-400', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k9ä', 1, '0.1000000000000000055511151231257827', 1795786062725000, 2552860424372090089, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'kept', 6, '"hunter2"', 1795786062352000, 246311763637858418, 1, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'language', 1, '"en"', 1795786061850000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'n', 3, '-0.0', 1795786061882000, 6679765812985651648, 1, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'n', 5, '7', 1795786062004000, 394228207557928496, 4, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'name', 2, '"Ada"', 1795786061871000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'removed', 7, NULL, 1795786062422000, 246311763637858418, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'removed', 8, NULL, 1795786062434000, 246311763637858418, 3, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'returns', 4, '1', 1795786061937000, 6679765812985651648, 6, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'bob', 'name', 1, '"Bob"', 1795786062464000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'zoe', 'alone', 1, 'true', 1795786061843000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
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
