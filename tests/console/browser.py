"""One Chromium for all tests, driven by selenium: each page is a tab or a window of it, with a size and a colour scheme."""

import json
import os

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from server import until

__all__ = ["Browser", "Keys", "Page"]

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run"]


class Browser:
    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = os.environ["CHROMIUM"]
        for flag in [*FLAGS, "--window-size=1280,800", "--lang=en"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(os.environ["CHROMEDRIVER"]))
        self.driver.set_script_timeout(30)
        # It stays open, so that the browser does when all pages are closed.
        self.home = self.current = self.driver.current_window_handle
        self.origins = set()
        self.folder = None

    def save_to(self, folder):
        """Downloads go there, of the pages that are open and of new ones. The headless shell is told of each page."""
        self.folder = folder
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})

    def page(self, server, width=1280, height=800, dark=False, kind="tab", credential=""):
        """A new page that is empty yet. Of the tabs of a window only the last one is visible; each window is."""
        self.driver.switch_to.new_window(kind)
        self.current = self.driver.current_window_handle
        self.origins.add(server.url)
        if self.folder is not None:
            self.save_to(self.folder)
        return Page(self, server, width, height, dark, credential)

    def switch(self, handle):
        if self.current != handle:
            self.driver.switch_to.window(handle)
            self.current = handle

    def new_faults(self):
        """Errors of scripts and breaches of the content security policy since the last call."""
        faults = []
        for entry in self.driver.get_log("browser"):
            is_ours = "/console/" in entry["message"].split(" ")[0]
            is_network = entry["source"] == "network"
            # An answer like 404 or 412 is written there too: for a file of the console it is a fault, for the API it is not.
            if entry["level"] == "SEVERE" and (not is_network or is_ours):
                faults.append(f"{entry['source']}: {entry['message']}")
        return faults

    def close_pages(self):
        """Closes all pages and forgets what they stored."""
        for handle in self.driver.window_handles:
            if handle != self.home:
                self.switch(handle)
                self.driver.close()
        self.switch(self.home)
        for origin in self.origins:
            self.driver.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage,cookies"})
        self.origins.clear()

    def quit(self):
        self.driver.quit()


class Page:
    """A tab or a window. Everything that is done with it brings it in front of the driver, not of the user."""

    def __init__(self, browser, server, width, height, dark, credential):
        self.browser, self.server = browser, server
        self.handle = browser.current
        self.resize(width, height)
        scheme = "dark" if dark else "light"
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        if credential:
            script = f"if (location.origin === {json.dumps(server.url)}) sessionStorage.setItem('sessiond.credential', {json.dumps(credential)});"
            self.cdp("Page.addScriptToEvaluateOnNewDocument", source=script)

    @property
    def driver(self):
        self.browser.switch(self.handle)
        return self.browser.driver

    def cdp(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def resize(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, route=""):
        """Opens `/console/#...`, in a new document."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.server.url}/console/{route}")
        return self

    def go(self, route):
        """To another address of the same document."""
        self.js("location.hash = arguments[0]", route)
        return self

    def reload(self):
        self.driver.refresh()

    def close(self):
        self.driver.close()
        self.browser.switch(self.browser.home)

    def js(self, script, *arguments):
        """Runs a script; `return` gives its result."""
        return self.driver.execute_script(script, *arguments)

    def value(self, expression, *arguments):
        return self.js(f"return {expression}", *arguments)

    def wait(self, expression, *arguments):
        """Until an expression of JavaScript is true: its value."""
        return until(f"{expression} {arguments or ''}", lambda: self.value(expression, *arguments))

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def find(self, selector, text=None):
        """The element that is visible and holds the text, as soon as there is one."""
        script = """[...document.querySelectorAll(arguments[0])].find((element) =>
            element.checkVisibility({visibilityProperty: true}) && (arguments[1] === null || element.textContent.includes(arguments[1])))"""
        return until(f"{selector} with {text!r}", lambda: self.value(script, selector, text))

    def text(self, selector="body"):
        """What people read there."""
        return self.find(selector).text

    def wait_text(self, selector, text):
        """Until the first such element shows the text."""
        self.wait("document.querySelector(arguments[0])?.innerText.includes(arguments[1])", selector, text)

    def click(self, selector, text=None):
        self.find(selector, text).click()

    def fill(self, selector, text, append=False):
        element = self.find(selector)
        if not append:
            element.clear()
        element.send_keys(text)

    def choose(self, selector, value):
        """An option of a select."""
        script = "arguments[0].value = arguments[1]; for (const kind of ['input', 'change']) arguments[0].dispatchEvent(new Event(kind, {bubbles: true}))"
        self.js(script, self.find(selector), value)

    def press(self, *keys):
        """Keys for the element that has the focus, one after the other."""
        actions = ActionChains(self.driver)
        for key in keys:
            actions.send_keys(key)
        actions.perform()

    def chord(self, *keys):
        """Keys that are held together."""
        actions = ActionChains(self.driver)
        for key in keys:
            actions.key_down(key)
        for key in reversed(keys):
            actions.key_up(key)
        actions.perform()

    def address(self):
        return self.value("location.hash")

    def overflow(self):
        """By how many pixels the page, or what scrolls in it, is wider than there is room."""
        return self.value("Math.max(...[...document.querySelectorAll('html, .plain, .scroller')].map((one) => one.scrollWidth - one.clientWidth))")

    def screenshot(self, file):
        self.driver.save_screenshot(str(file))
