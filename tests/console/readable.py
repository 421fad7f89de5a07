"""What people cannot read, or programs cannot name, on a page: contrast below 4.5:1, controls without a name."""

WEAK = r"""
    const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
    const light = (part) => (part /= 255) <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4;
    const luminance = ([r, g, b]) => .2126 * light(r) + .7152 * light(g) + .0722 * light(b);
    const behind = (element) => {
        for (let one = element; one; one = one.parentElement) {
            const colour = numbers(getComputedStyle(one).backgroundColor);
            if (colour[3] !== 0) return colour;
        }
    };
    const weak = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility({opacityProperty: true})) continue;
        if (element.closest('.unseen, .skip, :disabled')) continue;
        const [a, b] = [numbers(getComputedStyle(element).color), behind(element)].map(luminance).sort((x, y) => y - x);
        const ratio = (a + .05) / (b + .05);
        if (ratio < 4.5) weak.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
    }
    return weak;"""


CONTROLS = "a, button, input, select, textarea, summary, table, [role]:not([role=status], [role=alert])"


def faults(page):
    # Behind a dialog nothing can be reached.
    place = (page.all("dialog") or page.all("body"))[0]
    controls = place.find_elements("css selector", CONTROLS)
    return page.js(WEAK) + [one.get_attribute("outerHTML") for one in controls if one.is_displayed() and not one.accessible_name]
