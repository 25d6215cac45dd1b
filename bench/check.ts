import type { Endpoint } from './loads';
import type { Peer } from './peers';
import { signIns } from './sign-in';

/** Number of callers whose requests are compared; one for requests that write. */
const CALLERS = 4;

/**
 * Asks every peer for the same: all must answer with the same bytes, type and ETag.
 * @returns how many requests were compared
 * @throws Error at the first difference
 */
export async function checkSameAnswers(peers: Peer[], endpoints: Endpoint[]): Promise<number> {
  let compared = 0;
  for (const { name, load, volatile } of endpoints) {
    for (let index = 0; index < (volatile ? 1 : CALLERS); index++) {
      for (const { method = 'GET', path, headers, body } of load.requests(index)) {
        const answers: string[] = [];
        for (const { url } of peers) {
          const response = await fetch(url + path, { method, headers, body });
          const text = await response.text();
          if (!response.ok) throw new Error(`${url}${path}: ${response.status} ${text}`);
          const [type, tag] = ['content-type', 'etag'].map((name) => response.headers.get(name));
          answers.push(`${response.status} ${type} ${tag}\n${volatile ? masked(text) : text}`);
        }
        compare(name, peers, answers);
        compared++;
      }
    }
  }
  const dialogues: string[] = [];
  for (const peer of peers) dialogues.push((await signIns(peer, 1)).samples.map(masked).join('\n'));
  compare('sign-in', peers, dialogues);
  return compared + 2;
}

function compare(what: string, peers: Peer[], answers: string[]): void {
  const [first] = answers;
  answers.forEach((answer, i) => {
    if (answer !== first)
      throw new Error(`${what}: ${peers[i].name} and ${peers[0].name} differ\n${answer}\n${first}`);
  });
}

/** The text without values that change: ids, times, tokens, nonces, and the wallets of each run. */
const masked = (text: string): string =>
  text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/"nonce":"\w+"/g, '"nonce":"<nonce>"')
    .replace(/eyJ[\w.-]+/g, '<token>');
