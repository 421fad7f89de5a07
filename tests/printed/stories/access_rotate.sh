sessiond --require-auth
sessiond keys create --name shop-agent --role agent --apps shop
# The key of the page is another one each time.
ID=$(sessiond keys list | cut -d ' ' -f 1)
sessiond() { run_sessiond "${@/xns753f25tjm/$ID}"; }
<<< docs/access.md: keys rotate xns753f25tjm
