touch sessiond.db
<<< docs/access.md: rm -f sessiond.db*
[ ! -e sessiond.db ]
<<< docs/access.md: sessiond --require-auth
<<< docs/access.md: --name shop-agent --role agent --apps shop
<<< docs/access.md: $ S=http
<<< docs/access.md: curl $S/s1
