"""The harness itself: what the other tests rely on."""

import pytest

from server import event, path


def test_a_page_shows_what_the_api_wrote(api, app, page):
    session = api.session(app, id="first")
    api.append(session, event("e1", text="Hello from the harness"))
    page.open(f"#/app/{app}/user/ada/session/first")
    page.find(".timeline .line", "Hello from the harness")


def test_errors_of_scripts_are_found(browser, page):
    page.open()
    page.js("setTimeout(() => { throw new Error('thrown on purpose'); })")
    page.js("Promise.reject(new Error('rejected on purpose'))")
    page.wait("document.querySelector('#nav a')")
    faults = "\n".join(browser.new_faults())
    assert "thrown on purpose" in faults
    assert "rejected on purpose" in faults


def test_breaches_of_the_policy_are_found(browser, page):
    page.open()
    page.js("""const script = document.createElement('script');
        try { script.textContent = 'window.ran = true'; document.body.append(script); } catch {}
        const image = new Image(); image.src = 'http://127.0.0.1:9/'; document.body.append(image);""")
    page.wait("document.images[0].complete")
    assert "ontent Security Policy" in "\n".join(browser.new_faults())
    assert page.value("window.ran") is None


@pytest.mark.page(width=360, height=720, dark=True)
def test_size_and_colour_scheme(page):
    page.open()
    assert page.value("[innerWidth, innerHeight, matchMedia('(prefers-color-scheme: dark)').matches]") == [360, 720, True]


@pytest.mark.server("--require-auth")
def test_a_server_of_its_own_with_keys(server, app):
    assert server.api.get("/v1/whoami").json["role"] == "admin"
    reader = server.as_key("--role=reader", "--apps", app)
    assert reader.get("/v1/whoami").json["role"] == "reader"
    assert reader.send("POST", path("apps", app, "users", "ada", "sessions")).status == 403


def test_nothing_is_left_of_another_test(browser, page):
    page.open()
    assert page.value("localStorage.length") == 0
    assert len(browser.driver.window_handles) == 2
