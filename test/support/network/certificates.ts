import { type KeyObject, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** X.509, which Node.js reads but does not make. Only what servers and an authority in tests need. */
export interface Certificate {
  /** PEM. */
  cert: string;
  key: string;
}

interface Fields {
  /** Common name, and the DNS name of a server. */
  name: string;
  /** Default: it signs itself, as an authority. */
  issuer?: Authority;
  from?: Date;
  to?: Date;
}

export interface Authority extends Certificate {
  name: string;
  privateKey: KeyObject;
}

const HOUR_MS = 3_600_000;

/** An element of DER: tag, length, content. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}
const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const octets = (content: Buffer): Buffer => der(0x04, content);
const TRUE = der(0x01, Buffer.from([255]));
const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'));

const nameOf = (text: string): Buffer =>
  sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(text)))));
const timeOf = (date: Date): Buffer =>
  der(0x18, Buffer.from(`${date.toISOString().replace(/\D/g, '').slice(0, 14)}Z`));
const bits = (content: Buffer): Buffer => der(0x03, Buffer.from([0]), content);

/** Of an authority: basicConstraints CA:TRUE. Of a server: subjectAltName. */
const extensionOf = ({ name, issuer }: Fields): Buffer =>
  issuer
    ? sequence(oid('551d11'), octets(sequence(der(0x82, Buffer.from(name)))))
    : sequence(oid('551d13'), TRUE, octets(sequence(TRUE)));

/** Valid from an hour ago for two hours, unless it is told otherwise. */
export function makeCertificate(fields: Fields): Authority {
  const { name, issuer, from = new Date(Date.now() - HOUR_MS), to = new Date(Date.now() + HOUR_MS) } = fields;
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)]);
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ECDSA_WITH_SHA256,
    nameOf(issuer?.name ?? name),
    sequence(timeOf(from), timeOf(to)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extensionOf(fields))),
  );
  const signature = sign('sha256', content, issuer?.privateKey ?? privateKey);
  const whole = sequence(content, ECDSA_WITH_SHA256, bits(signature)).toString('base64');
  const cert = `-----BEGIN CERTIFICATE-----\n${whole.match(/.{1,64}/g)!.join('\n')}\n-----END CERTIFICATE-----\n`;
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), name, privateKey };
}
