-- The body of `sessiond_write` for a database that Citus distributes: `sessiond migrate --citus` puts it in the place of the one of
-- migrations/postgres, which says what the function does. Both leave the same rows (tests/it/store/functions.rs).
--
-- Every table is asked by app, and by user where it has users, so that a database that distributes tables by either can run
-- a call in one place; rows that are inserted take the app from a row that is there, which says where they go. So an index
-- that begins with the app, or just has it, always is a candidate, and a planner without statistics would begin a join there,
-- and go through all that the app has. Hence rows are found one by one, by their whole keys: in lateral queries that
-- `offset 0` keeps apart, and by the app's name from the array, as no index has the collation in which the name is compared to
-- that of the call. In a loop, each of its statements would be planned by Citus: ten times what it takes to run.
--
-- Nothing is set to an element of an array (`set c = a[i]`): within a function that is sent to a node, that crashes the node's server in
-- Citus 13.2.
--
-- With a plan that is kept, Citus plans on the shard each time too, and never frees that.
create or replace function sessiond_write(
    p_app text,
    h_user text[], h_session text[], h_incarnation bigint[], h_was bigint[], h_metadata bigint[], h_rough boolean[],
    h_place bigint[], h_revision bigint[], h_time bigint[], h_time_number text[], h_lease bigint[], h_side boolean[],
    u_user text[], u_was bigint[], u_first bigint[], u_revision bigint[],
    a_was bigint, a_revision bigint,
    e_user text[], e_session text[], e_incarnation bigint[], e_sequence bigint[], e_id text[], e_time bigint[],
    e_author text[], e_invocation text[], e_branch text[], e_user_revision bigint[], e_app_revision bigint[],
    e_effect bigint[], e_digest bytea[], e_body text[],
    s_user text[], s_session text[], s_incarnation bigint[], s_key text[], s_value text[], s_first bigint[],
    s_revision bigint[], s_until bigint[], s_removed boolean[],
    v_user text[], v_key text[], v_value text[], v_first bigint[], v_revision bigint[], v_until bigint[],
    v_incarnation bigint[], v_sequence bigint[],
    w_key text[], w_value text[], w_first bigint[], w_revision bigint[], w_until bigint[],
    w_incarnation bigint[], w_sequence bigint[],
    p_feed boolean,
    out verdict text, out incarnations bigint[], out user_revisions bigint[], out app_revisions bigint[],
    out commit_times bigint[]
) language plpgsql
    -- As the service's connections have it, here also where it cannot set them: behind PgBouncer, and on the nodes of Citus.
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
    set plan_cache_mode = force_custom_plan
as $$
declare
    present bigint := (extract(epoch from statement_timestamp()) * 1000000)::bigint;
    -- Null where the sessions are of this transaction.
    committed bigint;
    found_rows bigint;
    r record;
    -- How many events a session may have, if the app has a policy that says so.
    most bigint;
    -- Scopes of which there was no row. One of revision 0 says the same, and can be locked.
    made_users text[] := '{}';
    made_app boolean := false;
