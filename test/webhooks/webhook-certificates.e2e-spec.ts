import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type Server, createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Certificate, makeCertificate } from '../support/network/certificates';
import { FROM_SOURCE } from '../support/processes/source';

const HOUR_MS = 3_600_000;
const folder = mkdtempSync(path.join(tmpdir(), 'certificates-'));
const authority = makeCertificate({ name: 'An authority that is trusted' });
const stranger = makeCertificate({ name: 'Another one' });
const servers: Server[] = [];
/** What arrived, by the server's place in the list. */
const received: number[] = [];

async function serve({ cert, key }: Certificate): Promise<string> {
  const server = createServer({ cert, key }, (request, response) => {
    received.push(servers.indexOf(server));
    request.resume().on('end', () => response.writeHead(204).end());
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `https://localhost:${(server.address() as AddressInfo).port}/`;
}

/** As a process does that trusts the authority, or one that does not. */
async function post(urls: string[], trusted: boolean): Promise<unknown> {
  const file = path.join(folder, 'authority.pem');
  writeFileSync(file, authority.cert);
  const script = path.join(__dirname, '../support/processes/post-webhooks.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [...FROM_SOURCE, script, ...urls], {
    env: { ...process.env, ...(trusted && { NODE_EXTRA_CA_CERTS: file }) },
  });
  return JSON.parse(stdout);
}

afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

it('a receiver is sent to by https only if its certificate is good', async () => {
  const past = { from: new Date(Date.now() - 2 * HOUR_MS), to: new Date(Date.now() - HOUR_MS) };
  const future = { from: new Date(Date.now() + HOUR_MS), to: new Date(Date.now() + 2 * HOUR_MS) };
  const urls = await Promise.all(
    [
      makeCertificate({ name: 'localhost', issuer: authority }),
      makeCertificate({ name: 'localhost', issuer: stranger }),
      makeCertificate({ name: 'localhost' }),
      makeCertificate({ name: 'elsewhere.example', issuer: authority }),
      makeCertificate({ name: 'localhost', issuer: authority, ...past }),
      makeCertificate({ name: 'localhost', issuer: authority, ...future }),
    ].map(serve),
  );
  // Names say it too, not only addresses: the good one is not good for 127.0.0.1.
  urls.push(urls[0].replace('localhost', '127.0.0.1'));
  const refused = { status: null, error: 'certificate not accepted' };
  const outcomes = await post(urls, true);
  expect(outcomes).toEqual([{ status: 204, error: null }, ...Array<unknown>(6).fill(refused)]);
  expect(received).toEqual([0]);
  // By a process that does not trust the authority, the good one neither.
  expect(await post([urls[0]], false)).toEqual([refused]);
  expect(received).toEqual([0]);
});
