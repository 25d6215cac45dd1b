import { recorded } from '#platform/operating/records';
import type { Environment } from '#settings/environment';
import { Replay, type ReplayReport } from './replay';

export const asText = ({ events, seconds, corrected, refused, adapted }: ReplayReport): string => {
  const changes = Object.entries(corrected).filter(([, count]) => count > 0);
  return [
    `${events} events replayed in ${seconds.toFixed(1)} s, ${Math.round(events / seconds)} a second`,
    ...changes.map(([what, count]) => `corrected in ${what}: ${count}`),
    ...refused.map((line) => `NOT CORRECTED: ${line}`),
    ...(changes.length === 0 && refused.length === 0 ? ['nothing differs from the stored events'] : []),
    ...adapted.map(
      ({ contract, adapter }) =>
        `NOT READ AGAIN: the logs of ${contract}. If ${adapter} has changed since they were read: rewind --contract ${contract}`,
    ),
    '',
  ].join('\n');
};

/** The operator's command `replay`: runs until it is done, or gets SIGTERM or SIGINT. @returns the exit code */
export async function replay(environment: Environment, json: boolean): Promise<number> {
  const stop = new AbortController();
  for (const event of ['SIGTERM', 'SIGINT'])
    process.on(event, () => stop.abort(new Error('stopped: run it again')));
  const tell = (line: string): unknown => process.stderr.write(`${line}\n`);
  const { DATABASE_URL, OPERATOR } = environment;
  const report = await recorded(
    DATABASE_URL,
    { command: 'replay', arguments: '', by: OPERATOR },
    () => new Replay(DATABASE_URL, tell, stop.signal).run(),
    ({ events, corrected, refused }) => ({ events, corrected, refused: refused.length }),
  );
  const text = json ? `${JSON.stringify(report, null, 2)}\n` : asText(report);
  await new Promise((written) => process.stdout.write(text, written));
  return report.refused.length > 0 ? 1 : 0;
}
