#!/usr/bin/env bash
# Fills a server with demo data for the console, a week of a shop's agents:
#
#   SESSIOND_URL=http://127.0.0.1:8080 examples/demo.sh
#
# SESSIOND_TOKEN is a key of the role `operator` or above, if the server requires a credential. The times are in the last seven
# days: each session is imported without events, as only an import can set when it began. Every event has an id, and a time relative to that
# beginning, so a second run changes nothing.
set -euo pipefail
LC_ALL=C

url=${SESSIOND_URL:-http://127.0.0.1:8080}
url=${url%/}
one_by_one=''
start=$(date +%s)
ask=(curl --silent --show-error)
[ -z "${SESSIOND_TOKEN:-}" ] || ask+=(--header "authorization: Bearer $SESSIOND_TOKEN")

# send METHOD PATH BODY [CURL ARGUMENTS...]: the answer in `body`. `type` is that of the body.
send() {
    local answer
    answer=$("${ask[@]}" --header "content-type: ${type:-application/json}" "${@:4}" --request "$1" --data-binary "$3" --write-out '\n%{http_code}' "$url/v1$2") || {
        echo "demo.sh: no sessiond at $url" >&2
        exit 1
    }
    body=${answer%$'\n'*}
    case ${answer##*$'\n'} in
        2??) ;;
        *)
            echo "demo.sh: $1 /v1$2: $body" >&2
            exit 1
            ;;
    esac
}

sha256() { sha256sum 2>/dev/null || shasum -a 256; }

# session APP/USER/ID MINUTES TITLE LABELS STATE: one that began so many minutes ago, unless it is there. What follows is written by
# `commit`.
session() {
    local app user lines
    IFS=/ read -r app user id <<<"$1"
    path=/apps/$app/users/$user/sessions/$id
    lines="{\"type\":\"session\",\"userId\":\"$user\",\"id\":\"$id\",\"incarnation\":\"demo\",\"createTime\":$((start - $2 * 60)),\"baseRevision\":0,\"baseState\":{$5},\"saw\":[0,0],\"displayName\":\"$3\",\"labels\":{$4}}"$'\n'
    lines+="{\"type\":\"session.end\",\"id\":\"$id\",\"revision\":0,\"state\":{$5},\"sha256\":\"$(printf %s "$lines" | sha256 | cut -d ' ' -f 1)\"}"$'\n'
    type=application/x-ndjson send POST '/import?onConflict=skip' "{\"type\":\"export\",\"format\":1,\"scope\":\"session\",\"appName\":\"$app\",\"userId\":\"$user\",\"sessionId\":\"$id\"}"$'\n'"$lines{\"type\":\"end\",\"sessions\":1,\"events\":0}"
    send GET "$path" ''
    [[ $body =~ \"createTime\":([0-9]+) ]]
    clock=$((BASH_REMATCH[1] * 1000))
    events='' number=0 turn=0
}

# event AUTHOR PARTS [ACTIONS]: a little later than the one before; users take longer than agents, agents than tools.
event() {
    local role=model wait=1400 time usage=''
    number=$((number + 1))
    case $1 in
        user)
            role=user wait=38000 turn=$((turn + 1))
            [ "$number" -gt 1 ] || wait=0
            ;;
    esac
    case $2 in *functionResponse*) role=user wait=180 ;; esac
    [ "$role" = user ] || usage=",\"modelVersion\":\"gemini-2.5-flash\",\"usageMetadata\":{\"promptTokenCount\":$((310 + 95 * number)),\"cachedContentTokenCount\":$((number / 5 * 256)),\"candidatesTokenCount\":$((${#2} / 4)),\"totalTokenCount\":$((310 + 95 * number + ${#2} / 4))}"
    clock=$((clock + wait + wait * (number * 37 % 50) / 50))
    printf -v time '%d.%03d' $((clock / 1000)) $((clock % 1000))
    events+="${events:+,}{\"id\":\"$id-$number\",\"author\":\"$1\",\"invocationId\":\"$id-turn-$turn\",\"timestamp\":$time,"
    events+="\"content\":{\"role\":\"$role\",\"parts\":[$2]}$usage${3:+,\"actions\":{$3\}}}"
    [ -z "$one_by_one" ] || commit
}

commit() {
    send POST "$path/events" "[$events]"
    events=''
}

