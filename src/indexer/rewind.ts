import type { Environment } from '../config/environment';
import type { EndpointPool } from './endpoint-pool';
import type { Lead } from './follower';
import { openCursor } from './chain-identity';
import { Recovery } from './recovery';
import { SequenceCheck } from './sequence-check';
import type { IndexerTelemetry } from './telemetry';

/** By hand: takes everything after block `number` back and, as events are kept, exactly. */
export async function rewindByHand(
  { client, writer }: Lead,
  number: number,
  pool: EndpointPool,
  environment: Environment,
  telemetry: IndexerTelemetry,
): Promise<void> {
  const { source } = await pool.identify(await writer.knownChain(), environment.CHAIN_ID);
  // A new epoch: whoever leads now finds its own ended and starts over from the new cursor.
  const cursor = await openCursor(client, writer, source, environment);
  if (number > cursor.number) throw new Error(`the cursor is at block ${cursor.number} only`);
  const last = await writer.eventBlock(number);
  const window = await writer.window();
  const known = [...window.filter((block) => block.number === number), ...(last ? [last] : [])];
  const [block, ...headers] = await source.blocks([number, ...known.map((each) => each.number)]);
  if (!block) throw new Error(`the node has no block ${number}`);
  const other = known.find(({ hash }, i) => headers[i]?.hash !== hash);
  if (other) throw new Error(`the node has another block ${other.number}: rewind to before it`);
  const sequence = new SequenceCheck(pool.contracts, environment.START_BLOCK);
  await new Recovery(pool, sequence, telemetry).rewindTo(writer, cursor, block);
}
