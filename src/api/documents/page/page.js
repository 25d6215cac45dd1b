import { signIn, signOut } from './sign-in.js';

const root = document.getElementById('page');
const button = document.getElementById('sign-in');
const status = document.getElementById('status');
const url = new URL(root.dataset.document, location.href).href;
/** Address of the service, relative to the page: only a proxy may know its prefix. */
const base = new URL('..', url).href;
const rules = {
  domains: root.dataset.domains.split(',').filter(Boolean),
  chainId: Number(root.dataset.chainId) || undefined,
};

const dark = matchMedia('(prefers-color-scheme: dark)');
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', paint);
paint();

/** The page's library leaves fields without a name, and recreates them as operations open. */
const nameFields = () => {
  for (const field of root.querySelectorAll(':is(select, textarea, input):not([aria-label])')) {
    const row = field.closest('tr[data-param-name]');
    const name = row?.dataset.paramName ?? NAMES.find(([selector]) => field.matches(selector))?.[1];
    field.setAttribute('aria-label', name ?? (field.placeholder || 'Value'));
  }
};
const NAMES = [
  ['#servers', 'Server'],
  ['.examples-select-element', 'Example'],
  ['.body-param__text', 'Request body'],
];
new MutationObserver(nameFields).observe(root, { childList: true, subtree: true });

const ready = fetch(url)
  .then((answer) => {
    if (!answer.ok) throw new Error(`The document cannot be read: ${answer.status}`);
    return answer.json();
  })
  .then((spec) => show({ ...spec, servers: [{ url: base }] }));
ready.catch((error) => say(error.message, true));

/**
 * How to sign in refers to nothing else in the document. For it alone the page's library would look up everything, which
 * took half of the time that the page needs.
 */
const asWritten = ({ fn: { resolveSubtree } }) => ({
  fn: {
    resolveSubtree: (spec, path, options) =>
      path.join('.') === 'components.securitySchemes'
        ? { spec: spec.components.securitySchemes, errors: [] }
        : resolveSubtree(spec, path, options),
  },
});

const show = (spec) =>
  new Promise((resolve) => {
    const ui = window.SwaggerUIBundle({
      domNode: root,
      spec,
      deepLinking: true,
      defaultModelsExpandDepth: 0,
      displayRequestDuration: true,
      docExpansion: 'list',
      filter: true,
      tryItOutEnabled: true,
      plugins: [asWritten],
      // The validator would send the document to a foreign server.
      validatorUrl: null,
      onComplete: () => resolve(ui),
    });
  });

/** @type {{ token: string, address: string } | undefined} */
let session;

button.addEventListener('click', async () => {
  button.disabled = true;
  try {
    const ui = await ready;
    if (session) {
      const { token } = session;
      session = undefined;
      ui.authActions.logout(['bearer']);
      await signOut(base, token);
      say('Signed out.');
    } else {
      session = await signIn(base, rules, say);
      ui.preauthorizeApiKey('bearer', session.token);
      const { address } = session;
      say(`Signed in as ${address.slice(0, 6)}…${address.slice(-4)}`);
      status.title = address;
    }
  } catch (error) {
    say(error.message, true);
  } finally {
    button.textContent = session ? 'Sign out' : 'Sign in with wallet';
    button.disabled = false;
  }
});

function say(text, failed = false) {
  status.textContent = text;
  status.title = '';
  status.classList.toggle('failed', failed);
}
