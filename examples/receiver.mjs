// Takes webhooks of the service at BASE_URL until Ctrl-C: TOKEN=… node examples/receiver.mjs
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const { BASE_URL = 'http://localhost:3001', TOKEN } = process.env;
let secret;

/** Standard Webhooks: HMAC over id, time and body, and not older than five minutes. Libraries do the same. */
function isSigned(headers, body) {
  const time = Number(headers['webhook-timestamp']);
  if (!secret || !(Math.abs(Date.now() / 1000 - time) < 300)) return false;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const made = createHmac('sha256', key).update(`${headers['webhook-id']}.${time}.${body}`).digest('base64');
  const given = String(headers['webhook-signature']).split(' ');
  const isMade = (each) =>
    each.length === made.length + 3 && timingSafeEqual(Buffer.from(each), Buffer.from(`v1,${made}`));
  return given.some(isMade);
}

const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  const event = JSON.parse(body);
  // Proves that this address wants to be sent to. It comes before the secret is known here.
  if (event.topic === 'challenge') return response.end(JSON.stringify({ challenge: event.challenge }));
  if (!isSigned(request.headers, body)) return response.writeHead(401).end();
  console.log(event);
  response.writeHead(204).end();
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

async function ask(method, path, body) {
  const headers = { authorization: `Bearer ${TOKEN}`, ...(body && { 'content-type': 'application/json' }) };
  const answer = await fetch(BASE_URL + path, { method, headers, body: body && JSON.stringify(body) }).catch(
    () => {
      console.error(`Nothing answers at ${BASE_URL}: start the service first, with npm start.`);
      process.exit(1);
    },
  );
  const { data, error } = await answer.json();
  if (error) throw new Error(error);
  return data;
}

const webhook = await ask('POST', '/webhooks', { url: `http://127.0.0.1:${server.address().port}/` });
secret = webhook.secret;
while ((await ask('GET', `/webhooks/${webhook.id}`)).status !== 'ACTIVE')
  await new Promise((resolve) => setTimeout(resolve, 1000));
await ask('POST', `/webhooks/${webhook.id}/test`);
process.on('SIGINT', () => ask('DELETE', `/webhooks/${webhook.id}`).finally(() => process.exit()));
