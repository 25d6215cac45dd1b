import { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { FakeNode } from './fake-node';

interface Call {
  id: number;
  method: string;
  params: unknown[];
}

/** An answer of a node that refuses the call. */
export class Refused extends Error {}

/** A node as the indexer knows it. */
export const endpointOf = (url: string): WatchedEndpoint =>
  new WatchedEndpoint(
    { url, headers: {}, name: url },
    [],
    () => undefined,
    () => undefined,
  );

/** A node of a chain on paper: answers calls by a function, and counts them. */
export class PaperNode {
  readonly calls: Omit<Call, 'id'>[] = [];
  /** Calls of each request. */
  readonly batches: number[] = [];
  private node: FakeNode;

  private constructor(public answer: (method: string, params: any[]) => unknown) {}

  static async start(answer: PaperNode['answer']): Promise<PaperNode> {
    const paper = new PaperNode(answer);
    paper.node = await FakeNode.start((_, response, body) => {
      void paper.reply(body).then((text) => (text === undefined ? response.destroy() : response.end(text)));
    });
    return paper;
  }

  get url(): string {
    return this.node.url;
  }

  /** As the indexer knows it. */
  get endpoint(): WatchedEndpoint {
    return endpointOf(this.url);
  }

  stop(): Promise<void> {
    return this.node.stop();
  }

  /** Nothing when `answer` throws: the connection is cut. */
  private async reply(body: string): Promise<string | undefined> {
    const parsed = JSON.parse(body) as Call | Call[];
    const calls = [parsed].flat();
    this.batches.push(calls.length);
    try {
      const answers: object[] = [];
      for (const { id, method, params } of calls) {
        this.calls.push({ method, params });
        const result: unknown = await this.answer(method, params);
        const error = result instanceof Refused ? { code: -32601, message: result.message } : undefined;
        answers.push({ jsonrpc: '2.0', id, ...(error ? { error } : { result: result ?? null }) });
      }
      return JSON.stringify(Array.isArray(parsed) ? answers : answers[0]);
    } catch {
      return undefined;
    }
  }
}
