// A button beside each command copies it. Without scripts there is no button.
for (const command of document.querySelectorAll('.command')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
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
  command.prepend(button);
}
