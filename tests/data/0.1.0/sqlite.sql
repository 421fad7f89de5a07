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
CREATE INDEX session_spans_by_key on session_spans (key, incarnation, valid_to) where node & 15 = 0 or removed;
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
insert into api_keys values ('3gl6x2shyqp4', 'is revoked', NULL, 'agent', '["läger*","shop"]', '["*"]', 1796069817301837, NULL, NULL, 1796069817303733);
insert into api_keys values ('e3cqlozbm47y', 'admin', X'53135AEDD567B4645CB5125CE3FDB3B9C18F13D9BA32607E86D376565F548EA5', 'admin', '["*"]', '["*"]', 1796069817283834, NULL, 1796069817299919, NULL);
insert into api_keys values ('hfjosys4czfc', 'ends', X'FFE6F5FC5239BD07CB205DF68A54D1F7943EA30929554AE0360E8CE2CE3BEAE5', 'operator', '["*"]', '["*"]', 1796069817303042, 4102444800000000, NULL, NULL);
insert into api_keys values ('zi2agooafumy', 'reads less', X'B2CCF3B3DBB26970A04203343FA05E99853836FCA45195F17427683F25C16C29', 'reader', '["shop"]', '["ada"]', 1796069817300366, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k0ä', 1, '0', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k10ä', 1, '1180591620717411303424', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k11ä', 1, '-170141183460469231731687303715884105729', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k12ä', 1, '1.7976931348623157e308', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k13ä', 1, '9007199254740993', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k14ä', 1, '"\u0000"', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k18ä', 1, '" ﻿�􏿿"', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k19ä', 1, '""', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k1ä', 1, '-0', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k22ä', 1, '[ ]', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k27ä', 1, 'true', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k28ä', 1, 'null', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k2ä', 1, '1', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k3ä', 1, '1.0', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k4ä', 1, '1E2', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k5ä', 1, '1e+2', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k6ä', 1, '-0.0', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k7ä', 1, '0e0', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k8ä', 1, '1e-400', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('läger/1 ü', 'k9ä', 1, '0.1000000000000000055511151231257827', 1796069817584000, 9207904316684275449, 3, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'by', 5, '"deleted"', 1796069817528000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'count', 4, '2', 1796069817347000, 8444018288213765672, 2, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'currency', 3, '"EUR"', 1796069817328000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'gone', 1, '[1.0]', 1796069817311000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'gone', 2, NULL, 1796069817312000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'last', 6, '"x"', 1796069817585000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'last', 7, '"x"', 1796069817654000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into app_log values ('shop', 'returnDays', 1, '30', 1796069817311000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
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
insert into artifact_names values ('shop', 'ada', 'files', 5305720163175509955, 'notes/summary', 2, 1, 2, NULL);
insert into artifact_names values ('shop', 'ada', 'files-2', 6480196566122708838, 'gone', 1, NULL, 0, NULL);
insert into artifact_names values ('shop', 'ada', 'files-2', 6480196566122708838, 'page.html', 4, 3, 4, 3);
insert into artifact_names values ('shop', 'bob', 'by-adk', 4503199252469102555, 'a', 1, 0, 1, NULL);
insert into artifact_places values ('shop', 'ada', '', 0, 1);
insert into artifact_places values ('shop', 'ada', 'files', 5305720163175509955, 2);
insert into artifact_places values ('shop', 'ada', 'files-2', 6480196566122708838, 4);
insert into artifact_places values ('shop', 'bob', 'by-adk', 4503199252469102555, 1);
insert into artifact_spans values ('shop', 'ada', 'files-2', 6480196566122708838, 2, 'page.html', 1, 2, 0);
insert into artifact_spans values ('shop', 'ada', 'files-2', 6480196566122708838, 3, 'page.html', 2, 3, 2);
insert into artifact_state values ('shop', 'ada', 'files', 5305720163175509955, 'notes/summary', 0, 1);
insert into artifact_state values ('shop', 'ada', 'files', 5305720163175509955, 'user:address', 0, 2);
insert into artifact_state values ('shop', 'ada', 'files-2', 6480196566122708838, 'gone', 0, 4);
insert into artifact_state values ('shop', 'ada', 'files-2', 6480196566122708838, 'page.html', 3, 3);
insert into artifacts values ('shop', 'ada', 'files', 5305720163175509955, 'notes/summary', 0, 7444071124859358541, 'text', 'text/plain', 14, X'3E6C1234228EB2390FA98A214DC9021924B308E03BDFF3C19BE6E22D608173DE', '01a22e1a-7c46-7005-a344-d6183fefaa01', 1796069817414214, '{"n":1.0}', NULL, NULL, 1, 'save-1', X'26419E28C76E7A79A0E9095791E4F0F2C2B8762A3394F5C51365C71CEBEB2984');
insert into artifacts values ('shop', 'ada', 'files', 5305720163175509955, 'notes/summary', 1, 3007449601042919362, 'bytes', 'a/b', 7, X'A9D7A888389F7C168A45F653D59E171FD5188CA7A88DE23A306070AB968E847D', '01a22e1a-7c53-771f-a2f4-241a0dfcbca6', 1796069817427084, NULL, '"n"', NULL, NULL, 'save-2', X'139E072544FC51136CE7148E64C95E8C2BC71D474CFBEB1A793EA2274D6939A7');
insert into artifacts values ('shop', 'ada', '', 0, 'user:address', 0, 1919921320513777733, 'uri', 'c/d', NULL, NULL, NULL, 1796069817428434, NULL, NULL, '"gs://a/b"', 2, 'save-3', X'5F891A92236FAB2F7566EF7A7A61B65A17ECCF13C674360002BBFD995648A46B');
insert into artifacts values ('shop', 'ada', 'files-2', 6480196566122708838, 'page.html', 0, 9007171186623246149, 'bytes', 'text/html', 8, X'DB149029E10436BD960194453B725D04A252D8FDFDCAC86D4EB2DF7B85577B07', '01a22e1a-7c66-703e-9f9c-0de1a77deb00', 1796069817446255, NULL, NULL, NULL, 1, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 6480196566122708838, 'page.html', 1, 1168908628786247758, 'bytes', 'text/html', 8, X'6E784353EA75228D9D65F28D704F77C2B294757AE6D8CA74AE74A459DE564CFA', '01a22e1a-7c6d-72ba-92ce-290d7b52a003', 1796069817453648, NULL, NULL, NULL, NULL, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 6480196566122708838, 'page.html', 2, 8370363749367793138, 'bytes', 'text/html', 8, X'F543C768A1419D4865F627460E7D4F974AE95606E4981F9B6E829D09299E7DA8', '01a22e1a-7c6e-73f7-9b6c-dd6e287e67e5', 1796069817454738, NULL, '"ü"', NULL, 2, NULL, NULL);
insert into artifacts values ('shop', 'ada', 'files-2', 6480196566122708838, 'page.html', 3, 6189786865143401152, 'bytes', 'text/html', 8, X'DB149029E10436BD960194453B725D04A252D8FDFDCAC86D4EB2DF7B85577B07', '01a22e1a-7c66-703e-9f9c-0de1a77deb00', 1796069817455821, NULL, NULL, NULL, 3, NULL, NULL);
insert into artifacts values ('shop', 'bob', 'by-adk', 4503199252469102555, 'a', 0, 5668898592192924354, 'text', 'text/plain', 6, X'9A2F5DA45C096840A0CE25B489C89C3B91F4ECA1054E71D338BE0BCEFA7D3A2A', '01a22e1a-7cc9-7031-9fa5-b9c59fa6f6cb', 1796069817545923, '{"m":"s"}', NULL, NULL, NULL, NULL, NULL);
insert into blob_chunks values ('shop', 'ada', '01a22e1a-7c46-7005-a344-d6183fefaa01', 0, X'6772C3BCC39F000A22476F747422');
insert into blob_chunks values ('shop', 'ada', '01a22e1a-7c53-771f-a2f4-241a0dfcbca6', 0, X'000102030405FF');
insert into blob_chunks values ('shop', 'ada', '01a22e1a-7c66-703e-9f9c-0de1a77deb00', 0, X'3C623E313C2F623E');
insert into blob_chunks values ('shop', 'ada', '01a22e1a-7c6d-72ba-92ce-290d7b52a003', 0, X'3C623E323C2F623E');
insert into blob_chunks values ('shop', 'ada', '01a22e1a-7c6e-73f7-9b6c-dd6e287e67e5', 0, X'3C623E333C2F623E');
insert into blob_chunks values ('shop', 'bob', '01a22e1a-7cc9-7031-9fa5-b9c59fa6f6cb', 0, X'62792041444B');
insert into blobs values ('shop', 'ada', '01a22e1a-7c46-7005-a344-d6183fefaa01', 14, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22e1a-7c53-771f-a2f4-241a0dfcbca6', 7, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22e1a-7c66-703e-9f9c-0de1a77deb00', 8, 2, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22e1a-7c6d-72ba-92ce-290d7b52a003', 8, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'ada', '01a22e1a-7c6e-73f7-9b6c-dd6e287e67e5', 8, 1, NULL, NULL, NULL, NULL, NULL);
insert into blobs values ('shop', 'bob', '01a22e1a-7cc9-7031-9fa5-b9c59fa6f6cb', 6, 1, NULL, NULL, NULL, NULL, NULL);
insert into blocked_users values ('shop', X'56B360BC6A5D72A9327F45848A3A457BB9C68B6C3561E1815406993B7C6E1572');
insert into changes values (1, 0, '', NULL, NULL, NULL, 0, 0, NULL, 1796069817261000);
insert into changes values (2, 7, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796069817311000);
insert into changes values (3, 7, 'shop', NULL, NULL, NULL, 2, 2, NULL, 1796069817312000);
insert into changes values (4, 6, 'shop', 'zoe', NULL, NULL, 1, 1, NULL, 1796069817313000);
insert into changes values (5, 6, 'shop', 'ada', NULL, NULL, 1, 1, NULL, 1796069817324000);
insert into changes values (6, 1, 'shop', 'ada', 'files', 5305720163175509955, 0, 0, NULL, 1796069817327000);
insert into changes values (7, 1, 'shop', 'ada', 'order-1', 8444018288213765672, 0, 0, NULL, 1796069817329000);
insert into changes values (8, 6, 'shop', 'ada', NULL, NULL, 2, 2, NULL, 1796069817329000);
insert into changes values (9, 7, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1796069817329000);
insert into changes values (10, 2, 'shop', 'ada', 'order-1', 8444018288213765672, 1, 1, NULL, 1796069817330000);
insert into changes values (11, 6, 'shop', 'ada', NULL, NULL, 3, 3, NULL, 1796069817330000);
insert into changes values (12, 2, 'shop', 'ada', 'order-1', 8444018288213765672, 2, 3, NULL, 1796069817347000);
insert into changes values (13, 7, 'shop', NULL, NULL, NULL, 4, 4, NULL, 1796069817347000);
insert into changes values (14, 2, 'shop', 'ada', 'order-1', 8444018288213765672, 4, 4, NULL, 1796069817351000);
insert into changes values (15, 2, 'shop', 'ada', 'order-1', 8444018288213765672, 5, 5, NULL, 1796069817366000);
insert into changes values (16, 2, 'shop', 'ada', 'order-1', 8444018288213765672, 6, 6, NULL, 1796069817382000);
insert into changes values (17, 6, 'shop', 'ada', NULL, NULL, 4, 4, NULL, 1796069817382000);
insert into changes values (18, 1, 'shop', 'ada', 'order-1-again', 7042755667402984212, 0, 3, '{"sessionId":"order-1","revision":3}', 1796069817396000);
insert into changes values (19, 2, 'shop', 'ada', 'order-1-again', 7042755667402984212, 1, 3, NULL, 1796069817396000);
insert into changes values (20, 9, 'shop', 'ada', 'files', 5305720163175509955, 0, 0, '{"name":"notes/summary","version":0,"size":14}', 1796069817420000);
insert into changes values (21, 2, 'shop', 'ada', 'files', 5305720163175509955, 1, 1, NULL, 1796069817420000);
insert into changes values (22, 9, 'shop', 'ada', 'files', 5305720163175509955, 0, 0, '{"name":"notes/summary","version":1,"size":7}', 1796069817427000);
insert into changes values (23, 9, 'shop', 'ada', NULL, NULL, 0, 0, '{"name":"user:address","version":0}', 1796069817429000);
insert into changes values (24, 2, 'shop', 'ada', 'files', 5305720163175509955, 2, 2, NULL, 1796069817429000);
insert into changes values (25, 3, 'shop', 'ada', 'order-1-again', 7042755667402984212, 0, 0, '{"displayName":"forked","labels":{"a":"b"},"expireTime":4102444800.000000}', 1796069817431000);
insert into changes values (26, 2, 'shop', 'ada', 'order-1-again', 7042755667402984212, 4, 4, NULL, 1796069817442000);
insert into changes values (27, 6, 'shop', 'ada', NULL, NULL, 5, 5, NULL, 1796069817442000);
insert into changes values (28, 1, 'shop', 'ada', 'files-2', 6480196566122708838, 0, 0, NULL, 1796069817445000);
insert into changes values (29, 9, 'shop', 'ada', 'files-2', 6480196566122708838, 0, 0, '{"name":"page.html","version":0,"size":8}', 1796069817446000);
insert into changes values (30, 2, 'shop', 'ada', 'files-2', 6480196566122708838, 1, 1, NULL, 1796069817446000);
insert into changes values (31, 9, 'shop', 'ada', 'files-2', 6480196566122708838, 0, 0, '{"name":"page.html","version":1,"size":8}', 1796069817454000);
insert into changes values (32, 9, 'shop', 'ada', 'files-2', 6480196566122708838, 0, 0, '{"name":"page.html","version":2,"size":8}', 1796069817455000);
insert into changes values (33, 2, 'shop', 'ada', 'files-2', 6480196566122708838, 2, 2, NULL, 1796069817455000);
insert into changes values (34, 9, 'shop', 'ada', 'files-2', 6480196566122708838, 0, 0, '{"name":"page.html","version":3,"size":8}', 1796069817456000);
insert into changes values (35, 2, 'shop', 'ada', 'files-2', 6480196566122708838, 3, 3, NULL, 1796069817456000);
insert into changes values (36, 9, 'shop', 'ada', 'files-2', 6480196566122708838, 0, 0, '{"name":"gone","version":0,"size":1}', 1796069817457000);
insert into changes values (37, 2, 'shop', 'ada', 'files-2', 6480196566122708838, 4, 4, NULL, 1796069817457000);
insert into changes values (38, 10, 'shop', 'ada', 'files-2', 6480196566122708838, 0, 0, '{"name":"gone","reason":"deleted"}', 1796069817458000);
insert into changes values (39, 1, 'shop', 'ada', 'compacted', 489587900884642263, 0, 0, NULL, 1796069817459000);
insert into changes values (40, 2, 'shop', 'ada', 'compacted', 489587900884642263, 1, 1, NULL, 1796069817461000);
insert into changes values (41, 2, 'shop', 'ada', 'compacted', 489587900884642263, 2, 2, NULL, 1796069817462000);
insert into changes values (42, 2, 'shop', 'ada', 'compacted', 489587900884642263, 3, 3, NULL, 1796069817462000);
insert into changes values (43, 2, 'shop', 'ada', 'compacted', 489587900884642263, 4, 4, NULL, 1796069817463000);
insert into changes values (44, 2, 'shop', 'ada', 'compacted', 489587900884642263, 5, 5, NULL, 1796069817464000);
insert into changes values (45, 2, 'shop', 'ada', 'compacted', 489587900884642263, 6, 6, NULL, 1796069817465000);
insert into changes values (46, 1, 'shop', 'ada', 'trimmed', 7362179141826651325, 0, 0, NULL, 1796069817468000);
insert into changes values (47, 2, 'shop', 'ada', 'trimmed', 7362179141826651325, 1, 1, NULL, 1796069817471000);
insert into changes values (48, 2, 'shop', 'ada', 'trimmed', 7362179141826651325, 2, 2, NULL, 1796069817472000);
insert into changes values (49, 2, 'shop', 'ada', 'trimmed', 7362179141826651325, 3, 3, NULL, 1796069817472000);
insert into changes values (50, 2, 'shop', 'ada', 'trimmed', 7362179141826651325, 4, 4, NULL, 1796069817475000);
insert into changes values (51, 2, 'shop', 'ada', 'trimmed', 7362179141826651325, 5, 5, NULL, 1796069817476000);
insert into changes values (52, 4, 'shop', 'ada', 'trimmed', 7362179141826651325, 0, 3, NULL, 1796069817477000);
insert into changes values (53, 1, 'shop', 'ada', 'moved', 251277967623403176, 0, 0, NULL, 1796069817489000);
insert into changes values (54, 2, 'shop', 'ada', 'moved', 251277967623403176, 1, 1, NULL, 1796069817490000);
insert into changes values (55, 2, 'shop', 'ada', 'moved', 251277967623403176, 2, 2, NULL, 1796069817491000);
insert into changes values (56, 2, 'shop', 'ada', 'moved', 251277967623403176, 3, 3, NULL, 1796069817492000);
insert into changes values (57, 2, 'shop', 'ada', 'moved', 251277967623403176, 4, 4, NULL, 1796069817495000);
insert into changes values (58, 2, 'shop', 'ada', 'moved', 251277967623403176, 5, 5, NULL, 1796069817496000);
insert into changes values (59, 4, 'shop', 'ada', 'moved', 251277967623403176, 0, 3, NULL, 1796069817497000);
insert into changes values (60, 1, 'shop', 'ada', 'redacted', 3742925915877111738, 0, 0, NULL, 1796069817498000);
insert into changes values (61, 2, 'shop', 'ada', 'redacted', 3742925915877111738, 1, 1, NULL, 1796069817499000);
insert into changes values (62, 6, 'shop', 'ada', NULL, NULL, 6, 6, NULL, 1796069817499000);
insert into changes values (63, 11, 'shop', 'ada', 'redacted', 3742925915877111738, 1, 1, NULL, 1796069817501000);
insert into changes values (64, 2, 'shop', 'ada', 'redacted', 3742925915877111738, 2, 2, NULL, 1796069817521000);
insert into changes values (65, 6, 'shop', 'ada', NULL, NULL, 7, 7, NULL, 1796069817521000);
insert into changes values (66, 11, 'shop', 'ada', 'redacted', 3742925915877111738, 2, 2, NULL, 1796069817526000);
insert into changes values (67, 2, 'shop', 'ada', 'redacted', 3742925915877111738, 3, 3, NULL, 1796069817526000);
insert into changes values (68, 6, 'shop', 'ada', NULL, NULL, 8, 8, NULL, 1796069817526000);
insert into changes values (69, 1, 'shop', 'ada', 'deleted', 8277077038341242728, 0, 0, NULL, 1796069817528000);
insert into changes values (70, 7, 'shop', NULL, NULL, NULL, 5, 5, NULL, 1796069817528000);
insert into changes values (71, 5, 'shop', 'ada', 'deleted', 8277077038341242728, 0, 0, 'deleted', 1796069817529000);
insert into changes values (72, 1, 'shop', 'bob', 'by-adk', 4503199252469102555, 0, 0, NULL, 1796069817532000);
insert into changes values (73, 6, 'shop', 'bob', NULL, NULL, 1, 1, NULL, 1796069817532000);
insert into changes values (74, 9, 'shop', 'bob', 'by-adk', 4503199252469102555, 0, 0, '{"name":"a","version":0,"size":6}', 1796069817546000);
insert into changes values (75, 5, 'shop', 'ada', 'moved', 251277967623403176, 0, 0, 'deleted', 1796069817567000);
insert into changes values (76, 1, 'shop', 'ada', 'moved', 3505504205973286707, 0, 5, NULL, 1796069817569000);
insert into changes values (77, 2, 'shop', 'ada', 'moved', 3505504205973286707, 4, 5, NULL, 1796069817569000);
insert into changes values (78, 1, 'copy', 'ada', 'order-1', 7084047708169756991, 0, 6, NULL, 1796069817578000);
insert into changes values (79, 2, 'copy', 'ada', 'order-1', 7084047708169756991, 1, 6, NULL, 1796069817578000);
insert into changes values (80, 1, 'läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 0, 0, NULL, 1796069817579000);
insert into changes values (81, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 1, 1, NULL, 1796069817580000);
insert into changes values (82, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 2, 2, NULL, 1796069817582000);
insert into changes values (83, 6, 'läger/1 ü', 'ß ø@例え', NULL, NULL, 1, 1, NULL, 1796069817582000);
insert into changes values (84, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 3, 3, NULL, 1796069817584000);
insert into changes values (85, 7, 'läger/1 ü', NULL, NULL, NULL, 1, 1, NULL, 1796069817584000);
insert into changes values (86, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1796069817586000);
insert into changes values (87, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796069817586000);
insert into changes values (88, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796069817586000);
insert into changes values (89, 7, 'shop', NULL, NULL, NULL, 6, 6, NULL, 1796069817586000);
insert into changes values (90, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22e1a-7cf3-70a7-b180-729d37bac52c","subject":"56b360bc6a5d72a9327f45848a3a457bb9c68b6c3561e1815406993b7c6e1572"}', 1796069817588000);
insert into changes values (91, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1796069817655000);
insert into changes values (92, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796069817655000);
insert into changes values (93, 0, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1796069817655000);
insert into changes values (94, 7, 'shop', NULL, NULL, NULL, 7, 7, NULL, 1796069817655000);
insert into changes values (95, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22e1a-7d38-75d7-80ec-5f78af7d9c6f","subject":"4bf242a422ef26017600a04f6a8e3a6090c8d1bd258dd160b39c54adf17de70d"}', 1796069817658000);
insert into effective_views values ('shop', 'ada', 'compacted', 489587900884642263, 5, '{"covered":[[1,3]],"needed":[],"unsure":false,"kept":[[5,4607182418800017408,4613937818241073152,{"scope":null,"branch":null,"node":false},5]]}');
insert into erased_revisions values ('shop', 4);
insert into erasure_counts values ('shop', 2);
insert into erasure_secrets values ('receipt', X'3051020101300506032B65700422042067884DF16B0A2D5BAE94C6D703B1B90A5533B0BECF482B536AD21A5ADE16FEA78121000D3E9AE5CC9DFF76804F46B9CFF0AF3B512A1A9EDEE2F9D5180BCCE165421C5E');
insert into erasure_secrets values ('salt', X'472DB225F58738FE23E4262B5D55E2124441743794EBC3CA0DB24F7C61AD9ABC');
insert into erasures values ('01a22e1a-7cf3-70a7-b180-729d37bac52c', 'shop', X'56B360BC6A5D72A9327F45848A3A457BB9C68B6C3561E1815406993B7C6E1572', X'78DF046162C665BAF06208A192AF9A5D0512C152512D849DBCB1B93DE26FE9FF', 'case 17', 1, 1, 1796069817587159, 1796069817643751, 1, 1, 2, 1, 0, '{"id":"01a22e1a-7cf3-70a7-b180-729d37bac52c","appName":"shop","subject":"56b360bc6a5d72a9327f45848a3a457bb9c68b6c3561e1815406993b7c6e1572","reference":"case 17","requestTime":1796069817.587159,"doneTime":1796069817.643751,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":true,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens","a keyed hash of app and user by which the user is refused"],"instance":"471631f176941052d1f8f3e813630ec5","keyId":"61227184a8b3d938","signature":"6cFdW8_dAkmWKThp_5hxPlDARDaw-MuBlRxK11xJOuKHZ-U64tnN9lTjrUxP3uw-jb20HrwFrNJajx-OuWfsAA"}');
insert into erasures values ('01a22e1a-7d38-75d7-80ec-5f78af7d9c6f', 'shop', X'4BF242A422EF26017600A04F6A8E3A6090C8D1BD258DD160B39C54ADF17DE70D', NULL, 'case 18', NULL, 0, 1796069817656401, 1796069817673469, 1, 1, 2, 1, 0, '{"id":"01a22e1a-7d38-75d7-80ec-5f78af7d9c6f","appName":"shop","subject":"4bf242a422ef26017600a04f6a8e3a6090c8d1bd258dd160b39c54adf17de70d","reference":"case 18","requestTime":1796069817.656401,"doneTime":1796069817.673469,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":false,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens"],"instance":"471631f176941052d1f8f3e813630ec5","keyId":"61227184a8b3d938","signature":"H89gZWZiwDtZlVQn-OjL_gam0nra_c8m-L5pNGbXJZz1J3SQ8wBvVBNpercS7UYwMBDg9V9bddEdldO7iVBfBQ"}');
insert into events values ('shop', 'ada', 'order-1', 8444018288213765672, 1, 'e1', 1500000, 1796069817329944, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('shop', 'ada', 'order-1', 8444018288213765672, 2, 'e2', 1796069817345012, 1796069817347008, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796069817.345012}', NULL);
insert into events values ('shop', 'ada', 'order-1', 8444018288213765672, 3, 'e3', 1796069817345012, 1796069817347008, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796069817.345012}', NULL);
insert into events values ('shop', 'ada', 'order-1', 8444018288213765672, 4, 'rewind-1', 1796069817349318, 1796069817350945, 'user', 'rewind-01a22e1a-7c05-7486-bdad-c106b5f8943f', NULL, 3, 4, 2, X'EB41E0C4A84E2955FFB2F87EF3052DE9BAC7278EE4A66C80171A0B8ED066ADCD', '{"author":"user","invocationId":"rewind-01a22e1a-7c05-7486-bdad-c106b5f8943f","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1796069817.349318}', NULL);
insert into events values ('shop', 'ada', 'order-1', 8444018288213765672, 5, 'put-1', 1796069817363170, 1796069817363460, 'user', '', NULL, 3, 4, NULL, X'092F58824834CCFBEE5844FCF7C78C5BF2B2628CDD2601E3FDBE2AD78B3A4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1796069817.363170}', NULL);
insert into events values ('shop', 'ada', 'order-1', 8444018288213765672, 6, 'patch-1', 1796069817380783, 1796069817381503, 'agent', '', NULL, 4, 4, NULL, X'6EBA5E92B5A282EBC5D1C847BFC06332ABC5A8BE554AA8ACCF3D24C8E88E37D5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1796069817.380783}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 7042755667402984212, 1, 'e1', 1500000, 1796069817329944, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 7042755667402984212, 2, 'e2', 1796069817345012, 1796069817347008, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796069817.345012}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 7042755667402984212, 3, 'e3', 1796069817345012, 1796069817347008, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796069817.345012}', NULL);
insert into events values ('shop', 'ada', 'files', 5305720163175509955, 1, '01a22e1a-7c46-7005-a344-d61983933927', 1796069817414214, 1796069817419478, 'user', '', NULL, 4, 4, NULL, X'D2E2E5C0F9AED3095775C9C8F1BC1925FBCEB4704466F38B9E2A05F080ED24B6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"notes/summary":0}},"id":"01a22e1a-7c46-7005-a344-d61983933927","timestamp":1796069817.414214}', NULL);
insert into events values ('shop', 'ada', 'files', 5305720163175509955, 2, '01a22e1a-7c54-7061-b79c-149a15dc5fdf', 1796069817428434, 1796069817429187, 'user', '', NULL, 4, 4, NULL, X'601AC91DD78257428AFF5E52EF0CF956333CE74FF62FF6F9C0EE2174F1AEEBC6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"user:address":0}},"id":"01a22e1a-7c54-7061-b79c-149a15dc5fdf","timestamp":1796069817.428434}', NULL);
insert into events values ('shop', 'ada', 'order-1-again', 7042755667402984212, 4, 'own', 1796069817441879, 1796069817442195, 'user', '', NULL, 5, 4, NULL, X'ABAC0094F067CA3A080374546A8F16559889F3D0C2DB27C80EC48CA855EDF5D3', '{"id":"own","author":"user","actions":{"stateDelta":{"user:n":7}},"timestamp":1796069817.441879}', NULL);
insert into events values ('shop', 'ada', 'files-2', 6480196566122708838, 1, '01a22e1a-7c66-703e-9f9c-0de25f9c7900', 1796069817446255, 1796069817446540, 'user', '', NULL, 5, 4, NULL, X'2E8CC7579CFFF08786CE4C8806BD956E831F50E37DDCFEFE584B2D0E6EA27985', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":0}},"id":"01a22e1a-7c66-703e-9f9c-0de25f9c7900","timestamp":1796069817.446255}', NULL);
insert into events values ('shop', 'ada', 'files-2', 6480196566122708838, 2, '01a22e1a-7c6e-73f7-9b6c-dd6f4f3f5c15', 1796069817454738, 1796069817454984, 'user', '', NULL, 5, 4, NULL, X'80D48EAE81BBE94071B8B31400F3C11BCB79002CD30FA2CAF13AA738E46633C2', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":2}},"id":"01a22e1a-7c6e-73f7-9b6c-dd6f4f3f5c15","timestamp":1796069817.454738}', NULL);
insert into events values ('shop', 'ada', 'files-2', 6480196566122708838, 3, '01a22e1a-7c6f-773e-abcd-14b5b838ce31', 1796069817455821, 1796069817456266, 'user', 'rewind-01a22e1a-7c6f-773e-abcd-14b6c00d43bb', NULL, 5, 4, 1, X'431E149A3DC795A5964EDC27B9B9E69D6FEB65E15DC46639FF8E3C01C5BC255C', '{"author":"user","invocationId":"rewind-01a22e1a-7c6f-773e-abcd-14b6c00d43bb","actions":{"stateDelta":{},"rewindBeforeInvocationId":"","artifactDelta":{"page.html":3}},"customMetadata":{"rewindToRevision":1},"id":"01a22e1a-7c6f-773e-abcd-14b5b838ce31","timestamp":1796069817.455821}', NULL);
insert into events values ('shop', 'ada', 'files-2', 6480196566122708838, 4, '01a22e1a-7c71-750d-af28-0afb9605de9a', 1796069817457420, 1796069817457703, 'user', '', NULL, 5, 4, NULL, X'65F05C4408D5AECEBEA0AD84224D538BAEA2B514D41885DC4A2462ECE115D210', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"gone":0}},"id":"01a22e1a-7c71-750d-af28-0afb9605de9a","timestamp":1796069817.457420}', NULL);
insert into events values ('shop', 'ada', 'compacted', 489587900884642263, 1, 'c1', 1000000, 1796069817460790, 'user', '', NULL, 5, 4, NULL, X'249CD456F8A74212A410A302A901B41D830C2659E48737E6AE21D7CF0B6AFF57', '{"id":"c1","author":"user","timestamp":1,"content":{"parts":[{"text":"1"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 489587900884642263, 2, 'c2', 2000000, 1796069817461727, 'user', '', NULL, 5, 4, NULL, X'F680371D2B6E2F9D8A0FDEAFE556555B5DF34CB1FD66A522FF0A8ABAEE264B2D', '{"id":"c2","author":"user","timestamp":2,"content":{"parts":[{"text":"2"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 489587900884642263, 3, 'c3', 3000000, 1796069817462621, 'user', '', NULL, 5, 4, NULL, X'E49233C089B6757E03E35240335E71790F5C5EFE2BB2F209D847FCC8719F6D55', '{"id":"c3","author":"user","timestamp":3,"content":{"parts":[{"text":"3"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 489587900884642263, 4, 'c4', 4000000, 1796069817463335, 'user', '', NULL, 5, 4, NULL, X'BE10D376FFB0E7AEEB33FBE5F68C72675B04DC9A8E0541BBE6CD7690CA245DD4', '{"id":"c4","author":"user","timestamp":4,"content":{"parts":[{"text":"4"}]}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 489587900884642263, 5, 'sum', 5000000, 1796069817463987, 'agent', '', NULL, 5, 4, -1, X'2585B1D6369DD3B1F387F46B7886EACF90A8ACF9098174BC4BB3BAC18B6AD881', '{"id":"sum","author":"agent","timestamp":5,"actions":{"compaction":{"startTimestamp":1,"endTimestamp":3,"compactedContent":{"role":"model","parts":[{"text":"1 to 3"}]}}}}', NULL);
insert into events values ('shop', 'ada', 'compacted', 489587900884642263, 6, 'last', 6000000, 1796069817465028, 'user', '', NULL, 5, 4, NULL, X'6E30AB5A008548DD04251542838F5591806078AD17B61289A8EDF5F1F50CB1A6', '{"id":"last","author":"user","timestamp":6}', NULL);
insert into events values ('shop', 'ada', 'trimmed', 7362179141826651325, 1, 't1', 1796069817470949, 1796069817471005, '', '', NULL, 5, 4, NULL, X'FF2D88C66F77E0238B99E82D83E7DB0C21EDDA552CC80296614C3DF02B01BA8C', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 7362179141826651325, 2, 't2', 1796069817472010, 1796069817472063, '', '', NULL, 5, 4, NULL, X'6A790D825986340576AC3F9489FE714CAAF96F13F8E290114CC4412B2BDA686B', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 7362179141826651325, 3, 't3', 1796069817472738, 1796069817472786, '', '', NULL, 5, 4, NULL, X'328D69FB0E1172DCB5AC25EFE82CB7E226756E7723E10AF118220AF799DD1756', '', NULL);
insert into events values ('shop', 'ada', 'trimmed', 7362179141826651325, 4, 't4', 1796069817474950, 1796069817475005, 'a', '', NULL, 5, 4, NULL, X'647278D9F4A40649CF88D24F234524AFA68425EFC8862D9DBB6E190B074B277A', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1796069817.474950}', NULL);
insert into events values ('shop', 'ada', 'trimmed', 7362179141826651325, 5, 't5', 1796069817475862, 1796069817475914, 'a', '', NULL, 5, 4, NULL, X'8B8C18622A99B65602D693776167AB69499E522B6F9DEB569A835F5089CE23B7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1796069817.475862}', NULL);
insert into events values ('shop', 'ada', 'redacted', 3742925915877111738, 1, 'kept', 1796069817498559, 1796069817498624, 'user', '', NULL, 6, 4, NULL, X'0000000000000000000000000000000000000000000000000000000000000000', '{"id":"kept","timestamp":1796069817.498559,"author":"user","actions":{"stateDelta":{"kept":"hunter2","user:kept":"hunter2"}},"redacted":{"time":1796069817.499836,"reason":"a password"}}', 1);
insert into events values ('shop', 'ada', 'redacted', 3742925915877111738, 2, 'removed', 1796069817520691, 1796069817521016, 'user', '', NULL, 7, 4, NULL, X'0000000000000000000000000000000000000000000000000000000000000000', '{"id":"removed","timestamp":1796069817.520691,"author":"user","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"redacted":{"time":1796069817.522056,"reason":"a password"}}', 2);
insert into events values ('shop', 'ada', 'redacted', 3742925915877111738, 3, '01a22e1a-7cb1-765d-8100-f95c50f54cd9', 1796069817521977, 1796069817523534, 'user', '', NULL, 8, 4, NULL, X'8C372D64E780678DB298D472C65643BBAC5AB92E04588C224C9EA5E5E0C7EDE4', '{"id":"01a22e1a-7cb1-765d-8100-f95c50f54cd9","author":"user","invocationId":"","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"timestamp":1796069817.521977}', -2);
insert into events values ('shop', 'ada', 'moved', 3505504205973286707, 1, 't1', 1796069817490387, 1796069817490447, '', '', NULL, 5, 4, NULL, X'FF2D88C66F77E0238B99E82D83E7DB0C21EDDA552CC80296614C3DF02B01BA8C', '', NULL);
insert into events values ('shop', 'ada', 'moved', 3505504205973286707, 2, 't2', 1796069817491412, 1796069817491465, '', '', NULL, 5, 4, NULL, X'6A790D825986340576AC3F9489FE714CAAF96F13F8E290114CC4412B2BDA686B', '', NULL);
insert into events values ('shop', 'ada', 'moved', 3505504205973286707, 3, 't3', 1796069817492576, 1796069817492631, '', '', NULL, 5, 4, NULL, X'328D69FB0E1172DCB5AC25EFE82CB7E226756E7723E10AF118220AF799DD1756', '', NULL);
insert into events values ('shop', 'ada', 'moved', 3505504205973286707, 4, 't4', 1796069817493479, 1796069817493532, 'a', '', NULL, 5, 4, NULL, X'647278D9F4A40649CF88D24F234524AFA68425EFC8862D9DBB6E190B074B277A', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1796069817.493479}', NULL);
insert into events values ('shop', 'ada', 'moved', 3505504205973286707, 5, 't5', 1796069817496157, 1796069817496215, 'a', '', NULL, 5, 4, NULL, X'8B8C18622A99B65602D693776167AB69499E522B6F9DEB569A835F5089CE23B7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1796069817.496157}', NULL);
insert into events values ('copy', 'ada', 'order-1', 7084047708169756991, 1, 'e1', 1500000, 1796069817329944, 'user', 'i1', NULL, 3, 3, NULL, X'435B38A6C0DFAA42F2382DBE95DF21D1291117C4CA583DD775647F0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL);
insert into events values ('copy', 'ada', 'order-1', 7084047708169756991, 2, 'e2', 1796069817345012, 1796069817347008, 'agent', 'i1', 'a.b', 3, 4, NULL, X'08EC320BC833F1099984EECCEB18BF53738A8FC7B156C83F0DE7654FF7BEC27C', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796069817.345012}', NULL);
insert into events values ('copy', 'ada', 'order-1', 7084047708169756991, 3, 'e3', 1796069817345012, 1796069817347008, 'agent', 'i2', NULL, 3, 4, NULL, X'D3DE25700664B6208DDD18CB3BB6D49390D95970D4D73A683B895ED105536CB7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796069817.345012}', NULL);
insert into events values ('copy', 'ada', 'order-1', 7084047708169756991, 4, 'rewind-1', 1796069817349318, 1796069817350945, 'user', 'rewind-01a22e1a-7c05-7486-bdad-c106b5f8943f', NULL, 3, 4, 2, X'EB41E0C4A84E2955FFB2F87EF3052DE9BAC7278EE4A66C80171A0B8ED066ADCD', '{"author":"user","invocationId":"rewind-01a22e1a-7c05-7486-bdad-c106b5f8943f","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1796069817.349318}', NULL);
insert into events values ('copy', 'ada', 'order-1', 7084047708169756991, 5, 'put-1', 1796069817363170, 1796069817363460, 'user', '', NULL, 3, 4, NULL, X'092F58824834CCFBEE5844FCF7C78C5BF2B2628CDD2601E3FDBE2AD78B3A4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1796069817.363170}', NULL);
insert into events values ('copy', 'ada', 'order-1', 7084047708169756991, 6, 'patch-1', 1796069817380783, 1796069817381503, 'agent', '', NULL, 4, 4, NULL, X'6EBA5E92B5A282EBC5D1C847BFC06332ABC5A8BE554AA8ACCF3D24C8E88E37D5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1796069817.380783}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 1, 'e/ä', 1796069817580288, 1796069817580383, 'agent', '', NULL, 0, 0, NULL, X'E78CFB5291353133438166F3E9E1F7DA2539E819856DE2D160DEA064905B1F7C', '{"id":"e/ä","author":"agent","actions":{"stateDelta":{ "k0ä": 0 , "k1ä": -0 , "k2ä": 1 , "k3ä": 1.0 , "k4ä": 1E2 , "k5ä": 1e+2 , "k6ä": -0.0 , "k7ä": 0e0 , "k8ä": 1e-400 , "k9ä": 0.1000000000000000055511151231257827 , "k10ä": 1180591620717411303424 , "k11ä": -170141183460469231731687303715884105729 , "k12ä": 1.7976931348623157e308 , "k13ä": 9007199254740993 , "k14ä": "\u0000" , "k15ä": "a\u0000b\u001f\u007f" , "k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "k17ä": "\/ / \" \\ \b\f\n\r\t" , "k18ä": " ﻿�􏿿" , "k19ä": "" , "k20ä": {"b":1,"a":2,"":3,"B":4} , "k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "k22ä": [ ] , "k23ä": {"$serde_json::private::RawValue": "[1]"} , "k24ä": {"$serde_json::private::Number": "1"} , "k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "k26ä": {"__proto__":1,"constructor":{"x":null}} , "k27ä": true , "k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796069817.580288}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 2, 'user:e/ä', 1796069817581812, 1796069817581996, 'agent', '', NULL, 1, 0, NULL, X'AAEB3F9FD8C682C65552B5F40D0C01C5E8880C8B8CC9650F2751ABEAFFB0268B', '{"id":"user:e/ä","author":"agent","actions":{"stateDelta":{ "user:k0ä": 0 , "user:k1ä": -0 , "user:k2ä": 1 , "user:k3ä": 1.0 , "user:k4ä": 1E2 , "user:k5ä": 1e+2 , "user:k6ä": -0.0 , "user:k7ä": 0e0 , "user:k8ä": 1e-400 , "user:k9ä": 0.1000000000000000055511151231257827 , "user:k10ä": 1180591620717411303424 , "user:k11ä": -170141183460469231731687303715884105729 , "user:k12ä": 1.7976931348623157e308 , "user:k13ä": 9007199254740993 , "user:k14ä": "\u0000" , "user:k15ä": "a\u0000b\u001f\u007f" , "user:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "user:k17ä": "\/ / \" \\ \b\f\n\r\t" , "user:k18ä": " ﻿�􏿿" , "user:k19ä": "" , "user:k20ä": {"b":1,"a":2,"":3,"B":4} , "user:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "user:k22ä": [ ] , "user:k23ä": {"$serde_json::private::RawValue": "[1]"} , "user:k24ä": {"$serde_json::private::Number": "1"} , "user:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "user:k26ä": {"__proto__":1,"constructor":{"x":null}} , "user:k27ä": true , "user:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796069817.581812}', NULL);
insert into events values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 3, 'app:e/ä', 1796069817583472, 1796069817583538, 'agent', '', NULL, 1, 1, NULL, X'7C243795615B1D07ED39E8C4AFFB45B944DE62BE3E14B9683ECFEFE79FB05006', '{"id":"app:e/ä","author":"agent","actions":{"stateDelta":{ "app:k0ä": 0 , "app:k1ä": -0 , "app:k2ä": 1 , "app:k3ä": 1.0 , "app:k4ä": 1E2 , "app:k5ä": 1e+2 , "app:k6ä": -0.0 , "app:k7ä": 0e0 , "app:k8ä": 1e-400 , "app:k9ä": 0.1000000000000000055511151231257827 , "app:k10ä": 1180591620717411303424 , "app:k11ä": -170141183460469231731687303715884105729 , "app:k12ä": 1.7976931348623157e308 , "app:k13ä": 9007199254740993 , "app:k14ä": "\u0000" , "app:k15ä": "a\u0000b\u001f\u007f" , "app:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "app:k17ä": "\/ / \" \\ \b\f\n\r\t" , "app:k18ä": " ﻿�􏿿" , "app:k19ä": "" , "app:k20ä": {"b":1,"a":2,"":3,"B":4} , "app:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "app:k22ä": [ ] , "app:k23ä": {"$serde_json::private::RawValue": "[1]"} , "app:k24ä": {"$serde_json::private::Number": "1"} , "app:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "app:k26ä": {"__proto__":1,"constructor":{"x":null}} , "app:k27ä": true , "app:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796069817.583472}', NULL);
insert into policies values ('none', 2, NULL, NULL, NULL, NULL, 0);
insert into policies values ('shop', 1, '{"sessions":{"maxAge":"36500d"},"artifacts":{"keepVersions":50},"limits":{"sessionsPerUser":1000,"eventsPerSession":1000}}', 1000, 1000, NULL, 0);
insert into session_spans values ('shop', 'ada', 'moved', 3505504205973286707, 4, 'k', 3, 4, 0, '3');
insert into session_spans values ('shop', 'ada', 'moved', 3505504205973286707, 5, 'k', 4, 5, 0, '4');
insert into session_spans values ('shop', 'ada', 'order-1-again', 7042755667402984212, 1, 'n', 0, 1, 0, '1.10');
insert into session_spans values ('shop', 'ada', 'order-1-again', 7042755667402984212, 2, 'n', 1, 3, 0, '1E2');
insert into session_spans values ('shop', 'ada', 'order-1-again', 7042755667402984212, 2, 'topic', 0, 3, 1, '"return"');
insert into session_spans values ('copy', 'ada', 'order-1', 7084047708169756991, 1, 'n', 0, 1, 0, '1.10');
insert into session_spans values ('copy', 'ada', 'order-1', 7084047708169756991, 2, 'n', 1, 3, 0, '1E2');
insert into session_spans values ('copy', 'ada', 'order-1', 7084047708169756991, 2, 'topic', 0, 3, 1, '"return"');
insert into session_spans values ('copy', 'ada', 'order-1', 7084047708169756991, 4, 'n', 3, 4, 0, 'null');
insert into session_spans values ('shop', 'ada', 'trimmed', 7362179141826651325, 4, 'k', 3, 4, 0, '3');
insert into session_spans values ('shop', 'ada', 'trimmed', 7362179141826651325, 5, 'k', 4, 5, 0, '4');
insert into session_spans values ('shop', 'ada', 'order-1', 8444018288213765672, 1, 'n', 0, 1, 0, '1.10');
insert into session_spans values ('shop', 'ada', 'order-1', 8444018288213765672, 2, 'n', 1, 3, 0, '1E2');
insert into session_spans values ('shop', 'ada', 'order-1', 8444018288213765672, 2, 'topic', 0, 3, 1, '"return"');
insert into session_spans values ('shop', 'ada', 'order-1', 8444018288213765672, 4, 'n', 3, 4, 0, 'null');
insert into session_state values ('shop', 'ada', 'order-1', 8444018288213765672, 'n', '1E2', 4);
insert into session_state values ('shop', 'ada', 'order-1', 8444018288213765672, 'big', '1180591620717411303424', 1);
insert into session_state values ('shop', 'ada', 'order-1', 8444018288213765672, 'neg', '-0', 1);
insert into session_state values ('shop', 'ada', 'order-1', 8444018288213765672, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('shop', 'ada', 'order-1', 8444018288213765672, 'list', '[-0.0]', 2);
insert into session_state values ('shop', 'ada', 'order-1', 8444018288213765672, 'topic', '"return"', 4);
insert into session_state values ('shop', 'ada', 'order-1', 8444018288213765672, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5);
insert into session_state values ('shop', 'ada', 'order-1', 8444018288213765672, 'step', '"refund"', 6);
insert into session_state values ('shop', 'ada', 'order-1-again', 7042755667402984212, 'big', '1180591620717411303424', 1);
insert into session_state values ('shop', 'ada', 'order-1-again', 7042755667402984212, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('shop', 'ada', 'order-1-again', 7042755667402984212, 'list', '[-0.0]', 2);
insert into session_state values ('shop', 'ada', 'order-1-again', 7042755667402984212, 'neg', '-0', 1);
insert into session_state values ('shop', 'ada', 'order-1-again', 7042755667402984212, 'n', 'null', 3);
insert into session_state values ('shop', 'ada', 'files-2', 6480196566122708838, 'k', '1', 0);
insert into session_state values ('shop', 'ada', 'trimmed', 7362179141826651325, 'k', '5', 5);
insert into session_state values ('shop', 'ada', 'trimmed', 7362179141826651325, 'k1', '1', 1);
insert into session_state values ('shop', 'ada', 'trimmed', 7362179141826651325, 'k2', '2', 2);
insert into session_state values ('shop', 'ada', 'trimmed', 7362179141826651325, 'k3', '3', 3);
insert into session_state values ('shop', 'ada', 'trimmed', 7362179141826651325, 'k4', '4', 4);
insert into session_state values ('shop', 'ada', 'trimmed', 7362179141826651325, 'k5', '5', 5);
insert into session_state values ('shop', 'ada', 'redacted', 3742925915877111738, 'kept', '"hunter2"', 1);
insert into session_state values ('shop', 'bob', 'by-adk', 4503199252469102555, 'topic', '"warranty"', 0);
insert into session_state values ('shop', 'ada', 'moved', 3505504205973286707, 'k', '5', 5);
insert into session_state values ('shop', 'ada', 'moved', 3505504205973286707, 'k1', '1', 3);
insert into session_state values ('shop', 'ada', 'moved', 3505504205973286707, 'k2', '2', 3);
insert into session_state values ('shop', 'ada', 'moved', 3505504205973286707, 'k3', '3', 3);
insert into session_state values ('shop', 'ada', 'moved', 3505504205973286707, 'k4', '4', 4);
insert into session_state values ('shop', 'ada', 'moved', 3505504205973286707, 'k5', '5', 5);
insert into session_state values ('copy', 'ada', 'order-1', 7084047708169756991, 'big', '1180591620717411303424', 1);
insert into session_state values ('copy', 'ada', 'order-1', 7084047708169756991, 'item', '{"b" : 1,"a":[ ]}', 2);
insert into session_state values ('copy', 'ada', 'order-1', 7084047708169756991, 'list', '[-0.0]', 2);
insert into session_state values ('copy', 'ada', 'order-1', 7084047708169756991, 'n', '1E2', 4);
insert into session_state values ('copy', 'ada', 'order-1', 7084047708169756991, 'neg', '-0', 1);
insert into session_state values ('copy', 'ada', 'order-1', 7084047708169756991, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5);
insert into session_state values ('copy', 'ada', 'order-1', 7084047708169756991, 'step', '"refund"', 6);
insert into session_state values ('copy', 'ada', 'order-1', 7084047708169756991, 'topic', '"return"', 4);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k0ä', '0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k10ä', '1180591620717411303424', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k11ä', '-170141183460469231731687303715884105729', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k12ä', '1.7976931348623157e308', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k13ä', '9007199254740993', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k14ä', '"\u0000"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k15ä', '"a\u0000b\u001f\u007f"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k18ä', '" ﻿�􏿿"', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k19ä', '""', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k1ä', '-0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k22ä', '[ ]', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k24ä', '{"$serde_json::private::Number": "1"}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k27ä', 'true', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k28ä', 'null', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k2ä', '1', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k3ä', '1.0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k4ä', '1E2', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k5ä', '1e+2', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k6ä', '-0.0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k7ä', '0e0', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k8ä', '1e-400', 1);
insert into session_state values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 'k9ä', '0.1000000000000000055511151231257827', 1);
insert into session_updates values ('copy', 'ada', 'order-1', 179606981);
insert into session_updates values ('läger/1 ü', 'ß ø@例え', 'a b😀', 179606981);
insert into session_updates values ('shop', 'ada', 'compacted', 0);
insert into session_updates values ('shop', 'ada', 'files', 179606981);
insert into session_updates values ('shop', 'ada', 'files-2', 179606981);
insert into session_updates values ('shop', 'ada', 'moved', 179606981);
insert into session_updates values ('shop', 'ada', 'order-1', 179606981);
insert into session_updates values ('shop', 'ada', 'order-1-again', 179606981);
insert into session_updates values ('shop', 'ada', 'redacted', 179606981);
insert into session_updates values ('shop', 'ada', 'trimmed', 179606981);
insert into session_updates values ('shop', 'bob', 'by-adk', 179606981);
insert into sessiond_migrations values (1, 'sessions', '2026-11-30 20:16:57', 1, X'CE619349C03BC3EB1CCDFD2421C9855009E4E154F26CF32D42D5C0287FC13D54D9D0CFDCD31C1EFC09979912B6F75DB5', 2637217);
insert into sessions values ('shop', 'ada', 'files', 5305720163175509955, 2, 0, 1796069817325766, 1796069817429187, 1796069817428434, '1796069817.428434', 20787, NULL, NULL, NULL, 0, '{}', 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'order-1', 8444018288213765672, 6, 0, 1796069817328303, 1796069817381503, 1796069817380783, '1796069817.380783', 20787, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, 'create-1', X'986E8347A1CA037F059646A89B18A481CB8A30C7777918AC2E45F9DF0E63F133', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 'pod-7/4f1c', 'i9', 1796069877430035, 60000000, 0);
insert into sessions values ('shop', 'ada', 'order-1-again', 7042755667402984212, 4, 1, 1796069817394989, 1796069817442195, 1796069817441879, '1796069817.441879', 20787, '"forked"', '{"a":"b"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, 'order-1', 3, 'fork-1', X'5852D7B187AB49A4BD7E012F6F3D1B907F2E43D839BF5FEE347D0B6E3CD017E4', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'files-2', 6480196566122708838, 4, 0, 1796069817444845, 1796069817457703, 1796069817457420, '1796069817.457420', 20787, NULL, NULL, NULL, 0, '{"k":1}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'compacted', 489587900884642263, 6, 0, 1796069817459428, 1796069817465028, 6000000, '6', 20787, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'trimmed', 7362179141826651325, 5, 1, 1796069817467279, 1796069817475914, 1796069817475862, '1796069817.475862', 20787, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'redacted', 3742925915877111738, 3, 2, 1796069817497636, 1796069817523534, 1796069817521977, '1796069817.521977', 20787, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'bob', 'by-adk', 4503199252469102555, 0, 0, 1796069817530675, 1796069817530675, 1796069817530675, '1796069817.530675', 20787, NULL, NULL, NULL, 0, '{"topic":"warranty"}', 1, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('shop', 'ada', 'moved', 3505504205973286707, 5, 0, 1796069817487611, 1796069817496215, 1796069817496157, '1796069817.496157', 20787, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, '37cb7faf01336a8', X'F4598ED9A7FEF6AB90704229CCCE5C444787BA962E72AE20E58F4E1E21948E75', 5, 3, 5, 3, 5, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('copy', 'ada', 'order-1', 7084047708169756991, 6, 0, 1796069817328303, 1796069817381503, 1796069817380783, '1796069817.380783', 20787, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, NULL, NULL, '752f2de511e22e28', X'DD1A6784333212F20AE62F19DC715DB2EB81E179FADA0A0E74F0CDF434BA8538', 6, 0, 6, 0, 6, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into sessions values ('läger/1 ü', 'ß ø@例え', 'a b😀', 9207904316684275449, 3, 0, 1796069817579314, 1796069817583538, 1796069817583472, '1796069817.583472', 20787, NULL, NULL, NULL, 0, '{}', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0);
insert into token_epochs values ('shop', X'0F44274039252A4B7B12272220E7FE8D0E0AE05D2E50B6BD42EEC4D801EE5A8E', 1, 0);
insert into token_epochs values ('shop', X'4BF242A422EF26017600A04F6A8E3A6090C8D1BD258DD160B39C54ADF17DE70D', 1, 2);
insert into token_epochs values ('shop', X'56B360BC6A5D72A9327F45848A3A457BB9C68B6C3561E1815406993B7C6E1572', 1, 1);
insert into token_secrets values ('current', X'C2E2490AAC6EF6BEE1CF32B0D733FBC54748C1BBC2AD013ADF453817E3D047D4');
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k0ä', 1, '0', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k10ä', 1, '1180591620717411303424', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k11ä', 1, '-170141183460469231731687303715884105729', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k12ä', 1, '1.7976931348623157e308', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k13ä', 1, '9007199254740993', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k14ä', 1, '"\u0000"', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k18ä', 1, '" ﻿�􏿿"', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k19ä', 1, '""', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k1ä', 1, '-0', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k22ä', 1, '[ ]', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k27ä', 1, 'true', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k28ä', 1, 'null', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k2ä', 1, '1', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k3ä', 1, '1.0', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k4ä', 1, '1E2', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k5ä', 1, '1e+2', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k6ä', 1, '-0.0', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k7ä', 1, '0e0', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k8ä', 1, '1e-400', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('läger/1 ü', 'ß ø@例え', 'k9ä', 1, '0.1000000000000000055511151231257827', 1796069817582000, 9207904316684275449, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'kept', 6, '"hunter2"', 1796069817499000, 3742925915877111738, 1, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'language', 1, '"en"', 1796069817323000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'n', 3, '-0.0', 1796069817330000, 8444018288213765672, 1, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'n', 5, '7', 1796069817442000, 7042755667402984212, 4, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'name', 2, '"Ada"', 1796069817328000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'removed', 7, NULL, 1796069817521000, 3742925915877111738, 2, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'removed', 8, NULL, 1796069817524000, 3742925915877111738, 3, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'ada', 'returns', 4, '1', 1796069817381000, 8444018288213765672, 6, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'bob', 'name', 1, '"Bob"', 1796069817532000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into user_log values ('shop', 'zoe', 'alone', 1, 'true', 1796069817313000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
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