says() { event "$1" "{\"text\":\"$2\"}" "${3:-}"; }
thinks() { event "$1" "{\"text\":\"$2\",\"thought\":true}" "${3:-}"; }
calls() { event "$1" "{\"functionCall\":{\"id\":\"call-$((number + 1))\",\"name\":\"$2\",\"args\":{$3}}}" "${4:-}"; }
gets() { event "$1" "{\"functionResponse\":{\"id\":\"call-$number\",\"name\":\"$2\",\"response\":{$3}}}" "${4:-}"; }
delta() { printf '"stateDelta":{%s}' "$1"; }
ops() { printf '"stateOps":[%s]' "$1"; }

# What people come for. First the session's name, the user's name, and how long ago.

asks_for_parcel() { # ORDER CITY WHEN
    session "$1" "$3" "Where is order $4?" '"channel":"web","topic":"delivery"' '"step":"start"'
    says user "Hi, my order $4 should have been here by now. Where is it?" "$(delta "\"user:name\":\"$2\"")"
    thinks router 'A delivery question: the courier agent knows the carriers.' '"transferToAgent":"courier"'
    calls courier track_parcel "\"order\":\"$4\""
    gets courier track_parcel "\"status\":\"in transit\",\"carrier\":\"DPD\",\"hub\":\"$5\",\"eta\":\"$6\"" \
        "$(delta "\"order\":\"$4\",\"temp:raw_tracking\":\"DPD|$5|37|OK\",\"parcel\":{\"hub\":\"$5\",\"eta\":\"$6\",\"weight\":1.10},\"step\":\"tracked\"")"
    says courier "It is in $5 and should reach you $6." "$(ops '{"op":"increment","key":"app:tracked","value":1}')"
    says user 'Thank you! Can they leave it with a neighbour?'
    calls courier set_delivery_option "\"order\":\"$4\",\"option\":\"neighbour\""
    gets courier set_delivery_option '"ok":true' "$(delta '"user:delivery":"neighbour"')"
    says courier 'Done. I will remember that for your next orders, too.' \
        "$(ops '{"op":"set","key":"step","value":"done"},{"op":"append","key":"user:notes","value":["leave with a neighbour"]}')"
    commit
}

returns_item() { # ORDER ITEM PRICE SIZE
    session "$1" "$3" "Return: $5" '"channel":"app","topic":"return"' "\"step\":\"start\""
    says user "The $5 from order $4 does not fit. Can I send it back?" "$(delta "\"user:name\":\"$2\"")"
    thinks router 'A return. The returns agent decides.' '"transferToAgent":"returns"'
    calls returns find_order "\"order\":\"$4\""
    gets returns find_order "\"order\":\"$4\",\"item\":\"$5\",\"price\":$6,\"currency\":\"EUR\",\"delivered\":\"9 days ago\"" \
        "$(delta "\"order\":\"$4\",\"item\":{\"name\":\"$5\",\"price\":$6,\"quantity\":1},\"step\":\"offer\"")"
    says returns 'Yes, within 30 days. Shall I make you a label?'
    says user "Yes please. And do you have it in $7?"
    event returns "{\"functionCall\":{\"id\":\"label\",\"name\":\"make_label\",\"args\":{\"order\":\"$4\"}}},{\"functionCall\":{\"id\":\"stock\",\"name\":\"stock\",\"args\":{\"item\":\"$5\",\"size\":\"$7\"}}}"
    event returns "{\"functionResponse\":{\"id\":\"label\",\"name\":\"make_label\",\"response\":{\"label\":\"R-${4#A-}\"}}},{\"functionResponse\":{\"id\":\"stock\",\"name\":\"stock\",\"response\":{\"available\":3}}}" \
        "$(delta "\"label\":\"R-${4#A-}\",\"temp:stock\":3"),$(ops '{"op":"increment","key":"app:labels_made","value":1},{"op":"union","key":"user:sizes","value":["'"$7"'"]}')"
    says returns "Here is your label, R-${4#A-}. There are three left in $7; shall I set one aside?"
    says user 'Yes, until Friday.'
    says returns 'It is yours until Friday, 18:00.' \
        "$(delta '"step":"done"'),$(ops "{\"op\":\"merge\",\"key\":\"item\",\"value\":{\"reserved\":\"$7\"}}")"
    commit
}

