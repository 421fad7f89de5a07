-- Sessions, their events, and state in three scopes.
--
-- Names are compared bytewise (the default). Times are microseconds since 1970. JSON is text: a json column would
-- rewrite or refuse what clients may send. Rows of a session are keyed by its incarnation, a random
-- number: what a deleted session left behind never belongs to the next one of the same id, and can be removed in its own
-- time; and short keys make the difference where every append adds rows to three indexes. The names are compared beside
-- it, so that two sessions that drew the same number would get in each other's way and never read each other's data.

create table sessions (
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
    -- Whether its place in lists by last update is rough (session_updates).
    rough                 boolean not null default false,
    -- Begins otherwise than the other indexes: a planner without statistics takes two that begin alike for equally good, and
    -- looks for a session through all those of its user.
    constraint sessions_pkey primary key (id, user_id, app_name)
);
create index sessions_by_user_create on sessions (app_name, user_id, create_time, id);
create index sessions_by_app_create on sessions (app_name, create_time, user_id, id);
create unique index sessions_creation_key on sessions (creation_key, user_id, app_name) where creation_key is not null;
create index sessions_by_expiry on sessions (expire_time) where expire_time is not null;
create index sessions_by_source on sessions (app_name, user_id, forked_from) where forked_from is not null;

-- Where sessions stand in lists by their last update. Apart from them for PostgreSQL, where an update of a row that no index
-- has to follow is cheap. The place is exact, `update_time`, until a session changes often. Then it is rough: `update_time`
-- in whole tens of seconds, so most appends change nothing here. Lists sort those of the same ten seconds by the sessions' own
-- times.
create table session_updates (
    app_name text not null,
    user_id  text not null,
    id       text not null,
    rough    boolean not null default false,
    place    integer not null,
    constraint session_updates_pkey primary key (app_name, user_id, rough, place, id)
) without rowid;
create index session_updates_by_app on session_updates (app_name, rough, place, user_id, id);

