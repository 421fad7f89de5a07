-- What append.sql and read.sql run on: sessions s0, s1, ... of one app, spread over users u0, u1, ..., in sessiond's
-- own tables, on a database where `sessiond migrate` has run:
--
--     psql -v sessions=1024 -v users=256 -v app=bench -f setup.sql URL
--
-- Every key that an append writes is there from the start, as in sessions that have been used for a while: append.sql
-- locks the row of a key to know what it overwrites, and a row that is not there cannot be locked. So each scope begins
-- at revision 1, with that in its log, and `sessiond verify` agrees with what is made here.
\set ON_ERROR_STOP on
begin;

insert into app_scopes (app_name, revision) values (:'app', 1);
insert into app_state (app_name, key, value, revision) values (:'app', 'a', '0', 1);
insert into app_log (app_name, key, revision, value) values (:'app', 'a', 1, '0');

insert into user_scopes (app_name, user_id, revision) select :'app', 'u' || i, 1 from generate_series(0, :users - 1) i;
insert into user_state (app_name, user_id, key, value, revision)
select app_name, user_id, 'u', '0', 1 from user_scopes where app_name = :'app';
insert into user_log (app_name, user_id, key, revision, value)
select app_name, user_id, 'u', 1, '0' from user_scopes where app_name = :'app';

-- Incarnations are random, as sessiond's own are: rows of two sessions are no neighbours in an index.
-- A second apart, so that lists by time have an order to follow. Of a session without events the update time is that
-- of its creation, written with six decimals.
insert into sessions (app_name, user_id, id, incarnation, revision, create_time, update_time, update_time_number,
    initial_state, created_user_revision, created_app_revision, active_day, rough)
select :'app', 'u' || i % :users, 's' || i,
    ('x' || translate(gen_random_uuid()::text, '-', ''))::bit(64)::bigint & 9223372036854775807, 0,
    second * 1000000, second * 1000000, second || '.000000',
    (select '{' || string_agg('"k' || k || '":0', ',') || '}' from generate_series(0, 9) k), 1, 1, second / 86400, true
from generate_series(0, :sessions - 1) i, lateral (select 1750000000::bigint + i as second) t;
-- As that of sessions that change often.
insert into session_updates (app_name, user_id, id, rough, place)
select app_name, user_id, id, true, update_time / 10000000 from sessions where app_name = :'app';
insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision)
select app_name, user_id, id, incarnation, 'k' || k, '0', 0
from sessions, generate_series(0, 9) k where app_name = :'app';

commit;

-- What append_function.sql calls: the append as a function, where the server keeps the plans.
--
-- Each statement of a function sees what was committed before it began, so that after the wait for the session's row
-- all others are read as they are now; nothing else has to be locked to be read rightly.
create function bench_append(p_app text, p_user text, p_session text, p_key text, p_value text, p_user_too boolean,
    p_app_too boolean) returns bigint language plpgsql as $$
declare
    seconds float8 := date_part('epoch', clock_timestamp());
    micros bigint := (seconds * 1000000)::bigint;
    number text := seconds;
    event_id text := to_hex(micros) || substr(gen_random_uuid()::text, 14);
    delta text := '"' || p_key || '":' || p_value;
    seen_time bigint;
    new_incarnation bigint;
    new_revision bigint;
    new_user_revision bigint;
    new_app_revision bigint;
begin
    update sessions s set revision = s.revision + 1, update_time = micros, update_time_number = number,
        active_day = micros / 86400000000
    from sessions seen
    where s.app_name = p_app and s.user_id = p_user and s.id = p_session
      and seen.app_name = p_app and seen.user_id = p_user and seen.id = p_session
    returning s.incarnation, s.revision, seen.update_time into new_incarnation, new_revision, seen_time;
    if seen_time / 10000000 <> micros / 10000000 then
        update session_updates set place = micros / 10000000
        where app_name = p_app and user_id = p_user and rough and place = seen_time / 10000000 and id = p_session;
        if not found then
            -- The first statement waited for another append, which has moved the row meanwhile. Now it is seen where it is.
            update session_updates set place = micros / 10000000
            where app_name = p_app and user_id = p_user and id = p_session;
        end if;
    end if;

    with span as (
        insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, removed, value)
        select p_app, p_user, p_session, new_incarnation,
            new_revision & (-1::bigint << (length(ltrim((revision # new_revision)::bit(64)::text, '0')) - 1)),
            p_key, revision, new_revision, false, value
        from session_state where app_name = p_app and user_id = p_user and session_id = p_session
          and incarnation = new_incarnation and key = p_key
    )
    insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision)
    values (p_app, p_user, p_session, new_incarnation, p_key, p_value, new_revision)
    on conflict (incarnation, key, session_id, user_id, app_name)
    do update set value = excluded.value, revision = excluded.revision;

    if p_user_too then
        delta := delta || ',"user:u":' || p_value;
        update user_scopes set revision = revision + 1 where app_name = p_app and user_id = p_user
        returning revision into new_user_revision;

        with change as (
            insert into user_log (app_name, user_id, key, revision, value)
            values (p_app, p_user, 'u', new_user_revision, p_value)
        ), span as (
            insert into user_spans (app_name, user_id, node, key, valid_from, valid_to)
            select p_app, p_user, new_user_revision
                & (-1::bigint << (length(ltrim((revision # new_user_revision)::bit(64)::text, '0')) - 1)),
                'u', revision, new_user_revision
            from user_state where app_name = p_app and user_id = p_user and key = 'u'
        )
        insert into user_state (app_name, user_id, key, value, revision)
        values (p_app, p_user, 'u', p_value, new_user_revision)
        on conflict (app_name, user_id, key) do update set value = excluded.value, revision = excluded.revision;
    end if;

    if p_app_too then
        delta := delta || ',"app:a":' || p_value;
        update app_scopes set revision = revision + 1 where app_name = p_app
        returning revision into new_app_revision;

        with change as (
            insert into app_log (app_name, key, revision, value) values (p_app, 'a', new_app_revision, p_value)
        ), span as (
            insert into app_spans (app_name, node, key, valid_from, valid_to)
            select p_app, new_app_revision
                & (-1::bigint << (length(ltrim((revision # new_app_revision)::bit(64)::text, '0')) - 1)),
                'a', revision, new_app_revision
            from app_state where app_name = p_app and key = 'a'
        )
        insert into app_state (app_name, key, value, revision) values (p_app, 'a', p_value, new_app_revision)
        on conflict (app_name, key) do update set value = excluded.value, revision = excluded.revision;
    end if;

    insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
        invocation_id, user_revision, app_revision, digest, body)
    values (p_app, p_user, p_session, new_incarnation, new_revision, event_id, micros, micros, 'agent', 'i' || p_value,
        coalesce(new_user_revision, (select revision from user_scopes where app_name = p_app and user_id = p_user)),
        coalesce(new_app_revision, (select revision from app_scopes where app_name = p_app)),
        '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
        '{"id":"' || event_id || '","timestamp":' || number || ',"invocationId":"i' || p_value
            || '","author":"agent","actions":{"stateDelta":{' || delta
            || ('},"stateOps":[]},"content":{"role":"model","parts":[{"text":"'
                || repeat('What was said. ', 53) || '"}]}}'));
    return new_revision;
end
$$;
