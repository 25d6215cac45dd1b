/** What a provider tells by refusing a request for logs. */
export interface Refusal {
  /** What it has a cap of. Results are those of just these blocks; a range is too large wherever it is. */
  of: 'range' | 'results' | 'unknown';
  /** Blocks that it says it would take. */
  blocks?: number;
  /** Results that it sends at most, if it says so. */
  results?: number;
}

/** Endpoints write what they like: longer texts are not searched. */
const MOST_CHARACTERS = 1000;
const N = String.raw`(\d[\d,.]*k?)\b`;
const words = (text: string): RegExp => new RegExp(text.replaceAll('N', N), 'i');

/** The node lacks blocks: a smaller range changes nothing. */
const BEHIND = /invalid|beyond|head block|not found|unknown block|pruned|unfinalized/i;
const OF_RESULTS =
  /\b(results?|logs? (response|matched|limit)|too many logs|response (size|is too|too)|result set|time(d )?out|timeout)\b/i;
const OF_RANGE =
  /range|too many blocks|requested blocks|at most \S+ blocks|blocks? (distance|limit)|query must be smaller/i;
/** "query returned more than 10000 results", "a cap of 10K logs", "logs matched by query exceeds limit of 10000" */
const RESULTS = [words('more than N (?:results|logs)'), words('cap of N logs'), words('exceeds limit of N')];
/** The words before the number of blocks. All of them can be read as a number that is still allowed. */
const BLOCKS = [
  words('limited to (?:an? )?N'),
  words('up to (?:an? )?N[- ]blocks?'),
  words('at most N blocks'),
  words('max(?:imum)?(?: allowed)?(?: block)? range(?: is| of| allowed)?\\s*[:=]?\\s*N'),
  words('maximum(?: is set to)? N'),
  words('max is N blocks'),
  words('requested blocks is N'),
  words('blocks distance: N'),
  words('range (?:exceeds|greater than|over) N'),
  words('ranges over N blocks'),
  words('exceeds limit of N'),
  words('\\d > N\\)'),
  words('smaller than size N'),
  words('narrow your filter: N'),
];
/** A range that it says it would take: "this block range should work: [0x1, 0x5]", "retry with the range 17-20". */
const OFFERED = [/\[0x([0-9a-f]{1,13}),\s*0x([0-9a-f]{1,13})\]/i, /with the range (\d{1,15})-(\d{1,15})/i];

/** Reads the text of an error with which an endpoint refused logs. Nothing of it needs to be true. */
export function refusalOf(message: string): Refusal {
  const text = message.slice(0, MOST_CHARACTERS);
  const offered = offeredIn(text);
  const said = numberIn(text, BLOCKS);
  if (BEHIND.test(text)) return { of: 'unknown' };
  if (OF_RESULTS.test(text)) return { of: 'results', blocks: offered, results: numberIn(text, RESULTS) };
  if (OF_RANGE.test(text) || said !== undefined) return { of: 'range', blocks: said ?? offered };
  return { of: 'unknown' };
}

function numberIn(text: string, patterns: RegExp[]): number | undefined {
  for (const pattern of patterns) {
    const [, found] = pattern.exec(text) ?? [];
    if (found === undefined) continue;
    const number = Number(found.replace(/[,.k]/gi, '')) * (/k$/i.test(found) ? 1000 : 1);
    if (Number.isSafeInteger(number) && number > 0) return number;
  }
  return undefined;
}

function offeredIn(text: string): number | undefined {
  const [hex, decimal] = OFFERED.map((pattern) => pattern.exec(text));
  const ends = hex ? hex.slice(1).map((end) => parseInt(end, 16)) : decimal?.slice(1).map(Number);
  const blocks = ends && ends[1] - ends[0] + 1;
  return blocks !== undefined && blocks > 0 ? blocks : undefined;
}
