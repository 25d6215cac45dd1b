import { createSocket } from 'node:dgram';

/** IPv4 and IPv6 addresses of a name, as bytes in hex: 7f000001. */
export type Records = Record<string, { a?: string[]; aaaa?: string[] }>;

/** A name server on UDP (RFC 1035) that knows a few names. */
export class NameServer {
  private readonly socket = createSocket('udp4');
  readonly asked: string[] = [];

  constructor(private readonly records: Records) {}

  async start(): Promise<this> {
    this.socket.on('message', (query, { port, address }) =>
      this.socket.send(this.answer(query), port, address),
    );
    await new Promise<void>((resolve) => this.socket.bind(0, '127.0.0.1', resolve));
    return this;
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  stop(): void {
    this.socket.close();
  }

  private answer(query: Buffer): Buffer {
    const labels: string[] = [];
    let at = 12;
    for (; query[at] !== 0; at += query[at] + 1)
      labels.push(query.toString('latin1', at + 1, at + 1 + query[at]));
    const type = query.readUInt16BE(at + 1);
    const name = labels.join('.').toLowerCase();
    this.asked.push(`${type === 28 ? 'AAAA' : 'A'} ${name}`);
    const found = this.records[name]?.[type === 28 ? 'aaaa' : 'a'] ?? [];
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(found.length, 6);
    const answers = found.map((bytes) => {
      const data = Buffer.from(bytes, 'hex');
      const record = Buffer.from('c00c00000001000000000000', 'hex');
      record.writeUInt16BE(type, 2);
      record.writeUInt16BE(data.length, 10);
      return Buffer.concat([record, data]);
    });
    return Buffer.concat([header, query.subarray(12, at + 5), ...answers]);
  }
}
