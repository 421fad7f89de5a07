SELECT pg_catalog.set_config('search_path', '', false);
CREATE FUNCTION public.sessiond_admits(p_app text, p_user text, p_subject bytea, p_revision bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
begin
    if not pg_try_advisory_xact_lock_shared(('x' || encode(substr(p_subject, 1, 8), 'hex'))::bit(64)::bigint) then
        return false;
    end if;
    return not exists (select 1 from blocked_users b where b.app_name = p_app and b.subject = p_subject)
        and p_revision = coalesce((select u.revision from user_scopes u
                                   where u.app_name = p_app and u.user_id = p_user), 0)
        -- Who counts sessions counts alone.
        and not exists (select 1 from policies p where p.app_name = p_app and p.sessions_per_user is not null);
end
$$;
CREATE FUNCTION public.sessiond_append(p_app text, p_user text, p_session text, p_incarnation bigint, h_was bigint, h_metadata bigint, h_rough boolean, h_place bigint, h_revision bigint, h_time bigint, h_time_number text, h_lease bigint, h_side boolean, u_was bigint, u_revision bigint, a_was bigint, a_revision bigint, e_id text, e_time bigint, e_author text, e_invocation text, e_branch text, e_user_revision bigint, e_app_revision bigint, e_effect bigint, e_digest bytea, e_body text, s_key text[], s_value text[], v_key text[], v_value text[], w_key text[], w_value text[], p_feed boolean, OUT verdict text, OUT user_revision bigint, OUT app_revision bigint, OUT commit_time bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
    present bigint := (extract(epoch from statement_timestamp()) * 1000000)::bigint;
    committed bigint;
    h_at tid;
    u_at tid;
    a_at tid;
    s_at tid;
    s_revision bigint;
    s_was text;
    made_user boolean := false;
    made_app boolean := false;
begin
    -- As in `sessiond_write`.
    if current_setting('synchronous_commit') = 'off' then
        perform set_config('synchronous_commit', 'on', true);
    end if;
    if current_setting('enable_seqscan') = 'on' then
        perform set_config(name, 'off', true)
        from unnest(array['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) as s(name);
    end if;
    verdict := 'ok';
    select l.ctid, l.commit_time into h_at, committed from sessions l
    where l.app_name = p_app and l.user_id = p_user and l.id = p_session and l.incarnation = p_incarnation
      and l.revision = h_was and l.metadata_revision = h_metadata
      and (l.expire_time is null or l.expire_time > present)
      and (h_lease is null or l.lease_epoch = h_lease)
      and (h_side is false or not l.lease_all or l.lease_expire <= present)
      and (h_revision - l.base_revision <= (select p.events_per_session from policies p where p.app_name = p_app)) is not false
    for no key update skip locked;
    if not found then
        perform 1 from sessions l
        where l.app_name = p_app and l.user_id = p_user and l.id = p_session and l.incarnation = p_incarnation
          and l.revision = h_was and l.metadata_revision = h_metadata
          and (l.expire_time is null or l.expire_time > present)
          and (h_lease is null or l.lease_epoch = h_lease)
          and (h_side is false or not l.lease_all or l.lease_expire <= present)
          and (h_revision - l.base_revision <= (select p.events_per_session from policies p where p.app_name = p_app)) is not false;
        verdict := case when found then 'locked' else 'conflict' end;
        return;
    end if;
    if u_was is not null then
        if u_was = 0 then
            insert into user_scopes (app_name, user_id, revision) select p_app, p_user, 0
            where u_revision = coalesce((select x.revision from erased_revisions x where x.app_name = p_app), 0) + 1
            on conflict do nothing;
            made_user := found;
        end if;
        select l.ctid into u_at from user_scopes l where l.app_name = p_app and l.user_id = p_user and l.revision = u_was
        for update skip locked;
        if not found then
            perform 1 from user_scopes l where l.app_name = p_app and l.user_id = p_user and l.revision = u_was;
            verdict := case when found then 'locked' else 'conflict' end;
        end if;
    end if;
    if verdict = 'ok' and a_was is not null then
        if a_was = 0 then
            insert into app_scopes (app_name, revision) values (p_app, 0) on conflict do nothing;
            made_app := found;
        end if;
        select s.ctid into a_at from app_scopes s where s.app_name = p_app and s.revision = a_was for update skip locked;
        if not found then
            perform 1 from app_scopes s where s.app_name = p_app and s.revision = a_was;
            verdict := case when found then 'locked' else 'conflict' end;
        end if;
    end if;
    if verdict = 'ok' then
        present := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
        committed := greatest(present, committed);
        commit_time := committed;
        insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
            invocation_id, branch, user_revision, app_revision, effect, digest, body)
        values (p_app, p_user, p_session, p_incarnation, h_revision, e_id, e_time, committed, e_author, e_invocation, e_branch,
            coalesce(e_user_revision, (select u.revision from user_scopes u where u.app_name = p_app and u.user_id = p_user), 0),
            coalesce(e_app_revision, (select a.revision from app_scopes a where a.app_name = p_app), 0),
            e_effect, e_digest, e_body)
        on conflict on constraint events_id_key do nothing
        returning events.user_revision, events.app_revision into user_revision, app_revision;
        if not found then
            verdict := 'conflict';
        end if;
    end if;
    if verdict <> 'ok' then
        if made_user then
            delete from user_scopes s where s.app_name = p_app and s.user_id = p_user;
        end if;
        if made_app then
            delete from app_scopes s where s.app_name = p_app;
        end if;
        return;
    end if;
    if h_place is not null then
        update session_updates o set rough = h_rough, place = h_place
        from (select l.rough, case when l.rough then l.update_time / 10000000 else l.update_time end as place
              from sessions l where l.ctid = h_at offset 0) as l
        where o.app_name = p_app and o.user_id = p_user and o.rough = l.rough and o.place = l.place and o.id = p_session;
    end if;
    update sessions s
    set revision = h_revision, commit_time = committed, update_time = h_time, update_time_number = h_time_number,
        active_day = present / 86400000000, rough = coalesce(h_rough, s.rough),
        lease_expire = greatest(s.lease_expire, present + s.lease_ttl + 0 * h_lease)
    where s.ctid = h_at;
    if not found then
        raise exception 'a locked session is not where it was';
    end if;
    for i in 1 .. cardinality(s_key) loop
        select t.ctid, t.revision, t.value into s_at, s_revision, s_was from session_state t
        where t.app_name = p_app and t.user_id = p_user and t.session_id = p_session and t.incarnation = p_incarnation and t.key = s_key[i];
        if not found then
            insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision)
            select p_app, p_user, p_session, p_incarnation, s_key[i], s_value[i], h_revision where s_value[i] is not null;
            continue;
        end if;
        insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, removed, value)
        values (p_app, p_user, p_session, p_incarnation,
            h_revision & (-1::bigint << (length(ltrim((s_revision # h_revision)::bit(64)::text, '0')) - 1)), s_key[i], s_revision, h_revision,
            s_value[i] is null, s_was);
        if s_value[i] is null then
            delete from session_state t where t.ctid = s_at;
        else
            update session_state t set value = s_value[i], revision = h_revision where t.ctid = s_at;
        end if;
    end loop;
    if u_revision <> u_was then
        update user_scopes s
        set revision = u_revision, floor = greatest(s.floor, (u_revision - 1) * (1 - least(u_was, 1))),
            emptied = greatest(s.emptied, (u_revision - 1) * (1 - least(u_was, 1))),
            began = greatest(s.began, (u_revision - 1) * (1 - least(u_was, 1)))
        where s.ctid = u_at;
        if not found then
            raise exception 'a locked user is not where it was';
        end if;
    end if;
    for i in 1 .. cardinality(v_key) loop
        insert into user_log (app_name, user_id, key, revision, value, time, incarnation, sequence)
        values (p_app, p_user, v_key[i], u_revision, v_value[i], present, p_incarnation, h_revision);
        select t.ctid, t.revision into s_at, s_revision from user_state t
        where t.app_name = p_app and t.user_id = p_user and t.key = v_key[i];
        if not found then
            insert into user_state (app_name, user_id, key, value, revision)
            select p_app, p_user, v_key[i], v_value[i], u_revision where v_value[i] is not null;
            continue;
        end if;
        insert into user_spans (app_name, user_id, node, key, valid_from, valid_to)
        values (p_app, p_user, u_revision & (-1::bigint << (length(ltrim((s_revision # u_revision)::bit(64)::text, '0')) - 1)),
            v_key[i], s_revision, u_revision);
        if v_value[i] is null then
            delete from user_state t where t.ctid = s_at;
        else
            update user_state t set value = v_value[i], revision = u_revision where t.ctid = s_at;
        end if;
    end loop;
    if a_revision <> a_was then
        update app_scopes s set revision = a_revision where s.ctid = a_at;
        if not found then
            raise exception 'a locked app is not where it was';
        end if;
    end if;
    for i in 1 .. cardinality(w_key) loop
        insert into app_log (app_name, key, revision, value, time, incarnation, sequence)
        values (p_app, w_key[i], a_revision, w_value[i], present, p_incarnation, h_revision);
        select t.ctid, t.revision into s_at, s_revision from app_state t where t.app_name = p_app and t.key = w_key[i];
        if not found then
            insert into app_state (app_name, key, value, revision)
            select p_app, w_key[i], w_value[i], a_revision where w_value[i] is not null;
            continue;
        end if;
        insert into app_spans (app_name, node, key, valid_from, valid_to)
        values (p_app, a_revision & (-1::bigint << (length(ltrim((s_revision # a_revision)::bit(64)::text, '0')) - 1)),
            w_key[i], s_revision, a_revision);
        if w_value[i] is null then
            delete from app_state t where t.ctid = s_at;
        else
            update app_state t set value = w_value[i], revision = a_revision where t.ctid = s_at;
        end if;
    end loop;
    if p_feed then
        insert into changes (kind, app_name, user_id, session_id, incarnation, first_revision, last_revision, time)
        values (2, p_app, p_user, p_session, p_incarnation, h_revision, h_revision, present);
        if u_revision > u_was then
            insert into changes (kind, app_name, user_id, first_revision, last_revision, time)
            values (6, p_app, p_user, u_revision, u_revision, present);
        end if;
        if a_revision > a_was then
            insert into changes (kind, app_name, first_revision, last_revision, time)
            values (7, p_app, a_revision, a_revision, present);
        end if;
    end if;
end
$$;
CREATE FUNCTION public.sessiond_write(p_app text, h_user text[], h_session text[], h_incarnation bigint[], h_was bigint[], h_metadata bigint[], h_rough boolean[], h_place bigint[], h_revision bigint[], h_time bigint[], h_time_number text[], h_lease bigint[], h_side boolean[], u_user text[], u_was bigint[], u_first bigint[], u_revision bigint[], a_was bigint, a_revision bigint, e_user text[], e_session text[], e_incarnation bigint[], e_sequence bigint[], e_id text[], e_time bigint[], e_author text[], e_invocation text[], e_branch text[], e_user_revision bigint[], e_app_revision bigint[], e_effect bigint[], e_digest bytea[], e_body text[], s_user text[], s_session text[], s_incarnation bigint[], s_key text[], s_value text[], s_first bigint[], s_revision bigint[], s_until bigint[], s_removed boolean[], v_user text[], v_key text[], v_value text[], v_first bigint[], v_revision bigint[], v_until bigint[], v_incarnation bigint[], v_sequence bigint[], w_key text[], w_value text[], w_first bigint[], w_revision bigint[], w_until bigint[], w_incarnation bigint[], w_sequence bigint[], p_feed boolean, OUT verdict text, OUT incarnations bigint[], OUT user_revisions bigint[], OUT app_revisions bigint[], OUT commit_times bigint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
    present bigint := (extract(epoch from statement_timestamp()) * 1000000)::bigint;
    -- Null where the sessions are of this transaction.
    committed bigint;
    -- Where the locked rows are, in the order given.
    h_at tid[];
    u_at tid[];
    a_at tid;
    -- When the last event of any of the sessions was committed.
    latest bigint;
    is_taken boolean;
    found_rows bigint;
    r record;
    -- Scopes of which there was no row. One of revision 0 says the same, and can be locked.
    made_users text[] := '{}';
    made_app boolean := false;
begin
    -- A success is answered after a durable commit, also on a server whose default is to be lax.
    if current_setting('synchronous_commit') = 'off' then
        perform set_config('synchronous_commit', 'on', true);
    end if;
    -- As the service's connections have it. Behind PgBouncer they have not; there, it lasts as long as the transaction.
    if current_setting('enable_seqscan') = 'on' then
        perform set_config(name, 'off', true)
        from unnest(array['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) as s(name);
    end if;
    verdict := 'ok';
    incarnations := '{}';
    user_revisions := '{}';
    app_revisions := '{}';
    commit_times := '{}';
    if cardinality(h_user) > 0 then
        select array_agg(s.at), max(s.commit_time) into h_at, latest
        from generate_subscripts(h_user, 1) as i
        cross join lateral (
            select l.ctid as at, l.commit_time from sessions l
            where l.app_name = p_app and l.user_id = h_user[i] and l.id = h_session[i] and l.incarnation = h_incarnation[i]
              and l.revision = h_was[i] and l.metadata_revision = h_metadata[i]
              and (l.expire_time is null or l.expire_time > present)
              and (h_lease[i] is null or l.lease_epoch = h_lease[i])
              and (h_side[i] is false or not l.lease_all or l.lease_expire <= present)
              and (h_revision[i] - l.base_revision
                   <= (select p.events_per_session from policies p where p.app_name = p_app)) is not false
            for no key update skip locked) as s;
        if cardinality(h_at) is distinct from cardinality(h_user) then
            select count(*) into found_rows
            from generate_subscripts(h_user, 1) as i
            cross join lateral (
                select 1 from sessions l
                where l.app_name = p_app and l.user_id = h_user[i] and l.id = h_session[i] and l.incarnation = h_incarnation[i]
                  and l.revision = h_was[i] and l.metadata_revision = h_metadata[i]
                  and (l.expire_time is null or l.expire_time > present)
                  and (h_lease[i] is null or l.lease_epoch = h_lease[i])
                  and (h_side[i] is false or not l.lease_all or l.lease_expire <= present)
                  and (h_revision[i] - l.base_revision
                       <= (select p.events_per_session from policies p where p.app_name = p_app)) is not false
                offset 0) as s;
            verdict := case when found_rows < cardinality(h_user) then 'conflict' else 'locked' end;
        end if;
    end if;
    if verdict = 'ok' and cardinality(u_user) > 0 then
        if 0 = any(u_was) then
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
        end if;
        select array_agg(s.at) into u_at
        from generate_subscripts(u_user, 1) as i
        cross join lateral (
            select l.ctid as at from user_scopes l where l.app_name = p_app and l.user_id = u_user[i] and l.revision = u_was[i]
            for update skip locked) as s;
        if verdict = 'ok' and cardinality(u_at) is distinct from cardinality(u_user) then
            select count(*) into found_rows
            from generate_subscripts(u_user, 1) as i
            cross join lateral (
                select 1 from user_scopes l
                where l.app_name = p_app and l.user_id = u_user[i] and l.revision = u_was[i] offset 0) as s;
            verdict := case when found_rows < cardinality(u_user) then 'conflict' else 'locked' end;
        end if;
    end if;
    if verdict = 'ok' and a_was is not null then
        if a_was = 0 then
            insert into app_scopes (app_name, revision) values (p_app, 0) on conflict do nothing;
            made_app := found;
        end if;
        select s.ctid into a_at from app_scopes s where s.app_name = p_app and s.revision = a_was for update skip locked;
        if not found then
            perform 1 from app_scopes s where s.app_name = p_app and s.revision = a_was;
            verdict := case when found then 'locked' else 'conflict' end;
        end if;
    end if;
    -- Making a row of a scope may have waited.
    present := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
    committed := case when cardinality(h_user) > 0 then present end;
    if verdict = 'ok' and cardinality(e_user) > 0 then
        select array_agg(coalesce(e_user_revision[i], (select u.revision from user_scopes u
                                                       where u.app_name = p_app and u.user_id = e_user[i]), 0)),
            array_agg(coalesce(e_app_revision[i], (select a.revision from app_scopes a where a.app_name = p_app), 0)),
            array_agg(case when committed >= latest then committed
                      else greatest(committed, (select l.commit_time from sessions l where l.app_name = p_app
                          and l.user_id = e_user[i] and l.id = e_session[i] and l.incarnation = e_incarnation[i])) end),
            bool_or((select true from events t where t.app_name = p_app and t.user_id = e_user[i]
                        and t.incarnation = e_incarnation[i] and t.id = e_id[i]))
        into user_revisions, app_revisions, commit_times, is_taken
        from generate_subscripts(e_user, 1) as i;
        if is_taken then
            verdict := 'conflict';
        end if;
    end if;
    if verdict <> 'ok' then
        delete from user_scopes s where s.app_name = p_app and s.user_id = any(made_users);
        if made_app then
            delete from app_scopes s where s.app_name = p_app;
        end if;
        return;
    end if;
    incarnations := e_incarnation;
    insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
        invocation_id, branch, user_revision, app_revision, effect, digest, body)
    select p_app, e_user[i], e_session[i], e_incarnation[i], e_sequence[i], e_id[i], e_time[i], commit_times[i], e_author[i],
        e_invocation[i], e_branch[i], user_revisions[i], app_revisions[i], e_effect[i], e_digest[i], e_body[i]
    from generate_subscripts(e_user, 1) as i;
    if h_place is not null then
        update session_updates o
        set rough = h_rough[i], place = h_place[i]
        from generate_subscripts(h_user, 1) as i
        cross join lateral (
            select l.rough, case when l.rough then l.update_time / 10000000 else l.update_time end as place
            from sessions l where l.ctid = h_at[i] and h_place[i] is not null offset 0) as s
        cross join lateral (
            select l.ctid as at from session_updates l
            where l.app_name = p_app and l.user_id = h_user[i] and l.rough = s.rough and l.place = s.place
              and l.id = h_session[i]
            offset 0) as l
        where o.ctid = l.at;
    end if;
    if cardinality(h_user) > 0 then
        update sessions s
        set revision = h_revision[i], commit_time = greatest(present, s.commit_time), update_time = h_time[i],
            update_time_number = h_time_number[i], active_day = present / 86400000000,
            rough = coalesce(h_rough[i], s.rough),
            -- Null where no lease is named, and `greatest` takes no notice of nulls.
            lease_expire = greatest(s.lease_expire, present + s.lease_ttl + 0 * h_lease[i])
        from generate_subscripts(h_user, 1) as i
        where s.ctid = h_at[i];
        get diagnostics found_rows = row_count;
        if found_rows <> cardinality(h_user) then
            raise exception 'a locked session is not where it was';
        end if;
    end if;
    -- State: one look finds what each key had, which ends as a span, and where the new value goes. The node
    -- (src/domain/history.rs) of a span from one revision to another: in the latter, all bits below the highest in which the two
    -- differ are cleared.
    if cardinality(s_key) > 0 then
        with k as materialized (
            select i, t.at, coalesce(t.revision, s_revision[i]) as valid_from, coalesce(s_until[i], s_first[i]) as valid_to,
                coalesce(t.value, case when s_until[i] is not null then s_value[i] end) as held
            from generate_subscripts(s_key, 1) as i
            left join lateral (
                select l.ctid as at, l.revision, l.value from session_state l
                where s_until[i] is null and l.app_name = p_app and l.user_id = s_user[i] and l.session_id = s_session[i] and l.incarnation = s_incarnation[i] and l.key = s_key[i]
                offset 0) as t on true),
        ended as (
            insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, removed, value)
            select p_app, s_user[i], s_session[i], s_incarnation[i], valid_to & (-1::bigint << (length(ltrim((valid_from # valid_to)::bit(64)::text, '0')) - 1)),
                s_key[i], valid_from, valid_to, s_removed[i] is true, held
            from k where held is not null)
        update session_state t set value = s_value[i], revision = s_revision[i]
        from k where t.ctid = k.at and s_value[i] is not null;
        get diagnostics found_rows = row_count;
        if found_rows < cardinality(s_key) then
            delete from session_state t
            using generate_subscripts(s_key, 1) as i
            cross join lateral (select l.ctid as at from session_state l where l.app_name = p_app and l.user_id = s_user[i] and l.session_id = s_session[i] and l.incarnation = s_incarnation[i] and l.key = s_key[i] offset 0) as k
            where t.ctid = k.at and s_until[i] is null and s_value[i] is null;
            insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision)
            select p_app, s_user[i], s_session[i], s_incarnation[i], s_key[i], s_value[i], s_revision[i]
            from generate_subscripts(s_key, 1) as i
            where s_until[i] is null and s_value[i] is not null
              and (select true from session_state l where l.app_name = p_app and l.user_id = s_user[i] and l.session_id = s_session[i] and l.incarnation = s_incarnation[i] and l.key = s_key[i]) is null;
        end if;
    end if;
    if cardinality(u_user) > 0 then
        update user_scopes s
        set revision = u.revision, floor = greatest(s.floor, u.began), emptied = greatest(s.emptied, u.began),
            began = greatest(s.began, u.began)
        from (select u_at[i] as at, u_revision[i] as revision, (u_first[i] - 1) * (1 - least(u_was[i], 1)) as began
              from generate_subscripts(u_user, 1) as i where u_revision[i] <> u_was[i] offset 0) as u
        where s.ctid = u.at;
        get diagnostics found_rows = row_count;
        if found_rows <> (select count(*) from generate_subscripts(u_user, 1) as i where u_revision[i] <> u_was[i]) then
            raise exception 'a locked user is not where it was';
        end if;
    end if;
    if cardinality(v_key) > 0 then
        with k as materialized (
            select i, t.at, coalesce(t.revision, v_revision[i]) as valid_from, coalesce(v_until[i], v_first[i]) as valid_to
            from generate_subscripts(v_key, 1) as i
            left join lateral (
                select l.ctid as at, l.revision from user_state l
                where v_until[i] is null and l.app_name = p_app and l.user_id = v_user[i] and l.key = v_key[i]
                offset 0) as t on true),
        logged as (
            insert into user_log (app_name, user_id, key, revision, value, time, incarnation, sequence)
            select p_app, v_user[i], v_key[i], v_revision[i], v_value[i], present, v_incarnation[i], v_sequence[i] from k),
        ended as (
            insert into user_spans (app_name, user_id, node, key, valid_from, valid_to)
            select p_app, v_user[i], valid_to & (-1::bigint << (length(ltrim((valid_from # valid_to)::bit(64)::text, '0')) - 1)),
                v_key[i], valid_from, valid_to
            from k where at is not null or v_until[i] is not null and v_value[i] is not null)
        update user_state t set value = v_value[i], revision = v_revision[i]
        from k where t.ctid = k.at and v_value[i] is not null;
        get diagnostics found_rows = row_count;
        if found_rows < cardinality(v_key) then
            delete from user_state t
            using generate_subscripts(v_key, 1) as i
            cross join lateral (select l.ctid as at from user_state l where l.app_name = p_app and l.user_id = v_user[i] and l.key = v_key[i] offset 0) as k
            where t.ctid = k.at and v_until[i] is null and v_value[i] is null;
            insert into user_state (app_name, user_id, key, value, revision)
            select p_app, v_user[i], v_key[i], v_value[i], v_revision[i]
            from generate_subscripts(v_key, 1) as i
            where v_until[i] is null and v_value[i] is not null
              and (select true from user_state l where l.app_name = p_app and l.user_id = v_user[i] and l.key = v_key[i]) is null;
        end if;
    end if;
    if a_revision <> a_was then
        update app_scopes s set revision = a_revision where s.ctid = a_at;
        if not found then
            raise exception 'a locked app is not where it was';
        end if;
    end if;
    if cardinality(w_key) > 0 then
        with k as materialized (
            select i, t.at, coalesce(t.revision, w_revision[i]) as valid_from, coalesce(w_until[i], w_first[i]) as valid_to
            from generate_subscripts(w_key, 1) as i
            left join lateral (
                select l.ctid as at, l.revision from app_state l
                where w_until[i] is null and l.app_name = p_app and l.key = w_key[i]
                offset 0) as t on true),
        logged as (
            insert into app_log (app_name, key, revision, value, time, incarnation, sequence)
            select p_app, w_key[i], w_revision[i], w_value[i], present, w_incarnation[i], w_sequence[i] from k),
        ended as (
            insert into app_spans (app_name, node, key, valid_from, valid_to)
            select p_app, valid_to & (-1::bigint << (length(ltrim((valid_from # valid_to)::bit(64)::text, '0')) - 1)),
                w_key[i], valid_from, valid_to
            from k where at is not null or w_until[i] is not null and w_value[i] is not null)
        update app_state t set value = w_value[i], revision = w_revision[i]
        from k where t.ctid = k.at and w_value[i] is not null;
        get diagnostics found_rows = row_count;
        if found_rows < cardinality(w_key) then
            delete from app_state t
            using generate_subscripts(w_key, 1) as i
            cross join lateral (select l.ctid as at from app_state l where l.app_name = p_app and l.key = w_key[i] offset 0) as k
            where t.ctid = k.at and w_until[i] is null and w_value[i] is null;
            insert into app_state (app_name, key, value, revision)
            select p_app, w_key[i], w_value[i], w_revision[i]
            from generate_subscripts(w_key, 1) as i
            where w_until[i] is null and w_value[i] is not null
              and (select true from app_state l where l.app_name = p_app and l.key = w_key[i]) is null;
        end if;
    end if;
    if p_feed then
        if cardinality(h_user) > 0 then
            insert into changes (kind, app_name, user_id, session_id, incarnation, first_revision, last_revision, time)
            select 2, p_app, h_user[i], h_session[i], h_incarnation[i], h_was[i] + 1, h_revision[i], present
            from generate_subscripts(h_user, 1) as i
            where h_revision[i] > h_was[i];
        end if;
        if cardinality(u_user) > 0 then
            insert into changes (kind, app_name, user_id, first_revision, last_revision, time)
            select 6, p_app, u_user[i], u_first[i], u_revision[i], present
            from generate_subscripts(u_user, 1) as i
            where u_revision[i] > u_was[i];
        end if;
        if a_revision > a_was then
            insert into changes (kind, app_name, first_revision, last_revision, time)
            values (7, p_app, a_was + 1, a_revision, present);
        end if;
    end if;
end
$$;
CREATE TABLE public.api_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    digest bytea,
    role text NOT NULL,
    apps text NOT NULL,
    users text NOT NULL,
    create_time bigint NOT NULL,
    expire_time bigint,
    last_used_time bigint,
    revoke_time bigint
);
CREATE TABLE public.app_log (
    app_name text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    value text,
    "time" bigint DEFAULT ((EXTRACT(epoch FROM statement_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    incarnation bigint,
    sequence bigint,
    by_user text COLLATE pg_catalog."C",
    by_session text COLLATE pg_catalog."C",
    by_event text COLLATE pg_catalog."C",
    by_author text,
    by_invocation text
);
ALTER TABLE ONLY public.app_log ALTER COLUMN value SET STATISTICS 0;
CREATE TABLE public.app_patches (
    app_name text NOT NULL COLLATE pg_catalog."C",
    request_key text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    "time" bigint NOT NULL
);
CREATE TABLE public.app_scopes (
    app_name text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    floor bigint DEFAULT 0 NOT NULL,
    emptied bigint DEFAULT 0 NOT NULL,
    imported bigint DEFAULT 0 NOT NULL,
    redacted bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='20');
CREATE TABLE public.app_spans (
    app_name text NOT NULL COLLATE pg_catalog."C",
    node bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    valid_from bigint NOT NULL,
    valid_to bigint NOT NULL
);
CREATE TABLE public.app_state (
    app_name text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    revision bigint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.app_state ALTER COLUMN value SET STATISTICS 0;
CREATE TABLE public.artifact_names (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    next bigint NOT NULL,
    latest bigint,
    versions bigint NOT NULL,
    named bigint
)
WITH (fillfactor='70');
CREATE TABLE public.artifact_places (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    versions bigint NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.artifact_spans (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    node bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    valid_from bigint NOT NULL,
    valid_to bigint NOT NULL,
    version bigint NOT NULL
);
CREATE TABLE public.artifact_state (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    revision bigint NOT NULL
)
WITH (fillfactor='80');
CREATE TABLE public.artifacts (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    mark bigint NOT NULL,
    kind text NOT NULL,
    mime_type text,
    size bigint,
    sha256 bytea,
    blob text COLLATE pg_catalog."C",
    create_time bigint NOT NULL,
    metadata text,
    display_name text,
    file_uri text,
    revision bigint,
    request_key text COLLATE pg_catalog."C",
    request_digest bytea
);
ALTER TABLE ONLY public.artifacts ALTER COLUMN metadata SET STATISTICS 0;
ALTER TABLE ONLY public.artifacts ALTER COLUMN display_name SET STATISTICS 0;
ALTER TABLE ONLY public.artifacts ALTER COLUMN file_uri SET STATISTICS 0;
CREATE TABLE public.blob_chunks (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    blob text NOT NULL COLLATE pg_catalog."C",
    n bigint NOT NULL,
    bytes bytea NOT NULL
);
ALTER TABLE ONLY public.blob_chunks ALTER COLUMN bytes SET STATISTICS 0;
ALTER TABLE ONLY public.blob_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE public.blobs (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    size bigint NOT NULL,
    versions bigint NOT NULL,
    loose_since bigint,
    store text,
    object text,
    upload text,
    erasure text COLLATE pg_catalog."C"
)
WITH (fillfactor='70');
CREATE TABLE public.blocked_users (
    app_name text NOT NULL COLLATE pg_catalog."C",
    subject bytea NOT NULL
);
CREATE TABLE public.buried_sessions (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    erasure text COLLATE pg_catalog."C"
);
CREATE TABLE public.changes (
    tx xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint NOT NULL,
    kind bigint NOT NULL,
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    session_id text COLLATE pg_catalog."C",
    incarnation bigint,
    first_revision bigint NOT NULL,
    last_revision bigint NOT NULL,
    detail text,
    "time" bigint DEFAULT ((EXTRACT(epoch FROM statement_timestamp()) * (1000000)::numeric))::bigint NOT NULL
);
ALTER TABLE public.changes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.effective_ids (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    sequence bigint NOT NULL,
    id bigint NOT NULL,
    roles bigint NOT NULL
);
CREATE TABLE public.effective_views (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    sequence bigint NOT NULL,
    view text NOT NULL
);
ALTER TABLE ONLY public.effective_views ALTER COLUMN view SET STATISTICS 0;
CREATE TABLE public.erased_revisions (
    app_name text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL
);
CREATE TABLE public.erasure_counts (
    app_name text NOT NULL COLLATE pg_catalog."C",
    count bigint NOT NULL
);
CREATE TABLE public.erasure_secrets (
    name text NOT NULL COLLATE pg_catalog."C",
    secret bytea NOT NULL
);
CREATE TABLE public.erasures (
    id text NOT NULL COLLATE pg_catalog."C",
    app_name text NOT NULL COLLATE pg_catalog."C",
    subject bytea NOT NULL,
    request bytea,
    reference text,
    block boolean,
    blocked boolean NOT NULL,
    request_time bigint NOT NULL,
    done_time bigint,
    sessions bigint NOT NULL,
    events bigint NOT NULL,
    state_keys bigint NOT NULL,
    changes bigint NOT NULL,
    artifacts bigint NOT NULL,
    receipt text
);
CREATE TABLE public.event_words (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    sequence bigint NOT NULL,
    commit_time bigint NOT NULL,
    author text NOT NULL,
    words bigint[] NOT NULL
);
ALTER TABLE ONLY public.event_words ALTER COLUMN words SET STATISTICS 0;
CREATE TABLE public.events (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    sequence bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    event_time bigint NOT NULL,
    commit_time bigint NOT NULL,
    author text NOT NULL COLLATE pg_catalog."C",
    invocation_id text NOT NULL COLLATE pg_catalog."C",
    branch text COLLATE pg_catalog."C",
    user_revision bigint NOT NULL,
    app_revision bigint NOT NULL,
    effect bigint,
    digest bytea NOT NULL,
    body text NOT NULL,
    redaction bigint
);
ALTER TABLE ONLY public.events ALTER COLUMN body SET STATISTICS 0;
CREATE TABLE public.imports (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    "time" bigint NOT NULL
);
CREATE TABLE public.policies (
    app_name text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    policy text,
    sessions_per_user bigint,
    events_per_session bigint,
    artifact_bytes_per_user bigint,
    search bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.removed_forks (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    forked_from text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.scrubs (
    app_name text NOT NULL COLLATE pg_catalog."C",
    count bigint NOT NULL
);
CREATE TABLE public.session_spans (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    node bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    valid_from bigint NOT NULL,
    valid_to bigint NOT NULL,
    removed boolean NOT NULL,
    value text NOT NULL
);
ALTER TABLE ONLY public.session_spans ALTER COLUMN value SET STATISTICS 0;
CREATE TABLE public.session_state (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    revision bigint NOT NULL
)
WITH (fillfactor='80');
ALTER TABLE ONLY public.session_state ALTER COLUMN value SET STATISTICS 0;
CREATE TABLE public.session_updates (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    rough boolean DEFAULT false NOT NULL,
    place bigint NOT NULL
);
CREATE TABLE public.sessiond_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);
CREATE TABLE public.sessions (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    revision bigint NOT NULL,
    metadata_revision bigint DEFAULT 0 NOT NULL,
    create_time bigint NOT NULL,
    commit_time bigint DEFAULT 0 NOT NULL,
    update_time bigint NOT NULL,
    update_time_number text NOT NULL,
    active_day bigint NOT NULL,
    display_name text,
    labels text,
    expire_time bigint,
    base_revision bigint DEFAULT 0 NOT NULL,
    initial_state text NOT NULL,
    created_user_revision bigint NOT NULL,
    created_app_revision bigint NOT NULL,
    forked_from text COLLATE pg_catalog."C",
    forked_revision bigint,
    creation_key text COLLATE pg_catalog."C",
    creation_digest bytea,
    imported_mark text,
    imported_digest bytea,
    imported_revision bigint,
    lost_user_from bigint,
    lost_user_through bigint,
    lost_app_from bigint,
    lost_app_through bigint,
    lost_files_from bigint,
    lost_files_through bigint,
    lease_epoch bigint DEFAULT 0 NOT NULL,
    lease_owner text,
    lease_invocation text,
    lease_expire bigint,
    lease_ttl bigint,
    lease_all boolean DEFAULT false NOT NULL,
    rough boolean DEFAULT false NOT NULL
)
WITH (fillfactor='70');
ALTER TABLE ONLY public.sessions ALTER COLUMN display_name SET STATISTICS 0;
ALTER TABLE ONLY public.sessions ALTER COLUMN labels SET STATISTICS 0;
ALTER TABLE ONLY public.sessions ALTER COLUMN initial_state SET STATISTICS 0;
CREATE TABLE public.ticks (
    tick bigint NOT NULL,
    epoch bigint NOT NULL,
    since pg_snapshot NOT NULL,
    snapshot pg_snapshot NOT NULL,
    "time" bigint DEFAULT ((EXTRACT(epoch FROM statement_timestamp()) * (1000000)::numeric))::bigint NOT NULL
);
CREATE TABLE public.token_epochs (
    app_name text NOT NULL COLLATE pg_catalog."C",
    subject bytea NOT NULL,
    epoch bigint NOT NULL,
    erasure bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.token_secrets (
    name text NOT NULL COLLATE pg_catalog."C",
    secret bytea NOT NULL
);
CREATE TABLE public.trims (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    emptied bigint NOT NULL
);
CREATE TABLE public.user_log (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    value text,
    "time" bigint DEFAULT ((EXTRACT(epoch FROM statement_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    incarnation bigint,
    sequence bigint,
    by_user text COLLATE pg_catalog."C",
    by_session text COLLATE pg_catalog."C",
    by_event text COLLATE pg_catalog."C",
    by_author text,
    by_invocation text
);
ALTER TABLE ONLY public.user_log ALTER COLUMN value SET STATISTICS 0;
CREATE TABLE public.user_patches (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    request_key text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    "time" bigint NOT NULL
);
CREATE TABLE public.user_scopes (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    floor bigint DEFAULT 0 NOT NULL,
    emptied bigint DEFAULT 0 NOT NULL,
    began bigint DEFAULT 0 NOT NULL,
    imported bigint DEFAULT 0 NOT NULL,
    redacted bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.user_spans (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    node bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    valid_from bigint NOT NULL,
    valid_to bigint NOT NULL
);
CREATE TABLE public.user_state (
    app_name text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    revision bigint NOT NULL
)
WITH (fillfactor='70');
ALTER TABLE ONLY public.user_state ALTER COLUMN value SET STATISTICS 0;
INSERT INTO public.api_keys VALUES
	('qrow6cvtsipa', 'admin', '\x91280d2e803b995b43960a037dba07fc768cb7e8db6a72bb7b35511808322a48', 'admin', '["*"]', '["*"]', 1796080873192611, NULL, 1796080873289785, NULL),
	('k7c5twgh67wk', 'ends', '\x8827d2552b5f8b34e435015cd2f75345dfa5fd88d261aab1f266cf8aaff23add', 'operator', '["*"]', '["*"]', 1796080873306905, 4102444800000000, NULL, NULL),
	('ejwubkvqpjmm', 'is revoked', NULL, 'agent', '["läger*","shop"]', '["*"]', 1796080873305284, NULL, NULL, 1796080873311392),
	('awzajff5w63z', 'reads less', '\xfb34371f51c8520d5ff44634b0801a3765fe308805c781b23cbdfc5216a374ad', 'reader', '["shop"]', '["ada"]', 1796080873290163, NULL, NULL, NULL);
INSERT INTO public.app_log VALUES
	('shop', 'gone', 1, '[1.0]', 1796080873369191, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'returnDays', 1, '30', 1796080873369191, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'gone', 2, NULL, 1796080873379823, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'currency', 3, '"EUR"', 1796080873409363, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'count', 4, '2', 1796080873434705, 5630079334035838121, 2, NULL, NULL, NULL, NULL, NULL),
	('shop', 'by', 5, '"deleted"', 1796080873678021, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k0ä', 1, '0', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k10ä', 1, '1180591620717411303424', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k11ä', 1, '-170141183460469231731687303715884105729', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k12ä', 1, '1.7976931348623157e308', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k13ä', 1, '9007199254740993', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k14ä', 1, '"\u0000"', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k18ä', 1, '" ﻿�􏿿"', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k19ä', 1, '""', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k1ä', 1, '-0', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k22ä', 1, '[ ]', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k27ä', 1, 'true', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k28ä', 1, 'null', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k2ä', 1, '1', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k3ä', 1, '1.0', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k4ä', 1, '1E2', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k5ä', 1, '1e+2', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k6ä', 1, '-0.0', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k7ä', 1, '0e0', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k8ä', 1, '1e-400', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k9ä', 1, '0.1000000000000000055511151231257827', 1796080873748450, 107606997523422718, 3, NULL, NULL, NULL, NULL, NULL),
	('shop', 'last', 6, '"x"', 1796080873750853, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'last', 7, '"x"', 1796080873844665, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.app_scopes VALUES
	('läger/1 ü', 1, 0, 0, 0, 0),
	('shop', 7, 0, 0, 0, 0);
INSERT INTO public.app_spans VALUES
	('shop', 2, 'gone', 1, 2),
	('shop', 7, 'last', 6, 7);
INSERT INTO public.app_state VALUES
	('shop', 'returnDays', '30', 1),
	('shop', 'currency', '"EUR"', 3),
	('shop', 'count', '2', 4),
	('shop', 'by', '"deleted"', 5),
	('läger/1 ü', 'k0ä', '0', 1),
	('läger/1 ü', 'k10ä', '1180591620717411303424', 1),
	('läger/1 ü', 'k11ä', '-170141183460469231731687303715884105729', 1),
	('läger/1 ü', 'k12ä', '1.7976931348623157e308', 1),
	('läger/1 ü', 'k13ä', '9007199254740993', 1),
	('läger/1 ü', 'k14ä', '"\u0000"', 1),
	('läger/1 ü', 'k15ä', '"a\u0000b\u001f\u007f"', 1),
	('läger/1 ü', 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1),
	('läger/1 ü', 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1),
	('läger/1 ü', 'k18ä', '" ﻿�􏿿"', 1),
	('läger/1 ü', 'k19ä', '""', 1),
	('läger/1 ü', 'k1ä', '-0', 1),
	('läger/1 ü', 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1),
	('läger/1 ü', 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1),
	('läger/1 ü', 'k22ä', '[ ]', 1),
	('läger/1 ü', 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1),
	('läger/1 ü', 'k24ä', '{"$serde_json::private::Number": "1"}', 1),
	('läger/1 ü', 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1),
	('läger/1 ü', 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1),
	('läger/1 ü', 'k27ä', 'true', 1),
	('läger/1 ü', 'k28ä', 'null', 1),
	('läger/1 ü', 'k2ä', '1', 1),
	('läger/1 ü', 'k3ä', '1.0', 1),
	('läger/1 ü', 'k4ä', '1E2', 1),
	('läger/1 ü', 'k5ä', '1e+2', 1),
	('läger/1 ü', 'k6ä', '-0.0', 1),
	('läger/1 ü', 'k7ä', '0e0', 1),
	('läger/1 ü', 'k8ä', '1e-400', 1),
	('läger/1 ü', 'k9ä', '0.1000000000000000055511151231257827', 1),
	('shop', 'last', '"x"', 7);
INSERT INTO public.artifact_names VALUES
	('shop', 'ada', 'files', 587242689398676708, 'notes/summary', 2, 1, 2, NULL),
	('shop', 'ada', '', 0, 'user:address', 1, 0, 1, NULL),
	('shop', 'ada', 'files-2', 8550695161810559683, 'page.html', 4, 3, 4, 3),
	('shop', 'ada', 'files-2', 8550695161810559683, 'gone', 1, NULL, 0, NULL),
	('shop', 'bob', 'by-adk', 8464885314380551093, 'a', 1, 0, 1, NULL);
INSERT INTO public.artifact_places VALUES
	('shop', 'ada', 'files', 587242689398676708, 2),
	('shop', 'ada', '', 0, 1),
	('shop', 'ada', 'files-2', 8550695161810559683, 4),
	('shop', 'bob', 'by-adk', 8464885314380551093, 1);
INSERT INTO public.artifact_spans VALUES
	('shop', 'ada', 'files-2', 8550695161810559683, 2, 'page.html', 1, 2, 0),
	('shop', 'ada', 'files-2', 8550695161810559683, 3, 'page.html', 2, 3, 2);
INSERT INTO public.artifact_state VALUES
	('shop', 'ada', 'files', 587242689398676708, 'notes/summary', 0, 1),
	('shop', 'ada', 'files', 587242689398676708, 'user:address', 0, 2),
	('shop', 'ada', 'files-2', 8550695161810559683, 'page.html', 3, 3),
	('shop', 'ada', 'files-2', 8550695161810559683, 'gone', 0, 4);
INSERT INTO public.artifacts VALUES
	('shop', 'ada', 'files', 587242689398676708, 'notes/summary', 0, 4362355969475650083, 'text', 'text/plain', 14, '\x3e6c1234228eb2390fa98a214dc9021924b308e03bdff3c19be6e22d608173de', '01a22ec3-3023-7092-95f9-42ea2787436a', 1796080873508946, '{"n":1.0}', NULL, NULL, 1, 'save-1', '\x26419e28c76e7a79a0e9095791e4f0f2c2b8762a3394f5c51365c71cebeb2984'),
	('shop', 'ada', 'files', 587242689398676708, 'notes/summary', 1, 7449933752807936295, 'bytes', 'a/b', 7, '\xa9d7a888389f7c168a45f653d59e171fd5188ca7a88de23a306070ab968e847d', '01a22ec3-3033-72ab-b01b-3a8b82d986ce', 1796080873524440, NULL, '"n"', NULL, NULL, 'save-2', '\x139e072544fc51136ce7148e64c95e8c2bc71d474cfbeb1a793ea2274d6939a7'),
	('shop', 'ada', '', 0, 'user:address', 0, 8085696840214566601, 'uri', 'c/d', NULL, NULL, NULL, 1796080873529259, NULL, NULL, '"gs://a/b"', 2, 'save-3', '\x5f891a92236fab2f7566ef7a7a61b65a17eccf13c674360002bbfd995648a46b'),
	('shop', 'ada', 'files-2', 8550695161810559683, 'page.html', 0, 2993593147925248992, 'bytes', 'text/html', 8, '\xdb149029e10436bd960194453b725d04a252d8fdfdcac86d4eb2df7b85577b07', '01a22ec3-304d-76ec-9bc4-10b6b1bc7847', 1796080873550084, NULL, NULL, NULL, 1, NULL, NULL),
	('shop', 'ada', 'files-2', 8550695161810559683, 'page.html', 1, 797434152837373614, 'bytes', 'text/html', 8, '\x6e784353ea75228d9d65f28d704f77c2b294757ae6d8ca74ae74a459de564cfa', '01a22ec3-305b-721a-aa22-c8e39e567f0d', 1796080873563631, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'files-2', 8550695161810559683, 'page.html', 2, 6952761221389121013, 'bytes', 'text/html', 8, '\xf543c768a1419d4865f627460e7d4f974ae95606e4981f9b6e829d09299e7da8', '01a22ec3-305c-765b-946d-2deadf1e278b', 1796080873565003, NULL, '"ü"', NULL, 2, NULL, NULL),
	('shop', 'ada', 'files-2', 8550695161810559683, 'page.html', 3, 5088802234385618209, 'bytes', 'text/html', 8, '\xdb149029e10436bd960194453b725d04a252d8fdfdcac86d4eb2df7b85577b07', '01a22ec3-304d-76ec-9bc4-10b6b1bc7847', 1796080873568305, NULL, NULL, NULL, 3, NULL, NULL),
	('shop', 'bob', 'by-adk', 8464885314380551093, 'a', 0, 8207452587471101223, 'text', 'text/plain', 6, '\x9a2f5da45c096840a0ce25b489c89c3b91f4eca1054e71d338be0bcefa7d3a2a', '01a22ec3-30db-7597-8d92-71f0ad5c676a', 1796080873693057, '{"m":"s"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.blob_chunks VALUES
	('shop', 'ada', '01a22ec3-3023-7092-95f9-42ea2787436a', 0, '\x6772c3bcc39f000a22476f747422'),
	('shop', 'ada', '01a22ec3-3033-72ab-b01b-3a8b82d986ce', 0, '\x000102030405ff'),
	('shop', 'ada', '01a22ec3-304d-76ec-9bc4-10b6b1bc7847', 0, '\x3c623e313c2f623e'),
	('shop', 'ada', '01a22ec3-305b-721a-aa22-c8e39e567f0d', 0, '\x3c623e323c2f623e'),
	('shop', 'ada', '01a22ec3-305c-765b-946d-2deadf1e278b', 0, '\x3c623e333c2f623e'),
	('shop', 'bob', '01a22ec3-30db-7597-8d92-71f0ad5c676a', 0, '\x62792041444b');
INSERT INTO public.blobs VALUES
	('shop', 'ada', '01a22ec3-3023-7092-95f9-42ea2787436a', 14, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', '01a22ec3-3033-72ab-b01b-3a8b82d986ce', 7, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', '01a22ec3-305b-721a-aa22-c8e39e567f0d', 8, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', '01a22ec3-305c-765b-946d-2deadf1e278b', 8, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', '01a22ec3-304d-76ec-9bc4-10b6b1bc7847', 8, 2, NULL, NULL, NULL, NULL, NULL),
	('shop', 'bob', '01a22ec3-30db-7597-8d92-71f0ad5c676a', 6, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.blocked_users VALUES
	('shop', '\x142e5660c358eb03490126c777c6799b83fb189dffefc37b2007c8b2cc4daaaa');
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES
	('749', 1, 7, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796080873371422),
	('750', 2, 7, 'shop', NULL, NULL, NULL, 2, 2, NULL, 1796080873380236),
	('751', 3, 6, 'shop', 'zoe', NULL, NULL, 1, 1, NULL, 1796080873384154),
	('752', 4, 6, 'shop', 'ada', NULL, NULL, 1, 1, NULL, 1796080873396566),
	('753', 5, 1, 'shop', 'ada', 'files', 587242689398676708, 0, 0, NULL, 1796080873407336),
	('754', 6, 1, 'shop', 'ada', 'order-1', 5630079334035838121, 0, 0, NULL, 1796080873411025),
	('754', 7, 6, 'shop', 'ada', NULL, NULL, 2, 2, NULL, 1796080873411025),
	('754', 8, 7, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1796080873411025),
	('755', 9, 2, 'shop', 'ada', 'order-1', 5630079334035838121, 1, 1, NULL, 1796080873412766),
	('755', 10, 6, 'shop', 'ada', NULL, NULL, 3, 3, NULL, 1796080873412766),
	('756', 11, 2, 'shop', 'ada', 'order-1', 5630079334035838121, 2, 3, NULL, 1796080873434705),
	('756', 12, 7, 'shop', NULL, NULL, NULL, 4, 4, NULL, 1796080873434705),
	('757', 13, 2, 'shop', 'ada', 'order-1', 5630079334035838121, 4, 4, NULL, 1796080873442502),
	('758', 14, 2, 'shop', 'ada', 'order-1', 5630079334035838121, 5, 5, NULL, 1796080873460192),
	('759', 15, 2, 'shop', 'ada', 'order-1', 5630079334035838121, 6, 6, NULL, 1796080873478545),
	('759', 16, 6, 'shop', 'ada', NULL, NULL, 4, 4, NULL, 1796080873478545),
	('760', 17, 1, 'shop', 'ada', 'order-1-again', 6604223907995114774, 0, 3, '{"sessionId":"order-1","revision":3}', 1796080873491610),
	('760', 18, 2, 'shop', 'ada', 'order-1-again', 6604223907995114774, 1, 3, NULL, 1796080873491610),
	('761', 19, 9, 'shop', 'ada', 'files', 587242689398676708, 0, 0, '{"name":"notes/summary","version":0,"size":14}', 1796080873512083),
	('761', 20, 2, 'shop', 'ada', 'files', 587242689398676708, 1, 1, NULL, 1796080873512083),
	('762', 21, 9, 'shop', 'ada', 'files', 587242689398676708, 0, 0, '{"name":"notes/summary","version":1,"size":7}', 1796080873527134),
	('763', 22, 9, 'shop', 'ada', NULL, NULL, 0, 0, '{"name":"user:address","version":0}', 1796080873530030),
	('763', 23, 2, 'shop', 'ada', 'files', 587242689398676708, 2, 2, NULL, 1796080873530030),
	('765', 24, 3, 'shop', 'ada', 'order-1-again', 6604223907995114774, 0, 0, '{"displayName":"forked","labels":{"a":"b"},"expireTime":4102444800.000000}', 1796080873533139),
	('766', 25, 2, 'shop', 'ada', 'order-1-again', 6604223907995114774, 4, 4, NULL, 1796080873545258),
	('766', 26, 6, 'shop', 'ada', NULL, NULL, 5, 5, NULL, 1796080873545258),
	('767', 27, 1, 'shop', 'ada', 'files-2', 8550695161810559683, 0, 0, NULL, 1796080873548901),
	('768', 28, 9, 'shop', 'ada', 'files-2', 8550695161810559683, 0, 0, '{"name":"page.html","version":0,"size":8}', 1796080873550983),
	('768', 29, 2, 'shop', 'ada', 'files-2', 8550695161810559683, 1, 1, NULL, 1796080873550983),
	('769', 30, 9, 'shop', 'ada', 'files-2', 8550695161810559683, 0, 0, '{"name":"page.html","version":1,"size":8}', 1796080873563929),
	('770', 31, 9, 'shop', 'ada', 'files-2', 8550695161810559683, 0, 0, '{"name":"page.html","version":2,"size":8}', 1796080873565885),
	('770', 32, 2, 'shop', 'ada', 'files-2', 8550695161810559683, 2, 2, NULL, 1796080873565885),
	('771', 33, 9, 'shop', 'ada', 'files-2', 8550695161810559683, 0, 0, '{"name":"page.html","version":3,"size":8}', 1796080873569064),
	('771', 34, 2, 'shop', 'ada', 'files-2', 8550695161810559683, 3, 3, NULL, 1796080873569064),
	('772', 35, 9, 'shop', 'ada', 'files-2', 8550695161810559683, 0, 0, '{"name":"gone","version":0,"size":1}', 1796080873570763),
	('772', 36, 2, 'shop', 'ada', 'files-2', 8550695161810559683, 4, 4, NULL, 1796080873570763),
	('773', 37, 10, 'shop', 'ada', 'files-2', 8550695161810559683, 0, 0, '{"name":"gone","reason":"deleted"}', 1796080873573416),
	('775', 38, 1, 'shop', 'ada', 'compacted', 2787721319526041389, 0, 0, NULL, 1796080873592040),
	('777', 39, 2, 'shop', 'ada', 'compacted', 2787721319526041389, 1, 1, NULL, 1796080873593863),
	('778', 40, 2, 'shop', 'ada', 'compacted', 2787721319526041389, 2, 2, NULL, 1796080873597746),
	('779', 41, 2, 'shop', 'ada', 'compacted', 2787721319526041389, 3, 3, NULL, 1796080873598907),
	('780', 42, 2, 'shop', 'ada', 'compacted', 2787721319526041389, 4, 4, NULL, 1796080873599974),
	('781', 43, 2, 'shop', 'ada', 'compacted', 2787721319526041389, 5, 5, NULL, 1796080873601158),
	('782', 44, 2, 'shop', 'ada', 'compacted', 2787721319526041389, 6, 6, NULL, 1796080873602285),
	('783', 45, 1, 'shop', 'ada', 'trimmed', 3397405275662885087, 0, 0, NULL, 1796080873607250),
	('785', 46, 2, 'shop', 'ada', 'trimmed', 3397405275662885087, 1, 1, NULL, 1796080873608596),
	('786', 47, 2, 'shop', 'ada', 'trimmed', 3397405275662885087, 2, 2, NULL, 1796080873609776),
	('787', 48, 2, 'shop', 'ada', 'trimmed', 3397405275662885087, 3, 3, NULL, 1796080873611566),
	('788', 49, 2, 'shop', 'ada', 'trimmed', 3397405275662885087, 4, 4, NULL, 1796080873612763),
	('789', 50, 2, 'shop', 'ada', 'trimmed', 3397405275662885087, 5, 5, NULL, 1796080873614046),
	('790', 51, 4, 'shop', 'ada', 'trimmed', 3397405275662885087, 0, 3, NULL, 1796080873616641),
	('792', 52, 1, 'shop', 'ada', 'moved', 2922240968853017781, 0, 0, NULL, 1796080873637051),
	('793', 53, 2, 'shop', 'ada', 'moved', 2922240968853017781, 1, 1, NULL, 1796080873637935),
	('794', 54, 2, 'shop', 'ada', 'moved', 2922240968853017781, 2, 2, NULL, 1796080873639437),
	('795', 55, 2, 'shop', 'ada', 'moved', 2922240968853017781, 3, 3, NULL, 1796080873640919),
	('796', 56, 2, 'shop', 'ada', 'moved', 2922240968853017781, 4, 4, NULL, 1796080873642058),
	('797', 57, 2, 'shop', 'ada', 'moved', 2922240968853017781, 5, 5, NULL, 1796080873643447),
	('798', 58, 4, 'shop', 'ada', 'moved', 2922240968853017781, 0, 3, NULL, 1796080873644957),
	('799', 59, 1, 'shop', 'ada', 'redacted', 2357166374795418381, 0, 0, NULL, 1796080873647241),
	('800', 60, 2, 'shop', 'ada', 'redacted', 2357166374795418381, 1, 1, NULL, 1796080873648541),
	('800', 61, 6, 'shop', 'ada', NULL, NULL, 6, 6, NULL, 1796080873648541),
	('801', 62, 11, 'shop', 'ada', 'redacted', 2357166374795418381, 1, 1, NULL, 1796080873652909),
	('802', 63, 2, 'shop', 'ada', 'redacted', 2357166374795418381, 2, 2, NULL, 1796080873666687),
	('802', 64, 6, 'shop', 'ada', NULL, NULL, 7, 7, NULL, 1796080873666687),
	('803', 65, 11, 'shop', 'ada', 'redacted', 2357166374795418381, 2, 2, NULL, 1796080873674230),
	('803', 66, 2, 'shop', 'ada', 'redacted', 2357166374795418381, 3, 3, NULL, 1796080873674230),
	('803', 67, 6, 'shop', 'ada', NULL, NULL, 8, 8, NULL, 1796080873674230),
	('804', 68, 1, 'shop', 'ada', 'deleted', 6575786385085993549, 0, 0, NULL, 1796080873679398),
	('804', 69, 7, 'shop', NULL, NULL, NULL, 5, 5, NULL, 1796080873679398),
	('805', 70, 5, 'shop', 'ada', 'deleted', 6575786385085993549, 0, 0, 'deleted', 1796080873681595),
	('806', 71, 1, 'shop', 'bob', 'by-adk', 8464885314380551093, 0, 0, NULL, 1796080873685452),
	('806', 72, 6, 'shop', 'bob', NULL, NULL, 1, 1, NULL, 1796080873685452),
	('807', 73, 9, 'shop', 'bob', 'by-adk', 8464885314380551093, 0, 0, '{"name":"a","version":0,"size":6}', 1796080873693750),
	('809', 74, 5, 'shop', 'ada', 'moved', 2922240968853017781, 0, 0, 'deleted', 1796080873722693),
	('811', 75, 1, 'shop', 'ada', 'moved', 1073620431430909209, 0, 5, NULL, 1796080873726650),
	('811', 76, 2, 'shop', 'ada', 'moved', 1073620431430909209, 4, 5, NULL, 1796080873726650),
	('813', 77, 1, 'copy', 'ada', 'order-1', 2601093245042866538, 0, 6, NULL, 1796080873739451),
	('813', 78, 2, 'copy', 'ada', 'order-1', 2601093245042866538, 1, 6, NULL, 1796080873739451),
	('814', 79, 1, 'läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 0, 0, NULL, 1796080873740181),
	('815', 80, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 1, 1, NULL, 1796080873742206),
	('816', 81, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 2, 2, NULL, 1796080873744663),
	('816', 82, 6, 'läger/1 ü', 'ß ø@例え', NULL, NULL, 1, 1, NULL, 1796080873744663),
	('817', 83, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 3, 3, NULL, 1796080873748450),
	('817', 84, 7, 'läger/1 ü', NULL, NULL, NULL, 1, 1, NULL, 1796080873748450),
	('818', 88, 7, 'shop', NULL, NULL, NULL, 6, 6, NULL, 1796080873752271),
	('818', 85, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1796080873752271),
	('818', 86, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796080873752271),
	('818', 87, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796080873752271),
	('819', 89, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22ec3-3118-7609-ae4e-b0d92d6d721e","subject":"142e5660c358eb03490126c777c6799b83fb189dffefc37b2007c8b2cc4daaaa"}', 1796080873757591),
	('825', 93, 7, 'shop', NULL, NULL, NULL, 7, 7, NULL, 1796080873845759),
	('825', 90, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1796080873845759),
	('825', 91, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1796080873845759),
	('825', 92, 0, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1796080873845759),
	('826', 94, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22ec3-3176-75d0-b74c-ee08a285130a","subject":"42894eb45912902049261f9f32a615c690c2bfd7b5205a6a7db0af6ad4649f47"}', 1796080873847778);
INSERT INTO public.effective_views VALUES
	('shop', 'ada', 'compacted', 2787721319526041389, 6, '{"covered":[[1,3]],"needed":[],"unsure":false,"kept":[[5,4607182418800017408,4613937818241073152,{"scope":null,"branch":null,"node":false},5]]}');
INSERT INTO public.erased_revisions VALUES
	('shop', 4);
INSERT INTO public.erasure_counts VALUES
	('shop', 2);
INSERT INTO public.erasure_secrets VALUES
	('salt', '\x2c763745c2584a13bf4b4225e6f392d372bd3bee7098441c9c36dff59b7cc01e'),
	('receipt', '\x3051020101300506032b6570042204208eae71c5ad4e9a3ac73a0bc695bf0b9c976677eabae5055cc00edcd700eb78fd81210034d39b7bf5b1625dad8571febf2ffc66144176370b0b876cd4702d11eba2a42f');
INSERT INTO public.erasures VALUES
	('01a22ec3-3118-7609-ae4e-b0d92d6d721e', 'shop', '\x142e5660c358eb03490126c777c6799b83fb189dffefc37b2007c8b2cc4daaaa', '\xc73d7e21a2ed818d8bcf99e0bb94f52339ce0579b05ead3f1750e40a90638311', 'case 17', true, true, 1796080873753015, 1796080873835683, 1, 1, 2, 1, 0, '{"id":"01a22ec3-3118-7609-ae4e-b0d92d6d721e","appName":"shop","subject":"142e5660c358eb03490126c777c6799b83fb189dffefc37b2007c8b2cc4daaaa","reference":"case 17","requestTime":1796080873.753015,"doneTime":1796080873.835683,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":true,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens","a keyed hash of app and user by which the user is refused","removed rows in the files of PostgreSQL, until their space is used again or the tables are written anew by VACUUM FULL or pg_repack: a plain VACUUM overwrites nothing","what the write-ahead log of PostgreSQL, its archive and its standbys keep"],"instance":"aa9150365885b6b50c5d85e409954d23","keyId":"ee1d805d21a24d05","signature":"ttevuSgfCPzlI84HB_6j5AfSmzVveWJCEB8qYYNPOwcKvAnkNRWiXcvoAGtUkBy52nS0w-8KMJgMpHxlsGLxCg"}'),
	('01a22ec3-3176-75d0-b74c-ee08a285130a', 'shop', '\x42894eb45912902049261f9f32a615c690c2bfd7b5205a6a7db0af6ad4649f47', NULL, 'case 18', NULL, false, 1796080873846579, 1796080873869792, 1, 1, 2, 1, 0, '{"id":"01a22ec3-3176-75d0-b74c-ee08a285130a","appName":"shop","subject":"42894eb45912902049261f9f32a615c690c2bfd7b5205a6a7db0af6ad4649f47","reference":"case 18","requestTime":1796080873.846579,"doneTime":1796080873.869792,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":false,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens","removed rows in the files of PostgreSQL, until their space is used again or the tables are written anew by VACUUM FULL or pg_repack: a plain VACUUM overwrites nothing","what the write-ahead log of PostgreSQL, its archive and its standbys keep"],"instance":"aa9150365885b6b50c5d85e409954d23","keyId":"ee1d805d21a24d05","signature":"_sI9GuaeWdxnT4WM4L9XzD5H9LUu6dzUKjzDFqoqxwajfeAl7h2c4Xta15KpahHtTIsldzcxSHJdlW8QG4S3AQ"}');
INSERT INTO public.events VALUES
	('shop', 'ada', 'order-1', 5630079334035838121, 1, 'e1', 1500000, 1796080873412766, 'user', 'i1', NULL, 3, 3, NULL, '\x435b38a6c0dfaa42f2382dbe95df21d1291117c4ca583dd775647f0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL),
	('shop', 'ada', 'order-1', 5630079334035838121, 2, 'e2', 1796080873433025, 1796080873434705, 'agent', 'i1', 'a.b', 3, 4, NULL, '\x08ec320bc833f1099984eecceb18bf53738a8fc7b156c83f0de7654ff7bec27c', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796080873.433025}', NULL),
	('shop', 'ada', 'order-1', 5630079334035838121, 3, 'e3', 1796080873433025, 1796080873434705, 'agent', 'i2', NULL, 3, 4, NULL, '\xd3de25700664b6208ddd18cb3bb6d49390d95970d4d73a683b895ed105536cb7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796080873.433025}', NULL),
	('shop', 'ada', 'order-1', 5630079334035838121, 4, 'rewind-1', 1796080873438614, 1796080873441858, 'user', 'rewind-01a22ec3-2fde-700b-8c9b-222690274538', NULL, 3, 4, 2, '\x6c24d7f30244d24ef3a298a72ec9474455ccafac0615941509de5989f8f5c975', '{"author":"user","invocationId":"rewind-01a22ec3-2fde-700b-8c9b-222690274538","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1796080873.438614}', NULL),
	('shop', 'ada', 'order-1', 5630079334035838121, 5, 'put-1', 1796080873459360, 1796080873460192, 'user', '', NULL, 3, 4, NULL, '\x092f58824834ccfbee5844fcf7c78c5bf2b2628cdd2601e3fdbe2ad78b3a4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1796080873.459360}', NULL),
	('shop', 'ada', 'order-1', 5630079334035838121, 6, 'patch-1', 1796080873476003, 1796080873477469, 'agent', '', NULL, 4, 4, NULL, '\x6eba5e92b5a282ebc5d1c847bfc06332abc5a8be554aa8accf3d24c8e88e37d5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1796080873.476003}', NULL),
	('shop', 'ada', 'order-1-again', 6604223907995114774, 1, 'e1', 1500000, 1796080873412766, 'user', 'i1', NULL, 3, 3, NULL, '\x435b38a6c0dfaa42f2382dbe95df21d1291117c4ca583dd775647f0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL),
	('shop', 'ada', 'order-1-again', 6604223907995114774, 2, 'e2', 1796080873433025, 1796080873434705, 'agent', 'i1', 'a.b', 3, 4, NULL, '\x08ec320bc833f1099984eecceb18bf53738a8fc7b156c83f0de7654ff7bec27c', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796080873.433025}', NULL),
	('shop', 'ada', 'order-1-again', 6604223907995114774, 3, 'e3', 1796080873433025, 1796080873434705, 'agent', 'i2', NULL, 3, 4, NULL, '\xd3de25700664b6208ddd18cb3bb6d49390d95970d4d73a683b895ed105536cb7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796080873.433025}', NULL),
	('shop', 'ada', 'files', 587242689398676708, 1, '01a22ec3-3023-7092-95f9-42ebf7813f17', 1796080873507249, 1796080873509594, 'user', '', NULL, 4, 4, NULL, '\xd2e2e5c0f9aed3095775c9c8f1bc1925fbceb4704466f38b9e2a05f080ed24b6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"notes/summary":0}},"id":"01a22ec3-3023-7092-95f9-42ebf7813f17","timestamp":1796080873.507249}', NULL),
	('shop', 'ada', 'files', 587242689398676708, 2, '01a22ec3-3038-71e0-8eb8-4b94c73faa24', 1796080873528119, 1796080873529604, 'user', '', NULL, 4, 4, NULL, '\x601ac91dd78257428aff5e52ef0cf956333ce74ff62ff6f9c0ee2174f1aeebc6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"user:address":0}},"id":"01a22ec3-3038-71e0-8eb8-4b94c73faa24","timestamp":1796080873.528119}', NULL),
	('shop', 'ada', 'order-1-again', 6604223907995114774, 4, 'own', 1796080873544636, 1796080873545258, 'user', '', NULL, 5, 4, NULL, '\xabac0094f067ca3a080374546a8f16559889f3d0c2db27c80ec48ca855edf5d3', '{"id":"own","author":"user","actions":{"stateDelta":{"user:n":7}},"timestamp":1796080873.544636}', NULL),
	('shop', 'ada', 'files-2', 8550695161810559683, 1, '01a22ec3-304d-76ec-9bc4-10b754e89cde', 1796080873549522, 1796080873550369, 'user', '', NULL, 5, 4, NULL, '\x2e8cc7579cfff08786ce4c8806bd956e831f50e37ddcfefe584b2d0e6ea27985', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":0}},"id":"01a22ec3-304d-76ec-9bc4-10b754e89cde","timestamp":1796080873.549522}', NULL),
	('shop', 'ada', 'files-2', 8550695161810559683, 2, '01a22ec3-305c-765b-946d-2deb8a54914c', 1796080873564508, 1796080873565279, 'user', '', NULL, 5, 4, NULL, '\x80d48eae81bbe94071b8b31400f3c11bcb79002cd30fa2caf13aa738e46633c2', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":2}},"id":"01a22ec3-305c-765b-946d-2deb8a54914c","timestamp":1796080873.564508}', NULL),
	('shop', 'ada', 'files-2', 8550695161810559683, 3, '01a22ec3-305e-771e-8d3e-1d55b32d633f', 1796080873566423, 1796080873567553, 'user', 'rewind-01a22ec3-305e-771e-8d3e-1d56d85f95a9', NULL, 5, 4, 1, '\x61d350d374d12b26bb9f9c49e1f4da4538d29383609d5ab5062242b96e386439', '{"author":"user","invocationId":"rewind-01a22ec3-305e-771e-8d3e-1d56d85f95a9","actions":{"stateDelta":{},"rewindBeforeInvocationId":"","artifactDelta":{"page.html":3}},"customMetadata":{"rewindToRevision":1},"id":"01a22ec3-305e-771e-8d3e-1d55b32d633f","timestamp":1796080873.566423}', NULL),
	('shop', 'ada', 'files-2', 8550695161810559683, 4, '01a22ec3-3061-7390-a28f-b368fcb5a9cf', 1796080873569663, 1796080873570396, 'user', '', NULL, 5, 4, NULL, '\x65f05c4408d5aecebea0ad84224d538baea2b514d41885dc4a2462ece115d210', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"gone":0}},"id":"01a22ec3-3061-7390-a28f-b368fcb5a9cf","timestamp":1796080873.569663}', NULL),
	('shop', 'ada', 'compacted', 2787721319526041389, 1, 'c1', 1000000, 1796080873593863, 'user', '', NULL, 5, 4, NULL, '\x249cd456f8a74212a410a302a901b41d830c2659e48737e6ae21d7cf0b6aff57', '{"id":"c1","author":"user","timestamp":1,"content":{"parts":[{"text":"1"}]}}', NULL),
	('shop', 'ada', 'compacted', 2787721319526041389, 2, 'c2', 2000000, 1796080873597746, 'user', '', NULL, 5, 4, NULL, '\xf680371d2b6e2f9d8a0fdeafe556555b5df34cb1fd66a522ff0a8abaee264b2d', '{"id":"c2","author":"user","timestamp":2,"content":{"parts":[{"text":"2"}]}}', NULL),
	('shop', 'ada', 'compacted', 2787721319526041389, 3, 'c3', 3000000, 1796080873598907, 'user', '', NULL, 5, 4, NULL, '\xe49233c089b6757e03e35240335e71790f5c5efe2bb2f209d847fcc8719f6d55', '{"id":"c3","author":"user","timestamp":3,"content":{"parts":[{"text":"3"}]}}', NULL),
	('shop', 'ada', 'compacted', 2787721319526041389, 4, 'c4', 4000000, 1796080873599974, 'user', '', NULL, 5, 4, NULL, '\xbe10d376ffb0e7aeeb33fbe5f68c72675b04dc9a8e0541bbe6cd7690ca245dd4', '{"id":"c4","author":"user","timestamp":4,"content":{"parts":[{"text":"4"}]}}', NULL),
	('shop', 'ada', 'compacted', 2787721319526041389, 5, 'sum', 5000000, 1796080873601158, 'agent', '', NULL, 5, 4, -1, '\x2585b1d6369dd3b1f387f46b7886eacf90a8acf9098174bc4bb3bac18b6ad881', '{"id":"sum","author":"agent","timestamp":5,"actions":{"compaction":{"startTimestamp":1,"endTimestamp":3,"compactedContent":{"role":"model","parts":[{"text":"1 to 3"}]}}}}', NULL),
	('shop', 'ada', 'compacted', 2787721319526041389, 6, 'last', 6000000, 1796080873602285, 'user', '', NULL, 5, 4, NULL, '\x6e30ab5a008548dd04251542838f5591806078ad17b61289a8edf5f1f50cb1a6', '{"id":"last","author":"user","timestamp":6}', NULL),
	('shop', 'ada', 'trimmed', 3397405275662885087, 4, 't4', 1796080873612523, 1796080873612763, 'a', '', NULL, 5, 4, NULL, '\x647278d9f4a40649cf88d24f234524afa68425efc8862d9dbb6e190b074b277a', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1796080873.612523}', NULL),
	('shop', 'ada', 'trimmed', 3397405275662885087, 5, 't5', 1796080873613681, 1796080873614046, 'a', '', NULL, 5, 4, NULL, '\x8b8c18622a99b65602d693776167ab69499e522b6f9deb569a835f5089ce23b7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1796080873.613681}', NULL),
	('shop', 'ada', 'trimmed', 3397405275662885087, 1, 't1', 1796080873607962, 1796080873608596, '', '', NULL, 5, 4, NULL, '\xff2d88c66f77e0238b99e82d83e7db0c21edda552cc80296614c3df02b01ba8c', '', NULL),
	('shop', 'ada', 'trimmed', 3397405275662885087, 2, 't2', 1796080873609526, 1796080873609776, '', '', NULL, 5, 4, NULL, '\x6a790d825986340576ac3f9489fe714caaf96f13f8e290114cc4412b2bda686b', '', NULL),
	('shop', 'ada', 'trimmed', 3397405275662885087, 3, 't3', 1796080873611331, 1796080873611566, '', '', NULL, 5, 4, NULL, '\x328d69fb0e1172dcb5ac25efe82cb7e226756e7723e10af118220af799dd1756', '', NULL),
	('shop', 'ada', 'redacted', 2357166374795418381, 1, 'kept', 1796080873648092, 1796080873648541, 'user', '', NULL, 6, 4, NULL, '\x0000000000000000000000000000000000000000000000000000000000000000', '{"id":"kept","timestamp":1796080873.648092,"author":"user","actions":{"stateDelta":{"kept":"hunter2","user:kept":"hunter2"}},"redacted":{"time":1796080873.649812,"reason":"a password"}}', 1),
	('shop', 'ada', 'redacted', 2357166374795418381, 3, '01a22ec3-30c4-761c-ba6f-3f37deba25ff', 1796080873668776, 1796080873670798, 'user', '', NULL, 8, 4, NULL, '\x8c372d64e780678db298d472c65643bbac5ab92e04588c224c9ea5e5e0c7ede4', '{"id":"01a22ec3-30c4-761c-ba6f-3f37deba25ff","author":"user","invocationId":"","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"timestamp":1796080873.668776}', -2),
	('shop', 'ada', 'redacted', 2357166374795418381, 2, 'removed', 1796080873666115, 1796080873666687, 'user', '', NULL, 7, 4, NULL, '\x0000000000000000000000000000000000000000000000000000000000000000', '{"id":"removed","timestamp":1796080873.666115,"author":"user","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"redacted":{"time":1796080873.668838,"reason":"a password"}}', 2),
	('shop', 'ada', 'moved', 1073620431430909209, 1, 't1', 1796080873637674, 1796080873637935, '', '', NULL, 5, 4, NULL, '\xff2d88c66f77e0238b99e82d83e7db0c21edda552cc80296614c3df02b01ba8c', '', NULL),
	('shop', 'ada', 'moved', 1073620431430909209, 2, 't2', 1796080873639082, 1796080873639437, '', '', NULL, 5, 4, NULL, '\x6a790d825986340576ac3f9489fe714caaf96f13f8e290114cc4412b2bda686b', '', NULL),
	('shop', 'ada', 'moved', 1073620431430909209, 3, 't3', 1796080873640697, 1796080873640919, '', '', NULL, 5, 4, NULL, '\x328d69fb0e1172dcb5ac25efe82cb7e226756e7723e10af118220af799dd1756', '', NULL),
	('shop', 'ada', 'moved', 1073620431430909209, 4, 't4', 1796080873641736, 1796080873642058, 'a', '', NULL, 5, 4, NULL, '\x647278d9f4a40649cf88d24f234524afa68425efc8862d9dbb6e190b074b277a', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1796080873.641736}', NULL),
	('shop', 'ada', 'moved', 1073620431430909209, 5, 't5', 1796080873643246, 1796080873643447, 'a', '', NULL, 5, 4, NULL, '\x8b8c18622a99b65602d693776167ab69499e522b6f9deb569a835f5089ce23b7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1796080873.643246}', NULL),
	('copy', 'ada', 'order-1', 2601093245042866538, 1, 'e1', 1500000, 1796080873412766, 'user', 'i1', NULL, 3, 3, NULL, '\x435b38a6c0dfaa42f2382dbe95df21d1291117c4ca583dd775647f0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL),
	('copy', 'ada', 'order-1', 2601093245042866538, 2, 'e2', 1796080873433025, 1796080873434705, 'agent', 'i1', 'a.b', 3, 4, NULL, '\x08ec320bc833f1099984eecceb18bf53738a8fc7b156c83f0de7654ff7bec27c', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1796080873.433025}', NULL),
	('copy', 'ada', 'order-1', 2601093245042866538, 3, 'e3', 1796080873433025, 1796080873434705, 'agent', 'i2', NULL, 3, 4, NULL, '\xd3de25700664b6208ddd18cb3bb6d49390d95970d4d73a683b895ed105536cb7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1796080873.433025}', NULL),
	('copy', 'ada', 'order-1', 2601093245042866538, 4, 'rewind-1', 1796080873438614, 1796080873441858, 'user', 'rewind-01a22ec3-2fde-700b-8c9b-222690274538', NULL, 3, 4, 2, '\x6c24d7f30244d24ef3a298a72ec9474455ccafac0615941509de5989f8f5c975', '{"author":"user","invocationId":"rewind-01a22ec3-2fde-700b-8c9b-222690274538","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1796080873.438614}', NULL),
	('copy', 'ada', 'order-1', 2601093245042866538, 5, 'put-1', 1796080873459360, 1796080873460192, 'user', '', NULL, 3, 4, NULL, '\x092f58824834ccfbee5844fcf7c78c5bf2b2628cdd2601e3fdbe2ad78b3a4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1796080873.459360}', NULL),
	('copy', 'ada', 'order-1', 2601093245042866538, 6, 'patch-1', 1796080873476003, 1796080873477469, 'agent', '', NULL, 4, 4, NULL, '\x6eba5e92b5a282ebc5d1c847bfc06332abc5a8be554aa8accf3d24c8e88e37d5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1796080873.476003}', NULL),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 1, 'e/ä', 1796080873741286, 1796080873742206, 'agent', '', NULL, 0, 0, NULL, '\xe78cfb5291353133438166f3e9e1f7da2539e819856de2d160dea064905b1f7c', '{"id":"e/ä","author":"agent","actions":{"stateDelta":{ "k0ä": 0 , "k1ä": -0 , "k2ä": 1 , "k3ä": 1.0 , "k4ä": 1E2 , "k5ä": 1e+2 , "k6ä": -0.0 , "k7ä": 0e0 , "k8ä": 1e-400 , "k9ä": 0.1000000000000000055511151231257827 , "k10ä": 1180591620717411303424 , "k11ä": -170141183460469231731687303715884105729 , "k12ä": 1.7976931348623157e308 , "k13ä": 9007199254740993 , "k14ä": "\u0000" , "k15ä": "a\u0000b\u001f\u007f" , "k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "k17ä": "\/ / \" \\ \b\f\n\r\t" , "k18ä": " ﻿�􏿿" , "k19ä": "" , "k20ä": {"b":1,"a":2,"":3,"B":4} , "k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "k22ä": [ ] , "k23ä": {"$serde_json::private::RawValue": "[1]"} , "k24ä": {"$serde_json::private::Number": "1"} , "k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "k26ä": {"__proto__":1,"constructor":{"x":null}} , "k27ä": true , "k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796080873.741286}', NULL),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 2, 'user:e/ä', 1796080873744067, 1796080873744663, 'agent', '', NULL, 1, 0, NULL, '\xaaeb3f9fd8c682c65552b5f40d0c01c5e8880c8b8cc9650f2751abeaffb0268b', '{"id":"user:e/ä","author":"agent","actions":{"stateDelta":{ "user:k0ä": 0 , "user:k1ä": -0 , "user:k2ä": 1 , "user:k3ä": 1.0 , "user:k4ä": 1E2 , "user:k5ä": 1e+2 , "user:k6ä": -0.0 , "user:k7ä": 0e0 , "user:k8ä": 1e-400 , "user:k9ä": 0.1000000000000000055511151231257827 , "user:k10ä": 1180591620717411303424 , "user:k11ä": -170141183460469231731687303715884105729 , "user:k12ä": 1.7976931348623157e308 , "user:k13ä": 9007199254740993 , "user:k14ä": "\u0000" , "user:k15ä": "a\u0000b\u001f\u007f" , "user:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "user:k17ä": "\/ / \" \\ \b\f\n\r\t" , "user:k18ä": " ﻿�􏿿" , "user:k19ä": "" , "user:k20ä": {"b":1,"a":2,"":3,"B":4} , "user:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "user:k22ä": [ ] , "user:k23ä": {"$serde_json::private::RawValue": "[1]"} , "user:k24ä": {"$serde_json::private::Number": "1"} , "user:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "user:k26ä": {"__proto__":1,"constructor":{"x":null}} , "user:k27ä": true , "user:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796080873.744067}', NULL),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 3, 'app:e/ä', 1796080873748038, 1796080873748450, 'agent', '', NULL, 1, 1, NULL, '\x7c243795615b1d07ed39e8c4affb45b944de62be3e14b9683ecfefe79fb05006', '{"id":"app:e/ä","author":"agent","actions":{"stateDelta":{ "app:k0ä": 0 , "app:k1ä": -0 , "app:k2ä": 1 , "app:k3ä": 1.0 , "app:k4ä": 1E2 , "app:k5ä": 1e+2 , "app:k6ä": -0.0 , "app:k7ä": 0e0 , "app:k8ä": 1e-400 , "app:k9ä": 0.1000000000000000055511151231257827 , "app:k10ä": 1180591620717411303424 , "app:k11ä": -170141183460469231731687303715884105729 , "app:k12ä": 1.7976931348623157e308 , "app:k13ä": 9007199254740993 , "app:k14ä": "\u0000" , "app:k15ä": "a\u0000b\u001f\u007f" , "app:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "app:k17ä": "\/ / \" \\ \b\f\n\r\t" , "app:k18ä": " ﻿�􏿿" , "app:k19ä": "" , "app:k20ä": {"b":1,"a":2,"":3,"B":4} , "app:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "app:k22ä": [ ] , "app:k23ä": {"$serde_json::private::RawValue": "[1]"} , "app:k24ä": {"$serde_json::private::Number": "1"} , "app:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "app:k26ä": {"__proto__":1,"constructor":{"x":null}} , "app:k27ä": true , "app:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1796080873.748038}', NULL);
INSERT INTO public.policies VALUES
	('shop', 1, '{"sessions":{"maxAge":"36500d"},"artifacts":{"keepVersions":50},"limits":{"sessionsPerUser":1000,"eventsPerSession":1000}}', 1000, 1000, NULL, 0),
	('none', 2, NULL, NULL, NULL, NULL, 0);
INSERT INTO public.session_spans VALUES
	('shop', 'ada', 'order-1', 5630079334035838121, 1, 'n', 0, 1, false, '1.10'),
	('shop', 'ada', 'order-1', 5630079334035838121, 2, 'n', 1, 3, false, '1E2'),
	('shop', 'ada', 'order-1', 5630079334035838121, 2, 'topic', 0, 3, true, '"return"'),
	('shop', 'ada', 'order-1', 5630079334035838121, 4, 'n', 3, 4, false, 'null'),
	('shop', 'ada', 'order-1-again', 6604223907995114774, 1, 'n', 0, 1, false, '1.10'),
	('shop', 'ada', 'order-1-again', 6604223907995114774, 2, 'n', 1, 3, false, '1E2'),
	('shop', 'ada', 'order-1-again', 6604223907995114774, 2, 'topic', 0, 3, true, '"return"'),
	('shop', 'ada', 'trimmed', 3397405275662885087, 4, 'k', 3, 4, false, '3'),
	('shop', 'ada', 'trimmed', 3397405275662885087, 5, 'k', 4, 5, false, '4'),
	('shop', 'ada', 'moved', 1073620431430909209, 4, 'k', 3, 4, false, '3'),
	('shop', 'ada', 'moved', 1073620431430909209, 5, 'k', 4, 5, false, '4'),
	('copy', 'ada', 'order-1', 2601093245042866538, 1, 'n', 0, 1, false, '1.10'),
	('copy', 'ada', 'order-1', 2601093245042866538, 2, 'topic', 0, 3, true, '"return"'),
	('copy', 'ada', 'order-1', 2601093245042866538, 2, 'n', 1, 3, false, '1E2'),
	('copy', 'ada', 'order-1', 2601093245042866538, 4, 'n', 3, 4, false, 'null');
INSERT INTO public.session_state VALUES
	('shop', 'ada', 'order-1', 5630079334035838121, 'big', '1180591620717411303424', 1),
	('shop', 'ada', 'order-1', 5630079334035838121, 'neg', '-0', 1),
	('shop', 'ada', 'order-1', 5630079334035838121, 'item', '{"b" : 1,"a":[ ]}', 2),
	('shop', 'ada', 'order-1', 5630079334035838121, 'list', '[-0.0]', 2),
	('shop', 'ada', 'order-1', 5630079334035838121, 'n', '1E2', 4),
	('shop', 'ada', 'order-1', 5630079334035838121, 'topic', '"return"', 4),
	('shop', 'ada', 'order-1', 5630079334035838121, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5),
	('shop', 'ada', 'order-1', 5630079334035838121, 'step', '"refund"', 6),
	('shop', 'ada', 'order-1-again', 6604223907995114774, 'big', '1180591620717411303424', 1),
	('shop', 'ada', 'order-1-again', 6604223907995114774, 'item', '{"b" : 1,"a":[ ]}', 2),
	('shop', 'ada', 'order-1-again', 6604223907995114774, 'list', '[-0.0]', 2),
	('shop', 'ada', 'order-1-again', 6604223907995114774, 'neg', '-0', 1),
	('shop', 'ada', 'order-1-again', 6604223907995114774, 'n', 'null', 3),
	('shop', 'ada', 'files-2', 8550695161810559683, 'k', '1', 0),
	('shop', 'ada', 'trimmed', 3397405275662885087, 'k1', '1', 1),
	('shop', 'ada', 'trimmed', 3397405275662885087, 'k2', '2', 2),
	('shop', 'ada', 'trimmed', 3397405275662885087, 'k3', '3', 3),
	('shop', 'ada', 'trimmed', 3397405275662885087, 'k4', '4', 4),
	('shop', 'ada', 'trimmed', 3397405275662885087, 'k', '5', 5),
	('shop', 'ada', 'trimmed', 3397405275662885087, 'k5', '5', 5),
	('shop', 'ada', 'redacted', 2357166374795418381, 'kept', '"hunter2"', 1),
	('shop', 'bob', 'by-adk', 8464885314380551093, 'topic', '"warranty"', 0),
	('shop', 'ada', 'moved', 1073620431430909209, 'k', '5', 5),
	('shop', 'ada', 'moved', 1073620431430909209, 'k1', '1', 3),
	('shop', 'ada', 'moved', 1073620431430909209, 'k2', '2', 3),
	('shop', 'ada', 'moved', 1073620431430909209, 'k3', '3', 3),
	('shop', 'ada', 'moved', 1073620431430909209, 'k4', '4', 4),
	('shop', 'ada', 'moved', 1073620431430909209, 'k5', '5', 5),
	('copy', 'ada', 'order-1', 2601093245042866538, 'big', '1180591620717411303424', 1),
	('copy', 'ada', 'order-1', 2601093245042866538, 'item', '{"b" : 1,"a":[ ]}', 2),
	('copy', 'ada', 'order-1', 2601093245042866538, 'list', '[-0.0]', 2),
	('copy', 'ada', 'order-1', 2601093245042866538, 'n', '1E2', 4),
	('copy', 'ada', 'order-1', 2601093245042866538, 'neg', '-0', 1),
	('copy', 'ada', 'order-1', 2601093245042866538, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5),
	('copy', 'ada', 'order-1', 2601093245042866538, 'step', '"refund"', 6),
	('copy', 'ada', 'order-1', 2601093245042866538, 'topic', '"return"', 4),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k0ä', '0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k10ä', '1180591620717411303424', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k11ä', '-170141183460469231731687303715884105729', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k12ä', '1.7976931348623157e308', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k13ä', '9007199254740993', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k14ä', '"\u0000"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k15ä', '"a\u0000b\u001f\u007f"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k18ä', '" ﻿�􏿿"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k19ä', '""', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k1ä', '-0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k22ä', '[ ]', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k24ä', '{"$serde_json::private::Number": "1"}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k27ä', 'true', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k28ä', 'null', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k2ä', '1', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k3ä', '1.0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k4ä', '1E2', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k5ä', '1e+2', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k6ä', '-0.0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k7ä', '0e0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k8ä', '1e-400', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 'k9ä', '0.1000000000000000055511151231257827', 1);
INSERT INTO public.session_updates VALUES
	('shop', 'ada', 'order-1', true, 179608087),
	('shop', 'ada', 'files', false, 1796080873528119),
	('shop', 'ada', 'order-1-again', false, 1796080873544636),
	('shop', 'ada', 'files-2', false, 1796080873569663),
	('shop', 'ada', 'compacted', true, 0),
	('shop', 'ada', 'trimmed', true, 179608087),
	('shop', 'ada', 'redacted', false, 1796080873668776),
	('shop', 'bob', 'by-adk', false, 1796080873682570),
	('shop', 'ada', 'moved', false, 1796080873643246),
	('copy', 'ada', 'order-1', false, 1796080873476003),
	('läger/1 ü', 'ß ø@例え', 'a b😀', false, 1796080873748038);
INSERT INTO public.sessiond_migrations VALUES
	(1, 'sessions', '2026-11-30 23:21:13.012341+00', true, '\xb9b01173feec016d0e278b74838d1a033a02307ca0ec940ec8332326809ae811d04dd2d3f888ca9c94c13a5570c74916', -1);
INSERT INTO public.sessions VALUES
	('shop', 'ada', 'compacted', 2787721319526041389, 6, 0, 1796080873588262, 1796080873602285, 6000000, '6', 20787, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false, true),
	('shop', 'ada', 'moved', 1073620431430909209, 5, 0, 1796080873633322, 1796080873643447, 1796080873643246, '1796080873.643246', 20787, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, '288de2adb093d4b5', '\xd653cb25f82391e955802e8c8effa5a4a89bc8860d7647da9db07c9f70659123', 5, 3, 5, 3, 5, NULL, NULL, 0, NULL, NULL, NULL, NULL, false, false),
	('copy', 'ada', 'order-1', 2601093245042866538, 6, 0, 1796080873408751, 1796080873477469, 1796080873476003, '1796080873.476003', 20787, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, NULL, NULL, '4e220f532a7954a9', '\x89c50d0d2c587b4a579dd44e4b655f18689957c6710709d315c60a46755cde7a', 6, 0, 6, 0, 6, NULL, NULL, 0, NULL, NULL, NULL, NULL, false, false),
	('shop', 'ada', 'files', 587242689398676708, 2, 0, 1796080873403666, 1796080873529604, 1796080873528119, '1796080873.528119', 20787, NULL, NULL, NULL, 0, '{}', 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false, false),
	('shop', 'ada', 'order-1', 5630079334035838121, 6, 0, 1796080873408751, 1796080873477469, 1796080873476003, '1796080873.476003', 20787, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, 'create-1', '\x986e8347a1ca037f059646a89b18a481cb8a30c7777918ac2e45f9df0e63f133', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 'pod-7/4f1c', 'i9', 1796080933531235, 60000000, false, true),
	('shop', 'ada', 'trimmed', 3397405275662885087, 5, 1, 1796080873604786, 1796080873614046, 1796080873613681, '1796080873.613681', 20787, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false, true),
	('shop', 'ada', 'order-1-again', 6604223907995114774, 4, 1, 1796080873489167, 1796080873545258, 1796080873544636, '1796080873.544636', 20787, '"forked"', '{"a":"b"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, 'order-1', 3, 'fork-1', '\x5852d7b187ab49a4bd7e012f6f3d1b907f2e43d839bf5fee347d0b6e3cd017e4', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false, false),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 107606997523422718, 3, 0, 1796080873740181, 1796080873748450, 1796080873748038, '1796080873.748038', 20787, NULL, NULL, NULL, 0, '{}', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false, false),
	('shop', 'ada', 'files-2', 8550695161810559683, 4, 0, 1796080873547584, 1796080873570396, 1796080873569663, '1796080873.569663', 20787, NULL, NULL, NULL, 0, '{"k":1}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false, false),
	('shop', 'ada', 'redacted', 2357166374795418381, 3, 2, 1796080873646755, 1796080873670798, 1796080873668776, '1796080873.668776', 20787, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false, false),
	('shop', 'bob', 'by-adk', 8464885314380551093, 0, 0, 1796080873682570, 1796080873682570, 1796080873682570, '1796080873.682570', 20787, NULL, NULL, NULL, 0, '{"topic":"warranty"}', 1, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false, false);
INSERT INTO public.ticks VALUES
	(1, 1, '3:3:', '3:3:', 1796080873108974),
	(2, 1, '3:3:', '829:829:', 1796080873898847);
INSERT INTO public.token_epochs VALUES
	('shop', '\x69ae82cb32f5b59e8c62abcd7777c68bc1788c76ac5f6a25200766798d66390a', 1, 0),
	('shop', '\x142e5660c358eb03490126c777c6799b83fb189dffefc37b2007c8b2cc4daaaa', 1, 1),
	('shop', '\x42894eb45912902049261f9f32a615c690c2bfd7b5205a6a7db0af6ad4649f47', 1, 2);
INSERT INTO public.token_secrets VALUES
	('current', '\xeb4534afa44165f6c9eb28b3861483a8662131b294e49f526893d51a941bb87e');
INSERT INTO public.user_log VALUES
	('shop', 'zoe', 'alone', 1, 'true', 1796080873382259, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'language', 1, '"en"', 1796080873396277, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'name', 2, '"Ada"', 1796080873409363, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'n', 3, '-0.0', 1796080873412766, 5630079334035838121, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'returns', 4, '1', 1796080873477469, 5630079334035838121, 6, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'n', 5, '7', 1796080873545258, 6604223907995114774, 4, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'kept', 6, '"hunter2"', 1796080873648541, 2357166374795418381, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'removed', 8, NULL, 1796080873670798, 2357166374795418381, 3, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'removed', 7, NULL, 1796080873666687, 2357166374795418381, 2, NULL, NULL, NULL, NULL, NULL),
	('shop', 'bob', 'name', 1, '"Bob"', 1796080873683822, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k0ä', 1, '0', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k10ä', 1, '1180591620717411303424', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k11ä', 1, '-170141183460469231731687303715884105729', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k12ä', 1, '1.7976931348623157e308', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k13ä', 1, '9007199254740993', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k14ä', 1, '"\u0000"', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k18ä', 1, '" ﻿�􏿿"', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k19ä', 1, '""', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k1ä', 1, '-0', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k22ä', 1, '[ ]', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k27ä', 1, 'true', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k28ä', 1, 'null', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k2ä', 1, '1', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k3ä', 1, '1.0', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k4ä', 1, '1E2', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k5ä', 1, '1e+2', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k6ä', 1, '-0.0', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k7ä', 1, '0e0', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k8ä', 1, '1e-400', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k9ä', 1, '0.1000000000000000055511151231257827', 1796080873744663, 107606997523422718, 2, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.user_scopes VALUES
	('shop', 'zoe', 1, 0, 0, 0, 0, 0),
	('shop', 'ada', 8, 0, 0, 0, 0, 1),
	('shop', 'bob', 1, 0, 0, 0, 0, 0),
	('läger/1 ü', 'ß ø@例え', 1, 0, 0, 0, 0, 0);
INSERT INTO public.user_spans VALUES
	('shop', 'ada', 4, 'n', 3, 5);
INSERT INTO public.user_state VALUES
	('shop', 'zoe', 'alone', 'true', 1),
	('shop', 'ada', 'language', '"en"', 1),
	('shop', 'ada', 'name', '"Ada"', 2),
	('shop', 'ada', 'returns', '1', 4),
	('shop', 'ada', 'n', '7', 5),
	('shop', 'ada', 'kept', '"hunter2"', 6),
	('shop', 'bob', 'name', '"Bob"', 1),
	('läger/1 ü', 'ß ø@例え', 'k0ä', '0', 1),
	('läger/1 ü', 'ß ø@例え', 'k10ä', '1180591620717411303424', 1),
	('läger/1 ü', 'ß ø@例え', 'k11ä', '-170141183460469231731687303715884105729', 1),
	('läger/1 ü', 'ß ø@例え', 'k12ä', '1.7976931348623157e308', 1),
	('läger/1 ü', 'ß ø@例え', 'k13ä', '9007199254740993', 1),
	('läger/1 ü', 'ß ø@例え', 'k14ä', '"\u0000"', 1),
	('läger/1 ü', 'ß ø@例え', 'k15ä', '"a\u0000b\u001f\u007f"', 1),
	('läger/1 ü', 'ß ø@例え', 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1),
	('läger/1 ü', 'ß ø@例え', 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1),
	('läger/1 ü', 'ß ø@例え', 'k18ä', '" ﻿�􏿿"', 1),
	('läger/1 ü', 'ß ø@例え', 'k19ä', '""', 1),
	('läger/1 ü', 'ß ø@例え', 'k1ä', '-0', 1),
	('läger/1 ü', 'ß ø@例え', 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1),
	('läger/1 ü', 'ß ø@例え', 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1),
	('läger/1 ü', 'ß ø@例え', 'k22ä', '[ ]', 1),
	('läger/1 ü', 'ß ø@例え', 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1),
	('läger/1 ü', 'ß ø@例え', 'k24ä', '{"$serde_json::private::Number": "1"}', 1),
	('läger/1 ü', 'ß ø@例え', 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1),
	('läger/1 ü', 'ß ø@例え', 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1),
	('läger/1 ü', 'ß ø@例え', 'k27ä', 'true', 1),
	('läger/1 ü', 'ß ø@例え', 'k28ä', 'null', 1),
	('läger/1 ü', 'ß ø@例え', 'k2ä', '1', 1),
	('läger/1 ü', 'ß ø@例え', 'k3ä', '1.0', 1),
	('läger/1 ü', 'ß ø@例え', 'k4ä', '1E2', 1),
	('läger/1 ü', 'ß ø@例え', 'k5ä', '1e+2', 1),
	('läger/1 ü', 'ß ø@例え', 'k6ä', '-0.0', 1),
	('läger/1 ü', 'ß ø@例え', 'k7ä', '0e0', 1),
	('läger/1 ü', 'ß ø@例え', 'k8ä', '1e-400', 1),
	('läger/1 ü', 'ß ø@例え', 'k9ä', '0.1000000000000000055511151231257827', 1);
SELECT pg_catalog.setval('public.changes_id_seq', 94, true);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.app_log
    ADD CONSTRAINT app_log_pkey PRIMARY KEY (app_name, key, revision);
ALTER TABLE ONLY public.app_patches
    ADD CONSTRAINT app_patches_pkey PRIMARY KEY (app_name, request_key);
ALTER TABLE ONLY public.app_scopes
    ADD CONSTRAINT app_scopes_pkey PRIMARY KEY (app_name);
ALTER TABLE ONLY public.app_spans
    ADD CONSTRAINT app_spans_pkey PRIMARY KEY (app_name, node, key);
ALTER TABLE ONLY public.app_state
    ADD CONSTRAINT app_state_pkey PRIMARY KEY (app_name, key);
ALTER TABLE ONLY public.artifact_names
    ADD CONSTRAINT artifact_names_pkey PRIMARY KEY (app_name, user_id, session_id, incarnation, name);
ALTER TABLE ONLY public.artifact_places
    ADD CONSTRAINT artifact_places_pkey PRIMARY KEY (app_name, user_id, session_id);
ALTER TABLE ONLY public.artifact_spans
    ADD CONSTRAINT artifact_spans_pkey PRIMARY KEY (incarnation, node, name, user_id, app_name);
ALTER TABLE ONLY public.artifact_state
    ADD CONSTRAINT artifact_state_pkey PRIMARY KEY (incarnation, name, session_id, user_id, app_name);
ALTER TABLE ONLY public.artifacts
    ADD CONSTRAINT artifacts_pkey PRIMARY KEY (app_name, user_id, session_id, incarnation, name, version);
ALTER TABLE ONLY public.blob_chunks
    ADD CONSTRAINT blob_chunks_pkey PRIMARY KEY (app_name, user_id, blob, n);
ALTER TABLE ONLY public.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (app_name, user_id, id);
ALTER TABLE ONLY public.blocked_users
    ADD CONSTRAINT blocked_users_pkey PRIMARY KEY (subject, app_name);
ALTER TABLE ONLY public.buried_sessions
    ADD CONSTRAINT buried_sessions_pkey PRIMARY KEY (app_name, user_id, session_id, incarnation);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (tx, id);
ALTER TABLE ONLY public.effective_ids
    ADD CONSTRAINT effective_ids_pkey PRIMARY KEY (incarnation, sequence, id, user_id, app_name);
ALTER TABLE ONLY public.effective_views
    ADD CONSTRAINT effective_views_pkey PRIMARY KEY (incarnation, sequence, user_id, app_name);
ALTER TABLE ONLY public.erased_revisions
    ADD CONSTRAINT erased_revisions_pkey PRIMARY KEY (app_name);
ALTER TABLE ONLY public.erasure_counts
    ADD CONSTRAINT erasure_counts_pkey PRIMARY KEY (app_name);
ALTER TABLE ONLY public.erasure_secrets
    ADD CONSTRAINT erasure_secrets_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.erasures
    ADD CONSTRAINT erasures_pkey PRIMARY KEY (id, app_name);
ALTER TABLE ONLY public.event_words
    ADD CONSTRAINT event_words_pkey PRIMARY KEY (incarnation, sequence, user_id, app_name);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_id_key UNIQUE (id, incarnation, user_id, app_name);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (incarnation, sequence, user_id, app_name);
ALTER TABLE ONLY public.imports
    ADD CONSTRAINT imports_pkey PRIMARY KEY (app_name, user_id, session_id, incarnation);
ALTER TABLE ONLY public.policies
    ADD CONSTRAINT policies_pkey PRIMARY KEY (app_name);
ALTER TABLE ONLY public.removed_forks
    ADD CONSTRAINT removed_forks_pkey PRIMARY KEY (id, forked_from, user_id, app_name);
ALTER TABLE ONLY public.scrubs
    ADD CONSTRAINT scrubs_pkey PRIMARY KEY (app_name);
ALTER TABLE ONLY public.session_spans
    ADD CONSTRAINT session_spans_pkey PRIMARY KEY (incarnation, node, key, user_id, app_name);
ALTER TABLE ONLY public.session_state
    ADD CONSTRAINT session_state_pkey PRIMARY KEY (incarnation, key, session_id, user_id, app_name);
ALTER TABLE ONLY public.session_updates
    ADD CONSTRAINT session_updates_pkey PRIMARY KEY (app_name, user_id, rough, place, id);
ALTER TABLE ONLY public.sessiond_migrations
    ADD CONSTRAINT sessiond_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id, user_id, app_name);
ALTER TABLE ONLY public.ticks
    ADD CONSTRAINT ticks_pkey PRIMARY KEY (tick);
ALTER TABLE ONLY public.token_epochs
    ADD CONSTRAINT token_epochs_pkey PRIMARY KEY (subject, app_name);
ALTER TABLE ONLY public.token_secrets
    ADD CONSTRAINT token_secrets_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.trims
    ADD CONSTRAINT trims_pkey PRIMARY KEY (app_name, user_id, session_id, incarnation);
ALTER TABLE ONLY public.user_log
    ADD CONSTRAINT user_log_pkey PRIMARY KEY (app_name, user_id, key, revision);
ALTER TABLE ONLY public.user_patches
    ADD CONSTRAINT user_patches_pkey PRIMARY KEY (app_name, user_id, request_key);
ALTER TABLE ONLY public.user_scopes
    ADD CONSTRAINT user_scopes_pkey PRIMARY KEY (app_name, user_id);
ALTER TABLE ONLY public.user_spans
    ADD CONSTRAINT user_spans_pkey PRIMARY KEY (app_name, user_id, node, key);
ALTER TABLE ONLY public.user_state
    ADD CONSTRAINT user_state_pkey PRIMARY KEY (app_name, user_id, key);
CREATE INDEX app_log_by_revision ON public.app_log USING btree (app_name, revision, key);
CREATE INDEX app_log_by_user ON public.app_log USING btree (app_name, by_user) WHERE (by_user IS NOT NULL);
CREATE INDEX app_patches_by_time ON public.app_patches USING btree ("time");
CREATE INDEX artifact_places_of_users ON public.artifact_places USING btree (app_name, user_id) WHERE (session_id = ''::text);
CREATE UNIQUE INDEX artifacts_request_key ON public.artifacts USING btree (app_name, user_id, session_id, incarnation, name, request_key) WHERE (request_key IS NOT NULL);
CREATE INDEX blobs_by_erasure ON public.blobs USING btree (erasure) WHERE (erasure IS NOT NULL);
CREATE INDEX blobs_by_object ON public.blobs USING btree (object) WHERE (object IS NOT NULL);
CREATE INDEX blobs_loose ON public.blobs USING btree (loose_since) WHERE (loose_since IS NOT NULL);
CREATE INDEX buried_by_erasure ON public.buried_sessions USING btree (erasure) WHERE (erasure IS NOT NULL);
CREATE INDEX changes_by_user ON public.changes USING btree (hashtextextended(user_id, hashtextextended(app_name, (0)::bigint)), tx) WHERE (user_id IS NOT NULL);
CREATE INDEX effective_ids_by_id ON public.effective_ids USING btree (id, incarnation, user_id, app_name);
CREATE UNIQUE INDEX erasures_request ON public.erasures USING btree (request, app_name) WHERE (request IS NOT NULL);
CREATE INDEX erasures_running ON public.erasures USING btree (subject, app_name, request_time, id) WHERE (done_time IS NULL);
CREATE INDEX event_words_by_word ON public.event_words USING gin (words);
CREATE INDEX events_compactions ON public.events USING btree (incarnation, sequence, user_id, app_name) WHERE (effect = '-1'::integer);
CREATE INDEX events_redactions ON public.events USING btree (incarnation, redaction) WHERE (redaction IS NOT NULL);
CREATE INDEX events_rewinds ON public.events USING btree (incarnation, sequence, user_id, app_name) WHERE (effect >= 0);
CREATE INDEX removed_forks_by_source ON public.removed_forks USING btree (app_name, user_id, forked_from);
CREATE INDEX session_spans_by_key ON public.session_spans USING btree (key, incarnation, valid_to) WHERE (((node & (31)::bigint) = 0) OR removed);
CREATE INDEX session_updates_by_app ON public.session_updates USING btree (app_name, rough, place, user_id, id);
CREATE INDEX sessions_by_app_create ON public.sessions USING btree (app_name, create_time, user_id, id);
CREATE INDEX sessions_by_expiry ON public.sessions USING btree (expire_time) WHERE (expire_time IS NOT NULL);
CREATE INDEX sessions_by_source ON public.sessions USING btree (app_name, user_id, forked_from) WHERE (forked_from IS NOT NULL);
CREATE INDEX sessions_by_user_create ON public.sessions USING btree (app_name, user_id, create_time, id);
CREATE UNIQUE INDEX sessions_creation_key ON public.sessions USING btree (creation_key, user_id, app_name) WHERE (creation_key IS NOT NULL);
CREATE INDEX user_log_by_revision ON public.user_log USING btree (app_name, user_id, revision, key);
CREATE INDEX user_patches_by_time ON public.user_patches USING btree ("time");