asks_for_size() { # ITEM SIZE FITS
    session "$1" "$3" "Which size of $4?" '"channel":"web","topic":"advice"' ''
    says user "I am between sizes. Which $4 should I take?" "$(delta "\"user:name\":\"$2\"")"
    calls stylist measurements_of '"customer":"me"'
    gets stylist measurements_of '"chest":"98.5 cm","height":"176 cm"' "$(delta '"user:measures":{"chest":98.50,"height":176.0}')"
    calls stylist size_chart "\"item\":\"$4\""
    gets stylist size_chart '"S":[88,94],"M":[94,100],"L":[100,106]' "$(delta '"temp:chart":"cached","candidates":["M","L"]')"
    says stylist "Take $5. It runs a little ${6}." "$(delta "\"advice\":\"$5\""),$(ops '{"op":"increment","key":"app:advice_given","value":1},{"op":"remove","key":"candidates"}')"
    says user 'Great, I will.'
    commit
}

wants_invoice() { # ORDER COMPANY TOTAL
    session "$1" "$3" "Invoice for $5" '"channel":"mail","topic":"billing","vip":"yes"' '"copies":0'
    says user "We need the invoice of $4 in the name of $5." "$(delta "\"user:name\":\"$2\",\"user:company\":\"$5\"")"
    thinks router 'Billing.' '"transferToAgent":"billing"'
    calls billing find_invoice "\"order\":\"$4\""
    gets billing find_invoice "\"invoice\":\"2026-$4\",\"net\":$6,\"vat\":0.19" "$(delta "\"invoice\":{\"number\":\"2026-$4\",\"net\":$6,\"vat_rate\":0.190}")"
    calls billing send_invoice "\"invoice\":\"2026-$4\",\"to\":\"accounts\""
    gets billing send_invoice '"sent":true' "$(ops '{"op":"increment","key":"copies","value":1}')"
    says billing 'The invoice is on its way to your accounts department.'
    commit
}

redeems_card() { # CODE VALUE LEFT
    session "$1" "$3" "Gift card $4" '"channel":"app","topic":"billing"' "\"card\":\"$4\""
    says user "How much is left on my gift card $4?" "$(delta "\"user:name\":\"$2\"")"
    calls billing card_balance "\"code\":\"$4\""
    gets billing card_balance "\"value\":$5,\"left\":$6" "$(delta "\"balance\":$6,\"temp:pin\":\"4711\"")"
    says billing "There is $6 EUR left of $5 EUR."
    commit
}

moves_house() { # STREET CITY
    session "$1" "$3" 'New address' '"channel":"web","topic":"account"' ''
    says user "We moved to $4, $5. Please change my address." "$(delta "\"user:name\":\"$2\"")"
    calls router check_address "\"street\":\"$4\",\"city\":\"$5\""
    gets router check_address '"valid":true,"confidence":0.97' \
        "$(ops "{\"op\":\"merge\",\"key\":\"user:address\",\"value\":{\"street\":\"$4\",\"city\":\"$5\"}}")"
    says router 'Your address is changed, and open orders go there as well.' "$(delta '"confirmed":true')"
    commit
}

counts_stock() { # PLACE ITEMS DIFFERENCE
    session "$1" "$2" "Count of $3" "\"place\":\"$3\"" "\"place\":\"$3\",\"counted\":0"
    says user "Count $3 and report differences."
    calls counter scan "\"place\":\"$3\""
    gets counter scan "\"items\":$4,\"expected\":$(($4 + $5))" "$(ops "{\"op\":\"increment\",\"key\":\"counted\",\"value\":$4},{\"op\":\"increment\",\"key\":\"app:counted_this_week\",\"value\":$4}")"
    says reviewer "$3: $4 items, $5 missing." "$(delta "\"missing\":$5"),$(ops "{\"op\":\"max\",\"key\":\"app:worst_difference\",\"value\":$5}")"
    commit
}

