-- Events for the sessions that setup.sql made, :each of them for each session: the rows that the service writes for events
-- without a delta, of some 250 bytes. They lie in the table in the order of time, a second apart, as if the sessions had taken turns,
-- so the last events of a session are in different pages. `sessiond verify` agrees with them.
--
--     psql -v app=bench -v each=100 -f events.sql URL
\set ON_ERROR_STOP on
-- Indexes of a large table are built in a fraction of the time that it takes to grow them row by row.
alter table events drop constraint events_id_key;
alter table events drop constraint events_pkey;

create procedure fill(p_app text, p_each integer) language plpgsql as $$
declare
    sessions bigint := (select count(*) from sessions where app_name = p_app);
begin
    for n in 1..p_each loop
        insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
            invocation_id, user_revision, app_revision, digest, body)
        select app_name, user_id, id, incarnation, n, event, second * 1000000, second * 1000000, 'agent', 'i' || n, 1, 1,
            '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
            '{"id":"' || event || '","timestamp":' || second || '.000000,"invocationId":"i' || n || '","author":"agent",'
                || '"actions":{"stateDelta":{},"stateOps":[]},"content":{"role":"model","parts":[{"text":"'
                || repeat('What was said. ', 5) || '"}]}}'
        from (
            select *, gen_random_uuid()::text as event, 1760000000 + (n - 1) * sessions + substr(id, 2)::bigint as second
            from sessions s where app_name = p_app offset 0
        ) s;
        commit;
    end loop;
    update sessions s set revision = p_each, update_time = e.commit_time, update_time_number = e.commit_time / 1000000 || '.000000',
        active_day = e.commit_time / 86400000000
    from events e
    where s.app_name = p_app and e.app_name = p_app and e.incarnation = s.incarnation and e.sequence = p_each;
    update session_updates o set place = s.update_time
    from sessions s
    where o.app_name = p_app and s.app_name = p_app and s.user_id = o.user_id and s.id = o.id;
end
$$;
call fill(:'app', :each);
drop procedure fill;

alter table events add constraint events_pkey primary key (incarnation, sequence, user_id, app_name);
alter table events add constraint events_id_key unique (id, incarnation, user_id, app_name);
