// Dialogs that send a request: what it does in words, its fields, and the exact request as curl before it is sent.

import { curl, Problem, send } from './api.js';
import { copy, dialog, fill, h, toast } from './dom.js';

/** Shows a request as curl: `update(request)`, or an Error why there is none. */
function requestBox() {
  const text = h('code');
  const button = h('button.quiet', { click: () => copy(text.textContent) }, 'Copy as curl');
  const element = h('div.request', h('pre', { tabindex: 0, 'aria-label': 'The request as curl' }, text), button);
  element.update = (request) => {
    text.textContent = request instanceof Error ? request.message : curl(request);
    button.hidden = request instanceof Error;
  };
  return element;
}

/**
 * Asks, shows the request and sends it. `request()` gives it or throws an Error with what is wrong with the fields.
 * `done(answer, box)` is called after a success; `failed(problem, box)` may answer true if it has dealt with it.
 */
export function ask({ title, about, fields = [], action, danger, request, done, failed }) {
  const shown = requestBox();
  const trouble = h('div.trouble', { role: 'alert' });
  const button = h(danger ? 'button.danger' : 'button.primary', { type: 'submit' }, action);
  const build = () => {
    try {
      const built = request();
      shown.update(built);
      button.disabled = false;
      return built;
    } catch (error) {
      shown.update(error);
      button.disabled = true;
      return undefined;
    }
  };
  const submit = async (event) => {
    event.preventDefault();
    const built = build();
    if (!built) return;
    button.disabled = true;
    fill(trouble);
    try {
      const answer = await send(built);
      await done(answer, box);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (!failed?.(problem, { box, trouble, build })) fill(trouble, problemText(problem));
    } finally {
      button.disabled = false;
    }
  };
  const cancel = h('button', { click: () => box.close() }, 'Cancel');
  const form = h('form', { submit, input: build, change: build },
    about && h('p', about), fields, shown, trouble, h('footer', cancel, button));
  const box = dialog(title, form);
  box.build = build;
  build();
  (form.querySelector('input, textarea, select') ?? button).focus();
  return box;
}

/** For an Idempotency-Key: what is sent again with it is done once. */
export const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-');

export function problemText(problem) {
  const fields = (problem.body?.get('errors')?.items ?? [])
    .map((error) => h('li', h('code', error.get('field')?.string()), ' ', error.get('message')?.string()));
  const outcome = problem.body?.get('outcome')?.string();
  return h('div.problem', h('p', problem.message), fields.length > 1 && h('ul', fields),
    outcome === 'unknown' && h('p', 'It may have been applied. Look before you send it again.'),
    problem.requestId && h('p.dim', `Request ${problem.requestId}`));
}

export function complain(problem) {
  toast(problem.message, 'error');
}
