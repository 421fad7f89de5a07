// What the page does beside being read; without scripts it is whole, too. Text is only ever set as text.

const make = (name, attributes, ...content) => {
  const element = Object.assign(document.createElement(name), attributes);
  element.append(...content);
  return element;
};

// A link at each heading that an address can name.
for (const heading of document.querySelectorAll('h2[id], h3[id], section[id] > h3')) {
  const { id } = heading.id ? heading : heading.parentElement;
  const link = make('a', { className: 'anchor', href: `#${id}`, textContent: '#' });
  link.setAttribute('aria-label', `Link to ${heading.textContent}`);
  heading.append(' ', link);
}

// A box that leaves the operations and schemas that hold all its words, in the list and on the page.
const contents = document.querySelector('nav details');
const lines = new Map([...contents.querySelectorAll('a')].map((link) => [link.hash.slice(1), link.parentElement]));
const texts = new Map([...document.querySelectorAll('main > section')].map((section) => [section, section.textContent.toLowerCase()]));
const filter = () => {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const [section, text] of texts) {
    section.hidden = !words.every((word) => text.includes(word));
    lines.get(section.id).hidden = section.hidden;
  }
  for (const list of contents.querySelectorAll('ul')) {
    list.hidden = list.previousElementSibling.hidden = [...list.children].every((line) => line.hidden);
  }
};
const box = make('input', { type: 'search', placeholder: 'Filter', spellcheck: false, oninput: filter });
box.setAttribute('aria-label', 'Filter operations and schemas');
contents.before(box);

// A button beside each command copies it.
const copyButton = (command) => {
  const button = make('button', { type: 'button', textContent: 'Copy' });
  button.addEventListener('click', async () => {
    const text = command.querySelector('code');
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = 'Copied';
    } catch {
      // No permission, or plain HTTP from another machine: the text is marked, to be copied by hand.
      getSelection().selectAllChildren(text);
      button.textContent = 'Marked';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  return button;
};

// And one beside each read sends it to this server, with the credential that was given to the console in this tab.
const MOST = 64 << 10; // bytes of an answer that are shown
const read = async (path) => {
  const credential = sessionStorage.getItem('sessiond.credential');
  const headers = { Accept: '*/*', ...credential && { Authorization: `Bearer ${credential}` } };
  const stop = new AbortController();
  const answer = await fetch(new URL(path.slice(1), document.baseURI), { headers, signal: stop.signal });
  const late = setTimeout(() => stop.abort(), 5000); // a stream does not end
  const [reader, decoder] = [answer.body.getReader(), new TextDecoder()];
  let [text, bytes] = ['', 0];
  try {
    for (let part; bytes < MOST && !(part = await reader.read()).done; bytes += part.value.length) text += decoder.decode(part.value, { stream: true });
    if (bytes >= MOST) text += '…';
  } catch {
    text += '…';
  }
  clearTimeout(late);
  stop.abort();
  return `${answer.status} ${answer.statusText}\n\n${text}`;
};
const tryButton = (path, command) => {
  const button = make('button', { type: 'button', textContent: 'Try it' });
  button.addEventListener('click', () => {
    button.remove();
    const inputs = new Map();
    const field = (name, about) => {
      const input = make('input', { spellcheck: false, autocomplete: 'off' });
      inputs.set(name, input);
      return make('label', {}, `${about} `, input);
    };
    const names = [...path.matchAll(/\{\*?(\w+)\}/g)].map(([, name]) => name);
    const output = make('pre', { hidden: true, tabIndex: 0 });
    output.setAttribute('aria-live', 'polite');
    const form = make('form', { className: 'try' }, ...names.map((name) => field(name, name)), field('?', 'query, like a=1&b=2'),
      make('button', { textContent: 'Send' }), output);
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const query = inputs.get('?').value.replace(/^\?/, '');
      const address = path.replace(/\{\*?(\w+)\}/g, (_, name) => encodeURIComponent(inputs.get(name).value));
      output.hidden = false;
      output.textContent = 'Waiting…';
      output.textContent = await read(query ? `${address}?${query}` : address).catch(() => 'The server does not answer.');
    });
    (command.nextElementSibling?.matches('.answer') ? command.nextElementSibling : command).after(form);
    form.querySelector('input').focus();
  });
  return button;
};
for (const command of document.querySelectorAll('.command')) {
  const path = command.parentElement.querySelector('.path');
  if (path?.querySelector('.get')) command.prepend(tryButton(path.querySelector('code').textContent, command));
  command.prepend(copyButton(command));
}
