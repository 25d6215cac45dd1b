import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type Server, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beAlone, freePort, takePorts } from '#dev/ports';
import { FROM_SOURCE } from '../support/processes/source';

const servers: Server[] = [];
afterAll(() => servers.forEach((server) => server.close()));

async function occupied(): Promise<number> {
  const port = await freePort();
  servers.push(createServer().listen(port, '127.0.0.1'));
  await once(servers.at(-1)!, 'listening');
  return port;
}

/** What another process says that does this, and is then killed, so that it cleans nothing up. */
function another(code: string, begin = ''): string {
  const script = `${begin}; const { beAlone, freePort, takePorts } = require('./src/dev/ports');
    (async () => ${code})().catch(({ message }) => console.log(message))
      .finally(() => process.kill(process.pid, 'SIGKILL'));`;
  const loader = [...FROM_SOURCE, '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, loader, {
    cwd: join(__dirname, '../..'),
    encoding: 'utf8',
  });
  return stdout + stderr;
}

/** Makes a process print each port at which it listens, if only to try it. */
const SAYING = `const { Server } = require('node:net'), { listen } = Server.prototype;
  Server.prototype.listen = function (...args) { console.log('at', args[0]); return listen.apply(this, args); }`;

it('a free port is given to one process as long as that lives, and no other listens there to try it', async () => {
  const port = await freePort();
  const begin = `${SAYING}; require('node:crypto').randomInt = () => ${port}`;
  const next = another('console.log(await freePort())', begin);
  expect(next).toMatch(/^at (\d{5})\n\1\n$/);
  expect(next).not.toContain(`${port}`);
});

describe('ports of npm start', () => {
  it('that are not set are free ones, near the usual ones, and all different', async () => {
    const { api, indexer, page } = await takePorts({});
    expect([api % 10, indexer % 10, page % 10]).toEqual([1, 2, 0]);
    const next = await takePorts({ PORT: '', INDEXER_PORT: '0' });
    expect(new Set([api, indexer, page, next.api, next.indexer, next.page]).size).toBe(6);
    expect(next.api % 10).toBe(1);
  });

  it('that are set are those, or an error that says which', async () => {
    const [api, indexer] = [await freePort(), await freePort()];
    expect(await takePorts({ PORT: `${api}`, INDEXER_PORT: `${indexer}` })).toMatchObject({ api, indexer });
    const taken = await occupied();
    await expect(takePorts({ PORT: `${taken}` })).rejects.toThrow(`Port ${taken} is taken; set PORT`);
    await expect(takePorts({ INDEXER_PORT: `${taken}` })).rejects.toThrow(
      `Port ${taken} is taken; set INDEXER_PORT`,
    );
    for (const wrong of ['80000', '-1', 'x', '1.5'])
      await expect(takePorts({ PORT: wrong })).rejects.toThrow(`Port ${wrong} is no port`);
    const same = `${await freePort()}`;
    await expect(takePorts({ PORT: same, INDEXER_PORT: same })).rejects.toThrow('set INDEXER_PORT');
  });

  it('are not those of another start that does not listen yet, unless it was killed', async () => {
    const ours = `${await freePort()}`;
    await takePorts({ PORT: ours });
    const refused = another(`takePorts({ PORT: '${ours}' })`, SAYING);
    expect(refused).toContain(`Port ${ours} is taken by another start`);
    expect(refused).not.toMatch(/^at /m);
    const killed = await freePort();
    expect(another(`takePorts({ PORT: '${killed}' })`)).toBe('');
    expect((await takePorts({ PORT: `${killed}` })).api).toBe(killed);
  });
});

describe('a folder of npm start', () => {
  const folder = mkdtempSync(join(tmpdir(), 'alone-'));
  const running = join(folder, 'running.json');
  afterAll(() => rmSync(folder, { recursive: true }));
  const start = `beAlone('${folder}', '${running}', 0)`;

  // Another process claims it between the look and the link.
  const meanwhile = `const fs = require('node:fs'), { linkSync } = fs, { commandOf } = require('./src/dev/processes');
    fs.linkSync = (from, to) => {
      fs.writeFileSync(to, [process.ppid, to, commandOf(process.ppid)].join('\\n'));
      (fs.linkSync = linkSync)(from, to);
    }`;

  it('has one at a time, also where links are not supported, which says where it is, unless it was killed', async () => {
    writeFileSync(running, '{"api":"http://localhost:1"}');
    expect(another(start, "require('node:fs').linkSync = () => { throw new Error('EPERM'); }")).toBe('');
    expect(another(start, meanwhile)).toContain(`runs in this folder already: process ${process.pid}`);
    await beAlone(folder, running, 0);
    expect(existsSync(running)).toBe(false);
    expect(another(start)).toContain(`runs in this folder already: process ${process.pid}. Stop it`);
    writeFileSync(running, '{"api":"http://localhost:1"}');
    expect(another(start)).toContain(`process ${process.pid}, http://localhost:1. Stop it`);
  });

  it('that was copied while it ran may be used', () => {
    const copy = mkdtempSync(join(tmpdir(), 'alone-'));
    cpSync(folder, copy, { recursive: true });
    expect(another(start.replaceAll(folder, copy))).toBe('');
    rmSync(copy, { recursive: true });
  });
});
