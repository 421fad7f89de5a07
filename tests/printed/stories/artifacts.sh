sessiond
mkdir sent && cd sent
printf 'a report' >report.pdf
# `-OJ` would not replace what was sent.
curl() { case $1 in -OJ) (cd .. && command curl --silent --show-error "$@") ;; *) command curl --silent --show-error --fail "$@" ;; esac; }
<<< docs/artifacts.md: report.pdf
cmp report.pdf ../report.pdf
cd ..
