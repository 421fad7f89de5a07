-- The append of append.sql as one call of a function in the database (bench_append in setup.sql): the same rows, and
-- `sessiond verify` finds nothing wrong with what it leaves. With many clients it is faster than the statement, as it
-- locks less and takes the locks that others wait for later, so it is the stronger of the two yardsticks.
--
--     pgbench -n -M prepared -f append_function.sql -D app=bench -D sessions=1024 -D users=256 -c 64 -j 2 -T 10 URL
\set session random(0, :sessions - 1)
\set user :session % :users
\set key random(0, 9)
\set value random(1, 1000000000)
\set shared random(1, 16)
select bench_append(:app, 'u' || :user, 's' || :session, 'k' || :key, :value, :shared <= 4, :shared = 1);
