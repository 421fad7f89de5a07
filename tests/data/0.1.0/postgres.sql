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
CREATE FUNCTION public.sessiond_append(p_app text, p_user text, p_session text, p_incarnation bigint, h_was bigint, h_metadata bigint, h_was_bucket bigint, h_bucket bigint, h_revision bigint, h_time bigint, h_time_number text, h_lease bigint, h_side boolean, u_was bigint, u_revision bigint, a_was bigint, a_revision bigint, e_id text, e_time bigint, e_author text, e_invocation text, e_branch text, e_user_revision bigint, e_app_revision bigint, e_effect bigint, e_digest bytea, e_body text, s_key text[], s_value text[], v_key text[], v_value text[], w_key text[], w_value text[], p_feed boolean, OUT verdict text, OUT user_revision bigint, OUT app_revision bigint, OUT commit_time bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
    present bigint := (extract(epoch from statement_timestamp()) * 1000000)::bigint;
    committed bigint;
    h_at tid;
    u_at tid;
    a_at tid;
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
      and (select true from events t where t.app_name = p_app and t.user_id = p_user and t.incarnation = p_incarnation
            and t.id = e_id) is null
    for no key update skip locked;
    if not found then
        perform 1 from sessions l
        where l.app_name = p_app and l.user_id = p_user and l.id = p_session and l.incarnation = p_incarnation
          and l.revision = h_was and l.metadata_revision = h_metadata
          and (l.expire_time is null or l.expire_time > present)
          and (h_lease is null or l.lease_epoch = h_lease)
          and (h_side is false or not l.lease_all or l.lease_expire <= present)
          and (h_revision - l.base_revision <= (select p.events_per_session from policies p where p.app_name = p_app)) is not false
          and (select true from events t where t.app_name = p_app and t.user_id = p_user and t.incarnation = p_incarnation
                and t.id = e_id) is null;
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
    if verdict <> 'ok' then
        if made_user then
            delete from user_scopes s where s.app_name = p_app and s.user_id = p_user;
        end if;
        if made_app then
            delete from app_scopes s where s.app_name = p_app;
        end if;
        return;
    end if;
    present := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
    committed := greatest(present, committed);
    commit_time := committed;
    insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author,
        invocation_id, branch, user_revision, app_revision, effect, digest, body)
    values (p_app, p_user, p_session, p_incarnation, h_revision, e_id, e_time, committed, e_author, e_invocation, e_branch,
        coalesce(e_user_revision, (select u.revision from user_scopes u where u.app_name = p_app and u.user_id = p_user), 0),
        coalesce(e_app_revision, (select a.revision from app_scopes a where a.app_name = p_app), 0),
        e_effect, e_digest, e_body)
    returning events.user_revision, events.app_revision into user_revision, app_revision;
    if h_bucket is not null then
        update session_updates o set bucket = h_bucket
        where o.app_name = p_app and o.user_id = p_user and o.bucket = h_was_bucket and o.id = p_session;
    end if;
    update sessions s
    set revision = h_revision, commit_time = committed, update_time = h_time, update_time_number = h_time_number,
        active_day = present / 86400000000,
        lease_expire = greatest(s.lease_expire, present + s.lease_ttl + 0 * h_lease)
    where s.ctid = h_at;
    if not found then
        raise exception 'a locked session is not where it was';
    end if;
    for i in 1 .. cardinality(s_key) loop
        insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, value)
        select p_app, p_user, p_session, p_incarnation, h_revision & (-1::bigint << (length(ltrim((t.revision # h_revision)::bit(64)::text, '0')) - 1)),
            t.key, t.revision, h_revision, t.value
        from session_state t where t.app_name = p_app and t.user_id = p_user and t.session_id = p_session and t.incarnation = p_incarnation and t.key = s_key[i];
        if not found then
            insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision)
            select p_app, p_user, p_session, p_incarnation, s_key[i], s_value[i], h_revision where s_value[i] is not null;
        elsif s_value[i] is null then
            delete from session_state t where t.app_name = p_app and t.user_id = p_user and t.session_id = p_session and t.incarnation = p_incarnation and t.key = s_key[i];
        else
            update session_state t set value = s_value[i], revision = h_revision where t.app_name = p_app and t.user_id = p_user and t.session_id = p_session and t.incarnation = p_incarnation and t.key = s_key[i];
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
        insert into user_spans (app_name, user_id, node, key, valid_from, valid_to)
        select p_app, p_user, u_revision & (-1::bigint << (length(ltrim((t.revision # u_revision)::bit(64)::text, '0')) - 1)),
            t.key, t.revision, u_revision
        from user_state t where t.app_name = p_app and t.user_id = p_user and t.key = v_key[i];
        if not found then
            insert into user_state (app_name, user_id, key, value, revision)
            select p_app, p_user, v_key[i], v_value[i], u_revision where v_value[i] is not null;
        elsif v_value[i] is null then
            delete from user_state t where t.app_name = p_app and t.user_id = p_user and t.key = v_key[i];
        else
            update user_state t set value = v_value[i], revision = u_revision where t.app_name = p_app and t.user_id = p_user and t.key = v_key[i];
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
        insert into app_spans (app_name, node, key, valid_from, valid_to)
        select p_app, a_revision & (-1::bigint << (length(ltrim((t.revision # a_revision)::bit(64)::text, '0')) - 1)),
            t.key, t.revision, a_revision
        from app_state t where t.app_name = p_app and t.key = w_key[i];
        if not found then
            insert into app_state (app_name, key, value, revision)
            select p_app, w_key[i], w_value[i], a_revision where w_value[i] is not null;
        elsif w_value[i] is null then
            delete from app_state t where t.app_name = p_app and t.key = w_key[i];
        else
            update app_state t set value = w_value[i], revision = a_revision where t.app_name = p_app and t.key = w_key[i];
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
CREATE FUNCTION public.sessiond_write(p_app text, h_user text[], h_session text[], h_incarnation bigint[], h_was bigint[], h_metadata bigint[], h_was_bucket bigint[], h_bucket bigint[], h_revision bigint[], h_time bigint[], h_time_number text[], h_lease bigint[], h_side boolean[], u_user text[], u_was bigint[], u_first bigint[], u_revision bigint[], a_was bigint, a_revision bigint, e_user text[], e_session text[], e_incarnation bigint[], e_sequence bigint[], e_id text[], e_time bigint[], e_author text[], e_invocation text[], e_branch text[], e_user_revision bigint[], e_app_revision bigint[], e_effect bigint[], e_digest bytea[], e_body text[], s_user text[], s_session text[], s_incarnation bigint[], s_key text[], s_value text[], s_first bigint[], s_revision bigint[], s_until bigint[], v_user text[], v_key text[], v_value text[], v_first bigint[], v_revision bigint[], v_until bigint[], v_incarnation bigint[], v_sequence bigint[], w_key text[], w_value text[], w_first bigint[], w_revision bigint[], w_until bigint[], w_incarnation bigint[], w_sequence bigint[], p_feed boolean, OUT verdict text, OUT incarnations bigint[], OUT user_revisions bigint[], OUT app_revisions bigint[], OUT commit_times bigint[]) RETURNS record
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
    if h_bucket is not null then
        update session_updates o
        set bucket = h_bucket[i]
        from generate_subscripts(h_user, 1) as i
        cross join lateral (
            select l.ctid as at from session_updates l
            where l.app_name = p_app and l.user_id = h_user[i] and l.bucket = h_was_bucket[i] and l.id = h_session[i]
            offset 0) as l
        where o.ctid = l.at;
    end if;
    if cardinality(h_user) > 0 then
        update sessions s
        set revision = h_revision[i], commit_time = greatest(present, s.commit_time), update_time = h_time[i],
            update_time_number = h_time_number[i], active_day = present / 86400000000,
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
            insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, value)
            select p_app, s_user[i], s_session[i], s_incarnation[i], valid_to & (-1::bigint << (length(ltrim((valid_from # valid_to)::bit(64)::text, '0')) - 1)),
                s_key[i], valid_from, valid_to, held
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
    bucket bigint NOT NULL
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
    lease_all boolean DEFAULT false NOT NULL
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
	('rf6xivbwehd4', 'admin', '\x6b0d2859c36aff024abcb74d4a020783e6a363044f30ba863b4f80544859e990', 'admin', '["*"]', '["*"]', 1795959327776900, NULL, 1795959327966940, NULL),
	('l65kqd6gbsgl', 'ends', '\xc48068a620e79c2b81d8620e1450a89c0c667ff9a67054d19894a91829ff8a54', 'operator', '["*"]', '["*"]', 1795959328013240, 4102444800000000, NULL, NULL),
	('a2zisnyfpqnm', 'is revoked', NULL, 'agent', '["läger*","shop"]', '["*"]', 1795959328004039, NULL, NULL, 1795959328016177),
	('fivtgfaa732v', 'reads less', '\xac8b133cb1cc70d58409e312cda7e990726a6bf664575dfab32d6f3007911259', 'reader', '["shop"]', '["ada"]', 1795959327967937, NULL, NULL, NULL);
INSERT INTO public.app_log VALUES
	('shop', 'gone', 1, '[1.0]', 1795959328154853, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'returnDays', 1, '30', 1795959328154853, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'gone', 2, NULL, 1795959328213315, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'currency', 3, '"EUR"', 1795959328283941, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'count', 4, '2', 1795959328335265, 5183702582457958852, 2, NULL, NULL, NULL, NULL, NULL),
	('shop', 'by', 5, '"deleted"', 1795959328954364, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k0ä', 1, '0', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k10ä', 1, '1180591620717411303424', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k11ä', 1, '-170141183460469231731687303715884105729', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k12ä', 1, '1.7976931348623157e308', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k13ä', 1, '9007199254740993', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k14ä', 1, '"\u0000"', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k18ä', 1, '" ﻿�􏿿"', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k19ä', 1, '""', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k1ä', 1, '-0', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k22ä', 1, '[ ]', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k27ä', 1, 'true', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k28ä', 1, 'null', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k2ä', 1, '1', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k3ä', 1, '1.0', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k4ä', 1, '1E2', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k5ä', 1, '1e+2', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k6ä', 1, '-0.0', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k7ä', 1, '0e0', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k8ä', 1, '1e-400', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'k9ä', 1, '0.1000000000000000055511151231257827', 1795959329046868, 8878930081869066414, 3, NULL, NULL, NULL, NULL, NULL),
	('shop', 'last', 6, '"x"', 1795959329063007, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'last', 7, '"x"', 1795959329792965, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
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
	('shop', 'ada', 'files', 3424109645843216490, 'notes/summary', 2, 1, 2, NULL),
	('shop', 'ada', '', 0, 'user:address', 1, 0, 1, NULL),
	('shop', 'ada', 'files-2', 8643606986414954980, 'page.html', 4, 3, 4, 3),
	('shop', 'ada', 'files-2', 8643606986414954980, 'gone', 1, NULL, 0, NULL),
	('shop', 'bob', 'by-adk', 7171925186294937236, 'a', 1, 0, 1, NULL);
INSERT INTO public.artifact_places VALUES
	('shop', 'ada', 'files', 3424109645843216490, 2),
	('shop', 'ada', '', 0, 1),
	('shop', 'ada', 'files-2', 8643606986414954980, 4),
	('shop', 'bob', 'by-adk', 7171925186294937236, 1);
INSERT INTO public.artifact_spans VALUES
	('shop', 'ada', 'files-2', 8643606986414954980, 2, 'page.html', 1, 2, 0),
	('shop', 'ada', 'files-2', 8643606986414954980, 3, 'page.html', 2, 3, 2);
INSERT INTO public.artifact_state VALUES
	('shop', 'ada', 'files', 3424109645843216490, 'notes/summary', 0, 1),
	('shop', 'ada', 'files', 3424109645843216490, 'user:address', 0, 2),
	('shop', 'ada', 'files-2', 8643606986414954980, 'page.html', 3, 3),
	('shop', 'ada', 'files-2', 8643606986414954980, 'gone', 0, 4);
INSERT INTO public.artifacts VALUES
	('shop', 'ada', 'files', 3424109645843216490, 'notes/summary', 0, 5767185254052256786, 'text', 'text/plain', 14, '\x3e6c1234228eb2390fa98a214dc9021924b308e03bdff3c19be6e22d608173de', '01a22784-8ed1-76b4-8bc9-8a3c25fb6014', 1795959328470701, '{"n":1.0}', NULL, NULL, 1, 'save-1', '\x26419e28c76e7a79a0e9095791e4f0f2c2b8762a3394f5c51365c71cebeb2984'),
	('shop', 'ada', 'files', 3424109645843216490, 'notes/summary', 1, 3559799817942073250, 'bytes', 'a/b', 7, '\xa9d7a888389f7c168a45f653d59e171fd5188ca7a88de23a306070ab968e847d', '01a22784-8ee9-71e9-8236-77c7b0363112', 1795959328491625, NULL, '"n"', NULL, NULL, 'save-2', '\x139e072544fc51136ce7148e64c95e8c2bc71d474cfbeb1a793ea2274d6939a7'),
	('shop', 'ada', '', 0, 'user:address', 0, 5726853243714596272, 'uri', 'c/d', NULL, NULL, NULL, 1795959328496399, NULL, NULL, '"gs://a/b"', 2, 'save-3', '\x5f891a92236fab2f7566ef7a7a61b65a17eccf13c674360002bbfd995648a46b'),
	('shop', 'ada', 'files-2', 8643606986414954980, 'page.html', 0, 7359074666833314448, 'bytes', 'text/html', 8, '\xdb149029e10436bd960194453b725d04a252d8fdfdcac86d4eb2df7b85577b07', '01a22784-8f28-7566-b7d1-f76365c4bfba', 1795959328559887, NULL, NULL, NULL, 1, NULL, NULL),
	('shop', 'ada', 'files-2', 8643606986414954980, 'page.html', 1, 7504336501612284965, 'bytes', 'text/html', 8, '\x6e784353ea75228d9d65f28d704f77c2b294757ae6d8ca74ae74a459de564cfa', '01a22784-8f3a-7206-9321-88daa914758f', 1795959328572458, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'files-2', 8643606986414954980, 'page.html', 2, 6734441307144256793, 'bytes', 'text/html', 8, '\xf543c768a1419d4865f627460e7d4f974ae95606e4981f9b6e829d09299e7da8', '01a22784-8f3f-723c-8ed4-9cc63b2654f4', 1795959328579154, NULL, '"ü"', NULL, 2, NULL, NULL),
	('shop', 'ada', 'files-2', 8643606986414954980, 'page.html', 3, 6169838714346354299, 'bytes', 'text/html', 8, '\xdb149029e10436bd960194453b725d04a252d8fdfdcac86d4eb2df7b85577b07', '01a22784-8f28-7566-b7d1-f76365c4bfba', 1795959328603351, NULL, NULL, NULL, 3, NULL, NULL),
	('shop', 'bob', 'by-adk', 7171925186294937236, 'a', 0, 8394324332403823520, 'text', 'text/plain', 6, '\x9a2f5da45c096840a0ce25b489c89c3b91f4eca1054e71d338be0bcefa7d3a2a', '01a22784-90d6-76e6-8fd9-5b5ce0cef9aa', 1795959328986178, '{"m":"s"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.blob_chunks VALUES
	('shop', 'ada', '01a22784-8ed1-76b4-8bc9-8a3c25fb6014', 0, '\x6772c3bcc39f000a22476f747422'),
	('shop', 'ada', '01a22784-8ee9-71e9-8236-77c7b0363112', 0, '\x000102030405ff'),
	('shop', 'ada', '01a22784-8f28-7566-b7d1-f76365c4bfba', 0, '\x3c623e313c2f623e'),
	('shop', 'ada', '01a22784-8f3a-7206-9321-88daa914758f', 0, '\x3c623e323c2f623e'),
	('shop', 'ada', '01a22784-8f3f-723c-8ed4-9cc63b2654f4', 0, '\x3c623e333c2f623e'),
	('shop', 'bob', '01a22784-90d6-76e6-8fd9-5b5ce0cef9aa', 0, '\x62792041444b');
INSERT INTO public.blobs VALUES
	('shop', 'ada', '01a22784-8ed1-76b4-8bc9-8a3c25fb6014', 14, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', '01a22784-8ee9-71e9-8236-77c7b0363112', 7, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', '01a22784-8f3a-7206-9321-88daa914758f', 8, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', '01a22784-8f3f-723c-8ed4-9cc63b2654f4', 8, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', '01a22784-8f28-7566-b7d1-f76365c4bfba', 8, 2, NULL, NULL, NULL, NULL, NULL),
	('shop', 'bob', '01a22784-90d6-76e6-8fd9-5b5ce0cef9aa', 6, 1, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.blocked_users VALUES
	('shop', '\x971fd0bafbbf5f153669e4d8cfeb4a7b203573e0699f73c8f4b8d6ed1c9d1672');
INSERT INTO public.changes OVERRIDING SYSTEM VALUE VALUES
	('748', 1, 7, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795959328175911),
	('749', 2, 7, 'shop', NULL, NULL, NULL, 2, 2, NULL, 1795959328214382),
	('750', 3, 6, 'shop', 'zoe', NULL, NULL, 1, 1, NULL, 1795959328241787),
	('751', 4, 6, 'shop', 'ada', NULL, NULL, 1, 1, NULL, 1795959328257639),
	('752', 5, 1, 'shop', 'ada', 'files', 3424109645843216490, 0, 0, NULL, 1795959328278142),
	('753', 6, 1, 'shop', 'ada', 'order-1', 5183702582457958852, 0, 0, NULL, 1795959328290760),
	('753', 7, 6, 'shop', 'ada', NULL, NULL, 2, 2, NULL, 1795959328290760),
	('753', 8, 7, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1795959328290760),
	('754', 9, 2, 'shop', 'ada', 'order-1', 5183702582457958852, 1, 1, NULL, 1795959328296799),
	('754', 10, 6, 'shop', 'ada', NULL, NULL, 3, 3, NULL, 1795959328296799),
	('755', 11, 2, 'shop', 'ada', 'order-1', 5183702582457958852, 2, 3, NULL, 1795959328335265),
	('755', 12, 7, 'shop', NULL, NULL, NULL, 4, 4, NULL, 1795959328335265),
	('756', 13, 2, 'shop', 'ada', 'order-1', 5183702582457958852, 4, 4, NULL, 1795959328356720),
	('757', 14, 2, 'shop', 'ada', 'order-1', 5183702582457958852, 5, 5, NULL, 1795959328388330),
	('758', 15, 2, 'shop', 'ada', 'order-1', 5183702582457958852, 6, 6, NULL, 1795959328409553),
	('758', 16, 6, 'shop', 'ada', NULL, NULL, 4, 4, NULL, 1795959328409553),
	('759', 17, 1, 'shop', 'ada', 'order-1-again', 1511826212224677032, 0, 3, '{"sessionId":"order-1","revision":3}', 1795959328435538),
	('759', 18, 2, 'shop', 'ada', 'order-1-again', 1511826212224677032, 1, 3, NULL, 1795959328435538),
	('760', 19, 9, 'shop', 'ada', 'files', 3424109645843216490, 0, 0, '{"name":"notes/summary","version":0,"size":14}', 1795959328475709),
	('760', 20, 2, 'shop', 'ada', 'files', 3424109645843216490, 1, 1, NULL, 1795959328475709),
	('761', 21, 9, 'shop', 'ada', 'files', 3424109645843216490, 0, 0, '{"name":"notes/summary","version":1,"size":7}', 1795959328492768),
	('762', 22, 9, 'shop', 'ada', NULL, NULL, 0, 0, '{"name":"user:address","version":0}', 1795959328498157),
	('762', 23, 2, 'shop', 'ada', 'files', 3424109645843216490, 2, 2, NULL, 1795959328498157),
	('764', 24, 3, 'shop', 'ada', 'order-1-again', 1511826212224677032, 0, 0, '{"displayName":"forked","labels":{"a":"b"},"expireTime":4102444800.000000}', 1795959328507482),
	('765', 25, 2, 'shop', 'ada', 'order-1-again', 1511826212224677032, 4, 4, NULL, 1795959328537176),
	('765', 26, 6, 'shop', 'ada', NULL, NULL, 5, 5, NULL, 1795959328537176),
	('766', 27, 1, 'shop', 'ada', 'files-2', 8643606986414954980, 0, 0, NULL, 1795959328549375),
	('767', 28, 9, 'shop', 'ada', 'files-2', 8643606986414954980, 0, 0, '{"name":"page.html","version":0,"size":8}', 1795959328568415),
	('767', 29, 2, 'shop', 'ada', 'files-2', 8643606986414954980, 1, 1, NULL, 1795959328568415),
	('768', 30, 9, 'shop', 'ada', 'files-2', 8643606986414954980, 0, 0, '{"name":"page.html","version":1,"size":8}', 1795959328574176),
	('769', 31, 9, 'shop', 'ada', 'files-2', 8643606986414954980, 0, 0, '{"name":"page.html","version":2,"size":8}', 1795959328591802),
	('769', 32, 2, 'shop', 'ada', 'files-2', 8643606986414954980, 2, 2, NULL, 1795959328591802),
	('770', 33, 9, 'shop', 'ada', 'files-2', 8643606986414954980, 0, 0, '{"name":"page.html","version":3,"size":8}', 1795959328611118),
	('770', 34, 2, 'shop', 'ada', 'files-2', 8643606986414954980, 3, 3, NULL, 1795959328611118),
	('771', 35, 9, 'shop', 'ada', 'files-2', 8643606986414954980, 0, 0, '{"name":"gone","version":0,"size":1}', 1795959328631552),
	('771', 36, 2, 'shop', 'ada', 'files-2', 8643606986414954980, 4, 4, NULL, 1795959328631552),
	('772', 37, 10, 'shop', 'ada', 'files-2', 8643606986414954980, 0, 0, '{"name":"gone","reason":"deleted"}', 1795959328639964),
	('774', 38, 1, 'shop', 'ada', 'compacted', 4835913754572331377, 0, 0, NULL, 1795959328693163),
	('775', 39, 2, 'shop', 'ada', 'compacted', 4835913754572331377, 1, 1, NULL, 1795959328703618),
	('777', 40, 2, 'shop', 'ada', 'compacted', 4835913754572331377, 2, 2, NULL, 1795959328710825),
	('778', 41, 2, 'shop', 'ada', 'compacted', 4835913754572331377, 3, 3, NULL, 1795959328717671),
	('779', 42, 2, 'shop', 'ada', 'compacted', 4835913754572331377, 4, 4, NULL, 1795959328719550),
	('780', 43, 2, 'shop', 'ada', 'compacted', 4835913754572331377, 5, 5, NULL, 1795959328721610),
	('781', 44, 2, 'shop', 'ada', 'compacted', 4835913754572331377, 6, 6, NULL, 1795959328724298),
	('782', 45, 1, 'shop', 'ada', 'trimmed', 8227821569196299595, 0, 0, NULL, 1795959328756038),
	('784', 46, 2, 'shop', 'ada', 'trimmed', 8227821569196299595, 1, 1, NULL, 1795959328759867),
	('785', 47, 2, 'shop', 'ada', 'trimmed', 8227821569196299595, 2, 2, NULL, 1795959328763129),
	('786', 48, 2, 'shop', 'ada', 'trimmed', 8227821569196299595, 3, 3, NULL, 1795959328765707),
	('787', 49, 2, 'shop', 'ada', 'trimmed', 8227821569196299595, 4, 4, NULL, 1795959328772065),
	('788', 50, 2, 'shop', 'ada', 'trimmed', 8227821569196299595, 5, 5, NULL, 1795959328776242),
	('789', 51, 4, 'shop', 'ada', 'trimmed', 8227821569196299595, 0, 3, NULL, 1795959328791357),
	('791', 52, 1, 'shop', 'ada', 'moved', 5315692206481640840, 0, 0, NULL, 1795959328809003),
	('792', 53, 2, 'shop', 'ada', 'moved', 5315692206481640840, 1, 1, NULL, 1795959328813272),
	('793', 54, 2, 'shop', 'ada', 'moved', 5315692206481640840, 2, 2, NULL, 1795959328824158),
	('794', 55, 2, 'shop', 'ada', 'moved', 5315692206481640840, 3, 3, NULL, 1795959328828382),
	('795', 56, 2, 'shop', 'ada', 'moved', 5315692206481640840, 4, 4, NULL, 1795959328836779),
	('796', 57, 2, 'shop', 'ada', 'moved', 5315692206481640840, 5, 5, NULL, 1795959328839210),
	('797', 58, 4, 'shop', 'ada', 'moved', 5315692206481640840, 0, 3, NULL, 1795959328851838),
	('798', 59, 1, 'shop', 'ada', 'redacted', 5841841522286655788, 0, 0, NULL, 1795959328856413),
	('799', 60, 2, 'shop', 'ada', 'redacted', 5841841522286655788, 1, 1, NULL, 1795959328858710),
	('799', 61, 6, 'shop', 'ada', NULL, NULL, 6, 6, NULL, 1795959328858710),
	('800', 62, 11, 'shop', 'ada', 'redacted', 5841841522286655788, 1, 1, NULL, 1795959328895091),
	('801', 63, 2, 'shop', 'ada', 'redacted', 5841841522286655788, 2, 2, NULL, 1795959328899866),
	('801', 64, 6, 'shop', 'ada', NULL, NULL, 7, 7, NULL, 1795959328899866),
	('802', 65, 11, 'shop', 'ada', 'redacted', 5841841522286655788, 2, 2, NULL, 1795959328949879),
	('802', 66, 2, 'shop', 'ada', 'redacted', 5841841522286655788, 3, 3, NULL, 1795959328949879),
	('802', 67, 6, 'shop', 'ada', NULL, NULL, 8, 8, NULL, 1795959328949879),
	('804', 68, 1, 'shop', 'ada', 'deleted', 4384408944601807981, 0, 0, NULL, 1795959328963844),
	('804', 69, 7, 'shop', NULL, NULL, NULL, 5, 5, NULL, 1795959328963844),
	('805', 70, 5, 'shop', 'ada', 'deleted', 4384408944601807981, 0, 0, 'deleted', 1795959328971255),
	('806', 71, 1, 'shop', 'bob', 'by-adk', 7171925186294937236, 0, 0, NULL, 1795959328981538),
	('806', 72, 6, 'shop', 'bob', NULL, NULL, 1, 1, NULL, 1795959328981538),
	('807', 73, 9, 'shop', 'bob', 'by-adk', 7171925186294937236, 0, 0, '{"name":"a","version":0,"size":6}', 1795959328988410),
	('808', 74, 5, 'shop', 'ada', 'moved', 5315692206481640840, 0, 0, 'deleted', 1795959329001572),
	('810', 75, 1, 'shop', 'ada', 'moved', 5624035846885264767, 0, 5, NULL, 1795959329012656),
	('810', 76, 2, 'shop', 'ada', 'moved', 5624035846885264767, 4, 5, NULL, 1795959329012656),
	('812', 77, 1, 'copy', 'ada', 'order-1', 323753374915069907, 0, 6, NULL, 1795959329021975),
	('812', 78, 2, 'copy', 'ada', 'order-1', 323753374915069907, 1, 6, NULL, 1795959329021975),
	('813', 79, 1, 'läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 0, 0, NULL, 1795959329023827),
	('814', 80, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 1, 1, NULL, 1795959329026593),
	('816', 81, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 2, 2, NULL, 1795959329034877),
	('816', 82, 6, 'läger/1 ü', 'ß ø@例え', NULL, NULL, 1, 1, NULL, 1795959329034877),
	('817', 83, 2, 'läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 3, 3, NULL, 1795959329046868),
	('817', 84, 7, 'läger/1 ü', NULL, NULL, NULL, 1, 1, NULL, 1795959329046868),
	('818', 88, 7, 'shop', NULL, NULL, NULL, 6, 6, NULL, 1795959329070206),
	('818', 85, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1795959329070206),
	('818', 86, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795959329070206),
	('818', 87, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795959329070206),
	('819', 89, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22784-9131-7138-9aaa-ed69a32570e9","subject":"971fd0bafbbf5f153669e4d8cfeb4a7b203573e0699f73c8f4b8d6ed1c9d1672"}', 1795959329094073),
	('825', 93, 7, 'shop', NULL, NULL, NULL, 7, 7, NULL, 1795959329796859),
	('825', 90, 0, 'shop', NULL, NULL, NULL, 0, 1, NULL, 1795959329796859),
	('825', 91, 0, 'shop', NULL, NULL, NULL, 1, 1, NULL, 1795959329796859),
	('825', 92, 0, 'shop', NULL, NULL, NULL, 3, 3, NULL, 1795959329796859),
	('826', 94, 8, 'shop', NULL, NULL, NULL, 0, 0, '{"erasureId":"01a22784-9407-7352-8559-4d5582369d0c","subject":"31a388a3cf57f7af56909b1e06efc8dd3b011b154fef140ec7d2ec7b27bb51bd"}', 1795959329806434);
INSERT INTO public.effective_views VALUES
	('shop', 'ada', 'compacted', 4835913754572331377, 5, '{"covered":[[1,3]],"needed":[],"unsure":false,"kept":[[5,4607182418800017408,4613937818241073152,{"scope":null,"branch":null,"node":false},5]]}');
INSERT INTO public.erased_revisions VALUES
	('shop', 4);
INSERT INTO public.erasure_counts VALUES
	('shop', 2);
INSERT INTO public.erasure_secrets VALUES
	('salt', '\x4ab49745b1fb4c508747d3974c47696d8725729d12d84b89a4dcf7857e446baf'),
	('receipt', '\x3051020101300506032b657004220420f026ec380f8caeb8e3b39d8bb4cfba5ded88a8a7dd6d5fe6065e82ed2c1870b1812100913ff918eea089f127289d7cdfceace93e96f7d6c6eb7754775c5580975e2403');
INSERT INTO public.erasures VALUES
	('01a22784-9131-7138-9aaa-ed69a32570e9', 'shop', '\x971fd0bafbbf5f153669e4d8cfeb4a7b203573e0699f73c8f4b8d6ed1c9d1672', '\x30517651a9658bdce1a2323cb6ea931505ed2169f67a3bbfb8822c045d27d4aa', 'case 17', true, true, 1795959329074162, 1795959329764326, 1, 1, 2, 1, 0, '{"id":"01a22784-9131-7138-9aaa-ed69a32570e9","appName":"shop","subject":"971fd0bafbbf5f153669e4d8cfeb4a7b203573e0699f73c8f4b8d6ed1c9d1672","reference":"case 17","requestTime":1795959329.074162,"doneTime":1795959329.764326,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":true,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens","a keyed hash of app and user by which the user is refused","removed rows in the files of PostgreSQL, until their space is used again or the tables are written anew by VACUUM FULL or pg_repack: a plain VACUUM overwrites nothing","what the write-ahead log of PostgreSQL, its archive and its standbys keep"],"instance":"d721160fa6c4e62775117c0f456bc466","keyId":"e4d8748b68e1fabe","signature":"oIa5C9aO7vv2CNoCRyzOtLPl1imT-_e6zXRHoIs4uMSWwomPgEebGigSKvg8oW0l1StY7TJssh-9_qv3HAh4AQ"}'),
	('01a22784-9407-7352-8559-4d5582369d0c', 'shop', '\x31a388a3cf57f7af56909b1e06efc8dd3b011b154fef140ec7d2ec7b27bb51bd', NULL, 'case 18', NULL, false, 1795959329799607, 1795959329930162, 1, 1, 2, 1, 0, '{"id":"01a22784-9407-7352-8559-4d5582369d0c","appName":"shop","subject":"31a388a3cf57f7af56909b1e06efc8dd3b011b154fef140ec7d2ec7b27bb51bd","reference":"case 18","requestTime":1795959329.799607,"doneTime":1795959329.930162,"counts":{"sessions":1,"events":1,"stateKeys":2,"changes":1,"artifacts":0},"blocked":false,"remains":["app state, also what sessions of the user wrote to it","backups from before, until the ledger of erasures is replayed on what is restored from them","exports from before","names in the access log, and in API keys that were made for the user","a keyed hash of app and user in the ledger of erasures, and with the count of revoked tokens","removed rows in the files of PostgreSQL, until their space is used again or the tables are written anew by VACUUM FULL or pg_repack: a plain VACUUM overwrites nothing","what the write-ahead log of PostgreSQL, its archive and its standbys keep"],"instance":"d721160fa6c4e62775117c0f456bc466","keyId":"e4d8748b68e1fabe","signature":"m9kjTwhIsCprwgWJDm4ae9S4fbLukGzqTrMnB5px3DjD-dR1WVm_b3KVfyieS4TgXWrVliruNANGdNDavWx6DA"}');
INSERT INTO public.events VALUES
	('shop', 'ada', 'order-1', 5183702582457958852, 1, 'e1', 1500000, 1795959328296799, 'user', 'i1', NULL, 3, 3, NULL, '\x435b38a6c0dfaa42f2382dbe95df21d1291117c4ca583dd775647f0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL),
	('shop', 'ada', 'order-1', 5183702582457958852, 2, 'e2', 1795959328332386, 1795959328335265, 'agent', 'i1', 'a.b', 3, 4, NULL, '\x08ec320bc833f1099984eecceb18bf53738a8fc7b156c83f0de7654ff7bec27c', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1795959328.332386}', NULL),
	('shop', 'ada', 'order-1', 5183702582457958852, 3, 'e3', 1795959328332386, 1795959328335265, 'agent', 'i2', NULL, 3, 4, NULL, '\xd3de25700664b6208ddd18cb3bb6d49390d95970d4d73a683b895ed105536cb7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1795959328.332386}', NULL),
	('shop', 'ada', 'order-1', 5183702582457958852, 4, 'rewind-1', 1795959328346715, 1795959328354579, 'user', 'rewind-01a22784-8e5a-7642-8a95-d20b313090be', NULL, 3, 4, 2, '\x73edf3541e94ce190e345e112fc8201a355e230e7b0085e78b251a6b02cede7f', '{"author":"user","invocationId":"rewind-01a22784-8e5a-7642-8a95-d20b313090be","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1795959328.346715}', NULL),
	('shop', 'ada', 'order-1', 5183702582457958852, 5, 'put-1', 1795959328386596, 1795959328388330, 'user', '', NULL, 3, 4, NULL, '\x092f58824834ccfbee5844fcf7c78c5bf2b2628cdd2601e3fdbe2ad78b3a4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1795959328.386596}', NULL),
	('shop', 'ada', 'order-1', 5183702582457958852, 6, 'patch-1', 1795959328403218, 1795959328407031, 'agent', '', NULL, 4, 4, NULL, '\x6eba5e92b5a282ebc5d1c847bfc06332abc5a8be554aa8accf3d24c8e88e37d5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1795959328.403218}', NULL),
	('shop', 'ada', 'order-1-again', 1511826212224677032, 1, 'e1', 1500000, 1795959328296799, 'user', 'i1', NULL, 3, 3, NULL, '\x435b38a6c0dfaa42f2382dbe95df21d1291117c4ca583dd775647f0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL),
	('shop', 'ada', 'order-1-again', 1511826212224677032, 2, 'e2', 1795959328332386, 1795959328335265, 'agent', 'i1', 'a.b', 3, 4, NULL, '\x08ec320bc833f1099984eecceb18bf53738a8fc7b156c83f0de7654ff7bec27c', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1795959328.332386}', NULL),
	('shop', 'ada', 'order-1-again', 1511826212224677032, 3, 'e3', 1795959328332386, 1795959328335265, 'agent', 'i2', NULL, 3, 4, NULL, '\xd3de25700664b6208ddd18cb3bb6d49390d95970d4d73a683b895ed105536cb7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1795959328.332386}', NULL),
	('shop', 'ada', 'files', 3424109645843216490, 1, '01a22784-8ed1-76b4-8bc9-8a3d7fbe895b', 1795959328465944, 1795959328472279, 'user', '', NULL, 4, 4, NULL, '\xd2e2e5c0f9aed3095775c9c8f1bc1925fbceb4704466f38b9e2a05f080ed24b6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"notes/summary":0}},"id":"01a22784-8ed1-76b4-8bc9-8a3d7fbe895b","timestamp":1795959328.465944}', NULL),
	('shop', 'ada', 'files', 3424109645843216490, 2, '01a22784-8eee-7263-8865-87dab22a9137', 1795959328494318, 1795959328497211, 'user', '', NULL, 4, 4, NULL, '\x601ac91dd78257428aff5e52ef0cf956333ce74ff62ff6f9c0ee2174f1aeebc6', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"user:address":0}},"id":"01a22784-8eee-7263-8865-87dab22a9137","timestamp":1795959328.494318}', NULL),
	('shop', 'ada', 'order-1-again', 1511826212224677032, 4, 'own', 1795959328530972, 1795959328537176, 'user', '', NULL, 5, 4, NULL, '\xabac0094f067ca3a080374546a8f16559889f3d0c2db27c80ec48ca855edf5d3', '{"id":"own","author":"user","actions":{"stateDelta":{"user:n":7}},"timestamp":1795959328.530972}', NULL),
	('shop', 'ada', 'files-2', 8643606986414954980, 1, '01a22784-8f28-7566-b7d1-f764670aea58', 1795959328552830, 1795959328560899, 'user', '', NULL, 5, 4, NULL, '\x2e8cc7579cfff08786ce4c8806bd956e831f50e37ddcfefe584b2d0e6ea27985', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":0}},"id":"01a22784-8f28-7566-b7d1-f764670aea58","timestamp":1795959328.552830}', NULL),
	('shop', 'ada', 'files-2', 8643606986414954980, 2, '01a22784-8f40-71ae-8ee2-9230c178156f', 1795959328576023, 1795959328581117, 'user', '', NULL, 5, 4, NULL, '\x80d48eae81bbe94071b8b31400f3c11bcb79002cd30fa2caf13aa738e46633c2', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"page.html":2}},"id":"01a22784-8f40-71ae-8ee2-9230c178156f","timestamp":1795959328.576023}', NULL),
	('shop', 'ada', 'files-2', 8643606986414954980, 3, '01a22784-8f52-76a6-ab3f-573c7939111f', 1795959328594169, 1795959328598245, 'user', 'rewind-01a22784-8f52-76a6-ab3f-573db655cbbf', NULL, 5, 4, 1, '\x360a09adff57dff6a4aa85ca781f616f91648fca1a3407ca184293c15d29cccd', '{"author":"user","invocationId":"rewind-01a22784-8f52-76a6-ab3f-573db655cbbf","actions":{"stateDelta":{},"rewindBeforeInvocationId":"","artifactDelta":{"page.html":3}},"customMetadata":{"rewindToRevision":1},"id":"01a22784-8f52-76a6-ab3f-573c7939111f","timestamp":1795959328.594169}', NULL),
	('shop', 'ada', 'files-2', 8643606986414954980, 4, '01a22784-8f66-7619-9b1a-8c8b6fcf67a8', 1795959328614616, 1795959328628399, 'user', '', NULL, 5, 4, NULL, '\x65f05c4408d5aecebea0ad84224d538baea2b514d41885dc4a2462ece115d210', '{"author":"user","invocationId":"","actions":{"stateDelta":{},"artifactDelta":{"gone":0}},"id":"01a22784-8f66-7619-9b1a-8c8b6fcf67a8","timestamp":1795959328.614616}', NULL),
	('shop', 'ada', 'compacted', 4835913754572331377, 1, 'c1', 1000000, 1795959328703618, 'user', '', NULL, 5, 4, NULL, '\x249cd456f8a74212a410a302a901b41d830c2659e48737e6ae21d7cf0b6aff57', '{"id":"c1","author":"user","timestamp":1,"content":{"parts":[{"text":"1"}]}}', NULL),
	('shop', 'ada', 'compacted', 4835913754572331377, 2, 'c2', 2000000, 1795959328710825, 'user', '', NULL, 5, 4, NULL, '\xf680371d2b6e2f9d8a0fdeafe556555b5df34cb1fd66a522ff0a8abaee264b2d', '{"id":"c2","author":"user","timestamp":2,"content":{"parts":[{"text":"2"}]}}', NULL),
	('shop', 'ada', 'compacted', 4835913754572331377, 3, 'c3', 3000000, 1795959328717671, 'user', '', NULL, 5, 4, NULL, '\xe49233c089b6757e03e35240335e71790f5c5efe2bb2f209d847fcc8719f6d55', '{"id":"c3","author":"user","timestamp":3,"content":{"parts":[{"text":"3"}]}}', NULL),
	('shop', 'ada', 'compacted', 4835913754572331377, 4, 'c4', 4000000, 1795959328719550, 'user', '', NULL, 5, 4, NULL, '\xbe10d376ffb0e7aeeb33fbe5f68c72675b04dc9a8e0541bbe6cd7690ca245dd4', '{"id":"c4","author":"user","timestamp":4,"content":{"parts":[{"text":"4"}]}}', NULL),
	('shop', 'ada', 'compacted', 4835913754572331377, 5, 'sum', 5000000, 1795959328721610, 'agent', '', NULL, 5, 4, -1, '\x2585b1d6369dd3b1f387f46b7886eacf90a8acf9098174bc4bb3bac18b6ad881', '{"id":"sum","author":"agent","timestamp":5,"actions":{"compaction":{"startTimestamp":1,"endTimestamp":3,"compactedContent":{"role":"model","parts":[{"text":"1 to 3"}]}}}}', NULL),
	('shop', 'ada', 'compacted', 4835913754572331377, 6, 'last', 6000000, 1795959328724298, 'user', '', NULL, 5, 4, NULL, '\x6e30ab5a008548dd04251542838f5591806078ad17b61289a8edf5f1f50cb1a6', '{"id":"last","author":"user","timestamp":6}', NULL),
	('shop', 'ada', 'trimmed', 8227821569196299595, 4, 't4', 1795959328768164, 1795959328772065, 'a', '', NULL, 5, 4, NULL, '\x647278d9f4a40649cf88d24f234524afa68425efc8862d9dbb6e190b074b277a', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1795959328.768164}', NULL),
	('shop', 'ada', 'trimmed', 8227821569196299595, 5, 't5', 1795959328775670, 1795959328776242, 'a', '', NULL, 5, 4, NULL, '\x8b8c18622a99b65602d693776167ab69499e522b6f9deb569a835f5089ce23b7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1795959328.775670}', NULL),
	('shop', 'ada', 'trimmed', 8227821569196299595, 1, 't1', 1795959328759264, 1795959328759867, '', '', NULL, 5, 4, NULL, '\xff2d88c66f77e0238b99e82d83e7db0c21edda552cc80296614c3df02b01ba8c', '', NULL),
	('shop', 'ada', 'trimmed', 8227821569196299595, 2, 't2', 1795959328762621, 1795959328763129, '', '', NULL, 5, 4, NULL, '\x6a790d825986340576ac3f9489fe714caaf96f13f8e290114cc4412b2bda686b', '', NULL),
	('shop', 'ada', 'trimmed', 8227821569196299595, 3, 't3', 1795959328765043, 1795959328765707, '', '', NULL, 5, 4, NULL, '\x328d69fb0e1172dcb5ac25efe82cb7e226756e7723e10af118220af799dd1756', '', NULL),
	('shop', 'ada', 'redacted', 5841841522286655788, 1, 'kept', 1795959328857932, 1795959328858710, 'user', '', NULL, 6, 4, NULL, '\x0000000000000000000000000000000000000000000000000000000000000000', '{"id":"kept","timestamp":1795959328.857932,"author":"user","actions":{"stateDelta":{"kept":"hunter2","user:kept":"hunter2"}},"redacted":{"time":1795959328.865971,"reason":"a password"}}', 1),
	('shop', 'ada', 'redacted', 5841841522286655788, 3, '01a22784-9086-756e-955b-8d76f168c9c7', 1795959328902347, 1795959328918802, 'user', '', NULL, 8, 4, NULL, '\x8c372d64e780678db298d472c65643bbac5ab92e04588c224c9ea5e5e0c7ede4', '{"id":"01a22784-9086-756e-955b-8d76f168c9c7","author":"user","invocationId":"","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"timestamp":1795959328.902347}', -2),
	('shop', 'ada', 'redacted', 5841841522286655788, 2, 'removed', 1795959328897530, 1795959328899866, 'user', '', NULL, 7, 4, NULL, '\x0000000000000000000000000000000000000000000000000000000000000000', '{"id":"removed","timestamp":1795959328.897530,"author":"user","actions":{"stateDelta":{},"stateOps":[{"op":"remove","key":"removed"},{"op":"remove","key":"user:removed"}]},"redacted":{"time":1795959328.902596,"reason":"a password"}}', 2),
	('shop', 'ada', 'moved', 5624035846885264767, 1, 't1', 1795959328812770, 1795959328813272, '', '', NULL, 5, 4, NULL, '\xff2d88c66f77e0238b99e82d83e7db0c21edda552cc80296614c3df02b01ba8c', '', NULL),
	('shop', 'ada', 'moved', 5624035846885264767, 2, 't2', 1795959328818396, 1795959328824158, '', '', NULL, 5, 4, NULL, '\x6a790d825986340576ac3f9489fe714caaf96f13f8e290114cc4412b2bda686b', '', NULL),
	('shop', 'ada', 'moved', 5624035846885264767, 3, 't3', 1795959328827865, 1795959328828382, '', '', NULL, 5, 4, NULL, '\x328d69fb0e1172dcb5ac25efe82cb7e226756e7723e10af118220af799dd1756', '', NULL),
	('shop', 'ada', 'moved', 5624035846885264767, 4, 't4', 1795959328836145, 1795959328836779, 'a', '', NULL, 5, 4, NULL, '\x647278d9f4a40649cf88d24f234524afa68425efc8862d9dbb6e190b074b277a', '{"id":"t4","author":"a","actions":{"stateDelta":{"k":4,"k4":4}},"timestamp":1795959328.836145}', NULL),
	('shop', 'ada', 'moved', 5624035846885264767, 5, 't5', 1795959328838651, 1795959328839210, 'a', '', NULL, 5, 4, NULL, '\x8b8c18622a99b65602d693776167ab69499e522b6f9deb569a835f5089ce23b7', '{"id":"t5","author":"a","actions":{"stateDelta":{"k":5,"k5":5}},"timestamp":1795959328.838651}', NULL),
	('copy', 'ada', 'order-1', 323753374915069907, 1, 'e1', 1500000, 1795959328296799, 'user', 'i1', NULL, 3, 3, NULL, '\x435b38a6c0dfaa42f2382dbe95df21d1291117c4ca583dd775647f0466668673', '{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}', NULL),
	('copy', 'ada', 'order-1', 323753374915069907, 2, 'e2', 1795959328332386, 1795959328335265, 'agent', 'i1', 'a.b', 3, 4, NULL, '\x08ec320bc833f1099984eecceb18bf53738a8fc7b156c83f0de7654ff7bec27c', '{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]},"list":[-0.0],"app:count":2},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]},"timestamp":1795959328.332386}', NULL),
	('copy', 'ada', 'order-1', 323753374915069907, 3, 'e3', 1795959328332386, 1795959328335265, 'agent', 'i2', NULL, 3, 4, NULL, '\xd3de25700664b6208ddd18cb3bb6d49390d95970d4d73a683b895ed105536cb7', '{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]},"timestamp":1795959328.332386}', NULL),
	('copy', 'ada', 'order-1', 323753374915069907, 4, 'rewind-1', 1795959328346715, 1795959328354579, 'user', 'rewind-01a22784-8e5a-7642-8a95-d20b313090be', NULL, 3, 4, 2, '\x73edf3541e94ce190e345e112fc8201a355e230e7b0085e78b251a6b02cede7f', '{"author":"user","invocationId":"rewind-01a22784-8e5a-7642-8a95-d20b313090be","actions":{"stateDelta":{"n":1E2,"topic":"return"},"rewindBeforeInvocationId":"i2"},"id":"rewind-1","timestamp":1795959328.346715}', NULL),
	('copy', 'ada', 'order-1', 323753374915069907, 5, 'put-1', 1795959328386596, 1795959328388330, 'user', '', NULL, 3, 4, NULL, '\x092f58824834ccfbee5844fcf7c78c5bf2b2628cdd2601e3fdbe2ad78b3a4527', '{"id":"put-1","author":"user","invocationId":"","actions":{"stateDelta":{"refund":{"amount": 39.90, "currency": "EUR"}}},"timestamp":1795959328.386596}', NULL),
	('copy', 'ada', 'order-1', 323753374915069907, 6, 'patch-1', 1795959328403218, 1795959328407031, 'agent', '', NULL, 4, 4, NULL, '\x6eba5e92b5a282ebc5d1c847bfc06332abc5a8be554aa8accf3d24c8e88e37d5', '{"id":"patch-1","author":"agent","invocationId":"","actions":{"stateDelta":{"step":"refund","user:returns":1},"stateOps":[{"op":"increment","key":"user:returns","value":1}]},"timestamp":1795959328.403218}', NULL),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 1, 'e/ä', 1795959329025952, 1795959329026593, 'agent', '', NULL, 0, 0, NULL, '\xe78cfb5291353133438166f3e9e1f7da2539e819856de2d160dea064905b1f7c', '{"id":"e/ä","author":"agent","actions":{"stateDelta":{ "k0ä": 0 , "k1ä": -0 , "k2ä": 1 , "k3ä": 1.0 , "k4ä": 1E2 , "k5ä": 1e+2 , "k6ä": -0.0 , "k7ä": 0e0 , "k8ä": 1e-400 , "k9ä": 0.1000000000000000055511151231257827 , "k10ä": 1180591620717411303424 , "k11ä": -170141183460469231731687303715884105729 , "k12ä": 1.7976931348623157e308 , "k13ä": 9007199254740993 , "k14ä": "\u0000" , "k15ä": "a\u0000b\u001f\u007f" , "k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "k17ä": "\/ / \" \\ \b\f\n\r\t" , "k18ä": " ﻿�􏿿" , "k19ä": "" , "k20ä": {"b":1,"a":2,"":3,"B":4} , "k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "k22ä": [ ] , "k23ä": {"$serde_json::private::RawValue": "[1]"} , "k24ä": {"$serde_json::private::Number": "1"} , "k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "k26ä": {"__proto__":1,"constructor":{"x":null}} , "k27ä": true , "k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1795959329.025952}', NULL),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 2, 'user:e/ä', 1795959329031247, 1795959329034877, 'agent', '', NULL, 1, 0, NULL, '\xaaeb3f9fd8c682c65552b5f40d0c01c5e8880c8b8cc9650f2751abeaffb0268b', '{"id":"user:e/ä","author":"agent","actions":{"stateDelta":{ "user:k0ä": 0 , "user:k1ä": -0 , "user:k2ä": 1 , "user:k3ä": 1.0 , "user:k4ä": 1E2 , "user:k5ä": 1e+2 , "user:k6ä": -0.0 , "user:k7ä": 0e0 , "user:k8ä": 1e-400 , "user:k9ä": 0.1000000000000000055511151231257827 , "user:k10ä": 1180591620717411303424 , "user:k11ä": -170141183460469231731687303715884105729 , "user:k12ä": 1.7976931348623157e308 , "user:k13ä": 9007199254740993 , "user:k14ä": "\u0000" , "user:k15ä": "a\u0000b\u001f\u007f" , "user:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "user:k17ä": "\/ / \" \\ \b\f\n\r\t" , "user:k18ä": " ﻿�􏿿" , "user:k19ä": "" , "user:k20ä": {"b":1,"a":2,"":3,"B":4} , "user:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "user:k22ä": [ ] , "user:k23ä": {"$serde_json::private::RawValue": "[1]"} , "user:k24ä": {"$serde_json::private::Number": "1"} , "user:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "user:k26ä": {"__proto__":1,"constructor":{"x":null}} , "user:k27ä": true , "user:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1795959329.031247}', NULL),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 3, 'app:e/ä', 1795959329045475, 1795959329046868, 'agent', '', NULL, 1, 1, NULL, '\x7c243795615b1d07ed39e8c4affb45b944de62be3e14b9683ecfefe79fb05006', '{"id":"app:e/ä","author":"agent","actions":{"stateDelta":{ "app:k0ä": 0 , "app:k1ä": -0 , "app:k2ä": 1 , "app:k3ä": 1.0 , "app:k4ä": 1E2 , "app:k5ä": 1e+2 , "app:k6ä": -0.0 , "app:k7ä": 0e0 , "app:k8ä": 1e-400 , "app:k9ä": 0.1000000000000000055511151231257827 , "app:k10ä": 1180591620717411303424 , "app:k11ä": -170141183460469231731687303715884105729 , "app:k12ä": 1.7976931348623157e308 , "app:k13ä": 9007199254740993 , "app:k14ä": "\u0000" , "app:k15ä": "a\u0000b\u001f\u007f" , "app:k16ä": "\ud83d\ude00 😀 \u00e9 é e\u0301" , "app:k17ä": "\/ / \" \\ \b\f\n\r\t" , "app:k18ä": " ﻿�􏿿" , "app:k19ä": "" , "app:k20ä": {"b":1,"a":2,"":3,"B":4} , "app:k21ä": { "a" : [ 1 ,	2 ] ,
 "b":{} } , "app:k22ä": [ ] , "app:k23ä": {"$serde_json::private::RawValue": "[1]"} , "app:k24ä": {"$serde_json::private::Number": "1"} , "app:k25ä": {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3} , "app:k26ä": {"__proto__":1,"constructor":{"x":null}} , "app:k27ä": true , "app:k28ä": null }},"content":{"parts":[{"text":"😀"}]},"x":[0, -0, 1, 1.0, 1E2, 1e+2, -0.0, 0e0, 1e-400, 0.1000000000000000055511151231257827, 1180591620717411303424, -170141183460469231731687303715884105729, 1.7976931348623157e308, 9007199254740993, "\u0000", "a\u0000b\u001f\u007f", "\ud83d\ude00 😀 \u00e9 é e\u0301", "\/ / \" \\ \b\f\n\r\t", " ﻿�􏿿", "", {"b":1,"a":2,"":3,"B":4}, { "a" : [ 1 ,	2 ] ,
 "b":{} }, [ ], {"$serde_json::private::RawValue": "[1]"}, {"$serde_json::private::Number": "1"}, {"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}, {"__proto__":1,"constructor":{"x":null}}, true, null],"timestamp":1795959329.045475}', NULL);
INSERT INTO public.policies VALUES
	('shop', 1, '{"sessions":{"maxAge":"36500d"},"artifacts":{"keepVersions":50},"limits":{"sessionsPerUser":1000,"eventsPerSession":1000}}', 1000, 1000, NULL, 0),
	('none', 2, NULL, NULL, NULL, NULL, 0);
INSERT INTO public.session_spans VALUES
	('shop', 'ada', 'order-1', 5183702582457958852, 1, 'n', 0, 1, '1.10'),
	('shop', 'ada', 'order-1', 5183702582457958852, 2, 'n', 1, 3, '1E2'),
	('shop', 'ada', 'order-1', 5183702582457958852, 2, 'topic', 0, 3, '"return"'),
	('shop', 'ada', 'order-1', 5183702582457958852, 4, 'n', 3, 4, 'null'),
	('shop', 'ada', 'order-1-again', 1511826212224677032, 1, 'n', 0, 1, '1.10'),
	('shop', 'ada', 'order-1-again', 1511826212224677032, 2, 'n', 1, 3, '1E2'),
	('shop', 'ada', 'order-1-again', 1511826212224677032, 2, 'topic', 0, 3, '"return"'),
	('shop', 'ada', 'trimmed', 8227821569196299595, 4, 'k', 3, 4, '3'),
	('shop', 'ada', 'trimmed', 8227821569196299595, 5, 'k', 4, 5, '4'),
	('shop', 'ada', 'moved', 5624035846885264767, 4, 'k', 3, 4, '3'),
	('shop', 'ada', 'moved', 5624035846885264767, 5, 'k', 4, 5, '4'),
	('copy', 'ada', 'order-1', 323753374915069907, 1, 'n', 0, 1, '1.10'),
	('copy', 'ada', 'order-1', 323753374915069907, 2, 'topic', 0, 3, '"return"'),
	('copy', 'ada', 'order-1', 323753374915069907, 2, 'n', 1, 3, '1E2'),
	('copy', 'ada', 'order-1', 323753374915069907, 4, 'n', 3, 4, 'null');
INSERT INTO public.session_state VALUES
	('shop', 'ada', 'order-1', 5183702582457958852, 'big', '1180591620717411303424', 1),
	('shop', 'ada', 'order-1', 5183702582457958852, 'neg', '-0', 1),
	('shop', 'ada', 'order-1', 5183702582457958852, 'item', '{"b" : 1,"a":[ ]}', 2),
	('shop', 'ada', 'order-1', 5183702582457958852, 'list', '[-0.0]', 2),
	('shop', 'ada', 'order-1', 5183702582457958852, 'n', '1E2', 4),
	('shop', 'ada', 'order-1', 5183702582457958852, 'topic', '"return"', 4),
	('shop', 'ada', 'order-1', 5183702582457958852, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5),
	('shop', 'ada', 'order-1', 5183702582457958852, 'step', '"refund"', 6),
	('shop', 'ada', 'order-1-again', 1511826212224677032, 'big', '1180591620717411303424', 1),
	('shop', 'ada', 'order-1-again', 1511826212224677032, 'item', '{"b" : 1,"a":[ ]}', 2),
	('shop', 'ada', 'order-1-again', 1511826212224677032, 'list', '[-0.0]', 2),
	('shop', 'ada', 'order-1-again', 1511826212224677032, 'neg', '-0', 1),
	('shop', 'ada', 'order-1-again', 1511826212224677032, 'n', 'null', 3),
	('shop', 'ada', 'files-2', 8643606986414954980, 'k', '1', 0),
	('shop', 'ada', 'trimmed', 8227821569196299595, 'k1', '1', 1),
	('shop', 'ada', 'trimmed', 8227821569196299595, 'k2', '2', 2),
	('shop', 'ada', 'trimmed', 8227821569196299595, 'k3', '3', 3),
	('shop', 'ada', 'trimmed', 8227821569196299595, 'k4', '4', 4),
	('shop', 'ada', 'trimmed', 8227821569196299595, 'k', '5', 5),
	('shop', 'ada', 'trimmed', 8227821569196299595, 'k5', '5', 5),
	('shop', 'ada', 'redacted', 5841841522286655788, 'kept', '"hunter2"', 1),
	('shop', 'bob', 'by-adk', 7171925186294937236, 'topic', '"warranty"', 0),
	('shop', 'ada', 'moved', 5624035846885264767, 'k', '5', 5),
	('shop', 'ada', 'moved', 5624035846885264767, 'k1', '1', 3),
	('shop', 'ada', 'moved', 5624035846885264767, 'k2', '2', 3),
	('shop', 'ada', 'moved', 5624035846885264767, 'k3', '3', 3),
	('shop', 'ada', 'moved', 5624035846885264767, 'k4', '4', 4),
	('shop', 'ada', 'moved', 5624035846885264767, 'k5', '5', 5),
	('copy', 'ada', 'order-1', 323753374915069907, 'big', '1180591620717411303424', 1),
	('copy', 'ada', 'order-1', 323753374915069907, 'item', '{"b" : 1,"a":[ ]}', 2),
	('copy', 'ada', 'order-1', 323753374915069907, 'list', '[-0.0]', 2),
	('copy', 'ada', 'order-1', 323753374915069907, 'n', '1E2', 4),
	('copy', 'ada', 'order-1', 323753374915069907, 'neg', '-0', 1),
	('copy', 'ada', 'order-1', 323753374915069907, 'refund', '{"amount": 39.90, "currency": "EUR"}', 5),
	('copy', 'ada', 'order-1', 323753374915069907, 'step', '"refund"', 6),
	('copy', 'ada', 'order-1', 323753374915069907, 'topic', '"return"', 4),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k0ä', '0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k10ä', '1180591620717411303424', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k11ä', '-170141183460469231731687303715884105729', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k12ä', '1.7976931348623157e308', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k13ä', '9007199254740993', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k14ä', '"\u0000"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k15ä', '"a\u0000b\u001f\u007f"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k16ä', '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k17ä', '"\/ / \" \\ \b\f\n\r\t"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k18ä', '" ﻿�􏿿"', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k19ä', '""', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k1ä', '-0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k20ä', '{"b":1,"a":2,"":3,"B":4}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k21ä', '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k22ä', '[ ]', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k23ä', '{"$serde_json::private::RawValue": "[1]"}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k24ä', '{"$serde_json::private::Number": "1"}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k25ä', '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k26ä', '{"__proto__":1,"constructor":{"x":null}}', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k27ä', 'true', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k28ä', 'null', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k2ä', '1', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k3ä', '1.0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k4ä', '1E2', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k5ä', '1e+2', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k6ä', '-0.0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k7ä', '0e0', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k8ä', '1e-400', 1),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 'k9ä', '0.1000000000000000055511151231257827', 1);
INSERT INTO public.session_updates VALUES
	('shop', 'ada', 'files', 179595932),
	('shop', 'ada', 'order-1', 179595932),
	('shop', 'ada', 'order-1-again', 179595932),
	('shop', 'ada', 'files-2', 179595932),
	('shop', 'ada', 'compacted', 0),
	('shop', 'ada', 'trimmed', 179595932),
	('shop', 'ada', 'redacted', 179595932),
	('shop', 'bob', 'by-adk', 179595932),
	('shop', 'ada', 'moved', 179595932),
	('copy', 'ada', 'order-1', 179595932),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 179595932);
INSERT INTO public.sessiond_migrations VALUES
	(1, 'sessions', '2026-11-29 13:35:27.467224+00', true, '\x4f8f45c8f406dc68cb1d52a3d9938adf1aca5e9dc2e23a26e28026b21072a6df6cd55a6272bddff3b6abcb3ee397721d', -1);
INSERT INTO public.sessions VALUES
	('shop', 'ada', 'compacted', 4835913754572331377, 6, 0, 1795959328669544, 1795959328724298, 6000000, '6', 20786, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'ada', 'moved', 5624035846885264767, 5, 0, 1795959328800992, 1795959328839210, 1795959328838651, '1795959328.838651', 20786, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, '49c521e5e6a68d88', '\xbdca8b57918680604f50d9fcd063da4d0ec56eba935fc89533d4326bf3beb452', 5, 3, 5, 3, 5, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('copy', 'ada', 'order-1', 323753374915069907, 6, 0, 1795959328282094, 1795959328407031, 1795959328403218, '1795959328.403218', 20786, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, NULL, NULL, '47f03608c8ae81c4', '\xd51adeaa0b682575ff6e02eef18f3a3183b3414ddd673d10c6b090e379759ff7', 6, 0, 6, 0, 6, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'ada', 'files', 3424109645843216490, 2, 0, 1795959328265803, 1795959328497211, 1795959328494318, '1795959328.494318', 20786, NULL, NULL, NULL, 0, '{}', 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'ada', 'order-1', 5183702582457958852, 6, 0, 1795959328282094, 1795959328407031, 1795959328403218, '1795959328.403218', 20786, '"Ünï😀"', '{"channel":"web"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, NULL, NULL, 'create-1', '\x986e8347a1ca037f059646a89b18a481cb8a30c7777918ac2e45f9df0e63f133', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 'pod-7/4f1c', 'i9', 1795959388503706, 60000000, false),
	('shop', 'ada', 'trimmed', 8227821569196299595, 5, 1, 1795959328732974, 1795959328776242, 1795959328775670, '1795959328.775670', 20786, NULL, NULL, NULL, 3, '{"k":3,"k1":1,"k2":2,"k3":3}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'ada', 'order-1-again', 1511826212224677032, 4, 1, 1795959328431222, 1795959328537176, 1795959328530972, '1795959328.530972', 20786, '"forked"', '{"a":"b"}', 4102444800000000, 0, '{"topic":"return","n":1.10}', 2, 3, 'order-1', 3, 'fork-1', '\x5852d7b187ab49a4bd7e012f6f3d1b907f2e43d839bf5fee347d0b6e3cd017e4', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('läger/1 ü', 'ß ø@例え', 'a b😀', 8878930081869066414, 3, 0, 1795959329023827, 1795959329046868, 1795959329045475, '1795959329.045475', 20786, NULL, NULL, NULL, 0, '{}', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'ada', 'files-2', 8643606986414954980, 4, 0, 1795959328545808, 1795959328628399, 1795959328614616, '1795959328.614616', 20786, NULL, NULL, NULL, 0, '{"k":1}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'ada', 'redacted', 5841841522286655788, 3, 2, 1795959328855102, 1795959328918802, 1795959328902347, '1795959328.902347', 20786, NULL, NULL, NULL, 0, '{}', 5, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false),
	('shop', 'bob', 'by-adk', 7171925186294937236, 0, 0, 1795959328974840, 1795959328974840, 1795959328974840, '1795959328.974840', 20786, NULL, NULL, NULL, 0, '{"topic":"warranty"}', 1, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, false);
INSERT INTO public.ticks VALUES
	(1, 1, '3:3:', '3:3:', 1795959327601762),
	(2, 1, '3:3:', '819:819:', 1795959329086618),
	(3, 1, '819:819:', '829:829:', 1795959329952770);
INSERT INTO public.token_epochs VALUES
	('shop', '\xda1bc9912db1c775ffebe73e4d0be7fbac4d8566b052c1fb2e7137eb1ca960fc', 1, 0),
	('shop', '\x971fd0bafbbf5f153669e4d8cfeb4a7b203573e0699f73c8f4b8d6ed1c9d1672', 1, 1),
	('shop', '\x31a388a3cf57f7af56909b1e06efc8dd3b011b154fef140ec7d2ec7b27bb51bd', 1, 2);
INSERT INTO public.token_secrets VALUES
	('current', '\x8178d00ea6894b0ea1884bfc29f4b1a23322cafa93a55ad21b603d2142db97a9');
INSERT INTO public.user_log VALUES
	('shop', 'zoe', 'alone', 1, 'true', 1795959328230970, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'language', 1, '"en"', 1795959328256865, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'name', 2, '"Ada"', 1795959328283941, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'n', 3, '-0.0', 1795959328296799, 5183702582457958852, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'returns', 4, '1', 1795959328407031, 5183702582457958852, 6, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'n', 5, '7', 1795959328537176, 1511826212224677032, 4, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'kept', 6, '"hunter2"', 1795959328858710, 5841841522286655788, 1, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'removed', 8, NULL, 1795959328918802, 5841841522286655788, 3, NULL, NULL, NULL, NULL, NULL),
	('shop', 'ada', 'removed', 7, NULL, 1795959328899866, 5841841522286655788, 2, NULL, NULL, NULL, NULL, NULL),
	('shop', 'bob', 'name', 1, '"Bob"', 1795959328977740, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k0ä', 1, '0', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k10ä', 1, '1180591620717411303424', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k11ä', 1, '-170141183460469231731687303715884105729', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k12ä', 1, '1.7976931348623157e308', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k13ä', 1, '9007199254740993', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k14ä', 1, '"\u0000"', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k15ä', 1, '"a\u0000b\u001f\u007f"', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k16ä', 1, '"\ud83d\ude00 😀 \u00e9 é e\u0301"', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k17ä', 1, '"\/ / \" \\ \b\f\n\r\t"', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k18ä', 1, '" ﻿�􏿿"', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k19ä', 1, '""', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k1ä', 1, '-0', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k20ä', 1, '{"b":1,"a":2,"":3,"B":4}', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k21ä', 1, '{ "a" : [ 1 ,	2 ] ,
 "b":{} }', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k22ä', 1, '[ ]', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k23ä', 1, '{"$serde_json::private::RawValue": "[1]"}', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k24ä', 1, '{"$serde_json::private::Number": "1"}', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k25ä', 1, '{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k26ä', 1, '{"__proto__":1,"constructor":{"x":null}}', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k27ä', 1, 'true', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k28ä', 1, 'null', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k2ä', 1, '1', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k3ä', 1, '1.0', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k4ä', 1, '1E2', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k5ä', 1, '1e+2', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k6ä', 1, '-0.0', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k7ä', 1, '0e0', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k8ä', 1, '1e-400', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL),
	('läger/1 ü', 'ß ø@例え', 'k9ä', 1, '0.1000000000000000055511151231257827', 1795959329034877, 8878930081869066414, 2, NULL, NULL, NULL, NULL, NULL);
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
    ADD CONSTRAINT session_updates_pkey PRIMARY KEY (app_name, user_id, bucket, id);
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
CREATE INDEX session_spans_by_key ON public.session_spans USING btree (key, incarnation, valid_to);
CREATE INDEX session_updates_by_app ON public.session_updates USING btree (app_name, bucket, user_id, id);
CREATE INDEX sessions_by_app_create ON public.sessions USING btree (app_name, create_time, user_id, id);
CREATE INDEX sessions_by_expiry ON public.sessions USING btree (expire_time) WHERE (expire_time IS NOT NULL);
CREATE INDEX sessions_by_source ON public.sessions USING btree (app_name, user_id, forked_from) WHERE (forked_from IS NOT NULL);
CREATE INDEX sessions_by_user_create ON public.sessions USING btree (app_name, user_id, create_time, id);
CREATE UNIQUE INDEX sessions_creation_key ON public.sessions USING btree (creation_key, user_id, app_name) WHERE (creation_key IS NOT NULL);
CREATE INDEX user_log_by_revision ON public.user_log USING btree (app_name, user_id, revision, key);
CREATE INDEX user_patches_by_time ON public.user_patches USING btree ("time");