begin
    -- A success is answered after a durable commit, also on a node of Citus whose default is to be lax.
    if current_setting('synchronous_commit') = 'off' then
        perform set_config('synchronous_commit', 'on', true);
    end if;
    verdict := 'ok';
    incarnations := '{}';
    user_revisions := '{}';
    app_revisions := '{}';
    commit_times := '{}';

    if cardinality(h_user) > 0 then
        select p.events_per_session into most from policies p where p.app_name = p_app;
        perform 1
        from unnest(h_user, h_session, h_incarnation, h_was, h_metadata, h_revision, h_lease, h_side)
            as h(user_id, id, incarnation, was, metadata, revision, lease, side)
        cross join lateral (
            select 1 from sessions l
            where l.app_name = p_app and l.user_id = h.user_id and l.id = h.id and l.incarnation = h.incarnation
              and l.revision = h.was and l.metadata_revision = h.metadata
              and (l.expire_time is null or l.expire_time > present)
              and (h.lease is null or l.lease_epoch = h.lease)
              and (h.side is false or not l.lease_all or l.lease_expire <= present)
              and (most is null or h.revision - l.base_revision <= most)
            for no key update skip locked) as s;
        get diagnostics found_rows = row_count;
        if found_rows < cardinality(h_user) then
            perform 1
            from unnest(h_user, h_session, h_incarnation, h_was, h_metadata, h_revision, h_lease, h_side)
                as h(user_id, id, incarnation, was, metadata, revision, lease, side)
            cross join lateral (
                select 1 from sessions l
                where l.app_name = p_app and l.user_id = h.user_id and l.id = h.id and l.incarnation = h.incarnation
                  and l.revision = h.was and l.metadata_revision = h.metadata
                  and (l.expire_time is null or l.expire_time > present)
                  and (h.lease is null or l.lease_epoch = h.lease)
                  and (h.side is false or not l.lease_all or l.lease_expire <= present)
                  and (most is null or h.revision - l.base_revision <= most) offset 0) as s;
            get diagnostics found_rows = row_count;
            verdict := case when found_rows < cardinality(h_user) then 'conflict' else 'locked' end;
            return;
        end if;
    end if;

    if cardinality(u_user) > 0 then
        for r in select * from unnest(u_user, u_was, u_first) as u(user_id, was, first) where u.was = 0 loop
            if r.first <> coalesce((select x.revision from erased_revisions x where x.app_name = p_app), 0) + 1 then
                verdict := 'conflict';
                exit;
            end if;
            insert into user_scopes (app_name, user_id, revision) values (p_app, r.user_id, 0) on conflict do nothing;
            if found then
                made_users := made_users || r.user_id;
            end if;
        end loop;
        perform 1
        from unnest(u_user, u_was) as u(user_id, was)
        cross join lateral (
            select 1 from user_scopes l where l.app_name = p_app and l.user_id = u.user_id and l.revision = u.was
            for update skip locked) as s;
        get diagnostics found_rows = row_count;
        if verdict = 'ok' and found_rows < cardinality(u_user) then
            perform 1
            from unnest(u_user, u_was) as u(user_id, was)
            cross join lateral (
                select 1 from user_scopes l
                where l.app_name = p_app and l.user_id = u.user_id and l.revision = u.was offset 0) as s;
            get diagnostics found_rows = row_count;
            verdict := case when found_rows < cardinality(u_user) then 'conflict' else 'locked' end;
        end if;
    end if;

    if verdict = 'ok' and a_was is not null then
        if a_was = 0 then
            insert into app_scopes (app_name, revision) values (p_app, 0) on conflict do nothing;
            made_app := found;
        end if;
        perform 1 from app_scopes s where s.app_name = p_app and s.revision = a_was for update skip locked;
        if not found then
            perform 1 from app_scopes s where s.app_name = p_app and s.revision = a_was;
            verdict := case when found then 'locked' else 'conflict' end;
        end if;
    end if;

    -- Statements before this one may have waited.
    present := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
    committed := case when cardinality(h_user) > 0 then present end;

    if verdict = 'ok' and cardinality(e_user) > 0 then
        for r in
            insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
                invocation_id, branch, user_revision, app_revision, effect, digest, body)
            select s.app_name, e.user_id, e.session_id, e.incarnation, e.sequence, e.id, e.event_time,
                greatest(committed, s.commit_time), e.author, e.invocation_id, e.branch,
                coalesce(e.user_revision, (select u.revision from user_scopes u
                                           where u.app_name = p_app and u.user_id = e.user_id), 0),
                coalesce(e.app_revision, (select a.revision from app_scopes a where a.app_name = p_app), 0),
                e.effect, e.digest, e.body
            from unnest(e_user, e_session, e_incarnation, e_sequence, e_id, e_time, e_author, e_invocation, e_branch,
                    e_user_revision, e_app_revision, e_effect, e_digest, e_body)
                as e(user_id, session_id, incarnation, sequence, id, event_time, author, invocation_id, branch,
                    user_revision, app_revision, effect, digest, body)
            cross join lateral (select l.app_name, l.commit_time from sessions l where l.app_name = p_app
                                  and l.user_id = e.user_id and l.id = e.session_id and l.incarnation = e.incarnation
                                offset 0) as s
            on conflict (id, incarnation, user_id, app_name) do nothing
            returning events.incarnation, events.user_revision, events.app_revision, events.commit_time
        loop
            incarnations := incarnations || r.incarnation;
            user_revisions := user_revisions || r.user_revision;
            app_revisions := app_revisions || r.app_revision;
            commit_times := commit_times || r.commit_time;
        end loop;
        if cardinality(incarnations) < cardinality(e_user) then
            -- An id is taken. What was stored is taken back: whatever has these sequences is of this call.
            verdict := 'conflict';
            for r in
                select * from unnest(e_user, e_session, e_incarnation, e_sequence, e_id)
                    as e(user_id, session_id, incarnation, sequence, id)
            loop
                delete from events t where t.app_name = p_app and t.user_id = r.user_id and t.session_id = r.session_id
                  and t.incarnation = r.incarnation and t.sequence = r.sequence and t.id = r.id;
            end loop;
        end if;
    end if;

    if verdict <> 'ok' then
        for r in select * from unnest(made_users) as u(user_id) loop
            delete from user_scopes s where s.app_name = p_app and s.user_id = r.user_id;
        end loop;
        if made_app then
            delete from app_scopes s where s.app_name = p_app;
        end if;
        return;
    end if;

    if h_place is not null then
        update session_updates o
        set rough = h.rough, place = h.place
        from (select p_app as app_name, h.*, s.* from unnest(h_user, h_session, h_rough, h_place) as h(user_id, id, rough, place)
              cross join lateral (
                select l.rough as was_rough, case when l.rough then l.update_time / 10000000 else l.update_time end as was_place
                from sessions l where l.app_name = p_app and l.user_id = h.user_id and l.id = h.id offset 0) as s
              where h.place is not null offset 0) as h
        where o.app_name = p_app collate "POSIX" and o.app_name = h.app_name and o.user_id = h.user_id
          and o.rough = h.was_rough and o.place = h.was_place and o.id = h.id;
    end if;
    if cardinality(h_user) > 0 then
        update sessions s
        set revision = h.revision, commit_time = greatest(present, s.commit_time), update_time = h.update_time,
            update_time_number = h.update_time_number, active_day = present / 86400000000,
            rough = coalesce(h.rough, s.rough),
            -- Null where no lease is named, and `greatest` takes no notice of nulls.
            lease_expire = greatest(s.lease_expire, present + s.lease_ttl + 0 * h.lease)
        from (select p_app as app_name, h.* from unnest(h_user, h_session, h_revision, h_time, h_time_number, h_lease,
                h_rough) as h(user_id, id, revision, update_time, update_time_number, lease, rough) offset 0) as h
        where s.app_name = p_app collate "POSIX" and s.app_name = h.app_name and s.user_id = h.user_id and s.id = h.id;
    end if;

    -- The node (src/domain/history.rs) of a span from one revision to another: in the latter, all bits below the highest in
    -- which the two differ are cleared.
    if cardinality(s_user) > 0 then
        insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, removed, value)
        select t.app_name, k.user_id, k.session_id, k.incarnation,
            k.first & (-1::bigint << (length(ltrim((t.revision # k.first)::bit(64)::text, '0')) - 1)),
            k.key, t.revision, k.first, k.removed is true, t.value
        from unnest(s_user, s_session, s_incarnation, s_key, s_first, s_until, s_removed)
            as k(user_id, session_id, incarnation, key, first, until, removed)
        cross join lateral (select l.app_name, l.revision, l.value from session_state l where l.app_name = p_app
                              and l.user_id = k.user_id and l.session_id = k.session_id
                              and l.incarnation = k.incarnation and l.key = k.key offset 0) as t
        where k.until is null;
        insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision)
        select s.app_name, k.user_id, k.session_id, k.incarnation, k.key, k.value, k.revision
        from unnest(s_user, s_session, s_incarnation, s_key, s_value, s_revision, s_until)
            as k(user_id, session_id, incarnation, key, value, revision, until)
        cross join lateral (select l.app_name from sessions l where l.app_name = p_app and l.user_id = k.user_id
                              and l.id = k.session_id and l.incarnation = k.incarnation offset 0) as s
        where k.until is null and k.value is not null
        on conflict (incarnation, key, session_id, user_id, app_name)
        do update set value = excluded.value, revision = excluded.revision;
        if array_position(s_value, null) is not null then
            for r in
                select * from unnest(s_user, s_session, s_incarnation, s_key, s_value, s_until)
                    as k(user_id, session_id, incarnation, key, value, until)
                where k.until is null and k.value is null
            loop
                delete from session_state t where t.app_name = p_app and t.user_id = r.user_id
                  and t.session_id = r.session_id and t.incarnation = r.incarnation and t.key = r.key;
            end loop;
        end if;
        if s_until is not null then
            insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, removed, value)
            select s.app_name, k.user_id, k.session_id, k.incarnation,
                k.until & (-1::bigint << (length(ltrim((k.revision # k.until)::bit(64)::text, '0')) - 1)),
                k.key, k.revision, k.until, k.removed is true, k.value
            from unnest(s_user, s_session, s_incarnation, s_key, s_value, s_revision, s_until, s_removed)
                as k(user_id, session_id, incarnation, key, value, revision, until, removed)
            cross join lateral (select l.app_name from sessions l where l.app_name = p_app and l.user_id = k.user_id
                                  and l.id = k.session_id and l.incarnation = k.incarnation offset 0) as s
            where k.until is not null and k.value is not null;
        end if;
    end if;

    if cardinality(u_user) > 0 then
        update user_scopes s
        set revision = u.revision, floor = greatest(s.floor, u.began), emptied = greatest(s.emptied, u.began),
            began = greatest(s.began, u.began)
        from (select p_app as app_name, u.user_id, u.revision, (u.first - 1) * (1 - least(u.was, 1)) as began
              from unnest(u_user, u_was, u_first, u_revision) as u(user_id, was, first, revision)
              where u.revision <> u.was offset 0) as u
        where s.app_name = p_app collate "POSIX" and s.app_name = u.app_name and s.user_id = u.user_id;
    end if;
    if cardinality(v_user) > 0 then
        insert into user_log (app_name, user_id, key, revision, value, time, incarnation, sequence)
        select s.app_name, k.user_id, k.key, k.revision, k.value, present, k.incarnation, k.sequence
        from unnest(v_user, v_key, v_value, v_revision, v_incarnation, v_sequence)
            as k(user_id, key, value, revision, incarnation, sequence)
        cross join lateral (select l.app_name from user_scopes l where l.app_name = p_app and l.user_id = k.user_id offset 0) as s;
        insert into user_spans (app_name, user_id, node, key, valid_from, valid_to)
        select t.app_name, k.user_id,
            k.first & (-1::bigint << (length(ltrim((t.revision # k.first)::bit(64)::text, '0')) - 1)),
            k.key, t.revision, k.first
        from unnest(v_user, v_key, v_first, v_until) as k(user_id, key, first, until)
        cross join lateral (select l.app_name, l.revision from user_state l where l.app_name = p_app and l.user_id = k.user_id
                              and l.key = k.key offset 0) as t
        where k.until is null;
        insert into user_state (app_name, user_id, key, value, revision)
        select s.app_name, k.user_id, k.key, k.value, k.revision
        from unnest(v_user, v_key, v_value, v_revision, v_until) as k(user_id, key, value, revision, until)
        cross join lateral (select l.app_name from user_scopes l where l.app_name = p_app and l.user_id = k.user_id offset 0) as s
        where k.until is null and k.value is not null
        on conflict (app_name, user_id, key) do update set value = excluded.value, revision = excluded.revision;
        if array_position(v_value, null) is not null then
            for r in
                select * from unnest(v_user, v_key, v_value, v_until) as k(user_id, key, value, until)
                where k.until is null and k.value is null
            loop
                delete from user_state t where t.app_name = p_app and t.user_id = r.user_id and t.key = r.key;
            end loop;
        end if;
        if v_until is not null then
            insert into user_spans (app_name, user_id, node, key, valid_from, valid_to)
            select s.app_name, k.user_id,
                k.until & (-1::bigint << (length(ltrim((k.revision # k.until)::bit(64)::text, '0')) - 1)),
                k.key, k.revision, k.until
            from unnest(v_user, v_key, v_value, v_revision, v_until) as k(user_id, key, value, revision, until)
            cross join lateral (select l.app_name from user_scopes l
                                where l.app_name = p_app and l.user_id = k.user_id offset 0) as s
            where k.until is not null and k.value is not null;
        end if;
    end if;

    if a_revision <> a_was then
        update app_scopes s set revision = a_revision where s.app_name = p_app;
    end if;
    if cardinality(w_key) > 0 then
        insert into app_log (app_name, key, revision, value, time, incarnation, sequence)
        select s.app_name, k.key, k.revision, k.value, present, k.incarnation, k.sequence
        from unnest(w_key, w_value, w_revision, w_incarnation, w_sequence) as k(key, value, revision, incarnation, sequence)
        cross join lateral (select l.app_name from app_scopes l where l.app_name = p_app offset 0) as s;
        insert into app_spans (app_name, node, key, valid_from, valid_to)
        select t.app_name, k.first & (-1::bigint << (length(ltrim((t.revision # k.first)::bit(64)::text, '0')) - 1)),
            k.key, t.revision, k.first
        from unnest(w_key, w_first, w_until) as k(key, first, until)
        cross join lateral (select l.app_name, l.revision from app_state l
                            where l.app_name = p_app and l.key = k.key offset 0) as t
        where k.until is null;
        insert into app_state (app_name, key, value, revision)
        select s.app_name, k.key, k.value, k.revision
        from unnest(w_key, w_value, w_revision, w_until) as k(key, value, revision, until)
        cross join lateral (select l.app_name from app_scopes l where l.app_name = p_app offset 0) as s
        where k.until is null and k.value is not null
        on conflict (app_name, key) do update set value = excluded.value, revision = excluded.revision;
        if array_position(w_value, null) is not null then
            for r in
                select * from unnest(w_key, w_value, w_until) as k(key, value, until)
                where k.until is null and k.value is null
            loop
                delete from app_state t where t.app_name = p_app and t.key = r.key;
            end loop;
        end if;
        if w_until is not null then
            insert into app_spans (app_name, node, key, valid_from, valid_to)
            select s.app_name, k.until & (-1::bigint << (length(ltrim((k.revision # k.until)::bit(64)::text, '0')) - 1)),
                k.key, k.revision, k.until
            from unnest(w_key, w_value, w_revision, w_until) as k(key, value, revision, until)
            cross join lateral (select l.app_name from app_scopes l where l.app_name = p_app offset 0) as s
            where k.until is not null and k.value is not null;
        end if;
    end if;

    if p_feed then
        if cardinality(h_user) > 0 then
            insert into changes (kind, app_name, user_id, session_id, incarnation, first_revision, last_revision, time)
            select 2, p_app, h.user_id, h.id, h.incarnation, h.was + 1, h.revision, present
            from unnest(h_user, h_session, h_incarnation, h_was, h_revision) as h(user_id, id, incarnation, was, revision)
            where h.revision > h.was;
        end if;
        if cardinality(u_user) > 0 then
            insert into changes (kind, app_name, user_id, first_revision, last_revision, time)
            select 6, p_app, u.user_id, u.first, u.revision, present
            from unnest(u_user, u_was, u_first, u_revision) as u(user_id, was, first, revision)
            where u.revision > u.was;
        end if;
        if a_revision > a_was then
            insert into changes (kind, app_name, first_revision, last_revision, time)
            values (7, p_app, a_was + 1, a_revision, present);
        end if;
    end if;
end
$$;
