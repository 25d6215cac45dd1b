import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createDatabase, isServer, readPidFile, startPostgres, type LocalPostgres } from '#dev/postgres';
import { until } from '../support/app';
import { query } from '../support/database';
import { FROM_SOURCE } from '../support/processes/source';

const launcher = join(__dirname, '../../src/dev/postgres.ts');
let dir: string;
let cleanups: (() => unknown)[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'local-postgres-'));
  await chmod(dir, 0o755);
  cleanups = [() => rm(dir, { recursive: true, force: true })];
});

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

async function start(name = 'one', options: { ephemeral?: boolean } = {}): Promise<LocalPostgres> {
  const server = await startPostgres({ dir: join(dir, name), database: 'savings', ...options });
  cleanups.push(() => server.stop());
  return server;
}

/** Another process that starts a server and keeps it until it is killed. */
function startElsewhere(name = 'one', ephemeral = false) {
  const options = JSON.stringify({ dir: join(dir, name), database: 'savings', ephemeral });
  const code = `require(${JSON.stringify(launcher)}).startPostgres(${options}).then((s) => console.log(JSON.stringify(s)))`;
  const child = spawn(process.execPath, [...FROM_SOURCE, '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanups.push(() => child.kill('SIGKILL'));
  const ready = once(child.stdout, 'data').then(([line]) => JSON.parse(String(line)) as LocalPostgres);
  const kill = async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return { child, ready, kill };
}

it('keeps what was written when the server is killed', async () => {
  const first = await start();
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  process.kill(first.pid, 'SIGKILL');
  await first.stop();

  const second = await start();
  expect(second.pid).not.toBe(first.pid);
  expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  await first.stop();
  expect(isServer(second.pid, second.dataDir)).toBe(true);
});

it('ends the server of a killed process, and starts it again with its data and password', async () => {
  const other = startElsewhere();
  const left = await other.ready;
  await query(left.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  await other.kill();
  expect(isServer(left.pid, left.dataDir)).toBe(true);

  const server = await start();
  expect(isServer(left.pid, left.dataDir)).toBe(false);
  expect(server.dataDir).toBe(left.dataDir);
  expect(new URL(server.url).password).toBe(new URL(left.url).password);
  expect(await query(server.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  await server.stop();
  expect(isServer(server.pid, server.dataDir)).toBe(false);
});

it('recreates a cluster whose creation was killed', async () => {
  const isMade = (name: string): boolean => existsSync(join(dir, name, 'data'));
  const isBegun = async (name: string): Promise<boolean> => {
    const home = join(dir, name);
    const work = existsSync(home) && (await readdir(home)).find((each) => each.startsWith('new-'));
    return !!work && existsSync(join(home, work, 'data/PG_VERSION'));
  };
  let name: string;
  let tries = 0;
  // Tries another folder when it came too late to kill the creation.
  do {
    name = `one-${++tries}`;
    const other = startElsewhere(name);
    other.ready.catch(() => undefined);
    await until(async () => isMade(name) || (await isBegun(name)));
    await other.kill();
    if (isMade(name)) await (await start(name)).stop();
  } while (isMade(name) && tries < 5);
  expect(isMade(name)).toBe(false);

  const server = await start(name);
  expect((await readdir(join(dir, name))).filter((each) => each.startsWith('new-'))).toEqual([]);
  expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

it('starts after a crash that left an unusable postmaster.pid', async () => {
  const first = await start();
  await first.stop();
  for (const content of ['', `${process.pid}\n${first.dataDir}\n0\n${first.port}\n\n127.0.0.1\n`]) {
    await writeFile(join(first.dataDir, 'postmaster.pid'), content);
    await (await start()).stop();
  }
});

it('uses UTF-8 and UTC, listens on 127.0.0.1 only, and requires the password', async () => {
  const { url } = await start();
  const shown = `SELECT pg_encoding_to_char(encoding) AS encoding, datlocale AS locale,
    current_setting('TimeZone') AS zone, current_setting('listen_addresses') AS addresses,
    current_setting('unix_socket_directories') AS sockets, current_setting('fsync') AS fsync
    FROM pg_database WHERE datname = 'savings'`;
  const expected = { encoding: 'UTF8', locale: 'C.UTF-8', zone: 'UTC', addresses: '127.0.0.1' };
  expect(await query(url, shown)).toEqual([{ ...expected, sockets: '', fsync: 'on' }]);
  await expect(query(url.replace(/:\w+@/, ':guess@'), 'SELECT 1')).rejects.toThrow('authentication failed');
});

it('adds a database, whatever its name', async () => {
  const { url } = await start('one', { ephemeral: true });
  const other = await createDatabase(url, 'a "second"');
  expect(await query(other, 'SELECT current_database() AS name')).toEqual([{ name: 'a "second"' }]);
});

it('leaves nothing of an ephemeral server behind, at stop or after its process was killed', async () => {
  const other = startElsewhere('tests', true);
  const left = await other.ready;
  await other.kill();
  const server = await start('tests', { ephemeral: true });
  expect(isServer(left.pid, left.dataDir)).toBe(false);
  expect(existsSync(left.dataDir)).toBe(false);
  expect(readPidFile(server.dataDir)?.pid).toBe(server.pid);
  await server.stop();
  expect(existsSync(dirname(server.dataDir))).toBe(false);
});

it('says why a server does not start', async () => {
  const options = { dir: join(dir, 'one'), database: 'savings', settings: { max_connections: 'many' } };
  await expect(startPostgres(options)).rejects.toThrow('invalid value for parameter "max_connections"');
});

it('keeps the data below a folder that is ours alone, or elsewhere when the account of the server cannot reach it', async () => {
  await chmod(dir, 0o700);
  const first = await start();
  // PostgreSQL refuses to run as root. As root, tests run it as an account that cannot enter such a folder.
  const elsewhere = process.getuid?.() === 0;
  if (elsewhere) cleanups.splice(1, 0, () => rm(dirname(first.dataDir), { recursive: true }));
  expect(first.dataDir.startsWith(dir)).toBe(!elsewhere);
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  await first.stop();

  const second = await start();
  expect(second.dataDir).toBe(first.dataDir);
  expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  await second.stop();

  await rm(join(dir, 'one'), { recursive: true });
  await expect(query((await start()).url, 'SELECT answer FROM kept')).rejects.toThrow('does not exist');
});