-- Of a trimmed event, up to its session's base, the sweep leaves a stub: no author, branch and body. Of a redacted one the body has what may
-- be read; the digest is that of the event as it was given.
create table events (
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
-- With as many columns of the key as the primary key: a planner without statistics would take that one.
create index events_rewinds on events (incarnation, sequence, user_id, app_name) where effect >= 0;
create index events_compactions on events (incarnation, sequence, user_id, app_name) where effect = -1;
create index events_redactions on events (incarnation, redaction) where redaction is not null;

-- `revision` of a state row is the revision, of its session or scope, that wrote it last.
create table session_state (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    key         text not null,
    value       text not null,
    revision    integer not null,
    constraint session_state_pkey primary key (incarnation, key, session_id, user_id, app_name)
);

-- `floor`: what the scope was before that revision is not known, or not any more. `emptied`: nothing is left of what was before
-- that one. `began`: the scope of a user has had no revision up to here, but 0. `imported`: the revision at which an import took it,
-- until its past has come, which is written below the floor. `redacted`: how often values of its past were taken.
create table user_scopes (
    app_name text not null,
    user_id  text not null,
    revision integer not null,
    floor    integer not null default 0,
    emptied  integer not null default 0,
    began    integer not null default 0,
    imported integer not null default 0,
    redacted integer not null default 0,
    constraint user_scopes_pkey primary key (app_name, user_id)
) without rowid;
create table user_state (
    app_name text not null,
    user_id  text not null,
    key      text not null,
    value    text not null,
    revision integer not null,
    constraint user_state_pkey primary key (app_name, user_id, key)
);

-- A revision that is above all that the state of an erased user of the app ever had. Scopes of users begin above it, so that none of
-- a user who was erased comes again; and nothing says whose they were.
create table erased_revisions (
    app_name text not null,
    revision integer not null,
    constraint erased_revisions_pkey primary key (app_name)
) without rowid;

create table app_scopes (
    app_name text not null,
    revision integer not null,
    floor    integer not null default 0,
    emptied  integer not null default 0,
    imported integer not null default 0,
    redacted integer not null default 0,
    constraint app_scopes_pkey primary key (app_name)
) without rowid;
create table app_state (
    app_name text not null,
    key      text not null,
    value    text not null,
    revision integer not null,
    constraint app_state_pkey primary key (app_name, key)
);

-- What shared state was, so that it can be read as of an event. A log holds every change, also of sessions that are
-- gone (a value of null: the key was removed), and when it was made. Spans find what held at a revision without walking the log: a value that
-- was overwritten or removed held from `valid_from` up to, not including, `valid_to`; `node` files it in an interval
-- tree (domain/history.rs), where one look per level finds all that held at a revision. What still holds is in the
-- state tables. The log of a session is its events; their bodies hold many keys, so its spans have the value.
-- Without rowid, a row touches one page and not two.
create table session_spans (
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
-- The past of a key: of its spans at most one in 32 revisions, and each that a removal ended, from which the others are found
-- (store/past/key.rs). An index of all would cost each append.
create index session_spans_by_key on session_spans (key, incarnation, valid_to) where node & 31 = 0 or removed;

create table user_log (
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
create index user_log_by_revision on user_log (app_name, user_id, revision, key);
create table user_spans (
    app_name   text not null,
    user_id    text not null,
    node       integer not null,
    key        text not null,
    valid_from integer not null,
    valid_to   integer not null,
    constraint user_spans_pkey primary key (app_name, user_id, node, key)
) without rowid;

create table app_log (
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
create index app_log_by_revision on app_log (app_name, revision, key);
create index app_log_by_user on app_log (app_name, by_user) where by_user is not null;
create table app_spans (
    app_name   text not null,
    node       integer not null,
    key        text not null,
    valid_from integer not null,
    valid_to   integer not null,
    constraint app_spans_pkey primary key (app_name, node, key)
) without rowid;

-- The effective history of sessions with compactions: what the log has left up to an event, as text (domain/effective.rs). Kept so that
-- a reader need not begin with the first event; nothing depends on one.
create table effective_views (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    sequence    integer not null,
    view        text not null,
    constraint effective_views_pkey primary key (incarnation, sequence, user_id, app_name)
) without rowid;
-- Where the events before a kept view mention function calls: digests of their ids. `roles`: 1 it calls, 2 it responds, 4 it was written
-- for the call, or a sum of these.
create table effective_ids (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    sequence    integer not null,
    id          integer not null,
    roles       integer not null,
    constraint effective_ids_pkey primary key (incarnation, sequence, id, user_id, app_name)
) without rowid;
create index effective_ids_by_id on effective_ids (id, incarnation, user_id, app_name);

-- The words of what was said, for the apps whose policy says so: of each event that has some, its words as numbers (domain/search.rs), an
-- array of JSON. The last row of a session says how far it is indexed. Derived from the events, and removed with them.
create table event_words (
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
-- What an index of arrays would be. A word stands for that of one user, so no name is needed.
create table event_words_by_word (
    word        integer not null,
    incarnation integer not null,
    sequence    integer not null,
    constraint event_words_by_word_pkey primary key (word, incarnation, sequence)
) without rowid;
create trigger event_words_added after insert on event_words begin
    insert into event_words_by_word (word, incarnation, sequence)
    select value, new.incarnation, new.sequence from json_each(new.words);
end;
create trigger event_words_removed after delete on event_words begin
    delete from event_words_by_word where incarnation = old.incarnation and sequence = old.sequence
      and word in (select value from json_each(old.words));
end;

-- Requests that changed shared state on its own under an Idempotency-Key, so that a retry changes nothing twice: a digest of
-- what each asked, and when it came. The sweep forgets them after a day.
create table user_patches (
    app_name    text not null,
    user_id     text not null,
    request_key text not null,
    digest      blob not null,
    time        integer not null,
    constraint user_patches_pkey primary key (app_name, user_id, request_key)
) without rowid;
create index user_patches_by_time on user_patches (time);
create table app_patches (
    app_name    text not null,
    request_key text not null,
    digest      blob not null,
    time        integer not null,
    constraint app_patches_pkey primary key (app_name, request_key)
) without rowid;
create index app_patches_by_time on app_patches (time);

-- Sessions that are gone for every reader, and whose rows are still to be removed.
create table buried_sessions (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    -- The erasure that it is a part of.
    erasure     text,
    constraint buried_sessions_pkey primary key (app_name, user_id, session_id, incarnation)
);
create index buried_by_erasure on buried_sessions (erasure) where erasure is not null;

-- Forks that were removed, of which there were forks, and what they were forks of: redactions reach their forks through them. For as long
-- as the user is there.
create table removed_forks (
    app_name    text not null,
    user_id     text not null,
    id          text not null,
    forked_from text not null,
    constraint removed_forks_pkey primary key (id, forked_from, user_id, app_name)
) without rowid;
create index removed_forks_by_source on removed_forks (app_name, user_id, forked_from);

-- Sessions of which trimmed events are still to be emptied: those after `emptied`, up to the session's base.
create table trims (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    emptied     integer not null,
    constraint trims_pkey primary key (app_name, user_id, session_id, incarnation)
);

-- Apps in which events were redacted, and how often, since the files were overwritten: where they are this process's.
create table scrubs (
    app_name text not null,
    count    integer not null,
    constraint scrubs_pkey primary key (app_name)
) without rowid;

-- Sessions of which an import has begun, and when it wrote last. Their rows are hidden until the row in `sessions` is there.
create table imports (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    time        integer not null,
    constraint imports_pkey primary key (app_name, user_id, session_id, incarnation)
);

-- Artifacts: files, each a name with versions. Those of a session are keyed by its incarnation, as its other rows are; those of a user
-- have an empty `session_id` and the incarnation 0.
--
-- How many versions all artifacts of a session, or of a user, have together: those of the incarnation that saved last.
create table artifact_places (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    versions    integer not null,
    constraint artifact_places_pkey primary key (app_name, user_id, session_id)
) without rowid;
create index artifact_places_of_users on artifact_places (app_name, user_id) where session_id = '';

-- `next`: the version that the next save gets; none is given twice, also if it was removed. `latest`: the last version that is there, or
-- null. `versions`: how many are there.
-- `named`: the highest version that events of the session, or of any session of the user, named without it being here: the next save
-- gets a higher number, unless it asks for this one.
create table artifact_names (
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

-- A version never changes. `mark` is random: by it a save that is tried again finds what it has written.
create table artifacts (
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
create unique index artifacts_request_key on artifacts (app_name, user_id, session_id, incarnation, name, request_key)
    where request_key is not null;

-- Which version of each artifact the events of a session named last, and before: as `session_state` and `session_spans` have what its
-- keys are and were. A version that is named need not be there.
create table artifact_state (
    app_name    text not null,
    user_id     text not null,
    session_id  text not null,
    incarnation integer not null,
    name        text not null,
    version     integer not null,
    revision    integer not null,
    constraint artifact_state_pkey primary key (incarnation, name, session_id, user_id, app_name)
) without rowid;
create table artifact_spans (
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

-- The bytes of artifacts. `versions`: how many versions hold them: 0 before the first does and after the last did; -1 if they are
-- being removed. `loose_since`: since when none holds them, and, while they come in, when some came last.
create table blobs (
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
create index blobs_loose on blobs (loose_since) where loose_since is not null;
create index blobs_by_object on blobs (object) where object is not null;
create index blobs_by_erasure on blobs (erasure) where erasure is not null;

-- All chunks of a blob have the same size, but for the last one.
create table blob_chunks (
    app_name text not null,
    user_id  text not null,
    blob     text not null,
    n        integer not null,
    bytes    blob not null,
    constraint blob_chunks_pkey primary key (app_name, user_id, blob, n)
);

-- Who may do what. Of a key there is the digest of its secret alone; apps and users are JSON arrays of patterns. A revoked
-- key keeps its row, without the digest: as long as there is a row, whoever asks must say who they are.
create table api_keys (
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

-- What signs the tokens of users: one row, `current`. Whoever can read it can make tokens.
create table token_secrets (
    name   text not null,
    secret blob not null,
    constraint token_secrets_pkey primary key (name)
) without rowid;

-- How often the tokens of a user were revoked. Nothing here names the user: see erasures.
create table token_epochs (
    app_name text not null,
    subject  blob not null,
    epoch    integer not null,
    -- The number of the user's last erasure in the app.
    erasure  integer not null default 0,
    constraint token_epochs_pkey primary key (subject, app_name)
) without rowid;

-- `salt`: with which users are hashed where nothing may name them; made with the database, so that every backup has it.
-- `receipt`: the private key that signs receipts.
create table erasure_secrets (
    name   text not null,
    secret blob not null,
    constraint erasure_secrets_pkey primary key (name)
) without rowid;
insert into erasure_secrets (name, secret)
values ('salt', randomblob(32));

-- Users who were erased: `subject` is a keyed hash of app and user, `request` one of the id of the request. `block` is what was
-- asked, `blocked` what held after it. The counts are of what was removed; `done_time` and `receipt` are null until all is.
create table erasures (
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
create unique index erasures_request on erasures (request, app_name) where request is not null;
create index erasures_running on erasures (subject, app_name, request_time, id) where done_time is null;

-- How many erasures an app had: they are numbered one after the other, so that an import knows which came after its beginning.
create table erasure_counts (
    app_name text not null,
    count    integer not null,
    constraint erasure_counts_pkey primary key (app_name)
) without rowid;

-- Erased users who get no new sessions and no state.
create table blocked_users (
    app_name text not null,
    subject  blob not null,
    constraint blocked_users_pkey primary key (subject, app_name)
) without rowid;

-- How long the data of an app is kept: a JSON object, or null if the policy was removed. `revision` counts changes.
create table policies (
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

-- The change feed: a row for each session and scope that a transaction changed, if the feed is on. Ids grow in the order of commits.
-- The first and last revision are those that the transaction made; `detail` is what else is to be told (domain/writes.rs). What an
-- erasure took has the kind 0. Where the feed begins anew there is a row without an app, which shows nothing. There is no index by
-- user: it would cost each append a page for each session.
create table changes (
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
create index changes_begin on changes (id) where app_name = '';
insert into changes (kind, app_name, first_revision, last_revision) values (0, '', 0, 0);
