"""The demo fills a server, once, and says where to look."""

import demo
from server import path


def everything(api):
    sessions = [one for app in ["shop", "warehouse"] for one in api.get(f"{path('apps', app, 'sessions')}?pageSize=1000").json["sessions"]]
    states = [api.get(path("apps", app, "state")).text for app in ["shop", "warehouse"]]
    return [api.get(path("apps", one["appName"], "users", one["userId"], "sessions", one["id"])).text for one in sessions] + states


def test_the_demo_again_changes_nothing(shop, browser):
    before = everything(shop.api)
    printed = demo.fill(shop)
    assert everything(shop.api) == before
    assert len(before) > 40
    page = browser.page(shop, credential=shop.key)
    page.driver.get(printed.split()[-1])
    page.find("h1", "Refund of postage")
    page.find(".row[aria-current=true]", "refund")
    page.find(".right .changed .name", "step")


def test_a_session_begins_with_its_first_event_and_ends_with_its_last(shop):
    sessions = [one for app in ["shop", "warehouse"] for one in shop.api.get(f"{path('apps', app, 'sessions')}?pageSize=1000").json["sessions"]]
    for one in sessions:
        events = shop.api.get(path("apps", one["appName"], "users", one["userId"], "sessions", one["id"])).json["events"]
        times = [event["timestamp"] for event in events]
        assert times == sorted(times) and times[-1] == one["lastUpdateTime"], one
        assert one["createTime"] <= (times[5] if "forkedFrom" in one else times[0]), one
    assert max(one["createTime"] for one in sessions) - min(one["createTime"] for one in sessions) > 6 * 86_400


def test_amounts_and_what_is_not_kept(shop):
    text = shop.api.get(path("apps", "shop", "users", "zoe", "sessions", "refund-1093")).text
    assert '"amount":1.10,' in text
    assert "temp:" not in text
    assert "Zoë Brandão" in text
    assert '"app:refunded":1.10' in text
