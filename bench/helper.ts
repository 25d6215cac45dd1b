import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import path from 'node:path';

const END = 'end';

/** A process that works beside the measured ones until it is ended. Its script calls `obey`. */
export class Helper<Report> {
  private constructor(private readonly child: ChildProcess) {}

  /**
   * @param elsewhere in practice it runs on another machine, so it takes a core only when no other process wants one
   * @returns it, and what it reports when it has begun
   */
  static async start<Report>(
    script: string,
    orders: object,
    { elsewhere = false } = {},
  ): Promise<[Helper<Report>, Report]> {
    const child = fork(path.join(__dirname, `${script}.ts`), {
      execArgv: ['-C', 'source', '-r', 'ts-node/register/transpile-only'],
    });
    if (elsewhere) {
      setPriority(child.pid!, constants.priority.PRIORITY_LOW);
      // Linux only: otherwise it still gets a turn now and then.
      spawnSync('chrt', ['--idle', '--all-tasks', '--pid', '0', `${child.pid}`]);
    }
    const helper = new Helper<Report>(child);
    return [helper, await helper.tell(orders)];
  }

  /** @returns what it reports at its end */
  async end(): Promise<Report> {
    const report = await this.tell(END);
    this.child.disconnect();
    return report;
  }

  /** @throws Error when the process ends instead of answering */
  private async tell(message: object | string): Promise<Report> {
    const ended = once(this.child, 'exit').then(() => {
      throw new Error('a helper of the benchmark has ended');
    });
    ended.catch(() => undefined);
    const answer = once(this.child, 'message') as Promise<[Report]>;
    this.child.send(message);
    return (await Promise.race([answer, ended]))[0];
  }
}

/** What a helper does on its orders, and at its end. It ends with its parent, too, and when anything fails. */
export function obey<Orders, Report>(
  begin: (orders: Orders) => Promise<Report>,
  end: () => Promise<Report>,
): void {
  process.on('unhandledRejection', (error) => {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(1);
  });
  process.on('disconnect', () => process.exit(0));
  process.on('message', (message: Orders | typeof END) => {
    void (message === END ? end() : begin(message)).then((report) => process.send!(report));
  });
}