# A refund of 1.10 EUR that goes out as 110.00: taken back by a rewind, and mended. A colleague tries it in a fork.
# Its events are written one by one, as agents do, so that each has the shared state of its own moment.
refund_goes_wrong() {
    session shop/zoe/refund-1093 28 'Refund of postage, order A-1093' '"channel":"web","team":"returns","topic":"refund"' \
        '"order":"A-1093","step":"start"'
    local one_by_one=yes
    says user 'Olá! You charged me 1.10 EUR too much for postage. Could I have it back?' "$(delta '"user:name":"Zoë Brandão","user:language":"pt"')"
    thinks router 'A refund below 5 EUR: the returns agent may do it alone.' '"transferToAgent":"returns"'
    calls returns find_order '"order":"A-1093"'
    gets returns find_order '"order":"A-1093","total":54.80,"postage":{"charged":6.00,"due":4.90},"items":[{"sku":"coat-m-navy","price":48.80}]' \
        "$(delta '"customer":{"id":10093,"since":2019},"paid":54.80,"overcharged":1.10,"temp:card":"**** 4711","step":"checked"')"
    says returns 'You are right: 6.00 instead of 4.90 EUR. Back to your card, or as a voucher?'
    says user 'To the card, please.'
    thinks returns 'Amounts go to the bank in cents.'
    calls returns refund '"order":"A-1093","amount":110.00,"currency":"EUR"'
    gets returns refund '"id":"rf-8801","amount":110.00,"status":"pending"' \
        "$(delta '"refund":{"id":"rf-8801","amount":110.00,"currency":"EUR","status":"pending"},"step":"refunded"'),$(ops '{"op":"increment","key":"app:refunds","value":1}')"
    says returns 'I have refunded 110.00 EUR to your card.'
    says user 'That is far too much! It was 1.10.'
    calls reviewer check_refund '"refund":"rf-8801"'
    gets reviewer check_refund '"allowed":false,"reason":"more than was paid","paid":54.80,"refund":110.00' \
        "$(delta '"alert":"refund is more than was paid"'),$(ops '{"op":"append","key":"app:alerts","value":["A-1093: refund of 110.00, paid 54.80"]}')"
    says reviewer 'Stopped at the bank. This turn will be taken back.' "$(delta '"step":"stopped"')"
    send POST "$path/rewind" '{"beforeInvocationId":"refund-1093-turn-2"}' --header 'idempotency-key: refund-1093-rewind'
    send GET "$path/events/refund-1093-rewind" ''
    [[ $body =~ \"timestamp\":([0-9]+) ]]
    clock=$((BASH_REMATCH[1] * 1000 - 40000))
    says user 'Once more, please: 1.10 EUR to my card.'
    calls returns refund '"order":"A-1093","amount":1.10,"currency":"EUR"'
    gets returns refund '"id":"rf-8802","amount":1.10,"status":"done"' \
        "$(delta '"refund":{"id":"rf-8802","amount":1.10,"currency":"EUR","status":"done"},"step":"done"'),$(ops '{"op":"append","key":"user:notes","value":["postage corrected: 1.10"]},{"op":"increment","key":"app:refunded","value":1.10}')"
    says returns 'Sorry for that. 1.10 EUR is on its way to your card; the other refund was stopped.'
    clock=$((clock - 38000))
    says user 'Obrigada!'

    local source=$path
    send POST "$source/fork" '{"atRevision":5,"sessionId":"voucher-1093"}' --header 'idempotency-key: voucher-1093'
    [[ $body =~ \"createTime\":([0-9]+) ]]
    clock=$((BASH_REMATCH[1] * 1000 - 53000))
    path=/apps/shop/users/zoe/sessions/voucher-1093
    send PATCH "$path" '{"displayName":"What if: postage as a voucher","labels":{"team":"returns","topic":"refund","kind":"experiment"}}'
    id=voucher-1093 number=5 turn=1
    says user 'As a voucher, please.'
    calls returns make_voucher '"order":"A-1093","amount":1.10'
    gets returns make_voucher '"code":"OLA-1093","amount":1.10' "$(delta '"voucher":{"code":"OLA-1093","amount":1.10},"step":"done"')"
    says returns 'Your voucher is OLA-1093, worth 1.10 EUR.'
}

# The week. Minutes ago, so that the app's and the users' state grow in order; 1440 are a day.

send PATCH /apps/shop/state '{"stateDelta":{"currency":"EUR","vat_rate":0.190,"return_days":30,"greeting":"Guten Tag · Olá · Dzień dobry","carriers":["DPD","DHL","GLS"]}}' \
    --header 'idempotency-key: demo-shop'
counts_stock warehouse/night/count-1 9980 'Aisle 1' 1204 3
asks_for_parcel shop/marek/parcel-1041 'Marek Dvořák' 9710 A-1041 Brno tomorrow
asks_for_size shop/yuki/size-parka '佐藤 美雪' 9444 'the parka' M large
returns_item shop/fatima/return-1038 'Fátima Alsayed' 9120 A-1038 'wool coat' 129.90 M
redeems_card shop/guest-7f3a/card-778 'Guest' 9005 GIFT-778 50.00 12.40
wants_invoice shop/juergen/invoice-1030 'Jürgen Groß' 8512 A-1030 'Groß & Söhne KG' 1049.50
counts_stock warehouse/night/count-2 8540 'Aisle 2' 986 0
moves_house shop/soren/new-address 'Søren Ødegård' 8101 'Ørstedgate 12' Ålesund
asks_for_parcel shop/lukasz/parcel-1052 'Łukasz Wójcik' 7903 A-1052 Poznań 'in two days'
asks_for_size shop/elif/size-boots 'Elif Şahin' 7655 'the boots' 39 small
returns_item shop/ada/return-1047 'Ada Lovelace' 7204 A-1047 'rain jacket' 89.00 L
counts_stock warehouse/night/count-3 7100 'Aisle 3' 1530 12
counts_stock warehouse/dock-1/delivery-88 6892 'Dock 1' 240 1
redeems_card shop/hanh/card-801 'Ngô Thị Hạnh' 6730 GIFT-801 100.00 100.00
asks_for_parcel shop/zoe/parcel-1060 'Zoë Brandão' 6444 A-1060 Porto tomorrow
wants_invoice shop/marek/invoice-1041 'Marek Dvořák' 6120 A-1041 'Dvořák s.r.o.' 212.10
asks_for_size shop/guest-c041/size-gloves 'Guest' 5905 'the gloves' M true
counts_stock warehouse/night/count-4 5660 'Aisle 4' 871 2
returns_item shop/yuki/return-1055 '佐藤 美雪' 5402 A-1055 'parka' 159.00 S
moves_house shop/fatima/new-address 'Fátima Alsayed' 5010 'Rua da Prata 80' Lisboa
asks_for_parcel shop/juergen/parcel-1066 'Jürgen Groß' 4811 A-1066 Nürnberg tomorrow
redeems_card shop/soren/card-812 'Søren Ødegård' 4502 GIFT-812 25.00 1.10
asks_for_size shop/lukasz/size-coat 'Łukasz Wójcik' 4350 'the coat' L small
counts_stock warehouse/night/count-5 4220 'Aisle 5' 1102 7
counts_stock warehouse/dock-2/delivery-91 3980 'Dock 2' 96 0
returns_item shop/elif/return-1071 'Elif Şahin' 3777 A-1071 'boots' 119.50 40
wants_invoice shop/ada/invoice-1047 'Ada Lovelace' 3301 A-1047 'Analytical Engines Ltd' 89.00
asks_for_parcel shop/hanh/parcel-1075 'Ngô Thị Hạnh' 2990 A-1075 Leipzig 'in three days'
asks_for_size shop/zoe/size-coat 'Zoë Brandão' 2800 'the coat' M true
counts_stock warehouse/night/count-6 2780 'Aisle 6' 640 1
returns_item shop/marek/return-1077 'Marek Dvořák' 2301 A-1077 'fleece' 64.90 XL
redeems_card shop/fatima/card-830 'Fátima Alsayed' 1988 GIFT-830 75.00 30.25
asks_for_parcel shop/guest-7f3a/parcel-1080 'Guest' 1650 A-1080 Hamburg tomorrow
moves_house shop/yuki/new-address '佐藤 美雪' 1420 'Sakura-dori 3-14' 名古屋
counts_stock warehouse/night/count-7 1340 'Aisle 7' 1377 0
asks_for_size shop/soren/size-parka 'Søren Ødegård' 1010 'the parka' L large
wants_invoice shop/elif/invoice-1071 'Elif Şahin' 702 A-1071 'Şahin Tasarım' 119.50
returns_item shop/lukasz/return-1088 'Łukasz Wójcik' 455 A-1088 'coat' 189.00 XL
asks_for_parcel shop/ada/parcel-1090 'Ada Lovelace' 181 A-1090 Bristol 'in two days'
redeems_card shop/juergen/card-846 'Jürgen Groß' 64 GIFT-846 200.00 110.00
refund_goes_wrong

echo "The console:          $url/console/"
echo "A refund gone wrong:  $url/console/#/app/shop/user/zoe/session/refund-1093?at=9"
