-- One append, as one statement: what a careful client of PostgreSQL does without a service in between.
--
--     pgbench -n -M prepared -f append.sql -D app=bench -D sessions=1024 -D users=256 -c 64 -j 2 -T 10 URL
--
-- It writes what one append to sessiond writes, into the same tables (setup.sql): the session's next revision and its
-- place in lists by last update, an event of 1 KB, one of ten session keys with the span of the value that it ends, in
-- every fourth append also a `user:` key, in every sixteenth also an `app:` key, each with its log and span.
-- scripts/bench gives it the settings for plans that sessiond gives to its own connections (PLANS in bench/lab.py, by
-- PGOPTIONS).
--
-- What keeps concurrent appends right: the session's row is updated first, so that appends to one session follow one
-- another, and each sees the revision that the one before it left. A statement that had to wait for that sees
-- everything else as it was before it waited. So what a value replaces is read `for no key update`, which gives the
-- row as it is now. (Without that, two appends end the same span, and one of them fails: a duplicate key of app_spans
-- after a second or two with 16 clients.) Locks are taken in one order (session, user, app): no deadlocks.
--
-- The place in lists is a bucket of ten seconds, and changes with it. It is found by the update time that the statement saw
-- before it may have waited, and from there on: after a wait the row has a later time, as times of a session never go back.
--
-- Two things it does not do, as they would make it slower. The revisions of the scopes that an event saw are read
-- without a lock: after a wait for its session it may note an older one than the event before it did, which `sessiond
-- verify` reports ("user_revision is 4, and was 5 before"). And there is no SHA-256 of the event; a constant stands
-- for it. `"stateOps":[]` in the event tells `verify` that the digest is not one of the stored text.
--
-- Ids begin with the time, as those that the service makes do (UUIDv7), so that they go to the end of their index.
--
-- A colon before a name would be a variable to pgbench, also within a string: hence \x3a, and `: ` in JSON.
-- What is the same in each call (repeat, E'') is computed when the plan is made, once for each connection.
\set session random(0, :sessions - 1)
\set user :session % :users
\set key random(0, 9)
\set value random(1, 1000000000)
\set shared random(1, 16)
\if :shared > 4
with s as (
    update sessions s set revision = s.revision + 1,
        update_time = greatest(s.update_time, (date_part('epoch', now()) * 1000000)::bigint),
        update_time_number = greatest(s.update_time / 1000000::float8, date_part('epoch', now())),
        active_day = (date_part('epoch', now()) / 86400)::bigint
    from sessions seen
    where s.app_name = :app and s.user_id = 'u' || :user and s.id = 's' || :session
      and seen.app_name = :app and seen.user_id = 'u' || :user and seen.id = 's' || :session
    returning s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.update_time, s.update_time_number,
        to_hex(s.update_time) || substr(gen_random_uuid()::text, 14) as event_id, seen.update_time as seen_time
), moved as (
    update session_updates o set place = s.update_time / 10000000
    from s where s.seen_time / 10000000 <> s.update_time / 10000000
      and o.app_name = s.app_name and o.user_id = s.user_id and o.rough and o.place >= s.seen_time / 10000000
      and o.id = s.id
), old as (
    select t.key, t.value, t.revision from s join session_state t on t.app_name = s.app_name and t.user_id = s.user_id
        and t.session_id = s.id and t.incarnation = s.incarnation and t.key = 'k' || :key
    for no key update of t
), event as (
    insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
        invocation_id, user_revision, app_revision, digest, body)
    select app_name, user_id, id, incarnation, revision, event_id, update_time, update_time, 'agent', 'i' || :value,
        (select revision from user_scopes u where u.app_name = s.app_name and u.user_id = s.user_id),
        (select revision from app_scopes a where a.app_name = s.app_name),
        '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
        '{"id":"' || event_id || '","timestamp":' || update_time_number || ',"invocationId":"i' || :value
            || '","author":"agent","actions":{"stateDelta":{"k' || :key || '":' || :value
            || ('},"stateOps":[]},"content":{"role":"model","parts":[{"text":"'
                || repeat('What was said. ', 53) || '"}]}}')
    from s
), span as (
    insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, removed, value)
    select s.app_name, s.user_id, s.id, s.incarnation,
        s.revision & (-1::bigint << (length(ltrim((old.revision # s.revision)::bit(64)::text, '0')) - 1)),
        old.key, old.revision, s.revision, false, old.value
    from s, old
)
insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision)
select s.app_name, s.user_id, s.id, s.incarnation, 'k' || :key, :value, s.revision from s left join old on true
on conflict (incarnation, key, session_id, user_id, app_name)
do update set value = excluded.value, revision = excluded.revision
returning revision;
\elif :shared > 1
with s as (
    update sessions s set revision = s.revision + 1,
        update_time = greatest(s.update_time, (date_part('epoch', now()) * 1000000)::bigint),
        update_time_number = greatest(s.update_time / 1000000::float8, date_part('epoch', now())),
        active_day = (date_part('epoch', now()) / 86400)::bigint
    from sessions seen
    where s.app_name = :app and s.user_id = 'u' || :user and s.id = 's' || :session
      and seen.app_name = :app and seen.user_id = 'u' || :user and seen.id = 's' || :session
    returning s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.update_time, s.update_time_number,
        to_hex(s.update_time) || substr(gen_random_uuid()::text, 14) as event_id, seen.update_time as seen_time
), moved as (
    update session_updates o set place = s.update_time / 10000000
    from s where s.seen_time / 10000000 <> s.update_time / 10000000
      and o.app_name = s.app_name and o.user_id = s.user_id and o.rough and o.place >= s.seen_time / 10000000
      and o.id = s.id
), old as (
    select t.key, t.value, t.revision from s join session_state t on t.app_name = s.app_name and t.user_id = s.user_id
        and t.session_id = s.id and t.incarnation = s.incarnation and t.key = 'k' || :key
    for no key update of t
), u as (
    update user_scopes u set revision = u.revision + 1
    from s where u.app_name = s.app_name and u.user_id = s.user_id
    returning u.app_name, u.user_id, u.revision
), user_old as (
    select t.key, t.revision
    from u join user_state t on t.app_name = u.app_name and t.user_id = u.user_id and t.key = 'u'
    for no key update of t
), event as (
    insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
        invocation_id, user_revision, app_revision, digest, body)
    select s.app_name, s.user_id, id, incarnation, s.revision, event_id, update_time, update_time, 'agent',
        'i' || :value, u.revision, (select revision from app_scopes a where a.app_name = s.app_name),
        '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
        '{"id":"' || event_id || '","timestamp":' || update_time_number || ',"invocationId":"i' || :value
            || '","author":"agent","actions":{"stateDelta":{"k' || :key || '":' || :value
            || E',"user\x3au":' || :value
            || ('},"stateOps":[]},"content":{"role":"model","parts":[{"text":"'
                || repeat('What was said. ', 53) || '"}]}}')
    from s, u
), span as (
    insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, removed, value)
    select s.app_name, s.user_id, s.id, s.incarnation,
        s.revision & (-1::bigint << (length(ltrim((old.revision # s.revision)::bit(64)::text, '0')) - 1)),
        old.key, old.revision, s.revision, false, old.value
    from s, old
), user_change as (
    insert into user_log (app_name, user_id, key, revision, value)
    select app_name, user_id, 'u', revision, :value from u
), user_span as (
    insert into user_spans (app_name, user_id, node, key, valid_from, valid_to)
    select u.app_name, u.user_id,
        u.revision & (-1::bigint << (length(ltrim((o.revision # u.revision)::bit(64)::text, '0')) - 1)),
        o.key, o.revision, u.revision
    from u, user_old o
), user_value as (
    insert into user_state (app_name, user_id, key, value, revision)
    select app_name, user_id, 'u', :value, u.revision from u left join user_old on true
    on conflict (app_name, user_id, key) do update set value = excluded.value, revision = excluded.revision
)
insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision)
select s.app_name, s.user_id, s.id, s.incarnation, 'k' || :key, :value, s.revision from s left join old on true
on conflict (incarnation, key, session_id, user_id, app_name)
do update set value = excluded.value, revision = excluded.revision
returning revision;
\else
with s as (
    update sessions s set revision = s.revision + 1,
        update_time = greatest(s.update_time, (date_part('epoch', now()) * 1000000)::bigint),
        update_time_number = greatest(s.update_time / 1000000::float8, date_part('epoch', now())),
        active_day = (date_part('epoch', now()) / 86400)::bigint
    from sessions seen
    where s.app_name = :app and s.user_id = 'u' || :user and s.id = 's' || :session
      and seen.app_name = :app and seen.user_id = 'u' || :user and seen.id = 's' || :session
    returning s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.update_time, s.update_time_number,
        to_hex(s.update_time) || substr(gen_random_uuid()::text, 14) as event_id, seen.update_time as seen_time
), moved as (
    update session_updates o set place = s.update_time / 10000000
    from s where s.seen_time / 10000000 <> s.update_time / 10000000
      and o.app_name = s.app_name and o.user_id = s.user_id and o.rough and o.place >= s.seen_time / 10000000
      and o.id = s.id
), old as (
    select t.key, t.value, t.revision from s join session_state t on t.app_name = s.app_name and t.user_id = s.user_id
        and t.session_id = s.id and t.incarnation = s.incarnation and t.key = 'k' || :key
    for no key update of t
), u as (
    update user_scopes u set revision = u.revision + 1
    from s where u.app_name = s.app_name and u.user_id = s.user_id
    returning u.app_name, u.user_id, u.revision
), user_old as (
    select t.key, t.revision
    from u join user_state t on t.app_name = u.app_name and t.user_id = u.user_id and t.key = 'u'
    for no key update of t
), a as (
    update app_scopes a set revision = a.revision + 1 from u where a.app_name = u.app_name
    returning a.app_name, a.revision
), app_old as (
    select t.key, t.revision from a join app_state t on t.app_name = a.app_name and t.key = 'a'
    for no key update of t
), event as (
    insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
        invocation_id, user_revision, app_revision, digest, body)
    select s.app_name, s.user_id, id, incarnation, s.revision, event_id, update_time, update_time, 'agent',
        'i' || :value, u.revision, a.revision,
        '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
        '{"id":"' || event_id || '","timestamp":' || update_time_number || ',"invocationId":"i' || :value
            || '","author":"agent","actions":{"stateDelta":{"k' || :key || '":' || :value
            || E',"user\x3au":' || :value || E',"app\x3aa":' || :value
            || ('},"stateOps":[]},"content":{"role":"model","parts":[{"text":"'
                || repeat('What was said. ', 53) || '"}]}}')
    from s, u, a
), span as (
    insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, removed, value)
    select s.app_name, s.user_id, s.id, s.incarnation,
        s.revision & (-1::bigint << (length(ltrim((old.revision # s.revision)::bit(64)::text, '0')) - 1)),
        old.key, old.revision, s.revision, false, old.value
    from s, old
), user_change as (
    insert into user_log (app_name, user_id, key, revision, value)
    select app_name, user_id, 'u', revision, :value from u
), user_span as (
    insert into user_spans (app_name, user_id, node, key, valid_from, valid_to)
    select u.app_name, u.user_id,
        u.revision & (-1::bigint << (length(ltrim((o.revision # u.revision)::bit(64)::text, '0')) - 1)),
        o.key, o.revision, u.revision
    from u, user_old o
), user_value as (
    insert into user_state (app_name, user_id, key, value, revision)
    select app_name, user_id, 'u', :value, u.revision from u left join user_old on true
    on conflict (app_name, user_id, key) do update set value = excluded.value, revision = excluded.revision
), app_change as (
    insert into app_log (app_name, key, revision, value) select app_name, 'a', revision, :value from a
), app_span as (
    insert into app_spans (app_name, node, key, valid_from, valid_to)
    select a.app_name, a.revision & (-1::bigint << (length(ltrim((o.revision # a.revision)::bit(64)::text, '0')) - 1)),
        o.key, o.revision, a.revision
    from a, app_old o
), app_value as (
    insert into app_state (app_name, key, value, revision)
    select app_name, 'a', :value, a.revision from a left join app_old on true
    on conflict (app_name, key) do update set value = excluded.value, revision = excluded.revision
)
insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision)
select s.app_name, s.user_id, s.id, s.incarnation, 'k' || :key, :value, s.revision from s left join old on true
on conflict (incarnation, key, session_id, user_id, app_name)
do update set value = excluded.value, revision = excluded.revision
returning revision;
\endif
