import { createSocket } from 'node:dgram';

/** IPv4 and IPv6 addresses of a name, as bytes in hex: 7f000001. An alias has those of the name that it leads to. */
type Addresses = { a?: string[]; aaaa?: string[]; alias?: string };
/** What is known of names. Questions about one that is `silent` get no answer. */
export type Records = Record<string, Addresses | 'silent'>;

/** A name server on UDP (RFC 1035) that knows a few names. */
export class NameServer {
  private readonly socket = createSocket('udp4');
  readonly asked: string[] = [];

  constructor(private readonly records: Records) {}

  async start(): Promise<this> {
    this.socket.on('message', (query, { port, address }) => {
      const answer = this.answer(query);
      if (answer) this.socket.send(answer, port, address);
    });
    await new Promise<void>((resolve) => this.socket.bind(0, '127.0.0.1', resolve));
    return this;
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  stop(): void {
    this.socket.close();
  }

  private answer(query: Buffer): Buffer | undefined {
    const labels: string[] = [];
    let at = 12;
    for (; query[at] !== 0; at += query[at] + 1)
      labels.push(query.toString('latin1', at + 1, at + 1 + query[at]));
    const type = query.readUInt16BE(at + 1);
    const name = labels.join('.').toLowerCase();
    this.asked.push(`${type === 28 ? 'AAAA' : 'A'} ${name}`);
    if (this.records[name] === 'silent') return undefined;
    const answers: Buffer[] = [];
    let owner = name;
    for (let { alias } = this.of(owner); alias; { alias } = this.of(owner)) {
      answers.push(record(owner, 5, encoded(alias)));
      owner = alias;
    }
    for (const bytes of this.of(owner)[type === 28 ? 'aaaa' : 'a'] ?? [])
      answers.push(record(owner, type, Buffer.from(bytes, 'hex')));
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    return Buffer.concat([header, query.subarray(12, at + 5), ...answers]);
  }

  private of(name: string): Addresses {
    const known = this.records[name] ?? {};
    return known === 'silent' ? {} : known;
  }
}

/** A name as it is sent. */
const encoded = (name: string): Buffer =>
  Buffer.concat([
    ...name
      .split('.')
      .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')])),
    Buffer.from([0]),
  ]);

function record(name: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.from('00000001000000000000', 'hex');
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([encoded(name), fixed, data]);
}
