<<< docs/feed.md: sessiond --feed-retention
curl --fail "$SESSIOND_URL/v1/apps/fed/feed?after=now"
