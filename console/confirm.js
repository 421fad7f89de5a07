// A dialog for what cannot be undone: it is sent when the id has been typed.

import { field, h, toast, wordInput } from './dom.js';
import { ask } from './request.js';

/** `request()` is sent; then `said` is shown and `done()` called. */
export function confirmById({ title, about, id, fields, action, request, said, done }) {
  const typed = wordInput();
  ask({
    title,
    about,
    fields: [field(['Type ', h('bdi.id', id), ' to confirm'], typed), fields],
    action,
    danger: true,
    request: () => {
      if (typed.value !== id) throw new Error('The id is not typed yet.');
      return request();
    },
    done: async (_, box) => {
      box.close();
      toast(said);
      await done();
    },
  });
}
